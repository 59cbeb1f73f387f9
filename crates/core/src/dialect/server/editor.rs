//! A body that came on a wire, for a server of the same: how it is edited. What no edit is about keeps
//! the client's bytes.
//!
//! The rewrite says what is changed, in nobody's words; an editor knows where that stands in a body of
//! its wire.

use crate::dialect::chat;
use crate::dialect::client::states;
use crate::error::Error;
use crate::ir::{Fields, History, Origin, Request, Role, Tool, ToolChoice, Turn, raw, raw_string};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// Edits the bodies of a wire that clients speak too.
pub trait Editor: fmt::Debug + Sync {
    /// Where a server is sent such a request: the path below its base, with its query.
    fn path(&self, request: &Request) -> Cow<'static, str>;

    /// Whether a body is a prompt alone, in which the model can be told nothing, and no chat template has a
    /// part. Of the words of constraints such a route may take fewer than Chat's: the rule's own are sent.
    fn is_bare(&self) -> bool {
        false
    }

    /// Puts what only some servers of the wire take into the words that all of them do; says whether
    /// there was any.
    fn respell(&self, _fields: &mut Cow<'_, Fields>, _request: &Request) -> bool {
        false
    }

    /// Puts what stands for a signature on calls of other servers, where this one refuses those that have none; says whether
    /// there was any.
    fn sign(&self, _fields: &mut Cow<'_, Fields>, _history: &History) -> bool {
        false
    }

    /// Whether [`Self::sign`] may find any in this conversation, which is looked at as bytes.
    fn may_sign(&self, _conversation: &[u8], _history: &History) -> bool {
        false
    }

    /// Takes marks of what to cache off the tools; says whether there was any.
    fn unmark_tools(&self, _fields: &mut Cow<'_, Fields>) -> bool {
        false
    }

    /// Where a thought of another server stands that [`Self::respell`] leaves out: a JSON Pointer to the first one.
    fn foreign_thought(&self, _fields: &Fields) -> Option<String> {
        None
    }

    /// Takes a constraint out of the body, and gives back what is not sent any more with it. What stands
    /// beside it in the same object stays, unless the wire has it otherwise.
    fn unstate(&self, fields: &mut Fields, stated: &Origin) -> Option<Box<RawValue>> {
        let path: Vec<&str> = stated.0.split('.').collect();
        take(fields, &path)
    }

    /// Leaves these tools, which are some of the request's, perhaps with other parameters.
    fn tools(&self, fields: &mut Fields, request: &Request, tools: &[Tool]);

    /// Asks for these calls; for none in particular where there is no choice.
    fn choice(&self, fields: &mut Fields, choice: Option<&ToolChoice>, tools: &[Tool]);

    /// Says whether several calls at once may come, or nothing of it.
    fn parallel(&self, fields: &mut Fields, parallel: Option<bool>);

    /// Leaves these stop texts.
    fn stop_at(&self, fields: &mut Fields, kept: &[String]) {
        set_stops(fields, &["stop"], kept);
    }

    /// Tells the model something beside the conversation: in its first instructions where there are
    /// any, since many chat templates take no second.
    ///
    /// # Errors
    /// The conversation is none.
    fn instruct(&self, fields: &mut Fields, text: &str) -> Result<(), Error>;

    /// The same among the user's first words, where the server takes no instructions.
    ///
    /// # Errors
    /// As there.
    fn instruct_user(&self, fields: &mut Fields, text: &str) -> Result<(), Error> {
        self.instruct(fields, text)
    }

    /// Puts what a rule said in Chat's words, which templates may be in, into the wire's own.
    fn settle(&self, _fields: &mut Fields) {}

    /// Puts these turns in the place of the conversation: what of them is not edited keeps the client's bytes. `title` is
    /// the server's name, for people. `false` where the wire leaves its conversations to its servers, or cannot say it.
    fn retell(
        &self,
        _fields: &mut Fields,
        _turns: &[Turn],
        _history: &History,
        _title: &str,
    ) -> bool {
        false
    }

    /// Appends a turn of the user or of the assistant to the conversation.
    fn say(&self, fields: &mut Fields, role: Role, text: &str);

    /// Takes out the turns that the server itself has kept by now, answer included, since the request was served;
    /// whether it keeps any.
    fn forget_kept(&self, _fields: &mut Fields) -> bool {
        false
    }
}

/// The editor of Chat's bodies, whose messages are what a server that takes prompts renders.
pub const CHAT: &dyn Editor = &chat::server::ChatEditor;

/// The items of a field that is a list.
#[must_use]
pub fn items(fields: &Fields, name: &str) -> Option<Vec<Box<RawValue>>> {
    serde_json::from_str(fields.raw(name)?).ok()
}

/// Appends an item to a field that is a list, which keeps its bytes.
pub fn append(fields: &mut Fields, name: &str, item: &Value) {
    let list = fields.raw(name).unwrap_or("[]").trim();
    let list = list.strip_suffix(']').unwrap_or(list).trim_end();
    let comma = if list.ends_with('[') { "" } else { "," };
    let list = format!("{list}{comma}{item}]");
    fields.set(name, raw_string(list));
}

/// Leaves these tools in a list that has the request's in their order. What stays as it was keeps its
/// bytes; `write` says what becomes of the others, with what the client wrote.
pub fn keep_tools(
    fields: &mut Fields,
    name: &str,
    (request, tools): (&Request, &[Tool]),
    write: impl Fn(&Tool, &Tool, &RawValue) -> Box<RawValue>,
) {
    if tools.is_empty() {
        fields.remove(name);
        return;
    }
    let Some(items) = items(fields, name) else {
        return;
    };
    let stated = request.tools.iter().zip(&items);
    let kept: Vec<Box<RawValue>> = (tools.iter())
        .filter_map(|tool| {
            let (known, item) = (stated.clone()).find(|(known, _)| known.origin == tool.origin)?;
            Some(match known == tool {
                true => item.clone(),
                false => write(known, tool, item),
            })
        })
        .collect();
    fields.set(name, raw(&kept));
}

/// Writes a `strict` that is a text as what it says; whether there was one.
pub fn mend_strict(of: &mut Fields) -> bool {
    let stated = of.raw("strict").filter(|raw| raw.starts_with('"'));
    let stated: Option<String> = stated.and_then(|raw| serde_json::from_str(raw).ok());
    let said = match stated.as_deref() {
        Some("true") => true,
        Some("false") => false,
        _ => return false,
    };
    of.set("strict", raw(&said));
    true
}

/// Whether a `strict` in a list of tools may be a text.
#[must_use]
pub fn may_say_strict_in_text(list: &str) -> bool {
    // A name may be written in escapes.
    states(list.as_bytes(), "strict", "\"") || list.contains("\\u")
}

/// The items of a list of tools, each with what [`mend_strict`] makes of it; `None` where that is what came.
#[must_use]
pub fn with_plain_strict(list: &str) -> Option<Box<RawValue>> {
    if !may_say_strict_in_text(list) {
        return None;
    }
    let mut tools: Vec<Fields> = serde_json::from_str(list).ok()?;
    let mut changed = false;
    for tool in &mut tools {
        changed |= mend_strict(tool);
    }
    changed.then(|| raw(&tools))
}

/// Takes what stands at a path; objects on the way are written anew, and go where nothing is left of them.
fn take(fields: &mut Fields, path: &[&str]) -> Option<Box<RawValue>> {
    let (first, rest) = path.split_first()?;
    if rest.is_empty() {
        return fields.remove(first);
    }
    let mut object: Fields = serde_json::from_str(fields.raw(first)?).ok()?;
    let value = take(&mut object, rest)?;
    match object.0.is_empty() {
        true => drop(fields.remove(first)),
        false => fields.set(first, raw(&object)),
    }
    Some(value)
}

/// Leaves these stop texts at the path where such a wire has them.
pub fn set_stops(fields: &mut Fields, path: &[&str], kept: &[String]) {
    let taken = take(fields, path);
    if taken.is_some() && !kept.is_empty() {
        put(fields, path, raw(kept));
    }
}

/// Puts a value at a path; objects on the way are written anew.
fn put(fields: &mut Fields, path: &[&str], value: Box<RawValue>) {
    match path {
        [] => {}
        [last] => fields.set(last, value),
        [first, rest @ ..] => {
            let object = fields.raw(first).map(serde_json::from_str);
            let mut object: Fields = object.and_then(Result::ok).unwrap_or_default();
            put(&mut object, rest, value);
            fields.set(first, raw(&object));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::{append, set_stops, take};
    use crate::ir::Fields;
    use serde_json::json;

    fn fields(json: &str) -> Fields {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn what_is_appended_to_keeps_its_bytes() {
        for (before, after) in [
            ("[]", r#"[{"a":1}]"#),
            ("[ ]", r#"[{"a":1}]"#),
            ("[ [ 1 ] ]", r#"[ [ 1 ],{"a":1}]"#),
            (r#"[{"x" : [ ] }, 2 ]"#, r#"[{"x" : [ ] }, 2,{"a":1}]"#),
        ] {
            let mut fields = fields(&format!(r#"{{"l":{before}}}"#));
            append(&mut fields, "l", &json!({"a": 1}));
            assert_eq!(fields.raw("l"), Some(after));
        }
    }

    #[test]
    fn what_is_taken_leaves_what_stands_beside_it() {
        let mut body = fields(r#"{"c":{"format":{"x":1},"effort" : "low" },"d":{"e":{"f":1}}}"#);
        assert_eq!(
            take(&mut body, &["c", "format"]).unwrap().get(),
            r#"{"x":1}"#
        );
        assert_eq!(body.raw("c"), Some(r#"{"effort":"low"}"#));
        assert_eq!(take(&mut body, &["d", "e", "f"]).unwrap().get(), "1");
        assert!(!body.has("d"));
        assert!(take(&mut body, &["c", "format"]).is_none());
    }

    #[test]
    fn stop_texts_that_are_left_stay_where_they_were() {
        let kept = ["x".to_owned()];
        let stated = r#"{"o":{"stop":["\\n","x"],"seed" : 1}}"#;
        for (kept, left) in [
            (&kept[..], r#"{"seed":1,"stop":["x"]}"#),
            (&[], r#"{"seed":1}"#),
        ] {
            let mut body = fields(stated);
            set_stops(&mut body, &["o", "stop"], kept);
            assert_eq!(body.raw("o"), Some(left));
        }
        let mut body = fields(r#"{"a":1}"#);
        set_stops(&mut body, &["stop"], &kept);
        assert!(!body.has("stop"));
    }
}
