//! How a kind of constraint reaches a server: directly, as another kind, or not at all.

use super::{ConstraintRule, Rule, TagShape, TextUnion};

/// The way of one constraint to one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// The server enforces the client's own spelling; nothing is changed.
    Native,
    /// The kind's own template is merged.
    Send,
    /// Written anew as this kind, whose template is merged.
    Convert(&'static str),
    /// The server is not told; it is asked in the prompt, and the proxy verifies.
    Instruct,
    /// Neither the server nor the proxy can make sure of it.
    Refuse,
}

/// What each kind can be written as; best first. Going to a regex first keeps the constraint
/// readable in the server's log, and automata are cheaper than grammars. GBNF comes before Lark:
/// it says no more than its characters, where each reader of Lark splits texts in its own way.
fn conversions(kind: &str) -> &'static [&'static str] {
    match kind {
        "json_schema" => &["grammar:gbnf", "grammar:lark"],
        "json_object" => &["json_schema", "grammar:gbnf", "grammar:lark"],
        "choice" => &["regex", "grammar:gbnf", "grammar:lark"],
        "regex" => &["grammar:gbnf", "grammar:lark"],
        // A regex only of those that are not recursive.
        "grammar:lark" => &["grammar:gbnf", "regex"],
        "grammar:gbnf" => &["grammar:lark", "regex"],
        _ => &[],
    }
}

impl Rule {
    /// How a constraint of this kind reaches the server, given how the client spelled it.
    #[must_use]
    pub fn route(&self, kind: &str, spelling: Option<&str>) -> Route {
        let own = self.constraints.get(kind);
        let is_native = |rule: &ConstraintRule| {
            spelling.is_some_and(|spelling| rule.native.iter().any(|known| known == spelling))
        };
        if own.is_some_and(is_native) {
            return Route::Native;
        }
        if self.sends(kind) {
            return Route::Send;
        }
        let mut targets = conversions(kind).iter();
        let target = targets.find(|target| self.sends(target) && !self.needs_more(kind, target));
        match target {
            Some(target) => Route::Convert(target),
            // There is no matcher for structural tags here: what nobody enforces is not promised.
            None if kind == "structural_tag" => Route::Refuse,
            None => Route::Instruct,
        }
    }

    /// Whether the server takes no schema that says as little as that of any object.
    fn needs_more(&self, kind: &str, target: &str) -> bool {
        kind == "json_object"
            && target == "json_schema"
            && self.schema.needs.iter().any(|keyword| keyword != "type")
    }

    /// What free text with calls between tags is sent as: the first kind of these that the rule
    /// has words for.
    #[must_use]
    pub fn tags(&self) -> Option<&'static str> {
        const KINDS: [&str; 3] = ["structural_tag", "grammar:gbnf", "grammar:lark"];
        KINDS.into_iter().find(|kind| self.sends(kind))
    }

    /// Whether structural tags of the shape `format` can be sent, which say more than free text with calls in it.
    #[must_use]
    pub fn takes_formats(&self) -> bool {
        let known = self.constraints.get("structural_tag");
        let is_shape = known.is_some_and(|known| known.shape == TagShape::Format);
        let takes = is_shape || self.text_unions.contains(&TextUnion::Tag);
        takes && self.sends("structural_tag")
    }

    /// Whether the rule has words of its own for this kind.
    #[must_use]
    pub fn sends(&self, kind: &str) -> bool {
        self.constraints
            .get(kind)
            .is_some_and(|rule| rule.send.is_some())
    }
}
