//! The texts around a model's thoughts: a chat template comes in; what begins a think block and what ends it goes out.
//!
//! Most models write `<think>…</think>`; Magistral `[THINK]…[/THINK]`, Seed-OSS `<seed:think>…</seed:think>`: the files under
//! `rules/markup` say which, and the template which of them.

use isogloss_core::markup::Formats;
use std::borrow::Cow;

/// The texts around thoughts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThinkTags {
    open: Cow<'static, str>,
    close: Cow<'static, str>,
}

impl Default for ThinkTags {
    fn default() -> Self {
        Self {
            open: Cow::Borrowed("<think>"),
            close: Cow::Borrowed("</think>"),
        }
    }
}

impl ThinkTags {
    /// Those of a template's markup that stand in its source; `<think>` and `</think>` where none does.
    #[must_use]
    pub fn of_template(source: &str) -> Self {
        let formats = Formats::builtin();
        let format = formats.of_template(source);
        let pairs = format.into_iter().flat_map(|format| format.thought_tags());
        let mut found = pairs.filter(|(open, close)| {
            let is_shown = source.contains(open) || source.contains(close);
            is_shown && is_tag(open) && is_tag(close)
        });
        found
            .next()
            .map_or_else(Self::default, |(open, close)| Self {
                open: Cow::Owned(open.to_owned()),
                close: Cow::Owned(close.to_owned()),
            })
    }

    /// What begins a block.
    #[must_use]
    pub fn open(&self) -> &str {
        &self.open
    }

    /// What ends it.
    #[must_use]
    pub fn close(&self) -> &str {
        &self.close
    }

    /// Whether a text has them.
    #[must_use]
    pub fn stand_in(&self, text: &str) -> bool {
        text.contains(self.open()) || text.contains(self.close())
    }
}

/// Whether a text is one tag, whose first byte stands at its beginning alone: what is not its next byte begins it anew or does not.
fn is_tag(text: &str) -> bool {
    let first = text.chars().next();
    let rest = text.get(1..).unwrap_or_default();
    first.is_some_and(|first| "<[".contains(first) && !rest.contains(first))
        && rest.ends_with(['>', ']'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_templates_own_tags_are_found() {
        let tags = |source: &str| {
            let tags = ThinkTags::of_template(source);
            (tags.open().to_owned(), tags.close().to_owned())
        };
        let pair = |open: &str, close: &str| (open.to_owned(), close.to_owned());
        let think = pair("<think>", "</think>");
        assert_eq!(tags("{{ messages }}"), think);
        assert_eq!(tags("<tool_call>{\"name\": … </think>"), think);
        let mistral = "{{ '[TOOL_CALLS]' + name + '[ARGS]' + arguments }}";
        assert_eq!(tags(mistral), think);
        let thinking = format!("{mistral}[THINK]{{{{ thought }}}}[/THINK]");
        assert_eq!(tags(&thinking), pair("[THINK]", "[/THINK]"));
        let seed = include_str!("../../../tests/data/templates/seed-oss.jinja");
        assert_eq!(tags(seed), pair("<seed:think>", "</seed:think>"));
        // Messages on channels are taken apart as such.
        let harmony = include_str!("../../../tests/data/templates/gpt-oss.jinja");
        assert_eq!(tags(harmony), think);
    }
}
