//! What a run found, as JSON and as a table.

use super::load::Side;
use super::open::Open;
use super::saturation::Saturated;
use super::slow::Slow;
use super::translation::Timed;
use super::{Args, Case, Memory, Report};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::Duration;

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// What a proxy adds at a quantile; negative where noise is larger than the proxy's work.
fn added(side: &Side, direct: &Side, quantile: f64) -> f64 {
    millis(side.quantile(quantile)) - millis(direct.quantile(quantile))
}

pub(super) fn to_json(report: &Report) -> Value {
    let case = |(case, sides): &(Case, Vec<Side>)| {
        let direct = sides.first()?;
        let side = |side: &Side| {
            if let Some(failed) = &side.failed {
                return json!({"name": side.name, "failed": failed});
            }
            json!({
                "name": side.name,
                "strategy": side.strategy,
                "answers": side.answers(),
                "is_too_short": side.is_too_short(),
                "p50_ms": millis(side.quantile(0.5)),
                "p90_ms": millis(side.quantile(0.9)),
                "p99_ms": millis(side.quantile(0.99)),
                "added_p50_ms": added(side, direct, 0.5),
                "added_p90_ms": added(side, direct, 0.9),
                "added_p99_ms": added(side, direct, 0.99),
                "first_p50_ms": millis(side.first_quantile(0.5)),
                "added_first_p50_ms": millis(side.first_quantile(0.5)) - millis(direct.first_quantile(0.5)),
                "requests_per_second": side.requests_per_second(),
                "events_per_second": side.events_per_second(),
                "cpu_us_per_request": side.cpu_per_request(),
                "cpu_us_per_event": side.cpu_per_event().filter(|_| case.is_stream()),
            })
        };
        Some(json!({"case": case.as_str(), "sides": sides.iter().map(side).collect::<Vec<_>>()}))
    };
    let translation = |timed: &Timed| {
        json!({
            "work": timed.work.as_str(),
            "server": timed.work.server().0,
            "without_memo_p50_ms": millis(timed.p50_without()),
            "with_memo_p50_ms": millis(timed.p50_with()),
            "ratio": timed.ratio(),
        })
    };
    let memory = |memory: &Memory| {
        json!({
            "name": memory.name,
            "rss_idle_bytes": memory.idle,
            "rss_after_bytes": memory.after,
            "rss_a_minute_later_bytes": memory.later,
        })
    };
    json!({
        "missing": report.missing.iter().map(|(name, why)| json!({"name": name, "why": why})).collect::<Vec<_>>(),
        "saturation": report.saturation.iter().map(saturated).collect::<Vec<_>>(),
        "slow_readers": report.slow.iter().map(slow).collect::<Vec<_>>(),
        "open_streams": report.open.iter().map(open).collect::<Vec<_>>(),
        "translations": report.translations.iter().map(translation).collect::<Vec<_>>(),
        "cases": report.cases.iter().filter_map(case).collect::<Vec<_>>(),
        "memory": report.memory.iter().map(memory).collect::<Vec<_>>(),
    })
}

fn saturated(saturated: &Saturated) -> Value {
    let (case, name) = (saturated.case.as_str(), &saturated.name);
    match &saturated.outcome {
        Err(why) => json!({"case": case, "name": name, "failed": why}),
        Ok(kept) => json!({
            "case": case,
            "name": name,
            "requests_per_second": kept.requests_per_second,
            "is_at_least": kept.is_at_least(),
            "p99_ms": millis(kept.p99),
            "processor_used": kept.used,
        }),
    }
}

fn slow(slow: &Slow) -> Value {
    match &slow.outcome {
        Err(why) => json!({"name": slow.name, "failed": why}),
        Ok(suffered) => json!({
            "name": slow.name,
            "rss_before_bytes": suffered.idle,
            "rss_with_bytes": suffered.with,
            "ahead_bytes": suffered.ahead,
            "p99_alone_ms": millis(suffered.p99_alone),
            "p99_beside_ms": millis(suffered.p99_beside),
        }),
    }
}

fn open(open: &Open) -> Value {
    let (name, streams) = (&open.name, open.streams);
    match &open.outcome {
        Err(why) => json!({"name": name, "streams": streams, "failed": why}),
        Ok(held) => json!({
            "name": name,
            "streams": streams,
            "rss_before_bytes": held.idle,
            "rss_open_bytes": held.open,
            "gap_p50_ms": millis(held.gap(0.5)),
            "gap_p99_ms": millis(held.gap(0.99)),
        }),
    }
}

/// A number in its column, or a dash where it is not known.
fn column(number: Option<f64>, width: usize, digits: usize) -> String {
    number.map_or_else(
        || format!("{:>width$}", "-"),
        |number| format!("{number:>width$.digits$}"),
    )
}

pub(super) fn table(report: &Report, args: &Args) -> String {
    let mut text = String::from(
        "case             proxy      strategy     added p50  added p99      CPU/request  CPU/event   requests/s   events/s\n",
    );
    for (case, sides) in &report.cases {
        for side in sides {
            if let Some(failed) = &side.failed {
                let _ = writeln!(
                    text,
                    "{:<16} {:<10} failed: {failed}",
                    case.as_str(),
                    side.name
                );
                continue;
            }
            let direct = side.name == "direct";
            let added = |quantile| Some(added(side, sides.first()?, quantile)).filter(|_| !direct);
            let streams = case.is_stream();
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{:<16} {:<10} {:<11} {} ms {} ms {} µs {} µs {:>12.0} {}",
                case.as_str(),
                side.name,
                side.strategy,
                column(added(0.5), 8, 3),
                column(added(0.99), 7, 3),
                column(side.cpu_per_request(), 13, 0),
                column(side.cpu_per_event().filter(|_| streams), 8, 2),
                side.requests_per_second(),
                column(Some(side.events_per_second()).filter(|_| streams), 10, 0),
            );
            if side.is_too_short() {
                let _ = writeln!(
                    text,
                    "{:<16} {:<10} too short: the milliseconds are of {} answers; --seconds gives it more",
                    case.as_str(),
                    side.name,
                    side.answers()
                );
            }
        }
    }
    text.push_str(
        "\nwritten for a server     p50 the first time  p50 once remembered  times as fast\n",
    );
    for timed in &report.translations {
        let _ = writeln!(
            text,
            "{:<16} {:<10} {:>12.3} ms {:>17.3} ms {:>14.1}",
            timed.work.as_str(),
            timed.work.server().0,
            millis(timed.p50_without()),
            millis(timed.p50_with()),
            timed.ratio(),
        );
    }
    for (name, why) in &report.missing {
        let _ = writeln!(text, "{name} is not measured: {why}");
    }
    text.push('\n');
    for memory in &report.memory {
        let later = match memory.later {
            Some(_) => format!(", {} a minute later", mib(memory.later)),
            None => String::new(),
        };
        let _ = writeln!(
            text,
            "memory (RSS) of {}: {} idle, {} after the load{later}",
            memory.name,
            mib(memory.idle),
            mib(memory.after),
        );
    }
    in_crowds(&mut text, report, args);
    let _ = writeln!(
        text,
        "added: quantile through the proxy less quantile direct, one request at a time, in turn.\n\
         CPU and rates: {} requests at once; client, server and proxy share this machine's {} cores.",
        args.concurrency,
        crate::proxy::processors(),
    );
    text
}

fn mib(bytes: Option<u64>) -> String {
    match bytes {
        Some(bytes) => format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20)),
        None => "unknown".to_owned(),
    }
}

/// KiB that each of so many takes; a dash where that is not known.
fn each(before: Option<u64>, with: Option<u64>, count: u16) -> String {
    let grown = with
        .zip(before)
        .map(|(with, before)| with.saturating_sub(before));
    column(
        grown.map(|bytes| bytes as f64 / 1024.0 / f64::from(count.max(1))),
        0,
        1,
    )
}

/// On one processor, with slow readers, with many streams.
fn in_crowds(text: &mut String, report: &Report, args: &Args) {
    // Writing to a string cannot fail.
    for saturated in &report.saturation {
        let (case, name) = (saturated.case.as_str(), &saturated.name);
        let _ = match &saturated.outcome {
            Err(why) => writeln!(text, "on one processor {name}, {case}: failed: {why}"),
            Ok(kept) => writeln!(
                text,
                "on one processor {name}, {case}: {}{:.0} requests/s, of which 99 in 100 are answered within {:.1} ms",
                if kept.is_at_least() { "at least " } else { "" },
                kept.requests_per_second,
                millis(kept.p99),
            ),
        };
    }
    let readers = args.slow_readers.unwrap_or_default();
    for slow in &report.slow {
        let _ = match &slow.outcome {
            Err(why) => writeln!(
                text,
                "{readers} slow readers at {}: failed: {why}",
                slow.name
            ),
            Ok(suffered) => writeln!(
                text,
                "{readers} slow readers at {}: {} KiB each, {} KiB of each sent and not read; p99 of others {:.2} ms, without them {:.2} ms",
                slow.name,
                each(suffered.idle, suffered.with, readers),
                suffered.ahead >> 10,
                millis(suffered.p99_beside),
                millis(suffered.p99_alone),
            ),
        };
    }
    for open in &report.open {
        let (streams, name) = (open.streams, &open.name);
        let _ = match &open.outcome {
            Err(why) => writeln!(text, "{streams} open streams in {name}: failed: {why}"),
            Ok(held) => writeln!(
                text,
                "{streams} open streams in {name}: {} before, {} with them ({} KiB each); events that are a second apart come {:.0} ms apart (p99)",
                mib(held.idle),
                mib(held.open),
                each(held.idle, held.open, streams),
                millis(held.gap(0.99)),
            ),
        };
    }
    if report
        .saturation
        .iter()
        .any(|one| matches!(&one.outcome, Ok(kept) if kept.is_at_least()))
    {
        text.push_str("at least: who asks, and the server, were slower than the proxy, which had time left.\n");
    }
}
