//! What the hot path costs, in time: an event of a stream, a request, a reply. The gate counts
//! allocations (`tests/translation/allocations.rs`) and instructions; this prints what they mean on this machine.
//!
//!   cargo bench -p isogloss-core
#![expect(clippy::print_stdout, clippy::disallowed_types, reason = "a benchmark")]

use isogloss_testing::hot::hot_path;
use std::time::{Duration, Instant};

const ROUNDS: usize = 51;

/// The middle of what some rounds took.
fn timed(round: &mut dyn FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let begin = Instant::now();
            round();
            begin.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[ROUNDS / 2]
}

fn main() {
    for (what, times, mut work) in hot_path() {
        let one = timed(&mut work) / u32::try_from(times).unwrap_or(u32::MAX);
        println!("{:9.2} µs  {what}", one.as_secs_f64() * 1e6);
    }
}
