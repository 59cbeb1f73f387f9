//! Which of several servers is asked: what was measured of each in, one of them out. Time and dice are arguments, so
//! that a simulation runs on this very code.
//!
//! Of the servers that the dice name the one is asked that costs least: how long its replies take to begin, as the
//! peak of a moving average, times the requests that it has, by its weight (Finagle's peak EWMA). All of a small fleet are
//! named: of two alone, the slowest pair of an uneven eight gets more than it can do. What keeps a conversation on one server is rendezvous hashing, bounded by what the others have.

use std::cmp::Ordering;
use std::time::Duration;
use tokio::time::Instant;

/// After so long, a measurement counts a third of what it did.
const DECAY: Duration = Duration::from_secs(10);
/// What a refusal or a broken reply counts as, however quickly it came: one that fails fast would get everything.
pub(super) const PENALTY: Duration = Duration::from_secs(5);
/// For so long a server that is new, or is back, gets less than its share.
const SLOW_START: Duration = Duration::from_secs(10);
/// Of its weight, what it has at the beginning of that.
const FIRST_SHARE: f64 = 0.1;
/// As many servers are weighed against each other.
const WEIGHED: usize = 8;
/// How much more than its share a server may have before a conversation moves on.
const BOUND: f64 = 1.25;

/// What was measured of one server.
#[derive(Debug, Clone, Default)]
pub(super) struct Load {
    /// Seconds until a reply began, and when that was last measured.
    latency: Option<(f64, Instant)>,
    in_flight: u32,
    /// Since when it can be used, where it could not be before.
    back: Option<Instant>,
}

/// A server at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    latency: Option<f64>,
    in_flight: u32,
    weight: f64,
}

impl Load {
    pub(super) const fn begin(&mut self) {
        self.in_flight = self.in_flight.saturating_add(1);
    }

    pub(super) const fn end(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    pub(super) const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// A reply began after so long. What is slower counts at once, what is faster by and by.
    pub(super) fn took(&mut self, latency: Duration, now: Instant) {
        let new = latency.as_secs_f64();
        let next = match self.at(now) {
            Some(known) if new < known => {
                let since = self.latency.map_or(now, |(_, since)| since);
                let kept = decay(now.saturating_duration_since(since));
                // The peak itself has decayed in `known` already.
                new + (known - new) * kept
            }
            _ => new,
        };
        self.latency = Some((next, now));
    }

    /// It can be used again: it begins with little.
    pub(super) const fn came_back(&mut self, now: Instant) {
        self.back = Some(now);
        self.latency = None;
    }

    fn at(&self, now: Instant) -> Option<f64> {
        let (latency, since) = self.latency?;
        // While it has requests, silence is no good news.
        let silence = match self.in_flight {
            0 => now.saturating_duration_since(since),
            _ => Duration::ZERO,
        };
        Some(latency * decay(silence))
    }

    /// With so many more that wait for it.
    pub(super) fn seen(&self, weight: f64, waiting: u32, now: Instant) -> Seen {
        let share = self.back.map_or(1.0, |back| {
            let up = now.saturating_duration_since(back).as_secs_f64() / SLOW_START.as_secs_f64();
            up.clamp(FIRST_SHARE, 1.0)
        });
        Seen {
            latency: self.at(now),
            in_flight: self.in_flight.saturating_add(waiting),
            weight: weight * share,
        }
    }
}

fn decay(time: Duration) -> f64 {
    (-time.as_secs_f64() / DECAY.as_secs_f64()).exp()
}

impl Seen {
    /// The requests that it would have, for its weight.
    fn share(&self) -> f64 {
        (f64::from(self.in_flight) + 1.0) / self.weight
    }

    /// Whether it costs less than another. Where one of them was never measured, what they have decides.
    fn against(&self, other: &Self) -> Ordering {
        let (one, two) = match (self.latency, other.latency) {
            (Some(one), Some(two)) => (one, two),
            _ => (1.0, 1.0),
        };
        (self.share() * one).total_cmp(&(other.share() * two))
    }
}

/// Of the servers the one that is asked; `None` where there is none.
pub(super) fn choose(servers: &[Seen], dice: u64) -> Option<usize> {
    let count = servers.len();
    let first = (dice % count.max(1) as u64) as usize;
    let order = (0..count.min(WEIGHED)).map(|nth| (first + nth) % count);
    order.min_by(
        |one, other| match (servers.get(*one), servers.get(*other)) {
            (Some(one), Some(other)) => one.against(other),
            _ => Ordering::Equal,
        },
    )
}

/// The same for what belongs together: always the same server while that has no more than its share, else the next
/// one that is always the same. `places` tell the servers apart, whichever of them are there.
pub(super) fn keep(servers: &[Seen], places: &[u64], key: u64) -> Option<usize> {
    let all: f64 = servers.iter().map(|one| f64::from(one.in_flight)).sum();
    let weights: f64 = servers.iter().map(|one| one.weight).sum();
    let rank = |(place, one): (&u64, &Seen)| {
        // Weighted rendezvous hashing: -weight / ln(hash).
        let hash = (mix(key ^ mix(*place)) >> 11) as f64 / (1_u64 << 53) as f64;
        -one.weight / hash.max(f64::MIN_POSITIVE).ln()
    };
    let mut ranked: Vec<(f64, usize)> = (places.iter().zip(servers)).map(rank).zip(0..).collect();
    ranked.sort_by(|one, other| other.0.total_cmp(&one.0));
    let has_room = |at: &usize| {
        servers.get(*at).is_some_and(|one| {
            let share = BOUND * (all + 1.0) * one.weight / weights;
            f64::from(one.in_flight) < share.ceil()
        })
    };
    let mut order = ranked.iter().map(|(_, at)| *at);
    order.clone().find(has_room).or_else(|| order.next())
}

/// A number of which each bit depends on each of the other's (SplitMix64).
pub(super) const fn mix(number: u64) -> u64 {
    let mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The same key, wherever and whenever it is made of these bytes (FNV-1a).
pub(super) fn key(bytes: &[u8]) -> u64 {
    let add = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    mix(bytes.iter().fold(0xcbf2_9ce4_8422_2325, add))
}

#[cfg(test)]
#[path = "balance_tests.rs"]
mod tests;
