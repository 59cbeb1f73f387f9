//! One format, as its data file says it, ready to be read and written.

use super::pattern::{Match, Pattern, literal_at};
use std::borrow::Cow;
use std::sync::Arc;

/// One way in which models write calls: what a file under `rules/markup` says.
#[derive(Debug, Clone)]
pub struct Format {
    pub(super) name: String,
    pub(super) sources: Vec<String>,
    /// Pieces of models' names, in small letters.
    pub(super) models: Vec<String>,
    /// Pieces of chat templates.
    pub(super) template: Vec<String>,
    pub(super) result: Option<String>,
    /// Tokens that are no text.
    pub(super) drop: Vec<String>,
    /// What is no text either, where no tool was shown.
    pub(super) stray: Vec<Pattern>,
    /// What stands before an answer that is no call.
    pub(super) answer: Option<AnswerHead>,
    pub(super) thinking: Option<Thinking>,
    pub(super) forms: Vec<Form>,
    /// Every beginning of every form, in the order of the file.
    pub(super) openings: Vec<Opening>,
    /// The bytes with which anything but text may begin.
    pub(super) starts: Vec<bool>,
    pub(super) examples: Vec<Example>,
}

/// The tokens around a thought.
#[derive(Debug, Clone)]
pub(super) struct Thinking {
    pub(super) begin: Vec<Pattern>,
    pub(super) end: Vec<Pattern>,
    /// Also after text.
    pub(super) is_anywhere: bool,
    /// The beginnings of calls that end a thought: those that have a token, where the format's
    /// models leave out the thought's own end.
    pub(super) calls: Vec<Opening>,
}

/// Where a form may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    Anywhere,
    /// Before anything but blanks on its line.
    Line,
    /// Before anything but blanks and thoughts.
    Start,
}

/// How a call's arguments are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// An object with the name and the arguments.
    Envelope,
    /// JSON, after the name.
    Json,
    /// Parameters between tokens, each by itself.
    Parameters,
    /// `(key=value, …)` in Python's literals.
    Python,
    /// `{key:value, …}` with keys without quotes and strings between tokens.
    BareKeys,
}

/// One way in which a format writes its calls.
#[derive(Debug, Clone)]
pub(super) struct Form {
    pub(super) at: At,
    pub(super) shape: Shape,
    /// What is written begins with tokens that a prompt ends with.
    pub(super) begins_turn: bool,
    /// The head of a call with which a reply begins, where the prompt has those tokens already.
    pub(super) reply_head: Option<Pattern>,
    pub(super) begins: Vec<Pattern>,
    pub(super) ends: Vec<Pattern>,
    pub(super) separators: Vec<Pattern>,
    pub(super) heads: Vec<Pattern>,
    pub(super) call_ends: Vec<Pattern>,
    /// What a call's id is made of, where it is more than the hole.
    pub(super) id: Option<Pattern>,
    /// The next call of the same block.
    pub(super) nexts: Vec<Opening>,
    pub(super) keys: EnvelopeKeys,
    pub(super) parameters: Vec<Parameter>,
    /// A structural tag may hold each parameter to its schema.
    pub(super) typed: bool,
    /// Around strings, where keys are bare.
    pub(super) quote: String,
}

/// The names of an envelope's keys. The first of each is written.
#[derive(Debug, Clone)]
pub(super) struct EnvelopeKeys {
    pub(super) name: Vec<String>,
    pub(super) arguments: Vec<String>,
    pub(super) id: Vec<String>,
    /// What else an envelope without a token before it may begin with.
    pub(super) first: Vec<String>,
    /// The id stands after the arguments.
    pub(super) is_id_last: bool,
}

/// What a parameter's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterValue {
    /// Text as it stands, or JSON, as the tool's schema says.
    Schema,
    /// Text as it stands.
    Text,
    /// JSON.
    Json,
    /// Elements between tokens like the parameter's own, or what the tool's schema says.
    Elements,
}

/// How one parameter is written.
#[derive(Debug, Clone)]
pub(super) struct Parameter {
    pub(super) begin: Pattern,
    pub(super) end: String,
    /// Blanks that are written behind it.
    pub(super) after: String,
    /// Dropped once at each end of the value, where it is there.
    pub(super) around: String,
    /// Tokens that may stand around a text, which is in them as it stands.
    pub(super) inside: Option<(String, String)>,
    pub(super) value: ParameterValue,
}

/// What a model writes before an answer that is no call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AnswerHead {
    /// What a prompt ends with behind which it stands.
    pub(super) after: String,
    pub(super) head: String,
}

/// The beginning of a call: of a block with its first call, or of a block's next one.
#[derive(Debug, Clone)]
pub(super) struct Opening {
    pub(super) form: usize,
    /// Which of the form's beginnings it is.
    pub(super) begin: usize,
    pub(super) pattern: Pattern,
    /// No token stands before the envelope.
    pub(super) is_bare: bool,
}

/// A text and the calls in it, as its file gives them.
#[derive(Debug, Clone)]
pub struct Example {
    /// What the model wrote.
    pub text: String,
    /// The text around the calls.
    pub content: String,
    /// Each call's id, name, and arguments in JSON.
    pub calls: Vec<(Option<String>, String, String)>,
    /// What a writer makes of the calls, where it is not the text.
    pub written: Option<String>,
}

impl Format {
    /// The format's name, which is its file's.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the file was written from.
    #[must_use]
    pub fn sources(&self) -> &[String] {
        &self.sources
    }

    /// The texts that the file gives as examples.
    #[must_use]
    pub fn examples(&self) -> &[Example] {
        &self.examples
    }

    /// Whether models of this name write this format, as far as the name tells: see
    /// [`Formats::of_model`](super::Formats::of_model).
    #[must_use]
    pub fn is_for_model(&self, model: &str) -> bool {
        self.model_sign(&model.to_lowercase()) > 0
    }

    /// Whether a chat template with this text shows the model this format.
    #[must_use]
    pub fn is_in_template(&self, template: &str) -> bool {
        self.template_sign(template) > 0
    }

    /// Whether its calls are messages like all else that the model says: then tokens of its markup stand in every reply.
    #[must_use]
    pub fn has_messages(&self) -> bool {
        self.forms.iter().any(|form| form.begins_turn)
    }

    /// Whether calls have ids that are made of their names (Kimi K2).
    #[must_use]
    pub fn names_ids(&self) -> bool {
        self.forms.first().is_some_and(|form| form.id.is_some())
    }

    /// What begins and what ends thoughts before an answer, the first pair as the model writes it; none where thoughts may stand
    /// anywhere.
    pub fn thought_tags(&self) -> impl Iterator<Item = (&str, &str)> {
        let thinking = self
            .thinking
            .iter()
            .filter(|thinking| !thinking.is_anywhere);
        thinking.flat_map(|thinking| {
            let (begin, end) = (thinking.begin.iter(), thinking.end.iter());
            begin.map(Pattern::text).zip(end.map(Pattern::text))
        })
    }

    /// What the model writes behind a prompt with this end before an answer that is no call; empty where nothing stands there.
    #[must_use]
    pub fn answer_head(&self, prompt: &str) -> &str {
        let answer = self.answer.as_ref();
        let answer = answer.filter(|answer| prompt.ends_with(&answer.after));
        answer.map_or("", |answer| &answer.head)
    }

    /// Whether a token of this name is written around this format's calls or in them, and around nothing else, or around all
    /// messages of a format whose calls are messages: what a model's vocabulary calls a control is text then, without which
    /// nobody could read the calls.
    #[must_use]
    pub fn is_of_calls(&self, token: &str) -> bool {
        let of = |pattern: &Pattern| pattern.literals().any(|literal| literal.contains(token));
        let is_in_form = |form: &Form| {
            let patterns = [
                &form.begins,
                &form.ends,
                &form.separators,
                &form.heads,
                &form.call_ends,
            ];
            let parameters = form.parameters.iter();
            patterns.into_iter().flatten().any(of)
                || parameters
                    .clone()
                    .any(|parameter| of(&parameter.begin) || parameter.end.contains(token))
                || form.quote.contains(token)
        };
        let is_thought = |thinking: &Thinking| thinking.begin.iter().chain(&thinking.end).any(of);
        let is_thought = self.thinking.as_ref().is_some_and(is_thought);
        let is_dropped = self.drop.iter().any(|drop| drop.contains(token));
        let is_in_form = self.forms.iter().any(is_in_form);
        !token.is_empty()
            // The same tokens begin all messages.
            && match self.has_messages() {
                true => is_in_form || is_thought || is_dropped,
                false => is_in_form && !is_thought && !is_dropped,
            }
    }

    /// How long the longest piece of the model's name is that says so; the name is in small letters.
    pub(super) fn model_sign(&self, model: &str) -> usize {
        let signs = self.models.iter().filter(|sign| model.contains(*sign));
        signs.map(String::len).max().unwrap_or(0)
    }

    /// How long the longest piece of the template is that says so.
    pub(super) fn template_sign(&self, template: &str) -> usize {
        let signs = self.template.iter();
        let signs = signs.filter(|sign| template.contains(*sign));
        signs.map(String::len).max().unwrap_or(0)
    }

    /// Every text with which a call or a block of calls may begin: what a grammar or a structural
    /// tag is to be triggered by. A form without a token has none.
    #[must_use]
    pub fn tokens(&self) -> Vec<&str> {
        let forms = self.forms.iter().filter(|form| form.at == At::Anywhere);
        let begins = forms.flat_map(|form| match form.begins.first() {
            Some(begin) if !begin.is_empty() => &form.begins,
            _ => &form.heads,
        });
        let literals = begins.filter_map(Pattern::first_literal);
        let mut tokens: Vec<&str> = literals.collect();
        tokens.sort_unstable();
        tokens.dedup();
        tokens
    }

    /// Whether one of the tokens that are no text begins here: how long it is.
    pub(super) fn dropped(&self, text: &str, whole: bool) -> Match<usize> {
        let mut found = Match::No;
        for token in &self.drop {
            match literal_at(text, token, whole) {
                Match::No => {}
                Match::More => return Match::More,
                Match::Yes(()) if found == Match::No => found = Match::Yes(token.len()),
                Match::Yes(()) => {}
            }
        }
        found
    }
}

impl Form {
    /// Whether a block that began so may end without a token.
    pub(super) fn may_end_anywhere(&self, begin: usize) -> bool {
        let is_open = |begin: &Pattern| begin.is_empty();
        self.begins.get(begin).is_some_and(is_open) || self.ends.iter().any(Pattern::is_empty)
    }
}

/// Every format that is known.
#[derive(Debug, Clone)]
pub struct Formats {
    pub(super) formats: Vec<Arc<Format>>,
}

/// A shorter text is written for other reasons too.
const MIN_TOKEN_BYTES: usize = 6;

impl Formats {
    /// Every format, in the order of the files.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Format>> {
        self.formats.iter()
    }

    /// The texts that models write around calls, in any format: those that may be one token. One that stands around
    /// something else as well, or that people write, is none.
    pub fn call_tokens(&self) -> impl Iterator<Item = &str> {
        let openings = self.formats.iter().flat_map(|format| &format.openings);
        let openings = openings.filter_map(|opening| opening.pattern.first_literal());
        let openings = openings.filter(|literal| literal.trim().starts_with(['<', '[']));
        let forms = self.formats.iter().flat_map(|format| &format.forms);
        let ends = forms.flat_map(|form| form.ends.iter().chain(&form.call_ends));
        let ends = ends.filter_map(Pattern::first_literal);
        let ends = ends.filter(|literal| literal.trim().starts_with("</"));
        let literals = openings.chain(ends).map(str::trim);
        literals.filter(|literal| literal.len() >= MIN_TOKEN_BYTES)
    }

    /// The format of this name.
    #[must_use]
    pub fn by_name(&self, name: &str) -> Option<&Arc<Format>> {
        self.formats.iter().find(|format| format.name == name)
    }

    /// The format that models of this name write: that of which the longest piece stands in the
    /// name. A name is a guess; a template knows.
    #[must_use]
    pub fn of_model(&self, model: &str) -> Option<&Arc<Format>> {
        let is_small = |c: char| c.is_ascii() && !c.is_ascii_uppercase();
        let model = match model.chars().all(is_small) {
            true => Cow::Borrowed(model),
            false => Cow::Owned(model.to_lowercase()),
        };
        best(&self.formats, |format| format.model_sign(&model))
    }

    /// The format that a chat template shows: that of which the longest sign stands in it.
    #[must_use]
    pub fn of_template(&self, template: &str) -> Option<&Arc<Format>> {
        best(&self.formats, |format| format.template_sign(template))
    }
}

/// The first of those that count most, if any counts.
fn best(formats: &[Arc<Format>], count: impl Fn(&Format) -> usize) -> Option<&Arc<Format>> {
    let mut best = None;
    let mut most = 0;
    for format in formats {
        let found = count(format);
        if found > most {
            most = found;
            best = Some(format);
        }
    }
    best
}
