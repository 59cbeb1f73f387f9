use super::*;
use std::path::Path;

/// A recorded reply: status line, headers, an empty line, the body.
fn recorded(text: &str) -> ProbeAnswer {
    let text = text.replace('\r', "");
    let (head, body) = text.split_once("\n\n").unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap();
    ProbeAnswer {
        status: status.parse().unwrap(),
        headers: lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
            .collect(),
        body: serde_json::from_str(body).ok(),
    }
}

/// Asks until it is done: the identity, and the paths that were asked.
fn identify(host: &str, ask: impl Fn(&str) -> ProbeAnswer) -> (Identity, Vec<String>) {
    let set = RuleSet::builtin();
    let mut recogniser = Recogniser::new(&set, host);
    let mut asked = Vec::new();
    loop {
        match recogniser.step() {
            Step::Done(identity) => return (identity, asked),
            Step::Ask(path) => {
                assert!(!asked.contains(&path), "{path} is asked twice");
                recogniser.answer(&path, ask(&path));
                asked.push(path);
            }
        }
    }
}

fn file_name(path: &str) -> String {
    path.trim_start_matches('/').replace('/', "_")
}

const SERVERS: [(&str, &str, &[&str]); 5] = [
    ("vllm-0.10.2", "vllm@0.10.2", &["/v1/models", "/version"]),
    ("vllm-0.32.0", "vllm@0.32.0", &["/v1/models", "/version"]),
    (
        "sglang-0.5.23",
        "sglang@0.5.23",
        &["/v1/models", "/server_info"],
    ),
    // Built without git history, it calls itself b1: no version.
    ("llamacpp-0c1e57098", "llama-cpp", &["/v1/models", "/props"]),
    (
        "transformers-serve-5.23.0",
        "plain",
        &["/v1/models", "/server_info", "/get_server_info", "/props"],
    ),
];

fn label(identity: &Identity) -> String {
    RuleSet::builtin()
        .resolve(&identity.dialect, identity.version)
        .unwrap()
        .label()
}

#[test]
fn every_recorded_server_is_recognised_with_few_questions() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/identify");
    for (server, expected, paths) in SERVERS {
        let (identity, asked) = identify("localhost", |path| {
            let file = folder.join(server).join(file_name(path) + ".txt");
            recorded(&std::fs::read_to_string(file).unwrap())
        });
        assert_eq!(label(&identity), expected, "{server}");
        assert_eq!(asked, paths, "{server}");
    }
}

#[test]
fn the_unabridged_recordings_are_recognised_alike() {
    let folder = std::env::var("ISOGLOSS_CAPTURES");
    let folder = folder.unwrap_or_else(|_| "../shared/captures".to_owned());
    let folder = Path::new(&folder).join("servers");
    if !folder.exists() {
        println!("skipped: no recordings at {}", folder.display());
        return;
    }
    for (server, expected, _) in SERVERS {
        let (identity, _) = identify("localhost", |path| {
            let name = format!("id_{}.response.txt", file_name(path));
            recorded(&std::fs::read_to_string(folder.join(server).join(name)).unwrap())
        });
        assert_eq!(label(&identity), expected, "{server}");
    }
}

#[test]
fn openai_is_known_by_its_host_without_a_question() {
    let (identity, asked) = identify("API.openai.com", |_| ProbeAnswer::default());
    assert_eq!(identity.dialect, "openai");
    assert!(asked.is_empty());
}

#[test]
fn llama_cpp_is_known_by_the_header_of_any_answer() {
    let (identity, asked) = identify("localhost", |path| ProbeAnswer {
        status: 503,
        headers: vec![("Server".into(), "llama.cpp".into())],
        body: (path == "/props").then(|| json!({"build_info": "b7786-abc"})),
    });
    assert_eq!(label(&identity), "llama-cpp@7786.0.0");
    assert_eq!(asked, ["/v1/models", "/props"]);
}

#[test]
fn a_vllm_that_wants_a_key_is_known_by_its_open_version() {
    let (identity, _) = identify("localhost", |path| match path {
        "/version" => ProbeAnswer {
            status: 200,
            body: Some(json!({"version": "0.11.0"})),
            ..ProbeAnswer::default()
        },
        "/v1/models" => ProbeAnswer {
            status: 401,
            ..ProbeAnswer::default()
        },
        _ => ProbeAnswer {
            status: 404,
            ..ProbeAnswer::default()
        },
    });
    assert_eq!(label(&identity), "vllm@0.11.0");
}

#[test]
fn an_old_sglang_tells_its_version_at_the_old_path() {
    let (identity, _) = identify("localhost", |path| match path {
        "/get_server_info" => ProbeAnswer {
            status: 200,
            body: Some(json!({"model_path": "m", "version": "0.4.6.post2"})),
            ..ProbeAnswer::default()
        },
        "/v1/models" => ProbeAnswer {
            status: 200,
            body: Some(json!({"data": [{"owned_by": "sglang"}]})),
            ..ProbeAnswer::default()
        },
        _ => ProbeAnswer {
            status: 404,
            ..ProbeAnswer::default()
        },
    });
    assert_eq!(label(&identity), "sglang@0.4.6");
}

#[test]
fn a_server_that_answers_nothing_is_plain() {
    let (identity, _) = identify("localhost", |_| ProbeAnswer::default());
    assert_eq!(label(&identity), "plain");
}
