//! A server's list of models in; what it says of each out. Servers say the same under many names.

use serde_json::{Map, Value};

/// A model that a server lists.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Model {
    /// The name that requests say.
    pub(super) id: String,
    /// For people.
    pub(super) title: Option<String>,
    /// Seconds since 1970.
    pub(super) created: Option<u64>,
    pub(super) owner: Option<String>,
    /// How many tokens a request and its reply may have.
    pub(super) context: Option<u64>,
    /// How many a reply may have.
    pub(super) output: Option<u64>,
    pub(super) sees_images: bool,
    /// All that the server tells of it, where that is in OpenAI's words.
    pub(super) entry: Map<String, Value>,
}

impl Model {
    /// One of which nothing but the name is known.
    pub(super) fn named(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            owner: Some("isogloss".to_owned()),
            ..Self::default()
        }
    }

    /// The same by another name.
    pub(super) fn called(&self, id: &str) -> Self {
        Self {
            id: id.to_owned(),
            ..self.clone()
        }
    }
}

/// Reads a list; `None` where it is none.
pub(super) fn models(body: &[u8]) -> Option<Vec<Model>> {
    let body: Value = crate::json::value_of(body).ok()?;
    // Together has no object around it; llama.cpp has both lists.
    let lists = [body.get("data"), body.get("models"), Some(&body)];
    let list = lists.into_iter().flatten().find_map(Value::as_array)?;
    Some(list.iter().filter_map(model).collect())
}

fn text<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name)?.as_str().filter(|text| !text.is_empty())
}

fn model(value: &Value) -> Option<Model> {
    let id = ["id", "model", "name"].into_iter();
    let id = id.filter_map(|name| text(value, name)).next()?;
    let first = |pointers: &[&str]| {
        let found = pointers.iter().filter_map(|at| value.pointer(at));
        found.filter_map(Value::as_u64).find(|count| *count > 0)
    };
    let title = ["display_name", "displayName"].into_iter();
    Some(Model {
        // Gemini's are names of resources.
        id: id.strip_prefix("models/").unwrap_or(id).to_owned(),
        title: (title.filter_map(|name| text(value, name)).next()).map(str::to_owned),
        created: first(&["/created", "/created_at"]),
        owner: text(value, "owned_by").map(str::to_owned),
        // vLLM and SGLang; llama.cpp; OpenRouter, Together and Cohere; Groq; Mistral and LM Studio; Gemini; Anthropic.
        context: first(&[
            "/max_model_len",
            "/meta/n_ctx",
            "/meta/n_ctx_train",
            "/context_length",
            "/context_window",
            "/max_context_length",
            "/inputTokenLimit",
            "/max_input_tokens",
        ]),
        output: first(&[
            "/outputTokenLimit",
            "/max_completion_tokens",
            "/max_output_tokens",
            "/max_tokens",
        ]),
        sees_images: sees_images(value),
        entry: match (value.as_object(), text(value, "id")) {
            (Some(entry), Some(_)) => entry.clone(),
            _ => Map::new(),
        },
    })
}

/// OpenRouter names what goes in, llama.cpp and Ollama what it can do, Mistral has a table of it.
fn sees_images(value: &Value) -> bool {
    let has = |at: &str, words: &[&str]| {
        let list = value.pointer(at).and_then(Value::as_array);
        let mut words_of = list.into_iter().flatten().filter_map(Value::as_str);
        words_of.any(|word| words.contains(&word))
    };
    has("/architecture/input_modalities", &["image"])
        || has("/capabilities", &["multimodal", "vision"])
        || value.pointer("/capabilities/vision") == Some(&Value::Bool(true))
}
