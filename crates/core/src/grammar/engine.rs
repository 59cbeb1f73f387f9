//! llguidance as a matcher of bytes: a grammar in its Lark comes in; runs over texts go out.
//!
//! Its vocabulary here is the 256 bytes, so a token is a byte. Texts are UTF-8 and never hold
//! 0xFF, which llguidance keeps for its special tokens.

use super::GrammarFault;
use llguidance::api::{ParserLimits, TopLevelGrammar};
use llguidance::toktrie::{ApproximateTokEnv, InferenceCapabilities, TokEnv, TokRxInfo, TokTrie};
use llguidance::{ParserFactory, TokenParser};
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// llguidance's own limits. Errors are not verbose: verbose ones quote the grammar and the text.
fn limits() -> ParserLimits {
    ParserLimits {
        // 1-2 KB each: 50 MB at most for one text, where the default is 500 MB.
        max_lexer_states: 25_000,
        verbose_errors: false,
        // There is no vocabulary to precompute masks for.
        precompute_large_lexemes: false,
        ..ParserLimits::default()
    }
}

/// Items that the parser may keep for a text: so many, and so many more a byte. A JSON grammar
/// takes 9 a byte. `root ::= root root | "a" | ""` takes 600 at byte 300, and its time grows with
/// the cube: 1 s there, 40 s at byte 1,000.
const MAX_ITEMS: usize = 20_000;
const MAX_ITEMS_PER_BYTE: usize = 100;

/// One token a byte, and one for the end. A constant: it takes 0.1 ms to build.
static BYTES: LazyLock<TokEnv> = LazyLock::new(|| {
    let mut words: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    words.push(b"\xFF<end>".to_vec());
    let end = words.len() as u32 - 1;
    let trie = TokTrie::from(&TokRxInfo::new(words.len() as u32, end), &words);
    Arc::new(ApproximateTokEnv::new(trie))
});

/// A compiled grammar.
pub(super) struct Engine {
    /// At the start, never advanced. Behind a lock only because it holds caches.
    start: Mutex<TokenParser>,
    accepts_empty: bool,
    text_bytes: usize,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("text_bytes", &self.text_bytes)
            .finish_non_exhaustive()
    }
}

/// One text on its way.
pub(super) struct Run {
    parser: TokenParser,
    /// Until the first byte: whether the empty text is one of the language.
    accepts_empty: Option<bool>,
    bytes: usize,
    is_spent: bool,
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("stopped", &self.parser.stop_reason())
            .finish_non_exhaustive()
    }
}

impl Engine {
    /// Compiles Lark. `accepts_empty` says it of the language where the caller knows better than
    /// the engine, whose terminals are never empty.
    pub(super) fn compile(lark: String, accepts_empty: Option<bool>) -> Result<Self, GrammarFault> {
        let text_bytes = lark.len();
        let mut factory = ParserFactory::new(&BYTES, InferenceCapabilities::default(), &[])
            .map_err(|error| fault(&error.to_string()))?;
        factory.quiet();
        *factory.limits_mut() = limits();
        let mut parser = factory
            .create_parser(TopLevelGrammar::from_lark(lark))
            .map_err(|error| fault(&error.to_string()))?;
        if parser.parser.grammar().lexer_spec().has_max_tokens {
            return Err(GrammarFault::unsupported(
                "the attribute `max_tokens` of the grammar counts a model's tokens, which a text does not show: bound the \
                 text's length instead, as in `/[a-z]{1,200}/`",
            ));
        }
        parser.start_without_prompt();
        let accepts_empty = accepts_empty.unwrap_or_else(|| parser.is_accepting());
        Ok(Self {
            start: Mutex::new(parser),
            accepts_empty,
            text_bytes,
        })
    }

    /// A run of its own: nothing that one text does to its caches and limits touches another.
    pub(super) fn start(&self) -> Run {
        let start = self.start.lock().unwrap_or_else(PoisonError::into_inner);
        Run {
            parser: start.deep_clone(),
            accepts_empty: Some(self.accepts_empty),
            bytes: 0,
            is_spent: false,
        }
    }

    pub(super) fn estimated_bytes(&self) -> usize {
        self.text_bytes.saturating_mul(64).saturating_add(64 << 10)
    }
}

impl Run {
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), usize> {
        for (offset, &byte) in bytes.iter().enumerate() {
            self.accepts_empty = None;
            if byte == TokTrie::SPECIAL_TOKEN_MARKER || !self.step(u32::from(byte)) {
                return Err(offset);
            }
        }
        Ok(())
    }

    fn step(&mut self, byte: u32) -> bool {
        let step = || self.parser.consume_token(byte).is_ok();
        // llguidance asserts its own invariants; a text that breaks one is not verified.
        if !std::panic::catch_unwind(std::panic::AssertUnwindSafe(step)).unwrap_or(false) {
            return false;
        }
        self.bytes += 1;
        let budget = MAX_ITEMS.saturating_add(MAX_ITEMS_PER_BYTE.saturating_mul(self.bytes));
        self.is_spent = self.parser.parser_stats().all_items > budget;
        !self.is_spent && self.parser.stop_reason().is_ok()
    }

    pub(super) fn is_accepting(&mut self) -> bool {
        if let Some(accepts_empty) = self.accepts_empty {
            return accepts_empty;
        }
        let accepting = || self.parser.is_accepting();
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(accepting)).unwrap_or(false)
    }

    pub(super) fn gave_up(&self) -> bool {
        // One stop reason stands for both; only the message tells a refusal from a limit.
        let is_refusal = |message: String| message.contains("doesn't satisfy the grammar");
        self.is_spent
            || self
                .parser
                .error_message()
                .is_some_and(|message| !is_refusal(message))
    }
}

/// The first line of what llguidance says, without the source lines that follow it.
fn fault(error: &str) -> GrammarFault {
    let line = error.lines().next().unwrap_or_default();
    let line = line.split(" (at ").next().unwrap_or_default();
    let line: String = line.chars().take(160).collect();
    if error.contains("too large") || error.contains("too complex") || error.contains("too many") {
        return GrammarFault::too_complex(format!("the grammar is too large: {line}"));
    }
    GrammarFault::invalid(format!("the grammar cannot be read: {line}"))
}
