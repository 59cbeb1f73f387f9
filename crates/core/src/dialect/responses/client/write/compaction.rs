//! A conversation in short, which its client sends in the place of what it stands for: Codex asks for one where the context is full, and
//! expects one item and no other (openai/codex#22809).

use super::output::{Body, PartKind};
use super::told::Teller;
use super::{EventWriter, sealed};
use crate::ir::{Choice, Delta};
use serde_json::json;

impl EventWriter {
    /// Whether this is one, and no server of this wire makes it.
    pub(super) fn compacts(&self) -> bool {
        self.summary.is_some() && self.base.is_none()
    }

    /// Takes what the model says for the summary; of one that says nothing there is no item, so that nobody forgets all for it.
    pub(super) fn compact(&mut self, choice: &Choice, teller: &mut Teller<'_>) {
        let refuses = |delta: &Delta| matches!(delta, Delta::Refusal(_));
        if choice.deltas.iter().any(refuses) {
            // There will be no summary: what is said instead is told as a message.
            let said = self.summary.take().unwrap_or_default();
            self.say(PartKind::Text, &said, teller);
            self.choice(choice, teller);
            return;
        }
        for delta in &choice.deltas {
            match delta {
                Delta::Text(text) => {
                    self.summary.get_or_insert_default().push_str(text);
                }
                Delta::Finish(reason) => {
                    self.finish = Some(reason.clone());
                    let summary = self.summary.take().unwrap_or_default();
                    // Half of it is none.
                    let kept = sealed::summary(summary.trim()).filter(|_| !reason.is_cut());
                    if let Some(kept) = kept {
                        let id = format!("cmp_{}", self.seed());
                        let item =
                            json!({"type": "compaction", "id": id, "encrypted_content": kept});
                        self.open(Body::Theirs(item), teller);
                    }
                    self.close(teller);
                }
                Delta::Refusal(_)
                | Delta::Reasoning(_)
                | Delta::CallStart { .. }
                | Delta::CallInput { .. } => {}
            }
        }
    }
}
