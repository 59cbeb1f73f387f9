//! What the configuration takes, what it refuses, and how it says so.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use super::*;
use crate::config::OnViolation;
use std::time::Duration;

mod upstreams;

struct Case {
    folder: tempfile::TempDir,
    env: Vec<(&'static str, &'static str)>,
    sources: Sources<'static>,
}

fn case() -> Case {
    Case {
        folder: tempfile::tempdir().unwrap(),
        env: Vec::new(),
        sources: Sources {
            flags: Vec::new(),
            upstreams: Vec::new(),
            dialect: None,
            markup: None,
            file: None,
            env: &|_| None,
            needs_upstream: true,
            words: &any_word,
        },
    }
}

impl Case {
    fn file(mut self, text: &str) -> Self {
        let path = self.folder.path().join("isogloss.toml");
        std::fs::write(&path, text).unwrap();
        self.sources.file = Some(path);
        self
    }

    fn env(mut self, name: &'static str, value: &'static str) -> Self {
        self.env.push((name, value));
        self
    }

    fn flag(mut self, name: &'static str, value: &str) -> Self {
        match name {
            "upstream" => self.sources.upstreams.push(value.to_owned()),
            "dialect" => self.sources.dialect = Some(value.to_owned()),
            "markup" => self.sources.markup = Some(value.to_owned()),
            _ => self.sources.flags.push((name, value.to_owned())),
        }
        self
    }

    fn load(self) -> Result<Config, String> {
        let env = |name: &str| {
            let found = self.env.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let sources = Sources {
            env: &env,
            ..self.sources
        };
        let folder = format!("{}/", self.folder.path().display());
        load(&sources).map_err(|faults| faults.to_string().replace(&folder, ""))
    }
}

#[test]
fn an_upstream_is_all_that_is_needed() {
    let config = case()
        .flag("upstream", "http://localhost:8000")
        .load()
        .unwrap();
    assert_eq!(config.upstreams.len(), 1);
    assert_eq!(config.upstreams[0].url.as_str(), "http://localhost:8000/");
    assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
}

#[test]
fn without_an_upstream_the_built_in_model_answers_and_where_there_is_none_it_is_a_fault() {
    let loaded = case().load();
    if cfg!(feature = "worker") {
        let config = loaded.unwrap();
        assert_eq!(config.worker.model, Some(ModelSource::Builtin));
        return assert!(config.upstreams.is_empty());
    }
    assert_eq!(
        loaded.unwrap_err(),
        "there is no upstream to send requests to: name the server that runs your model: \
         isogloss serve --upstream http://localhost:8000"
    );
}

#[test]
fn the_built_in_model_does_not_come_beside_an_upstream_unless_it_is_named() {
    let config = case().flag("upstream", "http://h").load().unwrap();
    assert_eq!(config.worker.model, None);
    if cfg!(feature = "worker") {
        let case = case().flag("upstream", "http://h");
        let config = case.flag("model", "builtin").load().unwrap();
        assert_eq!(config.worker.model, Some(ModelSource::Builtin));
    }
}

#[test]
fn a_flag_wins_over_a_variable_which_wins_over_the_file() {
    let text = "listen = \"127.0.0.1:1\"\nadmin = \"127.0.0.1:2\"\n\
                [limits]\nbody_bytes = \"1KiB\"\nconcurrency = 7\n\
                [timeouts]\nidle = \"9s\"\n[[upstream]]\nurl = \"http://file:1\"\n";
    let config = case()
        .file(text)
        .env("ISOGLOSS_LISTEN", "127.0.0.1:3")
        .env("ISOGLOSS_ADMIN", "127.0.0.1:4")
        .env("ISOGLOSS_UPSTREAM", "http://env:1, http://env:2")
        .flag("listen", "127.0.0.1:5")
        .load()
        .unwrap();
    assert_eq!(config.listen.port(), 5);
    assert_eq!(config.admin.port(), 4);
    assert_eq!(config.limits.body_bytes, 1024);
    assert_eq!(config.limits.concurrency, 7);
    assert_eq!(config.timeouts.idle, Duration::from_secs(9));
    let hosts: Vec<_> = config.upstreams.iter().map(|up| up.url.port()).collect();
    assert_eq!(hosts, [Some(1), Some(2)]);
}

#[test]
fn every_mistake_is_reported_at_once_with_its_line_and_the_remedy() {
    let text = "lisen = \"127.0.0.1:8080\"\non_violation = \"ignore\"\n\n\
                [timeouts]\nidle = 30\n\n[limits]\nbody_bytes = true\n\n\
                [[upstream]]\nurl = \"localhost:8000\"\nkind = \"vllm\"\n";
    let faults = case()
        .file(text)
        .env("ISOGLOSS_CONCURRENCY", "0")
        .flag("drain-timeout", "soon")
        .load()
        .unwrap_err();
    let expected = "\
isogloss.toml:1:1: unknown key `lisen`
  |
1 | lisen = \"127.0.0.1:8080\"
  | ^^^^^ did you mean `listen`?
isogloss.toml:2:16: `ignore` is no way to handle a violation
  |
2 | on_violation = \"ignore\"
  |                ^^^^^^^^ write retry, reject or pass
isogloss.toml:5:8: the time `30` has no unit
  |
5 | idle = 30
  |        ^^ write 30s for seconds, or 30ms, 30m, 30h
isogloss.toml:8:14: `limits.body_bytes` cannot be a boolean
  |
8 | body_bytes = true
  |              ^^^^ write a string or a whole number
isogloss.toml:11:7: the URL has no scheme
   |
11 | url = \"localhost:8000\"
   |       ^^^^^^^^^^^^^^^^ write scheme, host and port, such as http://localhost:8000 or https://api.openai.com, or unix:///run/server.sock
isogloss.toml:12:1: unknown key `upstream.kind`
   |
12 | kind = \"vllm\"
   | ^^^^ an upstream has url, urls, addresses, srv, name, models, aliases, weight, fallback, dialect, markup, thoughts, api_key_env, api_key_file, forward, max_in_flight, queue, queue_timeout, ca_file, client_cert_file, client_key_file
ISOGLOSS_CONCURRENCY: `0` is no count: write a whole number from 1 to 1000000
--drain-timeout: `soon` is no time: write a whole number and a unit, such as 500ms, 30s, 2m or 1h";
    assert_eq!(faults, expected);
}

#[test]
fn a_file_that_is_not_toml_is_a_fault_with_its_line() {
    let faults = case()
        .file("listen = \n[[upstream]]\nurl = \"http://x\"\n")
        .load()
        .unwrap_err();
    assert!(faults.starts_with("isogloss.toml:1:"), "{faults}");
}

#[test]
fn a_missing_file_is_a_fault() {
    let mut case = case();
    case.sources.file = Some(case.folder.path().join("absent.toml"));
    let faults = case.load().unwrap_err();
    assert!(
        faults.starts_with("--config: `absent.toml` cannot be read"),
        "{faults}"
    );
}

#[test]
fn an_empty_variable_is_an_unset_one() {
    let config = case()
        .env("ISOGLOSS_ON_VIOLATION", "")
        .env("ISOGLOSS_UPSTREAM", "http://h")
        .load()
        .unwrap();
    assert_eq!(config.on_violation, OnViolation::Retry);
}

#[test]
fn what_is_said_by_yes_or_no_may_be_a_boolean_in_the_file() {
    let open = |text: &str| {
        let case = case().file(text).flag("upstream", "http://h");
        case.load().map(|config| config.is_open)
    };
    assert_eq!(open("open = true"), Ok(true));
    assert_eq!(open("open = false\n[tls]\nadmin = false"), Ok(false));
    let faults = open("probe = true").unwrap_err();
    assert!(faults.contains("`probe` cannot be a boolean"), "{faults}");
}

#[test]
fn one_port_for_clients_and_operators_is_a_fault() {
    let faults = case()
        .flag("upstream", "http://h")
        .flag("admin", "127.0.0.1:8080")
        .load()
        .unwrap_err();
    assert!(faults.contains("different ports"), "{faults}");
}

#[test]
fn only_faults_on_the_command_line_are_usage_errors() {
    let usage = |case: Case| load(&case.sources).unwrap_err().is_usage();
    if !cfg!(feature = "worker") {
        assert!(usage(case()));
    }
    assert!(usage(case().flag("listen", "here")));
    assert!(!usage(case().file("colour = 1").flag("listen", "here")));
    let mut missing = case();
    missing.sources.file = Some(PathBuf::from("/none/isogloss.toml"));
    assert!(!usage(missing));
}

#[cfg(feature = "worker")]
#[test]
fn a_model_is_enough_and_its_path_starts_at_the_file_that_names_it() {
    let case = case().file("[worker]\nmodel = \"tiny.gguf\"\nslots = 4\ngpu_layers = 12\n");
    let model = case.folder.path().join("tiny.gguf");
    std::fs::write(&model, "GGUF").unwrap();
    let config = case.env("ISOGLOSS_WHITESPACE", "compact").load().unwrap();
    assert_eq!(config.worker.model, Some(ModelSource::Path(model)));
    assert_eq!(config.worker.slots, 4);
    assert_eq!(config.worker.gpu_layers, Some(12));
    assert_eq!(config.worker.whitespace, crate::config::JsonSpace::Compact);
    assert!(config.upstreams.is_empty());
}

#[cfg(feature = "worker")]
#[test]
fn what_the_worker_cannot_be_started_with_is_a_fault_with_the_remedy() {
    for (flag, value, fault) in [
        (
            "model",
            "absent.gguf",
            "`absent.gguf` is not there: name a GGUF file, or a folder of them, or write builtin",
        ),
        (
            "chat-template",
            "absent.jinja",
            "`absent.jinja` is no file: name a file that holds the template",
        ),
        (
            "slots",
            "0",
            "`0` is no count: write a whole number from 1 to 256",
        ),
        (
            "gpu-layers",
            "some",
            "`some` is no count: write a whole number from 0 to 10000, or all",
        ),
        (
            "whitespace",
            "wide",
            "`wide` is no way to lay out JSON: write flexible or compact",
        ),
        (
            "speculate",
            "on",
            "`on` is no way to draft answers: write auto, always or off",
        ),
        (
            "device",
            " ",
            "this is no name of a device: write 1 to 200 characters without line feeds",
        ),
    ] {
        let case = case().flag("upstream", "http://h");
        let found = case.flag(flag, value).load().unwrap_err();
        assert_eq!(found, format!("--{flag}: {fault}"));
    }
}

#[cfg(not(feature = "worker"))]
#[test]
fn a_build_without_the_worker_says_how_to_get_one_that_has_it() {
    let faults = case().flag("model", "tiny.gguf").load().unwrap_err();
    assert!(faults.contains("this build has no worker"), "{faults}");
    assert!(faults.contains("--features worker"), "{faults}");
}

#[test]
fn what_is_half_said_is_told_where_it_stands() {
    let text = |keys: &str| format!("{keys}\n[[upstream]]\nurl = \"http://a\"\n");
    for (keys, told) in [
        (
            "[tls]\ncert = \"isogloss.toml\"",
            "isogloss.toml:2:8: tls.cert alone says not enough",
        ),
        (
            "[tls]\nadmin = \"mutual\"",
            "isogloss.toml:2:9: tls.admin alone says not enough",
        ),
        (
            "listen = \"127.0.0.1:9090\"",
            "isogloss.toml:1:10: clients and operators would both connect",
        ),
        (
            "listen = \"127.0.0.1:8080\"\nadmin = \"127.0.0.1:8080\"",
            "isogloss.toml:2:9: clients and operators would both connect",
        ),
    ] {
        let faults = case().file(&text(keys)).load().unwrap_err();
        assert!(faults.starts_with(told), "{faults}");
    }
}
