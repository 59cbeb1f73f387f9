//! Answers are whole in time: public schemas and few tokens come in; what the scheduler, the sampler and the grammars
//! make of a model that likes every token alike goes out, and is never cut.
//!
//! Schemas are read from the folder `ISOGLOSS_DATA` (default `../shared/data`). `STEERED=N` takes N answers of them;
//! without it a few of each limit are taken.

use crate::support::mindless::{Answer, Mindless, Rig, demand, needed};
use isogloss_compile::{Compiler, CompilerLimits};
use isogloss_core::check::Check;
use isogloss_core::error::{Error, Side};
use isogloss_core::ir::{Constraint, Notation};
use isogloss_core::schema::Validator;
use isogloss_worker::backend::{Demand, Think};
use isogloss_worker::job::{Finish, Limits, Sampling};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::task::JoinSet;

const TOKEN_LIMITS: [u32; 3] = [128, 256, 512];

struct Public {
    id: String,
    schema: Value,
    /// Values that somebody else says are valid.
    valid: Vec<String>,
}

fn schemas() -> Option<Vec<Public>> {
    let folder = isogloss_testing::shared("ISOGLOSS_DATA", "data");
    let Ok(text) = std::fs::read_to_string(format!("{folder}/schemas.jsonl")) else {
        println!("skipped: {folder}/schemas.jsonl is not there");
        return None;
    };
    let row = |line: &str| {
        let mut row: Value = serde_json::from_str(line).unwrap();
        let tests = row["tests"].as_array().cloned().unwrap_or_default();
        let valid = tests.iter().filter(|test| test["valid"] == true);
        Public {
            id: row["id"].as_str().unwrap().to_owned(),
            schema: row["schema"].take(),
            valid: valid.map(|test| test["data"].to_string()).collect(),
        }
    };
    Some(text.lines().map(row).collect())
}

/// What came of many answers.
#[derive(Debug, Default)]
struct Count {
    whole: u32,
    steered: u32,
    refused: u32,
    /// The grammar engine's limits were met on the way.
    failed: u32,
    unsupported: u32,
}

/// One answer: which schema, of at most how many tokens, and with which seed.
#[derive(Debug, Clone, Copy)]
struct Case {
    place: usize,
    limit: u32,
    seed: u64,
}

/// Schemas of which a search that is led by masks alone finds no end in time: patterns that may stand anywhere in a text,
/// much that is required, or a choice whose longer side it took.
const HARD: [&str; 12] = [
    "Github_easy/o12604",
    "Github_easy/o42521",
    "Github_easy/o83161",
    "Github_medium/o60879",
    "Github_medium/o82298",
    "Github_medium/o50683",
    "Github_medium/o61121",
    "Github_hard/o60887",
    "Github_hard/o21334",
    "Github_hard/o55184",
    "Snowplow/sp_305_Normalized",
    "Snowplow/sp_346_Normalized",
];

/// Which answers to take: all schemas in turn, or a few that are spread over them and the hard ones.
fn cases(schemas: &[Public]) -> Vec<Case> {
    let long = std::env::var("STEERED").ok();
    let long = long.map(|count| count.parse::<usize>().unwrap());
    let stride = if long.is_some() { 1 } else { 31 };
    let case = |number: usize| {
        let round = number / TOKEN_LIMITS.len();
        Case {
            place: round * stride % schemas.len(),
            limit: TOKEN_LIMITS[number % TOKEN_LIMITS.len()],
            seed: (round / schemas.len()) as u64,
        }
    };
    let mut cases: Vec<Case> = (0..long.unwrap_or(60)).map(case).collect();
    for id in HARD.iter().filter(|_| long.is_none()) {
        let place = schemas.iter().position(|public| public.id == *id);
        let place = place.expect("a schema of that name");
        let hard = TOKEN_LIMITS.map(|limit| Case {
            place,
            limit,
            seed: 0,
        });
        cases.extend(hard);
    }
    cases
}

impl Public {
    fn demand(&self) -> Demand {
        demand(Constraint::JsonSchema(self.schema.clone()))
    }

    /// What stopped must be what was demanded, by another judge.
    fn judge(&self, case: Case, answer: &Answer) -> Result<(), String> {
        let what = format!("{} {case:?}: {answer:?}", self.id);
        if answer.usage.completion > case.limit {
            return Err(what);
        }
        let value: Value =
            serde_json::from_str(&answer.text).map_err(|error| format!("{error}: {what}"))?;
        let Ok(validator) = Validator::compile(&self.schema) else {
            return Ok(());
        };
        let breach = validator.validate(&value);
        breach.map_err(|breach| format!("{breach:?}: {what}"))
    }

    /// What is said to be needed is enough, and no value that is known to be valid would have been shorter.
    async fn is_rightly_refused(&self, rig: &Rig, limit: u32, needs: u32) {
        for value in &self.valid {
            let tokens = rig.vocabulary.encode(value, false).len();
            let id = &self.id;
            assert!(
                tokens > limit as usize,
                "{id} {limit} {needs}: {tokens}: {value}"
            );
        }
        let answer = rig.ask(&self.demand(), 0, needs, None).await.unwrap();
        assert_eq!(answer.reason, Finish::Stop, "{} {limit} {needs}", self.id);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_under_a_public_schema_is_cut() {
    let Some(schemas) = schemas() else {
        return;
    };
    let cases = cases(&schemas);
    let (schemas, rig) = (Arc::new(schemas), Arc::new(Rig::new(Mindless::default())));
    let mut counts = BTreeMap::<u32, Count>::new();
    let (mut cut, mut refused, mut wrong) = (Vec::new(), BTreeSet::new(), Vec::new());
    let mut answers = answers_of(&rig, &schemas, cases.clone());
    let begin = std::time::Instant::now();
    while let Some((case, answer)) = answers.next().await {
        let public = &schemas[case.place];
        let count = counts.entry(case.limit).or_default();
        match answer {
            Ok(answer) if answer.reason == Finish::Length => {
                cut.push(format!("{} {case:?}", public.id));
            }
            Ok(answer) => {
                wrong.extend(public.judge(case, &answer).err());
                count.whole += 1;
                count.steered += u32::from(answer.usage.steered > 0);
            }
            Err(error) => match needed(&error) {
                Some(needs) => {
                    count.refused += 1;
                    refused.insert((case.place, case.limit, needs));
                }
                None if error.message.starts_with("the constraint") => {
                    println!("failed: {} {case:?}: {}", public.id, error.message);
                    count.failed += 1;
                }
                None => {
                    assert_eq!(error.kind.side(), Side::Client, "{}: {error:?}", public.id);
                    count.unsupported += 1;
                }
            },
        }
    }
    println!(
        "{} answers in {:?}: {counts:#?}",
        cases.len(),
        begin.elapsed()
    );
    println!("{} cut: {cut:#?}", cut.len());
    println!("{} wrong: {wrong:#?}", wrong.len());
    for &(place, limit, needs) in &refused {
        println!("refused: {} {limit} {needs}", schemas[place].id);
        schemas[place].is_rightly_refused(&rig, limit, needs).await;
    }
    assert!(cut.is_empty(), "what began is cut");
    assert!(wrong.is_empty(), "what stopped is not what was demanded");
    let whole: u32 = counts.values().map(|count| count.whole).sum();
    let steered: u32 = counts.values().map(|count| count.steered).sum();
    assert!(whole as usize * 2 > cases.len(), "most are answered");
    assert!(steered > 0, "nothing had to be steered");
}

/// Answers as they come, sixteen at a time.
struct Answers {
    cases: std::vec::IntoIter<Case>,
    rig: Arc<Rig>,
    schemas: Arc<Vec<Public>>,
    running: JoinSet<(Case, Result<Answer, Error>)>,
}

fn answers_of(rig: &Arc<Rig>, schemas: &Arc<Vec<Public>>, cases: Vec<Case>) -> Answers {
    Answers {
        cases: cases.into_iter(),
        rig: Arc::clone(rig),
        schemas: Arc::clone(schemas),
        running: JoinSet::new(),
    }
}

impl Answers {
    async fn next(&mut self) -> Option<(Case, Result<Answer, Error>)> {
        while self.running.len() < 16
            && let Some(case) = self.cases.next()
        {
            let (rig, schemas) = (Arc::clone(&self.rig), Arc::clone(&self.schemas));
            self.running.spawn(async move {
                let demand = schemas[case.place].demand();
                (case, rig.ask(&demand, case.seed, case.limit, None).await)
            });
        }
        self.running.join_next().await.map(Result::unwrap)
    }
}

/// How busy the machine is, and who else is answered, changes nothing: what is searched for a way to the end is bounded in
/// steps, not in time.
#[tokio::test(flavor = "multi_thread")]
async fn the_same_seed_gives_the_same_answer_whoever_else_is_there() {
    let Some(schemas) = schemas() else {
        return;
    };
    let few: Vec<Case> = cases(&schemas).into_iter().skip(1).step_by(7).collect();
    let twice = few.iter().chain(few.iter().rev()).copied().collect();
    let schemas = Arc::new(schemas);
    let mut known = BTreeMap::<(usize, u32), (String, Finish, u32)>::new();
    let mut steered = 0;
    for cases in [few, twice] {
        let rig = Arc::new(Rig::new(Mindless::default()));
        let mut answers = answers_of(&rig, &schemas, cases);
        while let Some((case, answer)) = answers.next().await {
            let Ok(answer) = answer else { continue };
            steered += u32::from(answer.usage.steered > 0);
            let answer = (answer.text, answer.reason, answer.usage.steered);
            let same = known
                .entry((case.place, case.limit))
                .or_insert_with(|| answer.clone());
            assert_eq!(*same, answer, "{} {case:?}", schemas[case.place].id);
        }
    }
    assert!(known.len() > 4 && steered > 4, "{} {steered}", known.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_steered_is_what_it_would_be_without_a_limit() {
    let rig = Rig::new(Mindless::default());
    let schema = json!({"type": "object", "properties": {"a": {"type": "array", "items": {"enum": ["one", "two"]}, "maxItems": 40}, "b": {"type": "integer"}, "c": {"type": "boolean"}}, "required": ["a", "b", "c"], "additionalProperties": false});
    let demand = demand(Constraint::JsonSchema(schema));
    let (mut same, mut steered) = (0, 0);
    for seed in 0..12 {
        let free = rig.ask(&demand, seed, 6_000, None).await.unwrap();
        assert_eq!((free.reason, free.usage.steered), (Finish::Stop, 0));
        for limit in [40, 60, 100, 200, 400] {
            let bound = rig.ask(&demand, seed, limit, None).await.unwrap();
            assert_eq!(bound.reason, Finish::Stop);
            assert!(bound.usage.completion <= limit);
            match bound.usage.steered {
                0 => {
                    assert_eq!(bound.text, free.text);
                    same += 1;
                }
                _ => {
                    assert_ne!(bound.text, free.text);
                    steered += 1;
                }
            }
        }
    }
    assert!(same > 5 && steered > 5, "{same} and {steered}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_never_short_enough_is_refused_with_the_number_that_is() {
    let rig = Rig::new(Mindless::default());
    for schema in [
        json!({"type": "array", "items": {"type": "integer"}, "minItems": 60}),
        json!({"type": "string", "minLength": 900}),
        json!({"type": "object", "required": ["a_name_that_is_long", "another_name_that_is_long"], "additionalProperties": false, "properties": {
            "a_name_that_is_long": {"enum": ["sixty characters are in this text, which is the shortest one"]},
            "another_name_that_is_long": {"type": "string", "pattern": "^[a-z]{40,60}$"},
        }}),
    ] {
        let demand = demand(Constraint::JsonSchema(schema.clone()));
        let error = rig.ask(&demand, 1, 8, None).await.unwrap_err();
        let needs = needed(&error).unwrap_or_else(|| panic!("{schema}: {error:?}"));
        for seed in 0..5 {
            let answer = rig.ask(&demand, seed, needs, None).await.unwrap();
            assert_eq!(answer.reason, Finish::Stop, "{schema} {needs}");
            assert!(answer.usage.completion <= needs);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn thoughts_leave_room_for_the_answer() {
    let rig = Rig::new(Mindless::default());
    let schema = json!({"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"], "additionalProperties": false});
    for think in [Think::Open, Think::Optional] {
        let demand = Demand {
            think,
            ..demand(Constraint::JsonSchema(schema.clone()))
        };
        for seed in 0..6 {
            for thoughts in [None, Some(50), Some(200)] {
                let answer = rig.ask(&demand, seed, 100, thoughts).await.unwrap();
                assert_eq!(answer.reason, Finish::Stop, "{answer:?}");
                let said = answer.text.rsplit("</think>").next().unwrap();
                let value: Value = serde_json::from_str(said).unwrap();
                assert!(value["answer"].is_string());
                assert!(think == Think::Optional || answer.text.contains("</think>"));
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_stop_text_ends_an_answer_within_a_call() {
    let rig = Rig::new(Mindless::default());
    let demand = demand(tagged(true));
    let compiler = Compiler::new(CompilerLimits::default());
    let check = compiler.compile(&demand.constraint).await.unwrap();
    let Check::Tag(tags) = &check else {
        unreachable!("a structural tag")
    };
    for seed in 0..6 {
        for stop in ["\n", "{", "city", "e", ">", "</tool_call>"] {
            let limits = Limits {
                max_tokens: Some(150),
                stop: vec![stop.to_owned()],
                spares_tags: true,
                ..Limits::default()
            };
            let sampling = Sampling {
                seed: Some(seed),
                ..Sampling::default()
            };
            let answer = rig.answer(&demand, sampling, limits, None).await.unwrap();
            assert!(tags.check(&answer.text).is_ok(), "{stop:?}: {answer:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn thoughts_that_take_all_the_room_are_cut_where_the_answer_may_be_empty() {
    let rig = Rig::new(Mindless::default());
    for constraint in [Constraint::Regex("(?s:.*)".to_owned()), tagged(false)] {
        let demand = Demand {
            think: Think::Open,
            ..demand(constraint)
        };
        let mut cut = 0;
        for seed in 0..6 {
            let answer = rig.ask(&demand, seed, 40, Some(200)).await.unwrap();
            if answer.text.ends_with("</think>") {
                assert_eq!(answer.reason, Finish::Length, "{answer:?}");
                cut += 1;
            }
        }
        assert!(cut > 0, "no thoughts took all the room");
    }
}

/// What a model of no mind would hardly ever end by itself.
fn kinds() -> Vec<Constraint> {
    let gbnf = |text: &str| Constraint::Grammar {
        notation: Notation::Gbnf,
        text: text.to_owned(),
    };
    let choice = ["a first one that is rather long", "a second one", "another"];
    vec![
        Constraint::JsonObject,
        Constraint::Regex(r"[a-z]+@[a-z]+\.org".to_owned()),
        Constraint::Regex(r"(?s:.*)THE END".to_owned()),
        Constraint::Regex(r"([0-9]{3}-){2,40}[0-9]{4}".to_owned()),
        Constraint::Choice(choice.map(str::to_owned).to_vec()),
        gbnf("root ::= list\nlist ::= \"(\" item (\" \" item)* \")\"\nitem ::= [a-z]+ | list"),
        gbnf("root ::= \"begin \" root \" end\" | \"skip \" root | [0-9]+ \";\""),
        tagged(true),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_constraint_is_whole_in_as_many_tokens_as_it_needs_and_in_more() {
    let rig = Rig::new(Mindless::default());
    for constraint in kinds() {
        let demand = demand(constraint.clone());
        let compiler = Compiler::new(CompilerLimits::default());
        let check = compiler.compile(&constraint).await.unwrap();
        let least = match rig.ask(&demand, 0, 1, None).await {
            Ok(_) => 1,
            Err(error) => needed(&error).unwrap_or_else(|| panic!("{constraint:?}: {error:?}")),
        };
        for (seed, more) in (0..).zip([0, 0, 1, 2, 3, 5, 9, 17, 40, 90]) {
            let limit = least + more;
            let answer = rig.ask(&demand, seed, limit, None).await.unwrap();
            let what = format!("{limit}: {answer:?} of {constraint:?}");
            assert_eq!(answer.reason, Finish::Stop, "{what}");
            assert!(answer.usage.completion <= limit, "{what}");
            let is_right = match &check {
                Check::Text(grammar) => grammar.check(&answer.text).is_ok(),
                Check::Tag(tags) => tags.check(&answer.text).is_ok(),
                _ => serde_json::from_str::<Value>(&answer.text).is_ok_and(|it| it.is_object()),
            };
            assert!(is_right, "{what}");
        }
    }
}

/// Any token of these may be the answer's last.
fn tagged(at_least_one: bool) -> Constraint {
    let arguments = json!({"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city", "days"], "additionalProperties": false});
    let tag = |name: &str| json!({"type": "tag", "begin": format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": "), "content": {"type": "json_schema", "json_schema": arguments}, "end": "}\n</tool_call>"});
    Constraint::StructuralTag(json!({"type": "structural_tag", "format": {
        "type": "triggered_tags", "triggers": ["<tool_call>"], "tags": [tag("weather"), tag("forecast")],
        "at_least_one": at_least_one, "stop_after_first": false,
    }}))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_must_come_comes_whole_and_one_that_may_is_not_begun_too_late() {
    let rig = Rig::new(Mindless::default());
    for at_least_one in [true, false] {
        let demand = demand(tagged(at_least_one));
        let compiler = Compiler::new(CompilerLimits::default());
        let check = compiler.compile(&demand.constraint).await.unwrap();
        for seed in 0..6 {
            for limit in [64, 90, 150] {
                let answer = rig.ask(&demand, seed, limit, None).await.unwrap();
                let Check::Tag(tags) = &check else {
                    unreachable!("a structural tag")
                };
                assert!(tags.check(&answer.text).is_ok(), "{answer:?}");
                assert!(!at_least_one || answer.reason == Finish::Stop, "{answer:?}");
            }
        }
    }
}
