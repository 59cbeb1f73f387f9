//! Who may go on with which model: requests and their ends come in, what to do next goes out.

use std::collections::VecDeque;

/// The turns of requests, each waiting with an answer of type `A`.
#[derive(Debug)]
pub(super) struct Turns<A> {
    current: Option<usize>,
    is_loading: bool,
    /// Requests at work with the current model.
    at_work: usize,
    waiting: VecDeque<Waiting<A>>,
}

#[derive(Debug)]
struct Waiting<A> {
    model: usize,
    /// Was there when its model was loaded: goes on before those in front that want another.
    is_called: bool,
    answer: A,
}

/// What to do next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<A> {
    /// Nothing, until something happens.
    Wait,
    /// Hand the current model out; ask again.
    Admit(A),
    /// Load this model in place of the current one, which stays until it is told to be gone, and say how that ended.
    Load(usize),
}

impl<A> Default for Turns<A> {
    fn default() -> Self {
        Self {
            current: None,
            is_loading: false,
            at_work: 0,
            waiting: VecDeque::new(),
        }
    }
}

impl<A> Turns<A> {
    /// A request wants a model.
    pub(super) fn ask(&mut self, model: usize, answer: A) {
        self.waiting.push_back(Waiting {
            model,
            is_called: false,
            answer,
        });
    }

    /// How many wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Forgets those who wait no more.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&A) -> bool) {
        self.waiting.retain(|waiting| keep(&waiting.answer));
    }

    pub(super) fn next(&mut self) -> Next<A> {
        if self.is_loading {
            return Next::Wait;
        }
        let called = self.waiting.iter().position(|waiting| waiting.is_called);
        let place = called.unwrap_or(0);
        let Some(model) = self.waiting.get(place).map(|waiting| waiting.model) else {
            return Next::Wait;
        };
        if self.current == Some(model) {
            self.at_work += 1;
            match self.waiting.remove(place) {
                Some(waiting) => Next::Admit(waiting.answer),
                None => Next::Wait,
            }
        } else if self.at_work == 0 {
            self.is_loading = true;
            Next::Load(model)
        } else {
            Next::Wait
        }
    }

    /// A request that was admitted is over.
    pub(super) fn leave(&mut self) {
        self.at_work = self.at_work.saturating_sub(1);
    }

    /// The current model made room for the next.
    pub(super) fn gone(&mut self) {
        self.current = None;
    }

    /// The model is there.
    pub(super) fn loaded(&mut self, model: usize) {
        self.is_loading = false;
        self.current = Some(model);
        for waiting in &mut self.waiting {
            waiting.is_called = waiting.model == model;
        }
    }

    /// The model cannot be loaded: those who wait for it. The current one stays current, unless it is gone.
    pub(super) fn failed(&mut self, model: usize) -> Vec<A> {
        self.is_loading = false;
        let (refused, waiting) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition::<VecDeque<_>, _>(|waiting| waiting.model == model);
        self.waiting = waiting;
        refused.into_iter().map(|waiting| waiting.answer).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns that this order of requests asked for; an answer is its place.
    fn asked(models: &[usize]) -> Turns<usize> {
        let mut turns = Turns::default();
        for (place, model) in models.iter().enumerate() {
            turns.ask(*model, place);
        }
        turns
    }

    #[test]
    fn a_model_is_loaded_once_for_all_that_wait_for_it() {
        let mut turns = asked(&[0, 0, 0]);
        assert_eq!(turns.next(), Next::Load(0));
        assert_eq!(turns.next(), Next::Wait);
        turns.loaded(0);
        let admitted: Vec<_> = (0..4).map(|_| turns.next()).collect();
        assert_eq!(
            admitted,
            [Next::Admit(0), Next::Admit(1), Next::Admit(2), Next::Wait]
        );
    }

    #[test]
    fn another_model_waits_for_the_answers_under_way_and_newcomers_wait_behind_it() {
        let mut turns = asked(&[0]);
        turns.next();
        turns.loaded(0);
        assert_eq!(turns.next(), Next::Admit(0));
        turns.ask(1, 1);
        turns.ask(0, 2);
        assert_eq!(turns.next(), Next::Wait);
        turns.leave();
        assert_eq!(turns.next(), Next::Load(1));
        turns.loaded(1);
        assert_eq!(turns.next(), Next::Admit(1));
        assert_eq!(turns.next(), Next::Wait);
        turns.leave();
        assert_eq!(turns.next(), Next::Load(0));
    }

    #[test]
    fn models_asked_for_in_turn_are_loaded_once_each() {
        let mut turns = asked(&[0, 1, 0, 1, 0]);
        assert_eq!(turns.next(), Next::Load(0));
        turns.loaded(0);
        for place in [0, 2, 4] {
            assert_eq!(turns.next(), Next::Admit(place));
        }
        assert_eq!(turns.next(), Next::Wait);
        // Too late to be called.
        turns.ask(0, 5);
        for _ in 0..3 {
            turns.leave();
        }
        assert_eq!(turns.next(), Next::Load(1));
        turns.loaded(1);
        assert_eq!(turns.next(), Next::Admit(1));
        assert_eq!(turns.next(), Next::Admit(3));
        assert_eq!(turns.next(), Next::Wait);
    }

    #[test]
    fn a_model_that_cannot_be_loaded_is_refused_to_all_that_wait_for_it() {
        let mut turns = asked(&[0, 1, 0]);
        assert_eq!(turns.next(), Next::Load(0));
        assert_eq!(turns.failed(0), [0, 2]);
        assert_eq!(turns.next(), Next::Load(1));
        turns.loaded(1);
        assert_eq!(turns.next(), Next::Admit(1));
    }

    #[test]
    fn a_model_that_did_not_make_room_for_one_that_fails_is_not_loaded_again() {
        let mut turns = asked(&[0]);
        turns.next();
        turns.loaded(0);
        turns.next();
        turns.leave();
        for is_gone in [false, true] {
            turns.ask(1, 1);
            turns.ask(0, 2);
            assert_eq!(turns.next(), Next::Load(1));
            if is_gone {
                turns.gone();
            }
            assert_eq!(turns.next(), Next::Wait, "nobody goes on meanwhile");
            assert_eq!(turns.failed(1), [1]);
            let expected = if is_gone {
                Next::Load(0)
            } else {
                Next::Admit(2)
            };
            assert_eq!(turns.next(), expected);
            turns.leave();
        }
    }

    #[test]
    fn who_went_away_is_not_waited_for() {
        let mut turns = asked(&[0, 1]);
        turns.next();
        turns.loaded(0);
        turns.next();
        turns.retain(|place| *place != 1);
        turns.ask(0, 2);
        assert_eq!(turns.next(), Next::Admit(2));
        assert_eq!(turns.waiting(), 0);
    }
}
