//! The real program: SIGHUP and files that change.

use crate::cli::{Serving, VLLM, command, scripted, serving_with};
use isogloss::config::KeyHash;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

fn block(name: &str, upstream: &str) -> String {
    let hash = KeyHash::of(name.as_bytes());
    format!(
        "[[upstream]]\nurl = \"{upstream}\"\n[[client]]\nname = \"{name}\"\nkey_sha256 = \"{hash}\"\n"
    )
}

fn serving(file: &Path, every: &str) -> Serving {
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
    let mut command = command(&arguments);
    command.args(["--probe", "off", "--reload-every", every]);
    serving_with(command.arg("--config").arg(file))
}

fn status(serving: &Serving, key: &str) -> String {
    let mut client = TcpStream::connect(&serving.listen).unwrap();
    write!(
        client,
        "GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let mut reply = String::new();
    client.read_to_string(&mut reply).unwrap();
    reply.split(' ').nth(1).unwrap().to_owned()
}

#[test]
fn sighup_puts_the_file_in_force_and_one_with_faults_leaves_what_was() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("isogloss.toml");
    let upstream = scripted(VLLM);
    fs::write(&file, block("a", &upstream)).unwrap();
    let serving = serving(&file, "0");
    serving.eventually("/readyz", "HTTP/1.1 200 ");
    assert_eq!(status(&serving, "a"), "200");
    fs::write(&file, block("b", &upstream)).unwrap();
    serving.signal("-HUP");
    serving.until_said(
        "/metrics",
        "isogloss_config_reloads_total{outcome=\"applied\"} 1",
    );
    assert_eq!(
        (
            status(&serving, "a").as_str(),
            status(&serving, "b").as_str()
        ),
        ("401", "200")
    );
    fs::write(&file, "on_violation = \"never\"\nlisen = 1\n").unwrap();
    serving.signal("-HUP");
    serving.until_said(
        "/metrics",
        "isogloss_config_reloads_total{outcome=\"refused\"} 1",
    );
    serving.until_said("/metrics", "isogloss_config_last_reload_successful 0");
    let ready = serving.until_said("/readyz", "\"stale\": true");
    assert!(ready.starts_with("HTTP/1.1 200 "), "{ready}");
    assert_eq!(status(&serving, "b"), "200");
    let log = serving.log();
    for fault in ["on_violation", "lisen", "did you mean `listen`?"] {
        assert!(log.contains(fault), "{log}");
    }
    let text = "responses.store = \"memory\"\nlisten = \"127.0.0.1:1\"\n".to_owned();
    fs::write(&file, text + &block("a", &upstream)).unwrap();
    serving.signal("-HUP");
    serving.until_said("/metrics", "isogloss_config_last_reload_successful 1");
    serving.until_said("/readyz", "\"stale\": false");
    assert_eq!(status(&serving, "a"), "200");
    // `listen` is a flag, which wins, and so does not change.
    let log = serving.log();
    let keys = log.lines().find(|line| line.contains("needs a restart"));
    assert!(
        keys.is_some_and(|line| line.contains("responses.store") && !line.contains("listen,")),
        "{log}"
    );
}

#[test]
fn a_file_that_changes_is_read_also_behind_a_link_as_kubernetes_changes_it() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let upstream = scripted(VLLM);
    for (version, client) in [("v1", "a"), ("v2", "b")] {
        fs::create_dir(at(version)).unwrap();
        fs::write(at(version).join("isogloss.toml"), block(client, &upstream)).unwrap();
    }
    symlink("v1", at("..data")).unwrap();
    symlink("..data/isogloss.toml", at("isogloss.toml")).unwrap();
    let serving = serving(&at("isogloss.toml"), "50ms");
    serving.eventually("/readyz", "HTTP/1.1 200 ");
    assert_eq!(status(&serving, "a"), "200");
    symlink("v2", at("..new")).unwrap();
    fs::rename(at("..new"), at("..data")).unwrap();
    serving.until_said(
        "/metrics",
        "isogloss_config_reloads_total{outcome=\"applied\"} 1",
    );
    assert_eq!(
        (
            status(&serving, "a").as_str(),
            status(&serving, "b").as_str()
        ),
        ("401", "200")
    );
}

#[test]
fn a_rule_that_comes_later_makes_right_what_was_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (file, rules) = (
        folder.path().join("isogloss.toml"),
        folder.path().join("rules"),
    );
    fs::create_dir(&rules).unwrap();
    let upstream = scripted(VLLM);
    let text = |dialect: &str| {
        format!("rules = \"rules\"\n[[upstream]]\nurl = \"{upstream}\"\ndialect = \"{dialect}\"\n")
    };
    fs::write(&file, text("vllm")).unwrap();
    let serving = serving(&file, "50ms");
    serving.eventually("/readyz", "HTTP/1.1 200 ");
    fs::write(&file, text("toy")).unwrap();
    let refused = "isogloss_config_reloads_total{outcome=\"refused\"} 1";
    serving.until_said("/metrics", refused);
    let known = concat!(env!("CARGO_MANIFEST_DIR"), "/rules/cerebras.toml");
    let rule = fs::read_to_string(known).unwrap();
    fs::write(
        rules.join("toy.toml"),
        rule.replace("\"cerebras\"", "\"toy\"")
            .replace("api.cerebras.ai", "toy.example"),
    )
    .unwrap();
    serving.until_said(
        "/metrics",
        "isogloss_config_reloads_total{outcome=\"applied\"} 1",
    );
    serving.until_said("/readyz", "\"dialect\": \"toy");
    // It was refused for the same reason all the time, which was told once.
    assert!(
        serving
            .until_said("/metrics", "isogloss_config")
            .contains(refused)
    );
}
