//! How requests end, as the metrics and the log have it.

use isogloss_core::error::{Error, Kind, Side};

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Answered, and the demand is met.
    Ok,
    /// Answered although the demand is broken (`on_violation = "pass"`).
    Passed,
    /// Refused: the reply broke the demand.
    Violated,
    /// Refused: the client can mend it.
    ClientError,
    /// The upstream failed.
    UpstreamError,
    /// The upstream limits the rate, which is no failure of its.
    UpstreamLimited,
    /// The proxy was at a limit, shutting down, or wrong.
    ProxyError,
    /// The client went away first.
    ClientGone,
}

impl Outcome {
    /// The label's value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Passed => "passed",
            Self::Violated => "violated",
            Self::ClientError => "client_error",
            Self::UpstreamError => "upstream_error",
            Self::UpstreamLimited => "upstream_limited",
            Self::ProxyError => "proxy_error",
            Self::ClientGone => "client_gone",
        }
    }
}

impl From<Kind> for Outcome {
    fn from(kind: Kind) -> Self {
        match (kind, kind.side()) {
            (Kind::ConstraintViolated, _) => Self::Violated,
            (Kind::ClientGone, _) => Self::ClientGone,
            (Kind::UpstreamRateLimited, _) => Self::UpstreamLimited,
            (_, Side::Client) => Self::ClientError,
            (_, Side::Upstream) => Self::UpstreamError,
            (_, Side::Proxy) => Self::ProxyError,
        }
    }
}

impl From<&Error> for Outcome {
    fn from(error: &Error) -> Self {
        error.kind.into()
    }
}
