//! A failed attempt to get a reply's head: an error of the HTTP client in, its cause in our
//! words out, and from there the error that the client sees.

use super::AddressError;
use isogloss_core::error::{Error, Kind};
use rustix::io::Errno;
use std::error::Error as StdError;
use std::io;

/// Why the proxy takes no more of a client's request body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BodyFault {
    /// It pauses for too long, or comes too slowly.
    #[error("the request body comes too slowly")]
    TooSlow,
    /// It is there, and there is no place for the request.
    #[error("there are as many requests as there may be")]
    NoPlace,
}

/// Why no reply came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Nothing listens there, or the network is not reachable.
    Refused,
    /// The connection was not established in time.
    ConnectTimeout,
    /// The host name has no address.
    Dns,
    /// The TLS handshake failed.
    Tls(Handshake),
    /// The connection broke after the request was sent and before the reply began.
    Reset,
    /// The reply is no HTTP.
    NotHttp,
    /// The reply's head is longer than is read, or has more headers.
    HeadTooLarge,
    /// The worker died while it worked on the request.
    Crashed,
    /// The worker was ended because it computed without an end.
    Stuck,
    /// The worker is being started; it got nothing of the request.
    Restarting,
    /// The client's own request body was over the limit.
    BodyTooLarge,
    /// The client's own request body stopped arriving, or came too slowly.
    BodyTimeout,
    /// There was no place for the request when its body was there.
    NoPlace,
    /// This process has no file descriptor left, or the machine none.
    NoFiles,
    /// The client's own request body is no HTTP.
    BodyCut,
    /// The client went away in the middle of it.
    ClientGone,
    /// The request's path cannot be used.
    Target,
}

/// What a TLS handshake failed of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handshake {
    /// The server's certificate is of an authority that nobody here trusts.
    Authority,
    /// It is of another name.
    Name,
    /// It was valid, or will be.
    Time,
    /// The server does not take our certificate, or that there is none.
    Ours,
    /// Anything else.
    Other,
}

/// A request that got no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    /// The cause.
    pub why: Why,
    /// The request went over a kept connection.
    pub(super) reused: bool,
    /// The server closed before it had the whole request.
    pub(super) is_unread: bool,
}

impl Why {
    /// Nothing was sent: another server, or the same one again, may be tried.
    #[must_use]
    pub const fn is_connect(self) -> bool {
        matches!(
            self,
            Self::Refused | Self::ConnectTimeout | Self::Dns | Self::Tls(_) | Self::Restarting
        )
    }

    /// Whether the server is to blame at all.
    #[must_use]
    pub const fn is_upstream(self) -> bool {
        self.is_connect()
            || matches!(
                self,
                Self::Reset | Self::NotHttp | Self::HeadTooLarge | Self::Crashed | Self::Stuck
            )
    }

    /// A server that starts or restarts looks like this for a while.
    pub(super) const fn may_pass(self) -> bool {
        matches!(self, Self::Refused | Self::Reset | Self::ConnectTimeout)
    }

    /// For people and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "the connection was refused",
            Self::ConnectTimeout => "the connection was not established in time",
            Self::Dns => "its host name has no address",
            Self::Tls(Handshake::Authority) => {
                "its certificate is of an authority that is not trusted (ca_file names one)"
            }
            Self::Tls(Handshake::Name) => "its certificate is of another name",
            Self::Tls(Handshake::Time) => "its certificate has expired, or is not valid yet",
            Self::Tls(Handshake::Ours) => {
                "it wants another certificate of ours, or one at all (client_cert_file)"
            }
            Self::Tls(Handshake::Other) => "the TLS handshake failed",
            Self::Reset => "it closed the connection without an answer",
            Self::NotHttp => "its answer is no HTTP",
            Self::HeadTooLarge => {
                "the head of its answer is too large: it has too many headers, or too long ones"
            }
            Self::Crashed => "it crashed while it worked on the request",
            Self::Stuck => "it computed without an end, and was ended",
            Self::Restarting => "it ended, and is being started again",
            Self::BodyTooLarge => "the request body is over the limit",
            Self::BodyTimeout => "the request body did not arrive in time",
            Self::NoPlace => "the proxy has as many requests as it takes",
            Self::NoFiles => "the proxy has no file descriptor left for a connection to it",
            Self::BodyCut | Self::ClientGone => "the request body broke off",
            Self::Target => "the request path cannot be used on this upstream",
        }
    }

    /// The error that the client gets.
    #[must_use]
    pub fn to_error(self) -> Error {
        let kind = match self {
            Self::Refused | Self::Dns | Self::Tls(_) => Kind::UpstreamUnreachable,
            Self::ConnectTimeout => Kind::UpstreamTimeout,
            Self::Reset => Kind::UpstreamTruncated,
            Self::NotHttp | Self::HeadTooLarge => Kind::UpstreamBadReply,
            Self::Crashed => return super::quarantine::crashed(),
            Self::Stuck => return super::quarantine::stuck(),
            Self::Restarting => return super::State::restarting().refusal(),
            Self::BodyTooLarge => Kind::BodyTooLarge,
            Self::BodyTimeout => Kind::RequestTimeout,
            Self::NoPlace | Self::NoFiles => Kind::Overloaded,
            Self::BodyCut | Self::Target => Kind::InvalidRequest,
            Self::ClientGone => Kind::ClientGone,
        };
        let what = self.as_str();
        let message = match self {
            Self::BodyTooLarge
            | Self::BodyTimeout
            | Self::BodyCut
            | Self::ClientGone
            | Self::Target => what.to_owned(),
            Self::NoPlace => format!("{what} (limits.concurrency); try again"),
            Self::NoFiles => format!("{what}; try again, and raise the limit (ulimit -n)"),
            Self::Refused | Self::ConnectTimeout => format!(
                "the upstream cannot be reached: {what}; check that the server runs and the upstream URL is right"
            ),
            _ => format!("the upstream cannot be used: {what}"),
        };
        let error = Error::new(kind, message);
        match self {
            Self::Refused => error.retry_after(super::state::RETRY_AFTER),
            Self::NoPlace | Self::NoFiles => error.retry_after(OWN_RETRY_AFTER),
            _ => error,
        }
    }
}

/// Seconds: places and connections come free all the time.
const OWN_RETRY_AFTER: u64 = 1;

/// What hyper says of a request body that it could not write.
const WRITING: &str = "error writing a body to connection";

impl Failure {
    /// A kept connection that the server closed while the request was on its way: the server
    /// did not take the request (RFC 9110, section 9.2.2 leaves the choice to us). A fresh
    /// connection that breaks is another matter: the request may be what broke the server.
    pub(super) const fn is_stale(&self) -> bool {
        self.reused && matches!(self.why, Why::Reset)
    }

    /// A server that closed while the request was being written. It may have answered, most often
    /// with a refusal, and the answer was lost: the HTTP client does not read after it could not
    /// write. It has not acted on a request that it did not read.
    pub(super) const fn is_unread(&self) -> bool {
        self.is_unread && matches!(self.why, Why::Reset)
    }

    pub(super) const fn of(why: Why) -> Self {
        Self {
            why,
            reused: false,
            is_unread: false,
        }
    }

    pub(super) const fn refused_target(_error: &AddressError) -> Self {
        Self::of(Why::Target)
    }

    pub(super) fn classify(error: &reqwest::Error, reused: bool) -> Self {
        if request_body(error).is_none() && error.is_connect() {
            return Self {
                reused,
                ..Self::of(connect(error))
            };
        }
        let of_http = find::<hyper::Error>(error);
        let why = request_body(error).unwrap_or_else(|| match of_http {
            Some(error) if error.is_parse_too_large() => Why::HeadTooLarge,
            Some(error) if error.is_parse() => Why::NotHttp,
            _ => Why::Reset,
        });
        Self {
            why,
            reused,
            // The client's kind of this error has no other mark.
            is_unread: of_http.is_some_and(|error| error.to_string().starts_with(WRITING)),
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        failure.why.to_error()
    }
}

/// The client's request body failed on its way through.
pub(super) fn request_body(error: &(dyn StdError + 'static)) -> Option<Why> {
    if find::<http_body_util::LengthLimitError>(error).is_some() {
        Some(Why::BodyTooLarge)
    } else if let Some(fault) = find::<BodyFault>(error) {
        Some(match fault {
            BodyFault::TooSlow => Why::BodyTimeout,
            BodyFault::NoPlace => Why::NoPlace,
        })
    } else if find::<hyper::Error>(error).is_some_and(hyper::Error::is_user) {
        Some(cut(error))
    } else {
        None
    }
}

/// Why a client's request body ended too early: what cannot be read of it is its own fault, else nobody is there any more.
pub(crate) fn cut(error: &(dyn StdError + 'static)) -> Why {
    use io::ErrorKind::{InvalidData, InvalidInput};
    let is_unread = |error: &io::Error| matches!(error.kind(), InvalidData | InvalidInput);
    match find::<io::Error>(error) {
        Some(error) if is_unread(error) => Why::BodyCut,
        _ => Why::ClientGone,
    }
}

fn connect(error: &reqwest::Error) -> Why {
    if is_out_of_files(error) {
        Why::NoFiles
    } else if error.is_timeout() {
        Why::ConnectTimeout
    } else if error.is_dns() {
        unresolved()
    } else {
        handshake(error).map_or(Why::Refused, Why::Tls)
    }
}

/// What the TLS handshake failed of, on a connection that was made: by rustls's verdict, or
/// because the server closed or reset the connection instead of going on. Which of them is seen
/// of a server that closes with something of ours unread is a matter of timing. An IO error hides
/// what it wraps from the chain of causes: its `source` is that of what it wraps.
fn handshake(error: &reqwest::Error) -> Option<Handshake> {
    let is_tls = error.url().is_some_and(|url| url.scheme() == "https");
    let mut next: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(error) = next {
        let mut io = error.downcast_ref::<io::Error>();
        while let Some(error) = io {
            let inner = error.get_ref();
            if let Some(verdict) = inner.and_then(|inner| inner.downcast_ref()) {
                return Some(of_verdict(verdict));
            }
            if is_tls && is_hang_up(error.kind()) {
                return Some(Handshake::Other);
            }
            io = inner.and_then(|inner| inner.downcast_ref());
        }
        next = error.source();
    }
    None
}

fn of_verdict(verdict: &rustls::Error) -> Handshake {
    use rustls::{AlertDescription as Alert, CertificateError as Its, Error as Verdict};
    match verdict {
        Verdict::InvalidCertificate(Its::UnknownIssuer) => Handshake::Authority,
        Verdict::InvalidCertificate(Its::NotValidForName | Its::NotValidForNameContext { .. }) => {
            Handshake::Name
        }
        Verdict::InvalidCertificate(
            Its::Expired
            | Its::ExpiredContext { .. }
            | Its::NotValidYet
            | Its::NotValidYetContext { .. },
        ) => Handshake::Time,
        Verdict::AlertReceived(
            Alert::CertificateRequired
            | Alert::BadCertificate
            | Alert::CertificateUnknown
            | Alert::CertificateExpired
            | Alert::UnknownCA,
        ) => Handshake::Ours,
        _ => Handshake::Other,
    }
}

/// Whether a connection failed because there is no file descriptor for it: that is our own doing, not the server's.
pub(super) fn is_out_of_files(error: &(dyn StdError + 'static)) -> bool {
    let own = [Errno::MFILE, Errno::NFILE].map(|errno| Some(errno.raw_os_error()));
    find::<io::Error>(error).is_some_and(|error| own.contains(&error.raw_os_error()))
}

/// Why a name has no address: a resolver that could open no socket does not say so.
pub(super) fn unresolved() -> Why {
    match std::fs::File::open("/dev/null") {
        Err(error) if is_out_of_files(&error) => Why::NoFiles,
        _ => Why::Dns,
    }
}

/// What is read from, or written to, a connection that the peer has ended. None of them comes of
/// connecting to a port where nothing listens.
const fn is_hang_up(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{
        BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof,
    };
    matches!(
        kind,
        BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | UnexpectedEof
    )
}

/// The first error of this type in the chain of causes.
pub(crate) fn find<'a, E: StdError + 'static>(
    error: &'a (dyn StdError + 'static),
) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        next = error.source();
    }
    None
}
