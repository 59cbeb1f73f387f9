//! A line of the input in; the request that it states, or what is wrong with it, out. A fault quotes nothing of the
//! line.

use bytes::Bytes;
use http::uri::PathAndQuery;
use isogloss_core::error::{Error, Kind};
use serde::Deserialize;
use serde_json::value::RawValue;

/// A request, as the line states it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) custom_id: String,
    /// The route, as a path of the proxy's.
    pub(super) target: PathAndQuery,
    /// The body's own bytes.
    pub(super) body: Bytes,
}

/// A line that is no request of a batch.
#[derive(Debug)]
pub(super) struct Bad {
    pub(super) error: Box<Error>,
    /// As the line calls itself, if it does.
    pub(super) custom_id: Option<String>,
}

impl From<Error> for Bad {
    fn from(error: Error) -> Self {
        Self {
            error: Box::new(error),
            custom_id: None,
        }
    }
}

/// What a line has, before anything is known of it.
#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    custom_id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    url: Option<&'a RawValue>,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Streamed<'a> {
    #[serde(borrow)]
    stream: Option<&'a RawValue>,
}

/// Reads one line.
///
/// # Errors
/// It is no request of a batch: what is wrong, and what to write instead.
pub(super) fn read(line: &Bytes) -> Result<Asked, Bad> {
    let fields: Fields<'_> = serde_json::from_slice(line).map_err(|error| fault(&error))?;
    let custom_id = text(fields.custom_id, "custom_id")?;
    if custom_id.is_empty() {
        let message = "the custom_id is empty: give each line its own";
        return Err(wrong("custom_id", message).into());
    }
    match request(&fields) {
        Ok((target, body)) => Ok(Asked {
            custom_id,
            target,
            body: line.slice_ref(body.as_bytes()),
        }),
        Err(error) => Err(Bad {
            error: Box::new(error),
            custom_id: Some(custom_id),
        }),
    }
}

/// The route, and the body as it stands there.
fn request<'l>(fields: &Fields<'l>) -> Result<(PathAndQuery, &'l str), Error> {
    if text(fields.method, "method")? != "POST" {
        return Err(wrong("method", "the method is not \"POST\""));
    }
    let target = target(&text(fields.url, "url")?)?;
    let body = fields.body.map(RawValue::get).unwrap_or_default();
    if !body.starts_with('{') {
        let message = "the body is missing, or no object: write the request that the url takes";
        return Err(wrong("body", message));
    }
    // Of a body that cannot be read so the route says what is wrong.
    let streamed = serde_json::from_str::<Streamed<'_>>(body).ok();
    let stream = streamed.and_then(|body| body.stream);
    if stream.is_some_and(|stream| stream.get() == "true") {
        let message = "a batch has no streams: leave `stream` out, or write false";
        return Err(wrong("body.stream", message));
    }
    Ok((target, body))
}

fn wrong(field: &str, message: &str) -> Error {
    Error::new(Kind::InvalidRequest, message).at(field)
}

fn fault(error: &serde_json::Error) -> Error {
    if !error.is_data() {
        let message = format!("the line is no JSON, at column {}", error.column());
        return Error::new(Kind::InvalidJson, message);
    }
    let text = error.to_string();
    let twice = ["custom_id", "method", "url", "body"].into_iter();
    match twice
        .map(|name| (name, format!("duplicate field `{name}`")))
        .find(|(_, begin)| text.starts_with(begin))
    {
        Some((name, _)) => {
            let message = format!("the line has `{name}` twice");
            Error::new(Kind::DuplicateKey, message).at(name)
        }
        None => {
            let message = "the line is no object with custom_id, method, url and body";
            Error::new(Kind::InvalidRequest, message)
        }
    }
}

fn text(value: Option<&RawValue>, field: &str) -> Result<String, Error> {
    let text = value.and_then(|value| serde_json::from_str(value.get()).ok());
    text.ok_or_else(|| wrong(field, &format!("`{field}` is missing, or no text")))
}

fn target(url: &str) -> Result<PathAndQuery, Error> {
    let path = PathAndQuery::try_from(url).ok();
    let path = path.filter(|_| url.starts_with('/') && !url.contains('#'));
    path.ok_or_else(|| {
        let message = "the url is no path: write the route alone, as /v1/chat/completions";
        wrong("url", message)
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn read(line: &str) -> Result<Asked, Error> {
        super::read(&Bytes::copy_from_slice(line.as_bytes())).map_err(|bad| *bad.error)
    }

    #[test]
    fn a_line_that_calls_itself_something_is_called_so_where_it_is_no_request() {
        let named =
            |line: &'static str| super::read(&Bytes::from_static(line.as_bytes())).unwrap_err();
        for line in [
            r#"{"custom_id":"mine","method":"GET","url":"/v1/x","body":{}}"#,
            r#"{"custom_id":"mine","method":"POST","url":"/v1/x"}"#,
            r#"{"custom_id":"mine","method":"POST","url":"/v1/x","body":{"stream":true}}"#,
        ] {
            assert_eq!(named(line).custom_id.as_deref(), Some("mine"), "{line}");
        }
        for line in [
            r#"{"custom_id":"","method":"GET"}"#,
            r#"{"custom_id":1}"#,
            "no",
        ] {
            assert_eq!(named(line).custom_id, None, "{line}");
        }
    }

    #[test]
    fn a_line_is_a_request_with_the_bytes_that_stand_in_it() {
        let line = r#" {"custom_id":"a","method":"POST","url":"/v1/responses","body":{"n": 1.50},"more":0} "#;
        let asked = read(line).unwrap();
        assert_eq!(asked.custom_id, "a");
        assert_eq!(asked.target.as_str(), "/v1/responses");
        assert_eq!(asked.body, r#"{"n": 1.50}"#);
    }

    #[test]
    fn what_is_no_request_names_the_field_and_quotes_nothing() {
        let line = |id: &str, method: &str, url: &str, body: &str| {
            format!(r#"{{"custom_id":{id},"method":{method},"url":{url},"body":{body}}}"#)
        };
        let (id, post, url, body) = (r#""a""#, r#""POST""#, r#""/v1/x""#, "{}");
        assert!(read(&line(id, post, url, body)).is_ok());
        assert!(read(&line(id, post, url, r#"{"stream":false}"#)).is_ok());
        for (text, code, param) in [
            ("secret".to_owned(), "invalid_json", None),
            (r#"{"custom_id":"#.to_owned(), "invalid_json", None),
            (r#""secret""#.to_owned(), "invalid_request", None),
            (
                r#"{"url":"/a","url":"/b"}"#.to_owned(),
                "duplicate_key",
                Some("url"),
            ),
            ("{}".to_owned(), "invalid_request", Some("custom_id")),
            (
                line("7", post, url, body),
                "invalid_request",
                Some("custom_id"),
            ),
            (
                line(r#""""#, post, url, body),
                "invalid_request",
                Some("custom_id"),
            ),
            (
                line(id, r#""secret""#, url, body),
                "invalid_request",
                Some("method"),
            ),
            (
                line(id, post, r#""https://secret/v1/x""#, body),
                "invalid_request",
                Some("url"),
            ),
            (
                line(id, post, r#""secret""#, body),
                "invalid_request",
                Some("url"),
            ),
            (
                line(id, post, url, r#""secret""#),
                "invalid_request",
                Some("body"),
            ),
            (line(id, post, url, "null"), "invalid_request", Some("body")),
            (
                line(id, post, url, r#"{"secret":1,"stream":true}"#),
                "invalid_request",
                Some("body.stream"),
            ),
        ] {
            let error = read(&text).unwrap_err();
            let found = (error.kind.code(), error.param.as_deref());
            assert_eq!(found, (code, param), "{text}");
            assert!(!error.message.contains("secret"), "{}", error.message);
        }
    }
}
