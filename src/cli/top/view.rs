//! What was seen of a proxy in, a screen out.

use crate::cli::is_obeyed;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph, Row, Table};
use serde_json::Value;
use std::time::Instant;

/// A proxy at one moment.
pub(super) struct Seen {
    overview: Value,
    requests: Value,
    at: Instant,
    /// Tokens of the worker's answers, and requests, a second since the moment before.
    rates: Option<(f64, f64)>,
}

impl Seen {
    pub(super) fn new(
        overview: Value,
        requests: Value,
        at: Instant,
        before: Option<&Self>,
    ) -> Self {
        let mut seen = Self {
            overview,
            requests,
            at,
            rates: None,
        };
        seen.rates = before.map(|before| {
            let seconds = at.duration_since(before.at).as_secs_f64().max(0.001);
            let rate = |name| (seen.sum(name) - before.sum(name)).max(0.0) / seconds;
            (
                rate("isogloss_worker_completion_tokens_total"),
                rate("isogloss_requests_total"),
            )
        });
        seen
    }

    fn family(&self, name: &str) -> &[Value] {
        let family = self.overview["families"][name].as_array();
        family.map_or(&[], Vec::as_slice)
    }

    fn sum(&self, name: &str) -> f64 {
        let values = self.family(name).iter();
        values
            .filter_map(|one| one["value"].as_f64().or_else(|| one["count"].as_f64()))
            .fold(0.0, |all, one| all + one)
    }

    fn sum_of(&self, name: &str, label: &str, value: &str) -> f64 {
        let family = self.family(name).iter();
        let those = family.filter(|one| one["labels"][label] == value);
        those.filter_map(|one| one["value"].as_f64()).sum()
    }

    /// The mean of all observations, seconds.
    fn mean(&self, name: &str) -> Option<f64> {
        let of = |part: &str| {
            self.family(name)
                .iter()
                .filter_map(|one| one[part].as_f64())
                .sum::<f64>()
        };
        let count = of("count");
        (count > 0.0).then(|| of("sum") / count)
    }

    /// What happened most, `rule action 12`.
    fn most(&self, name: &str, most: usize) -> Vec<(String, f64)> {
        let told = |one: &Value| {
            let labels = one["labels"].as_object()?;
            let words: Vec<_> = labels.values().filter_map(Value::as_str).collect();
            Some((words.join(" "), one["value"].as_f64()?))
        };
        let mut all: Vec<_> = self.family(name).iter().filter_map(told).collect();
        all.retain(|(_, count)| *count > 0.0);
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all.truncate(most);
        all
    }
}

fn soft() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

fn tone(word: &str) -> Style {
    match word {
        "ready" | "ok" | "enforces" | "native" | "enforced" => Style::new().fg(Color::Green),
        "down" | "violated" | "upstream_error" | "proxy_error" | "refuse" | "ignored"
        | "not ready" => Style::new().fg(Color::Red),
        _ => Style::new().fg(Color::Yellow),
    }
}

/// A word out of JSON, where it may be missing. What a client chose is drawn, not obeyed: no control characters.
fn word(value: &Value) -> String {
    let text = match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    text.chars().filter(|letter| !is_obeyed(*letter)).collect()
}

fn time(seconds: Option<f64>) -> String {
    match seconds {
        None => "-".to_owned(),
        Some(seconds) if seconds < 0.001 => format!("{:.0} µs", seconds * 1e6),
        Some(seconds) if seconds < 1.0 => format!("{:.0} ms", seconds * 1e3),
        Some(seconds) => format!("{seconds:.1} s"),
    }
}

fn ms(value: &Value) -> String {
    time(value.as_f64().map(|ms| ms / 1e3))
}

fn bytes(count: f64) -> String {
    match count {
        ..1024.0 => format!("{count} B"),
        ..1_048_576.0 => format!("{:.0} KiB", count / 1024.0),
        _ => format!("{:.0} MiB", count / 1_048_576.0),
    }
}

fn share(part: f64, whole: f64) -> String {
    if whole > 0.0 {
        format!("{:.0} %", 100.0 * part / whole)
    } else {
        "-".to_owned()
    }
}

/// The whole screen.
pub(super) fn draw(frame: &mut Frame<'_>, seen: &Seen, base: &str, fault: Option<&str>) {
    let upstreams = seen.overview["capabilities"]["upstreams"].as_array();
    let upstreams = upstreams.map_or(0, Vec::len) as u16;
    let [head, servers, middle, requests, foot] = Layout::vertical([
        Constraint::Length(3),
        Constraint::Length((upstreams + 3).min(9)),
        Constraint::Length(8),
        Constraint::Min(4),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    draw_head(frame, head, seen, base);
    draw_servers(frame, servers, seen);
    let has_worker = !seen.family("isogloss_worker_slots").is_empty();
    let columns = Layout::horizontal(vec![Constraint::Fill(1); if has_worker { 4 } else { 3 }]);
    let columns = columns.split(middle);
    let boxes = [
        ("violations", counted(seen, "isogloss_violations_total")),
        ("losses", counted(seen, "isogloss_losses_total")),
        ("caches and time", caches(seen)),
        ("worker", worker(seen)),
    ];
    for ((title, lines), area) in boxes.into_iter().zip(columns.iter()) {
        let block = Block::bordered().title(format!(" {title} "));
        frame.render_widget(Paragraph::new(lines).block(block), *area);
    }
    draw_requests(frame, requests, seen);
    let foot_line = match fault {
        Some(fault) => Line::styled(format!(" {fault}"), Style::new().fg(Color::Red)),
        None => Line::styled(" q ends; every 2 seconds", soft()),
    };
    frame.render_widget(foot_line, foot);
}

fn draw_head(frame: &mut Frame<'_>, area: Rect, seen: &Seen, base: &str) {
    let readiness = &seen.overview["readiness"];
    let state = match (readiness["draining"] == true, readiness["ready"] == true) {
        (true, _) => "draining",
        (_, true) => "ready",
        _ => "not ready",
    };
    let all = seen.sum("isogloss_requests_total");
    let good = seen.sum_of("isogloss_requests_total", "outcome", "ok");
    let mut text = format!(
        "   {all} requests, {} right   {} in flight   {} streams   {} of memory",
        share(good, all),
        seen.sum("isogloss_requests_in_flight"),
        seen.sum("isogloss_streams_open"),
        bytes(seen.sum("process_resident_memory_bytes")),
    );
    if let Some((_, requests)) = seen.rates {
        text += &format!("   {requests:.1} a second");
    }
    let title = format!(" isogloss {} at {base} ", word(&seen.overview["version"]));
    let line = Line::from(vec![
        Span::styled(format!(" {state}"), tone(state)),
        Span::raw(text),
    ]);
    frame.render_widget(
        Paragraph::new(line).block(Block::bordered().title(title)),
        area,
    );
}

fn draw_servers(frame: &mut Frame<'_>, area: Rect, seen: &Seen) {
    let told = seen.overview["readiness"]["upstreams"].as_array();
    let rows = told.map_or(&[][..], Vec::as_slice).iter().map(|one| {
        let (state, enforcement) = (word(&one["state"]), word(&one["enforcement"]));
        let reason = word(&one["reason"]);
        Row::new([
            Span::raw(word(&one["url"])),
            Span::raw(word(&one["dialect"])),
            Span::styled(state.clone(), tone(&state)),
            Span::styled(enforcement.replace('_', " "), tone(&enforcement)),
            Span::styled(if reason == "-" { String::new() } else { reason }, soft()),
        ])
    });
    let widths = [
        Constraint::Fill(2),
        Constraint::Length(18),
        Constraint::Length(10),
        Constraint::Length(16),
        Constraint::Fill(2),
    ];
    let header = Row::new(["upstream", "dialect", "state", "enforcement", "why"]).style(soft());
    let table = Table::new(rows, widths).header(header);
    frame.render_widget(table.block(Block::bordered().title(" upstreams ")), area);
}

fn counted(seen: &Seen, name: &str) -> Vec<Line<'static>> {
    let most = seen.most(name, 6);
    if most.is_empty() {
        return vec![Line::styled(" none", soft())];
    }
    let lines = most
        .into_iter()
        .map(|(words, count)| Line::raw(format!(" {count:>5} {words}")));
    lines.collect()
}

fn caches(seen: &Seen) -> Vec<Line<'static>> {
    let rate = |stem: &str| {
        let found = seen.sum(&format!("{stem}_hits_total"));
        share(found, found + seen.sum(&format!("{stem}_misses_total")))
    };
    let slowest = seen.family("isogloss_grammar_compile_seconds").iter();
    let slowest = slowest
        .filter_map(|one| one["most"].as_f64())
        .reduce(f64::max);
    [
        format!(" constraints {} found", rate("isogloss_grammar_cache")),
        format!(" translations {} found", rate("isogloss_translation_cache")),
        format!(" slowest compile ≤ {}", time(slowest)),
        format!(" added {}", time(seen.mean("isogloss_added_seconds"))),
        format!(" upstream {}", time(seen.mean("isogloss_upstream_seconds"))),
        format!(" sent again {}", seen.sum("isogloss_retries_total")),
    ]
    .map(Line::raw)
    .to_vec()
}

fn worker(seen: &Seen) -> Vec<Line<'static>> {
    let rate = seen
        .rates
        .map_or_else(|| "-".to_owned(), |(tokens, _)| format!("{tokens:.0}"));
    [
        format!(" {rate} tokens a second"),
        format!(
            " batch {} of {}",
            seen.sum("isogloss_worker_running"),
            seen.sum("isogloss_worker_slots")
        ),
        format!(" queue {}", seen.sum("isogloss_worker_waiting")),
        format!(" mask {}", time(seen.mean("isogloss_worker_mask_seconds"))),
        format!(
            " tokens {}",
            seen.sum("isogloss_worker_completion_tokens_total")
        ),
    ]
    .map(Line::raw)
    .to_vec()
}

fn draw_requests(frame: &mut Frame<'_>, area: Rect, seen: &Seen) {
    let told = seen.requests["requests"].as_array();
    let rows = told.map_or(&[][..], Vec::as_slice).iter().map(|one| {
        let outcome = word(&one["outcome"]);
        let from = if one["client"].is_null() {
            &one["path"]
        } else {
            &one["client"]
        };
        Row::new([
            Span::raw(clock(one["time"].as_u64().unwrap_or_default())),
            Span::raw(format!("{} → {}", word(from), word(&one["server"]))),
            Span::raw(word(&one["model"])),
            Span::raw(word(&one["strategy"])),
            Span::styled(outcome.clone(), tone(&outcome)),
            Span::raw(ms(&one["duration_ms"])),
            Span::raw(ms(&one["own_ms"])),
            Span::raw(word(&one["losses"])),
            Span::raw(word(&one["retries"])),
        ])
    });
    let widths = [
        Constraint::Length(8),
        Constraint::Fill(2),
        Constraint::Fill(1),
        Constraint::Length(11),
        Constraint::Length(14),
        Constraint::Length(7),
        Constraint::Length(7),
        Constraint::Length(6),
        Constraint::Length(7),
    ];
    let heads = [
        "time UTC",
        "client → server",
        "model",
        "strategy",
        "outcome",
        "took",
        "added",
        "losses",
        "retries",
    ];
    let table = Table::new(rows, widths).header(Row::new(heads).style(soft()));
    frame.render_widget(
        table.block(Block::bordered().title(" the last requests ")),
        area,
    );
}

/// The time of day of Unix milliseconds, in UTC.
fn clock(ms: u64) -> String {
    let seconds = ms / 1000 % 86_400;
    format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rates_come_of_two_moments_and_control_characters_are_not_drawn() {
        let at = |tokens: u64| json!({"families": {"isogloss_worker_completion_tokens_total": [{"labels": {}, "value": tokens}]}});
        let now = Instant::now();
        let first = Seen::new(at(10), json!({}), now, None);
        let second = Seen::new(
            at(50),
            json!({}),
            now + std::time::Duration::from_secs(2),
            Some(&first),
        );
        assert_eq!(first.rates, None);
        assert_eq!(second.rates, Some((20.0, 0.0)));
        assert_eq!(word(&json!("a\u{1b}[2J\u{9b}\u{202e}b")), "a[2Jb");
        assert_eq!(clock(3_723_000), "01:02:03");
    }
}
