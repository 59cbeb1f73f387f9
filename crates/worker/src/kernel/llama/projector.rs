//! llama.cpp's projectors (mtmd): an image or audio comes in; what a prompt holds in its place goes
//! out, and later, on the engine's thread, through the model.
//!
//! One context serves both. Making media ready reads it, and computing them writes to it, so what
//! is made ready waits while an image is computed, and no longer.

use super::library;
use super::logs::Lines;
use crate::kernel::KernelError;
use crate::media::audio::Clip;
use crate::media::image::Picture;
use crate::media::{Media, Modalities, Modality, Projector, Refusal, Room};
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::mtmd::{
    MtmdBitmap, MtmdContext, MtmdContextParams, MtmdEvalError, MtmdInputChunkType, MtmdInputChunks,
    MtmdInputText, mtmd_default_marker,
};
use std::sync::{Arc, PoisonError, RwLock};

/// Memory for each token of a medium, as estimated: its pixels or spectra as numbers.
const BYTES_A_TOKEN: u64 = 16 << 10;

/// What `llama_decode` answers where the KV cache has no room (llama.h). A projector that fails
/// answers the same.
const NO_ROOM: i32 = 1;

/// A projector of one model.
#[derive(Debug)]
pub(crate) struct LlamaProjector {
    context: RwLock<MtmdContext>,
    modalities: Modalities,
    /// Tokens that must go through the model in one pass: of models whose image tokens see those
    /// behind them.
    most: Option<u32>,
    /// The context points into it, and goes first.
    _model: Arc<LlamaModel>,
}

/// What was made ready: the tokens around it (that of an image's beginning, say) and its own.
struct Content {
    chunks: MtmdInputChunks,
}

impl LlamaProjector {
    /// Loads a projector's file. `batch`: tokens of one forward pass.
    ///
    /// # Errors
    /// What llama.cpp says: the file is damaged, of an unknown kind, or of another model.
    pub(crate) fn load(
        path: &str,
        model: &Arc<LlamaModel>,
        threads: u32,
        use_gpu: bool,
        batch: u32,
    ) -> Result<Self, String> {
        library()?;
        let params = MtmdContextParams {
            use_gpu,
            print_timings: false,
            n_threads: i32::try_from(threads).unwrap_or(1),
            ..MtmdContextParams::default()
        };
        let (context, lines) = Lines::of(|| MtmdContext::init_from_file(path, model, &params));
        let context = context.map_err(|_| lines.error())?;
        Ok(Self {
            modalities: Modalities {
                image: context.support_vision(),
                audio: context.support_audio(),
            },
            most: context.decode_use_non_causal().then_some(batch),
            context: RwLock::new(context),
            _model: Arc::clone(model),
        })
    }

    /// Whether positions behind an image are fewer than its tokens.
    pub(super) fn saves_positions(&self) -> bool {
        let context = self.context.read();
        context
            .unwrap_or_else(PoisonError::into_inner)
            .decode_use_mrope()
    }

    fn ready(
        &self,
        modality: Modality,
        bitmap: &MtmdBitmap,
        key: u128,
        room: &Room,
    ) -> Result<Media, Refusal> {
        let name = match modality {
            Modality::Image => "image",
            Modality::Audio => "audio",
        };
        let text = MtmdInputText {
            text: mtmd_default_marker().to_owned(),
            add_special: false,
            parse_special: true,
        };
        let (chunks, lines) = {
            let context = self.context.read().unwrap_or_else(PoisonError::into_inner);
            Lines::of(|| context.tokenize(text, &[bitmap]))
        };
        let chunks = chunks.map_err(|_| {
            tracing::warn!(
                error = lines.error(),
                "the projector does not take the {name}"
            );
            Refusal::Invalid(format!(
                "the model's projector cannot take this {name}: send another"
            ))
        })?;
        let tokens = u32::try_from(chunks.total_tokens()).unwrap_or(u32::MAX);
        let positions = u32::try_from(chunks.total_positions()).unwrap_or(tokens);
        if tokens == 0 {
            return Refusal::invalid(format!("the model makes no tokens of this {name}"));
        }
        if let Some(most) = self.most
            && let Some(tokens) = biggest(&chunks).filter(|tokens| *tokens > most as usize)
        {
            return Refusal::invalid(format!(
                "the {name} takes {tokens} tokens at once, and {most} are the most: send a \
                 smaller one"
            ));
        }
        Ok(Media {
            modality,
            tokens,
            positions,
            key,
            content: Box::new(Content { chunks }),
            held: room.hold(u64::from(tokens) * BYTES_A_TOKEN)?,
        })
    }

    /// Computes what was made ready, behind what a sequence holds.
    pub(super) fn compute(
        &self,
        context: &mut LlamaContext<'_>,
        media: &Media,
        position: i32,
        sequence: i32,
        batch: i32,
    ) -> Result<(), KernelError> {
        let Some(Content { chunks }) = media.content.downcast_ref() else {
            let message = "the medium was made ready for another model";
            return Err(KernelError::Failed(message.to_owned()));
        };
        let mut own = self.context.write().unwrap_or_else(PoisonError::into_inner);
        let (computed, lines) =
            Lines::of(|| chunks.eval_chunks(&mut own, context, position, sequence, batch, false));
        computed
            .map(drop)
            .map_err(|MtmdEvalError::EvalFailure(code)| {
                if code == NO_ROOM && lines.after("failed to encode").is_none() {
                    KernelError::Full
                } else {
                    KernelError::Failed(format!("the projector: {}", lines.error()))
                }
            })
    }
}

/// Tokens of the biggest piece that is computed at once.
fn biggest(chunks: &MtmdInputChunks) -> Option<usize> {
    (0..chunks.len())
        .filter_map(|at| chunks.get(at))
        .filter(|chunk| chunk.chunk_type() != MtmdInputChunkType::Text)
        .map(|chunk| chunk.n_tokens())
        .max()
}

impl Projector for LlamaProjector {
    fn modalities(&self) -> Modalities {
        self.modalities
    }

    fn image(&self, picture: Picture, room: &Room) -> Result<Media, Refusal> {
        let bitmap = MtmdBitmap::from_image_data(picture.width, picture.height, &picture.rgb);
        let bitmap = bitmap.map_err(|error| Refusal::Invalid(error.to_string()))?;
        self.ready(Modality::Image, &bitmap, picture.key(), room)
    }

    fn audio(&self, clip: Clip, room: &Room) -> Result<Media, Refusal> {
        let bitmap = {
            let context = self.context.read().unwrap_or_else(PoisonError::into_inner);
            // Its format was recognised: what llama.cpp does not, it would hand to `ffmpeg`.
            Lines::of(|| MtmdBitmap::from_buffer(&context, &clip.file, false)).0
        };
        match bitmap {
            // Two samples at the least, where the preprocessors fail assertions with fewer.
            Ok(bitmap) if bitmap.is_audio() && bitmap.nx() > 1 => {
                self.ready(Modality::Audio, &bitmap, clip.key(), room)
            }
            _ => Refusal::invalid("the audio is damaged: send another file"),
        }
    }
}
