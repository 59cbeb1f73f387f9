//! Where a constraint goes in the upstream body: left as it is, sent in the server's spelling,
//! or converted into a kind that the server has.

use super::one_object::one_object;
use super::{ForServer, Writer, prompt};
use crate::error::{Error, Kind};
use crate::grammar::{self, Converted, Difference, GrammarFault};
use crate::ir::{
    ClientConstraint, Constraint, EnforcedBy, Loss, Notation, Origin, Strategy, Tool, ToolInput,
};
use crate::pattern::spelling::{Spelled, spelled};
use crate::rules::{Route, TemplateValues};
use crate::schema::profile::Recursion;
use crate::schema::{Profile, Unkept, Why, has_object_without};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;

impl Writer<'_> {
    /// Puts a constraint where the server enforces it. `spelling` is the client's own, if the
    /// constraint is the client's; `None` as the answer means that the server has no such place.
    pub(super) fn place(
        &mut self,
        constraint: &Constraint,
        spelling: Option<&str>,
    ) -> Result<Option<Strategy>, Error> {
        self.place_with(constraint, spelling, true)
    }

    /// The same for what begins with free text, in which thoughts have their place.
    pub(super) fn place_free(
        &mut self,
        constraint: &Constraint,
    ) -> Result<Option<Strategy>, Error> {
        self.place_with(constraint, None, false)
    }

    fn place_with(
        &mut self,
        constraint: &Constraint,
        spelling: Option<&str>,
        needs_room: bool,
    ) -> Result<Option<Strategy>, Error> {
        let Some(mut lowered) = self.lower(constraint, spelling) else {
            return Ok(None);
        };
        if let Some(widened) = self.widened(&lowered, spelling) {
            lowered = Cow::Owned(widened);
        }
        if self.is_lacking(&lowered, spelling) {
            return Ok(None);
        }
        if let Some(compacted) = self.compacted(&lowered) {
            lowered = Cow::Owned(compacted);
        }
        match self.worded(&lowered, spelling) {
            Ok(None) => {}
            Ok(Some(written)) => lowered = Cow::Owned(written),
            Err(()) => return Ok(None),
        }
        let mut is_composed = false;
        if needs_room && let Some(roomy) = self.with_thoughts(&lowered, spelling)? {
            lowered = Cow::Owned(roomy);
            is_composed = true;
        }
        // Of several fields that state it none can stay: servers refuse two, or obey either.
        let is_alone = |stated: &ClientConstraint| stated.also.is_empty() && !stated.is_reworded;
        let is_alone = self.request.constraint.as_ref().is_none_or(is_alone);
        let is_same =
            matches!(lowered, Cow::Borrowed(_)) && !self.request.restated && !self.wraps_answer;
        let stated = self.request.constraint.as_ref();
        let stated_name = stated.and_then(|stated| stated.name.as_deref());
        // A class with a parameter is `Response[int]`.
        let told_name = stated_name.and_then(|name| self.told_name(name));
        let keeps = is_alone && !self.body.is_bare() && is_same && told_name.is_none();
        // In a draft for another wire only what has Chat's names stands.
        let stands = |stated: &ClientConstraint| self.body.fields.has(stated.spelling.field());
        let keeps = keeps && self.request.constraint.as_ref().is_none_or(stands);
        let own = spelling.filter(|_| keeps && !self.is_let_go(lowered.kind()));
        let (strategy, kind, sent) = match self.rule.route(lowered.kind(), own) {
            Route::Native => {
                self.note_start(lowered.kind(), needs_room, is_composed);
                self.ask_compact(constraint, self.stated_pointer(spelling))?;
                return Ok(Some(Strategy::Native));
            }
            Route::Send if is_composed => (Strategy::Compose, lowered.kind(), lowered),
            Route::Send => (Strategy::Native, lowered.kind(), lowered),
            Route::Convert(kind) => match self.memo.convert(&lowered, kind) {
                Ok(converted) => {
                    self.lose_differences(spelling, &converted.differences);
                    let constraint = converted.constraint.clone();
                    (Strategy::Convert, kind, Cow::Owned(constraint))
                }
                Err(fault) => {
                    self.losses.push(Loss {
                        pointer: self.stated_pointer(spelling),
                        reason: format!(
                            "{} takes no {}, and it cannot be converted: {fault}",
                            self.rule.title,
                            constraint.kind()
                        ),
                        enforced_by: EnforcedBy::Proxy,
                    });
                    return Ok(None);
                }
            },
            Route::Instruct => return Ok(None),
            Route::Refuse => {
                let message = format!(
                    "{} has no {}, and the proxy cannot stand in for it: use a JSON Schema, a regex or a grammar",
                    self.rule.label(),
                    constraint.kind()
                );
                return Err(Error::new(Kind::UnsupportedConstraint, message)
                    .at(spelling.unwrap_or("tools").to_owned()));
            }
        };
        let sent = match self.reworded(&sent, spelling) {
            Ok(None) => sent,
            Ok(Some(written)) => Cow::Owned(written),
            Err(()) => return Ok(None),
        };
        if self.is_lacking(&sent, spelling) {
            return Ok(None);
        }
        if spelling.is_some() {
            self.remove_stated();
        }
        self.note_start(kind, needs_room, is_composed);
        let known = self.rule.constraints.get(kind);
        if let Some(template) = known.and_then(|known| known.send.as_ref()) {
            let values = TemplateValues {
                name: told_name.as_deref().or(stated_name),
                description: self.described().filter(|_| spelling.is_some()),
                strict: self.strict(),
                ..TemplateValues::of(&sent)
            };
            self.body.apply(template, &values)?;
            self.has_told(spelling, template);
            self.ask_compact(&sent, self.stated_pointer(spelling))?;
        }
        // Where the constraint stands for calls, showing the tools tells of it.
        let is_told = known.is_some_and(|known| known.tell) && !self.body.is_bare();
        if spelling.is_some() && is_told {
            self.body.instruct(prompt::answer(constraint));
        }
        Ok(Some(strategy))
    }

    /// A client's own regex or grammar in words that this server reads as the client does, and with no more ways through it than
    /// the server can follow; the error, where there are none.
    fn worded(
        &mut self,
        constraint: &Constraint,
        spelling: Option<&str>,
    ) -> Result<Option<Constraint>, ()> {
        let profile = &self.rule.schema;
        let spelled = match constraint {
            Constraint::Regex(text) if profile.odd_escapes => match spelled(text) {
                Spelled::Other(text) => Some(Constraint::Regex(text)),
                Spelled::Same | Spelled::Names => None,
            },
            _ => None,
        };
        let now = spelled.as_ref().unwrap_or(constraint);
        if let (true, Some(text)) = (profile.one_way, gbnf_of(now)) {
            let written = match grammar::in_one_way(text) {
                Ok(None) if profile.plain_grammars => grammar::in_plain_words(text),
                written => written,
            };
            return self.written(written, spelling);
        }
        Ok(self.within_ascii(now, spelling)?.or(spelled))
    }

    /// What was written here of the client's, likewise: a grammar may have the client's left recursion still.
    fn reworded(
        &mut self,
        sent: &Constraint,
        spelling: Option<&str>,
    ) -> Result<Option<Constraint>, ()> {
        match gbnf_of(sent).filter(|_| self.rule.schema.plain_grammars) {
            Some(text) => self.written(grammar::in_plain_words(text), spelling),
            None => self.within_ascii(sent, spelling),
        }
    }

    /// A regex or a grammar in other words, where this server reads classes rightly within ASCII
    /// alone, or a regex's classes of Unicode's names not at all; the error, where there are none.
    fn within_ascii(
        &mut self,
        constraint: &Constraint,
        spelling: Option<&str>,
    ) -> Result<Option<Constraint>, ()> {
        let profile = &self.rule.schema;
        let written = match constraint {
            // What no regex can say there, a grammar can.
            Constraint::Regex(text) if profile.odd_escapes && spelled(text) == Spelled::Names => {
                grammar::convert(constraint, "grammar:gbnf").map(Some)
            }
            _ if !profile.ascii_classes => return Ok(None),
            Constraint::Regex(text) => grammar::regex_within_ascii(text),
            constraint => match gbnf_of(constraint) {
                Some(text) => grammar::within_ascii(text),
                None => return Ok(None),
            },
        };
        self.written(written, spelling)
    }

    /// What was written in other words, with what differs told; the error, where it cannot be.
    fn written(
        &mut self,
        written: Result<Option<Converted>, GrammarFault>,
        spelling: Option<&str>,
    ) -> Result<Option<Constraint>, ()> {
        match written {
            Ok(None) => Ok(None),
            Ok(Some(written)) => {
                self.lose_differences(spelling, &written.differences);
                Ok(Some(written.constraint))
            }
            Err(fault) => {
                self.losses.push(Loss {
                    pointer: self.stated_pointer(spelling),
                    reason: format!("{} cannot be sent it: {fault}", self.rule.title),
                    enforced_by: EnforcedBy::Proxy,
                });
                Err(())
            }
        }
    }

    /// Whether the client says `strict: false`, and the rule never sends that field: the server may take it to mean that nothing is
    /// to be held. Without it the constraint is what it was.
    fn is_let_go(&self, kind: &str) -> bool {
        let stated = self.request.constraint.as_ref();
        let is_loose = stated.is_some_and(|stated| stated.strict == Some(false));
        let known = self.rule.constraints.get(kind);
        let send = known.and_then(|known| known.send.as_ref());
        is_loose && send.is_some_and(|template| !template.names("$strict"))
    }

    /// What is said of strict mode.
    fn strict(&self) -> Option<bool> {
        let stated = self.request.constraint.as_ref()?;
        stated
            .strict
            .or_else(|| self.holds_strictly.then_some(true))
    }

    /// Whether the client states a constraint in a dialect that has no word for strict mode.
    fn leaves_strict_unsaid(&self) -> bool {
        let stated = self.request.constraint.as_ref();
        stated.is_some_and(|stated| stated.strict.is_none() && !stated.may_say_strict())
    }

    /// Whether strict mode is asked for.
    pub(super) fn is_strict(&self) -> bool {
        self.strict() == Some(true)
    }

    /// The schema for strict mode, where the client has no word for that and the schema loses nothing by it: dialects without the word
    /// mean every schema to be held.
    fn held_strictly(&self, schema: &Value) -> Option<Arc<ForServer>> {
        if !self.leaves_strict_unsaid() || self.rule.schema.strict_stated {
            return None;
        }
        let lowered = self.memo.lower(schema, &self.rule.schema);
        let sent = lowered.schema.as_ref().unwrap_or(schema);
        let is_whole = self.lacking(sent).is_none() && self.missing_within(sent).is_none();
        (lowered.losses.is_empty() && is_whole).then_some(lowered)
    }

    /// What a schema lacks at its root without which this server takes none.
    fn missing(&self, schema: &Value) -> Option<&str> {
        if self.rule.schema.strict_only && !self.is_strict() {
            return None;
        }
        self.lacking(schema)
    }

    pub(super) fn lacking(&self, schema: &Value) -> Option<&str> {
        let mut needs = self.rule.schema.needs.iter().map(String::as_str);
        needs.find(|need| match need.split_once('=') {
            Some((keyword, value)) => schema.get(keyword).is_none_or(|it| it != value),
            None => schema.get(*need).is_none(),
        })
    }

    /// Alternatives as one object, where the server takes nothing else: what goes with what is not
    /// held then, but everything else is.
    fn widened(&mut self, constraint: &Constraint, spelling: Option<&str>) -> Option<Constraint> {
        let Constraint::JsonSchema(schema) = constraint else {
            return None;
        };
        let missing = self.missing(schema)?;
        if self.rule.schema.strict_only {
            // Of one object some properties may be left out, which strict schemas do not know.
            return None;
        }
        let reason = format!(
            "{} takes no schema without `{missing}` at its root: the alternatives are sent as one object",
            self.rule.title
        );
        let one = one_object(schema).filter(|one| self.missing(one).is_none())?;
        self.losses.push(Loss {
            pointer: self.stated_pointer(spelling),
            reason,
            enforced_by: EnforcedBy::Proxy,
        });
        Some(Constraint::JsonSchema(one))
    }

    /// Whether a schema lacks at its root what this server takes none without.
    fn is_lacking(&mut self, constraint: &Constraint, spelling: Option<&str>) -> bool {
        let Constraint::JsonSchema(schema) = constraint else {
            return false;
        };
        let title = &self.rule.title;
        let reason = match (self.missing(schema), self.missing_within(schema)) {
            (Some(missing), _) => {
                format!("{title} takes no schema without `{missing}` at its root")
            }
            (None, Some(missing)) => format!("{title} takes no object without `{missing}`"),
            (None, None) => return false,
        };
        self.losses.push(Loss {
            pointer: self.stated_pointer(spelling),
            reason,
            enforced_by: EnforcedBy::Proxy,
        });
        true
    }

    /// What some object within a schema lacks without which this server takes none.
    fn missing_within(&self, schema: &Value) -> Option<&str> {
        let mut needs = self.rule.schema.needs_within.iter().map(String::as_str);
        needs.find(|keyword| has_object_without(schema, keyword))
    }

    /// The schema in a form of which the server enforces the most; what it does not enforce is
    /// noted, and the proxy verifies it. `None` where what could be sent lets too little pass.
    fn lower<'c>(
        &mut self,
        constraint: &'c Constraint,
        spelling: Option<&str>,
    ) -> Option<Cow<'c, Constraint>> {
        let Constraint::JsonSchema(schema) = constraint else {
            return Some(Cow::Borrowed(constraint));
        };
        let is_read = !self.rule.schema.strict_only || self.is_strict() && spelling.is_some();
        // On no wire a schema is anything but an object.
        self.holds_strictly =
            self.rule.schema.says_strict && spelling.is_some() && self.leaves_strict_unsaid();
        let lowered = match is_read || *schema == Value::Bool(true) {
            true => self.memo.lower(schema, &self.rule.schema),
            false => {
                let held = spelling.and_then(|_| self.held_strictly(schema));
                self.holds_strictly = held.is_some();
                let Some(held) = held else {
                    return Some(Cow::Borrowed(constraint));
                };
                held
            }
        };
        let sent = lowered.schema.as_ref().unwrap_or(schema);
        if is_circular(&self.rule.schema, &lowered.losses) {
            self.losses.push(Loss {
                pointer: self.stated_pointer(spelling),
                reason: format!("{} takes no schema that refers to itself", self.rule.title),
                enforced_by: EnforcedBy::Proxy,
            });
            return None;
        }
        if is_emptied(schema, sent, &lowered.losses) {
            self.losses.push(Loss {
                pointer: self.stated_pointer(spelling),
                reason: format!(
                    "{} takes no objects but those that name all their properties",
                    self.rule.title
                ),
                enforced_by: EnforcedBy::Proxy,
            });
            return None;
        }
        if !lowered.losses.is_empty() {
            let origin = self.origin(schema, spelling);
            self.lose_keywords(&origin, &lowered.losses);
        }
        Some(match &lowered.schema {
            None => Cow::Borrowed(constraint),
            Some(schema) => Cow::Owned(Constraint::JsonSchema(schema.clone())),
        })
    }

    pub(super) fn lose_keywords(&mut self, origin: &Stands, losses: &[Unkept]) {
        for lost in losses {
            let Unkept { keyword, why, .. } = lost;
            let title = &self.rule.title;
            let reason = match why {
                Why::Ignored => format!("{title} ignores `{keyword}`"),
                Why::Refused => format!("{title} refuses `{keyword}`"),
                Why::Inexact => format!(
                    "{title} reads `{keyword}` otherwise than JSON Schema does, and there is no \
                     exact form that it reads rightly"
                ),
                Why::Narrower => format!(
                    "{title} can only be told something narrower than this `{keyword}`: some values \
                     that it allows cannot come"
                ),
            };
            let loss = Loss {
                pointer: match origin {
                    Stands::Schema(pointer) => format!("{pointer}{}", lost.pointer),
                    Stands::Somewhere(pointer) => pointer.clone(),
                },
                reason,
                enforced_by: EnforcedBy::Proxy,
            };
            // Of a schema that was put together, one keyword may be lost in many places.
            if matches!(origin, Stands::Schema(_)) || !self.losses.contains(&loss) {
                self.losses.push(loss);
            }
        }
    }

    /// Where the schema stands in the client's body.
    fn origin(&self, schema: &Value, spelling: Option<&str>) -> Stands {
        if spelling.is_none() {
            return self.tool_origin(schema);
        }
        let Some(stated) = &self.request.constraint else {
            return Stands::Somewhere(String::new());
        };
        let pointer = stated.spelling.pointer();
        let field = stated.spelling.field();
        let whole: Value = self
            .request
            .fields
            .raw(field)
            .and_then(|raw| serde_json::from_str(raw).ok())
            .unwrap_or_default();
        let whole = json!({ field: whole });
        [
            "/json_schema/schema",
            "/schema",
            "/response_schema",
            "/value",
            "",
        ]
        .iter()
        .map(|inner| format!("{pointer}{inner}"))
        .find(|at| whole.pointer(at).is_some_and(|found| found == schema))
        // A schema that came as a string has no inside to point into.
        .map_or(Stands::Somewhere(pointer), Stands::Schema)
    }

    /// The schema of one tool, or one that was put together of several.
    fn tool_origin(&self, schema: &Value) -> Stands {
        let is_it = |tool: &Tool| matches!(&tool.input, ToolInput::Schema { schema: its, .. } if its == schema);
        match self.contract.tools.as_slice() {
            [only] if is_it(only) => Stands::Schema(only.input_origin.pointer()),
            tools => Stands::Somewhere(tools_pointer(tools)),
        }
    }

    pub(super) fn stated_pointer(&self, spelling: Option<&str>) -> String {
        let stated = self
            .request
            .constraint
            .as_ref()
            .filter(|_| spelling.is_some());
        stated.map_or_else(
            || tools_pointer(&self.contract.tools),
            |stated| stated.spelling.pointer(),
        )
    }

    /// Notes how a converted constraint differs from the client's.
    fn lose_differences(&mut self, spelling: Option<&str>, differences: &[Difference]) {
        for difference in differences {
            self.losses.push(Loss {
                pointer: format!("{}{}", self.stated_pointer(spelling), difference.pointer),
                reason: format!("converted for {}: {}", self.rule.title, difference.reason),
                // What is offered less breaks nothing.
                enforced_by: match difference.is_wider {
                    true => EnforcedBy::Proxy,
                    false => EnforcedBy::Nobody,
                },
            });
        }
    }

    /// Removes the client's own spellings of its constraint from the body.
    pub(super) fn remove_stated(&mut self) {
        let Some(stated) = &self.request.constraint else {
            return;
        };
        self.lose_description();
        let spellings: Vec<&Origin> = [&stated.spelling].into_iter().chain(&stated.also).collect();
        for spelling in &spellings {
            let Some(removed) = self.body.unstate(spelling) else {
                continue;
            };
            // Elsewhere, what else stands there says what the constraint is.
            if matches!(spelling.field(), "structured_outputs" | "nvext") {
                self.lose_rest(spelling, removed.get(), &spellings);
            }
        }
    }

    /// Notes what a field that is not sent carried beside the constraint.
    fn lose_rest(&mut self, spelling: &Origin, removed: &str, stated: &[&Origin]) {
        let field = spelling.field();
        let Ok(Value::Object(mut rest)) = crate::json::value(removed) else {
            return;
        };
        let is_stated = |name: &str| {
            stated
                .iter()
                .any(|known| known.0.split_once('.') == Some((field, name)))
        };
        rest.retain(|name, value| !value.is_null() && !is_stated(name));
        for name in rest.keys() {
            self.losses.push(Loss {
                pointer: format!("/{field}/{name}"),
                reason: format!(
                    "it belongs to `{}`, which {} is not sent",
                    spelling.0, self.rule.title
                ),
                enforced_by: EnforcedBy::Nobody,
            });
        }
    }
}

/// Where the tools stand.
pub(super) fn tools_pointer(tools: &[Tool]) -> String {
    let field = tools.first().map_or("tools", |tool| tool.origin.field());
    format!("/{field}")
}

/// Whether the schema refers to itself, and the server takes none that does.
pub(super) fn is_circular(profile: &Profile, losses: &[Unkept]) -> bool {
    let leads_back = |lost: &Unkept| lost.keyword == "$ref" && lost.why == Why::Narrower;
    profile.recursion == Recursion::Refused && losses.iter().any(leads_back)
}

/// Whether an object that may have any properties was closed, so that it could have none at all. `stated` is the client's schema:
/// what it closes itself is taken for an object at most.
pub(super) fn is_emptied(stated: &Value, schema: &Value, losses: &[Unkept]) -> bool {
    let is_closed = |lost: &Unkept| {
        lost.keyword == "additionalProperties"
            && lost.why == Why::Narrower
            && stated.pointer(&lost.pointer) != Some(&Value::Bool(false))
    };
    losses.iter().any(is_closed) && has_empty_object(schema)
}

fn has_empty_object(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => {
            let named = map.get("properties").and_then(Value::as_object);
            let is_empty = map.get("additionalProperties") == Some(&Value::Bool(false))
                && named.is_none_or(serde_json::Map::is_empty);
            is_empty || map.values().any(has_empty_object)
        }
        Value::Array(items) => items.iter().any(has_empty_object),
        _ => false,
    }
}

/// The text of a grammar in GBNF.
const fn gbnf_of(constraint: &Constraint) -> Option<&String> {
    match constraint {
        Constraint::Grammar {
            notation: Notation::Gbnf,
            text,
        } => Some(text),
        _ => None,
    }
}

/// Where a schema came from.
pub(super) enum Stands {
    /// The schema stands at this JSON Pointer of the client's body.
    Schema(String),
    /// It was made of what stands there.
    Somewhere(String),
}
