//! What is known of a server: observations in, whether and how it can be used out.

use super::Why;
use super::models::Models;
use isogloss_core::error::{Error, Kind};
use isogloss_core::probe::Report;
use isogloss_core::rules::{Identity, Rule};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

/// Seconds that a client is told to wait: the longest pause between two looks at a server.
pub(super) const RETRY_AFTER: u64 = 5;

/// A server that went down may be back sooner than a client could have asked again.
const MOMENT: Duration = Duration::from_millis(800);

/// A moment, for waiting and for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Since {
    monotonic: Instant,
    wall: SystemTime,
}

impl Since {
    fn now() -> Self {
        Self {
            monotonic: Instant::now(),
            wall: SystemTime::now(),
        }
    }
}

/// What is known of a server.
#[derive(Debug, Clone)]
pub enum State {
    /// Nothing yet: it is being looked at.
    Unknown {
        /// When that began.
        since: Since,
    },
    /// It is there, but it has no model ready.
    Loading {
        /// When that was first seen.
        since: Since,
        /// How far it is.
        stage: Loading,
    },
    /// It can be used.
    Ready {
        /// When it was identified.
        since: Since,
        /// Who it is.
        identity: Identity,
        /// Its rule.
        rule: Arc<Rule>,
        /// What was found out of its models.
        models: Models,
    },
    /// It cannot be reached.
    Down {
        /// When that was first seen.
        since: Since,
        /// Why.
        why: Why,
    },
    /// It is there, and no rule fits it.
    NoRule {
        /// When that was found.
        since: Since,
        /// Which rule is missing.
        message: String,
    },
}

/// How far a server without a model is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loading {
    /// It does not say.
    Unsaid,
    /// So many percent of its model are loaded.
    Percent(u8),
    /// It died, and is started again.
    Restarting,
}

/// What operators are told of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Scheme, authority and base path, without credentials.
    pub url: String,
    /// `unknown`, `loading`, `ready`, `down` or `no_rule`.
    pub state: &'static str,
    /// The rule's label (`vllm@0.12.0`), where one is known.
    pub dialect: Option<String>,
    /// Why it cannot be used, where it cannot.
    pub reason: Option<String>,
    /// Since when.
    pub since: SystemTime,
}

impl State {
    pub(super) fn unknown() -> Self {
        Self::Unknown {
            since: Since::now(),
        }
    }

    pub(super) fn loading() -> Self {
        Self::Loading {
            since: Since::now(),
            stage: Loading::Unsaid,
        }
    }

    pub(super) fn restarting() -> Self {
        Self::Loading {
            since: Since::now(),
            stage: Loading::Restarting,
        }
    }

    /// So much of the model is loaded, from 0 to 1.
    pub(super) fn loads(&mut self, share: f32) {
        if let Self::Loading { stage, .. } = self {
            // From 0 to 100, whatever the share is.
            *stage = Loading::Percent((share.clamp(0.0, 1.0) * 100.0) as u8);
        }
    }

    pub(super) fn ready(identity: Identity, rule: Rule) -> Self {
        Self::Ready {
            since: Since::now(),
            identity,
            rule: Arc::new(rule),
            models: Models::default(),
        }
    }

    pub(super) fn down(why: Why) -> Self {
        Self::Down {
            since: Since::now(),
            why,
        }
    }

    pub(super) fn no_rule(dialect: &str) -> Self {
        Self::NoRule {
            since: Since::now(),
            message: format!("there is no rule file for the dialect {dialect}"),
        }
    }

    pub(super) const fn rule(&self) -> Option<&Arc<Rule>> {
        match self {
            Self::Ready { rule, .. } => Some(rule),
            _ => None,
        }
    }

    /// The rule of one of its models, as far as it is certain.
    pub(super) fn certain_rule_of(&self, model: &str) -> Option<&Arc<Rule>> {
        match self {
            Self::Ready { rule, models, .. } => Some(models.rule(model).unwrap_or(rule)),
            _ => None,
        }
    }

    /// The rule by which one of its models is asked now.
    pub(super) fn rule_of(&self, model: &str) -> Option<&Arc<Rule>> {
        match self {
            Self::Ready { rule, models, .. } => {
                Some(models.rule_at(model, Instant::now()).unwrap_or(rule))
            }
            _ => None,
        }
    }

    pub(super) fn report_of(&self, model: &str) -> Option<&Arc<Report>> {
        match self {
            Self::Ready { models, .. } => models.report(model),
            _ => None,
        }
    }

    pub(super) fn reports(&self) -> Vec<Arc<Report>> {
        match self {
            Self::Ready { models, .. } => models.reports().cloned().collect(),
            _ => Vec::new(),
        }
    }

    const fn name(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "unknown",
            Self::Loading { .. } => "loading",
            Self::Ready { .. } => "ready",
            Self::Down { .. } => "down",
            Self::NoRule { .. } => "no_rule",
        }
    }

    const fn since(&self) -> Since {
        match self {
            Self::Unknown { since }
            | Self::Loading { since, .. }
            | Self::Ready { since, .. }
            | Self::Down { since, .. }
            | Self::NoRule { since, .. } => *since,
        }
    }

    fn reason(&self) -> Option<Cow<'_, str>> {
        let reason = match self {
            Self::Ready { .. } => return None,
            Self::Unknown { .. } => "it is still being identified",
            Self::Loading { stage, .. } => match stage {
                Loading::Unsaid => "it has no model ready",
                Loading::Percent(share) => {
                    return Some(format!("it has loaded {share} % of its model").into());
                }
                Loading::Restarting => "it ended, and is being started again",
            },
            Self::Down { why, .. } => why.as_str(),
            Self::NoRule { message, .. } => message,
        };
        Some(Cow::Borrowed(reason))
    }

    /// Whether replacing this state would tell nobody anything.
    pub(super) fn says_the_same(&self, next: &Self) -> bool {
        match (self, next) {
            (Self::Unknown { .. }, Self::Unknown { .. }) => true,
            (Self::Loading { stage, .. }, Self::Loading { stage: next, .. }) => stage == next,
            (Self::Ready { identity, .. }, Self::Ready { identity: next, .. }) => identity == next,
            (Self::Down { why, .. }, Self::Down { why: next, .. }) => why == next,
            (Self::NoRule { message, .. }, Self::NoRule { message: next, .. }) => message == next,
            _ => false,
        }
    }

    /// Until when a request that came at `arrived` waits for this server. One that went down, of
    /// which nothing says that it is starting, is given a moment once, from when it went down;
    /// after that requests fail at once.
    pub(super) fn worth_waiting(&self, arrived: Instant, loading: Duration) -> Option<Instant> {
        let deadline = match self {
            Self::Unknown { .. } | Self::Loading { .. } => arrived + loading,
            Self::Down { since, why } if why.may_pass() => since.monotonic + loading.min(MOMENT),
            Self::Ready { .. } | Self::Down { .. } | Self::NoRule { .. } => return None,
        };
        (deadline > Instant::now()).then_some(deadline)
    }

    /// What a request is told that cannot be served.
    pub(super) fn refusal(&self) -> Error {
        let reason = self.reason().unwrap_or("it is being looked at".into());
        match self {
            Self::Down { why, .. } => why.to_error(),
            Self::NoRule { .. } => Error::new(
                Kind::UpstreamUnreachable,
                format!("the upstream cannot be used: {reason}"),
            ),
            Self::Unknown { .. } | Self::Loading { .. } | Self::Ready { .. } => Error::new(
                Kind::ModelLoading,
                format!("the upstream is not ready: {reason}; try again in a few seconds"),
            )
            .retry_after(RETRY_AFTER),
        }
    }

    /// One line a change. It belongs to no request, though one may have noticed.
    pub(super) fn log(&self, upstream: &str, name: Option<&str>) {
        let state = self.name();
        match self {
            Self::Ready { rule, .. } => {
                tracing::info!(parent: None, upstream, name, state, dialect = rule.label(), "upstream is ready");
            }
            Self::Unknown { .. } | Self::Loading { .. } => {
                tracing::info!(parent: None,
                    upstream,
                    name,
                    state,
                    reason = self.reason().as_deref(),
                    "upstream is not ready"
                );
            }
            Self::Down { .. } | Self::NoRule { .. } => {
                tracing::warn!(parent: None,
                    upstream,
                    name,
                    state,
                    reason = self.reason().as_deref(),
                    "upstream cannot be used"
                );
            }
        }
    }

    pub(super) fn status(&self, url: &str) -> Status {
        Status {
            url: url.to_owned(),
            state: self.name(),
            dialect: self.rule().map(|rule| rule.label()),
            reason: self.reason().map(Cow::into_owned),
            since: self.since().wall,
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::upstream::failure::Handshake;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_loading_server_is_waited_for_by_every_request() {
        let state = State::loading();
        tokio::time::advance(100 * SECOND).await;
        let now = Instant::now();
        assert_eq!(state.worth_waiting(now, SECOND), Some(now + SECOND));
        assert_eq!(state.refusal().kind, Kind::ModelLoading);
        assert_eq!(state.refusal().retry_after, Some(RETRY_AFTER));
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_is_down_is_given_less_than_a_second() {
        let state = State::down(Why::Refused);
        let long = 10 * SECOND;
        let deadline = state.worth_waiting(Instant::now(), long);
        assert!(deadline.is_some_and(|until| until < Instant::now() + SECOND));
        tokio::time::advance(SECOND).await;
        assert_eq!(state.worth_waiting(Instant::now(), long), None);
        assert_eq!(state.refusal().status(), 502);
    }

    #[tokio::test]
    async fn a_wrong_host_name_or_certificate_is_not_waited_for() {
        for why in [Why::Dns, Why::Tls(Handshake::Other)] {
            let state = State::down(why);
            assert_eq!(state.worth_waiting(Instant::now(), SECOND), None);
        }
    }

    #[tokio::test]
    async fn the_same_news_twice_is_no_change() {
        assert!(State::down(Why::Dns).says_the_same(&State::down(Why::Dns)));
        assert!(!State::down(Why::Dns).says_the_same(&State::down(Why::Refused)));
        assert!(!State::loading().says_the_same(&State::unknown()));
    }

    #[tokio::test]
    async fn how_far_loading_is_shows_in_the_reason() {
        let mut state = State::loading();
        let reason = |state: &State| state.status("worker").reason.unwrap();
        assert_eq!(reason(&state), "it has no model ready");
        for (share, percent) in [(0.426, 42), (7.0, 100), (f32::NAN, 0)] {
            state.loads(share);
            let expected = format!("it has loaded {percent} % of its model");
            assert_eq!(reason(&state), expected);
        }
        assert!(!State::restarting().says_the_same(&state));
        assert_eq!(State::restarting().refusal().kind, Kind::ModelLoading);
    }
}
