//! TLS of the two listeners: certificate, key and perhaps the authority of clients' own certificates from files in,
//! connections on which HTTP can be spoken out. Files that changed are read again; what cannot be read changes nothing.

use crate::config::TlsConfig;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The files are looked at no more often.
const LOOK_PAUSE: Duration = Duration::from_secs(1);
/// Failed handshakes are told of no more often.
const TELL_PAUSE: Duration = Duration::from_secs(60);
/// A handshake that took too long, in a word.
pub(crate) const TIMEOUT: &str = "timeout";
/// One that failed for none of the reasons that have a word.
pub(crate) const OTHER: &str = "other";
/// HTTP/2, as a handshake names it.
pub(crate) const HTTP2: &[u8] = b"h2";
/// HTTP/1.1, as a handshake names it.
pub(crate) const HTTP1: &[u8] = b"http/1.1";

/// Why TLS cannot be spoken.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file that cannot be read, or holds something else.
    #[error("{setting}: `{}` holds no {what}: {why}; name a PEM file", path.display())]
    File {
        /// The setting that names it.
        setting: &'static str,
        /// The file.
        path: PathBuf,
        /// What it should hold.
        what: &'static str,
        /// What is wrong.
        why: String,
    },
    /// Certificate and key, or the authority, that do not go together.
    #[error("the certificate of tls.cert cannot be used with the key of tls.key: {0}")]
    Pair(#[from] rustls::Error),
    /// The authority cannot be used.
    #[error("tls.client_ca: {0}")]
    Authority(String),
}

/// Whether whoever connects has a certificate of the authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peers {
    /// All of them, where there is an authority.
    Known,
    /// Who has none is accepted too; what is asked decides ([`Wire::is_known`]).
    Any,
}

/// What accepts connections of TLS.
#[derive(Debug)]
pub(crate) struct Tls {
    files: TlsConfig,
    peers: Peers,
    /// What is offered, the preferred first.
    protocols: &'static [&'static [u8]],
    current: Mutex<Current>,
    /// When a failed handshake was last told of.
    told: Mutex<Option<Instant>>,
}

#[derive(Debug)]
struct Current {
    acceptor: Arc<ServerConfig>,
    /// When each file was last written.
    stamps: Vec<Option<SystemTime>>,
    looked: Instant,
}

impl Tls {
    pub(crate) fn new(
        files: &TlsConfig,
        peers: Peers,
        protocols: &'static [&'static [u8]],
    ) -> Result<Self, TlsError> {
        let current = Current {
            stamps: stamps(files),
            acceptor: read(files, peers, protocols)?,
            looked: Instant::now(),
        };
        Ok(Self {
            files: files.clone(),
            peers,
            protocols,
            current: Mutex::new(current),
            told: Mutex::default(),
        })
    }

    /// Whether a handshake that failed now is to be told of.
    pub(crate) fn tells(&self) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = told.is_none_or(|at| at.elapsed() >= TELL_PAUSE);
        if is_due {
            *told = Some(Instant::now());
        }
        is_due
    }

    /// What the next connection is accepted with.
    fn acceptor(&self) -> TlsAcceptor {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.looked.elapsed() >= LOOK_PAUSE {
            current.looked = Instant::now();
            let stamps = stamps(&self.files);
            if stamps != current.stamps {
                current.stamps = stamps;
                match read(&self.files, self.peers, self.protocols) {
                    Ok(acceptor) => {
                        tracing::info!("the certificate was read again");
                        current.acceptor = acceptor;
                    }
                    Err(error) => {
                        tracing::error!(%error, "the certificate that was there before stays in use");
                    }
                }
            }
        }
        TlsAcceptor::from(Arc::clone(&current.acceptor))
    }

    /// Shakes hands; which HTTP is spoken is agreed on by that ([`Wire::protocol`]).
    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<Wire> {
        let stream = self.acceptor().accept(stream).await?;
        Ok(Wire::Tls(Box::new(stream)))
    }
}

/// Why a handshake failed, in a word.
pub(crate) fn failure(error: &io::Error) -> &'static str {
    let cause = error.get_ref();
    match cause.and_then(|cause| cause.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::NoCertificatesPresented) => "no_certificate",
        Some(rustls::Error::InvalidCertificate(_)) => "wrong_certificate",
        // Most often the client does not take ours.
        Some(rustls::Error::AlertReceived(_)) => "refused_by_client",
        _ => OTHER,
    }
}

fn stamps(files: &TlsConfig) -> Vec<Option<SystemTime>> {
    let written = |path: &PathBuf| std::fs::metadata(path).ok()?.modified().ok();
    let all = [&files.cert, &files.key]
        .into_iter()
        .chain(&files.client_ca);
    all.map(written).collect()
}

fn certificates(
    setting: &'static str,
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let wrong = |why: String| TlsError::File {
        setting,
        path: path.to_owned(),
        what: "certificate",
        why,
    };
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let read = read.map_err(|error| wrong(error.to_string()))?;
    match read.is_empty() {
        true => Err(wrong("there is none in it".to_owned())),
        false => Ok(read),
    }
}

fn read(
    files: &TlsConfig,
    peers: Peers,
    protocols: &[&[u8]],
) -> Result<Arc<ServerConfig>, TlsError> {
    let chain = certificates("tls.cert", &files.cert)?;
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| TlsError::File {
        setting: "tls.key",
        path: files.key.clone(),
        what: "private key",
        why: error.to_string(),
    })?;
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions()?;
    let builder = match &files.client_ca {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let mut roots = rustls::RootCertStore::empty();
            for root in certificates("tls.client_ca", path)? {
                roots.add(root)?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            let verifier = match peers {
                Peers::Known => verifier,
                Peers::Any => verifier.allow_unauthenticated(),
            };
            let verifier = verifier.build();
            let verifier = verifier.map_err(|error| TlsError::Authority(error.to_string()))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let mut config = builder.with_single_cert(chain, key)?;
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Ok(Arc::new(config))
}

/// A connection, as it came or in TLS.
#[derive(Debug)]
pub(crate) enum Wire {
    /// As it came.
    Plain(TcpStream),
    /// In TLS.
    Tls(Box<TlsStream<TcpStream>>),
}

impl Wire {
    /// The protocol that was agreed on, where one was.
    pub(crate) fn protocol(&self) -> Option<&[u8]> {
        match self {
            Self::Plain(_) => None,
            Self::Tls(stream) => stream.get_ref().1.alpn_protocol(),
        }
    }

    /// Whether who is at the other end has shown a certificate of the authority.
    pub(crate) fn is_known(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(stream) => stream.get_ref().1.peer_certificates().is_some(),
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
