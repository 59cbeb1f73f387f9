//! What a server was found to enforce: a report in, a table or JSON out.

use isogloss_core::probe::Report;
use isogloss_core::rules::{Finding, Probed, Verdict};
use serde_json::{Value, json};

/// Reasons are the server's messages: as much of one as fits a line or two.
const MAX_REASON_CHARS: usize = 160;

/// The report as JSON.
pub(super) fn report_json(report: &Report) -> Value {
    let findings = report.findings.iter().map(|found| {
        json!({
            "demand": found.probed.demand(),
            "spelling": spelling(found),
            "asked": found.words,
            "streamed": found.streamed,
            "verdict": found.verdict.as_str(),
            "reason": found.verdict.reason(),
        })
    });
    json!({
        "model": report.model,
        "system_fingerprint": report.system_fingerprint,
        "requests": report.requests,
        "findings": findings.collect::<Vec<_>>(),
        "ended": report.ended.as_ref().map(|ended| &ended.why),
    })
}

fn spelling(found: &Finding) -> Option<&str> {
    match &found.probed {
        Probed::Constraint { spelling, .. } => spelling.as_deref(),
        Probed::Choice(_) | Probed::ShowTools | Probed::Compose => None,
    }
}

/// The report as a table: the demand, what was asked, the verdict. `then` is what will be done
/// with the demand from now on.
pub(super) fn report_text(report: &Report, then: impl Fn(&Probed) -> String) -> String {
    let mut rows = vec![["demand", "asked with", "verdict", "so it is met by"].map(str::to_owned)];
    let mut notes = String::new();
    for found in &report.findings {
        let streamed = if found.streamed { ", streamed" } else { "" };
        let verdict = match (&found.probed, &found.verdict) {
            (Probed::ShowTools, Verdict::Enforced) => "shown",
            (Probed::ShowTools, Verdict::Ignored) => "not shown",
            (_, verdict) => verdict.as_str(),
        };
        rows.push([
            found.probed.demand().to_owned(),
            format!("{}{streamed}", found.words),
            verdict.to_owned(),
            then(&found.probed),
        ]);
        if let Some(reason) = found.verdict.reason() {
            let demand = found.probed.demand();
            notes += &format!("  {demand}{streamed}: {}\n", cut(reason));
        }
    }
    let mut text = String::new();
    if report.findings.is_empty() && report.ended.is_none() {
        text += "  nothing: its rule has no words for any demand\n";
    } else if !report.findings.is_empty() {
        text += &table(&rows);
    }
    if let Some(ended) = &report.ended {
        text += &format!("  ended early: {}\n", cut(&ended.why));
    }
    if !notes.is_empty() {
        text += &format!("\nreasons\n{notes}");
    }
    text
}

fn table(rows: &[[String; 4]]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let (a, b, c) = (width(0), width(1), width(2));
    let line = |[demand, asked, verdict, then]: &[String; 4]| {
        format!("  {demand:a$}  {asked:b$}  {verdict:c$}  {then}\n")
    };
    rows.iter().map(line).collect()
}

fn cut(reason: &str) -> String {
    let line = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_REASON_CHARS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
