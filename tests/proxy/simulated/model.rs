//! A model without a mind: a language comes in, one random text of it goes out, byte by byte under
//! llguidance's masks, as a server's decoder would write it.

use llguidance::api::{ParserLimits, TopLevelGrammar};
use llguidance::toktrie::{ApproximateTokEnv, InferenceCapabilities, TokEnv, TokRxInfo, TokTrie};
use llguidance::{Matcher, ParserFactory};
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};

/// From here on the model wants to come to an end.
const PRESSED: usize = 160;
/// Where a model is cut whose request says nothing else.
pub(crate) const LONGEST: usize = 1_500;

/// SplitMix64: small, and the same everywhere.
#[derive(Debug, Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(crate) fn in_a_hundred(&mut self, share: usize) -> bool {
        self.below(100) < share
    }

    pub(crate) fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// What a text may be.
#[derive(Debug, Clone)]
pub(crate) enum Language {
    /// JSON of a schema as the server reads it.
    Json(Value),
    /// llguidance's Lark.
    Lark(String),
    /// One of these.
    Choice(Vec<String>),
    /// What was written already.
    Known(Written),
}

/// A text, and whether it came to its end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Written {
    pub(crate) text: String,
    pub(crate) is_cut: bool,
}

static BYTES: LazyLock<TokEnv> = LazyLock::new(|| {
    let mut words: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    words.push(b"\xFF<end>".to_vec());
    let end = words.len() as u32 - 1;
    let trie = TokTrie::from(&TokRxInfo::new(words.len() as u32, end), &words);
    Arc::new(ApproximateTokEnv::new(trie))
});

/// A regex as a language.
pub(crate) fn of_regex(regex: &str) -> Language {
    Language::Lark(format!("start: /{}/\n", regex.replace('/', "\\/")))
}

/// Any JSON, or any object.
pub(crate) fn any_object() -> Language {
    Language::Json(json!({"type": "object"}))
}

/// One random text of the language. The error is the compiler's.
pub(crate) fn write(language: &Language, random: &mut Random) -> Result<Written, String> {
    let written = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        write_or_panic(language, random)
    }));
    written.unwrap_or_else(|_| Err("the grammar engine gave up".to_owned()))
}

fn write_or_panic(language: &Language, random: &mut Random) -> Result<Written, String> {
    let grammar = match language {
        Language::Choice(texts) => {
            let text = random.of(texts).clone();
            let is_cut = false;
            return Ok(Written { text, is_cut });
        }
        Language::Known(written) => return Ok(written.clone()),
        Language::Lark(text) => TopLevelGrammar::from_lark(text.clone()),
        Language::Json(schema) => {
            let mut schema = match schema {
                Value::Object(_) => schema.clone(),
                Value::Bool(false) => return Err("nothing satisfies the schema".to_owned()),
                _ => json!({}),
            };
            schema["x-guidance"] = json!({"lenient": true, "whitespace_flexible": true});
            TopLevelGrammar::from_json_schema(schema)
        }
    };
    let mut factory = ParserFactory::new(&BYTES, InferenceCapabilities::default(), &[])
        .map_err(|error| error.to_string())?;
    factory.quiet();
    *factory.limits_mut() = ParserLimits {
        precompute_large_lexemes: false,
        verbose_errors: false,
        ..ParserLimits::default()
    };
    let parser = factory.create_parser(grammar);
    let mut matcher = Matcher::new(parser);
    if let Some(error) = matcher.get_error() {
        return Err(error.lines().next().unwrap_or_default().to_owned());
    }
    sample(&mut matcher, random)
}

fn sample(matcher: &mut Matcher, random: &mut Random) -> Result<Written, String> {
    let mut bytes = Vec::new();
    let words = |error: &dyn std::fmt::Display| error.to_string();
    loop {
        if matcher.is_stopped() {
            // An engine that gives up leaves the answer where it is.
            let is_cut = matcher.get_error().is_some();
            return Ok(written(bytes, is_cut));
        }
        let is_over = matcher.is_accepting().map_err(|error| words(&error))?;
        if is_over && (bytes.len() > PRESSED || random.in_a_hundred(60)) {
            break;
        }
        if bytes.len() >= LONGEST {
            return Ok(written(bytes, true));
        }
        let mask = matcher.compute_mask().map_err(|error| words(&error))?;
        let pressed = bytes.len() > PRESSED;
        let mut allowed: Vec<(u8, u64)> = (0..=255_u8)
            .filter(|byte| mask.is_allowed(u32::from(*byte)))
            .map(|byte| (byte, weight(byte, pressed)))
            .collect();
        if allowed.is_empty() {
            return Ok(written(bytes, !is_over));
        }
        allowed.sort_unstable();
        let total: u64 = allowed.iter().map(|(_, weight)| weight).sum();
        let mut left = random.next() % total;
        let chosen = allowed.iter().find(|(_, weight)| {
            let is_it = left < *weight;
            left = left.saturating_sub(*weight);
            is_it
        });
        let byte = chosen.unwrap_or(&allowed[0]).0;
        matcher
            .consume_token(u32::from(byte))
            .map_err(|error| words(&error))?;
        bytes.push(byte);
    }
    Ok(written(bytes, false))
}

fn written(mut bytes: Vec<u8>, is_cut: bool) -> Written {
    // A cut may fall into a character.
    while std::str::from_utf8(&bytes).is_err() {
        bytes.pop();
    }
    let text = String::from_utf8(bytes).unwrap_or_default();
    Written { text, is_cut }
}

/// How likely a byte is: the model likes to close what it opened.
const fn weight(byte: u8, pressed: bool) -> u64 {
    match (byte, pressed) {
        (b'"' | b'}' | b']', true) => 100_000,
        (b':', true) => 10_000,
        (b'{' | b'[' | b',' | b'\\' | b' ' | b'\n' | b'\r' | b'\t', true) => 1,
        (b'"', false) => 2_000,
        (b'}' | b']', false) => 600,
        (b',', false) => 300,
        (b'{' | b'[', false) => 200,
        (b'\\', false) => 20,
        (b' ', false) => 60,
        (b'\n' | b'\r' | b'\t', false) => 10,
        (0x80.., _) => 2,
        (b'0'..=b'9' | b'a'..=b'z', _) => 100,
        _ => 30,
    }
}

/// What a model says that nobody constrains.
pub(crate) fn noise(random: &mut Random) -> String {
    const WORDS: [&str; 12] = [
        "Sure! ",
        "Here is ",
        "{\"a\": 1}",
        "the answer",
        ": ",
        "```json\n",
        "\n```",
        "42",
        "[]",
        "null",
        "{",
        "\"",
    ];
    let count = random.below(5);
    (0..=count).map(|_| *random.of(&WORDS)).collect()
}
