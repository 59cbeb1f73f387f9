//! Content blocks: texts, images and documents, calls and their results, thinking.

use super::shown::Shown;
use super::{invalid, member, need};
use crate::error::Error;
use crate::ir::{
    Behind, Call, CallInput, Claimed, Failed, Fields, Held, Origin, Part, Role, Seal, Sealed,
    Stated, Turn, media_type, raw_string,
};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The kind of a block that stands for a tool's definition.
pub(super) const REFERENCE: &str = "tool_reference";

/// A block, where it stands, and as it came.
pub(super) struct Block {
    origin: Origin,
    kind: String,
    /// What is not read yet.
    fields: Fields,
    raw: Box<RawValue>,
}

/// What a list of blocks says.
#[derive(Default)]
pub(super) struct Blocks<'t> {
    pub(super) parts: Vec<Part>,
    pub(super) calls: Vec<Call>,
    /// What tools answered.
    pub(super) results: Vec<Turn>,
    pub(super) claimed: Vec<Claimed>,
    pub(super) sealed: Vec<Held>,
    /// JSON Pointers below the turn.
    pub(super) unknown: Vec<String>,
    /// They are the model's: its texts in a row are one, cut where it cites something.
    is_model: bool,
    /// What results may refer to.
    shown: Option<&'t Shown<'t>>,
    /// They are what a tool answered.
    is_result: bool,
}

const fn text(text: String) -> Part {
    Part::Text { text, cache: None }
}

/// Reads what is a text, or a list of blocks.
pub(super) fn list(fields: &Fields, name: &str, origin: &Origin) -> Result<Vec<Block>, Error> {
    let stated = fields.raw(name).unwrap_or("[]");
    if stated.starts_with('"') {
        let raw = raw_string(stated.to_owned());
        let mut fields = Fields::default();
        fields.set("text", raw.clone());
        return Ok(vec![Block {
            origin: origin.clone(),
            kind: "text".to_owned(),
            fields,
            raw,
        }]);
    }
    let blocks: Vec<Box<RawValue>> = serde_json::from_str(stated).map_err(|_| {
        let message = format!("`{origin}` must be a text or a list of blocks");
        invalid(message, origin)
    })?;
    let read = |(index, raw): (usize, Box<RawValue>)| {
        let origin = origin.item(index);
        let mut fields: Fields = serde_json::from_str(raw.get())
            .map_err(|_| invalid(format!("`{origin}` must be a block with a `type`"), &origin))?;
        Ok(Block {
            kind: need(&mut fields, "type", &origin, "the kind of the block")?,
            origin,
            fields,
            raw,
        })
    };
    blocks.into_iter().enumerate().map(read).collect()
}

impl<'t> Blocks<'t> {
    /// Reads blocks; `below` is where their list stands below the turn.
    pub(super) fn of(blocks: Vec<Block>, below: &str) -> Result<Self, Error> {
        Self::default().all(blocks, below)
    }

    /// The same of the user's, whose results may refer to these tools.
    pub(super) fn of_user(
        blocks: Vec<Block>,
        below: &str,
        shown: &'t Shown<'t>,
    ) -> Result<Self, Error> {
        let said = Self {
            shown: Some(shown),
            ..Self::default()
        };
        said.all(blocks, below)
    }

    /// The same of the model's.
    pub(super) fn of_model(blocks: Vec<Block>, below: &str) -> Result<Self, Error> {
        let said = Self {
            is_model: true,
            ..Self::default()
        };
        said.all(blocks, below)
    }

    fn all(mut self, blocks: Vec<Block>, below: &str) -> Result<Self, Error> {
        let mut is_behind_text = false;
        for (index, block) in blocks.into_iter().enumerate() {
            let is_text = block.kind == "text";
            self.take(block, &format!("{below}/{index}"))?;
            if self.is_model && is_text && is_behind_text {
                self.join();
            }
            is_behind_text = is_text;
        }
        Ok(self)
    }

    /// The last text goes on with the one before.
    fn join(&mut self) {
        if let Some(Part::Text {
            text: more,
            cache: mark,
        }) = self.parts.pop()
            && let Some(Part::Text { text, cache }) = self.parts.last_mut()
        {
            text.push_str(&more);
            *cache = mark.or_else(|| cache.take());
        }
    }

    fn take(&mut self, mut block: Block, below: &str) -> Result<(), Error> {
        match block.kind.as_str() {
            "text" => {
                let said = need(&mut block.fields, "text", &block.origin, "a string")?;
                self.parts.push(text(said));
            }
            "image" => self.parts.push(block.image()?),
            "document" => self.parts.extend(block.document()?),
            "search_result" => self.parts.push(block.search_result()?),
            "tool_use" => self.calls.push(block.call()?),
            "tool_result" => {
                self.results.push(block.result(self.shown)?);
                return Ok(());
            }
            "thinking" => self.thinking(&mut block)?,
            "redacted_thinking" => {
                self.hold(block.origin, block.raw);
                return Ok(());
            }
            REFERENCE if self.is_result => {
                let name: String = need(&mut block.fields, "tool_name", &block.origin, "a string")?;
                self.parts
                    .extend(self.shown.map(|shown| text(shown.told(&name))));
            }
            // The conversation in short: the client may send nothing of what was before.
            "compaction"
                if block
                    .fields
                    .raw("content")
                    .is_some_and(|raw| raw.starts_with('"')) =>
            {
                let said: String = need(&mut block.fields, "content", &block.origin, "a string")?;
                self.parts.push(Part::in_short(&said));
                block.fields.remove("encrypted_content");
            }
            // What a server's own tools did, in words that no other one reads.
            kind if is_hosted(kind) => {
                self.unknown.push(below.to_owned());
                return Ok(());
            }
            _ => {
                let origin = block.origin;
                self.parts.push(Part::Opaque { origin });
                return Ok(());
            }
        }
        let mark = block.fields.raw("cache_control");
        if let Some(mark) = mark.filter(|mark| block.is_part() && *mark != "null")
            && let Some(part) = self.parts.pop()
        {
            // Told where the server has a place for it, and lost elsewhere.
            let mark = raw_string(mark.to_owned());
            self.parts.push(part.cached(Some(mark)));
        }
        self.rest(&block.fields, below);
        Ok(())
    }

    /// Notes what was not read.
    pub(super) fn rest(&mut self, fields: &Fields, below: &str) {
        for (name, value) in &fields.0 {
            if !matches!(value.get(), "null" | "[]" | "{}" | "false") {
                let name = name.replace('~', "~0").replace('/', "~1");
                self.unknown.push(format!("{below}/{name}"));
            }
        }
    }

    /// Thinking with a server's signature goes back as it came; that which we signed is a thought that
    /// any server may read.
    fn thinking(&mut self, block: &mut Block) -> Result<(), Error> {
        let origin = &block.origin;
        let thought: String = need(&mut block.fields, "thinking", origin, "a string")?;
        let signature: Option<String> = member(&mut block.fields, "signature", origin, "a string")?;
        let signature = signature.unwrap_or_default();
        let own = Seal::own(&signature).map(Cow::into_owned);
        let own = own.filter(|own| !own.starts_with(Seal::kept_mark()));
        if signature.is_empty() || own.is_some() {
            let origin = origin.clone();
            self.claimed.push(Claimed {
                stated: Stated {
                    origin,
                    text: thought,
                },
                signature: own.unwrap_or_default(),
            });
        } else {
            self.hold(origin.clone(), block.raw.clone());
        }
        Ok(())
    }

    /// Notes a block of thinking that another server signed, behind what was said before.
    fn hold(&mut self, origin: Origin, block: Box<RawValue>) {
        self.sealed.push(Held {
            origin,
            sealed: Sealed::Thinking(block),
            behind: Behind {
                parts: self.parts.len(),
                calls: self.calls.len(),
            },
        });
    }

    /// Refuses whatever is no text, in instructions.
    pub(super) fn only_text(&self, origin: &Origin) -> Result<(), Error> {
        let is_text = |part: &Part| matches!(part, Part::Text { .. });
        let is_plain = self.parts.iter().all(is_text)
            && self.calls.is_empty()
            && self.results.is_empty()
            && self.claimed.is_empty()
            && self.sealed.is_empty();
        match is_plain {
            true => Ok(()),
            false => Err(invalid(
                format!("`{origin}` must be a text or a list of text blocks"),
                origin,
            )),
        }
    }

    /// Refuses what only the model says, of the user's.
    pub(super) fn no_calls(&self) -> Result<(), Error> {
        let claimed = self.claimed.first().map(|claimed| &claimed.stated);
        match (self.calls.first(), self.sealed.first(), claimed) {
            (Some(Call { origin, .. }), _, _)
            | (_, Some(Held { origin, .. }), _)
            | (_, _, Some(Stated { origin, .. })) => {
                let message =
                    format!("`{origin}` is what a model says: it belongs in an assistant message");
                Err(invalid(message, origin))
            }
            (None, None, None) => Ok(()),
        }
    }

    /// Refuses what tools answered, of the model's.
    pub(super) fn no_results(&self) -> Result<(), Error> {
        match self.results.first() {
            Some(Turn { origin, .. }) => {
                let message =
                    format!("`{origin}` is what a tool says: it belongs in a user message");
                Err(invalid(message, origin))
            }
            None => Ok(()),
        }
    }
}

/// Calls of tools that a server runs itself, what they answered, what refers to either, and that another model went on.
fn is_hosted(kind: &str) -> bool {
    matches!(
        kind,
        "server_tool_use" | "mcp_tool_use" | REFERENCE | "compaction" | "fallback"
    ) || kind.ends_with("_tool_result")
}

impl Block {
    /// Whether it is a part of what is said.
    fn is_part(&self) -> bool {
        matches!(
            self.kind.as_str(),
            "text" | "image" | "document" | "search_result"
        )
    }

    fn source(&mut self) -> Result<(Fields, Origin, String), Error> {
        let mut source: Fields = need(&mut self.fields, "source", &self.origin, "an object")?;
        let origin = self.origin.member("source");
        let kind = need(&mut source, "type", &origin, "`base64` or `url`")?;
        Ok((source, origin, kind))
    }

    fn opaque(&self) -> Part {
        let origin = self.origin.clone();
        Part::Opaque { origin }
    }

    fn image(&mut self) -> Result<Part, Error> {
        let (mut source, origin, kind) = self.source()?;
        match kind.as_str() {
            "base64" => data(&mut source, &origin),
            "url" => Ok(Part::Link {
                url: need(&mut source, "url", &origin, "a URL")?,
                cache: None,
            }),
            // A file that only Anthropic has.
            _ => Ok(self.opaque()),
        }
    }

    /// Text is told as text under its title; of files the bytes are passed on.
    fn document(&mut self) -> Result<Vec<Part>, Error> {
        let (mut source, origin, kind) = self.source()?;
        let mut parts = Vec::new();
        for name in ["title", "context"] {
            let stated = member(&mut self.fields, name, &self.origin, "a string")?;
            parts.extend(stated.map(text));
        }
        match kind.as_str() {
            "base64" => parts.push(data(&mut source, &origin)?),
            "text" => parts.push(text(need(&mut source, "data", &origin, "a string")?)),
            "content" => {
                let at = origin.member("content");
                let said = Blocks::of(list(&source, "content", &at)?, "")?;
                parts.extend(said.parts);
            }
            "url" => parts.push(Part::Document {
                url: need(&mut source, "url", &origin, "a URL")?,
                cache: None,
            }),
            _ => parts.push(self.opaque()),
        }
        Ok(parts)
    }

    fn search_result(&mut self) -> Result<Part, Error> {
        let mut lines = Vec::new();
        for name in ["title", "source"] {
            lines.push(need(&mut self.fields, name, &self.origin, "a string")?);
        }
        let at = self.origin.member("content");
        let said = Blocks::of(list(&self.fields, "content", &at)?, "")?;
        self.fields.remove("content");
        for part in said.parts {
            match part {
                Part::Text { text, .. } => lines.push(text),
                _ => return Ok(self.opaque()),
            }
        }
        Ok(text(lines.join("\n")))
    }

    fn call(&mut self) -> Result<Call, Error> {
        let origin = self.origin.clone();
        let fields = &mut self.fields;
        let mut input: Box<RawValue> = need(fields, "input", &origin, "an object")?;
        if input.get() == "[]" {
            // PHP's object without members (WordPress/ai-provider-for-anthropic#23).
            input = raw_string("{}".to_owned());
        }
        if !input.get().starts_with('{') {
            let at = origin.member("input");
            return Err(invalid(format!("`{at}` must be an object"), &at));
        }
        // Who called it: a model, or a program of Anthropic's.
        fields.remove("caller");
        Ok(Call {
            id: Some(need(fields, "id", &origin, "a string")?),
            name: need(fields, "name", &origin, "the name of a tool")?,
            input: CallInput::Object(input),
            signature: None,
            origin,
        })
    }

    fn result(mut self, shown: Option<&Shown<'_>>) -> Result<Turn, Error> {
        let origin = self.origin;
        let call_id = need(&mut self.fields, "tool_use_id", &origin, "a string")?;
        let at = origin.member("content");
        let blocks = match self.fields.raw("content") {
            None | Some("null") => Vec::new(),
            Some(_) => list(&self.fields, "content", &at)?,
        };
        self.fields.remove("content");
        let said = Blocks {
            shown,
            is_result: true,
            ..Blocks::default()
        };
        let mut said = said.all(blocks, "/content")?;
        said.no_calls()?;
        said.no_results()?;
        let failed = match self.fields.raw("is_error") {
            None | Some("null" | "false") => None,
            Some("true") => Some(Failed::Apart(origin.member("is_error"))),
            Some(_) => {
                let at = origin.member("is_error");
                return Err(invalid("must be true or false", &at));
            }
        };
        self.fields.remove("is_error");
        said.rest(&self.fields, "");
        if said.parts.is_empty() {
            // A tool that says nothing has answered all the same.
            said.parts.push(text(String::new()));
        }
        Ok(Turn {
            call_id: Some(call_id),
            failed,
            unknown: said.unknown,
            origin,
            ..Turn::of(Role::Tool, said.parts)
        })
    }
}

fn data(source: &mut Fields, origin: &Origin) -> Result<Part, Error> {
    const KIND: &str = "such as `image/png`";
    let stated: Option<String> = member(source, "media_type", origin, KIND)?;
    let data: String = need(source, "data", origin, "a string in base64")?;
    let kind = media_type(&stated.unwrap_or_default(), &data);
    if kind.is_empty() {
        let at = origin.member("media_type");
        return Err(invalid(
            format!("`{at}` is missing: it must be {KIND}"),
            &at,
        ));
    }
    Ok(Part::Data {
        media_type: kind,
        data,
        // A title is told as a text.
        name: None,
        cache: None,
    })
}
