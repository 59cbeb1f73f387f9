//! What stands beside the client's schema: its description, for the model. Servers have a place for it, or it goes into the
//! prompt, or it is a loss.

use super::Writer;
use crate::ir::{EnforcedBy, Loss};
use crate::rules::Template;

impl<'a> Writer<'a> {
    pub(super) fn described(&self) -> Option<&'a str> {
        self.request.constraint.as_ref()?.description.as_deref()
    }

    /// Of what stands beside the schema nothing is lost, where the server has a place for it.
    pub(super) fn has_told(&mut self, spelling: Option<&str>, template: &Template) {
        if spelling.is_some() && template.names("$description") {
            self.keep_description();
        }
    }

    /// The description in the prompt, behind what asks for the schema.
    pub(super) fn description_in_prompt(&mut self) -> String {
        self.keep_description();
        let described = self.described().map(|text| format!("\nWhat it is: {text}"));
        described.unwrap_or_default()
    }

    /// The client's field goes, and with it what stood there beside the schema.
    pub(super) fn lose_description(&mut self) {
        let is_new = |at: &String| self.losses.iter().all(|known| known.pointer != *at);
        let Some(pointer) = self.described_at().filter(is_new) else {
            return;
        };
        self.losses.push(Loss {
            pointer,
            reason: "a schema is sent without a description beside it".to_owned(),
            enforced_by: EnforcedBy::Nobody,
        });
    }

    fn keep_description(&mut self) {
        if let Some(at) = self.described_at() {
            self.losses.retain(|loss| loss.pointer != at);
        }
    }

    /// Where the client describes its schema.
    fn described_at(&self) -> Option<String> {
        let stated = self.request.constraint.as_ref()?;
        stated.description.as_ref()?;
        let within = match stated.spelling.field() {
            "response_format" => "/json_schema",
            _ => "",
        };
        Some(format!("{}{within}/description", stated.spelling.pointer()))
    }
}
