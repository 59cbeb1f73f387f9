//! `isogloss healthcheck`: asks a running proxy's admin port, for orchestrators that have no HTTP
//! probes of their own (Docker's `HEALTHCHECK`, a script). No shell or curl is needed in an image.

use super::flags::ConfigArgs;
use super::{Failure, print};
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
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
    let admin = args.config.load(false)?.admin;
    let path = if args.live { "/livez" } else { "/readyz" };
    let address = reachable(admin);
    let (status, body) = ask(address, path).map_err(|error| {
        Failure::Runtime(format!(
            "http://{address}{path} does not answer: {error}: is it running, and is --admin (ISOGLOSS_ADMIN) that of the proxy?"
        ))
    })?;
    match status {
        200 => print("ok\n"),
        status => Err(Failure::Runtime(format!(
            "http://{address}{path} answers {status}: {}",
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

fn ask(address: SocketAddr, path: &str) -> std::io::Result<(u16, String)> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"
    )?;
    let mut reply = Vec::new();
    stream.take(MAX_REPLY_BYTES).read_to_end(&mut reply)?;
    read(&String::from_utf8_lossy(&reply))
        .ok_or_else(|| std::io::Error::other("what answers does not speak HTTP"))
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
