#![expect(clippy::unwrap_used, reason = "a test may panic")]
use super::{Kind, Reported, upstream_error};
use crate::rules::RuleSet;

#[test]
fn a_key_that_gemini_does_not_know_is_one_that_is_not_allowed() {
    let rule = RuleSet::builtin().resolve("gemini", None).unwrap();
    let body = |reason: &str| {
        format!(
            r#"{{"error":{{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[
            {{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"{reason}","domain":"googleapis.com"}}]}}}}"#
        )
    };
    let told = |reason: &str| upstream_error(&rule, 400, body(reason).as_bytes());
    let wrong = told("API_KEY_INVALID");
    assert_eq!((wrong.kind, wrong.status()), (Kind::UpstreamAuth, 401));
    assert_eq!(told("FIELD_INVALID").status(), 400);
}

#[test]
fn an_image_for_a_model_that_takes_none_is_the_requests_fault() {
    let rule = RuleSet::builtin().resolve("llama-cpp", None).unwrap();
    for what in ["image", "audio", "video"] {
        let body = format!(
            r#"{{"error":{{"code":500,"message":"{what} input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}}}"#
        );
        let told = upstream_error(&rule, 500, body.as_bytes());
        assert_eq!((told.kind, told.status()), (Kind::UpstreamRefused, 400));
        assert!(told.message.contains("mmproj"), "{}", told.message);
    }
    let other = upstream_error(&rule, 500, br#"{"error":{"code":500,"message":"boom"}}"#);
    assert_eq!(other.kind, Kind::UpstreamFailed);
}

#[test]
fn gemini_says_in_the_body_when_to_ask_again() {
    let rule = RuleSet::builtin().resolve("gemini", None).unwrap();
    let asked = |delay: &str| {
        let body = format!(
            r#"{{"error":{{"code":429,"message":"slower","status":"RESOURCE_EXHAUSTED","details":[{{"@type":"type.googleapis.com/google.rpc.Help"}},
            {{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"{delay}"}}]}}}}"#
        );
        upstream_error(&rule, 429, body.as_bytes()).retry_after
    };
    for (delay, seconds) in [("34.074824224s", 35), ("7s", 7), ("0s", 0), ("1.000s", 1)] {
        assert_eq!(asked(delay), Some(seconds), "{delay}");
    }
    for wrong in ["", "s", "-1s", "1m", "1"] {
        assert_eq!(asked(wrong), None, "{wrong}");
    }
}

#[test]
fn openai_says_in_the_message_when_to_ask_again() {
    for (said, seconds) in [
        ("1.898s. Visit x", Some(2)),
        ("28ms.", Some(1)),
        ("6m0s", Some(360)),
        ("1h2m3.5s.", Some(3724)),
        ("a moment", None),
        ("5", None),
        ("0s", None),
    ] {
        let raw = format!(
            r#"{{"code":"rate_limit_exceeded","message":"Rate limit reached for m. Please try again in {said}"}}"#
        );
        let error = super::reported(&raw, &[]);
        assert_eq!(
            (error.kind, error.retry_after),
            (Kind::UpstreamRateLimited, seconds),
            "{said}"
        );
    }
    for (code, kind) in [
        ("insufficient_quota", Kind::UpstreamRateLimited),
        ("invalid_prompt", Kind::UpstreamRefused),
    ] {
        let error = super::reported(&format!(r#"{{"code":"{code}","message":"no"}}"#), &[]);
        assert_eq!((error.kind, error.code.as_deref()), (kind, Some(code)));
    }
}

#[test]
fn what_a_reply_reports_is_of_the_kind_that_its_words_name() {
    for (raw, code) in [
        (
            r#"{"type": "rate_limit_error", "message": "slower"}"#,
            "upstream_rate_limited",
        ),
        (
            r#"{"code": "rate_limit_exceeded", "message": "slower"}"#,
            "upstream_rate_limited",
        ),
        (
            r#"{"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "slower"}"#,
            "upstream_rate_limited",
        ),
        (
            r#"{"code": "context_length_exceeded", "message": "long"}"#,
            "context_length_exceeded",
        ),
        (
            r#"{"code": "server_error", "message": "boom"}"#,
            "upstream_error",
        ),
        (
            r#"{"type": "invalid_request_error", "message": "no room"}"#,
            "upstream_refused",
        ),
        (r#"{"message": "boom"}"#, "upstream_error"),
    ] {
        let told = super::reported(raw, &[]);
        assert_eq!(told.kind.code(), code, "{raw}");
        assert!(told.message.starts_with("the server reported: "), "{raw}");
    }
}

#[test]
fn a_server_that_reports_that_it_has_too_much_to_do_is_waited_for() {
    for (raw, status) in [
        (
            r#"{"type": "overloaded_error", "message": "Overloaded"}"#,
            503,
        ),
        (
            r#"{"code": "server_is_overloaded", "message": "later"}"#,
            503,
        ),
        (
            r#"{"code": 503, "status": "UNAVAILABLE", "message": "later"}"#,
            503,
        ),
        (
            r#"{"code": 500, "status": "INTERNAL", "message": "boom"}"#,
            502,
        ),
    ] {
        assert_eq!(super::reported(raw, &[]).status(), status, "{raw}");
    }
}

#[test]
fn a_reply_that_has_an_error_in_the_servers_own_shape_is_that_error() {
    use crate::dialect::server::{self, About};
    use crate::ir::{Event, Ids};

    for (body, kind, words, status) in [
        (
            r#"{"id":"","choices":null,"base_resp":{"status_code":1002,"status_msg":"rate limit"}}"#,
            Kind::UpstreamRateLimited,
            "rate limit",
            429,
        ),
        (
            r#"{"code":50505,"message":"Model service overloaded.","data":null}"#,
            Kind::UpstreamFailed,
            "overloaded",
            503,
        ),
        (
            r#"{"success":false,"errors":[{"code":7000,"message":"no route"}],"result":null}"#,
            Kind::UpstreamFailed,
            "no route",
            502,
        ),
        (
            r#"{"detail":"Input is too long for requested model."}"#,
            Kind::ContextLength,
            "too long",
            400,
        ),
        (
            r#"{"detail":{"msg":"Server is busy.","type":"service_unavailable"}}"#,
            Kind::UpstreamFailed,
            "reported: Server is busy.",
            502,
        ),
        (
            r#"{"errors":{"message":"AiError: no","code":5006},"success":false,"result":{}}"#,
            Kind::UpstreamFailed,
            "reported: AiError: no",
            502,
        ),
        (
            r#"{"error":"CUDA out of memory"}"#,
            Kind::UpstreamFailed,
            "reported: CUDA out of memory",
            502,
        ),
        (
            r#"{"error": "no "quotes" are escaped"}"#,
            Kind::UpstreamFailed,
            "reported: no \"quotes\" are escaped",
            502,
        ),
    ] {
        let rule = RuleSet::builtin().resolve("plain", None).unwrap();
        let (about, mut ids) = (About::default(), Ids::new(0));
        let fault = server::CHAT.whole(body.as_bytes(), &about, &mut ids);
        let whole = super::unreadable(fault.unwrap_err(), &rule.too_long);
        assert_eq!((whole.kind, whole.status()), (kind, status), "{body}");
        assert!(whole.message.contains(words), "{}", whole.message);
        let mut stream = server::CHAT.stream(about, 1 << 20);
        let events = stream.read(body.as_bytes(), &mut ids).events;
        assert!(matches!(&events[..], [Event::Error(_)]), "{body}");
    }
    let good = r#"{"choices":[],"usage":{},"base_resp":{"status_code":0,"status_msg":""}}"#;
    let (about, mut ids) = (About::default(), Ids::new(0));
    let mut stream = server::CHAT.stream(about, 1 << 20);
    let events = stream.read(good.as_bytes(), &mut ids).events;
    assert!(events.iter().all(|event| !matches!(event, Event::Error(_))));
}

#[test]
fn a_prompt_that_is_too_long_is_told_in_any_servers_words() {
    let rule = RuleSet::builtin().resolve("plain", None).unwrap();
    for said in [
        "The number of tokens to keep from the initial prompt is greater than the context length",
        "Trying to keep the first 9 tokens when context the overflows. However, the model is loaded with context length of only 8",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        "Input is too long for requested model.",
        "invalid params, context window exceeds limit (2013)",
        "Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)",
        "Input length 5 exceeds the maximum allowed input length of 4 tokens.",
        "Please reduce the length of the messages or completion.",
        "prompt token count of 9 exceeds the limit of 8",
        "prompt too long; exceeded max context length by 4 tokens",
        "Your input exceeds the context window of this model.",
        "AiError: exceeded this model context window limit (4096)",
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]",
        "Prompt exceeds max length",
        "Prompt length 9 is greater than max_seq_len 8",
    ] {
        let body = serde_json::json!({"error": {"message": said}}).to_string();
        let told = upstream_error(&rule, 400, body.as_bytes());
        assert_eq!(told.kind, Kind::ContextLength, "{said}");
        let reported = super::reported(&body, &rule.too_long);
        assert_eq!(reported.kind, Kind::ContextLength, "{said}");
    }
}

#[test]
fn a_404_is_the_models_only_where_it_says_so() {
    for (body, is_the_models) in [
        (
            r#"{"error":{"message":"The model `m` does not exist.","code":404}}"#,
            true,
        ),
        (
            r#"{"error":{"message":"not found","code":"model_not_found"}}"#,
            true,
        ),
        (
            r#"{"error":"model \"m\" not found, try pulling it first"}"#,
            true,
        ),
        (r#"{"detail":"Not Found"}"#, false),
        ("404 page not found", false),
        ("<html>Models</html>", false),
        ("", false),
    ] {
        let rule = RuleSet::builtin().resolve("vllm", None).unwrap();
        let error = upstream_error(&rule, 404, body.as_bytes());
        assert_eq!(error.status(), 404);
        assert_eq!(error.kind == Kind::ModelNotFound, is_the_models, "{body}");
    }
}

#[test]
fn a_router_s_400_is_the_models_where_it_says_nothing_else() {
    let rule = RuleSet::builtin().resolve("llama-cpp", None).unwrap();
    for (message, is_the_models) in [
        ("model 'x y' not found", true),
        ("model is not loaded", false),
        ("the tool of model 'x' not found", false),
        ("model 'x' not found in the cache", false),
    ] {
        let body = serde_json::json!({"error": {"code": 400, "message": message, "type": "invalid_request_error"}});
        let body = body.to_string();
        let error = upstream_error(&rule, 400, body.as_bytes());
        let is_said = (error.kind, error.status()) == (Kind::ModelNotFound, 404);
        assert_eq!(is_said, is_the_models, "{message}");
        assert_eq!(super::lacks_model(400, body.as_bytes()), is_the_models);
        assert!(!super::lacks_model(500, body.as_bytes()));
    }
}

#[test]
fn every_error_shape_is_read() {
    for (body, message, param, code) in [
        (
            r#"{"error":{"message":"bad","type":"BadRequestError","param":"tools","code":400}}"#,
            "bad",
            Some("tools"),
            None,
        ),
        (
            r#"{"error":{"message":"bad","code":"context_length_exceeded"}}"#,
            "bad",
            None,
            Some("context_length_exceeded"),
        ),
        (
            r#"{"object":"error","message":"bad","type":"BadRequest","param":null,"code":400}"#,
            "bad",
            None,
            None,
        ),
        (
            r#"[{"error":{"message":"bad","code":400}}]"#,
            "bad",
            None,
            None,
        ),
        (r#"{"error":"bad"}"#, "bad", None, None),
        (r#"{"detail":"bad"}"#, "bad", None, None),
        (
            r#"{"detail":[{"loc":["body",3],"msg":"bad"}]}"#,
            "body.3: bad",
            None,
            None,
        ),
        (
            r#"{"success":false,"errors":[{"code":5007,"message":"bad"}],"result":{}}"#,
            "bad",
            None,
            None,
        ),
        (
            r#"{"choices":null,"base_resp":{"status_code":1002,"status_msg":"bad"}}"#,
            "bad",
            None,
            None,
        ),
        (
            r#"{"detail":{"msg":"bad","type":"service_unavailable"}}"#,
            "bad",
            None,
            None,
        ),
        (
            r#"{"errors":{"message":"bad","code":5006},"success":false}"#,
            "bad",
            None,
            None,
        ),
        (
            r#"{"error":{"code":"Invalid input","message":"{\"detail\":[{\"loc\":[\"body\",\"user\"],\"msg\":\"bad\"}]}"}}"#,
            "body.user: bad",
            None,
            Some("Invalid input"),
        ),
        (
            r#"{"error":{"message":{"detail":[{"loc":["body",3],"msg":"bad"}]}}}"#,
            "body.3: bad",
            None,
            None,
        ),
        (
            r#"{"error":{"message":"{\"bad\": 1}"}}"#,
            r#"{"bad": 1}"#,
            None,
            None,
        ),
        (r#""bad""#, "bad", None, None),
        ("bad", "bad", None, None),
        ("", "no reason given", None, None),
    ] {
        let said = Reported::read(body.as_bytes());
        assert_eq!(
            (
                said.message.as_str(),
                said.param.as_deref(),
                said.code.as_deref()
            ),
            (message, param, code),
            "{body}"
        );
    }
}

#[test]
fn a_field_that_a_server_does_not_know_is_one_of_the_bodys_own() {
    let rule = RuleSet::builtin().resolve("plain", None).unwrap();
    for (said, fact) in [
        (
            "body.stream_options: Extra inputs are not permitted",
            "no_field_stream_options",
        ),
        ("user: Extra inputs are not permitted", "no_field_user"),
        (
            "Unsupported parameter(s): `prompt_cache_key`",
            "no_field_prompt_cache_key",
        ),
        ("Unsupported parameter: user.", "no_field_user"),
        (
            "Extra parameters ['stream_options', 'user'] are not allowed when extra-parameters is not set or set to be 'error'.",
            "no_field_stream_options",
        ),
        (
            "messages.0.user.name\n  Extra inputs are not permitted",
            "refuses_names",
        ),
        (
            "body.messages.0.reasoning_effort: Extra inputs are not permitted",
            "",
        ),
        (
            "messages.0.assistant.metadata: Extra inputs are not permitted",
            "",
        ),
        ("Unsupported parameter: user_location", ""),
        ("Invalid schema at $.properties.user.name: no", ""),
    ] {
        let told = super::launch_facts_in(&rule, said);
        let facts: Vec<&str> = told.iter().map(|told| told.fact.as_str()).collect();
        assert_eq!(facts.first().copied().unwrap_or_default(), fact, "{said}");
        let is_field = |told: &&super::Told| told.fact.starts_with("no_field_");
        assert!(
            told.iter().filter(is_field).all(|told| !told.is_sure),
            "{said}"
        );
    }
}

#[test]
fn an_error_reply_is_read_in_whatever_form_it_comes() {
    let rule = RuleSet::builtin().resolve("plain", None).unwrap();
    for (status, body, words, kind) in [
        (
            429,
            "id:1\nevent:error\n:HTTP_STATUS/429\ndata:{\"code\":\"Throttling\",\"message\":\"slower\"}\n\n",
            "the server answered 429: slower",
            Kind::UpstreamRateLimited,
        ),
        (
            413,
            r#"{"error":{"code":"tokens_limit_reached","message":"Request body too large for gpt-4o model. Max size: 8000 tokens."}}"#,
            "Max size",
            Kind::ContextLength,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"no","type":"exceed_context_size_error"}}"#,
            "no",
            Kind::ContextLength,
        ),
    ] {
        let error = upstream_error(&rule, status, body.as_bytes());
        assert_eq!(error.kind, kind, "{body}");
        assert!(error.message.contains(words), "{}", error.message);
        assert!(!error.message.contains("event:"), "{}", error.message);
    }
}

#[test]
fn limits_and_choices_that_a_model_does_not_take_are_learnt_of_any_server() {
    for server in ["plain", "openai", "openrouter", "tgi", "vllm"] {
        let rule = RuleSet::builtin().resolve(server, None).unwrap();
        for (said, fact) in [
            (
                "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 20 `inputs` tokens and 32000 `max_new_tokens`",
                "limit_of_4076",
            ),
            (
                "This model's maximum context length is 4096 tokens. However, you requested 32010 tokens (10 in the messages, 32000 in the completion). Please reduce the length of the messages or completion.",
                "limit_of_4086",
            ),
            (
                "You passed 65 input tokens and requested 4032 output tokens. However, the model's context length is only 4096 tokens, resulting in a maximum input length of 64 tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=65)",
                "limit_over_room",
            ),
            ("Range of max_tokens should be [1, 8192]", "limit_over_room"),
            (
                "'max_tokens' or 'max_completion_tokens' is too large: 32000.",
                "limit_over_room",
            ),
            ("Tool choice must be auto", "no_forced_calls"),
            (
                "tool_choice 'required' is incompatible with thinking enabled",
                "no_forced_calls",
            ),
        ] {
            let told = super::launch_facts_in(&rule, said);
            let known = told.iter().find(|told| told.fact == fact);
            assert!(known.is_some_and(|told| !told.is_sure), "{server}: {said}");
        }
    }
}

#[test]
fn a_prompt_that_is_longer_than_the_context_is_no_limit_without_room() {
    let rule = RuleSet::builtin().resolve("vllm", None).unwrap();
    for said in [
        "This model's maximum context length is 4096 tokens. However, you requested 6000 tokens (5000 in the messages, 1000 in the completion). Please reduce the length of the messages or completion.",
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages, Please reduce the length of the messages.",
        "You passed 4097 input tokens and requested 0 output tokens. However, the model's context length is only 4096 tokens, resulting in a maximum input length of 4096 tokens. Please reduce the length of the input prompt.",
    ] {
        let body = serde_json::json!({"message": said, "code": 400}).to_string();
        let told = upstream_error(&rule, 400, body.as_bytes());
        assert_eq!(told.kind, Kind::ContextLength, "{said}");
        assert!(!told.message.contains("max_tokens"), "{}", told.message);
        let facts = super::launch_facts(&rule, body.as_bytes());
        assert!(facts.iter().all(|told| !told.fact.starts_with("limit_of_")));
    }
}
