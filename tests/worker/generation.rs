//! What the worker generates has the shape that was asked for, whatever the weights: models with
//! random ones, through the whole of it but HTTP (grammar, scheduler, sampler, llama.cpp).
//!
//! Public schemas are read from the folder `ISOGLOSS_DATA` (default `../shared/data`).

use gguf::{Tokenizer, random_model};
use isogloss_compile::{Compiler, CompilerLimits, Unobserved};
use isogloss_core::check::Check;
use isogloss_core::error::{Kind, Side};
use isogloss_core::ir::{Constraint, Notation};
use isogloss_core::schema::Validator;
use isogloss_testing::gguf;
use isogloss_worker::backend::llguidance::Llguidance;
use isogloss_worker::backend::{Demand, Think, Whitespace};
use isogloss_worker::grammars::Grammars;
use isogloss_worker::job::{self, Event, Finish, Job, Limits, Sampling, Usage};
use isogloss_worker::model::{LoadOptions, load};
use isogloss_worker::scheduler::{Engine, EngineLimits};
use isogloss_worker::vocabulary::{Token, Vocabulary};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::Receiver;

/// Long enough for a debug build on a busy machine; nothing is timed by it.
const PATIENCE: Duration = Duration::from_secs(300);

/// A model with random weights and all that generates with it.
struct Rig {
    engine: Engine,
    grammars: Grammars,
    vocabulary: Vocabulary,
}

/// How an answer came out.
#[derive(Debug, Clone, PartialEq)]
struct Answer {
    text: String,
    pieces: usize,
    reason: Finish,
    usage: Usage,
}

impl Rig {
    fn new(tokenizer: Tokenizer, slots: u32) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut options = LoadOptions::of(random_model(dir.path(), tokenizer, 11));
        options.slots = slots;
        options.context = 1_024;
        options.threads = 1;
        let loaded = load(&options, Box::new(|_| true)).unwrap();
        let backend = Llguidance::new(&loaded.vocabulary).unwrap();
        let limits = CompilerLimits {
            timeout: Duration::from_secs(30),
            queue_timeout: PATIENCE,
            queue: 4_096,
            ..CompilerLimits::default()
        };
        Self {
            engine: Engine::start(
                loaded.setup,
                loaded.vocabulary.clone(),
                EngineLimits::default(),
            )
            .unwrap(),
            grammars: Grammars::new(Arc::new(backend), limits, Arc::new(Unobserved)),
            vocabulary: loaded.vocabulary,
        }
    }

    /// Random weights would let a text run on: what closes a JSON value is made likelier.
    fn closing(&self) -> Vec<(Token, f32)> {
        let pieces = self.vocabulary.pieces().iter().enumerate();
        let closes =
            |bytes: &[u8]| !bytes.is_empty() && bytes.iter().all(|byte| b"\"}],:".contains(byte));
        pieces
            .filter(|(token, _)| closes(self.vocabulary.text(*token as Token)))
            .map(|(token, _)| (token as Token, 5.0))
            .collect()
    }

    async fn start(
        &self,
        demand: Option<&Demand>,
        seed: u64,
        limits: Limits,
    ) -> Result<Receiver<Event>, isogloss_core::error::Error> {
        let matcher = match demand {
            Some(demand) => Some(self.grammars.compiled(demand).await?.0.matcher()),
            None => None,
        };
        let (events, receiver) = job::events();
        self.engine.submit(Job {
            prompt: (self.vocabulary)
                .encode(&format!("Answer {}:", seed % 3), true)
                .into(),
            matcher,
            sampling: Sampling {
                seed: Some(seed),
                logit_bias: self.closing(),
                ..Sampling::default()
            },
            limits,
            events,
            holds: None,
        })?;
        Ok(receiver)
    }

    async fn ask(
        &self,
        demand: Option<&Demand>,
        seed: u64,
        max_tokens: u32,
    ) -> Result<Answer, isogloss_core::error::Error> {
        let limits = Limits {
            max_tokens: Some(max_tokens),
            ..Limits::default()
        };
        finish(self.start(demand, seed, limits).await?).await
    }
}

async fn finish(mut events: Receiver<Event>) -> Result<Answer, isogloss_core::error::Error> {
    let (mut text, mut pieces) = (String::new(), 0);
    loop {
        let event = tokio::time::timeout(PATIENCE, events.recv()).await;
        match event
            .expect("no event comes")
            .expect("the events end without the last")
        {
            Event::Started { .. } => {}
            Event::Text { text: piece, .. } => {
                pieces += 1;
                text += &piece;
            }
            Event::Finished { reason, usage } => {
                return Ok(Answer {
                    text,
                    pieces,
                    reason,
                    usage,
                });
            }
            Event::Failed(error) => return Err(error),
        }
    }
}

fn demand(constraint: Constraint) -> Demand {
    Demand {
        constraint,
        think: Think::None,
        whitespace: Whitespace::Flexible,
    }
}

fn rows(name: &str) -> Option<Vec<Value>> {
    let folder = isogloss_testing::shared("ISOGLOSS_DATA", "data");
    let Ok(text) = std::fs::read_to_string(format!("{folder}/{name}")) else {
        println!("skipped: {folder}/{name} is not there");
        return None;
    };
    Some(
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect(),
    )
}

/// One of each kind, and several of some.
fn kinds() -> Vec<Constraint> {
    let gbnf = |text: &str| Constraint::Grammar {
        notation: Notation::Gbnf,
        text: text.to_owned(),
    };
    let lark = |text: &str| Constraint::Grammar {
        notation: Notation::Lark,
        text: text.to_owned(),
    };
    vec![
        Constraint::JsonObject,
        Constraint::JsonSchema(
            json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", "é", "\""]}}, "required": ["a", "b"], "additionalProperties": false}),
        ),
        Constraint::JsonSchema(
            json!({"type": "array", "items": {"type": "string", "maxLength": 5}, "minItems": 2, "maxItems": 4}),
        ),
        Constraint::JsonSchema(
            json!({"$defs": {"n": {"type": "object", "properties": {"v": {"type": "boolean"}, "next": {"anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}]}}, "required": ["v", "next"], "additionalProperties": false}}, "$ref": "#/$defs/n"}),
        ),
        Constraint::Regex("[a-c]{3,9}(-[0-9]{2})?".to_owned()),
        Constraint::Regex("(日本|Zürich|a\\.b){1,3}!".to_owned()),
        Constraint::Choice(vec!["yes".to_owned(), "no".to_owned(), "no way".to_owned()]),
        gbnf("root ::= item (\",\" item)* \";\"\nitem ::= [a-d] [0-9]?"),
        lark("start: \"<\" word \">\"\nword: /[a-z]{2,6}/"),
        Constraint::StructuralTag(
            json!({"type": "structural_tag", "format": {"type": "sequence", "elements": [
                {"type": "const_string", "value": "call: "},
                {"type": "tag", "begin": "<f=one>", "content": {"type": "json_schema", "json_schema": {"type": "object", "properties": {"q": {"type": "boolean"}}, "required": ["q"], "additionalProperties": false}}, "end": "</f>"},
            ]}}),
        ),
    ]
}

/// The proxy's own verification of the text.
async fn holds(compiler: &Compiler, constraint: &Constraint, text: &str) -> bool {
    match compiler.compile(constraint).await.unwrap() {
        Check::Json(validator) => {
            serde_json::from_str(text).is_ok_and(|value: Value| validator.validate(&value).is_ok())
        }
        Check::JsonObject => serde_json::from_str::<serde_json::Map<String, Value>>(text).is_ok(),
        Check::Text(grammar) => grammar.check(text).is_ok(),
        Check::Tag(tags) => tags.check(text).is_ok(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_constraint_holds_in_one_mixed_batch_under_every_tokeniser() {
    let compiler = Compiler::new(CompilerLimits::default());
    for tokenizer in [Tokenizer::Bpe, Tokenizer::SentencePiece] {
        let rig = Rig::new(tokenizer, 8);
        let kinds = kinds();
        let mut running = Vec::new();
        for seed in 0..6 {
            for constraint in &kinds {
                let demand = demand(constraint.clone());
                let limits = Limits {
                    max_tokens: Some(400),
                    ..Limits::default()
                };
                running.push((
                    constraint,
                    rig.start(Some(&demand), seed, limits).await.unwrap(),
                ));
            }
            // One of no constraint among them.
            let limits = Limits {
                max_tokens: Some(20),
                ..Limits::default()
            };
            finish(rig.start(None, seed, limits).await.unwrap())
                .await
                .unwrap();
        }
        let mut whole = std::collections::HashMap::<_, u32>::new();
        for (constraint, events) in running {
            let answer = finish(events).await.unwrap();
            let is_whole = holds(&compiler, constraint, &answer.text).await;
            match answer.reason {
                Finish::Stop => assert!(is_whole, "{constraint:?}: {:?}", answer.text),
                Finish::Length => assert_eq!(answer.usage.completion, 400),
            }
            *whole.entry(constraint.kind()).or_default() += u32::from(is_whole);
        }
        // Not one of them is held by never coming to an end.
        assert!(whole.values().all(|count| *count > 0), "{whole:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hundreds_of_public_schemas_are_held() {
    let Some(rows) = rows("schemas.jsonl") else {
        return;
    };
    for (tokenizer, skip) in [(Tokenizer::Bpe, 0), (Tokenizer::SentencePiece, 1)] {
        let rig = Rig::new(tokenizer, 8);
        let (mut whole, mut cut, mut refused) = (0, 0, 0);
        let mut running = Vec::new();
        for (index, row) in rows
            .iter()
            .enumerate()
            .filter(|(index, _)| index % 2 == skip)
        {
            let schema = &row["schema"];
            let Ok(validator) = Validator::compile(schema) else {
                continue;
            };
            let demand = demand(Constraint::JsonSchema(schema.clone()));
            let limits = Limits {
                max_tokens: Some(300),
                ..Limits::default()
            };
            match rig.start(Some(&demand), index as u64, limits).await {
                Ok(events) => running.push((&row["id"], validator, events)),
                Err(error) => {
                    assert_eq!(error.kind.side(), Side::Client, "{}: {error:?}", row["id"]);
                    refused += 1;
                }
            }
        }
        let accepted = running.len();
        for (id, validator, events) in running {
            let answer = match finish(events).await {
                Ok(answer) => answer,
                // Its shortest answer is far longer than that.
                Err(error) if error.param.as_deref() == Some("max_tokens") => {
                    refused += 1;
                    continue;
                }
                Err(error) => panic!("{id}: {error:?}"),
            };
            if answer.reason == Finish::Length {
                cut += 1;
                continue;
            }
            let value: Value = serde_json::from_str(&answer.text)
                .unwrap_or_else(|error| panic!("{id}: {error}: {}", answer.text));
            if let Err(breach) = validator.validate(&value) {
                panic!("{id}: {breach:?}: {}", answer.text);
            }
            whole += 1;
        }
        println!("{tokenizer:?}: {whole} whole, {cut} cut by max_tokens, {refused} refused");
        assert!(accepted > 200, "only {accepted} schemas are accepted");
        assert!(
            whole * 3 > accepted,
            "only {whole} of {accepted} answers come to an end"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_schema_says_is_not_sampled() {
    let rig = Rig::new(Tokenizer::Bpe, 2);
    let schema = json!({"type": "object", "properties": {"a_long_name_that_is_known": {"type": "boolean"}, "another_one_of_these": {"const": "fixed text"}}, "required": ["a_long_name_that_is_known", "another_one_of_these"], "additionalProperties": false});
    let demand = Demand {
        whitespace: Whitespace::Compact,
        ..demand(Constraint::JsonSchema(schema))
    };
    let answer = rig.ask(Some(&demand), 1, 200).await.unwrap();
    assert_eq!(answer.reason, Finish::Stop);
    assert!(
        answer.usage.forced * 2 > answer.usage.completion,
        "{:?}",
        answer.usage
    );
    let value: Value = serde_json::from_str(&answer.text).unwrap();
    assert_eq!(answer.text, value.to_string(), "there is no space");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_think_block_is_free_and_the_answer_is_not() {
    let rig = Rig::new(Tokenizer::Bpe, 4);
    for (think, seed) in [Think::Optional, Think::Open].into_iter().zip(0..) {
        let demand = Demand {
            think,
            ..demand(Constraint::Choice(vec![
                "left".to_owned(),
                "right".to_owned(),
            ]))
        };
        for seed in seed * 10..seed * 10 + 5 {
            let answer = rig.ask(Some(&demand), seed, 300).await.unwrap();
            if answer.reason == Finish::Length {
                continue;
            }
            let said = answer.text.rsplit("</think>").next().unwrap().trim();
            assert!(
                ["left", "right"].contains(&said),
                "{think:?}: {:?}",
                answer.text
            );
            assert!(think == Think::Optional || answer.text.contains("</think>"));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_goes_frees_its_slot_before_the_answer_ends() {
    let rig = Rig::new(Tokenizer::Bpe, 1);
    let limits = Limits {
        max_tokens: Some(900),
        ignore_end: true,
        ..Limits::default()
    };
    let mut endless = rig.start(None, 1, limits).await.unwrap();
    while !matches!(endless.recv().await, Some(Event::Text { .. })) {}
    drop(endless);
    let answer = rig.ask(None, 2, 5).await.unwrap();
    assert!(answer.usage.completion <= 5);
    tokio::time::timeout(PATIENCE, async {
        while rig.engine.stats().cancelled == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_schemas_harm_nobody() {
    let Some(rows) = rows("schema_hostile.jsonl") else {
        return;
    };
    let rig = Rig::new(Tokenizer::Bpe, 4);
    let (mut accepted, mut refused) = (0, 0);
    for (index, row) in rows.iter().enumerate() {
        let Some(schema) = row.get("schema").filter(|schema| !schema.is_null()) else {
            continue;
        };
        let demand = demand(Constraint::JsonSchema(schema.clone()));
        match rig.ask(Some(&demand), index as u64, 30).await {
            Ok(_) => accepted += 1,
            Err(error) => {
                assert!(
                    error.kind.side() == Side::Client || error.kind == Kind::Overloaded,
                    "{}: {error:?}",
                    row["id"]
                );
                refused += 1;
            }
        }
    }
    println!("{accepted} accepted, {refused} refused");
    assert!(accepted > 0 && refused > 0);
    // Everybody else is served as before.
    assert!(rig.engine.is_alive());
    rig.ask(Some(&demand(Constraint::JsonObject)), 1, 30)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_jobs_of_fifty_schemas_are_all_answered() {
    let rig = Rig::new(Tokenizer::Bpe, 16);
    let mut running = Vec::new();
    for index in 0..2_000_u64 {
        let name = format!("field_{}", index % 50);
        let schema = json!({"type": "object", "properties": {name.clone(): {"enum": ["a", "b"]}}, "required": [name], "additionalProperties": false});
        let limits = Limits {
            max_tokens: Some(40),
            ..Limits::default()
        };
        let demand = demand(Constraint::JsonSchema(schema));
        running.push((
            index,
            rig.start(Some(&demand), index, limits).await.unwrap(),
        ));
    }
    for (index, events) in running {
        let answer = finish(events).await.unwrap();
        if answer.reason == Finish::Stop {
            let value: Value = serde_json::from_str(&answer.text).unwrap();
            assert!(value[format!("field_{}", index % 50)].is_string());
        }
    }
    let stats = rig.grammars.stats();
    assert_eq!(stats.misses, 50);
    assert_eq!(stats.hits + stats.waits, 1_950);
}
