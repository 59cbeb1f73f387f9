//! Which paths go on to a server untranslated: those of inference, and what the operator adds.
//!
//! The server's key goes along with whatever is forwarded. So a path is forwarded where it is known to
//! do no more than a client may want done, with the methods that do it: `DELETE /v1/models/NAME` is another matter
//! than `GET`, and so is the list of all stored completions.

use super::path::{Segments, unbent};

/// What of a server's paths is forwarded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Forward {
    is_everything: bool,
    paths: Vec<Added>,
}

/// A path that the operator adds, with every method.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Added {
    segments: Vec<String>,
    has_tree: bool,
}

/// A word that names no path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoPath(pub String);

/// `POST` alone, below `/v1` or not (OpenAI, vLLM, SGLang, llama.cpp, TGI, TEI, Ollama, Cohere, Mistral, Anthropic).
const ASKED: &[&str] = &[
    "api/chat",
    "api/embed",
    "api/embeddings",
    "api/generate",
    "api/show",
    "apply-template",
    "audio/speech",
    "audio/transcriptions",
    "audio/translations",
    "chat",
    "chat/completions",
    "chat/completions/render",
    "chat_tokenize",
    "classify",
    "complete",
    "completion",
    "completions",
    "completions/render",
    "count_tokens",
    "detokenize",
    "embed",
    "embed_all",
    "embed_sparse",
    "embedding",
    "embeddings",
    "encode",
    "fim/completions",
    "generate",
    "generate_stream",
    "images/edits",
    "images/generations",
    "images/variations",
    "infill",
    "messages",
    "messages/count_tokens",
    "moderations",
    "pooling",
    "predict",
    "rerank",
    "reranking",
    "responses",
    "responses/compact",
    "responses/input_tokens",
    "score",
    "similarity",
    "tokenize",
    "v1/rerank",
    "v2/chat",
    "v2/embed",
    "v2/rerank",
];

/// `GET` and `HEAD` alone, and nothing that follows: what is there to be asked, and whether somebody is there to ask, by which a
/// server's own probes and balancers find it through a sidecar.
const READ: &[&str] = &[
    "api/ps",
    "api/tags",
    "api/version",
    "health",
    "ping",
    "version",
];

/// Gemini's methods, behind a model's name.
const METHODS: &[&str] = &[
    "batchembedcontents",
    "counttokens",
    "embedcontent",
    "generatecontent",
    "predict",
    "streamgeneratecontent",
];

impl Forward {
    /// Reads a list in which commas stand between paths: `/v1/files` is this path, `/v1/files/*` whatever is
    /// below it as well, and `*` everything.
    ///
    /// # Errors
    /// The word that is no path.
    pub fn parse(text: &str) -> Result<Self, NoPath> {
        let mut forward = Self::default();
        let words = text.split(',').map(str::trim);
        for word in words.filter(|word| !word.is_empty()) {
            if word == "*" {
                forward.is_everything = true;
                continue;
            }
            let (path, has_tree) = match word.strip_suffix("/*") {
                Some(path) => (path, true),
                None => (word, false),
            };
            let segments = unbent(path).filter(|segments| !segments.is_empty());
            let is_path = path.starts_with('/') && !path.contains(['*', '?', '#']);
            let segments = segments.filter(|_| is_path);
            let segments = segments.ok_or_else(|| NoPath(word.to_owned()))?;
            forward.paths.push(Added { segments, has_tree });
        }
        Ok(forward)
    }

    /// Whether a request goes on: it is one of inference, or the operator wants it.
    #[must_use]
    pub fn allows(&self, method: &str, path: &str) -> bool {
        if self.is_everything {
            return true;
        }
        // What servers could read as another path is none that is known.
        let Some(segments) = unbent(path) else {
            return false;
        };
        self.paths.iter().any(|added| added.is(&segments)) || is_inference(method, &segments)
    }
}

impl Added {
    fn is(&self, segments: &[String]) -> bool {
        match self.has_tree {
            true => segments.starts_with(&self.segments),
            false => segments == self.segments,
        }
    }
}

fn is_inference(method: &str, segments: &Segments) -> bool {
    let below = match segments {
        [first, rest @ ..] if first == "v1" => rest,
        all => all,
    };
    let models = match below {
        [first, rest @ ..] if first == "v1beta" || first == "v1alpha" => rest,
        all => all,
    };
    let joined = below.join("/");
    let (name, is_models) = match models {
        [first, rest @ ..] if first == "models" || first == "tunedmodels" => (rest.last(), true),
        _ => (None, false),
    };
    let gemini = name.and_then(|name| name.rsplit_once(':'));
    let is_asked = ASKED.contains(&joined.as_str())
        || is_models && gemini.is_some_and(|(_, method)| METHODS.contains(&method));
    let is_read = READ.contains(&joined.as_str()) || is_models && gemini.is_none();
    // Of a reply that is kept: its id is known to whoever asked for it, and no path lists them.
    let is_kept = matches!(below, [first, _id] if first == "responses");
    let is_of_kept =
        |what: &str| matches!(below, [first, _id, last] if first == "responses" && last == what);
    match method {
        "POST" => is_asked || is_of_kept("cancel"),
        "GET" | "HEAD" => is_read || is_kept || is_of_kept("input_items"),
        "DELETE" => is_kept,
        // A browser that wants to know whether it may.
        "OPTIONS" => is_asked || is_read || is_kept,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn inference_goes_on_with_its_methods_and_nothing_else_does() {
        let forward = Forward::default();
        for (method, path) in [
            ("POST", "/v1/embeddings"),
            ("POST", "/rerank"),
            ("POST", "/v2/rerank"),
            ("POST", "/v1/audio/transcriptions"),
            ("POST", "/v1beta/models/g:embedContent"),
            ("POST", "/api/embed"),
            ("GET", "/v1/models"),
            ("GET", "/v1/models/org/name"),
            ("HEAD", "/api/tags"),
            ("GET", "/health"),
            ("GET", "/ping"),
            ("GET", "/v1/responses/resp_1/input_items"),
            ("DELETE", "/v1/responses/resp_1"),
            ("OPTIONS", "/v1/chat/completions"),
        ] {
            assert!(forward.allows(method, path), "{method} {path}");
        }
        for (method, path) in [
            ("GET", "/v1/files"),
            ("POST", "/v1/files"),
            ("POST", "/sleep"),
            ("POST", "/health"),
            ("GET", "/health/all"),
            ("GET", "/metrics"),
            ("POST", "/v1/load_lora_adapter"),
            ("POST", "/flush_cache"),
            ("DELETE", "/v1/models/ft:mine"),
            ("GET", "/v1/chat/completions"),
            ("GET", "/v1/responses"),
            ("POST", "/v1/messages/batches"),
            ("POST", "/v1beta/models/g:batchGenerateContent"),
            ("POST", "/api/pull"),
            ("DELETE", "/api/delete"),
            ("GET", "/"),
            ("POST", "/v1/embeddings/../files"),
            ("POST", "/v1/embeddings%2f..%2ffiles"),
            ("POST", "/v1/embeddings%3f/../../files"),
            ("POST", "/files/v1/embeddings"),
        ] {
            assert!(!forward.allows(method, path), "{method} {path}");
        }
    }

    #[test]
    fn the_operator_adds_a_path_a_tree_or_everything() {
        let forward = Forward::parse("/v1/files/*, /metrics").unwrap();
        for path in ["/v1/files", "/v1/files/f/content", "/metrics", "/METRICS/"] {
            assert!(forward.allows("DELETE", path), "{path}");
        }
        for path in ["/v1/filesystem", "/metrics/all", "/files", "/v1/files/../x"] {
            assert!(!forward.allows("GET", path), "{path}");
        }
        assert!(forward.allows("POST", "/v1/embeddings"));
        assert!(Forward::parse("*").unwrap().allows("PUT", "/a/../b"));
        assert_eq!(Forward::parse("").unwrap(), Forward::default());
        for word in ["v1/files", "/", "/a/*/b", "/a/../b", "/*"] {
            assert_eq!(Forward::parse(word), Err(NoPath(word.to_owned())), "{word}");
        }
    }
}
