//! What is asked: one kind of request each, as bytes, and whether a reply answers it.

use bytes::Bytes;
use serde_json::{Value, json};

/// A small request with one tool.
const BODY_BYTES: usize = 1024;
/// Tokens, and so events, of a long stream.
const STREAM_TOKENS: usize = 2000;
/// What its text takes at the least.
const STREAM_BYTES: usize = STREAM_TOKENS * 4;
/// A request of an agent with many tools, about 100 KB.
const TOOLS: usize = 100;
/// Of base64, in two pictures.
const IMAGE_BYTES: usize = 5 << 20;

/// One kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Case {
    /// Nothing is demanded.
    PassThrough,
    /// A forced call: rewritten, rewrapped and validated.
    Tools,
    /// The same from a client of Anthropic's Messages.
    Messages,
    /// The same from a client of OpenAI's Responses.
    Responses,
    /// A forced call of one of a hundred tools.
    ManyTools,
    /// An answer by a schema as programs write them: forty definitions, alternatives, patterns.
    Schema,
    /// The same, and no two requests have the same schema.
    NewSchema,
    /// Nothing is demanded, of 5 MB of pictures.
    Images,
    /// A long stream of which nothing is demanded.
    Stream,
    /// A long stream of JSON that is verified.
    StreamFormat,
    /// A long stream of JSON that becomes a call, and is verified.
    StreamTools,
}

impl Case {
    pub(super) const ALL: [Self; 11] = [
        Self::PassThrough,
        Self::Tools,
        Self::Messages,
        Self::Responses,
        Self::ManyTools,
        Self::Schema,
        Self::NewSchema,
        Self::Images,
        Self::Stream,
        Self::StreamFormat,
        Self::StreamTools,
    ];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::PassThrough => "pass-through",
            Self::Tools => "tools, required",
            Self::Messages => "tools, Messages",
            Self::Responses => "tools, Responses",
            Self::ManyTools => "100 tools",
            Self::Schema => "schema",
            Self::NewSchema => "schema, new",
            Self::Images => "5 MB of images",
            Self::Stream => "stream",
            Self::StreamFormat => "stream, format",
            Self::StreamTools => "stream, tools",
        }
    }

    pub(super) const fn is_stream(self) -> bool {
        matches!(self, Self::Stream | Self::StreamFormat | Self::StreamTools)
    }

    /// Below `/v1`.
    pub(super) const fn path(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Responses => "responses",
            _ => "chat/completions",
        }
    }

    /// What the server alone is asked, which speaks Chat: the same in its words.
    pub(super) const fn direct(self) -> Self {
        match self {
            Self::Messages | Self::Responses => Self::Tools,
            other => other,
        }
    }

    /// The request of a user for a model: the same size for each, about, and for a small one exactly. `serial` makes it
    /// another one where no two are to be alike.
    pub(super) fn body(self, user: &str, model: &str, serial: u64) -> Bytes {
        let mut body = match self {
            Self::Messages => {
                json!({"metadata": {"user_id": user}, "model": model, "max_tokens": 512, "system": SYSTEM, "temperature": 0,
                       "messages": [{"role": "user", "content": QUESTION}]})
            }
            Self::Responses => {
                json!({"user": user, "model": model, "instructions": SYSTEM, "temperature": 0, "store": false,
                       "input": [{"role": "user", "content": QUESTION}]})
            }
            _ => json!({"user": user, "model": model, "temperature": 0,
                        "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]}),
        };
        let function = |name: &str, parameters: Value| json!({"type": "function", "function": {"name": name, "description": DESCRIPTION, "parameters": parameters}});
        match self {
            Self::PassThrough | Self::Stream => {}
            Self::Tools | Self::StreamTools => {
                body["tools"] = json!([function("final_result", schema())]);
                body["tool_choice"] = json!("required");
            }
            Self::Messages => {
                body["tools"] = json!([{"name": "final_result", "description": DESCRIPTION, "input_schema": schema()}]);
                body["tool_choice"] = json!({"type": "any"});
            }
            Self::Responses => {
                body["tools"] = json!([{"type": "function", "name": "final_result", "description": DESCRIPTION, "parameters": schema(), "strict": false}]);
                body["tool_choice"] = json!("required");
            }
            Self::ManyTools => {
                let others = (1..TOOLS)
                    .map(|number| function(&format!("tool_{number}"), parameters(number)));
                let all = std::iter::once(function("final_result", schema())).chain(others);
                body["tools"] = all.collect();
                body["tool_choice"] = json!("required");
            }
            Self::Schema | Self::NewSchema => {
                let number = if self == Self::Schema { 0 } else { serial };
                body["response_format"] = format(&large_schema(number));
            }
            Self::StreamFormat => body["response_format"] = format(&schema()),
            Self::Images => {
                let data = "iVBORw0KGgoAAAANSUhEUgAA".chars().cycle();
                let data: String = data.take(IMAGE_BYTES / 2).collect();
                let image = json!({"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{data}")}});
                body["messages"][1]["content"] =
                    json!([image, image, {"type": "text", "text": QUESTION}]);
            }
        }
        if self.is_stream() {
            body["stream"] = json!(true);
            body["max_tokens"] = json!(STREAM_TOKENS);
        }
        Bytes::from(self.filled(body).to_string())
    }

    /// A small request becomes as large as the others, by more of a question.
    fn filled(self, mut body: Value) -> Value {
        let missing = BODY_BYTES.saturating_sub(body.to_string().len());
        let place = match self {
            Self::Messages => "/messages/0/content",
            Self::Responses => "/input/0/content",
            _ => "/messages/1/content",
        };
        if let Some(Value::String(question)) = body.pointer_mut(place) {
            question.extend("and so it goes ".chars().cycle().take(missing));
        }
        body
    }

    /// Whether what has come of a reply says something yet: of a stream the first piece of its text, behind events that only
    /// say that it begins.
    pub(super) fn says_something(self, reply: &[u8]) -> bool {
        let begins = |text: &str| memchr::memmem::find(reply, text.as_bytes()).is_some();
        match self {
            Self::Stream => begins("\"A"),
            Self::StreamFormat | Self::StreamTools => begins("\"{"),
            _ => !reply.is_empty(),
        }
    }

    /// Whether the reply is what the request asked for: speed of wrong answers is none.
    pub(super) fn is_good(self, reply: &[u8]) -> bool {
        let has = |word: &str| memchr::memmem::find(reply, word.as_bytes()).is_some();
        match self {
            Self::PassThrough | Self::Images => has(super::upstream::TEXT),
            // A proxy that only forwards passes on what such a server says to a forced call.
            Self::Tools | Self::ManyTools => has("final_result") && has("tool_calls"),
            Self::Messages => has("final_result") && has("tool_use"),
            Self::Responses => has("final_result") && has("function_call"),
            Self::Schema | Self::NewSchema => has("quick brown fox"),
            // Not each token needs an event of its own, but all of the text is to come.
            Self::Stream | Self::StreamFormat => has("[DONE]") && reply.len() > STREAM_BYTES,
            Self::StreamTools => has("final_result") && has("[DONE]") && reply.len() > STREAM_BYTES,
        }
    }
}

const SYSTEM: &str = "You are careful, brief and exact.";
const QUESTION: &str =
    "Read this text and tell me about it: the quick brown fox jumps over the lazy dog.";
const DESCRIPTION: &str = "The final response which ends this conversation";

fn format(schema: &Value) -> Value {
    json!({"type": "json_schema", "json_schema": {"name": "final_result", "schema": schema}})
}

/// What the scripted server's arguments are of.
fn schema() -> Value {
    json!({
        "type": "object", "additionalProperties": false,
        "properties": {
            "title": {"type": "string", "minLength": 1, "maxLength": 80},
            "kind": {"enum": ["story", "poem", "report"], "type": "string"},
            "score": {"type": "integer", "minimum": 0, "maximum": 10},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 5},
            "summary": {"type": "string"},
        },
        "required": ["title", "kind", "score", "tags", "summary"],
    })
}

/// A tool's parameters as an agent has them, about a kilobyte.
fn parameters(number: usize) -> Value {
    let text = |what: &str| json!({"type": "string", "description": format!("The {what} that tool {number} works on; relative paths are of the working directory, and nothing outside of it is touched.")});
    json!({
        "type": "object", "additionalProperties": false,
        "properties": {
            "path": text("path"), "pattern": text("pattern"), "replacement": text("replacement"), "context": text("context"),
            "mode": {"type": "string", "enum": ["read", "write", "append", format!("mode_{number}")]},
            "limit": {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 2000}, {"type": "null"}], "default": null},
            "options": {"type": "object", "properties": {"recursive": {"type": "boolean"}, "follow": {"type": "boolean"}}, "additionalProperties": false},
        },
        "required": ["path", "mode"],
    })
}

/// The small schema inside of forty definitions, which point at each other as those of programs do.
fn large_schema(serial: u64) -> Value {
    const DEFINITIONS: u64 = 40;
    let definition = |number: u64| {
        let next = format!("#/$defs/part_{}", (number + 1) % DEFINITIONS);
        json!({
            "type": "object", "additionalProperties": false, "title": format!("Part {number} of {serial}"),
            "properties": {
                "id": {"type": "string", "pattern": format!("^[a-z]{{2,8}}-{number}-[0-9]{{1,6}}$")},
                "when": {"type": "string", "format": "date-time"},
                "amount": {"anyOf": [{"type": "number", "minimum": 0}, {"type": "null"}]},
                "next": {"anyOf": [{"$ref": next}, {"type": "null"}]},
                "labels": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 64}},
            },
            "required": ["id", "when"],
        })
    };
    let mut schema = schema();
    schema["properties"]["parts"] =
        json!({"type": "array", "items": {"$ref": "#/$defs/part_0"}, "maxItems": 20});
    let definitions = (0..DEFINITIONS).map(|number| (format!("part_{number}"), definition(number)));
    schema["$defs"] = Value::Object(definitions.collect());
    schema
}

#[cfg(test)]
mod tests {
    use super::super::upstream::ARGUMENTS;
    use super::*;

    fn parsed(case: Case, serial: u64) -> Value {
        serde_json::from_slice(&case.body("bench", "bench", serial)).unwrap_or_default()
    }

    #[test]
    fn small_requests_are_of_one_size() {
        let large = [Case::ManyTools, Case::Schema, Case::NewSchema, Case::Images];
        for case in Case::ALL {
            let bytes = case.body("bench", "bench", 7).len();
            assert_eq!(
                bytes == BODY_BYTES,
                !large.contains(&case),
                "{}: {bytes}",
                case.as_str()
            );
        }
        assert!(Case::ManyTools.body("bench", "bench", 0).len() > 100_000);
        assert!(Case::Images.body("bench", "bench", 0).len() > IMAGE_BYTES);
    }

    #[test]
    fn the_scripted_arguments_satisfy_the_schemas_that_are_sent() {
        let arguments: Value = serde_json::from_str(ARGUMENTS).unwrap_or_default();
        let of = |case, serial, place: &str| parsed(case, serial).pointer(place).cloned();
        let places = [
            (Case::Tools, "/tools/0/function/parameters"),
            (Case::ManyTools, "/tools/0/function/parameters"),
            (Case::Messages, "/tools/0/input_schema"),
            (Case::Responses, "/tools/0/parameters"),
            (Case::Schema, "/response_format/json_schema/schema"),
            (Case::NewSchema, "/response_format/json_schema/schema"),
        ];
        for (case, place) in places {
            let schema = of(case, 3, place).unwrap_or_default();
            assert!(
                jsonschema::is_valid(&schema, &arguments),
                "{}",
                case.as_str()
            );
            assert!(
                !jsonschema::is_valid(&schema, &json!({"title": 1})),
                "{}",
                case.as_str()
            );
        }
    }

    #[test]
    fn an_event_without_text_says_nothing_yet() {
        let role = br#"data: {"choices":[{"delta":{"role":"assistant","content":""}}]}"#;
        for (case, text) in [
            (Case::Stream, super::super::upstream::TEXT),
            (Case::StreamFormat, ARGUMENTS),
            (Case::StreamTools, ARGUMENTS),
        ] {
            assert!(!case.says_something(role), "{}", case.as_str());
            let piece: String = text.chars().take(4).collect();
            let said = json!({"choices": [{"delta": {"content": piece}}]}).to_string();
            assert!(case.says_something(said.as_bytes()), "{}", case.as_str());
        }
        assert!(Case::Tools.says_something(b"{") && !Case::Tools.says_something(b""));
    }

    #[test]
    fn new_schemas_are_new_and_others_are_not() {
        for case in Case::ALL {
            let differ = case.body("bench", "bench", 1) != case.body("bench", "bench", 2);
            assert_eq!(differ, case == Case::NewSchema, "{}", case.as_str());
        }
    }
}
