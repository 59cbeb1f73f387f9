//! `max_in_flight`, `queue` and `queue_timeout` of an `[[upstream]]`: how many requests it is sent at once, and who
//! waits for it.

use super::file::Given;
use super::load::Loader;
use super::units::{Wrong, duration};
use http::HeaderName;
use std::time::Duration;

/// The queue before one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueConfig {
    /// Requests that it is sent at once; as many as come without it.
    pub max_in_flight: Option<usize>,
    /// Requests that wait for their turn; one more is refused.
    pub length: usize,
    /// How long one waits before it is refused.
    pub timeout: Duration,
}

impl QueueConfig {
    /// None: whatever comes is sent.
    pub const NONE: Self = Self {
        max_in_flight: None,
        // As many as the worker has room for.
        length: 2048,
        // Half of what OpenAI's and Anthropic's clients wait for a reply.
        timeout: Duration::from_secs(300),
    };

    /// How many may wait.
    #[must_use]
    pub const fn room(&self) -> usize {
        match self.max_in_flight {
            Some(_) => self.length,
            None => 0,
        }
    }
}

const MOST: usize = 1_000_000;
const LOWEST: i32 = -100;
const HIGHEST: i32 = 100;

/// A priority, in the file or in a request's header.
///
/// # Errors
/// What one looks like.
pub fn priority(text: &str) -> Result<i32, String> {
    let priority = text.trim().parse().ok();
    let priority = priority.filter(|priority| (LOWEST..=HIGHEST).contains(priority));
    priority.ok_or_else(|| format!("write a whole number from {LOWEST} to {HIGHEST}"))
}

/// The name of a header.
pub(super) fn header(text: &str) -> Result<HeaderName, Wrong> {
    text.trim().parse().map_err(|_| {
        let what = format!("`{text}` is no name of a header");
        Wrong::new(what, "write a name such as x-priority")
    })
}

fn count(text: &str, least: usize) -> Result<usize, Wrong> {
    let count = text.trim().parse().ok();
    let count = count.filter(|count| (least..=MOST).contains(count));
    count.ok_or_else(|| {
        let remedy = format!("write a whole number from {least} to {MOST}");
        Wrong::new(format!("`{text}` is no count of requests"), remedy)
    })
}

fn patience(text: &str) -> Result<Duration, Wrong> {
    let time = duration(text)?;
    if time.is_zero() {
        let remedy = "write a time such as 1m, or queue = \"0\" where none is to wait";
        return Err(Wrong::new("a time of 0 would refuse all who wait", remedy));
    }
    Ok(time)
}

impl Loader {
    pub(super) fn queue(&mut self, given: [Option<Given>; 3]) -> QueueConfig {
        let [max_in_flight, length, timeout] = given;
        if let (None, Some(lone)) = (&max_in_flight, length.as_ref().or(timeout.as_ref())) {
            let wrong = Wrong::new(
                "there is no queue where nothing limits what the upstream is sent",
                "write max_in_flight = 8 beside it",
            );
            self.fault(lone.place.clone(), wrong);
        }
        let none = QueueConfig::NONE;
        QueueConfig {
            max_in_flight: self.read(max_in_flight, |text| count(text, 1)),
            length: self
                .read(length, |text| count(text, 0))
                .unwrap_or(none.length),
            timeout: self.read(timeout, patience).unwrap_or(none.timeout),
        }
    }
}
