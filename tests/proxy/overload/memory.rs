//! Bytes in flight, and the memory that comes back.

use super::binary::Binary;
use super::{announced, ask, is_overload, is_served, large};
use crate::support::chat::{
    EVENTS, GOOD, JSON, PLAIN, completion, content, demand, error_event, last, role, stream,
};
use crate::support::proxy::{Proxy, post};
use isogloss_testing::scripted::{Got, Scripted, Step, chunk, end, head, reply};
use std::time::Duration;
use tokio::task::JoinSet;

const MIB: usize = 1 << 20;
/// A message that only a budget of its own could hold beside others of its size.
const LARGE: usize = 3 * MIB;

/// Answers what is large after a while, so that its requests are held at once.
fn slowly_if_large(got: &Got) -> Vec<Step> {
    let pause = Duration::from_millis(if got.body.len() > MIB { 300 } else { 0 });
    vec![Step::Wait(pause), reply(200, JSON, &completion("hi"))]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_large_requests_stay_within_the_budget_and_small_ones_are_served_beside_them() {
    let upstream = Scripted::start(slowly_if_large).await;
    let program = Binary::start("", &upstream.url(), &["--memory-budget", "40MiB"]);
    let before = program.resident();
    let mut asked = JoinSet::new();
    for _ in 0..30 {
        asked.spawn(ask(program.address, large(LARGE)));
    }
    let mut small = 0;
    let mut answers = Vec::new();
    while let Some(answer) = asked.join_next().await {
        answers.push(answer.unwrap());
        assert_eq!(
            ask(program.address, post(super::CHAT, PLAIN)).await.status,
            200
        );
        small += 1;
    }
    let served = answers.iter().filter(|reply| reply.status == 200).count();
    let refused = answers.iter().filter(|reply| is_overload(reply)).count();
    let grown = program.peak() - before;
    println!(
        "30 requests of 3 MiB in a budget of 40 MiB: {served} served, {refused} refused, {small} small ones served; {grown:.0} MiB at the peak"
    );
    assert_eq!(served + refused, answers.len(), "{answers:?}");
    assert!(served > 0, "whoever fits is served");
    // 90 MiB of bodies, which would take some 300 while they are worked on; what the allocator keeps beside varies.
    assert!(grown < 130.0, "{grown} MiB");
    program.until_it_holds_nothing().await;
    if refused > 0 {
        let hits = program.metric("isogloss_limits_hit_total{limit=\"memory_budget\"}");
        assert_eq!(hits as usize, refused);
    }
    // One by one there is room for each.
    for _ in 0..3 {
        assert_eq!(ask(program.address, large(LARGE)).await.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_large_verified_replies_stay_within_the_budget() {
    let text = format!(r#"{{\"a\": 1, \"b\": \"{}\"}}"#, "x".repeat(LARGE));
    let text = completion(&text);
    let upstream = Scripted::start(move |got: &Got| {
        let is_large = got.body.windows(6).any(|part| part == b"\"much\"");
        let small = completion(GOOD);
        vec![reply(200, JSON, if is_large { &text } else { &small })]
    })
    .await;
    let program = Binary::start("", &upstream.url(), &["--memory-budget", "40MiB"]);
    let before = program.resident();
    let much = r#"{"model":"m","messages":[{"role":"user","content":"much"}],"response_format":{"type":"json_object"}}"#;
    let mut asked = JoinSet::new();
    for _ in 0..16 {
        asked.spawn(ask(program.address, post(super::CHAT, much)));
    }
    let mut answers = Vec::new();
    while let Some(answer) = asked.join_next().await {
        answers.push(answer.unwrap());
        let small = ask(program.address, post(super::CHAT, &demand(false))).await;
        assert_eq!(small.status, 200, "{}", small.text());
    }
    let served = answers.iter().filter(|reply| reply.status == 200).count();
    let refused = answers.iter().filter(|reply| is_overload(reply)).count();
    let grown = program.peak() - before;
    println!(
        "16 verified replies of 3 MiB in a budget of 40 MiB: {served} served, {refused} refused; {grown:.0} MiB at the peak"
    );
    assert_eq!(served + refused, answers.len());
    assert!(served > 0, "whoever fits is served");
    // Without a budget they are 16 times 7 times 3 MiB; what the allocator keeps beside varies.
    assert!(grown < 130.0, "{grown} MiB");
    program.until_it_holds_nothing().await;
    assert_eq!(
        ask(program.address, post(super::CHAT, much)).await.status,
        200
    );
}

#[tokio::test]
async fn what_clients_leave_behind_is_given_back() {
    let upstream = Scripted::start(|_got: &Got| vec![reply(200, JSON, &completion("hi"))]).await;
    let proxy = Proxy::with(&[&upstream.url()], |config| {
        config.limits.memory_budget = 4 * MIB;
    })
    .await;
    let half = large(100_000);
    let mut clients = Vec::new();
    for _ in 0..20 {
        clients.push(proxy.send(&half[..half.len() / 2]).await);
    }
    let held = || {
        let page = proxy.metrics.render();
        let line = page
            .lines()
            .find_map(|line| line.strip_prefix("isogloss_buffered_bytes "));
        line.unwrap().parse::<f64>().unwrap()
    };
    let begun = std::time::Instant::now();
    while held() < 20.0 * 45_000.0 {
        assert!(begun.elapsed() < Duration::from_secs(10), "{}", held());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    println!("20 halves of 100 kB are charged {} bytes", held());
    drop(clients);
    proxy.until_metrics_say("isogloss_buffered_bytes 0\n").await;
    is_served(&proxy).await;
    // What was only announced is not charged at all.
    let _silent = proxy.send(announced(400_000)).await;
    assert!(held() < 1000.0, "{}", held());
}

#[tokio::test]
async fn a_streamed_reply_may_say_no_more_than_a_whole_one() {
    let upstream = Scripted::start(|got: &Got| {
        let is_short = got.body.windows(7).any(|part| part == b"\"short\"");
        let text = "x".repeat(3000);
        let pieces = if is_short { 2 } else { 60 };
        let begin = role() + &content(r#"{\"a\": 1, \"b\": \""#);
        let mut steps = vec![head(EVENTS), chunk(&begin)];
        steps.extend((0..pieces).map(|_| chunk(&content(&text))));
        steps.extend([chunk(&(content(r#"\"}"#) + &last())), end()]);
        steps
    })
    .await;
    let proxy = Proxy::with(&[&upstream.url()], |config| {
        config.limits.reply_bytes = 100_000
    })
    .await;
    let ask = |word: &str| {
        format!(
            r#"{{"model":"m","stream":true,"messages":[{{"role":"user","content":"{word}"}}],"response_format":{{"type":"json_object"}}}}"#
        )
    };
    let long = proxy.chat(&ask("long")).await.reply().await;
    assert_eq!(error_event(&long.body).0, "upstream_too_large");
    let short = proxy.chat(&ask("short")).await.reply().await;
    assert!(
        short.text().ends_with("data: [DONE]\n\n"),
        "{}",
        short.text()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_twenty_waves_of_streams_memory_is_where_it_was_after_two() {
    const STREAMS: usize = 40;
    let upstream = Scripted::start(|_got: &Got| {
        let mut steps = stream(GOOD);
        steps.insert(1, Step::Wait(Duration::from_millis(50)));
        steps
    })
    .await;
    let program = Binary::start("", &upstream.url(), &[]);
    let mut after = Vec::new();
    for _ in 0..20 {
        let mut streams = JoinSet::new();
        for _ in 0..STREAMS {
            streams.spawn(ask(program.address, post(super::CHAT, &demand(true))));
        }
        while let Some(reply) = streams.join_next().await {
            let reply = reply.unwrap();
            assert!(
                reply.text().ends_with("data: [DONE]\n\n"),
                "{}",
                reply.text()
            );
        }
        after.push(program.resident());
    }
    println!("MiB after each wave of {STREAMS} streams: {after:.1?}");
    let (second, last) = (after[1], after[19]);
    assert!(last <= second * 1.1, "{second} MiB, then {last} MiB");
    program.until_it_holds_nothing().await;
}
