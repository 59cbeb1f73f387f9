//! llguidance as a grammar backend: a demand comes in; a compiled grammar over the model's own
//! vocabulary goes out.

mod answer;
mod env;
mod json;
mod schema;
mod tags;
mod think;
mod watch;
mod ways;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests;

use super::{Backend, Compiled, Demand, Matcher, Think, Whitespace};
use crate::vocabulary::Vocabulary;
use ::llguidance::api::{GrammarInit, ParserLimits, TopLevelGrammar};
use ::llguidance::earley::SlicedBiasComputer;
use ::llguidance::{Logger, ParserFactory, TokenParser};
use answer::Answer;
use env::Env;
use isogloss_core::error::{Error, Kind};
use isogloss_core::grammar::Decodable;
use isogloss_core::ir::Constraint;
use isogloss_core::schema::reads_exactly;
use json::{Begins, Json};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use think::Thinking;
use toktrie::{InferenceCapabilities, TokEnv, TokTrie};
use ways::{Spelling, Ways};

/// llguidance's own limits. Errors are not verbose: verbose ones quote the grammar and the text.
fn limits() -> ParserLimits {
    ParserLimits {
        // 1-2 KB each: 50 MB at most for one answer, where the default is 500 MB.
        max_lexer_states: 25_000,
        // Its defaults, said because they bound one mask: 14 ms of regexes, 2.5 ms of items.
        step_lexer_fuel: 200_000,
        step_max_items: 50_000,
        verbose_errors: false,
        ..ParserLimits::default()
    }
}

/// The limits of a constraint's grammar.
///
/// The work of one byte grows with the square of the items that a row has, and an ambiguous
/// grammar has two more of them with each byte: `root ::= root root | "a"` takes 30 ms a token at
/// 300 bytes. A grammar that means something has about an item an alternative, and some for lists
/// that are written as recursion.
fn limits_of(constraint: &Constraint) -> ParserLimits {
    let limits = limits();
    let Constraint::Grammar { text, .. } = constraint else {
        return limits;
    };
    let alternatives = text.matches(['|', '\n']).count();
    let items = alternatives.saturating_mul(2).saturating_add(600);
    ParserLimits {
        max_items_in_row: limits.max_items_in_row.min(items),
        ..limits
    }
}

/// How many things one token opens at most, one in another, under a client's own grammar: each of its letters may be one.
/// Of the others only JSON is recursive, and no token has more than a few of its brackets that open.
const LEVELS: u32 = 16;

/// Before a client's own terminals. With `/a+/ "a"` the lexer takes every `a` for the first of
/// them, so another `a` is forced for ever: what is forced is left to the masks, one by one.
const NO_FORCING: &str = "%llguidance {\"no_forcing\": true}\n";

/// Grammars over one vocabulary.
pub struct Llguidance {
    shared: Arc<Shared>,
}

impl fmt::Debug for Llguidance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Llguidance")
            .field("tokens", &self.shared.trie().vocab_size())
            .finish_non_exhaustive()
    }
}

/// What all grammars of a vocabulary share.
struct Shared {
    factory: ParserFactory,
    vocabulary: Vocabulary,
    thinking: OnceLock<Thinking>,
    json: OnceLock<json::Tokens>,
    spelling: OnceLock<Spelling>,
    watch: watch::Closes,
}

impl Shared {
    fn trie(&self) -> &TokTrie {
        self.factory.tok_env().tok_trie()
    }

    fn thinking(&self) -> &Thinking {
        let make = || Thinking::new(&self.vocabulary, self.trie());
        self.thinking.get_or_init(make)
    }

    fn spelling(&self) -> &Spelling {
        let make = || Spelling::new(self.factory.tok_env());
        self.spelling.get_or_init(make)
    }

    fn json(&self) -> &json::Tokens {
        self.json.get_or_init(|| json::Tokens::new(self.trie()))
    }
}

impl Llguidance {
    /// Grammars over a vocabulary. Takes half a second for 128,000 tokens.
    ///
    /// # Errors
    /// No token ends an answer, or the library cannot work with the vocabulary.
    pub fn new(vocabulary: &Vocabulary) -> Result<Self, Error> {
        let unusable = |what: &str| {
            let message = format!("the model's vocabulary cannot be constrained: {what}");
            Error::new(Kind::UnsupportedConstraint, message)
        };
        let make = || -> Result<ParserFactory, Error> {
            let env = Env::new(vocabulary).ok_or_else(|| {
                unusable("it has no token that ends an answer, or too many tokens")
            })?;
            let env: TokEnv = Arc::new(env);
            let slices = SlicedBiasComputer::general_slices();
            let mut factory = ParserFactory::new(&env, InferenceCapabilities::default(), &slices)
                .map_err(|_| unusable("its tokens cannot be sorted"))?;
            factory.quiet();
            *factory.limits_mut() = limits();
            Ok(factory)
        };
        // The trie asserts what it needs of tokens.
        let factory = std::panic::catch_unwind(std::panic::AssertUnwindSafe(make))
            .unwrap_or_else(|_| Err(unusable("its tokens are beyond what a trie holds")))?;
        let watch = watch::Watch::start()
            .ok_or_else(|| Error::new(Kind::Internal, "no thread can be started"))?;
        Ok(Self {
            shared: Arc::new(Shared {
                factory,
                vocabulary: vocabulary.clone(),
                thinking: OnceLock::new(),
                json: OnceLock::new(),
                spelling: OnceLock::new(),
                watch,
            }),
        })
    }
}

impl Backend for Llguidance {
    fn name(&self) -> &'static str {
        "llguidance"
    }

    fn compile(&self, demand: &Demand) -> Result<Arc<dyn Compiled>, Error> {
        let (grammar, begins) = grammar(demand)?;
        let text_bytes: usize = (grammar.grammars.iter())
            .map(|part| {
                let schema = part
                    .json_schema
                    .as_ref()
                    .map(|schema| schema.to_string().len());
                schema.unwrap_or(0) + part.lark_grammar.as_ref().map_or(0, String::len)
            })
            .sum();
        let is_json = demand.constraint.is_json();
        let mut schemas = grammar
            .grammars
            .iter()
            .filter_map(|part| part.json_schema.as_ref());
        let is_exact = schemas.any(reads_exactly) || is_exact(&demand.constraint);
        let json = match is_json {
            true => Some(Json::whole(is_exact)),
            false => begins.has_any().then(|| Json::behind(begins, is_exact)),
        };
        let start = self.shared.factory.create_parser_from_init_ext(
            GrammarInit::Serialized(grammar),
            Logger::new(0, 0),
            InferenceCapabilities::default(),
            limits_of(&demand.constraint),
        );
        let start = start.and_then(|mut parser| {
            parser.start_without_prompt();
            // Whether nothing may come at all.
            parser.check_stop().map(|_| Arc::new(Mutex::new(parser)))
        });
        let start = start.map_err(|error| fault(&error.to_string(), &demand.constraint))?;
        let limits = limits_of(&demand.constraint);
        let levels = match demand.constraint {
            Constraint::Grammar { .. } => LEVELS,
            _ => 1,
        };
        let ways = Ways::new(Arc::clone(&start), limits, is_json, levels);
        if demand.think != Think::None {
            self.shared.thinking();
        }
        Ok(Arc::new(Grammar {
            shared: Arc::clone(&self.shared),
            text_bytes,
            start,
            ways: Arc::new(ways),
            think: demand.think,
            json,
            has_gap: is_json && demand.whitespace == Whitespace::Flexible,
        }))
    }
}

/// A demand's constraint as llguidance reads it, and the texts that JSON stands behind, where it is not all JSON.
fn grammar(demand: &Demand) -> Result<(TopLevelGrammar, Begins), Error> {
    let grammar = match &demand.constraint {
        Constraint::JsonSchema(value) => {
            schema::prepare(value, demand.whitespace).map(TopLevelGrammar::from_json_schema)
        }
        Constraint::JsonObject => Ok(TopLevelGrammar::from_json_schema(schema::any_object(
            demand.whitespace,
        ))),
        Constraint::StructuralTag(description) => {
            return tags::grammar(description, demand.whitespace);
        }
        Constraint::Regex(_) | Constraint::Choice(_) | Constraint::Grammar { .. } => {
            let decodable = Decodable::of(&demand.constraint);
            let decodable = decodable.map_err(|fault| Error::new(fault.kind, fault.message))?;
            Ok(TopLevelGrammar::from_lark(match decodable {
                Decodable::Lark(text) => format!("{NO_FORCING}{text}"),
                Decodable::Terminal { regex, .. } if regex.is_empty() => "start: \n".to_owned(),
                // A terminal is never empty.
                Decodable::Terminal { regex, takes_empty } => {
                    let often = if takes_empty { "?" } else { "" };
                    format!("start: TEXT{often}\nTEXT: /{regex}/\n")
                }
            }))
        }
    };
    Ok((grammar?, Begins::default()))
}

/// Whether the exact value of whole numbers matters to the schema as the client wrote it.
fn is_exact(constraint: &Constraint) -> bool {
    matches!(constraint, Constraint::JsonSchema(schema) if reads_exactly(schema))
}

/// A compiled grammar.
struct Grammar {
    shared: Arc<Shared>,
    /// At the start, never advanced. Behind a lock only because it holds caches.
    start: Arc<Mutex<TokenParser>>,
    ways: Arc<Ways>,
    text_bytes: usize,
    think: Think,
    /// Of an answer at its beginning.
    json: Option<Json>,
    has_gap: bool,
}

impl fmt::Debug for Grammar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grammar")
            .field("text_bytes", &self.text_bytes)
            .finish_non_exhaustive()
    }
}

impl Compiled for Grammar {
    fn matcher(&self) -> Box<dyn Matcher> {
        let start = self.start.lock().unwrap_or_else(PoisonError::into_inner);
        // A deep one: nothing that one answer does to caches and limits touches another.
        let parser = start.deep_clone();
        drop(start);
        let inner = ::llguidance::Matcher::new(Ok(parser));
        let shared = Arc::clone(&self.shared);
        let ways = Arc::clone(&self.ways);
        let json = self.json.clone();
        let answer = Answer::new(shared, ways, inner, self.think, json, self.has_gap);
        Box::new(answer)
    }

    fn estimated_bytes(&self) -> usize {
        let start = self.start.lock().unwrap_or_else(PoisonError::into_inner);
        let lexer = start.parser.lexer_stats().num_bytes;
        let symbols = self.text_bytes.saturating_mul(24);
        // As many automata again where ways to the end are asked for.
        let lexer = lexer.saturating_mul(2);
        lexer.saturating_add(symbols).saturating_add(64 << 10)
    }
}

/// What llguidance says, in words that quote nothing of the constraint.
fn fault(error: &str, constraint: &Constraint) -> Error {
    let has = |words: &[&str]| words.iter().any(|word| error.contains(word));
    let (subject, otherwise) = match constraint {
        Constraint::JsonSchema(_) | Constraint::JsonObject => {
            ("the schema", Kind::UnsupportedSchema)
        }
        Constraint::StructuralTag(_) => ("the structural tag", Kind::UnsupportedConstraint),
        Constraint::Regex(_) => ("the regex", Kind::InvalidGrammar),
        Constraint::Choice(_) => ("the list of choices", Kind::InvalidGrammar),
        Constraint::Grammar { .. } => ("the grammar", Kind::InvalidGrammar),
    };
    let too_large = [
        "too large",
        "too big",
        "too complex",
        "too many",
        "too deeply",
        "exceeded",
        "exhausted",
        "limit",
        "Unable to determine",
    ];
    let (kind, what) = if has(&too_large) {
        let what = "is too large to decode under; simplify it";
        (Kind::SchemaTooComplex, what.to_owned())
    } else if has(&["Unsatisfiable", "unsatisfiable"]) {
        let what = "lets no value through; loosen it";
        (Kind::UnsupportedSchema, what.to_owned())
    } else if let Some((_, keys)) = error.split_once("Unimplemented keys: [") {
        let keys: String = keys.chars().take_while(|&c| c != ']').take(160).collect();
        let what = format!("uses keywords that cannot be enforced while decoding: {keys}");
        (Kind::UnsupportedSchema, what)
    } else if has(&["circular references"]) {
        let what = "has a `$ref` that leads back to itself with keywords beside it; write those \
                    where it leads";
        (Kind::UnsupportedSchema, what.to_owned())
    } else {
        let what = "cannot be enforced while decoding; write it more simply";
        (otherwise, what.to_owned())
    };
    Error::new(kind, format!("{subject} {what}"))
}
