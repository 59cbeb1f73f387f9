//! Parameters that the server knows by other names: its calls' arguments under the client's.

use super::super::Rewrapper;
use crate::ir::{CallKind, Delta};
use crate::json::scan::{ByteKind, Scanner, StringPart};
use std::collections::HashMap;

/// The calls of a choice whose parameters have other names, each with its place.
#[derive(Debug, Default)]
pub(super) struct Keys(Vec<(u32, Stated)>);

/// One call's arguments as they come.
#[derive(Debug)]
struct Stated {
    tool: String,
    scanner: Scanner,
    /// The parameter's name that is open, with its quote.
    held: String,
    /// They are no JSON from some place on: that passes as it is.
    is_broken: bool,
}

impl Stated {
    const fn new(tool: String) -> Self {
        Self {
            tool,
            scanner: Scanner::new(),
            held: String::new(),
            is_broken: false,
        }
    }

    /// More of the arguments; what of them is certain, under the client's names.
    fn push(&mut self, raw: &str, names: &HashMap<String, String>) -> String {
        let mut out = String::with_capacity(raw.len());
        for letter in raw.chars() {
            let mut bytes = [0; 4];
            let bytes = letter.encode_utf8(&mut bytes).bytes();
            let kinds = bytes.map(|byte| self.scanner.push(byte).ok());
            let kind = match self.is_broken {
                true => None,
                // Of one letter they are all the same.
                false => kinds.fold(None, |_, kind| kind),
            };
            self.is_broken |= kind.is_none();
            match kind {
                Some(ByteKind::Key(part)) if self.scanner.depth() == 1 => {
                    self.held.push(letter);
                    if part == StringPart::Close {
                        out.push_str(&stated(&self.held, names));
                        self.held.clear();
                    }
                }
                _ => {
                    out.push_str(&self.held);
                    self.held.clear();
                    out.push(letter);
                }
            }
        }
        out
    }
}

/// A name in its quotes, or the client's in its place.
fn stated(quoted: &str, names: &HashMap<String, String>) -> String {
    let name: Option<String> = serde_json::from_str(quoted).ok();
    let stated = name.and_then(|name| names.get(&name));
    stated.map_or_else(
        || quoted.to_owned(),
        |stated| serde_json::Value::from(stated.as_str()).to_string(),
    )
}

impl Keys {
    /// The same of calls that come so many places later.
    pub(super) fn later(&mut self, places: u32) {
        for (call, _) in &mut self.0 {
            *call = call.saturating_add(places);
        }
    }
}

impl Rewrapper {
    /// Tells the arguments of a call under the client's names; `None` where there is no more of them yet.
    pub(super) fn stated_keys(&mut self, delta: Delta) -> Option<Delta> {
        if self.plan.renamed_keys.is_empty() {
            return Some(delta);
        }
        match delta {
            Delta::CallStart { call, ref name, .. } => {
                if self.plan.renamed_keys.contains_key(name) {
                    let stated = Stated::new(name.clone());
                    self.call_menders.keys.0.push((call, stated));
                }
                Some(delta)
            }
            Delta::CallInput { call, kind, text } => {
                let mut open = self.call_menders.keys.0.iter_mut();
                let open = open.find(|(its, _)| *its == call);
                let names = open
                    .and_then(|(_, open)| Some((self.plan.renamed_keys.get(&open.tool)?, open)));
                let is_empty = text.is_empty();
                let text = match names {
                    Some((names, open)) => open.push(&text, names),
                    None => text,
                };
                let is_told = is_empty || !text.is_empty();
                is_told.then_some(Delta::CallInput { call, kind, text })
            }
            delta => Some(delta),
        }
    }

    /// The calls end: what is held of a name that was cut goes out.
    pub(super) fn end_keys(&mut self, out: &mut Vec<Delta>) {
        for (call, open) in std::mem::take(&mut self.call_menders.keys.0) {
            if !open.held.is_empty() {
                let (kind, text) = (CallKind::Function, open.held);
                out.push(Delta::CallInput { call, kind, text });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> HashMap<String, String> {
        let names = [("filter_id", "filter[id]"), ("_top", "$top\"é")];
        let owned = |(told, stated): (&str, &str)| (told.to_owned(), stated.to_owned());
        names.into_iter().map(owned).collect()
    }

    #[test]
    fn names_are_the_clients_wherever_the_arguments_are_cut() {
        let raw = r#"{ "filter\u005fid" : {"filter_id":"_top"},"é":["_top"],"_top":"filter_id"}"#;
        let expected =
            r#"{ "filter[id]" : {"filter_id":"_top"},"é":["_top"],"$top\"é":"filter_id"}"#;
        for at in (0..=raw.len()).filter(|at| raw.is_char_boundary(*at)) {
            let mut call = Stated::new(String::new());
            let first = call.push(&raw[..at], &names());
            assert!(expected.starts_with(&first), "only what is certain");
            assert_eq!(first + &call.push(&raw[at..], &names()), expected);
            assert_eq!(call.held, "");
        }
    }

    #[test]
    fn what_is_no_json_passes_as_it_is() {
        for raw in [
            r#"{"a" "filter_id":1}"#,
            r#"["filter_id"]"#,
            "\"filter_id\"",
            "{é\"_top\":1",
        ] {
            let mut call = Stated::new(String::new());
            assert_eq!(call.push(raw, &names()) + &call.held, raw);
        }
        let mut call = Stated::new(String::new());
        assert_eq!(call.push("{\"filter_", &names()), "{");
        assert_eq!(call.held, "\"filter_", "what is cut is not lost");
    }
}
