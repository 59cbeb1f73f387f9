//! What each demand comes to on one server: a rule in, a strategy for each demand out.

use isogloss_core::rules::{ChoiceHow, ComposeHow, Route, Rule};
use serde_json::{Value, json};

/// One demand, and how it will be met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Demand {
    /// `tool_choice` or `constraint` or `tools_and_constraint`.
    pub(super) group: &'static str,
    /// `required`, `json_schema`, …
    pub(super) name: String,
    /// A strategy's name, or `refuse`.
    pub(super) strategy: &'static str,
}

const CONSTRAINTS: [&str; 7] = [
    "json_schema",
    "json_object",
    "regex",
    "choice",
    "grammar:gbnf",
    "grammar:lark",
    "structural_tag",
];

/// The choices under which a model need not call.
const FREE: [&str; 2] = ["auto", "allowed_auto"];

/// Every demand on this server.
pub(super) fn demands(rule: &Rule) -> Vec<Demand> {
    let choices = rule.choices.iter().map(|(name, choice)| Demand {
        group: "tool_choice",
        name: name.clone(),
        strategy: match choice.how {
            ChoiceHow::Native => "native",
            ChoiceHow::Constrain => "constrain",
            ChoiceHow::Tags if FREE.contains(&name.as_str()) => "compose",
            ChoiceHow::Tags => "tags",
            ChoiceHow::Instruct => "instruct",
        },
    });
    let constraints = CONSTRAINTS.iter().map(|kind| Demand {
        group: "constraint",
        name: (*kind).to_owned(),
        strategy: route_word(rule.route(kind, None)),
    });
    let compose = Demand {
        group: "tools_and_constraint",
        name: "auto".to_owned(),
        strategy: match rule.compose {
            ComposeHow::Native => "native",
            ComposeHow::Union => "compose",
            ComposeHow::Instruct => "instruct",
        },
    };
    choices.chain(constraints).chain([compose]).collect()
}

/// What a constraint's route is called.
pub(super) const fn route_word(route: Route) -> &'static str {
    match route {
        Route::Native | Route::Send => "native",
        Route::Convert(_) => "convert",
        Route::Instruct => "instruct",
        Route::Refuse => "refuse",
    }
}

/// The same as JSON, by group and name.
pub(super) fn demands_json(rule: &Rule) -> Value {
    let mut groups = json!({});
    for demand in demands(rule) {
        groups[demand.group][demand.name.as_str()] = json!(demand.strategy);
    }
    groups
}
