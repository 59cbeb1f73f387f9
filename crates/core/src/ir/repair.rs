//! What may be mended in a reply, and what was.

/// How much of a reply may be mended before it counts as a violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Repair {
    /// Nothing.
    Off,
    /// The JSON's syntax, and tools' names.
    Syntax,
    /// Types too, where a whole reply is there to be judged.
    #[default]
    Types,
}

/// One kind of repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RepairStep {
    /// A comma before a closing bracket was taken out.
    TrailingComma,
    /// A string between single quotes, or an escaped single quote.
    SingleQuotes,
    /// `True`, `False` or `None`.
    PythonLiteral,
    /// A comment was taken out.
    Comment,
    /// The last closing brackets were missing.
    Closers,
    /// A raw line break or tab in a string was escaped.
    LineBreak,
    /// A key without quotes.
    UnquotedKey,
    /// A number that came as a string.
    Number,
    /// `true` or `false` that came as a string.
    Boolean,
    /// A single value where a list of it is asked for.
    List,
    /// A value of an enum in other letter case.
    EnumCase,
    /// An object or array that came as a string of JSON.
    DoubleEncoded,
    /// A tool's name in other case, or with other separators.
    ToolName,
    /// A call that the server left in the text, in the model's own markup.
    Markup,
    /// Text around a code fence with the JSON in it was left out.
    Prose,
}

impl RepairStep {
    /// Every step, in the order in which they are told.
    pub const ALL: [Self; 15] = [
        Self::TrailingComma,
        Self::SingleQuotes,
        Self::PythonLiteral,
        Self::Comment,
        Self::Closers,
        Self::LineBreak,
        Self::UnquotedKey,
        Self::Number,
        Self::Boolean,
        Self::List,
        Self::EnumCase,
        Self::DoubleEncoded,
        Self::ToolName,
        Self::Markup,
        Self::Prose,
    ];

    /// The word in `x-isogloss-repairs` and in the metric's label.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TrailingComma => "trailing_comma",
            Self::SingleQuotes => "single_quotes",
            Self::PythonLiteral => "python_literal",
            Self::Comment => "comment",
            Self::Closers => "closers",
            Self::LineBreak => "line_break",
            Self::UnquotedKey => "unquoted_key",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::List => "list",
            Self::EnumCase => "enum_case",
            Self::DoubleEncoded => "double_encoded",
            Self::ToolName => "tool_name",
            Self::Markup => "markup",
            Self::Prose => "prose",
        }
    }
}

/// Which steps were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Repairs(u16);

impl Repairs {
    /// No step.
    #[must_use]
    pub const fn of_none() -> Self {
        Self(0)
    }

    /// Notes a step.
    pub const fn add(&mut self, step: RepairStep) {
        self.0 |= 1 << step as u16;
    }

    /// Notes all steps of another set.
    pub const fn join(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Whether nothing was mended.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether a step was taken.
    #[must_use]
    pub const fn has(self, step: RepairStep) -> bool {
        self.0 & 1 << step as u16 != 0
    }

    /// The steps, in their order.
    pub fn iter(self) -> impl Iterator<Item = RepairStep> {
        RepairStep::ALL
            .into_iter()
            .filter(move |step| self.has(*step))
    }
}

impl std::fmt::Display for Repairs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, step) in self.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{}", step.as_str())?;
        }
        Ok(())
    }
}
