//! Lists of models: which route asks for one, and in whose words; a server's own list, written in those.
//!
//! Every server has `/v1/models`, but each dialect's clients read another shape there, or ask at a path of
//! their own. What a server answers in the asking client's shape goes through as it is.

mod read;
mod write;

use super::path::{plain_client, segments};
use crate::error::{Error, Kind};
use crate::ir::Wire;
use crate::rules::Rule;
use read::Model;
use serde_json::Value;
use std::collections::HashSet;

/// Ollama's version whose routes are spoken here: its clients look what they may use (Codex asks for 0.13.4).
const OLLAMA_VERSION: &str = "0.33.0";

/// Whose words a list is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaks {
    /// `{"object": "list", "data": [{"id", "object", "created", "owned_by"}]}`
    OpenAi,
    /// `{"data": [{"type", "id", "display_name", "created_at"}], "has_more", "first_id", "last_id"}`
    Anthropic,
    /// `{"models": [{"name": "models/…", …}], "nextPageToken"}`
    Gemini,
    /// `{"models": [{"name", "model", "modified_at", "details", …}]}`
    Ollama,
}

/// What tells whose client asks, beside the path.
#[derive(Debug, Clone, Copy, Default)]
pub struct Credentials {
    /// There is an `anthropic-version`, or an `x-api-key` and no `authorization`: Anthropic's SDKs send either.
    pub is_anthropic: bool,
    /// There is an `x-goog-api-key`.
    pub is_google: bool,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Question {
    /// All models, or a page of them.
    List(Page),
    /// One model, by its name.
    One(String),
    /// Ollama's `/api/show`: one model, whose name is in the body.
    Show,
    /// Ollama's `/api/version`.
    Version,
    /// Ollama's `/api/ps`: the models that are loaded.
    Running,
}

/// Of a list: how many, and from where on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Page {
    size: Option<usize>,
    /// Behind the model of this name.
    after: Option<String>,
    /// Before it.
    before: Option<String>,
    /// Gemini's token, which is ours: how many came before.
    skip: usize,
}

/// What is known of the models of one server.
#[derive(Debug, Clone, Default)]
pub struct Listed<B> {
    /// What it lists, where that was to be had.
    pub list: Option<B>,
    /// The models that it has by the operator's word, which counts instead.
    pub told: Option<Vec<String>>,
    /// Other names of its models: the name, and the model.
    pub aliases: Vec<(String, String)>,
}

/// A question about models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asking {
    /// Whose words the answer is in.
    pub speaks: Speaks,
    question: Question,
}

impl Speaks {
    /// Whose client asks at this path.
    #[must_use]
    pub fn of(path: &str, credentials: Credentials) -> Self {
        let found = segments(path);
        let below_v1 = match found
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .as_slice()
        {
            ["api", second, ..] if !second.starts_with('v') || *second == "version" => {
                return Self::Ollama;
            }
            ["v1beta" | "v1alpha", second, ..] if *second != "openai" => return Self::Gemini,
            ["v1", "models", ..] | ["models", ..] => true,
            [.., last] if last.ends_with("generatecontent") => return Self::Gemini,
            all if all.contains(&"messages") => return Self::Anthropic,
            _ => false,
        };
        match credentials {
            Credentials {
                is_google: true, ..
            } if below_v1 => Self::Gemini,
            Credentials {
                is_anthropic: true, ..
            } => Self::Anthropic,
            _ => Self::OpenAi,
        }
    }
}

/// What a request asks about models: its method, its path and query as they came. `None` where it asks for something else.
#[must_use]
pub fn asking(
    method: &str,
    path: &str,
    query: Option<&str>,
    credentials: Credentials,
) -> Option<Asking> {
    // As nearly all requests come: what generates asks nothing about models.
    if method == "POST" && plain_client(path).is_some() {
        return None;
    }
    let query = query.unwrap_or_default();
    // Gemini's clients may send their key here.
    let has_key = pairs(query).any(|(name, _)| name == "key");
    let credentials = Credentials {
        is_google: credentials.is_google || has_key,
        ..credentials
    };
    let speaks = Speaks::of(path, credentials);
    let found = segments(path);
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    let question = match (method, found.as_slice()) {
        ("GET", ["v1", "models"] | ["models"]) => Question::List(page(query)),
        ("GET", ["v1beta" | "v1alpha", "models"]) => Question::List(page(query)),
        ("GET", ["v1" | "v1beta" | "v1alpha", "models", ..] | ["models", ..]) => {
            let name = name(path)?;
            // A method, or an operation of one.
            if name.contains(':') && speaks == Speaks::Gemini || name.is_empty() {
                return None;
            }
            Question::One(name)
        }
        ("GET", ["api", "tags"]) => Question::List(Page::default()),
        ("GET", ["api", "ps"]) => Question::Running,
        ("GET" | "HEAD", ["api", "version"]) => Question::Version,
        ("POST", ["api", "show"]) => Question::Show,
        _ => return None,
    };
    Some(Asking { speaks, question })
}

impl Asking {
    /// Whether a server answers this itself, in the client's words.
    #[must_use]
    pub fn is_own(&self, rule: &Rule) -> bool {
        let wires = std::iter::once(rule).chain(rule.beside.iter().map(|rule| &**rule));
        let speaks = |wire| match wire {
            Wire::Messages => self.speaks == Speaks::Anthropic,
            Wire::Gemini => self.speaks == Speaks::Gemini,
            Wire::OllamaChat => matches!(self.speaks, Speaks::Ollama | Speaks::OpenAi),
            Wire::CohereChat => false,
            // What is missing is written here.
            _ => self.speaks == Speaks::OpenAi && !rule.bare_models,
        };
        let mut wires = wires.map(|rule| rule.server.wire());
        wires.any(speaks)
    }

    /// The path that servers of the dialect have the list at, however the client spells it (`/models`, `/v1/models/`); `None`
    /// where the client's own is sent on.
    #[must_use]
    pub fn own_path(&self) -> Option<&'static str> {
        let is_v1 = matches!(self.speaks, Speaks::OpenAi | Speaks::Anthropic);
        (is_v1 && self.is_list()).then_some("/v1/models")
    }

    /// Whether it is about one model by its path: servers that list their models need not answer for one.
    #[must_use]
    pub const fn is_one(&self) -> bool {
        matches!(self.question, Question::One(_))
    }

    /// Whether it is about all that there are.
    #[must_use]
    pub const fn is_list(&self) -> bool {
        matches!(self.question, Question::List(_))
    }

    /// The model that it is about; empty where that is no one.
    #[must_use]
    pub fn model(&self) -> &str {
        match &self.question {
            Question::One(name) => name,
            _ => "",
        }
    }

    /// Whether the model's name is in the request's body.
    #[must_use]
    pub const fn has_body(&self) -> bool {
        matches!(self.question, Question::Show)
    }

    /// The answer that no server is needed for.
    #[must_use]
    pub fn at_once(&self, version: &str) -> Option<Vec<u8>> {
        let answer = || serde_json::json!({"version": OLLAMA_VERSION, "isogloss": version});
        (self.question == Question::Version).then(|| answer().to_string().into_bytes())
    }

    /// The name of the model that a body asks for.
    ///
    /// # Errors
    /// It names none.
    pub fn named(mut self, body: &[u8]) -> Result<Self, Error> {
        let invalid = |kind, message: &str| Error::new(kind, message);
        let body: Value = crate::json::value_of(body)
            .map_err(|_| invalid(Kind::InvalidJson, "the body is no JSON object"))?;
        // `name` is what older clients say.
        let names = ["model", "name"].map(|name| body[name].as_str().unwrap_or_default());
        let Some(name) = names.into_iter().find(|name| !name.is_empty()) else {
            return Err(invalid(Kind::InvalidRequest, "model is required").at("model"));
        };
        self.question = Question::One(name.to_owned());
        Ok(self)
    }

    /// Where a server lists its models, whole as far as it can.
    #[must_use]
    pub const fn list_path(wire: Wire) -> &'static str {
        match wire {
            Wire::Messages => "/v1/models?limit=1000",
            Wire::Gemini => "/v1/models?pageSize=1000",
            _ => "/v1/models",
        }
    }

    /// What the servers list, in the client's words. A model that several have is the first one's.
    ///
    /// # Errors
    /// None of it is a list, or the model that is asked for is in none.
    pub fn answer(&self, lists: &[impl AsRef<[u8]>]) -> Result<Vec<u8>, Error> {
        let lists = lists.iter().map(|list| Listed {
            list: Some(list.as_ref()),
            told: None,
            aliases: Vec::new(),
        });
        self.answer_of(&lists.collect::<Vec<_>>())
    }

    /// The same of several servers, with what the operator says of each. Other names stand behind all models.
    ///
    /// # Errors
    /// As above.
    pub fn answer_of(&self, servers: &[Listed<impl AsRef<[u8]>>]) -> Result<Vec<u8>, Error> {
        let mut models: Vec<Model> = Vec::new();
        let mut aliases: Vec<Model> = Vec::new();
        let mut is_list = false;
        for server in servers {
            let list = server.list.as_ref();
            let list = list.and_then(|list| read::models(list.as_ref()));
            is_list |= list.is_some() || server.told.is_some();
            let list = list.unwrap_or_default();
            let known = |name: &String| {
                let found = find(&list, name);
                found.map_or_else(|| Model::named(name), |model| model.called(name))
            };
            aliases.extend(
                server
                    .aliases
                    .iter()
                    .map(|(alias, name)| known(name).called(alias)),
            );
            match &server.told {
                Some(told) => models.extend(told.iter().map(known)),
                None => models.extend(list),
            }
        }
        if !is_list {
            let message = "the server's /v1/models is no list of models";
            return Err(Error::new(Kind::UpstreamBadReply, message));
        }
        models.append(&mut aliases);
        let mut names = HashSet::new();
        models.retain(|model| names.insert(model.id.clone()));
        let answer = match &self.question {
            Question::List(page) => write::list(self.speaks, &models, page),
            Question::Running | Question::Version | Question::Show => write::running(&models),
            Question::One(name) => {
                let model = find(&models, name).ok_or_else(|| unknown(name))?;
                write::one(self.speaks, model)
            }
        };
        Ok(answer.to_string().into_bytes())
    }
}

/// A model by its name, as its dialect's clients write it.
fn find<'m>(models: &'m [Model], name: &str) -> Option<&'m Model> {
    let same = |name: &str| models.iter().find(|model| model.id == name);
    same(name)
        .or_else(|| same(name.strip_prefix("models/")?))
        .or_else(|| same(name.strip_suffix(":latest")?))
}

fn unknown(name: &str) -> Error {
    let shown: String = name.chars().take(120).filter(|c| !c.is_control()).collect();
    let message = format!("model '{shown}' not found: send a name that the list of models has");
    Error::new(Kind::ModelNotFound, message).at("model")
}

/// What is behind `models/` in a path: names have slashes.
fn name(path: &str) -> Option<String> {
    let (_, name) = path.split_once("/models/")?;
    let decoded = super::path::decoded(name)?;
    Some(decoded.trim_matches('/').to_owned())
}

fn pairs(query: &str) -> impl Iterator<Item = (&str, &str)> {
    query.split('&').filter_map(|pair| pair.split_once('='))
}

fn page(query: &str) -> Page {
    let mut page = Page::default();
    for (name, value) in pairs(query) {
        let text = || super::path::decoded(value);
        match name {
            "limit" | "pageSize" | "page_size" => page.size = value.parse().ok(),
            "after_id" => page.after = text(),
            "before_id" => page.before = text(),
            "pageToken" | "page_token" => page.skip = value.parse().unwrap_or_default(),
            _ => {}
        }
    }
    page
}

#[cfg(test)]
mod tests;
