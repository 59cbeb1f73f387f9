//! An upstream's body in, its bytes out, bounded in size, time and memory.

use crate::proxy::budget::{Budget, Charge, NoRoom};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use isogloss_core::exchange::Skimmer;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Why there is no whole body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::proxy) enum WholeError {
    TooLate,
    TooLarge,
    Cut,
    NoRoom,
}

impl From<NoRoom> for WholeError {
    fn from(_: NoRoom) -> Self {
        Self::NoRoom
    }
}

/// So many times what came may be made room for, where so much was announced.
const AHEAD: usize = 32;

/// Bytes that become one piece. The budget is charged for the room that they have, which doubles when it is full, until so
/// much of what was announced is there: then it is made for all of it, since each doubling copies everything into memory
/// that is new. So it is no more than [`AHEAD`] times what came, whatever length was announced.
#[derive(Debug)]
pub(super) struct Growing {
    bytes: BytesMut,
    /// Of all of them together.
    announced: usize,
    /// Where they are looked at as they come.
    skimmer: Option<Skimmer>,
    charge: Charge,
}

impl Growing {
    pub(super) fn new(budget: &Arc<Budget>) -> Self {
        Self {
            bytes: BytesMut::new(),
            announced: 0,
            skimmer: None,
            charge: budget.charge(),
        }
    }

    /// So many will come, it is said.
    pub(super) fn announced(mut self, bytes: u64) -> Self {
        self.announced = usize::try_from(bytes).unwrap_or_default();
        self
    }

    /// Looks at long ones as they come.
    pub(super) fn skimmed(mut self) -> Self {
        const LONG_BYTES: usize = 256 << 10;
        self.skimmer = (self.announced >= LONG_BYTES).then(Skimmer::default);
        self
    }

    pub(super) async fn add(&mut self, bytes: &[u8]) -> Result<(), NoRoom> {
        if !self.has_room_for(bytes) {
            self.make_room_for(bytes).await?;
        }
        self.extend(bytes);
        Ok(())
    }

    /// Nearly always; then nothing has to be waited for.
    pub(super) fn has_room_for(&self, bytes: &[u8]) -> bool {
        self.bytes.len() + bytes.len() <= self.bytes.capacity()
    }

    pub(super) async fn make_room_for(&mut self, bytes: &[u8]) -> Result<(), NoRoom> {
        let len = self.bytes.len();
        let least = len + bytes.len();
        let is_near = least <= self.announced && self.announced / AHEAD <= least;
        let room = match is_near {
            true => self.announced,
            false => least.max(2 * len),
        };
        self.charge.grow_to(room).await?;
        self.bytes.reserve(room - len);
        Ok(())
    }

    pub(super) fn extend(&mut self, bytes: &[u8]) {
        if let Some(skimmer) = &mut self.skimmer {
            skimmer.push(bytes);
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// All of them, charged as long as any of them is held, and what was found of them.
    pub(super) fn whole(self) -> (Bytes, Option<Skimmer>) {
        (self.charge.bind(self.bytes.freeze()), self.skimmer)
    }
}

/// The next bytes of a body; `None` at its end.
async fn next(body: &mut reqwest::Body) -> Result<Option<Bytes>, WholeError> {
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_broken| WholeError::Cut)?;
        // Trailers say nothing that we need.
        if let Ok(bytes) = frame.into_data() {
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

/// The whole body, of which some was read already.
pub(in crate::proxy) async fn read(
    first: &[Bytes],
    mut body: reqwest::Body,
    limit: usize,
    deadline: Instant,
    budget: &Arc<Budget>,
) -> Result<Bytes, WholeError> {
    let mut all = Growing::new(budget);
    for bytes in first {
        all.add(bytes).await?;
    }
    while all.bytes.len() <= limit {
        let bytes = timeout_at(deadline, next(&mut body)).await;
        let Some(bytes) = bytes.map_err(|_elapsed| WholeError::TooLate)?? else {
            return Ok(all.whole().0);
        };
        all.add(&bytes).await?;
    }
    Err(WholeError::TooLarge)
}

/// As much of a body as there is within the limits.
pub(super) async fn read_some(mut body: reqwest::Body, limit: usize, within: Duration) -> Bytes {
    let deadline = Instant::now() + within;
    let mut all = BytesMut::new();
    while let Ok(Ok(Some(bytes))) = timeout_at(deadline, next(&mut body)).await {
        let room = limit.saturating_sub(all.len());
        all.extend_from_slice(bytes.get(..room).unwrap_or(&bytes));
        if all.len() >= limit {
            break;
        }
    }
    all.freeze()
}

/// White space before a reply's first byte; a server has no use for more.
const MAX_BLANK_BYTES: usize = 4096;

/// The chunks of a body up to the first that is not white space.
pub(super) async fn first_chunks(
    body: &mut reqwest::Body,
    deadline: Instant,
) -> Result<Vec<Bytes>, WholeError> {
    let mut first = Vec::new();
    let mut blank = 0;
    loop {
        let chunk = timeout_at(deadline, next(body)).await;
        let Some(chunk) = chunk.map_err(|_elapsed| WholeError::TooLate)?? else {
            return Ok(first);
        };
        let is_blank = chunk.iter().all(u8::is_ascii_whitespace);
        blank += chunk.len();
        first.push(chunk);
        if !is_blank || blank > MAX_BLANK_BYTES {
            return Ok(first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AHEAD, Growing, NoRoom};
    use crate::proxy::budget::Budget;
    use crate::telemetry::Metrics;
    use std::sync::Arc;

    const PIECE: usize = 8 << 10;

    /// The most room in how many pieces' bytes at any time, and how often it was made.
    async fn grown(announced: usize, pieces: usize) -> Result<(f64, usize), NoRoom> {
        let budget = Budget::new(64 << 20, Arc::new(Metrics::new([])));
        let mut all = Growing::new(&budget).announced(announced as u64);
        let (mut most, mut times) = (0_f64, 0);
        for number in 1..=pieces {
            let before = all.bytes.capacity();
            all.add(&[b'x'; PIECE]).await?;
            let room = all.bytes.capacity();
            times += usize::from(room != before);
            most = most.max(room as f64 / (number * PIECE) as f64);
        }
        assert_eq!(all.whole().0.len(), pieces * PIECE);
        Ok((most, times))
    }

    #[tokio::test]
    async fn what_is_announced_is_made_room_for_once_some_of_it_is_there() -> Result<(), NoRoom> {
        let pieces = 512;
        let (_, as_it_comes) = grown(0, pieces).await?;
        let (most, announced) = grown(pieces * PIECE, pieces).await?;
        assert!(announced < as_it_comes, "{announced} of {as_it_comes}");
        assert!(most <= AHEAD as f64, "{most}");
        // A length that is a lie buys no more, and one that is too short breaks nothing.
        assert!(grown(60 << 20, 4).await?.0 <= 2.0);
        grown(PIECE, 4).await?;
        Ok(())
    }
}
