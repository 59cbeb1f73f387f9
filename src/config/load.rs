//! Flags, environment and file to a [`Config`], or every mistake in them. A flag wins over a
//! variable, a variable over the file, the file over the default.

use super::fault::{Fault, Faults, Place, Source};
use super::file::{Given, RawConfig, RawUpstream, read};
use super::settings::{SETTINGS, forward};
use super::socket::unix_socket;
use super::units::Wrong;
use super::{Config, DialectPin, ModelSource, Secret, UpstreamConfig};
use reqwest::Url;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// Where values come from.
pub struct Sources<'a> {
    /// Values of [`super::SETTINGS`] by flag name.
    pub flags: Vec<(&'static str, String)>,
    /// `--upstream`, as often as it was given.
    pub upstreams: Vec<String>,
    /// `--dialect`.
    pub dialect: Option<String>,
    /// `--markup`.
    pub markup: Option<String>,
    /// `--config`; else `ISOGLOSS_CONFIG`.
    pub file: Option<PathBuf>,
    /// The environment.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// Whether there must be an upstream: where none is given, the built-in model is one, and in a
    /// build without the worker it is a fault.
    pub needs_upstream: bool,
    /// What is wrong with the words that only the rules know, [`any_word`] where nobody needs to know.
    pub words: &'a WordCheck,
}

/// Tells what is wrong with some words, given what else was read: the folder of rules may be among it.
pub type WordCheck = dyn Fn(&Config, &[Word]) -> Vec<Fault>;

/// Takes every word.
#[must_use]
pub const fn any_word(_config: &Config, _words: &[Word]) -> Vec<Fault> {
    Vec::new()
}

/// A word that only the rules know.
#[derive(Debug, Clone)]
pub struct Word {
    /// What it names.
    pub names: Named,
    /// As it was written.
    pub text: String,
    /// Where.
    pub place: Place,
}

/// What a word of the rules names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// A dialect, perhaps with a version.
    Dialect,
    /// A format of calls in texts.
    Markup,
    /// A form of thoughts in texts.
    Thoughts,
}

impl std::fmt::Debug for Sources<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The upstreams may hold credentials until they are checked.
        f.debug_struct("Sources")
            .field("flags", &self.flags)
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

const NO_UPSTREAM: &str =
    "name the server that runs your model: isogloss serve --upstream http://localhost:8000";

/// Reads everything.
///
/// # Errors
/// Every mistake, each with its place and the remedy.
pub fn load(sources: &Sources<'_>) -> Result<Config, Faults> {
    let file = match &sources.file {
        Some(path) => Some(path.clone()),
        None => variable(sources.env, "ISOGLOSS_CONFIG").map(|given| PathBuf::from(given.text)),
    };
    let mut raw = RawConfig::default();
    let (mut folder, mut files) = (PathBuf::new(), Vec::new());
    if let Some(path) = file {
        folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        files.push(path.clone());
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                let name = path.display().to_string();
                raw = read(Source { name, text });
            }
            Err(error) => raw.faults.push(Fault {
                place: match sources.file {
                    Some(_) => Place::Flag("config"),
                    None => Place::Env("ISOGLOSS_CONFIG"),
                },
                what: format!("`{}` cannot be read: {error}", path.display()),
                remedy: "name a TOML file".to_owned(),
            }),
        }
    }
    let mut loader = Loader {
        config: Config {
            files,
            ..Config::default()
        },
        faults: std::mem::take(&mut raw.faults),
        words: Vec::new(),
        places: HashMap::new(),
    };
    loader.settings(sources, &raw, &folder);
    loader.upstreams(sources, raw.upstreams, &folder);
    loader.clients(raw.clients);
    let wrong = (sources.words)(&loader.config, &loader.words);
    loader.faults.extend(wrong);
    if loader.faults.is_empty() {
        Ok(loader.config)
    } else {
        Err(Faults::sorted(loader.faults))
    }
}

fn variable(env: &dyn Fn(&str) -> Option<String>, name: &'static str) -> Option<Given> {
    // An empty variable is an unset one: that is how compose files and unit files unset.
    let text = env(name).filter(|text| !text.is_empty())?;
    let place = Place::Env(name);
    Some(Given { text, place })
}

pub(super) struct Loader {
    pub(super) config: Config,
    faults: Vec<Fault>,
    words: Vec<Word>,
    /// Where each setting that counts was written, by its key.
    places: HashMap<&'static str, Place>,
}

impl Loader {
    /// Where a setting was written, if anywhere.
    pub(super) fn place_of(&self, key: &str) -> Place {
        self.places.get(key).cloned().unwrap_or(Place::Nowhere)
    }

    /// A word that somebody else may know.
    fn word(&mut self, names: Named, given: Given) -> String {
        let text = given.text.clone();
        self.words.push(Word {
            names,
            text: given.text,
            place: given.place,
        });
        text
    }

    pub(super) fn fault(&mut self, place: Place, wrong: Wrong) {
        self.faults.push(Fault {
            place,
            what: wrong.what,
            remedy: wrong.remedy,
        });
    }

    /// Every source is read, the weakest first, so that a mistake shows even where it is overridden.
    fn settings(&mut self, sources: &Sources<'_>, raw: &RawConfig, folder: &Path) {
        for setting in SETTINGS {
            let in_file = raw.values.iter().filter(|(of, _)| of.key == setting.key);
            let in_file = in_file.map(|(_, given)| (given.clone(), folder));
            let in_env = variable(sources.env, setting.env).map(|given| (given, Path::new("")));
            let flag = sources
                .flags
                .iter()
                .find(|(name, _)| Some(*name) == setting.flag);
            let in_flag = flag.map(|(name, text)| {
                let (text, place) = (text.clone(), Place::Flag(name));
                (Given { text, place }, Path::new(""))
            });
            for (given, base) in in_file.chain(in_env).chain(in_flag) {
                match (setting.set)(&mut self.config, &given.text, base) {
                    Ok(()) => drop(self.places.insert(setting.key, given.place)),
                    Err(wrong) => self.fault(given.place, wrong),
                }
            }
        }
        self.check_tls();
        let (listen, admin) = (self.config.listen, self.config.admin);
        if listen == admin && listen.port() != 0 {
            self.fault(
                match self.place_of("admin") {
                    Place::Nowhere => self.place_of("listen"),
                    place => place,
                },
                Wrong::new(
                    format!("clients and operators would both connect to {listen}"),
                    "give --listen and --admin different ports",
                ),
            );
        }
    }

    fn upstreams(&mut self, sources: &Sources<'_>, in_file: Vec<RawUpstream>, folder: &Path) {
        let plain = |given: Given| RawUpstream {
            url: Some(given.clone()),
            ..RawUpstream::at(given.place)
        };
        let in_flags = sources.upstreams.iter().map(|url| Given {
            text: url.clone(),
            place: Place::Flag("upstream"),
        });
        let in_env = variable(sources.env, "ISOGLOSS_UPSTREAM").map(|given| {
            let urls = given.text.split(',').map(str::trim);
            let urls = urls.filter(|url| !url.is_empty()).map(|url| Given {
                text: url.to_owned(),
                place: given.place.clone(),
            });
            urls.collect::<Vec<_>>()
        });
        let raw: Vec<RawUpstream> = match (sources.upstreams.is_empty(), in_env) {
            (false, _) => {
                self.overruled(&in_file, "--upstream");
                in_flags.map(plain).collect()
            }
            (true, Some(urls)) => {
                self.overruled(&in_file, "ISOGLOSS_UPSTREAM");
                urls.into_iter().map(plain).collect()
            }
            (true, None) => in_file,
        };
        let pin = match &sources.dialect {
            Some(text) => Some(Given {
                text: text.clone(),
                place: Place::Flag("dialect"),
            }),
            None => variable(sources.env, "ISOGLOSS_DIALECT"),
        };
        let pin = pin.and_then(|given| self.pin(given));
        let markup = match &sources.markup {
            Some(text) => Some(Given {
                text: text.clone(),
                place: Place::Flag("markup"),
            }),
            None => variable(sources.env, "ISOGLOSS_MARKUP"),
        };
        let markup = markup.map(|given| self.word(Named::Markup, given));
        let key = variable(sources.env, "ISOGLOSS_UPSTREAM_API_KEY");
        let key = key.and_then(|given| self.secret(given.text, given.place));
        let has_worker = self.config.worker.model.is_some();
        if raw.is_empty() && !has_worker && sources.needs_upstream && self.faults.is_empty() {
            if cfg!(feature = "worker") {
                self.config.worker.model = Some(ModelSource::Builtin);
            } else {
                let wrong = Wrong::new("there is no upstream to send requests to", NO_UPSTREAM);
                self.fault(Place::Nowhere, wrong);
            }
        }
        self.check_names(&raw);
        self.check_fallbacks(&raw);
        let raw: Vec<_> = raw.into_iter().flat_map(|one| self.spread(one)).collect();
        for upstream in raw {
            if let Some(mut upstream) = self.upstream(upstream, sources.env, folder) {
                upstream.dialect = pin.clone().or(upstream.dialect);
                upstream.markup = markup.clone().or(upstream.markup);
                // Never a key for a server that names its own: it would be the wrong one.
                upstream.api_key = upstream.api_key.or_else(|| key.clone());
                self.config.upstreams.push(upstream);
            }
        }
    }

    /// The servers of the file go as a whole where others are named, with what is said of them beside their URLs. No fault: that is
    /// how one file is tried with another server.
    fn overruled(&mut self, in_file: &[RawUpstream], by: &str) {
        if let Some(Place::File(source, _)) = in_file.first().map(|first| &first.place) {
            let (name, count) = (&source.name, in_file.len());
            self.config.unused = Some(format!(
                "`{name}`: its [[upstream]] ({count}) are not used, since `{by}` names the servers: without that they are"
            ));
        }
    }

    fn upstream(
        &mut self,
        mut raw: RawUpstream,
        env: &dyn Fn(&str) -> Option<String>,
        folder: &Path,
    ) -> Option<UpstreamConfig> {
        let among_others = self.among_others(&mut raw);
        let discovery = self.discovery(&mut raw);
        let dialect = raw.dialect.and_then(|given| self.pin(given));
        let thoughts = raw.thoughts.map(|given| self.word(Named::Thoughts, given));
        let markup = raw.markup.map(|given| self.word(Named::Markup, given));
        let forward = raw.forward.and_then(|given| match forward(&given.text) {
            Ok(forward) => Some(forward),
            Err(wrong) => {
                self.fault(given.place, wrong);
                None
            }
        });
        let tls = self.upstream_tls(
            [raw.ca_file, raw.client_cert_file, raw.client_key_file],
            folder,
        );
        let queue = self.queue([raw.max_in_flight, raw.queue, raw.queue_timeout]);
        let api_key = match (raw.api_key_env, raw.api_key_file) {
            (Some(given), Some(_)) => {
                let wrong = Wrong::new("the API key is named twice", "keep one of the two");
                self.fault(given.place, wrong);
                None
            }
            (Some(given), None) => match env(&given.text) {
                Some(value) => self.secret(value, given.place),
                None => {
                    let what = format!("the variable `{}` is not set", given.text);
                    self.fault(given.place, Wrong::new(what, "set it, or name another"));
                    None
                }
            },
            (None, Some(given)) => match self.text(&folder.join(&given.text)) {
                Ok(value) => self.secret(value, given.place),
                Err(error) => {
                    let what = format!("the key file cannot be read: {error}");
                    self.fault(
                        given.place,
                        Wrong::new(what, "name a file that holds the key and nothing else"),
                    );
                    None
                }
            },
            (None, None) => None,
        };
        let Some(given) = raw.url else {
            self.fault(
                raw.place,
                Wrong::new(
                    "an upstream without a url",
                    "write url = \"http://localhost:8000\"",
                ),
            );
            return None;
        };
        let read = url(&given.text).and_then(|url| match leads_to(&url, self.config.listen) {
            false => Ok(url),
            true => Err(Wrong::new(
                format!(
                    "requests would come back: the proxy itself listens at {}",
                    self.config.listen
                ),
                "give --listen another address, or write that of the server",
            )),
        });
        match read {
            Ok(url) => Some(among_others(UpstreamConfig {
                servers: self.name_of(discovery, &url, &given.place),
                api_key,
                dialect,
                markup,
                thoughts,
                forward,
                queue,
                tls,
                ..UpstreamConfig::at(url)
            })),
            Err(wrong) => {
                self.fault(given.place, wrong);
                None
            }
        }
    }

    /// What a file holds; from now on it is one of the configuration's.
    fn text(&mut self, path: &Path) -> std::io::Result<String> {
        self.config.files.push(path.to_owned());
        std::fs::read_to_string(path)
    }

    fn pin(&mut self, given: Given) -> Option<DialectPin> {
        let pin = DialectPin::parse(&given.text);
        if pin.is_some() {
            self.word(Named::Dialect, given);
        } else {
            self.fault(
                given.place,
                Wrong::new(
                    format!("`{}` is no dialect", given.text),
                    "write a name, or a name and a version: vllm, vllm@0.10.2; `isogloss dialects` lists them",
                ),
            );
        }
        pin
    }

    /// A key goes into a header: it must be printable ASCII.
    fn secret(&mut self, text: String, place: Place) -> Option<Secret> {
        let key = text.trim();
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            self.fault(
                place,
                Wrong::new(
                    "the API key is empty, or has characters that a header cannot carry",
                    "it must be one word of printable ASCII",
                ),
            );
            return None;
        }
        Some(Secret::new(key.to_owned()))
    }
}

/// Messages do not quote what follows the scheme: it may hold credentials.
pub(super) fn url(text: &str) -> Result<Url, Wrong> {
    const REMEDY: &str = "write scheme, host and port, such as http://localhost:8000 or https://api.openai.com, or unix:///run/server.sock";
    if !text.contains("://") {
        return Err(Wrong::new("the URL has no scheme", REMEDY));
    }
    let mut url: Url = text
        .trim()
        .parse()
        .map_err(|error| Wrong::new(format!("this is no URL ({error})"), REMEDY))?;
    if url.scheme() == "unix" {
        if unix_socket(&url).is_none() {
            return Err(Wrong::new(
                "this is no path of a Unix socket",
                "write three slashes and the path from the root: unix:///run/server.sock",
            ));
        }
        return Ok(url);
    }
    if !matches!(url.scheme(), "http" | "https") {
        let what = format!("the scheme `{}` is not served", url.scheme());
        return Err(Wrong::new(what, REMEDY));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Wrong::new(
            "the URL holds credentials",
            "take them out; the API key comes from api_key_env, api_key_file or ISOGLOSS_UPSTREAM_API_KEY",
        ));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(Wrong::new("the URL has a query or a fragment", REMEDY));
    }
    // People paste a client's base_url: its `/v1` belongs to the request's path.
    let path = url.path().trim_end_matches('/');
    let path = path.strip_suffix("/v1").unwrap_or(path).to_owned();
    url.set_path(path.trim_end_matches('/'));
    Ok(url)
}

/// Whether a URL is that of the socket at which clients are listened to.
fn leads_to(url: &reqwest::Url, listen: SocketAddr) -> bool {
    let ours = listen.ip();
    let port = url.port_or_known_default();
    if port != Some(listen.port()) || listen.port() == 0 {
        return false;
    }
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let theirs: IpAddr = match host {
        "localhost" => Ipv4Addr::LOCALHOST.into(),
        host => match host.parse() {
            Ok(ip) => ip,
            Err(_name) => return false,
        },
    };
    let is_here = theirs.is_loopback() || theirs.is_unspecified();
    // One of IPv6 listens to both.
    let is_heard = ours.is_unspecified() && (ours.is_ipv6() || theirs.is_ipv4());
    theirs == ours || is_heard && is_here
}

#[cfg(test)]
mod tests;
