//! Replies of Anthropic's that say where the results of a batch are: as they came in, with an address that leads back through the
//! proxy out. The SDK follows `results_url` as it stands, past its own `base_url` and
//! with its own key, and puts a path behind that (anthropic 0.125.0, `_prepare_url`).

use serde_json::Value;

/// Where batches are.
const BATCHES: &str = "/v1/messages/batches";

/// Whether replies on this path are batches, which may say where their results are.
#[must_use]
pub fn names_results(path: &str) -> bool {
    let below = path.strip_prefix(BATCHES);
    below.is_some_and(|below| {
        let is_below = below.is_empty() || below.starts_with('/');
        is_below && !below.trim_end_matches('/').ends_with("/results")
    })
}

/// Such a reply with addresses below the client's own `base_url`; `None` where it has none.
#[must_use]
pub fn with_own_results(body: &[u8]) -> Option<Vec<u8>> {
    let mut reply = crate::json::value_of(body).ok()?;
    let mut is_other = bring_home(&mut reply);
    let listed = reply.get_mut("data").and_then(Value::as_array_mut);
    for batch in listed.into_iter().flatten() {
        is_other |= bring_home(batch);
    }
    is_other.then(|| reply.to_string().into_bytes())
}

/// Whether there was an address.
fn bring_home(batch: &mut Value) -> bool {
    let Some(Value::String(url)) = batch.get_mut("results_url") else {
        return false;
    };
    let has_host = url.contains("://");
    let home = url.find(&format!("{BATCHES}/")).filter(|_| has_host);
    let home = home.and_then(|at| url.get(at..)).map(str::to_owned);
    let is_other = home.is_some();
    if let Some(home) = home {
        *url = home;
    }
    is_other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_below_the_clients_own_address() {
        let told = br#"{"id":"b","results_url":"https://api.anthropic.com/v1/messages/batches/b/results"}"#;
        let own = br#"{"id":"b","results_url":"/v1/messages/batches/b/results"}"#;
        assert_eq!(with_own_results(told).as_deref(), Some(&own[..]));
        let listed = [br#"{"data":["#, &told[..], b"]}"].concat();
        let listed_own = [br#"{"data":["#, &own[..], b"]}"].concat();
        assert_eq!(with_own_results(&listed), Some(listed_own));
        for other in [
            &own[..],
            br#"{"results_url":null}"#,
            br#"{"results_url":"https://h/elsewhere"}"#,
            b"no JSON",
            b"[]",
        ] {
            assert_eq!(with_own_results(other), None);
        }
    }

    #[test]
    fn only_batches_say_where_their_results_are() {
        for path in ["", "/", "/b", "/b/cancel"] {
            assert!(names_results(&format!("{BATCHES}{path}")), "{path}");
        }
        for path in [
            "/v1/messages",
            "/v1/messages/batches/b/results",
            "/v1/messages/batchesx",
        ] {
            assert!(!names_results(path), "{path}");
        }
    }
}
