//! What a server's own replies proved, as a rule that goes by it: a probed fact beats the rule's
//! word. Only downwards: what a server is found to enforce where the rule has no way is left as it is.

use super::facts::FREE;
use super::{ChoiceHow, ChoiceRule, ComposeHow, Moved, Route, Rule, ShowTools};
use std::sync::Arc;

/// What a server was asked to enforce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probed {
    /// A constraint on content.
    Constraint {
        /// As [`crate::ir::Constraint::kind`] says it.
        kind: String,
        /// The client's own spelling, left as it is; `None` for the rule's.
        spelling: Option<String>,
    },
    /// A tool choice, as [`crate::ir::ToolChoice::kind`] says it.
    Choice(String),
    /// To show the model its tools while its content is constrained.
    ShowTools,
    /// Tools under `auto` beside a constraint on the answer.
    Compose,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The reply is the only lawful one, and an unlikely one.
    Enforced,
    /// The reply is another, with a status of success.
    Ignored,
    /// The server answered with an error; its message.
    Refused(String),
    /// Nothing can be said; why.
    Unclear(String),
}

/// One thing that was asked, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What was asked.
    pub probed: Probed,
    /// The fields that it was asked with, for a person.
    pub words: String,
    /// As a stream.
    pub streamed: bool,
    /// What came of it.
    pub verdict: Verdict,
    /// What the refusal told of the server's launch ([`super::LaunchRule::fact`]).
    pub fact: Option<String>,
}

impl Probed {
    /// The name in metrics and tables, of a closed set: a constraint's kind, a tool choice's kind,
    /// `show_tools` or `compose`.
    #[must_use]
    pub fn demand(&self) -> &str {
        match self {
            Self::Constraint { kind, .. } => kind,
            Self::Choice(choice) => choice,
            Self::ShowTools => "show_tools",
            Self::Compose => "compose",
        }
    }
}

impl Verdict {
    /// Each verdict's word, in the order of [`Verdict::rank`].
    pub const WORDS: [&'static str; 4] = ["enforced", "unclear", "ignored", "refused"];

    /// The word.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        Self::WORDS[self.rank()]
    }

    /// Of several verdicts on one demand the highest one counts.
    #[must_use]
    pub const fn rank(&self) -> usize {
        match self {
            Self::Enforced => 0,
            Self::Unclear(_) => 1,
            Self::Ignored => 2,
            Self::Refused(_) => 3,
        }
    }

    /// Why, where there is more to say than the word.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Enforced | Self::Ignored => None,
            Self::Refused(reason) | Self::Unclear(reason) => Some(reason),
        }
    }

    /// Whether the server was caught not doing it.
    const fn is_broken(&self) -> bool {
        matches!(self, Self::Ignored | Self::Refused(_))
    }
}

impl Rule {
    /// The rule for a server of which this was found out.
    #[must_use]
    pub fn probed(&self, findings: &[Finding]) -> Self {
        let mut rule = self.clone();
        for fact in findings.iter().filter_map(|found| found.fact.as_deref()) {
            rule = rule.knowing(fact).unwrap_or(rule);
        }
        rule.probe_beside(findings);
        let broken = || findings.iter().filter(|found| found.verdict.is_broken());
        for found in broken() {
            match &found.probed {
                Probed::Constraint { kind, spelling } => {
                    rule.retract_constraint(kind, spelling.as_deref(), findings);
                }
                Probed::Choice(_) | Probed::ShowTools | Probed::Compose => {}
            }
        }
        rule.untag();
        // With no JSON Schema there is nothing to constrain a call with.
        let forces = |rule: &Self| {
            !matches!(
                rule.route("json_schema", None),
                Route::Instruct | Route::Refuse
            )
        };
        for found in broken() {
            match &found.probed {
                Probed::Choice(choice) if choice == "auto" => rule.retract_free(),
                Probed::Choice(choice) => rule.retract_forced(choice),
                Probed::ShowTools => rule.show_tools = ShowTools::SystemMessage,
                Probed::Compose if forces(&rule) => rule.compose_alone(),
                Probed::Compose => rule.compose = ComposeHow::Instruct,
                Probed::Constraint { .. } => {}
            }
        }
        if !forces(&rule) && forces(self) {
            // What was not asked about is no better than what was.
            let is_tag = |found: &Finding| {
                let is_it = |kind: &str| kind == "structural_tag" || kind.starts_with("grammar:");
                matches!(&found.probed, Probed::Constraint { kind, .. } if is_it(kind))
                    && found.verdict == Verdict::Enforced
            };
            let tags = findings.iter().any(is_tag);
            for (kind, choice) in &mut rule.choices {
                let is_tagged = choice.how == ChoiceHow::Tags && !FREE.contains(&kind.as_str());
                if choice.how == ChoiceHow::Constrain || is_tagged && !tags {
                    choice.how = ChoiceHow::Instruct;
                }
            }
            rule.compose = ComposeHow::Instruct;
        }
        rule
    }

    /// What is asked on the server's other route was asked there.
    fn probe_beside(&mut self, findings: &[Finding]) {
        let Some(moved) = self.moved else {
            return;
        };
        let is_there = |found: &&Finding| {
            moved == Moved::All || !matches!(found.probed, Probed::Constraint { .. })
        };
        let there: Vec<Finding> = findings.iter().filter(is_there).cloned().collect();
        if let Some(other) = self.responses_beside() {
            let probed = Arc::new(other.probed(&there));
            let is_it = |rule: &&mut Arc<Self>| rule.server == probed.server;
            if let Some(other) = self.beside.iter_mut().find(is_it) {
                *other = Arc::clone(&probed);
            }
        }
    }

    /// A spelling that was asked on its own goes alone; where the rule's own words are not
    /// enforced, only those spellings stay that were found to be.
    fn retract_constraint(&mut self, kind: &str, spelling: Option<&str>, findings: &[Finding]) {
        let Some(constraint) = self.constraints.get_mut(kind) else {
            return;
        };
        if let Some(spelling) = spelling {
            constraint.native.retain(|native| native != spelling);
            return;
        }
        let is_proven = |native: &String| {
            findings.iter().any(|found| {
                found.verdict == Verdict::Enforced
                    && matches!(&found.probed, Probed::Constraint { kind: its, spelling: Some(spelling) }
                        if its == kind && spelling == native)
            })
        };
        constraint.native.retain(is_proven);
        constraint.send = None;
        constraint.reason = Some("the server was asked, and does not enforce it".to_owned());
    }

    /// The server leaves calls in the text: they are read here.
    fn retract_free(&mut self) {
        let is_native = |rule: &ChoiceRule| rule.how == ChoiceHow::Native;
        if self.choices.get("auto").is_some_and(is_native) {
            self.read_calls_here();
        }
    }

    /// Beside tools the server keeps to no constraint: they are shown in the prompt, so that the
    /// constraint stands alone. Where they were, nothing is left but the prompt.
    fn compose_alone(&mut self) {
        self.compose = match (self.compose, self.show_tools) {
            (ComposeHow::Union, ShowTools::SystemMessage) => ComposeHow::Instruct,
            _ => ComposeHow::Union,
        };
        self.show_tools = ShowTools::SystemMessage;
    }

    /// The choice, and the `allowed_tools` that are sent as one of those.
    fn retract_forced(&mut self, choice: &str) {
        let kinds: &[&str] = match choice {
            "required" => &["required", "allowed_required"],
            other => &[other],
        };
        for kind in kinds {
            if let Some(rule) = self.choices.get_mut(*kind)
                && rule.how == ChoiceHow::Native
            {
                rule.how = rule.otherwise;
                rule.send = None;
                rule.reason = Some("the server was asked, and does not enforce it".to_owned());
            }
        }
    }
}
