//! The beginning of a reply against a schema: a prefix of a JSON text comes in; a breach that no
//! continuation could mend goes out, if there is one.
//!
//! A reply that is cut is no excuse for what stands in it already. What is not certain is excused:
//! a prefix of a right reply is never refused.

use super::number::NumberDemand;
use super::prefix::{Completed, Leaf, Openness, Prefix, complete};
use super::reply::{self, NumberBound};
use super::validator::{SchemaBreach, Validator, breach_of, most_specific};
use isogloss_validate::ValidationError;
use isogloss_validate::error::ValidationErrorKind as Rule;
use serde_json::Value;
use std::collections::HashSet;

/// Keywords whose subschemas apply or not by what the rest of a value will be.
const CONDITIONAL: [&str; 4] = ["then", "else", "unevaluatedProperties", "unevaluatedItems"];

impl Validator {
    /// Checks a text that may have been cut anywhere: whether some continuation of it may satisfy
    /// the schema. Where the text is whole, this is [`Validator::validate_text`].
    ///
    /// # Errors
    /// A breach that no continuation mends. Not every one is found: where it is not plain, the
    /// text passes.
    pub fn validate_prefix(&self, text: &str) -> Result<(), SchemaBreach> {
        let completed = match complete(text)? {
            Prefix::Empty => return Ok(()),
            Prefix::Whole => return self.validate_text(text),
            Prefix::Open(completed) => completed,
        };
        let read = reply::read(&completed.text)?;
        self.refuse_definite(&read.value, &completed)?;
        if read.unheld.is_empty() {
            return Ok(());
        }
        match self.measures.demand {
            NumberDemand::None => Ok(()),
            NumberDemand::Bounds => [NumberBound::Below, NumberBound::Above]
                .into_iter()
                .try_for_each(|side| {
                    let value = reply::build(&completed.text, &read.unheld, side)?;
                    self.refuse_definite(&value, &completed)
                }),
            NumberDemand::Exact => Err(reply::too_long()),
        }
    }

    fn refuse_definite(&self, value: &Value, completed: &Completed) -> Result<(), SchemaBreach> {
        let value = self.as_its_draft_reads(value);
        self.with_room(&value, |may_collect| {
            if self.inner.is_valid(&value) || !may_collect || !self.may_collect_all(&value) {
                return Ok(());
            }
            let judge = Judge {
                value: &value,
                completed,
                has_conditions: self.measures.has_conditions,
            };
            let mut errors = self.inner.errors(&value);
            match errors.find(|error| judge.is_definite(error)) {
                Some(error) => Err(breach_of(judge.most_telling(&error))),
                None => Ok(()),
            }
        })
    }
}

struct Judge<'v> {
    value: &'v Value,
    completed: &'v Completed,
    has_conditions: bool,
}

impl Judge<'_> {
    /// Whether no continuation mends an error.
    fn is_definite(&self, error: &ValidationError<'_>) -> bool {
        if self.is_conditional(error) {
            return false;
        }
        let pointer = error.instance_path().as_str();
        match (self.completed.openness(pointer), error.kind()) {
            (Openness::Closed, _) | (_, Rule::FalseSchema) => true,
            (_, Rule::AnyOf { context } | Rule::OneOfNotValid { context }) => {
                let fails =
                    |branch: &Vec<ValidationError<'_>>| branch.iter().any(|e| self.is_definite(e));
                !context.is_empty() && context.iter().all(fails)
            }
            (Openness::Container, kind) => self.is_definite_of_container(kind, pointer),
            (Openness::Leaf(Leaf::Unknown), _) => false,
            (Openness::Leaf(Leaf::Number), kind) => matches!(kind, Rule::Type { .. }),
            (Openness::Leaf(Leaf::String), kind) => self.is_definite_of_string(kind, pointer),
        }
    }

    fn is_definite_of_container(&self, kind: &Rule, pointer: &str) -> bool {
        match kind {
            Rule::Type { .. }
            | Rule::AdditionalProperties { .. }
            | Rule::AdditionalItems { .. }
            | Rule::MaxProperties { .. }
            | Rule::MaxItems { .. }
            | Rule::PropertyNames { .. } => true,
            Rule::UniqueItems => self.has_closed_twice(pointer),
            _ => false,
        }
    }

    fn is_definite_of_string(&self, kind: &Rule, pointer: &str) -> bool {
        let Some(begun) = self.value.pointer(pointer).and_then(Value::as_str) else {
            return false;
        };
        let leads_to = |value: &Value| value.as_str().is_some_and(|text| text.starts_with(begun));
        match kind {
            Rule::Type { .. } | Rule::MaxLength { .. } => true,
            Rule::Constant { expected_value } => !leads_to(expected_value),
            Rule::Enum { options } => {
                let options = options.as_array().map(Vec::as_slice);
                options.is_some_and(|options| !options.iter().any(leads_to))
            }
            _ => false,
        }
    }

    /// Whether two whole items of an open array are written alike.
    fn has_closed_twice(&self, pointer: &str) -> bool {
        let Some(Value::Array(items)) = self.value.pointer(pointer) else {
            return false;
        };
        let open = usize::from(self.completed.last_child_is_open(pointer));
        let closed = &items[..items.len().saturating_sub(open)];
        let mut seen = HashSet::with_capacity(closed.len());
        !closed.iter().all(|item| seen.insert(item.to_string()))
    }

    /// Whether the demand may fall away as the value goes on. The library does not say by which
    /// way it came to a keyword of ours, so where there are conditions those are all excused.
    fn is_conditional(&self, error: &ValidationError<'_>) -> bool {
        let conditional = |segment| CONDITIONAL.contains(&segment);
        let path = error.evaluation_path().as_str();
        let above = match error.kind() {
            // Its own keyword is the last segment, and says nothing but where it is itself open.
            Rule::UnevaluatedProperties { .. } | Rule::UnevaluatedItems { .. } => {
                path.rsplit_once('/').map_or("", |(above, _)| above)
            }
            Rule::Custom { .. } if self.has_conditions => return true,
            _ => path,
        };
        above.split('/').any(conditional)
    }

    /// The part of a failed alternative that was meant, where that is as certain.
    fn most_telling<'e>(&self, error: &'e ValidationError<'e>) -> &'e ValidationError<'e> {
        let inner = most_specific(error);
        if self.is_definite(inner) {
            inner
        } else {
            error
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests;
