#![expect(clippy::unwrap_used, reason = "tests")]
use super::*;
use crate::rules::RuleSet;
use serde_json::json;

const NOBODY: Credentials = Credentials {
    is_anthropic: false,
    is_google: false,
};

fn get(path: &str, query: Option<&str>) -> Asking {
    asking("GET", path, query, NOBODY).unwrap()
}

fn answer(asking: &Asking, list: &Value) -> Value {
    let answer = asking.answer(&[list.to_string()]).unwrap();
    serde_json::from_slice(&answer).unwrap()
}

fn vllm() -> Value {
    json!({"object": "list", "data": [
        {"id": "org/a", "object": "model", "created": 1_750_000_000, "owned_by": "vllm", "max_model_len": 4096},
        {"id": "b", "object": "model", "created": 0, "owned_by": "vllm"},
        {"id": "c", "object": "model"},
    ]})
}

#[test]
fn whose_client_asks_shows_in_its_path_and_its_key() {
    let google = Credentials {
        is_google: true,
        ..NOBODY
    };
    let anthropic = Credentials {
        is_anthropic: true,
        ..NOBODY
    };
    for (path, credentials, speaks) in [
        ("/v1/models", NOBODY, Speaks::OpenAi),
        ("/v1/models", anthropic, Speaks::Anthropic),
        ("/v1/models/a", google, Speaks::Gemini),
        ("/v1beta/models", NOBODY, Speaks::Gemini),
        ("/v1beta/models/a/b", anthropic, Speaks::Gemini),
        ("/api/tags", google, Speaks::Ollama),
        ("/api/version", NOBODY, Speaks::Ollama),
    ] {
        let asking = asking("GET", path, None, credentials);
        assert_eq!(asking.unwrap().speaks, speaks, "{path}");
    }
    assert_eq!(get("/v1/models", Some("key=k")).speaks, Speaks::Gemini);
}

#[test]
fn what_is_no_question_about_models_goes_its_own_way() {
    for (method, path) in [
        ("POST", "/v1/models"),
        ("DELETE", "/v1/models/a"),
        ("GET", "/v1/files"),
        ("GET", "/api/show"),
        ("POST", "/api/tags"),
        ("GET", "/v1beta/openai/models"),
        ("GET", "/v1beta/models/a:predict"),
        ("GET", "/v1/../v1/models"),
    ] {
        assert_eq!(asking(method, path, None, NOBODY), None, "{method} {path}");
    }
}

#[test]
fn a_list_is_written_in_each_dialects_words() {
    let list = vllm();
    let tags = answer(&get("/api/tags", None), &list);
    assert_eq!(tags["models"][0]["name"], "org/a");
    assert_eq!(tags["models"][0]["modified_at"], "2025-06-15T15:06:40Z");
    let gemini = answer(&get("/v1beta/models", None), &list);
    assert_eq!(gemini["models"][0]["name"], "models/org/a");
    assert_eq!(gemini["models"][0]["inputTokenLimit"], 4096);
    assert_eq!(gemini.get("nextPageToken"), None);
    let own = answer(
        &get("/v1/models", None),
        &json!({"models": [{"name": "models/g"}]}),
    );
    let entry = json!({"id": "g", "object": "model", "created": 0, "owned_by": "server"});
    assert_eq!(own, json!({"object": "list", "data": [entry]}));
    let running = answer(&get("/api/ps", None), &list);
    assert_eq!(running["models"].as_array().unwrap().len(), 3);
    assert_eq!(running["models"][0]["context_length"], 4096);
}

#[test]
fn of_several_servers_each_model_has_what_its_server_lists_and_an_alias_has_its_models() {
    let other =
        json!({"models": [{"name": "models/g", "inputTokenLimit": 9, "outputTokenLimit": 3}]});
    let servers = [
        Listed {
            list: Some(vllm().to_string()),
            told: Some(vec!["org/a".to_owned(), "unlisted".to_owned()]),
            aliases: vec![
                ("gpt".to_owned(), "org/a".to_owned()),
                ("b".to_owned(), "gone".to_owned()),
            ],
        },
        Listed {
            list: Some(other.to_string()),
            told: None,
            aliases: vec![("gpt".to_owned(), "g".to_owned())],
        },
        Listed::default(),
    ];
    let list = |path: &str, credentials: Credentials| -> Value {
        let asking = asking("GET", path, None, credentials).unwrap();
        serde_json::from_slice(&asking.answer_of(&servers).unwrap()).unwrap()
    };
    let created = 1_750_000_000;
    assert_eq!(
        list("/v1/models", NOBODY)["data"],
        json!([
            {"id": "org/a", "object": "model", "created": created, "owned_by": "vllm", "max_model_len": 4096},
            {"id": "unlisted", "object": "model", "created": 0, "owned_by": "isogloss"},
            {"id": "g", "object": "model", "created": 0, "owned_by": "server", "max_model_len": 9},
            {"id": "gpt", "object": "model", "created": created, "owned_by": "vllm", "max_model_len": 4096},
            {"id": "b", "object": "model", "created": 0, "owned_by": "isogloss"},
        ])
    );
    let anthropic = Credentials {
        is_anthropic: true,
        ..NOBODY
    };
    let gemini = list("/v1beta/models", NOBODY);
    let limits = |at: usize| {
        [
            &gemini["models"][at]["inputTokenLimit"],
            &gemini["models"][at]["outputTokenLimit"],
        ]
    };
    assert_eq!(limits(2), [9, 3]);
    assert_eq!(limits(3), [4096, 4096]);
    assert_eq!(
        list("/v1/models", anthropic)["data"][3]["max_input_tokens"],
        4096
    );
    assert_eq!(list("/api/ps", NOBODY)["models"][3]["context_length"], 4096);
    assert!(
        get("/v1/models", None)
            .answer_of(&[Listed::<&[u8]>::default()])
            .is_err()
    );
}

#[test]
fn pages_hold_what_was_asked_for_and_lead_to_the_rest() {
    let list = vllm();
    let anthropic = Credentials {
        is_anthropic: true,
        ..NOBODY
    };
    let page = |query: &str| {
        let asking = asking("GET", "/v1/models", Some(query), anthropic).unwrap();
        let page = answer(&asking, &list);
        let ids: Vec<String> = (page["data"].as_array().unwrap().iter())
            .map(|model| model["id"].as_str().unwrap().to_owned())
            .collect();
        let ends = [&page["first_id"], &page["last_id"]].map(|id| id.as_str().map(str::to_owned));
        assert_eq!(ends, [ids.first().cloned(), ids.last().cloned()]);
        (ids, page["has_more"].as_bool().unwrap())
    };
    let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    assert_eq!(page("limit=2"), (ids(&["org/a", "b"]), true));
    assert_eq!(page("limit=2&after_id=org%2Fa"), (ids(&["b", "c"]), false));
    assert_eq!(page("limit=1&before_id=c"), (ids(&["b"]), true));
    assert_eq!(page("after_id=c"), (ids(&[]), false));
    let gemini = answer(&get("/v1beta/models", Some("pageSize=2")), &list);
    let token = gemini["nextPageToken"].as_str().unwrap();
    let rest = get(
        "/v1beta/models",
        Some(&format!("pageSize=2&pageToken={token}")),
    );
    let rest = answer(&rest, &list);
    assert_eq!(rest["models"].as_array().unwrap().len(), 1);
    assert_eq!(rest["models"][0]["name"], "models/c");
}

#[test]
fn one_model_is_found_under_every_name_that_clients_have_for_it() {
    let list = vllm();
    for path in ["/v1/models/org/a", "/v1/models/org%2Fa"] {
        assert_eq!(answer(&get(path, None), &list)["id"], "org/a");
    }
    let error = get("/v1/models/gone", None).answer(&[list.to_string()]);
    let error = error.unwrap_err();
    assert_eq!((error.kind, error.status()), (Kind::ModelNotFound, 404));
    for body in [r#"{"model":"b:latest"}"#, r#"{"name":"b","model":""}"#] {
        let asking = asking("POST", "/api/show", None, NOBODY).unwrap();
        let shown = answer(&asking.named(body.as_bytes()).unwrap(), &list);
        assert_eq!(shown["capabilities"], json!(["completion", "tools"]));
        assert_eq!(shown["model_info"]["general.basename"], "b");
    }
    let show = asking("POST", "/api/show", None, NOBODY).unwrap();
    let error = show.named(b"{}").unwrap_err();
    assert_eq!(
        (error.status(), error.message.as_str()),
        (400, "model is required")
    );
}

#[test]
fn what_servers_tell_of_a_model_is_understood() {
    let rows = [
        (json!({"id": "m", "meta": {"n_ctx_train": 7}}), 7, false),
        (
            json!({"id": "m", "context_length": 8, "architecture": {"input_modalities": ["text", "image"]}}),
            8,
            true,
        ),
        (
            json!({"id": "m", "max_context_length": 9, "capabilities": {"vision": true}}),
            9,
            true,
        ),
    ];
    for (model, context, sees) in rows {
        let asking = asking("POST", "/api/show", None, NOBODY).unwrap();
        // Together sends the bare list.
        let shown = answer(&asking.named(br#"{"model":"m"}"#).unwrap(), &json!([model]));
        assert_eq!(shown["model_info"]["unknown.context_length"], context);
        assert_eq!(shown["capabilities"].as_array().unwrap().len() == 3, sees);
    }
    assert!(
        get("/api/tags", None)
            .answer(&[br#"{"models": "none"}"#])
            .is_err()
    );
}

#[test]
fn a_server_of_the_clients_own_words_answers_itself() {
    let set = RuleSet::builtin();
    let rule = |name: &str| set.resolve(name, None).unwrap();
    let openai = get("/v1/models", None);
    let gemini = get("/v1beta/models", None);
    let ollama = get("/api/tags", None);
    for (asking, own, other) in [
        (
            &openai,
            ["vllm", "worker", "ollama-native"],
            ["anthropic", "gemini"],
        ),
        (
            &gemini,
            ["gemini", "gemini", "gemini"],
            ["vllm", "gemini-compat"],
        ),
        (
            &ollama,
            ["ollama", "ollama-native", "ollama"],
            ["llama-cpp", "openai"],
        ),
    ] {
        assert!(own.iter().all(|name| asking.is_own(&rule(name))), "{own:?}");
        assert!(
            !other.iter().any(|name| asking.is_own(&rule(name))),
            "{other:?}"
        );
    }
}

#[test]
fn what_a_servers_own_list_leaves_out_is_written() {
    let asking = get("/v1/models", None);
    let set = RuleSet::builtin();
    assert!(!asking.is_own(&set.resolve("lm-studio", None).unwrap()));
    let list = json!({"object": "list", "data": [{"id": "a", "object": "model", "owned_by": "x", "own": 1}]});
    let told = answer(&asking, &list);
    assert_eq!(told["data"][0]["created"], 0);
    assert_eq!(told["data"][0]["own"], 1);
}
