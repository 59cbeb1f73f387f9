//! A rule: one server dialect at one version, checked, ready to be applied.

use super::facts::{
    NO_STREAM, NO_STREAM_WITH_SCHEMAS, NO_STREAM_WITH_TOOLS, renamed_field, unknown_field,
};
use super::{ChoiceRule, InText, KnownFormats, Markups, PromptOpens, ThoughtForms, Version};
use crate::dialect::server::{Counting, Ends, Render, Server, facing};
use crate::ir::{Begin, Effort, History, Request, Thoughts, Wire};
use crate::schema::Profile;
use indexmap::IndexMap;
use serde_json::{Map, Value};
use std::sync::Arc;

/// JSON to be merged into the upstream body, with placeholders in string places
/// (`"$schema"`, `"$regex"`, …; the closed list is in `rules/README.md`).
/// Objects merge key by key, everything else replaces, `"$remove"` removes (RFC 7396, whose `null`
/// TOML does not have). A placeholder's value replaces whatever was there.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Template(pub Map<String, Value>);

/// How one kind of constraint reaches this server.
#[derive(Debug, Clone, PartialEq)]
pub struct ConstraintRule {
    /// Client spellings that the server enforces exactly as they are.
    pub native: Vec<String>,
    /// What to merge otherwise; `None` where only the native spellings work.
    pub send: Option<Template>,
    /// Whether the model is told in the prompt too, where `send` is merged.
    pub tell: bool,
    /// Whether it holds from the first token on, although the server tells thoughts apart: what it takes for thoughts then is
    /// the answer.
    pub from_start: bool,
    /// How structural tags are written that the proxy makes itself; only of `structural_tag`.
    pub shape: TagShape,
    /// Why there is nothing to send, for a person; always there where `send` is not.
    pub reason: Option<String>,
}

/// The two shapes of a structural tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TagShape {
    /// `structures` with `triggers`: the older one, which says less, and which more servers read.
    #[default]
    Structures,
    /// `format` with `triggered_tags`.
    Format,
}

/// How the model gets to see the tools while its content is constrained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShowTools {
    /// `tools` stay, with `tool_choice: "none"`.
    ToolChoiceNone,
    /// `tools` stay, with `tool_choice: "auto"`; the constraint wins over the tool grammar.
    ToolChoiceAuto,
    /// As `chat_template_kwargs.tools`; no `tools`, no `tool_choice`.
    ChatTemplateKwargs,
    /// Written into a system message; no `tools`, no `tool_choice`.
    SystemMessage,
}

/// How tools and a constraint on the answer live together on this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComposeHow {
    /// The server takes both at once.
    Native,
    /// One schema: a union of the calls and the answer.
    Union,
    /// In the prompt.
    Instruct,
}

/// How a union of calls and an answer is written where the answer is a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextUnion {
    /// A GBNF grammar of both.
    Gbnf,
    /// A Lark grammar of both.
    Lark,
    /// A structural tag of the shape `format`: one of the calls' tags, or the text.
    Tag,
}

impl TextUnion {
    /// The kind of constraint that it is sent as.
    #[must_use]
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Gbnf => "grammar:gbnf",
            Self::Lark => "grammar:lark",
            Self::Tag => "structural_tag",
        }
    }
}

/// How JSON without needless white space is asked for on this server.
#[derive(Debug, Clone, PartialEq)]
pub enum Compact {
    /// The schema goes into a structural tag whose format bounds the white space (xgrammar).
    Tag,
    /// The schema says so itself, under `x-guidance` (llguidance).
    XGuidance,
    /// A field of the request.
    Field(Template),
}

/// What happens to a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldAction {
    /// Not sent; a loss.
    Drop,
    /// The request is refused (400).
    Refuse,
    /// Sent under another name.
    Rename(String),
}

/// A top-level field that this server must not be sent as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldRule {
    /// A dotted path: `cache_salt`, or `chat_template_kwargs.tokenize`.
    pub name: String,
    /// What happens.
    pub action: FieldAction,
    /// Why, for a person.
    pub reason: String,
}

/// The only top-level fields that a server takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowRule {
    /// Their names.
    pub fields: Vec<String>,
    /// What becomes of others, for a person.
    pub reason: String,
}

/// An error text that tells how the server was launched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchRule {
    /// A piece of the server's error message.
    pub contains: String,
    /// What to change, for a person.
    pub remedy: String,
    /// A fact to remember of this server (`no_auto_tools`), if any.
    pub fact: Option<String>,
    /// Whether the same error may have other reasons: the fact is believed only once the request was answered that was
    /// planned with it, and for a while.
    pub unsure: bool,
    /// Whether that piece names a field of the body, at its top: names that go on, and those of members further within, are others.
    pub is_field: bool,
    /// Whether it has none where a question of the probe's own is answered so: its schemas are such as any server takes.
    pub sure_of_probe: bool,
    /// What stands in the message before two numbers, the tokens that a prompt and its reply may have, and those that the prompt
    /// has: the reply may have what is left, and that is the fact.
    pub room: Option<[String; 2]>,
}

impl LaunchRule {
    /// Whether nothing follows but what a field is called, or that it is left out.
    pub(super) fn speaks_of_names(&self) -> bool {
        let fact = self.fact.as_deref();
        fact.is_some_and(|fact| unknown_field(fact).is_some() || renamed_field(fact).is_some())
    }
}

/// How a server that cuts long prompts in silence is kept from it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ContextRule {
    /// What is sent, so that it answers an error instead.
    pub send: Option<Template>,
    /// The field that says how long the context is to be.
    pub size: Option<ContextSize>,
    /// Whether it may have cut a prompt: the tokens that it counts are held against what was sent.
    pub cuts: bool,
}

/// How long a context is asked for, in tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextSize {
    /// The field that says it.
    pub path: Vec<String>,
    /// What the server has without being asked: shorter prompts ask for nothing.
    pub least: u64,
    /// No more is asked for.
    pub most: u64,
}

/// Of what a model gives no stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unstreamed {
    /// Of nothing.
    pub all: bool,
    /// Where it is shown tools.
    pub tools: bool,
    /// Where the server holds the answer to a schema.
    pub schemas: bool,
}

impl Unstreamed {
    /// What holds from now on, as this is known.
    pub(super) fn learn(&mut self, fact: &str) {
        match fact {
            NO_STREAM => self.all = true,
            NO_STREAM_WITH_TOOLS => self.tools = true,
            NO_STREAM_WITH_SCHEMAS => self.schemas = true,
            _ => {}
        }
    }
}

/// How one amount of thinking is asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum ThinkingWords {
    /// In these words.
    Send(ThinkingSend),
    /// It cannot be asked for: why, for a person.
    None(String),
}

/// The words for one amount of thinking; none at all where the server does so of itself.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ThinkingSend {
    /// Client spellings (fields of Chat's, or places in them) that the server reads as they are.
    pub native: Vec<String>,
    /// What to merge otherwise.
    pub send: Template,
    /// The efforts that the server knows; all others become the nearest of them.
    pub efforts: Vec<Effort>,
    /// The least budget that it takes, in tokens.
    pub least: u64,
    /// The largest budget that it takes; efforts stand for no larger one either.
    pub most: u64,
    /// The server refuses it where it forces a call itself.
    pub unforced: bool,
    /// What of it is sent there all the same, and beside a budget.
    pub beside: Option<Template>,
}

/// How the server is told how much the model is to think. What is `None` is not known: clients of the server's
/// own wire say it in their words, and others in OpenAI's (`reasoning_effort`).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ThinkingRule {
    /// Not at all.
    pub off: Option<ThinkingWords>,
    /// As much as it finds right.
    pub on: Option<ThinkingWords>,
    /// So hard.
    pub effort: Option<ThinkingWords>,
    /// At most so many tokens.
    pub tokens: Option<ThinkingWords>,
    /// What holds in place of those once a fact is known: the fact, the amount, and the words.
    pub by_fact: Vec<(String, String, ThinkingWords)>,
}

impl ThinkingRule {
    /// The words for an amount: `off`, `on`, `effort` or `tokens`.
    pub(super) fn set(&mut self, amount: &str, words: ThinkingWords) {
        let place = match amount {
            "off" => &mut self.off,
            "on" => &mut self.on,
            "effort" => &mut self.effort,
            _ => &mut self.tokens,
        };
        *place = Some(words);
    }

    /// What holds from now on, as this is known.
    pub(super) fn learn(&mut self, fact: &str) {
        let (known, rest) = std::mem::take(&mut self.by_fact)
            .into_iter()
            .partition(|(of, ..)| of == fact);
        self.by_fact = rest;
        let known: Vec<(String, String, ThinkingWords)> = known;
        for (_, amount, words) in known {
            self.set(&amount, words);
        }
    }

    /// What turns thinking off for one request; `None` where nothing does.
    #[must_use]
    pub fn off(&self) -> Option<&Template> {
        match &self.off {
            Some(ThinkingWords::Send(words)) if !words.send.0.is_empty() => Some(&words.send),
            _ => None,
        }
    }
}

/// How a server is reached over HTTP, where it is not as OpenAI's.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Http {
    /// The path that stands for `/v1`; `None` where that is `/v1`.
    pub v1: Option<String>,
    /// The header that takes the API key as it is, in place of `Authorization: Bearer`.
    pub key_header: Option<String>,
    /// Headers that every request needs: sent where the client has none of that name.
    pub headers: Vec<(String, String)>,
}

/// Which requests a model takes no more on the wire that its server is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moved {
    /// Those that show tools.
    Tools,
    /// All.
    All,
}

/// One server dialect at one version.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// The dialect's name, the file's: `vllm`.
    pub dialect: String,
    /// For people: `vLLM`.
    pub title: String,
    /// The version that the rule was resolved for; `None` is taken for the newest.
    pub version: Option<Version>,
    /// The wire that chat requests go over.
    pub server: &'static dyn Server,
    /// Where the server renders a conversation as a prompt, for wires that take one.
    pub render: Option<Render>,
    /// Where the server counts the tokens of a prompt; `None` where it has no route for that.
    pub count: Option<Counting>,
    /// Paths and headers.
    pub http: Http,
    /// By [`crate::ir::Constraint::kind`].
    pub constraints: IndexMap<String, ConstraintRule>,
    /// By [`crate::ir::ToolChoice::kind`].
    pub choices: IndexMap<String, ChoiceRule>,
    /// How tools are shown while content is constrained.
    pub show_tools: ShowTools,
    /// Tools with `auto`, and a constraint.
    pub compose: ComposeHow,
    /// How a union is written where the answer is a text. What loses the least is taken, of equals
    /// the first; with none, the text is a JSON string in a schema.
    pub text_unions: Vec<TextUnion>,
    /// Whether `parallel_tool_calls: false` is kept to: one call at most.
    pub one_call: bool,
    /// Whether it may be told that.
    pub says_one_call: bool,
    /// Whether `type: "custom"` tools are known to the server.
    pub custom_tools: bool,
    /// Whether the server hosts tools that clients of its own wire name.
    pub hosted_tools: bool,
    /// Whether some field is refused where it is `null`: nulls are left out, since they say nothing.
    pub refuses_nulls: bool,
    /// Fields that are not sent as they are.
    pub fields: Vec<FieldRule>,
    /// The only fields that the server takes; `None` where it takes any.
    pub allow: Option<AllowRule>,
    /// What the server makes of JSON Schema.
    pub schema: Profile,
    /// What it makes of it with another compiler behind it, by the compiler's name.
    pub backends: IndexMap<String, Profile>,
    /// How compact JSON is asked for; `None` where the server's own configuration decides.
    pub compact: Option<Compact>,
    /// Whether a reply has one choice, whatever `n` says.
    pub one_choice: bool,
    /// Whether its list of models leaves out what OpenAI's has of each.
    pub bare_models: bool,
    /// How many stop texts it takes, where that is bounded.
    pub stops: Option<usize>,
    /// Whether constraints are enforced on legacy Completions, in the same words as on Chat's route.
    pub completions: bool,
    /// What ends thoughts in the prompt of a completion, where constraints hold only behind some.
    pub completions_behind: Option<String>,
    /// Fields of a completion that it takes and does nothing with.
    pub completions_unread: Vec<String>,
    /// They do: the server was launched with a reasoning parser.
    pub holds_behind_thoughts: bool,
    /// The rules of the same server's other wires, for requests that came on one of those.
    pub beside: Vec<Arc<Self>>,
    /// Those are not used: the operator named this one.
    pub is_alone: bool,
    /// What this model is asked on `/v1/responses`, by the rule beside this one, whoever asks. The server said so itself, which
    /// counts where the operator named its dialect, too.
    pub moved: Option<Moved>,
    /// Whether its own `/v1/responses` enforces what it is asked, so that clients of Responses are sent there.
    pub responses: bool,
    /// Names of the reply's reasoning field.
    pub reasoning: Vec<String>,
    /// Names of the field of a choice that says which stop text ended it.
    pub stopped: Vec<String>,
    /// Words of its own for how a reply ended.
    pub ends: Arc<Ends>,
    /// What a stream is asked with whose first chunk is to tell the prompt's tokens.
    pub counts_first: Option<Template>,
    /// How it takes thoughts of earlier turns.
    pub history: History,
    /// How much the model is to think, in the server's words.
    pub thinking: ThinkingRule,
    /// Whether it was seen to answer among its thoughts, where no constraint holds
    /// ([`super::ANSWERS_AS_THOUGHTS`]).
    pub answers_as_thoughts: bool,
    /// Whether it was seen to write JSON in a code fence, where it was to hold the model to the JSON alone
    /// ([`super::ANSWERS_IN_FENCES`]).
    pub answers_in_fences: bool,
    /// How many tokens a reply to this one request may have, where an error told that.
    pub most_tokens: Option<u64>,
    /// Of what it gives no stream, so that it is asked for the whole.
    pub unstreamed: Unstreamed,
    /// Whether it refuses to be made to call where the request asks for thoughts
    /// ([`super::NO_FORCED_CALLS_BESIDE_THINKING`]).
    pub calls_unthinking: bool,
    /// Whether the prompt opens the model's thoughts.
    pub prompt_opens: PromptOpens,
    /// In which markup its models write their calls, as far as it or the operator told: see [`Rule::markup_of`].
    pub markup: Markups,
    /// Every format of markup that is known.
    pub formats: KnownFormats,
    /// Whether it leaves calls in the text of this model although it is one that reads them
    /// ([`super::CALLS_IN_TEXT`]).
    pub calls_in_text: bool,
    /// Where the thoughts of its models stand.
    pub in_text: InText,
    /// How models mark them there.
    pub forms: Arc<ThoughtForms>,
    /// Error texts about launch flags.
    pub launch: Vec<LaunchRule>,
    /// Pieces of error texts about prompts that are too long.
    pub too_long: Arc<[String]>,
    /// Pieces of error texts about requests that are themselves at fault, whatever the status.
    pub refused: Arc<[String]>,
    /// Pieces of error texts about what the model wrote, of which the server made nothing.
    pub garbled: Arc<[String]>,
    /// How long prompts are kept from being cut.
    pub context: ContextRule,
}

impl Rule {
    /// `vllm@0.12.0`, or `openai` where no version is known: the value of `x-isogloss-dialect`.
    #[must_use]
    pub fn label(&self) -> String {
        match self.version {
            Some(version) => format!("{}@{version}", self.dialect),
            None => self.dialect.clone(),
        }
    }

    /// The rule by which a request is planned: of the wires that the server speaks, it is asked on the client's own, unless the
    /// model takes no such request there.
    #[must_use]
    pub fn facing(&self, request: &Request) -> &Self {
        let wire = request.wire;
        let is_own = |rule: &Self| Some(rule.face(wire).wire()) == wire;
        // Another route of the server's is its own clients' choice.
        let is_here = self.face(wire) == self.server;
        let is_moved = self.moved
            >= Some(if request.tools.is_empty() {
                Moved::All
            } else {
                Moved::Tools
            });
        if is_here
            && is_moved
            && let Some(other) = self.responses_beside()
        {
            return other;
        }
        if self.is_alone || is_own(self) {
            return self;
        }
        let other = self.beside.iter().find(|other| is_own(other));
        other.map_or(self, |other| other)
    }

    /// The rule of the same server's `/v1/responses`.
    pub(super) fn responses_beside(&self) -> Option<&Self> {
        let mut others = self.beside.iter();
        let other = others.find(|other| other.server.wire() == Wire::Responses)?;
        Some(other)
    }

    /// How the server counts what it is sent over this wire.
    pub(crate) fn counting(&self, wire: Wire) -> Option<&Counting> {
        let mut files = std::iter::once(self).chain(self.beside.iter().map(|file| &**file));
        let file = files.find(|file| file.server.wire() == wire)?;
        file.count.as_ref()
    }

    /// The face that the server shows a request that came on this wire.
    #[must_use]
    pub fn face(&self, wire: Option<Wire>) -> &'static dyn Server {
        facing(self.server, wire, self.responses)
    }

    /// The rule for a server of which the operator says where the thoughts of its models stand: a name of
    /// `rules/thoughts.toml`; `auto`, in the form of the model that a request names; or `apart`, not in the text.
    /// Any other word says nothing.
    #[must_use]
    pub fn with_thoughts(mut self, word: &str) -> Self {
        if let Some(in_text) = InText::of(word, &self.forms) {
            self.in_text = in_text;
        }
        for other in &mut self.beside {
            *other = Arc::new(Self::clone(other).with_thoughts(word));
        }
        self
    }

    /// Whether thoughts certainly stand in the text: the operator says so, or the server was asked.
    #[must_use]
    pub fn states_thoughts(&self) -> bool {
        matches!(
            self.in_text,
            InText::ByModel | InText::Form(_) | InText::Probed
        )
    }

    /// Whether this text of a model begins with thoughts that are opened there.
    #[must_use]
    pub fn opens_thoughts(&self, model: &str, text: &str) -> bool {
        let form = self.form_of(model);
        form.is_some_and(|form| text.trim_start().starts_with(&form.open))
    }

    /// Whether a constraint of this kind holds from the first token on, within thoughts that the prompt opened as well.
    #[must_use]
    pub fn holds_from_start(&self, kind: &str) -> bool {
        let known = self.constraints.get(kind);
        known.is_some_and(|known| known.from_start)
    }

    /// How a model marks its thoughts, by its name, else as most do.
    #[must_use]
    pub fn form_of(&self, model: &str) -> Option<&Arc<Thoughts>> {
        let form = self.forms.of_model(model).or_else(|| self.forms.usual());
        form.map(|form| &form.thoughts)
    }

    /// How thoughts are marked that may stand in the text of this model, where the server may leave them there.
    /// `is_bound` is whether the request states what its content must be, `is_own_wire` whether its client speaks
    /// the server's wire: such a client has the server's bytes, unless the operator says otherwise.
    #[must_use]
    pub fn thoughts_of(
        &self,
        model: &str,
        is_bound: bool,
        is_own_wire: bool,
    ) -> Option<Arc<Thoughts>> {
        let known = || self.form_of(model);
        match &self.in_text {
            InText::Apart => None,
            InText::Form(thoughts) => Some(Arc::clone(thoughts)),
            InText::ByModel => known().cloned(),
            InText::Seen { is_inside } if is_bound => Some(known()?.beginning(match is_inside {
                true => Begin::Perhaps,
                false => Begin::Before,
            })),
            // A thought that is opened is one, whichever server left it there.
            InText::Probed if is_bound || !is_own_wire => Some(known()?.outside()),
            // Where nothing tells what is an answer, one that speaks of the mark would lose its beginning: a reply may be made to look so.
            InText::Seen { .. } | InText::Unknown if !is_own_wire => Some(known()?.outside()),
            InText::Seen { .. } | InText::Unknown | InText::Probed => None,
        }
    }

    /// The rule for a server that is asked on this wire alone, whatever else it speaks.
    #[must_use]
    pub fn alone(mut self) -> Self {
        self.is_alone = true;
        self
    }
}
