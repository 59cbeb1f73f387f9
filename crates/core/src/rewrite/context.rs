//! Prompts that a server would cut in silence: it is told not to, and asked for a context that is long enough.

use super::Writer;
use crate::error::Error;
use crate::ir::Fields;
use crate::rules::{ContextSize, Template, TemplateValues};
use serde_json::{Map, Value, json};

/// Tokens of a reply whose request sets no limit.
const REPLY: u64 = 2048;
/// Tokens of an image or a file: no model in use takes more for one of ordinary size.
const MEDIUM: u64 = 2048;
/// Runs of base64's letters from this length on are no text.
const MEDIUM_BYTES: usize = 1024;

impl Writer<'_> {
    /// Says so, where the prompt and its reply may be longer than what the server has without being asked, and the client
    /// does not say it itself. Its own clients count on what they know, unless they demand something that a cut prompt
    /// would have lost.
    pub(super) fn keep_whole(&mut self) -> Result<(), Error> {
        let rule = &self.rule.context;
        if self.body.is_bare() || (self.body.keeps_wire() && self.contract.is_empty()) {
            return Ok(());
        }
        let needed = rule.size.as_ref().map(|size| (size, self.needed()));
        if needed.is_some_and(|(size, needed)| needed <= size.least) {
            return Ok(());
        }
        if let Some(Template(send)) = &rule.send {
            let unsaid = |(name, _): &(&String, &Value)| !self.body.fields.has(name);
            let send: Map<String, Value> = (send.iter().filter(unsaid))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            if !send.is_empty() {
                self.body
                    .apply(&Template(send), &TemplateValues::default())?;
            }
        }
        if let Some((size, needed)) = needed
            && let Some(asked) = asked(size, needed, &self.body.fields)
        {
            self.body.apply(&asked, &TemplateValues::default())?;
        }
        Ok(())
    }

    /// At most about so many tokens are needed for the prompt and its reply.
    fn needed(&self) -> u64 {
        let request = self.request;
        let prompt: u64 = (request.fields.0.values())
            .map(|value| tokens(value.get()))
            .sum();
        prompt.saturating_add(self.limit().unwrap_or(REPLY))
    }

    /// The tokens that the reply may have, where the request says so.
    pub(super) fn limit(&self) -> Option<u64> {
        let limits = ["max_completion_tokens", "max_tokens"];
        let settings = self.request.settings();
        limits
            .iter()
            .find_map(|name| settings.raw(name))?
            .parse()
            .ok()
    }
}

/// The field that asks for a longer context: in powers of two, since each other size has the server load the model again.
fn asked(size: &ContextSize, needed: u64, fields: &Fields) -> Option<Template> {
    let (name, above) = size.path.split_last()?;
    // Chat's clients say it at the top.
    if fields.has(name) || stated(fields, &size.path) {
        return None;
    }
    let asked = needed.checked_next_power_of_two().unwrap_or(size.most);
    let value = above.iter().rev().fold(
        json!({name: asked.min(size.most)}),
        |value, name| json!({name: value}),
    );
    match value {
        Value::Object(fields) => Some(Template(fields)),
        _ => None,
    }
}

/// Whether a field is stated below another.
fn stated(fields: &Fields, path: &[String]) -> bool {
    match path {
        [] => false,
        [name] => fields.has(name),
        [name, rest @ ..] => {
            let inner = fields
                .raw(name)
                .and_then(|raw| serde_json::from_str(raw).ok());
            inner.is_some_and(|inner: Fields| stated(&inner, rest))
        }
    }
}

/// At most about so many tokens: texts have three bytes and more a token, whatever the script.
fn tokens(json: &str) -> u64 {
    let is_data = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let runs = json.as_bytes().chunk_by(|a, b| is_data(a) == is_data(b));
    let (mut bytes, mut media) = (0, 0);
    for run in runs {
        match run.len() >= MEDIUM_BYTES && run.first().is_some_and(is_data) {
            true => media += MEDIUM,
            false => bytes += run.len() as u64,
        }
    }
    bytes / 3 + media
}

#[cfg(test)]
mod tests {
    use super::{MEDIUM, tokens};

    #[test]
    fn an_image_counts_as_one_whatever_its_bytes() {
        let image = "A".repeat(1 << 20);
        assert_eq!(
            tokens(&format!("{{\"url\":\"data:image/png;base64,{image}\"}}")),
            MEDIUM + 10
        );
        assert_eq!(tokens(&"word ".repeat(300)), 500);
        assert_eq!(tokens(""), 0);
    }
}
