//! What is promised of schemas as grammars: valid values are taken, and invalid ones are not,
//! but for the keywords that are told.

use super::super::{Converted, Grammar, GrammarFault, convert};
use crate::error::Kind;
use crate::ir::Constraint;
use crate::schema::Validator;
use serde_json::{Map, Value, json};

fn to_gbnf(schema: &Value) -> Result<Converted, GrammarFault> {
    convert(&Constraint::JsonSchema(schema.clone()), "grammar:gbnf")
}

/// Where a schema's keywords are left out.
fn told(converted: &Converted) -> Vec<&str> {
    let pointers = converted.differences.iter();
    pointers.map(|one| one.pointer.as_str()).collect()
}

fn check(schema: &Value, yes: &[&str], no: &[&str], left_out: &[&str]) {
    for kind in ["grammar:gbnf", "grammar:lark"] {
        let converted = convert(&Constraint::JsonSchema(schema.clone()), kind).unwrap();
        let Constraint::Grammar { text, .. } = &converted.constraint else {
            panic!("{kind}")
        };
        let grammar = Grammar::compile(&converted.constraint)
            .unwrap_or_else(|fault| panic!("{schema}\n{text}\n{fault}"));
        assert_eq!(told(&converted), left_out, "{schema}");
        for case in yes {
            assert_eq!(grammar.check(case), Ok(()), "{schema}\n{text}\n{case}");
        }
        for case in no {
            assert!(grammar.check(case).is_err(), "{schema}\n{text}\n{case}");
        }
    }
}

#[test]
fn objects_are_written_in_the_order_of_their_properties() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "boolean"}, "c": {"type": "null"}},
        "required": ["b"],
        "additionalProperties": false
    });
    check(
        &schema,
        &[
            "{\"a\":1,\"b\":true,\"c\":null}",
            "{\"b\":true}",
            "{ \"a\" : -20,\n  \"b\" : false }",
            "{\"b\":true,\"c\":null}",
        ],
        &[
            "{}",
            "{\"a\":1}",
            "{\"b\":true,}",
            "{\"b\":true,\"a\":1}",
            "{\"b\":true,\"d\":1}",
            "{\"b\":1}",
            "{\"b\":true}  ",
        ],
        &[],
    );
    let optional = json!({
        "type": "object",
        "properties": {"a": true, "b": {"const": 2}, "c": {"const": 3}},
        "additionalProperties": false
    });
    check(
        &optional,
        &[
            "{}",
            "{\"a\":[{}]}",
            "{\"b\":2}",
            "{\"a\":1,\"c\":3}",
            "{\"b\":2,\"c\":3}",
        ],
        &["{\"c\":3,\"b\":2}", "{,\"b\":2}", "{\"a\":1 \"b\":2}"],
        &[],
    );
}

#[test]
fn properties_that_are_not_named_follow_and_never_repeat_a_named_one() {
    let open = json!({"type": "object", "properties": {"ab": {"const": 1}, "a\"": {"const": 2}}});
    check(
        &open,
        &[
            "{}",
            "{\"ab\":1}",
            "{\"ab\":1,\"abc\":[]}",
            "{\"a\":{\"x\":\"y\"},\"\":null}",
            "{\"a\\\\\":1,\"\\n\":2}",
            "{\"ab\":1,\"a\\\"\":2,\"c\":3}",
        ],
        &[
            "{\"ab\":2}",
            "{\"c\":1,\"ab\":2}",
            "{\"a\\\"\":3}",
            "{\"a\\u0062\":2}",
        ],
        &[],
    );
    let typed = json!({"type": "object", "additionalProperties": {"type": "string"}});
    check(&typed, &["{\"k\":\"v\",\"l\":\"\"}"], &["{\"k\":1}"], &[]);
    let needed =
        json!({"type": "object", "required": ["x"], "additionalProperties": {"type": "null"}});
    check(
        &needed,
        &["{\"x\":null,\"y\":null}"],
        &["{\"y\":null}", "{\"x\":1}"],
        &[],
    );
}

#[test]
fn lists_strings_and_numbers_are_bounded() {
    let items =
        json!({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3});
    check(
        &items,
        &["[1]", "[1, 2,3]"],
        &["[]", "[1,2,3,4]", "[1,]", "[\"a\"]"],
        &[],
    );
    let tuple = json!({
        "type": "array",
        "prefixItems": [{"const": 1}, {"const": 2}],
        "items": {"const": 3},
        "minItems": 1
    });
    check(
        &tuple,
        &["[1]", "[1,2]", "[1,2,3,3]"],
        &["[]", "[1,3]", "[2]"],
        &[],
    );
    let none = json!({"type": "array", "maxItems": 0});
    check(&none, &["[]"], &["[1]"], &[]);
    let text = json!({"type": "string", "minLength": 2, "maxLength": 3});
    check(
        &text,
        &["\"ab\"", "\"é\\n\\u00e9\"", "\"😀😀\""],
        &["\"a\"", "\"abcd\"", "\"\\ud83d\\ude00a\"", "\"a\nb\""],
        &[],
    );
    for (low, high) in [
        (0, 9),
        (1, 1),
        (-5, 12),
        (37, 4_205),
        (-120, -7),
        (99, 1_000),
        (0, 0),
    ] {
        let schema = json!({"type": "integer", "minimum": low, "maximum": high});
        let converted = to_gbnf(&schema).unwrap();
        assert_eq!(told(&converted), [""; 0]);
        let grammar = Grammar::compile(&converted.constraint).unwrap();
        for number in -1_300..=4_300 {
            let is_in = (low..=high).contains(&number);
            assert_eq!(
                grammar.check(&number.to_string()).is_ok(),
                is_in,
                "{schema} {number}"
            );
        }
    }
    let positive = json!({"type": "integer", "exclusiveMinimum": 41});
    check(
        &positive,
        &["42", "99", "100", "12345"],
        &["41", "4", "-42", "042"],
        &[],
    );
    let negative = json!({"type": "integer", "maximum": -10});
    check(&negative, &["-10", "-100"], &["-9", "0", "10"], &[]);
    let number = json!({"type": "number", "minimum": 0});
    check(&number, &["0", "1.5e-7"], &["-1", "1.", "01", ".5"], &[]);
    let number = json!({"type": "number", "multipleOf": 0.5, "maximum": 3});
    check(
        &number,
        &["0.7", "-4"],
        &["a"],
        &["/maximum", "/multipleOf"],
    );
}

#[test]
fn patterns_are_found_in_strings_and_stand_in_quotes() {
    for (pattern, yes, no) in [
        (
            "^[a-z]{2}$",
            vec!["\"ab\""],
            vec!["\"a\"", "\"abc\"", "\"AB\""],
        ),
        (
            "b",
            vec!["\"abc\"", "\"b\"", "\"\\nb\\\"\""],
            vec!["\"\"", "\"ac\""],
        ),
        ("^a|b$", vec!["\"ax\"", "\"xb\""], vec!["\"xa\"", "\"bx\""]),
        ("^\\\\\"\\n$", vec!["\"\\\\\\\"\\n\""], vec!["\"\\\"\""]),
        (
            "^[^a]$",
            vec!["\"\\\"\"", "\"é\"", "\"\\u0001\""],
            vec!["\"a\"", "\"\"\""],
        ),
        ("^\\d+$", vec!["\"12\""], vec!["\"٣\"", "\"\""]),
        (
            "^(a|(b+))?$",
            vec!["\"\"", "\"a\"", "\"bb\""],
            vec!["\"ab\""],
        ),
    ] {
        check(
            &json!({"type": "string", "pattern": pattern}),
            &yes,
            &no,
            &[],
        );
    }
    let bounded = json!({"type": "string", "pattern": "^[a-z]+$", "minLength": 2, "maxLength": 3});
    check(&bounded, &["\"ab\""], &["\"a\"", "\"abcd\"", "\"AB\""], &[]);
    let both = json!({"type": "string", "pattern": "^a", "maxLength": 3, "format": "date"});
    check(
        &both,
        &["\"abcde\""],
        &["\"b\""],
        &["/format", "/maxLength"],
    );
    let ahead = json!({"type": "string", "pattern": "(?=a)b"});
    check(&ahead, &["\"x\""], &["1"], &["/pattern"]);
}

#[test]
fn alternatives_references_and_values_are_written_out() {
    let tree = json!({
        "$ref": "#/$defs/node",
        "$defs": {"node": {
            "type": "object",
            "properties": {"value": {"type": ["string", "null"]}, "next": {"$ref": "#/$defs/node"}},
            "required": ["value"],
            "additionalProperties": false
        }}
    });
    check(
        &tree,
        &["{\"value\":\"a\",\"next\":{\"value\":null}}"],
        &["{\"next\":{\"value\":null}}", "{\"value\":1}"],
        &[],
    );
    let values = json!({"enum": [1, "a\n", null, {"k": [true]}]});
    check(
        &values,
        &["1", "\"a\\n\"", "null", "{\"k\":[true]}"],
        &["2", "\"a\""],
        &[],
    );
    let strings = json!({"type": "string", "enum": [1, "a"]});
    check(&strings, &["\"a\""], &["1"], &[]);
    // What stands beside the branches holds in each.
    let beside = json!({
        "type": "object",
        "properties": {"k": {"type": "string"}},
        "required": ["k"],
        "additionalProperties": false,
        "anyOf": [{"properties": {"k": {"const": "x"}}}, {"properties": {"k": {"minLength": 3}}}]
    });
    check(
        &beside,
        &["{\"k\":\"x\"}", "{\"k\":\"abc\"}"],
        &["{\"k\":\"y\"}", "{}", "{\"k\":3}"],
        &[],
    );
    let tagged = json!({"oneOf": [
        {"type": "object", "properties": {"t": {"const": "a"}}, "required": ["t"], "additionalProperties": false},
        {"type": "object", "properties": {"t": {"const": "b"}}, "required": ["t"], "additionalProperties": false}
    ]});
    check(
        &tagged,
        &["{\"t\":\"a\"}", "{\"t\":\"b\"}"],
        &["{\"t\":\"c\"}"],
        &[],
    );
    let overlapping = json!({"oneOf": [{"type": "integer"}, {"type": "number"}]});
    check(&overlapping, &["1.5", "1"], &["null"], &["/oneOf"]);
    let all = json!({"allOf": [
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        {"properties": {"b": {"type": "integer"}}, "required": ["b"]}
    ]});
    check(
        &all,
        &["{\"a\":1,\"b\":2}"],
        &["{\"a\":1}", "{\"b\":2}", "[]"],
        &[],
    );
    let closed = json!({"allOf": [
        {"type": "object", "properties": {"a": true}, "additionalProperties": false},
        {"properties": {"b": {"type": "integer"}}}
    ]});
    check(&closed, &["{\"a\":1}"], &["{\"c\":1}"], &["/allOf"]);
    check(
        &json!({"type": "string", "nullable": true}),
        &["null", "\"\""],
        &["1"],
        &[],
    );
}

#[test]
fn what_no_grammar_can_say_is_told_with_its_place() {
    let schema = json!({
        "type": "object",
        "properties": {
            "a/b": {"type": "array", "uniqueItems": true, "contains": {"const": 1}},
            "c": {"not": {"type": "string"}},
            "d": {"type": "string", "minimum": 3}
        },
        "minProperties": 1,
        "patternProperties": {"^x": {"type": "null"}}
    });
    check(
        &schema,
        &["{}", "{\"a/b\":[2,2],\"c\":\"s\",\"d\":\"\",\"x\":1}"],
        &["[]", "{\"d\":1}"],
        &[
            "/properties/a~1b/uniqueItems",
            "/properties/a~1b/contains",
            "/properties/c/not",
            "/minProperties",
            "/patternProperties",
        ],
    );
    for schema in [
        json!(false),
        json!({"type": "object", "required": ["a"], "additionalProperties": false}),
        json!({"type": "integer", "minimum": 3, "maximum": 2}),
        json!({"allOf": [{"type": "string"}, {"type": "null"}]}),
    ] {
        assert_eq!(
            to_gbnf(&schema).unwrap_err().kind,
            Kind::InvalidGrammar,
            "{schema}"
        );
    }
    let endless = json!({"allOf": [{"$ref": "#"}]});
    assert_eq!(to_gbnf(&endless).unwrap_err().kind, Kind::SchemaTooComplex);
    let mut deep = json!({"type": "null"});
    for _ in 0..60 {
        deep = json!({"type": "array", "items": deep});
    }
    assert_eq!(to_gbnf(&deep).unwrap_err().kind, Kind::SchemaTooComplex);
}

/// Puts properties in the order of their schema. Of several branches that order them differently,
/// the one of this number comes first.
struct Orderer<'a> {
    root: &'a Value,
    first: usize,
}

#[derive(Default)]
struct Order<'a> {
    names: Vec<(&'a str, &'a Value)>,
    others: Option<&'a Value>,
    items: Option<&'a Value>,
}

impl<'a> Orderer<'a> {
    fn put(&self, value: &Value, schema: &'a Value) -> Value {
        let mut order = Order::default();
        self.collect(schema, &mut order, 0);
        match value {
            Value::Object(map) => {
                let mut sorted = Map::new();
                for &(name, schema) in &order.names {
                    if let Some(value) = map.get(name)
                        && !sorted.contains_key(name)
                    {
                        sorted.insert(name.to_owned(), self.put(value, schema));
                    }
                }
                for (name, value) in map {
                    if !sorted.contains_key(name) {
                        let value = self.put(value, order.others.unwrap_or(&Value::Null));
                        sorted.insert(name.clone(), value);
                    }
                }
                Value::Object(sorted)
            }
            Value::Array(values) => {
                let items = order.items.unwrap_or(&Value::Null);
                values.iter().map(|value| self.put(value, items)).collect()
            }
            value => value.clone(),
        }
    }

    fn collect(&self, schema: &'a Value, order: &mut Order<'a>, depth: usize) {
        if depth > 20 {
            return;
        }
        let others = &schema["additionalProperties"];
        let required = schema["required"].as_array();
        let declared = schema["properties"].as_object().into_iter().flatten();
        order
            .names
            .extend(declared.map(|(name, schema)| (name.as_str(), schema)));
        if others.is_object() {
            order.others = Some(others);
        }
        if schema["items"].is_object() {
            order.items = Some(&schema["items"]);
        }
        if let Some(to) = schema["$ref"].as_str().and_then(|to| to.strip_prefix('#'))
            && let Some(target) = self.root.pointer(to)
        {
            self.collect(target, order, depth + 1);
        }
        for branch in schema["allOf"].as_array().into_iter().flatten() {
            self.collect(branch, order, depth + 1);
        }
        for keyword in ["anyOf", "oneOf"] {
            let branches = schema[keyword].as_array().map_or(&[][..], Vec::as_slice);
            let (before, after) = branches.split_at(self.first.min(branches.len()));
            for branch in after.iter().chain(before) {
                self.collect(branch, order, depth + 1);
            }
        }
        let names = required.into_iter().flatten().filter_map(Value::as_str);
        order.names.extend(names.map(|name| (name, others)));
    }
}

#[test]
fn real_schemas_take_their_valid_values_and_refuse_the_others_but_for_what_is_told() {
    let folder = isogloss_testing::shared("ISOGLOSS_DATA", "data");
    let Ok(data) = std::fs::read_to_string(format!("{folder}/schemas.jsonl")) else {
        println!("skipped: no {folder}/schemas.jsonl (set ISOGLOSS_DATA)");
        return;
    };
    let (mut exact, mut wider, mut refused) = (0, 0, Vec::new());
    let (mut valid, mut lost, mut invalid, mut wrong) = (0, Vec::new(), 0, Vec::new());
    // The larger ones say nothing new, and compile for seconds without optimisation.
    for line in data.lines().filter(|line| line.len() < 12_000) {
        let case: Value = serde_json::from_str(line).unwrap();
        let (id, schema) = (case["id"].as_str().unwrap_or_default(), &case["schema"]);
        let Ok(validator) = Validator::compile(schema) else {
            continue;
        };
        let grammar = to_gbnf(schema).and_then(|converted| {
            Ok((
                Grammar::compile(&converted.constraint)?,
                converted.differences,
            ))
        });
        let (grammar, differences) = match grammar {
            Ok(grammar) => grammar,
            Err(fault) => {
                refused.push(format!("{id}: {fault}"));
                continue;
            }
        };
        let is_exact = !differences.iter().any(|one| one.is_wider);
        let is_ascii = differences.iter().any(|one| !one.is_wider);
        exact += usize::from(is_exact);
        wider += usize::from(!is_exact);
        for (index, test) in case["tests"].as_array().into_iter().flatten().enumerate() {
            let data = &test["data"];
            let ordered = (0..8).map(|first| {
                Orderer {
                    root: schema,
                    first,
                }
                .put(data, schema)
            });
            let mut texts = ordered.chain([data.clone()]);
            let is_taken = texts.any(|text| grammar.check(&text.to_string()).is_ok());
            if validator.validate(data).is_ok() {
                valid += 1;
                if !is_taken && !is_ascii {
                    lost.push(format!("{id} {index}"));
                }
            } else {
                invalid += 1;
                if is_taken && is_exact {
                    wrong.push(format!("{id} {index}"));
                }
            }
        }
    }
    println!("{exact} exact, {wider} wider; refused: {refused:#?}");
    println!("{valid} valid, lost {lost:#?}; {invalid} invalid, wrong {wrong:#?}");
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(lost.is_empty(), "{lost:#?}");
    assert!(refused.len() * 50 <= exact + wider, "{refused:#?}");
}
