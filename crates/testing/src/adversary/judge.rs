//! Whether a client got what it asked for. Knows the demand and what was folded, and nothing of how
//! it came about. What must be JSON of a schema is judged here, and once more by others
//! (`tests/adversary/run`).

use super::clients::Dialect;
use super::demands::{Calls, Demand, Takes, Want, schema};
use super::fold::{Choice, Fault, Folded, FoldedCall, fault};
use super::json::{J, Twice, read};
use super::prefix::prefix;
use super::reader::Reader;
use super::values::{Answer, Call};
use serde_json::Value;
use std::collections::HashMap;

/// Compiled once for all replies.
pub struct Judge {
    schemas: HashMap<String, jsonschema::Validator>,
    patterns: HashMap<&'static str, Pattern>,
}

/// Of a language, its texts, and those that could become one.
struct Pattern {
    whole: regex::Regex,
    begun: regex::Regex,
}

impl Pattern {
    fn new(pattern: &str) -> Self {
        let anchored = |pattern: &str| {
            let anchored = regex::Regex::new(&format!("\\A(?:{pattern})\\z"));
            anchored.expect("a pattern of the pool")
        };
        Self {
            whole: anchored(pattern),
            begun: anchored(&prefix(pattern)),
        }
    }
}

/// A text and the schema that it must satisfy, for those who judge after us.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Claim {
    pub schema: String,
    pub text: String,
}

/// The name in claims of a schema that stands in tags.
pub fn in_tags(demand: &str, schema: &str) -> String {
    format!("{demand}: {schema} in tags")
}

/// The schemas of a demand, by their names in claims.
pub fn schemas_of(demand: &Demand) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    match &demand.want {
        Some(Want::Schema(schema)) => all.push((format!("{}: content", demand.id), schema.clone())),
        Some(Want::Object) => {
            all.push((
                format!("{}: content", demand.id),
                serde_json::json!({"type": "object"}),
            ));
        }
        Some(Want::Tags(shape)) => all.extend(shape.schemas().into_iter().map(|name| {
            let schema = schema(name).clone();
            (in_tags(&demand.id, name), schema)
        })),
        _ => {}
    }
    for tool in &demand.tools {
        if let Takes::Schema(schema) = &tool.takes {
            all.push((format!("{}: {}", demand.id, tool.name), schema.clone()));
        }
    }
    all
}

impl Judge {
    pub fn new(demands: &[Demand]) -> Self {
        let mut judge = Self {
            schemas: HashMap::new(),
            patterns: HashMap::new(),
        };
        for demand in demands {
            for (name, schema) in schemas_of(demand) {
                let validator = jsonschema::validator_for(&schema).expect("a schema of the pool");
                judge.schemas.insert(name, validator);
            }
            let mut patterns: Vec<&'static str> = Vec::new();
            patterns.extend(demand.tools.iter().filter_map(|tool| tool.takes.pattern()));
            match &demand.want {
                Some(Want::Pattern(pattern, _)) => patterns.push(pattern),
                Some(Want::Tags(shape)) => patterns.extend(shape.patterns()),
                _ => {}
            }
            for pattern in patterns {
                let known = judge.patterns.entry(pattern);
                known.or_insert_with(|| Pattern::new(pattern));
            }
        }
        judge
    }

    /// What is wrong with one reader's view. What must be of a schema goes to `claims` as well.
    pub fn faults(
        &self,
        demand: &Demand,
        choices: usize,
        view: &Folded,
        claims: &mut Vec<Claim>,
    ) -> Vec<Fault> {
        let mut faults = view.faults.clone();
        let wanted: Vec<u64> = (0..choices as u64).collect();
        if !view.choices.keys().eq(wanted.iter()) {
            let what = if view.choices.len() < choices {
                "fewer than were asked for"
            } else if view.choices.len() > choices {
                "more than were asked for"
            } else {
                "not those that were asked for"
            };
            faults.push(fault("choices", what));
        }
        for choice in view.choices.values() {
            faults.extend(self.choice(demand, choice, claims));
        }
        for fault in faults.iter_mut().filter(|_| view.minds_no_case) {
            fault.what += ", to readers that mind no case";
        }
        faults
    }

    /// What is wrong with one choice of it.
    pub fn choice(&self, demand: &Demand, choice: &Choice, claims: &mut Vec<Claim>) -> Vec<Fault> {
        let mut faults = choice_of_tools(demand, choice);
        let is_cut = choice.is_cut();
        let has_calls = !choice.calls.is_empty() || choice.function_call.is_some();
        let is_refused = !choice.refusal.is_empty();
        let calls = choice.calls.iter().map(|it| (&it.1, true));
        let calls = calls.chain(choice.function_call.iter().map(|it| (it, false)));
        let mut calls = calls.peekable();
        while let Some((call, is_modern)) = calls.next() {
            // Where one has begun, those before it are whole.
            let is_cut = is_cut && calls.peek().is_none();
            self.call(demand, call, is_modern, is_cut, &mut faults, claims);
        }
        let is_silent = choice.content.is_empty();
        if let Some(want) = demand
            .want
            .as_ref()
            .filter(|_| !(is_silent && (has_calls || is_refused)))
        {
            let name = format!("{}: content", demand.id);
            let found = self.content(want, &choice.content, is_cut, name, claims);
            faults.extend(found.map(|what| match (is_refused, is_cut) {
                (true, _) => fault("content beside refusal", what),
                (_, true) => fault("content cut", what),
                _ => fault("content", what),
            }));
        }
        faults
    }

    fn call(
        &self,
        demand: &Demand,
        call: &FoldedCall,
        is_modern: bool,
        is_cut: bool,
        faults: &mut Vec<Fault>,
        claims: &mut Vec<Claim>,
    ) {
        let Some(tool) = demand.tools.iter().find(|tool| tool.name == call.name) else {
            if demand.calls != Calls::Forbidden {
                faults.push(fault("call name", "a tool is called that may not be"));
            }
            return;
        };
        let kind = tool.takes.kind();
        if is_modern && call.kind != kind {
            faults.push(fault(
                "call type",
                format!("a {kind} tool is called as another"),
            ));
        }
        let found = match &tool.takes {
            Takes::Schema(_) => {
                let name = format!("{}: {}", demand.id, tool.name);
                self.json(&call.input, is_cut, name, claims)
            }
            takes => takes
                .pattern()
                .and_then(|pattern| self.pattern(pattern, &call.input, is_cut)),
        };
        let kind = if is_cut { "arguments cut" } else { "arguments" };
        faults.extend(found.map(|what| fault(kind, what)));
    }

    fn content(
        &self,
        want: &Want,
        text: &str,
        is_cut: bool,
        name: String,
        claims: &mut Vec<Claim>,
    ) -> Option<String> {
        match want {
            Want::Schema(_) | Want::Object => self.json(text, is_cut, name, claims),
            Want::Pattern(pattern, _) => self.pattern(pattern, text, is_cut),
            Want::Choice(texts) => {
                let is_right = |known: &&str| *known == text || is_cut && known.starts_with(text);
                (!texts.iter().any(is_right)).then(|| "is none of the choices".to_owned())
            }
            Want::Tags(shape) => {
                let demand = name.trim_end_matches(": content");
                Reader::new(self, demand, text, is_cut).fault(shape, claims)
            }
        }
    }

    /// Texts that a pattern matches; where they were cut, the beginnings of those.
    pub fn pattern(&self, pattern: &str, text: &str, is_cut: bool) -> Option<String> {
        let Pattern { whole, begun } = &self.patterns[pattern];
        let is_right = if is_cut { begun } else { whole }.is_match(text);
        (!is_right).then(|| "does not match the pattern".to_owned())
    }

    /// What is cut may be unfinished; what is whole all the same must be right.
    pub fn json(
        &self,
        text: &str,
        is_cut: bool,
        name: String,
        claims: &mut Vec<Claim>,
    ) -> Option<String> {
        let value = match serde_json::from_str::<J>(text) {
            Ok(value) => value,
            Err(error) if error.is_eof() && is_cut => return None,
            // Others know larger numbers.
            Err(error) if error.to_string().starts_with("number out of range") => {
                let text = text.to_owned();
                claims.push(Claim { schema: name, text });
                return None;
            }
            Err(_) => return Some("is no JSON".to_owned()),
        };
        if is_cut && !matches!(value, J::Arr(_) | J::Obj(_)) {
            return None;
        }
        let views = if value.is_twofold() {
            vec![Twice::Last, Twice::First]
        } else {
            vec![Twice::Last]
        };
        claims.push(Claim {
            schema: name.clone(),
            text: text.to_owned(),
        });
        for twice in views {
            let value = value.value(twice);
            if twice == Twice::First {
                claims.push(Claim {
                    schema: name.clone(),
                    text: value.to_string(),
                });
            }
            if !self.schemas[&name].is_valid(&value) {
                let reader = if twice == Twice::First {
                    ", where the first of two keys counts"
                } else {
                    ""
                };
                return Some(format!("is not of the schema{reader}"));
            }
        }
        None
    }
}

/// Whether it is one of form, which is right whatever the reply says.
pub fn is_form(fault: &Fault) -> bool {
    const FORM: [&str; 10] = [
        "framing", "encoding", "json", "envelope", "shape", "stray", "index", "role", "finish",
        "call id",
    ];
    FORM.contains(&fault.kind) || fault.kind.starts_with("note")
}

/// Whether the demand's choice of tools was kept, whatever the calls say.
fn choice_of_tools(demand: &Demand, choice: &Choice) -> Vec<Fault> {
    let mut faults = Vec::new();
    let is_cut = matches!(choice.finish.as_deref(), Some("length" | "content_filter"));
    let has_calls = !choice.calls.is_empty() || choice.function_call.is_some();
    let is_refused = !choice.refusal.is_empty();
    if demand.legacy && !choice.calls.is_empty() || !demand.legacy && choice.function_call.is_some()
    {
        faults.push(fault("call form", "a call in a form that was not asked in"));
    }
    if demand.calls == Calls::Forbidden && has_calls {
        faults.push(fault("call forbidden", "a tool is called, and none may be"));
    }
    if demand.calls == Calls::Required && !has_calls && !is_cut && !is_refused {
        faults.push(fault("call missing", "no tool is called, and one must be"));
    }
    // These may call the one tool several times at once; what is asked for in their name is one call.
    let may_repeat = matches!(
        demand.client,
        Dialect::Gemini | Dialect::GeminiList | Dialect::Interactions | Dialect::OllamaChat
    );
    if demand.one_call && !may_repeat && choice.calls.len() > 1 {
        faults.push(fault("call count", "more than one call"));
    }
    if choice.finish.as_deref() == Some("tool_calls") && !has_calls {
        faults.push(fault(
            "note: finish without call",
            "the finish tells of calls",
        ));
    }
    let mut ids: Vec<&str> = choice.calls.iter().map(|call| call.1.id.as_str()).collect();
    if ids.contains(&"") {
        faults.push(fault("call id", "a call has no id"));
    }
    ids.sort_unstable();
    ids.dedup();
    if ids.len() < choice.calls.len() {
        faults.push(fault("call id", "two calls have one id"));
    }
    faults
}

fn same_text(one: &str, other: &str) -> bool {
    let value = |text: &str| read(text).map(|it| it.value(Twice::Last));
    match (value(one), value(other)) {
        (Some(one), Some(other)) => one == other,
        _ => one.trim() == other.trim(),
    }
}

fn same_call(call: &Call, got: &FoldedCall) -> bool {
    let is_same = if call.custom {
        call.input == got.input
    } else {
        same_text(&call.input, &got.input)
    };
    call.name == got.name && is_same
}

/// Whether a client got these answers, and nothing else.
pub fn is_same(answers: &[Answer], view: &Folded) -> bool {
    let same = |(answer, choice): (&Answer, &Choice)| {
        let legacy = choice.function_call.iter();
        let got: Vec<&FoldedCall> = choice.calls.iter().map(|it| &it.1).chain(legacy).collect();
        let calls = answer
            .calls
            .iter()
            .zip(&got)
            .all(|(call, got)| same_call(call, got));
        let text = answer.text.as_deref().unwrap_or_default();
        calls && answer.calls.len() == got.len() && same_text(text, &choice.content)
    };
    answers.len() == view.choices.len() && answers.iter().zip(view.choices.values()).all(same)
}
