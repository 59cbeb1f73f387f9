//! What was said to be carried exactly, and came back wrong all the same: whose fault it is. Each
//! reason is a fact about the demand's schema, the server's notes and what the server really said,
//! never the wording of a message.

use super::demands::{Content, Demand};
use super::notes::Notes;
use super::reading::{Compiler, walk};
use super::server::Held;
use serde_json::{Map, Value};

/// What the proxy says of a reply that breaks the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Breach {
    /// Which keyword, or `json`, `tool_choice`, ….
    pub(crate) rule: String,
    pub(crate) words: String,
}

impl Breach {
    /// `None` where no rule is named.
    pub(crate) fn read(message: &str) -> Option<Self> {
        let (words, rest) = message.rsplit_once(" (rule: ")?;
        let (rule, _) = rest.split_once("). Try your request again")?;
        let is_name = |c: char| c.is_alphanumeric() || "_$:".contains(c);
        let is_rule = !rule.is_empty() && rule.chars().all(is_name);
        let (rule, words) = (rule.to_owned(), words.to_owned());
        is_rule.then_some(Self { rule, words })
    }
}

/// What the server did for the reply that was judged.
#[derive(Debug, Clone, Default)]
pub(crate) struct Evidence {
    pub(crate) held: Held,
    pub(crate) said: Vec<String>,
}

/// Why a promise may be broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    /// A format is not wholly what an engine's regex says of it.
    Format,
    /// Random numbers are long: more so than what a double can tell to be a multiple.
    MultipleOf,
    /// A whole number beyond 64 bits, where the schema says something of numbers.
    WideInteger,
    /// A number beyond every double, or half of a surrogate pair: engines write them, readers of
    /// JSON refuse them. No keyword forbids either, so none is asked for.
    Unreadable,
    /// An object that takes keys that nobody named has one of them twice.
    KeyTwice,
    /// What stands for a hosted API's compiler ignores the keyword of the schema.
    Lacks(&'static str),
    /// The server held the model to less than the proxy says.
    Unheld(Held),
}

/// What the engine that stands in for hosted APIs (llguidance, lenient) does not hold to: the keywords,
/// and what is broken where they are ignored (nothing named: what the keyword holds inside).
const STAND_IN_LACKS: &[(&str, &[&str])] = &[
    ("contains", &["contains"]),
    ("propertyNames", &["propertyNames"]),
    ("uniqueItems", &["uniqueItems"]),
    ("not", &["not"]),
    ("oneOf", &["oneOf"]),
    ("minProperties", &["minProperties"]),
    ("maxProperties", &["maxProperties"]),
    ("if", &[]),
    ("dependentRequired", &["required", "dependentRequired"]),
    ("dependentSchemas", &[]),
    ("dependencies", &[]),
    ("unevaluatedItems", &["unevaluatedItems"]),
    ("unevaluatedProperties", &["unevaluatedProperties"]),
    ("$anchor", &[]),
    ("$dynamicRef", &[]),
    ("$dynamicAnchor", &[]),
];

/// What llama.cpp's converter lacks, where a hosted API is noted to have it and the rules do not know
/// what the API compiles with.
const CONVERTER_LACKS: &[(&str, &[&str])] = &[
    ("minimum", &["minimum"]),
    ("maximum", &["maximum"]),
    ("exclusiveMinimum", &["exclusiveMinimum"]),
    ("exclusiveMaximum", &["exclusiveMaximum"]),
    ("multipleOf", &["multipleOf"]),
    ("contains", &["contains"]),
    ("not", &["not"]),
    ("oneOf", &["oneOf"]),
    ("uniqueItems", &["uniqueItems"]),
    ("propertyNames", &["propertyNames"]),
    ("minProperties", &["minProperties"]),
    ("maxProperties", &["maxProperties"]),
    ("dependentRequired", &["required", "dependentRequired"]),
    ("dependencies", &[]),
    ("patternProperties", &[]),
    ("if", &[]),
];

const OF_NUMBERS: [&str; 6] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "uniqueItems",
];

/// The reason; `None` where there is none, and the promise is plainly broken.
pub(crate) fn reason(
    breach: &Breach,
    demand: &Demand,
    notes: &Notes,
    evidence: &Evidence,
) -> Option<Reason> {
    let said = &evidence.said;
    let has = |keyword: &str| any(demand, |map| map.contains_key(keyword));
    let found = match breach.rule.as_str() {
        "format" if has("format") => Some(Reason::Format),
        "multipleOf" if has("multipleOf") && said.iter().any(|text| numbers(text).any(is_long)) => {
            Some(Reason::MultipleOf)
        }
        "json" => unreadable(demand, said),
        _ => None,
    };
    if found.is_some() || evidence.held != Held::Whole {
        return found.or(Some(Reason::Unheld(evidence.held)));
    }
    let lacks = match notes.compiler {
        Compiler::Whole if notes.is_hosted => STAND_IN_LACKS,
        Compiler::LlamaCpp if notes.is_hosted => CONVERTER_LACKS,
        _ => return None,
    };
    let lacked = |(keyword, rules): &&(&'static str, &[&str])| {
        (rules.is_empty() || rules.contains(&breach.rule.as_str())) && has(keyword)
    };
    let lacked = lacks.iter().find(lacked).map(|(keyword, _)| *keyword);
    let of_shapes = || match breach.rule.as_str() {
        // Alternatives are all that the converter reads of an object that has them; and what is
        // required, but not among the properties, it does not ask for.
        _ if any(demand, |map| {
            map.contains_key("anyOf") && map.contains_key("properties")
        }) =>
        {
            Some("anyOf")
        }
        "required" if any(demand, requires_unnamed) => Some("required"),
        _ => None,
    };
    let is_converter = notes.compiler == Compiler::LlamaCpp;
    lacked
        .or_else(|| of_shapes().filter(|_| is_converter))
        .map(Reason::Lacks)
}

fn requires_unnamed(map: &Map<String, Value>) -> bool {
    let named = |name: &Value| {
        name.as_str()
            .is_some_and(|name| map["properties"].get(name).is_some())
    };
    let required = map.get("required").and_then(Value::as_array);
    map.contains_key("properties") && required.is_some_and(|all| !all.iter().all(named))
}

fn unreadable(demand: &Demand, said: &[String]) -> Option<Reason> {
    let of_numbers = |map: &Map<String, Value>| {
        let exact = ["const", "enum"]
            .iter()
            .filter_map(|keyword| map.get(*keyword));
        OF_NUMBERS.iter().any(|keyword| map.contains_key(*keyword))
            || exact
                .flat_map(|value| {
                    value
                        .as_array()
                        .map_or(std::slice::from_ref(value), Vec::as_slice)
                })
                .any(Value::is_number)
    };
    let open =
        |map: &Map<String, Value>| map.get("additionalProperties") != Some(&Value::Bool(false));
    if said
        .iter()
        .any(|text| has_large(text) || has_half_pair(text))
    {
        Some(Reason::Unreadable)
    } else if any(demand, of_numbers) && said.iter().any(|text| numbers(text).any(is_wide)) {
        Some(Reason::WideInteger)
    } else if any(demand, open) && said.iter().any(|text| has_key_twice(text)) {
        Some(Reason::KeyTwice)
    } else {
        None
    }
}

/// Whether any subschema of the demand is like this.
fn any(demand: &Demand, test: impl Fn(&Map<String, Value>) -> bool) -> bool {
    let open = Value::Object(Map::new());
    let answer = match &demand.content {
        Content::Schema(schema) | Content::Tags { schema, .. } => Some(schema),
        Content::Object => Some(&open),
        _ => None,
    };
    let tools = demand.tools.iter().map(|(_, schema)| schema);
    let mut check = |map: &Map<String, Value>| match test(map) {
        true => Err(String::new()),
        false => Ok(()),
    };
    answer
        .into_iter()
        .chain(tools)
        .any(|schema| walk(schema, &mut check).is_err())
}

// --- what was said -------------------------------------------------------------------------------

/// What stands outside of strings, the strings left out.
fn bare(text: &str) -> String {
    let (mut bare, mut is_string, mut is_escaped) = (String::new(), false, false);
    for letter in text.chars() {
        match (is_string, letter) {
            (true, _) if is_escaped => is_escaped = false,
            (true, '\\') => is_escaped = true,
            (_, '"') => is_string = !is_string,
            (true, _) => {}
            (false, letter) => bare.push(letter),
        }
    }
    bare
}

fn numbers(text: &str) -> impl Iterator<Item = String> {
    let bare = bare(text);
    let is_part = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    let all: Vec<String> = bare
        .split(|c| !is_part(c))
        .filter(|text| text.contains(|c: char| c.is_ascii_digit()))
        .map(str::to_owned)
        .collect();
    all.into_iter()
}

/// More digits than a double tells apart.
fn is_long(number: String) -> bool {
    number.chars().filter(char::is_ascii_digit).count() > 15
}

fn is_wide(number: String) -> bool {
    let is_whole = !number.contains(['.', 'e', 'E']);
    is_whole && number.parse::<i64>().is_err() && number.parse::<u64>().is_err()
}

fn has_large(text: &str) -> bool {
    numbers(text).any(|number| number.parse::<f64>().is_ok_and(f64::is_infinite))
}

/// Whether a string has one half of a surrogate pair: the rest of the text is JSON.
fn has_half_pair(text: &str) -> bool {
    let fits = |text: &str| first_value(text).is_some();
    let mut whole = String::new();
    let mut left = text;
    while let Some(at) = left.find('\\') {
        let (before, escape) = left.split_at(at);
        whole += before;
        let length = if escape.starts_with("\\u") { 6 } else { 2 };
        let escaped = escape.get(..length).unwrap_or(escape);
        let is_half = escape
            .get(2..3)
            .is_some_and(|c| c.eq_ignore_ascii_case("d"))
            && escape
                .get(3..4)
                .is_some_and(|c| "89abcdefABCDEF".contains(c));
        whole += if length == 6 && is_half { "?" } else { escaped };
        left = &escape[escaped.len()..];
    }
    whole += left;
    !fits(text) && fits(&whole)
}

/// Whether some object's key stands twice: there are more members in the text than in the value.
fn has_key_twice(text: &str) -> bool {
    fn members(value: &Value) -> usize {
        match value {
            Value::Array(all) => all.iter().map(members).sum(),
            Value::Object(map) => map.len() + map.values().map(members).sum::<usize>(),
            _ => 0,
        }
    }
    let mut left = text;
    while let Some((value, written, rest)) = first_value(left) {
        if members(&value) < bare(written).matches(':').count() {
            return true;
        }
        left = rest;
    }
    false
}

/// The first value of a text, as it is written, and what stands behind it: the whole text is JSON, or
/// calls stand in it, each between its own tags.
fn first_value(text: &str) -> Option<(Value, &str, &str)> {
    let text = text.trim_start();
    let is_tagged = !text.starts_with(['{', '[', '"']);
    let from = if is_tagged { text.find('{')? } else { 0 };
    let mut values = serde_json::Deserializer::from_str(&text[from..]).into_iter();
    let value = values.next()?.ok()?;
    let (written, rest) = text[from..].split_at(values.byte_offset());
    Some((value, written, rest))
}

#[test]
fn what_was_said_is_evidence_only_of_what_stands_in_it() {
    assert!(has_key_twice(r#"{"a": 1, "a": 2}"#) && !has_key_twice(r#"{"a:": {"a": ":"}}"#));
    let tagged =
        |arguments| format!("<tool_call>\n{{\"name\": \"a\"}}</tool_call>\n<tool_call>{arguments}");
    assert!(has_key_twice(&tagged(
        r#"{"": 1, "b": {"": 1, "": 2}}</tool_call>"#
    )));
    assert!(!has_key_twice(&tagged(
        r#"{"": 1, "b": {"": 1}}</tool_call>"#
    )));
    assert!(has_half_pair(r#"<tool_call>{"a": "\ud800"}</tool_call>"#));
    assert!(!has_half_pair(
        r#"<tool_call>{"a": "\ud83d\ude00"}</tool_call>"#
    ));
    assert!(has_half_pair(r#""\ud800""#) && !has_half_pair(r#""\ud83d\ude00""#));
    assert!(!has_half_pair(r#"{"a": "#) && !has_half_pair(r#""\\ud800""#));
    assert!(has_large("[1e400]") && !has_large("[\"1e400\", 1e300]"));
    let wide = |text: &str| numbers(text).any(is_wide);
    assert!(
        wide("-99999999999999999999")
            && !wide("18446744073709551615")
            && !wide("\"99999999999999999999\"")
    );
}

#[test]
fn a_breach_is_read_off_a_report_that_names_its_rule() {
    let said = "it breaks: choices[0] at /a: is not (rule: enum): is long (rule: maxLength). Try your request again, or not";
    assert_eq!(Breach::read(said).unwrap().rule, "maxLength");
    assert_eq!(Breach::read("it breaks. Try your request again"), None);
}
