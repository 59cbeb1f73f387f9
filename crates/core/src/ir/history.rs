//! What becomes of a conversation on its way to a server: how thoughts and instructions go back, and what of it the
//! server, or its model's chat template, refuses or leaves out in silence.

use super::odd::{is_odd, is_spare};
use super::order::is_in_order;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::cell::LazyCell;
use std::sync::Arc;

/// How a server takes back what was said, as far as its wire leaves that open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// What becomes of instructions in the middle, from clients of another wire.
    pub asides: Asides,
    /// The field of a message that thoughts go in; `None` where it has no place for them.
    pub reasoning: Option<Cow<'static, str>>,
    /// What goes along of what servers signed.
    pub sealed: Sealing,
    /// What stands in place of a call's signature that another server did not give; `None` where nothing does.
    pub unsigned: Option<Box<str>>,
    /// How it is told to go on with the model's last words rather than to answer anew; `None` where it cannot be told.
    pub prefill: Option<Arc<Prefill>>,
    /// Whether it takes Anthropic's marks of what to cache.
    pub marks: bool,
    /// Whether it finds Gemini's signature of a call behind its id, as LiteLLM does, which tells no other server of it: such ids stay as
    /// they are, however long.
    pub signed_ids: bool,
    /// What is told in another form, whichever wire the client speaks.
    pub refuses: Refusals,
}

/// How a server is told to go on with the model's own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefill {
    /// The fields that say it: none where it does so by itself.
    pub send: Map<String, Value>,
    /// Whether its replies begin with those words.
    pub repeats: bool,
    /// The member of the model's message by which clients of its own say it, where it refuses members that it does not know.
    pub mark: Option<String>,
}

/// What a server takes back of what servers signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sealing {
    /// Nothing.
    Nothing,
    /// `thinking_blocks` and `extra_content`, as gateways have them.
    Blocks,
    /// `reasoning_details` (OpenRouter).
    Details,
}

/// What becomes of instructions in the middle of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asides {
    /// They are told where they stand, among the user's words.
    User,
    /// They stay instructions: the server takes them anywhere, or its wire knows where they go.
    System,
}

/// What a server refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Refusals([u8; 6]);

impl Refusals {
    /// Whether this is among them.
    #[must_use]
    pub const fn has(self, what: Refusal) -> bool {
        let (byte, bit) = Self::place(what);
        self.0[byte] & bit != 0
    }

    /// Adds one.
    pub const fn add(&mut self, what: Refusal) {
        let (byte, bit) = Self::place(what);
        self.0[byte] |= bit;
    }

    const fn place(what: Refusal) -> (usize, u8) {
        (what as usize / 8, 1 << (what as u32 % 8))
    }

    /// All of them.
    fn iter(self) -> impl Iterator<Item = Refusal> {
        let all = Refusal::WORDS.iter().map(|(_, what)| *what);
        all.filter(move |what| self.has(*what))
    }
}

// Each has a bit.
const _: () = assert!(Refusal::WORDS.len() <= 8 * size_of::<Refusals>());

/// Something of a conversation that a server answers with an error, or leaves out in silence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The role `developer`.
    Developer,
    /// Several instructions at the beginning.
    SecondSystem,
    /// Instructions in the middle.
    Asides,
    /// Instructions anywhere.
    System,
    /// Two turns of the user's in a row, or of the model's; a conversation that the model begins.
    Repeats,
    /// A user's turn right behind a result.
    UserAfterResult,
    /// The model's turn at the end.
    Prefill,
    /// The same where anything is demanded of the answer.
    BoundPrefill,
    /// A turn of the model's that says nothing and calls nothing.
    EmptyTurns,
    /// Calls without a content, be it an empty text.
    NullContent,
    /// Text beside calls.
    TextBesideCalls,
    /// Names of those who speak.
    Names,
    /// Thoughts of earlier turns.
    Thoughts,
    /// The same in other words than its own.
    ForeignThoughts,
    /// Thoughts that a server signed, behind which the model says and calls nothing.
    EndingThoughts,
    /// Images, audio and files in results.
    ResultImages,
    /// Files that are no images, audio or video.
    Files,
    /// Calls of custom tools.
    CustomCalls,
    /// A call as `function_call`, and its result as a turn of a `function`: OpenAI's words before there were tools.
    LegacyCalls,
    /// Arguments that are no JSON object.
    TextArguments,
    /// Arguments in a text: the template wants the object itself.
    StringArguments,
    /// Calls and results at all.
    Calls,
    /// Results that do not follow their call at once, in the order of the calls.
    Unordered,
    /// Calls without a signature of its model's.
    UnsignedCalls,
    /// Calls without a result.
    Unanswered,
    /// Results that answer no call.
    Strays,
    /// Calls and results without an id.
    MissingIds,
    /// Several calls with one id, in whichever turns.
    SharedIds,
    /// Ids of more than 40 characters.
    LongIds,
    /// Ids of anything but letters, digits, `_` and `-`, or of more than 64.
    OddIds,
    /// Ids of anything but nine letters and digits.
    ForeignIds,
    /// Calls without the thoughts before them.
    MissingThoughts,
    /// Members of a message that its API does not name.
    ExtraMembers,
    /// Names of tools, where they are shown and where they were called, of anything but letters, digits, `_` and `-`, of more
    /// than 64, or that begin with a digit.
    OddNames,
    /// Several calls in one turn.
    ParallelCalls,
    /// A conversation in which no user says anything.
    Userless,
    /// Thoughts under the name `reasoning_content`.
    ReasoningContent,
    /// Files of text.
    TextFiles,
    /// Texts in several parts, or in a list of one.
    TextParts,
    /// Names of tools' parameters of anything but letters, digits, `_`, `.` and `-`, or of more than 64.
    OddKeys,
    /// A content that is no text and no list of parts, and a list without items for a call's arguments, or for the calls.
    OddContent,
    /// Members of the model's messages that are null, or lists without items.
    NullMembers,
    /// Marks of what to cache, and members of a call that its API does not name.
    InnerMembers,
}

impl Refusal {
    /// The words of rule files, with what they stand for.
    pub const WORDS: &'static [(&'static str, Self)] = &[
        ("developer", Self::Developer),
        ("second_system", Self::SecondSystem),
        ("asides", Self::Asides),
        ("system", Self::System),
        ("repeats", Self::Repeats),
        ("user_after_result", Self::UserAfterResult),
        ("prefill", Self::Prefill),
        ("bound_prefill", Self::BoundPrefill),
        ("empty_turns", Self::EmptyTurns),
        ("null_content", Self::NullContent),
        ("text_beside_calls", Self::TextBesideCalls),
        ("names", Self::Names),
        ("thoughts", Self::Thoughts),
        ("foreign_thoughts", Self::ForeignThoughts),
        ("ending_thoughts", Self::EndingThoughts),
        ("result_images", Self::ResultImages),
        ("files", Self::Files),
        ("custom_calls", Self::CustomCalls),
        ("legacy_calls", Self::LegacyCalls),
        ("text_arguments", Self::TextArguments),
        ("string_arguments", Self::StringArguments),
        ("calls", Self::Calls),
        ("unordered", Self::Unordered),
        ("unsigned_calls", Self::UnsignedCalls),
        ("unanswered", Self::Unanswered),
        ("strays", Self::Strays),
        ("missing_ids", Self::MissingIds),
        ("shared_ids", Self::SharedIds),
        ("long_ids", Self::LongIds),
        ("odd_ids", Self::OddIds),
        ("foreign_ids", Self::ForeignIds),
        ("missing_thoughts", Self::MissingThoughts),
        ("extra_members", Self::ExtraMembers),
        ("odd_names", Self::OddNames),
        ("parallel_calls", Self::ParallelCalls),
        ("userless", Self::Userless),
        ("reasoning_content", Self::ReasoningContent),
        ("text_files", Self::TextFiles),
        ("text_parts", Self::TextParts),
        ("odd_keys", Self::OddKeys),
        ("odd_content", Self::OddContent),
        ("null_members", Self::NullMembers),
        ("inner_members", Self::InnerMembers),
    ];

    /// The one that a fact is about, which was learnt from an error: `refuses_` and its word.
    #[must_use]
    pub fn of_fact(fact: &str) -> Option<Self> {
        let word = fact.strip_prefix("refuses_")?;
        let known = Self::WORDS.iter().find(|(known, _)| *known == word);
        known.map(|(_, refusal)| *refusal)
    }

    /// The bytes without one of which no conversation on Chat's wire has it; none where only reading tells.
    const fn signs(self) -> &'static [&'static [u8]] {
        match self {
            Self::Developer => &[b"\"developer\""],
            Self::CustomCalls => &[b"\"custom\""],
            Self::LegacyCalls => &[b"\"function_call\""],
            // What SDKs dump has one of them; of others their value tells.
            Self::NullMembers => &[b"\"refusal\"", b"\"function_call\""],
            Self::Files | Self::TextFiles => &[b"\"file\""],
            Self::ReasoningContent => &[b"\"reasoning_content\""],
            Self::Unordered => &[b"\"tool\""],
            Self::OddContent => &[
                b"\"content\"",
                b"\"arguments\"",
                b"\"mimeType\"",
                b"\"tool_calls\"",
            ],
            _ => &[],
        }
    }
}

impl History {
    /// The field of a message that thoughts go in.
    #[must_use]
    pub fn reasoning(&self) -> Option<&str> {
        let name = self.reasoning.as_deref()?;
        let is_other = self.refuses(Refusal::ReasoningContent);
        Some(if is_other { "reasoning" } else { name })
    }
}

impl Default for History {
    fn default() -> Self {
        Self {
            asides: Asides::User,
            reasoning: Some(Cow::Borrowed("reasoning_content")),
            sealed: Sealing::Nothing,
            unsigned: None,
            prefill: None,
            marks: false,
            signed_ids: false,
            refuses: Refusals::default(),
        }
    }
}

impl History {
    /// Whether the server refuses it.
    #[must_use]
    pub const fn refuses(&self, what: Refusal) -> bool {
        self.refuses.has(what)
    }

    /// Notes that the server refuses it.
    pub const fn refuse(&mut self, what: Refusal) {
        self.refuses.add(what);
    }

    /// Whether every conversation on Chat's wire has to be read, since no byte tells whether it has what is refused.
    #[must_use]
    pub fn reads_all(&self) -> bool {
        self.refuses.iter().any(|what| what.signs().is_empty())
    }

    /// Whether this conversation, which is on Chat's wire, has to be read.
    #[must_use]
    pub fn reads(&self, conversation: &[u8]) -> bool {
        let finds = |sign: &&[u8]| memchr::memmem::find(conversation, sign).is_some();
        let has = |what: Refusal| what.signs().iter().any(finds);
        let has_results = LazyCell::new(|| has(Refusal::Unordered));
        let may_have = |what: Refusal| match what {
            Refusal::Unordered => *has_results && !is_in_order(conversation),
            // Nobody but tools says what is no list.
            Refusal::OddContent => {
                let is_there = |at: usize| conversation.get(at..).is_some_and(is_odd);
                let is_empty = |at: usize| conversation.get(at + 1) == Some(&b']');
                (*has_results || memchr::memchr_iter(b'[', conversation).any(is_empty))
                    && memchr::memchr_iter(b'"', conversation).any(is_there)
            }
            Refusal::NullMembers => {
                has(what)
                    || memchr::memchr_iter(b'"', conversation).any(|at| is_spare(conversation, at))
            }
            // The sign of both is one.
            Refusal::TextFiles if self.refuses(Refusal::Files) => false,
            _ => what.signs().is_empty() || has(what),
        };
        self.refuses.iter().any(may_have)
    }

    /// Whether a conversation on Chat's wire has a sign of what some servers refuse: it is looked at by itself.
    #[must_use]
    pub fn has_signs(conversation: &[u8]) -> bool {
        let signs = || {
            let all = Refusal::WORDS.iter();
            all.flat_map(|(_, what)| what.signs().iter().map(|sign| (*what, *sign)))
        };
        let mut has_results = false;
        // Each begins with a quote, of which an image has none: one look for all of them.
        let has_any = memchr::memchr_iter(b'"', conversation).any(|at| {
            let rest = conversation.get(at..).unwrap_or_default();
            // What signs begin with: nearly all else is done with here.
            match (rest.get(1), rest.get(2)) {
                (Some(b':' | b' ' | b'\t' | b'\r' | b'\n'), _) => {
                    return is_spare(conversation, at);
                }
                // "arguments", "content", "mimeType"
                (Some(b'a'), Some(b'r')) | (Some(b'c'), Some(b'o')) | (Some(b'm'), Some(b'i')) => {
                    return is_odd(rest);
                }
                (Some(b't'), _) if rest.starts_with(b"\"tool_calls\"") => return is_odd(rest),
                (Some(b'c'), Some(b'u')) | (Some(b'd' | b'f' | b'r' | b't'), _) => {}
                _ => return false,
            }
            let found = signs().find(|(_, sign)| rest.starts_with(sign));
            let is_result = matches!(found, Some((Refusal::Unordered, _)));
            has_results |= is_result;
            found.is_some() && !is_result
        });
        has_any || has_results && !is_in_order(conversation)
    }
}

#[cfg(test)]
mod tests {
    use super::{History, Refusal};

    #[test]
    fn every_sign_is_found_wherever_it_stands() {
        let signs = Refusal::WORDS.iter().flat_map(|(_, what)| what.signs());
        // Of these the value tells.
        let named = |sign: &[u8]| Refusal::OddContent.signs().contains(&sign);
        let odd: [&[u8]; 5] = [
            b"\"content\":8",
            b"\"content\":[]",
            b"\"arguments\":\"[]",
            b"\"mimeType\":",
            b"\"tool_calls\":[]",
        ];
        let alone = signs.copied().filter(|sign| !named(sign));
        for sign in alone.chain(odd) {
            assert_eq!(sign.first(), Some(&b'"'));
            assert!(sign.len() < 64, "all of it stands where a text is not cut");
            for around in ["[", "[\"a\",", "[\"", ""] {
                let conversation = [around.as_bytes(), sign, b"]"].concat();
                assert!(History::has_signs(&conversation), "{around}");
                let cut = conversation.len() - 2;
                assert!(!History::has_signs(
                    conversation.get(..cut).unwrap_or_default()
                ));
            }
        }
        assert!(!History::has_signs(b"[\"developers\", \"role\"]"));
    }

    #[test]
    fn a_member_that_says_nothing_is_a_sign_whichever_it_is() {
        let mut history = History::default();
        history.refuse(Refusal::NullMembers);
        for spare in [
            "\"tool_calls\": null",
            "\"audio\":null",
            "\"annotations\":[]",
        ] {
            let said = format!("[{{\"role\":\"assistant\",\"content\":\"a\",{spare}}}]");
            assert!(History::has_signs(said.as_bytes()), "{said}");
            assert!(history.reads(said.as_bytes()), "{said}");
            assert!(!History::default().reads(said.as_bytes()), "{said}");
        }
        let called = b"[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"a\"}]}]";
        assert!(!History::has_signs(called));
        assert!(!history.reads(called));
    }
}
