//! Whole round trips against simulated servers: a client's request goes through the proxy to a
//! server that really constrains, token by token, what that server constrains, and says anything
//! where it does not; what comes back is judged here by itself.
//!
//! What each server does stands in `simulated/notes.rs` and `simulated/reading.rs`, from the servers'
//! own sources and recordings. Our own schemas are `data/round_trips.json`; public ones are read from
//! the folder `ISOGLOSS_DATA` (default `../shared/data`). `ROUND_TRIPS=N` takes N requests of the public
//! ones to each server (default 120). How it went before stands in `data/simulated-ratchet.txt`
//! (`UPDATE_RATCHET=1` writes it), what is known to go wrong in `data/simulated-faults.txt`.

mod demands;
mod figures;
mod gbnf;
mod judge;
mod model;
mod notes;
mod promises;
mod ratchet;
mod reading;
mod server;

use crate::support::proxy;
use demands::{Demand, WAYS, of_schema, of_tags, of_texts};
use figures::Figures;
use isogloss::config::{DialectPin, OnViolation};
use isogloss_testing::scripted;
use judge::{Outcome, judge};
use model::Random;
use notes::{Notes, SERVERS};
use promises::Evidence;
use proxy::{Client, Proxy};
use scripted::{Got, Scripted, Step, reply};
use serde_json::Value;
use server::Gist;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// However busy the machine is, a round trip that takes longer hangs.
const LONGEST_TRIP: Duration = Duration::from_secs(60);

/// What the server and the test know of each other.
struct Shared {
    gist: Gist,
    random: Random,
    asked: usize,
    refused: bool,
    /// Of its last answer.
    evidence: Evidence,
}

fn script(
    notes: &'static Notes,
    shared: &Arc<Mutex<Shared>>,
) -> impl Fn(&Got) -> Vec<Step> + use<> {
    let shared = Arc::clone(shared);
    move |got| {
        let json = format!("content-type: application/json\r\n{}", notes.header);
        if got.method == "GET" {
            let known = notes.who.iter().find(|(path, _)| *path == got.target);
            let (status, body) = known.map_or((404, "{}"), |(_, body)| (200, *body));
            return vec![reply(status, &json, body)];
        }
        let mut body: Value = serde_json::from_slice(&got.body).expect("the proxy sends JSON");
        if notes.is_generate {
            match server::rendered(&got.target, &body) {
                Some(answer) => return vec![reply(200, &json, &answer)],
                None => body["stream"] = (got.target == "/generate_stream").into(),
            }
        }
        let mut shared = shared.lock().unwrap();
        shared.asked += 1;
        let gist = shared.gist.clone();
        let answered = server::answer(notes, &body, &gist, &mut shared.random);
        shared.refused |= answered.is_error;
        let (held, said) = (answered.held, answered.said);
        shared.evidence = Evidence { held, said };
        answered.steps
    }
}

async fn start(notes: &'static Notes, seed: u64) -> (Scripted, Proxy, Arc<Mutex<Shared>>) {
    let shared = Arc::new(Mutex::new(Shared {
        gist: Gist::default(),
        random: Random(seed),
        asked: 0,
        refused: false,
        evidence: Evidence::default(),
    }));
    let server = Scripted::start(script(notes, &shared)).await;
    server.answer_by_script();
    let proxy = Proxy::with(&[&server.url()], |config| {
        config.on_violation = OnViolation::Retry;
        if notes.is_hosted {
            let name = notes.label.to_owned();
            config.upstreams[0].dialect = Some(DialectPin {
                name,
                version: None,
            });
        }
    })
    .await;
    proxy.until_upstream(0, "ready").await;
    let rule = proxy.app.upstreams().iter().next().unwrap().rule().unwrap();
    assert_eq!(rule.label(), notes.label, "the server is recognised");
    (server, proxy, shared)
}

/// Sends every demand, and judges what the client gets.
async fn round_trips(notes: &'static Notes, demands: &[Demand], seed: u64) -> Figures {
    let (_server, proxy, shared) = start(notes, seed).await;
    let mut figures = Figures::new(notes);
    for (nth, demand) in demands.iter().enumerate() {
        {
            let mut shared = shared.lock().unwrap();
            // Where nothing is enforced, a good model is right more often than not.
            shared.gist = demand.gist(if nth % 3 == 0 { 100 } else { 60 });
            (shared.asked, shared.refused) = (0, false);
        }
        let got = tokio::time::timeout(LONGEST_TRIP, trip(&proxy, &demand.body)).await;
        let got = got.unwrap_or_else(|_| panic!("{}: {} hangs", notes.label, demand.name));
        let (asked, refused, evidence) = {
            let mut shared = shared.lock().unwrap();
            let evidence = std::mem::take(&mut shared.evidence);
            (shared.asked, shared.refused, evidence)
        };
        let outcome = judge(demand, &got, asked, refused);
        if let Outcome::Wrong(why) = &outcome.0 {
            let (body, got) = (&demand.body, String::from_utf8_lossy(&got));
            let what = format!(
                "{}: {}: {why}\nasked: {body}\ngot: {got}",
                notes.label, demand.name
            );
            figures.wrong.push(what);
        }
        figures.count(demand, &outcome, &evidence);
    }
    figures
}

/// A client's way: where the proxy says that it is busy and to ask again, it does, a few times.
async fn trip(proxy: &Proxy, body: &Value) -> Vec<u8> {
    let request = closing(&body.to_string());
    let mut got = Vec::new();
    for _ in 0..5 {
        let mut client: Client = proxy.send(request.clone()).await;
        got = client.rest().await;
        if !got.starts_with(b"HTTP/1.1 503 ") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    got
}

fn closing(body: &str) -> String {
    let length = body.len();
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: proxy\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// One server after the other on each of a few threads' runtimes.
fn with_all(
    demands: impl Fn(&Notes) -> Vec<Demand> + Send + Sync + 'static,
    seed: u64,
) -> Vec<Figures> {
    let demands = Arc::new(demands);
    let next = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let only = std::env::var("ROUND_TRIPS_SERVER").ok();
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let (next, demands, only) = (Arc::clone(&next), Arc::clone(&demands), only.clone());
            let run = move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                let mut all = Vec::new();
                while let Some(notes) =
                    SERVERS.get(next.fetch_add(1, std::sync::atomic::Ordering::SeqCst))
                {
                    if only.as_ref().is_some_and(|only| only != notes.label) {
                        continue;
                    }
                    all.push(runtime.block_on(round_trips(notes, &demands(notes), seed)));
                }
                all
            };
            std::thread::Builder::new()
                .stack_size(64 << 20)
                .spawn(run)
                .unwrap()
        })
        .collect();
    let mut all = Vec::new();
    for thread in threads {
        all.extend(
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        );
    }
    all.sort_by_key(|figures| {
        SERVERS
            .iter()
            .position(|notes| notes.label == figures.notes.label)
    });
    all
}

/// Whether every request of a set goes to every server: only then can all be held against the table.
fn is_whole() -> bool {
    let is_whole = ["ROUND_TRIPS", "ROUND_TRIPS_SERVER"]
        .iter()
        .all(|name| std::env::var_os(name).is_none());
    if !is_whole {
        println!("skipped: the table is of other requests; only faults are looked for");
    }
    is_whole
}

/// Nothing wrong is delivered, what is said to be carried exactly is, no server refuses what the proxy
/// writes, and all of it goes as well as before.
fn check(set: &str, figures: &[Figures]) {
    println!("{}", Figures::HEAD);
    for one in figures {
        println!("{one}");
    }
    for one in figures {
        one.tell();
    }
    let wrong: Vec<&str> = figures
        .iter()
        .flat_map(|one| &one.wrong)
        .map(String::as_str)
        .collect();
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n\n")
    );
    let is_whole = is_whole();
    if is_whole {
        ratchet::hold(set, figures);
    }
    ratchet::hold_faults(set, figures, is_whole);
}

#[test]
fn our_schemas_and_texts_go_round_every_server_as_well_as_before_and_nothing_wrong_is_delivered() {
    let path = isogloss_testing::root().join("tests/data/round_trips.json");
    let data: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let mut random = Random(1);
    let mut demands = of_texts(&data);
    demands.extend(of_tags());
    for (nth, schema) in data["schemas"].as_array().unwrap().iter().enumerate() {
        let ways = (0..WAYS)
            .filter_map(|way| of_schema(&format!("schema {nth}"), schema, way, &mut random));
        demands.extend(ways);
    }
    let count = demands.len();
    let figures = with_all(move |_: &Notes| demands.clone(), 2);
    println!("{count} requests to each server");
    check("ours", &figures);
}

/// Names and schemas of the public data, tools' parameters among them.
fn public_schemas() -> Option<Vec<(String, Value)>> {
    let folder = isogloss_testing::shared("ISOGLOSS_DATA", "data");
    let mut all = Vec::new();
    for file in [
        "schemas.jsonl",
        "json_schema_test_suite.jsonl",
        "tool_calls.jsonl",
    ] {
        let path = Path::new(&folder).join(file);
        let Ok(file) = std::fs::File::open(&path) else {
            println!("skipped: {} is not there", path.display());
            return None;
        };
        for (nth, line) in BufReader::new(file).lines().enumerate() {
            let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
            let name = line["id"]
                .as_str()
                .or(line["file"].as_str())
                .unwrap_or_default();
            let name = format!("{name} ({})", nth + 1);
            if let Some(tools) = line["tools"].as_array() {
                let schemas = tools
                    .iter()
                    .map(|tool| tool["function"]["parameters"].clone());
                all.extend(schemas.map(|schema| (name.clone(), schema)));
            } else {
                all.push((name, line["schema"].clone()));
            }
        }
    }
    // `nullable` is not of JSON Schema: the judge does not know it.
    all.retain(|(_, schema)| !schema.to_string().contains("\"nullable\""));
    Some(all)
}

#[test]
fn public_schemas_go_round_every_server_as_well_as_before_and_nothing_wrong_is_delivered() {
    let Some(schemas) = public_schemas() else {
        return;
    };
    let count: usize = std::env::var("ROUND_TRIPS").map_or(120, |count| count.parse().unwrap());
    println!("{} schemas, {count} requests to each server", schemas.len());
    let schemas = Arc::new(schemas);
    let demands = move |notes: &Notes| {
        // Each server has others, so that all of them come up.
        let place = SERVERS
            .iter()
            .position(|one| one.label == notes.label)
            .unwrap();
        let mut random = Random(100 + place as u64);
        let mut demands = Vec::new();
        while demands.len() < count {
            let (name, schema) = random.of(&schemas).clone();
            let way = random.below(WAYS);
            demands.extend(of_schema(&name, &schema, way, &mut random));
        }
        demands
    };
    let figures = with_all(demands, 3);
    check("public", &figures);
}
