//! Calls of custom tools by a server that was shown them as functions: their text is the only argument.

use super::Rewrapper;
use crate::ir::{CallKind, Delta, Place, Plan, Rewrap, Violation};
use crate::json::string::StringReader;

/// More than this does not stand before the text.
const MAX_BEFORE_BYTES: usize = 1 << 10;
const BLANK: [char; 4] = [' ', '\t', '\n', '\r'];

/// The JSON around one text, as it comes.
#[derive(Debug)]
enum Wrapped {
    /// Before the text's quote: what came so far.
    Before(String),
    Text(StringReader),
    /// Behind the text; whether the object is closed.
    Behind(bool),
    /// It is something else, which is let pass as it is.
    Other,
}

/// The calls of custom tools that come as ones of functions, of one choice.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    /// The one that comes.
    open: Option<(u32, Wrapped)>,
    /// All of them.
    calls: Vec<u32>,
    /// One that is none of a custom tool is told all the same, as it is.
    lets_pass: bool,
    /// The violation of the first that was.
    passed: Option<Violation>,
}

/// It is something else.
#[derive(Debug, PartialEq, Eq)]
struct NoInput;

impl Wrapped {
    const fn new() -> Self {
        Self::Before(String::new())
    }

    /// More of the JSON; what of the text it makes certain.
    fn push(&mut self, raw: &str) -> Result<String, NoInput> {
        match self {
            Self::Before(held) => {
                held.push_str(raw);
                let Some(begin) = beginning(held)? else {
                    let is_bounded = held.len() <= MAX_BEFORE_BYTES;
                    return is_bounded.then(String::new).ok_or(NoInput);
                };
                let rest = held.split_off(begin);
                *self = Self::Text(StringReader::default());
                self.push(&rest)
            }
            Self::Text(reader) => {
                let text = reader.push(raw).map_err(|_| NoInput)?;
                if let Some(rest) = reader.held().strip_prefix('"') {
                    let rest = rest.to_owned();
                    *self = Self::Behind(false);
                    self.push(&rest)?;
                }
                Ok(text)
            }
            Self::Behind(is_closed) => {
                for character in raw.chars() {
                    match character {
                        '}' if !*is_closed => *is_closed = true,
                        blank if BLANK.contains(&blank) => {}
                        _ => return Err(NoInput),
                    }
                }
                Ok(String::new())
            }
            Self::Other => Ok(raw.to_owned()),
        }
    }

    /// What came and is not told.
    fn held(&self) -> &str {
        match self {
            Self::Before(held) => held,
            Self::Text(reader) => reader.held(),
            Self::Behind(_) | Self::Other => "",
        }
    }
}

/// Where the text begins; `None` where more has to come.
fn beginning(held: &str) -> Result<Option<usize>, NoInput> {
    let mut rest = held.trim_start_matches(BLANK);
    for token in ["{", "\"input\"", ":"] {
        rest = match rest.strip_prefix(token) {
            Some(rest) => rest.trim_start_matches(BLANK),
            None if token.starts_with(rest) => return Ok(None),
            None => return Err(NoInput),
        };
    }
    Ok((!rest.is_empty()).then(|| held.len() - rest.len()))
}

impl Rewrapper {
    /// For who lets violations pass: calls of custom tools that are none go out as they are.
    #[must_use]
    pub const fn lets_pass(mut self, lets_pass: bool) -> Self {
        self.inputs.lets_pass = lets_pass;
        self
    }

    /// What was let pass since the last time.
    pub fn take_passed(&mut self) -> Option<Violation> {
        self.inputs.passed.take()
    }

    /// Takes the text out of the call of a custom tool that the server made as one of a function; `None` where there is no more of
    /// it yet.
    pub(super) fn unwrap(
        &mut self,
        delta: Delta,
        out: &mut Vec<Delta>,
    ) -> Result<Option<Delta>, Violation> {
        if !self.plan.wraps_inputs {
            return Ok(Some(delta));
        }
        let is_over = match &delta {
            Delta::CallStart { .. } => true,
            Delta::Finish(reason) => !reason.is_cut(),
            _ => false,
        };
        if is_over && let Some((call, wrapped)) = self.inputs.open.take() {
            let is_whole = matches!(wrapped, Wrapped::Behind(true) | Wrapped::Other);
            if !is_whole {
                self.no_input(call)?;
                let text = wrapped.held().to_owned();
                let kind = CallKind::Custom;
                out.push(Delta::CallInput { call, kind, text });
            }
        }
        match delta {
            Delta::CallStart {
                call,
                id,
                name,
                kind: CallKind::Function,
            } if self.plan.tools.get(&name) == Some(&CallKind::Custom) => {
                self.inputs.open = Some((call, Wrapped::new()));
                self.inputs.calls.push(call);
                let kind = CallKind::Custom;
                Ok(Some(Delta::CallStart {
                    call,
                    id,
                    name,
                    kind,
                }))
            }
            Delta::CallInput { call, text, .. } if self.inputs.calls.contains(&call) => {
                let kind = CallKind::Custom;
                let wrapped = self.inputs.open.as_mut().filter(|(its, _)| *its == call);
                // More of a call that another one followed.
                let Some((_, wrapped)) = wrapped else {
                    self.no_input(call)?;
                    return Ok(Some(Delta::CallInput { call, kind, text }));
                };
                let held = wrapped.held().to_owned();
                let text = match wrapped.push(&text) {
                    Ok(text) => text,
                    Err(NoInput) => {
                        *wrapped = Wrapped::Other;
                        self.no_input(call)?;
                        held + &text
                    }
                };
                Ok((!text.is_empty()).then_some(Delta::CallInput { call, kind, text }))
            }
            delta => Ok(Some(delta)),
        }
    }

    /// What reads on where this is given up: text is text, and a custom tool's call is one still. Calls come so many places later.
    pub fn given_up(&mut self, places: u32) -> Self {
        let plan = Plan {
            wraps_inputs: self.plan.wraps_inputs,
            tools: self.plan.tools.clone(),
            renamed_keys: self.plan.renamed_keys.clone(),
            ..Plan::new(Rewrap::Keep)
        };
        let later = |call: u32| call.saturating_add(places);
        let mut call_menders = std::mem::take(&mut self.call_menders);
        call_menders.later(places);
        let Inputs { open, calls, .. } = std::mem::take(&mut self.inputs);
        let inputs = Inputs {
            open: open.map(|(call, wrapped)| (later(call), wrapped)),
            calls: calls.into_iter().map(later).collect(),
            lets_pass: true,
            passed: None,
        };
        Self {
            inputs,
            call_menders,
            ..Self::new(plan, self.choice)
        }
    }

    /// The call is none of a custom tool: a violation, which may be let pass.
    fn no_input(&mut self, call: u32) -> Result<(), Violation> {
        let place = Place::Call(self.choice, call as usize);
        let message = "a custom tool's arguments are to be its `input` alone, a text";
        let violation = self.quote(Violation::new(place, "json", message.to_owned()));
        if !self.inputs.lets_pass {
            return Err(violation);
        }
        self.inputs.passed.get_or_insert(violation);
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    const RAW: &str = "{ \"input\" :\"*** Begin\\n+\\\"a\\\" \\u00e9}\\n\" }\n";

    #[test]
    fn the_text_is_the_same_wherever_the_arguments_are_cut() {
        let expected = "*** Begin\n+\"a\" é}\n";
        for at in 0..=RAW.len() {
            let mut wrapped = Wrapped::new();
            let first = wrapped.push(&RAW[..at]).unwrap();
            assert!(expected.starts_with(&first), "only what is certain");
            assert_eq!(first + &wrapped.push(&RAW[at..]).unwrap(), expected);
            assert!(matches!(wrapped, Wrapped::Behind(true)));
        }
    }

    #[test]
    fn other_arguments_are_none_of_a_custom_tool() {
        for raw in [
            r#"{}"#,
            r#"{"patch":"x"}"#,
            r#"{"input":1}"#,
            r#"{"input":"x","input":"y"}"#,
            r#"{"input":"x"}}"#,
            r#"{"input":"\ud800"}"#,
            r#"["x"]"#,
        ] {
            let mut wrapped = Wrapped::new();
            let is_refused = wrapped.push(raw).is_err();
            assert!(
                is_refused || !matches!(wrapped, Wrapped::Behind(true)),
                "{raw}"
            );
        }
        let blanks = " ".repeat(2000);
        for raw in [
            blanks.clone(),
            format!("{{{blanks}"),
            format!(r#"{{"input"{blanks}"#),
        ] {
            assert_eq!(Wrapped::new().push(&raw), Err(NoInput));
        }
    }
}
