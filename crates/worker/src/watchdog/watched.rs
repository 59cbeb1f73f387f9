//! Kernels and a projector in; the same ones out, which note each call of theirs.

use super::Watchdog;
use crate::kernel::{Entry, Kernel, KernelError, KernelLimits, Setup, Slot};
use crate::media::{Media, Modalities, Projector, Refusal, Room, audio, image};
use std::fmt;
use std::sync::Arc;

/// What a medium may take as long for as for a pass: so many of its tokens.
const TOKENS_A_PASS: u32 = 512;

struct WatchedSetup {
    inner: Box<dyn Setup>,
    watchdog: Arc<Watchdog>,
}

struct WatchedKernel<'k> {
    inner: &'k mut dyn Kernel,
    watchdog: &'k Watchdog,
}

struct WatchedProjector {
    inner: Arc<dyn Projector>,
    watchdog: Arc<Watchdog>,
}

/// The kernels, whose calls are noted. Setting them up and taking them down is not: large models take their time.
#[must_use]
pub fn watched(inner: Box<dyn Setup>, watchdog: &Arc<Watchdog>) -> Box<dyn Setup> {
    let watchdog = Arc::clone(watchdog);
    Box::new(WatchedSetup { inner, watchdog })
}

/// The projector, whose calls are noted.
#[must_use]
pub fn watched_projector(
    inner: Arc<dyn Projector>,
    watchdog: &Arc<Watchdog>,
) -> Arc<dyn Projector> {
    let watchdog = Arc::clone(watchdog);
    Arc::new(WatchedProjector { inner, watchdog })
}

impl Setup for WatchedSetup {
    fn run(self: Box<Self>, run: &mut dyn FnMut(&mut dyn Kernel)) -> Result<(), KernelError> {
        let Self { inner, watchdog } = *self;
        inner.run(&mut |inner| {
            run(&mut WatchedKernel {
                inner,
                watchdog: &watchdog,
            });
        })
    }
}

impl Kernel for WatchedKernel<'_> {
    fn limits(&self) -> KernelLimits {
        self.inner.limits()
    }

    fn forward(&mut self, entries: &[Entry]) -> Result<(), KernelError> {
        let _running = self.watchdog.call("a forward pass", 1);
        self.inner.forward(entries)
    }

    fn media(&mut self, slot: Slot, position: u32, media: &Media) -> Result<(), KernelError> {
        let times = media.tokens.div_ceil(TOKENS_A_PASS);
        let _running = self.watchdog.call("an image or audio", times);
        self.inner.media(slot, position, media)
    }

    fn logits(&self, index: usize) -> &[f32] {
        // A GPU is waited for here, where a pass was only begun.
        let _running = self.watchdog.call("a forward pass", 1);
        self.inner.logits(index)
    }

    fn truncate(&mut self, slot: Slot, from: u32) -> bool {
        let _running = self.watchdog.call("a change of the KV cache", 1);
        self.inner.truncate(slot, from)
    }

    fn share(&mut self, from: Slot, to: Slot, length: u32) -> bool {
        let _running = self.watchdog.call("a change of the KV cache", 1);
        self.inner.share(from, to, length)
    }
}

impl fmt::Debug for WatchedProjector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl Projector for WatchedProjector {
    fn modalities(&self) -> Modalities {
        self.inner.modalities()
    }

    fn image(&self, picture: image::Picture, room: &Room) -> Result<Media, Refusal> {
        let _running = self.watchdog.call("reading an image", 1);
        self.inner.image(picture, room)
    }

    fn audio(&self, clip: audio::Clip, room: &Room) -> Result<Media, Refusal> {
        let _running = self.watchdog.call("reading audio", 1);
        self.inner.audio(clip, room)
    }
}
