//! The head of a request in; whether it may be served at all. What is refused here is what two
//! readers of one message are known to disagree about, or what would give secrets away.

use http::header::{HOST, TRANSFER_ENCODING};
use http::uri::Authority;
use http::{HeaderValue, Method, Request, Version};
use isogloss_core::error::{Error, Kind};

/// Refuses a head that is not to be served, before anything looks at the rest of the request.
pub(super) fn check<B>(request: &Request<B>) -> Result<(), Error> {
    check_method(request.method())?;
    check_transfer(request)?;
    check_host(request)
}

/// `TRACE` is answered with the request as it came, the upstream's API key among it.
fn check_method(method: &Method) -> Result<(), Error> {
    if *method != Method::TRACE {
        return Ok(());
    }
    let message = "TRACE is not forwarded: it would show the server's credentials; use GET";
    Err(Error::new(Kind::InvalidRequest, message).with_status(405))
}

/// `chunked`, once, or nothing: of several codings each reader makes a body of its own, and nobody here undoes them.
fn check_transfer<B>(request: &Request<B>) -> Result<(), Error> {
    let mut codings = request.headers().get_all(TRANSFER_ENCODING).iter();
    let is_chunked = |value: &HeaderValue| {
        value
            .as_bytes()
            .trim_ascii()
            .eq_ignore_ascii_case(b"chunked")
    };
    match (codings.next(), codings.next()) {
        (None, _) => Ok(()),
        (Some(one), None) if is_chunked(one) => Ok(()),
        _ => {
            let message =
                "the transfer encoding is no plain `chunked`; send that once, or a Content-Length";
            Err(Error::new(Kind::InvalidRequest, message))
        }
    }
}

/// Exactly one `Host` that names a host (RFC 9112, section 3.2). HTTP/2 has `:authority` instead,
/// HTTP/1.0 may have neither.
fn check_host<B>(request: &Request<B>) -> Result<(), Error> {
    let mut hosts = request.headers().get_all(HOST).iter();
    let message = match (hosts.next(), hosts.next()) {
        (None, _) if request.version() != Version::HTTP_11 => return Ok(()),
        (Some(host), None) if names_a_host(host) => return Ok(()),
        (None, _) => "the request has no Host header; HTTP/1.1 requires one",
        (Some(_), Some(_)) => "the request has several Host headers; send one",
        (Some(_), None) => "the Host header names no host; send `host` or `host:port`",
    };
    Err(Error::new(Kind::InvalidRequest, message))
}

/// Empty where the client's URL has no authority (RFC 9110, section 7.2).
fn names_a_host(value: &HeaderValue) -> bool {
    let Ok(authority) = Authority::try_from(value.as_bytes()) else {
        return value.is_empty();
    };
    let text = authority.as_str();
    let port = text
        .strip_prefix(authority.host())
        .and_then(|rest| rest.strip_prefix(':'));
    !text.contains('@') && port.is_none_or(|port| port.is_empty() || authority.port_u16().is_some())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn status(request: http::request::Builder) -> Option<u16> {
        let request = request.body(()).unwrap();
        check(&request).err().map(|error| error.status())
    }

    #[test]
    fn a_host_is_named_once() {
        for host in [
            "p",
            "p:80",
            "p:",
            "127.0.0.1:8080",
            "[::1]:80",
            "my_service:8000",
            "",
        ] {
            assert_eq!(status(Request::get("/").header(HOST, host)), None, "{host}");
        }
        for host in ["user@p", "p:99999", "p:a", "[::1", "p/../admin", "p q"] {
            let request = Request::get("/").header(HOST, host);
            assert_eq!(status(request), Some(400), "{host}");
        }
        assert_eq!(status(Request::get("/")), Some(400));
        let twice = Request::get("/").header(HOST, "p").header(HOST, "p");
        assert_eq!(status(twice), Some(400));
    }

    #[test]
    fn other_versions_may_do_without_a_host() {
        for version in [Version::HTTP_10, Version::HTTP_2] {
            assert_eq!(status(Request::get("/").version(version)), None);
        }
    }

    #[test]
    fn trace_is_not_forwarded() {
        let request = Request::builder().method("TRACE").header(HOST, "p");
        assert_eq!(status(request), Some(405));
    }
}
