#![expect(clippy::unwrap_used, reason = "a test may panic")]

use super::*;
use proptest::prelude::*;
use std::time::{Duration, Instant};

const NOW: u64 = 1_794_916_800;

mod others;

fn source(name: &str) -> &'static str {
    match name {
        "tiny-chat" => include_str!("../../../../tests/data/templates/tiny-chat.jinja"),
        "llama-style" => include_str!("../../../../tests/data/templates/llama-style.jinja"),
        "mistral-style" => include_str!("../../../../tests/data/templates/mistral-style.jinja"),
        "gemma-style" => include_str!("../../../../tests/data/templates/gemma-style.jinja"),
        "phi-style" => include_str!("../../../../tests/data/templates/phi-style.jinja"),
        "thinker-style" => include_str!("../../../../tests/data/templates/thinker-style.jinja"),
        "parts-style" => include_str!("../../../../tests/data/templates/parts-style.jinja"),
        "python-values" => include_str!("../../../../tests/data/templates/python-values.jinja"),
        "gpt-oss" => include_str!("../../../../tests/data/templates/gpt-oss.jinja"),
        "deepseek-v3.1" => include_str!("../../../../tests/data/templates/deepseek-v3.1.jinja"),
        "glm-4.6" => include_str!("../../../../tests/data/templates/glm-4.6.jinja"),
        "deepseek-r1" => include_str!("../../../../tests/data/templates/deepseek-r1.jinja"),
        "seed-oss" => include_str!("../../../../tests/data/templates/seed-oss.jinja"),
        "granite-3.3" => include_str!("../../../../tests/data/templates/granite-3.3.jinja"),
        "kimi-k2" => include_str!("../../../../tests/data/templates/kimi-k2.jinja"),
        "kimi-style" => include_str!("../../../../tests/data/templates/kimi-style.jinja"),
        name => unreachable!("{name}"),
    }
}

fn template(source: &str) -> ChatTemplate {
    ChatTemplate::new(source, "<s>", "</s>").unwrap()
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

fn render_with(
    template: &ChatTemplate,
    messages: &Value,
    tools: &Value,
    kwargs: &Value,
) -> Result<Rendered, Error> {
    template.render(&Prompt {
        messages: &list(messages),
        tools: &list(tools),
        kwargs: kwargs.as_object().unwrap_or(&Map::new()),
        tags: None,
        is_plain: false,
        goes_on: None,
        now_unix: NOW,
    })
}

fn render(source: &str, messages: &Value) -> Result<String, Error> {
    render_with(&template(source), messages, &json!([]), &json!({})).map(|rendered| rendered.text)
}

/// The prompt of an answer that is held to these tags, or to nothing.
fn render_held(
    template: &ChatTemplate,
    messages: &Value,
    tools: &Value,
    tags: Option<&[String]>,
) -> String {
    let prompt = Prompt {
        messages: &list(messages),
        tools: &list(tools),
        kwargs: &Map::new(),
        tags,
        is_plain: false,
        goes_on: None,
        now_unix: NOW,
    };
    template.render(&prompt).unwrap().text
}

fn user(text: &str) -> Value {
    json!([{"role": "user", "content": text}])
}

#[test]
fn templates_render_as_python_renders_them() {
    let golden = include_str!("../../../../tests/data/templates/golden.json");
    let cases: Vec<Value> = serde_json::from_str(golden).unwrap();
    let mut failed = Vec::new();
    for case in &cases {
        let name = format!("{}: {}", case["template"], case["name"]);
        let template = template(source(case["template"].as_str().unwrap()));
        let rendered = render_with(
            &template,
            &case["messages"],
            &case["tools"],
            &case["kwargs"],
        );
        match (rendered, case["expected"].as_str()) {
            (Ok(rendered), Some(expected)) => {
                let think = match case["think"].as_str().unwrap() {
                    "open" => Think::Open,
                    "optional" => Think::Optional,
                    _ => Think::None,
                };
                if (rendered.text.as_str(), rendered.think) != (expected, think) {
                    failed.push(format!("{name}\n{rendered:#?}\nexpected {expected:#?}"));
                }
            }
            (Err(error), None) => {
                let raised = case["error"].as_str().unwrap();
                if !error.message.ends_with(raised) {
                    failed.push(format!("{name}\n{error}"));
                }
            }
            (Ok(rendered), None) => failed.push(format!("{name}\nnot refused: {rendered:#?}")),
            (Err(error), Some(_)) => failed.push(format!("{name}\nrefused: {error}")),
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
    assert!(cases.len() > 40);
}

#[test]
fn a_refusal_of_the_template_is_told_in_its_own_words_up_to_a_length() {
    let error = render(
        "{{ raise_exception('No ' ~ messages[0].role) }}",
        &user("x"),
    );
    let error = error.unwrap_err();
    assert_eq!(
        error.message,
        "the model's chat template refuses the messages: No user"
    );
    assert_eq!(
        (error.status(), error.param),
        (400, Some("messages".into()))
    );
    let error = render("{{ raise_exception('é' * 10000) }}", &user("x")).unwrap_err();
    assert!(error.message.len() < 2_100);
}

#[test]
fn plain_is_chatml_with_tools_in_hermes_style() {
    let messages = json!([
        {"role": "user", "content": "q"},
        {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{\"a\":1}"}}]},
        {"role": "tool", "content": "r"},
    ]);
    let tools = json!([{"type": "function", "function": {"name": "f"}}]);
    let rendered = render_with(&ChatTemplate::plain(), &messages, &tools, &json!({})).unwrap();
    assert_eq!(rendered.think, Think::None);
    let (system, rest) = rendered.text.split_once("<|im_end|>\n").unwrap();
    assert!(system.starts_with("<|im_start|>system\n# Tools\n"));
    assert!(
        system.contains("\n{\"type\": \"function\", \"function\": {\"name\": \"f\"}}\n</tools>")
    );
    assert_eq!(
        rest,
        "<|im_start|>user\nq<|im_end|>\n\
         <|im_start|>assistant\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n\
         </tool_call><|im_end|>\n\
         <|im_start|>user\n<tool_response>\nr\n</tool_response><|im_end|>\n\
         <|im_start|>assistant\n"
    );
}

#[test]
fn whether_a_template_thinks_is_told() {
    assert!(template(source("tiny-chat")).thinks());
    assert!(template("{{ messages[0].content.split('</think>')[-1] }}").thinks());
    assert!(!template(source("llama-style")).thinks());
}

#[test]
fn arguments_that_are_no_json_object_stay_as_they_are() {
    let show = "{% for call in messages[-1].tool_calls %}{{ call.id }} {{ call.function.arguments \
                | tojson }};<tool_call>{{ {'name': call.function.name, 'arguments': {}} | tojson \
                }}</tool_call>{% endfor %}{% if tools %}{% endif %}";
    let call = |id: &str, arguments: &str| json!({"id": id, "function": {"name": "f", "arguments": arguments}});
    let messages = json!([{"role": "assistant", "tool_calls": [
        call("a", "{\"x\": [1]}"), call("b", "not json"), call("c", " "), call("d", "[1]"),
    ]}]);
    let text = render(show, &messages).unwrap();
    let shown: Vec<&str> = text
        .split("</tool_call>")
        .filter_map(|call| call.split(";<tool_call>").next())
        .collect();
    assert_eq!(
        shown,
        [
            r#"a {"x": [1]}"#,
            r#"b "not json""#,
            "c {}",
            r#"d "[1]""#,
            ""
        ]
    );
}

#[test]
fn calls_of_custom_tools_and_legacy_calls_are_shown_as_calls_of_functions() {
    let messages = json!([
        {"role": "user", "content": "u"},
        {"role": "assistant", "tool_calls": [
            {"id": "a", "type": "custom", "custom": {"name": "run", "input": "x = 1"}},
        ]},
        {"role": "tool", "tool_call_id": "a", "content": "ok"},
        {"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{\"b\":2}"}},
        {"role": "function", "name": "f", "content": "done"},
    ]);
    for template in [ChatTemplate::plain(), template(source("tiny-chat"))] {
        let text = render_with(&template, &messages, &json!([]), &json!({}))
            .unwrap()
            .text;
        for shown in [
            "<tool_call>\n{\"name\": \"run\", \"arguments\": {\"input\": \"x = 1\"}}\n</tool_call>",
            "<tool_response>\nok\n</tool_response>",
            "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"b\": 2}}\n</tool_call>",
            "<tool_response>\ndone\n</tool_response>",
        ] {
            assert!(text.contains(shown), "{shown} in {text}");
        }
    }
}

#[test]
fn calls_within_the_same_tags_in_another_style_are_written_in_hermes_style() {
    let xml = "{% for t in tools or [] %}{{ t }}{% endfor %}{% for m in messages %}\
               {{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>\n\
               <function={{ c.function.name }}></function>\n</tool_call>{% endfor %}{% endfor %}";
    let messages = json!([
        {"role": "user", "content": "u"},
        {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]},
    ]);
    assert_eq!(
        render(xml, &messages).unwrap(),
        "u<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>"
    );
}

#[test]
fn a_template_that_writes_calls_and_no_tools_is_told_of_the_tools_in_its_own_style() {
    let deepseek = template(source("deepseek-v3.1"));
    let tools =
        json!([{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]);
    let messages = json!([
        {"role": "user", "content": "u"},
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "r"},
    ]);
    let rendered = render_with(&deepseek, &messages, &tools, &json!({})).unwrap();
    let (told, conversation) = rendered.text.split_once("<｜User｜>").unwrap();
    assert!(told.contains("\"name\": \"f\""), "{told}");
    let style =
        "<｜tool▁call▁begin｜><function-name><｜tool▁sep｜><args-json-object><｜tool▁call▁end｜>";
    assert!(
        told.contains(style) && !told.contains("<tool_call>"),
        "{told}"
    );
    assert!(conversation.contains("<｜tool▁call▁begin｜>f<｜tool▁sep｜>{}"));
    assert!(conversation.contains("<｜tool▁output▁begin｜>r<｜tool▁output▁end｜>"));
}

#[test]
fn calls_of_typed_parameters_are_shown_where_the_answer_may_be_held_to_them() {
    let glm = template(source("glm-4.6"));
    let tools =
        json!([{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]);
    let messages = json!([
        {"role": "user", "content": "u"},
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{\"a\": 1}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "r"},
    ]);
    let rendered = |tags: Option<&[String]>| render_held(&glm, &messages, &tools, tags);
    let json = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";
    let own = "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>";
    let typed = "<tool_call>f\n".to_owned();
    for tags in [None, Some(&[typed][..])] {
        let text = rendered(tags);
        assert!(text.contains(own) && text.contains("{arg-key-1}"), "{text}");
        assert!(
            !text.contains(json) && !text.contains("<args-json-object>"),
            "{text}"
        );
    }
    // Held to JSON, or to calls of nothing that is shown.
    let hermes = "<tool_call>\n{\"name\": \"f\", \"arguments\": ".to_owned();
    for tags in [&[][..], &[hermes][..]] {
        let text = rendered(Some(tags));
        assert!(
            text.contains(json) && text.contains("<args-json-object>"),
            "{text}"
        );
        assert!(!text.contains("<arg_key>"), "{text}");
    }
}

/// The prompt for a model that goes on with these words of its own.
fn going_on(template: &ChatTemplate, said: &str) -> Result<Rendered, Error> {
    let messages =
        json!([{"role": "user", "content": "Count."}, {"role": "assistant", "content": said}]);
    template.render(&Prompt {
        messages: &list(&messages),
        tools: &[],
        kwargs: &Map::new(),
        tags: None,
        is_plain: false,
        goes_on: Some(said),
        now_unix: NOW,
    })
}

#[test]
fn a_prompt_that_goes_on_ends_with_the_models_own_words() {
    for name in [
        "tiny-chat",
        "llama-style",
        "thinker-style",
        "gpt-oss",
        "glm-4.6",
        "deepseek-v3.1",
        "mistral-style",
    ] {
        for said in ["One, two,", "One, two, "] {
            let rendered = going_on(&template(source(name)), said).unwrap();
            let text = rendered.text;
            assert!(
                text.ends_with(said) || text.ends_with(said.trim_end()),
                "{name}: {text}"
            );
            assert_eq!(rendered.think, Think::None, "{name}");
        }
    }
    let hides = template("{% for message in messages %}{{ message.role }}{% endfor %}");
    let error = going_on(&hides, "One,").unwrap_err();
    assert!(
        error.message.contains("does not appear in the chat after"),
        "{error}"
    );
}

#[test]
fn an_answer_that_is_held_from_its_first_byte_begins_behind_the_head_that_the_model_writes() {
    let messages = list(&user("q"));
    let rendered = |name: &str, is_plain: bool| {
        let prompt = Prompt {
            messages: &messages,
            tools: &[],
            kwargs: &Map::new(),
            tags: is_plain.then_some(&[][..]),
            is_plain,
            goes_on: None,
            now_unix: NOW,
        };
        template(source(name)).render(&prompt).unwrap().text
    };
    let free = rendered("gpt-oss", false);
    assert!(free.ends_with("<|start|>assistant"), "{free}");
    let held = rendered("gpt-oss", true);
    assert_eq!(held, free + "<|channel|>final<|message|>");
    for name in ["tiny-chat", "deepseek-v3.1", "glm-4.6"] {
        assert_eq!(rendered(name, true), rendered(name, false), "{name}");
    }
}

#[test]
fn an_end_of_thoughts_alone_switches_thinking_off() {
    let template = template("{{ '<a></think>' if not thinking else '<a>' }}");
    let think = |thinking: bool| {
        let kwargs = json!({"thinking": thinking});
        render_with(&template, &user("x"), &json!([]), &kwargs).map(|rendered| rendered.think)
    };
    assert_eq!(think(false), Ok(Think::None));
    assert_eq!(think(true), Ok(Think::Optional));
}

#[test]
fn an_empty_list_of_calls_is_none() {
    let show = "{{ 'tool_calls' in messages[0] }}{{ messages[0].content is none }}";
    for calls in [json!([]), json!(null)] {
        let messages = json!([{"role": "assistant", "content": null, "tool_calls": calls}]);
        assert_eq!(render(show, &messages).unwrap(), "FalseFalse");
    }
}

#[test]
fn parts_that_are_no_text_are_refused_at_their_place() {
    for (part, words) in [
        (
            json!({"type": "image_url", "image_url": {"url": "x"}}),
            "no images",
        ),
        (json!({"type": "input_audio"}), "no audio"),
        (json!({"type": "video_url"}), "no video"),
        (json!({"type": "text"}), "a text `text`"),
        (json!({"type": "secret words"}), "`text` alone"),
        (json!(1), "`text` alone"),
    ] {
        for source in [source("tiny-chat"), source("parts-style")] {
            let messages = json!([
                {"role": "user", "content": "x"},
                {"role": "user", "content": [{"type": "text", "text": "x"}, part]},
            ]);
            let error = render(source, &messages).unwrap_err();
            assert_eq!(error.kind, Kind::InvalidRequest);
            assert_eq!(error.param.as_deref(), Some("messages[1].content[1]"));
            assert!(error.message.contains(words), "{error}");
            assert!(!error.message.contains("secret"), "{error}");
        }
    }
}

#[test]
fn messages_that_are_none_are_refused_at_their_place() {
    for (message, place) in [
        (json!("x"), "messages[0]"),
        (json!({"content": "x"}), "messages[0]"),
        (json!({"role": 1, "content": "x"}), "messages[0]"),
        (json!({"role": "user", "content": 1}), "messages[0].content"),
        (
            json!({"role": "user", "content": {}}),
            "messages[0].content",
        ),
    ] {
        let error = render(source("tiny-chat"), &json!([message])).unwrap_err();
        assert_eq!(error.param.as_deref(), Some(place));
    }
}

#[test]
fn kwargs_are_variables_but_never_those_of_the_request() {
    let template = template("{{ enable_thinking }} {{ custom.a }} {{ tools is none }}");
    let with = |kwargs| render_with(&template, &user("x"), &json!([]), &kwargs);
    let kwargs = json!({"enable_thinking": false, "custom": {"a": [1]}, "tools": null});
    assert_eq!(with(kwargs).unwrap().text, "False [1] True");
    for name in FIXED {
        let error = with(json!({name: ["x"]})).unwrap_err();
        let place = format!("chat_template_kwargs.{name}");
        assert_eq!(error.param, Some(place));
    }
    let prompting = |is_prompting: bool| {
        let kwargs = json!({"add_generation_prompt": is_prompting});
        render_with(&ChatTemplate::plain(), &user("x"), &json!([]), &kwargs)
    };
    assert!(prompting(true).is_ok(), "says what is so anyway");
    assert!(prompting(false).is_err());
}

#[test]
fn kwargs_do_not_replace_what_templates_call() {
    let template = template("{{ raise_exception('no') }}{{ strftime_now('%Y') }}");
    for name in ["raise_exception", "isogloss_bound", "range"] {
        let kwargs = json!({name: "x"});
        assert!(render_with(&template, &user("x"), &json!([]), &kwargs).is_err());
    }
}

#[test]
fn a_role_that_the_template_leaves_out_in_silence_is_noticed() {
    let silent = "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}";
    let messages = json!([
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
    ]);
    assert_eq!(render(silent, &messages).unwrap(), "s\n\nu");
}

#[test]
fn a_system_alone_becomes_the_user_of_a_template_without_the_role() {
    let messages = json!([{"role": "developer", "content": "s"}]);
    assert_eq!(
        render(source("gemma-style"), &messages).unwrap(),
        "<s><turn>user\ns<end>\n<turn>model\n"
    );
}

#[test]
fn templates_that_are_no_jinja_are_refused_with_the_line() {
    for (source, words) in [
        ("a\n{% if x %}", "syntax error"),
        ("a\n{{ x", "line 2"),
        ("a\n{% nonsense %}", "unknown statement nonsense (line 2"),
        ("a\n\n{{ 'x }}", "line 3"),
        ("a\n{{ x | }}\n", "line 2"),
    ] {
        let error = ChatTemplate::new(source, "", "").unwrap_err();
        assert!(error.message.contains(words), "{source}: {error}");
    }
    let deep = format!("{{{{ {}1{} }}}}", "(".repeat(10_000), ")".repeat(10_000));
    assert!(ChatTemplate::new(&deep, "", "").is_err());
    let long = "x".repeat(300 << 10);
    assert!(ChatTemplate::new(&long, "", "").is_err());
}

#[test]
fn what_templates_ask_for_and_we_lack_is_named_with_its_line() {
    for (source, words) in [
        ("\n{{ 'x' | nonsense }}", "nonsense is unknown"),
        ("\n{{ 'x' is nonsense }}", "nonsense is unknown"),
        ("\n{{ nonsense() }}", "nonsense is unknown"),
        ("\n{{ 'x'.nonsense() }}", "nonsense"),
        ("\n{% include 'x' %}", "template not found"),
        ("\n{{ debug() }}", "debug is unknown"),
    ] {
        let error = render(source, &user("x")).unwrap_err();
        assert!(error.message.contains(words), "{source}: {error}");
        assert!(
            error.message.contains("(line 2 of the template)"),
            "{error}"
        );
    }
}

#[test]
fn errors_quote_nothing_of_the_conversation() {
    for source in [
        "{{ messages[0].content + 1 }}",
        "{{ messages[0].content.x.y }}",
        "{{ messages[0].content | int }}",
        "{{ range(messages[0].content) }}",
        "{{ messages[0].content() }}",
        "{{ messages | tojson(indent=messages[0].content.x.y) }}",
    ] {
        let error = render(source, &user("secret")).unwrap_err();
        assert!(!error.message.contains("secret"), "{source}: {error}");
    }
}

/// Templates that would take any time or memory, stopped by a bound of each kind.
const BOMBS: &[&str] = &[
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "{% macro m(x) %}{{ m(x ~ x) }}{% endmacro %}{{ m('aaaaaaaa') }}",
    "{% macro m(x) %}{{ x ~ m([x, x]) }}{% endmacro %}{{ m([1]) }}",
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "{% for a in range(99999) %}{% for b in range(99999) %}xxxxxxxx{% endfor %}{% endfor %}",
    "{% set x %}{% for a in range(99999) %}{% for b in range(99999) %}{{ 'xxxxxxxxxxxxxxxxxx' }}\
     {% endfor %}{% endfor %}{% endset %}",
    "{% set ns = namespace(x='aaaa') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}\
     {% endfor %}{{ ns.x | length }}",
    "{% set ns = namespace(x='aaaa') %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}\
     {% endfor %}{{ ns.x | length }}",
    "{% set ns = namespace(x='aaaa') %}{% for i in range(99) %}\
     {% set ns.x = ns.x | replace('a', ns.x) %}{% endfor %}{{ ns.x | length }}",
    "{% set ns = namespace(x='aaaa') %}{% for i in range(99) %}\
     {% set ns.x = ns.x.replace('', ns.x) %}{% endfor %}{{ ns.x | length }}",
    "{% set ns = namespace(x='aaaa') %}{% for i in range(99) %}\
     {% set ns.x = ns.x.join([ns.x, ns.x]) %}{% endfor %}{{ ns.x | length }}",
    "{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}\
     {% endfor %}{{ ns.x == [] }}",
    "{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}\
     {% endfor %}{{ ns.x | list | length }}",
    "{% set ns = namespace(x=[1]) %}{% for i in range(99999) %}{% set ns.x = [ns.x] %}\
     {% endfor %}{{ ns.x | tojson }}",
    "{% set ns = namespace(x={}) %}{% for i in range(99) %}{% set ns.x = {'a': ns.x, 'b': ns.x} %}\
     {% endfor %}{{ ns.x | tojson }}",
    "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}",
    "{% set ns = namespace() %}{% set l = [ns] %}{% set ns.x = l %}{{ ns ~ '' }}",
    "{% set ns = namespace() %}{% macro m() %}{{ ns.m }}{% endmacro %}{% set ns.m = m %}{{ ns }}",
    "{% for x in ['aaaaaaaa'] recursive %}{{ loop([x ~ x]) }}{% endfor %}",
    "{% with a = 'aaaa' %}{% with a = a * 999999 %}{% with b = a * 999999 %}{% endwith %}\
     {% endwith %}{% endwith %}",
    "{{ 'a' * 99999999 * 99999999 }}",
    "{{ 'a' * 99999999 }}",
    "{% block a %}x{{ self.a() }}{% endblock %}",
    "{% raw %}{%--endraw%}{#{% endraw %}{% macro m(x) %}{{ m(x ~ x) }}{% endmacro %}{{ m('a') }}#}",
    "{% set l = range(99999) | list %}{% set n = 9999999999 %}{{ (l * n) | list | length }}",
    "{% set l = [1] %}{% set n = 9999999999 %}{{ n * l }}",
    "{{ '%9999999999d' | format(1) }}",
    "{{ '%*d' | format(999999999, 1) }}",
    "{{ '{:>9999999999}'.format(1) }}",
    "{{ 'a\nb' | indent(9999999999) }}",
    "{{ [1] | tojson(indent=9999999999) }}",
    "{{ [1] | batch(9999999999, 'x') }}",
    "{{ [1] | slice(9999999999) }}",
    "{% for i in range(999999999999) %}{% endfor %}",
    "{% macro m() %}{{ caller(1) }}{% endmacro %}{% macro n() %}{% call(x) m() %}{{ n() }}\
     {% endcall %}{% endmacro %}{{ n() }}",
    "{% set s %}{{ '%s' * 50 }}{% endset %}{% for a in range(99999) %}{% for b in range(99) %}\
     {% set t = s | upper | lower | trim | upper | lower %}{% endfor %}{% endfor %}",
];

#[test]
fn templates_that_would_never_end_or_fill_the_memory_are_stopped() {
    for source in BOMBS {
        let began = Instant::now();
        let error = match ChatTemplate::new(source, "", "") {
            Ok(template) => render_with(&template, &user("x"), &json!([]), &json!({})).unwrap_err(),
            Err(error) => error,
        };
        assert!(!error.message.is_empty());
        let took = began.elapsed();
        assert!(took < Duration::from_secs(60), "{source}: {took:?}");
        println!("{took:?} {}: {source}", error.message);
    }
}

#[test]
fn a_long_conversation_with_many_tools_is_within_the_bounds() {
    let messages: Vec<Value> = (0..2_000)
        .map(|index| match index % 2 {
            0 => json!({"role": "user", "content": "x".repeat(200)}),
            _ => json!({"role": "assistant", "content": "<think>\nh\n</think>\n\ny"}),
        })
        .collect();
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": {
        "type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}}});
    let tools = vec![tool; 200];
    for name in ["tiny-chat", "thinker-style", "llama-style", "mistral-style"] {
        let began = Instant::now();
        let messages = &messages[..1_999];
        let rendered = template(source(name)).render(&Prompt {
            messages,
            tools: &tools,
            kwargs: &Map::new(),
            tags: None,
            is_plain: false,
            goes_on: None,
            now_unix: NOW,
        });
        assert!(rendered.unwrap().text.len() > 200_000, "{name}");
        println!("{name}: {:?}", began.elapsed());
    }
}

fn fragments() -> impl Strategy<Value = String> {
    let fragment = proptest::sample::select(vec![
        "{{",
        "}}",
        "{%",
        "%}",
        "{%-",
        "-%}",
        "{#",
        "#}",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        " ",
        "\n",
        "'",
        "\"",
        "\\",
        "é",
        "|",
        "*",
        "~",
        ".",
        ",",
        "=",
        "1",
        "x",
        "ns.x",
        "messages",
        " in ",
        " set ",
        " for ",
        " endfor ",
        " macro ",
        " endset ",
        " with ",
        " call ",
        " raw ",
        " endraw ",
        " if ",
        " generation ",
        "content",
        "*",
        "a",
    ]);
    proptest::collection::vec(fragment, 0..24).prop_map(|fragments| fragments.concat())
}

#[test]
fn a_generation_tag_with_more_words_is_refused_and_makes_no_panic() {
    for inner in [
        "generation * generation",
        "generation x",
        "endgeneration ~ x",
    ] {
        let source = format!("{{% {inner} %}}x{{% endgeneration %}}");
        assert!(ChatTemplate::new(&source, "", "").is_err(), "{source}");
    }
}

proptest! {
    #[test]
    fn no_source_makes_a_panic(source in fragments(), inner in fragments()) {
        let inside = format!("{{% for x in messages %}}{{{{ {inner} }}}}{{% set y = {inner} %}}{{% endfor %}}");
        for source in [source, inside] {
            if let Ok(template) = ChatTemplate::new(&source, "", "") {
                let _ = render_with(&template, &user("x"), &json!([]), &json!({}));
            }
        }
    }

    #[test]
    fn text_without_tags_is_its_own_rendering(source in "[a-z %#}\n\"'-]{0,40}") {
        let rendered = render(&source, &user("x")).unwrap();
        prop_assert_eq!(rendered, source.strip_suffix('\n').unwrap_or(&source));
    }
}
