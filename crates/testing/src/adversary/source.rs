//! Where choices come from: a seed, or the bytes of a fuzzer. The same code makes replies of both.

/// A stream of choices.
pub trait Source {
    /// The next 32 bits; zeros where a finite source is used up.
    fn next(&mut self) -> u32;

    /// Less than `n`; 0 where `n` is 0.
    fn below(&mut self, n: usize) -> usize {
        match u32::try_from(n) {
            Ok(0) | Err(_) => 0,
            Ok(n) => (self.next() % n) as usize,
        }
    }

    /// True so many times out of a hundred.
    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of them. `all` must not be empty.
    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// SplitMix64: small, and good enough to pick by.
#[derive(Debug, Clone)]
pub struct Seeded(pub u64);

impl Source for Seeded {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 16) as u32
    }
}

/// A fuzzer's bytes, a choice each; small numbers are told by one byte.
#[derive(Debug, Clone)]
pub struct Bytes<'a>(pub &'a [u8]);

impl Source for Bytes<'_> {
    fn next(&mut self) -> u32 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        u32::from(*first)
    }

    fn below(&mut self, n: usize) -> usize {
        if n > 256 {
            return (self.next() as usize * 256 + self.next() as usize) % n;
        }
        if n < 2 { 0 } else { self.next() as usize % n }
    }
}
