//! Losses: what a server could not be told, why, and who enforces it instead.

use serde::Serialize;

/// Who makes sure of what the server was not told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EnforcedBy {
    /// The proxy verifies the reply: nothing that breaks the demand reaches the client.
    Proxy,
    /// The server says that it does; the proxy cannot check it.
    Server,
    /// Nobody: the field was dropped and had no effect on what the reply must be.
    Nobody,
}

impl EnforcedBy {
    /// Everyone who may.
    pub const ALL: [Self; 3] = [Self::Proxy, Self::Server, Self::Nobody];

    /// The word in output and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Proxy => "proxy",
            Self::Server => "server",
            Self::Nobody => "nobody",
        }
    }
}

/// One thing that was not carried to the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// JSON Pointer into the client's request body.
    pub pointer: String,
    /// Why, for a person.
    pub reason: String,
    /// Who enforces it instead.
    pub enforced_by: EnforcedBy,
}
