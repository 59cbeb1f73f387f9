use super::*;

fn overlay(files: &[(&str, &str)]) -> Result<RuleSet, Vec<RuleFault>> {
    let files: Vec<_> = files
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect();
    RuleSet::with_overlay(&files)
}

fn report(files: &[(&str, &str)]) -> String {
    let faults: Vec<_> = overlay(files)
        .unwrap_err()
        .iter()
        .map(ToString::to_string)
        .collect();
    faults.join("\n") + "\n"
}

/// A complete file, to be broken in one place.
const GOOD: &str = include_str!("../../../../../rules/sglang.toml");

#[test]
fn an_overlay_replaces_the_dialect_of_its_name_and_leaves_the_others() {
    let own = GOOD.replace("title = \"SGLang\"", "title = \"our SGLang\"");
    let set = overlay(&[("/etc/isogloss/sglang.toml", &own)]).unwrap();
    assert_eq!(set.resolve("sglang", None).unwrap().title, "our SGLang");
    assert_eq!(set.resolve("vllm", None).unwrap().title, "vLLM");
    assert_eq!(set.names().len(), RuleSet::builtin().names().len());
}

#[test]
fn an_overlay_adds_a_dialect_of_a_new_name() {
    let own = GOOD.replace("dialect = \"sglang\"", "dialect = \"ours\"");
    let set = overlay(&[("ours.toml", &own)]).unwrap();
    assert!(set.resolve("ours", None).is_some());
    assert!(set.resolve("sglang", None).is_some());
}

#[test]
fn every_fault_of_every_file_is_told_at_once_with_its_place() {
    let one = include_str!("../../../../../tests/rules/broken-one.toml");
    let two = include_str!("../../../../../tests/rules/broken-two.toml");
    let report = report(&[("broken-one.toml", one), ("broken-two.toml", two)]);
    assert_eq!(
        report,
        include_str!("../../../../../tests/rules/faults.txt")
    );
}

#[test]
fn an_entry_behind_one_that_holds_for_all_its_versions_is_a_fault() {
    let own = GOOD.to_owned()
        + "\n[[compose]]\nversions = \">=0.5\"\nhow = \"native\"\n"
        + "\n[[field]]\nname = \"x\"\nversions = \">2, <1\"\naction = \"drop\"\nreason = \"r\"\n";
    let report = report(&[("sglang.toml", &own)]);
    assert!(report.contains("this entry is never reached: earlier ones hold for all of `>=0.5.0`"));
    assert!(report.contains("no version lies in `>2.0.0, <1.0.0`"));
}

#[test]
fn allowed_fields_that_leave_out_what_is_sent_are_a_fault() {
    let with = |fields: &str| format!("{GOOD}\n[[allow]]\nfields = [{fields}]\nreason = \"r\"\n");
    let most = r#""model", "messages", "stream", "tools", "tool_choice", "response_format", "skip_special_tokens""#;
    let missing = report(&[("sglang.toml", &with(most))]);
    for name in ["regex", "ebnf"] {
        let wanted = format!("`{name}` is sent, but it is not among the allowed fields");
        assert!(missing.contains(&wanted), "{missing}");
    }
    let missing = report(&[("sglang.toml", &with(r#""model""#))]);
    assert!(
        missing.contains("`messages` is not among the allowed fields"),
        "{missing}"
    );
    let all = with(&format!("{most}, \"regex\", \"ebnf\""));
    assert!(overlay(&[("sglang.toml", &all)]).is_ok());
}

#[test]
fn telling_the_model_without_sending_anything_is_a_fault() {
    let own = GOOD.replace(
        "reason = \"there is no field for choices\"",
        "reason = \"there is no field for choices\"\ntell = true",
    );
    assert_ne!(own, GOOD);
    let report = report(&[("sglang.toml", &own)]);
    assert!(report.contains("`tell` goes with `send`"), "{report}");
}

#[test]
fn a_choice_in_the_words_of_one_wire_is_a_fault() {
    let own = GOOD.replace(
        "asks = \"auto\"\n",
        "send = { tool_choice = \"auto\", tools = \"$remove\" }\n",
    );
    assert_ne!(own, GOOD);
    let report = report(&[("sglang.toml", &own)]);
    for name in ["tools", "tool_choice"] {
        let wanted = format!("`{name}` is said in other words on other wires");
        assert!(report.contains(&wanted), "{report}");
    }
}

#[test]
fn versions_that_nobody_speaks_for_are_a_fault() {
    let own = GOOD.replace(
        "[[constraint]]\nkind = \"grammar:gbnf\"\nreason = \"the ebnf field came with 0.4.2\"\n",
        "",
    );
    assert_ne!(own, GOOD);
    let report = report(&[("sglang.toml", &own)]);
    let wanted =
        "no [[constraint]] for `grammar:gbnf` holds for versions from 0.0.0 and below 0.4.2";
    assert!(report.contains(wanted), "{report}");
}

#[test]
fn a_choice_that_counts_on_a_schema_that_cannot_be_sent_is_a_fault() {
    let own = GOOD.replace(
        "kind = \"json_schema\"\n",
        "kind = \"json_schema\"\nversions = \">=0.3\"\n",
    ) + "\n[[constraint]]\nkind = \"json_schema\"\nreason = \"too old\"\n";
    let faults = overlay(&[("sglang.toml", &own)]).unwrap_err();
    let places: Vec<&str> = faults.iter().map(|fault| fault.text.as_str()).collect();
    assert_eq!(
        places,
        [
            "[[tool_choice]]",
            "[[tool_choice]]",
            "[[tool_choice]]",
            "[[compose]]"
        ]
    );
}

#[test]
fn a_file_with_another_name_than_its_dialect_is_a_fault() {
    let report = report(&[("mine.toml", GOOD)]);
    assert!(report.starts_with("mine.toml:1:11: the file has another name\n"));
}

#[test]
fn exactly_one_dialect_is_the_fallback() {
    let two = GOOD.replace("[recognise]\n", "[recognise]\nfallback = true\n");
    assert!(report(&[("sglang.toml", &two)]).contains("both `plain` and `sglang` say"));
    let plain = include_str!("../../../../../rules/plain.toml").replace("fallback = true", "");
    assert!(report(&[("plain.toml", &plain)]).contains("no file says `fallback = true`"));
}

#[test]
fn broken_toml_is_told_with_its_place_and_never_panics() {
    for text in [
        "",
        "=",
        "dialect = \"é",
        "[[constraint]]\nkind = ",
        "\u{feff}x",
        "a = [1,\n2",
    ] {
        let faults = overlay(&[("broken.toml", text)]).unwrap_err();
        assert!(!faults.is_empty());
        for fault in faults {
            assert!(fault.to_string().starts_with("broken.toml:"), "{fault}");
        }
    }
}

#[test]
fn tags_that_cannot_be_sent_or_are_of_no_call_are_a_fault() {
    let auto = "choice = \"auto\"\nhow = \"native\"";
    let tags = "choice = \"auto\"\nhow = \"tags\"\nreason = \"r\"\n";
    // SGLang knows structural tags from 0.4.4 on.
    let own = GOOD.replace(auto, tags);
    let told = report(&[("sglang.toml", &own)]);
    let wanted = "this counts on a `structural_tag`, which some of its versions cannot be sent";
    assert!(told.contains(wanted), "{told}");
    let ranged = format!("{tags}versions = \">=0.4.4\"\n\n[[tool_choice]]\n{auto}");
    let own = GOOD.replace(auto, &ranged);
    assert!(overlay(&[("sglang.toml", &own)]).is_ok());
    let none = "choice = \"none\"\nhow = ";
    let forbidden = GOOD.replace(
        &format!("{none}\"native\""),
        &format!("{none}\"tags\"\nreason = \"r\""),
    );
    let told = report(&[("sglang.toml", &forbidden)]);
    assert!(told.contains("`tags` are of calls"), "{told}");
}

#[test]
fn what_goes_with_tags_alone_is_a_fault_elsewhere() {
    let told = GOOD.replace(
        "choice = \"auto\"\nhow = \"native\"",
        "choice = \"auto\"\nhow = \"native\"\ntell = true",
    );
    assert!(report(&[("sglang.toml", &told)]).contains("`tell` goes with `tags`"));
    let auto = "choice = \"auto\"\nhow = \"native\"";
    let said = "`otherwise` goes with `native`, and says `constrain` or `tags`";
    let bare = "`bare` goes with `constrain`";
    let required = GOOD.replace(
        "choice = \"named\"\nhow",
        "choice = \"named\"\nstrict = true\nhow",
    );
    let told = report(&[("sglang.toml", &required)]);
    assert!(
        told.contains("`strict` goes with `native` of a free call"),
        "{told}"
    );
    let forms = "`forms` goes with `tags` of a forced call";
    for (line, fault) in [
        ("bare = true", bare),
        ("otherwise = \"instruct\"", said),
        ("forms = [\"grammar:gbnf\"]", forms),
        (
            "may_parse = true",
            "`may_parse` goes with `tags` of a forced call",
        ),
        (
            "free_texts = true",
            "`free_texts` goes with `native` of a forced call",
        ),
        (
            "objects = true",
            "`objects` goes with `native` of a forced call",
        ),
        (
            "stopped = true",
            "`stopped` goes with `native` of a forced call",
        ),
        (
            "unthinking = true",
            "`unthinking` is of what is not `native` otherwise",
        ),
    ] {
        let told = report(&[(
            "sglang.toml",
            &GOOD.replace(auto, &format!("{auto}\n{line}")),
        )]);
        assert!(told.contains(fault), "{told}");
    }
    let forced = "how = \"constrain\"";
    let both = format!("{forced}\notherwise = \"tags\"");
    let told = report(&[("sglang.toml", &GOOD.replacen(forced, &both, 1))]);
    assert!(told.contains(said), "{told}");
    let shaped = GOOD.replace(
        "native = [\"regex\"]",
        "native = [\"regex\"]\nshape = \"format\"",
    );
    let told = report(&[("sglang.toml", &shaped)]);
    assert!(
        told.contains("`shape` goes with a `structural_tag`"),
        "{told}"
    );
    let wrong = GOOD.replace(
        "send = { response_format = \"$tag\" }\nshape = \"format\"",
        "send = { response_format = \"$tag\" }\nshape = \"formatted\"",
    );
    let told = report(&[("sglang.toml", &wrong)]);
    assert!(told.contains("did you mean `format`?"), "{told}");
}

#[test]
fn profiles_are_named_and_may_be_replaced() {
    let like = GOOD.replace("like = \"xgrammar\"", "like = \"xgramar\"");
    assert_ne!(like, GOOD);
    let told = report(&[("sglang.toml", &like)]);
    assert!(told.contains("unknown profile `xgramar`"), "{told}");
    assert!(told.contains("did you mean `xgrammar`?"), "{told}");
    let twice = "[[profile]]\nname = \"a\"\n[[profile]]\nname = \"a\"\n";
    assert!(report(&[("profiles.toml", twice)]).contains("given twice"));
    let text = GOOD.replace("text = [\"grammar:gbnf\"]", "text = [\"grammar:ebnf\"]");
    assert!(report(&[("sglang.toml", &text)]).contains("form of a union"));
    let text = GOOD.replace("how = \"union\"", "how = \"instruct\"");
    assert!(report(&[("sglang.toml", &text)]).contains("`text` goes with `union`"));
    let fact = GOOD.replace("facts = [\"no_auto_tools\"]", "facts = []");
    assert!(report(&[("sglang.toml", &fact)]).contains("`facts` is missing"));
}

#[test]
fn a_wire_that_takes_a_prompt_needs_to_know_where_it_is_rendered_and_no_other_does() {
    let render = "\n[[render]]\npath = \"chat\"\nat = \"/x\"\ntokenize = \"/t\"\n";
    let text = report(&[("sglang.toml", &format!("{GOOD}{render}"))]);
    assert!(text.contains("this begins with a slash"), "{text}");
    assert!(text.contains("`tokenize` goes with `tokens`"), "{text}");
    let render = "\n[[render]]\npath = \"/chat\"\nat = \"/x\"\n";
    let text = report(&[("sglang.toml", &format!("{GOOD}{render}"))]);
    assert!(
        text.contains("`render` goes with a wire that takes a prompt"),
        "{text}"
    );
    let own =
        include_str!("../../../../../rules/tgi-generate.toml").replace("[[render]]", "[[bogus]]");
    let text = report(&[("tgi-generate.toml", &own)]);
    assert!(text.contains("such a wire needs it"), "{text}");
}

#[test]
fn a_version_that_renders_nothing_has_no_place_for_it() {
    let set = RuleSet::builtin();
    let at = |version: &str| {
        set.resolve("tgi-generate", Version::parse(version))
            .unwrap()
    };
    assert_eq!(at("2.2.0").render, None);
    assert_eq!(at("2.3.0").render.unwrap().path, "/chat_tokenize");
}

#[test]
fn an_amount_of_thinking_is_sent_in_words_or_has_a_reason() {
    let file = |thinking: &str| format!("{GOOD}\n[[thinking]]\n{thinking}\n");
    for (thinking, fault) in [
        ("says = \"off\"", "either `send` or `reason` stands here"),
        (
            "says = \"much\"\nreason = \"r\"",
            "unknown amount of thinking",
        ),
        (
            "says = \"off\"\nsend = { a = \"$effort\" }",
            "unknown placeholder `$effort`",
        ),
        (
            "says = \"tokens\"\nsend = { a = \"$schema\" }",
            "unknown placeholder `$schema`",
        ),
        (
            "says = \"on\"\nsend = { a = true }\nefforts = [\"low\"]",
            "`efforts` goes with",
        ),
        (
            "says = \"effort\"\nsend = { a = \"$effort\" }\nleast = 2",
            "`least` goes with",
        ),
        (
            "says = \"effort\"\nsend = { a = \"$effort\" }\nefforts = [\"some\"]",
            "unknown effort",
        ),
    ] {
        let told = report(&[("sglang.toml", &file(thinking))]);
        assert!(told.contains(fault), "{thinking}: {told}");
    }
    for good in [
        "says = \"off\"\nsend = { a = { b = false } }",
        "says = \"on\"\nreason = \"it has no word for it\"",
        "says = \"effort\"\nnative = [\"a\"]\nsend = { a = \"$effort\", b = \"$tokens\" }\nefforts = [\"low\"]",
        "says = \"tokens\"\nsend = { a = \"$tokens\" }\nleast = 1024\nunforced = true",
    ] {
        assert!(overlay(&[("sglang.toml", &file(good))]).is_ok(), "{good}");
    }
}

#[test]
fn the_file_beside_is_there_and_of_another_wire() {
    let text = include_str!("../../../../../rules/ollama.toml");
    for wrong in ["nobody", "vllm"] {
        let beside = format!("beside = [\"{wrong}\"]");
        let changed = text.replace("beside = [\"ollama-native\"]", &beside);
        assert_ne!(changed, text);
        let report = report(&[("ollama.toml", &changed)]);
        assert!(
            report.contains(&format!("`beside` names `{wrong}`")),
            "{report}"
        );
    }
}

/// A request that came on this wire.
fn request(wire: Option<crate::ir::Wire>, has_tools: bool) -> crate::ir::Request {
    let tools = match has_tools {
        true => r#","tools":[{"type":"function","function":{"name":"f"}}]"#,
        false => "",
    };
    let body = format!(r#"{{"model":"m","messages":[]{tools}}}"#);
    let mut request = crate::exchange::read_chat(body.as_bytes()).unwrap().request;
    request.wire = wire;
    request
}

#[test]
fn what_a_model_takes_elsewhere_alone_is_planned_by_the_rule_of_that_route_though_another_be_pinned()
 {
    use crate::ir::Wire;
    let openai = RuleSet::builtin().resolve("openai", None).unwrap();
    let tools = openai.knowing("tools_on_responses").unwrap();
    let all = openai.knowing("only_on_responses").unwrap();
    assert_eq!(all.knowing("tools_on_responses"), None);
    assert!(tools.knowing("only_on_responses").is_some());
    let alone = tools.clone().alone();
    let (own, other) = ("openai", "openai-responses");
    for (rule, wire, has_tools, dialect) in [
        (&openai, Some(Wire::Chat), true, own),
        (&tools, Some(Wire::Chat), true, other),
        (&alone, Some(Wire::Chat), true, other),
        (&tools, Some(Wire::Messages), true, other),
        (&tools, None, true, other),
        (&tools, Some(Wire::Chat), false, own),
        (&all, Some(Wire::Chat), false, other),
        // Who asks on a route by himself stays there.
        (&tools, Some(Wire::Responses), true, own),
        (&all, Some(Wire::Responses), false, own),
        (&all, Some(Wire::Completions), false, own),
    ] {
        let planned = &rule.facing(&request(wire, has_tools)).dialect;
        assert_eq!(planned, dialect, "{wire:?}, {has_tools}");
    }
    // Whose server has no such route beside stays where it is.
    let groq = RuleSet::builtin().resolve("groq", None).unwrap();
    assert_eq!(groq.knowing("tools_on_responses"), None);
}

#[test]
fn a_request_is_planned_by_the_rule_of_its_own_wire_unless_one_is_asked_for_alone() {
    use crate::ir::Wire;
    let rule = RuleSet::builtin().resolve("ollama", None).unwrap();
    let facing = |rule: &Rule, wire| rule.facing(&request(wire, false)).dialect.clone();
    for (wire, dialect) in [
        (Some(Wire::OllamaChat), "ollama-native"),
        (Some(Wire::OllamaGenerate), "ollama-native"),
        (Some(Wire::Chat), "ollama"),
        (Some(Wire::Completions), "ollama"),
        (Some(Wire::Gemini), "ollama"),
        (None, "ollama"),
    ] {
        assert_eq!(facing(&rule, wire), dialect, "{wire:?}");
    }
    let known = rule.knowing("no_tools").unwrap();
    assert_ne!(known.beside, rule.beside, "a model is one on every wire");
    assert_eq!(facing(&rule.alone(), Some(Wire::OllamaChat)), "ollama");
}

#[test]
fn how_tokens_are_counted_and_what_goes_back_is_read_and_checked() {
    let with = |more: &str| GOOD.to_owned() + more;
    let own = GOOD.replace("dialect = \"sglang\"", "dialect = \"ours\"")
        + "\n[history]\nasides = \"system\"\nreasoning = \"\"\nsealed = true\n";
    let rule = overlay(&[("ours.toml", &own)]).unwrap();
    let rule = rule.resolve("ours", None).unwrap();
    assert_eq!(rule.history.asides, crate::ir::Asides::System);
    assert_eq!(
        (rule.history.reasoning, rule.history.sealed),
        (None, crate::ir::Sealing::Blocks)
    );
    assert_eq!(rule.count.unwrap().path, "/tokenize");
    assert_eq!(rule.stopped, ["matched_stop"]);
    let before = "\n[[count]]\nversions = \"<0.5\"\n";
    for (more, fault) in [
        (
            "path = \"tokenize\"\nat = \"/count\"\nfields = [\"messages\"]\n",
            "begins with a slash",
        ),
        (
            "path = \"*:count\"\nat = \"count\"\nfields = [\"messages\"]\n",
            "begins with a slash",
        ),
        (
            "path = \"/tokenize\"\nat = \"/count\"\n",
            "`fields` is missing",
        ),
        (
            "at = \"/count\"\nfields = [\"messages\"]\n",
            "`path` is missing",
        ),
        (
            "path = \"/tokenize\"\nat = \"/count\"\nfields = [\"messages\"]\nrender = \"/template\"\n",
            "go together",
        ),
    ] {
        let report = report(&[("sglang.toml", &with(&format!("{before}{more}")))]);
        assert!(report.contains(fault), "{more}: {report}");
    }
    let unknown = report(&[("sglang.toml", &with("\n[history]\nasides = \"first\"\n"))]);
    assert!(
        unknown.contains("unknown place of instructions `first`"),
        "{unknown}"
    );
}
