//! Who operators are, and what each may see: health and metrics are for all who reach the listener (but
//! for `tls.admin` mutual), the console for those who are on this machine or show that they are operators.

use super::{Reply, text};
use crate::config::{AdminTls, Config, Secret};
use crate::tls::{HTTP1, Peers, Tls, TlsError, Wire};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, HeaderValue, ORIGIN};
use http::{HeaderMap, Method, Request, StatusCode};
use std::io;
use std::net::IpAddr;
use subtle::ConstantTimeEq as _;
use tokio::net::TcpStream;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// How operators are let in.
#[derive(Debug)]
pub struct Door {
    /// What they are served in TLS with.
    tls: Option<Tls>,
    /// What is no probe of health is for those who have a certificate.
    is_mutual: bool,
    /// What they show to see the console.
    token: Option<Secret>,
    /// Only this machine reaches the listener.
    is_local: bool,
}

impl Default for Door {
    /// On this machine, in plain HTTP.
    fn default() -> Self {
        Self {
            tls: None,
            is_mutual: false,
            token: None,
            is_local: true,
        }
    }
}

impl Door {
    /// As the configuration has it.
    ///
    /// # Errors
    /// A file that holds no certificate or key, or those that do not go together.
    pub fn new(config: &Config) -> Result<Self, TlsError> {
        let tls = config.admin_tls();
        let tls = tls.map(|files| Tls::new(&files, Peers::Any, &[HTTP1]));
        Ok(Self {
            tls: tls.transpose()?,
            is_mutual: config.tls.admin == AdminTls::Mutual,
            token: config.admin_token.clone(),
            is_local: config.admin.ip().to_canonical().is_loopback(),
        })
    }

    /// A connection on which HTTP can be spoken.
    pub(super) async fn opened(&self, stream: TcpStream) -> io::Result<Wire> {
        match &self.tls {
            None => Ok(Wire::Plain(stream)),
            Some(tls) => tls.accept(stream).await,
        }
    }

    /// Whether who is on this connection may ask for this.
    pub(super) fn lets(&self, is_known: bool, path: &str) -> bool {
        !self.is_mutual || is_known || matches!(path, "/livez" | "/readyz")
    }

    /// Why the console is not shown to whoever asks, and what would help; `None` where it is.
    pub(super) fn refusal<B>(&self, is_known: bool, request: &Request<B>) -> Option<Reply> {
        let headers = request.headers();
        let forbidden = |why| Some(text(StatusCode::FORBIDDEN, why));
        let is_certain = self.is_mutual && is_known;
        match &self.token {
            Some(token) if !is_shown(token, headers) => return Some(unauthorized()),
            None if !self.is_local && !is_certain => {
                return forbidden(
                    "the console is not served to other machines: give --admin-token-file, or let --admin be 127.0.0.1:9090; \
                     /metrics /livez /readyz /capabilities are for all\n",
                );
            }
            // A page elsewhere whose name is made to lead here has that name in it.
            None if self.is_local && !is_this_machine(headers) => {
                return forbidden(
                    "ask for localhost or 127.0.0.1: another name may be a page elsewhere that was made to lead here\n",
                );
            }
            _ => {}
        }
        if request.method() == Method::POST && !is_of_the_page(headers) {
            return forbidden(
                "a POST comes from the console's own page or from no page, with content-type: application/json\n",
            );
        }
        None
    }
}

fn unauthorized() -> Reply {
    let mut reply = text(
        StatusCode::UNAUTHORIZED,
        "show the secret of --admin-token-file: `Authorization: Bearer SECRET`, or as the password where a browser asks\n",
    );
    let basic = HeaderValue::from_static("Basic realm=\"isogloss\", charset=\"UTF-8\"");
    let headers = reply.headers_mut();
    headers.insert(http::header::WWW_AUTHENTICATE, basic);
    reply
}

fn word(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// Whether the token is shown, as a bearer's or as anybody's password.
fn is_shown(token: &Secret, headers: &HeaderMap) -> bool {
    let Some((scheme, shown)) =
        word(headers, AUTHORIZATION).and_then(|value| value.split_once(' '))
    else {
        return false;
    };
    let shown = shown.trim();
    let is_token = |shown: &[u8]| bool::from(shown.ct_eq(token.expose().as_bytes()));
    if scheme.eq_ignore_ascii_case("bearer") {
        return is_token(shown.as_bytes());
    }
    let pair = BASE64_STANDARD.decode(shown).unwrap_or_default();
    let colon = pair.iter().position(|byte| *byte == b':');
    let password = colon.and_then(|colon| pair.get(colon + 1..));
    scheme.eq_ignore_ascii_case("basic") && password.is_some_and(is_token)
}

/// Whether the name that was asked for is of this machine, and cannot be made to lead here.
fn is_this_machine(headers: &HeaderMap) -> bool {
    let Some(host) = word(headers, HOST) else {
        return false;
    };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = |ip: IpAddr| ip.to_canonical().is_loopback();
    let name = name.to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost") || address.parse().is_ok_and(is_loopback)
}

/// Whether no other page sent this: a browser says which did, and asks first before it sends JSON elsewhere.
fn is_of_the_page(headers: &HeaderMap) -> bool {
    let is_json = word(headers, CONTENT_TYPE).is_some_and(|value| {
        let media = value.split(';').next().unwrap_or_default();
        media.trim().eq_ignore_ascii_case("application/json")
    });
    let host = word(headers, HOST);
    let is_own = |origin: &str| {
        let authority = origin.split_once("://").map(|(_, authority)| authority);
        authority.is_some() && authority == host
    };
    let is_near = |site: &str| matches!(site, "same-origin" | "none");
    is_json
        && (!headers.contains_key(ORIGIN) || word(headers, ORIGIN).is_some_and(is_own))
        && (!headers.contains_key(SEC_FETCH_SITE)
            || word(headers, SEC_FETCH_SITE).is_some_and(is_near))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn request(method: Method, headers: &[(&str, &str)]) -> Request<()> {
        let mut request = Request::builder().method(method).uri("/requests");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap()
    }

    fn status(door: &Door, is_known: bool, request: &Request<()>) -> u16 {
        let refusal = door.refusal(is_known, request);
        refusal.map_or(200, |reply| reply.status().as_u16())
    }

    fn with_token(is_local: bool) -> Door {
        Door {
            token: Some(Secret::new("a long enough secret".to_owned())),
            is_local,
            ..Door::default()
        }
    }

    #[test]
    fn on_this_machine_only_names_of_this_machine_are_answered() {
        let door = Door::default();
        for host in [
            "localhost:9090",
            "127.0.0.1:9090",
            "127.0.0.1",
            "[::1]:9090",
            "LOCALHOST",
            "a.localhost:1",
        ] {
            assert_eq!(
                status(&door, false, &request(Method::GET, &[("host", host)])),
                200,
                "{host}"
            );
        }
        for host in [
            "rebound.example:9090",
            "localhost.example",
            "127.0.0.1.nip.io",
            "10.0.0.1:9090",
            "",
        ] {
            assert_eq!(
                status(&door, false, &request(Method::GET, &[("host", host)])),
                403,
                "{host}"
            );
        }
        assert_eq!(status(&door, false, &request(Method::GET, &[])), 403);
    }

    #[test]
    fn other_machines_see_the_console_with_the_token_or_a_certificate_alone() {
        let asked = |authorization: &str| {
            request(
                Method::GET,
                &[
                    ("host", "proxy.internal:9090"),
                    ("authorization", authorization),
                ],
            )
        };
        let plain = request(Method::GET, &[("host", "localhost:9090")]);
        let far = Door {
            is_local: false,
            ..Door::default()
        };
        assert_eq!(status(&far, false, &plain), 403);
        assert_eq!(status(&far, true, &plain), 403);
        let mutual = Door {
            is_mutual: true,
            is_local: false,
            ..Door::default()
        };
        assert_eq!(status(&mutual, true, &plain), 200);
        for is_local in [true, false] {
            let door = with_token(is_local);
            assert_eq!(status(&door, false, &plain), 401);
            assert_eq!(
                status(&door, false, &asked("Bearer a long enough secret")),
                200
            );
            let basic = BASE64_STANDARD.encode("anybody:a long enough secret");
            assert_eq!(status(&door, false, &asked(&format!("Basic {basic}"))), 200);
            for wrong in [
                "Bearer a long enough secre",
                "Bearer ",
                "Basic YTpi",
                "a long enough secret",
                "Digest x",
            ] {
                assert_eq!(status(&door, false, &asked(wrong)), 401, "{wrong}");
            }
        }
    }

    #[test]
    fn no_other_page_posts() {
        let door = Door::default();
        let json = ("content-type", "application/json");
        let host = ("host", "localhost:9090");
        for (more, told) in [
            (&[json][..], 200),
            (&[json, ("origin", "http://localhost:9090")], 200),
            (&[json, ("sec-fetch-site", "same-origin")], 200),
            (&[], 403),
            (&[("content-type", "text/plain")], 403),
            (&[json, ("origin", "http://localhost:8000")], 403),
            (&[json, ("origin", "null")], 403),
            (&[json, ("sec-fetch-site", "cross-site")], 403),
        ] {
            let headers: Vec<_> = [host].into_iter().chain(more.iter().copied()).collect();
            assert_eq!(
                status(&door, false, &request(Method::POST, &headers)),
                told,
                "{more:?}"
            );
        }
    }
}
