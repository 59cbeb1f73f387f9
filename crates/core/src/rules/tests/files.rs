use super::super::words::{ActionWord, ChoiceWord, KindWord, OneCallWord, SPELLINGS, placeholders};
use super::*;
use crate::datafile::Word;
use crate::schema::profile::Counts;

#[test]
fn every_embedded_file_loads_and_is_named_for_its_dialect() {
    let set = RuleSet::builtin();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../rules");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    files.sort();
    let mut names = set.names();
    names.extend(["profiles", "errors", "thoughts"]);
    names.sort_unstable();
    assert_eq!(names, files, "every file is embedded");
    assert_eq!(set.fallback(), "plain");
    for name in set.names() {
        assert!(!set.sources(name).is_empty(), "{name} says no source");
        assert!(set.resolve(name, None).is_some());
    }
    assert!(set.resolve("vlm", None).is_none());
}

/// What a constraint becomes on vLLM, as the body that is sent.
fn sent(version: &str, constraint: &Constraint) -> Value {
    let rule = rule("vllm", version);
    let send = rule.constraints[constraint.kind()].send.as_ref().unwrap();
    let mut fields = Fields::default();
    send.apply(&mut fields, &TemplateValues::of(constraint))
        .unwrap();
    body(&fields)
}

#[test]
fn a_schema_goes_to_each_generation_of_vllm_in_its_own_field() {
    let schema = Constraint::JsonSchema(json!({"const": null}));
    let old = json!({"guided_json": {"const": null}});
    let new = json!({"structured_outputs": {"json": {"const": null}}});
    assert_eq!(sent("0.10.2.post2", &schema), old);
    assert_eq!(sent("0.11.0", &schema), new);
    assert_eq!(sent("0.12", &schema), new);
    assert_eq!(sent("0.32.0", &schema), new);
}

#[test]
fn a_spelling_is_native_only_where_the_server_enforces_it() {
    let route = |version, spelling| rule("vllm", version).route("json_schema", Some(spelling));
    for (spelling, expected) in [
        ("guided_json", [Route::Native, Route::Native, Route::Send]),
        (
            "structured_outputs.json",
            [Route::Send, Route::Native, Route::Native],
        ),
        ("response_format.json_schema", [Route::Native; 3]),
        ("json_schema", [Route::Send; 3]),
    ] {
        let got = ["0.10.2.post2", "0.11.2", "0.12.0"].map(|version| route(version, spelling));
        assert_eq!(got, expected, "{spelling}");
    }
    // SGLang accepts vLLM's fields with 200 and ignores them (recorded).
    let sglang = rule("sglang", "0.5.23");
    for spelling in ["structured_outputs.json", "guided_json", "json_schema"] {
        assert_eq!(sglang.route("json_schema", Some(spelling)), Route::Send);
    }
}

#[test]
fn what_a_server_lacks_is_converted_then_asked_for_and_tags_are_refused() {
    let route = |dialect: &str, kind: &str| rule(dialect, "9999").route(kind, None);
    assert_eq!(route("sglang", "choice"), Route::Convert("regex"));
    assert_eq!(route("llama-cpp", "choice"), Route::Convert("grammar:gbnf"));
    assert_eq!(route("llama-cpp", "regex"), Route::Convert("grammar:gbnf"));
    assert_eq!(
        route("llama-cpp", "grammar:lark"),
        Route::Convert("grammar:gbnf")
    );
    assert_eq!(
        route("sglang", "grammar:lark"),
        Route::Convert("grammar:gbnf")
    );
    assert_eq!(
        rule("vllm", "0.5.4").route("grammar:gbnf", None),
        Route::Convert("grammar:lark")
    );
    assert_eq!(
        rule("sglang", "0.3.0").route("grammar:lark", None),
        Route::Convert("regex")
    );
    assert_eq!(route("llama-cpp", "structural_tag"), Route::Refuse);
    assert_eq!(
        route("lm-studio", "json_object"),
        Route::Convert("json_schema")
    );
    // Any object has no properties to name.
    assert_eq!(route("tgi", "json_object"), Route::Instruct);
    assert_eq!(route("openai", "regex"), Route::Instruct);
    assert_eq!(route("plain", "json_schema"), Route::Instruct);
    assert_eq!(
        rule("vllm", "0.3.3").route("json_object", None),
        Route::Convert("json_schema")
    );
}

#[test]
fn tools_are_shown_as_each_vllm_renders_them() {
    let shown = |text| rule("vllm", text).show_tools;
    assert_eq!(shown("0.8.4"), ShowTools::SystemMessage);
    assert_eq!(shown("0.8.5"), ShowTools::ChatTemplateKwargs);
    assert_eq!(shown("0.10.0"), ShowTools::ChatTemplateKwargs);
    assert_eq!(shown("0.10.1"), ShowTools::ToolChoiceNone);
    assert_eq!(shown("0.10.2.post2"), ShowTools::ToolChoiceNone);
}

#[test]
fn a_key_that_is_made_for_other_questions_is_told_from_one_that_is_refused() {
    let set = RuleSet::builtin();
    let says = |message: &str| set.limits_key(&json!({"error": {"message": message}}));
    assert!(says(
        "You have insufficient permissions for this operation."
    ));
    assert!(says("Missing scopes: api.model.read."));
    assert!(!says("Incorrect API key provided: sk-1."));
}

#[test]
fn an_unknown_version_is_taken_for_the_newest() {
    let set = RuleSet::builtin();
    let unknown = set.resolve("vllm", None).unwrap();
    let newest = set.resolve("vllm", version("999.0.0")).unwrap();
    assert_eq!(unknown.constraints, newest.constraints);
    assert_eq!(unknown.label(), "vllm");
    assert_eq!(rule("vllm", "0.12").label(), "vllm@0.12.0");
}

#[test]
fn bugs_are_told_for_their_versions_only() {
    let set = RuleSet::builtin();
    let issues = |text| -> Vec<String> {
        set.bugs("vllm", version(text))
            .into_iter()
            .map(|bug| bug.issue.clone())
            .collect()
    };
    let none_streams = "vllm-project/vllm#42747".to_owned();
    assert!(issues("0.22.1").contains(&none_streams));
    assert!(!issues("0.23.0").contains(&none_streams));
}

#[test]
fn the_matrix_has_a_row_for_each_generation_and_says_where_each_demand_goes() {
    let matrix = matrix_markdown(&RuleSet::builtin());
    let rows: Vec<Vec<&str>> = matrix
        .lines()
        .map(|line| {
            line.trim_matches(['|', ' '])
                .split('|')
                .map(str::trim)
                .collect()
        })
        .collect();
    assert!(rows.iter().all(|row| row.len() == 13), "{matrix}");
    let row = |server: &str| {
        rows.iter()
            .find(|row| row[0] == server)
            .unwrap_or_else(|| panic!("no {server} in {matrix}"))
    };
    let new = row("vLLM from 0.32.0");
    assert_eq!(new[6], "native `structured_outputs.grammar`");
    assert_eq!(row("vLLM from 0.23.0, before 0.32.0")[6], "convert to GBNF");
    assert_eq!(new[1], "native `structured_outputs.json`");
    assert_eq!(new[8], "tags");
    assert_eq!(row("vLLM from 0.11.0, before 0.23.0")[8], "constrain");
    assert_eq!(new[12], "compose");
    assert_eq!(
        row("vLLM from 0.8.5, before 0.11.0")[1],
        "native `guided_json`"
    );
    assert_eq!(row("llama.cpp")[4], "convert to GBNF");
    assert_eq!(row("llama.cpp")[8], "native");
    assert_eq!(row("OpenAI")[2], "native `response_format.json_object`");
    assert_eq!(row("TensorRT-LLM")[1], "native `response_format.json`");
    assert_eq!(row("mistral.rs")[3], "native `grammar.regex`");
    assert_eq!(row("Ollama before 0.5.0")[8], "instruct");
    assert_eq!(row("plain")[1], "instruct");
    assert_eq!(row("plain")[7], "refuse");
}

#[test]
fn the_readme_of_the_rules_explains_every_word() {
    let readme = include_str!("../../../../../rules/README.md");
    let mut words: Vec<&str> = Vec::new();
    words.extend(names::<KindWord>());
    words.extend(names::<ChoiceWord>());
    words.extend(names::<ChoiceHow>());
    words.extend(names::<ToolsSent>());
    words.extend(names::<Asks>());
    words.extend(names::<TagShape>());
    words.extend(names::<Counts>());
    words.extend(names::<ShowTools>());
    words.extend(names::<ComposeHow>());
    words.extend(names::<OneCallWord>());
    words.extend(names::<ActionWord>());
    words.extend(SPELLINGS.iter().map(|(spelling, _)| *spelling));
    words.extend([
        "$remove",
        "$tool",
        "tell",
        "needs",
        "shape",
        "counts",
        "[[allow]]",
        "fields",
        "unthinking",
        "cut",
        "failed",
        "needs_within",
        "stands_alone",
    ]);
    for kind in names::<KindWord>() {
        let (carriers, others) = placeholders(kind);
        words.extend(carriers.iter().chain(others));
    }
    for word in words {
        assert!(
            readme.contains(&format!("`{word}`")),
            "`{word}` is not explained"
        );
    }
}

fn names<W: Word>() -> impl Iterator<Item = &'static str> {
    W::WORDS.iter().map(|(word, _)| *word)
}

#[test]
fn a_server_that_reads_no_calls_gets_tags_where_it_enforces_them() {
    let knowing = |dialect, version| rule(dialect, version).knowing("no_auto_tools").unwrap();
    for (dialect, version, how) in [
        ("vllm", "0.32.0", ChoiceHow::Tags),
        ("vllm", "0.10.2", ChoiceHow::Tags),
        ("vllm", "0.8.4", ChoiceHow::Tags),
        ("sglang", "0.5.23", ChoiceHow::Tags),
        ("sglang", "0.4.0", ChoiceHow::Instruct),
        ("lmdeploy", "0.9.0", ChoiceHow::Instruct),
    ] {
        let rule = knowing(dialect, version);
        for choice in ["auto", "allowed_auto"] {
            let choice = &rule.choices[choice];
            assert_eq!(choice.how, how, "{dialect} {version}");
            assert_eq!(choice.tell, how == ChoiceHow::Tags, "{dialect} {version}");
            assert_eq!(choice.send, None);
        }
        assert_eq!(rule.knowing("no_auto_tools"), None, "known already");
    }
    // Without constraints there are no tags either, whichever was found out first.
    let bare = knowing("sglang", "0.5.23")
        .knowing("no_constraints")
        .unwrap();
    assert_eq!(bare.choices["auto"].how, ChoiceHow::Instruct);
    let bare = rule("sglang", "0.5.23").knowing("no_constraints").unwrap();
    let bare = bare.knowing("no_auto_tools").unwrap();
    assert_eq!(bare.choices["auto"].how, ChoiceHow::Instruct);
}

#[test]
fn tags_that_a_server_was_found_not_to_enforce_are_not_counted_on() {
    let worker = RuleSet::builtin().resolve("worker", None).unwrap();
    assert_eq!(worker.choices["auto"].how, ChoiceHow::Tags);
    let found = Finding {
        probed: Probed::Constraint {
            kind: "structural_tag".to_owned(),
            spelling: None,
        },
        words: String::new(),
        streamed: false,
        verdict: Verdict::Ignored,
        fact: None,
    };
    // A grammar says the same; without any nothing is left but the prompt.
    let probed = worker.probed(std::slice::from_ref(&found));
    assert_eq!(probed.tags(), Some("grammar:gbnf"));
    assert_eq!(probed.choices["auto"].how, ChoiceHow::Tags);
    let about = |kind: &str| Finding {
        probed: Probed::Constraint {
            kind: kind.to_owned(),
            spelling: None,
        },
        ..found.clone()
    };
    let probed = worker.probed(&["structural_tag", "grammar:gbnf", "grammar:lark"].map(about));
    assert_eq!(probed.choices["auto"].how, ChoiceHow::Instruct);
    assert_eq!(probed.choices["required"].how, ChoiceHow::Constrain);
}

#[test]
fn answers_among_thoughts_are_known_only_of_servers_that_can_be_told_to_stop_thinking() {
    let vllm = rule("vllm", "0.32.0");
    let knowing = vllm.knowing(crate::rules::ANSWERS_AS_THOUGHTS).unwrap();
    assert!(knowing.answers_as_thoughts && !vllm.answers_as_thoughts);
    assert_eq!(
        knowing.knowing("answers_as_thoughts"),
        None,
        "known already"
    );
    assert_eq!(rule("tgi", "3.3.0").knowing("answers_as_thoughts"), None);
}
