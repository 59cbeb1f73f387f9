//! A model's text in, in any chunking; pieces out, each as soon as it is certain.

mod opening;

use super::arguments::Arguments;
use super::envelope::{Envelope, Read};
use super::format::{Form, Format, Shape};
use super::layout::Layout;
use super::pattern::{Look, Match, Pattern, any_literal, anything, first};
use super::{Piece, Tools};
use std::sync::Arc;

/// Reads one model's text.
#[derive(Debug)]
pub struct Reader {
    format: Arc<Format>,
    tools: Arc<Tools>,
    state: State,
    layout: Layout,
    /// Text whose meaning is not certain.
    held: String,
    /// Text that goes out.
    ready: String,
    /// The text ended before the model did.
    is_cut: bool,
    /// Thoughts are text, tokens and all, and so are tokens that are no text; no call stands in a thought all the
    /// same.
    keeps_thoughts: bool,
}

#[derive(Debug)]
enum State {
    /// Outside of calls.
    Text(Trying),
    /// In a thought, and how far a call was tried at its place.
    Thought(Trying),
    /// In an envelope, after its call was announced.
    Envelope(Box<Envelope>, Block),
    /// In the arguments behind a call's name.
    Arguments(Box<Arguments>, Block),
    /// After the arguments: what ends the call.
    Close(Block),
    /// After a call: the next one of the block, or the block's end.
    Between(Block, Trying),
    /// After a fault.
    Broken,
}

/// The block that is open.
#[derive(Debug, Clone, Copy)]
struct Block {
    form: usize,
    /// Which of the form's beginnings it began with.
    begin: usize,
}

/// How far the beginnings of calls were tried at one place.
#[derive(Debug, Default)]
struct Trying {
    next: usize,
    /// An envelope that may be a call, and how much of the text it has taken.
    trial: Option<(Box<Envelope>, usize)>,
}

/// What became of the beginnings at one place.
enum Tried {
    No,
    More,
    /// A call: so many bytes of it were taken.
    Yes(usize),
}

/// How a step went: so many bytes were taken, and whether there is more to do.
struct Stepped {
    bytes: usize,
    goes_on: bool,
}

const fn goes_on(bytes: usize) -> Stepped {
    Stepped {
        bytes,
        goes_on: true,
    }
}

const fn waits(bytes: usize) -> Stepped {
    Stepped {
        bytes,
        goes_on: false,
    }
}

impl Reader {
    /// A reader of text in this format, by a model that was shown these tools.
    #[must_use]
    pub fn new(format: Arc<Format>, tools: Arc<Tools>) -> Self {
        Self {
            format,
            tools,
            state: State::Text(Trying::default()),
            layout: Layout::default(),
            held: String::new(),
            ready: String::new(),
            is_cut: false,
            keeps_thoughts: false,
        }
    }

    /// The same reader for a text in which all but calls is to stay: thoughts are given as text, with the tokens
    /// around them.
    #[must_use]
    pub const fn keeping_thoughts(mut self) -> Self {
        self.keeps_thoughts = true;
        self
    }

    /// The same reader for a text that begins inside of a thought: the template has opened it.
    #[must_use]
    pub fn in_thought(mut self) -> Self {
        if self.format.thinking.is_some() {
            self.state = State::Thought(Trying::default());
        }
        self
    }

    /// Takes the next piece of the text and appends what it makes certain.
    pub fn push(&mut self, text: &str, out: &mut Vec<Piece>) {
        self.held.push_str(text);
        self.run(false, out);
        self.flush(out);
    }

    /// The text ended; `cut` where it was cut short, so that a call that is not whole is no fault.
    pub fn finish(&mut self, cut: bool, out: &mut Vec<Piece>) {
        self.is_cut = cut;
        if cut && self.is_in_head() {
            self.held.clear();
        }
        self.run(true, out);
        let held = std::mem::take(&mut self.held);
        match std::mem::replace(&mut self.state, State::Broken) {
            State::Text(_) | State::Broken => {
                self.layout.say(&held, &mut self.ready);
                self.layout.end(&mut self.ready);
            }
            State::Thought(_) => self.think(&held, out),
            State::Envelope(envelope, _) if !cut => ends_early(envelope.unread(), &held, out),
            State::Arguments(arguments, _) if !cut => ends_early(arguments.unread(), &held, out),
            _ => {}
        }
        self.flush(out);
    }

    /// Whether the text was cut in a message's head: what is held is certainly no text, where no tool was shown and a whole
    /// token has come.
    fn is_in_head(&self) -> bool {
        let token = self.held.split_inclusive('>').next();
        let token = token.filter(|token| token.ends_with('>')).unwrap_or("\0");
        let is_text = matches!(self.state, State::Text(_));
        let begins = |drop: &String| drop.starts_with(token);
        is_text && self.tools.is_empty() && self.format.drop.iter().any(begins)
    }

    /// Whether nothing is missing after a call but what ends it: to some models the end token is the
    /// end of the text, and a text that was cut short may lack more.
    fn is_nearly_over(&self, held: &str, whole: bool) -> bool {
        if held.trim().is_empty() {
            return true;
        }
        if !whole {
            return false;
        }
        let tokens = self.format.forms.iter();
        let tokens = tokens.flat_map(|form| form.ends.iter().chain(&form.call_ends));
        let look = Look {
            tools: &self.tools,
            whole: false,
            then: &anything,
        };
        self.is_cut
            || tokens
                .into_iter()
                .any(|t| t.find(held, &look) == Match::More)
    }

    fn run(&mut self, whole: bool, out: &mut Vec<Piece>) {
        let held = std::mem::take(&mut self.held);
        let mut at = 0;
        loop {
            let step = self.step(&held[at..], whole, out);
            at += step.bytes;
            if !step.goes_on {
                break;
            }
        }
        self.held = held;
        self.held.drain(..at);
    }

    fn step(&mut self, text: &str, whole: bool, out: &mut Vec<Piece>) -> Stepped {
        match std::mem::replace(&mut self.state, State::Broken) {
            State::Text(trying) => self.text(text, trying, whole, out),
            State::Thought(trying) => self.thought(text, trying, whole, out),
            State::Envelope(mut envelope, block) => {
                let read = envelope.push(text, &self.tools, out);
                self.enveloped(text, read, envelope, block, out)
            }
            State::Arguments(arguments, block) => {
                // Of a call that was cut short any piece may be the beginning of what would have followed.
                self.arguments(text, arguments, block, whole && !self.is_cut, out)
            }
            State::Close(block) => self.close(text, block, whole, out),
            State::Between(block, trying) => self.between(text, block, trying, whole, out),
            State::Broken => {
                self.ready.push_str(text);
                waits(text.len())
            }
        }
    }

    /// Text goes out up to where a call may begin.
    fn text(
        &mut self,
        text: &str,
        mut trying: Trying,
        whole: bool,
        out: &mut Vec<Piece>,
    ) -> Stepped {
        let mut at = 0;
        loop {
            let rest = &text[at..];
            let is_start = |byte: u8| self.format.starts[usize::from(byte)];
            let skip = rest.bytes().position(is_start).unwrap_or(rest.len());
            if skip > 0 {
                self.layout.say(&rest[..skip], &mut self.ready);
                trying = Trying::default();
                at += skip;
                continue;
            }
            let Some(c) = rest.chars().next() else {
                self.state = State::Text(Trying::default());
                return waits(at);
            };
            match self.open(rest, &mut trying, whole, out) {
                Tried::Yes(bytes) => return goes_on(at + bytes),
                Tried::More => {
                    self.state = State::Text(trying);
                    return waits(at);
                }
                Tried::No => {
                    self.layout.say(&rest[..c.len_utf8()], &mut self.ready);
                    trying = Trying::default();
                    at += c.len_utf8();
                }
            }
        }
    }

    /// Tries everything that may begin here.
    fn open(
        &mut self,
        text: &str,
        trying: &mut Trying,
        whole: bool,
        out: &mut Vec<Piece>,
    ) -> Tried {
        if trying.trial.is_none() && trying.next == 0 {
            match self.aside(text, whole, out) {
                Tried::No => {}
                found => return found,
            }
        }
        let format = Arc::clone(&self.format);
        self.call(&format.openings, text, trying, whole, out)
    }

    /// A thought, or a token that is no text.
    fn aside(&mut self, text: &str, whole: bool, out: &mut Vec<Piece>) -> Tried {
        let look = Look {
            tools: &self.tools,
            whole,
            then: &anything,
        };
        let thinking = self.format.thinking.as_ref();
        let thinking = thinking.filter(|all| all.is_anywhere || self.layout.is_at_start());
        let mut is_open = false;
        if let Some(thinking) = thinking {
            match first(&thinking.begin, text, &look) {
                Match::Yes((_, end, _)) => {
                    if self.keeps_thoughts {
                        self.layout.say(&text[..end], &mut self.ready);
                    } else {
                        self.layout.thought();
                        self.flush(out);
                    }
                    self.state = State::Thought(Trying::default());
                    return Tried::Yes(end);
                }
                Match::More => is_open = true,
                Match::No => {}
            }
        }
        let stray = match self.tools.is_empty() {
            true => first(&self.format.stray, text, &look),
            // Where there are tools, a head that begins no call is what the model says.
            false => Match::No,
        };
        let dropped = match self.keeps_thoughts {
            true => Match::No,
            false => match (self.format.dropped(text, whole), stray) {
                (Match::No, Match::Yes((_, end, _))) => Match::Yes(end),
                (Match::No, Match::More) => Match::More,
                (dropped, _) => dropped,
            },
        };
        match dropped {
            Match::Yes(bytes) if !is_open => {
                self.state = State::Text(Trying::default());
                Tried::Yes(bytes)
            }
            Match::No if !is_open => Tried::No,
            _ => Tried::More,
        }
    }

    /// What became of an envelope that is a call.
    fn enveloped(
        &mut self,
        text: &str,
        read: Read,
        envelope: Box<Envelope>,
        block: Block,
        out: &mut Vec<Piece>,
    ) -> Stepped {
        match read {
            Read::More => {
                self.state = State::Envelope(envelope, block);
                waits(text.len())
            }
            Read::Done(bytes) => {
                self.state = State::Close(block);
                goes_on(bytes)
            }
            Read::Broken(at, why) => {
                let unread = envelope.unread().to_owned() + &text[at..];
                self.broken(unread, why, text.len(), out)
            }
        }
    }

    fn arguments(
        &mut self,
        text: &str,
        mut arguments: Box<Arguments>,
        block: Block,
        whole: bool,
        out: &mut Vec<Piece>,
    ) -> Stepped {
        let format = Arc::clone(&self.format);
        let form = &format.forms[block.form];
        let took = arguments.push(text, whole, form, &self.tools, out);
        match took.read {
            Read::More => {
                self.state = State::Arguments(arguments, block);
                waits(took.bytes)
            }
            Read::Done(bytes) => {
                self.state = match form.shape {
                    // The end of the call has told their end.
                    Shape::Parameters => State::Between(block, Trying::default()),
                    _ => State::Close(block),
                };
                goes_on(bytes)
            }
            Read::Broken(at, why) => {
                let unread = arguments.unread().to_owned() + &text[at..];
                self.broken(unread, why, text.len(), out)
            }
        }
    }

    /// What stands after a call's arguments.
    fn close(&mut self, text: &str, block: Block, whole: bool, out: &mut Vec<Piece>) -> Stepped {
        let format = Arc::clone(&self.format);
        let ends = &format.forms[block.form].call_ends;
        if ends.is_empty() {
            self.state = State::Between(block, Trying::default());
            return goes_on(0);
        }
        let look = Look {
            tools: &self.tools,
            whole,
            then: &anything,
        };
        match first(ends, text, &look) {
            Match::Yes((_, end, _)) => {
                self.state = State::Between(block, Trying::default());
                goes_on(end)
            }
            Match::More => {
                self.state = State::Close(block);
                waits(0)
            }
            Match::No => match goes_on_without(&format.forms[block.form], text, whole) {
                Match::Yes(()) => {
                    self.state = State::Between(block, Trying::default());
                    goes_on(0)
                }
                Match::No if !self.is_nearly_over(text, whole) => self.unended(text, ends, out),
                Match::More | Match::No => {
                    self.state = State::Close(block);
                    waits(0)
                }
            },
        }
    }

    /// After a call: the block goes on, or ends.
    fn between(
        &mut self,
        text: &str,
        block: Block,
        mut trying: Trying,
        whole: bool,
        out: &mut Vec<Piece>,
    ) -> Stepped {
        let format = Arc::clone(&self.format);
        let form = &format.forms[block.form];
        self.state = State::Between(block, Trying::default());
        match self.call(&form.nexts, text, &mut trying, whole, out) {
            Tried::Yes(bytes) => return goes_on(bytes),
            Tried::More => {
                self.state = State::Between(block, trying);
                return waits(0);
            }
            Tried::No => {}
        }
        let look = Look {
            tools: &self.tools,
            whole,
            then: &anything,
        };
        match first(&form.ends, text, &look) {
            Match::Yes((_, end, _)) => {
                self.state = State::Text(Trying::default());
                goes_on(end)
            }
            Match::More => {
                self.state = State::Between(block, trying);
                waits(0)
            }
            Match::No if form.may_end_anywhere(block.begin) => {
                self.state = State::Text(Trying::default());
                goes_on(0)
            }
            Match::No if self.is_nearly_over(text, whole) => {
                self.state = State::Between(block, trying);
                waits(0)
            }
            Match::No => self.unended(text, &form.ends, out),
        }
    }

    /// A call or a block is not followed by what ends it.
    fn unended(&mut self, text: &str, ends: &[Pattern], out: &mut Vec<Piece>) -> Stepped {
        let end = ends.first().map_or("", Pattern::text).trim();
        let why = format!("a call is not followed by {end}");
        self.broken(text.to_owned(), why, text.len(), out)
    }

    fn broken(
        &mut self,
        unread: String,
        why: String,
        bytes: usize,
        out: &mut Vec<Piece>,
    ) -> Stepped {
        out.push(Piece::Broken { why, unread });
        self.state = State::Broken;
        waits(bytes)
    }

    /// A thought goes on to its end, or to a call where the format says that one ends it.
    fn thought(
        &mut self,
        text: &str,
        mut trying: Trying,
        whole: bool,
        out: &mut Vec<Piece>,
    ) -> Stepped {
        let format = Arc::clone(&self.format);
        let thinking = format.thinking.as_ref();
        let ends = thinking.map(|all| &all.end[..]).unwrap_or_default();
        let calls = thinking.map(|all| &all.calls[..]).unwrap_or_default();
        let mut given = 0;
        for (at, byte) in text.bytes().enumerate() {
            let is_first = |pattern: &Pattern| pattern.first_byte() == Some(byte);
            let mut ended = Match::No;
            if ends.iter().any(is_first) {
                let look = Look {
                    tools: &self.tools,
                    whole,
                    then: &anything,
                };
                ended = first(ends, &text[at..], &look);
            }
            if let Match::Yes((_, end, _)) = ended {
                let token = if self.keeps_thoughts { end } else { 0 };
                self.think(&text[given..at + token], out);
                self.state = State::Text(Trying::default());
                return goes_on(at + end);
            }
            let mut tried = Tried::No;
            if calls.iter().any(|opening| is_first(&opening.pattern)) {
                self.think(&text[given..at], out);
                given = at;
                tried = self.call(calls, &text[at..], &mut trying, whole, out);
            }
            match (tried, ended) {
                (Tried::Yes(bytes), _) => return goes_on(at + bytes),
                (Tried::No, Match::No) => trying = Trying::default(),
                _ => {
                    self.think(&text[given..at], out);
                    self.state = State::Thought(trying);
                    return waits(at);
                }
            }
        }
        self.think(&text[given..], out);
        self.state = State::Thought(Trying::default());
        waits(text.len())
    }

    fn think(&mut self, text: &str, out: &mut Vec<Piece>) {
        if self.keeps_thoughts {
            self.layout.say(text, &mut self.ready);
        } else if !text.is_empty() {
            out.push(Piece::Thought(text.to_owned()));
        }
    }

    fn flush(&mut self, out: &mut Vec<Piece>) {
        if !self.ready.is_empty() {
            out.push(Piece::Text(std::mem::take(&mut self.ready)));
        }
    }
}

/// Whether the block goes on, or ends, where a call lacks its own end: its arguments have told that they are whole.
fn goes_on_without(form: &Form, text: &str, whole: bool) -> Match<()> {
    let nexts = form.nexts.iter().map(|next| &next.pattern);
    let tokens = nexts.chain(&form.ends).filter_map(Pattern::first_literal);
    any_literal(tokens, text.trim_start(), whole)
}

fn ends_early(unread: &str, held: &str, out: &mut Vec<Piece>) {
    let why = "the text ends in the middle of a call".to_owned();
    let unread = unread.to_owned() + held;
    out.push(Piece::Broken { why, unread });
}
