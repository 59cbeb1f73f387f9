//! Values of a schema, and values beside it.

use super::demands::{Calls, Demand, Takes, Tool, Want};
use super::json::{J, n, obj, s};
use super::source::Source;
use super::tagged::tagged;
use serde_json::Value;

const WORDS: &[&str] = &[
    "a",
    "bad",
    "ok then",
    "日本",
    "\u{e9}t\u{e9}",
    "x\"y",
    "back\\slash",
    "line\nbreak",
    "😀",
    "{\"age\":1}",
    "<tool_call>",
    "```",
    "data: [DONE]",
    "\u{2028}",
    "</tool_call>",
    "</function> <function=g>",
];

/// Numbers that readers take for another, or for none.
const NUMBERS: &[&str] = &[
    "1e400",
    "-1",
    "2.5",
    "99999999999999999999",
    "NaN",
    "01",
    "1.0",
    "9007199254740993",
    "9007199254740992",
    "9007199254740991.6",
    "18446744073709551616",
    "1e-400",
    "-0.0",
    "1.0000000000000000001",
    "0.99999999999999999999",
    "1E0",
    "1e+0",
    "+1",
    "1.",
    "Infinity",
];

/// One that satisfies it, of the few keywords that the pool has.
pub fn right(schema: &Value, source: &mut impl Source) -> J {
    if let Some(all) = schema["anyOf"].as_array() {
        return right(source.pick(all), source);
    }
    if let Some(all) = schema["enum"].as_array() {
        return J::from(source.pick(all));
    }
    if let Some(value) = schema.get("const") {
        return J::from(value);
    }
    match schema["type"].as_str() {
        Some("object") => object(schema, source),
        Some("array") => {
            let least = schema["minItems"].as_u64().unwrap_or(0) as usize;
            let most = schema["maxItems"].as_u64().unwrap_or(3) as usize;
            let count = least + source.below(most - least + 1);
            if schema["uniqueItems"] == true {
                let from = source.below(9);
                return J::Arr((from..from + count).map(n).collect());
            }
            let items = (0..count).map(|_| right(&schema["items"], source));
            J::Arr(items.collect())
        }
        Some("integer") => {
            let least = schema["minimum"].as_i64().unwrap_or(-1000);
            let most = schema["maximum"].as_i64().unwrap_or(100_000);
            n(least + source.below((most - least + 1) as usize) as i64)
        }
        Some("number") => between(schema, source),
        Some("boolean") => J::Bool(source.chance(50)),
        Some("string") if schema.get("pattern").is_some() => {
            s(*source.pick(&["ab", "abcdefgh", "zz"]))
        }
        Some("string") if schema.get("maxLength").is_some() => s(*source.pick(&["", "a", "😀日é"])),
        Some("string") => s(*source.pick(WORDS)),
        _ => J::Null,
    }
}

/// Between 0 and 1, which is what the pool has.
fn between(schema: &Value, source: &mut impl Source) -> J {
    let all = ["1", "0.5", "1e-3", "0.25E0", "1.0", "0"];
    let count = if schema.get("exclusiveMinimum").is_some() {
        all.len() - 1
    } else {
        all.len()
    };
    J::Num((*source.pick(&all[..count])).to_owned())
}

fn object(schema: &Value, source: &mut impl Source) -> J {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let mut members = Vec::new();
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        if required.iter().any(|it| it == name) || source.chance(50) {
            members.push((name.clone(), right(inner, source)));
        }
    }
    if schema["additionalProperties"] != false && source.chance(30) {
        members.push(("more".to_owned(), s("x")));
    }
    if source.chance(20) {
        members.reverse();
    }
    J::Obj(members)
}

/// Any value, of the kind that is wrong in most places.
pub fn odd(source: &mut impl Source) -> J {
    match source.below(16) {
        0 => J::Null,
        1 => J::Bool(source.chance(50)),
        2 => n(-1),
        3 => n(source.below(5)),
        4 => J::Num((*source.pick(&["1.5", "1e3", "-0", "4294967296", "0.0"])).to_owned()),
        5 => s(*source.pick(&["bad", "abc\n", "\u{663}\u{663}", "ab cd", "😀😀😀😀", "ABC"])),
        6 => s(""),
        7 => s(*source.pick(&["0", "1", "stop", "length", "tool_calls", "assistant", "g"])),
        8 => J::Arr(Vec::new()),
        9 => J::Arr(vec![s("bad")]),
        10 => obj([]),
        11 => obj([("text", s("bad"))]),
        12 => obj([("age", s("bad"))]),
        13 => J::Arr(vec![obj([
            ("type", s("text")),
            ("text", s("{\"age\":\"bad\"}")),
        ])]),
        14 => s("{\"age\":\"bad\"}"),
        _ => s(*source.pick(WORDS)),
    }
}

/// Changes one object of it: a member goes, comes, comes twice, or is another. What is no object
/// becomes anything.
pub fn spoil(value: &mut J, source: &mut impl Source) {
    let count = value.objects();
    if count == 0 || source.chance(10) {
        *value = odd(source);
        return;
    }
    let mut place = source.below(count);
    let Some(members) = value.object_mut(&mut place) else {
        return;
    };
    let nth = source.below(members.len());
    match source.below(7) {
        0 if !members.is_empty() => {
            members.remove(nth);
        }
        4 if !members.is_empty() => {
            let number = *source.pick(NUMBERS);
            members[nth].1 = J::Num(number.to_owned());
        }
        1 => members.push(("zzz".to_owned(), odd(source))),
        2 if !members.is_empty() => {
            let (key, known) = members[nth].clone();
            members[nth].1 = odd(source);
            members.insert(source.below(members.len() + 1), (key, known));
        }
        3 if !members.is_empty() => {
            let key = members[nth].0.clone();
            members.push((key, odd(source)));
        }
        _ if !members.is_empty() => members[nth].1 = odd(source),
        _ => members.push(("age".to_owned(), odd(source))),
    }
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub name: String,
    /// Arguments as JSON text, or a custom tool's text.
    pub input: String,
    pub custom: bool,
}

/// What a choice says, in the client's terms.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    pub text: Option<String>,
    pub calls: Vec<Call>,
}

fn of_pattern(texts: &[&str], source: &mut impl Source) -> String {
    (*source.pick(texts)).to_owned()
}

pub fn json_text(value: &J, source: &mut impl Source) -> String {
    let percent = *source.pick(&[0, 0, 0, 15]);
    value.odd_text(source, percent)
}

fn call(tool: &Tool, is_wrong: bool, source: &mut impl Source) -> Call {
    let (mut input, custom) = match &tool.takes {
        Takes::Schema(schema) => {
            let mut value = right(schema, source);
            if is_wrong {
                spoil(&mut value, source);
            }
            (json_text(&value, source), false)
        }
        Takes::Text(Some((_, texts))) => (of_pattern(texts, source), true),
        Takes::Lark(lark) => (of_pattern(lark.texts, source), true),
        Takes::Text(None) => (of_pattern(WORDS, source), true),
        Takes::Hosted(_) => ("{\"query\":\"x\"}".to_owned(), false),
    };
    if is_wrong && custom {
        input.push('!');
    }
    Call {
        name: tool.name.to_owned(),
        input,
        custom,
    }
}

/// An answer to the demand; `is_wrong` for one with a value spoilt. `one_call` where what the
/// server says can hold one call only.
pub fn answer(demand: &Demand, one_call: bool, is_wrong: bool, source: &mut impl Source) -> Answer {
    // A server's own tools are called by the server: no reply tells of it in this form.
    let is_own = |tool: &&Tool| !matches!(tool.takes, Takes::Hosted(_));
    let tools: Vec<&Tool> = demand.tools.iter().filter(is_own).collect();
    let calls =
        demand.calls == Calls::Required || demand.calls == Calls::Optional && source.chance(60);
    if calls && !tools.is_empty() {
        let most = if demand.one_call || one_call { 1 } else { 3 };
        let count = 1 + source.below(most);
        let wrong = source.below(count);
        let calls = (0..count).map(|nth| {
            let tool = tools[source.below(tools.len())];
            call(tool, is_wrong && nth == wrong, source)
        });
        return Answer {
            calls: calls.collect(),
            text: None,
        };
    }
    Answer {
        text: Some(text(demand.want.as_ref(), is_wrong, source)),
        calls: Vec::new(),
    }
}

/// A content that is wanted, or nearly.
pub fn text(want: Option<&Want>, is_wrong: bool, source: &mut impl Source) -> String {
    let spoilt = |mut text: String, source: &mut dyn FnMut(usize) -> usize| {
        if is_wrong {
            match source(3) {
                0 => text.push('!'),
                1 => text.insert(0, 'x'),
                _ => text = "bad".to_owned(),
            }
        }
        text
    };
    match want {
        Some(Want::Schema(schema)) => {
            let mut value = right(schema, source);
            if is_wrong {
                spoil(&mut value, source);
            }
            json_text(&value, source)
        }
        Some(Want::Object) => {
            let value = if is_wrong {
                J::Arr(vec![odd(source)])
            } else {
                obj([("a", odd(source)), ("b", n(1))])
            };
            json_text(&value, source)
        }
        Some(Want::Pattern(_, texts) | Want::Choice(texts)) => {
            let text = of_pattern(texts, source);
            spoilt(text, &mut |n| source.below(n))
        }
        Some(Want::Tags(shape)) => tagged(shape, is_wrong, source),
        None => of_pattern(&["It is sunny.", "Hello 😀, how are you?", "No."], source),
    }
}
