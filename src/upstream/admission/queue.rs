//! Who is served next: requests that come, leave and end in; whose turn it is, and how long the rest will take, out.
//! Pure: the time is given.
//!
//! A higher priority goes before a lower one. Within one priority those who ask take turns, one request each, however
//! many each of them has waiting; each one's own requests keep their order.

use super::pace::Pace;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

/// Who asks, as far as turns are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Asker(pub u64);

/// Whose request it is, and how urgent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Who asks.
    pub asker: Asker,
    /// The higher, the sooner.
    pub priority: i32,
}

/// Those who wait for one server, with what is to be done with each in `T`.
#[derive(Debug)]
pub(super) struct Queue<T> {
    max_in_flight: usize,
    most: usize,
    in_flight: usize,
    length: usize,
    waiting: BTreeMap<Reverse<i32>, Line<T>>,
    /// Of the next one that waits.
    number: u64,
    pace: Pace,
}

/// Those of one priority. Nobody is in it who has nothing waiting.
#[derive(Debug)]
struct Line<T> {
    turns: VecDeque<Asker>,
    requests: HashMap<Asker, VecDeque<(u64, T)>>,
}

/// A place in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticket {
    turn: Turn,
    number: u64,
}

/// What becomes of a request that comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entered {
    /// It is served at once.
    Served,
    /// It waits.
    Waits(Ticket),
    /// There is no room for it to wait.
    Full,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self {
            turns: VecDeque::new(),
            requests: HashMap::new(),
        }
    }
}

impl<T> Queue<T> {
    /// For a server that is sent `max_in_flight` requests at once, while `most` wait.
    pub(super) fn new(max_in_flight: usize, most: usize) -> Self {
        Self {
            max_in_flight,
            most,
            in_flight: 0,
            length: 0,
            waiting: BTreeMap::new(),
            number: 0,
            pace: Pace::default(),
        }
    }

    /// How many wait.
    pub(super) const fn len(&self) -> usize {
        self.length
    }

    /// A request comes. What is to be done with it is asked for only where it waits.
    pub(super) fn enter(
        &mut self,
        turn: Turn,
        now: Duration,
        waiter: impl FnOnce() -> T,
    ) -> Entered {
        if self.in_flight < self.max_in_flight && self.length == 0 {
            self.serve(now);
            return Entered::Served;
        }
        if self.length >= self.most {
            return Entered::Full;
        }
        self.number += 1;
        let number = self.number;
        let line = self.waiting.entry(Reverse(turn.priority)).or_default();
        let requests = line.requests.entry(turn.asker).or_default();
        if requests.is_empty() {
            line.turns.push_back(turn.asker);
        }
        requests.push_back((number, waiter()));
        self.length += 1;
        Entered::Waits(Ticket { turn, number })
    }

    /// Whoever waits goes away; what was to be done with it, where its turn has not come yet.
    pub(super) fn leave(&mut self, ticket: Ticket) -> Option<T> {
        let Turn { asker, priority } = ticket.turn;
        let line = self.waiting.get_mut(&Reverse(priority))?;
        let requests = line.requests.get_mut(&asker)?;
        let at = requests.binary_search_by_key(&ticket.number, |(number, _)| *number);
        let (_, waiter) = requests.remove(at.ok()?)?;
        if requests.is_empty() {
            line.requests.remove(&asker);
            line.turns.retain(|one| *one != asker);
        }
        if line.turns.is_empty() {
            self.waiting.remove(&Reverse(priority));
        }
        self.length -= 1;
        Some(waiter)
    }

    /// A request that was served has ended; whose turn it is.
    pub(super) fn ended(&mut self, now: Duration) -> Option<T> {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.pace.ended(now);
        self.next(now)
    }

    /// Whose turn it is, where there is a place at the server.
    pub(super) fn next(&mut self, now: Duration) -> Option<T> {
        if self.in_flight >= self.max_in_flight {
            return None;
        }
        let mut first = self.waiting.first_entry()?;
        let line = first.get_mut();
        let asker = line.turns.pop_front()?;
        let requests = line.requests.get_mut(&asker)?;
        let (_, waiter) = requests.pop_front()?;
        if requests.is_empty() {
            line.requests.remove(&asker);
        } else {
            line.turns.push_back(asker);
        }
        if line.turns.is_empty() {
            first.remove();
        }
        self.length -= 1;
        self.serve(now);
        Some(waiter)
    }

    fn serve(&mut self, now: Duration) {
        self.in_flight += 1;
        if self.in_flight == self.max_in_flight && self.length == 0 {
            self.pace.begins(now);
        }
    }

    /// From now on it may be sent so many, while so many wait. Who waits already stays; whose turn it is now, is told
    /// by [`Self::next`].
    pub(super) const fn set(&mut self, max_in_flight: usize, most: usize) {
        self.max_in_flight = max_in_flight;
        self.most = most;
    }

    /// In how many seconds all who wait now will have been served.
    pub(super) fn seconds(&self, now: Duration) -> u64 {
        self.pace.seconds(self.length, now)
    }
}
