//! The one table of error kinds, and the error value that reaches a client.
//!
//! Modules raise small errors of their own; each is mapped once to a [`Kind`]. A dialect writes
//! an [`Error`] in its own wire shape; nothing else decides a status or a code.

use std::borrow::Cow;
use std::fmt;

/// Whose doing an error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The request cannot be served as it is: the client can mend it.
    Client,
    /// The server behind the proxy failed, or answered something that cannot be used.
    Upstream,
    /// The proxy itself is at a limit, shutting down, or wrong.
    Proxy,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $side:ident, $status:literal, $openai_type:literal;)*) => {
        /// What went wrong. [`Kind::code`] is stable: it is the `code` that clients see and the
        /// label in metrics.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Kind { $($(#[$doc])* $name,)* }

        impl Kind {
            /// Every kind, in the order of the table.
            pub const ALL: &'static [Kind] = &[$(Kind::$name),*];
            /// The stable code, snake case.
            #[must_use]
            pub const fn code(self) -> &'static str { match self { $(Kind::$name => $code,)* } }
            /// Whose doing it is.
            #[must_use]
            pub const fn side(self) -> Side { match self { $(Kind::$name => Side::$side,)* } }
            /// The HTTP status, where no reply byte has been sent yet.
            #[must_use]
            pub const fn status(self) -> u16 { match self { $(Kind::$name => $status,)* } }
            /// The `error.type` of the OpenAI error shape.
            #[must_use]
            pub const fn openai_type(self) -> &'static str { match self { $(Kind::$name => $openai_type,)* } }
        }
    };
}

kinds! {
    /// The body is not JSON.
    InvalidJson = "invalid_json", Client, 400, "invalid_request_error";
    /// The body nests deeper than the limit.
    JsonTooDeep = "json_too_deep", Client, 400, "invalid_request_error";
    /// The body has more values than the limit.
    JsonTooLarge = "json_too_large", Client, 400, "invalid_request_error";
    /// An object in the body has the same key twice.
    DuplicateKey = "duplicate_key", Client, 400, "invalid_request_error";
    /// A field has the wrong type or an impossible value.
    InvalidRequest = "invalid_request", Client, 400, "invalid_request_error";
    /// Two fields each state a constraint, and not the same.
    ConflictingConstraints = "conflicting_constraints", Client, 400, "invalid_request_error";
    /// Two tools share a name.
    DuplicateToolName = "duplicate_tool_name", Client, 400, "invalid_request_error";
    /// A tool's name cannot be used.
    InvalidToolName = "invalid_tool_name", Client, 400, "invalid_request_error";
    /// `tool_choice` names a tool that is not listed.
    UnknownTool = "unknown_tool", Client, 400, "invalid_request_error";
    /// A JSON Schema is not one.
    InvalidSchema = "invalid_schema", Client, 400, "invalid_request_error";
    /// A JSON Schema uses something that is refused by name.
    UnsupportedSchema = "unsupported_schema", Client, 400, "invalid_request_error";
    /// A JSON Schema is over a limit.
    SchemaTooComplex = "schema_too_complex", Client, 400, "invalid_request_error";
    /// A regex or a grammar cannot be read.
    InvalidGrammar = "invalid_grammar", Client, 400, "invalid_request_error";
    /// The server cannot enforce this constraint, and the proxy cannot verify it either.
    UnsupportedConstraint = "unsupported_constraint", Client, 400, "invalid_request_error";
    /// The request demands something of a reply that is not verified on this route.
    UnverifiedRoute = "unverified_route", Client, 400, "invalid_request_error";
    /// The path is none of those that go on to a server.
    RouteNotForwarded = "route_not_forwarded", Client, 404, "invalid_request_error";
    /// The request's content type or encoding is not served.
    UnsupportedMediaType = "unsupported_media_type", Client, 415, "invalid_request_error";
    /// The body is over the limit.
    BodyTooLarge = "body_too_large", Client, 413, "invalid_request_error";
    /// The body did not arrive in time.
    RequestTimeout = "request_timeout", Client, 408, "invalid_request_error";
    /// The client went away before its request was whole.
    ClientGone = "client_gone", Client, 400, "invalid_request_error";
    /// The upstream refused the request (4xx).
    UpstreamRefused = "upstream_refused", Client, 400, "invalid_request_error";
    /// The prompt is longer than the model's context, or would be cut to fit it.
    ContextLength = "context_length_exceeded", Client, 400, "invalid_request_error";
    /// The upstream does not know the model.
    ModelNotFound = "model_not_found", Client, 404, "invalid_request_error";
    /// No client of the proxy has the key, or there is none.
    KeyRefused = "invalid_api_key", Client, 401, "invalid_request_error";
    /// The client's key is for other things.
    NotAllowed = "permission_denied", Client, 403, "permission_error";
    /// The proxy's operator limits the client's rate.
    RateLimited = "rate_limited", Client, 429, "rate_limit_error";
    /// The upstream refused the credentials.
    UpstreamAuth = "upstream_auth", Upstream, 401, "authentication_error";
    /// The upstream limits the rate, or has too much to do.
    UpstreamRateLimited = "upstream_rate_limited", Upstream, 429, "rate_limit_error";
    /// No connection to the upstream.
    UpstreamUnreachable = "upstream_unreachable", Upstream, 502, "upstream_error";
    /// The upstream is there, but it has no model ready yet.
    ModelLoading = "model_loading", Upstream, 503, "overloaded_error";
    /// The upstream did not answer in time.
    UpstreamTimeout = "upstream_timeout", Upstream, 504, "upstream_error";
    /// The upstream was silent for too long in the middle of a stream.
    UpstreamIdle = "upstream_idle_timeout", Upstream, 504, "upstream_error";
    /// The upstream closed the connection in the middle of a reply.
    UpstreamTruncated = "upstream_truncated", Upstream, 502, "upstream_error";
    /// The bundled worker died while it worked on the request.
    WorkerCrashed = "worker_crashed", Upstream, 502, "upstream_error";
    /// The bundled worker computed without an end while it had the request, and was ended.
    WorkerStuck = "worker_stuck", Upstream, 502, "upstream_error";
    /// The upstream failed (5xx), or said so in the middle of a stream.
    UpstreamFailed = "upstream_error", Upstream, 502, "upstream_error";
    /// The upstream answered something that is not the protocol.
    UpstreamBadReply = "upstream_bad_reply", Upstream, 502, "upstream_error";
    /// The upstream sent more than the limit in one piece.
    UpstreamTooLarge = "upstream_too_large", Upstream, 502, "upstream_error";
    /// The reply does not satisfy what the client asked for.
    ConstraintViolated = "constraint_violated", Upstream, 502, "upstream_error";
    /// The proxy has as many requests as it takes.
    Overloaded = "overloaded", Proxy, 503, "overloaded_error";
    /// The proxy is shutting down.
    ShuttingDown = "server_shutting_down", Proxy, 503, "overloaded_error";
    /// A defect of the proxy. Never expected; logged in full, hidden from the client.
    Internal = "internal", Proxy, 500, "server_error";
}

/// An error on its way to the client.
///
/// `message` names the field and the remedy. It never quotes prompts, outputs or keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// What went wrong.
    pub kind: Kind,
    /// For a person: what is wrong, and what to change.
    pub message: String,
    /// The request field at fault, as a dotted path (`tools[0].function.parameters`).
    pub param: Option<String>,
    /// Overrides [`Kind::status`]: an upstream's own status that is kept.
    pub status: Option<u16>,
    /// Overrides [`Kind::code`]: an upstream's own code that clients know (`context_length_exceeded`).
    pub code: Option<String>,
    /// Seconds for `Retry-After`.
    pub retry_after: Option<u64>,
    /// What the head of an upstream's error told its clients (`x-should-retry`, what is left of a rate): names and values.
    pub headers: Box<[(String, String)]>,
}

impl Error {
    /// An error with no parameter.
    #[must_use]
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            param: None,
            status: None,
            code: None,
            retry_after: None,
            headers: Box::default(),
        }
    }

    /// The same error, naming the request field at fault.
    #[must_use]
    pub fn at(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    /// The same error with `Retry-After`.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// The same error with another HTTP status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// The message behind the field at fault, for dialects that have no other place for it; `None` where it is in there.
    #[must_use]
    pub(crate) fn message_with_field(&self) -> Option<String> {
        let param = self.param.as_deref()?;
        (!self.message.contains(param)).then(|| format!("{param}: {}", self.message))
    }

    /// The HTTP status to answer with.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status.unwrap_or(self.kind.status())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// A name as an error may repeat it: so much of it, and nothing that a terminal acts on.
pub(crate) fn repeatable(name: &str) -> String {
    const MAX_CHARS: usize = 64;
    let begin: String = name.chars().take(MAX_CHARS).collect();
    begin.escape_debug().to_string()
}

/// So many characters of a text at most, with a mark where it goes on.
pub(crate) fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((at, _)) => Cow::Owned(format!("{}…", &text[..at])),
        None => Cow::Borrowed(text),
    }
}
