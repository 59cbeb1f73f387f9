//! The queue against a plain list of who waits, and whole admissions with a clock.
#![expect(clippy::unwrap_used, reason = "tests")]

use super::queue::{Asker, Entered, Queue, Ticket, Turn};
use proptest::prelude::*;
use std::time::Duration;

const NOW: Duration = Duration::from_secs(1);

fn turn(asker: u64, priority: i32) -> Turn {
    Turn {
        asker: Asker(asker),
        priority,
    }
}

/// What happens to a queue.
#[derive(Debug, Clone)]
enum Step {
    Comes(u64, i32),
    Ends,
    /// The nth of those who wait.
    Leaves(usize),
    Set(usize, usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..4_u64, -1..=1).prop_map(|(asker, priority)| Step::Comes(asker, priority)),
        4 => Just(Step::Ends),
        1 => any::<prop::sample::Index>().prop_map(|nth| Step::Leaves(nth.index(64))),
        1 => (0..4_usize, 0..8_usize).prop_map(|(at_once, most)| Step::Set(at_once, most)),
    ];
    prop::collection::vec(step, 1..200)
}

/// One that waits, as the list has it.
#[derive(Debug, Clone, Copy)]
struct Waits {
    ticket: Ticket,
    turn: Turn,
    id: usize,
}

/// What was done, beside the queue.
struct List {
    queue: Queue<usize>,
    waits: Vec<Waits>,
    in_flight: usize,
    at_once: usize,
}

impl List {
    /// Whoever is served was the longest waiting of its asker, and none of a higher priority waits.
    fn is_right(&mut self, id: usize) {
        let at = self.waits.iter().position(|one| one.id == id).unwrap();
        let Waits { turn, .. } = self.waits.remove(at);
        let of_the_same = |one: &&Waits| one.turn == turn;
        let earlier = self.waits[..at].iter().filter(of_the_same).count();
        assert_eq!(earlier, 0, "an earlier one of the same asker waits");
        let highest = self.waits.iter().map(|one| one.turn.priority).max();
        assert!(highest.is_none_or(|highest| highest <= turn.priority));
        self.in_flight += 1;
    }

    fn serve_all(&mut self) {
        while let Some(id) = self.queue.next(NOW) {
            assert!(self.in_flight < self.at_once);
            self.is_right(id);
        }
    }
}

proptest! {
    #[test]
    fn nothing_is_lost_or_served_twice_and_the_order_holds(steps in steps()) {
        let mut list = List {
            queue: Queue::new(2, 4),
            waits: Vec::new(),
            in_flight: 0,
            at_once: 2,
        };
        let mut most = 4;
        for (id, step) in steps.into_iter().enumerate() {
            match step {
                Step::Comes(asker, priority) => {
                    let turn = turn(asker, priority);
                    match list.queue.enter(turn, NOW, || id) {
                        Entered::Served => {
                            prop_assert!(list.in_flight < list.at_once && list.waits.is_empty());
                            list.in_flight += 1;
                        }
                        Entered::Waits(ticket) => {
                            prop_assert!(list.waits.len() < most);
                            list.waits.push(Waits { ticket, turn, id });
                        }
                        Entered::Full => prop_assert!(list.waits.len() >= most),
                    }
                }
                Step::Ends if list.in_flight == 0 => {}
                Step::Ends => {
                    list.in_flight -= 1;
                    if let Some(id) = list.queue.ended(NOW) {
                        list.is_right(id);
                    }
                    prop_assert!(list.in_flight >= list.at_once || list.waits.is_empty());
                }
                Step::Leaves(nth) => {
                    if !list.waits.is_empty() {
                        let one = list.waits.remove(nth % list.waits.len());
                        prop_assert_eq!(list.queue.leave(one.ticket), Some(one.id));
                        prop_assert_eq!(list.queue.leave(one.ticket), None);
                    }
                }
                Step::Set(at_once, length) => {
                    (list.at_once, most) = (at_once, length);
                    list.queue.set(at_once, length);
                    list.serve_all();
                }
            }
            prop_assert_eq!(list.queue.len(), list.waits.len());
        }
        // Whoever is left is served when there is room.
        list.at_once = usize::MAX;
        list.queue.set(usize::MAX, 0);
        list.serve_all();
        prop_assert!(list.waits.is_empty() && list.queue.len() == 0);
    }

    /// While two have something waiting, neither is served more than once before the other.
    #[test]
    fn those_who_ask_take_turns_however_many_each_has(
        counts in prop::collection::vec(1..40_usize, 2..6),
        seed in any::<u64>(),
    ) {
        let mut queue = Queue::new(1, 1000);
        queue.enter(turn(99, 0), NOW, || 99);
        // In any order.
        let mut coming: Vec<usize> = counts
            .iter()
            .enumerate()
            .flat_map(|(asker, count)| std::iter::repeat_n(asker, *count))
            .collect();
        coming.sort_by_key(|asker| seed.rotate_left(*asker as u32 * 7) ^ *asker as u64);
        for asker in &coming {
            queue.enter(turn(*asker as u64, 0), NOW, || *asker);
        }
        let mut left = counts;
        let mut served = vec![0_usize; left.len()];
        while let Some(asker) = queue.ended(NOW) {
            left[asker] -= 1;
            served[asker] += 1;
            for (other, still) in left.iter().enumerate() {
                prop_assert!(*still == 0 || served[other] + 1 >= served[asker]);
            }
        }
        prop_assert!(left.iter().all(|left| *left == 0));
    }
}

#[test]
fn a_higher_priority_goes_first_whenever_it_came() {
    let mut queue = Queue::new(1, 10);
    assert_eq!(queue.enter(turn(0, 0), NOW, || "first"), Entered::Served);
    for (priority, what) in [(0, "plain"), (-5, "batch"), (7, "urgent"), (0, "plain too")] {
        queue.enter(turn(0, priority), NOW, || what);
    }
    let mut served = Vec::new();
    while let Some(what) = queue.ended(NOW) {
        served.push(what);
    }
    assert_eq!(served, ["urgent", "plain", "plain too", "batch"]);
}
