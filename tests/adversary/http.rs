//! The plainest HTTP there is: a server that answers as a case tells it to, and a client that keeps
//! its connections.

use isogloss_testing::adversary::case::{self, Reply, World};
use isogloss_testing::adversary::source::{Seeded, Source};
use isogloss_testing::adversary::values::Answer;
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// However busy the machine is, what takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// The header that names the case.
pub const SEED: &str = "x-adversary";

/// What was sent up there for a case.
#[derive(Debug, Clone)]
pub struct Sent {
    pub bytes: Vec<u8>,
    pub right: Option<Vec<Answer>>,
    pub is_readable: bool,
}

type Notes = Arc<Mutex<HashMap<u64, Sent>>>;

/// The lying server.
pub struct Upstream {
    pub address: SocketAddr,
    notes: Notes,
}

/// The choices of a case: which cell it is, then what is answered.
pub fn source(seed: u64) -> Seeded {
    Seeded(seed.wrapping_mul(0x2545_f491_4f6c_dd1d))
}

impl Upstream {
    pub fn start(world: &Arc<World>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let notes = Notes::default();
        let (world, known) = (Arc::clone(world), Arc::clone(&notes));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (world, notes) = (Arc::clone(&world), Arc::clone(&known));
                thread::spawn(move || {
                    // A proxy that goes away takes its connection with it.
                    let _ended = serve(stream, &world, &notes);
                });
            }
        });
        Self { address, notes }
    }

    /// What was answered for a case, once.
    pub fn sent(&self, seed: u64) -> Option<Sent> {
        self.notes.lock().unwrap().remove(&seed)
    }
}

/// A message's first line, its headers and its body.
struct Message {
    first: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Message {
    fn header(&self, name: &str) -> Option<&str> {
        let known = self.headers.iter().find(|(known, _)| known == name);
        known.map(|it| it.1.as_str())
    }

    fn read(from: &mut BufReader<TcpStream>) -> io::Result<Self> {
        let mut line = || -> io::Result<String> {
            let mut text = String::new();
            match from.read_line(&mut text)? {
                0 => Err(io::ErrorKind::UnexpectedEof.into()),
                _ => Ok(text.trim_end().to_owned()),
            }
        };
        let first = line()?;
        let mut headers = Vec::new();
        loop {
            let text: String = line()?;
            if text.is_empty() {
                break;
            }
            if let Some((name, value)) = text.split_once(':') {
                headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
            }
        }
        let mut message = Self {
            first,
            headers,
            body: Vec::new(),
        };
        if let Some(length) = message.header("content-length") {
            let length = length.parse().map_err(io::Error::other)?;
            message.body.resize(length, 0);
            from.read_exact(&mut message.body)?;
        } else if message.header("transfer-encoding").is_some() {
            message.body = unchunked(from)?;
        }
        Ok(message)
    }
}

fn unchunked(from: &mut BufReader<TcpStream>) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        from.read_line(&mut line)?;
        let size = usize::from_str_radix(line.trim_end(), 16).map_err(io::Error::other)?;
        let start = body.len();
        body.resize(start + size, 0);
        from.read_exact(&mut body[start..])?;
        from.read_line(&mut line)?;
        if size == 0 {
            return Ok(body);
        }
    }
}

fn connected(stream: TcpStream) -> io::Result<(TcpStream, BufReader<TcpStream>)> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok((stream.try_clone()?, BufReader::new(stream)))
}

fn serve(stream: TcpStream, world: &World, notes: &Notes) -> io::Result<()> {
    let (mut to, mut from) = connected(stream)?;
    to.set_read_timeout(None)?;
    loop {
        let request = Message::read(&mut from)?;
        if let Some(answer) = known(&request.first) {
            plain(&mut to, answer)?;
            continue;
        }
        let seed = request.header(SEED).and_then(|seed| seed.parse().ok());
        let seed: u64 = seed.unwrap_or_default();
        let mut source = source(seed);
        let cell = world.cell(&mut source);
        let Reply {
            body,
            right,
            is_readable,
        } = case::reply(world, cell, &mut source);
        let sent = Sent {
            bytes: body.bytes.clone(),
            right,
            is_readable,
        };
        notes.lock().unwrap().insert(seed, sent);
        let (status, media_type) = (body.status, body.media_type);
        let mut head = format!("HTTP/1.1 {status} OK\r\ncontent-type: {media_type}\r\n");
        if source.chance(30) && !body.is_cut {
            head += &format!("content-length: {}\r\n\r\n", body.bytes.len());
            to.write_all(&[head.as_bytes(), &body.bytes].concat())?;
            continue;
        }
        head += "transfer-encoding: chunked\r\n\r\n";
        to.write_all(head.as_bytes())?;
        chunked(&mut to, &body.bytes, &mut source)?;
        if body.is_cut {
            return Ok(());
        }
        to.write_all(b"0\r\n\r\n")?;
    }
}

/// The body in a few pieces, cut at any byte.
fn chunked(to: &mut TcpStream, bytes: &[u8], source: &mut impl Source) -> io::Result<()> {
    let most = *source.pick(&[1, 1, 2, 6]);
    let mut cuts: Vec<usize> = (1..most).map(|_| source.below(bytes.len() + 1)).collect();
    cuts.push(bytes.len());
    cuts.sort_unstable();
    let mut start = 0;
    for end in cuts {
        if end > start {
            let size = format!("{:x}\r\n", end - start);
            to.write_all(&[size.as_bytes(), &bytes[start..end], b"\r\n"].concat())?;
        }
        start = end;
    }
    Ok(())
}

/// Questions that are not the request itself.
fn known(first: &str) -> Option<&'static str> {
    if first.starts_with("GET ") {
        Some(r#"{"object":"list","data":[{"id":"m","object":"model"}]}"#)
    } else if first.contains(" /chat_tokenize ") {
        Some(
            r#"{"tokenize_response":[{"id":1,"text":"<s>","start":0,"stop":3}],"templated_text":"<s>hi"}"#,
        )
    } else if first.contains(" /tokenize ") {
        Some(
            r#"[{"id":1,"text":"<s>","start":0,"stop":3},{"id":1,"text":"<s>","start":0,"stop":3}]"#,
        )
    } else {
        None
    }
}

fn plain(to: &mut TcpStream, body: &str) -> io::Result<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    to.write_all((head + body).as_bytes())
}

/// What a client got.
pub struct Got {
    pub status: u16,
    pub media_type: String,
    /// What the reply breaks, as its head tells.
    pub violation: Option<String>,
    pub body: Vec<u8>,
}

/// A client's connection to one proxy.
pub struct Client {
    address: SocketAddr,
    open: Option<(TcpStream, BufReader<TcpStream>)>,
}

impl Client {
    pub const fn new(address: SocketAddr) -> Self {
        Self {
            address,
            open: None,
        }
    }

    /// Sends a request. `None` where the reply breaks off.
    pub fn ask(&mut self, seed: u64, target: &str, body: &str) -> Option<Got> {
        let length = body.len();
        let head = format!(
            "POST {target} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n{SEED}: {seed}\r\ncontent-length: {length}\r\n\r\n"
        );
        let request = head + body;
        let is_used = self.open.is_some();
        match self.exchange(&request) {
            // It was closed while nobody used it.
            Err(_) if is_used => self.exchange(&request).ok(),
            asked => asked.ok(),
        }
    }

    fn exchange(&mut self, request: &str) -> io::Result<Got> {
        let (mut to, mut from) = match self.open.take() {
            Some(open) => open,
            None => connected(TcpStream::connect(self.address)?)?,
        };
        to.write_all(request.as_bytes())?;
        let reply = Message::read(&mut from)?;
        let status = reply
            .first
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        if reply.header("connection") != Some("close") {
            self.open = Some((to, from));
        }
        Ok(Got {
            status: status.unwrap_or_default(),
            media_type: reply.header("content-type").unwrap_or_default().to_owned(),
            violation: reply.header("x-isogloss-violation").map(str::to_owned),
            body: reply.body,
        })
    }
}
