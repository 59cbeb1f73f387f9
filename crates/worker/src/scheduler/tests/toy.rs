//! A toy model, its vocabulary, and matchers over fixed texts, for the scheduler's tests.
//!
//! The toy computes logits from a hash of all tokens that a slot holds: a token too many, too few,
//! in the wrong place or of another sequence changes every answer after it.

use crate::backend::{Matcher, Stuck, TokenMask};
use crate::kernel::{Entry, Kernel, KernelError, KernelLimits, Slot};
use crate::media::Media;
use crate::vocabulary::{Encode, Piece, Token, TokenKind, Vocabulary};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(super) const SPACE: Token = 26;
/// The two bytes of `é`, one each.
pub(super) const BROKEN: [Token; 2] = [27, 28];
pub(super) const CONTROL: Token = 29;
pub(super) const UNUSED: Token = 30;
pub(super) const ENDS: [Token; 2] = [31, 32];
pub(super) const SIZE: u32 = 33;

struct Letters;

impl Encode for Letters {
    fn encode(&self, text: &str, _controls: bool) -> Vec<Token> {
        tokens(text)
    }
}

/// A token a letter: `a` to `z`, and space.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' => Token::from(byte - b'a'),
            _ => SPACE,
        })
        .collect()
}

pub(super) fn vocabulary() -> Vocabulary {
    let pieces = (0..SIZE).map(|token| {
        let (bytes, kind) = match token {
            0..26 => (vec![b'a' + u8::try_from(token).unwrap()], TokenKind::Text),
            SPACE => (vec![b' '], TokenKind::Text),
            27 => (vec![0xc3], TokenKind::Text),
            28 => (vec![0xa9], TokenKind::Text),
            UNUSED => (Vec::new(), TokenKind::Unused),
            _ => (b"<|x|>".to_vec(), TokenKind::Control),
        };
        Piece { bytes, kind }
    });
    Vocabulary::new(pieces.collect(), None, ENDS.to_vec(), Box::new(Letters))
}

pub(super) const LIMITS: KernelLimits = KernelLimits {
    cells: 4_096,
    context: 256,
    batch: 64,
    slots: 8,
    truncates: true,
};

/// What goes wrong in a forward pass.
#[derive(Debug, Clone)]
pub(super) enum Fault {
    Error(KernelError),
    Panic,
    NoLogits,
}

/// What the toy was asked for.
#[derive(Debug, Default, Clone)]
pub(super) struct Seen {
    pub(super) passes: Vec<Vec<Entry>>,
    pub(super) shared: Vec<(Slot, Slot, u32)>,
    /// The keys of media, and how many passes were before each.
    pub(super) media: Vec<(u128, usize)>,
}

impl Seen {
    pub(super) fn computed(&self) -> usize {
        self.passes.iter().map(Vec::len).sum()
    }
}

pub(super) struct Toy {
    pub(super) limits: KernelLimits,
    pub(super) can_share: bool,
    /// What the token's logit gains that followed the last two where they stood before.
    pub(super) echo: f32,
    /// By the number of the pass, from 0.
    pub(super) faults: BTreeMap<usize, Fault>,
    /// By the number of the medium, from 0.
    pub(super) blind: BTreeMap<usize, KernelError>,
    pub(super) takes: Duration,
    pub(super) seen: Arc<Mutex<Seen>>,
    /// By position: what is there, and how many tokens of the cache it takes.
    slots: Vec<Vec<(Token, usize)>>,
    logits: Vec<Vec<f32>>,
    pass: usize,
    looks: usize,
}

impl Toy {
    pub(super) fn new(limits: KernelLimits) -> Self {
        Self {
            can_share: limits.truncates,
            echo: 0.0,
            faults: BTreeMap::new(),
            blind: BTreeMap::new(),
            takes: Duration::ZERO,
            seen: Arc::default(),
            slots: vec![Vec::new(); limits.slots as usize],
            logits: Vec::new(),
            pass: 0,
            looks: 0,
            limits,
        }
    }

    pub(super) fn seen(&self) -> Seen {
        self.seen.lock().unwrap().clone()
    }

    pub(super) fn kept(&self) -> usize {
        self.slots.iter().flatten().map(|(_, cells)| cells).sum()
    }
}

fn mix(mut hash: u64, with: u64) -> u64 {
    hash = (hash ^ with).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ (hash >> 29)
}

/// Between -4 and 4; ends come once in some twenty tokens.
fn distribution(sequence: &[(Token, usize)]) -> Vec<f32> {
    let hash = sequence
        .iter()
        .fold(7, |hash, (token, _)| mix(hash, u64::from(*token) + 1));
    let one = |token: Token| {
        let bits = mix(mix(hash, u64::from(token) << 32), 3) >> 40;
        f32::from(u16::try_from(bits & 0xffff).unwrap()) / 8_192.0 - 4.0
    };
    (0..SIZE).map(one).collect()
}

/// What followed the last two tokens where they stood last before.
fn echoed(sequence: &[(Token, usize)]) -> Option<Token> {
    let (end, last) = (sequence.len(), sequence.last_chunk::<2>()?);
    let mut before = (2..end).rev().map(|at| (&sequence[at - 2..at], at));
    let (_, at) = before.find(|(two, _)| two == last)?;
    Some(sequence[at].0).filter(|token| *token < SIZE)
}

impl Kernel for Toy {
    fn limits(&self) -> KernelLimits {
        self.limits
    }

    fn forward(&mut self, entries: &[Entry]) -> Result<(), KernelError> {
        let pass = self.pass;
        self.pass += 1;
        std::thread::sleep(self.takes);
        assert!(!entries.is_empty() && entries.len() <= self.limits.batch as usize);
        match self.faults.get(&pass) {
            Some(Fault::Error(error)) => return Err(error.clone()),
            Some(Fault::Panic) => panic!("the toy fails"),
            Some(Fault::NoLogits) | None => {}
        }
        if self.kept() + entries.len() > self.limits.cells as usize {
            return Err(KernelError::Full);
        }
        self.logits.clear();
        for entry in entries {
            let sequence = &mut self.slots[entry.slot as usize];
            assert_eq!(entry.position as usize, sequence.len(), "a gap");
            assert!(entry.position < self.limits.context);
            sequence.push((entry.token, 1));
            let logits = match (entry.logits, self.faults.get(&pass)) {
                (false, _) => Vec::new(),
                (true, Some(_)) => vec![f32::NAN; SIZE as usize],
                (true, None) => {
                    let mut logits = distribution(sequence);
                    if let Some(token) = echoed(sequence) {
                        logits[token as usize] += self.echo;
                    }
                    logits
                }
            };
            self.logits.push(logits);
        }
        self.seen.lock().unwrap().passes.push(entries.to_vec());
        Ok(())
    }

    fn media(&mut self, slot: Slot, position: u32, media: &Media) -> Result<(), KernelError> {
        let look = self.looks;
        self.looks += 1;
        if let Some(error) = self.blind.get(&look) {
            return Err(error.clone());
        }
        if self.kept() + media.tokens as usize > self.limits.cells as usize {
            return Err(KernelError::Full);
        }
        let sequence = &mut self.slots[slot as usize];
        assert_eq!(position as usize, sequence.len(), "a gap");
        let first = (media.tokens - media.positions + 1) as usize;
        for at in 0..media.positions {
            let token = u32::try_from(media.key).unwrap() * 1_000 + at;
            sequence.push((token, if at == 0 { first } else { 1 }));
        }
        let mut seen = self.seen.lock().unwrap();
        let passes = seen.passes.len();
        seen.media.push((media.key, passes));
        Ok(())
    }

    fn logits(&self, index: usize) -> &[f32] {
        assert!(!self.logits[index].is_empty(), "logits were not asked for");
        &self.logits[index]
    }

    fn truncate(&mut self, slot: Slot, from: u32) -> bool {
        let sequence = &mut self.slots[slot as usize];
        if from > 0 && !self.limits.truncates && (from as usize) < sequence.len() {
            return false;
        }
        sequence.truncate(from as usize);
        true
    }

    fn share(&mut self, from: Slot, to: Slot, length: u32) -> bool {
        if !self.can_share {
            return false;
        }
        assert!(self.slots[to as usize].is_empty());
        self.slots[to as usize] = self.slots[from as usize][..length as usize].to_vec();
        self.seen.lock().unwrap().shared.push((from, to, length));
        true
    }
}

/// What a matcher does in place of its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    PanicsInMask,
    PanicsInConsume,
    SpendsItsBudget,
    Refuses,
    HasDeadEnd,
    SleepsInMask(Duration),
    SleepsInForced(Duration),
}

/// A fixed text with choices: `a`–`z` and space stand for themselves, `?` for any letter. A text
/// with `$` at its end is over there; others end with the model's end token.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    allowed: Vec<Vec<Token>>,
    at: usize,
    ends_by_itself: bool,
    has_ended: bool,
    forces: bool,
    can_fork: bool,
    trouble: Option<(usize, Trouble)>,
}

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        let body = text.strip_suffix('$').unwrap_or(text);
        let allowed = body.chars().map(|letter| match letter {
            '?' => (0..26).collect(),
            letter => tokens(&letter.to_string()),
        });
        Self {
            allowed: allowed.collect(),
            at: 0,
            ends_by_itself: text.ends_with('$'),
            has_ended: false,
            forces: true,
            can_fork: false,
            trouble: None,
        }
    }

    pub(super) fn unforced(mut self) -> Self {
        self.forces = false;
        self
    }

    /// One that can be copied, so that its end is known ahead.
    pub(super) fn forking(mut self) -> Self {
        self.can_fork = true;
        self
    }

    pub(super) fn with(mut self, at: usize, trouble: Trouble) -> Self {
        self.trouble = Some((at, trouble));
        self
    }

    fn trouble(&self) -> Option<Trouble> {
        let (_, trouble) = self.trouble.filter(|(at, _)| *at == self.at)?;
        Some(trouble)
    }
}

impl Matcher for Pattern {
    fn mask(&mut self) -> Result<TokenMask, Stuck> {
        let mut mask = TokenMask::alloc(SIZE as usize);
        match self.trouble() {
            Some(Trouble::PanicsInMask) => panic!("the matcher fails"),
            Some(Trouble::SpendsItsBudget) => return Err(Stuck::Budget),
            Some(Trouble::HasDeadEnd) => return Ok(mask),
            Some(Trouble::SleepsInMask(time)) => std::thread::sleep(time),
            _ => {}
        }
        let ends = ENDS.to_vec();
        for token in self.allowed.get(self.at).unwrap_or(&ends) {
            mask.allow_token(*token);
        }
        Ok(mask)
    }

    fn consume(&mut self, token: Token) -> Result<(), Stuck> {
        match self.trouble() {
            Some(Trouble::PanicsInConsume) => panic!("the matcher fails"),
            Some(Trouble::Refuses) => return Err(Stuck::Refused),
            _ => {}
        }
        match self.allowed.get(self.at) {
            Some(allowed) if allowed.contains(&token) => self.at += 1,
            None if ENDS.contains(&token) && !self.has_ended => self.has_ended = true,
            _ => return Err(Stuck::Refused),
        }
        Ok(())
    }

    fn forced(&mut self) -> Vec<Token> {
        if let Some(Trouble::SleepsInForced(time)) = self.trouble() {
            std::thread::sleep(time);
        }
        let rest = self.allowed[self.at..].iter();
        rest.take_while(|allowed| self.forces && allowed.len() == 1)
            .map(|allowed| allowed[0])
            .collect()
    }

    fn is_accepting(&mut self) -> bool {
        self.at == self.allowed.len()
    }

    fn is_finished(&self) -> bool {
        self.has_ended || self.ends_by_itself && self.at == self.allowed.len()
    }

    fn fork(&self) -> Option<Box<dyn Matcher>> {
        self.can_fork.then(|| Box::new(self.clone()) as _)
    }
}
