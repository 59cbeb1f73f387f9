//! A conversation and a chat template come in; the prompt's tokens go out.
//!
//! In the rendered text the names of control tokens (`<|im_end|>`) stand for those tokens. What a
//! client wrote must never become one, or a message could end itself and speak as the system. So
//! the client's texts are marked before they are rendered: a character that nobody uses goes
//! behind the first character of each name. It breaks the name for whatever the template does
//! with the text (joining, trimming, slicing), it is in texts only that have such a name, and it
//! is gone before tokens are made of the text.

mod parts;

use super::backend::Think;
use super::media::{Media, Projector, Room, Sequence};
use super::request::{Chat, Source, Text, last_text};
use super::template::{ChatTemplate, Prompt};
use super::vocabulary::{Token, TokenKind, Vocabulary};
use isogloss_core::error::{Error, Kind};
use isogloss_core::markup::Format;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::sync::Arc;

/// Characters that nobody uses, for the mark: Supplementary Private Use Area A, without its two
/// noncharacters.
const MARKS: std::ops::RangeInclusive<char> = '\u{F0000}'..='\u{FFFFD}';

/// Makes prompts for one model.
#[derive(Debug)]
pub struct Prompter {
    vocabulary: Vocabulary,
    names: Names,
    template: Option<Result<ChatTemplate, Error>>,
    projector: Option<Arc<dyn Projector>>,
    room: Room,
}

/// A prompt, and what its end means for the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// The tokens, and what stands among them; at least one.
    pub tokens: Sequence,
    /// Where thinking goes.
    pub think: Think,
}

impl Prompter {
    /// Prompts of this vocabulary; without a template, or with one that cannot be used, there are
    /// no chats.
    #[must_use]
    pub fn new(vocabulary: Vocabulary, template: Option<Result<ChatTemplate, Error>>) -> Self {
        Self {
            names: Names::of(&vocabulary),
            vocabulary,
            template,
            projector: None,
            room: Room::default(),
        }
    }

    /// With a projector, conversations may have the images or audio that it takes.
    #[must_use]
    pub fn with_projector(mut self, projector: Option<Arc<dyn Projector>>) -> Self {
        self.projector = projector;
        self
    }

    /// The markup in which all stands that the model says in a conversation, where its template shows one.
    #[must_use]
    pub fn messages(&self) -> Option<&Arc<Format>> {
        self.template.as_ref()?.as_ref().ok()?.messages()
    }

    /// The prompts of a request, at least one.
    ///
    /// # Errors
    /// The conversation cannot be rendered, or a prompt is empty.
    pub fn prepare(&self, source: &Source, now_unix: u64) -> Result<Vec<Prepared>, Error> {
        match source {
            Source::Chat(chat) => self.chat(chat, now_unix).map(|prompt| vec![prompt]),
            Source::Prompts { prompts, special } => prompts
                .iter()
                .map(|prompt| self.plain(prompt, *special))
                .collect(),
        }
    }

    /// The tokens of one prompt, which may be none.
    ///
    /// # Errors
    /// The conversation cannot be rendered, or is not of tokens alone.
    pub fn tokens(&self, source: &Source, now_unix: u64) -> Result<Vec<Token>, Error> {
        let Source::Prompts { prompts, special } = source else {
            let prepared = self.prepare(source, now_unix)?;
            if prepared.iter().any(|one| !one.tokens.media().is_empty()) {
                let message = "images and audio have no tokens of the vocabulary: leave them out";
                return Err(Error::new(Kind::InvalidRequest, message).at("messages"));
            }
            let tokens = |one: &Prepared| one.tokens.tokens().to_vec();
            return Ok(prepared.iter().flat_map(tokens).collect());
        };
        let tokens = |prompt| self.read(prompt, *special);
        Ok(prompts.iter().flat_map(tokens).collect())
    }

    fn read(&self, prompt: &Text, special: bool) -> Vec<Token> {
        match prompt {
            Text::Tokens(tokens) => tokens.clone(),
            Text::Plain(text) => {
                let bos = if special { self.vocabulary.bos() } else { None };
                begin(bos, self.piece(text, true))
            }
        }
    }

    fn plain(&self, prompt: &Text, special: bool) -> Result<Prepared, Error> {
        let tokens = self.read(prompt, special);
        if tokens.is_empty() {
            let message = "`prompt` is empty: send at least one character to go on from";
            return Err(Error::new(Kind::InvalidRequest, message).at("prompt"));
        }
        Ok(Prepared {
            tokens: tokens.into(),
            think: Think::None,
        })
    }

    fn chat(&self, chat: &Chat, now_unix: u64) -> Result<Prepared, Error> {
        let template = self.template.as_ref().ok_or_else(|| {
            let message = "the model has no chat template: send `prompt` to /v1/completions, or \
                           start the worker with --chat-template";
            Error::new(Kind::InvalidRequest, message).at("messages")
        })?;
        let template = template.as_ref().map_err(Clone::clone)?;
        let mut chat = chat.clone();
        let projector = self.projector.as_deref();
        let parts = parts::take(&mut chat, projector.map(Projector::modalities))?;
        let media = match projector {
            Some(projector) => parts::ready(&parts, projector, &self.room)?,
            None => Vec::new(),
        };
        let marks = self.names.mark(&mut chat, !parts.is_empty())?;
        if let Some(mark) = marks.media {
            parts::put_marks(&mut chat, &parts, mark);
        }
        let rendered = template.render(&Prompt {
            messages: &chat.messages,
            tools: &chat.tools,
            kwargs: &chat.kwargs,
            tags: chat.tags.as_deref(),
            is_plain: chat.is_plain,
            goes_on: (chat.messages.last().filter(|_| chat.goes_on)).and_then(last_text),
            now_unix,
        })?;
        let mut tokens = self.assemble(&rendered.text, marks, &media)?;
        if let Some(bos) = self.vocabulary.bos()
            && tokens.tokens().first() != Some(&bos)
        {
            tokens.begin(bos);
        }
        if tokens.is_empty() {
            let message = "the chat template makes nothing of `messages`";
            return Err(Error::new(Kind::InvalidRequest, message).at("messages"));
        }
        Ok(Prepared {
            tokens,
            think: rendered.think,
        })
    }

    /// Puts the media in the places of their marks.
    fn assemble(&self, text: &str, marks: Marks, media: &[Arc<Media>]) -> Result<Sequence, Error> {
        let Some(mark) = marks.media else {
            return Ok(self.encode(text, marks.names).into());
        };
        let (texts, numbers) = parts::pieces(text, mark, media.len()).ok_or_else(|| {
            let message = "the chat template leaves out an image or audio, or what is around it: \
                           start the worker with another --chat-template";
            Error::new(Kind::InvalidRequest, message).at("messages")
        })?;
        let mut sequence = Sequence::default();
        for (at, text) in texts.into_iter().enumerate() {
            if !text.is_empty() {
                sequence.extend(&self.encode(text, marks.names));
            }
            if let Some(number) = numbers.get(at) {
                sequence.push_media(Arc::clone(&media[*number]));
            }
        }
        Ok(sequence)
    }

    /// The character before a mark is text, and begins no name.
    fn encode(&self, text: &str, mark: Option<char>) -> Vec<Token> {
        let Some(mark) = mark else {
            return self.vocabulary.encode(text, true);
        };
        let mut tokens = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(mark) {
            let (before, after) = (&rest[..at], &rest[at + mark.len_utf8()..]);
            let first = before.chars().next_back().map_or(0, char::len_utf8);
            let (before, first) = before.split_at(at - first);
            tokens.extend(self.piece(before, true));
            tokens.extend(self.piece(first, false));
            rest = after;
        }
        tokens.extend(self.piece(rest, true));
        tokens
    }

    fn piece(&self, text: &str, controls: bool) -> Vec<Token> {
        match text {
            "" => Vec::new(),
            text => self.vocabulary.encode(text, controls),
        }
    }
}

/// Some templates write the first token, some leave it out.
fn begin(bos: Option<Token>, mut tokens: Vec<Token>) -> Vec<Token> {
    if let Some(bos) = bos
        && tokens.first() != Some(&bos)
    {
        tokens.insert(0, bos);
    }
    tokens
}

/// The characters that mark what is in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Marks {
    /// Behind the first character of each name; none where there is no name.
    names: Option<char>,
    /// Around the numbers of media; none where there are no media.
    media: Option<char>,
}

/// The names that stand for control tokens, as a tree of bytes.
#[derive(Debug, Default)]
struct Names {
    nodes: Vec<Node>,
}

#[derive(Debug, Default)]
struct Node {
    /// Sorted by byte.
    next: Vec<(u8, usize)>,
    is_end: bool,
}

impl Names {
    fn of(vocabulary: &Vocabulary) -> Self {
        let mut names = Self {
            nodes: vec![Node::default()],
        };
        for piece in vocabulary.pieces() {
            // Unused ones too: tokenisers read the name of the unknown token.
            if piece.kind != TokenKind::Text && !piece.bytes.is_empty() {
                names.add(&piece.bytes);
            }
        }
        names
    }

    fn add(&mut self, name: &[u8]) {
        let mut node = 0;
        for byte in name {
            node = match self.nodes[node]
                .next
                .binary_search_by_key(byte, |next| next.0)
            {
                Ok(found) => self.nodes[node].next[found].1,
                Err(place) => {
                    let new = self.nodes.len();
                    self.nodes.push(Node::default());
                    self.nodes[node].next.insert(place, (*byte, new));
                    new
                }
            };
        }
        self.nodes[node].is_end = true;
    }

    /// Whether a name begins at the beginning of this text, or may once more text follows it:
    /// templates put texts together, and trim them before that.
    fn begins(&self, text: &[u8], trimmed: usize) -> bool {
        let mut node = &self.nodes[0];
        for (index, byte) in text.iter().enumerate() {
            if node.is_end || (index > 0 && index >= trimmed) {
                return true;
            }
            match node.next.binary_search_by_key(byte, |next| next.0) {
                Ok(found) => node = &self.nodes[node.next[found].1],
                Err(_) => return false,
            }
        }
        true
    }

    /// Where marks go: behind the first character of each name.
    fn places(&self, text: &str) -> Vec<usize> {
        let trimmed = text.trim_end().len();
        let bytes = text.as_bytes();
        let starts = &self.nodes[0].next;
        text.char_indices()
            .filter(|(at, _)| {
                starts
                    .binary_search_by_key(&bytes[*at], |next| next.0)
                    .is_ok()
            })
            .filter(|(at, _)| self.begins(&bytes[*at..], trimmed.saturating_sub(*at)))
            .map(|(at, first)| at + first.len_utf8())
            .collect()
    }

    /// Chooses marks that are not in a conversation, and marks the names in all its texts.
    fn mark(&self, chat: &mut Chat, has_media: bool) -> Result<Marks, Error> {
        let mut seen = HashSet::new();
        let mut has_names = false;
        chat.each(&mut |text| {
            seen.extend(text.chars().filter(|character| MARKS.contains(character)));
            has_names = has_names || !self.places(text).is_empty();
            None
        });
        let mut unused = MARKS.clone().filter(|mark| !seen.contains(mark));
        let mut unused = |is_needed: bool| {
            let mark = if is_needed {
                unused.next()
            } else {
                return Ok(None);
            };
            mark.map(Some).ok_or_else(|| {
                let message = "`messages` use every character of a private area: leave some out";
                Error::new(Kind::InvalidRequest, message).at("messages")
            })
        };
        let marks = Marks {
            names: unused(has_names)?,
            media: unused(has_media)?,
        };
        let Some(mark) = marks.names else {
            return Ok(marks);
        };
        chat.each(&mut |text| {
            let places = self.places(text);
            let mut marked = text.to_owned();
            for place in places.iter().rev() {
                marked.insert(*place, mark);
            }
            (!places.is_empty()).then_some(marked)
        });
        Ok(marks)
    }
}

/// Hears a text; what it answers takes its place.
type Visit<'a> = &'a mut dyn FnMut(&str) -> Option<String>;

impl Chat {
    /// Every text of it: values and keys.
    fn each(&mut self, visit: Visit<'_>) {
        for value in self.messages.iter_mut().chain(&mut self.tools) {
            each(value, visit);
        }
        each_member(&mut self.kwargs, visit);
    }
}

/// The body's depth is limited, so this is too.
fn each(value: &mut Value, visit: Visit<'_>) {
    match value {
        Value::String(text) => {
            if let Some(new) = visit(text) {
                *text = new;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| each(item, visit)),
        Value::Object(members) => each_member(members, visit),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn each_member(members: &mut Map<String, Value>, visit: Visit<'_>) {
    let mut has_new = false;
    let mut keys = Vec::with_capacity(members.len());
    for (key, value) in members.iter_mut() {
        let new = visit(key);
        has_new = has_new || new.is_some();
        keys.push(new);
        each(value, visit);
    }
    if has_new {
        // In the same order, which is the client's.
        *members = std::mem::take(members)
            .into_iter()
            .zip(keys)
            .map(|((key, value), new)| (new.unwrap_or(key), value))
            .collect();
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests;
