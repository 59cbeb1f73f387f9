use crate::dialect::chat::client::read_request;
use crate::error::Kind;
use crate::ir::Constraint;
use crate::schema::Validator;
use serde_json::{Value, json};

fn read(body: &Value) -> crate::ir::Request {
    read_request(body.to_string().as_bytes()).unwrap()
}

fn with(field: &str, value: Value) -> Value {
    let mut body = json!({"model": "m", "messages": []});
    body[field] = value;
    body
}

#[test]
fn a_constraint_that_is_stated_twice_is_one() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}});
    // The same, its keys in another order.
    let again = json!({"properties": {"b": {}, "a": {"type": "string"}}, "type": "object"});
    let wrapped = json!({"type": "json_schema", "json_schema": {"name": "n", "schema": schema}});
    let any = json!({"type": "json_object"});
    let as_schema = Constraint::JsonSchema(schema.clone());
    let cases = [
        (
            json!({"response_format": wrapped, "guided_json": again}),
            "response_format.json_schema",
            &as_schema,
        ),
        (
            json!({"guided_json": schema, "structured_outputs": {"json": again}}),
            "structured_outputs.json",
            &as_schema,
        ),
        (
            json!({"response_format": any, "guided_json": schema}),
            "guided_json",
            &as_schema,
        ),
        (
            json!({"response_format": wrapped, "guided_json_object": true}),
            "response_format.json_schema",
            &as_schema,
        ),
        (
            json!({"structured_outputs": {"json": schema, "json_object": true}}),
            "structured_outputs.json",
            &as_schema,
        ),
        (
            json!({"response_format": any, "guided_json_object": true}),
            "response_format.json_object",
            &Constraint::JsonObject,
        ),
        (
            json!({"response_format": any, "guided_json": {}}),
            "response_format.json_object",
            &Constraint::JsonObject,
        ),
        (
            json!({"guided_json": true, "json_schema": schema}),
            "json_schema",
            &as_schema,
        ),
        (
            json!({"regex": "a+", "guided_regex": "a+"}),
            "guided_regex",
            &Constraint::Regex("a+".into()),
        ),
    ];
    for (fields, spelling, constraint) in cases {
        let mut body = json!({"model": "m", "messages": []});
        body.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        let request = read(&body);
        let stated = request.constraint.unwrap();
        assert_eq!(
            (stated.spelling.0.as_str(), &stated.constraint),
            (spelling, constraint),
            "{body}"
        );
        assert_eq!(stated.also.len(), 1, "{body}");
        assert_eq!(
            request.idle, [""; 0],
            "what else is in these fields is told, not forgotten"
        );
    }
}

#[test]
fn any_object_beside_a_schema_means_those_of_its_values_that_are_objects() {
    let null_or = json!({"anyOf": [{"type": "null"}, {"type": "object", "properties": {"next": {"$ref": "#"}}}]});
    for (schema, good, bad) in [
        (
            json!({"properties": {"a": {"type": "string"}}}),
            vec![json!({"a": "x"})],
            vec![json!(1), json!({"a": 1})],
        ),
        (
            json!({"type": ["object", "null"], "required": ["a"]}),
            vec![json!({"a": 1})],
            vec![json!(null), json!({})],
        ),
        (
            json!({"$ref": "#/$defs/t", "$defs": {"t": {"required": ["a"]}}}),
            vec![json!({"a": 1})],
            vec![json!([]), json!({})],
        ),
        // What refers to the whole still means all of it.
        (
            null_or,
            vec![json!({}), json!({"next": null})],
            vec![json!(null), json!({"next": 1})],
        ),
        (
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/t", "type": "array",
                   "definitions": {"t": {"required": ["a"]}}}),
            vec![json!({"a": 1})],
            vec![json!([]), json!({})],
        ),
    ] {
        let mut body = with("response_format", json!({"type": "json_object"}));
        body["guided_json"] = schema;
        let stated = read(&body).constraint.unwrap();
        let Constraint::JsonSchema(narrowed) = &stated.constraint else {
            panic!("{body}");
        };
        assert_eq!(narrowed["type"], "object");
        let validator = Validator::compile(narrowed).unwrap();
        for value in good {
            assert!(validator.validate(&value).is_ok(), "{value} of {narrowed}");
        }
        for value in bad {
            assert!(validator.validate(&value).is_err(), "{value} of {narrowed}");
        }
    }
}

#[test]
fn constraints_that_contradict_each_other_are_refused() {
    for (first, second) in [
        (json!({"type": "array"}), json!({"json_object": true})),
        (
            json!({"type": "object"}),
            json!({"json": {"type": "object", "minProperties": 1}}),
        ),
        (json!({"const": 1}), json!({"json": {"const": 1.0}})),
        (json!({}), json!({"regex": "a"})),
        (json!(false), json!({"json_object": true})),
        (json!({"type": "object"}), json!({"choice": ["a"]})),
    ] {
        let mut body = with("guided_json", first);
        body["structured_outputs"] = second;
        let error = read_request(body.to_string().as_bytes()).unwrap_err();
        assert_eq!(error.kind, Kind::ConflictingConstraints, "{error}");
        let message = error.message;
        assert!(
            message.contains("`guided_json`") && message.contains("`structured_outputs."),
            "{message}"
        );
    }
}
