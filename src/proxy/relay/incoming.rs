//! The client's request body: checked by what its headers say, then read as a whole.

use super::super::App;
use super::super::body::BoxError;
use super::super::body_limit::too_large;
use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http_body::Body;
use http_body_util::{BodyExt, LengthLimitError};
use isogloss_core::error::{Error, Kind};
use tower_http::timeout::TimeoutError;

/// JSON as it is, or nothing said. A browser sends other types across sites without asking.
pub(super) fn check_media_type(headers: &HeaderMap) -> Result<(), Error> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    if let Some(media_type) = text(CONTENT_TYPE)
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

/// The whole body; size and time are limited by the layers outside.
pub(in crate::proxy) async fn read<B>(body: B, app: &App) -> Result<Bytes, Error>
where
    B: Body<Data = Bytes, Error: Into<BoxError>>,
{
    collect(body)
        .await
        .map_err(|error| refusal(&error.into(), app))
}

/// Copied into one piece as it comes: a chunk of one byte would hold on to some fifty otherwise,
/// and to the buffer that it was read into.
async fn collect<B: Body<Data = Bytes>>(body: B) -> Result<Bytes, B::Error> {
    let mut body = std::pin::pin!(body);
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        // Trailers never become headers.
        if let Ok(bytes) = frame?.into_data() {
            all.extend_from_slice(&bytes);
        }
    }
    Ok(all.freeze())
}

/// Why a body did not arrive.
pub(in crate::proxy) fn refusal(error: &BoxError, app: &App) -> Error {
    if error.is::<LengthLimitError>() {
        app.metrics.limit_hit("body_bytes");
        too_large(app.config.limits.body_bytes)
    } else if error.is::<TimeoutError>() {
        app.metrics.limit_hit("body_timeout");
        Error::new(
            Kind::RequestTimeout,
            "the request body did not arrive in time (timeouts.body)",
        )
    } else {
        Error::new(Kind::InvalidRequest, "the request body broke off")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn check(name: http::HeaderName, value: &'static str) -> Option<Kind> {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_static(value));
        check_media_type(&headers).err().map(|error| error.kind)
    }

    #[test]
    fn json_and_nothing_said_are_read_other_types_are_refused() {
        assert_eq!(check_media_type(&HeaderMap::new()), Ok(()));
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
    fn a_content_encoding_is_refused() {
        assert_eq!(
            check(CONTENT_ENCODING, "gzip"),
            Some(Kind::UnsupportedMediaType)
        );
        assert_eq!(check(CONTENT_ENCODING, "identity"), None);
    }
}
