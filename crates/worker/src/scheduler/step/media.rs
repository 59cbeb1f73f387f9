//! Media: the one that a prompt has come to goes through the model, one a step.
//!
//! It takes a forward pass or many of its own, of the projector and of the model: the others' next
//! tokens wait for it, and for no more than one.

use super::Scheduler;
use crate::kernel::{Kernel, KernelError, Slot};
use crate::media::Media;
use isogloss_core::error::{Error, Kind};
use std::sync::Arc;
use std::time::Instant;

impl Scheduler {
    /// Computes the medium that the oldest answer has come to whose next piece is one. Says
    /// whether there was any.
    pub(super) fn see(&mut self, kernel: &mut dyn Kernel) -> bool {
        let Some((id, slot, media)) = self.next_media() else {
            return false;
        };
        let start = Instant::now();
        let computed = self.compute(kernel, id, slot, &media);
        self.stats.forward_seconds += start.elapsed().as_secs_f64();
        match computed {
            Ok(true) => {
                self.failures = 0;
                self.stats.computed_tokens += u64::from(media.tokens);
            }
            // It lost its slot, and comes back to this.
            Ok(false) => {}
            Err(error) => {
                self.failures += u32::from(error != KernelError::Full);
                tracing::error!(%error, tokens = media.tokens, "an image or audio failed");
                let message = match error {
                    KernelError::Full => super::NO_ROOM,
                    KernelError::Failed(_) => {
                        "computing an image or audio failed; the worker's log says why"
                    }
                };
                self.fail(id, Error::new(Kind::UpstreamFailed, message));
                self.slots.clear(kernel, slot);
            }
        }
        true
    }

    fn next_media(&self) -> Option<(u64, Slot, Arc<Media>)> {
        self.seated().find_map(|(slot, answer)| {
            let media = answer.tokens.media_at(self.slots.len(slot))?;
            Some((answer.id, slot, Arc::clone(media)))
        })
    }

    /// Makes room as for a batch, where the kernels have none.
    fn compute(
        &mut self,
        kernel: &mut dyn Kernel,
        id: u64,
        slot: Slot,
        media: &Arc<Media>,
    ) -> Result<bool, KernelError> {
        loop {
            let Some(answer) = self.index(id).map(|at| &self.answers[at]) else {
                return Ok(false);
            };
            let length = self.slots.len(slot);
            // Its slot was taken from it, or cleared by the failure before.
            if answer.slot != Some(slot) || answer.tokens.media_at(length).is_none() {
                return Ok(false);
            }
            match kernel.media(slot, answer.tokens.position(length), media) {
                Ok(()) => {
                    self.slots.push_media(slot, Arc::clone(media));
                    return Ok(true);
                }
                Err(KernelError::Full) => {}
                Err(error) => return Err(error),
            }
            if !kernel.limits().truncates {
                self.slots.clear(kernel, slot);
            }
            if self.slots.evict(kernel, 0) {
                continue;
            }
            if self.seated().count() < 2 {
                return Err(KernelError::Full);
            }
            let Some((paused, _)) = self.pause_youngest() else {
                return Err(KernelError::Full);
            };
            self.slots.clear(kernel, paused);
        }
    }
}
