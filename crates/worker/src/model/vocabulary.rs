//! A loaded model comes in; its vocabulary goes out: tokens as bytes, and text to tokens.

use crate::thoughts::ThinkTags;
use crate::vocabulary::{Piece, Token, TokenKind, Vocabulary};
use isogloss_core::markup::Formats;
use isogloss_gguf::Header;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token_type::{LlamaTokenAttr, LlamaTokenAttrs};
use std::collections::HashMap;
use std::sync::Arc;

mod encode;

use encode::Encoder;

/// The kind of a model's tokeniser, which decides how spaces are written in its pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Byte-level BPE: any bytes, as they are.
    ByteLevel,
    /// SentencePiece, whose text begins with a space of its own where `prefixed`.
    SentencePiece { prefixed: bool },
    /// BPE over SentencePiece's pieces.
    Pieces,
}

impl Kind {
    fn of(header: &Header) -> Self {
        match header.text("tokenizer.ggml.model") {
            Some("llama") => Self::SentencePiece {
                // llama.cpp's default for this kind of tokeniser.
                prefixed: header
                    .flag("tokenizer.ggml.add_space_prefix")
                    .unwrap_or(true),
            },
            Some("gemma4") => Self::Pieces,
            _ => Self::ByteLevel,
        }
    }
}

/// Builds the vocabulary of a model with this chat template.
///
/// # Errors
/// What is wrong with it.
pub(super) fn vocabulary(
    model: &Arc<LlamaModel>,
    header: &Header,
    template: Option<&str>,
) -> Result<Vocabulary, String> {
    let vocab = model.vocab();
    let kind = Kind::of(header);
    let tokens: Vec<LlamaToken> = vocab.tokens().collect();
    let mut pieces: Vec<Piece> = tokens.iter().map(|token| piece(model, *token)).collect();
    let think = template.map(ThinkTags::of_template).unwrap_or_default();
    show_markup(&mut pieces, template.unwrap_or_default(), &think);
    let ends = ends(model, header, &tokens)?;
    // What ends an answer is no part of it, whatever the file says of its kind.
    for end in &ends {
        if let Some(piece) = pieces.get_mut(*end as usize) {
            piece.kind = TokenKind::Control;
        }
    }
    let bytes = byte_tokens(model, &tokens, kind);
    // SentencePiece spells what has no piece as bytes. Where one is missing, llama.cpp throws an
    // exception that ends the process (0.1.160, `byte_to_token`).
    if matches!(kind, Kind::SentencePiece { .. }) && bytes.len() < 256 {
        return Err("its tokenizer has no byte fallback (256 tokens <0x00> to <0xFF>)".to_owned());
    }
    if !pieces.iter().any(|piece| piece.kind == TokenKind::Text) {
        return Err("its tokenizer has no token that is text".to_owned());
    }
    let bos = match vocab.should_add_bos() {
        true => known(vocab.bos()),
        false => None,
    };
    let word_bytes = encode::word_bytes(kind, header.text("tokenizer.ggml.pre"));
    let encoder = Encoder::new(Arc::clone(model), &tokens, kind, word_bytes, bytes);
    let vocabulary = Vocabulary::new(pieces, bos, ends, Box::new(encoder));
    Ok(vocabulary.with_think_tags(think))
}

/// Controls around calls and thoughts, in the markup that the model's template shows, are text: who reads them needs them.
fn show_markup(pieces: &mut [Piece], template: &str, think: &ThinkTags) {
    let formats = Formats::builtin();
    let format = formats.of_template(template);
    let is_shown = |name: &str| {
        let is_thought = name == think.open() || name == think.close();
        is_thought || format.is_some_and(|format| format.is_of_calls(name))
    };
    let controls = pieces.iter_mut();
    for piece in controls.filter(|piece| piece.kind == TokenKind::Control) {
        if std::str::from_utf8(&piece.bytes).is_ok_and(is_shown) {
            piece.kind = TokenKind::Text;
        }
    }
}

/// A token, where there is one: llama.cpp says -1 for none.
fn known(token: LlamaToken) -> Option<Token> {
    Token::try_from(token.0).ok()
}

fn piece(model: &LlamaModel, token: LlamaToken) -> Piece {
    let vocab = model.vocab();
    let attrs = vocab.attr(token);
    let mut bytes = vocab.token_to_piece(token, true, None);
    // llama.cpp's text for a token of byte-level BPE that does not spell bytes: such tokens were
    // added to the vocabulary as they are.
    if bytes.starts_with(b"[UNK_BYTE_0x")
        && let Some(text) = vocab.text(token)
    {
        bytes = text.to_bytes().to_vec();
    }
    let kind = match kind(attrs) {
        // It would be text that never grows.
        TokenKind::Text if bytes.is_empty() => TokenKind::Unused,
        kind => kind,
    };
    Piece { bytes, kind }
}

/// User-defined tokens are text: `<think>` and `<tool_call>` are such ones.
fn kind(attrs: LlamaTokenAttrs) -> TokenKind {
    if attrs.intersects(LlamaTokenAttr::Unused | LlamaTokenAttr::Unknown) {
        TokenKind::Unused
    } else if attrs.contains(LlamaTokenAttr::Control) {
        TokenKind::Control
    } else if attrs
        .intersects(LlamaTokenAttr::Normal | LlamaTokenAttr::UserDefined | LlamaTokenAttr::Byte)
    {
        TokenKind::Text
    } else {
        TokenKind::Unused
    }
}

/// The tokens that end an answer, that of the training first. Where the file names no end,
/// llama.cpp takes a number by the tokeniser's kind (11 for byte-level BPE), which may be any
/// token: such guesses count only where they are control tokens.
fn ends(model: &LlamaModel, header: &Header, tokens: &[LlamaToken]) -> Result<Vec<Token>, String> {
    let vocab = model.vocab();
    let named: Vec<u64> = ["eos", "eot", "eom"]
        .iter()
        .filter_map(|name| header.number(&format!("tokenizer.ggml.{name}_token_id")))
        .collect();
    let mut ends = Vec::new();
    let candidates = [vocab.eos(), vocab.eot()]
        .into_iter()
        .chain(tokens.iter().copied().filter(|token| vocab.is_eog(*token)));
    for token in candidates {
        let Some(end) = known(token).filter(|end| (*end as usize) < tokens.len()) else {
            continue;
        };
        let is_sure = named.contains(&end.into()) || kind(vocab.attr(token)) == TokenKind::Control;
        if is_sure && !ends.contains(&end) {
            ends.push(end);
        }
    }
    if ends.is_empty() {
        return Err(
            "its tokenizer names no token that ends an answer (tokenizer.ggml.eos_token_id)"
                .to_owned(),
        );
    }
    Ok(ends)
}

/// The tokens that stand for single bytes (`<0x0A>`), where the tokeniser has such ones.
fn byte_tokens(model: &LlamaModel, tokens: &[LlamaToken], kind: Kind) -> HashMap<u8, Token> {
    if kind == Kind::ByteLevel {
        return HashMap::new();
    }
    let vocab = model.vocab();
    let byte = |token: LlamaToken| match vocab.text(token)?.to_bytes() {
        [b'<', b'0', b'x', high, low, b'>'] => Some(upper_hex(*high)? << 4 | upper_hex(*low)?),
        _ => None,
    };
    tokens
        .iter()
        .filter(|token| vocab.attr(**token).contains(LlamaTokenAttr::Byte))
        .filter_map(|token| Some((byte(*token)?, known(*token)?)))
        .collect()
}

fn upper_hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_around_calls_and_thoughts_are_text_for_the_model_whose_markup_they_are() {
        let names = [
            "[TOOL_CALLS]",
            "[ARGS]",
            "[INST]",
            "[THINK]",
            "[/THINK]",
            "</s>",
            "Hi",
        ];
        let shown = |template: &str| {
            let mut pieces = names.map(|name| Piece {
                bytes: name.into(),
                kind: match name {
                    "Hi" => TokenKind::Text,
                    _ => TokenKind::Control,
                },
            });
            show_markup(&mut pieces, template, &ThinkTags::of_template(template));
            let texts = pieces
                .into_iter()
                .filter(|piece| piece.kind == TokenKind::Text);
            texts.map(|piece| piece.bytes).collect::<Vec<_>>()
        };
        let mistral = shown("{{ '[TOOL_CALLS]' + name + '[ARGS]' + arguments }}");
        assert_eq!(mistral, [&b"[TOOL_CALLS]"[..], b"[ARGS]", b"Hi"]);
        let thinking = shown("{{ '[TOOL_CALLS]' + name + '[ARGS]' + arguments }}[THINK][/THINK]");
        assert_eq!(thinking.len(), 5);
        assert_eq!(shown("{{ messages }}"), [b"Hi"]);
        // Where calls are messages, the tokens of all messages are.
        let mut harmony = [
            "<|channel|>",
            "<|message|>",
            "<|start|>",
            "<|end|>",
            "<|other|>",
        ]
        .map(|name| Piece {
            bytes: name.into(),
            kind: TokenKind::Control,
        });
        let template = "'<|channel|>commentary to=' + name";
        show_markup(&mut harmony, template, &ThinkTags::of_template(template));
        let kinds = harmony.map(|piece| piece.kind == TokenKind::Text);
        assert_eq!(kinds, [true, true, true, true, false]);
    }
}
