use super::*;
use proptest::prelude::*;

#[test]
fn every_spelling_that_a_server_undoes_is_the_translated_route() {
    for path in [
        "/v1/chat/completions",
        "/chat/completions",
        "/v1/chat/completions/",
        "//v1/chat/completions",
        "/v1//chat///completions//",
        "/v1/chat/complet%69ons",
        "/v1/chat/complet%2569ons",
        "/v1%2fchat%2Fcompletions",
        "/v1/chat/completions;a=b",
        "/v1;x=1/chat;y/completions;",
        "/V1/Chat/COMPLETIONS",
        "/v1/chat/completions%20",
        "/v1/chat/completions%00",
        "/v1/chat/completions%0a",
        "/v1/chat/completions%3Fa=b",
        "/v1/chat/completions%23a",
        "/v1/responses",
        "/responses/",
        "/v1/Respons%65s",
    ] {
        assert_eq!(way(path), Way::Translated, "{path}");
    }
}

#[test]
fn geminis_methods_are_translated_whatever_the_model() {
    for path in [
        "/v1beta/models/gemini-2.5-flash:generateContent",
        "/v1/models/llama:streamGenerateContent",
        "/models/llama:generateContent",
        "/v1alpha/models/org/llama:streamGenerateContent",
        "/v1beta/tunedModels/mine:generateContent",
        "/v1beta/models/Qwen%2FQwen3:generateContent",
        "/V1BETA/Models/m%3AgenerateContent",
    ] {
        assert_eq!(way(path), Way::Translated, "{path}");
        assert_eq!(client(path).map(Client::label), Some("gemini"), "{path}");
    }
    for path in [
        "/x/v1beta/models/m:generateContent",
        "/v1beta/models/../models/m:generateContent",
    ] {
        assert_eq!(way(path), Way::Disguised, "{path}");
    }
    assert_eq!(way("/v1beta/models/m:batchGenerateContent"), Way::Unknown);
}

#[test]
fn a_route_under_a_vendors_prefix_has_its_plain_path() {
    for (path, plain) in [
        ("/openai/v1/chat/completions", Some("/v1/chat/completions")),
        ("/openai/v1/responses", Some("/v1/responses")),
        ("/openai/v1/models", Some("/v1/models")),
        (
            "/openai/deployments/gpt-5/chat/completions",
            Some("/v1/chat/completions"),
        ),
        ("/openai/deployments/a.b/embeddings", Some("/v1/embeddings")),
        (
            "/v1beta/openai/chat/completions",
            Some("/v1/chat/completions"),
        ),
        ("/openai/responses", Some("/v1/responses")),
        ("/openai/responses/resp_1", Some("/v1/responses/resp_1")),
        (
            "/openai/v1/responses/resp_1/input_items",
            Some("/v1/responses/resp_1/input_items"),
        ),
        ("/openai/models", Some("/v1/models")),
        ("/openai/v1/models/m", Some("/v1/models/m")),
        ("/openai/files", None),
        ("/openaiv1/responses", None),
        ("/openai/v1/files", None),
        ("/openai/v1/../chat/completions", None),
        ("/openai/deployments/a/b/chat/completions", None),
        (
            "/openai/deployments/chat/completions",
            Some("/v1/completions"),
        ),
        ("/x/openai/v1/chat/completions", None),
        ("/v1/chat/completions", None),
        ("/v1beta/models/m:generateContent", None),
    ] {
        let found = without_vendor(path);
        assert_eq!(found.as_ref().map(|it| &*it.path), plain, "{path}");
    }
    for (path, model) in [
        ("/openai/v1/chat/completions", None),
        ("/openai/deployments/gpt-5/chat/completions", Some("gpt-5")),
        (
            "/openai/deployments/org%2Fm/chat/completions",
            Some("org/m"),
        ),
    ] {
        let found = without_vendor(path).map(|found| found.deployment);
        assert_eq!(found, Some(model.map(str::to_owned)), "{path}");
    }
}

#[test]
fn each_route_has_its_client() {
    for (path, label) in [
        ("/v1/chat/completions", "chat"),
        ("/v1/completions", "completions"),
        ("/completions/", "completions"),
        ("/v1/comple%74ions", "completions"),
        ("/api/chat", "ollama_chat"),
        ("//API/chat/", "ollama_chat"),
        ("/api/generate", "ollama_generate"),
    ] {
        assert_eq!(way(path), Way::Translated, "{path}");
        assert_eq!(client(path).map(Client::label), Some(label), "{path}");
    }
    for path in [
        "/ollama/api/chat",
        "/v1/x/../completions",
        "/v1/embeddings/%2e%2e/completions",
    ] {
        assert_eq!(way(path), Way::Disguised, "{path}");
        assert!(client(path).is_none(), "{path}");
    }
}

#[test]
fn a_chat_route_under_another_prefix_is_told_apart() {
    for path in [
        "/openai/v1/chat/completions",
        "/api/v1/chat/completions",
        "/v1/v1/chat/completions",
        "/v1beta/openai/chat/completions",
        "/openai/deployments/gpt-4o/chat/completions",
        "/v2/chat/completions/",
        "/x/CHAT/complet%69ons",
        "/x%3F/v1/chat/completions",
        "/v1/x/../chat/completions",
        "/v1/x/%2e%2e/chat/completions",
        "/v1/./chat/completions",
        "/v1\\chat\\completions",
        "/v1/%25252525252525252525252525252525chat",
        "/openai/v1/responses",
        "/v1/x/../responses",
    ] {
        assert_eq!(way(path), Way::Disguised, "{path}");
    }
}

#[test]
fn routes_that_do_not_generate_are_known_and_no_others() {
    for path in [
        "/v1/embeddings",
        "/embeddings/",
        "/V1/Embeddings",
        "/v1/chat/completions/render",
        "/tokenize",
        "/v1/audio/transcriptions",
        "/v1/images/generations",
        "/v1/files",
        "/v1/files/file-1/content",
        "/v1/models/m",
        "/v1beta/models/gemini:countTokens",
        "/api/embed",
        "/v2/rerank",
        "/v1/messages/count_tokens",
    ] {
        assert_eq!(way(path), Way::Plain, "{path}");
    }
    for path in [
        "/",
        "/beta/completions",
        "/openai/deployments/gpt-4o/completions",
        "/completion",
        "/generate",
        "/v1/responses/resp_1/cancel",
        "/v1/messages/batches",
        "/v1/batches",
        "/invocations",
        "/inference/v1/generate",
        "/api/tags",
        "/v2/chat",
        "/infill",
        "/v1beta/models/a/b/c:generateContent",
        "/v1/models/llama/generate",
        "/v2/models/ensemble/generate",
        "/v1/files/../generate",
        "/v1/embeddings/../responses/x",
        "/v1/embeddings/%2e%2e/generate",
        "/v1/embeddings%3F/generate",
        "/x/embeddings/generate",
        "/v1/chat/completions/id",
    ] {
        assert_eq!(way(path), Way::Unknown, "{path}");
    }
}

/// One way to write a path that servers undo.
#[derive(Debug, Clone)]
enum Disguise {
    Encode(prop::sample::Index),
    Double(prop::sample::Index),
    Parameter(prop::sample::Index),
    Upper(prop::sample::Index),
    Trailing(&'static str),
    Dot(prop::sample::Index),
}

fn disguise() -> impl Strategy<Value = Disguise> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        index().prop_map(Disguise::Encode),
        index().prop_map(Disguise::Double),
        index().prop_map(Disguise::Parameter),
        index().prop_map(Disguise::Upper),
        prop::sample::select(vec!["/", ";", "%20", "%00", "%2f", "%3f", "%23x", "/."])
            .prop_map(Disguise::Trailing),
        index().prop_map(Disguise::Dot),
    ]
}

impl Disguise {
    fn wear(&self, path: &str) -> String {
        let slashes: Vec<usize> = path.match_indices('/').map(|(at, _)| at).collect();
        let before_a_slash = |index: &prop::sample::Index, what: &str| {
            let mut path = path.to_owned();
            if let Some(at) = slashes.get(1..).filter(|rest| !rest.is_empty()) {
                path.insert_str(at[index.index(at.len())], what);
            }
            path
        };
        match self {
            Self::Encode(index) => {
                // The first byte stays a slash: it is what makes this a path.
                let at = 1 + index.index(path.len() - 1);
                format!(
                    "{}%{:02x}{}",
                    &path[..at],
                    path.as_bytes()[at],
                    &path[at + 1..]
                )
            }
            Self::Double(index) => before_a_slash(index, "/"),
            Self::Parameter(index) => before_a_slash(index, ";a=b"),
            Self::Upper(index) => {
                let at = index.index(path.len());
                let upper = path[at..=at].to_ascii_uppercase();
                format!("{}{upper}{}", &path[..at], &path[at + 1..])
            }
            Self::Trailing(end) => format!("{path}{end}"),
            Self::Dot(index) => before_a_slash(index, "/x/.."),
        }
    }
}

proptest! {
    #[test]
    fn no_sequence_of_disguises_gets_the_translated_route_past_the_translation(
        path in prop::sample::select(vec![
            "/v1/chat/completions", "/chat/completions", "/v1/responses", "/responses", "/api/chat", "/api/generate",
        ]),
        disguises in prop::collection::vec(disguise(), 0..12),
    ) {
        let worn = disguises.iter().fold(path.to_owned(), |path, one| one.wear(&path));
        let found = way(&worn);
        prop_assert!(matches!(found, Way::Translated | Way::Disguised), "{worn}: {found:?}");
    }

    #[test]
    fn a_path_never_panics_and_nothing_is_made_plain_by_a_disguise(
        disguises in prop::collection::vec(disguise(), 0..8),
    ) {
        let worn = disguises.iter().fold("/v1/responses".to_owned(), |path, one| one.wear(&path));
        prop_assert_ne!(way(&worn), Way::Plain, "{}", worn);
    }
}

#[test]
fn what_counts_tokens_takes_none() {
    for path in [
        "/v1/messages/count_tokens",
        "/v1/responses/input_tokens",
        "/v1beta/models/g:countTokens",
        "/tokenize",
        "/v1/chat/completions/render",
    ] {
        assert!(takes_no_tokens(path), "{path}");
    }
    for path in [
        "/v1/messages",
        "/v1/embeddings",
        "/v1beta/models/g:generateContent",
    ] {
        assert!(!takes_no_tokens(path), "{path}");
    }
}

#[test]
fn what_only_computes_may_be_asked_twice_and_what_acts_may_not() {
    for path in [
        "/v1/embeddings",
        "/embeddings",
        "/v1/rerank",
        "/v2/rerank",
        "/tokenize",
        "/v1/score",
        "/api/embed",
        "/v1/images/generations",
        "/v1beta/models/m:embedContent",
        "/v1/chat/completions/render",
    ] {
        assert!(computes(path), "{path}");
    }
    for path in [
        "/v1/files",
        "/v1/fine_tuning/jobs",
        "/api/pull",
        "/api/delete",
        "/v1/load_lora_adapter",
        "/flush_cache",
        "/props",
        "/v1/unknown",
        "/v1beta/models/m:asyncBatchEmbedContent",
        "/v1/chat/completions",
        "/v1/../embeddings",
    ] {
        assert!(!computes(path), "{path}");
    }
}

#[test]
fn a_route_is_all_of_its_segments_and_a_star_what_one_begins_with() {
    let segments = |path: &str| path.split('/').map(str::to_owned).collect::<Vec<_>>();
    let gemini = ["models", "*:generatecontent"];
    assert!(is_route(&gemini, &segments("models/m:generatecontent")));
    for other in [
        "models/m:counttokens",
        "models",
        "models/m:generatecontent/x",
        "tuned/m:generatecontent",
    ] {
        assert!(!is_route(&gemini, &segments(other)), "{other}");
    }
}

#[test]
fn what_is_asked_about_a_kept_reply_is_known_by_its_path() {
    use crate::dialect::keeper::KeptPart;
    for (path, asked) in [
        ("/v1/responses/resp_1", Some(("resp_1", KeptPart::Reply))),
        ("/responses/resp_1/", Some(("resp_1", KeptPart::Reply))),
        (
            "/v1/responses/resp_1/input_items",
            Some(("resp_1", KeptPart::Input)),
        ),
        (
            "/v1/responses/resp_1/cancel",
            Some(("resp_1", KeptPart::Cancel)),
        ),
        (
            "/v1/responses/compact",
            Some(("compact", KeptPart::Compact)),
        ),
        ("/v1/responses", None),
        ("/v1/responses/", None),
        ("/v1/responses/resp_1/input_items/x", None),
        ("/v1/responses/resp_1/other", None),
        ("/v1/messages/msg_1", None),
    ] {
        let found = super::kept(path).map(|route| (route.id, route.what));
        assert_eq!(found, asked, "{path}");
    }
}
