//! What stands in `[[upstream]]` and `[[client]]`, for the table in docs/reference.md.

/// The file's key, the flag, the variable, what.
pub(super) const TABLES: &[[&str; 4]] = &[
    [
        "upstream.url",
        "--upstream",
        "ISOGLOSS_UPSTREAM",
        "A server: scheme, host, port, perhaps a base path, or a Unix socket (`unix:///run/server.sock`); the flag may repeat, the variable is separated by commas",
    ],
    [
        "upstream.urls",
        "",
        "",
        "A list of such addresses instead of `url`: as many servers, of which everything else here is said",
    ],
    [
        "upstream.name",
        "",
        "",
        "What clients and operators are told of it (`x-isogloss-upstream`, /capabilities), and `client.upstreams` may name; else its place in the file, from 0",
    ],
    [
        "upstream.models",
        "",
        "",
        "A list of the models that it has, `*` for anything (`gpt-*`), instead of those that it lists itself",
    ],
    [
        "upstream.aliases",
        "",
        "",
        "Other names of its models: `{ \"gpt-4o\" = \"Qwen3-32B\" }`. Who asks for the first is answered by the second, and told so by the reply's `model`",
    ],
    [
        "upstream.weight",
        "",
        "",
        "How much it gets compared with others that have the model, from 1 (as without it) to 1000",
    ],
    [
        "upstream.fallback",
        "",
        "",
        "A list of models that are asked for, in this order, where no server that has one of its models can answer",
    ],
    [
        "upstream.dialect",
        "--dialect",
        "ISOGLOSS_DIALECT",
        "Its dialect, `vllm` or `vllm@0.10.2`, instead of detecting it; flag and variable pin every upstream",
    ],
    [
        "upstream.markup",
        "--markup",
        "ISOGLOSS_MARKUP",
        "In which markup its models write calls that the server leaves in the text (`hermes`; docs/servers.md lists them), instead of finding it out; `off` reads none. Flag and variable are for every upstream",
    ],
    [
        "upstream.thoughts",
        "",
        "",
        "Where its models' thoughts stand: a form of `rules/thoughts.toml` (`think`, `mistral`, …) where it leaves them in the text, `auto` for the form of the model that a request names, `apart` where it never does",
    ],
    [
        "upstream.api_key_env",
        "",
        "",
        "The environment variable that holds its API key; without a key the client's own `Authorization` is forwarded, unless clients have keys of the proxy's own",
    ],
    [
        "upstream.api_key_file",
        "",
        "",
        "The file that holds its API key",
    ],
    [
        "upstream.forward",
        "",
        "",
        "The same as `forward`, for this server alone, instead of that",
    ],
    [
        "upstream.ca_file",
        "",
        "",
        "Authorities (PEM) that its certificate may be of, beside the system's",
    ],
    [
        "upstream.client_cert_file",
        "",
        "",
        "The proxy's own certificate, for a server that asks for one (PEM)",
    ],
    ["upstream.client_key_file", "", "", "Its private key (PEM)"],
    [
        "",
        "",
        "ISOGLOSS_UPSTREAM_API_KEY",
        "The API key of every upstream that names none of its own",
    ],
    [
        "client.name",
        "",
        "",
        "A client, in a [[client]] of its own: its name in logs and metrics. `isogloss key new NAME` prints such a block; where there is one, requests without a client's key are refused, and no client's key goes to a server",
    ],
    [
        "client.key_sha256",
        "",
        "",
        "The SHA-256 of its key; a list while one takes the other's place",
    ],
    [
        "client.models",
        "",
        "",
        "A list of the models that it may name, `gpt-*` for all that begin so; any without it",
    ],
    [
        "client.upstreams",
        "",
        "",
        "A list of the servers that may answer it, by their `name` or `url`, or `worker`; any without it",
    ],
    [
        "client.requests_per_minute",
        "",
        "",
        "Requests a minute; one more is answered 429 with Retry-After",
    ],
    [
        "client.tokens_per_minute",
        "",
        "",
        "Tokens a minute, prompts' and replies' together, as replies tell them, else one for every 4 bytes. What the last reply took too much, later requests wait for",
    ],
    ["client.concurrency", "", "", "Requests at once"],
];
