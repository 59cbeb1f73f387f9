//! Tools with `auto` on a server that enforces structural tags and reads no calls: free text in
//! which each call is an envelope between tags. In: the tools. Out: the tag in the server's shape,
//! or a grammar where the server takes that instead.
//!
//! The tags are those of Hermes and Qwen, which most open models have seen.

use super::place::Stands;
use super::plain_tools::any_object;
use super::{Writer, prompt, text_pattern};
use crate::error::Error;
use crate::grammar;
use crate::ir::{Constraint, EnforcedBy, Loss, Tool, ToolInput};
use crate::markup::{CallText, Tools, Written};
use crate::rewrite::{Around, ForServer};
use crate::rules::{Markup, ShowTools, TagShape};
use crate::schema::close::closed;
use serde_json::{Value, json};
use std::sync::Arc;

/// What opens a call, in whatever tool's tag.
const TRIGGER: &str = "<tool_call>";
pub(super) const ARGUMENTS: &str = "arguments";

/// One tool's calls: what stands before the input, what the input is, what stands after it.
pub(super) struct CallTag {
    /// The tool's place among those that may be called.
    pub(super) tool: usize,
    pub(super) begin: String,
    /// What stands behind the call's number, where it has one, which follows `begin`.
    pub(super) numbered: Option<String>,
    pub(super) schema: Value,
    /// What stands between, where it is not JSON of the schema.
    pub(super) content: Option<Value>,
    pub(super) end: String,
}

/// What ends a call that is written as Hermes writes it.
pub(super) const END: &str = "}\n</tool_call>";

impl CallTag {
    pub(super) fn as_tagged(&self) -> grammar::TaggedCall<'_> {
        grammar::TaggedCall {
            begin: &self.begin,
            numbered: self.numbered.as_deref(),
            schema: &self.schema,
            content: self.content.as_ref(),
            end: &self.end,
        }
    }

    fn structure(&self) -> Value {
        json!({"begin": self.begin, "schema": self.schema, "end": self.end})
    }

    pub(super) fn format(&self, writer: &Writer<'_>) -> Value {
        let content = match &self.content {
            Some(content) => content.clone(),
            None => writer.bounded(json!({"type": "json_schema", "json_schema": self.schema})),
        };
        let content = match &self.numbered {
            Some(behind) => json!({"type": "sequence", "elements": [
                {"type": "regex", "pattern": grammar::CALL_NUMBER},
                {"type": "const_string", "value": behind},
                content,
            ]}),
            None => content,
        };
        json!({"type": "tag", "begin": self.begin, "content": content, "end": self.end})
    }
}

/// What stands in the calls of a tool in this markup, whose schema goes to the server as `sent`: `Some(None)` where it is JSON of
/// that, `None` where it cannot be said.
pub(super) fn content(
    markup: &Markup,
    tool: &Tool,
    sent: &Value,
    text: CallText,
) -> Option<Option<Value>> {
    let ToolInput::Schema { schema, .. } = &tool.input else {
        return None;
    };
    match markup.format.is_typed() {
        true => markup.format.parameters(schema, sent, text).map(Some),
        false => Some(None),
    }
}

/// Whether a markup is that of these tags.
pub(super) fn is_of(markup: &Markup) -> bool {
    let (name, input) = ("f", "{}");
    let call = Written {
        id: None,
        name,
        input,
    };
    let tagged = format!("{}{input}{END}", begin(name, ARGUMENTS));
    markup.format.write(&[call], &Tools::default()) == tagged
}

pub(super) fn begin(name: &str, key: &str) -> String {
    format!("{TRIGGER}\n{{\"name\": {}, \"{key}\": ", json!(name))
}

impl Writer<'_> {
    /// Constrains the text to calls between tags, where there is a tool to call; whether it did.
    pub(super) fn tag_calls(&mut self) -> Result<bool, Error> {
        let Some(kind) = self.rule.tags() else {
            return Ok(false);
        };
        let mut tags = self.call_tags(kind == "structural_tag");
        if tags.is_empty() {
            return Ok(false);
        }
        let constraint = match kind {
            "structural_tag" => {
                let trigger = self.retag(&mut tags);
                self.own_tags = trigger.is_some();
                Constraint::StructuralTag(self.triggered(&tags, trigger.as_deref()))
            }
            kind => match self.text_with_calls(&tags, kind) {
                Some(grammar) => grammar,
                None => return Ok(false),
            },
        };
        if self.place_free(&constraint)?.is_none() {
            return Ok(false);
        }
        self.show_tagged(prompt::tagged(self.contract), prompt::tags(self.contract));
        Ok(true)
    }

    /// Shows the tools, and tells of the tags where the chat template may not.
    pub(super) fn show_tagged(&mut self, whole: String, tags: String) {
        self.show_tools(whole);
        let is_told = self.choice_rule().is_some_and(|choice| choice.tell);
        if is_told && self.rule.show_tools != ShowTools::SystemMessage {
            self.body.instruct(tags);
        }
    }

    /// The tags of all tools that may be called.
    pub(super) fn call_tags(&mut self, is_lowered: bool) -> Vec<CallTag> {
        let contract = self.contract;
        let mut tags = Vec::new();
        for (index, tool) in contract.tools.iter().enumerate() {
            tags.extend(self.call_tag(index, tool, is_lowered));
        }
        tags
    }

    /// Makes these tags those of the model's own markup, where the text is all that it wrote and each call is JSON, or parameters
    /// that can be held one by one, that a token tells of; what the token is.
    fn retag(&self, tags: &mut [CallTag]) -> Option<String> {
        let is_raw = self.choice_rule().is_some_and(|choice| choice.raw);
        let markup = self.markup.as_ref().filter(|own| is_raw && !is_of(own))?;
        let own = |tag: &CallTag| {
            let tool = self.contract.tools.get(tag.tool)?;
            let content = content(markup, tool, &tag.schema, CallText::Whole)?;
            Some((markup.format.tag(&tool.name)?, content))
        };
        let all: Option<Vec<_>> = tags.iter().map(own).collect();
        let mut trigger = None;
        for (tag, ((begin, end, token), content)) in tags.iter_mut().zip(all?) {
            (tag.begin, tag.content, tag.end) = (begin, content, end);
            trigger = Some(token.to_owned());
        }
        trigger
    }

    /// Free text with these tags, in the server's shape.
    fn triggered(&self, tags: &[CallTag], trigger: Option<&str>) -> Value {
        let trigger = trigger.unwrap_or(TRIGGER);
        if self.tag_shape() == TagShape::Structures {
            return json!({
                "type": "structural_tag",
                "structures": tags.iter().map(CallTag::structure).collect::<Vec<_>>(),
                "triggers": [trigger],
            });
        }
        let mut format = json!({
            "type": "triggered_tags",
            "triggers": [trigger],
            "tags": tags.iter().map(|tag| tag.format(self)).collect::<Vec<_>>(),
        });
        if self.contract.max_calls == Some(1) {
            format["stop_after_first"] = json!(true);
        }
        json!({"type": "structural_tag", "format": format})
    }

    /// Free text with these tags as a grammar; `None` where it cannot be said in one.
    fn text_with_calls(&mut self, tags: &[CallTag], kind: &str) -> Option<Constraint> {
        let calls: Vec<_> = tags.iter().map(CallTag::as_tagged).collect();
        let is_one = self.contract.max_calls == Some(1);
        match self
            .memo
            .union(&calls, is_one, &Around::Text(TRIGGER), kind)
        {
            Ok(union) => {
                self.lose_in_union(tags, &union);
                Some(union.constraint.clone())
            }
            Err(fault) => {
                self.lose_union(&fault);
                None
            }
        }
    }

    /// Whether what is sent says itself that nothing follows the first call.
    pub(super) fn stops_after_first(&self) -> bool {
        self.rule.tags() != Some("structural_tag") || self.tag_shape() == TagShape::Format
    }

    pub(super) fn tag_shape(&self) -> TagShape {
        let known = self.rule.constraints.get("structural_tag");
        known.map(|known| known.shape).unwrap_or_default()
    }

    /// The tag of one tool's calls; none for a tool that the server would have to host.
    fn call_tag(&mut self, index: usize, tool: &Tool, is_lowered: bool) -> Option<CallTag> {
        let (key, schema) = match &tool.input {
            ToolInput::Schema { schema, .. } if is_lowered => {
                (ARGUMENTS, self.lower_arguments(tool, schema))
            }
            ToolInput::Schema { schema, .. } => (ARGUMENTS, schema.clone()),
            ToolInput::Text(stated) => {
                let mut schema = json!({"type": "string"});
                match (text_pattern(&tool.input), stated) {
                    (Some(pattern), _) => schema["pattern"] = json!(pattern),
                    (None, Some(stated)) => self.lose_text(tool, stated),
                    (None, None) => {}
                }
                ("input", schema)
            }
            ToolInput::Hosted(_) => {
                // Whatever the server is not sent is told of in one place.
                return None;
            }
        };
        // A tool takes what it names; an open object is what a model fills without an end, be it one without a name.
        let is_raw = self.choice_rule().is_some_and(|choice| choice.raw);
        let schema = match is_raw {
            true => closed(&schema).into_owned(),
            false => schema,
        };
        Some(CallTag {
            tool: index,
            begin: begin(&tool.name, key),
            numbered: None,
            schema,
            content: None,
            end: END.to_owned(),
        })
    }

    /// Where the server itself forces a call: the tools' schemas in the form of which it enforces
    /// the most. Under `auto` they stay, since there they are first of all what the model is told; so they do where the server holds
    /// strict tools alone, since an object that was closed for it would have the model leave out what may stand there.
    pub(super) fn lower_tools(&mut self) {
        let contract = self.contract;
        let profile = &self.rule.schema;
        let holds_strict_alone = profile.strict_tools && profile.describes;
        let mut changed = Vec::new();
        for tool in &contract.tools {
            let ToolInput::Schema { schema, strict } = &tool.input else {
                continue;
            };
            if holds_strict_alone && !strict {
                continue;
            }
            let lowered = self.lower_arguments(tool, schema);
            if lowered != *schema {
                changed.push((tool.name.as_str(), lowered));
            }
        }
        self.body.set_parameters(changed);
    }

    /// The same for every tool that the server is shown, where it compiles them although nothing hangs on what it holds of
    /// them: something else holds the calls, or there is to be none.
    pub(super) fn lower_shown(&mut self) {
        let mut changed = Vec::new();
        for tool in &self.request.tools {
            if let ToolInput::Schema { schema, .. } = &tool.input
                && let Some(lowered) = &self.for_server(schema).schema
                && lowered != schema
            {
                changed.push((tool.name.as_str(), lowered.clone()));
            }
        }
        self.body.set_parameters(changed);
    }

    /// A tool's schema in a form of which the server enforces the most.
    fn lower_arguments(&mut self, tool: &Tool, schema: &Value) -> Value {
        let lowered = self.for_server(schema);
        let origin = Stands::Schema(tool.input_origin.pointer());
        self.lose_keywords(&origin, &lowered.losses);
        lowered.schema.as_ref().unwrap_or(schema).clone()
    }

    /// What a tool's schema becomes for the server.
    fn for_server(&self, schema: &Value) -> Arc<ForServer> {
        let profile = &self.rule.schema;
        let is_any = match schema {
            // SGLang takes no other schemas than objects here.
            Value::Bool(says) => *says,
            Value::Object(map) => map.is_empty() && profile.any_in_words,
            _ => false,
        };
        let stays = |schema| {
            Arc::new(ForServer {
                schema,
                losses: Vec::new(),
            })
        };
        match profile.strict_only {
            true => stays(None),
            false if is_any => stays(Some(any_object())),
            false => self.memo.lower(schema, profile),
        }
    }

    pub(super) fn lose_text(&mut self, tool: &Tool, stated: &Constraint) {
        let kind = stated.kind();
        self.losses.push(Loss {
            pointer: tool.input_origin.pointer(),
            reason: format!("inside a call's JSON only the proxy can check the {kind}"),
            enforced_by: EnforcedBy::Proxy,
        });
    }
}
