//! The slots: tokens of a prompt come in; the slot that keeps the longest beginning of them goes
//! out, and how much of it need not be computed again.
//!
//! A slot keeps what was computed in it after its answer is over, until somebody needs the slot or
//! its room. The one not used for longest goes first.

use crate::kernel::{Kernel, KernelLimits, Slot};
use crate::media::{Media, Sequence};
use crate::vocabulary::Token;
use std::sync::Arc;

/// Tokens that a prompt must share with one that is being computed for it to wait for those: fewer
/// are computed twice in less time than a forward pass takes.
const WORTH_WAITING: u32 = 32;

#[derive(Debug)]
pub(super) struct Slots {
    limits: KernelLimits,
    slots: Vec<Kept>,
    /// Goes up with every use.
    clock: u64,
    /// The kernels share beginnings between slots, as far as is known.
    shares: bool,
}

#[derive(Debug, Default)]
struct Kept {
    /// What the kernels hold for it.
    tokens: Sequence,
    is_taken: bool,
    used: u64,
}

impl Slots {
    pub(super) fn new(limits: KernelLimits) -> Self {
        Self {
            limits,
            slots: (0..limits.slots).map(|_| Kept::default()).collect(),
            clock: 0,
            shares: limits.truncates,
        }
    }

    pub(super) fn has_free(&self) -> bool {
        self.slots.iter().any(|slot| !slot.is_taken)
    }

    /// How many tokens the kernels hold for it.
    pub(super) fn len(&self, slot: Slot) -> u32 {
        self.slots
            .get(slot as usize)
            .map_or(0, |kept| kept.tokens.len())
    }

    pub(super) fn count(&self) -> usize {
        self.slots.len()
    }

    /// Tokens of all slots, counting those twice that two slots share.
    pub(super) fn kept(&self) -> u64 {
        self.slots
            .iter()
            .map(|kept| u64::from(kept.tokens.len()))
            .sum()
    }

    /// The kernels have computed one more token.
    pub(super) fn push(&mut self, slot: Slot, token: Token) {
        if let Some(kept) = self.slots.get_mut(slot as usize) {
            kept.tokens.push(token);
        }
    }

    /// The kernels have computed one more medium.
    pub(super) fn push_media(&mut self, slot: Slot, media: Arc<Media>) {
        if let Some(kept) = self.slots.get_mut(slot as usize) {
            kept.tokens.push_media(media);
        }
    }

    /// Its answer is over; what was computed stays.
    pub(super) fn release(&mut self, slot: Slot) {
        self.clock += 1;
        if let Some(kept) = self.slots.get_mut(slot as usize) {
            kept.is_taken = false;
            kept.used = self.clock;
        }
    }

    /// Forgets what is not the beginning of these tokens. Says whether nothing else was forgotten.
    pub(super) fn keep(&mut self, kernel: &mut dyn Kernel, slot: Slot, tokens: &Sequence) -> bool {
        let at = slot as usize;
        let Some(kept) = self.slots.get(at) else {
            return true;
        };
        let common = kept.tokens.common(tokens);
        self.cut(kernel, at, common);
        self.len(slot) == common
    }

    /// Forgets what was computed.
    pub(super) fn clear(&mut self, kernel: &mut dyn Kernel, slot: Slot) {
        self.cut(kernel, slot as usize, 0);
    }

    /// Forgets what slots keep that no answer holds: until it is at most `most` tokens, those
    /// first that were not used for longest. Says whether there was any to forget.
    pub(super) fn evict(&mut self, kernel: &mut dyn Kernel, most: u64) -> bool {
        let mut has_evicted = false;
        loop {
            let idle = |kept: &&Kept| !kept.is_taken;
            let tokens: u64 = self
                .slots
                .iter()
                .filter(idle)
                .map(|kept| u64::from(kept.tokens.len()))
                .sum();
            let oldest = (0..self.slots.len())
                .filter(|&at| !self.slots[at].is_taken && !self.slots[at].tokens.is_empty())
                .min_by_key(|&at| self.slots[at].used);
            match oldest {
                Some(oldest) if tokens > most => self.cut(kernel, oldest, 0),
                _ => return has_evicted,
            }
            has_evicted = true;
        }
    }

    /// Takes a free slot for these tokens: which, and how many of them it holds already. The last
    /// token is never among those: its logits are wanted.
    pub(super) fn take(
        &mut self,
        kernel: &mut dyn Kernel,
        tokens: &Sequence,
    ) -> Option<(Slot, u32)> {
        let (at, cached) = self.place(kernel, tokens)?;
        self.clock += 1;
        let kept = &mut self.slots[at];
        kept.is_taken = true;
        kept.used = self.clock;
        Some((Slot::try_from(at).ok()?, cached))
    }

    fn place(&mut self, kernel: &mut dyn Kernel, tokens: &Sequence) -> Option<(usize, u32)> {
        let best = self.best(tokens, |_| true)?;
        let usable = self.usable(best, tokens);
        // A slot that goes on with something else keeps it, where another slot can be filled
        // from it: one that holds a long conversation does not lose it to a short prompt that
        // only begins alike.
        let goes_on = u64::from(usable) * 2 < u64::from(self.slots[best].tokens.len());
        if usable > 0 && self.shares && (self.slots[best].is_taken || goes_on) {
            let other = self.oldest_free(|at| at != best);
            if let Some(other) = other {
                self.cut(kernel, other, 0);
                let position = tokens.position(usable);
                self.shares = kernel.share(slot_of(best), slot_of(other), position);
                if self.shares {
                    let mut shared = self.slots[best].tokens.clone();
                    shared.truncate(usable);
                    self.slots[other].tokens = shared;
                    return Some((other, usable));
                }
            }
        }
        let free = self.best(tokens, |kept| !kept.is_taken)?;
        let usable = self.usable(free, tokens);
        if usable == 0 {
            let oldest = self.oldest_free(|_| true)?;
            self.cut(kernel, oldest, 0);
            return Some((oldest, 0));
        }
        self.cut(kernel, free, usable);
        Some((free, self.len(slot_of(free))))
    }

    /// Whether it is worth waiting until `others`, which are being computed in slots now, have
    /// come far enough to share a beginning with these tokens.
    pub(super) fn is_worth_waiting<'a>(
        &self,
        tokens: &Sequence,
        others: impl Iterator<Item = (Slot, &'a Sequence)>,
    ) -> bool {
        if !self.shares {
            return false;
        }
        let now = (0..self.slots.len())
            .map(|at| self.usable(at, tokens))
            .max()
            .unwrap_or(0);
        others.into_iter().any(|(slot, other)| {
            let then = tokens.floor(other.common(tokens).min(tokens.len().saturating_sub(1)));
            then > self.len(slot) && then >= now.saturating_add(WORTH_WAITING)
        })
    }

    /// The slot that holds the longest usable beginning; of two, a free one, then the one used
    /// last.
    fn best(&self, tokens: &Sequence, passes: impl Fn(&Kept) -> bool) -> Option<usize> {
        (0..self.slots.len())
            .filter(|&at| passes(&self.slots[at]))
            .max_by_key(|&at| {
                let kept = &self.slots[at];
                (self.usable(at, tokens), !kept.is_taken, kept.used)
            })
    }

    fn oldest_free(&self, passes: impl Fn(usize) -> bool) -> Option<usize> {
        (0..self.slots.len())
            .filter(|&at| !self.slots[at].is_taken && passes(at))
            .min_by_key(|&at| (!self.slots[at].tokens.is_empty(), self.slots[at].used))
    }

    fn usable(&self, at: usize, tokens: &Sequence) -> u32 {
        let kept = &self.slots[at].tokens;
        let most = tokens.len().saturating_sub(1);
        let usable = tokens.floor(kept.common(tokens).min(most));
        // One state stands for the whole of a sequence: there is no going back in it.
        let is_whole = usable == kept.len();
        if self.limits.truncates || is_whole {
            usable
        } else {
            0
        }
    }

    /// Keeps the first tokens alone, or none where the kernels cannot.
    fn cut(&mut self, kernel: &mut dyn Kernel, at: usize, keep: u32) {
        let kept = &mut self.slots[at].tokens;
        if kept.len() <= keep {
            return;
        }
        if keep > 0 && kernel.truncate(slot_of(at), kept.position(keep)) {
            kept.truncate(keep);
        } else {
            kernel.truncate(slot_of(at), 0);
            *kept = Sequence::default();
        }
    }
}

/// The kernels count slots in 32 bits, so there are no more than that.
fn slot_of(at: usize) -> Slot {
    Slot::try_from(at).unwrap_or(Slot::MAX)
}
