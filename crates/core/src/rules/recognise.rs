//! Who is this server? Answers to a few GETs in, the next path to ask or the identity out.
//!
//! A pure state machine: the caller does the asking. What the answers mean is data of the rule
//! files; the tests that need the fewest questions come first.

mod markup;

use super::{MarkupSeen, RuleSet, Version};
use crate::datafile::{File, Keys};
use markup::MarkupAt;
use serde_json::Value;
use std::collections::HashMap;

/// One answer to a GET.
#[derive(Debug, Clone, Default)]
pub struct ProbeAnswer {
    /// The HTTP status; 0 where no answer came.
    pub status: u16,
    /// The headers, as they came.
    pub headers: Vec<(String, String)>,
    /// The body, where it is JSON.
    pub body: Option<Value>,
}

/// What a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The rule file's name.
    pub dialect: String,
    /// Its version, where it says so.
    pub version: Option<Version>,
    /// What it tells of its launch, in the words of [`super::Rule::knowing`].
    pub facts: Vec<String>,
    /// In which markup its model writes calls, where an answer tells it.
    pub markup: Option<MarkupSeen>,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recognition {
    /// GET this path (below the upstream's base) and give the answer to [`Recogniser::answer`].
    Ask(String),
    /// This is what the server is. Where nothing was recognised, it is the fallback's dialect.
    Done(Identity),
}

/// One server's recognition.
#[derive(Debug)]
pub struct Recogniser<'a> {
    set: &'a RuleSet,
    host: String,
    /// Its dialect, where that is known without asking.
    known: Option<String>,
    answers: HashMap<String, ProbeAnswer>,
}

/// How a dialect is recognised.
#[derive(Debug, Clone, Default)]
pub(super) struct Recognise {
    /// Host names, some with a path, that are this server, whatever it answers.
    pub(super) hosts: Vec<String>,
    /// Whether this is the dialect of servers that nothing recognises.
    pub(super) fallback: bool,
    /// Tests; any one suffices.
    pub(super) by: Vec<By>,
    /// What an answer tells of the launch.
    facts: Vec<FactFrom>,
    /// What an answer tells of the model's markup.
    markup: Vec<MarkupAt>,
}

impl Recognise {
    /// The formats that are named here.
    pub(super) fn formats(&self) -> impl Iterator<Item = &str> {
        let named = self.markup.iter().flat_map(|from| &from.formats);
        named.map(|(_, format)| format.as_str())
    }
}

/// Where the server tells how it was launched; looked at only where the path was asked anyway.
#[derive(Debug, Clone)]
struct FactFrom {
    get: String,
    at: String,
    /// The value there; `None` for null.
    is: Option<String>,
    facts: Vec<String>,
}

/// One test.
#[derive(Debug, Clone)]
pub(super) struct By {
    order: u16,
    when: Vec<Condition>,
    /// Places that may tell the version; the first that does counts.
    version: Vec<VersionFrom>,
}

/// One condition on one answer, or on any answer where no path is given.
#[derive(Debug, Clone)]
struct Condition {
    get: Option<String>,
    status: Vec<u16>,
    has: Vec<String>,
    lacks: Vec<String>,
    equals: Vec<(String, String)>,
    headers: Vec<(String, String)>,
}

/// Where the version stands.
#[derive(Debug, Clone)]
struct VersionFrom {
    get: String,
    at: String,
    /// Smaller ones are no releases.
    least: Option<Version>,
}

impl<'a> Recogniser<'a> {
    /// Begins; `host` is the upstream's host name, and its base path where it has one.
    #[must_use]
    pub fn new(set: &'a RuleSet, host: &str) -> Self {
        Self {
            set,
            host: host.to_ascii_lowercase(),
            known: None,
            answers: HashMap::new(),
        }
    }

    /// The same for a server whose dialect is known: what remains is what it tells of its model.
    #[must_use]
    pub fn knowing(set: &'a RuleSet, dialect: &str) -> Self {
        Self {
            known: Some(dialect.to_owned()),
            ..Self::new(set, "")
        }
    }

    /// The next path to ask, or the identity. A path is asked once.
    #[must_use]
    pub fn step(&self) -> Recognition {
        if let Some(name) = &self.known {
            return self.known(name, None);
        }
        if let Some(name) = self.by_host() {
            return done(name);
        }
        // A test that needs no more questions wins over an earlier one that does only if it looks
        // at any answer whatever (a header that names the server).
        let tests = self.tests();
        let spoken = tests
            .iter()
            .filter(|(_, by)| by.when.iter().all(|when| when.get.is_none()))
            .find(|(_, by)| self.all_hold(by) == Holds::Yes);
        if let Some((name, by)) = spoken {
            return self.version(name, by);
        }
        for (name, by) in &tests {
            match self.all_hold(by) {
                Holds::Yes => return self.version(name, by),
                Holds::No => {}
                Holds::Ask(path) => return Recognition::Ask(path.to_owned()),
            }
        }
        self.known(self.set.fallback(), None)
    }

    /// Takes the answer to a path.
    pub fn answer(&mut self, path: &str, answer: ProbeAnswer) {
        self.answers.insert(path.to_owned(), answer);
    }

    fn by_host(&self) -> Option<&'a str> {
        // An API may have several wires, each below a path of its own: the longest name wins.
        let names = self.set.dialects().flat_map(|dialect| {
            let hosts = dialect.recognise.hosts.iter();
            hosts.map(move |host| (host.as_str(), dialect.name.as_str()))
        });
        names
            .filter(|(host, _)| is_below(&self.host, host))
            .max_by_key(|(host, _)| host.len())
            .map(|(_, name)| name)
    }

    /// Every test of every dialect, in order.
    fn tests(&self) -> Vec<(&'a str, &'a By)> {
        let mut tests: Vec<_> = self
            .set
            .dialects()
            .flat_map(|dialect| {
                let tests = dialect.recognise.by.iter();
                tests.map(move |by| (dialect.name.as_str(), by))
            })
            .collect();
        tests.sort_by_key(|(_, by)| by.order);
        tests
    }

    fn all_hold(&self, by: &'a By) -> Holds<'a> {
        for condition in &by.when {
            let holds = match &condition.get {
                None => self.answers.values().any(|answer| condition.holds(answer)),
                Some(path) => match self.answers.get(path) {
                    None => return Holds::Ask(path),
                    Some(answer) => condition.holds(answer),
                },
            };
            if !holds {
                return Holds::No;
            }
        }
        Holds::Yes
    }

    fn version(&self, name: &str, by: &By) -> Recognition {
        for from in &by.version {
            let Some(answer) = self.answers.get(&from.get) else {
                return Recognition::Ask(from.get.clone());
            };
            let version = from.read(answer);
            if version.is_some() {
                return self.known(name, version);
            }
        }
        self.known(name, None)
    }

    /// The identity, with the facts that the answers tell; before that, what is asked for the markup's sake.
    fn known(&self, name: &str, version: Option<Version>) -> Recognition {
        let mut dialects = self.set.dialects();
        let recognise = dialects.find(|dialect| dialect.name == name);
        let recognise = recognise.map(|dialect| &dialect.recognise);
        let markup = recognise.map_or(&[][..], |recognise| recognise.markup.as_slice());
        let mut asked = markup.iter().filter(|place| place.is_asked);
        if let Some(place) = asked.find(|place| !self.answers.contains_key(&place.get)) {
            return Recognition::Ask(place.get.clone());
        }
        let facts = recognise
            .into_iter()
            .flat_map(|recognise| &recognise.facts)
            .filter(|from| from.holds(self.answers.get(&from.get)))
            .flat_map(|from| from.facts.iter().cloned());
        Recognition::Done(Identity {
            dialect: name.to_owned(),
            version,
            facts: facts.collect(),
            markup: recognise.and_then(|recognise| self.markup(recognise)),
        })
    }

    /// In which markup the model writes, by the most reliable of the places that tell it.
    fn markup(&self, recognise: &Recognise) -> Option<MarkupSeen> {
        let seen = recognise.markup.iter().filter_map(|place| {
            let body = self.answers.get(&place.get)?.body.as_ref()?;
            let format = place.format(body, self.set)?;
            let from = place.says.from();
            Some(MarkupSeen { format, from })
        });
        seen.min_by_key(|seen| seen.from)
    }
}

impl FactFrom {
    fn holds(&self, answer: Option<&ProbeAnswer>) -> bool {
        let body = answer.and_then(|answer| answer.body.as_ref());
        match (body.and_then(|body| body.pointer(&self.at)), &self.is) {
            (Some(Value::Null), None) => true,
            (Some(Value::String(found)), Some(is)) => found == is,
            _ => false,
        }
    }
}

impl VersionFrom {
    fn read(&self, answer: &ProbeAnswer) -> Option<Version> {
        let text = answer.body.as_ref()?.pointer(&self.at)?.as_str()?;
        let version = Version::parse(text)?;
        self.least
            .is_none_or(|least| version >= least)
            .then_some(version)
    }
}

/// Whether an address is this one, or below it.
fn is_below(address: &str, host: &str) -> bool {
    let rest = address.strip_prefix(host);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a test's conditions hold.
#[derive(Debug, PartialEq, Eq)]
enum Holds<'a> {
    Yes,
    No,
    /// Not known before this path is asked.
    Ask(&'a str),
}

impl Condition {
    fn holds(&self, answer: &ProbeAnswer) -> bool {
        let status = if self.status.is_empty() {
            // A body counts only where the server meant it; a header always does.
            self.get.is_none() || (200..300).contains(&answer.status)
        } else {
            self.status.contains(&answer.status)
        };
        let at = |pointer: &str| answer.body.as_ref().and_then(|body| body.pointer(pointer));
        let header = |name: &str, value: &str| {
            answer.headers.iter().any(|(key, got)| {
                key.eq_ignore_ascii_case(name) && (value == "*" || got.eq_ignore_ascii_case(value))
            })
        };
        status
            && self.has.iter().all(|pointer| at(pointer).is_some())
            && !self.lacks.iter().any(|pointer| at(pointer).is_some())
            && self
                .equals
                .iter()
                .all(|(pointer, value)| at(pointer).and_then(Value::as_str) == Some(value))
            && self.headers.iter().all(|(name, value)| header(name, value))
    }
}

fn done(dialect: &str) -> Recognition {
    Recognition::Done(Identity {
        dialect: dialect.to_owned(),
        version: None,
        facts: Vec::new(),
        markup: None,
    })
}

/// Reads `[recognise]`.
pub(super) fn read(file: &mut File<'_>, mut keys: Keys<'_, '_>) -> Recognise {
    let hosts = keys.strings(file, "hosts");
    let fallback = keys.boolean(file, "fallback");
    let mut tests = Vec::new();
    for mut keys in keys.tables(file, "by") {
        let order = keys.number(
            file,
            "order",
            "one number: tests are tried from the lowest on, over all files",
        );
        let when: Vec<_> = keys
            .tables(file, "when")
            .into_iter()
            .map(|keys| condition(file, keys))
            .collect();
        if when.is_empty() {
            file.fault(
                &keys.span,
                "`when` is missing",
                "for example `when = [{ get = \"/version\", has = [\"/version\"] }]`",
            );
        }
        let version = keys.tables(file, "version");
        let version = version
            .into_iter()
            .filter_map(|keys| version_from(file, keys))
            .collect();
        keys.finish(file);
        tests.push(By {
            order: order.unwrap_or_default(),
            when,
            version,
        });
    }
    let facts = keys.tables(file, "fact");
    let facts = facts
        .into_iter()
        .filter_map(|keys| fact_from(file, keys))
        .collect();
    let markup = keys.tables(file, "markup");
    let markup = markup
        .into_iter()
        .filter_map(|keys| markup::read(file, keys))
        .collect();
    keys.finish(file);
    Recognise {
        hosts: hosts
            .into_iter()
            .map(|host| host.get_ref().to_ascii_lowercase())
            .collect(),
        fallback,
        by: tests,
        facts,
        markup,
    }
}

fn condition(file: &mut File<'_>, mut keys: Keys<'_, '_>) -> Condition {
    let get = keys.string(file, "get");
    let status = keys.numbers(file, "status");
    let has = keys.strings(file, "has");
    let lacks = keys.strings(file, "lacks");
    let equals = keys.pairs(file, "equals");
    let headers = keys.pairs(file, "headers");
    if let Some(path) = &get
        && !path.get_ref().starts_with('/')
    {
        file.fault(&path.span(), "a path begins with `/`", "write it so");
    }
    let pointers = has.iter().chain(&lacks).map(|at| (at.get_ref(), at.span()));
    let pointers = pointers.chain(equals.iter().map(|(at, value)| (at, value.span())));
    for (pointer, span) in pointers {
        // An empty one is the whole answer.
        if !pointer.is_empty() && !pointer.starts_with('/') {
            let message = format!("`{pointer}` is no JSON Pointer");
            file.fault(&span, message, "for example `/data/0/owned_by`");
        }
    }
    if get.is_none() && headers.is_empty() {
        file.fault(
            &keys.span,
            "a condition on any answer can only look at `headers`",
            "add `get`, or `headers`",
        );
    }
    keys.finish(file);
    let plain = |pairs: Vec<(String, toml::Spanned<String>)>| {
        pairs
            .into_iter()
            .map(|(key, value)| (key, value.into_inner()))
            .collect()
    };
    Condition {
        get: get.map(toml::Spanned::into_inner),
        status,
        has: has.into_iter().map(toml::Spanned::into_inner).collect(),
        lacks: (lacks.into_iter()).map(toml::Spanned::into_inner).collect(),
        equals: plain(equals),
        headers: plain(headers),
    }
}

fn fact_from(file: &mut File<'_>, mut keys: Keys<'_, '_>) -> Option<FactFrom> {
    let get = keys.required(file, "get", "the path that tells it");
    let at = keys.string(file, "at").map(toml::Spanned::into_inner);
    let is = keys.string(file, "is").map(toml::Spanned::into_inner);
    let facts = keys.strings(file, "facts");
    if facts.is_empty() {
        let remedy =
            "the words of [[launch]], `no_tags`, `no_grammars`, `old_tags`, or a `backend`";
        file.fault(&keys.span, "`facts` is missing", remedy);
    }
    keys.finish(file);
    Some(FactFrom {
        get: get?.into_inner(),
        at: at.unwrap_or_default(),
        is,
        facts: facts.into_iter().map(toml::Spanned::into_inner).collect(),
    })
}

fn version_from(file: &mut File<'_>, mut keys: Keys<'_, '_>) -> Option<VersionFrom> {
    let get = keys.required(file, "get", "the path that tells the version");
    let at = keys.required(file, "at", "a JSON Pointer into its answer");
    let least = keys.string(file, "least");
    let least = least.and_then(|text| {
        let version = Version::parse(text.get_ref());
        if version.is_none() {
            let message = format!("`{}` is no version", text.get_ref());
            file.fault(&text.span(), message, "for example \"1000\"");
        }
        version
    });
    keys.finish(file);
    Some(VersionFrom {
        get: get?.into_inner(),
        at: at?.into_inner(),
        least,
    })
}
