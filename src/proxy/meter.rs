//! A reply's bytes in, the tokens that it says it took out; in whatever dialect it is, whole or streamed.
//!
//! Names are looked for where dialects have them, and the reply is not read for it: a tool's arguments are JSON as well, and
//! may have the same names, but deeper.

use memchr::memchr3;

/// The objects in which replies tell what they took (the last two Cohere's and SGLang's), and how deep they stand at most (`response.usage`).
const TABLES: [&[u8]; 4] = [b"usage", b"usageMetadata", b"meta", b"meta_info"];
const TABLE_DEPTH: u32 = 2;
/// Longer than any name that is looked for.
const MAX_NAME: usize = 24;
/// Where a reply tells none: what a token has in English, roughly.
const BYTES_A_TOKEN: u64 = 4;
/// What an event of a stream has beside its text, roughly.
const EVENT_BYTES: u64 = 240;
/// What the last events of a stream are at most, behind that which counts.
const LAST_EVENTS: u64 = 2;
/// What an event of a stream begins with, which is a token at least.
const EVENT: &[u8] = b"data:";

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    Table,
    Total,
    Input,
    Output,
}

/// Where in a JSON text the next byte stands.
#[derive(Debug, Clone, Copy, Default)]
enum At {
    #[default]
    Between,
    Text,
    Escape,
    /// Behind a string, which is a name if a colon follows.
    BehindText,
    Value(Named),
    Number(Named, u64),
}

/// What one reply took.
#[derive(Debug, Default)]
pub(super) struct Meter {
    at: At,
    /// The string that is read, as far as it may be a name.
    word: Vec<u8>,
    /// Objects that are open.
    depth: u32,
    /// How many were when the object of counts began.
    table: Option<u32>,
    /// How much of this line is what an event begins with.
    mark: usize,
    bytes: u64,
    events: u64,
    /// How many there were when the reply last told how long it is.
    told_at: u64,
    total: u64,
    input: u64,
    output: u64,
}

impl Meter {
    /// Looks at the next bytes.
    pub(super) fn see(&mut self, data: &[u8]) {
        self.bytes += data.len() as u64;
        let mut rest = data;
        while let Some((byte, behind)) = rest.split_first() {
            rest = if matches!(self.at, At::Text) {
                self.text(rest)
            } else if self.takes(*byte) {
                behind
            } else {
                // It ends what was before.
                self.at = At::Between;
                rest
            };
        }
    }

    /// Goes on in a string, to its end or to an escape; what is behind is left.
    fn text<'d>(&mut self, data: &'d [u8]) -> &'d [u8] {
        let end = memchr3(b'"', b'\\', b'\n', data);
        let (own, rest) = data.split_at(end.unwrap_or(data.len()));
        let room = MAX_NAME.saturating_sub(self.word.len());
        self.word.extend_from_slice(own.get(..room).unwrap_or(own));
        let Some((mark, rest)) = rest.split_first() else {
            return rest;
        };
        self.at = match mark {
            b'"' => At::BehindText,
            b'\\' => At::Escape,
            // No string of JSON has one: this line was something else.
            _ => {
                self.mark = 0;
                At::Between
            }
        };
        rest
    }

    /// Whether the byte goes on with what is there.
    fn takes(&mut self, byte: u8) -> bool {
        match (self.at, byte) {
            (At::Escape, _) => {
                if self.word.len() < MAX_NAME {
                    self.word.push(byte);
                }
                self.at = At::Text;
            }
            (At::BehindText | At::Value(_), b' ' | b'\t') => {}
            (At::BehindText | At::Value(_), b'\r' | b'\n') => self.mark = 0,
            (At::BehindText, b':') => self.at = self.name().map_or(At::Between, At::Value),
            (At::Value(Named::Table), b'{') => {
                self.table = Some(self.depth);
                self.depth += 1;
                self.at = At::Between;
            }
            (At::Value(what), b'0'..=b'9') if what != Named::Table => {
                self.at = At::Number(what, u64::from(byte - b'0'));
            }
            (At::Number(what, sum), b'0'..=b'9') => {
                let sum = sum.saturating_mul(10);
                self.at = At::Number(what, sum.saturating_add(u64::from(byte - b'0')));
            }
            (At::Number(what, sum), _) => {
                self.note(what, sum);
                return false;
            }
            (At::Between, byte) => self.between(byte),
            _ => return false,
        }
        true
    }

    fn between(&mut self, byte: u8) {
        if EVENT.get(self.mark) == Some(&byte) {
            self.mark += 1;
            if self.mark == EVENT.len() {
                self.events += 1;
                (self.depth, self.table) = (0, None);
            }
            return;
        }
        self.mark = EVENT.len();
        match byte {
            b'\n' | b'\r' => self.mark = 0,
            b'"' => {
                self.word.clear();
                self.at = At::Text;
            }
            b'{' => self.depth += 1,
            b'}' => {
                self.depth = self.depth.saturating_sub(1);
                self.table = self.table.filter(|table| self.depth > *table);
            }
            _ => {}
        }
    }

    /// What the name that was read stands for, here.
    fn name(&self) -> Option<Named> {
        let word = self.word.as_slice();
        if self.table.is_some() {
            return match word {
                b"total_tokens" | b"totalTokenCount" => Some(Named::Total),
                b"prompt_tokens" | b"input_tokens" | b"promptTokenCount" => Some(Named::Input),
                b"completion_tokens" | b"output_tokens" | b"candidatesTokenCount" => {
                    Some(Named::Output)
                }
                _ => None,
            };
        }
        match word {
            // Ollama has them beside the answer.
            b"prompt_eval_count" if self.depth == 1 => Some(Named::Input),
            b"eval_count" if self.depth == 1 => Some(Named::Output),
            _ if self.depth <= TABLE_DEPTH && TABLES.contains(&word) => Some(Named::Table),
            _ => None,
        }
    }

    fn note(&mut self, what: Named, count: u64) {
        let known = match what {
            Named::Table => return,
            Named::Total => &mut self.total,
            Named::Input => &mut self.input,
            Named::Output => &mut self.output,
        };
        *known = (*known).max(count);
        if what != Named::Input {
            self.told_at = self.events;
        }
    }

    /// The prompt's tokens and the reply's, as far as the reply told them.
    pub(super) const fn told(&self) -> (u64, u64) {
        (self.input, self.output)
    }

    /// The tokens: what the reply told, else by its size, or by its events, and by the request's size.
    pub(super) fn tokens(&self, request_bytes: u64) -> u64 {
        let told = self.total.max(self.input.saturating_add(self.output));
        let asked = request_bytes.div_ceil(BYTES_A_TOKEN);
        if self.events == 0 {
            return match told {
                0 => asked + self.bytes.div_ceil(BYTES_A_TOKEN),
                told => told,
            };
        }
        let text = self
            .bytes
            .saturating_sub(self.events.saturating_mul(EVENT_BYTES));
        let said = self.events.max(text.div_ceil(BYTES_A_TOKEN));
        match told {
            0 => asked + said,
            // Its client left before the end, where it is told: `message_start` has the prompt's.
            told if self.events > self.told_at + LAST_EVENTS => told.max(self.input + said),
            told => told,
        }
    }
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
                r#"{"embeddings":[[0.5]],"meta":{"billed_units":{"input_tokens":7,"output_tokens":5}}}"#,
            ],
            &[r#"{"text":"a","meta_info":{"prompt_tokens":7,"completion_tokens":5}}"#],
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
    fn cut_anywhere_it_counts_the_same() {
        let text = "data: {\"usage\":null}\n\ndata: {\"usage\": {\"input_tokens\":7,\"tier\":\"a}\\\"\",\
                    \"details\":{\"cached_tokens\":3},\"output_tokens\":5}}\n\ndata: [DONE]\n\n";
        for at in 0..text.len() {
            let (first, second) = text.split_at(at);
            let mut meter = Meter::default();
            [first, second]
                .iter()
                .for_each(|piece| meter.see(piece.as_bytes()));
            assert_eq!(
                (meter.told(), meter.events),
                ((7, 5), 3),
                "{first} | {second}"
            );
        }
    }

    #[test]
    fn a_models_own_words_count_nothing_and_without_a_count_the_size_does() {
        for text in [
            r#"{"content":"{\"total_tokens\":900000}"}"#,
            r#"{"content":"{\"usage\":{\"total_tokens\":900000}}"}"#,
            // Arguments of a tool, and what a reply of Responses has of its request.
            r#"{"type":"tool_use","input":{"total_tokens":900000,"input_tokens":1,"output_tokens":1}}"#,
            r#"{"max_output_tokens":50000,"usage":null}"#,
            r#"{"content":[{"type":"tool_use","input":{"usage":{"total_tokens":900000},"eval_count":800000}}]}"#,
            r#"{"message":{"tool_calls":[{"function":{"arguments":{"eval_count":9,"usage":{"total_tokens":9}}}}]}}"#,
            r#"{"candidates":[{"content":{"parts":[{"functionCall":{"args":{"usageMetadata":{"totalTokenCount":9}}}}]}}]}"#,
        ] {
            assert_eq!(
                tokens(&[text]),
                (text.len() as u64 + 40).div_ceil(4),
                "{text}"
            );
        }
        assert_eq!(tokens(&[]), 10);
    }

    #[test]
    fn a_stream_without_a_count_has_a_token_an_event() {
        let event = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
        let stream = event.repeat(101);
        assert_eq!(tokens(&[&stream]), 101 + 10);
        let odd = format!(": it\"s\n{event}").repeat(101);
        assert_eq!(tokens(&[&odd]), 101 + 10);
        // Or more, where more is in it.
        let event = format!(
            "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n",
            "word ".repeat(1000)
        );
        assert!((20 * 1200..20 * 1300).contains(&tokens(&[&event.repeat(20)])));
    }

    #[test]
    fn who_leaves_before_the_end_pays_for_what_was_said() {
        let start = "event: message_start\ndata: {\"message\":{\"usage\":{\"input_tokens\":10,\"output_tokens\":1}}}\n\n";
        let more = "event: content_block_delta\ndata: {\"delta\":{\"text\":\"a\"}}\n\n";
        let end = "event: message_delta\ndata: {\"usage\":{\"output_tokens\":3}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
        let left = format!("{start}{}", more.repeat(500));
        assert_eq!(tokens(&[&left]), 10 + 501);
        assert_eq!(tokens(&[&left, end]), 13);
    }
}
