//! A model for tests: it goes on with the alphabet. After `:` comes `a`, after each letter the
//! next one, after `z` and everything else the end. A token is a byte, but for two control tokens.
//! Files of the name `slow` take their time. Those with `damaged` in their names are seen to be before they are loaded,
//! those with `broken` when they are; with `big`, the model before has to make room. `stuck` computes nothing, for ever.

use super::kernel::{Entry, Kernel, KernelError, KernelLimits, Setup, Slot};
use super::media::Modalities;
use super::model::{About, LoadError, LoadOptions, Loaded, Loader, Place, Progress};
use super::vocabulary::{Encode, Piece, Token, TokenKind, Vocabulary};
use std::path::PathBuf;
use std::time::Duration;

pub(super) const START: Token = 256;
pub(super) const END: Token = 257;
const TOKENS: usize = 258;

/// Writes roles and contents, and thinks where `thinking` says so.
pub(super) const TEMPLATE: &str = "{% for m in messages %}<|im_start|>{{ m.role }} {{ m.content }}\
    <|im_end|>{% endfor %}<|im_start|>assistant:";

#[derive(Debug)]
pub(super) struct Bytes;

impl Encode for Bytes {
    fn encode(&self, text: &str, controls: bool) -> Vec<Token> {
        let mut tokens = Vec::new();
        let mut rest = text.as_bytes();
        while let Some((first, after)) = rest.split_first() {
            let control = [("<|im_start|>", START), ("<|im_end|>", END)]
                .into_iter()
                .filter(|_| controls)
                .find_map(|(name, token)| Some((rest.strip_prefix(name.as_bytes())?, token)));
            let (after, token) = control.unwrap_or((after, Token::from(*first)));
            tokens.push(token);
            rest = after;
        }
        tokens
    }
}

pub(super) fn vocabulary(bos: Option<Token>) -> Vocabulary {
    let text = (0..=255).map(|byte| Piece {
        bytes: vec![byte],
        kind: TokenKind::Text,
    });
    let control = ["<|im_start|>", "<|im_end|>"].map(|name| Piece {
        bytes: name.as_bytes().to_vec(),
        kind: TokenKind::Control,
    });
    Vocabulary::new(
        text.chain(control).collect(),
        bos,
        vec![END],
        Box::new(Bytes),
    )
}

/// Loads a toy whatever the file holds.
pub(super) const LOADER: Loader = Loader { look, load };

fn name(options: &LoadOptions) -> String {
    let name = options.path.file_stem().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn missing() -> LoadError {
    LoadError::Missing {
        path: PathBuf::from("broken.gguf"),
    }
}

fn look(options: &LoadOptions, _before: &About) -> Result<Place, LoadError> {
    let name = name(options);
    match name.contains("big") {
        _ if name.contains("damaged") => Err(missing()),
        true => Ok(Place::Instead),
        false => Ok(Place::Beside),
    }
}

fn load(options: &LoadOptions, mut progress: Progress) -> Result<Loaded, LoadError> {
    let name = name(options);
    if name.contains("broken") {
        return Err(missing());
    }
    if name.contains("endless") {
        while progress(0.5) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        return Err(missing());
    }
    if !progress(0.5) {
        return Err(missing());
    }
    let limits = KernelLimits {
        cells: 4_096,
        context: 256,
        batch: 64,
        slots: options.slots,
        truncates: true,
    };
    let about = About {
        name: name.clone(),
        architecture: "toy".to_owned(),
        parameters: 1,
        bytes: 1,
        layers: 1,
        offloaded_layers: 0,
        context_train: limits.context,
        context: limits.context,
        cells: limits.cells,
        cache_bytes: 1,
        chat_template: Some(TEMPLATE.to_owned()),
        bos_text: String::new(),
        eos_text: "<|im_end|>".to_owned(),
        device: "toy".to_owned(),
        takes: Modalities::default(),
    };
    progress(1.0);
    Ok(Loaded {
        vocabulary: vocabulary(None),
        setup: Box::new(Toy {
            limits,
            pause: match name.as_str() {
                "slow" => Duration::from_millis(20),
                "stuck" => Duration::MAX,
                _ => Duration::ZERO,
            },
            logits: Vec::new(),
        }),
        projector: None,
        about,
    })
}

struct Toy {
    limits: KernelLimits,
    pause: Duration,
    logits: Vec<Vec<f32>>,
}

impl Setup for Toy {
    fn run(mut self: Box<Self>, run: &mut dyn FnMut(&mut dyn Kernel)) -> Result<(), KernelError> {
        run(&mut *self);
        Ok(())
    }
}

/// What comes after a token.
fn after(token: Token) -> Token {
    match u8::try_from(token) {
        Ok(b':') => u32::from(b'a'),
        Ok(letter @ b'a'..=b'y') => u32::from(letter) + 1,
        _ => END,
    }
}

impl Kernel for Toy {
    fn limits(&self) -> KernelLimits {
        self.limits
    }

    fn forward(&mut self, entries: &[Entry]) -> Result<(), KernelError> {
        std::thread::sleep(self.pause);
        let logits = |entry: &Entry| {
            let mut logits = vec![0.0; TOKENS];
            logits[after(entry.token) as usize] = 10.0;
            logits
        };
        self.logits = entries.iter().map(logits).collect();
        Ok(())
    }

    fn logits(&self, index: usize) -> &[f32] {
        &self.logits[index]
    }

    fn truncate(&mut self, _slot: Slot, _from: u32) -> bool {
        true
    }

    fn share(&mut self, _from: Slot, _to: Slot, _length: u32) -> bool {
        true
    }
}
