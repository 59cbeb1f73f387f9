//! The hostile rows of `tests/data`: their bytes, and whether what was seen meets what they
//! propose.

use super::proxy::Reply;
use base64::Engine;
use isogloss_testing::scripted::{Got, find};
use serde_json::Value;

/// One row.
pub struct Row {
    pub id: String,
    pub expect: Value,
    fields: Value,
}

/// What came of one.
#[derive(Debug, Default)]
pub struct Seen {
    /// Everything that the proxy wrote, in order, informational replies included.
    pub raw: Vec<u8>,
    /// The final replies.
    pub replies: Vec<Reply>,
    /// The proxy closed the connection.
    pub closed: bool,
    /// What reached the upstream.
    pub upstream: Vec<Got>,
    /// The lines that were logged, down to debug.
    pub log: Vec<String>,
}

impl Row {
    pub fn all(jsonl: &str) -> Vec<Self> {
        let read = |line: &str| {
            let fields: Value = serde_json::from_str(line).unwrap();
            Self {
                id: fields["id"].as_str().unwrap().to_owned(),
                expect: fields["expect"].clone(),
                fields,
            }
        };
        jsonl.lines().map(read).collect()
    }

    /// The bytes of a request, or of a body, in pieces.
    pub fn pieces(&self) -> Box<dyn Iterator<Item = Vec<u8>> + Send> {
        for name in ["body_b64", "raw_b64"] {
            if let Some(text) = self.fields[name].as_str() {
                let bytes = base64::engine::general_purpose::STANDARD.decode(text);
                return Box::new(std::iter::once(bytes.unwrap()));
            }
        }
        let recipe = &self.fields["recipe"];
        if let Some(headers) = recipe["headers"].as_str() {
            return compressed(headers);
        }
        let text = |name: &str| recipe[name].as_str().unwrap_or_default().to_owned();
        let count = usize::try_from(recipe["count"].as_u64().unwrap()).unwrap();
        let (unit, sep) = (text("unit"), text("sep"));
        let unique = recipe["unique_names"] == true;
        let last = count.saturating_sub(1);
        let one = move |index: usize| {
            let unit = if unique {
                unit.replace(r#""name":"a""#, &format!(r#""name":"a{index}""#))
            } else {
                unit.clone()
            };
            unit + if index == last { "" } else { &sep }
        };
        let (first, middle, end) = (text("prefix"), text("middle"), text("suffix_unit"));
        Box::new(
            std::iter::once(first.into_bytes())
                .chain(batches(count, one))
                .chain(std::iter::once(middle.into_bytes()))
                .chain(batches(count, move |_index| end.clone()))
                .chain(std::iter::once(text("suffix").into_bytes())),
        )
    }

    /// What the client does after the request's bytes, or how slowly it sends them.
    pub fn manner(&self, name: &str) -> Option<&Value> {
        self.fields["recipe"].get(name)
    }
}

/// `count` units, many in a piece.
fn batches(
    count: usize,
    unit: impl Fn(usize) -> String + Send + 'static,
) -> impl Iterator<Item = Vec<u8>> + Send {
    const BATCH: usize = 4096;
    (0..count).step_by(BATCH).map(move |from| {
        let all = (from..count.min(from + BATCH)).map(&unit);
        all.collect::<String>().into_bytes()
    })
}

/// A body that is said to be compressed. Whether it is shows only to who decodes it.
fn compressed(headers: &str) -> Box<dyn Iterator<Item = Vec<u8>> + Send> {
    const LENGTH: usize = 1 << 20;
    let head = format!("{headers}Content-Length: {LENGTH}\r\n\r\n").into_bytes();
    Box::new([head, vec![0x1f; LENGTH]].into_iter())
}

/// What of the proposal is not met; `None` where all is. What may be decided otherwise, the status
/// and what the upstream sees, comes last.
pub fn unmet(expect: &Value, seen: &Seen) -> Option<String> {
    let mut expect: Vec<_> = expect.as_object().unwrap().iter().collect();
    expect.sort_by_key(|(name, _)| !(name.starts_with("log_") || name.ends_with("header_absent")));
    expect
        .into_iter()
        .find(|(name, value)| !is_met(name, value, seen))
        .map(|(name, value)| format!("{name}: {value}"))
}

fn is_met(name: &str, value: &Value, seen: &Seen) -> bool {
    let first = seen.replies.first();
    let error = |field: &str| {
        let body: Option<Value> = first.and_then(|reply| serde_json::from_slice(&reply.body).ok());
        body.map(|body| body["error"][field].clone())
    };
    let strings = || {
        value
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v.as_str().unwrap())
    };
    let text = || value.as_str().unwrap();
    let count = |limit: usize| value.as_u64().unwrap() >= limit as u64;
    match name {
        "any_of" => value
            .as_array()
            .unwrap()
            .iter()
            .any(|one| unmet(one, seen).is_none()),
        "status" => value
            .as_array()
            .unwrap()
            .contains(&first.map_or(Value::Null, |reply| reply.status.into())),
        "never" => seen.replies.iter().all(|reply| *value != reply.status),
        "type" | "code" => error(name).as_ref() == Some(value),
        "close" => seen.closed,
        "first" => seen.raw.starts_with(text().as_bytes()),
        "responses" => count(seen.replies.len()),
        "upstream_max_requests" => count(seen.upstream.len()),
        "upstream_never_sees" => seen.upstream.iter().all(|got| got.target != text()),
        "upstream_sees_one" => seen.upstream.iter().all(|got| {
            let body = String::from_utf8_lossy(&got.body);
            body.matches(&format!("\"{}\"", text())).count() <= 1
        }),
        "upstream_body_absent" => seen.upstream.iter().all(|got| {
            let body: Value = serde_json::from_slice(&got.body).unwrap();
            body.get(text()).is_none()
        }),
        "upstream_header_absent" => seen.upstream.iter().all(|got| {
            strings().all(|absent| {
                let said = |(name, value): &(String, String)| format!("{name}: {value}");
                let mut lines = got.headers.iter().map(said);
                lines.all(|line| !line.to_ascii_lowercase().contains(absent))
            })
        }),
        // One letter is in every line.
        "log_absent" => strings()
            .filter(|text| text.len() > 2)
            .all(|text| seen.log.iter().all(|line| !line.contains(text))),
        "log_valid_json" => seen
            .log
            .iter()
            .all(|line| serde_json::from_str::<Value>(line).is_ok()),
        "log_max_lines" => count(
            seen.log
                .iter()
                .filter(|line| !line.contains("\"DEBUG\""))
                .count(),
        ),
        // That the process lives is tried with the next request; that a path in a header has
        // no authority, by the path that the upstream sees.
        "process" => true,
        "never_admin" => seen.upstream.iter().all(|got| got.target == "/v1/models"),
        // For people, and what a test cannot hold on a machine that it shares.
        "note" | "rss_growth_mb_max" | "ms_max" | "cpu_s_max" | "within_ms" | "closed_within_s"
        | "metric" => true,
        _ => panic!("{name} is not checked"),
    }
}

/// The first reply in the bytes, final or not, and what follows it; `None` where it is not whole.
pub fn split_reply(bytes: &[u8]) -> Option<(Reply, &[u8])> {
    let end = find(bytes, b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let status = head.split(' ').nth(1)?.trim().parse().ok()?;
    let mut reply = Reply {
        status,
        head,
        body: Vec::new(),
    };
    let mut rest = &bytes[end..];
    if let Some(length) = reply.header("content-length") {
        let length: usize = length.parse().unwrap();
        reply.body = rest.get(..length)?.to_vec();
        rest = &rest[length..];
    } else if reply.header("transfer-encoding").is_some() {
        let end = find(rest, b"0\r\n\r\n")? + 5;
        reply.body = super::proxy::unchunked(&rest[..end]);
        rest = &rest[end..];
    }
    Some((reply, rest))
}
