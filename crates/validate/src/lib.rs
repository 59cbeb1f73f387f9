//! A JSON Schema and how it is to be read in; a compiled validator out.
//!
//! Nothing but a door: `jsonschema` is generic over the values that it validates, so whoever calls it compiles all of its
//! keywords once more. Here they are called by name, and what the library has compiled for itself is used (at opt-level 1,
//! which both are built with: only there does one crate use what was made of a generic function in another).

pub use jsonschema::{Draft, Keyword, Uri, ValidationError, error, uri};
use jsonschema::{ErrorIterator, PatternOptions};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// Whether a text is of a format.
pub type Format = fn(&str) -> bool;
/// A keyword's value in; what checks it out.
pub type KeywordOf =
    for<'a> fn(&'a Value) -> Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'a>>;

/// How a schema is read. Formats are asserted, and nothing is fetched.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'r> {
    /// Whose rules it follows, whatever its `$schema` says.
    pub draft: Draft,
    /// Bytes of one compiled pattern.
    pub pattern_bytes: usize,
    /// Bytes that a pattern may cache while it matches.
    pub pattern_cache_bytes: usize,
    /// By name; before the library's own.
    pub formats: &'r [(&'static str, Format)],
    /// By name; instead of the library's own.
    pub keywords: &'r [(&'static str, KeywordOf)],
}

/// Formats that a draft before 2019-09 does not know, as 2020-12 reads them: whoever names one means it, whatever draft a generator
/// names (zod-to-json-schema writes `uuid` under draft 7).
fn later_formats() -> &'static [(&'static str, jsonschema::Validator)] {
    const NAMES: [&str; 9] = [
        "duration",
        "idn-hostname",
        "iri",
        "iri-reference",
        "json-pointer",
        "relative-json-pointer",
        "uri-reference",
        "uri-template",
        "uuid",
    ];
    static READ: LazyLock<Vec<(&str, jsonschema::Validator)>> = LazyLock::new(|| {
        let options = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .should_validate_formats(true);
        let read = |name| Some((name, options.build(&json!({ "format": name })).ok()?));
        NAMES.into_iter().filter_map(read).collect()
    });
    &READ
}

/// A compiled schema.
#[derive(Debug, Clone)]
pub struct Validator(jsonschema::Validator);

impl Validator {
    /// Compiles a schema.
    ///
    /// # Errors
    /// It is no valid schema of its draft, or refers to what is not in it.
    pub fn compile<'s>(
        schema: &'s Value,
        reading: &Reading<'_>,
    ) -> Result<Self, ValidationError<'s>> {
        let patterns = PatternOptions::regex()
            .size_limit(reading.pattern_bytes)
            .dfa_size_limit(reading.pattern_cache_bytes);
        let mut options = jsonschema::options()
            .offline()
            .with_draft(reading.draft)
            .should_validate_formats(true)
            .with_content_media_type("application/json", |text| {
                serde_json::from_str::<&RawValue>(text).is_ok()
            })
            .with_pattern_options(patterns);
        if reading.draft < Draft::Draft201909 {
            for (name, validator) in later_formats() {
                options =
                    options.with_format(*name, |text: &str| validator.is_valid(&Value::from(text)));
            }
        }
        for (name, format) in reading.formats {
            options = options.with_format(*name, *format);
        }
        for (name, keyword) in reading.keywords {
            let keyword = *keyword;
            options = options.with_keyword(*name, move |_, value, _| keyword(value));
        }
        options.build(schema).map(Self)
    }

    /// Whether a value satisfies the schema.
    #[must_use]
    pub fn is_valid(&self, value: &Value) -> bool {
        self.0.is_valid(value)
    }

    /// Whether it does, or its first error.
    ///
    /// # Errors
    /// The first that is found.
    pub fn validate<'i>(&self, value: &'i Value) -> Result<(), ValidationError<'i>> {
        self.0.validate(value)
    }

    /// All of its errors.
    #[must_use]
    pub fn errors<'i>(&'i self, value: &'i Value) -> ErrorIterator<'i> {
        self.0.iter_errors(value)
    }
}
