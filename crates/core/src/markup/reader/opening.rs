//! The beginning of a call: heads and envelopes that are tried at one place of the text, in the
//! order of the file.

use super::{Block, Reader, State, Tried, Trying};
use crate::ir::CallKind;
use crate::markup::Piece;
use crate::markup::arguments::{self, Arguments};
use crate::markup::envelope::{Envelope, Read};
use crate::markup::format::{At, Form, Opening, Shape};
use crate::markup::pattern::{Holes, Look, Match, blanks};
use std::sync::Arc;

impl Reader {
    /// The first of these beginnings that opens a call.
    pub(super) fn call(
        &mut self,
        openings: &[Opening],
        text: &str,
        trying: &mut Trying,
        whole: bool,
        out: &mut Vec<Piece>,
    ) -> Tried {
        let format = Arc::clone(&self.format);
        while let Some(opening) = openings.get(trying.next) {
            let form = &format.forms[opening.form];
            let tried = match trying.trial.take() {
                Some((envelope, at)) => self.trial(text, envelope, at, opening, trying, out),
                None if !self.is_place(form.at) => Tried::No,
                None if form.shape == Shape::Envelope => {
                    self.begin_trial(text, opening, form, trying, whole, out)
                }
                None => self.head(text, opening, form, whole, out),
            };
            match tried {
                // The text has ended: an envelope that is not whole by now is none.
                Tried::More if whole && trying.trial.is_some() => trying.trial = None,
                Tried::No => {}
                found => return found,
            }
            trying.next += 1;
        }
        Tried::No
    }

    fn is_place(&self, at: At) -> bool {
        let is_between = !matches!(self.state, State::Text(_) | State::Broken);
        match at {
            At::Anywhere => true,
            At::Line => is_between || self.layout.is_at_line(),
            At::Start => is_between || self.layout.is_at_start(),
        }
    }

    fn begin_trial(
        &mut self,
        text: &str,
        opening: &Opening,
        form: &Form,
        trying: &mut Trying,
        whole: bool,
        out: &mut Vec<Piece>,
    ) -> Tried {
        let then =
            |rest: &str, _: &Holes<'_>| arguments::begin(form, rest, whole, CallKind::Function);
        let look = Look {
            tools: &self.tools,
            whole,
            then: &then,
        };
        match opening.pattern.find(text, &look) {
            Match::No => Tried::No,
            Match::More => Tried::More,
            Match::Yes((end, _)) => {
                let at = end + blanks(&text[end..]).unwrap_or(0);
                let envelope = Box::new(Envelope::new(form.keys.clone(), opening.is_bare));
                self.trial(text, envelope, at, opening, trying, out)
            }
        }
    }

    /// An envelope that may be a call takes more of the text.
    fn trial(
        &mut self,
        text: &str,
        mut envelope: Box<Envelope>,
        at: usize,
        opening: &Opening,
        trying: &mut Trying,
        out: &mut Vec<Piece>,
    ) -> Tried {
        self.flush(out);
        let rest = &text[at..];
        let read = envelope.push(rest, &self.tools, out);
        if !envelope.is_certain() {
            return match read {
                Read::More => {
                    trying.trial = Some((envelope, text.len()));
                    Tried::More
                }
                Read::Done(_) | Read::Broken(..) => Tried::No,
            };
        }
        self.layout.called();
        let block = Block {
            form: opening.form,
            begin: opening.begin,
        };
        let step = self.enveloped(rest, read, envelope, block, out);
        Tried::Yes(at + step.bytes)
    }

    /// A head with a tool's name, behind which its arguments begin.
    fn head(
        &mut self,
        text: &str,
        opening: &Opening,
        form: &Form,
        whole: bool,
        out: &mut Vec<Piece>,
    ) -> Tried {
        let tools = Arc::clone(&self.tools);
        let then = |rest: &str, holes: &Holes<'_>| {
            let kind = tools.kind(holes.name.unwrap_or_default());
            arguments::begin(form, rest, whole, kind)
        };
        let look = Look {
            tools: &tools,
            whole,
            then: &then,
        };
        let (end, holes) = match opening.pattern.find(text, &look) {
            Match::No => return Tried::No,
            Match::More => return Tried::More,
            Match::Yes(found) => found,
        };
        let name = holes.name.unwrap_or_default().to_owned();
        let id = match &form.id {
            Some(id) => id.fill(&holes),
            None => holes.id.map(str::to_owned),
        };
        self.flush(out);
        self.layout.called();
        let block = Block {
            form: opening.form,
            begin: opening.begin,
        };
        let arguments = Box::new(Arguments::new(form, &tools, &name));
        out.push(Piece::Call { id, name });
        self.state = State::Arguments(arguments, block);
        Tried::Yes(end)
    }
}
