//! The client's request body: checked by what its headers say, then read as a whole.

use super::super::App;
use super::super::admit::overloaded;
use super::super::body::BoxError;
use super::super::body_limit::too_large;
use super::super::budget::no_room;
use super::super::stack::Deployment;
use super::whole::Growing;
use crate::upstream::{BodyFault, body_cut};
use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{Extensions, HeaderMap};
use http_body::Body;
use http_body_util::{BodyExt, LengthLimitError};
use isogloss_core::error::{Error, Kind};
use isogloss_core::exchange::{self, Skimmer};
use std::pin::Pin;

/// JSON as it is, or nothing said. A browser sends other types across sites without asking; who reads them all the
/// same (`reads_any`) does so only where no browser says that it comes from a site.
pub(in crate::proxy) fn check_media_type(
    headers: &HeaderMap,
    reads_any: bool,
) -> Result<(), Error> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let of_a_site = ["origin", "sec-fetch-site"];
    let reads_any = reads_any && !of_a_site.iter().any(|name| headers.contains_key(*name));
    if let Some(media_type) = text(CONTENT_TYPE)
        && !reads_any
        && !super::kinds::is_json(media_type)
    {
        let message = "the content type must be application/json";
        return Err(Error::new(Kind::UnsupportedMediaType, message));
    }
    if let Some(coding) = text(CONTENT_ENCODING)
        && !coding.eq_ignore_ascii_case("identity")
    {
        let message = "the body must come without a content encoding";
        return Err(Error::new(Kind::UnsupportedMediaType, message));
    }
    Ok(())
}

/// The whole body; size and time are limited by the layers outside, and memory here. Copied into one piece as it
/// comes: a chunk of one byte would hold on to some fifty otherwise, and to the buffer that it was read into.
pub(in crate::proxy) async fn read<B>(body: B, app: &App) -> Result<Bytes, Error>
where
    B: Body<Data = Bytes, Error: Into<BoxError>>,
{
    let announced = body.size_hint().lower();
    read_into(body, Growing::new(&app.budget).announced(announced), app)
        .await
        .map(|(bytes, _)| bytes)
}

/// The same of JSON, which is looked at as it comes where it is long. A model that the path named stands in it.
pub(super) async fn read_json<B>(
    known: &Extensions,
    body: B,
    app: &App,
) -> Result<(Bytes, Option<Skimmer>), Error>
where
    B: Body<Data = Bytes, Error: Into<BoxError>>,
{
    let announced = body.size_hint().lower();
    let all = Growing::new(&app.budget).announced(announced).skimmed();
    let (body, skimmer) = read_into(body, all, app).await?;
    let Some(Deployment(model)) = known.get() else {
        return Ok((body, skimmer));
    };
    let named = super::work(body.len(), || exchange::named(&body, model));
    Ok((named, None))
}

async fn read_into<B>(
    body: B,
    mut all: Growing,
    app: &App,
) -> Result<(Bytes, Option<Skimmer>), Error>
where
    B: Body<Data = Bytes, Error: Into<BoxError>>,
{
    let mut body = std::pin::pin!(body);
    while let Some(bytes) = next(&mut body, app).await? {
        if !all.has_room_for(&bytes) {
            let made = all.make_room_for(&bytes).await;
            made.map_err(|_no_room| no_room(&app.metrics))?;
        }
        all.extend(&bytes);
    }
    Ok(all.whole())
}

/// The next bytes of a body; `None` at its end.
async fn next<B>(body: &mut Pin<&mut B>, app: &App) -> Result<Option<Bytes>, Error>
where
    B: Body<Data = Bytes, Error: Into<BoxError>>,
{
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| refusal(&error.into(), app))?;
        // Trailers never become headers.
        if let Ok(bytes) = frame.into_data() {
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

/// It did not arrive in time.
pub(in crate::proxy) fn too_slow(app: &App) -> Error {
    app.metrics.limit_hit("body_timeout");
    let message = "the request body did not arrive in time (timeouts.body, limits.body_rate)";
    Error::new(Kind::RequestTimeout, message)
}

/// Why a body did not arrive.
pub(in crate::proxy) fn refusal(error: &BoxError, app: &App) -> Error {
    if error.is::<LengthLimitError>() {
        app.metrics.limit_hit("body_bytes");
        too_large(app.config.limits.body_bytes)
    } else if let Some(BodyFault::NoPlace) = error.downcast_ref() {
        overloaded()
    } else if let Some(BodyFault::TooSlow) = error.downcast_ref() {
        too_slow(app)
    } else {
        body_cut(error.as_ref()).to_error()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn check(name: http::HeaderName, value: &'static str) -> Option<Kind> {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_static(value));
        check_media_type(&headers, false)
            .err()
            .map(|error| error.kind)
    }

    #[test]
    fn json_and_nothing_said_are_read_other_types_are_refused() {
        assert_eq!(check_media_type(&HeaderMap::new(), false), Ok(()));
        for json in [
            "application/json",
            "Application/JSON; charset=utf-8",
            "application/x+json",
        ] {
            assert_eq!(check(CONTENT_TYPE, json), None, "{json}");
        }
        for other in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "application/jsonl",
            "",
        ] {
            let refused = Some(Kind::UnsupportedMediaType);
            assert_eq!(check(CONTENT_TYPE, other), refused, "{other}");
        }
    }

    #[test]
    fn any_type_is_read_where_it_may_be_and_no_browser_sends_it_from_a_site() {
        let mut headers = HeaderMap::new();
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(CONTENT_TYPE, form);
        assert_eq!(check_media_type(&headers, true), Ok(()));
        for name in ["origin", "sec-fetch-site"] {
            let mut headers = headers.clone();
            headers.insert(name, HeaderValue::from_static("cross-site"));
            assert!(check_media_type(&headers, true).is_err(), "{name}");
        }
    }

    #[test]
    fn a_content_encoding_is_refused() {
        assert_eq!(
            check(CONTENT_ENCODING, "gzip"),
            Some(Kind::UnsupportedMediaType)
        );
        assert_eq!(check(CONTENT_ENCODING, "identity"), None);
    }
}
