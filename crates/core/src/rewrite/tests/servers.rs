//! What real servers were found to refuse, ignore, or die of.

use super::{body, on, rule, sent};
use crate::ir::{EnforcedBy, Loss, Strategy};
use crate::rules::Rule;
use serde_json::{Value, json};

fn tool(name: &str, pattern: &str) -> Value {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": pattern}},
        "required": ["a"],
    });
    json!({"type": "function", "function": {"name": name, "parameters": schema}})
}

#[test]
fn tools_under_auto_are_lowered_where_the_server_compiles_them_and_stay_where_it_does_not() {
    let request = body(&json!({"tools": [tool("f", r"^\d{3}$")], "tool_choice": "auto"}));
    let llama = on(&rule("llama-cpp"), &request).unwrap();
    assert_eq!(llama.strategy, Strategy::Native);
    let pattern = "/tools/0/function/parameters/properties/a/pattern";
    assert_eq!(sent(&llama).pointer(pattern), Some(&json!("^[0-9]{3}$")));
    let vllm = on(&rule("vllm@0.31.0"), &request).unwrap();
    assert_eq!(vllm.strategy, Strategy::Native);
    assert_eq!(vllm.edited(), None, "the client's own bytes");
    let unsaid = body(&json!({"tools": [tool("f", "a\"b")]}));
    let llama = on(&rule("llama-cpp"), &unsaid).unwrap();
    assert_eq!(sent(&llama).pointer(pattern), None);
    assert_eq!(llama.losses[0].pointer, pattern);
    assert_eq!(llama.losses[0].enforced_by, EnforcedBy::Proxy);
}

#[test]
fn free_calls_are_of_strict_tools_where_the_server_holds_the_arguments_of_no_others() {
    let open = json!({"type": "function", "function": {"name": "g", "parameters": {
        "not": {"required": ["a"]},
    }}});
    let mut stated = tool("h", "^a$");
    stated["function"]["strict"] = json!(true);
    let allowed = json!({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [
        {"type": "function", "function": {"name": "f"}},
    ]}});
    let request = |choice: &Value| {
        let tools = [tool("f", r"^\d{3}$"), open.clone(), stated.clone()];
        body(&json!({"tools": tools, "tool_choice": choice}))
    };
    let says = |rule: &crate::rules::Rule, choice: Value| {
        let told = on(rule, &request(&choice)).unwrap();
        assert_eq!(told.strategy, Strategy::Native);
        let sent = match told.edited() {
            Some(_) => sent(&told),
            None => request(&choice),
        };
        let strict = |tool: &Value| tool["function"].get("strict").cloned();
        let tools = sent["tools"].as_array().unwrap();
        (tools.iter().map(strict).collect::<Vec<_>>(), told.losses)
    };
    let vllm = rule("vllm@0.32.0");
    let all = Some(json!(true));
    let (strict, losses) = says(&vllm, json!("auto"));
    assert_eq!(strict, [all.clone(), all.clone(), all.clone()]);
    let told: Vec<_> = losses.iter().map(|loss| loss.pointer.as_str()).collect();
    assert_eq!(told, ["/tools/1/function/parameters/not"]);
    assert_eq!(says(&vllm, allowed).0, std::slice::from_ref(&all));
    let sglang = says(&rule("sglang@0.5.23"), json!("auto"));
    assert_eq!(sglang.0, strict);
    for older in ["vllm@0.31.0", "sglang@0.5.22"] {
        let (strict, _) = says(&rule(older), json!("auto"));
        assert_eq!(strict, [None, None, all.clone()], "{older}");
    }
    // A server that was launched without what holds them fails at all of them.
    for fact in ["old_tags", "no_tags", "no_strict_calls"] {
        let (strict, losses) = says(&vllm.knowing(fact).unwrap(), json!("auto"));
        assert_eq!(strict, [None, None, None]);
        let told: Vec<_> = losses.iter().map(|loss| loss.pointer.as_str()).collect();
        assert_eq!(told, ["/tools/2/function/strict"]);
    }
    // What a failure may tell of them is asked about where there are such alone.
    let told = crate::exchange::launch_facts(&vllm, br#"{"error": "Internal server error"}"#);
    let facts = |body: &Value, asked: Strategy| -> Vec<String> {
        let demand = crate::exchange::read_chat(body.to_string().as_bytes()).unwrap();
        let told = told.iter().map(|told| told.fact.clone());
        told.filter(|fact| crate::exchange::concerns(&demand, asked, &vllm, fact))
            .collect()
    };
    assert_eq!(
        facts(&request(&json!("auto")), Strategy::Native),
        ["no_strict_calls"]
    );
    assert_eq!(
        facts(&request(&json!("required")), Strategy::Tags),
        ["no_tagged_calls"]
    );
    assert!(facts(&body(&json!({})), Strategy::Native).is_empty());
}

#[test]
fn a_server_without_what_holds_tags_is_told_of_no_limit_of_calls_that_it_would_make_tags_of() {
    let vllm = rule("vllm@0.32.0");
    let request = body(&json!({"tools": [tool("f", "^a$")], "parallel_tool_calls": false}));
    let told = on(&vllm, &request).unwrap();
    assert_eq!(sent(&told)["parallel_tool_calls"], false);
    for fact in ["old_tags", "no_tags", "no_strict_calls"] {
        let told = on(&vllm.knowing(fact).unwrap(), &request).unwrap();
        // The proxy keeps to it.
        assert!(told.plan.one_call, "{fact}");
        assert_eq!(sent(&told).get("parallel_tool_calls"), None, "{fact}");
    }
}

#[test]
fn tools_that_may_not_be_called_are_lowered_where_the_server_compiles_what_it_is_shown() {
    let format =
        json!({"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}});
    let anchored = json!({
        "type": "object",
        "properties": {"a": {"$ref": "#there"}},
        "$defs": {"b": {"$anchor": "there", "type": "string"}},
    });
    let tool = |name: &str| json!({"type": "function", "function": {"name": name, "parameters": anchored}});
    let tools = json!([tool("f"), tool("g")]);
    let allowed = json!({"type": "allowed_tools", "allowed_tools": {
        "mode": "auto", "tools": [{"type": "function", "function": {"name": "f"}}],
    }});
    let auto = json!("auto");
    let none = json!("none");
    for (choice, format, strategy) in [
        (&auto, Some(&format), Strategy::Compose),
        (&allowed, Some(&format), Strategy::Compose),
        (&none, Some(&format), Strategy::Native),
        (&none, None, Strategy::Native),
    ] {
        let mut request = json!({"tools": tools, "tool_choice": choice});
        if let Some(format) = format {
            request["response_format"] = format.clone();
        }
        let request = body(&request);
        let llama = on(&rule("llama-cpp"), &request).unwrap();
        assert_eq!(
            (llama.strategy, llama.losses.as_slice()),
            (strategy, &[][..])
        );
        let shown = sent(&llama)["tools"].to_string();
        assert_eq!(shown.matches("#/$defs/b").count(), 2, "{choice} {shown}");
        assert!(!shown.contains("#there"), "{choice} {shown}");
        let vllm = sent(&on(&rule("vllm@0.32.0"), &request).unwrap());
        let keeps = vllm.is_null() || vllm["tools"].to_string().contains("#there");
        assert!(keeps, "{choice} {vllm}");
    }
}

#[test]
fn one_call_is_asked_for_where_one_tool_is_named_and_the_client_wants_no_more() {
    let named = json!({"type": "function", "function": {"name": "f"}});
    let request = json!({"tools": [tool("f", "^a$")], "tool_choice": named});
    let one = on(&rule("llama-cpp"), &body(&request)).unwrap();
    assert_eq!(sent(&one)["parallel_tool_calls"], false);
    assert!(one.plan.one_call);
    let mut several = request.clone();
    several["parallel_tool_calls"] = json!(true);
    let several = on(&rule("llama-cpp"), &body(&several)).unwrap();
    assert!(!several.plan.one_call);
    // Calls that nobody ruled out are not dropped.
    for choice in [json!("required"), json!("auto")] {
        let request = json!({"tools": [tool("f", "^a$")], "tool_choice": choice});
        let free = on(&rule("llama-cpp"), &body(&request)).unwrap();
        assert!(!free.plan.one_call, "{choice}");
    }
}

#[test]
fn an_object_of_any_kind_is_a_schema_where_the_bare_word_constrains_nothing() {
    let request = body(&json!({"response_format": {"type": "json_object"}}));
    let llama = sent(&on(&rule("llama-cpp"), &request).unwrap());
    assert_eq!(llama["json_schema"], json!({"type": "object"}));
    assert_eq!(llama.get("response_format"), None);
    let vllm = on(&rule("vllm@0.32.0"), &request).unwrap();
    assert_eq!(vllm.edited(), None, "the client's own bytes");
}

#[test]
fn no_class_beyond_ascii_reaches_a_compiler_that_ends_on_it() {
    let grammar = |text: &str| body(&json!({"structured_outputs": {"grammar": text}}));
    let ends = grammar("root ::= [^\\u0080] [a-z]\n");
    let old = on(&rule("vllm@0.17.1"), &ends).unwrap();
    let written = sent(&old)["structured_outputs"]["grammar"].clone();
    assert_eq!(written, "root ::= [^] [a-z]\n");
    assert_eq!(old.losses[0].enforced_by, EnforcedBy::Proxy);
    assert_eq!(on(&rule("vllm@0.32.0"), &ends).unwrap().edited(), None);
    let harmless = grammar("root ::= [^a]\n");
    assert_eq!(on(&rule("vllm@0.17.1"), &harmless).unwrap().edited(), None);
    // A regex beside tools becomes a grammar of both.
    let request = json!({
        "tools": [tool("f", "^a$")],
        "structured_outputs": {"regex": r"\S{3}\s\S{3}"},
    });
    let both = sent(&on(&rule("vllm@0.17.1"), &body(&request)).unwrap());
    let both = both["structured_outputs"]["grammar"]
        .as_str()
        .unwrap()
        .to_owned();
    let beyond = both
        .split("[^")
        .skip(1)
        .filter_map(|rest| rest.split(']').next());
    for class in beyond {
        let mut codes = class.split("\\u").skip(1);
        let is_ascii = |code: &str| code.starts_with("00") && code.as_bytes()[2] < b'8';
        assert!(class.is_ascii() && codes.all(is_ascii), "{class} in {both}");
    }
    assert!(both.contains("[^"), "something is left out: {both}");
}

#[test]
fn lark_is_written_as_gbnf_where_the_server_rewrites_it_without_its_regexes() {
    let request = body(&json!({"structured_outputs": {"grammar": "start: /[a-z]{2}/\n"}}));
    let old = on(&rule("vllm@0.17.1"), &request).unwrap();
    assert_eq!(old.strategy, Strategy::Convert);
    assert_eq!(old.losses, []);
    let written = sent(&old)["structured_outputs"]["grammar"].clone();
    assert!(written.as_str().unwrap().contains("::="), "{written}");
    let new = on(&rule("vllm@0.32.0"), &request).unwrap();
    assert_eq!(new.strategy, Strategy::Native);
    assert_eq!(new.edited(), None);
}

#[test]
fn thinking_is_turned_off_for_demands_where_the_answer_was_seen_among_the_thoughts() {
    let vllm = rule("vllm@0.32.0");
    let knowing = vllm.knowing("answers_as_thoughts").unwrap();
    let schema = json!({"type": "object"});
    let stated = json!({"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}});
    let forced = json!({"tools": [tool("f", "^a$")], "tool_choice": "required"});
    let beside = json!({"tools": [tool("f", "^a$")], "structured_outputs": {"regex": "a+"}});
    for (request, pointer) in [
        (&stated, "/response_format"),
        (&forced, "/tools"),
        (&beside, "/structured_outputs/regex"),
    ] {
        let told = on(&knowing, &body(request)).unwrap();
        assert_eq!(
            sent(&told)["chat_template_kwargs"],
            json!({"enable_thinking": false, "thinking": false}),
            "{request}"
        );
        let is_it = |reason: &str| reason.starts_with("thinking is turned off");
        let loss = told.losses.iter().find(|loss| is_it(&loss.reason));
        assert_eq!(loss.unwrap().pointer, pointer);
        assert_eq!(loss.unwrap().enforced_by, EnforcedBy::Nobody);
        let untold = on(&vllm, &body(request)).unwrap();
        assert!(!untold.losses.iter().any(|loss| is_it(&loss.reason)));
    }
    let free = json!({"tools": [tool("f", "^a$")], "tool_choice": "auto"});
    for request in [json!({}), free] {
        let told = on(&knowing, &body(&request)).unwrap();
        assert!(told.edited().is_none() || sent(&told).get("chat_template_kwargs").is_none());
    }
}

#[test]
fn a_client_that_says_itself_whether_to_think_is_left_its_way() {
    let knowing = rule("vllm@0.32.0").knowing("answers_as_thoughts").unwrap();
    let with = |kwargs: Value| {
        let request =
            json!({"structured_outputs": {"regex": "a+"}, "chat_template_kwargs": kwargs});
        let told = on(&knowing, &body(&request)).unwrap();
        match told.edited() {
            Some(_) => sent(&told)["chat_template_kwargs"].clone(),
            None => request["chat_template_kwargs"].clone(),
        }
    };
    for own in [
        json!({"enable_thinking": true}),
        json!({"thinking": false, "x": 1}),
    ] {
        assert_eq!(with(own.clone()), own);
    }
    let off = json!({"enable_thinking": false, "thinking": false});
    assert_eq!(with(json!({"enable_thinking": null})), off);
    assert_eq!(with(Value::Null), off);
    let mut more = off.clone();
    more["tone"] = json!("dry");
    assert_eq!(with(json!({"tone": "dry"})), more);
}

/// A format with a schema, and what else its wrapper says.
fn format(strict: Option<bool>) -> Value {
    let mut stated = json!({"name": "n", "schema": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}});
    if let Some(strict) = strict {
        stated["strict"] = json!(strict);
    }
    json!({"response_format": {"type": "json_schema", "json_schema": stated}})
}

#[test]
fn what_a_client_does_not_call_strict_is_held_where_the_server_would_let_it_go() {
    let request = body(&format(Some(false)));
    let schema = format(None)["response_format"]["json_schema"]["schema"].clone();
    let sglang = sent(&on(&rule("sglang@0.5.23"), &request).unwrap());
    let written = &sglang["response_format"]["json_schema"];
    assert_eq!((&written["schema"], written.get("strict")), (&schema, None));
    let vllm = sent(&on(&rule("vllm@0.33.0"), &request).unwrap());
    assert_eq!(vllm["structured_outputs"]["json"], schema);
    assert_eq!(vllm.get("response_format"), None);
    // Elsewhere the word has its meaning, and what says otherwise keeps its bytes.
    for server in ["openai", "groq", "cerebras"] {
        assert_eq!(
            on(&rule(server), &request).unwrap().edited(),
            None,
            "{server}"
        );
    }
    for strict in [None, Some(true)] {
        for server in ["sglang@0.5.23", "vllm@0.33.0"] {
            let told = on(&rule(server), &body(&format(strict))).unwrap();
            assert_eq!(told.edited(), None, "{server}, {strict:?}");
        }
    }
}

#[test]
fn llama_cpp_has_schemas_where_no_template_leaves_them_out() {
    let told = on(&rule("llama-cpp"), &body(&format(Some(true)))).unwrap();
    assert_eq!(told.strategy, Strategy::Native);
    assert_eq!(sent(&told)["json_schema"]["required"], json!(["a"]));
    assert_eq!(sent(&told).get("response_format"), None);
    let own = json!({"json_schema": {"type": "object", "properties": {"a": {"type": "integer"}}}});
    assert_eq!(on(&rule("llama-cpp"), &body(&own)).unwrap().edited(), None);
}

#[test]
fn any_object_is_a_schema_for_an_ollama_that_asks_llama_server() {
    let request = body(&json!({"response_format": {"type": "json_object"}}));
    let new = sent(&on(&rule("ollama@0.30.0"), &request).unwrap());
    assert_eq!(
        new["response_format"]["json_schema"]["schema"],
        json!({"type": "object"})
    );
    assert_eq!(on(&rule("ollama@0.29.0"), &request).unwrap().edited(), None);
    let new = sent(&on(&rule("ollama-native@0.30.0"), &request).unwrap());
    assert_eq!(new["format"], json!({"type": "object"}));
    let old = sent(&on(&rule("ollama-native@0.29.0"), &request).unwrap());
    assert_eq!(old["format"], "json");
}

#[test]
fn a_call_is_forced_where_thinking_is_off_that_the_server_cannot_force_beside_it() {
    let named = json!({"type": "function", "function": {"name": "f"}});
    let allowed =
        json!({"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [named]}});
    for (choice, said) in [
        (json!("required"), json!("required")),
        (named.clone(), named.clone()),
        (allowed, json!("required")),
    ] {
        let mut request =
            body(&json!({"tools": [tool("f", "^a$"), tool("g", "^a$")], "tool_choice": choice}));
        let thinking = on(&rule("deepseek"), &request).unwrap();
        assert_eq!(thinking.strategy, Strategy::Instruct, "{choice}");
        request["thinking"] = json!({"type": "disabled"});
        let off = on(&rule("deepseek"), &request).unwrap();
        assert_eq!(off.strategy, Strategy::Native, "{choice}");
        let told = match off.edited() {
            Some(_) => sent(&off),
            None => request.clone(),
        };
        assert_eq!(
            (&told["tool_choice"], &told["thinking"]),
            (&said, &request["thinking"])
        );
    }
    // A server that was found to take no tools takes none then either.
    let none = rule("deepseek").knowing("no_tools").unwrap();
    let request = json!({"tools": [tool("f", "^a$")], "tool_choice": "required", "thinking": {"type": "disabled"}});
    assert_eq!(
        on(&none, &body(&request)).unwrap().strategy,
        Strategy::Instruct
    );
}

#[test]
fn objects_that_require_nothing_are_asked_for_as_cohere_takes_them() {
    let ask = |within: Value| {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": within}, "required": ["a"]});
        body(
            &json!({"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}}),
        )
    };
    let at = "/response_format/json_schema/schema/properties/b";
    for (server, place) in [("cohere", "json_schema"), ("cohere-compat", "schema")] {
        let told = on(
            &rule(server),
            &ask(json!({"type": "object", "properties": {"z": {"type": "string"}}})),
        )
        .unwrap();
        assert_eq!(told.strategy, Strategy::Native, "{server}");
        let written = &sent(&told)["response_format"];
        assert_eq!(written["type"], "json_object", "{server}");
        assert_eq!(
            written[place]["properties"]["b"]["required"],
            json!(["z"]),
            "{server}"
        );
        assert_eq!(
            told.losses[0].pointer,
            format!("{at}/properties"),
            "{server}"
        );
        // One of no names cannot be told at all.
        let open = on(&rule(server), &ask(json!({"type": "object"}))).unwrap();
        assert_eq!(open.strategy, Strategy::Instruct, "{server}");
        assert!(
            open.losses[0]
                .reason
                .contains("no object without `required`"),
            "{server}"
        );
    }
}

#[test]
fn any_json_is_a_schema_that_servers_take() {
    let asks = |schema: &Value| {
        body(
            &json!({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}}),
        )
    };
    // An object: `true` is a 400 ("Input should be a valid dictionary").
    for server in ["vllm@0.32.0", "sglang@0.5.23"] {
        let rewritten = on(&rule(server), &asks(&json!(true))).unwrap();
        let sent = sent(&rewritten).to_string();
        assert!(
            sent.contains(r#""schema":{}"#) || sent.contains(r#""json":{}"#),
            "{server}: {sent}"
        );
        assert_eq!(rewritten.losses, [], "{server}");
    }
    // And not an empty one: a 400 too ("std::exception").
    for any in [json!(true), json!({})] {
        let llama = on(&rule("llama-cpp"), &asks(&any)).unwrap();
        let kinds = sent(&llama).pointer("/json_schema/type").cloned();
        assert_eq!(
            kinds.as_ref().and_then(Value::as_array).map(Vec::len),
            Some(6),
            "{any}"
        );
        assert_eq!(llama.losses, []);
    }
}

#[test]
fn a_tool_of_any_arguments_takes_an_object() {
    let request = |schema: &Value, choice: &str| {
        let tool = json!({"type": "function", "function": {"name": "f", "parameters": schema}});
        body(&json!({"tools": [tool], "tool_choice": choice}))
    };
    let object = json!({"type": "object"});
    let listed = json!({"type": "object", "properties": {}});
    let parameters = "/tools/0/function/parameters";
    for server in ["vllm@0.32.0", "llama-cpp", "openai"] {
        for choice in ["auto", "required"] {
            let rewritten = on(&rule(server), &request(&json!(true), choice)).unwrap();
            let told = match server {
                // OpenAI refuses an object that lists no properties, if there are none.
                "openai" => &listed,
                _ => &object,
            };
            assert_eq!(
                sent(&rewritten).pointer(parameters),
                Some(told),
                "{server} {choice}"
            );
        }
    }
    for server in ["openai", "lm-studio"] {
        for schema in [json!({}), object.clone()] {
            let rewritten = on(&rule(server), &request(&schema, "auto")).unwrap();
            assert_eq!(
                sent(&rewritten).pointer(parameters),
                Some(&listed),
                "{server}"
            );
        }
    }
    let empty = on(&rule("vllm@0.32.0"), &request(&json!({}), "auto")).unwrap();
    assert_eq!(sent(&empty).pointer(parameters), Some(&object));
    // What is not said at all is said where the tool is held to it, and what arguments are anyway is no loss.
    let unsaid =
        json!({"tools": [{"type": "function", "function": {"name": "f", "parameters": null}}]});
    let unsaid = on(&rule("vllm@0.32.0"), &body(&unsaid)).unwrap();
    let none = json!({"type": "object", "properties": {}});
    assert_eq!(sent(&unsaid).pointer(parameters), Some(&none));
    let untyped = json!({"properties": {"a": {"type": "string"}}});
    let untyped = on(&rule("vllm@0.32.0"), &request(&untyped, "auto")).unwrap();
    assert_eq!(untyped.losses, []);
    let told = &sent(&untyped)["tools"][0]["function"]["parameters"];
    assert_eq!(told["type"], "object");
    let empty = on(&rule("vllm@0.31.0"), &request(&json!({}), "auto")).unwrap();
    assert_eq!(empty.edited(), None, "the client's own bytes");
}

#[test]
fn a_server_that_follows_every_ref_is_told_of_those_alone_that_are_references() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/a"}, "$ref": {"type": "string"}},
        "required": ["a", "$ref"], "default": {"$ref": "x"},
        "if": {"properties": {"a": {"const": {"$ref": "y"}}}}, "then": {"$ref": "main.json#/z"},
        "$defs": {"a": {"type": "string"}}
    });
    let format = json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema}});
    let llama = on(
        &rule("llama-cpp"),
        &body(&json!({"response_format": format})),
    )
    .unwrap();
    let sent = sent(&llama)["json_schema"].clone();
    assert_eq!(sent.to_string().matches("$ref").count(), 1, "{sent}");
    let mut lost: Vec<&str> = llama
        .losses
        .iter()
        .map(|loss| loss.pointer.rsplit('/').next().unwrap())
        .collect();
    lost.sort_unstable();
    assert_eq!(lost, ["if", "properties", "then"]);
}

#[test]
fn llama_cpp_is_sent_grammars_in_words_that_it_reads() {
    let asked = |grammar: &str, more: Value| {
        let mut request = json!({"structured_outputs": {"grammar": grammar}});
        request
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        on(&rule("llama-cpp@10434"), &body(&request)).unwrap()
    };
    let odd = "root ::= \"(\" my_rule \")\"\nmy_rule ::= my_rule \"x\"\n  | root\n  | \"y\"";
    let told = asked(odd, json!({}));
    let plain = "root ::= \"(\" my-rule \")\"\nmy-rule ::= (root | \"y\") \"x\"*\n";
    assert_eq!(
        (&sent(&told)["grammar"], &told.losses),
        (&json!(plain), &vec![])
    );
    let composed = asked(odd, json!({"tools": [super::tool("f")]}));
    let text = sent(&composed)["grammar"].as_str().unwrap().to_owned();
    assert!(!text.contains("my_rule"), "{text}");
    // What cannot be said otherwise is left to the proxy, which says why.
    let around = "root ::= a \"x\" | \"y\"\na ::= root | \"(\" root \")\"";
    let told = asked(around, json!({}));
    assert_eq!(told.strategy, Strategy::Instruct);
    let why = |loss: &crate::ir::Loss| loss.reason.contains("left recursion");
    assert!(told.losses.iter().any(why), "{:?}", told.losses);
    // Behind what may be nothing its stacks would grow without end.
    let behind = "root ::= ws root \"+\" root | [0-9]\nws ::= [ \\t]*";
    let told = asked(behind, json!({}));
    assert_eq!(told.strategy, Strategy::Instruct);
    assert!(told.losses.iter().any(why), "{:?}", told.losses);
}

#[test]
fn llama_cpp_is_sent_nothing_that_a_text_can_be_read_as_in_very_many_ways() {
    let asked = |request: Value| on(&rule("llama-cpp@10434"), &body(&request)).unwrap();
    let one_way = "root ::= [0-9] state1 | [a-z] root\nstate1 ::= ([0-9] state1 | [a-z] root)?\n";
    for request in [
        json!({"structured_outputs": {"regex": "(([a-z]+)*[0-9])+"}}),
        json!({"grammar": "root ::= (a* [0-9])+\na ::= [a-z]+"}),
    ] {
        let told = asked(request);
        assert_eq!(
            (&sent(&told)["grammar"], &told.losses),
            (&json!(one_way), &vec![])
        );
    }
    // What is not regular stays the client's own.
    let own = json!({"grammar": "root ::= \"(\" ([a-z]* [0-9])+ root? \")\""});
    assert_eq!(asked(own).edited(), None);
    let schema = |pattern: &str| {
        json!({"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {
            "type": "string", "pattern": pattern,
        }}}})
    };
    let told = asked(schema("^([a-z]+ ?)+$"));
    let pattern = sent(&told)["json_schema"]["pattern"].clone();
    assert_eq!(
        (pattern, told.losses.len()),
        (json!("^[a-z]([a-z]| [a-z])*( )?$"), 0)
    );
    // What is too large with one way is left to the proxy.
    let large = "(([ab]+)*a[ab]{20})+c";
    let told = asked(schema(&format!("^{large}$")));
    assert_eq!(sent(&told)["json_schema"], json!({"type": "string"}));
    assert_eq!(told.losses[0].enforced_by, EnforcedBy::Proxy);
    let told = asked(json!({"structured_outputs": {"regex": large}}));
    assert_eq!(
        (told.strategy, sent(&told).get("grammar")),
        (Strategy::Instruct, None)
    );
}

#[test]
fn a_clients_own_regex_is_spelled_as_xgrammar_reads_it() {
    let regex = |regex: &str| {
        let request = body(&json!({"structured_outputs": {"regex": regex}}));
        on(&rule("vllm@0.32.0"), &request).unwrap()
    };
    for (stated, spelled) in [(r"[\x2d0-9]", r"[\u002d0-9]"), (r"[\^a]+?", "[a^]+?")] {
        let told = regex(stated);
        assert_eq!(sent(&told)["structured_outputs"], json!({"regex": spelled}));
        assert_eq!(told.losses, []);
    }
    let told = regex(r"ß\p{Lu}");
    let grammar = "root ::= \"ß\" [A-Z]\n";
    assert_eq!(
        sent(&told)["structured_outputs"],
        json!({"grammar": grammar})
    );
    assert_eq!(told.losses.len(), 1);
    for stated in ["[a-z]{2}", r"[a\^]-\x2d"] {
        assert_eq!(regex(stated).edited(), None, "{stated}");
    }
    // Others read it as it is.
    let request = body(&json!({"guided_regex": r"[\^a]"}));
    let told = on(&rule("llama-cpp"), &request).unwrap();
    assert_eq!(sent(&told)["grammar"], json!("root ::= [a\\u005E]\n"));
}

#[test]
fn a_clients_own_regex_is_told_as_python_reads_it() {
    let told = |server: &str, request: Value| on(&rule(server), &body(&request)).unwrap();
    for (stated, settled) in [
        ("[]x]", r"[\x5dx]"),
        ("[&&x]{3}", r"[\x26\x26x]{3}"),
        ("[a-z&&[^b]]", r"[a-z\x26\x26\x5b^b]\]"),
    ] {
        let new = told(
            "vllm@0.32.0",
            json!({"structured_outputs": {"regex": stated}}),
        );
        assert_eq!(sent(&new)["structured_outputs"], json!({"regex": settled}));
        assert_eq!(new.losses, []);
        let new = told("sglang", json!({"regex": stated}));
        assert_eq!(sent(&new)["regex"], json!(settled));
        let format = json!({"type": "regex", "value": stated});
        let new = told("tgi", json!({"response_format": format}));
        assert_eq!(sent(&new)["response_format"]["value"], json!(settled));
    }
    let new = told("llama-cpp", json!({"guided_regex": "[^]a]{2}"}));
    assert_eq!(sent(&new)["grammar"], json!("root ::= [^\\u005Da]{2}\n"));
}

#[test]
fn a_strict_tool_that_goes_without_the_word_is_told_as_one_that_never_had_it() {
    let tool = |parameters: &Value, strict: bool| {
        let function = json!({"name": "f", "parameters": parameters, "strict": strict});
        let request = body(&json!({"tools": [{"type": "function", "function": function}]}));
        let told = on(&rule("openai"), &request).unwrap();
        let function = &sent(&told)["tools"][0]["function"];
        let is_strict = function.get("strict").is_some_and(|strict| *strict == true);
        (function["parameters"].clone(), is_strict, told.losses)
    };
    let branch = |name: &str| {
        json!({"type": "object", "properties": {name: {"type": "string", "minLength": 3}, "n": {"type": "integer"}},
            "required": [name], "additionalProperties": false})
    };
    let ways = [branch("a"), branch("b")];
    let strict_ways = ["a", "b"].map(|name| {
        let mut branch = branch(name);
        branch["required"] = json!([name, "n"]);
        branch
    });
    for parameters in [
        json!({"type": "object", "anyOf": ways}),
        json!({"oneOf": ways}),
        json!({"anyOf": strict_ways}),
        json!({"$ref": "#/$defs/X", "$defs": {"X": {"anyOf": strict_ways}}}),
    ] {
        let (told, is_strict, losses) = tool(&parameters, true);
        assert!(!is_strict, "{parameters}");
        let loose = tool(&parameters, false);
        assert_eq!(told, loose.0, "{parameters}");
        let at = "/tools/0/function/parameters";
        let is_told = |loss: &Loss| loss.pointer.starts_with(at) && loss.reason.contains("root");
        assert!(losses.iter().any(is_told), "{losses:?}");
        assert!(told.to_string().contains("minLength"), "{told}");
    }
    // What has no alternatives stays strict.
    let (told, is_strict, _) = tool(&ways[0], true);
    assert!(is_strict && told["required"] == json!(["a", "n"]), "{told}");
}

#[test]
fn a_call_without_an_object_is_asked_of_llama_cpp_as_a_text() {
    let request = |parameters: Value| {
        let tool = json!({"type": "function", "function": {"name": "f", "parameters": parameters}});
        body(&json!({"tools": [tool], "tool_choice": "required"}))
    };
    let list = json!({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2});
    let told = on(&rule("llama-cpp"), &request(list)).unwrap();
    assert_eq!(told.strategy, Strategy::Tags);
    assert_eq!(sent(&told)["tool_choice"], "none");
    assert!(sent(&told)["grammar"].as_str().unwrap().contains("\"[\""));
    for parameters in [json!({}), json!({"type": ["object", "null"]})] {
        let told = on(&rule("llama-cpp"), &request(parameters)).unwrap();
        assert_eq!(told.strategy, Strategy::Native);
    }
}

#[test]
fn a_field_without_a_demand_that_a_server_does_not_know_is_left_out_once_it_says_so() {
    let request = body(&json!({
        "stream": true, "stream_options": {"include_usage": true}, "prompt_cache_key": "k", "user": "ada", "top_k": 40,
        "seed": 1,
    }));
    let demand = crate::exchange::read_chat(request.to_string().as_bytes()).unwrap();
    let learnt = |server: &Rule, error: &str| -> Vec<String> {
        let told = crate::exchange::launch_facts(server, error.as_bytes());
        let told = told.into_iter().map(|told| told.fact);
        told.filter(|fact| crate::exchange::concerns(&demand, Strategy::Passthrough, server, fact))
            .collect()
    };
    let plain = rule("plain");
    for (error, field) in [
        (
            r#"{"error":{"message":"Validation: Unsupported parameter(s): `prompt_cache_key`"}}"#,
            "prompt_cache_key",
        ),
        (
            r#"{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}"#,
            "stream_options",
        ),
        (
            r#"{"error":{"message":"Unknown parameter: 'stream_options.include_usage'."}}"#,
            "stream_options",
        ),
        (r#"{"message":"json: unknown field \"user\""}"#, "user"),
        (
            r#"{"detail":[{"type":"extra_forbidden","loc":["body","top_k"],"msg":"Extra inputs are not permitted","input":40}]}"#,
            "top_k",
        ),
        (
            r#"{"object":"error","message":"[{'type': 'extra_forbidden', 'loc': ('body', 'seed'), 'msg': 'Extra inputs are not permitted', 'input': 1}]"}"#,
            "seed",
        ),
    ] {
        let facts = learnt(&plain, error);
        assert_eq!(facts, [format!("no_field_{field}")], "{error}");
        let told = on(&plain.knowing(&facts[0]).unwrap(), &request).unwrap();
        assert_eq!(sent(&told).get(field), None);
        assert_eq!(told.losses[0].pointer, format!("/{field}"));
    }
    let calls = r#"{"error":{"message":"Unsupported parameter: 'parallel_tool_calls'"}}"#;
    assert_eq!(learnt(&plain, calls), ["no_parallel_words"]);
    // One that the request does not have changes nothing.
    let other = r#"{"error":{"message":"Unsupported parameter(s): `verbosity`"}}"#;
    assert!(learnt(&plain, other).is_empty());
    // OpenAI's clients act on its own errors.
    let own = r#"{"error":{"message":"Unsupported parameter: 'user' is not supported"}}"#;
    assert!(learnt(&rule("openai"), own).is_empty());
}
