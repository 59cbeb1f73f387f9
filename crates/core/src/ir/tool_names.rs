//! The names of tools, and of their parameters, that every hosted API takes.

use super::call_ids::letters;
use siphasher::sip128::SipHasher24;
use std::hash::Hasher;

/// OpenAI's and Anthropic's APIs take up to 64 (`^[a-zA-Z0-9_-]{1,64}$`; Anthropic's from 2025 up to 128), as those that follow
/// them do, Gemini's none that begins with a digit.
const MOST: usize = 64;
/// What tells names apart that would be one.
const MARK: usize = 8;
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// The name for a server that takes no other than `^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`, always the same for the same name; `None`
/// where it takes this one. What is left of the name is its end, which is the tool's own where clients put their servers' names
/// before it.
#[must_use]
pub fn plain_name(name: &str) -> Option<String> {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let is_begun =
        |name: &str| !name.starts_with(|letter: char| letter.is_ascii_digit() || letter == '-');
    if (1..=MOST).contains(&name.len()) && name.chars().all(is_word) && is_begun(name) {
        return None;
    }
    Some(marked(name, is_word, is_begun))
}

/// The same of a parameter: Anthropic's API takes none but `^[a-zA-Z0-9_.-]{1,64}$`, and answers 400 for all tools if one has another
/// (`filter[id]`, `$top`, `@type`: anthropics/claude-code#79418, n8n#30590, ComposioHQ/composio#3500).
#[must_use]
pub fn plain_key(key: &str) -> Option<String> {
    let is_word =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.');
    let is_plain = (1..=MOST).contains(&key.len()) && key.chars().all(is_word);
    (!is_plain).then(|| marked(key, is_word, |_| true))
}

/// What can be kept of a name, and a mark of all of it.
fn marked(name: &str, is_word: impl Fn(char) -> bool, is_begun: impl Fn(&str) -> bool) -> String {
    let mut hasher = SipHasher24::new_with_key(b"isogloss's tools");
    hasher.write(name.as_bytes());
    let mark = letters(&hasher, LETTERS, MARK);
    let words: Vec<char> = (name.chars())
        .map(|letter| if is_word(letter) { letter } else { '_' })
        .collect();
    // A letter more is put before, and one between.
    let left = words.len().saturating_sub(MOST - MARK - 2);
    let mut plain: String = words.into_iter().skip(left).collect();
    if !is_begun(&plain) {
        plain.insert(0, '_');
    }
    format!("{plain}_{mark}")
}

#[cfg(test)]
mod tests {
    use super::{MOST, plain_key, plain_name};

    #[test]
    fn names_that_every_server_takes_stay() {
        for name in ["get_weather", "a-b", "_x", "A1", &"x".repeat(64)] {
            assert_eq!(plain_name(name), None, "{name}");
        }
    }

    #[test]
    fn others_become_such_and_no_two_the_same() {
        let long = "mcp__plugin_chrome-devtools-mcp_chrome-devtools__performance_analyze_insight";
        let names = [
            "files.read",
            "files:read",
            "files read",
            "1st",
            "-x",
            "",
            "Ünïcode",
            "日本",
            long,
            &"x".repeat(65),
            &"1".repeat(70),
        ];
        let plain: Vec<String> = names.iter().filter_map(|name| plain_name(name)).collect();
        assert_eq!(plain.len(), names.len());
        for (at, name) in plain.iter().enumerate() {
            assert_eq!(plain_name(name), None, "{name}");
            assert!(name.len() <= MOST && !plain[..at].contains(name), "{name}");
        }
        assert!(plain[0].starts_with("files_read_"), "{}", plain[0]);
        assert!(
            plain[8].contains("performance_analyze_insight"),
            "{}",
            plain[8]
        );
        assert_eq!(plain_name(long).as_ref(), Some(&plain[8]));
    }

    #[test]
    fn parameters_may_have_dots_and_begin_with_anything() {
        for key in ["filter.id", "1st", "-x", "a_b", &"x".repeat(64)] {
            assert_eq!(plain_key(key), None, "{key}");
        }
        for key in ["filter[id]", "$top", "@type", "", "straße", &"x".repeat(65)] {
            let plain = plain_key(key).map(|plain| (plain_key(&plain), plain.len() <= MOST));
            assert_eq!(plain, Some((None, true)), "{key}");
        }
        assert_ne!(plain_key("filter[id]"), plain_key("filter{id}"));
    }
}
