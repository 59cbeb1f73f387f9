//! A reply's bytes in, the tokens that it says it took out; in whatever dialect it is, whole or streamed.
//!
//! The names of the counts are looked for, not the reply read: within a string of JSON their quotes would be
//! escaped, so that no text of a model's looks like one.

use memchr::memmem;

/// A count, and the sum that it is a part of.
const TOTALS: [&[u8]; 2] = [b"total_tokens\":", b"totalTokenCount\":"];
const INPUTS: [&[u8]; 4] = [
    b"prompt_tokens\":",
    b"input_tokens\":",
    b"prompt_eval_count\":",
    b"promptTokenCount\":",
];
const OUTPUTS: [&[u8]; 4] = [
    b"completion_tokens\":",
    b"output_tokens\":",
    b"\"eval_count\":",
    b"candidatesTokenCount\":",
];
/// Longer than any name with its number.
const LAP: usize = 64;
/// Where a reply tells none: what a token has in English, roughly.
const BYTES_A_TOKEN: u64 = 4;

/// What one reply took.
#[derive(Debug, Default)]
pub(super) struct Meter {
    /// The end of what was looked at, which a name may have begun in.
    tail: Vec<u8>,
    bytes: u64,
    total: u64,
    input: u64,
    output: u64,
}

impl Meter {
    /// Looks at the next bytes.
    pub(super) fn see(&mut self, data: &[u8]) {
        self.bytes += data.len() as u64;
        self.tail.extend_from_slice(data);
        self.total = self.total.max(largest(&self.tail, &TOTALS));
        self.input = self.input.max(largest(&self.tail, &INPUTS));
        self.output = self.output.max(largest(&self.tail, &OUTPUTS));
        let seen = self.tail.len().saturating_sub(LAP);
        self.tail.drain(..seen);
    }

    /// The prompt's tokens and the reply's, as far as the reply told them.
    pub(super) const fn told(&self) -> (u64, u64) {
        (self.input, self.output)
    }

    /// The tokens: what the reply told, else by its size and the request's.
    pub(super) fn tokens(&self, request_bytes: u64) -> u64 {
        let told = self.total.max(self.input.saturating_add(self.output));
        match told {
            0 => (self.bytes + request_bytes).div_ceil(BYTES_A_TOKEN),
            told => told,
        }
    }
}

fn largest(text: &[u8], names: &[&[u8]]) -> u64 {
    let number = |at: usize| {
        let rest = text.get(at..).unwrap_or_default().trim_ascii_start();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit());
        digits.fold(0_u64, |sum, digit| {
            sum.saturating_mul(10)
                .saturating_add(u64::from(digit - b'0'))
        })
    };
    let counts = names.iter().flat_map(|name| {
        let found = memmem::find_iter(text, name);
        found.map(|at| number(at + name.len()))
    });
    counts.max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(pieces: &[&str]) -> u64 {
        let mut meter = Meter::default();
        pieces.iter().for_each(|piece| meter.see(piece.as_bytes()));
        meter.tokens(40)
    }

    #[test]
    fn every_dialects_counts_are_found_also_where_they_are_cut() {
        for pieces in [
            &[r#"{"usage":{"prompt_tokens":7,"completion_tokens":5,"total_tokens": 12}}"#][..],
            &[r#"{"usage":{"input_tok"#, r#"ens":7,"output_tokens":5}}"#],
            &[
                r#"{"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":5,"totalTokenCount":12}}"#,
            ],
            &[r#"{"prompt_eval_count":7,"eval_count":5,"message":{}}"#],
            &[
                "data: {\"message\":{\"usage\":{\"input_tokens\":7,\"output_tokens\":1}}}\n\n",
                "data: {\"delta\":{}}\n\n",
                "data: {\"usage\":{\"output_tokens\":5}}\n\n",
            ],
        ] {
            assert_eq!(tokens(pieces), 12, "{pieces:?}");
            let mut meter = Meter::default();
            pieces.iter().for_each(|piece| meter.see(piece.as_bytes()));
            assert_eq!(meter.told(), (7, 5), "{pieces:?}");
        }
    }

    #[test]
    fn a_models_own_words_count_nothing_and_without_a_count_the_size_does() {
        let text = r#"{"content":"{\"total_tokens\":900000}"}"#;
        assert_eq!(tokens(&[text]), (text.len() as u64 + 40).div_ceil(4));
        assert_eq!(tokens(&[]), 10);
    }
}
