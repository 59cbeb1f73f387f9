//! The client's stop texts: none where the reply is JSON or markup that it never sees as text, which one would end
//! unfinished, and no more than the server takes.

use super::Writer;
use crate::dialect::server;
use crate::ir::{Calls, EnforcedBy, Loss, Strategy};

impl Writer<'_> {
    /// Leaves out the stop texts that could do nothing but break what is demanded, and those that are too many, and tells it.
    pub(super) fn keep_from_stopping(&mut self, strategy: Strategy) {
        let stops = server::stop_texts(self.request.settings());
        if stops.is_empty() {
            // OpenAI refuses a list of none, and with one Ollama's models lose their own.
            if self.request.settings().is_empty_list("stop") {
                self.body.stop_at(&[]);
            }
            return;
        }
        let mut kept = stops.clone();
        let mut reason = self.spare(strategy, &mut kept);
        // Its own clients are told by the server itself what it does not take.
        if !self.body.keeps_wire() {
            // An empty one says nothing.
            kept.retain(|text| !text.is_empty());
            let most = self.rule.stops.filter(|most| *most < kept.len());
            if let Some(most) = most {
                kept.truncate(most);
                reason = Some(format!(
                    "{} takes {most} stop texts: the first are sent",
                    self.rule.title
                ));
            }
        }
        if kept.len() < stops.len() {
            self.body.stop_at(&kept);
        }
        self.losses.extend(reason.map(|reason| Loss {
            pointer: "/stop".to_owned(),
            reason,
            enforced_by: EnforcedBy::Nobody,
        }));
    }

    /// Leaves those that break nothing; why, where some do.
    fn spare(&self, strategy: Strategy, stops: &mut Vec<String>) -> Option<String> {
        let is_call = self.contract.calls == Calls::Required;
        let content = self.contract.content.as_ref();
        if !is_call && !content.is_some_and(|stated| stated.is_json()) {
            return None;
        }
        // Calls and nothing else, up to where they end.
        let is_held = match strategy {
            Strategy::Constrain | Strategy::Tags | Strategy::Compose | Strategy::Convert => true,
            Strategy::Native => self.choice_rule().is_some_and(|choice| choice.stopped),
            Strategy::Passthrough | Strategy::Instruct => false,
        };
        let before = stops.len();
        let reason = match is_call && is_held {
            true => {
                stops.clear();
                "it would end a call within its JSON: a reply that is calls alone is no text to stop in"
            }
            false => {
                stops.retain(|text| !text.chars().all(char::is_whitespace));
                "white space stands between the tokens of JSON: a stop text of white space alone would end it there"
            }
        };
        (stops.len() < before).then(|| reason.to_owned())
    }
}
