//! The address of a server behind a Unix socket: a URL in, the socket's path out.

use reqwest::Url;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// The path that `unix:///run/server.sock` names; `None` for every other URL.
#[must_use]
pub fn unix_socket(url: &Url) -> Option<PathBuf> {
    let is_plain = url.scheme() == "unix"
        && !url.has_host()
        && url.query().is_none()
        && url.fragment().is_none();
    let path = unescaped(url.path());
    let is_path = path.len() > 1 && path.starts_with(b"/");
    (is_plain && is_path).then(|| PathBuf::from(OsString::from_vec(path)))
}

/// A URL's path with its percent signs read: what a URL cannot hold of a file's name.
fn unescaped(path: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, behind @ ..] = rest {
        let digits = behind
            .get(..2)
            .and_then(|two| std::str::from_utf8(two).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (first, escaped) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may panic")]
    use super::*;
    use std::path::Path;

    #[test]
    fn a_socket_is_named_by_its_path_from_the_root() {
        let socket = |url: &str| unix_socket(&url.parse().unwrap());
        assert_eq!(
            socket("unix:///run/my%20server%%2.sock").as_deref(),
            Some(Path::new("/run/my server%%2.sock"))
        );
        for url in [
            "unix:///",
            "unix://run/x",
            "unix:x",
            "unix:///x?y",
            "unix:///x#y",
            "http://h/x",
        ] {
            assert_eq!(socket(url), None, "{url}");
        }
    }
}
