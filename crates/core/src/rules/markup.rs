//! In which markup a model writes its calls, as far as that is known, and who told it.
//!
//! Templates teach models to write calls between tokens of their own, which servers read off the text
//! only with the right launch flags. Of several who tell, the first of this order counts: the operator,
//! the server's own word, the model's chat template, the model's name.

use super::Rule;
use crate::markup::{Format, Formats};
use std::sync::Arc;

/// Who told in which markup a model writes, the most reliable first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MarkupFrom {
    /// The operator.
    Configuration,
    /// The server: which parser it was launched with.
    Server,
    /// The model's chat template.
    Template,
    /// The model's name.
    Name,
}

impl MarkupFrom {
    /// For people: `the model's name`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Configuration => "the configuration",
            Self::Server => "the server's own word",
            Self::Template => "the model's chat template",
            Self::Name => "the model's name",
        }
    }
}

/// What a server's answers told of its model's markup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkupSeen {
    /// The format's name.
    pub format: String,
    /// Who told.
    pub from: MarkupFrom,
}

/// The markup of one model's calls.
#[derive(Debug, Clone)]
pub struct Markup {
    /// How it is read and written.
    pub format: Arc<Format>,
    /// Who told.
    pub from: MarkupFrom,
}

/// What a rule knows of its server's models.
#[derive(Debug, Clone, Default)]
pub enum Markups {
    /// Nothing: a model's name alone may tell.
    #[default]
    Unknown,
    /// The operator wants no markup to be read.
    Off,
    /// This one.
    Known(Markup),
}

impl PartialEq for Markup {
    fn eq(&self, other: &Self) -> bool {
        self.from == other.from && self.format.name() == other.format.name()
    }
}

impl PartialEq for Markups {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Unknown, Self::Unknown) | (Self::Off, Self::Off) => true,
            (Self::Known(one), Self::Known(other)) => one == other,
            _ => false,
        }
    }
}

/// The formats that names are looked up in; none before a rule comes out of its set. The same set is the same
/// thing.
#[derive(Debug, Clone, Default)]
pub struct KnownFormats(Option<Arc<Formats>>);

impl KnownFormats {
    pub(super) const fn new(formats: Arc<Formats>) -> Self {
        Self(Some(formats))
    }

    fn by_name(&self, name: &str) -> Option<Arc<Format>> {
        self.0.as_ref()?.by_name(name).map(Arc::clone)
    }

    fn of_model(&self, model: &str) -> Option<Arc<Format>> {
        self.0.as_ref()?.of_model(model).map(Arc::clone)
    }
}

impl PartialEq for KnownFormats {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        }
    }
}

impl Rule {
    /// The word for [`Rule::with_markup`] that reads no markup.
    pub const NO_MARKUP: &'static str = "off";

    /// In which markup this model writes its calls; `None` where nobody knows.
    #[must_use]
    pub fn markup_of(&self, model: &str) -> Option<Markup> {
        let by_name = || {
            let format = self.formats.of_model(model)?;
            let from = MarkupFrom::Name;
            Some(Markup { format, from })
        };
        match &self.markup {
            Markups::Off => None,
            Markups::Unknown => by_name(),
            // A name that the request says is nearer than one that the server lists.
            Markups::Known(known) if known.from == MarkupFrom::Name => {
                by_name().or_else(|| Some(known.clone()))
            }
            Markups::Known(known) => Some(known.clone()),
        }
    }

    /// The rule where the operator says in which markup the model writes (a format's name), or that none is to
    /// be read ([`Rule::NO_MARKUP`]); `None` for a word that is neither.
    #[must_use]
    pub fn with_markup(mut self, word: &str) -> Option<Self> {
        let markup = if word == Self::NO_MARKUP {
            Markups::Off
        } else {
            let format = self.formats.by_name(word)?;
            let from = MarkupFrom::Configuration;
            Markups::Known(Markup { format, from })
        };
        // Who names it says that the server leaves it in the text.
        self.calls_in_text |= matches!(markup, Markups::Known(_));
        self.set_markup(&markup);
        Some(self)
    }

    /// The same where the server's answers told it.
    #[must_use]
    pub(super) fn seeing_markup(mut self, seen: &MarkupSeen) -> Self {
        if let Some(format) = self.formats.by_name(&seen.format) {
            let from = seen.from;
            self.set_markup(&Markups::Known(Markup { format, from }));
        }
        self
    }

    fn set_markup(&mut self, markup: &Markups) {
        self.markup = markup.clone();
        let reads = self.calls_in_text;
        for other in &mut self.beside {
            let other = Arc::make_mut(other);
            other.calls_in_text |= reads;
            other.set_markup(markup);
        }
    }
}
