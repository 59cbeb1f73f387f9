//! What stands in calls in the place of JSON: the format of a structural tag, as far as typed parameters need it, comes in; the
//! same as rules of a grammar goes out.

use super::gbnf::Expr;
use super::union::Builder;
use super::{GrammarFault, json as schema};
use serde_json::Value;

/// Formats one in another, which are followed.
const MAX_DEPTH: usize = 128;

/// The contents of one tool's calls.
pub(super) struct Contents<'b> {
    builder: &'b mut Builder,
    /// What the names of its rules begin with.
    owner: &'b str,
    /// Schemas that were written so far.
    schemas: usize,
    depth: usize,
}

impl<'b> Contents<'b> {
    pub(super) const fn new(builder: &'b mut Builder, owner: &'b str) -> Self {
        Self {
            builder,
            owner,
            schemas: 0,
            depth: 0,
        }
    }

    /// The texts of a format.
    ///
    /// # Errors
    /// A format of a kind that is not known here, and a schema that cannot be said in a grammar.
    pub(super) fn of(&mut self, format: &Value) -> Result<Expr, GrammarFault> {
        if self.depth > MAX_DEPTH {
            return Err(GrammarFault::unsupported("a call's format is too deep"));
        }
        self.depth += 1;
        let expr = self.format(format);
        self.depth -= 1;
        expr
    }

    fn format(&mut self, format: &Value) -> Result<Expr, GrammarFault> {
        let content = &format["content"];
        Ok(match format["type"].as_str().unwrap_or_default() {
            "const_string" => literal(&format["value"]),
            "sequence" => Expr::Sequence(self.all(&format["elements"])?),
            "or" => Expr::Choice(self.all(&format["elements"])?),
            "optional" => self.of(content)?.optional(),
            "repeat" => {
                let bound =
                    |name: &str| format[name].as_u64().and_then(|at| u32::try_from(at).ok());
                self.of(content)?
                    .repeat(bound("min").unwrap_or(0), bound("max"))
            }
            "tag" => {
                let parts = [
                    literal(&format["begin"]),
                    self.of(content)?,
                    literal(&format["end"]),
                ];
                Expr::Sequence(parts.into())
            }
            "json_schema" => {
                // How it differs is told of the whole schema.
                let lowered = schema::to_gbnf(&format["json_schema"])?;
                self.schemas += 1;
                let owner = format!("{}-{}", self.owner, self.schemas);
                self.builder.adopt(lowered.gbnf, &owner)
            }
            "any_text" => {
                let excludes = format["excludes"].as_array().into_iter().flatten();
                let excludes = excludes.filter_map(Value::as_str).map(str::to_owned);
                self.builder.text_without(excludes.collect())
            }
            other => {
                return Err(GrammarFault::unsupported(format!(
                    "the format `{other}` of a structural tag cannot be written as a grammar"
                )));
            }
        })
    }

    fn all(&mut self, formats: &Value) -> Result<Vec<Expr>, GrammarFault> {
        let formats = formats.as_array().into_iter().flatten();
        formats.map(|format| self.of(format)).collect()
    }
}

fn literal(text: &Value) -> Expr {
    Expr::Literal(text.as_str().unwrap_or_default().to_owned())
}
