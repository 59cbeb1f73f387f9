//! What a server's own error told of its launch, as a rule without what that launch left out.

use super::{ChoiceHow, ComposeHow, Rule, ShowTools};

impl Rule {
    /// The rule for a server of which this fact is known; `None` for a fact that changes nothing.
    /// The facts are those that rule files may name: see `rules/README.md`.
    #[must_use]
    pub fn knowing(&self, fact: &str) -> Option<Self> {
        let mut rule = self.clone();
        match fact {
            "no_auto_tools" => rule.retract_choices(&["auto", "allowed_auto"], ChoiceHow::Instruct),
            "no_tools" => {
                rule.retract_choices(&["auto", "allowed_auto", "none"], ChoiceHow::Instruct);
                rule.retract_choices(
                    &["required", "named", "allowed_required"],
                    ChoiceHow::Constrain,
                );
                rule.show_tools = ShowTools::SystemMessage;
            }
            "no_constraints" => {
                for constraint in rule.constraints.values_mut() {
                    constraint.native.clear();
                    constraint.send = None;
                }
                rule.compose = ComposeHow::Instruct;
            }
            _ => return None,
        }
        (rule != *self).then_some(rule)
    }

    fn retract_choices(&mut self, kinds: &[&str], how: ChoiceHow) {
        for kind in kinds {
            if let Some(choice) = self.choices.get_mut(*kind) {
                choice.how = how;
                choice.send = None;
            }
        }
    }
}
