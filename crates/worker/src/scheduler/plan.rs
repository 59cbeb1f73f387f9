//! The plan of a batch: what each answer could compute comes in; what each may compute in this
//! forward pass goes out.

/// What an answer could compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Want {
    /// Tokens that are ready to go through the model.
    pub(super) tokens: u32,
    /// The prompt is behind it.
    pub(super) is_running: bool,
    /// The step in which it last computed something.
    pub(super) served: u64,
}

impl Want {
    /// Whether there is no more of its prompt to compute.
    pub(super) fn is_behind_prompt(&self) -> bool {
        self.tokens == 0 || self.is_running
    }
}

/// How many tokens each may compute, in the order of `wants`, which is oldest first.
///
/// Every running answer gets its next token, and the oldest of the prompts one too, so that it
/// moves on however full the batch is; where there is no room for that, those come first that
/// waited longest. What is left goes to forced runs, then to prompts, oldest first, up to `chunk`
/// tokens while any answer is running: so long, and no longer, do they wait for a prompt.
pub(super) fn plan(wants: &[Want], batch: u32, chunk: u32) -> Vec<u32> {
    let mut shares = vec![0; wants.len()];
    let mut room = batch;
    let wanting = |is_running: bool| {
        (0..wants.len())
            .filter(move |&at| wants[at].tokens > 0 && wants[at].is_running == is_running)
    };
    let running: Vec<usize> = wanting(true).collect();
    let prompts: Vec<usize> = wanting(false).collect();

    let mut first: Vec<usize> = running.iter().chain(prompts.first()).copied().collect();
    first.sort_by_key(|&at| wants[at].served);
    for at in first {
        let share = room.min(1);
        shares[at] = share;
        room -= share;
    }

    let mut give = |to: &[usize], mut budget: u32| {
        for &at in to {
            let share = (wants[at].tokens - shares[at]).min(budget).min(room);
            shares[at] += share;
            budget -= share;
            room -= share;
        }
        budget
    };
    if running.is_empty() {
        give(&prompts, batch);
    } else if prompts.is_empty() {
        give(&running, chunk);
    } else {
        // Runs are short and somebody reads along, but they must not starve the prompts.
        let left = give(&running, chunk / 2);
        give(&prompts, left + chunk.div_ceil(2));
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::{Want, plan};
    use proptest::collection::vec;
    use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, proptest};

    fn running(tokens: u32) -> Want {
        Want {
            tokens,
            is_running: true,
            served: 0,
        }
    }

    fn prompt(tokens: u32) -> Want {
        Want {
            tokens,
            is_running: false,
            served: 0,
        }
    }

    #[test]
    fn running_answers_come_before_prompts_and_prompts_oldest_first() {
        let wants = [prompt(100), running(1), prompt(100), running(1)];
        assert_eq!(plan(&wants, 512, 128), [100, 1, 29, 1]);
        assert_eq!(plan(&wants, 50, 128), [48, 1, 0, 1]);
    }

    #[test]
    fn prompts_alone_take_the_whole_batch() {
        assert_eq!(plan(&[prompt(1_000), prompt(5)], 512, 16), [512, 0]);
    }

    #[test]
    fn forced_runs_leave_half_of_the_chunk_to_prompts() {
        let wants = [running(1_000), prompt(1_000)];
        assert_eq!(plan(&wants, 512, 64), [33, 33]);
        assert_eq!(plan(&[running(1_000)], 512, 64), [65]);
    }

    #[test]
    fn where_the_batch_is_too_small_those_that_waited_longest_come_first() {
        let mut wants = [running(1), running(1), prompt(9)];
        wants[0].served = 7;
        wants[1].served = 6;
        wants[2].served = 5;
        assert_eq!(plan(&wants, 2, 64), [0, 1, 1]);
    }

    fn wants() -> impl Strategy<Value = Vec<Want>> {
        let one = (0..200_u32, any::<bool>(), 0..9_u64);
        vec(
            one.prop_map(|(tokens, is_running, served)| Want {
                tokens,
                is_running,
                served,
            }),
            0..12,
        )
    }

    proptest! {
        #[test]
        fn a_plan_keeps_within_the_batch_and_moves_everybody_it_can(
            (wants, batch, chunk) in (wants(), 1..300_u32, Just(32_u32)),
        ) {
            let shares = plan(&wants, batch, chunk);
            let total: u32 = shares.iter().sum();
            let wanted: u32 = wants.iter().map(|want| want.tokens).sum();
            let runners = wants.iter().filter(|want| want.is_running && want.tokens > 0).count();
            prop_assert!(total <= batch);
            prop_assert_eq!(total == 0, wanted == 0);
            for (want, share) in wants.iter().zip(&shares) {
                prop_assert!(*share <= want.tokens);
                if want.is_running && want.tokens > 0 && runners < batch as usize {
                    prop_assert!(*share > 0);
                }
            }
            if runners > 0 {
                prop_assert!(total as usize <= runners + 1 + chunk as usize);
            } else {
                prop_assert_eq!(total, wanted.min(batch));
            }
        }
    }
}
