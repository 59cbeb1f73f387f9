//! A call that must be made. In: the tools, and what the rule says of the choice. Out: the server's own enforcement, or
//! a constraint on content that stands for the call.
//!
//! Best is the markup in which the model itself writes calls, as a structural tag or a grammar: its chat template showed
//! it the tools and taught it the markup. Where the server takes schemas alone, it is an envelope or the bare arguments.

use super::tags::{ARGUMENTS, CallTag, END, begin, content, is_of};
use super::{Writer, prompt, text_pattern};
use crate::error::Error;
use crate::ir::{Constraint, Loss, Rewrap, Strategy, Tool, ToolChoice, ToolInput};
use crate::markup::{CallText, Frame};
use crate::rewrite::Around;
use crate::rules::{ChoiceHow, Markup, ShowTools, TagShape, TemplateValues, TextUnion};
use crate::schema::arguments::may_be_object;
use crate::schema::close::closed;
use crate::schema::merge::Alternatives;
use crate::schema::profile::Additional;
use serde_json::{Value, json};

/// Calls as a constraint, and what the server does not hold of it.
struct Tagged {
    constraint: Constraint,
    losses: Vec<Loss>,
}

impl Writer<'_> {
    /// `tool_choice` asks for a call.
    pub(super) fn forced_call(&mut self) -> Result<(Strategy, Rewrap), Error> {
        if self.contract.content.is_some() {
            self.remove_stated();
            self.lose_stated("a forced call takes the place of the content that it constrains");
        }
        if self.choice_how() == ChoiceHow::Native
            && self.knows_tools()
            && !self.makes_several_calls()
            && self.holds_texts()
            && self.holds_arguments()
        {
            self.send_choice()?;
            self.lower_tools();
            if self.asks_for_one() {
                self.body.ask_for_one_call();
            }
            return Ok((Strategy::Native, Rewrap::Keep));
        }
        self.refuse_hosted()?;
        if self.is_tagged() && self.tag_forced_calls()? {
            return Ok((Strategy::Tags, Rewrap::TaggedCalls));
        }
        let (constraint, rewrap) = self.call_constraint();
        let placed = match (&constraint, self.choice_how()) {
            (_, ChoiceHow::Instruct) => None,
            (Some(constraint), _) => self.place(constraint, None)?,
            // A custom tool without a grammar takes any text: nothing to enforce, nothing to break.
            (None, _) => Some(Strategy::Constrain),
        };
        match placed {
            Some(_) => {
                if !matches!(rewrap, Rewrap::Arguments { .. }) {
                    self.lose_custom();
                }
                self.show_tools(prompt::forced(self.contract, &rewrap, None));
                Ok((Strategy::Constrain, rewrap))
            }
            None => {
                let rewrap = self.envelope();
                self.instruct_tools(prompt::forced(self.contract, &rewrap, None));
                Ok((Strategy::Instruct, rewrap))
            }
        }
    }

    /// Whether the server holds what the tools' schemas say of strings, where it forces the call itself and the model writes
    /// parameters one by one.
    fn holds_texts(&self) -> bool {
        let leaves_them = self.choice_rule().is_some_and(|choice| choice.free_texts);
        let Some(markup) = self.markup.as_ref().filter(|_| leaves_them) else {
            return true;
        };
        self.contract.tools.iter().all(|tool| match &tool.input {
            ToolInput::Schema { schema, .. } => markup.format.leaves_texts_free(schema),
            ToolInput::Text(_) | ToolInput::Hosted(_) => true,
        })
    }

    /// Whether the server gives arguments that the tools' schemas allow, where it forces the call itself and all are objects.
    fn holds_arguments(&self) -> bool {
        let are_objects = self.choice_rule().is_some_and(|choice| choice.objects);
        let mut tools = self.contract.tools.iter();
        !are_objects
            || tools.all(|tool| match &tool.input {
                ToolInput::Schema { schema, .. } => may_be_object(schema),
                ToolInput::Text(_) | ToolInput::Hosted(_) => true,
            })
    }

    /// Whether the rule has calls stand in tags, where the server cannot be asked for the very calls that are wanted.
    pub(super) fn is_tagged(&self) -> bool {
        let choice = self.choice_rule();
        choice.is_some_and(|choice| match choice.how {
            ChoiceHow::Native => choice.otherwise == ChoiceHow::Tags,
            how => how == ChoiceHow::Tags,
        })
    }

    /// Constrains the text to calls and nothing else, between the tags that the model itself writes them in, or those of
    /// Hermes where it is not known how it does; whether it did.
    fn tag_forced_calls(&mut self) -> Result<bool, Error> {
        let is_json = |tool: &Tool| matches!(tool.input, ToolInput::Schema { .. });
        if !self.contract.tools.iter().all(is_json) {
            return Ok(false);
        }
        let own = self.markup.clone().filter(|markup| !is_of(markup));
        let Some(frames) = self.frames(own.as_ref()) else {
            return Ok(false);
        };
        let known = std::mem::take(&mut self.losses);
        let tagged = self.tagged_calls(&frames, own.as_ref());
        self.losses = known;
        let Some(Tagged { constraint, losses }) = tagged else {
            return Ok(false);
        };
        if self.place(&constraint, None)?.is_none() {
            return Ok(false);
        }
        self.losses.extend(losses);
        if frames.iter().any(|frame| frame.between.is_none()) {
            self.lose_parallel("this model's own markup has one call in a turn");
        }
        if let Some(choice) = self.choice_rule()
            && choice.how == ChoiceHow::Tags
            && let Some(template) = choice.send.clone()
        {
            self.body.apply(&template, &TemplateValues::default())?;
        }
        if self.is_parsed() {
            self.body.show_tools(self.rule, ToolChoice::Auto);
            return Ok(true);
        }
        let told = prompt::forced(self.contract, &Rewrap::TaggedCalls, own.as_ref());
        self.show_tools(told);
        Ok(true)
    }

    /// Calls in these frames, in the first form in which the server holds as much of them as it would of the arguments alone;
    /// `None` where there is none.
    fn tagged_calls(&mut self, frames: &[Frame], markup: Option<&Markup>) -> Option<Tagged> {
        let around = frames.first()?;
        let between = around.between.as_deref();
        let is_one = !self.makes_many() || between.is_none();
        let tags = self.framed_tags(frames, markup, true)?;
        let lowered = std::mem::take(&mut self.losses);
        for form in self.forms() {
            if form == TextUnion::Tag {
                let calls = self.calls_formats(&tags, is_one, between.unwrap_or_default());
                let tag = json!({"type": "structural_tag", "format": enclosed(calls, around)});
                return Some(Tagged {
                    constraint: Constraint::StructuralTag(tag),
                    losses: lowered,
                });
            }
            let in_grammar = self.calls_in_grammar(frames, markup, is_one, form.kind());
            let losses = std::mem::take(&mut self.losses);
            // What a schema would not hold of the same place either.
            let is_lost = |loss: &Loss| lowered.iter().any(|lost| lost.pointer == loss.pointer);
            let holds = losses.iter().all(is_lost);
            if let Some(constraint) = in_grammar.filter(|_| holds) {
                return Some(Tagged { constraint, losses });
            }
        }
        None
    }

    /// In which forms this server may be sent calls, the best first: those that the rule names, else those of a union with a
    /// text, but a tag before all others where the rule's own tags are of that shape.
    fn forms(&self) -> Vec<TextUnion> {
        let named = self.choice_rule().map_or(&[][..], |choice| &choice.forms);
        let own = (self.tag_shape() == TagShape::Format).then_some(TextUnion::Tag);
        let forms: Vec<_> = match named.is_empty() {
            true => own.iter().chain(&self.rule.text_unions).collect(),
            false => named.iter().collect(),
        };
        let forms = forms.into_iter().copied();
        forms.filter(|form| self.rule.sends(form.kind())).collect()
    }

    fn calls_in_grammar(
        &mut self,
        frames: &[Frame],
        markup: Option<&Markup>,
        is_one: bool,
        kind: &str,
    ) -> Option<Constraint> {
        let around = frames.first()?;
        let tags = self.framed_tags(frames, markup, false)?;
        let calls: Vec<_> = tags.iter().map(CallTag::as_tagged).collect();
        let block = Around::Block {
            open: around.open.as_str(),
            between: around.between.as_deref().unwrap_or_default(),
            close: around.close.as_str(),
        };
        let union = self.memo.union(&calls, is_one, &block, kind);
        let union = union.ok()?;
        self.lose_in_union(&tags, &union);
        Some(union.constraint.clone())
    }

    /// The tags of all tools that may be called, as these frames say, in this markup or that of Hermes. `None` where what a
    /// tool's schema says cannot be said in it.
    fn framed_tags(
        &mut self,
        frames: &[Frame],
        markup: Option<&Markup>,
        is_lowered: bool,
    ) -> Option<Vec<CallTag>> {
        let mut tags = self.call_tags(is_lowered);
        for tag in &mut tags {
            // As the server's own compiler reads such objects: an open one is what a model fills without an end.
            if !is_lowered && self.rule.schema.additional == Additional::Closed {
                tag.schema = closed(&tag.schema).into_owned();
            }
            if let (Some(markup), Some(tool)) = (markup, self.contract.tools.get(tag.tool)) {
                tag.content = content(markup, tool, &tag.schema, self.call_text())?;
            }
            if let Some(frame) = frames.get(tag.tool) {
                (tag.begin, tag.end) = (frame.begin.clone(), frame.end.clone());
                tag.numbered.clone_from(&frame.numbered);
            }
        }
        Some(tags)
    }

    /// What is known of the text in which a forced call is to stand.
    fn call_text(&self) -> CallText {
        match self.choice_rule() {
            Some(choice) if choice.raw => CallText::Whole,
            Some(choice) if choice.typed && choice.parsed => CallText::Parsed,
            Some(choice) if choice.typed => CallText::Own,
            _ => CallText::Shared,
        }
    }

    /// How calls of each tool are written in this markup, or between the tags of Hermes. `None` where arguments are written
    /// as something else than JSON, or parameters that only we would read.
    fn frames(&self, markup: Option<&Markup>) -> Option<Vec<Frame>> {
        let text = self.call_text();
        let frame = |tool: &Tool| match markup {
            Some(markup) => {
                let frame = markup.format.frame(&tool.name, text)?;
                Some(if self.makes_many() {
                    frame
                } else {
                    frame.first()
                })
            }
            None => Some(Frame {
                open: String::new(),
                begin: begin(&tool.name, ARGUMENTS),
                numbered: None,
                counts_from: 0,
                end: END.to_owned(),
                between: Some("\n".to_owned()),
                close: String::new(),
            }),
        };
        self.contract.tools.iter().map(frame).collect()
    }

    /// The constraint on content that stands for a forced call, and how to read it back.
    fn call_constraint(&self) -> (Option<Constraint>, Rewrap) {
        let many = self.makes_many();
        if let ([tool], false) = (self.contract.tools.as_slice(), many) {
            let rewrap = Rewrap::Arguments {
                tool: tool.name.clone(),
            };
            match &tool.input {
                ToolInput::Text(stated) => return (stated.clone(), rewrap),
                ToolInput::Schema { schema, .. } if self.asks_for_arguments() => {
                    return (Some(Constraint::JsonSchema(schema.clone())), rewrap);
                }
                // Who is shown tools by its chat template writes the tool's name first.
                ToolInput::Schema { .. } => {}
                ToolInput::Hosted(_) => return (None, rewrap),
            }
        }
        let shape = if many {
            Alternatives::Calls {
                max: self.contract.max_calls,
            }
        } else {
            Alternatives::Call
        };
        (
            Some(Constraint::JsonSchema(self.call_schema(shape))),
            self.envelope(),
        )
    }

    /// Whether a single tool's call is asked for as its arguments alone: the model is told so, or the rule says it.
    fn asks_for_arguments(&self) -> bool {
        let is_bare = self.choice_rule().is_some_and(|choice| choice.bare);
        is_bare || self.rule.show_tools == ShowTools::SystemMessage
    }

    /// Without a stated `parallel_tool_calls: true` one call is asked for: it satisfies every
    /// forced choice, and an array without an upper bound lets weak models run on.
    fn envelope(&self) -> Rewrap {
        if self.makes_many() {
            Rewrap::Calls
        } else {
            Rewrap::Call
        }
    }

    /// Notes the texts of custom tools that an envelope around a call does not constrain.
    pub(super) fn lose_custom(&mut self) {
        let contract = self.contract;
        for tool in &contract.tools {
            if let ToolInput::Text(Some(stated)) = &tool.input
                && text_pattern(&tool.input).is_none()
            {
                self.lose_text(tool, stated);
            }
        }
    }
}

/// Calls, of which these are the alternatives, with what stands around all of them.
fn enclosed(mut calls: Vec<Value>, frame: &Frame) -> Value {
    let calls = match calls.len() {
        1 => calls.swap_remove(0),
        _ => json!({"type": "or", "elements": calls}),
    };
    let text = |text: &str| json!({"type": "const_string", "value": text});
    let (open, close) = (text(&frame.open), text(&frame.close));
    let elements = match (frame.open.is_empty(), frame.close.is_empty()) {
        (true, true) => return calls,
        (false, true) => json!([open, calls]),
        (true, false) => json!([calls, close]),
        (false, false) => json!([open, calls, close]),
    };
    json!({"type": "sequence", "elements": elements})
}
