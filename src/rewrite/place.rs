//! Where a constraint goes in the upstream body: left as it is, sent in the server's spelling,
//! or converted into a kind that the server has.

use super::{Writer, prompt};
use crate::error::{Error, Kind};
use crate::grammar;
use crate::ir::{Constraint, EnforcedBy, Loss, Strategy};
use crate::rules::{Route, TemplateValues};
use crate::schema;
use serde_json::Value;
use std::borrow::Cow;

impl Writer<'_> {
    /// Puts a constraint where the server enforces it. `spelling` is the client's own, if the
    /// constraint is the client's; `None` as the answer means that the server has no such place.
    pub(super) fn place(
        &mut self,
        constraint: &Constraint,
        spelling: Option<&str>,
    ) -> Result<Option<Strategy>, Error> {
        let relaxed = self.relax(constraint, spelling);
        if self.is_lacking(&relaxed, spelling) {
            return Ok(None);
        }
        let own = spelling.filter(|_| matches!(relaxed, Cow::Borrowed(_)));
        let (strategy, kind, sent) = match self.rule.route(constraint.kind(), own) {
            Route::Native => return Ok(Some(Strategy::Native)),
            Route::Send => (Strategy::Native, constraint.kind(), relaxed),
            Route::Convert(kind) => match grammar::convert(&relaxed, kind) {
                Ok(converted) => (Strategy::Convert, kind, Cow::Owned(converted)),
                Err(fault) => {
                    self.losses.push(Loss {
                        pointer: pointer(spelling),
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
        if self.is_lacking(&sent, spelling) {
            return Ok(None);
        }
        if spelling.is_some() {
            self.remove_stated();
        }
        let known = self.rule.constraints.get(kind);
        if let Some(template) = known.and_then(|known| known.send.as_ref()) {
            let stated = self.request.constraint.as_ref();
            let values = TemplateValues {
                name: stated.and_then(|stated| stated.name.as_deref()),
                strict: stated.and_then(|stated| stated.strict),
                ..TemplateValues::of(&sent)
            };
            self.body.apply(template, &values)?;
        }
        // Where the constraint stands for calls, showing the tools tells of it.
        if spelling.is_some() && known.is_some_and(|known| known.tell) {
            self.body.instruct(&prompt::answer(constraint))?;
        }
        Ok(Some(strategy))
    }

    /// Whether a schema lacks at its root what this server takes none without.
    fn is_lacking(&mut self, constraint: &Constraint, spelling: Option<&str>) -> bool {
        let Constraint::JsonSchema(schema) = constraint else {
            return false;
        };
        let needs = &self.rule.schema_needs;
        let Some(missing) = needs
            .iter()
            .find(|keyword| schema.get(keyword.as_str()).is_none())
        else {
            return false;
        };
        self.losses.push(Loss {
            pointer: pointer(spelling),
            reason: format!(
                "{} takes no schema without `{missing}` at its root",
                self.rule.title
            ),
            enforced_by: EnforcedBy::Proxy,
        });
        true
    }

    /// Takes out the schema keywords that the server refuses, and notes those that it ignores:
    /// the proxy verifies both.
    fn relax<'c>(
        &mut self,
        constraint: &'c Constraint,
        spelling: Option<&str>,
    ) -> Cow<'c, Constraint> {
        let Constraint::JsonSchema(schema) = constraint else {
            return Cow::Borrowed(constraint);
        };
        let rule = self.rule;
        let is_ignored =
            |keyword: &str, _: &Value| rule.schema_ignored.iter().any(|ignored| ignored == keyword);
        let is_refused = |keyword: &str, value: &Value| {
            rule.schema_removed.iter().any(|removed| removed == keyword)
                || keyword == "format"
                    && rule
                        .schema_formats
                        .as_ref()
                        .is_some_and(|known| !known.iter().any(|name| value == name))
        };
        for (at, keyword) in schema::find(schema, is_ignored) {
            self.lose_keyword(spelling, &at, &keyword, "ignores");
        }
        let refused = schema::find(schema, is_refused);
        if refused.is_empty() {
            return Cow::Borrowed(constraint);
        }
        for (at, keyword) in &refused {
            self.lose_keyword(spelling, at, keyword, "refuses");
        }
        Cow::Owned(Constraint::JsonSchema(schema::without(schema, &refused)))
    }

    fn lose_keyword(&mut self, spelling: Option<&str>, at: &str, keyword: &str, does: &str) {
        self.losses.push(Loss {
            pointer: format!("{}{at}", pointer(spelling)),
            reason: format!("{} {does} `{keyword}`", self.rule.title),
            enforced_by: EnforcedBy::Proxy,
        });
    }

    /// Removes the client's own spelling of its constraint from the body.
    pub(super) fn remove_stated(&mut self) {
        let Some(stated) = &self.request.constraint else {
            return;
        };
        let field = stated.spelling.field();
        let Some(removed) = self.body.fields.remove(field) else {
            return;
        };
        self.body.changed = true;
        let Some((_, member)) = stated.spelling.0.split_once('.') else {
            return;
        };
        if field == "response_format" {
            return;
        }
        // `structured_outputs` and `nvext` may carry more than the constraint.
        let Ok(Value::Object(mut rest)) = serde_json::from_str::<Value>(removed.get()) else {
            return;
        };
        rest.remove(member);
        rest.retain(|_, value| !value.is_null());
        for name in rest.keys() {
            self.losses.push(Loss {
                pointer: format!("/{field}/{name}"),
                reason: format!(
                    "it belongs to `{}`, which {} is not sent",
                    stated.spelling.0, self.rule.title
                ),
                enforced_by: EnforcedBy::Nobody,
            });
        }
    }
}

fn pointer(spelling: Option<&str>) -> String {
    spelling.map_or_else(
        || "/tools".to_owned(),
        |spelling| format!("/{}", spelling.replace('.', "/")),
    )
}
