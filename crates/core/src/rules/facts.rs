//! What a server's own error or reply told of its launch, as a rule without what that launch left out.

use super::{
    ChoiceHow, Compact, ComposeHow, FieldAction, FieldRule, InText, Moved, PromptOpens, Rule,
    ShowTools, StrictTools, TagShape, TextUnion, ThinkingRule, ThinkingWords,
};
use crate::ir::{Effort, Refusal, Request};
use std::sync::Arc;

/// The choices that leave it to the model whether it calls.
pub(super) const FREE: [&str; 2] = ["auto", "allowed_auto"];
/// What says how tokens are chosen.
const SAMPLING: [&str; 3] = ["temperature", "top_p", "top_k"];

/// What makes a model say less again of what it said.
const PENALTIES: [&str; 2] = ["presence_penalty", "frequency_penalty"];

/// What asks a model to think, on the wires of those that may refuse it.
const THINKING: [&str; 3] = ["reasoning_effort", "reasoning", "think"];

/// Why it is not asked to.
const NO_THINKING: &str = "this model does not think";

/// What the facts that a model takes one effort not begin with; the effort's word follows.
pub(super) const NO_EFFORT: &str = "no_effort_";

/// What the facts that a server does not know a field begin with; the field's name follows.
pub(super) const NO_FIELD: &str = "no_field_";

/// The field that a fact says a server does not know.
#[must_use]
pub fn unknown_field(fact: &str) -> Option<&str> {
    fact.strip_prefix(NO_FIELD)
}

/// What the facts that a server calls a field otherwise begin with; the field's name follows, [`TO`], and the server's own.
pub(super) const RENAMES: &str = "renames_";

/// What stands between the two names.
pub(super) const TO: &str = "_to_";

/// The field that a fact says a server does not know, and the one that it knows in its place.
#[must_use]
pub fn renamed_field(fact: &str) -> Option<(&str, &str)> {
    fact.strip_prefix(RENAMES)?.split_once(TO)
}

/// The fact that a model's answer came among its thoughts, where the server lets anything pass: it was
/// launched with a reasoning parser, and the model does not think, or does not end its thoughts.
pub const ANSWERS_AS_THOUGHTS: &str = "answers_as_thoughts";

/// The fact that calls came in the text of a server that reads them off it: it has no parser for this model, or
/// one that missed them.
pub const CALLS_IN_TEXT: &str = "calls_in_text";

/// The fact that a reply to a demand began with thoughts, in the text: nothing takes them off there.
pub const THOUGHTS_IN_TEXT: &str = "thoughts_in_text";

/// The fact that it began within them: the prompt opens what the model closes.
pub const BEGINS_INSIDE_THOUGHTS: &str = "begins_inside_thoughts";

/// The fact that an answer that was to be JSON stood in a code fence, so that the server did not hold it.
pub const ANSWERS_IN_FENCES: &str = "answers_in_fences";

/// The fact that the reply to a request of the proxy's own began with thoughts in the text. What a client made a
/// model say never tells it.
pub const THINKS_IN_TEXT: &str = "thinks_in_text";

/// The fact that a server fails at calls between tags: forced calls are sent to it as JSON.
pub const NO_TAGGED_CALLS: &str = "no_tagged_calls";

/// The fact that a server fails at strict tools where a call is free: they go without `strict`.
pub const NO_STRICT_CALLS: &str = "no_strict_calls";

/// The fact that a server takes calls off its text under `tool_choice: "none"`, too, and drops them there: forced calls in tags are asked
/// for under `auto`, where it gives them.
pub const READS_CALLS: &str = "reads_calls";

/// The fact that a completion's constraint holds only once thoughts have ended: the server was launched with a reasoning parser.
pub const HOLDS_BEHIND_THOUGHTS: &str = "holds_behind_thoughts";

/// The fact that a model takes no tools on Chat's route, but on `/v1/responses`.
pub const TOOLS_ON_RESPONSES: &str = "tools_on_responses";

/// The fact that a reply may not be as long as a request allows: what is left of the context, or the model's most, is less. It is one
/// request's: of the server nothing follows. Without a limit the reply has the room that there is, which is less than the limit.
pub const LIMIT_OVER_ROOM: &str = "limit_over_room";

/// What the facts begin with that a reply may have so many tokens, which an error tells of one request; the number follows.
const LIMIT_OF: &str = "limit_of_";

/// That a reply may have so many tokens.
#[must_use]
pub fn limit_of(tokens: u64) -> String {
    format!("{LIMIT_OF}{tokens}")
}

/// How many tokens a fact says that a reply may have.
#[must_use]
pub fn told_limit(fact: &str) -> Option<u64> {
    fact.strip_prefix(LIMIT_OF)?.parse().ok()
}

/// The fact that a request's schemas are more than the server compiles: the answer's is asked for in the prompt, and no tool is strict.
/// It is one request's.
pub const SCHEMAS_OVER_BOUNDS: &str = "schemas_over_bounds";

/// The same where the server compiles the schemas of forced calls, or of all tools, as well: calls are asked for in the prompt, too.
pub const CALLS_OVER_BOUNDS: &str = "calls_over_bounds";

/// Whether a fact is one request's, and of the server nothing follows.
#[must_use]
pub fn is_of_one_request(fact: &str) -> bool {
    let those = [LIMIT_OVER_ROOM, SCHEMAS_OVER_BOUNDS, CALLS_OVER_BOUNDS];
    those.contains(&fact) || told_limit(fact).is_some()
}

/// The fact that a model gives no stream: it is asked for the whole reply.
pub const NO_STREAM: &str = "no_stream";

/// The same where it is shown tools.
pub const NO_STREAM_WITH_TOOLS: &str = "no_stream_with_tools";

/// The same where the server holds the answer to a schema.
pub const NO_STREAM_WITH_SCHEMAS: &str = "no_stream_with_schemas";

/// The fact that a model is made to call by nothing: forced calls are asked for in the prompt.
pub(super) const NO_FORCED_CALLS: &str = "no_forced_calls";

/// The same where the request asks for thoughts.
pub const NO_FORCED_CALLS_BESIDE_THINKING: &str = "no_forced_calls_beside_thinking";

/// The fact that a server finds Gemini's signatures behind the ids of calls: those stay as they are.
const SIGNED_IDS: &str = "signed_ids";

/// The fact that a prompt opens thoughts, so that a reply begins within them.
pub const OPENS_THOUGHTS: &str = "opens_thoughts";

/// The fact that it does where the model is told to think; nothing is known of other prompts.
pub const OPENS_ASKED_THOUGHTS: &str = "opens_asked_thoughts";

impl Rule {
    /// The rule for a server of which this fact is known; `None` for a fact that changes nothing.
    /// The facts are those that rule files may name: see `rules/README.md`.
    #[must_use]
    pub fn knowing(&self, fact: &str) -> Option<Self> {
        let mut rule = self.clone();
        if let Some(refusal) = Refusal::of_fact(fact) {
            rule.history.refuse(refusal);
        }
        match fact {
            "no_auto_tools" => rule.read_calls_here(),
            "no_tools" => {
                rule.read_calls_here();
                rule.retract_choices(&["none"], ChoiceHow::Instruct);
                rule.retract_choices(
                    &["required", "named", "allowed_required"],
                    ChoiceHow::Constrain,
                );
                rule.show_tools = ShowTools::SystemMessage;
                // Nor are calls of earlier turns rendered.
                rule.history.refuse(Refusal::Calls);
            }
            "no_constraints" => {
                for constraint in rule.constraints.values_mut() {
                    constraint.native.clear();
                    constraint.send = None;
                }
                rule.compose = ComposeHow::Instruct;
                rule.untag();
            }
            "no_sampling" | "no_stop" | "no_penalties" => rule.drop_told(fact),
            "no_thinking" => {
                // It does not think, which is what `off` asks for.
                let off = rule.thinking.off.take();
                rule.refuse_thinking(off);
            }
            // The same in silence.
            "no_thinking_words" => {
                rule.refuse_thinking(Some(ThinkingWords::Send(Default::default())))
            }
            "no_thinking_off" => refuse(&mut rule.thinking.off, "this model always thinks"),
            TOOLS_ON_RESPONSES => rule.move_to_responses(Moved::Tools),
            "only_on_responses" => rule.move_to_responses(Moved::All),
            LIMIT_OVER_ROOM => rule.drop_fields(
                &["max_tokens", "max_completion_tokens", "max_output_tokens"],
                "there is less room than that, and a reply without a limit has all of it",
            ),
            "no_composing" => rule.compose = ComposeHow::Union,
            "no_parallel_words" => {
                rule.one_call = false;
                rule.says_one_call = false;
            }
            SCHEMAS_OVER_BOUNDS | CALLS_OVER_BOUNDS => rule.compile_nothing(fact),
            "no_schemas" => rule.retract_constraints(&["json_schema"]),
            ANSWERS_AS_THOUGHTS => rule.answers_as_thoughts = rule.thinking.off().is_some(),
            THOUGHTS_IN_TEXT => rule.see_thoughts(false),
            BEGINS_INSIDE_THOUGHTS => rule.see_thoughts(true),
            THINKS_IN_TEXT => {
                if matches!(rule.in_text, InText::Unknown | InText::Seen { .. }) {
                    rule.in_text = InText::Probed;
                }
            }
            OPENS_THOUGHTS => rule.prompt_opens = PromptOpens::Silent,
            OPENS_ASKED_THOUGHTS => rule.prompt_opens = rule.prompt_opens.max(PromptOpens::Asked),
            CALLS_IN_TEXT => rule.calls_in_text = true,
            ANSWERS_IN_FENCES => rule.answers_in_fences = true,
            "no_first_counts" => rule.counts_first = None,
            "no_thinking_budgets" => rule.refuse_budgets(),
            "no_efforts" => refuse(&mut rule.thinking.effort, "this model knows no efforts"),
            NO_FORCED_CALLS => {
                let forced = ["required", "named", "allowed_required"];
                rule.retract_choices(&forced, ChoiceHow::Instruct);
            }
            NO_TAGGED_CALLS => rule.untag_forced(),
            READS_CALLS => rule.leave_forced(),
            HOLDS_BEHIND_THOUGHTS => rule.holds_behind_thoughts = rule.completions_behind.is_some(),
            NO_STRICT_CALLS => rule.loosen_calls(),
            "no_tags" => {
                rule.retract_constraints(&["structural_tag"]);
                rule.loosen_calls();
            }
            "no_grammars" => rule.retract_constraints(&["grammar:gbnf", "grammar:lark"]),
            "old_tags" => {
                if rule.compact == Some(Compact::Tag) {
                    rule.compact = None;
                }
                if let Some(tag) = rule.constraints.get_mut("structural_tag") {
                    tag.shape = TagShape::Structures;
                }
                rule.text_unions.retain(|form| *form != TextUnion::Tag);
                rule.loosen_calls();
            }
            other => rule.know_named(other),
        }
        rule.thinking.learn(fact);
        // What is true of the model is true on every wire.
        for other in &mut rule.beside {
            if let Some(known) = other.knowing(fact) {
                *other = Arc::new(known);
            }
        }
        (rule != *self).then_some(rule)
    }

    /// The rule for a request that asks for thoughts, where the model is not made to call beside any.
    #[must_use]
    pub fn beside_thoughts(&self, request: &Request) -> Option<Self> {
        let is_one = self.calls_unthinking && request.asks_for_thoughts();
        is_one.then(|| self.knowing(NO_FORCED_CALLS)).flatten()
    }

    /// A fact that names an effort, a field or a backend, or is about some requests alone.
    fn know_named(&mut self, fact: &str) {
        self.unstreamed.learn(fact);
        if let Some(effort) = fact.strip_prefix(NO_EFFORT).and_then(Effort::of) {
            self.refuse_effort(effort);
        } else if let Some(field) = unknown_field(fact) {
            self.drop_fields(&[field], "this server does not know it");
        } else if let Some((name, to)) = renamed_field(fact) {
            self.rename_field(name, to);
        } else if let Some(tokens) = told_limit(fact) {
            self.most_tokens = Some(tokens);
        } else if fact == NO_FORCED_CALLS_BESIDE_THINKING {
            self.calls_unthinking = true;
        } else if fact == SIGNED_IDS {
            self.history.signed_ids = true;
        } else if let Some(profile) = self.backends.get(fact) {
            self.schema = profile.clone();
        }
    }

    /// The server reads no calls off the text: they stand between tags that it enforces, be it by a
    /// grammar, else in
    /// the form that the prompt asks for. Which form the model's chat template shows nobody knows,
    /// so that it is told of the tags.
    pub(super) fn read_calls_here(&mut self) {
        if self.tags().is_none() {
            self.retract_choices(&FREE, ChoiceHow::Instruct);
            return;
        }
        self.retract_choices(&FREE, ChoiceHow::Tags);
        for kind in FREE {
            if let Some(choice) = self.choices.get_mut(kind) {
                choice.tell = true;
            }
        }
    }

    /// Takes back what counts on tags, where the server turned out to enforce none.
    pub(super) fn untag(&mut self) {
        if self.tags().is_some() {
            return;
        }
        for (kind, choice) in &mut self.choices {
            if choice.how == ChoiceHow::Tags {
                choice.how = match FREE.contains(&kind.as_str()) {
                    true => ChoiceHow::Instruct,
                    false => ChoiceHow::Constrain,
                };
                choice.tell = false;
            }
        }
    }

    /// Forced calls are JSON, whatever the server enforces.
    fn untag_forced(&mut self) {
        for (kind, choice) in &mut self.choices {
            if FREE.contains(&kind.as_str()) {
                continue;
            }
            for how in [&mut choice.how, &mut choice.otherwise] {
                if *how == ChoiceHow::Tags {
                    *how = ChoiceHow::Constrain;
                }
            }
        }
    }

    /// The server fails at the tags that it makes of strict tools itself.
    fn loosen_calls(&mut self) {
        // vLLM makes one of `parallel_tool_calls: false` as well.
        self.one_call = false;
        self.says_one_call = false;
        for choice in self.choices.values_mut() {
            if choice.strict == StrictTools::All {
                choice.strict = StrictTools::None;
            }
        }
    }

    /// The server reads forced calls in tags itself.
    fn leave_forced(&mut self) {
        for choice in self.choices.values_mut() {
            let is_tagged = [choice.how, choice.otherwise].contains(&ChoiceHow::Tags);
            choice.parsed |= is_tagged && choice.may_parse;
        }
    }

    /// Where the operator says nothing else. Who was seen to begin within them once may do so again.
    fn see_thoughts(&mut self, is_inside: bool) {
        let was_inside = match self.in_text {
            InText::Unknown => false,
            InText::Seen { is_inside } => is_inside,
            InText::Probed | InText::ByModel | InText::Form(_) | InText::Apart => return,
        };
        self.in_text = InText::Seen {
            is_inside: is_inside || was_inside,
        };
    }

    /// The server bounds no thoughts: it was not told where this model's begin and end.
    fn refuse_budgets(&mut self) {
        let reason = "it was launched without what bounds thoughts, or the model takes no budget";
        refuse(&mut self.thinking.tokens, reason);
    }

    /// The model does not think, and is told nothing of it but that it shall not.
    fn refuse_thinking(&mut self, off: Option<ThinkingWords>) {
        let none = || Some(ThinkingWords::None(NO_THINKING.to_owned()));
        self.thinking = ThinkingRule {
            off,
            on: none(),
            effort: none(),
            tokens: none(),
            by_fact: Vec::new(),
        };
        self.drop_fields(&THINKING, NO_THINKING);
    }

    /// The server takes such requests to this model on its other route.
    fn move_to_responses(&mut self, what: Moved) {
        if self.responses_beside().is_some() {
            self.moved = self.moved.max(Some(what));
        }
    }

    /// The model does not know this effort, but its neighbours.
    fn refuse_effort(&mut self, effort: Effort) {
        if let Some(ThinkingWords::Send(words)) = &mut self.thinking.effort
            && words.efforts.len() > 1
        {
            words.efforts.retain(|known| *known != effort);
        }
    }

    /// Fields that a model turned out not to take.
    fn drop_told(&mut self, fact: &str) {
        match fact {
            "no_stop" => {
                self.drop_fields(&["stop"], "this model takes no texts at which it stops");
            }
            "no_penalties" => {
                self.drop_fields(&PENALTIES, "this model takes no penalties of what it said");
            }
            _ => self.drop_fields(&SAMPLING, "this model cannot be told how to sample"),
        }
    }

    /// Fields that are not sent from now on.
    fn drop_fields(&mut self, names: &[&str], reason: &str) {
        for name in names {
            if !self.fields.iter().any(|field| field.name == *name) {
                self.fields.push(FieldRule {
                    name: (*name).to_owned(),
                    action: FieldAction::Drop,
                    reason: reason.to_owned(),
                });
            }
        }
    }

    /// A field goes under another name from now on, as does what went under its own; that other goes as it is.
    fn rename_field(&mut self, name: &str, to: &str) {
        let now = FieldAction::Rename(to.to_owned());
        let is_it = |field: &FieldRule| field.name == name && field.action == now;
        if self.fields.iter().any(is_it) {
            return;
        }
        let is_renamed = |field: &FieldRule| matches!(field.action, FieldAction::Rename(_));
        self.fields.retain(|field| {
            let is_one = [name, to].contains(&field.name.as_str());
            !(is_one && is_renamed(field))
        });
        let before = FieldAction::Rename(name.to_owned());
        for field in self
            .fields
            .iter_mut()
            .filter(|field| field.action == before)
        {
            field.action = now.clone();
        }
        // What is not sent at all has no name.
        if self.fields.iter().all(|field| field.name != name) {
            self.fields.push(FieldRule {
                name: name.to_owned(),
                action: now,
                reason: "this server does not know it".to_owned(),
            });
        }
    }

    /// No schema is sent for the answer, and no tool is strict; nor are calls left to a grammar of the server's, where the fact says so.
    fn compile_nothing(&mut self, fact: &str) {
        self.retract_constraints(&["json_schema"]);
        if let Some(constraint) = self.constraints.get_mut("json_schema") {
            let reason = "this schema is more than the server compiles";
            constraint.reason = Some(reason.to_owned());
        }
        for choice in self.choices.values_mut() {
            choice.strict = StrictTools::None;
        }
        if fact != CALLS_OVER_BOUNDS {
            return;
        }
        for (kind, choice) in &mut self.choices {
            let is_free = FREE.contains(&kind.as_str()) || kind == "none";
            if !is_free || choice.lowered {
                choice.how = ChoiceHow::Instruct;
                choice.otherwise = ChoiceHow::Instruct;
                choice.unthinking = false;
                choice.send = None;
            }
        }
        self.show_tools = ShowTools::SystemMessage;
    }

    fn retract_constraints(&mut self, kinds: &[&str]) {
        for kind in kinds {
            if let Some(constraint) = self.constraints.get_mut(*kind) {
                constraint.native.clear();
                constraint.send = None;
                constraint.reason = Some("the server was launched without it".to_owned());
            }
        }
        self.untag();
    }

    fn retract_choices(&mut self, kinds: &[&str], how: ChoiceHow) {
        for kind in kinds {
            if let Some(choice) = self.choices.get_mut(*kind) {
                choice.how = how;
                choice.unthinking = false;
                choice.send = None;
            }
        }
    }
}

/// An amount of thinking that turned out not to be taken.
fn refuse(words: &mut Option<ThinkingWords>, reason: &str) {
    if matches!(words, Some(ThinkingWords::Send(_))) {
        *words = Some(ThinkingWords::None(reason.to_owned()));
    }
}
