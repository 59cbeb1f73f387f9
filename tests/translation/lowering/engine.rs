//! The worker's engine itself, over a vocabulary of bytes: a lowered schema comes in; whether it is
//! taken, and which texts it lets through, goes out.

use llguidance::api::TopLevelGrammar;
use llguidance::toktrie::{ApproximateTokEnv, InferenceCapabilities, TokEnv, TokRxInfo, TokTrie};
use llguidance::{ParserFactory, TokenParser};
use serde_json::Value;
use std::sync::{Arc, LazyLock};

static BYTES: LazyLock<TokEnv> = LazyLock::new(|| {
    let mut words: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    words.push(b"\xFF<end>".to_vec());
    let end = u32::try_from(words.len() - 1).unwrap();
    let trie = TokTrie::from(&TokRxInfo::new(end + 1, end), &words);
    Arc::new(ApproximateTokEnv::new(trie))
});

/// A schema as the engine reads it.
pub(crate) struct Engine {
    start: TokenParser,
}

impl Engine {
    /// Compiles a schema, or tells why not.
    pub(crate) fn compile(schema: &Value) -> Result<Self, String> {
        let mut factory =
            ParserFactory::new(&BYTES, InferenceCapabilities::default(), &[]).unwrap();
        factory.quiet();
        let grammar = TopLevelGrammar::from_json_schema(schema.clone());
        let parser = factory.create_parser(grammar);
        let mut start = parser.map_err(|error| error.to_string())?;
        start.start_without_prompt();
        Ok(Self { start })
    }

    /// Whether the engine would let a model write this.
    pub(crate) fn lets_through(&self, instance: &Value) -> bool {
        let mut run = self.start.deep_clone();
        let text = instance.to_string();
        text.bytes()
            .all(|byte| run.consume_token(u32::from(byte)).is_ok() && run.stop_reason().is_ok())
            && run.is_accepting()
    }
}
