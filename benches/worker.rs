//! The decoding worker, and llama.cpp's own server beside it where one is given: the same model
//! file, the same requests, one after the other in one run. Rates and ratios go out.
//!
//! ```sh
//! cargo bench --bench worker -- --model M.gguf [--llama-server PATH] [--quick] [--rounds N]
//!     [--only overhead|first-token|beside|queue|extraction] [--batches 8,32] [--cases easy,regex]
//! ```
//!
//! `ISOGLOSS_DATA` is the folder with `schemas.jsonl` (default `../shared/data`). How the numbers
//! of benches/NOTES.md were made stands there.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a benchmark that cannot run may panic"
)]

mod support;

use serde_json::{Value, json};
use std::time::Duration;
use support::{Case, Load, Server, median};

/// Tokens of an answer, at most: the shortest one of each case takes fewer of any vocabulary.
const TOKENS: u32 = 128;
/// The same of one that takes things out of a text.
const EXTRACTED: u32 = 256;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    let Some(model) = value("--model") else {
        // `cargo bench` and `cargo test --benches` run every benchmark.
        println!("skipped: give a model: cargo bench --bench worker -- --model M.gguf");
        return;
    };
    let is_quick = arguments.iter().any(|argument| argument == "--quick");
    let rounds = match value("--rounds") {
        Some(rounds) => rounds.parse().expect("--rounds takes a number"),
        None if is_quick => 1,
        None => 5,
    };
    let batches = |usual: &[usize]| -> Vec<usize> {
        value("--batches").map_or_else(
            || usual.to_vec(),
            |batches| {
                (batches.split(','))
                    .map(|batch| batch.parse().expect("--batches takes numbers"))
                    .collect()
            },
        )
    };
    let cases = value("--cases");
    let only = value("--only");
    let is_asked = |part: &str| only.as_deref().is_none_or(|only| only == part);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let llama = value("--llama-server");
    runtime.block_on(async {
        if is_asked("overhead") {
            overhead(&model, rounds, &batches(&[1, 8, 32]), cases.as_deref()).await;
        }
        if is_asked("first-token") {
            first_token(&model, llama.as_deref(), is_quick).await;
        }
        if is_asked("beside") {
            beside(
                &model,
                llama.as_deref(),
                rounds,
                &batches(&[1, 8]),
                cases.as_deref(),
            )
            .await;
        }
        if is_asked("queue") {
            queue(&model, is_quick).await;
        }
        if is_asked("extraction") {
            extraction(&model, rounds).await;
        }
    });
}

/// Those of the cases that are asked for, under the head of their table.
fn table<const N: usize>(all: [(&str, Case); N], asked: Option<&str>) -> Vec<Case> {
    let is_asked = |name: &str| asked.is_none_or(|asked| asked.split(',').any(|one| one == name));
    let asked = all.into_iter().filter(|(name, _)| is_asked(name));
    let (names, cases): (Vec<&str>, Vec<Case>) = asked.unzip();
    println!("| batch | {} |", names.join(" | "));
    println!("|---|{}", "---|".repeat(names.len()));
    cases
}

/// 1. What a constraint costs: constrained ÷ unconstrained tokens a second, and what the forced
///    tokens of a schema-heavy answer gain.
async fn overhead(model: &str, rounds: usize, batches: &[usize], cases: Option<&str>) {
    println!("\n## Constrained ÷ unconstrained, tokens a second (median of {rounds})\n");
    let all = [
        ("easy", Case::schemas("Github_easy")),
        ("medium", Case::schemas("Github_medium")),
        ("hard", Case::schemas("Github_hard")),
        ("regex", Case::regex()),
        ("schema-heavy", Case::heavy()),
    ];
    let cases = table(all, cases);
    let server = Server::worker(model, 32).await;
    for &batch in batches {
        let mut row = format!("| {batch} |");
        for case in &cases {
            let mut ratios = Vec::new();
            for _ in 0..rounds {
                let load = Load::new(batch, TOKENS);
                // Turn about, so that a slower minute of the machine slows both.
                let free = load.run(&server, &Case::free()).await;
                let bound = load.run(&server, case).await;
                ratios.push(bound.rate() / free.rate());
            }
            row += &format!(" {:.3} |", median(&mut ratios));
        }
        println!("{row}");
    }
    println!("\n{}", server.masks().await);
}

/// 2. How long the first token of a schema takes that the server has not seen before.
async fn first_token(model: &str, llama: Option<&str>, is_quick: bool) {
    println!("\n## First token after a new schema, milliseconds\n");
    println!("| server | p50 | p99 | refused |");
    println!("|---|---|---|---|");
    let schemas = support::schemas("", if is_quick { 20 } else { 200 });
    let mut servers = vec![Server::worker(model, 8).await];
    if let Some(path) = llama {
        servers.push(Server::llama(path, model, 8).await);
    }
    for server in &servers {
        let (mut times, mut refused) = (Vec::new(), 0);
        for schema in &schemas {
            match server.first_token(schema).await {
                Some(time) => times.push(time.as_secs_f64() * 1e3),
                None => refused += 1,
            }
        }
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        let (p50, p99) = (at(0.5), at(0.99));
        let of = schemas.len();
        println!(
            "| {} | {p50:.1} | {p99:.1} | {refused} of {of} |",
            server.name
        );
    }
}

/// 3. Beside llama.cpp's server: tokens a second of the worker ÷ those of the server.
async fn beside(
    model: &str,
    llama: Option<&str>,
    rounds: usize,
    batches: &[usize],
    cases: Option<&str>,
) {
    let Some(path) = llama else {
        println!("\nno llama-server given: nothing to compare with");
        return;
    };
    println!("\n## Worker ÷ llama-server, tokens a second (median of {rounds})\n");
    let all = [
        ("unconstrained", Case::free()),
        ("easy", Case::schemas("Github_easy")),
        ("medium", Case::schemas("Github_medium")),
        ("schema-heavy", Case::heavy()),
    ];
    let cases = table(all, cases);
    let slots = batches.iter().copied().fold(8, usize::max);
    let slots = u32::try_from(slots).expect("--batches takes numbers of slots");
    let ours = Server::worker(model, slots).await;
    let theirs = Server::llama(path, model, slots).await;
    let mut violations = (0, 0);
    for &batch in batches {
        let mut row = format!("| {batch} |");
        for case in &cases {
            let mut ratios = Vec::new();
            for _ in 0..rounds {
                let load = Load::new(batch, TOKENS);
                let (one, two) = (load.run(&ours, case).await, load.run(&theirs, case).await);
                violations.0 += one.violations;
                violations.1 += two.violations;
                ratios.push(one.rate() / two.rate());
            }
            row += &format!(" {:.3} |", median(&mut ratios));
        }
        println!("{row}");
    }
    println!(
        "\nfinished answers that break their schema: worker {}, llama-server {}",
        violations.0, violations.1
    );
}

/// 4. A data pipeline's batch job: thousands of requests at once with some distinct schemas.
async fn queue(model: &str, is_quick: bool) {
    let requests = if is_quick { 100 } else { 2_000 };
    println!("\n## {requests} requests at once, 50 schemas\n");
    let server = Server::worker(model, 32).await;
    let before = server.rss();
    let load = Load {
        requests,
        tokens: 16,
        batch: requests,
    };
    let case = Case::distinct(50);
    let done = tokio::time::timeout(Duration::from_secs(3_600), load.run(&server, &case));
    let done = done.await.expect("the queue hangs");
    let after = server.rss();
    let answered: Value = json!({
        "answered": done.answers, "refused": done.refused, "tokens": done.tokens,
        "rss_mib_before": before >> 20, "rss_mib_after": after >> 20,
    });
    println!("{answered}");
    assert_eq!(done.answers + done.refused, requests, "requests were lost");
}

/// 5. Drafts: tokens a second with them ÷ without, of answers that take things out of their prompt
///    and of answers that do not, and how many of the drafted tokens were right.
async fn extraction(model: &str, rounds: usize) {
    println!("\n## Drafts ÷ none, tokens a second (median of {rounds})\n");
    println!(
        "| answers | at once | ratio | least | most | drafted | right | of tokens | other texts |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let with = Server::worker_with(model, 8, &["--speculate", "auto"]).await;
    let without = Server::worker_with(model, 8, &["--speculate", "off"]).await;
    for (name, batch, case) in [
        ("extraction", 1, Case::extraction()),
        ("extraction", 2, Case::extraction()),
        ("Github_easy", 1, Case::schemas("Github_easy")),
        ("free text", 1, Case::free()),
    ] {
        let load = Load {
            requests: 12,
            tokens: EXTRACTED,
            batch,
        };
        // What is read from files and compiled once is read and compiled before.
        let (first, other) = (
            load.run(&with, &case).await,
            load.run(&without, &case).await,
        );
        let others = first.others(&other);
        let before = with.drafts().await;
        let (mut ratios, mut tokens) = (Vec::new(), 0);
        for _ in 0..rounds {
            let drafted = load.run(&with, &case).await;
            let plain = load.run(&without, &case).await;
            tokens += drafted.tokens;
            ratios.push(drafted.rate() / plain.rate());
        }
        let (middle, after) = (median(&mut ratios), with.drafts().await);
        let (least, most) = (ratios[0], ratios[ratios.len() - 1]);
        let (drafted, right) = (after.0 - before.0, after.1 - before.1);
        println!(
            "| {name} | {batch} | {middle:.2} | {least:.2} | {most:.2} | {drafted} | {right} | {tokens} | {others} of {} |",
            first.answers
        );
    }
}
