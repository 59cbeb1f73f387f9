//! Whether results of tools stand where templates look for them: a conversation on Chat's wire in, unread but for who speaks.

use serde::Deserialize;
use serde_json::value::RawValue;

/// Of a message what tells its place. Values are compared as they are written.
#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow)]
    role: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_call_id: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<Vec<Called<'a>>>,
}

#[derive(Deserialize)]
struct Called<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
}

/// Whether each result stands right behind its call, in the order of the calls. What is odd in any way is not said to be.
pub(super) fn is_in_order(conversation: &[u8]) -> bool {
    let Ok(all) = serde_json::from_slice::<Vec<Said<'_>>>(conversation) else {
        return false;
    };
    let mut open: Vec<Called<'_>> = Vec::new();
    let mut answered = 0;
    for said in all {
        if said.role.map(RawValue::get) == Some("\"tool\"") {
            let call = open.get(answered).and_then(|call| call.id);
            let is_its = |(call, id): (&RawValue, &RawValue)| call.get() == id.get();
            if !call.zip(said.tool_call_id).is_some_and(is_its) {
                return false;
            }
            answered += 1;
            continue;
        }
        // Its result may come later.
        if answered < open.len() {
            return false;
        }
        open = said.tool_calls.unwrap_or_default();
        answered = 0;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::is_in_order;
    use serde_json::{Value, json};

    #[test]
    fn only_what_is_certain_is_in_order() {
        let called = |ids: &[&str]| {
            let calls: Vec<Value> = ids
                .iter()
                .map(|id| json!({"id": id, "function": {}}))
                .collect();
            json!({"role": "assistant", "content": null, "tool_calls": calls})
        };
        let result = |id: &str| json!({"content": "x", "role": "tool", "tool_call_id": id});
        let user = || json!({"role": "user", "content": [{"type": "text", "text": "x"}]});
        for (said, is) in [
            (json!([]), true),
            (
                json!([
                    user(),
                    called(&["1", "2"]),
                    result("1"),
                    result("2"),
                    user()
                ]),
                true,
            ),
            (
                json!([called(&["1"]), result("1"), called(&["1"]), result("1")]),
                true,
            ),
            (json!([user(), called(&["1"])]), true),
            (
                json!([called(&["1", "2"]), result("2"), result("1")]),
                false,
            ),
            (json!([called(&["1"]), user(), result("1")]), false),
            (
                json!([called(&["1"]), called(&["2"]), result("1"), result("2")]),
                false,
            ),
            (json!([called(&["1"]), result("2")]), false),
            (json!([result("1")]), false),
            (
                json!([called(&["1"]), {"role": "tool", "content": "x"}]),
                false,
            ),
            (
                json!([{"role": "assistant", "tool_calls": [{}]}, result("1")]),
                false,
            ),
            (json!({"role": "tool"}), false),
            (json!(["tool"]), false),
        ] {
            assert_eq!(is_in_order(said.to_string().as_bytes()), is, "{said}");
        }
        let twice = br#"[{"role":"user","role":"tool","tool_call_id":"1"}]"#;
        assert!(!is_in_order(twice));
    }
}
