//! Values in elements, and texts in tokens of their own.

use super::*;

const NS: &str = "]<]minimax[>[";

/// The words of a MiniMax M3 call of `plan` with this between its tokens; `~` stands for the token before tags.
fn plan(properties: Value, inner: &str) -> Vec<String> {
    let text = format!("~<tool_call>~<invoke name=\"plan\">{inner}~</invoke>~</tool_call>");
    let tools = typed_tools("plan", properties);
    let mut words = words(&format("minimax-m3"), &tools, &text.replace('~', NS));
    assert_eq!(words.remove(0), "call plan");
    words
}

#[test]
fn elements_are_what_the_schema_says() {
    let properties = json!({
        "at": {"type": "object", "properties": {"city": {"type": "string"}, "zip": {"type": "integer"}}},
        "tags": {"type": "array", "items": {"type": "number"}},
        "note": {"type": "string"},
        "any": {},
    });
    let inner = "~<at>~<city>12~</city>~<zip>12~</zip>~</at>~<tags>~<item>1~</item>~<item>2.5~</item>~</tags>\
                 ~<note>~<at>x~</at>~</note>~<any>~<item>a~</item>~</any>";
    let found = plan(properties, inner);
    let said = format!("{NS}<at>x{NS}</at>");
    let expected = json!({
        "at": {"city": "12", "zip": 12}, "tags": [1, 2.5], "note": said, "any": ["a"],
    });
    let input = found[0].strip_prefix("input:").unwrap();
    assert_eq!(serde_json::from_str::<Value>(input).unwrap(), expected);
    assert_eq!(found[1], "end");
}

#[test]
fn an_element_in_one_of_its_own_name_does_not_end_it() {
    let properties = json!({"a": {"type": "object"}});
    let found = plan(properties, "~<a>~<a>~<a>x~</a>~</a>~</a>");
    assert_eq!(found, ["input:{\"a\": {\"a\": {\"a\": \"x\"}}}", "end"]);
}

#[test]
fn nothing_is_an_empty_list_or_object_where_the_schema_lets_it_be_no_text() {
    let properties =
        json!({"l": {"type": "array"}, "o": {"type": "object"}, "t": {"type": "string"}});
    let found = plan(properties, "~<l>~</l>~<o>~</o>~<t>~</t>");
    assert_eq!(found, ["input:{\"l\": [], \"o\": {}, \"t\": \"\"}", "end"]);
}

#[test]
fn what_is_not_made_of_elements_is_text() {
    let properties = json!({"o": {"type": "object"}});
    // The same key twice, and words between elements.
    for inner in ["~<b>1~</b>~<b>2~</b>", "so ~<b>1~</b>"] {
        let found = plan(properties.clone(), &format!("~<o>{inner}~</o>"));
        let text = Value::from(inner.replace('~', NS));
        assert_eq!(
            found,
            [format!("input:{{\"o\": {text}}}"), "end".to_owned()]
        );
    }
}

#[test]
fn an_element_that_another_end_follows_is_broken() {
    let found = plan(json!({}), "~<a>1~</b>");
    let rest = format!("{NS}<a>1{NS}</b>{NS}</invoke>{NS}</tool_call>");
    assert_eq!(found, [format!("broken:{rest}")]);
}

#[test]
fn values_are_written_as_elements_where_they_are_read_again() {
    let format = format("minimax-m3");
    let at = json!({"type": "object", "properties": {"zip": {"type": "integer"}}});
    let tools = typed_tools("plan", json!({"at": at, "o": {"type": "object"}}));
    let write = |input: &str| {
        let call = Written {
            id: None,
            name: "plan",
            input,
        };
        format.write(&[call], &tools)
    };
    let text = write("{\"at\": {\"zip\": 5}}");
    assert!(
        text.contains(&format!("<at>{NS}<zip>5{NS}</zip>{NS}</at>")),
        "{text}"
    );
    // What no schema tells to be a number would come back as text.
    let text = write("{\"o\": {\"n\": 5}}");
    assert!(text.contains(&format!("<o>{{\"n\": 5}}{NS}</o>")), "{text}");
}

#[test]
fn a_text_in_tokens_of_its_own_holds_anything_else() {
    let format = format("minicpm5");
    let tools = typed_tools(
        "plan",
        json!({"note": {"type": "string"}, "n": {"type": "integer"}}),
    );
    let inside =
        "<param name=\"note\"><![CDATA[<a>]]</param>]]></param><param name=\"n\">5</param>";
    let text = format!("<function name=\"plan\">{inside}</function>");
    assert_eq!(
        words(&format, &tools, &text),
        [
            "call plan",
            "input:{\"note\": \"<a>]]</param>\", \"n\": 5}",
            "end"
        ]
    );
    let input = "{\"note\": \"<a>]]</param>\", \"n\": 5}";
    let call = Written {
        id: None,
        name: "plan",
        input,
    };
    assert_eq!(format.write(&[call], &tools), text);
}
