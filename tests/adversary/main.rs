//! The client's eyes: lying servers of every dialect answer the real program, and whatever it passes
//! on as a success to clients of every dialect is judged by what they asked for.
//!
//! A seed makes a demand, the server's right reply to it in the shape that is expected there, and
//! then lies: pieces in another order, fields of other types, keys twice, ends that are none. What a
//! client puts together from a success must satisfy the demand; what no reader may mind must pass.
//!
//! `ADVERSARY_REPLIES` (default 3 000 here, 100 000 in `tests/adversary/run`, which has two more
//! judges) says how many, `ADVERSARY_SEED` where they begin, `ADVERSARY_ONLY` replays one and shows it,
//! `ISOGLOSS_BIN` names another program.

#![expect(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests"
)]

mod http;
mod program;
mod report;

use http::{Client, Got, Upstream};
use isogloss_testing::adversary::case::{Cell, DIALECTS, World};
use isogloss_testing::adversary::clients::Dialect;
use isogloss_testing::adversary::fold::{Came, Fault, fault};
use isogloss_testing::adversary::judge::{Judge, is_form, is_same};
use program::Program;
use report::{Breach, Report, Seen};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// Clients at once: enough to keep the programs busy, few enough to share two cores.
const CLIENTS: usize = 12;

/// What is done with a reply that breaks the demand; one program of each for a dialect.
const POLICIES: [&str; 3] = ["reject", "retry", "pass"];

/// Which of them a case meets: most often, one that refuses at once.
const fn policy(seed: u64) -> usize {
    match seed % 16 {
        0 => 1,
        3 | 11 => 2,
        _ => 0,
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// All that the clients share.
struct Stage {
    world: Arc<World>,
    judge: Judge,
    upstream: Upstream,
    /// Of each dialect, one of each policy.
    programs: Vec<[Program; 3]>,
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
            .map(|dialect| POLICIES.map(|policy| Program::start(upstream.address, dialect, policy)))
            .collect();
        Self {
            world,
            judge,
            upstream,
            programs,
            report,
        }
    }

    fn clients(&self) -> Vec<[Client; 3]> {
        let one = |programs: &[Program; 3]| [0, 1, 2].map(|nth| Client::new(programs[nth].address));
        self.programs.iter().map(one).collect()
    }

    /// One case: asked, answered, folded, judged. What came back is shown where it is the only one.
    fn case(&self, seed: u64, clients: &mut [[Client; 3]], is_shown: bool) {
        let cell = self.world.cell(&mut http::source(seed));
        let demand = self.world.demand(cell);
        let policy = policy(seed);
        let got = clients[cell.dialect][policy].ask(
            seed,
            demand.client.target(cell.stream),
            &cell.request,
        );
        let sent = self.upstream.sent(seed);
        let came = match &got {
            Some(got) => demand.client.fold(got.status, &got.body, cell.stream),
            None => Came::Refused,
        };
        let mut claims = Vec::new();
        let mut faults: Vec<Fault> = Vec::new();
        match &came {
            Came::Refused => {}
            Came::Broken(fault) => faults.push(fault.clone()),
            Came::Success(views) => {
                faults.extend(
                    got.as_ref()
                        .and_then(|got| of_type(got, demand.client.media_type(cell.stream))),
                );
                let closes_cut_calls =
                    DIALECTS[cell.dialect] == "anthropic" && demand.client == Dialect::Messages;
                for view in views {
                    let view = match closes_cut_calls {
                        true => view.clone().with_open_calls(cell.stream),
                        false => view.clone(),
                    };
                    faults.extend(self.judge.faults(demand, cell.choices, &view, &mut claims));
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
        let is_refused = came == Came::Refused;
        let mut is_lost = false;
        let mut is_told = false;
        if let Some(got) = got.as_ref().filter(|_| POLICIES[policy] == "pass") {
            let is_readable = sent.as_ref().is_some_and(|sent| sent.is_readable);
            is_lost = is_refused && is_readable && is_right.is_none();
            is_told = self::is_told(got, demand.client);
            faults = passed(faults, is_told, is_right == Some(true));
        }
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
        let seen = Seen {
            dialect: cell.dialect,
            client: demand.client,
            kind: isogloss_testing::adversary::case::kind(demand),
            is_refused,
            is_right: if is_lost { Some(false) } else { is_right },
            is_told,
        };
        let mut report = self.report.lock().unwrap();
        report.count(&seen, &faults, breach);
        // What is said to be wrong is nothing for others to judge.
        if !is_told {
            report.claim(seed, DIALECTS[cell.dialect], &demand.id, claims);
        }
    }
}

/// Whether a reply that was let pass is said to be wrong: by its head or, where a stream had begun,
/// before its end.
fn is_told(got: &Got, client: Dialect) -> bool {
    let note = client.tells().as_bytes();
    let says = |window: &[u8]| window == note;
    got.violation.is_some() || got.body.windows(note.len()).any(says)
}

/// What is wrong with a reply of a program that lets violations pass: whatever it does not tell,
/// what it tells of a right one, and in any case what no reader can read.
fn passed(faults: Vec<Fault>, is_told: bool, is_right: bool) -> Vec<Fault> {
    // Two answers in one place are told of; what a client makes of them has no form.
    let is_mixed = faults.contains(&fault("choices", "two choices have one index"));
    let is_excused = |fault: &Fault| {
        !is_form(fault) || is_mixed && matches!(fault.kind, "finish" | "shape" | "call id")
    };
    let mut left: Vec<Fault> = faults
        .into_iter()
        .filter(|fault| !(is_told && is_excused(fault)))
        .collect();
    for fault in left.iter_mut().filter(|fault| !is_form(fault)) {
        fault.what += ", and nobody is told";
    }
    if is_told && is_right {
        left.push(fault("told", "a right reply is said to be wrong"));
    }
    left
}

/// A reader goes by the type before it reads anything.
fn of_type(got: &Got, expected: &str) -> Option<Fault> {
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

#[test]
fn every_demand_of_the_pool_can_be_put_to_some_server() {
    let world = World::planned();
    let asked: HashSet<usize> = world.cells.iter().flatten().map(|it| it.demand).collect();
    let demands = world.demands.iter().enumerate();
    let unasked = demands.filter(|(place, _)| !asked.contains(place));
    let unasked: Vec<&str> = unasked.map(|(_, demand)| demand.id.as_str()).collect();
    assert_eq!(unasked, [""; 0], "no lie would ever be told about these");
}

#[test]
fn the_judge_tells_right_texts_from_wrong_ones_whole_and_cut() {
    let demands = isogloss_testing::adversary::demands::pool();
    let judge = Judge::new(&demands);
    // The demand, a text, whether it is right, and whether it is where it was cut.
    for (id, text, whole, cut) in [
        ("tags any", "It is <func", true, true),
        (
            "tags any",
            "a <function=g>{\"age\":1}</function> b",
            true,
            true,
        ),
        (
            "tags any",
            "<function=g> {\"age\":1} </function>",
            true,
            true,
        ),
        (
            "tags any",
            "<function=g>{\"age\":\"</function>\"}</function>",
            false,
            false,
        ),
        ("tags any", "<function=g>{\"age\":1", false, true),
        ("tags any", "<function=g>{\"age\":1}</fun", false, true),
        ("tags any", "<function=", false, true),
        ("tags any", "<function=zzz>{}</function>", false, false),
        (
            "tags any",
            "<function=g><function=g>{\"age\":1}</function>",
            false,
            false,
        ),
        (
            "tags any",
            "<function=g>{\"age\":1}x</function>",
            false,
            false,
        ),
        ("tags some", "", false, true),
        (
            "tags some",
            "a <function=g>{\"age\":1}</function>",
            false,
            false,
        ),
        ("tags one", "<function=g>{\"age\":1}</function>", true, true),
        (
            "tags one",
            "<function=g>{\"age\":1}</function> b",
            false,
            false,
        ),
        (
            "tags first",
            "a <function=g>{\"age\":1}</function> b",
            false,
            false,
        ),
        ("tags excluding", "a zz b", true, true),
        ("tags excluding", "a zzz b", false, false),
        (
            "tags separated",
            "<function=g>{\"age\":1}</function>\n",
            false,
            true,
        ),
        (
            "tags separated",
            "<function=g>{\"age\":1}</function> ",
            false,
            false,
        ),
        ("tags thought", "<think>hm {</think>{\"age\":1}", true, true),
        ("tags thought", "<think>hm", false, true),
        ("tags either", "none", true, true),
        ("tags either", "no", false, true),
        ("tags either", "nobody", false, false),
        ("tags either", "<day>2026-1", false, true),
        ("tags times", "<day>2026-11</day>", false, true),
        ("lark list", "ab,cde", true, true),
        ("lark list", "ab,c", false, true),
        ("lark list", "ab,,", false, false),
        ("lark sum", "1+", false, true),
        ("lark switch", "日ß=", true, true),
    ] {
        let demand = demands.iter().find(|demand| demand.id == id).unwrap();
        for (finish, is_right) in [("stop", whole), ("length", cut)] {
            let mut choice = isogloss_testing::adversary::fold::Choice::default();
            text.clone_into(&mut choice.content);
            choice.finish = Some(finish.to_owned());
            let faults = judge.choice(demand, &choice, &mut Vec::new());
            assert_eq!(
                faults.is_empty(),
                is_right,
                "{id}, {finish}: {text}: {faults:?}"
            );
        }
    }
}
