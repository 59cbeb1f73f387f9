//! What servers may be, and what is said of them.

use super::*;
use crate::config::Name;

#[test]
fn a_name_may_stand_for_several_servers() {
    let text = "[[upstream]]\nurl = \"https://vllm.models.svc:8000/base\"\naddresses = \"each\"\n\
                [[upstream]]\nsrv = \"_http._tcp.sglang.models.svc.\"\n\
                [[upstream]]\nurls = [\"http://a\", \"http://b\"]\naddresses = \"each\"\n\
                [[upstream]]\nurl = \"http://c\"\naddresses = \"one\"\n";
    let config = case()
        .file(text)
        .env("ISOGLOSS_RESOLVER", "10.96.0.10")
        .load()
        .unwrap();
    let told: Vec<_> = (config.upstreams.iter())
        .map(|one| {
            let name = one.servers.as_ref().map(Name::as_str);
            (one.url.as_str(), name)
        })
        .collect();
    assert_eq!(
        told,
        [
            ("https://vllm.models.svc:8000/base", Some("vllm.models.svc")),
            (
                "http://sglang.models.svc/",
                Some("_http._tcp.sglang.models.svc.")
            ),
            ("http://a/", Some("a")),
            ("http://b/", Some("b")),
            ("http://c/", None),
        ]
    );
    assert_eq!(config.resolver, Some(([10, 96, 0, 10], 53).into()));
}

#[test]
fn what_no_name_can_stand_for_is_said_once_each() {
    for (text, says) in [
        (
            "url = \"http://10.0.0.1:8000\"\naddresses = \"each\"",
            "this URL's host is no name that DNS knows",
        ),
        (
            "url = \"unix:///run/x.sock\"\naddresses = \"each\"",
            "this URL's host is no name that DNS knows",
        ),
        (
            "url = \"http://a\"\naddresses = \"all\"",
            "`all` does not say what the addresses of a name are",
        ),
        ("srv = \"vllm.svc\"", "`vllm.svc` is no name of a service"),
        (
            "urls = [\"http://a\"]\nsrv = \"_http._tcp.a\"",
            "the upstream has both `srv` and `urls`",
        ),
    ] {
        let faults = case()
            .file(&format!("[[upstream]]\n{text}\n"))
            .load()
            .unwrap_err();
        assert!(faults.contains(says), "{faults}");
        assert_eq!(faults.matches("isogloss.toml:").count(), 1, "{faults}");
    }
}

#[test]
fn a_base_url_with_v1_is_understood() {
    for (given, kept) in [
        ("http://h:8000/v1", "http://h:8000/"),
        ("http://h:8000/v1/", "http://h:8000/"),
        ("https://h/team/v1", "https://h/team"),
        ("https://h/team/", "https://h/team"),
    ] {
        let config = case().flag("upstream", given).load().unwrap();
        assert_eq!(config.upstreams[0].url.as_str(), kept);
    }
}

#[test]
fn a_url_that_cannot_be_a_server_is_refused_without_quoting_it() {
    for url in [
        "ftp://h",
        "http://",
        "http://me:sk-abc@h",
        "http://h?x=sk-abc",
        "unix://sk-abc/run",
        "unix:///run/s.sock?sk-abc",
        "unix:///",
        "http://h:sk-abc",
    ] {
        let faults = case().flag("upstream", url).load().unwrap_err();
        assert!(!faults.contains("sk-abc"), "{faults}");
        assert!(faults.starts_with("--upstream: "), "{faults}");
    }
}

#[test]
fn a_markup_is_named_for_one_upstream_or_for_all() {
    let text = "[[upstream]]\nurl = \"http://a\"\nmarkup = \"hermes\"\n\n[[upstream]]\nurl = \"http://b\"\n";
    let named = |case: Case| {
        let upstreams = case.file(text).load().unwrap().upstreams.into_iter();
        upstreams
            .map(|upstream| upstream.markup)
            .collect::<Vec<_>>()
    };
    let word = |word: &str| Some(word.to_owned());
    assert_eq!(named(case()), [word("hermes"), None]);
    let all = [word("off"), word("off")];
    assert_eq!(named(case().env("ISOGLOSS_MARKUP", "off")), all);
    let flagged = case().env("ISOGLOSS_MARKUP", "hermes");
    assert_eq!(named(flagged.flag("markup", "off")), all);
}

#[test]
fn a_dialect_is_pinned_with_or_without_a_version() {
    let pinned = |dialect: &str| {
        let case = case().flag("upstream", "http://h");
        let config = case.flag("dialect", dialect).load().unwrap();
        config.upstreams[0].dialect.clone().unwrap()
    };
    assert_eq!(pinned("llama-cpp").name, "llama-cpp");
    assert_eq!(pinned("llama-cpp").version, None);
    assert_eq!(pinned("vllm@0.10.2").version.unwrap().parts, [0, 10, 2]);
    for dialect in ["", "vllm@", "vllm@new", "vLLM", "vllm 0.10"] {
        let case = case().flag("upstream", "http://h");
        assert!(case.flag("dialect", dialect).load().is_err(), "{dialect}");
    }
}

#[test]
fn keys_come_from_the_environment_or_from_files_and_never_show() {
    let text = "[[upstream]]\nurl = \"http://one\"\napi_key_env = \"ONE\"\n\
                [[upstream]]\nurl = \"http://two\"\napi_key_file = \"two.key\"\n\
                [[upstream]]\nurl = \"http://three\"\n";
    let case = case().file(text);
    std::fs::write(case.folder.path().join("two.key"), "sk-two\n").unwrap();
    let config = case
        .env("ONE", "sk-one")
        .env("ISOGLOSS_UPSTREAM_API_KEY", "sk-all")
        .load()
        .unwrap();
    let keys: Vec<_> = config
        .upstreams
        .iter()
        .map(|upstream| upstream.api_key.as_ref().unwrap().expose())
        .collect();
    assert_eq!(keys, ["sk-one", "sk-two", "sk-all"]);
    assert!(!format!("{config:?}").contains("sk-"));
}

#[test]
fn a_key_written_into_the_file_is_refused_and_not_shown() {
    let text = "[[upstream]]\nurl = \"http://one\"\napi_key = \"sk-abc\"\n";
    let faults = case().file(text).load().unwrap_err();
    assert!(faults.contains("api_key_env"), "{faults}");
    assert!(!faults.contains("sk-abc"), "{faults}");
}

#[test]
fn a_key_that_is_not_there_or_not_a_header_value_is_a_fault() {
    let text = "[[upstream]]\nurl = \"http://one\"\napi_key_env = \"ABSENT\"\n";
    let faults = case().file(text).load().unwrap_err();
    assert!(
        faults.contains("the variable `ABSENT` is not set"),
        "{faults}"
    );
    let faults = case()
        .flag("upstream", "http://h")
        .env("ISOGLOSS_UPSTREAM_API_KEY", "sk\nabc")
        .load()
        .unwrap_err();
    assert!(
        faults.starts_with("ISOGLOSS_UPSTREAM_API_KEY: "),
        "{faults}"
    );
    assert!(!faults.contains("abc"), "{faults}");
}

#[test]
fn a_unix_socket_can_be_an_upstream() {
    let config = case()
        .flag("upstream", "unix:///run/my%20server.sock")
        .load()
        .unwrap();
    assert_eq!(
        config.upstreams[0].url.as_str(),
        "unix:///run/my%20server.sock"
    );
}

#[test]
fn a_queue_has_an_end_and_something_that_it_waits_for() {
    let upstream = |keys: &str| format!("[[upstream]]\nurl = \"http://h\"\n{keys}");
    let text = upstream("max_in_flight = 8\nqueue = 0\nqueue_timeout = \"90s\"\n");
    let config = case().file(&text).load().unwrap();
    let queue = config.upstreams[0].queue;
    assert_eq!((queue.max_in_flight, queue.room()), (Some(8), 0));
    assert_eq!(queue.timeout, Duration::from_secs(90));
    let config = case()
        .file(&upstream("max_in_flight = 8\n"))
        .load()
        .unwrap();
    assert_eq!(config.upstreams[0].queue.room(), 2048);
    let config = case().file(&upstream("")).load().unwrap();
    assert_eq!(config.upstreams[0].queue.room(), 0, "there is none");
    for (keys, told) in [
        ("queue = 9\n", "write max_in_flight = 8 beside it"),
        (
            "queue_timeout = \"1m\"\n",
            "write max_in_flight = 8 beside it",
        ),
        ("max_in_flight = 0\n", "`0` is no count of requests"),
        (
            "max_in_flight = 1\nqueue = -1\n",
            "`-1` is no count of requests",
        ),
        (
            "max_in_flight = 1\nqueue_timeout = \"0s\"\n",
            "a time of 0 would refuse all who wait",
        ),
        (
            "[limits]\npriority_header = \"a b\"\n",
            "`a b` is no name of a header",
        ),
        (
            "[[client]]\nname = \"a\"\npriority = 101\n",
            "`101` is no priority",
        ),
    ] {
        let faults = case().file(&upstream(keys)).load().unwrap_err();
        assert!(faults.contains(told), "{keys}: {faults}");
    }
}

#[test]
fn models_that_nobody_has_are_mistakes() {
    let two = |models: &str, fallback: &str| {
        format!(
            "[[upstream]]\nurl = \"http://a\"\nmodels = {models}\nfallback = [\"{fallback}\"]\n\
             [[upstream]]\nurl = \"http://b\"\nmodels = [\"small\"]\n[upstream.aliases]\nfast = \"small\"\n"
        )
    };
    for (models, fallback, told) in [
        (
            "[\"big\"]",
            "smal",
            Some("isogloss.toml:4:12: no upstream has the model `smal`"),
        ),
        (
            "[\"\"]",
            "small",
            Some("isogloss.toml:3:10: no model is named"),
        ),
        ("[]", "small", Some("isogloss.toml:3:10: no model is named")),
        ("[\"big\"]", "small", None),
        ("[\"big\"]", "fast", None),
        // It may have any that begins so.
        ("[\"big*\"]", "bigger", None),
    ] {
        let loaded = case().file(&two(models, fallback)).load();
        match told {
            None => assert!(loaded.is_ok(), "{loaded:?}"),
            Some(told) => {
                let faults = loaded.unwrap_err();
                assert!(faults.starts_with(told), "{faults}");
            }
        }
    }
}

#[test]
fn a_proxy_is_not_its_own_server() {
    for (listen, url, is_own) in [
        ("127.0.0.1:8080", "http://127.0.0.1:8080", true),
        ("127.0.0.1:8080", "http://localhost:8080/v1", true),
        ("0.0.0.0:80", "http://127.0.0.1", true),
        ("[::]:8080", "http://[::1]:8080", true),
        ("127.0.0.1:8080", "http://[::1]:8080", false),
        ("0.0.0.0:8080", "http://[::1]:8080", false),
        ("127.0.0.1:8080", "http://127.0.0.2:8080", false),
        ("127.0.0.1:8080", "http://127.0.0.1:8081", false),
        ("0.0.0.0:8080", "http://server:8080", false),
    ] {
        let text = format!("listen = \"{listen}\"\n[[upstream]]\nurl = \"{url}\"\n");
        let faults = case()
            .file(&text)
            .load()
            .map(drop)
            .err()
            .unwrap_or_default();
        assert_eq!(
            faults.contains("requests would come back"),
            is_own,
            "{listen} {url}: {faults}"
        );
    }
}
