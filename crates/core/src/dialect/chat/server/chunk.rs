//! One event's data to what it says. Framing is [`crate::sse`]'s.

use super::super::details::Details;
use super::super::wire::{ChoiceReading, Form, Head};
use super::template::Template;
use super::{error, finish, has_own_end, is_error, piece, speak, start, thoughts, usage, usage_of};
use crate::dialect::server::{About, Reader, Sink, Verbatim};
use crate::ir::{Fields, FinishReason, Of, raw_string};
use serde::de::IgnoredAny;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// One reply, chunk by chunk.
#[derive(Debug)]
pub(super) struct Stream {
    about: About,
    has_begun: bool,
    /// The choices of which some call came.
    calling: BTreeSet<u32>,
    /// What providers signed of the thoughts of each choice.
    details: BTreeMap<u32, Details>,
    /// The reply's id, once it has begun: some clients drop the chunks that have another (openai-go's accumulator). `None` where the
    /// first chunk had none: it is ours.
    id: Option<String>,
    /// Why choices ended, by chunks that said something as well: in some streams each says so (BerriAI/litellm#2195, #31634), and
    /// the one counts behind which nothing comes.
    held: BTreeMap<u32, Held>,
    /// The choices that have said something.
    said: BTreeSet<u32>,
    /// They went on behind such an end.
    ends_early: bool,
    /// The last chunk that said a text and nothing else.
    template: Option<Template>,
}

/// An end that waits.
#[derive(Debug)]
struct Held {
    reason: FinishReason,
    /// Blanks behind it: nothing, unless more comes.
    blanks: String,
}

impl Stream {
    pub(super) const fn new(about: About) -> Self {
        Self {
            about,
            has_begun: false,
            calling: BTreeSet::new(),
            details: BTreeMap::new(),
            id: None,
            held: BTreeMap::new(),
            said: BTreeSet::new(),
            ends_early: false,
            template: None,
        }
    }
}

impl Reader for Stream {
    /// What is JSON, but nothing that a reply is made of, says nothing.
    fn event<'d>(&mut self, data: &'d [u8], sink: &mut Sink<'_>) -> Option<Verbatim<'d>> {
        if let Some(known) = &self.template
            && let Some(differs) = known.differs(data)
        {
            sink.said(known.saying(differs));
            return Some(Verbatim::of(Cow::Borrowed(data)));
        }
        if data.trim_ascii() == b"[DONE]" {
            self.end(sink);
            sink.done();
            return None;
        }
        let Some(head) = Head::read(data) else {
            let mended = crate::json::mend(data);
            let is_json = serde_json::from_slice::<IgnoredAny>(mended.as_deref().unwrap_or(data));
            if is_json.is_err() {
                sink.unread(data);
            }
            return None;
        };
        if let Some(error) = head.fields.raw("error").filter(|error| *error != "null") {
            sink.reported(error);
            return None;
        }
        let is_alone = || is_error(&head.fields);
        if head.fields.raw("object") == Some("\"error\"") || is_alone() {
            sink.reported(&String::from_utf8_lossy(data));
            return None;
        }
        let Some(choices) = head.choices(Form::Part) else {
            // The last chunk's counts of some have no choices beside them (ROCm/ATOM#1711).
            sink.usage(usage(&head.fields));
            return None;
        };
        let Ok(choices) = choices else {
            sink.garbage();
            return None;
        };
        let counts = usage_of(&head.fields, &choices);
        let (mut fields, mut verbatim) = head.close(&choices);
        if self.has_other_id(&mut fields) || choices.is_empty() && !self.held.is_empty() {
            verbatim = None;
        }
        if !std::mem::replace(&mut self.has_begun, true) {
            sink.start(start(&fields));
        }
        let before = sink.events().len();
        if choices.is_empty() {
            self.end(sink);
        }
        let has_counts = fields.raw("usage").is_some_and(|raw| raw != "null");
        sink.usage(counts);
        sink.own(Of::Reply, fields);
        for choice in choices {
            // A finish that tells of calls where there are none, or of none where there are some, is told otherwise.
            let is_wrong = match choice.finish {
                Some(FinishReason::ToolCalls) => !self.calling.contains(&choice.index),
                Some(FinishReason::Stop) => self.calling.contains(&choice.index),
                _ => false,
            };
            if is_wrong || has_own_end(&choice, &self.about) || error(&choice).is_some() {
                verbatim = None;
            }
            if self.choice(choice, has_counts, sink) {
                verbatim = None;
            }
        }
        if verbatim
            .as_ref()
            .is_some_and(|verbatim| verbatim.as_bytes() == data)
        {
            let said = sink.events().get(before..).unwrap_or_default();
            self.template =
                Template::of(data, said, self.about.is_translated).or(self.template.take());
        }
        verbatim
    }

    /// What was held until no more would come.
    fn end(&mut self, sink: &mut Sink<'_>) {
        for (choice, held) in std::mem::take(&mut self.held) {
            self.finish(choice, held.reason, sink);
        }
    }
}

impl Stream {
    /// Gives a chunk the id of the first, where it has another.
    fn has_other_id(&mut self, fields: &mut Fields) -> bool {
        let said = fields.raw("id");
        if !self.has_begun {
            self.id = said.filter(|id| id.len() > 2).map(str::to_owned);
        }
        let is_other = said != self.id.as_deref();
        if is_other {
            match &self.id {
                Some(id) => fields.set("id", raw_string(id.clone())),
                None => drop(fields.remove("id")),
            }
        }
        is_other
    }

    fn finish(&mut self, choice: u32, reason: FinishReason, sink: &mut Sink<'_>) {
        let sealed = self.details.get_mut(&choice).and_then(Details::sealed);
        if let Some(sealed) = sealed {
            sink.sealed(choice, sealed);
        }
        sink.finish(choice, reason);
    }

    /// Reads a choice of a chunk; says whether its end is told otherwise than there.
    fn choice(&mut self, mut choice: ChoiceReading, has_counts: bool, sink: &mut Sink<'_>) -> bool {
        if let Some(error) = error(&choice) {
            sink.reported(error);
            return true;
        }
        let index = choice.index;
        let reason = choice.finish.take();
        let reason = reason.map(|reason| finish(reason, &mut choice, &self.about));
        if choice.is_elsewhere && self.said.contains(&index) {
            // All of it once more.
            (choice.content, choice.thought, choice.refusal) = (None, None, None);
            choice.calls.clear();
            choice.message = Fields::default();
        }
        if let Some(held) = self.held.get_mut(&index).filter(|_| reason.is_none()) {
            let blanks = choice.content.take_if(|text| text.trim().is_empty());
            held.blanks.extend(blanks);
        }
        let says = says_something(&choice, &self.about);
        // Behind an answer a refusal is none of it.
        let is_refusal = choice.refusal.as_ref().is_some_and(|text| !text.is_empty());
        if is_refusal && let Some(held) = self.held.remove(&index) {
            self.finish(index, held.reason, sink);
        }
        let early = says.then(|| self.held.remove(&index)).flatten();
        self.ends_early |= early.is_some();
        let is_first = says && self.said.insert(index);
        // Counts stand in the last chunk.
        let may_go_on = self.ends_early || !choice.calls.is_empty() || is_first && !has_counts;
        let waits = says && may_go_on && matches!(reason, Some(Ok(_)));
        let details = self.details.entry(choice.index).or_default();
        speak(&mut choice, &self.about, details, sink);
        sink.text(index, early.map(|held| held.blanks));
        sink.text(index, choice.content);
        sink.refusal(choice.index, choice.refusal);
        if !choice.calls.is_empty() {
            self.calling.insert(choice.index);
        }
        for (place, mut call) in (0..).zip(choice.calls) {
            let own = std::mem::take(&mut call.own);
            sink.piece_of(choice.index, piece((place, call)), own);
        }
        match reason {
            Some(Ok(reason)) if waits => {
                let blanks = String::new();
                self.held.insert(index, Held { reason, blanks });
            }
            Some(Ok(reason)) => match self.held.remove(&index) {
                // The first one, where nothing came behind it.
                Some(held) => {
                    self.finish(index, held.reason, sink);
                    return true;
                }
                None => self.finish(index, reason, sink),
            },
            Some(Err(message)) => sink.failed(&message),
            None => {}
        }
        self.held.contains_key(&index)
    }
}

/// Whether it says anything that an end might stand behind.
fn says_something(choice: &ChoiceReading, about: &About) -> bool {
    let texts = [&choice.content, &choice.refusal, &choice.thought];
    let has_text = texts.into_iter().flatten().any(|text| !text.is_empty());
    has_text || !choice.calls.is_empty() || thoughts(&choice.message, about).is_some()
}

#[cfg(test)]
mod tests {
    use crate::dialect::server::{self, About};
    use crate::ir::{Delta, Event, Ids};

    fn read(data: &[u8]) -> Vec<Event> {
        let mut server = server::CHAT.stream(About::default(), 1 << 20);
        server.read(data, &mut Ids::new(7)).events
    }

    fn text(data: &[u8]) -> Option<String> {
        read(data).into_iter().find_map(|event| match event {
            Event::Delta {
                delta: Delta::Text(text),
                ..
            } => Some(text),
            _ => None,
        })
    }

    #[test]
    fn counts_are_read_where_there_are_no_choices() {
        for choices in ["", r#""choices":null,"#, r#""choices":[],"#] {
            let chunk =
                format!(r#"{{{choices}"usage":{{"prompt_tokens":3,"completion_tokens":2}}}}"#);
            let is_counts =
                |event: &Event| matches!(event, Event::Usage(usage) if usage.prompt == 3);
            assert!(read(chunk.as_bytes()).iter().any(is_counts), "{chunk}");
        }
    }

    #[test]
    fn half_a_surrogate_pair_becomes_the_replacement_character() {
        let data = br#"{"choices":[{"index":0,"delta":{"content":"a\ud83d"}}]}"#;
        assert_eq!(text(data).as_deref(), Some("a\u{fffd}"));
    }

    #[test]
    fn invalid_utf8_is_replaced() {
        let data = b"{\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}";
        assert_eq!(text(data).as_deref(), Some("\u{fffd}"));
    }

    #[test]
    fn odd_events_have_no_effect_and_garbage_is_told() {
        for nothing in ["null", "[]", r#"{"usage":{}}"#] {
            assert!(read(nothing.as_bytes()).is_empty(), "{nothing}");
        }
        assert!(matches!(&read(b"{oops")[..], [Event::Garbage]));
        assert!(matches!(&read(b" [DONE] ")[..], [Event::Done]));
    }

    #[test]
    fn all_shapes_of_errors_are_errors() {
        for error in [
            r#"{"error":{"message":"x"}}"#,
            r#"{"object":"error","message":"x"}"#,
            r#"{"message":"x"}"#,
            r#"{"error": "x"}"#,
            r#"{"error": "tensor "x" is elsewhere"}"#,
            r#"{"message":"x","code":500}"#,
        ] {
            assert!(
                matches!(&read(error.as_bytes())[..], [Event::Error(_)]),
                "{error}"
            );
        }
    }
}
