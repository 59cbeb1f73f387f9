//! What a question asks, before it is on the server's wire.

use crate::dialect::server::{Asked, CHAT, CHAT_PATH, Server};
use crate::ir::{Draft, Fields, ToolChoice, raw};
use crate::rules::{Rule, Template, TemplateValues};
use serde_json::{Value, json};

/// A body of Chat's, or what a server on another wire is asked.
#[derive(Debug, Clone)]
pub(super) enum Asking {
    Body(Fields),
    /// On this wire, which may be another than the one that the server is known by.
    Draft(Box<Draft>, &'static dyn Server),
}

impl Asking {
    fn fields_mut(&mut self) -> &mut Fields {
        match self {
            Self::Body(fields) => fields,
            Self::Draft(draft, _) => &mut draft.fields,
        }
    }

    /// With so many tokens, in the word that the server knows.
    pub(super) fn set_tokens(&mut self, tokens: u32) {
        let fields = self.fields_mut();
        let newer = "max_completion_tokens";
        let name = if fields.has(newer) {
            newer
        } else {
            "max_tokens"
        };
        fields.set(name, raw(&tokens));
    }

    /// With what a rule's template adds, which has no placeholders.
    pub(super) fn apply(&mut self, template: &Template) -> Option<()> {
        let values = TemplateValues::default();
        template.apply(self.fields_mut(), &values).ok()
    }

    /// Without tools, wherever they are shown.
    pub(super) fn hide_tools(&mut self) {
        match self {
            Self::Body(fields) => {
                fields.remove("tools");
                fields.remove("tool_choice");
                let kwargs = fields.raw("chat_template_kwargs");
                let kwargs = kwargs.and_then(|raw| serde_json::from_str::<Fields>(raw).ok());
                if let Some(mut kwargs) = kwargs {
                    kwargs.remove("tools");
                    fields.set("chat_template_kwargs", raw(&kwargs));
                }
            }
            Self::Draft(draft, _) => {
                draft.tools.clear();
                draft.choice = None;
            }
        }
    }

    /// Who reads the answer.
    pub(super) fn server(&self) -> &'static dyn Server {
        match self {
            Self::Body(_) => CHAT,
            Self::Draft(_, server) => *server,
        }
    }

    /// The request on the server's wire, or what leads to it.
    pub(super) fn asked(&self, rule: &Rule) -> Option<Asked> {
        match self {
            Self::Body(fields) => Some(Asked {
                path: CHAT_PATH.to_owned(),
                body: fields.to_json().into(),
                losses: Vec::new(),
                pending: None,
                prompt_tokens: None,
            }),
            Self::Draft(draft, server) => {
                let asked = server.ask(draft, &rule.title, rule.render.as_ref());
                asked.ok()
            }
        }
    }

    /// Its fields, those that are typed among them, in Chat's words: for people.
    pub(super) fn fields(&self) -> Value {
        match self {
            Self::Body(fields) => json!(fields),
            Self::Draft(draft, _) => {
                let mut fields = json!(draft.fields);
                if !draft.tools.is_empty() {
                    let names = draft.tools.iter().map(|tool| tool.name.as_str());
                    fields["tools"] = names.collect();
                }
                fields["tool_choice"] = match &draft.choice {
                    None => return fields,
                    Some(ToolChoice::Named(_)) => json!({"type": "function"}),
                    Some(choice) => json!(choice.kind()),
                };
                fields
            }
        }
    }
}
