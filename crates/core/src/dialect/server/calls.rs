//! Pieces of calls as a wire streams them, to call deltas. Repairs what servers get wrong in the
//! framing alone: a name that is repeated, an id or a name that is null or late, one index for
//! two calls (vLLM to 0.19 put the choice's index there; others no id either: vercel/ai#18440, agno-agi/agno#8880), empty
//! arguments before the real ones (Bedrock's: openai/openai-agents-js#712). Calls come out one after another, however
//! the server mixes their pieces: the next one waits until the one before is all there.

use crate::ir::{CallKind, Delta, Ids, NoCall};
use crate::json::Braces;
use crate::json::scan::Scanner;

/// What a call without arguments says; some servers write the empty text, which is no JSON.
const NO_ARGUMENTS: &str = "{}";
/// What some models and servers say in its place.
const NULL: &str = "null";
/// More than this does not wait: whoever checks the calls says what is wrong with them.
const MAX_WAITING_BYTES: usize = 8 << 20;
/// Nor do more calls of one choice; no more of them may be made in any case.
const MAX_WAITING: usize = 128;
/// More calls of one choice are read no further: each piece is looked for among all of them.
const MAX_CALLS: usize = 1024;

/// A piece of a call, as the wire has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::dialect) struct CallPiece {
    /// Which call; wires that leave it out mean the only one.
    pub(in crate::dialect) index: u32,
    /// Set on the first piece; never empty.
    pub(in crate::dialect) id: Option<String>,
    /// Set on the first piece; never empty.
    pub(in crate::dialect) name: Option<String>,
    /// More arguments or input.
    pub(in crate::dialect) text: Option<String>,
    /// Whose call it is; `None` where the piece has no body.
    pub(in crate::dialect) kind: Option<CallKind>,
}

/// The calls of one choice, as they open.
#[derive(Debug, Default)]
pub(in crate::dialect) struct OpenCalls {
    open: Vec<OpenCall>,
    /// How many have started, which have a name.
    started: u32,
}

#[derive(Debug)]
struct OpenCall {
    wire_index: u32,
    /// As the server said it.
    wire_id: Option<String>,
    /// As the client gets it: unique among the choice's calls.
    id: Option<String>,
    name: Option<String>,
    /// Its place among those that have started, once it has.
    call: Option<u32>,
    kind: Option<CallKind>,
    /// All that came of its input.
    said: String,
    /// Input that waits.
    held: String,
    input: Braces,
}

impl OpenCall {
    const fn is_function(&self) -> bool {
        !matches!(self.kind, Some(CallKind::Custom))
    }

    /// Whether it has started and more of it has to come. A custom tool's input may end anywhere.
    const fn is_amid(&self) -> bool {
        self.call.is_some() && self.is_function() && !self.input.is_whole()
    }

    /// Whether all that came of its input are arguments that there are none, which others may follow still.
    fn says_none(&self) -> bool {
        let held = self.held.trim();
        // `null` may come in pieces.
        let says_none = held == NO_ARGUMENTS || !held.is_empty() && NULL.starts_with(held);
        self.is_function() && self.input.is_empty() && says_none
    }

    /// Whether its input is all there, what waits of it included.
    fn is_whole(&self) -> bool {
        let mut input = self.input.clone();
        input.take(&self.held);
        self.is_function() && input.is_whole()
    }

    /// What a piece adds: some servers say again all that came (NousResearch/hermes-agent#35718), or the whole of it at the end
    /// (anomalyco/opencode#17339).
    fn news<'t>(&self, text: &'t str) -> &'t str {
        let begins = self.is_function() && begins_object(&self.said);
        match text.strip_prefix(self.said.as_str()).filter(|_| begins) {
            Some(rest) if !self.may_go_on_with(text) => rest,
            _ => text,
        }
    }

    /// Whether JSON may go on with a text here.
    fn may_go_on_with(&self, text: &str) -> bool {
        let mut scanner = Scanner::new();
        let mut bytes = self.said.bytes().chain(text.bytes());
        bytes.all(|byte| scanner.push(byte).is_ok())
    }

    /// Its start, where it has a name and none yet, and what waits of its input. `is_open` where more may come of it.
    fn tell(&mut self, is_open: bool, started: &mut u32, ids: &mut Ids, out: &mut Vec<Delta>) {
        let Some(name) = &self.name else {
            return;
        };
        let kind = self.kind.unwrap_or(CallKind::Function);
        let call = *self.call.get_or_insert_with(|| {
            let call = *started;
            *started += 1;
            out.push(Delta::CallStart {
                call,
                id: self.id.get_or_insert_with(|| ids.call()).clone(),
                name: name.clone(),
                kind,
            });
            call
        });
        let waits = is_open && self.says_none();
        if !waits && !self.held.is_empty() {
            let mut text = std::mem::take(&mut self.held);
            if self.is_function() && self.input.is_empty() && text.trim() == NULL {
                NO_ARGUMENTS.clone_into(&mut text);
            }
            self.input.take(&text);
            out.push(Delta::CallInput { call, kind, text });
        }
    }
}

impl OpenCalls {
    /// Takes one piece, appends the deltas that it lets go.
    ///
    /// # Errors
    /// The call becomes another one in its middle, or there are too many, waiting for their names or at all.
    pub(in crate::dialect) fn step(
        &mut self,
        piece: CallPiece,
        ids: &mut Ids,
        out: &mut Vec<Delta>,
    ) -> Result<(), NoCall> {
        if self.open.len() >= MAX_CALLS {
            let calls = self.started;
            return Err(NoCall::TooMany { calls });
        }
        let place = self.place(&piece);
        let is_taken = |id: &String| self.open.iter().any(|open| open.id.as_ref() == Some(id));
        let id = piece.id.clone().filter(|id| !is_taken(id));
        let started = self.started;
        let open = &mut self.open[place];
        if open.wire_id.is_none() {
            open.wire_id = piece.id;
            open.id = open.id.take().or(id);
        }
        let changes = NoCall::Changes {
            call: open.call.unwrap_or(started),
        };
        let is_other = |known: &CallKind| piece.kind.is_some_and(|kind| kind != *known);
        if open.kind.as_ref().is_some_and(is_other) {
            return Err(changes);
        }
        open.kind = open.kind.or(piece.kind);
        match (&open.name, piece.name) {
            (Some(known), Some(name)) if *known != name => return Err(changes),
            (None, name) => open.name = name,
            _ => {}
        }
        let text = piece.text.as_deref().unwrap_or_default();
        if open.says_none() && begins_object(text) {
            open.held.clear();
            open.said.clear();
        }
        let text = open.news(text);
        open.said.push_str(text);
        open.held.push_str(text);
        self.go_on(place, ids, out)
    }

    /// The call that a piece with this index was of, where that has started.
    pub(in crate::dialect) fn started(&self, index: u32) -> Option<u32> {
        let known = self.open.iter().rev().find(|open| open.wire_index == index);
        known?.call
    }

    /// Tells what need not wait: of the calls that have started all, of the others one after another. The last piece was of the one at
    /// `place`.
    fn go_on(&mut self, place: usize, ids: &mut Ids, out: &mut Vec<Delta>) -> Result<(), NoCall> {
        let opened = self.open.iter_mut().enumerate();
        for (at, open) in opened.filter(|(_, open)| open.call.is_some()) {
            open.tell(at == place, &mut self.started, ids, out);
        }
        let mut is_amid = self.open.iter().any(OpenCall::is_amid);
        let opened = self.open.iter_mut().enumerate();
        for (at, open) in opened.filter(|(_, open)| open.call.is_none()) {
            if !is_amid {
                open.tell(at == place, &mut self.started, ids, out);
                is_amid = open.is_amid();
            }
        }
        if self.is_too_much() {
            self.cut(ids, out);
        }
        // What waits for a name still.
        match self.is_too_much() {
            true => Err(self.nameless()),
            false => Ok(()),
        }
    }

    fn is_too_much(&self) -> bool {
        let waiting = || self.open.iter().filter(|open| open.call.is_none());
        waiting().count() > MAX_WAITING
            || waiting().map(|open| open.held.len()).sum::<usize>() > MAX_WAITING_BYTES
    }

    const fn nameless(&self) -> NoCall {
        NoCall::Nameless {
            calls: self.started,
        }
    }

    /// Whether none has begun.
    pub(in crate::dialect) fn is_empty(&self) -> bool {
        self.started == 0
    }

    /// The text was cut: what waits is told as far as it came.
    pub(in crate::dialect) fn cut(&mut self, ids: &mut Ids, out: &mut Vec<Delta>) {
        for open in &mut self.open {
            open.tell(false, &mut self.started, ids, out);
        }
    }

    /// Nothing was cut, and no more comes: a function's call without arguments has none.
    ///
    /// # Errors
    /// A call without a name has an id or an input.
    pub(in crate::dialect) fn end(
        &mut self,
        ids: &mut Ids,
        out: &mut Vec<Delta>,
    ) -> Result<(), NoCall> {
        let is_nameless = |open: &OpenCall| {
            open.name.is_none() && (open.wire_id.is_some() || !open.held.is_empty())
        };
        if self.open.iter().any(is_nameless) {
            return Err(self.nameless());
        }
        for open in &mut self.open {
            let has_none = open.input.is_empty() && open.held.is_empty();
            if has_none && open.is_function() {
                open.held.push_str(NO_ARGUMENTS);
            }
        }
        for has_started in [true, false] {
            let these = self.open.iter_mut();
            for open in these.filter(|open| open.call.is_some() == has_started) {
                open.tell(false, &mut self.started, ids, out);
            }
        }
        Ok(())
    }

    fn place(&mut self, piece: &CallPiece) -> usize {
        let with_index = |open: &OpenCall| open.wire_index == piece.index;
        let known = match self.open.iter().rposition(with_index) {
            Some(place) => Some(place).filter(|place| !self.is_next(*place, piece)),
            None => self.of_last(piece),
        };
        known.unwrap_or_else(|| {
            self.open.push(OpenCall {
                wire_index: piece.index,
                wire_id: None,
                id: None,
                name: None,
                call: None,
                kind: piece.kind,
                said: String::new(),
                held: String::new(),
                input: Braces::default(),
            });
            self.open.len() - 1
        })
    }

    /// Whether a piece with the index of a call begins another one: it has another id, or none and arguments of its own where
    /// that one's are all there.
    fn is_next(&self, place: usize, piece: &CallPiece) -> bool {
        let open = &self.open[place];
        let (Some(known), Some(name)) = (&open.name, &piece.name) else {
            return false;
        };
        let begins = || {
            let text = piece.text.as_deref().unwrap_or_default();
            begins_object(text) && open.is_whole()
        };
        match &piece.id {
            Some(id) if open.wire_id.as_ref() == Some(id) => known != name && begins(),
            Some(_) => true,
            // What is said once more is the same; and empty arguments may have been none.
            None => {
                let is_same = known == name && piece.text.as_deref() == Some(open.said.as_str());
                let is_again = is_same && open.wire_id.is_some();
                begins() && !is_again && !(known == name && open.says_none())
            }
        }
    }

    /// The last call, where that had another one's index, and a piece with one of its own goes on with it.
    fn of_last(&self, piece: &CallPiece) -> Option<usize> {
        let (last, before) = self.open.split_last()?;
        let was_anothers = before.iter().any(|open| open.wire_index == last.wire_index);
        let is_its = piece.id.is_none() || piece.id == last.wire_id;
        let is_bare = piece.name.is_none() && last.name.is_some();
        (was_anothers && is_its && is_bare && !last.is_whole()).then_some(before.len())
    }
}

fn begins_object(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::{CallPiece, MAX_CALLS, MAX_WAITING, OpenCalls};
    use crate::ir::{CallKind, Delta, Ids, NoCall};
    use proptest::prelude::*;

    fn piece(index: u32, name: Option<&str>, text: &str) -> CallPiece {
        CallPiece {
            index,
            id: name.map(|_| format!("call_{index}")),
            name: name.map(str::to_owned),
            text: Some(text.to_owned()),
            kind: Some(CallKind::Function),
        }
    }

    /// `name(input)` of each call in the order in which they came out; a call that is come back to is there twice.
    fn told(deltas: &[Delta]) -> Vec<String> {
        let mut told: Vec<(u32, String)> = Vec::new();
        for delta in deltas {
            match delta {
                Delta::CallStart { call, name, .. } => told.push((*call, name.clone() + ":")),
                Delta::CallInput { call, text, .. } => match told.last_mut() {
                    Some((last, said)) if last == call => said.push_str(text),
                    _ => told.push((*call, text.clone())),
                },
                _ => {}
            }
        }
        told.into_iter().map(|(_, said)| said).collect()
    }

    fn all(pieces: Vec<CallPiece>) -> Result<Vec<String>, NoCall> {
        let (mut calls, mut ids, mut out) = (OpenCalls::default(), Ids::new(7), Vec::new());
        for piece in pieces {
            calls.step(piece, &mut ids, &mut out)?;
        }
        calls.end(&mut ids, &mut out)?;
        Ok(told(&out))
    }

    #[test]
    fn a_call_that_is_whole_lets_the_next_begin_at_once() {
        let (mut calls, mut ids, mut out) = (OpenCalls::default(), Ids::new(7), Vec::new());
        calls
            .step(piece(0, Some("f"), r#"{"a":"}"#), &mut ids, &mut out)
            .unwrap();
        calls
            .step(piece(1, Some("g"), "{"), &mut ids, &mut out)
            .unwrap();
        assert_eq!(told(&out), [r#"f:{"a":"}"#]);
        calls
            .step(piece(0, None, r#""}"#), &mut ids, &mut out)
            .unwrap();
        assert_eq!(told(&out), [r#"f:{"a":"}"}"#, "g:{"]);
        calls.step(piece(1, None, "}"), &mut ids, &mut out).unwrap();
        assert_eq!(told(&out), [r#"f:{"a":"}"}"#, "g:{}"]);
    }

    #[test]
    fn calls_without_arguments_have_empty_ones_wherever_they_stand() {
        let pieces = vec![
            piece(0, Some("f"), ""),
            piece(1, Some("g"), "{}"),
            piece(2, Some("h"), ""),
        ];
        assert_eq!(
            all(pieces),
            Ok(["f:{}", "g:{}", "h:{}"].map(str::to_owned).to_vec())
        );
    }

    #[test]
    fn a_call_that_is_never_whole_comes_out_before_the_next_as_it_is() {
        let pieces = vec![piece(0, Some("f"), "{"), piece(1, Some("g"), "{}")];
        assert_eq!(all(pieces), Ok(["f:{", "g:{}"].map(str::to_owned).to_vec()));
    }

    #[test]
    fn calls_with_one_index_and_no_id_are_several() {
        let bare = |index, name: Option<&str>, text: &str| CallPiece {
            id: None,
            ..piece(index, name, text)
        };
        let expected = [r#"f:{"a":1}"#, "g:{}", r#"g:{"b":2}"#];
        let pieces = vec![
            bare(0, Some("f"), r#"{"a""#),
            bare(0, None, ":1}"),
            bare(0, Some("g"), "{}"),
            bare(0, Some("g"), r#"{"b":2}"#),
        ];
        // Empty arguments before others of the same name may be of the same call: the first is all that is known of it.
        let told = all(pieces).unwrap();
        assert_eq!(told, [expected[0], expected[2]].map(str::to_owned));
        let shared = |name: &str, text: &str| CallPiece {
            id: Some("a".to_owned()),
            ..piece(0, Some(name), text)
        };
        let told = all(vec![shared("f", r#"{"a":1}"#), shared("g", "{}")]);
        assert_eq!(told, Ok([expected[0], "g:{}"].map(str::to_owned).to_vec()));
        // A name that each piece repeats is of one call.
        let told = all(vec![
            bare(0, Some("f"), r#"{"a""#),
            bare(0, Some("f"), ":1}"),
            bare(0, Some("f"), ""),
        ]);
        assert_eq!(told, Ok(vec![expected[0].to_owned()]));
    }

    #[test]
    fn arguments_with_an_index_of_their_own_are_the_last_calls() {
        let head = |name: &str, id: &str| CallPiece {
            id: Some(id.to_owned()),
            ..piece(0, Some(name), "")
        };
        for id in [None, Some("b".to_owned())] {
            let input = |text: &str| CallPiece {
                id: id.clone(),
                ..piece(1, None, text)
            };
            let first = CallPiece {
                id: None,
                ..piece(0, None, "{}")
            };
            let pieces = vec![
                head("f", "a"),
                first,
                head("g", "b"),
                input("{\"b\""),
                input(":2}"),
            ];
            assert_eq!(
                all(pieces),
                Ok(["f:{}", "g:{\"b\":2}"].map(str::to_owned).to_vec())
            );
        }
    }

    #[test]
    fn empty_arguments_before_the_real_ones_are_none() {
        let more = |text: &str| piece(0, None, text);
        let pieces = vec![piece(0, Some("f"), "{}"), more("{\"a\""), more(":1}")];
        assert_eq!(all(pieces), Ok(vec!["f:{\"a\":1}".to_owned()]));
        for none in ["", "{}", " {} ", "null"] {
            let told = all(vec![piece(0, Some("f"), none), more("")]).unwrap();
            assert_eq!(told[0].replace(' ', ""), "f:{}", "{none}");
        }
        let (mut calls, mut ids, mut out) = (OpenCalls::default(), Ids::new(7), Vec::new());
        calls
            .step(piece(0, Some("f"), "{}"), &mut ids, &mut out)
            .unwrap();
        calls
            .step(piece(1, Some("g"), "{"), &mut ids, &mut out)
            .unwrap();
        assert_eq!(told(&out), ["f:{}", "g:{"]);
    }

    #[test]
    fn no_more_calls_wait_than_may_be_made() {
        let many = |name| (0..400).map(move |index| piece(index, name, "{")).collect();
        assert_eq!(all(many(None)), Err(NoCall::Nameless { calls: 0 }));
        let (mut calls, mut ids, mut out) = (OpenCalls::default(), Ids::new(7), Vec::new());
        for piece in many(Some("f")) {
            calls.step(piece, &mut ids, &mut out).unwrap();
        }
        assert!(told(&out).len() > 400 - MAX_WAITING - 1);
        let endless = (0..100_000).map(|index| piece(index, Some("f"), "{}"));
        let read = MAX_CALLS as u32;
        assert_eq!(all(endless.collect()), Err(NoCall::TooMany { calls: read }));
    }

    proptest! {
        #[test]
        fn how_a_server_mixes_its_calls_is_all_the_same(turns in prop::collection::vec(0..3_usize, 60)) {
            let names = ["f", "g", "h"];
            let inputs = [r#"{"a": "{\"]"}"#, "{}", r#"{"b": [1, {"c": 2}]}"#];
            let mut at = [0; 3];
            let mut pieces: Vec<CallPiece> =
                (0..3).map(|place| piece(place as u32, Some(names[place]), "")).collect();
            for turn in turns.into_iter().chain((0..3).flat_map(|place| [place; 30])) {
                if let Some(byte) = inputs[turn].get(at[turn]..=at[turn]) {
                    at[turn] += 1;
                    pieces.push(piece(turn as u32, None, byte));
                }
            }
            let expected: Vec<String> =
                names.iter().zip(inputs).map(|(name, input)| format!("{name}:{input}")).collect();
            prop_assert_eq!(all(pieces), Ok(expected));
        }
    }
}
