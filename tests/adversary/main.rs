//! The client's eyes: lying servers of every dialect answer the real program, and whatever it passes
//! on as a success is judged by what the client asked for.
//!
//! A seed makes a demand, the server's right reply to it in the shape that is expected there, and
//! then lies: pieces in another order, fields of other types, keys twice, ends that are none. What a
//! client puts together from a success must satisfy the demand; what no reader may mind must pass.
//!
//! `ADVERSARY_REPLIES` (default 3 000 here, 100 000 in `tests/adversary/run`, which has two more
//! judges) says how many, `ADVERSARY_SEED` where they begin, `ADVERSARY_ONLY` replays one and shows it,
//! `ISOGLOSS_BIN` names another program.

#![allow(
    missing_docs,
    unreachable_pub,
    dead_code,
    missing_debug_implementations,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod http;
mod program;
mod report;

use http::{Client, Got, Upstream};
use isogloss_testing::adversary::case::{Cell, DIALECTS, World};
use isogloss_testing::adversary::fold::{Came, Fault, fault, fold};
use isogloss_testing::adversary::judge::{Judge, is_same};
use program::Program;
use report::{Breach, Report};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// Clients at once: enough to keep the programs busy, few enough to share two cores.
const CLIENTS: usize = 12;

/// One in so many cases asks a program that asks a server once more.
const RETRIES: u64 = 16;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// All that the clients share.
struct Stage {
    world: Arc<World>,
    judge: Judge,
    upstream: Upstream,
    /// Of each dialect, one that refuses at once and one that asks again.
    programs: Vec<[Program; 2]>,
    report: Mutex<Report>,
}

impl Stage {
    fn new() -> Self {
        let world = Arc::new(World::planned());
        let judge = Judge::new(&world.demands);
        let upstream = Upstream::start(&world);
        let report = Mutex::new(Report::new(&world.demands));
        let programs = DIALECTS
            .iter()
            .map(|dialect| {
                ["reject", "retry"].map(|policy| Program::start(upstream.address, dialect, policy))
            })
            .collect();
        Self {
            world,
            judge,
            upstream,
            programs,
            report,
        }
    }

    fn clients(&self) -> Vec<[Client; 2]> {
        let one = |programs: &[Program; 2]| [0, 1].map(|nth| Client::new(programs[nth].address));
        self.programs.iter().map(one).collect()
    }

    /// One case: asked, answered, folded, judged. What came back is shown where it is the only one.
    fn case(&self, seed: u64, clients: &mut [[Client; 2]], is_shown: bool) {
        let cell = self.world.cell(&mut http::source(seed));
        let demand = self.world.demand(cell);
        let policy = usize::from(seed.is_multiple_of(RETRIES));
        let got = clients[cell.dialect][policy].ask(seed, &cell.request);
        let sent = self.upstream.sent(seed);
        let came = match &got {
            Some(got) => fold(got.status, &got.body, cell.stream),
            None => Came::Refused,
        };
        let mut claims = Vec::new();
        let mut faults: Vec<Fault> = Vec::new();
        match &came {
            Came::Refused => {}
            Came::Broken(fault) => faults.push(fault.clone()),
            Came::Success(views) => {
                faults.extend(got.as_ref().and_then(|got| of_type(got, cell.stream)));
                for view in views {
                    faults.extend(self.judge.faults(demand, cell.choices, view, &mut claims));
                }
            }
        }
        faults.sort();
        faults.dedup();
        let right = sent.as_ref().and_then(|sent| sent.right.as_ref());
        let is_right = right.map(|right| match &came {
            Came::Success(views) => views.iter().all(|view| is_same(right, view)),
            _ => false,
        });
        let breach = || Breach {
            seed,
            dialect: DIALECTS[cell.dialect],
            demand: demand.id.clone(),
            request: cell.request.clone(),
            sent: text(sent.as_ref().map(|sent| sent.bytes.as_slice())),
            got: text(got.as_ref().map(|got| got.body.as_slice())),
        };
        if is_shown {
            show(cell, &breach(), &faults, is_right);
        }
        let is_refused = came == Came::Refused;
        let mut report = self.report.lock().unwrap();
        report.count(cell.dialect, is_refused, is_right, &faults, breach);
        report.claim(seed, DIALECTS[cell.dialect], &demand.id, claims);
    }
}

/// A reader goes by the type before it reads anything.
fn of_type(got: &Got, stream: bool) -> Option<Fault> {
    let expected = if stream {
        "text/event-stream"
    } else {
        "application/json"
    };
    (!got.media_type.starts_with(expected)).then(|| fault("framing", "another media type"))
}

fn text(bytes: Option<&[u8]>) -> String {
    String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
}

fn show(cell: &Cell, breach: &Breach, faults: &[Fault], is_right: Option<bool>) {
    println!("{breach}");
    println!(
        "plan: {:?}, {:?}",
        cell.exchange.strategy, cell.exchange.plan
    );
    println!("must pass, and did: {is_right:?}; faults: {faults:#?}");
}

#[test]
fn whatever_a_server_says_a_success_is_what_the_client_asked_for() {
    let stage = Stage::new();
    if let Ok(only) = std::env::var("ADVERSARY_ONLY") {
        stage.case(only.parse().expect("a seed"), &mut stage.clients(), true);
        return stage.report.into_inner().unwrap().settle();
    }
    let first = number("ADVERSARY_SEED", 1);
    let count = number("ADVERSARY_REPLIES", 3_000);
    println!(
        "{count} replies from seed {first} (ADVERSARY_SEED) to {} dialects",
        DIALECTS.len()
    );
    let next = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut clients = stage.clients();
                loop {
                    let nth = next.fetch_add(1, Ordering::Relaxed);
                    if nth >= count {
                        break;
                    }
                    stage.case(first + nth, &mut clients, false);
                }
            });
        }
    });
    stage.report.into_inner().unwrap().settle();
}
