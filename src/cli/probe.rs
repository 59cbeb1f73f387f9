//! `isogloss probe URL`: a running server in; its kind, its version, how it was recognised and
//! the strategy for each demand out.

use super::demands::{demands, demands_json};
use super::{Failure, print, print_json, runtime, wire};
use crate::config::{Sources, UpstreamConfig, load};
use crate::rules::{ProbeAnswer, Recogniser, Rule, RuleSet, Step};
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;

/// A healthy server answers in milliseconds, a busy Python one in a second or two.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// `/v1/models` of the largest hosted APIs is some 100 KB.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// Flags of `probe`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The server: scheme, host and port, perhaps a base path. ISOGLOSS_UPSTREAM_API_KEY is sent
    /// where it is set.
    url: String,
    /// A folder of rule files that replace or add to the built-in ones.
    #[arg(long, value_name = "DIR", env = "ISOGLOSS_RULES")]
    rules: Option<PathBuf>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// A server that was recognised.
pub(super) struct Probed {
    pub(super) rule: Rule,
    /// The paths that were asked, each with its status; 0 where no answer came.
    asked: Vec<(String, u16)>,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let rules = wire::rules(args.rules.as_deref())?;
    let probed = identify(&rules, &args.url)?;
    if args.json {
        let asked = probed.asked.iter();
        let asked = asked.map(|(path, status)| json!({"path": path, "status": status}));
        return print_json(&json!({
            "dialect": probed.rule.dialect,
            "version": probed.rule.version.map(|version| version.to_string()),
            "asked": asked.collect::<Vec<_>>(),
            "strategies": demands_json(&probed.rule),
        }));
    }
    print(&text(&rules, &probed))
}

fn text(rules: &RuleSet, probed: &Probed) -> String {
    let rule = &probed.rule;
    let asked: Vec<String> = probed
        .asked
        .iter()
        .map(|(path, status)| match status {
            0 => format!("{path} (no answer)"),
            status => format!("{path} {status}"),
        })
        .collect();
    let how = match asked.as_slice() {
        [] => "by its host name".to_owned(),
        asked => format!("by GET {}", asked.join(", ")),
    };
    let mut text = format!(
        "server      {} ({})\nrecognised  {how}\n",
        rule.title,
        rule.label()
    );
    if rule.dialect == rules.fallback() {
        text += "note        nothing recognised it: pin it with --dialect if you know better\n";
    }
    let all = demands(rule);
    let width = all
        .iter()
        .map(|demand| demand.name.len())
        .max()
        .unwrap_or_default();
    let mut group = "";
    for demand in &all {
        if demand.group != group {
            group = demand.group;
            text += &format!("\n{}\n", group.replace('_', " "));
        }
        text += &format!("  {:width$}  {}\n", demand.name, demand.strategy);
    }
    text
}

/// Asks a server who it is.
pub(super) fn identify(rules: &RuleSet, url: &str) -> Result<Probed, Failure> {
    let key =
        |name: &str| (name == "ISOGLOSS_UPSTREAM_API_KEY").then(|| std::env::var(name).ok())?;
    let config = load(&Sources {
        flags: Vec::new(),
        upstreams: vec![url.to_owned()],
        dialect: None,
        file: None,
        env: &key,
        needs_upstream: true,
    })
    .map_err(|faults| {
        let says = |fault: &crate::config::Fault| format!("{}: {}", fault.what, fault.remedy);
        Failure::Usage(faults.0.iter().map(says).collect::<Vec<_>>().join("\n"))
    })?;
    let [upstream] = config.upstreams.as_slice() else {
        return Err(Failure::Usage("give one URL".to_owned()));
    };
    runtime()?.block_on(ask(rules, upstream))
}

async fn ask(rules: &RuleSet, upstream: &UpstreamConfig) -> Result<Probed, Failure> {
    let client = client()?;
    let base = upstream.url.as_str().trim_end_matches('/').to_owned();
    let mut recogniser = Recogniser::new(rules, upstream.url.host_str().unwrap_or_default());
    let mut asked = Vec::new();
    let identity = loop {
        let path = match recogniser.step() {
            Step::Done(identity) => break identity,
            Step::Ask(path) => path,
        };
        let mut request = client.get(format!("{base}{path}"));
        if let Some(key) = &upstream.api_key {
            request = request.bearer_auth(key.expose());
        }
        let answer = match request.send().await {
            Ok(response) => read(response).await,
            Err(error) if error.is_connect() => return Err(unreachable(&base, &error)),
            Err(_silent) => ProbeAnswer::default(),
        };
        if answer.status == 503 {
            return Err(Failure::Runtime(format!(
                "{base} is there, but it is not ready (503): it may be loading its model; try again"
            )));
        }
        asked.push((path.clone(), answer.status));
        recogniser.answer(&path, answer);
    };
    if !asked.is_empty() && asked.iter().all(|(_, status)| *status == 0) {
        return Err(Failure::Runtime(format!(
            "{base} takes connections, but answers nothing within {} s",
            ANSWER_WITHIN.as_secs()
        )));
    }
    let rule = rules
        .resolve(&identity.dialect, identity.version)
        .ok_or_else(|| Failure::Runtime(format!("there is no rule for {}", identity.dialect)))?;
    Ok(Probed { rule, asked })
}

fn client() -> Result<reqwest::Client, Failure> {
    // An error only says that a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .timeout(ANSWER_WITHIN)
        .build()
        .map_err(|error| Failure::Runtime(format!("the HTTP client cannot be set up: {error}")))
}

/// The deepest cause says it: connection refused, name not known, bad certificate.
fn unreachable(base: &str, error: &reqwest::Error) -> Failure {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    Failure::Runtime(format!("{base} cannot be reached: {cause}"))
}

async fn read(mut response: reqwest::Response) -> ProbeAnswer {
    let status = response.status().as_u16();
    let headers = response.headers().iter().filter_map(|(name, value)| {
        let value = value.to_str().ok()?.to_owned();
        Some((name.as_str().to_owned(), value))
    });
    let headers = headers.collect();
    let mut body = Vec::new();
    // What breaks off or is too long is no JSON; the status still tells something.
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_ANSWER_BYTES {
            break;
        }
    }
    ProbeAnswer {
        status,
        headers,
        body: serde_json::from_slice(&body).ok(),
    }
}
