//! Requests of HTTP/1.1 that are right, as bytes, and what may be done to them.

/// A request that is right, and what it says.
#[derive(Debug, Clone)]
pub struct Right {
    pub wire: Vec<u8>,
    pub body: Vec<u8>,
}

/// What may stand before a request.
const BEFORE: [&str; 3] = ["", "\r\n", "\r\n\r\n"];

const LINES: [&str; 3] = [
    "GET / HTTP/1.1",
    "POST /v1/chat/completions?a=b HTTP/1.1",
    "DELETE /content-length:%205 HTTP/1.1",
];

/// None says anything of the body.
const HEADERS: [&str; 12] = [
    "host: h",
    "X-Empty:",
    "x-content-length: 7",
    "content-lengths: 7",
    "Content-Lengt: 7",
    "transfer-encodings: chunked",
    "transfer-encodin:chunked",
    "te: trailers",
    "expect: 100-continue",
    "accept:\t*/* \t",
    "upgrade: h2c",
    "x-latin: caf\u{e9}",
];

/// In how many ways a body may be sent.
const FORMS: usize = 7;

/// So many numbers are enough for [`Right::drawn`].
pub const DRAWN: usize = 130;

impl Right {
    /// A request whose parts are drawn by these numbers, each taken for as many as there are to choose from; 0 where they end.
    #[must_use]
    pub fn drawn(numbers: &[u16]) -> Self {
        let mut numbers = numbers.iter().map(|number| usize::from(*number));
        let mut below = |bound: usize| numbers.next().unwrap_or(0) % bound;
        let (before, line) = (BEFORE[below(BEFORE.len())], LINES[below(LINES.len())]);
        let headers: Vec<_> = (0..below(5))
            .map(|_| HEADERS[below(HEADERS.len())])
            .collect();
        let (form, step) = (below(FORMS), 1 + below(19));
        let length = below(60);
        // What ends a line or begins a chunk is likelier than any other byte.
        let bytes = (0..length).map(|_| match below(4) {
            0 => below(256) as u8,
            ends => [b'\n', b'\r', b'0'][ends - 1],
        });
        let body: Vec<u8> = bytes.collect();
        let mut head = format!("{before}{line}\r\n");
        for header in headers {
            head += header;
            head += "\r\n";
        }
        let mut wire = head.into_bytes();
        let mut say = |text: &str| wire.extend_from_slice(text.as_bytes());
        match form {
            0 => {
                say("\r\n");
                return Self { wire, body: vec![] };
            }
            1 => say(&format!("content-length: {length}\r\n\r\n")),
            2 => say(&format!("CONTENT-Length:\t00{length} \t\r\nx: y\r\n\r\n")),
            3 => say(&format!(
                "content-length:{length}\r\nhost: h\r\ncontent-length: {length}\r\n\r\n"
            )),
            _ => {
                say("Transfer-Encoding: Chunked\r\n\r\n");
                chunks(&mut wire, &body, form, step);
                return Self { wire, body };
            }
        }
        wire.extend_from_slice(&body);
        Self { wire, body }
    }
}

fn chunks(wire: &mut Vec<u8>, body: &[u8], form: usize, step: usize) {
    let (extension, trailers) = match form {
        4 => ("", ""),
        5 => (";a=b;c=\"d e\"", "x: y\r\ncontent-length: 5\r\n"),
        _ => ("; a", "x:\r\n"),
    };
    for chunk in body.chunks(step) {
        let size = match form {
            4 => format!("{:x}", chunk.len()),
            _ => format!("00{:X}", chunk.len()),
        };
        wire.extend_from_slice(format!("{size}{extension}\r\n").as_bytes());
        wire.extend_from_slice(chunk);
        wire.extend_from_slice(b"\r\n");
    }
    wire.extend_from_slice(format!("0{extension}\r\n{trailers}\r\n").as_bytes());
}

/// The pieces of some bytes, cut wherever it is said.
pub fn pieces<'a>(bytes: &'a [u8], steps: &[usize]) -> Vec<&'a [u8]> {
    let mut rest = bytes;
    let mut pieces = Vec::new();
    for step in steps {
        let (piece, after) = rest.split_at((*step).min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    pieces
}

/// The bytes with others in some places.
pub fn changed(mut wire: Vec<u8>, changes: &[(usize, u8)]) -> Vec<u8> {
    for (at, byte) in changes {
        if let Some(place) = wire.get_mut(*at) {
            *place = *byte;
        }
    }
    wire
}
