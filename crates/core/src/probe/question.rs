//! The micro-requests: a rule in, Chat Completions bodies out, each written by the same
//! translation as traffic, with the one answer that is lawful.

use super::asking::Asking;
use super::{Depth, MAX_TOKENS};
use crate::exchange::{plan, read_chat};
use crate::ir::Strategy;
use crate::rules::{ChoiceHow, ComposeHow, Probed, Rule, ShowTools, TagShape};
use bytes::Bytes;
use serde_json::{Map, Value, json};

/// What no constraint allows. It names JSON because OpenAI refuses `json_object` without the word.
const PROMPT: &str = "Answer with the one word hello: plain text, no JSON, no tool call.";
/// Nobody says these by himself. Letters and digits mixed, so that no two are near.
pub(super) const KEY: &str = "zqx17";
pub(super) const WORD: &str = "vbk42";
const OTHER_TOOL: &str = "plo58";
/// A structural tag.
pub(super) const OPEN: &str = "<zqx17>";
const CLOSE: &str = "</zqx17>";
/// What opens a tag whose inside allows something else. Where nothing holds, the model repeats it.
const TAG_PROMPT: &str = "Repeat this text and nothing else: <zqx17>hello</zqx17>";
/// What makes a model call, where the server lets it.
pub(super) const CALL_PROMPT: &str =
    "Call the tool zqx17 now, with the argument zqx17 set to vbk42.";
/// Read for its prompt's tokens alone.
const FEW_TOKENS: u32 = 4;
/// The same beside a constraint: some servers, our worker among them, refuse one that has no answer as short as that.
const CALL_TOKENS: u32 = 48;
/// Some 30 tokens: where it is shown, the prompt is longer by more than a template's own words.
const DESCRIPTION: &str = "Looks up the colour, the weight, the price and the place of any thing \
    in the northern and in the southern warehouse, on weekdays and on holidays alike.";

/// How often a server failed at a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    First,
    /// Once.
    Second,
    /// Twice: it is asked for no thoughts.
    Thoughtless,
}

/// One request, and what is expected of the reply.
#[derive(Debug, Clone)]
pub(super) struct Question {
    /// What its answer is about; `None` where it only prepares another.
    pub(super) probed: Option<Probed>,
    pub(super) streamed: bool,
    /// The fields that state the demand, for a person.
    pub(super) words: String,
    pub(super) asking: Asking,
    pub(super) expected: Expected,
    /// It has room for thoughts.
    pub(super) is_roomy: bool,
    /// The server failed at it.
    pub(super) attempt: Attempt,
}

impl Question {
    /// The same once more, and then without thoughts, where that can be said.
    pub(super) fn after_failure(&self, rule: &Rule) -> Option<Self> {
        let off = rule.thinking.off()?;
        match self.attempt {
            Attempt::First => {
                return Some(Self {
                    attempt: Attempt::Second,
                    ..self.clone()
                });
            }
            Attempt::Second => {}
            Attempt::Thoughtless => return None,
        }
        let mut asking = self.asking.clone();
        asking.apply(off)?;
        Some(Self {
            asking,
            attempt: Attempt::Thoughtless,
            ..self.clone()
        })
    }

    /// The same where the server, of which more is `learnt`, is sent no strict tools any more.
    pub(super) fn loosened(&self, rule: &Rule, learnt: &Rule, model: &str) -> Option<Self> {
        let Some(Probed::Choice(choice)) = &self.probed else {
            return None;
        };
        let strict = |rule: &Rule| rule.choices.get(choice).map(|choice| choice.strict);
        if strict(rule) == strict(learnt) {
            return None;
        }
        let asker = Asker {
            rule: learnt,
            model,
            streamed: self.streamed,
        };
        asker.choice(choice)
    }

    /// Whether the server holds it from the first token on, thoughts that the prompt opened or not.
    pub(super) fn is_held_from_start(&self, rule: &Rule) -> bool {
        match &self.probed {
            Some(Probed::Constraint { kind, .. }) => rule.holds_from_start(kind),
            _ => false,
        }
    }

    /// The same with more tokens.
    pub(super) fn with_room(&self, tokens: u32) -> Self {
        let mut asking = self.asking.clone();
        asking.set_tokens(tokens);
        Self {
            asking,
            is_roomy: true,
            ..self.clone()
        }
    }
}

/// The lawful answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expected {
    /// No demand: whether the server answers at all.
    Anything,
    /// One of these texts.
    Text(&'static [&'static str]),
    /// `{KEY: WORD}`.
    Json,
    /// Any JSON object.
    Object,
    /// A call of the tool `KEY` with `{KEY: WORD}`.
    Call,
    /// The same, where the model was asked for it and may as well not: only what it writes instead
    /// of a call tells.
    FreeCall,
    /// `OPEN`, `{KEY: WORD}` and `CLOSE`; where it is free, only once the model wrote `OPEN`.
    Tagged {
        /// The model may as well not open the tag.
        is_free: bool,
    },
    /// A call of the tool `KEY`, or `{KEY: WORD}` as the answer, each in an envelope or bare.
    CallOrAnswer,
    /// The prompt's tokens, to compare with.
    WithoutTools,
    /// More of them than without tools.
    MorePrompt,
}

impl Expected {
    /// Whether nothing else may come from the first token on.
    pub(super) const fn is_constrained(&self) -> bool {
        match self {
            Self::Text(_) | Self::Json | Self::Object | Self::Call | Self::CallOrAnswer => true,
            Self::Tagged { is_free } => !*is_free,
            Self::Anything | Self::FreeCall | Self::WithoutTools | Self::MorePrompt => false,
        }
    }
}

const KINDS: [&str; 7] = [
    "json_schema",
    "json_object",
    "regex",
    "choice",
    "grammar:gbnf",
    "grammar:lark",
    "structural_tag",
];

/// Every question, in order.
pub(super) fn all(rule: &Rule, model: &str, depth: Depth) -> Vec<Question> {
    if depth == Depth::Off {
        return Vec::new();
    }
    let mut questions = Vec::new();
    for streamed in [false, true] {
        if streamed && depth == Depth::Light {
            break;
        }
        let asker = Asker {
            rule,
            model,
            streamed,
        };
        for kind in KINDS {
            asker.constraint(kind, depth, &mut questions);
        }
        for choice in ["auto", "required", "named"] {
            questions.extend(asker.choice(choice));
        }
        questions.extend(asker.compose());
        if !streamed {
            questions.extend(asker.show_tools().into_iter().flatten());
        }
    }
    if !questions.is_empty() {
        let asker = Asker {
            rule,
            model,
            streamed: false,
        };
        let few = json!({"max_tokens": FEW_TOKENS});
        let plain = asker.planned(rule, &few, Strategy::Passthrough);
        // What states nothing is met by every rule.
        if let Some(plain) = plain {
            questions.insert(0, question(None, false, plain, Expected::Anything));
        }
    }
    questions
}

struct Asker<'a> {
    rule: &'a Rule,
    model: &'a str,
    streamed: bool,
}

impl Asker<'_> {
    fn client(&self, demand: &Value) -> Value {
        let mut body = json!({
            "model": self.model,
            "messages": [{"role": "user", "content": PROMPT}],
            "max_tokens": MAX_TOKENS,
            "temperature": 0,
        });
        if self.streamed {
            body["stream"] = json!(true);
        }
        if let (Some(body), Some(demand)) = (body.as_object_mut(), demand.as_object()) {
            body.extend(demand.clone());
        }
        body
    }

    /// What a server is asked for a demand, where it is met in this way.
    fn planned(&self, rule: &Rule, demand: &Value, strategy: Strategy) -> Option<Asking> {
        let client = self.client(demand).to_string().into_bytes();
        let exchange = plan(read_chat(&client).ok()?, rule).ok()?;
        if exchange.strategy != strategy {
            return None;
        }
        if let Some(draft) = exchange.draft {
            return Some(Asking::Draft(Box::new(draft), exchange.server));
        }
        let body = exchange.body.unwrap_or(Bytes::from(client));
        Some(Asking::Body(serde_json::from_slice(&body).ok()?))
    }

    /// The rule's own words, then the spellings that it leaves as they are. `response_format` is
    /// what most clients use, so it is asked even where little is.
    fn constraint(&self, kind: &str, depth: Depth, out: &mut Vec<Question>) {
        let Some(known) = self.rule.constraints.get(kind) else {
            return;
        };
        let mut asked: Vec<Bytes> = Vec::new();
        let is_asked = |spelling: &&String| {
            depth == Depth::Full
                || !self.rule.sends(kind)
                || spelling.starts_with("response_format.")
        };
        let spellings = known.native.iter().filter(is_asked);
        for spelling in std::iter::once(None).chain(spellings.map(Some)) {
            let stated = spelling.map_or(USUAL, |spelling| spelling.as_str());
            let demand = match kind {
                "structural_tag" => tag_demand(stated, known.shape),
                _ => demand(kind, stated),
            };
            let Some(demand) = demand else {
                continue;
            };
            let mut rule = self.rule.clone();
            if let Some(only) = rule.constraints.get_mut(kind) {
                only.native = spelling.into_iter().cloned().collect();
                // A model that is told as well would obey what nothing enforces.
                only.tell = false;
                if spelling.is_some() {
                    only.send = None;
                }
            }
            let Some(asking) = self.planned(&rule, &demand, Strategy::Native) else {
                continue;
            };
            let Some(body) = asking.asked(&rule).map(|asked| asked.body) else {
                continue;
            };
            // Where both are the same words, one answer speaks for both.
            if asked.contains(&body) {
                continue;
            }
            let probed = Probed::Constraint {
                kind: kind.to_owned(),
                spelling: spelling.cloned(),
            };
            let is_free = known.shape == TagShape::Structures;
            let expected = match kind {
                "structural_tag" => Expected::Tagged { is_free },
                kind => expected(kind),
            };
            out.push(question(Some(probed), self.streamed, asking, expected));
            asked.push(body);
        }
    }

    /// Tools beside a constraint on the answer, where the rule has a way for that.
    fn compose(&self) -> Option<Question> {
        let format = json!({
            "type": "json_schema",
            "json_schema": {"name": KEY, "strict": true, "schema": schema()},
        });
        let demand = json!({"tools": [tool(KEY, "")], "response_format": format});
        let strategy = match self.rule.compose {
            ComposeHow::Native => Strategy::Native,
            ComposeHow::Union => Strategy::Compose,
            ComposeHow::Instruct => return None,
        };
        // Told of it in the prompt, a model would obey what nothing enforces.
        if strategy == Strategy::Compose && self.rule.show_tools == ShowTools::SystemMessage {
            return None;
        }
        let asking = self.planned(self.rule, &demand, strategy)?;
        let expected = Expected::CallOrAnswer;
        Some(question(
            Some(Probed::Compose),
            self.streamed,
            asking,
            expected,
        ))
    }

    /// A call, where the rule leaves it to the server.
    fn choice(&self, choice: &str) -> Option<Question> {
        let demand = match choice {
            "named" => {
                let named = json!({"type": "function", "function": {"name": KEY}});
                json!({"tools": [tool(OTHER_TOOL, ""), tool(KEY, "")], "tool_choice": named})
            }
            "auto" => {
                let messages = json!([{"role": "user", "content": CALL_PROMPT}]);
                json!({"tools": [tool(KEY, "")], "tool_choice": "auto", "messages": messages})
            }
            choice => json!({"tools": [tool(KEY, "")], "tool_choice": choice}),
        };
        let asking = self.planned(self.rule, &demand, Strategy::Native)?;
        let probed = Some(Probed::Choice(choice.to_owned()));
        let expected = match choice {
            "auto" => Expected::FreeCall,
            _ => Expected::Call,
        };
        Some(question(probed, self.streamed, asking, expected))
    }

    /// Whether tools reach the prompt beside a constraint: two requests, of which the first has
    /// no tools.
    fn show_tools(&self) -> Option<[Question; 2]> {
        if self.rule.show_tools == ShowTools::SystemMessage {
            return None;
        }
        let mut rule = self.rule.clone();
        rule.choices.get_mut("required")?.how = ChoiceHow::Constrain;
        let demand = json!({"tools": [tool(KEY, DESCRIPTION)], "tool_choice": "required"});
        let mut with = self.planned(&rule, &demand, Strategy::Constrain)?;
        with.set_tokens(CALL_TOKENS);
        let mut without = with.clone();
        without.hide_tools();
        Some([
            question(None, false, without, Expected::WithoutTools),
            question(Some(Probed::ShowTools), false, with, Expected::MorePrompt),
        ])
    }
}

fn question(
    probed: Option<Probed>,
    streamed: bool,
    asking: Asking,
    expected: Expected,
) -> Question {
    let body = &asking.fields();
    Question {
        words: match probed {
            Some(Probed::ShowTools) => {
                let stated = ["tools", "tool_choice", "chat_template_kwargs"];
                words(body, |name| stated.contains(&name))
            }
            _ => words(body, |_| true),
        },
        probed,
        streamed,
        asking,
        expected,
        is_roomy: false,
        attempt: Attempt::First,
    }
}

fn tool(name: &str, description: &str) -> Value {
    let mut function = json!({"name": name, "parameters": schema()});
    if !description.is_empty() {
        function["description"] = json!(description);
    }
    json!({"type": "function", "function": function})
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {KEY: {"type": "string", "enum": [WORD]}},
        "required": [KEY],
        "additionalProperties": false,
    })
}

/// The spelling of a client that leaves everything to the rule.
const USUAL: &str = "";

/// The client's fields for a constraint of this kind in this spelling; `None` for spellings that
/// are not asked.
fn demand(kind: &str, spelling: &str) -> Option<Value> {
    let spelling = match (spelling, kind) {
        (USUAL, "json_schema") => "response_format.json_schema",
        (USUAL, "json_object") => "response_format.json_object",
        (USUAL, "regex") => "structured_outputs.regex",
        (USUAL, "choice") => "structured_outputs.choice",
        (USUAL, _) => "structured_outputs.grammar",
        (given, _) => given,
    };
    if let Some(format) = spelling.strip_prefix("response_format.") {
        let format = match format {
            "json_schema" => json!({
                "type": "json_schema",
                "json_schema": {"name": KEY, "strict": true, "schema": schema()},
            }),
            "json_object" => json!({"type": "json_object"}),
            "json_object_schema" => json!({"type": "json_object", "schema": schema()}),
            _ => return None,
        };
        return Some(json!({"response_format": format}));
    }
    let value = match kind {
        "json_schema" => schema(),
        "json_object" => json!(true),
        // A regex that is read as a text would give another answer.
        "regex" => json!("zqx1[7]vbk42"),
        "choice" => json!([KEY, WORD]),
        "grammar:gbnf" => json!("root ::= \"zqx17\"\n"),
        "grammar:lark" => json!("start: /zqx1[7]/\n"),
        _ => return None,
    };
    let mut fields = Map::new();
    match spelling.split_once('.') {
        Some((field, member)) => fields.insert(field.to_owned(), json!({member: value})),
        None => fields.insert(spelling.to_owned(), value),
    };
    Some(Value::Object(fields))
}

/// The client's fields for a structural tag of this shape. `structures` force nothing: the model
/// is asked to open the tag.
fn tag_demand(spelling: &str, shape: TagShape) -> Option<Value> {
    if spelling != USUAL {
        return None;
    }
    let mut demand = Map::new();
    let tag = match shape {
        TagShape::Structures => {
            let messages = json!([{"role": "user", "content": TAG_PROMPT}]);
            demand.insert("messages".to_owned(), messages);
            let structure = json!({"begin": OPEN, "schema": schema(), "end": CLOSE});
            json!({"type": "structural_tag", "structures": [structure], "triggers": [OPEN]})
        }
        TagShape::Format => {
            let content = json!({"type": "json_schema", "json_schema": schema()});
            let format = json!({"type": "tag", "begin": OPEN, "content": content, "end": CLOSE});
            json!({"type": "structural_tag", "format": format})
        }
    };
    let stated = json!({"structural_tag": tag.to_string()});
    demand.insert("structured_outputs".to_owned(), stated);
    Some(Value::Object(demand))
}

fn expected(kind: &str) -> Expected {
    match kind {
        "json_schema" => Expected::Json,
        "json_object" => Expected::Object,
        "regex" => Expected::Text(&["zqx17vbk42"]),
        "choice" => Expected::Text(&[KEY, WORD]),
        _ => Expected::Text(&[KEY]),
    }
}

/// The fields of a body beyond those of every request: `structured_outputs.regex`,
/// `tool_choice required`.
fn words(body: &Value, is_stated: impl Fn(&str) -> bool) -> String {
    const COMMON: [&str; 5] = ["model", "messages", "max_tokens", "temperature", "stream"];
    let fields = body.as_object().into_iter().flatten();
    let stated = fields.filter(|(name, _)| !COMMON.contains(&name.as_str()) && is_stated(name));
    let words = stated.map(|(name, value)| match value {
        Value::String(word) if name == "tool_choice" => format!("{name} {word}"),
        Value::Object(inner) => match inner.get("type").and_then(Value::as_str) {
            // A schema's own type is no word of the field's.
            Some(kind) if name != "json_schema" && name != "guided_json" => {
                format!("{name} {kind}")
            }
            None if inner.len() == 1 => {
                let member = inner.keys().next().map_or("", String::as_str);
                format!("{name}.{member}")
            }
            _ => name.clone(),
        },
        _ => name.clone(),
    });
    words.collect::<Vec<_>>().join(" + ")
}
