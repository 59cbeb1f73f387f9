//! A fresh connection in; which HTTP the client will speak on it, without a byte taken. Two readers that guess
//! (`hyper_util::server::conn::auto`) hand over what they read, which costs a buffer for each connection.

use std::io;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// RFC 9113, section 3.4.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// A preface that has begun is looked at again. Nearly always it comes as one.
const PAUSE: Duration = Duration::from_millis(5);

/// A version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    Http1,
    Http2,
}

/// The version, once the first bytes are there. `None` where they do not come in this time.
pub(super) async fn of(stream: &TcpStream, limit: Duration) -> Option<Version> {
    timeout(limit, told(stream)).await.ok()?.ok()
}

async fn told(stream: &TcpStream) -> io::Result<Version> {
    loop {
        let mut space = [0; PREFACE.len()];
        let count = stream.peek(&mut space).await?;
        match space.get(..count).unwrap_or_default() {
            [] => return Err(io::ErrorKind::UnexpectedEof.into()),
            bytes if bytes == PREFACE => return Ok(Version::Http2),
            bytes if PREFACE.starts_with(bytes) => sleep(PAUSE).await,
            _ => return Ok(Version::Http1),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap());
        let (client, accepted) = tokio::join!(client, listener.accept());
        (client.unwrap(), accepted.unwrap().0)
    }

    #[tokio::test]
    async fn the_first_bytes_tell_and_stay() {
        let long = Duration::from_secs(20);
        for (said, version) in [
            (&PREFACE[..], Version::Http2),
            (b"GET", Version::Http1),
            (b"P", Version::Http1),
            (b"PRI * HTTP/1.1\r\n", Version::Http1),
        ] {
            let (mut client, mut server) = pair().await;
            let (first, rest) = said.split_at(1);
            client.write_all(first).await.unwrap();
            let rest = if rest.is_empty() { b"OST" } else { rest };
            let saying = async {
                sleep(3 * PAUSE).await;
                client.write_all(rest).await.unwrap();
            };
            let (told, ()) = tokio::join!(of(&server, long), saying);
            assert_eq!(told, Some(version), "{said:?}");
            let mut all = vec![0; 1 + rest.len()];
            server.read_exact(&mut all).await.unwrap();
            assert_eq!(all, [first, rest].concat());
        }
    }

    #[tokio::test]
    async fn silence_and_a_preface_that_stops_are_given_up() {
        for said in ["", "PRI * HT"] {
            let (mut client, server) = pair().await;
            client.write_all(said.as_bytes()).await.unwrap();
            assert_eq!(of(&server, 10 * PAUSE).await, None, "{said}");
        }
        let (client, server) = pair().await;
        drop(client);
        assert_eq!(of(&server, Duration::from_secs(20)).await, None);
    }
}
