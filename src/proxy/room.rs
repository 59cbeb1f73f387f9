//! Room for so many of something at once. How many that is can change while some are there: who is over a lowered
//! number stays, and nobody else comes in until there are fewer.
//!
//! Not a semaphore: one of tokio's can be given more places at any time, but fewer only as they become free.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Notify;

/// The room.
#[derive(Debug)]
pub(super) struct Room {
    most: AtomicUsize,
    taken: AtomicUsize,
    changed: Notify,
}

/// A place in it, until this is dropped.
#[derive(Debug)]
pub(super) struct Place(Arc<Room>);

impl Room {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most: AtomicUsize::new(most),
            taken: AtomicUsize::new(0),
            changed: Notify::new(),
        })
    }

    /// From now on there is room for so many.
    pub(super) fn set(&self, most: usize) {
        self.most.store(most, Ordering::Release);
        self.changed.notify_waiters();
    }

    pub(super) fn is_full(&self) -> bool {
        self.taken.load(Ordering::Acquire) >= self.most.load(Ordering::Acquire)
    }

    /// A place, where there is one.
    pub(super) fn try_take(self: &Arc<Self>) -> Option<Place> {
        let most = self.most.load(Ordering::Acquire);
        let one_more = |taken: usize| (taken < most).then(|| taken + 1);
        let (set, fetch) = (Ordering::AcqRel, Ordering::Acquire);
        let taken = self.taken.fetch_update(set, fetch, one_more);
        taken.is_ok().then(|| Place(Arc::clone(self)))
    }

    /// A place, as soon as there is one.
    pub(super) async fn take(self: &Arc<Self>) -> Place {
        self.until(|| self.try_take()).await
    }

    /// Ends when all places are free.
    pub(super) async fn empty(&self) {
        let is_empty = || (self.taken.load(Ordering::Acquire) == 0).then_some(());
        self.until(is_empty).await;
    }

    async fn until<T>(&self, there: impl Fn() -> Option<T>) -> T {
        loop {
            let mut changed = pin!(self.changed.notified());
            // What changes from here on is noticed.
            changed.as_mut().enable();
            if let Some(found) = there() {
                return found;
            }
            changed.await;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::AcqRel);
        self.0.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::timeout;

    #[tokio::test(start_paused = true)]
    async fn who_waits_gets_the_place_that_another_leaves() {
        let room = Room::new(1);
        let first = room.take().await;
        assert!(room.is_full() && room.try_take().is_none());
        let wait = Duration::from_secs(60);
        assert!(timeout(wait, room.take()).await.is_err());
        let (second, ()) = tokio::join!(room.take(), async {
            tokio::task::yield_now().await;
            drop(first);
        });
        assert!(room.is_full());
        drop(second);
        room.empty().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_room_that_shrinks_drives_nobody_out_and_one_that_grows_lets_in_who_waits() {
        let room = Room::new(2);
        let (first, second) = (room.take().await, room.take().await);
        room.set(1);
        drop(first);
        assert!(room.is_full(), "one is left, and there is room for one");
        let (third, ()) = tokio::join!(room.take(), async {
            tokio::task::yield_now().await;
            room.set(2);
        });
        let wait = Duration::from_secs(60);
        assert!(timeout(wait, room.empty()).await.is_err());
        drop((second, third));
        room.empty().await;
    }
}
