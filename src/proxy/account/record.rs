//! What is found out of a request on its way, for the account: shared by whoever works on it.

use crate::journal::{Broken, Journal, Planned, Way, calls_word};
use crate::proxy::access::Access;
use crate::telemetry::{Outcome, UNVERIFIED};
use crate::upstream::{Pieces, Upstream};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use isogloss_core::dialect::client::Client;
use isogloss_core::error::{Error, Kind};
use isogloss_core::exchange::Exchange;
use isogloss_core::ir::{Constraint, Loss, Repairs, Strategy, Violation};
use isogloss_core::rules::Rule;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Longer lists of pointers are cut: a client can write thousands of fields.
const MAX_LOSSES_BYTES: usize = 1024;
/// Of a model's name, in traces.
const MAX_MODEL_CHARS: usize = 128;

/// What the route found out of a request, for the account; in the request's extensions.
#[derive(Debug, Clone, Default)]
pub(in crate::proxy) struct Record(Arc<Mutex<Facts>>);

#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) client: Option<&'static dyn Client>,
    pub(super) asked_bytes: u64,
    pub(super) access: Option<Arc<Access>>,
    pub(super) is_stream: bool,
    pub(super) model: Option<String>,
    pub(super) upstream: Option<String>,
    /// The name that the operator gave that.
    pub(super) upstream_name: Option<String>,
    pub(super) dialect: Option<String>,
    /// The key that the upstream is asked with is the client's own.
    is_clients_key: bool,
    pub(super) strategy: Option<Strategy>,
    /// Something is demanded that nothing verifies.
    pub(super) is_unverified: bool,
    pub(super) outcome: Option<Outcome>,
    pub(super) code: Option<&'static str>,
    /// Why the reply is no good one although it had begun.
    pub(super) fault: Option<Error>,
    pub(super) own: Duration,
    /// When the upstream was first sent something, and the proxy's own time until then.
    pub(super) sent: Option<(Instant, Duration)>,
    /// For the reply's head; gone once that is.
    pub(super) marks: HeaderMap,
    /// What was mended before the head went out.
    pub(super) repairs: Repairs,
    /// The rule and version, where a request was planned.
    pub(super) server: Option<String>,
    /// How many things the server was not told.
    pub(super) losses: usize,
    /// How often it was sent again.
    pub(super) retries: usize,
    /// The rule of the contract that a reply broke last.
    pub(super) violation: Option<String>,
    /// The prompt's tokens and the reply's, where somebody counts and the reply told them.
    pub(super) tokens: Option<(u64, u64)>,
    /// What is remembered of the request, if anything is.
    pub(super) way: Option<Box<Way>>,
}

impl Record {
    /// Of a request whose way this journal remembers.
    pub(in crate::proxy) fn of(journal: &Journal) -> Self {
        let record = Self::default();
        record.facts().way = journal.begin();
        record
    }

    /// What there is to remember of the way.
    pub(super) fn way(&self, note: impl FnOnce(&mut Way)) {
        if let Some(way) = &mut self.facts().way {
            note(way);
        }
    }

    /// The client's body.
    pub(in crate::proxy) fn asked(&self, body: &[u8]) {
        let mut facts = self.facts();
        facts.asked_bytes = body.len() as u64;
        if let Some(way) = &mut facts.way {
            way.asked(body);
        }
    }

    /// How long the client's body is, once it was read.
    pub(in crate::proxy) fn asked_bytes(&self) -> u64 {
        self.facts().asked_bytes
    }

    /// The server that is sent this, perhaps not for the first time.
    pub(in crate::proxy) fn sending(&self, upstream: &str, path: &str, body: &Pieces) {
        self.sent();
        let pieces = body.0.iter().map(|piece| &piece[..]);
        self.way(|way| way.sending(upstream, path, pieces));
    }

    /// It answers with this status.
    pub(in crate::proxy) fn answered(&self, status: StatusCode) {
        self.way(|way| way.answered(status.as_u16()));
    }

    /// It says this.
    pub(in crate::proxy) fn came(&self, bytes: &[u8]) {
        self.way(|way| way.came(bytes));
    }

    /// What it said breaks the contract.
    pub(in crate::proxy) fn broke(&self, client: &dyn Client, violation: &Violation) {
        self.facts().violation = Some(violation.rule.clone());
        self.way(|way| {
            way.broke(Broken {
                place: client.place(violation.place),
                pointer: violation.pointer.clone(),
                rule: violation.rule.clone(),
            });
        });
    }

    /// It is sent again.
    pub(in crate::proxy) fn retried(&self, why: &'static str) {
        self.facts().retries += 1;
        self.way(|way| way.retried(why));
    }

    pub(super) fn facts(&self) -> MutexGuard<'_, Facts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The request is translated for a client of this dialect.
    pub(in crate::proxy) fn client(&self, client: &'static dyn Client) {
        self.facts().client = Some(client);
    }

    /// Whose key the request has.
    pub(in crate::proxy) fn access(&self, access: &Arc<Access>) {
        self.facts().access = Some(Arc::clone(access));
    }

    /// The client with that key; `None` where anybody may ask.
    pub(in crate::proxy) fn accessing(&self) -> Option<Arc<Access>> {
        self.facts().access.clone()
    }

    /// Whether whoever asks may have this server's answers.
    pub(in crate::proxy) fn may_use(&self, upstream: &Upstream) -> bool {
        self.accessing()
            .is_none_or(|access| access.may_use(upstream))
    }

    /// Whether whoever asks may name this model.
    ///
    /// # Errors
    /// It may not.
    pub(in crate::proxy) fn check_model(&self, model: &str) -> Result<(), Error> {
        self.accessing()
            .map_or(Ok(()), |access| access.check_model(model))
    }

    /// The reply is streamed.
    pub(in crate::proxy) fn stream(&self) {
        self.facts().is_stream = true;
    }

    /// The model that the client names, for traces, the console and the log.
    pub(in crate::proxy) fn model(&self, name: &str) {
        let name = name.chars().filter(|letter| !letter.is_control());
        self.facts().model = Some(name.take(MAX_MODEL_CHARS).collect());
    }

    /// The server that gets the request.
    pub(in crate::proxy) fn upstream(&self, upstream: &Upstream) {
        let mut facts = self.facts();
        facts.upstream = Some(upstream.name().to_owned());
        facts.upstream_name = upstream.given_name().map(str::to_owned);
        facts.is_clients_key = !upstream.has_key();
    }

    /// Which of several servers answers, and for which model where that is not the client's word.
    pub(in crate::proxy) fn answered_by(&self, label: &str, model: Option<&str>) {
        let text = match model {
            Some(model) => format!("{label}; model={model}"),
            None => label.to_owned(),
        };
        self.facts().mark("x-isogloss-upstream", &text);
    }

    /// The server is about to be sent the request, perhaps not for the first time.
    pub(in crate::proxy) fn sent(&self) {
        let mut facts = self.facts();
        let own = facts.own;
        facts.sent.get_or_insert_with(|| (Instant::now(), own));
    }

    /// How the demand is met.
    pub(in crate::proxy) fn planned(&self, rule: &Rule, exchange: &Exchange) {
        let mut facts = self.facts();
        let (strategy, losses) = (exchange.strategy, &exchange.losses);
        facts.strategy = Some(strategy);
        facts.dialect = Some(rule.dialect.clone());
        facts.mark("x-isogloss-strategy", strategy.as_str());
        let label = rule.label();
        facts.mark("x-isogloss-dialect", &label);
        if let Some(way) = &mut facts.way {
            let contract = &exchange.demand.contract;
            let planned = Planned {
                calls: calls_word(contract.calls),
                tools: contract.tools.len(),
                content: contract.content.as_ref().map(Constraint::kind),
                rewrap: exchange.plan.rewrap.as_str(),
            };
            way.planned(planned, losses);
        }
        facts.server = Some(label);
        facts.losses = losses.len();
        if losses.is_empty() {
            facts.marks.remove("x-isogloss-losses");
        } else {
            facts.mark("x-isogloss-losses", &losses_text(losses));
        }
    }

    /// The request demands something that nothing verifies, and is forwarded all the same.
    pub(in crate::proxy) fn unverified(&self) {
        let mut facts = self.facts();
        facts.is_unverified = true;
        facts.mark("x-isogloss-strategy", UNVERIFIED);
    }

    /// The reply told how many tokens the prompt had, and how many it has.
    pub(in crate::proxy) fn took(&self, tokens: (u64, u64)) {
        self.facts().tokens = (tokens != (0, 0)).then_some(tokens);
    }

    /// Whether a prompt's tokens were counted, or estimated.
    pub(in crate::proxy) fn tokens(&self, how: &str) {
        self.facts().mark("x-isogloss-tokens", how);
    }

    /// The reply breaks this rule of the contract and goes out all the same.
    pub(in crate::proxy) fn passed(&self, rule: &str) {
        let mut facts = self.facts();
        facts.outcome = Some(Outcome::Passed);
        facts.violation = Some(rule.to_owned());
        facts.mark("x-isogloss-violation", rule);
    }

    /// What was mended in the reply, as far as that is known before its head goes out.
    pub(in crate::proxy) fn repaired(&self, repairs: Repairs) {
        if !repairs.is_empty() {
            let mut facts = self.facts();
            facts.repairs = repairs;
            facts.mark("x-isogloss-repairs", &repairs.to_string());
        }
    }

    /// What the worker says of answers that it brought to their end in time, or of which it did not know whether it can.
    pub(in crate::proxy) fn steered(&self, headers: &HeaderMap) {
        for name in ["x-isogloss-steered", "x-isogloss-unplanned"] {
            let said = headers.get(name).and_then(|value| value.to_str().ok());
            if let Some(said) = said {
                self.facts().mark(name, said);
            }
        }
    }

    /// The reply ended with an error after it had begun.
    pub(in crate::proxy) fn failed(&self, error: &Error) {
        let mut facts = self.facts();
        facts.outcome = Some(facts.outcome_of(error.kind));
        facts.code = Some(error.kind.code());
        facts.fault = Some(error.clone());
    }

    /// What went wrong after the reply had begun.
    pub(in crate::proxy) fn fault(&self) -> Option<Error> {
        self.facts().fault.clone()
    }

    /// How the reply ended, as far as the route knows.
    #[cfg(test)]
    pub(in crate::proxy) fn outcome(&self) -> Option<Outcome> {
        self.facts().outcome
    }

    /// The proxy itself worked on the request for so long.
    pub(in crate::proxy) fn own(&self, time: Duration) {
        self.facts().own += time;
    }

    /// How long ago the first byte went upstream.
    pub(in crate::proxy) fn waited(&self) -> Duration {
        let sent = self.facts().sent;
        sent.map_or(Duration::ZERO, |(sent, _)| sent.elapsed())
    }
}

impl Facts {
    /// What a failure of this kind counts as: whoever shows a key of their own that is refused can mend it.
    pub(super) fn outcome_of(&self, kind: Kind) -> Outcome {
        match kind {
            Kind::UpstreamAuth if self.is_clients_key => Outcome::ClientError,
            kind => Outcome::from(kind),
        }
    }

    /// The time since the first byte went upstream, less the proxy's own.
    pub(super) fn upstream_time(&self) -> Option<Duration> {
        let (sent, own_before) = self.sent?;
        let own_since = self.own.saturating_sub(own_before);
        Some(sent.elapsed().saturating_sub(own_since))
    }

    pub(super) fn strategy(&self) -> Option<&'static str> {
        let planned = self.strategy.map(Strategy::as_str);
        planned.or(self.is_unverified.then_some(UNVERIFIED))
    }

    fn mark(&mut self, name: &'static str, value: &str) {
        let value = match value.chars().all(|letter| letter == printable(letter)) {
            true => Cow::Borrowed(value),
            false => value.chars().map(printable).collect(),
        };
        if let Ok(value) = HeaderValue::from_str(&value) {
            self.marks.insert(HeaderName::from_static(name), value);
        }
    }
}

/// Pointers hold the client's own field names: what no header may have becomes `?`.
const fn printable(letter: char) -> char {
    if letter.is_ascii_graphic() || letter == ' ' {
        letter
    } else {
        '?'
    }
}

/// The count, and as many pointers as fit.
fn losses_text(losses: &[Loss]) -> String {
    let mut text = losses.len().to_string();
    for (index, loss) in losses.iter().enumerate() {
        if text.len() + 2 + loss.pointer.len() > MAX_LOSSES_BYTES {
            break;
        }
        text.push_str(if index == 0 { "; " } else { ", " });
        text.push_str(&loss.pointer);
    }
    text
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use isogloss_core::ir::EnforcedBy;

    fn loss(pointer: &str) -> Loss {
        Loss {
            pointer: pointer.to_owned(),
            reason: String::new(),
            enforced_by: EnforcedBy::Nobody,
        }
    }

    #[test]
    fn the_losses_header_is_bounded_and_printable() {
        assert_eq!(losses_text(&[loss("/a"), loss("/b/c")]), "2; /a, /b/c");
        let many: Vec<_> = (0..500)
            .map(|index| loss(&format!("/field{index}")))
            .collect();
        let text = losses_text(&many);
        assert!(text.starts_with("500; /field0, "));
        assert!(text.len() <= MAX_LOSSES_BYTES);
        let mut facts = Facts::default();
        facts.mark("x-isogloss-losses", "1; /ä\r\nx");
        assert_eq!(facts.marks.get("x-isogloss-losses").unwrap(), "1; /???x");
    }
}
