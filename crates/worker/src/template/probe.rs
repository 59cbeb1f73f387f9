//! What a template knows, found out by rendering: a template comes in; the shape of what it is shown goes out.
//!
//! Many templates raise on roles that they do not know, others leave them out in silence; they show tools or do not,
//! and calls beside a text, or only without one, or not at all. And its calls may not be those that the proxy reads.

use super::calls::{behind, has_call, reads_call};
use super::messages::Shape;
use super::{ChatTemplate, Prompt};
use isogloss_core::markup::{CallText, Format, Formats};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A name that no template has in it.
const MARK: &str = "isogloss_probe";
const ID: &str = "call00000";

/// What was found out.
pub(super) struct Found {
    pub(super) shape: Shape,
    /// See [`ChatTemplate`].
    pub(super) other: Option<Shape>,
    pub(super) messages: Option<Arc<Format>>,
}

/// How a template was shown a call that it showed.
struct Way {
    /// The style of the call, where it is another than Hermes's.
    style: Option<Arc<Format>>,
    id: String,
    content: Value,
    arguments: Value,
}

struct Probe<'t> {
    template: &'t ChatTemplate,
    /// The markup that the template's own text tells of.
    format: Option<&'t Arc<Format>>,
    /// The tools that it shows.
    tools: Vec<Value>,
    /// A question and these tools, where the template tells of calls. One that cannot show a question is not asked for them.
    before: Option<String>,
}

/// Tries out what the template shows.
pub(super) fn tried(template: &ChatTemplate) -> Found {
    let formats = Formats::builtin();
    let format = formats.of_template(&template.prepared.source);
    let messages = format.filter(|format| format.has_messages()).cloned();
    let format = format.filter(|format| format.frame(MARK, CallText::Whole).is_some());
    let probe = Probe::new(template, format);
    let has_tools = !probe.tools.is_empty();
    // Free calls must have a token, and may be JSON in Hermes's style.
    let is_for_some = |style: &Arc<Format>| style.is_typed() || style.tag(MARK).is_none();
    let is_own_for_some = |way: &Way| way.style.as_ref().is_some_and(is_for_some);
    // Who shows no tools is told of them, and of calls as JSON.
    let way = probe.way();
    let way = way.filter(|way| has_tools || !is_own_for_some(way));
    // Who shows tools, and says in words alone how they are called, has calls written so.
    let told = format.filter(|format| has_tools && way.is_none() && !is_for_some(format));
    let knows_calls = way.is_some();
    // Hermes's calls are told of with the tools, by whoever shows them.
    let knows_tools = has_tools && (knows_calls || told.is_some());
    let tool = json!({"role": "tool", "content": MARK, "tool_call_id": ID});
    let assistant = json!({"role": "assistant", "content": "b"});
    let results = [user(), assistant.clone(), tool, assistant, user()];
    let shows_results = probe.shows(&results);
    let system = json!({"role": "system", "content": MARK});
    let mut shape = Shape {
        system_role: probe.shows(&[system, user()]),
        ..template.shape.clone()
    };
    let other = way.as_ref().filter(|way| is_own_for_some(way));
    let other = other.map(|_| Shape {
        tool_role: shape.tool_role && shows_results,
        ..shape.clone()
    });
    // Who shows tools need not name the role of their results to show it.
    let is_named = shape.tool_role && (shows_results || knows_calls);
    shape.tool_role = is_named || knows_tools && shows_results;
    shape.native_calls = knows_calls;
    shape.native_tools = knows_tools;
    shape.style = told.cloned();
    if let Some(way) = way {
        shape.calls_beside_text = probe.called(&way.id, &"c".into(), &way.arguments).is_some();
        // One that makes the ids itself shows those of the results as they are.
        let makes_ids = way.style.as_ref().is_some_and(|style| style.names_ids());
        shape.named_ids = way.id != ID || makes_ids;
        shape.null_content = way.content.is_null();
        shape.text_arguments = way.arguments.is_string();
        shape.style = way.style;
    }
    Found {
        shape,
        other,
        messages,
    }
}

fn user() -> Value {
    json!({"role": "user", "content": "a"})
}

impl<'t> Probe<'t> {
    fn new(template: &'t ChatTemplate, format: Option<&'t Arc<Format>>) -> Self {
        let mut probe = Self {
            template,
            format,
            tools: Vec::new(),
            before: None,
        };
        let tool = json!({"type": "function", "function": {
            "name": MARK,
            "description": "A tool.",
            "parameters": {
                "type": "object",
                "properties": {"a": {"type": "string", "description": "A text."}},
                "required": ["a"],
            },
        }});
        let prepared = &template.prepared;
        let question = [user()];
        let shown = prepared
            .names_tools
            .then(|| probe.text(&question, std::slice::from_ref(&tool)));
        let shown = shown.flatten().filter(|text| text.contains(MARK));
        if shown.is_some() {
            probe.tools.push(tool);
        }
        if prepared.source.contains("tool_calls") {
            probe.before = shown.or_else(|| probe.text(&question, &[]));
        }
        probe
    }

    fn text(&self, messages: &[Value], tools: &[Value]) -> Option<String> {
        let prompt = Prompt {
            messages,
            tools,
            kwargs: &Map::new(),
            tags: None,
            is_plain: false,
            goes_on: None,
            now_unix: 0,
        };
        self.template.text(messages, tools, &prompt).ok()
    }

    fn shows(&self, messages: &[Value]) -> bool {
        self.text(messages, &[])
            .is_some_and(|text| text.contains(MARK))
    }

    /// How the template is shown a call so that it shows it.
    fn way(&self) -> Option<Way> {
        let named = format!("functions.{MARK}:0");
        let object = json!({"a": "b"});
        let text = Value::from(object.to_string());
        let (empty, null) = (Value::from(""), Value::Null);
        let ways = [
            (ID, &empty, &object),
            (&named, &empty, &object),
            (ID, &empty, &text),
            (&named, &empty, &text),
            (ID, &null, &object),
            (ID, &null, &text),
        ];
        ways.into_iter().find_map(|(id, content, arguments)| {
            Some(Way {
                style: self.called(id, content, arguments)?,
                id: id.to_owned(),
                content: content.clone(),
                arguments: arguments.clone(),
            })
        })
    }

    /// The style of a call that stands beside this content, where it is shown: `Some(None)` is Hermes's.
    fn called(&self, id: &str, content: &Value, arguments: &Value) -> Option<Option<Arc<Format>>> {
        let before = self.before.as_deref()?;
        let function = json!({"name": MARK, "arguments": arguments});
        let call = json!({"id": id, "type": "function", "function": function});
        let turn = json!({"role": "assistant", "content": content, "tool_calls": [call]});
        let result = json!({"role": "tool", "content": "c", "tool_call_id": id});
        let turns = [user(), turn, result];
        // Some refuse a result, and some leave out the calls of a last turn.
        [&turns[..2], &turns[..]].into_iter().find_map(|turns| {
            let whole = self.text(turns, &self.tools)?;
            let said = behind(before, &whole, self.format.map(AsRef::as_ref));
            if has_call(&whole, MARK) {
                return Some(None);
            }
            let style = self.format?;
            reads_call(style, said, MARK).then(|| Some(Arc::clone(style)))
        })
    }
}
