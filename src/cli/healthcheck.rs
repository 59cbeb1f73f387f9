//! `isogloss healthcheck`: asks a running proxy's admin port, for orchestrators that have no HTTP
//! probes of their own (Docker's `HEALTHCHECK`, a script). No shell or curl is needed in an image.

use super::flags::ConfigArgs;
use super::{Failure, print};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{self, CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// To connect, and then for each read.
const PATIENCE: Duration = Duration::from_secs(3);
/// Of a reply; what readiness says of hundreds of upstreams is less.
const MAX_REPLY_BYTES: u64 = 64 << 10;

/// Flags of `healthcheck`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    config: ConfigArgs,
    /// Ask only whether the process is alive (/livez), not whether it can serve (/readyz).
    #[arg(long)]
    live: bool,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let config = args.config.load(false)?;
    let path = if args.live { "/livez" } else { "/readyz" };
    let address = reachable(config.admin);
    let is_tls = config.admin_tls().is_some();
    let scheme = if is_tls { "https" } else { "http" };
    let (status, body) = ask(address, path, is_tls).map_err(|error| {
        Failure::Runtime(format!(
            "{scheme}://{address}{path} does not answer: {error}: is it running, and are --admin and --tls-admin (ISOGLOSS_ADMIN, ISOGLOSS_TLS_ADMIN) those of the proxy?"
        ))
    })?;
    match status {
        200 => print("ok\n"),
        status => Err(Failure::Runtime(format!(
            "{scheme}://{address}{path} answers {status}: {}",
            body.trim_end()
        ))),
    }
}

/// An address that listens on every interface is asked on the loopback one.
fn reachable(admin: SocketAddr) -> SocketAddr {
    let ip = match admin.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, admin.port())
}

fn ask(address: SocketAddr, path: &str, is_tls: bool) -> io::Result<(u16, String)> {
    let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let reply = if is_tls {
        let connection = connection(address).map_err(io::Error::other)?;
        said(rustls::StreamOwned::new(connection, stream), address, path)?
    } else {
        said(stream, address, path)?
    };
    read(&String::from_utf8_lossy(&reply))
        .ok_or_else(|| io::Error::other("what answers does not speak HTTP"))
}

fn said(mut stream: impl Read + Write, address: SocketAddr, path: &str) -> io::Result<Vec<u8>> {
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"
    )?;
    stream.flush()?;
    let mut reply = Vec::new();
    match stream.take(MAX_REPLY_BYTES).read_to_end(&mut reply) {
        // A TLS connection that ends without its farewell: what has been said is all the same.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && !reply.is_empty() => {}
        ended => {
            ended?;
        }
    }
    Ok(reply)
}

fn connection(address: SocketAddr) -> Result<ClientConnection, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Whoever(provider)))
        .with_no_client_auth();
    ClientConnection::new(Arc::new(config), ServerName::from(address.ip()))
}

/// Any certificate is taken: its names are those that clients use, of which the address asked here is seldom one, and
/// whether it is the proxy that answers is asked of nobody over plain HTTP either. Nothing is told to it.
#[derive(Debug)]
struct Whoever(Arc<CryptoProvider>);

impl ServerCertVerifier for Whoever {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        crypto::verify_tls12_signature(message, cert, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        crypto::verify_tls13_signature(message, cert, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Status and body of a reply.
fn read(reply: &str) -> Option<(u16, String)> {
    let (head, body) = reply.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.")?.split(' ').nth(1)?;
    Some((status.parse().ok()?, body.to_owned()))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_wildcard_address_is_asked_on_loopback() {
        for (admin, asked) in [
            ("0.0.0.0:9090", "127.0.0.1:9090"),
            ("[::]:9090", "[::1]:9090"),
            ("10.1.2.3:9", "10.1.2.3:9"),
        ] {
            let asked: SocketAddr = asked.parse().unwrap();
            assert_eq!(reachable(admin.parse().unwrap()), asked);
        }
    }

    #[test]
    fn only_http_is_understood() {
        let reply = "HTTP/1.1 503 Service Unavailable\r\na: b\r\n\r\nno\n";
        assert_eq!(read(reply), Some((503, "no\n".to_owned())));
        for garbage in [
            "",
            "SSH-2.0-x\r\n\r\n",
            "HTTP/1.1\r\n\r\n",
            "HTTP/1.1 abc\r\n\r\n",
        ] {
            assert_eq!(read(garbage), None, "{garbage:?}");
        }
    }
}
