//! Rewriting: the request in the server's own words. In: the request, its contract, the rule.
//! Out: the upstream body, the plan for the reply, and the losses.
//!
//! The strategy is the best that the rule allows: the server's own enforcement, then a constraint
//! on content, then one composed of calls and an answer, then a converted one, then the prompt.

mod body;
mod compact;
mod completion;
mod context;
mod description;
mod fields;
mod forced;
mod hosted;
mod memo;
mod names;
mod one_object;
mod place;
mod plain_patterns;
mod plain_tools;
mod prompt;
mod room;
mod root;
mod stop;
mod strict;
mod tags;
mod text;
mod thinking;
mod unions;

use crate::error::Error;
use crate::ir::{
    Calls, Constraint, Contract, Draft, EnforcedBy, Loss, Plan, Request, Rewrap, Seal, Strategy,
    Thoughts, Tool, ToolChoice, ToolInput,
};
use crate::rules::{
    ChoiceHow, ChoiceRule, ComposeHow, Markup, Rule, ShowTools, TemplateValues, ToolsSent,
    drop_unknown,
};
use crate::schema::merge::{self, Alternatives, Callable, CallableInput};
use body::Body;
pub use hosted::leave_out as leave_out_hosted;
pub use memo::{Around, ForServer, Memo, NoMemo, unite};
pub use prompt::answer as answer_in_words;
use serde_json::Value;
use std::sync::Arc;
use text::{answer_schema, is_text, text_pattern, text_schema};

/// A request in the words of one server.
#[derive(Debug, Clone)]
pub struct Rewritten {
    /// How the demand is met.
    pub strategy: Strategy,
    /// What is sent.
    pub sent: Sent,
    /// What the reply means.
    pub plan: Plan,
    /// What the server was not told.
    pub losses: Vec<Loss>,
    /// In which markup the model writes calls, where it may make some and that is known.
    pub markup: Option<Markup>,
    /// That is read off the content: no constraint puts its tags there, which are read more strictly.
    pub reads_markup: bool,
    /// The server was made to write each call of a free text in it.
    pub own_tags: bool,
    /// It is asked for a whole reply where the client asks for a stream.
    pub asks_whole: bool,
}

impl Rewritten {
    /// The client's body, where it was edited.
    #[must_use]
    pub fn edited(&self) -> Option<&[u8]> {
        match &self.sent {
            Sent::Body(body) => Some(body),
            Sent::Untouched | Sent::Draft(..) => None,
        }
    }
}

/// What a server is sent.
#[derive(Debug, Clone)]
pub enum Sent {
    /// The client's own bytes.
    Untouched,
    /// The client's body, edited: the server is of its dialect.
    Body(Vec<u8>),
    /// What a server of another dialect is asked, its conversation still to be read, and what is to be
    /// added to that.
    Draft(Box<Draft>, Box<[String]>),
}

/// What a rewrite goes by beside the request and the rule.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// What was written before.
    pub memo: &'a dyn Memo,
    /// JSON without needless white space is wanted, whatever the client says of it.
    pub is_compact: bool,
    /// What thoughts are signed with that no server signs.
    pub seal: Seal,
}

/// Rewrites a request for one server.
///
/// # Errors
/// A field that the rule refuses, or a demand that this server cannot meet in any way.
pub fn rewrite(
    request: &Request,
    contract: &Contract,
    rule: &Rule,
    options: &Options<'_>,
) -> Result<Rewritten, Error> {
    if completion::is_free(request, contract) {
        return Ok(completion::untouched(request, rule));
    }
    completion::check(request, rule)?;
    let unthinking = rule.beside_thoughts(request);
    let rule = unthinking.as_ref().unwrap_or(rule);
    let server = rule.face(request.wire);
    let mut body = Body::new(request, server).without_idle();
    hosted::check(request, &body)?;
    let counts_first = rule.counts_first.as_ref();
    let counts_first = counts_first.filter(|_| request.stream && request.counts_first);
    if let Some(counts) = counts_first {
        body.apply(counts, &TemplateValues::default())?;
    }
    let losses = fields::told(request, rule, &mut body)?;
    let mut writer = Writer {
        request,
        contract,
        rule,
        memo: options.memo,
        is_compact: options.is_compact || compact::is_asked(request),
        body,
        losses,
        markup: markup(request, contract, rule),
        own_tags: false,
        thoughts: None,
        is_all_content: false,
        has_room: false,
        tells_opening: None,
        holds_strictly: false,
        wraps_inputs: false,
        wraps_answer: false,
    };
    writer.thoughts = writer.thoughts();
    let (strategy, rewrap) = writer.choose()?;
    writer.tell_thinking(strategy)?;
    writer.stop_thinking(strategy)?;
    writer.keep_whole()?;
    writer.keep_from_stopping(strategy);
    writer.end_thoughts();
    let lost = writer.lose_hosted();
    writer.plain_tools();
    let renamed_keys = writer.rename_keys();
    let renamed = writer.rename_tools();
    let tools = contract
        .tools
        .iter()
        .filter(|tool| !lost.contains(&tool.name.as_str()))
        .map(|tool| (tool.name.clone(), tool.called_as()))
        .collect();
    let one_call = writer.drops_calls(strategy, &rewrap);
    let asks_whole = writer.ask_whole(strategy);
    writer.body.splice(&rule.history)?;
    let is_tagged = rewrap.is_tagged();
    let is_parsed = strategy == Strategy::Tags && writer.is_parsed();
    let plan = Plan {
        rewrap,
        thoughts: writer.thoughts.take(),
        marks: writer.marks(),
        is_all_content: writer.is_all_content,
        has_room: writer.has_room,
        tells_opening: writer.tells_opening,
        is_parsed,
        tools,
        wraps_inputs: writer.wraps_inputs,
        renamed,
        renamed_keys,
        one_call,
        legacy_functions: request.legacy_functions,
        counts_first: counts_first.is_some(),
    };
    let allow = rule.allow.as_ref();
    // The list is of Chat's fields.
    let allow = allow.filter(|_| !writer.body.is_bare());
    let is_unknown = |name: &String| allow.is_some_and(|allow| !allow.fields.contains(name));
    if writer.body.fields.0.keys().any(is_unknown) {
        writer.body.changed = true;
        for loss in drop_unknown(rule, writer.body.fields.to_mut()) {
            // Of what is told already (several calls at once), the more telling reason stays.
            let is_same = |known: &Loss| known.pointer == loss.pointer;
            if !writer.losses.iter().any(is_same) {
                writer.losses.push(loss);
            }
        }
    }
    Ok(Rewritten {
        strategy,
        sent: writer.body.into_sent(),
        plan,
        losses: writer.losses,
        own_tags: writer.own_tags,
        asks_whole,
        reads_markup: !(is_tagged && writer.markup.as_ref().is_some_and(tags::is_of)),
        markup: writer.markup,
    })
}

/// In which markup the model may write calls; `None` where it is to make none, or nobody knows.
fn markup(request: &Request, contract: &Contract, rule: &Rule) -> Option<Markup> {
    let is_callable = |tool: &Tool| !matches!(tool.input, ToolInput::Hosted(_));
    let may_call = matches!(contract.calls, Calls::Required | Calls::Optional);
    let may_call = may_call && contract.tools.iter().any(is_callable);
    may_call.then(|| rule.markup_of(&request.model)).flatten()
}

struct Writer<'a> {
    request: &'a Request,
    contract: &'a Contract,
    rule: &'a Rule,
    memo: &'a dyn Memo,
    is_compact: bool,
    body: Body<'a>,
    losses: Vec<Loss>,
    /// In which markup the model writes calls.
    markup: Option<Markup>,
    /// Calls in a free text stand in that, by a constraint.
    own_tags: bool,
    /// How the thoughts are marked that may stand in the text.
    thoughts: Option<Arc<Thoughts>>,
    /// What the server takes for thoughts may be the answer, since the constraint that was placed holds from the first token on.
    is_all_content: bool,
    /// It has room for thoughts before the answer.
    has_room: bool,
    /// The fact that follows where it is.
    tells_opening: Option<&'static str>,
    /// The answer's schema is for strict mode, though the client has no word for that.
    holds_strictly: bool,
    /// Custom tools are shown as functions.
    wraps_inputs: bool,
    /// The schema that is sent is that of an object around the answer.
    wraps_answer: bool,
}

impl Writer<'_> {
    fn choose(&mut self) -> Result<(Strategy, Rewrap), Error> {
        if let Some(pointer) = self.body.respell(&self.rule.history) {
            let title = &self.rule.title;
            self.losses.push(Loss {
                pointer,
                reason: format!("{title} takes back no thought of another server"),
                enforced_by: EnforcedBy::Nobody,
            });
        }
        self.unmark_tools();
        match (self.contract.calls, &self.contract.content) {
            (Calls::Unstated, None) => Ok((Strategy::Passthrough, Rewrap::Keep)),
            (Calls::Unstated | Calls::Forbidden, Some(stated)) => self.answer(stated),
            (Calls::Forbidden, None) => self.no_call(),
            (Calls::Required, _) => self.forced_call(),
            (Calls::Optional, None) => self.free_call(),
            (Calls::Optional, Some(stated)) => self.call_or_answer(stated),
        }
    }

    /// A constraint on content alone.
    fn answer(&mut self, stated: &Constraint) -> Result<(Strategy, Rewrap), Error> {
        if self.contract.calls == Calls::Forbidden {
            match self.choice_how() {
                // A server that does not know `none` must not see the tools.
                ChoiceHow::Instruct => self.body.hide_tools(),
                _ => self.lower_idle(),
            }
        }
        match self.place_stated(stated)? {
            Some(placed) => Ok(placed),
            None => self.instruct_answer(stated),
        }
    }

    fn instruct_answer(&mut self, stated: &Constraint) -> Result<(Strategy, Rewrap), Error> {
        if self.body.is_bare() {
            return Err(completion::untold(self.request, self.rule, stated));
        }
        self.remove_stated();
        let told = prompt::answer(stated) + &self.description_in_prompt();
        self.body.instruct(told);
        let rewrap = if stated.is_json() {
            Rewrap::Json
        } else {
            Rewrap::Text
        };
        Ok((Strategy::Instruct, rewrap))
    }

    /// `tool_choice: "none"`, and no constraint.
    fn no_call(&mut self) -> Result<(Strategy, Rewrap), Error> {
        match self.choice_how() {
            ChoiceHow::Native => {
                self.send_choice()?;
                self.lower_idle();
                Ok((Strategy::Native, Rewrap::Keep))
            }
            ChoiceHow::Constrain | ChoiceHow::Tags | ChoiceHow::Instruct => {
                self.body.hide_tools();
                Ok((Strategy::Instruct, Rewrap::Keep))
            }
        }
    }

    /// Tools that are not to be called, of a server that reads, and perhaps compiles, them all the same.
    fn lower_idle(&mut self) {
        if !self.knows_tools() {
            self.body.tell_as_functions();
        }
        if self.choice_rule().is_some_and(|choice| choice.lowered) {
            self.lower_shown();
        }
    }

    /// Tools with `auto`.
    fn free_call(&mut self) -> Result<(Strategy, Rewrap), Error> {
        if self.choice_how() == ChoiceHow::Native && (self.knows_tools() || self.wrap_inputs()) {
            self.send_choice()?;
            if self.choice_rule().is_some_and(|choice| choice.lowered) {
                self.lower_tools();
            }
            return Ok((Strategy::Native, Rewrap::Keep));
        }
        if self.has_only_hosted() {
            self.body.hide_tools();
            return Ok((Strategy::Instruct, Rewrap::Keep));
        }
        if self.choice_how() == ChoiceHow::Tags && self.tag_calls()? {
            return Ok((Strategy::Compose, Rewrap::TaggedCalls));
        }
        self.instruct_tools(prompt::free(self.contract, self.markup.as_ref()));
        Ok((Strategy::Instruct, Rewrap::CallOrText))
    }

    /// Tools with `auto`, and a constraint on the answer.
    fn call_or_answer(&mut self, stated: &Constraint) -> Result<(Strategy, Rewrap), Error> {
        let rewrap = Rewrap::CallOrAnswer {
            text: !stated.is_json(),
        };
        let compose = self.rule.compose;
        match compose {
            ComposeHow::Native if self.knows_tools() => {
                if let Some((_, rewrap)) = self.place_stated(stated)? {
                    self.send_choice()?;
                    return Ok((Strategy::Native, rewrap));
                }
            }
            _ if self.has_only_hosted() => {
                self.body.hide_tools();
                return self.answer(stated);
            }
            ComposeHow::Union if is_text(stated) && self.tag_or_answer(stated)? => {
                return Ok((Strategy::Compose, Rewrap::TaggedCallsOrAnswer));
            }
            ComposeHow::Union => {
                let schema = self.call_schema(Alternatives::CallOrAnswer {
                    answer: &answer_schema(stated),
                });
                self.remove_stated();
                if self.place(&Constraint::JsonSchema(schema), None)?.is_some() {
                    if is_text(stated) && text_schema(stated).get("pattern").is_none() {
                        self.lose_stated(
                            "inside a union of calls and an answer only the proxy can check it",
                        );
                    }
                    self.lose_custom();
                    self.lose_parallel(
                        "beside a constraint on the answer one tool is called at a time",
                    );
                    self.show_tools(prompt::call_or_answer(self.contract, stated));
                    return Ok((Strategy::Compose, rewrap));
                }
            }
            ComposeHow::Native | ComposeHow::Instruct => {}
        }
        if self.has_only_hosted() {
            self.body.hide_tools();
            return self.instruct_answer(stated);
        }
        self.remove_stated();
        self.instruct_tools(prompt::call_or_answer(self.contract, stated));
        Ok((Strategy::Instruct, rewrap))
    }

    fn makes_many(&self) -> bool {
        self.request.parallel_tool_calls == Some(true) && self.contract.max_calls != Some(1)
    }

    /// Notes that of several calls that the client would take one is made at a time, and why.
    fn lose_parallel(&mut self, reason: &str) {
        if self.makes_many() {
            self.losses.push(Loss {
                pointer: "/parallel_tool_calls".to_owned(),
                reason: reason.to_owned(),
                enforced_by: EnforcedBy::Nobody,
            });
        }
    }

    fn call_schema(&self, shape: Alternatives<'_>) -> Value {
        let anchored: Vec<Option<String>> = self
            .contract
            .tools
            .iter()
            .map(|tool| text_pattern(&tool.input))
            .collect();
        let tools: Vec<Callable<'_>> = self
            .contract
            .tools
            .iter()
            .zip(&anchored)
            .filter_map(|(tool, pattern)| {
                let input = match &tool.input {
                    ToolInput::Schema { schema, .. } => CallableInput::Schema(schema),
                    ToolInput::Text(_) => CallableInput::Text {
                        pattern: pattern.as_deref(),
                    },
                    ToolInput::Hosted(_) => return None,
                };
                Some(Callable {
                    name: &tool.name,
                    input,
                })
            })
            .collect();
        merge::envelope(&tools, shape)
    }

    /// The client takes one call, and the server does not keep to it.
    fn makes_several_calls(&self) -> bool {
        self.contract.max_calls == Some(1) && !self.rule.one_call
    }

    /// Whether later calls have to be dropped, since the server makes its calls itself, or nothing
    /// stops the model after its first one.
    fn drops_calls(&mut self, strategy: Strategy, rewrap: &Rewrap) -> bool {
        if !self.rule.says_one_call && self.request.parallel_tool_calls.is_some() {
            self.body.say_nothing_of_parallel();
        }
        let several = match rewrap {
            // Forced calls are all that the constraint lets be, and as many.
            Rewrap::TaggedCalls if strategy == Strategy::Tags => false,
            Rewrap::TaggedCalls => self.contract.max_calls == Some(1) && !self.stops_after_first(),
            _ if strategy != Strategy::Native => false,
            _ => self.makes_several_calls() || self.request.legacy_functions || self.asks_for_one(),
        };
        if self.contract.tools.is_empty() || !several {
            return false;
        }
        let is_told = self.makes_several_calls() || rewrap.is_tagged();
        if is_told && !self.request.legacy_functions {
            self.losses.push(Loss {
                pointer: "/parallel_tool_calls".to_owned(),
                reason: format!(
                    "{} may make several calls at once all the same: only the first is passed on",
                    self.rule.title
                ),
                enforced_by: EnforcedBy::Proxy,
            });
        }
        true
    }

    /// Whether one call is all that is asked for: the client wants no more, and the server would
    /// make several.
    fn asks_for_one(&self) -> bool {
        let is_forced = self.contract.calls == Calls::Required;
        is_forced && !self.makes_many() && self.choice_rule().is_some_and(|choice| choice.one)
    }

    fn choice_rule(&self) -> Option<&ChoiceRule> {
        self.rule.choices.get(self.request.tool_choice.kind())
    }

    /// Whether the server reads forced calls in tags itself.
    fn is_parsed(&self) -> bool {
        self.choice_rule().is_some_and(|choice| choice.parsed)
    }

    fn choice_how(&self) -> ChoiceHow {
        match self.choice_rule() {
            None => ChoiceHow::Instruct,
            Some(choice) if choice.unthinking && self.thinks_not() => ChoiceHow::Native,
            Some(choice) => choice.how,
        }
    }

    /// Whether the server takes these tools as they are.
    fn knows_tools(&self) -> bool {
        let takes_any = hosted::takes_any(self.rule);
        let is_known = |tool: &Tool| match tool.input {
            ToolInput::Schema { .. } => true,
            ToolInput::Hosted(_) => takes_any && self.body.keeps_wire(),
            ToolInput::Text(_) => self.rule.custom_tools,
        };
        self.request.tools.iter().all(is_known)
    }

    /// Shows the server custom tools as functions, which it knows; `false` where other tools stand among them that it does not.
    fn wrap_inputs(&mut self) -> bool {
        let is_callable = |tool: &Tool| !matches!(tool.input, ToolInput::Hosted(_));
        self.wraps_inputs = self.request.tools.iter().all(is_callable);
        if self.wraps_inputs {
            self.body.tell_as_functions();
        }
        self.wraps_inputs
    }

    fn send_choice(&mut self) -> Result<(), Error> {
        let Some(choice) = self.rule.choices.get(self.request.tool_choice.kind()) else {
            return Ok(());
        };
        self.loosen_tools();
        match choice.tools {
            ToolsSent::All => {}
            ToolsSent::Allowed => self.body.keep_tools(self.contract),
            ToolsSent::None => self.body.hide_tools(),
        }
        self.fit_strict_tools(choice.strict);
        if let Some(asks) = choice.asks {
            self.body.ask_for(asks.choice());
        }
        if let Some(template) = &choice.send {
            let tool = self.contract.tools.first().map(|tool| tool.name.as_str());
            let told = tool.and_then(|tool| self.told_name(tool));
            let tool = told.as_deref().or(tool);
            self.body.apply(
                template,
                &TemplateValues {
                    tool,
                    ..TemplateValues::default()
                },
            )?;
        }
        Ok(())
    }

    /// Shows the tools while the content is constrained; `text` is for servers that can only be told.
    fn show_tools(&mut self, text: String) {
        let is_tagged = self.is_tagged();
        let sent = self.choice_rule().map(|choice| choice.tools);
        // A tag cannot be opened for another tool: showing it would lead the model astray.
        if is_tagged && sent == Some(ToolsSent::Allowed) {
            self.body.keep_tools(self.contract);
        }
        if self.rule.choices.values().any(|choice| choice.lowered) {
            // llama.cpp makes a parser of all that it is shown (10434), though the constraint is what holds.
            self.lower_shown();
        }
        match self.rule.show_tools {
            ShowTools::ToolChoiceNone => self.body.show_tools(self.rule, ToolChoice::None),
            ShowTools::ToolChoiceAuto => self.body.show_tools(self.rule, ToolChoice::Auto),
            ShowTools::ChatTemplateKwargs => self.body.show_tools_in_template(),
            ShowTools::SystemMessage => self.instruct_tools(text),
        }
    }

    fn instruct_tools(&mut self, text: String) {
        self.body.hide_tools();
        self.body.instruct(text);
    }

    fn lose_stated(&mut self, reason: &str) {
        if let Some(stated) = &self.request.constraint {
            self.losses.push(Loss {
                pointer: stated.spelling.pointer(),
                reason: reason.to_owned(),
                enforced_by: EnforcedBy::Proxy,
            });
        }
    }
}

#[cfg(test)]
mod tests;
