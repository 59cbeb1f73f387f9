//! Validating: a schema comes in and is compiled; then values come in, and the first breach of
//! the schema goes out.

use super::guard::{SchemaLimits, examine};
use super::measure::Measures;
use super::number::{self, NumberDemand};
use super::reply::{self, NumberBound};
use super::{SchemaFault, identity, moment, nullable, patterns};
use crate::error::shortened;
use isogloss_validate::error::{TypeKind, ValidationErrorKind as Rule};
use isogloss_validate::{Draft, Format, KeywordOf, Reading, ValidationError};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

/// Stack frames of validation that fit the 2 MiB stack of an async worker with a wide margin: the
/// library overflows it from about 440 levels of `properties`, and from 1,040 bare references.
const MAX_FRAMES_IN_PLACE: usize = 200;
/// The stack of the thread that validates what needs more.
const BIG_STACK_BYTES: usize = 64 << 20;
/// Frames that the big stack holds: the library needs some 5 KB a level there.
const MAX_FRAMES: usize = 8_000;
/// How far collecting errors may multiply with the levels of a recursive value. Deciding is
/// memoised by the library; collecting is not.
const MAX_ERROR_FORKS: u64 = 100_000;
/// Errors that may be collected where alternatives fail: each subschema may give one for each
/// value, at some 300 bytes.
const MAX_ERRORS: u64 = 1_000_000;

/// Formats that the library reads otherwise than RFC 3339 does.
const FORMATS: [(&str, Format); 3] = [
    ("date", moment::is_date),
    ("time", moment::is_time),
    ("date-time", moment::is_date_time),
];
/// Keywords that it reads otherwise than JSON Schema does.
const KEYWORDS: [(&str, KeywordOf); 2] = [
    ("multipleOf", number::multiple_of),
    ("pattern", patterns::pattern),
];

/// A compiled schema.
pub struct Validator {
    pub(super) inner: isogloss_validate::Validator,
    pub(super) measures: Measures,
    is_draft4: bool,
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let measures = &self.measures;
        f.debug_struct("Validator")
            .field("measures", measures)
            .finish_non_exhaustive()
    }
}

/// How a value breaks a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaBreach {
    /// JSON Pointer into the value; empty for the whole of it.
    pub pointer: String,
    /// The keyword that is broken.
    pub rule: String,
    /// For a person, and for the model. Quotes names and numbers of the schema and types and
    /// property names of the value, never other text.
    pub message: String,
}

impl Validator {
    /// Compiles a schema that is within the default limits.
    ///
    /// The draft is the one that `$schema` names, else 2020-12. Formats are asserted: a client
    /// that writes `format: date` wants a date. `nullable: true` is honoured.
    ///
    /// # Errors
    /// Where the guard refuses it, or where it is no valid schema of its draft.
    pub fn compile(schema: &Value) -> Result<Self, SchemaFault> {
        Self::compile_within(schema, &SchemaLimits::default())
    }

    /// [`Validator::compile`] with other limits.
    ///
    /// # Errors
    /// Where the guard refuses it, or where it is no valid schema of its draft.
    pub fn compile_within(schema: &Value, limits: &SchemaLimits) -> Result<Self, SchemaFault> {
        let named = identity::without_idle(schema);
        let schema = named.as_ref().unwrap_or(schema);
        let measures = examine(schema, limits)?;
        let schema = nullable::honour(schema);
        let schema = patterns::spelled_out(&schema);
        let draft = draft_of(&schema).unwrap_or(Draft::Draft202012);
        let reading = Reading {
            draft,
            pattern_bytes: patterns::MAX_BYTES,
            pattern_cache_bytes: patterns::MAX_CACHE_BYTES,
            formats: &FORMATS,
            keywords: &KEYWORDS,
        };
        let compile = |schema: &Value| {
            let compiled = isogloss_validate::Validator::compile(schema, &reading);
            compiled.map_err(|error| (is_of_pattern(&error), fault_of(&error)))
        };
        let compiled = compile(&schema).or_else(|(is_of_pattern, fault)| {
            // The metaschemas of old drafts have patterns checked that browsers read: without the flag `u`.
            match is_of_pattern.then(|| patterns::respelled(&schema)) {
                Some(respelled) => compile(&respelled).map_err(|_| fault),
                None => Err(fault),
            }
        });
        let inner = compiled?;
        Ok(Self {
            inner,
            measures,
            is_draft4: draft == Draft::Draft4,
        })
    }

    /// Checks a value, and says where and how it first breaks the schema.
    ///
    /// # Errors
    /// The first breach, as deep in the value as is certain.
    pub fn validate(&self, value: &Value) -> Result<(), SchemaBreach> {
        self.with_room(value, |explain| self.check(value, explain))
    }

    /// Works on a value with as much stack as it needs; the work is told whether errors may be
    /// collected, as far as recursion goes.
    pub(super) fn with_room(
        &self,
        value: &Value,
        work: impl FnOnce(bool) -> Result<(), SchemaBreach>,
    ) -> Result<(), SchemaBreach> {
        if self.measures.forks == 0 {
            // Without recursion no value makes validation deeper than the schema, which the
            // guard has measured.
            return work(true);
        }
        let levels = depth(value);
        let frames = levels.saturating_mul(self.measures.ref_depth + 2);
        let steps = self
            .measures
            .forks
            .saturating_pow(u32::try_from(levels).unwrap_or(u32::MAX));
        let explain = steps <= MAX_ERROR_FORKS;
        if frames <= MAX_FRAMES_IN_PLACE {
            return work(explain);
        }
        if frames > MAX_FRAMES {
            return Err(too_deep());
        }
        stacker::grow(BIG_STACK_BYTES, || work(explain))
    }

    /// Reads a reply's JSON text and checks its value: keys that stand twice, and numbers beyond 64
    /// bits, which a value cannot hold, are seen only in the text.
    ///
    /// # Errors
    /// Rule `json` as [`super::read_reply_json`] has it, or where a number cannot be held and its
    /// exact value matters; else the first breach of the schema.
    pub fn validate_text(&self, text: &str) -> Result<(), SchemaBreach> {
        let read = reply::read(text)?;
        self.validate(&read.value)?;
        if read.unheld.is_empty() {
            return Ok(());
        }
        match self.measures.demand {
            NumberDemand::None => Ok(()),
            // What is written lies between the two.
            NumberDemand::Bounds => [NumberBound::Below, NumberBound::Above]
                .into_iter()
                .try_for_each(|side| self.validate(&reply::build(text, &read.unheld, side)?)),
            NumberDemand::Exact => Err(reply::too_long()),
        }
    }

    /// Bytes of memory that this takes, for a cache's account. Measured over 649 real schemas: 13
    /// times their text. Patterns: 105 bytes a state, and as much again for what matching caches.
    #[must_use]
    pub fn estimated_bytes(&self) -> usize {
        let states = usize::try_from(self.measures.pattern_states).unwrap_or(usize::MAX);
        let nodes = self.measures.text_bytes.saturating_mul(14);
        states
            .saturating_mul(200)
            .saturating_add(nodes)
            .saturating_add(4096)
    }

    fn check(&self, value: &Value, explain: bool) -> Result<(), SchemaBreach> {
        if self.inner.is_valid(value) {
            return Ok(());
        }
        if self.is_draft4 && self.inner.is_valid(&self.as_its_draft_reads(value)) {
            return Ok(());
        }
        if explain
            && self.may_collect(value)
            && let Err(error) = self.inner.validate(value)
        {
            return Err(breach_of(most_specific(&error)));
        }
        Err(SchemaBreach {
            pointer: String::new(),
            rule: "schema".to_owned(),
            message: "does not satisfy the schema; it is too large to say where".to_owned(),
        })
    }

    /// Draft 4 alone tells 1.0 from an integer, and `-0` is read as a float.
    pub(super) fn as_its_draft_reads<'v>(&self, value: &'v Value) -> Cow<'v, Value> {
        if self.is_draft4 {
            Cow::Owned(without_negative_zero(value))
        } else {
            Cow::Borrowed(value)
        }
    }

    /// Whether the errors of a value are few enough to be collected. Without alternatives the
    /// library stops at the first.
    fn may_collect(&self, value: &Value) -> bool {
        !self.measures.has_alternatives || self.may_collect_all(value)
    }

    /// Whether all errors of a value are few enough.
    pub(super) fn may_collect_all(&self, value: &Value) -> bool {
        let mut values = 0;
        walk(value, |_| values += 1);
        self.measures.paths.saturating_mul(values) <= MAX_ERRORS
    }
}

fn too_deep() -> SchemaBreach {
    SchemaBreach {
        pointer: String::new(),
        rule: "depth".to_owned(),
        message: "nests too deep to be checked against a recursive schema".to_owned(),
    }
}

/// Levels of arrays and objects.
fn depth(value: &Value) -> usize {
    let mut deepest = 0;
    walk(value, |level| deepest = deepest.max(level));
    deepest
}

/// Visits every value inside, with its level from 1, without recursion.
fn walk(value: &Value, mut visit: impl FnMut(usize)) {
    let mut pending = vec![(value, 1)];
    while let Some((value, level)) = pending.pop() {
        visit(level);
        let next = level + 1;
        match value {
            Value::Array(items) => pending.extend(items.iter().map(|item| (item, next))),
            Value::Object(map) => pending.extend(map.values().map(|item| (item, next))),
            _ => {}
        }
    }
}

/// The value with 0 in the place of `-0`, which is an integer as it is written.
fn without_negative_zero(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() && number.as_f64() == Some(0.0) => Value::from(0),
        Value::Array(items) => items.iter().map(without_negative_zero).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), without_negative_zero(value)))
            .collect(),
        other => other.clone(),
    }
}

/// The draft that a schema names, where it is known.
pub fn draft_of(schema: &Value) -> Option<Draft> {
    let uri = schema.get("$schema")?.as_str()?.trim_end_matches('#');
    let path = uri
        .strip_prefix("https://")
        .or_else(|| uri.strip_prefix("http://"))?;
    match path.strip_prefix("json-schema.org/")? {
        "draft-04/schema" => Some(Draft::Draft4),
        "draft-06/schema" => Some(Draft::Draft6),
        "draft-07/schema" => Some(Draft::Draft7),
        "draft/2019-09/schema" => Some(Draft::Draft201909),
        // The address without a version means the latest.
        "draft/2020-12/schema" | "schema" => Some(Draft::Draft202012),
        _ => None,
    }
}

/// Refuses a `$schema` that names a draft nobody knows here: its rules would have to be fetched.
pub(crate) fn check_draft(schema: &Value) -> Result<(), SchemaFault> {
    match schema.get("$schema") {
        None => Ok(()),
        Some(Value::String(_)) if draft_of(schema).is_some() => Ok(()),
        Some(Value::String(_)) => Err(SchemaFault::unsupported(
            "/$schema",
            "`$schema` names no known draft (4, 6, 7, 2019-09, 2020-12); leave it out for 2020-12",
        )),
        Some(_) => Err(SchemaFault::invalid(
            "/$schema",
            "`$schema` is not a string",
        )),
    }
}

fn is_of_pattern(error: &ValidationError<'_>) -> bool {
    matches!(error.kind(), Rule::Format { format } if format == "regex")
}

fn fault_of(error: &ValidationError<'_>) -> SchemaFault {
    let place = error.instance_path().as_str();
    match error.kind() {
        Rule::Referencing(_) => SchemaFault::unsupported(
            "",
            "a reference cannot be resolved within the schema; remote references are never \
             fetched: put what they refer to under `$defs`",
        ),
        Rule::Format { format } if format == "regex" => {
            // The metaschema knows the place in the schema as the instance; the compiler as its own.
            let place = if place.is_empty() {
                error.schema_path().as_str()
            } else {
                place
            };
            SchemaFault::invalid(place, "the pattern is not a valid regular expression")
        }
        _ => {
            let error = most_specific(error);
            let message = format!("the schema itself is not valid: {}", describe(error));
            SchemaFault::invalid(error.instance_path().as_str(), message)
        }
    }
}

pub(super) fn breach_of(error: &ValidationError<'_>) -> SchemaBreach {
    SchemaBreach {
        pointer: error.instance_path().as_str().to_owned(),
        rule: rule_of(error.kind()).to_owned(),
        message: describe(error),
    }
}

fn rule_of(kind: &Rule) -> &str {
    match kind {
        Rule::FalseSchema => "false",
        kind => kind.keyword(),
    }
}

/// Goes down into the one branch of a failed `anyOf` or `oneOf` that was meant, where that is
/// plain: the only one whose type and constants fit, else the only one that got further into the
/// value than its own place.
pub(super) fn most_specific<'e, 'i>(error: &'e ValidationError<'i>) -> &'e ValidationError<'i>
where
    'i: 'e,
{
    let mut error = error;
    loop {
        let context = match error.kind() {
            Rule::AnyOf { context } | Rule::OneOfNotValid { context } => context,
            _ => return error,
        };
        let here = error.instance_path().as_str().len();
        let is_other = |error: &&ValidationError<'_>| {
            error.instance_path().as_str().len() == here
                && matches!(
                    error.kind(),
                    Rule::Type { .. }
                        | Rule::Enum { .. }
                        | Rule::Constant { .. }
                        | Rule::FalseSchema
                )
        };
        let fitting =
            |branch: &&Vec<ValidationError<'static>>| !branch.iter().any(|e| is_other(&e));
        let tagged = |branch: &&Vec<ValidationError<'static>>| {
            // A discriminator that differs says that another branch was meant.
            !branch
                .iter()
                .any(|e| matches!(e.kind(), Rule::Constant { .. }))
        };
        let only = |test: &dyn Fn(&&Vec<ValidationError<'static>>) -> bool| {
            let mut fits = context.iter().filter(|branch| test(branch));
            fits.next().filter(|_| fits.next().is_none())
        };
        let Some(branch) = only(&fitting).or_else(|| only(&|b| fitting(b) && tagged(b))) else {
            return error;
        };
        let deepest = branch
            .iter()
            .max_by_key(|error| error.instance_path().as_str().len());
        let Some(inner) = deepest else { return error };
        error = inner;
    }
}

fn describe(error: &ValidationError<'_>) -> String {
    match error.kind() {
        Rule::Type { kind } => format!("expected {}, got {}", types(kind), type_of(error)),
        Rule::Required { property } => {
            format!(
                "the required property {} is missing",
                name(property.as_str())
            )
        }
        Rule::AdditionalProperties { unexpected } | Rule::UnevaluatedProperties { unexpected } => {
            format!(
                "the schema does not allow the properties {}",
                names(unexpected)
            )
        }
        Rule::Enum { options } => {
            let count = options.as_array().map_or(1, Vec::len);
            format!("is none of the {count} values that `enum` allows")
        }
        Rule::Constant { .. } => "is not the value that `const` demands".to_owned(),
        Rule::Pattern { .. } => "does not match `pattern`".to_owned(),
        Rule::Format { format } => format!("is not of the format {}", name(Some(format))),
        Rule::Maximum { limit } => format!("is more than the maximum {limit}"),
        Rule::Minimum { limit } => format!("is less than the minimum {limit}"),
        Rule::ExclusiveMaximum { limit } => format!("must be less than {limit}"),
        Rule::ExclusiveMinimum { limit } => format!("must be more than {limit}"),
        Rule::MultipleOf { multiple_of } => format!("is not a multiple of {multiple_of}"),
        Rule::MaxItems { limit } => format!("has more than {limit} items"),
        Rule::MinItems { limit } => format!("has fewer than {limit} items"),
        Rule::MaxLength { limit } => format!("is longer than {limit} characters"),
        Rule::MinLength { limit } => format!("is shorter than {limit} characters"),
        Rule::MaxProperties { limit } => format!("has more than {limit} properties"),
        Rule::MinProperties { limit } => format!("has fewer than {limit} properties"),
        Rule::AdditionalItems { limit } => format!("has more than {limit} items"),
        Rule::UniqueItems => "has two equal items".to_owned(),
        Rule::AnyOf { context } | Rule::OneOfNotValid { context } => {
            format!("satisfies none of the {} alternatives", context.len())
        }
        Rule::OneOfMultipleValid { .. } => {
            "satisfies more than one alternative of `oneOf`".to_owned()
        }
        Rule::FalseSchema => "is not allowed here".to_owned(),
        Rule::Not { .. } => "satisfies what `not` forbids".to_owned(),
        Rule::PropertyNames { .. } => "has a property whose name is not allowed".to_owned(),
        // Ours: the library makes none of this kind while it validates.
        Rule::Custom { message, .. } => message.clone(),
        kind => format!("does not satisfy `{}`", kind.keyword()),
    }
}

/// Characters of a name that a message quotes.
const MAX_NAME_CHARS: usize = 64;

fn name(name: Option<&str>) -> String {
    let short = shortened(name.unwrap_or_default(), MAX_NAME_CHARS);
    format!("`{}`", short.escape_debug())
}

fn names(all: &[String]) -> String {
    let shown: Vec<_> = all.iter().take(5).map(|text| name(Some(text))).collect();
    let more = if all.len() > shown.len() { ", …" } else { "" };
    shown.join(", ") + more
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => one.to_string(),
        TypeKind::Multiple(several) => {
            let all: Vec<_> = several.iter().map(|one| one.to_string()).collect();
            all.join(" or ")
        }
    }
}

fn type_of(error: &ValidationError<'_>) -> &'static str {
    match error.instance().as_ref() {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
