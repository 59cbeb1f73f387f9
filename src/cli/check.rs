//! `isogloss check`: configuration and rule files in, `OK` or every fault out. A name that DNS does not know is a warning:
//! files are checked on other machines than those that serve, too. So is a variable that is nearly one that is read, and so are
//! servers of the file in whose place others are named.

use super::flags::ConfigArgs;
use super::{Failure, print, runtime, serve, wire};
use crate::admin::Door;
use crate::config::{Config, Name};
use crate::proxy;
use crate::upstream::{Resolver, Trouble};
use futures_util::future::join_all;
use isogloss_core::rules::RuleSet;
use std::time::Duration;

/// All names are asked for at once.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Flags of `check`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    config: ConfigArgs,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let is_given = args.config.is_given();
    let (config, odd) = args.config.loaded(is_given)?;
    let rules = checked(&config)?;
    let upstreams = match config.upstreams.len() {
        0 if config.worker.model.is_some() => "the worker alone".to_owned(),
        0 => "no upstream given: only the rules were checked".to_owned(),
        1 => "1 upstream".to_owned(),
        many => format!("{many} upstreams"),
    };
    let worker = match &config.worker.model {
        Some(model) => {
            format!("; the worker's model is {model} (whether it can be loaded, serving tells)")
        }
        None => String::new(),
    };
    print(&format!(
        "OK: {} dialects ({}); {upstreams}{worker}\n",
        rules.names().len(),
        rules.names().join(", ")
    ))?;
    let runtime = runtime(0)?;
    for warning in odd.into_iter().chain(runtime.block_on(unknown(&config))) {
        eprintln!("warning: {warning}");
    }
    // What the system still asks need not be waited for.
    runtime.shutdown_background();
    Ok(())
}

/// The rules, or all that is wrong with them and with what the configuration names.
fn checked(config: &Config) -> Result<RuleSet, Failure> {
    let mut wrong: Vec<String> = Vec::new();
    let mut note = |why: Option<String>| {
        // Both listeners have one certificate.
        let is_new = why.as_ref().is_some_and(|why| !wrong.contains(why));
        wrong.extend(why.filter(|_| is_new));
    };
    let rules = wire::rules(config.rules.as_deref());
    note(rules.as_ref().err().map(ToString::to_string));
    if let Ok(rules) = &rules {
        let worker = wire::check_worker(config, rules);
        note(worker.err().map(|error| error.to_string()));
    }
    let trust = serve::trust(config);
    note(trust.err().map(|error| error.to_string()));
    let clients = proxy::check_tls(config);
    note(clients.err().map(|error| error.to_string()));
    let operators = Door::new(config);
    note(operators.err().map(|error| error.to_string()));
    match rules {
        Ok(rules) if wrong.is_empty() => Ok(rules),
        _ => Err(Failure::Config(wrong.join("\n"))),
    }
}

/// The names of servers that DNS does not know here.
async fn unknown(config: &Config) -> Vec<String> {
    let resolver = Resolver::new(config.resolver);
    let mut hosts: Vec<(&str, u16)> = Vec::new();
    for one in config.upstreams.iter().filter(|one| one.servers.is_none()) {
        let Some(url::Host::Domain(host)) = one.url.host() else {
            continue;
        };
        let at = (host, one.url.port_or_known_default().unwrap_or_default());
        if !hosts.contains(&at) {
            hosts.push(at);
        }
    }
    let hosts = join_all(hosts.into_iter().map(async |(host, port)| {
        let found = tokio::net::lookup_host((host, port));
        let found = tokio::time::timeout(ANSWER_WITHIN, found).await;
        let trouble = match found {
            Ok(Ok(mut all)) => all.next().is_none().then_some(Trouble::Empty),
            Ok(Err(_unknown)) => Some(Trouble::Empty),
            Err(_elapsed) => Some(Trouble::Timeout),
        };
        trouble.map(|trouble| warning(host, "upstream.url", trouble))
    }));
    let names = config.names();
    let names = join_all(names.iter().map(async |name| {
        let found = tokio::time::timeout(ANSWER_WITHIN, resolver.ask(name)).await;
        let trouble = found.unwrap_or(Err(Trouble::Timeout)).err()?;
        let key = match name {
            Name::Addresses(_) => "upstream.addresses",
            Name::Service(_) => "upstream.srv",
        };
        Some(warning(name.as_str(), key, trouble))
    }));
    let (hosts, names) = tokio::join!(hosts, names);
    hosts.into_iter().chain(names).flatten().collect()
}

fn warning(name: &str, key: &str, trouble: Trouble) -> String {
    format!(
        "`{name}` ({key}): {trouble}; look at the name, and whether this machine asks the DNS server that knows it (`resolver`)"
    )
}
