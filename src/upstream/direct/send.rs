//! A request in, its bytes on a connection: the head and what is there of the body in one write.

use super::link::Link;
use crate::upstream::failure::{self, Why};
use bytes::{Buf, Bytes};
use http::header::{CONTENT_LENGTH, EXPECT, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderValue, Method};
use http_body::Body as _;
use std::collections::VecDeque;
use std::fmt;
use std::io::IoSlice;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::AsyncWrite;

/// No more of a body is taken while so much of it is not written.
const MAX_QUEUED_BYTES: usize = 64 << 10;
/// Pieces in one write.
const MOST_PIECES: usize = 8;
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// Why a request was not sent as a whole.
#[derive(Debug)]
pub(super) enum Error {
    /// The client's body is at fault.
    Body(Why),
    /// The server takes no more.
    Closed,
}

/// What is left of a request.
pub(super) struct Sending {
    queue: VecDeque<Bytes>,
    /// `None` at its end.
    body: Option<reqwest::Body>,
    length: Length,
}

/// How the server learns where the body ends (RFC 9112, section 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    /// It was told; so many bytes are still to come.
    Left(u64),
    Chunked,
}

impl Sending {
    pub(super) fn new(request: &reqwest::Request, body: Option<reqwest::Body>) -> Self {
        let told = || {
            request
                .headers()
                .get(CONTENT_LENGTH)?
                .to_str()
                .ok()?
                .parse()
                .ok()
        };
        let length = body.as_ref().map_or(Length::Left(0), |body| {
            let known = body.size_hint().exact().or_else(told);
            known.map_or(Length::Chunked, Length::Left)
        });
        let target = &request.url()[url::Position::BeforePath..url::Position::AfterQuery];
        let head = head(request.method(), target, request.headers(), length);
        Self {
            queue: VecDeque::from([head]),
            body: body.filter(|_| length != Length::Left(0)),
            length,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.queue.is_empty() && self.body.is_none()
    }

    /// Writes what the connection takes; ready when everything is written.
    pub(super) fn poll(
        &mut self,
        stream: &mut Link,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Error>> {
        loop {
            self.fill(cx).map_err(Error::Body)?;
            if self.queue.is_empty() {
                return match self.body {
                    None => Poll::Ready(Ok(())),
                    Some(_) => Poll::Pending,
                };
            }
            let mut slices = [IoSlice::new(&[]); MOST_PIECES];
            let count = self.queue.len().min(MOST_PIECES);
            for (slice, piece) in slices.iter_mut().zip(&self.queue) {
                *slice = IoSlice::new(piece);
            }
            let slices = slices.get(..count).unwrap_or_default();
            match ready!(Pin::new(&mut *stream).poll_write_vectored(cx, slices)) {
                Ok(0) | Err(_) => return Poll::Ready(Err(Error::Closed)),
                Ok(written) => self.advance(written),
            }
        }
    }

    fn advance(&mut self, mut written: usize) {
        while let Some(piece) = self.queue.front_mut() {
            if written < piece.len() {
                piece.advance(written);
                return;
            }
            written -= piece.len();
            self.queue.pop_front();
        }
    }

    /// Takes what is there of the body.
    fn fill(&mut self, cx: &mut Context<'_>) -> Result<(), Why> {
        while let Some(body) = &mut self.body {
            if self.queue.iter().map(Bytes::len).sum::<usize>() >= MAX_QUEUED_BYTES {
                break;
            }
            match Pin::new(body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data() {
                        self.push(data)?;
                    }
                }
                Poll::Ready(Some(Err(error))) => {
                    return Err(
                        failure::request_body(&error).unwrap_or_else(|| failure::cut(&error))
                    );
                }
                Poll::Ready(None) => self.end()?,
                Poll::Pending => break,
            }
        }
        Ok(())
    }

    fn push(&mut self, data: Bytes) -> Result<(), Why> {
        if data.is_empty() {
            return Ok(());
        }
        match &mut self.length {
            Length::Left(left) => {
                let rest = left.checked_sub(data.len() as u64);
                *left = rest.ok_or(Why::BodyCut)?;
                self.queue.push_back(data);
                if *left == 0 {
                    self.body = None;
                }
            }
            Length::Chunked => {
                let size = format!("{:x}\r\n", data.len());
                self.queue.push_back(size.into());
                self.queue.push_back(data);
                self.queue.push_back(Bytes::from_static(b"\r\n"));
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), Why> {
        self.body = None;
        match self.length {
            Length::Left(0) => {}
            Length::Left(_) => return Err(Why::BodyCut),
            Length::Chunked => self.queue.push_back(Bytes::from_static(LAST_CHUNK)),
        }
        Ok(())
    }
}

/// The request line and the headers. Their types hold nothing that would end a line.
fn head(method: &Method, target: &str, headers: &HeaderMap, length: Length) -> Bytes {
    let line = [method.as_str(), " ", target, " HTTP/1.1\r\n"];
    let lines = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + 4);
    let size = line.iter().map(|part| part.len()).sum::<usize>() + lines.sum::<usize>() + 48;
    let mut head = Vec::with_capacity(size);
    for part in line {
        head.extend_from_slice(part.as_bytes());
    }
    let mut add = |name: &str, value: &HeaderValue| {
        head.extend_from_slice(name.as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    };
    for (name, value) in headers {
        // The first two are told below; who sent the third has had its answer.
        if ![CONTENT_LENGTH, TRANSFER_ENCODING, EXPECT].contains(name) {
            add(name.as_str(), value);
        }
    }
    match length {
        Length::Left(0) if !matches!(*method, Method::POST | Method::PUT | Method::PATCH) => {}
        Length::Left(length) => add(CONTENT_LENGTH.as_str(), &length.into()),
        Length::Chunked => add(
            TRANSFER_ENCODING.as_str(),
            &HeaderValue::from_static("chunked"),
        ),
    }
    head.extend_from_slice(b"\r\n");
    head.into()
}

impl fmt::Debug for Sending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sending")
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}
