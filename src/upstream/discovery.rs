//! Names that stand for several servers: what DNS answered in; which servers they are, and when they are asked for again
//! out. An empty answer, or none, changes nothing: the servers that were there may still be, and whoever is not there
//! any more is found out as every server is. Time is an argument.

mod resolver;

pub use resolver::{Answer, Resolver, Trouble};

use crate::config::{Config, Endpoint, Name};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::time::Instant;

/// However short DNS says that an answer holds, a name is not asked for more often.
const SHORTEST: Duration = Duration::from_secs(1);
/// However long it holds, a server that was added is there after a minute.
const LONGEST: Duration = Duration::from_secs(60);
/// Between two questions that nobody answers: at first, and at the most.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The names of a configuration, and what is known of them.
#[derive(Debug, Clone, Default)]
pub struct Names {
    resolver: Option<SocketAddr>,
    all: Vec<Known>,
}

#[derive(Debug, Clone)]
struct Known {
    name: Name,
    endpoints: Vec<Endpoint>,
    due: Instant,
    pause: Duration,
    trouble: Option<Trouble>,
}

/// A name as operators see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameStatus {
    /// The name.
    pub name: String,
    /// How many servers it stands for.
    pub servers: usize,
    /// Why these were not found in the last answer, where they were not.
    pub trouble: Option<Trouble>,
}

/// What an answer changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// Nothing.
    None,
    /// Whether there is an answer at all.
    Trouble,
    /// Which servers there are: so many came, and so many went.
    Servers {
        /// That were not there before.
        added: usize,
        /// That are not there any more.
        removed: usize,
    },
}

impl Names {
    /// Those of another configuration: what is known of a name stays known, unless somebody else is asked now.
    pub fn follow(&mut self, config: &Config, now: Instant) {
        let mut before = std::mem::take(&mut self.all);
        if self.resolver != config.resolver {
            before.clear();
        }
        self.resolver = config.resolver;
        let known = |name: Name| {
            let at = before.iter().position(|one| one.name == name);
            at.map_or_else(|| Known::new(name, now), |at| before.swap_remove(at))
        };
        self.all = config.names().into_iter().map(known).collect();
    }

    /// The DNS server that is asked, where it is not the machine's.
    #[must_use]
    pub const fn resolver(&self) -> Option<SocketAddr> {
        self.resolver
    }

    /// The servers that a name stands for, in their order.
    #[must_use]
    pub fn endpoints(&self, name: &Name) -> &[Endpoint] {
        let known = self.all.iter().find(|one| one.name == *name);
        known.map_or(&[], |one| &one.endpoints)
    }

    /// When the next of them is to be asked for.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        self.all.iter().map(|one| one.due).min()
    }

    /// Those that are to be asked for now.
    #[must_use]
    pub fn to_ask(&self, now: Instant) -> Vec<Name> {
        let due = self.all.iter().filter(|one| one.due <= now);
        due.map(|one| one.name.clone()).collect()
    }

    /// Takes what DNS said of a name.
    pub fn answered(&mut self, name: &Name, answer: Result<Answer, Trouble>, now: Instant) -> News {
        let known = self.all.iter_mut().find(|one| one.name == *name);
        // The configuration may have changed since.
        known.map_or(News::None, |one| one.answered(answer, now))
    }

    /// Nothing is asked for before a while.
    pub fn put_off(&mut self, now: Instant) {
        for one in &mut self.all {
            one.due = one.due.max(now + LONGEST_PAUSE);
        }
    }

    /// What operators are told.
    #[must_use]
    pub fn status(&self) -> Vec<NameStatus> {
        let status = |one: &Known| NameStatus {
            name: one.name.as_str().to_owned(),
            servers: one.endpoints.len(),
            trouble: one.trouble,
        };
        self.all.iter().map(status).collect()
    }
}

impl Known {
    const fn new(name: Name, now: Instant) -> Self {
        Self {
            name,
            endpoints: Vec::new(),
            due: now,
            pause: FIRST_PAUSE,
            trouble: None,
        }
    }

    fn answered(&mut self, answer: Result<Answer, Trouble>, now: Instant) -> News {
        let answer = match answer {
            Ok(answer) => answer,
            Err(trouble) => {
                self.due = now + self.pause;
                self.pause = (self.pause * 2).min(LONGEST_PAUSE);
                return match self.trouble.replace(trouble) {
                    Some(before) if before == trouble => News::None,
                    _ => News::Trouble,
                };
            }
        };
        self.due = now + answer.holds.clamp(SHORTEST, LONGEST);
        self.pause = FIRST_PAUSE;
        let was_troubled = self.trouble.take().is_some();
        let mut endpoints = answer.endpoints;
        endpoints.sort_unstable();
        endpoints.dedup();
        if endpoints == self.endpoints {
            return if was_troubled {
                News::Trouble
            } else {
                News::None
            };
        }
        let before = std::mem::replace(&mut self.endpoints, endpoints);
        let is_in = |all: &[Endpoint], one: &Endpoint| {
            let is_it = |other: &Endpoint| (other.address, other.port) == (one.address, one.port);
            all.iter().any(is_it)
        };
        let added = self.endpoints.iter().filter(|one| !is_in(&before, one));
        let removed = before.iter().filter(|one| !is_in(&self.endpoints, one));
        News::Servers {
            added: added.count(),
            removed: removed.count(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::config::UpstreamConfig;

    const SECOND: Duration = Duration::from_secs(1);

    fn name() -> Name {
        Name::Addresses("vllm".to_owned())
    }

    fn config() -> Config {
        Config {
            upstreams: vec![UpstreamConfig {
                servers: Some(name()),
                ..UpstreamConfig::at("http://vllm:8000".parse().unwrap())
            }],
            ..Config::default()
        }
    }

    fn answer(hosts: &[u8], holds: Duration) -> Result<Answer, Trouble> {
        let endpoint = |last: &u8| Endpoint {
            priority: 0,
            address: [10, 0, 0, *last].into(),
            port: None,
            weight: 1,
        };
        Ok(Answer {
            endpoints: hosts.iter().map(endpoint).collect(),
            holds,
        })
    }

    fn names() -> (Names, Instant) {
        let (mut names, now) = (Names::default(), Instant::now());
        names.follow(&config(), now);
        (names, now)
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_is_asked_for_when_its_answer_ends_within_bounds() {
        let (mut names, now) = names();
        assert_eq!(names.to_ask(now), [name()]);
        for (holds, waits) in [(0, 1), (5, 5), (86_400, 60)] {
            names.answered(&name(), answer(&[1], holds * SECOND), now);
            assert_eq!(names.due(), Some(now + waits * SECOND), "{holds}");
            assert_eq!(names.to_ask(now), []);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_order_of_an_answer_is_no_news_and_who_came_and_went_is() {
        let (mut names, now) = names();
        let servers = |added, removed| News::Servers { added, removed };
        let mut told = |hosts: &[u8]| names.answered(&name(), answer(hosts, SECOND), now);
        assert_eq!(told(&[2, 1]), servers(2, 0));
        assert_eq!(told(&[1, 2, 1]), News::None);
        assert_eq!(told(&[2, 3, 4]), servers(2, 1));
        assert_eq!(names.endpoints(&name()).len(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn without_an_answer_the_last_one_holds_and_is_said_to_be_old_once() {
        let (mut names, now) = names();
        names.answered(&name(), answer(&[1, 2], SECOND), now);
        let mut pauses = Vec::new();
        for trouble in [
            Trouble::Empty,
            Trouble::Empty,
            Trouble::Failed,
            Trouble::Timeout,
            Trouble::Timeout,
            Trouble::Timeout,
        ] {
            let before = names.status()[0].trouble;
            let news = names.answered(&name(), Err(trouble), now);
            let is_news = before != Some(trouble);
            assert_eq!(news, if is_news { News::Trouble } else { News::None });
            pauses.push((names.due().unwrap() - now).as_secs());
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 30]);
        assert_eq!(names.endpoints(&name()).len(), 2);
        assert_eq!(
            names.status(),
            [NameStatus {
                name: "vllm".to_owned(),
                servers: 2,
                trouble: Some(Trouble::Timeout),
            }]
        );
        assert_eq!(
            names.answered(&name(), answer(&[1, 2], SECOND), now),
            News::Trouble
        );
        assert_eq!(names.status()[0].trouble, None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_known_stays_through_another_configuration_unless_another_is_asked() {
        let (mut names, now) = names();
        names.answered(&name(), answer(&[1], SECOND), now);
        names.follow(&config(), now);
        assert_eq!(names.endpoints(&name()).len(), 1);
        let mut other = config();
        other.resolver = Some(([127, 0, 0, 1], 53).into());
        names.follow(&other, now);
        assert_eq!(
            (names.endpoints(&name()).len(), names.to_ask(now).len()),
            (0, 1)
        );
        names.follow(&Config::default(), now);
        assert_eq!(names.due(), None);
        assert_eq!(
            names.answered(&name(), answer(&[1], SECOND), now),
            News::None
        );
    }
}
