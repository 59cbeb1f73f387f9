#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use super::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

fn seen(latency: Option<f64>, in_flight: u32, weight: f64) -> Seen {
    Seen {
        latency,
        in_flight,
        weight,
    }
}

#[test]
fn of_two_servers_the_one_that_costs_less_is_asked_whatever_the_dice_say() {
    for (one, other, asked) in [
        (seen(Some(1.0), 0, 1.0), seen(Some(0.1), 0, 1.0), 1),
        (seen(Some(0.1), 20, 1.0), seen(Some(1.0), 0, 1.0), 1),
        (seen(Some(1.0), 3, 4.0), seen(Some(1.0), 1, 1.0), 0),
        (seen(None, 3, 1.0), seen(Some(0.1), 1, 1.0), 1),
        (seen(None, 0, 1.0), seen(Some(0.1), 1, 1.0), 0),
    ] {
        for dice in 0..20 {
            assert_eq!(
                choose(&[one, other], dice),
                Some(asked),
                "{one:?} {other:?}"
            );
        }
    }
    assert_eq!(choose(&[], 7), None);
    assert_eq!(choose(&[seen(None, 9, 1.0)], 7), Some(0));
}

#[tokio::test(start_paused = true)]
async fn what_is_slower_counts_at_once_and_is_forgotten_by_and_by() {
    let mut load = Load::default();
    let start = Instant::now();
    load.took(Duration::from_millis(100), start);
    load.took(PENALTY, start);
    assert!(load.at(start).unwrap() > 4.9, "a refusal is slow at once");
    load.took(Duration::from_millis(100), start + Duration::from_secs(1));
    assert!(load.at(start + Duration::from_secs(1)).unwrap() > 3.0);
    assert!(load.at(start + Duration::from_secs(60)).unwrap() < 0.1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_back_begins_with_a_tenth_of_its_weight() {
    let mut load = Load::default();
    let start = Instant::now();
    load.came_back(start);
    for (after, weight) in [(0, 1.0), (5, 5.0), (10, 10.0), (99, 10.0)] {
        let seen = load.seen(10.0, 0, start + Duration::from_secs(after));
        assert!((seen.weight - weight).abs() < 1e-9, "{after} {seen:?}");
    }
}

#[test]
fn a_key_stays_on_its_server_moves_with_it_alone_and_gives_way_where_it_has_too_much() {
    let places = [11, 22, 33, 44];
    let idle = [seen(None, 0, 1.0); 4];
    let mut counts = [0; 4];
    for key in 0..4_000 {
        let at = keep(&idle, &places, mix(key)).unwrap();
        assert_eq!(keep(&idle, &places, mix(key)), Some(at));
        counts[at] += 1;
        // Without the last server only its own keys move.
        let without = keep(&idle[..3], &places[..3], mix(key)).unwrap();
        assert!(at == 3 || without == at, "{key}");
        let mut busy = idle;
        busy[at].in_flight = 10;
        assert_ne!(keep(&busy, &places, mix(key)), Some(at));
    }
    assert!(
        counts.iter().all(|count| (800..1200).contains(count)),
        "{counts:?}"
    );
    let heavy = [seen(None, 0, 3.0), seen(None, 0, 1.0)];
    let first = (0..4_000).filter(|key| keep(&heavy, &places[..2], mix(*key)) == Some(0));
    assert!((2_800..3_200).contains(&first.count()));
}

/// How one server is chosen of eight.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    RoundRobin,
    LeastConnections,
    PeakEwma,
}

/// What a run of the simulation comes to.
#[derive(Debug)]
struct Told {
    p50: f64,
    p99: f64,
    /// The busiest server's share of its capacity that was used, and the idlest's.
    utilisation: (f64, f64),
}

/// Eight servers: of each how many requests it works on at once, and how many seconds one takes. Two are new, four
/// are half as fast, two are old and small.
const SERVERS: [(u32, f64); 8] = [
    (16, 0.5),
    (16, 0.5),
    (8, 1.0),
    (8, 1.0),
    (8, 1.0),
    (8, 1.0),
    (4, 2.0),
    (2, 4.0),
];

/// Requests come at seeded random times, so that 70 % of all capacity is used; what finds a server full waits in it.
fn simulate(way: Way, seed: u64) -> Told {
    const REQUESTS: u32 = 40_000;
    let capacity: f64 = SERVERS
        .iter()
        .map(|(slots, time)| f64::from(*slots) / time)
        .sum();
    let rate = 0.7 * capacity;
    let start = Instant::now();
    let mut state = seed;
    let mut dice = || {
        state = state.wrapping_add(1);
        mix(state)
    };
    let share = |dice: u64| ((dice >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    let mut loads: Vec<Load> = vec![Load::default(); SERVERS.len()];
    // When each slot is free.
    let mut slots: Vec<BinaryHeap<Reverse<u64>>> = (SERVERS.iter())
        .map(|(slots, _)| (0..*slots).map(|_| Reverse(0)).collect())
        .collect();
    let mut busy = [0.0; SERVERS.len()];
    // When, at which server, and how long it took.
    let mut ends: BinaryHeap<Reverse<(u64, usize, u64)>> = BinaryHeap::new();
    let mut times = Vec::new();
    let mut now = 0.0;
    let micros = |seconds: f64| (seconds * 1e6) as u64;
    for nth in 0..REQUESTS as usize {
        now += -share(dice()).ln() / rate;
        while let Some(Reverse((end, at, took))) = ends.peek().copied() {
            if end > micros(now) {
                break;
            }
            ends.pop();
            loads[at].took(
                Duration::from_micros(took),
                start + Duration::from_micros(end),
            );
            loads[at].end();
        }
        let instant = start + Duration::from_secs_f64(now);
        let at = match way {
            Way::RoundRobin => nth % SERVERS.len(),
            Way::LeastConnections => {
                let all = loads.iter().enumerate();
                all.min_by_key(|(_, load)| load.in_flight()).unwrap().0
            }
            Way::PeakEwma => {
                let seen: Vec<Seen> = loads
                    .iter()
                    .map(|load| load.seen(1.0, 0, instant))
                    .collect();
                choose(&seen, dice()).unwrap()
            }
        };
        loads[at].begin();
        // Between half and one and a half of what the server takes.
        let work = SERVERS[at].1 * (0.5 + share(dice()));
        let Reverse(free) = slots[at].pop().unwrap();
        let begin = free.max(micros(now));
        let end = begin + micros(work);
        slots[at].push(Reverse(end));
        busy[at] += work;
        let took = end - micros(now);
        ends.push(Reverse((end, at, took)));
        times.push(took as f64 / 1e6);
    }
    times.sort_by(f64::total_cmp);
    let used = |at: usize| busy[at] / (now * f64::from(SERVERS[at].0));
    let used = (0..SERVERS.len()).map(used);
    Told {
        p50: times[times.len() / 2],
        p99: times[times.len() * 99 / 100],
        utilisation: (
            used.clone().fold(0.0, f64::max),
            used.fold(f64::INFINITY, f64::min),
        ),
    }
}

/// With `--nocapture` this prints the table of docs/fleet.md.
#[tokio::test(start_paused = true)]
async fn over_uneven_servers_the_slowest_replies_come_sooner_than_by_turns_or_by_fewest_connections()
 {
    println!("| choice | p50 | p99 | busiest | idlest |\n| --- | --- | --- | --- | --- |");
    let told = [Way::RoundRobin, Way::LeastConnections, Way::PeakEwma].map(|way| {
        let told = simulate(way, 7);
        let (busiest, idlest) = told.utilisation;
        let percent = |share: f64| (share * 100.0).round();
        println!(
            "| {way:?} | {:.2} s | {:.2} s | {} % | {} % |",
            told.p50,
            told.p99,
            percent(busiest),
            percent(idlest)
        );
        told
    });
    let [by_turns, fewest, ours] = told;
    assert!(ours.p99 < fewest.p99 && ours.p99 < by_turns.p99 / 5.0);
    assert!(ours.p50 < fewest.p50);
    assert!(ours.utilisation.0 <= 1.0);
    let again = simulate(Way::PeakEwma, 7);
    assert!((again.p99 - ours.p99).abs() < 1e-9, "one seed, one run");
}
