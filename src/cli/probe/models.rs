//! Which model is asked: the server's list and `--model` in, the one and the others out.

use serde_json::{Value, json};

/// So many names fit a few lines; hosted APIs list hundreds.
const MAX_SHOWN: usize = 8;
const MAX_NAME_CHARS: usize = 80;

/// The models of a server.
#[derive(Debug, Default)]
pub(super) struct Models {
    listed: Vec<String>,
    /// What `--model` says.
    named: Option<String>,
}

impl Models {
    /// `answer` is what `/v1/models` says, where it says anything.
    pub(super) fn new(answer: Option<&Value>, named: Option<String>) -> Self {
        let entries = answer.and_then(|answer| answer["data"].as_array());
        let names = entries.into_iter().flatten();
        let names = names.filter_map(|entry| entry["id"].as_str());
        Self {
            listed: names.map(str::to_owned).collect(),
            named,
        }
    }

    /// The one to ask: that which was named, else the server's first.
    pub(super) fn asked(&self) -> Option<&str> {
        self.named
            .as_ref()
            .or(self.listed.first())
            .map(String::as_str)
    }

    fn others(&self) -> impl Iterator<Item = &str> {
        let asked = self.asked();
        let names = self.listed.iter().map(String::as_str);
        names.filter(move |name| Some(*name) != asked)
    }

    /// Whether it was named, and the server does not list it.
    fn is_unlisted(&self) -> bool {
        let is_listed = |name: &String| self.listed.contains(name);
        !self.listed.is_empty() && self.named.as_ref().is_some_and(|name| !is_listed(name))
    }

    /// For programs.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "asked": self.asked(),
            "listed": !self.is_unlisted(),
            "others": self.others().collect::<Vec<_>>(),
        })
    }

    /// For people; nothing where there is no choice.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        if self.is_unlisted() {
            text += "note        the server does not list the model that --model names\n";
        }
        let others: Vec<String> = self.others().map(shown).collect();
        if others.is_empty() {
            return text;
        }
        let more = others.len().saturating_sub(MAX_SHOWN);
        let more = match more {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let names = others[..others.len().min(MAX_SHOWN)].join(", ");
        text + &format!("not asked   {names}{more}: --model NAME asks another\n")
    }
}

/// A name as a terminal may have it: servers may say anything.
pub(super) fn shown(name: &str) -> String {
    let plain = |letter: char| if letter.is_control() { '?' } else { letter };
    name.chars().take(MAX_NAME_CHARS).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn models(ids: &[&str], named: Option<&str>) -> Models {
        let data: Vec<Value> = ids.iter().map(|id| json!({"id": id})).collect();
        Models::new(Some(&json!({"data": data})), named.map(str::to_owned))
    }

    #[test]
    fn the_first_is_asked_unless_another_is_named_and_the_others_are_told() {
        let first = models(&["a", "b", "c"], None);
        assert_eq!(first.asked(), Some("a"));
        assert_eq!(
            first.text(),
            "not asked   b, c: --model NAME asks another\n"
        );
        let named = models(&["a", "b", "c"], Some("b"));
        assert_eq!(named.asked(), Some("b"));
        assert_eq!(
            named.to_json(),
            json!({"asked": "b", "listed": true, "others": ["a", "c"]})
        );
    }

    #[test]
    fn where_there_is_no_choice_nothing_is_said() {
        assert_eq!(models(&["a"], None).text(), "");
        let none = Models::new(None, None);
        assert_eq!((none.asked(), none.text().as_str()), (None, ""));
    }

    #[test]
    fn a_name_that_the_server_does_not_list_is_asked_and_noted() {
        let other = models(&["a"], Some("z"));
        assert_eq!(other.asked(), Some("z"));
        assert!(
            other
                .text()
                .starts_with("note        the server does not list")
        );
        assert_eq!(other.to_json()["listed"], false);
    }

    #[test]
    fn long_lists_are_cut_and_control_characters_never_reach_a_terminal() {
        let names: Vec<String> = (0..300).map(|nth| format!("m{nth}\u{1b}[2J")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let text = models(&names, None).text();
        assert!(text.contains("m8?[2J and 291 more"), "{text}");
        assert!(!text.contains('\u{1b}'));
    }
}
