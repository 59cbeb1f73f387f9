//! Hostile request bodies, up to the point where something would be sent: refused where they must
//! be, accepted where they must be, and no field that steers a server ever gets to one.
//!
//! The cases are in `ISOGLOSS_DATA` (`../shared/data` where that is not set); without them there is
//! nothing to test. Bodies that are made by a recipe are the contract tests' matter.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod replay;

use base64::Engine as _;
use isogloss::error::Error;
use isogloss::exchange::{self, Exchange};
use isogloss::rules::{Rule, RuleSet, Version};
use serde_json::Value;
use std::path::Path;

const SERVERS: &[(&str, Option<&str>)] = &[
    ("vllm", Some("0.10.2")),
    ("vllm", Some("0.32.0")),
    ("sglang", Some("0.5.23")),
    ("llama-cpp", None),
    ("openai", None),
    ("plain", None),
];

#[test]
fn hostile_bodies_meet_what_is_expected_of_them() {
    let folder = std::env::var("ISOGLOSS_DATA").unwrap_or_else(|_| "../shared/data".to_owned());
    let path = Path::new(&folder).join("request_hostile.jsonl");
    let Ok(lines) = std::fs::read_to_string(&path) else {
        println!("skipped: no {} (set ISOGLOSS_DATA)", path.display());
        return;
    };
    let mut faults = Vec::new();
    for line in lines.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let Some(body) = case["body_b64"].as_str() else {
            continue;
        };
        let body = base64::engine::general_purpose::STANDARD
            .decode(body)
            .unwrap();
        for (name, version) in SERVERS {
            let rule = rule(name, *version);
            let outcome = sent(&body, &rule);
            if let Err(fault) = check(&case["expect"], &outcome, &rule) {
                let id = case["id"].as_str().unwrap();
                faults.push(format!("{id} to {}: {fault}", rule.label()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn rule(name: &str, version: Option<&str>) -> Rule {
    let version = version.and_then(Version::parse);
    RuleSet::builtin().resolve(name, version).unwrap()
}

/// The upstream body, or why nothing is sent.
fn sent(body: &[u8], rule: &Rule) -> Result<Vec<u8>, Error> {
    let exchange: Exchange = exchange::plan(exchange::read_chat(body)?, rule)?;
    replay::checks(&exchange)?;
    Ok(exchange.body.unwrap_or_else(|| body.to_vec()))
}

/// Whether a server gives the field a meaning; of an unknown server anything may be true.
fn is_known(field: &str, rule: &Rule) -> bool {
    let known: &[&str] = match field {
        "chat_parser" => &["llama-cpp"],
        "lora_path" | "custom_logit_processor" => &["sglang"],
        "kv_transfer_params"
        | "cache_salt"
        | "vllm_xargs"
        | "prompt_embeds"
        | "mm_processor_kwargs" => &["vllm"],
        "api_base" => &[],
        _ => &["vllm", "sglang", "llama-cpp"],
    };
    rule.dialect == "plain" || known.contains(&rule.dialect.as_str())
}

/// One of the ways that are good.
fn check(expect: &Value, outcome: &Result<Vec<u8>, Error>, rule: &Rule) -> Result<(), String> {
    if let Some(ways) = expect["any_of"].as_array() {
        let faults: Vec<String> = ways
            .iter()
            .filter_map(|way| check(way, outcome, rule).err())
            .collect();
        return match faults.len() < ways.len() {
            true => Ok(()),
            false => Err(faults.join(", nor: ")),
        };
    }
    if let Some(codes) = expect["status"].as_array() {
        let status = outcome.as_ref().map_or_else(Error::status, |_| 200);
        if !codes.iter().any(|code| *code == status) {
            return Err(format!("{status} instead of {}", expect["status"]));
        }
    }
    if let (Some(absent), Ok(body)) = (expect["upstream_body_absent"].as_str(), outcome) {
        // A client's own spelling of a constraint is compiled here before anything is sent.
        if absent.starts_with("guided_") || !is_known(absent, rule) {
            return Ok(());
        }
        let body: Value = serde_json::from_slice(body).unwrap();
        let found = body
            .get(absent)
            .or_else(|| body["chat_template_kwargs"].get(absent));
        if found.is_some() {
            return Err(format!("`{absent}` is sent"));
        }
    }
    Ok(())
}
