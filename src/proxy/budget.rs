//! One budget for all bytes that are held in memory on the way: requests, replies that are read as a whole, what
//! streams hold back. Who finds no room waits a little, then is refused.
//!
//! Not a semaphore: one that is fair makes each small request wait behind a large one that does not fit. Here whatever
//! fits goes first, and the last part of the budget is for the small alone, so that large bodies starve nobody but
//! each other.

use crate::config::Limits;
use crate::telemetry::Metrics;
use bytes::Bytes;
use isogloss_core::error::{Error, Kind};
use isogloss_core::exchange::COST;
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// How long one waits for room. Most of what holds it is gone within that time, or not for minutes.
const PATIENCE: Duration = Duration::from_secs(1);
/// Seconds.
const RETRY_AFTER: u64 = 1;
/// What counts as small: nearly every request.
const SMALL_BYTES: usize = 256 << 10;
/// This part of the whole is for the small alone, and for streams that run already.
const SMALL_SHARE: usize = 8;

/// The bytes that may be held, and those that are.
#[derive(Debug)]
pub(super) struct Budget {
    total: usize,
    held: AtomicUsize,
    freed: Notify,
    metrics: Arc<Metrics>,
}

/// Bytes that are held by somebody, until this is dropped.
pub(super) struct Charge {
    budget: Arc<Budget>,
    bytes: usize,
    /// May use all of the budget, whatever its size.
    is_running: bool,
}

/// There is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoRoom;

impl Budget {
    pub(super) fn new(total: usize, metrics: Arc<Metrics>) -> Arc<Self> {
        Arc::new(Self {
            total,
            held: AtomicUsize::new(0),
            freed: Notify::new(),
            metrics,
        })
    }

    /// The most that one body may take.
    pub(super) const fn most(total: usize) -> usize {
        total - total / SMALL_SHARE
    }

    /// Nothing yet.
    pub(super) fn charge(self: &Arc<Self>) -> Charge {
        Charge {
            budget: Arc::clone(self),
            bytes: 0,
            is_running: false,
        }
    }

    /// The same for a stream that has begun: a client has some of it.
    pub(super) fn running(self: &Arc<Self>) -> Charge {
        let mut charge = self.charge();
        charge.is_running = true;
        charge
    }

    fn take(&self, more: usize, may_all: bool) -> bool {
        let most = if may_all {
            self.total
        } else {
            Self::most(self.total)
        };
        let fits = |held: usize| held.checked_add(more).filter(|held| *held <= most);
        let (set, fetch) = (Ordering::AcqRel, Ordering::Acquire);
        let is_taken = self.held.fetch_update(set, fetch, fits).is_ok();
        if is_taken {
            self.metrics.buffered(more);
        }
        is_taken
    }

    fn give_back(&self, bytes: usize) {
        if bytes > 0 {
            self.held.fetch_sub(bytes, Ordering::AcqRel);
            self.metrics.unbuffered(bytes);
            self.freed.notify_waiters();
        }
    }
}

impl Charge {
    /// Takes as much as is missing to so many bytes, where there is room.
    pub(super) fn try_grow_to(&mut self, bytes: usize) -> Result<(), NoRoom> {
        let more = bytes.saturating_sub(self.bytes);
        let may_all = self.is_running || bytes <= SMALL_BYTES;
        if more > 0 && !self.budget.take(more, may_all) {
            return Err(NoRoom);
        }
        self.bytes += more;
        Ok(())
    }

    /// The same, and waits a little for room.
    pub(super) async fn grow_to(&mut self, bytes: usize) -> Result<(), NoRoom> {
        if self.try_grow_to(bytes).is_ok() {
            return Ok(());
        }
        let deadline = Instant::now() + PATIENCE;
        let budget = Arc::clone(&self.budget);
        loop {
            let mut freed = pin!(budget.freed.notified());
            // What is given back from here on is noticed.
            freed.as_mut().enable();
            if self.try_grow_to(bytes).is_ok() {
                return Ok(());
            }
            if timeout_at(deadline, freed).await.is_err() {
                return self.try_grow_to(bytes);
            }
        }
    }

    /// Nothing yet, of the same budget.
    pub(super) fn another(&self) -> Self {
        self.budget.charge()
    }

    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Gives back what is over so many bytes.
    pub(super) fn shrink_to(&mut self, bytes: usize) {
        let less = self.bytes.saturating_sub(bytes);
        self.bytes -= less;
        self.budget.give_back(less);
    }

    /// These bytes, which give the charge back when the last reference to them is dropped.
    pub(super) fn bind(mut self, bytes: Bytes) -> Bytes {
        self.shrink_to(bytes.len());
        if bytes.is_empty() {
            return bytes;
        }
        Bytes::from_owner(Bound {
            bytes,
            _charge: self,
        })
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

impl fmt::Debug for Charge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Charge").field(&self.bytes).finish()
    }
}

struct Bound {
    bytes: Bytes,
    _charge: Charge,
}

impl AsRef<[u8]> for Bound {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Lowers the limits of what would not fit even alone.
pub(super) fn fit(limits: &mut Limits) {
    let most = Budget::most(limits.memory_budget);
    let lower = |limit: &mut usize, name: &str| {
        let fits = most / COST;
        if *limit > fits {
            tracing::warn!(
                limit = name,
                from = *limit,
                to = fits,
                "the limit is lowered: limits.memory_budget has no room for more"
            );
            *limit = fits;
        }
    };
    lower(&mut limits.body_bytes, "limits.body_bytes");
    lower(&mut limits.reply_bytes, "limits.reply_bytes");
}

/// What a client is told whose request, or its reply, finds no room.
pub(super) fn no_room(metrics: &Metrics) -> Error {
    metrics.limit_hit("memory_budget");
    let message = "the proxy holds as many bytes as it may (limits.memory_budget); try again";
    Error::new(Kind::Overloaded, message).retry_after(RETRY_AFTER)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    const TOTAL: usize = 8 << 20;

    fn budget() -> Arc<Budget> {
        Budget::new(TOTAL, Arc::new(Metrics::new([])))
    }

    fn held(budget: &Budget) -> usize {
        budget.held.load(Ordering::SeqCst)
    }

    #[tokio::test(start_paused = true)]
    async fn who_finds_no_room_waits_until_there_is_or_a_second_is_over() {
        let budget = budget();
        let mut first = budget.charge();
        first.grow_to(Budget::most(TOTAL)).await.unwrap();
        let mut second = budget.charge();
        let begun = Instant::now();
        assert_eq!(second.grow_to(1 << 20).await, Err(NoRoom));
        assert_eq!(begun.elapsed(), PATIENCE);
        let (grown, ()) = tokio::join!(second.grow_to(1 << 20), async {
            tokio::time::sleep(PATIENCE / 2).await;
            drop(first);
        });
        grown.unwrap();
        assert_eq!(begun.elapsed(), PATIENCE + PATIENCE / 2);
        assert_eq!(held(&budget), 1 << 20);
    }

    #[tokio::test(start_paused = true)]
    async fn a_small_one_fits_beside_all_the_large_ones() {
        let budget = budget();
        let mut large = budget.charge();
        large.grow_to(Budget::most(TOTAL)).await.unwrap();
        assert_eq!(budget.charge().try_grow_to(SMALL_BYTES + 1), Err(NoRoom));
        let mut waiting = budget.charge();
        let mut small = budget.charge();
        let (refused, fits) = tokio::join!(waiting.grow_to(1 << 20), async {
            tokio::time::sleep(PATIENCE / 2).await;
            small.try_grow_to(SMALL_BYTES)
        });
        assert_eq!((refused, fits), (Err(NoRoom), Ok(())));
    }

    #[test]
    fn what_is_bound_is_given_back_with_the_last_reference() {
        let budget = budget();
        let mut charge = budget.charge();
        charge.try_grow_to(3000).unwrap();
        let bytes = charge.bind(Bytes::from(vec![7; 1000]));
        let slice = bytes.slice(10..20);
        drop(bytes);
        assert_eq!(held(&budget), 1000);
        assert_eq!(slice[..], [7; 10]);
        drop(slice);
        assert_eq!(held(&budget), 0);
    }
}
