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
            Recognition::Done(identity) => return (identity, asked),
            Recognition::Ask(path) => {
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
        &[
            "/v1/models",
            "/server_info",
            "/get_server_info",
            "/props",
            "/info",
            "/api/version",
            "/api/v1/models",
            "/api/v0/models",
        ],
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
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/recordings/identify");
    for (server, expected, paths) in SERVERS {
        let (identity, asked) =
            identify("localhost", |path| {
                // What was not asked at the time is a path that the server does not know.
                let file = |name: String| folder.join(server).join(name + ".txt");
                let text = std::fs::read_to_string(file(file_name(path)));
                recorded(&text.unwrap_or_else(|_| {
                    std::fs::read_to_string(file("v1_nope".to_owned())).unwrap()
                }))
            });
        assert_eq!(label(&identity), expected, "{server}");
        assert_eq!(asked, paths, "{server}");
    }
}

#[test]
fn the_unabridged_recordings_are_recognised_alike() {
    let folder = std::env::var("ISOGLOSS_CAPTURES");
    let folder = folder.unwrap_or_else(|_| "../../../../../shared/captures".to_owned());
    let folder = Path::new(&folder).join("servers");
    if !folder.exists() {
        println!("skipped: no recordings at {}", folder.display());
        return;
    }
    for (server, expected, _) in SERVERS {
        let (identity, _) = identify("localhost", |path| {
            let read = |name: &str| {
                let file = folder.join(server).join(format!("id_{name}.response.txt"));
                std::fs::read_to_string(file)
            };
            let text = read(&file_name(path));
            recorded(&text.unwrap_or_else(|_| read("v1_nope").unwrap()))
        });
        assert_eq!(label(&identity), expected, "{server}");
    }
}

#[test]
fn hosted_apis_are_known_by_their_hosts_without_a_question() {
    for (host, dialect) in [
        ("API.openai.com", "openai"),
        ("api.mistral.ai", "mistral"),
        ("api.groq.com", "groq"),
        ("api.together.xyz", "together"),
        ("api.fireworks.ai", "fireworks"),
        ("api.cerebras.ai", "cerebras"),
        ("api.deepseek.com", "deepseek"),
        ("openrouter.ai", "openrouter"),
        ("api.cohere.ai", "cohere"),
        ("api.cohere.ai/compatibility", "cohere-compat"),
        ("generativelanguage.googleapis.com", "gemini"),
        ("generativelanguage.googleapis.com/v1beta", "gemini"),
        (
            "generativelanguage.googleapis.com/v1beta/openai",
            "gemini-compat",
        ),
        ("api.anthropic.com", "anthropic"),
    ] {
        let (identity, asked) = identify(host, |_| ProbeAnswer::default());
        assert_eq!(identity.dialect, dialect);
        assert!(asked.is_empty());
    }
}

/// Asks a server that answers these paths with 200 and JSON, every other one with 404.
fn identify_by(answers: &[(&str, Value)]) -> String {
    let (identity, _) = identify("localhost", |path| {
        let known = answers.iter().find(|(known, _)| *known == path);
        ProbeAnswer {
            status: if known.is_some() { 200 } else { 404 },
            headers: Vec::new(),
            body: known.map(|(_, body)| body.clone()),
        }
    });
    label(&identity)
}

fn owned_by(owner: &str) -> (&'static str, Value) {
    let models = json!({"object": "list", "data": [{"id": "m", "owned_by": owner}]});
    ("/v1/models", models)
}

#[test]
fn vllm_and_tensorrt_llm_answer_version_alike_and_their_models_owner_decides() {
    let version = ("/version", json!({"version": "1.2.0"}));
    let by = |owner| identify_by(&[owned_by(owner), version.clone()]);
    assert_eq!(by("tensorrt_llm"), "tensorrt-llm@1.2.0");
    assert_eq!(by("vllm"), "vllm@1.2.0");
}

#[test]
fn an_sglang_that_answers_as_ollama_does_is_sglang() {
    let routes = [
        ("/api/version", json!({"version": "0.9.0"})),
        ("/api/tags", json!({"models": []})),
    ];
    assert_eq!(identify_by(&routes), "ollama@0.9.0");
    let mut sglang = routes.to_vec();
    sglang.push((
        "/server_info",
        json!({"model_path": "m", "version": "0.5.23"}),
    ));
    assert_eq!(identify_by(&sglang), "sglang@0.5.23");
    assert_eq!(
        identify_by(&routes[..1]),
        "plain",
        "a version alone is anybody's"
    );
}

#[test]
fn tgi_is_known_by_its_info_in_both_shapes_and_its_embedding_server_is_not_it() {
    let info = |extra: Value| {
        let mut info = json!({"model_id": "m", "version": "2.0.4", "docker_label": "sha-1"});
        info.as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        identify_by(&[("/info", info)])
    };
    assert_eq!(
        info(json!({"router": "text-generation-router"})),
        "tgi@2.0.4"
    );
    assert_eq!(info(json!({"max_total_tokens": 4096})), "tgi@2.0.4");
    assert_eq!(info(json!({"max_input_length": 512})), "plain");
}

#[test]
fn servers_without_a_version_are_known_by_what_else_they_say() {
    assert_eq!(identify_by(&[owned_by("lmdeploy")]), "lmdeploy");
    // They answer Ollama's paths as well.
    let version = || ("/api/version", json!({"version": "0.7.0"}));
    let tags = || ("/api/tags", json!({"models": []}));
    assert_eq!(identify_by(&[version(), tags()]), "ollama@0.7.0");
    for (owner, server) in [
        ("koboldcpp", "koboldcpp"),
        ("docker", "model-runner"),
        ("lemonade", "model-runner"),
    ] {
        let answers = [owned_by(owner), version(), tags()];
        assert_eq!(identify_by(&answers), server);
    }
    let extra = json!({"result": "KoboldCpp", "version": "1.102"});
    let answers = [owned_by("koboldcpp"), ("/api/extra/version", extra)];
    assert_eq!(identify_by(&answers), "koboldcpp@1.102.0");
    let system = ("/v1/system/info", json!({}));
    assert_eq!(identify_by(&[owned_by("local"), system]), "mistral-rs");
    assert_eq!(identify_by(&[owned_by("local")]), "plain");
    let new = json!({"models": [{"type": "llm", "publisher": "p", "key": "m"}]});
    assert_eq!(identify_by(&[("/api/v1/models", new)]), "lm-studio");
    let old = json!({"data": [{"id": "m", "publisher": "p", "state": "loaded"}]});
    assert_eq!(identify_by(&[("/api/v0/models", old)]), "lm-studio");
    // It answers paths that it does not know with 200.
    let error = json!({"error": "Unexpected endpoint or method."});
    assert_eq!(
        identify_by(&[("/api/v1/models", error.clone()), ("/info", error)]),
        "plain"
    );
}

/// LocalAI 4.9.0: its models have no owner, and Ollama's paths are answered as 0.9.0.
#[test]
fn a_localai_is_no_ollama_and_behind_a_key_no_vllm() {
    let told = json!({"version": "v4.9.0 (abc)", "endpoints": {"chat_completions": "/v1/chat/completions"}});
    let answers = [
        (
            "/v1/models",
            json!({"data": [{"id": "m", "object": "model"}]}),
        ),
        ("/api/version", json!({"version": "0.9.0"})),
        ("/api/tags", json!({"models": []})),
        ("/.well-known/localai.json", told.clone()),
    ];
    assert_eq!(identify_by(&answers), "localai@4.9.0");
    assert_eq!(identify_by(&answers[..3]), "ollama@0.9.0");
    let (identity, _) = identify("localhost", |path| {
        let (status, body) = match path {
            "/.well-known/localai.json" => (200, told.clone()),
            "/version" => (200, json!({"version": "v4.8.2 (abc)"})),
            _ => (401, json!({"error": {"code": 401}})),
        };
        ProbeAnswer {
            status,
            body: Some(body),
            ..ProbeAnswer::default()
        }
    });
    assert_eq!(label(&identity), "localai@4.9.0");
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

/// A clone without tags is 0.1.dev (vllm-project/vllm#20664), production-stack's router tells its own version.
#[test]
fn a_version_that_no_release_has_is_none() {
    for version in ["0.1.dev7557+g977180c", "0.1.10", "0.0.0"] {
        let told = ("/version", json!({"version": version}));
        assert_eq!(identify_by(&[owned_by("vllm"), told]), "vllm", "{version}");
    }
    let told = (
        "/server_info",
        json!({"model_path": "m", "version": "0.0.0.dev1"}),
    );
    assert_eq!(identify_by(&[owned_by("sglang"), told]), "sglang");
}

#[test]
fn litellm_is_asked_as_openai_is_and_keeps_the_signatures_in_ids() {
    let ask = |is_litellm: bool| {
        let (identity, asked) = identify("localhost", |path| {
            let (_, models) = owned_by("openai");
            let body = match path {
                "/v1/models" => Some(models),
                "/health/liveliness" if is_litellm => Some(json!("I'm alive!")),
                _ => None,
            };
            ProbeAnswer {
                status: if body.is_some() { 200 } else { 404 },
                headers: Vec::new(),
                body,
            }
        });
        assert!(asked.contains(&"/health/liveliness".to_owned()));
        (identity.dialect, identity.facts)
    };
    let openai = "openai".to_owned();
    let facts = vec!["signed_ids".to_owned()];
    assert_eq!(ask(true), (openai.clone(), facts));
    assert_eq!(ask(false), (openai, Vec::new()));
}

#[test]
fn an_sglang_router_is_sglang() {
    let info = json!({"router_manager": true, "routers_count": 1});
    let answers = [owned_by("local"), ("/get_server_info", info)];
    assert_eq!(identify_by(&answers), "sglang");
}

/// GPUStack 2.3.0: whichever engine is behind it.
#[test]
fn a_version_with_a_commit_is_no_vllm() {
    let (identity, _) = identify("localhost", |path| ProbeAnswer {
        status: match path {
            "/version" => 200,
            "/v1/models" => 401,
            _ => 404,
        },
        body: (path == "/version").then(|| json!({"version": "2.3.0", "git_commit": "abc"})),
        ..ProbeAnswer::default()
    });
    assert_eq!(label(&identity), "plain");
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

#[test]
fn the_bundled_worker_is_known_by_its_header_and_its_models() {
    let answer = |server: &str, owner: &str| {
        recorded(&format!(
            "HTTP/1.1 200 OK\nserver: {server}\n\n{{\"data\":[{{\"id\":\"m\",\"owned_by\":\"{owner}\"}}]}}"
        ))
    };
    let kind = |server: &'static str, owner: &'static str| {
        let (identity, asked) = identify("localhost", |_| answer(server, owner));
        (identity.dialect, asked.len())
    };
    // The second question is after the model's template.
    assert_eq!(
        kind("isogloss-worker", "isogloss"),
        ("worker".to_owned(), 2)
    );
    // A server behind it, or a proxy in front of another: either mark alone is not enough.
    assert_ne!(kind("isogloss-worker", "vllm").0, "worker");
    assert_ne!(kind("uvicorn", "isogloss").0, "worker");
}

#[test]
fn sglang_tells_how_it_was_launched() {
    let launched = |parser: Value, backend: &str| {
        let info = json!({
            "model_path": "m", "version": "0.5.23", "tool_call_parser": parser,
            "grammar_backend": backend,
        });
        let (identity, asked) = identify("127.0.0.1", |path| ProbeAnswer {
            status: if path == "/server_info" { 200 } else { 404 },
            headers: Vec::new(),
            body: (path == "/server_info").then(|| info.clone()),
        });
        assert!(asked.len() <= 2, "{asked:?}");
        RuleSet::builtin().rule_of(&identity).unwrap()
    };
    let whole = launched(json!("qwen"), "xgrammar");
    let mut unknown = RuleSet::builtin().resolve("sglang", whole.version).unwrap();
    // The parser's name tells how the model writes its calls.
    assert_ne!(whole.markup, unknown.markup);
    unknown.markup = whole.markup.clone();
    unknown.formats = whole.formats.clone();
    assert_eq!(whole, unknown);
    // No parser: calls stay in the text.
    let bare = launched(Value::Null, "xgrammar");
    assert_eq!(bare.choices["auto"].how, ChoiceHow::Tags);
    assert!(bare.choices["auto"].tell);
    let guided = launched(json!("qwen"), "llguidance");
    assert_eq!(
        guided.constraints["structural_tag"].shape,
        TagShape::Structures
    );
    assert_eq!(guided.text_unions, [TextUnion::Gbnf]);
    // Which compiler holds grammars of calls, and which parser leaves them as they are in a stream.
    for (parser, backend, how) in [
        ("qwen", "xgrammar", ChoiceHow::Tags),
        ("kimi_k2", "xgrammar", ChoiceHow::Tags),
        ("deepseekv3", "xgrammar", ChoiceHow::Constrain),
        ("deepseekv31", "xgrammar", ChoiceHow::Constrain),
        ("interns1", "xgrammar", ChoiceHow::Constrain),
        ("qwen", "llguidance", ChoiceHow::Constrain),
        ("qwen", "outlines", ChoiceHow::Constrain),
        ("qwen", "none", ChoiceHow::Constrain),
    ] {
        let rule = launched(json!(parser), backend);
        assert_eq!(rule.choices["required"].how, how, "{parser}, {backend}");
    }
    assert_eq!(
        guided.schema,
        *RuleSet::builtin().profile("llguidance").unwrap()
    );
    let outlines = launched(Value::Null, "outlines");
    assert!(outlines.sends("regex") && !outlines.sends("grammar:gbnf"));
    assert_eq!(outlines.choices["auto"].how, ChoiceHow::Instruct);
    let none = launched(json!("qwen"), "none");
    assert_eq!(none.route("json_schema", None), Route::Instruct);
}

#[test]
fn this_program_before_another_server_is_no_ollama() {
    let answers = |own: &str| {
        let version = format!("HTTP/1.1 200 OK\r\n\r\n{{\"version\":\"0.33.0\"{own}}}");
        move |path: &str| match path {
            "/api/version" => recorded(&version),
            "/api/tags" => recorded("HTTP/1.1 200 OK\r\n\r\n{\"models\":[]}"),
            _ => recorded("HTTP/1.1 404 Not Found\r\n\r\n{}"),
        }
    };
    assert_eq!(identify("", answers("")).0.dialect, "ollama");
    let ours = answers(",\"isogloss\":\"0.1.0\"");
    assert_eq!(identify("", ours).0.dialect, "plain");
}

/// What a server of this dialect is known to write, by its answers.
fn markup(answers: &[(&str, Value)]) -> Option<(String, MarkupFrom)> {
    let (identity, _) = identify("localhost", |path| {
        let known = answers.iter().find(|(known, _)| *known == path);
        known.map_or_else(ProbeAnswer::default, |(_, body)| ProbeAnswer {
            status: 200,
            headers: Vec::new(),
            body: Some(body.clone()),
        })
    });
    let rule = RuleSet::builtin().rule_of(&identity).unwrap();
    let seen = identity.markup?;
    assert_eq!(
        rule.markup_of("my-own").unwrap().format.name(),
        seen.format,
        "the rule knows what was seen"
    );
    Some((seen.format, seen.from))
}

#[test]
fn a_server_tells_its_models_markup_by_its_parser_its_template_or_the_models_name() {
    let model = |owner: &str, id: &str, root: &str| json!({"data": [{"id": id, "owned_by": owner, "root": root}]});
    let told = |format: &str, from: MarkupFrom| Some((format.to_owned(), from));
    let sglang = |parser: Value, path: &str| {
        [
            ("/v1/models", model("sglang", "m", "m")),
            (
                "/server_info",
                json!({"version": "0.5.23", "tool_call_parser": parser, "model_path": path}),
            ),
        ]
    };
    assert_eq!(
        markup(&sglang(json!("kimi_k2"), "Qwen/Qwen2.5-7B-Instruct")),
        told("kimi-k2", MarkupFrom::Server)
    );
    assert_eq!(
        markup(&sglang(Value::Null, "Qwen/Qwen2.5-7B-Instruct")),
        told("hermes", MarkupFrom::Name)
    );
    assert_eq!(markup(&sglang(json!("a new one"), "my-model")), None);
    let llama = [
        ("/v1/models", model("llamacpp", "Qwen2.5-7B", "")),
        (
            "/props",
            json!({"build_info": "b7000-x", "chat_template": "{{ bos }}[ARGS][CALL_ID]"}),
        ),
    ];
    assert_eq!(markup(&llama), told("mistral", MarkupFrom::Template));
    assert_eq!(markup(&llama[..1]), told("hermes", MarkupFrom::Name));
    let vllm = [
        (
            "/v1/models",
            model("vllm", "prod", "/models/Qwen2.5-7B-Instruct"),
        ),
        ("/version", json!({"version": "0.32.0"})),
    ];
    assert_eq!(markup(&vllm), told("hermes", MarkupFrom::Name));
    // Of several models each may write another.
    let several = json!({"data": [{"id": "qwen2.5"}, {"id": "mistral-small"}]});
    assert_eq!(markup(&[("/v1/models", several)]), None);
}

#[test]
fn the_worker_is_asked_for_its_template_and_so_is_one_that_is_known_already() {
    let answer = |path: &str| match path {
        "/v1/models" => recorded(
            "HTTP/1.1 200 OK\r\nserver: isogloss-worker\r\n\r\n{\"data\":[{\"id\":\"m\",\"owned_by\":\"isogloss\"}]}",
        ),
        "/props" => recorded("HTTP/1.1 200 OK\r\n\r\n{\"chat_template\":\"[ARGS][CALL_ID]\"}"),
        other => unreachable!("{other}"),
    };
    let (identity, asked) = identify("localhost", answer);
    assert_eq!(asked, ["/v1/models", "/props"]);
    let set = RuleSet::builtin();
    let mut recogniser = Recogniser::knowing(&set, "worker");
    assert_eq!(recogniser.step(), Recognition::Ask("/props".to_owned()));
    recogniser.answer("/props", answer("/props"));
    assert_eq!(recogniser.step(), Recognition::Done(identity.clone()));
    let seen = identity.markup.unwrap();
    assert_eq!(
        (seen.format.as_str(), seen.from),
        ("mistral", MarkupFrom::Template)
    );
    // One that tells none is known all the same.
    let mut recogniser = Recogniser::knowing(&set, "worker");
    recogniser.answer("/props", ProbeAnswer::default());
    let Recognition::Done(identity) = recogniser.step() else {
        unreachable!("it asks on");
    };
    assert_eq!(
        (identity.dialect.as_str(), identity.markup),
        ("worker", None)
    );
}

#[test]
fn a_parser_that_reads_an_unknown_format_is_a_fault() {
    let text = include_str!("../../../../../rules/sglang.toml");
    let text = text.replace("kimi_k2 = \"kimi-k2\"", "kimi_k2 = \"kimi\"");
    let faults = RuleSet::with_overlay(&[("sglang.toml".to_owned(), text)]).unwrap_err();
    assert!(faults[0].to_string().contains("`kimi`, which is no format"));
}
