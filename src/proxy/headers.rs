//! Headers in; those that may travel on out. A proxy forwards what is end to end and nothing
//! that was meant for the connection (RFC 9110, section 7.6.1).

use http::header::{
    ACCEPT_ENCODING, ALT_SVC, AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH,
    CONTENT_TYPE, DATE, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, SERVER, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};

const HOP_BY_HOP: [HeaderName; 10] = [
    CONNECTION,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("http2-settings"),
];

/// Headers with which a client would steer the server rather than ask it something.
const STEERING: [HeaderName; 2] = [
    super::request_id::X_REQUEST_ID,
    // vLLM 0.10 and newer: picks the engine that does the work.
    HeaderName::from_static("x-data-parallel-rank"),
];

/// Removes what was meant for one connection: the fixed set, and what `Connection` names.
fn remove_hop_by_hop(headers: &mut HeaderMap) {
    // Where a message has both, its length is not that (RFC 9112, section 6.3).
    if headers.contains_key(TRANSFER_ENCODING) {
        headers.remove(CONTENT_LENGTH);
    }
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        // A client that names these would take the message's meaning away.
        .filter(|name| *name != CONTENT_LENGTH && *name != HOST && *name != CONTENT_TYPE)
        .collect();
    for name in HOP_BY_HOP.iter().chain(&named) {
        headers.remove(name);
    }
}

/// The proxy's own words: only what it says itself may carry them.
const OWN: &str = "x-isogloss-";

fn remove_own(headers: &mut HeaderMap) {
    let is_own = |name: &&HeaderName| name.as_str().starts_with(OWN);
    let own: Vec<HeaderName> = headers.keys().filter(is_own).cloned().collect();
    for name in &own {
        headers.remove(name);
    }
}

/// Puts a client's key where a server's rule looks for it: as `authorization`, whatever its dialect calls it. `key`
/// is the header and the member of the query in which clients of the dialect send it; it stands in no URL from here on.
pub(super) fn rename_key(
    key: Option<(&'static str, Option<&'static str>)>,
    query: Option<&str>,
    headers: &mut HeaderMap,
) {
    let Some((header, member)) = key else {
        return;
    };
    let stated = headers.remove(header);
    let stated = stated.as_ref().map(HeaderValue::as_bytes);
    let pairs = query.unwrap_or_default().split('&');
    let mut pairs = pairs.filter_map(|pair| pair.split_once('='));
    let in_query =
        pairs.find_map(|(name, value)| (Some(name) == member).then_some(value.as_bytes()));
    // An operator's own scheme, or a token of Google's, is not replaced.
    if headers.contains_key(AUTHORIZATION) {
        return;
    }
    // Whatever its bytes are: two keys must not be one.
    let bearer = stated.or(in_query).map(|key| [b"Bearer ", key].concat());
    let value = bearer.and_then(|bearer| HeaderValue::from_bytes(&bearer).ok());
    if let Some(mut value) = value {
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
}

/// The headers of a request that goes on as it is.
pub(super) fn pass_up(mut headers: HeaderMap) -> HeaderMap {
    remove_hop_by_hop(&mut headers);
    remove_own(&mut headers);
    headers.remove(HOST);
    // hyper answers `100-continue` to the client by itself.
    headers.remove(EXPECT);
    headers
}

/// The headers of a request whose body is ours: its reply must come readable.
pub(super) fn rewritten_up(headers: HeaderMap) -> HeaderMap {
    let mut headers = pass_up(headers);
    for name in STEERING.iter().chain([&CONTENT_LENGTH]) {
        headers.remove(name);
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers
}

/// The headers of a reply that goes on as it is.
pub(super) fn pass_down(mut headers: HeaderMap) -> HeaderMap {
    remove_hop_by_hop(&mut headers);
    remove_own(&mut headers);
    // It would lead the client past the proxy.
    headers.remove(ALT_SVC);
    headers
}

/// The headers of a reply whose body is ours.
pub(super) fn rewritten_down(headers: HeaderMap) -> HeaderMap {
    let mut headers = pass_down(headers);
    for name in [CONTENT_LENGTH, CONTENT_ENCODING, CONTENT_TYPE, SERVER, DATE] {
        headers.remove(name);
    }
    headers
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            })
            .collect()
    }

    #[test]
    fn hop_by_hop_headers_and_those_that_connection_names_stay_here() {
        let kept = pass_up(headers(&[
            ("connection", "close, X-Secret ,content-length"),
            ("x-secret", "1"),
            ("te", "trailers"),
            ("keep-alive", "timeout=5"),
            ("upgrade", "h2c"),
            ("host", "proxy"),
            ("content-length", "3"),
            ("authorization", "Bearer x"),
            ("x-other", "2"),
        ]));
        let names: Vec<_> = kept.keys().map(HeaderName::as_str).collect();
        assert_eq!(names.len(), 3, "{names:?}");
        for name in ["content-length", "authorization", "x-other"] {
            assert!(kept.contains_key(name), "{name}");
        }
    }

    #[test]
    fn a_length_beside_chunks_is_none_of_the_message() {
        let both = [("transfer-encoding", "chunked"), ("content-length", "5")];
        assert!(pass_down(headers(&both)).is_empty());
        assert!(pass_up(headers(&both)).is_empty());
    }

    #[test]
    fn a_rewritten_request_asks_for_plain_bytes_and_steers_nothing() {
        let kept = rewritten_up(headers(&[
            ("accept-encoding", "gzip"),
            ("x-request-id", "http://internal/"),
            ("x-data-parallel-rank", "7"),
            ("content-length", "3"),
            ("openai-organization", "org"),
        ]));
        assert_eq!(kept.get("accept-encoding").unwrap(), "identity");
        assert!(kept.contains_key("openai-organization"));
        assert_eq!(kept.len(), 3);
    }

    #[test]
    fn a_key_of_another_dialect_becomes_the_authorization_and_leaves_the_url() {
        let key = Some(("x-goog-api-key", Some("key")));
        type Row<'a> = (
            &'a [(&'static str, &'static str)],
            Option<&'a str>,
            Option<&'a str>,
        );
        let rows: [Row<'_>; 5] = [
            (&[("x-goog-api-key", "k")], None, Some("Bearer k")),
            (&[], Some("alt=sse&key=q"), Some("Bearer q")),
            (&[("x-goog-api-key", "k")], Some("key=q"), Some("Bearer k")),
            (
                &[("authorization", "Bearer a"), ("x-goog-api-key", "k")],
                None,
                Some("Bearer a"),
            ),
            (&[], Some("alt=sse"), None),
        ];
        for (given, query, wanted) in rows {
            let mut given = headers(given);
            rename_key(key, query, &mut given);
            let got = given
                .get("authorization")
                .map(|value| value.to_str().unwrap());
            assert_eq!(got, wanted);
            assert!(!given.contains_key("x-goog-api-key"));
        }
        let mut untouched = headers(&[("x-goog-api-key", "k")]);
        rename_key(None, Some("key=q"), &mut untouched);
        assert!(untouched.contains_key("x-goog-api-key") && untouched.len() == 1);
    }

    #[test]
    fn nobody_but_the_proxy_says_what_the_proxy_did() {
        let said = || {
            headers(&[
                ("x-isogloss-strategy", "native"),
                ("x-isogloss-anything", "1"),
                ("alt-svc", "h3=\":443\""),
                ("x-isogloss", "1"),
            ])
        };
        let names = |kept: &HeaderMap| kept.keys().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(names(&pass_down(said())), ["x-isogloss"]);
        assert_eq!(names(&rewritten_down(said())), ["x-isogloss"]);
        assert_eq!(names(&pass_up(said())), ["x-isogloss", "alt-svc"]);
        assert!(!rewritten_up(said()).contains_key("x-isogloss-strategy"));
    }

    #[test]
    fn a_rewritten_reply_keeps_the_servers_own_headers() {
        let kept = rewritten_down(headers(&[
            ("content-length", "3"),
            ("content-encoding", "identity"),
            ("server", "uvicorn"),
            ("transfer-encoding", "chunked"),
            ("openai-processing-ms", "12"),
        ]));
        assert_eq!(kept.len(), 1);
        assert!(kept.contains_key("openai-processing-ms"));
    }
}
