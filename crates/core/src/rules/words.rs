//! The closed vocabulary of rule files: every word that may stand in one. `rules/README.md` says
//! what each means, and a test holds the two together.

use super::{Asks, ChoiceHow, ComposeHow, ShowTools, TagShape, TextUnion, ToolsSent};
use crate::datafile::Word;
use crate::ir::{Asides, Effort, Refusal, Wire};
use crate::schema::profile::{
    Additional, AllOf, Bounds, Counts, IntegerBounds, Lengths, NamePatterns, OneOf, Optional,
    OtherFormats, PatternReading, Recursion, References, Siblings, Syntax, Tuples, Types, Untyped,
};

impl Word for Wire {
    const NOUN: &'static str = "wire";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("chat", Self::Chat),
        ("ollama_chat", Self::OllamaChat),
        ("messages", Self::Messages),
        ("responses", Self::Responses),
        ("gemini", Self::Gemini),
        ("cohere_chat", Self::CohereChat),
        ("tgi_generate", Self::TgiGenerate),
    ];
}

/// A constraint's kind, as [`crate::ir::Constraint::kind`] says it.
#[derive(Debug, Clone, Copy)]
pub(super) struct KindWord(pub(super) &'static str);

impl Word for KindWord {
    const NOUN: &'static str = "constraint kind";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("json_schema", Self("json_schema")),
        ("json_object", Self("json_object")),
        ("regex", Self("regex")),
        ("choice", Self("choice")),
        ("grammar:gbnf", Self("grammar:gbnf")),
        ("grammar:lark", Self("grammar:lark")),
        ("structural_tag", Self("structural_tag")),
    ];
}

/// A tool choice's kind, as [`crate::ir::ToolChoice::kind`] says it.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChoiceWord(pub(super) &'static str);

impl Word for ChoiceWord {
    const NOUN: &'static str = "tool choice";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("none", Self("none")),
        ("auto", Self("auto")),
        ("required", Self("required")),
        ("named", Self("named")),
        ("allowed_auto", Self("allowed_auto")),
        ("allowed_required", Self("allowed_required")),
    ];
}

impl Word for ChoiceHow {
    const NOUN: &'static str = "way to meet a tool choice";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("native", Self::Native),
        ("constrain", Self::Constrain),
        ("tags", Self::Tags),
        ("instruct", Self::Instruct),
    ];
}

impl Word for TagShape {
    const NOUN: &'static str = "shape of a structural tag";
    const WORDS: &'static [(&'static str, Self)] =
        &[("structures", Self::Structures), ("format", Self::Format)];
}

impl Word for ToolsSent {
    const NOUN: &'static str = "set of tools";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("all", Self::All),
        ("allowed", Self::Allowed),
        ("none", Self::None),
    ];
}

impl Word for Asks {
    const NOUN: &'static str = "choice to ask for";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("none", Self::None),
        ("auto", Self::Auto),
        ("required", Self::Required),
    ];
}

impl Word for Asides {
    const NOUN: &'static str = "place of instructions";
    const WORDS: &'static [(&'static str, Self)] =
        &[("user", Self::User), ("system", Self::System)];
}

impl Word for Refusal {
    const NOUN: &'static str = "part of a conversation";
    const WORDS: &'static [(&'static str, Self)] = Self::WORDS;
}

impl Word for ShowTools {
    const NOUN: &'static str = "way to show tools";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("tool_choice_none", Self::ToolChoiceNone),
        ("tool_choice_auto", Self::ToolChoiceAuto),
        ("chat_template_kwargs", Self::ChatTemplateKwargs),
        ("system_message", Self::SystemMessage),
    ];
}

impl Word for ComposeHow {
    const NOUN: &'static str = "way to compose";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("native", Self::Native),
        ("union", Self::Union),
        ("instruct", Self::Instruct),
    ];
}

/// An amount of thinking, as a `[[thinking]]` says it.
#[derive(Debug, Clone, Copy)]
pub(super) struct AmountWord(pub(super) &'static str);

impl Word for AmountWord {
    const NOUN: &'static str = "amount of thinking";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("off", Self("off")),
        ("on", Self("on")),
        ("effort", Self("effort")),
        ("tokens", Self("tokens")),
    ];
}

impl Word for Effort {
    const NOUN: &'static str = "effort";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("minimal", Self::Minimal),
        ("low", Self::Low),
        ("medium", Self::Medium),
        ("high", Self::High),
        ("xhigh", Self::XHigh),
        ("max", Self::Max),
    ];
}

/// How compact JSON is asked for; a field's template stands beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CompactWord {
    Tag,
    XGuidance,
    Field,
}

impl Word for CompactWord {
    const NOUN: &'static str = "way to ask for compact JSON";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("tag", Self::Tag),
        ("x_guidance", Self::XGuidance),
        ("field", Self::Field),
    ];
}

impl Word for TextUnion {
    const NOUN: &'static str = "form of a union with a text";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("grammar:gbnf", Self::Gbnf),
        ("grammar:lark", Self::Lark),
        ("structural_tag", Self::Tag),
    ];
}

/// Whether a server keeps to `parallel_tool_calls: false`.
#[derive(Debug, Clone, Copy)]
pub(super) struct OneCallWord(pub(super) bool);

impl Word for OneCallWord {
    const NOUN: &'static str = "way to keep to one call";
    const WORDS: &'static [(&'static str, Self)] =
        &[("native", Self(true)), ("ignored", Self(false))];
}

impl Word for Siblings {
    const NOUN: &'static str = "reading of keywords that stand together";
    const WORDS: &'static [(&'static str, Self)] =
        &[("enforced", Self::Enforced), ("dropped", Self::Dropped)];
}

impl Word for Additional {
    const NOUN: &'static str = "reading of properties without a name";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("open", Self::Open),
        ("closed", Self::Closed),
        ("only_false", Self::ClosedOnly),
    ];
}

impl Word for PatternReading {
    const NOUN: &'static str = "reading of `pattern`";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("search", Self::Search),
        ("whole", Self::Whole),
        ("bare", Self::Bare),
    ];
}

impl Word for Lengths {
    const NOUN: &'static str = "reading of lengths beside a pattern";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("enforced", Self::Enforced),
        ("ignored", Self::Ignored),
        ("refused", Self::Refused),
    ];
}

impl Word for OneOf {
    const NOUN: &'static str = "reading of `oneOf`";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("enforced", Self::Enforced),
        ("any_of", Self::AnyOf),
        ("refused", Self::Refused),
    ];
}

impl Word for AllOf {
    const NOUN: &'static str = "reading of `allOf`";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("enforced", Self::Enforced),
        ("any_json", Self::AnyJson),
        ("merged", Self::Merged),
        ("refused", Self::Refused),
    ];
}

impl Word for Counts {
    const NOUN: &'static str = "reading of counts of properties";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("enforced", Self::Enforced),
        ("required_only", Self::RequiredOnly),
    ];
}

impl Word for OtherFormats {
    const NOUN: &'static str = "reading of unknown formats";
    const WORDS: &'static [(&'static str, Self)] =
        &[("refused", Self::Refused), ("ignored", Self::Ignored)];
}

impl Word for Bounds {
    const NOUN: &'static str = "reading of bounds";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("enforced", Self::Enforced),
        ("integers", Self::Integers),
        ("wrong", Self::Wrong),
    ];
}

impl Word for Types {
    const NOUN: &'static str = "reading of lists of types";
    const WORDS: &'static [(&'static str, Self)] = &[("many", Self::Many), ("one", Self::One)];
}

impl Word for Optional {
    const NOUN: &'static str = "reading of properties that may be left out";
    const WORDS: &'static [(&'static str, Self)] =
        &[("allowed", Self::Allowed), ("refused", Self::Refused)];
}

impl Word for Recursion {
    const NOUN: &'static str = "reading of schemas that refer to themselves";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("enforced", Self::Enforced),
        ("bounded", Self::Bounded),
        ("refused", Self::Refused),
    ];
}

impl Word for Untyped {
    const NOUN: &'static str = "reading of keywords without a type";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("enforced", Self::Enforced),
        ("ignored", Self::Ignored),
        ("refused", Self::Refused),
    ];
}

impl Word for References {
    const NOUN: &'static str = "reading of references";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("enforced", Self::Enforced),
        ("plain", Self::Plain),
        ("below", Self::Below),
        ("definitions", Self::Definitions),
    ];
}

impl Word for Tuples {
    const NOUN: &'static str = "reading of `prefixItems`";
    const WORDS: &'static [(&'static str, Self)] =
        &[("enforced", Self::Enforced), ("whole", Self::Whole)];
}

impl Word for NamePatterns {
    const NOUN: &'static str = "reading of `patternProperties`";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("enforced", Self::Enforced),
        ("whole", Self::Whole),
        ("alone", Self::Alone),
    ];
}

impl Word for IntegerBounds {
    const NOUN: &'static str = "reading of whole numbers' bounds";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("any", Self::Any),
        ("whole", Self::Whole),
        ("paired", Self::Paired),
    ];
}

impl Word for Syntax {
    const NOUN: &'static str = "kind of regexes";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("regular", Self::Regular),
        ("unbounded", Self::Unbounded),
        ("plain", Self::Plain),
    ];
}

/// What happens to a field; the new name of a renamed one stands beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ActionWord {
    Drop,
    Refuse,
    Rename,
}

impl Word for ActionWord {
    const NOUN: &'static str = "action";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("drop", Self::Drop),
        ("refuse", Self::Refuse),
        ("rename", Self::Rename),
    ];
}

const JSON: &[&str] = &["json_schema"];
const OBJECT: &[&str] = &["json_object"];
const REGEX: &[&str] = &["regex"];
const CHOICE: &[&str] = &["choice"];
const GBNF: &[&str] = &["grammar:gbnf"];
const GRAMMAR: &[&str] = &["grammar:gbnf", "grammar:lark"];
/// Of a `grammar` with a `type`.
const TYPED: &[&str] = &["json_schema", "regex", "grammar:lark"];
const LARK: &[&str] = &["grammar:lark"];
const TAG: &[&str] = &["structural_tag"];
/// One field for both, as Ollama and Responses have it.
const FORMAT: &[&str] = &["json_schema", "json_object"];

/// The spellings that clients use for a constraint (dotted paths into the body), and the kinds that
/// each can state.
pub(super) const SPELLINGS: &[(&str, &[&str])] = &[
    ("response_format.json_schema", JSON),
    ("response_format.json_object", OBJECT),
    ("response_format.json_object_schema", JSON),
    ("response_format.json", JSON),
    ("response_format.regex", REGEX),
    ("response_format.ebnf", GBNF),
    ("response_format.lark", LARK),
    ("response_format.grammar", GRAMMAR),
    ("response_format.structural_tag", TAG),
    ("structured_outputs.json", JSON),
    ("structured_outputs.json_object", OBJECT),
    ("structured_outputs.regex", REGEX),
    ("structured_outputs.choice", CHOICE),
    ("structured_outputs.grammar", GRAMMAR),
    ("structured_outputs.structural_tag", TAG),
    ("guided_json", JSON),
    ("guided_regex", REGEX),
    ("guided_choice", CHOICE),
    ("guided_grammar", GRAMMAR),
    ("json_schema", JSON),
    ("regex", REGEX),
    ("ebnf", GBNF),
    ("grammar", GRAMMAR),
    ("grammar.value", TYPED),
    ("structural_tag", TAG),
    ("output_config.format", JSON),
    ("text.format", FORMAT),
    ("generationConfig.responseJsonSchema", JSON),
    (
        "generationConfig.responseSchema",
        &["json_schema", "choice"],
    ),
    ("generationConfig.responseMimeType", JSON),
    ("nvext.guided_json", JSON),
    ("nvext.guided_regex", REGEX),
    ("nvext.guided_choice", CHOICE),
    ("nvext.guided_grammar", GRAMMAR),
    ("format", FORMAT),
];

/// The placeholders that a constraint of this kind fills: the first group carries the constraint
/// (one of it must be there), the second may be there too.
pub(super) fn placeholders(kind: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match kind {
        "json_schema" => (
            &["$schema", "$schema_text"],
            &["$name", "$description", "$strict"],
        ),
        "regex" => (&["$regex"], &[]),
        "choice" => (&["$choice"], &[]),
        "grammar:gbnf" | "grammar:lark" => (&["$grammar"], &[]),
        "structural_tag" => (&["$tag", "$tag_text"], &[]),
        _ => (&[], &[]),
    }
}

/// Takes the key out of the body instead of setting it; TOML has no `null`.
pub(super) const REMOVE: &str = "$remove";
