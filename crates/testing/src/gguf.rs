//! Makes small models with random weights: llama.cpp loads them and writes nonsense with them, so
//! that what a test shows holds whatever the weights are. Deterministic by their seed.
//!
//! The nonsense is biased towards the characters that close JSON and towards the end, so that
//! answers end.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The kinds of tokenisers that a model can be made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tokenizer {
    /// Byte-level BPE with Qwen's pre-tokeniser.
    Bpe,
    /// Byte-level BPE with llama.cpp's default pre-tokeniser, which is a `std::regex`.
    BpeDefault,
    /// SentencePiece, with a space of its own before each text and a token at its beginning.
    SentencePiece,
}

/// Writes a model with random weights into a folder, and says where.
pub fn random_model(dir: &Path, tokenizer: Tokenizer, seed: u64) -> PathBuf {
    let name = match tokenizer {
        Tokenizer::Bpe => "random-bpe",
        Tokenizer::BpeDefault => "random-bpe-default",
        Tokenizer::SentencePiece => "random-sentencepiece",
    };
    let path = dir.join(format!("{name}-{seed}.gguf"));
    fs::write(&path, Gguf::model(tokenizer, seed).bytes()).unwrap();
    path
}

/// A metadata value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    U32(u32),
    F32(f32),
    Bool(bool),
    Text(String),
    Texts(Vec<String>),
    I32s(Vec<i32>),
    F32s(Vec<f32>),
}

/// A tensor of 32-bit floats.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    pub name: String,
    /// Columns, then rows.
    pub shape: Vec<u64>,
    pub data: Vec<f32>,
}

/// A file to be written, open to being spoilt.
#[derive(Debug, Clone, PartialEq)]
pub struct Gguf {
    pub version: u32,
    pub values: Vec<(String, Value)>,
    pub tensors: Vec<Tensor>,
}

const ALIGNMENT: usize = 32;
const LAYERS: u32 = 2;
const WIDTH: u64 = 64;
const HEADS: u32 = 4;
const CACHE_HEADS: u32 = 2;
const FEED_FORWARD: u64 = 128;

/// Tokens that the model was "trained" on.
pub const CONTEXT: u32 = 4_096;

/// Ours: ChatML, with tools as JSON lines, and a think block where it is asked for.
pub const CHAT_TEMPLATE: &str = "\
{%- if tools %}<|im_start|>system
{% if messages[0].role == 'system' %}{{ messages[0].content }}

{% endif %}Functions that may be called:
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}Call one by <tool_call>{\"name\": …, \"arguments\": …}</tool_call>.<|im_end|>
{% elif messages[0].role == 'system' %}<|im_start|>system
{{ messages[0].content }}<|im_end|>
{% endif %}
{%- for message in messages %}{% if message.role != 'system' %}<|im_start|>{{ message.role }}
{{ message.content }}{% for call in message.tool_calls or [] %}<tool_call>
{{ call.function | tojson }}
</tool_call>{% endfor %}<|im_end|>
{% endif %}{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% if enable_thinking is defined and not enable_thinking %}<think>

</think>

{% endif %}{% endif %}";

/// Control tokens, and tokens that are text and yet one token each.
const CONTROLS: [&str; 3] = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];
const USER_DEFINED: [&str; 4] = ["<think>", "</think>", "<tool_call>", "</tool_call>"];

/// What the vocabulary has in one piece.
const WORDS: &[&str] = &[
    "the",
    "and",
    "ing",
    "tion",
    "name",
    "value",
    "type",
    "string",
    "number",
    "object",
    "array",
    "true",
    "false",
    "null",
    "city",
    "count",
    "items",
    "arguments",
    "description",
    "id",
    "temperature",
    "hello",
    "world",
    "answer",
    "yes",
    "no",
    "Berlin",
    "Paris",
    "2024",
    "10",
    "100",
];
const JSON: &[&str] = &[
    "{\"", "\":", "\",", "\"}", "\"]", "\":\"", "\":{", "\":[", "},", "],", "[]", "{}", "}}", "}]",
    "\\\"", "\\n", "\\u", "```", "\n\n", "  ", "    ", "->", "://",
];
/// Characters of several bytes: whole, and of the last ones only their first bytes, so that
/// characters are spread over tokens.
const WIDE: &[&str] = &["é", "ü", "ß", "—", "…", "你", "好", "日", "本"];
const WIDE_BEGINNINGS: &[&[u8]] = &[b"\xf0\x9f", b"\xf0\x9f\x98", b"\xe2\x80", b"\xd0"];

// === impl Gguf ===

impl Gguf {
    /// A model of the llama architecture with random weights.
    pub fn model(tokenizer: Tokenizer, seed: u64) -> Self {
        let mut values = vec![
            (
                "general.architecture".to_owned(),
                Value::Text("llama".to_owned()),
            ),
            (
                "general.name".to_owned(),
                Value::Text(format!("random {seed}")),
            ),
        ];
        let numbers = [
            ("context_length", CONTEXT),
            ("block_count", LAYERS),
            ("embedding_length", WIDTH as u32),
            ("feed_forward_length", FEED_FORWARD as u32),
            ("attention.head_count", HEADS),
            ("attention.head_count_kv", CACHE_HEADS),
            ("rope.dimension_count", WIDTH as u32 / HEADS),
        ];
        values.extend(numbers.map(|(key, number)| (format!("llama.{key}"), Value::U32(number))));
        values.push((
            "llama.attention.layer_norm_rms_epsilon".to_owned(),
            Value::F32(1e-5),
        ));
        let vocabulary = match tokenizer {
            Tokenizer::Bpe => bpe("qwen2"),
            Tokenizer::BpeDefault => bpe("default"),
            Tokenizer::SentencePiece => sentence_piece(),
        };
        let bias = vocabulary.tokens.iter().map(|token| bias(token)).collect();
        values.extend(vocabulary.values());
        values.push((
            "tokenizer.chat_template".to_owned(),
            Value::Text(CHAT_TEMPLATE.to_owned()),
        ));
        Self {
            version: 3,
            values,
            tensors: tensors(bias, seed),
        }
    }

    /// Sets a metadata value.
    pub fn set(mut self, key: &str, value: Value) -> Self {
        self = self.without(key);
        self.values.push((key.to_owned(), value));
        self
    }

    /// Leaves a metadata value out.
    pub fn without(mut self, key: &str) -> Self {
        self.values.retain(|(name, _)| name != key);
        self
    }

    /// Changes the tokens.
    pub fn with_tokens(mut self, change: impl FnOnce(&mut Vec<String>)) -> Self {
        for (key, value) in &mut self.values {
            if let (true, Value::Texts(tokens)) = (key == "tokenizer.ggml.tokens", value) {
                change(tokens);
                break;
            }
        }
        self
    }

    /// The file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend(b"GGUF");
        out.extend(self.version.to_le_bytes());
        out.extend((self.tensors.len() as u64).to_le_bytes());
        out.extend((self.values.len() as u64).to_le_bytes());
        for (key, value) in &self.values {
            put_text(&mut out, key);
            value.put(&mut out);
        }
        let mut offset = 0_usize;
        for tensor in &self.tensors {
            put_text(&mut out, &tensor.name);
            out.extend((tensor.shape.len() as u32).to_le_bytes());
            for size in &tensor.shape {
                out.extend(size.to_le_bytes());
            }
            out.extend(0_u32.to_le_bytes());
            out.extend((offset as u64).to_le_bytes());
            offset += (tensor.data.len() * 4).next_multiple_of(ALIGNMENT);
        }
        for tensor in &self.tensors {
            out.resize(out.len().next_multiple_of(ALIGNMENT), 0);
            out.extend(tensor.data.iter().flat_map(|number| number.to_le_bytes()));
        }
        out
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

impl Value {
    fn put(&self, out: &mut Vec<u8>) {
        let mut list = |kind: u32, length: usize| {
            out.extend(9_u32.to_le_bytes());
            out.extend(kind.to_le_bytes());
            out.extend((length as u64).to_le_bytes());
        };
        match self {
            Self::U32(number) => {
                out.extend(4_u32.to_le_bytes());
                out.extend(number.to_le_bytes());
            }
            Self::F32(number) => {
                out.extend(6_u32.to_le_bytes());
                out.extend(number.to_le_bytes());
            }
            Self::Bool(flag) => {
                out.extend(7_u32.to_le_bytes());
                out.push(u8::from(*flag));
            }
            Self::Text(text) => {
                out.extend(8_u32.to_le_bytes());
                put_text(out, text);
            }
            Self::Texts(texts) => {
                list(8, texts.len());
                texts.iter().for_each(|text| put_text(out, text));
            }
            Self::I32s(numbers) => {
                list(5, numbers.len());
                out.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
            }
            Self::F32s(numbers) => {
                list(6, numbers.len());
                out.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
            }
        }
    }
}

// === vocabularies ===

/// The format's token types.
const NORMAL: i32 = 1;
const UNKNOWN: i32 = 2;
const CONTROL: i32 = 3;
const DEFINED: i32 = 4;
const BYTE: i32 = 6;

#[derive(Debug, Default)]
struct Vocabulary {
    tokens: Vec<String>,
    kinds: Vec<i32>,
    scores: Vec<f32>,
    known: HashMap<String, usize>,
    rest: Vec<(String, Value)>,
}

impl Vocabulary {
    /// Adds a token once.
    fn add(&mut self, token: &str, kind: i32) -> u32 {
        if let Some(known) = self.known.get(token) {
            return *known as u32;
        }
        let id = self.tokens.len();
        self.known.insert(token.to_owned(), id);
        self.tokens.push(token.to_owned());
        self.kinds.push(kind);
        // SentencePiece merges what scores best: earlier tokens.
        self.scores.push(-(id as f32));
        id as u32
    }

    fn set(&mut self, key: &str, value: Value) {
        self.rest.push((format!("tokenizer.ggml.{key}"), value));
    }

    fn values(self) -> Vec<(String, Value)> {
        let mut values = vec![
            (
                "tokenizer.ggml.tokens".to_owned(),
                Value::Texts(self.tokens),
            ),
            (
                "tokenizer.ggml.token_type".to_owned(),
                Value::I32s(self.kinds),
            ),
            ("tokenizer.ggml.scores".to_owned(), Value::F32s(self.scores)),
        ];
        values.extend(self.rest);
        values
    }
}

/// How byte-level BPE writes a byte in its vocabulary: itself where it is a visible character of
/// Latin-1, else the next free one from U+0100.
fn visible(byte: u8) -> char {
    let is_visible = |byte: u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    if is_visible(byte) {
        return char::from(byte);
    }
    let before = (0..byte).filter(|byte| !is_visible(*byte)).count();
    char::from_u32(0x100 + before as u32).unwrap()
}

fn bpe(pre_tokenizer: &str) -> Vocabulary {
    let mut vocabulary = Vocabulary::default();
    for byte in 0..=u8::MAX {
        vocabulary.add(&visible(byte).to_string(), NORMAL);
    }
    let mut merges = Vec::new();
    let mut merge = |bytes: &[u8]| {
        let letters: Vec<char> = bytes.iter().map(|byte| visible(*byte)).collect();
        let mut left = letters[0].to_string();
        for right in &letters[1..] {
            let line = format!("{left} {right}");
            left.push(*right);
            vocabulary.add(&left, NORMAL);
            if !merges.contains(&line) {
                merges.push(line);
            }
        }
    };
    for word in JSON {
        merge(word.as_bytes());
    }
    for word in WORDS {
        merge(word.as_bytes());
        merge(format!(" {word}").as_bytes());
    }
    for letter in WIDE {
        merge(letter.as_bytes());
    }
    for beginning in WIDE_BEGINNINGS {
        merge(beginning);
    }
    let [end_of_text, _, end] = CONTROLS.map(|name| vocabulary.add(name, CONTROL));
    for name in USER_DEFINED {
        vocabulary.add(name, DEFINED);
    }
    vocabulary.add("[unused0]", 5);
    vocabulary.set("model", Value::Text("gpt2".to_owned()));
    vocabulary.set("pre", Value::Text(pre_tokenizer.to_owned()));
    vocabulary.set("merges", Value::Texts(merges));
    vocabulary.set("bos_token_id", Value::U32(end_of_text));
    vocabulary.set("eos_token_id", Value::U32(end));
    vocabulary.set("add_bos_token", Value::Bool(false));
    vocabulary
}

fn sentence_piece() -> Vocabulary {
    let mut vocabulary = Vocabulary::default();
    vocabulary.add("<unk>", UNKNOWN);
    let begin = vocabulary.add("<s>", CONTROL);
    let end = vocabulary.add("</s>", CONTROL);
    for byte in 0..=u8::MAX {
        vocabulary.add(&format!("<0x{byte:02X}>"), BYTE);
    }
    let mut pieces = |word: &str| {
        let word = word.replace(' ', "▁");
        for (at, letter) in word.char_indices().skip(1) {
            vocabulary.add(&word[..at + letter.len_utf8()], NORMAL);
        }
    };
    JSON.iter()
        .filter(|word| !word.contains('\n'))
        .for_each(|word| pieces(word));
    for word in WORDS {
        pieces(word);
        pieces(&format!(" {word}"));
    }
    vocabulary.add("▁", NORMAL);
    for letter in '!'..='~' {
        vocabulary.add(&letter.to_string(), NORMAL);
    }
    for letter in WIDE {
        vocabulary.add(letter, NORMAL);
    }
    for name in &CONTROLS[1..] {
        vocabulary.add(name, CONTROL);
    }
    for name in USER_DEFINED {
        vocabulary.add(name, DEFINED);
    }
    vocabulary.set("model", Value::Text("llama".to_owned()));
    vocabulary.set("pre", Value::Text("default".to_owned()));
    vocabulary.set("bos_token_id", Value::U32(begin));
    vocabulary.set("eos_token_id", Value::U32(end));
    vocabulary.set("unknown_token_id", Value::U32(0));
    vocabulary.set("add_bos_token", Value::Bool(true));
    vocabulary.set("add_space_prefix", Value::Bool(true));
    vocabulary
}

// === weights ===

/// How much likelier than others a token is.
fn bias(token: &str) -> f32 {
    match token {
        "<|im_end|>" | "</s>" | "</think>" | "</tool_call>" => 3.0,
        "<think>" | "<tool_call>" | "<|im_start|>" | "<s>" => -3.0,
        _ if token.starts_with(['"', '}', ']']) => 2.0,
        _ if token.starts_with(['{', '[']) => -1.0,
        _ => 0.0,
    }
}

/// SplitMix64: small, and the same everywhere.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Spread evenly around 0, with this standard deviation.
    fn number(&mut self, deviation: f32) -> f32 {
        let unit = (self.next() >> 40) as f32 / (1_u64 << 24) as f32;
        (unit - 0.5) * deviation * 12_f32.sqrt()
    }

    pub fn tensor(&mut self, name: &str, columns: u64, rows: u64, deviation: f32) -> Tensor {
        Tensor {
            name: name.to_owned(),
            shape: vec![columns, rows],
            data: (0..columns * rows)
                .map(|_| self.number(deviation))
                .collect(),
        }
    }
}

fn tensors(bias: Vec<f32>, seed: u64) -> Vec<Tensor> {
    let mut random = Random(seed);
    let tokens = bias.len() as u64;
    let norm = |name: &str| Tensor {
        name: name.to_owned(),
        shape: vec![WIDTH],
        data: vec![1.0; WIDTH as usize],
    };
    let cache = WIDTH / u64::from(HEADS) * u64::from(CACHE_HEADS);
    let mut embedding = random.tensor("token_embd.weight", WIDTH, tokens, 1.0);
    // The first column is about 1 whatever comes before it, so that the first column of the output
    // is a bias.
    for row in embedding.data.chunks_mut(WIDTH as usize) {
        row[0] = 4.0;
    }
    let mut tensors = vec![embedding, norm("output_norm.weight")];
    for layer in 0..LAYERS {
        let name = |part: &str| format!("blk.{layer}.{part}.weight");
        let wide = 0.125;
        tensors.push(norm(&name("attn_norm")));
        tensors.push(norm(&name("ffn_norm")));
        for (part, columns, rows) in [
            ("attn_q", WIDTH, WIDTH),
            ("attn_k", WIDTH, cache),
            ("attn_v", WIDTH, cache),
            ("attn_output", WIDTH, WIDTH),
            ("ffn_gate", WIDTH, FEED_FORWARD),
            ("ffn_up", WIDTH, FEED_FORWARD),
            ("ffn_down", FEED_FORWARD, WIDTH),
        ] {
            tensors.push(random.tensor(&name(part), columns, rows, wide));
        }
    }
    let mut output = random.tensor("output.weight", WIDTH, tokens, 0.25);
    for (row, bias) in output.data.chunks_mut(WIDTH as usize).zip(bias) {
        row[0] = bias / 2.0;
    }
    tensors.push(output);
    tensors
}
