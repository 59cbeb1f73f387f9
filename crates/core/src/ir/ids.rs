//! Ids for calls. Randomness comes in as a seed: the same seed gives the same ids.

use std::time::Duration;

/// A source of unique call ids, and of what a reply lacks: its own id and time.
#[derive(Debug, Clone)]
pub struct Ids {
    seed: u128,
    next: u64,
    created: u64,
    waited: Duration,
}

impl Ids {
    /// Ids of this seed; the shell gives each exchange a random one.
    #[must_use]
    pub const fn new(seed: u128) -> Self {
        Self {
            seed,
            next: 0,
            created: 0,
            waited: Duration::ZERO,
        }
    }

    /// The same ids, with the time for replies that carry none: Unix seconds.
    #[must_use]
    pub const fn at(mut self, unix_seconds: u64) -> Self {
        self.created = unix_seconds;
        self
    }

    /// The same ids, of a reply that was waited for so long.
    #[must_use]
    pub const fn after(mut self, waited: Duration) -> Self {
        self.waited = waited;
        self
    }

    /// How long the server took to its reply: to the whole of it, or to the beginning of a stream.
    #[must_use]
    pub const fn waited(&self) -> Duration {
        self.waited
    }

    /// The time for a reply that carries none: Unix seconds.
    #[must_use]
    pub const fn created(&self) -> u64 {
        self.created
    }

    /// The id for a reply that carries none.
    #[must_use]
    pub fn reply(&self) -> String {
        format!("chatcmpl-{:032x}", self.seed)
    }

    /// The next id, `call_` and 24 letters or digits, as OpenAI's are.
    pub fn call(&mut self) -> String {
        const ALPHABET: &[u8; 62] =
            b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        let mut value = mix(self.seed, self.next);
        self.next += 1;
        let mut id = String::with_capacity(29);
        id.push_str("call_");
        for _ in 0..20 {
            id.push(char::from(ALPHABET[(value % 62) as usize]));
            value /= 62;
        }
        // The counter's own digits make two ids of one source differ whatever the mixing does.
        let mut count = self.next;
        for _ in 0..4 {
            id.push(char::from(ALPHABET[(count % 62) as usize]));
            count /= 62;
        }
        id
    }
}

/// Spreads the seed over all bits (the finaliser of SplitMix64, twice).
fn mix(seed: u128, count: u64) -> u128 {
    let half = |mut z: u64| {
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let step = count.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let low = half((seed as u64).wrapping_add(step));
    let high = half(((seed >> 64) as u64) ^ low);
    (u128::from(high) << 64) | u128::from(low)
}

#[cfg(test)]
mod tests {
    use super::Ids;

    #[test]
    fn ids_are_reproducible_unique_and_shaped_like_openai() {
        let (mut a, mut b) = (Ids::new(7), Ids::new(7));
        let mut seen = std::collections::HashSet::new();
        for _ in 0..1000 {
            let id = a.call();
            assert_eq!(id, b.call());
            assert_eq!(id.len(), 29);
            assert!(seen.insert(id));
        }
    }
}
