//! A server's address in; the URL of one request on it out. Never leaves the base path.

use crate::config::{UpstreamConfig, unix_socket};
use http::uri::PathAndQuery;
use isogloss_core::rules::Http;
use reqwest::Url;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// An address, or a request target, that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// None of `http`, `https` and `unix`.
    #[error("the scheme is {0}, write http://, https:// or unix://")]
    Scheme(String),
    /// No host.
    #[error("the address names no host")]
    NoHost,
    /// A socket that no path leads to.
    #[error("the address names no socket, write unix:///run/server.sock")]
    NoSocket,
    /// The request target leaves the base path, or cannot be part of a URL.
    #[error("the request path cannot be used on this upstream")]
    Target,
}

/// Scheme, authority and base path of a server.
#[derive(Debug, Clone)]
pub(super) struct Address {
    url: Url,
    base: String,
    /// The path as it was configured, without `/` at its end.
    path: String,
    name: String,
    socket: Option<PathBuf>,
}

/// What a server behind a Unix socket is called in requests: it has no host name.
const LOCAL: &str = "http://localhost/";

impl Address {
    /// `http://host:8000`, `http://host:8000/` and `http://host:8000/v1` are the same server: people copy the `base_url` of
    /// their client. So they do where a server calls its OpenAI API by another version (OpenVINO's `/v3`, Volcengine's
    /// `/api/v3`, Zhipu's `/api/paas/v4`).
    pub(super) fn new(url: &Url) -> Result<Self, AddressError> {
        if url.scheme() == "unix" {
            let path = unix_socket(url).ok_or(AddressError::NoSocket)?;
            return Self::of_socket(path, format!("unix://{}", url.path()));
        }
        if !matches!(url.scheme(), "http" | "https") {
            return Err(AddressError::Scheme(url.scheme().to_owned()));
        }
        if !url.has_host() {
            return Err(AddressError::NoHost);
        }
        let mut url = url.clone();
        url.set_query(None);
        url.set_fragment(None);
        // Neither can fail on a URL that has a host; a key belongs into `api_key`.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        let path = url.path().trim_end_matches('/').to_owned();
        let base = without_version(&path).to_owned();
        url.set_path(&base);
        let name = url.as_str().trim_end_matches('/').to_owned();
        Ok(Self {
            url,
            base,
            path,
            name,
            socket: None,
        })
    }

    /// Where this server is.
    pub(super) fn of(upstream: &UpstreamConfig) -> Result<Self, AddressError> {
        let address = Self::new(&upstream.url)?;
        Ok(match upstream.member {
            Some(member) => address.of_member(member.address),
            None => address,
        })
    }

    /// One of several servers of this name, at an address of its own.
    fn of_member(self, address: IpAddr) -> Self {
        Self {
            name: format!("{} ({address})", self.name),
            ..self
        }
    }

    /// A server behind a Unix socket, and what people call it.
    pub(super) fn of_socket(socket: PathBuf, name: String) -> Result<Self, AddressError> {
        Ok(Self {
            url: Url::parse(LOCAL).map_err(|_| AddressError::NoHost)?,
            base: String::new(),
            path: String::new(),
            name,
            socket: Some(socket),
        })
    }

    /// The Unix socket that takes the connections, where it is one.
    pub(super) fn socket(&self) -> Option<&Path> {
        self.socket.as_deref()
    }

    /// For people: no credentials, no query.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The host name.
    pub(super) fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// The host name and the base path: what a server may be known by.
    pub(super) fn place(&self) -> String {
        format!("{}{}", self.host(), self.base)
    }

    /// The URL of a request target. `v1` is the path that stands for `/v1` on this server, where
    /// that is another; people may have copied it as a part of the address.
    pub(super) fn join(
        &self,
        target: &PathAndQuery,
        v1: Option<&str>,
    ) -> Result<Url, AddressError> {
        if !target.path().starts_with('/') || is_rewritten(target.path()) {
            return Err(AddressError::Target);
        }
        let version = self.path.strip_prefix(&self.base);
        let v1 = v1.or_else(|| version.filter(|version| !version.is_empty()));
        let base = v1.and_then(|v1| self.path.strip_suffix(v1));
        let base = base.unwrap_or(&self.base);
        let below = target.path().strip_prefix("/v1");
        let below = below.filter(|below| below.is_empty() || below.starts_with('/'));
        let path = match (v1, below) {
            (Some(v1), Some(below)) => format!("{base}{v1}{below}"),
            _ => format!("{base}{}", target.path()),
        };
        let mut url = self.url.clone();
        url.set_path(&path);
        url.set_query(target.query());
        let rest = url.path().strip_prefix(base);
        match rest {
            Some(rest) if rest.starts_with('/') => Ok(url),
            _ => Err(AddressError::Target),
        }
    }
}

/// A path without the version at its end, which stands for `/v1`: `/v3`.
fn without_version(path: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    match path.rsplit_once("/v") {
        Some((base, version)) if is_number(version) => base,
        _ => path,
    }
}

/// Whether a URL makes another path of this one: it resolves `.` and `..`, written out or not,
/// and takes `\` for `/`. Whoever stands before the proxy has judged the path as it came.
fn is_rewritten(path: &str) -> bool {
    let is_dots = |segment: &str| {
        segment.starts_with(['.', '%']) && {
            let plain = segment.to_ascii_lowercase().replace("%2e", ".");
            matches!(plain.as_str(), "." | "..")
        }
    };
    path.contains('\\') || path.split('/').any(is_dots)
}

/// The URL of a request on the server at this address; `None` where there can be none.
#[must_use]
pub fn endpoint(address: &reqwest::Url, http: Option<&Http>, path: &str) -> Option<reqwest::Url> {
    let v1 = http.and_then(|http| http.v1.as_deref());
    let address = Address::new(address).ok()?;
    address.join(&path.parse().ok()?, v1).ok()
}

/// What recognises the server at this address by its name.
#[must_use]
pub fn place(address: &reqwest::Url) -> String {
    let address = Address::new(address);
    address.map_or_else(|_| String::new(), |address| address.place())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn join(address: &str, target: &str) -> Result<String, AddressError> {
        let address = Address::new(&Url::parse(address).unwrap())?;
        let url = address.join(&target.parse().unwrap(), None)?;
        Ok(url.to_string())
    }

    #[test]
    fn a_path_is_joined_to_the_base_path_and_v1_is_never_doubled() {
        for (address, url) in [
            ("http://host:8000", "http://host:8000/v1/models?a=b%20c"),
            ("http://host:8000/", "http://host:8000/v1/models?a=b%20c"),
            ("http://host:8000/v1", "http://host:8000/v1/models?a=b%20c"),
            ("http://host:8000/v1/", "http://host:8000/v1/models?a=b%20c"),
            ("https://h/api/v1", "https://h/api/v1/models?a=b%20c"),
            ("https://h/api", "https://h/api/v1/models?a=b%20c"),
        ] {
            assert_eq!(join(address, "/v1/models?a=b%20c").unwrap(), url);
        }
        assert_eq!(join("http://h", "/").unwrap(), "http://h/");
        assert_eq!(join("http://h/base", "/").unwrap(), "http://h/base/");
    }

    #[test]
    fn a_version_at_the_end_stands_for_v1() {
        for (address, url) in [
            ("http://h/v3", "http://h/v3/models"),
            ("https://h/api/paas/v4/", "https://h/api/paas/v4/models"),
            ("http://h/v1beta", "http://h/v1beta/v1/models"),
            ("http://h/v", "http://h/v/v1/models"),
        ] {
            assert_eq!(join(address, "/v1/models").unwrap(), url);
        }
        assert_eq!(join("http://h/v3", "/version").unwrap(), "http://h/version");
        assert_eq!(join("http://h/v2", "/v2/chat").unwrap(), "http://h/v2/chat");
        let address = Address::new(&Url::parse("http://h/v3").unwrap()).unwrap();
        assert_eq!(address.name(), "http://h");
    }

    #[test]
    fn another_path_may_stand_for_v1_and_is_never_doubled() {
        let v1 = Some("/v1beta/openai");
        for address in [
            "https://h",
            "https://h/",
            "https://h/v1beta/openai",
            "https://h/v1beta/openai/",
        ] {
            let address = Address::new(&Url::parse(address).unwrap()).unwrap();
            let join = |target: &str| {
                let url = address.join(&target.parse().unwrap(), v1);
                url.unwrap().to_string()
            };
            let chat = "https://h/v1beta/openai/chat/completions?a=b";
            assert_eq!(join("/v1/chat/completions?a=b"), chat);
            assert_eq!(join("/v1"), "https://h/v1beta/openai");
            assert_eq!(join("/v1beta/models"), "https://h/v1beta/models");
        }
        let gateway = Url::parse("https://h/gate/v1beta/openai").unwrap();
        let gateway = Address::new(&gateway).unwrap();
        assert_eq!(gateway.place(), "h/gate/v1beta/openai");
        let url = gateway.join(&"/v1/models".parse().unwrap(), v1).unwrap();
        assert_eq!(url.as_str(), "https://h/gate/v1beta/openai/models");
    }

    #[test]
    fn a_path_cannot_leave_the_base_path() {
        for target in ["/../admin", "/v1/../../admin", "/%2e%2e/admin", "*"] {
            assert_eq!(
                join("http://h/base", target),
                Err(AddressError::Target),
                "{target}"
            );
        }
    }

    #[test]
    fn a_path_goes_on_as_it_came_or_not_at_all() {
        for target in [
            "/v1/%2E%2e/admin",
            "/v1/./models",
            "/v1/.%2e",
            "/v1\\..\\admin",
        ] {
            assert_eq!(
                join("http://h", target),
                Err(AddressError::Target),
                "{target}"
            );
        }
        for target in ["/v1/..models", "/v1/%ff%2f%2e", "//admin", "/..."] {
            assert_eq!(
                join("http://h", target).unwrap(),
                format!("http://h{target}")
            );
        }
    }

    #[test]
    fn the_name_has_no_credentials_and_other_schemes_are_refused() {
        let address =
            Address::new(&Url::parse("http://u:p@host/v1?key=secret#x").unwrap()).unwrap();
        assert_eq!(address.name(), "http://host");
        let member = Address::new(&Url::parse("http://host:1/base").unwrap());
        let member = member.unwrap().of_member([10, 0, 0, 1].into());
        assert_eq!(member.name(), "http://host:1/base (10.0.0.1)");
        assert_eq!(member.place(), "host/base");
        let ftp = Address::new(&Url::parse("ftp://host").unwrap());
        assert_eq!(ftp.err(), Some(AddressError::Scheme("ftp".to_owned())));
    }

    #[test]
    fn a_unix_socket_is_a_path_and_has_no_base_path() {
        let url = Url::parse("unix:///run/my%20server%%.sock").unwrap();
        let address = Address::new(&url).unwrap();
        assert_eq!(address.socket(), Some(Path::new("/run/my server%%.sock")));
        assert_eq!(address.name(), "unix:///run/my%20server%%.sock");
        assert_eq!(address.host(), "localhost");
        let joined = address.join(&"/v1/models".parse().unwrap(), None).unwrap();
        assert_eq!(joined.as_str(), "http://localhost/v1/models");
        for url in ["unix://run/x", "unix:///", "unix:x"] {
            let address = Address::new(&Url::parse(url).unwrap());
            assert_eq!(address.err(), Some(AddressError::NoSocket), "{url}");
        }
        assert_eq!(
            Address::new(&Url::parse("http://h").unwrap())
                .unwrap()
                .socket(),
            None
        );
    }
}
