//! Which web pages may call the proxy from a browser. Text in, origins out.

use super::units::Wrong;
use http::HeaderValue;

/// Of whose pages requests are answered to a browser.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Origins {
    /// The proxy says nothing of it: what a server says goes back.
    #[default]
    Unsaid,
    /// Everybody's.
    Any,
    /// Those of these origins, each as a browser writes it.
    Only(Vec<HeaderValue>),
}

/// Origins between commas.
pub(super) fn origins(text: &str) -> Result<Origins, Wrong> {
    let words = text.split(',').map(str::trim);
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    match words.as_slice() {
        [] => Ok(Origins::Unsaid),
        ["*"] => Ok(Origins::Any),
        words => words
            .iter()
            .map(|word| origin(word))
            .collect::<Result<_, _>>()
            .map(Origins::Only),
    }
}

fn origin(word: &str) -> Result<HeaderValue, Wrong> {
    let url = url::Url::parse(word).ok();
    let is_origin = url.is_some_and(|url| {
        let written = url.origin().ascii_serialization();
        // Pages of extensions and of desktop programs have schemes of their own, of which nothing else is known.
        written == word
            || written == "null"
                && word == format!("{}://{}", url.scheme(), url.host_str().unwrap_or_default())
    });
    let value = HeaderValue::from_str(word).ok().filter(|_| is_origin);
    value.ok_or_else(|| {
        Wrong::new(
            format!("`{word}` is no origin"),
            "write origins as browsers do, scheme, host and port alone (https://app.example.com, http://localhost:3000), or * for every page",
        )
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn origins_are_those_that_browsers_write() {
        assert_eq!(origins("").unwrap(), Origins::Unsaid);
        assert_eq!(origins("*").unwrap(), Origins::Any);
        let all = "https://app.example.com, http://localhost:3000, tauri://localhost, chrome-extension://abcdef";
        let Origins::Only(known) = origins(all).unwrap() else {
            unreachable!()
        };
        assert_eq!(known.len(), 4);
        for text in [
            "app.example.com",
            "https://app.example.com/",
            "https://app.example.com/chat",
            "https://App.example.com",
            "https://app.example.com:443",
            "https://a.example, *",
            "null",
        ] {
            assert!(origins(text).is_err(), "{text}");
        }
    }
}
