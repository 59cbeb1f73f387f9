//! What llama.cpp says while it loads goes to the log, under the target `llama`, and its last error
//! to the caller: its functions return nothing but a null pointer.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};

/// The target of the events that the binding makes of llama.cpp's lines.
const BINDING: &str = "llama-cpp-2";

/// Lines that are kept, and characters of each: a file's metadata are among them.
const MAX_LINES: usize = 4_096;
const MAX_LINE_CHARS: usize = 512;

/// Lines in the order that they came.
#[derive(Debug, Clone)]
pub(crate) struct Lines {
    shared: Arc<Mutex<Vec<(Level, String)>>>,
    /// Where events of others go: those of a progress callback, for one.
    outer: Dispatch,
}

impl Lines {
    /// Runs native code on this thread, and keeps what it says.
    pub(crate) fn of<T>(run: impl FnOnce() -> T) -> (T, Self) {
        let lines = Self {
            shared: Arc::default(),
            outer: tracing::dispatcher::get_default(Clone::clone),
        };
        let result = tracing::subscriber::with_default(lines.clone(), run);
        for (level, line) in lines.all() {
            if level <= Level::WARN {
                tracing::warn!(target: "llama", "{line}");
            } else {
                tracing::debug!(target: "llama", "{line}");
            }
        }
        (result, lines)
    }

    fn all(&self) -> Vec<(Level, String)> {
        self.shared
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The errors, most telling first: the one that names its cause comes before those of its
    /// callers.
    pub(crate) fn error(&self) -> String {
        let all = self.all();
        let mut errors = all
            .iter()
            .filter(|(level, _)| *level == Level::ERROR)
            .map(|(_, line)| line.trim());
        match errors.next() {
            Some(first) => first.to_owned(),
            None => "it does not say why".to_owned(),
        }
    }

    /// What stands after some text in the first line that has it.
    pub(crate) fn after(&self, text: &str) -> Option<String> {
        self.all().iter().find_map(|(_, line)| {
            line.split_once(text)
                .map(|(_, after)| after.trim().to_owned())
        })
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        match metadata.target() {
            BINDING => *metadata.level() <= Level::INFO,
            _ => metadata.is_event() && self.outer.enabled(metadata),
        }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        if event.metadata().target() != BINDING {
            self.outer.event(event);
            return;
        }
        let mut message = Message(String::new());
        event.record(&mut message);
        let mut lines = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() < MAX_LINES {
            let line: String = message
                .0
                .chars()
                .filter(|c| !c.is_control())
                .take(MAX_LINE_CHARS)
                .collect();
            lines.push((*event.metadata().level(), line));
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The text of an event.
struct Message(String);

impl Visit for Message {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            value.clone_into(&mut self.0);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}
