use super::*;
use isogloss_core::ir::EnforcedBy;
use std::collections::BTreeMap;

fn metrics() -> Arc<Metrics> {
    Arc::new(Metrics::new(["vllm".to_owned(), "openai".to_owned()]))
}

#[track_caller]
fn says(text: &str, line: &str) {
    assert!(
        text.lines().any(|found| found == line),
        "no `{line}` in\n{text}"
    );
}

#[test]
fn a_finished_request_is_counted_and_timed() {
    let metrics = metrics();
    let labels = RequestLabels {
        client: "chat",
        server: "vllm",
        strategy: "native",
        outcome: Outcome::Ok,
    };
    let ms = Duration::from_millis;
    let times = RequestTimes {
        whole: ms(400),
        own: Duration::from_micros(300),
        upstream: Some(ms(390)),
        first_delta: Some(ms(20)),
    };
    metrics.request_finished(labels, times);
    let text = metrics.render();
    says(
        &text,
        "isogloss_requests_total{client_dialect=\"chat\",server_dialect=\"vllm\",strategy=\"native\",outcome=\"ok\"} 1",
    );
    says(
        &text,
        "isogloss_request_duration_seconds_bucket{strategy=\"native\",le=\"0.25\"} 0",
    );
    says(
        &text,
        "isogloss_request_duration_seconds_bucket{strategy=\"native\",le=\"0.5\"} 1",
    );
    says(
        &text,
        "isogloss_added_seconds_bucket{strategy=\"native\",le=\"0.00035\"} 1",
    );
    says(
        &text,
        "isogloss_upstream_seconds_sum{strategy=\"native\"} 0.39",
    );
    says(
        &text,
        "isogloss_first_delta_seconds_count{strategy=\"native\"} 1",
    );
}

const NO_TIME: RequestTimes = RequestTimes {
    whole: Duration::ZERO,
    own: Duration::ZERO,
    upstream: None,
    first_delta: None,
};

#[test]
fn whatever_a_million_strangers_say_adds_no_series() {
    let metrics = metrics();
    let strange = |index: u32| {
        let word = format!("model-{index}");
        let labels = RequestLabels {
            client: "chat",
            server: &word,
            strategy: "native",
            outcome: Outcome::Ok,
        };
        metrics.request_finished(labels, NO_TIME);
        metrics.violation(&word, "reject");
        metrics.loss(&Loss {
            pointer: format!("/tools/0/{word}"),
            reason: word.clone(),
            enforced_by: EnforcedBy::Proxy,
        });
        CompileMetrics(Arc::clone(&metrics)).miss(Box::leak(word.into_boxed_str()));
    };
    strange(0);
    let series = metrics.render().lines().count();
    (1..1_000_000).for_each(strange);
    assert_eq!(metrics.render().lines().count(), series);
}

#[test]
fn words_outside_the_closed_sets_count_as_other() {
    let metrics = metrics();
    metrics.violation("what the model wrote", "reject");
    metrics.violation("required", "retry");
    let labels = RequestLabels {
        client: "chat",
        server: "evil\"server",
        strategy: "native",
        outcome: Outcome::from(Kind::ConstraintViolated),
    };
    metrics.request_finished(labels, NO_TIME);
    CompileMetrics(Arc::clone(&metrics)).hit("cheese");
    let text = metrics.render();
    says(
        &text,
        "isogloss_violations_total{rule=\"other\",action=\"reject\"} 1",
    );
    says(
        &text,
        "isogloss_violations_total{rule=\"required\",action=\"retry\"} 1",
    );
    says(
        &text,
        "isogloss_requests_total{client_dialect=\"chat\",server_dialect=\"other\",strategy=\"native\",outcome=\"violated\"} 1",
    );
    says(&text, "isogloss_grammar_cache_hits_total{kind=\"other\"} 1");
}

#[test]
fn what_has_not_happened_yet_is_0_so_that_a_rate_sees_the_first() {
    let text = metrics().render();
    for line in [
        "isogloss_limits_hit_total{limit=\"memory_budget\"} 0",
        "isogloss_client_gone_total{phase=\"streaming\"} 0",
        "isogloss_retries_total{why=\"failover\"} 0",
        "isogloss_upstream_errors_total{code=\"upstream_unreachable\"} 0",
        "isogloss_config_reloads_total{outcome=\"refused\"} 0",
    ] {
        says(&text, line);
    }
}

#[test]
fn the_worker_has_series_once_there_is_one() {
    let metrics = metrics();
    assert!(!metrics.render().contains("isogloss_worker"));
    metrics.worker_up(true);
    says(&metrics.render(), "isogloss_worker_up 1");
    says(&metrics.render(), "isogloss_worker_restarts_total 0");
    says(&metrics.render(), "isogloss_worker_stuck_total 0");
    metrics.worker_up(false);
    metrics.worker_restarted();
    metrics.worker_stuck();
    says(&metrics.render(), "isogloss_worker_up 0");
    says(&metrics.render(), "isogloss_worker_restarts_total 1");
    says(&metrics.render(), "isogloss_worker_stuck_total 1");
}

#[test]
fn a_stream_is_open_until_its_guard_drops() {
    let metrics = metrics();
    let one = metrics.stream_opened();
    let two = metrics.stream_opened();
    drop(one);
    let _request = metrics.request_opened();
    says(&metrics.render(), "isogloss_streams_open 1");
    drop(two);
    says(&metrics.render(), "isogloss_streams_open 0");
    says(&metrics.render(), "isogloss_requests_in_flight 1");
}

#[test]
fn the_cache_tells_its_size_and_its_evictions() {
    let metrics = metrics();
    let cache = CompileMetrics(Arc::clone(&metrics));
    cache.miss("json_schema");
    cache.compiled("json_schema", 0.02);
    cache.evicted(3);
    cache.size(7, 4096);
    let text = metrics.render();
    says(
        &text,
        "isogloss_grammar_cache_misses_total{kind=\"json_schema\"} 1",
    );
    says(
        &text,
        "isogloss_grammar_compile_seconds_bucket{kind=\"json_schema\",le=\"0.025\"} 1",
    );
    says(&text, "isogloss_grammar_cache_evictions_total 3");
    says(&text, "isogloss_grammar_cache_entries 7");
    says(&text, "isogloss_grammar_cache_bytes 4096");
}

#[test]
fn what_is_remembered_of_translations_is_counted() {
    let metrics = metrics();
    let limits = isogloss_compile::CompilerLimits {
        // A quarter of them is for translations.
        cache_entries: 4,
        ..isogloss_compile::CompilerLimits::default()
    };
    let observer = Arc::new(CompileMetrics(Arc::clone(&metrics)));
    let compiler = isogloss_compile::Compiler::observed(limits, observer);
    let profile = isogloss_core::schema::Profile {
        ignored: vec!["not".to_owned()],
        ..isogloss_core::schema::Profile::default()
    };
    says(&metrics.render(), "isogloss_translation_cache_hits_total 0");
    for title in ["a", "a", "b"] {
        let schema = serde_json::json!({ "title": title });
        let _ = isogloss_core::rewrite::Memo::lower(compiler.memo(), &schema, &profile);
    }
    let text = metrics.render();
    says(&text, "isogloss_translation_cache_hits_total 1");
    says(&text, "isogloss_translation_cache_misses_total 2");
    says(&text, "isogloss_translation_cache_evictions_total 1");
    says(&text, "isogloss_translation_cache_entries 1");
    assert!(!text.contains("isogloss_translation_cache_bytes 0\n"));
}

#[test]
fn every_family_that_has_a_series_has_help_and_type() {
    let metrics = metrics();
    let text = metrics.render();
    for family in [
        &family::STREAMS_OPEN,
        &family::BUILD_INFO,
        &family::START_TIME,
    ] {
        says(&text, &format!("# HELP {} {}", family.name, family.help));
        says(
            &text,
            &format!("# TYPE {} {}", family.name, family.kind.as_str()),
        );
    }
    let mut names: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), FAMILIES.len());
    for family in FAMILIES {
        let counts = family.kind == FamilyKind::Counter;
        assert_eq!(counts, family.name.ends_with("_total"), "{}", family.name);
    }
}

#[test]
fn circuits_are_told_as_they_are_now_and_leave_nothing_behind() {
    assert_eq!(Metrics::circuits(&BTreeMap::new()), "");
    let open = [
        ((0, "m".to_owned()), true),
        ((1, "a\"b\\c\nd".to_owned()), false),
    ];
    let text = Metrics::circuits(&open.into());
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            "# TYPE isogloss_upstream_circuit_open gauge",
            "isogloss_upstream_circuit_open{upstream=\"0\",model=\"m\"} 1",
            r#"isogloss_upstream_circuit_open{upstream="1",model="a\"b\\c\nd"} 0"#,
        ]
    );
    assert!(!metrics().render().contains("circuit_open"));
}

#[test]
fn an_upstream_is_told_by_place_name_and_url() {
    assert_eq!(Metrics::upstreams(std::iter::empty()), "");
    let all = [(0, "g\"pu".to_owned(), "http://one:8000/v1".to_owned())];
    let text = Metrics::upstreams(all.into_iter());
    says(
        &text,
        r#"isogloss_upstream_info{upstream="0",name="g\"pu",url="http://one:8000/v1"} 1"#,
    );
    says(&text, "# TYPE isogloss_upstream_info gauge");
}

#[test]
fn what_dns_says_is_told_by_name_and_of_outcomes_by_word() {
    let metrics = metrics();
    metrics.name_stands_for("vllm.svc", 3, false);
    metrics.name_stands_for("vllm.svc", 3, true);
    metrics.looked_up("empty");
    let text = metrics.render();
    says(&text, "isogloss_dns_servers{name=\"vllm.svc\"} 3");
    says(&text, "isogloss_dns_stale{name=\"vllm.svc\"} 1");
    says(&text, "isogloss_dns_lookups_total{outcome=\"empty\"} 1");
}

#[test]
fn two_proxies_in_one_process_keep_their_numbers_apart() {
    let (one, two) = (metrics(), metrics());
    one.retry("violation");
    says(&one.render(), "isogloss_retries_total{why=\"violation\"} 1");
    says(&two.render(), "isogloss_retries_total{why=\"violation\"} 0");
}
