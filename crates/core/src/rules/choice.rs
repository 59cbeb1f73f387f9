//! How a server meets one kind of tool choice.

use super::{Template, TextUnion};
use crate::ir::ToolChoice;

/// What this server does with one kind of tool choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChoiceHow {
    /// It meets the choice itself.
    Native,
    /// Not reliably: constrain the content instead and rewrap it.
    Constrain,
    /// It enforces structural tags or grammars: calls stand between tags, which are read here. Where the model may call, in
    /// free text between those of Hermes; where it must, alone, in the model's own markup (where that has JSON for arguments,
    /// and the server holds as much of them so; else as [`Self::Constrain`]).
    Tags,
    /// It has no way at all: instruct and verify.
    Instruct,
}

/// Which tools the server is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolsSent {
    /// All of them.
    All,
    /// Only those that the choice allows.
    Allowed,
    /// None, and nothing is said of calls.
    None,
}

/// The calls that the server is asked for, whatever the client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// No call.
    None,
    /// Calls or text.
    Auto,
    /// At least one call.
    Required,
}

impl Asks {
    /// The same as a choice.
    #[must_use]
    pub const fn choice(self) -> ToolChoice {
        match self {
            Self::None => ToolChoice::None,
            Self::Auto => ToolChoice::Auto,
            Self::Required => ToolChoice::Required,
        }
    }
}

/// Which functions a server is sent with `strict`, of which alone it holds the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StrictTools {
    /// Those of which the client says it.
    Stated,
    /// All: whatever the client says, its calls are to keep to their schemas.
    All,
    /// None: the server fails at them.
    None,
}

/// One kind of tool choice on this server.
#[derive(Debug, Clone, PartialEq)]
pub struct ChoiceRule {
    /// Who meets it.
    pub how: ChoiceHow,
    /// Which calls it is asked for; `None` for those that the client asks for.
    pub asks: Option<Asks>,
    /// What to merge into the body beside.
    pub send: Option<Template>,
    /// Which tools go along.
    pub tools: ToolsSent,
    /// Whether the server compiles the tools' schemas under this choice as well, so that they are
    /// lowered; where it forces a call itself they always are.
    pub lowered: bool,
    /// Whether it is asked for one call unless the client wants several: it makes several else.
    pub one: bool,
    /// Which tools go as strict; only of [`ChoiceHow::Native`] where a call is free.
    pub strict: StrictTools,
    /// Whether a single tool's call is constrained to its bare arguments, although the model is shown the tools by its chat
    /// template; only of [`ChoiceHow::Constrain`].
    pub bare: bool,
    /// Whether the server's text is all that the model wrote behind the prompt, so that tags are the model's own under `auto` as
    /// well, and markup may be forced that begins within the prompt's end; only of [`ChoiceHow::Tags`].
    pub raw: bool,
    /// Whether nobody but the proxy reads forced calls off the server's text, so that they may have typed parameters; only of
    /// [`ChoiceHow::Tags`].
    pub typed: bool,
    /// Whether a parser of the server's may take forced calls in tags off the text whatever it is asked, and the constraint holds
    /// under `auto`, too; only of [`ChoiceHow::Tags`].
    pub may_parse: bool,
    /// Whether the server holds nothing of typed parameters that may be a string, where it forces a call itself; only of
    /// [`ChoiceHow::Native`].
    pub free_texts: bool,
    /// Whether the arguments of a call that the server forces itself are objects, whatever their schema says; only of
    /// [`ChoiceHow::Native`].
    pub objects: bool,
    /// Whether a stop text ends a call that the server forces itself, within its JSON; only of [`ChoiceHow::Native`].
    pub stopped: bool,
    /// Whether the server reads forced calls in tags off its text whatever it is asked, so that it is asked for them under `auto`:
    /// see [`READS_CALLS`](super::READS_CALLS).
    pub parsed: bool,
    /// How the choice is met where the server meets it itself ([`ChoiceHow::Native`]), but cannot be asked for the very calls
    /// that are wanted: [`ChoiceHow::Constrain`] or [`ChoiceHow::Tags`].
    pub otherwise: ChoiceHow,
    /// In which forms the tags of a forced call may be sent, the best first, where those of a union with a text
    /// ([`Rule::text_unions`](super::Rule::text_unions)) are not meant; only of [`ChoiceHow::Tags`].
    pub forms: Vec<TextUnion>,
    /// Whether the model is told in the prompt too how calls are tagged; only of [`ChoiceHow::Tags`].
    pub tell: bool,
    /// Whether the server meets the choice itself where thinking is turned off; only where it does not otherwise.
    pub unthinking: bool,
    /// Why the choice is not native, for a person; always there where it is not.
    pub reason: Option<String>,
}
