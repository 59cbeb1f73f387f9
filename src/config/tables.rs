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
        "upstream.max_in_flight",
        "",
        "",
        "How many requests it is sent at once; more wait their turn. Without it all are sent as they come, and a server's own queue is the only one",
    ],
    [
        "upstream.queue",
        "",
        "",
        "How many may wait for it (2048); one more is answered 503, with the time in Retry-After after which these will have been served",
    ],
    [
        "upstream.queue_timeout",
        "",
        "",
        "How long one waits before it is answered the same (5m)",
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
        "A list of the servers that may answer it, by their `url`, or `worker`; any without it",
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
    [
        "client.priority",
        "",
        "",
        "From -100 to 100, 0 without it: of the requests that wait for an upstream the higher go first. `limits.priority_header` can lower it for a request",
    ],
];
