//! The client's stop texts, where the reply is JSON or markup that it never sees as text: a text that stands
//! in that would end it unfinished.

use super::Writer;
use crate::dialect::server;
use crate::ir::{Calls, EnforcedBy, Loss, Strategy};

impl Writer<'_> {
    /// Leaves out the stop texts that could do nothing but break what is demanded, and tells it.
    pub(super) fn keep_from_stopping(&mut self, strategy: Strategy) {
        let stops = server::stop_texts(self.request.settings());
        let is_call = self.contract.calls == Calls::Required;
        let content = self.contract.content.as_ref();
        let is_json = is_call || content.is_some_and(|stated| stated.is_json());
        if stops.is_empty() || !is_json {
            return;
        }
        let (is_broken, reason): (fn(&str) -> bool, _) = match strategy {
            // Calls and nothing else, up to where they end.
            Strategy::Constrain | Strategy::Tags | Strategy::Compose | Strategy::Convert
                if is_call =>
            {
                (
                    |_| true,
                    "it would end a call within its JSON: a reply that is calls alone is no text to stop in",
                )
            }
            _ => (
                |text| text.chars().all(char::is_whitespace),
                "white space stands between the tokens of JSON: a stop text of white space alone would end it there",
            ),
        };
        let kept: Vec<String> = (stops.iter())
            .filter(|text| !is_broken(text))
            .cloned()
            .collect();
        if kept.len() < stops.len() {
            self.body.stop_at(&kept);
            self.losses.push(Loss {
                pointer: "/stop".to_owned(),
                reason: reason.to_owned(),
                enforced_by: EnforcedBy::Nobody,
            });
        }
    }
}
