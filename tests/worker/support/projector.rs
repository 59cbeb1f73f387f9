//! Makes projectors with random weights for the models of `gguf.rs`: an image becomes a token for
//! each patch of eight by eight pixels and one for each row but the last (Pixtral's way), audio 375
//! for each half minute (Ultravox's). And models that count positions in rows and columns, with
//! theirs (Qwen2-VL).

use isogloss_testing::gguf::{Gguf, Random, Tensor, Tokenizer, Value};
use std::fs;
use std::path::{Path, PathBuf};

/// The width of the models that these are for.
const MODEL: u64 = 64;
const WIDTH: u64 = 32;
const FEED_FORWARD: u64 = 64;
const PATCH: u64 = 8;
const MELS: u64 = 80;
/// Frames that the audio encoder knows positions for: half a minute.
const POSITIONS: u64 = 1_500;
/// Frames that become one token.
const STACK: u64 = 4;

/// What a projector is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Takes {
    pub images: bool,
    pub audio: bool,
}

pub const IMAGES: Takes = Takes {
    images: true,
    audio: false,
};
pub const AUDIO: Takes = Takes {
    images: false,
    audio: true,
};
pub const BOTH: Takes = Takes {
    images: true,
    audio: true,
};

/// Writes a projector into a folder, and says where.
pub fn random_projector(dir: &Path, name: &str, takes: Takes) -> PathBuf {
    let path = dir.join(name);
    fs::write(&path, projector(takes, MODEL).bytes()).unwrap();
    path
}

/// A projector for models of this width.
pub fn projector(takes: Takes, model: u64) -> Gguf {
    let text = |text: &str| Value::Text(text.to_owned());
    let mut values = vec![
        ("general.architecture".to_owned(), text("clip")),
        ("general.type".to_owned(), text("mmproj")),
        (
            "clip.has_vision_encoder".to_owned(),
            Value::Bool(takes.images),
        ),
        (
            "clip.has_audio_encoder".to_owned(),
            Value::Bool(takes.audio),
        ),
        ("clip.use_silu".to_owned(), Value::Bool(true)),
    ];
    let mut random = Random::new(11);
    let mut tensors = Vec::new();
    if takes.images {
        values.extend(encoder("vision", "pixtral", model));
        let numbers = [("image_size", 256), ("patch_size", PATCH as u32)];
        values.extend(
            numbers.map(|(key, number)| (format!("clip.vision.{key}"), Value::U32(number))),
        );
        for key in ["image_mean", "image_std"] {
            values.push((format!("clip.vision.{key}"), Value::F32s(vec![0.5; 3])));
        }
        tensors.extend(vision(&mut random, model));
    }
    if takes.audio {
        values.extend(encoder("audio", "ultravox", model));
        let numbers = [
            ("num_mel_bins", MELS as u32),
            ("projector.stack_factor", STACK as u32),
        ];
        values
            .extend(numbers.map(|(key, number)| (format!("clip.audio.{key}"), Value::U32(number))));
        tensors.extend(audio(&mut random, model));
    }
    Gguf {
        version: 3,
        values,
        tensors,
    }
}

/// A model with M-RoPE, and its projector: an image becomes a token for each square of sixteen by
/// sixteen pixels, and moves positions by its longer side's.
pub fn qwen2vl(dir: &Path) -> PathBuf {
    let mut model = Gguf::model(Tokenizer::Bpe, 7);
    for (key, _) in &mut model.values {
        if let Some(rest) = key.strip_prefix("llama.") {
            *key = format!("qwen2vl.{rest}");
        }
    }
    let model = model
        .set("general.architecture", Value::Text("qwen2vl".to_owned()))
        .set(
            "qwen2vl.rope.dimension_sections",
            Value::I32s(vec![2, 3, 3, 0]),
        );
    let path = dir.join("random-bpe-7.gguf");
    fs::write(&path, model.bytes()).unwrap();

    let mut random = Random::new(13);
    let mut projector = projector(IMAGES, MODEL).set(
        "clip.vision.projector_type",
        Value::Text("qwen2vl_merger".to_owned()),
    );
    projector.tensors = layer(&mut random, "v");
    for name in ["v.patch_embd.weight", "v.patch_embd.weight.1"] {
        let patch = random.tensor(name, PATCH * PATCH * 3, WIDTH, 0.5);
        projector
            .tensors
            .push(shaped(patch, &[PATCH, PATCH, 3, WIDTH]));
    }
    for part in ["attn_q", "attn_k", "attn_v"] {
        let bias = random.tensor(&format!("v.blk.0.{part}.bias"), WIDTH, 1, 0.1);
        projector.tensors.push(shaped(bias, &[WIDTH]));
    }
    for (part, inputs) in [(0, WIDTH * 4), (2, MODEL)] {
        projector
            .tensors
            .push(random.tensor(&format!("mm.{part}.weight"), inputs, MODEL, 0.3));
        let bias = random.tensor(&format!("mm.{part}.bias"), MODEL, 1, 0.1);
        projector.tensors.push(shaped(bias, &[MODEL]));
    }
    fs::write(dir.join("mmproj-f32.gguf"), projector.bytes()).unwrap();
    path
}

fn encoder(kind: &str, projector: &str, model: u64) -> Vec<(String, Value)> {
    let key = |key: &str| format!("clip.{kind}.{key}");
    vec![
        (key("projector_type"), Value::Text(projector.to_owned())),
        (key("embedding_length"), Value::U32(WIDTH as u32)),
        (key("feed_forward_length"), Value::U32(FEED_FORWARD as u32)),
        (key("block_count"), Value::U32(1)),
        (key("attention.head_count"), Value::U32(2)),
        (key("projection_dim"), Value::U32(model as u32)),
        (key("attention.layer_norm_epsilon"), Value::F32(1e-5)),
    ]
}

fn ones(name: &str, width: u64) -> Tensor {
    Tensor {
        name: name.to_owned(),
        shape: vec![width],
        data: vec![1.0; width as usize],
    }
}

fn shaped(mut tensor: Tensor, shape: &[u64]) -> Tensor {
    tensor.shape = shape.to_vec();
    tensor
}

fn layer(random: &mut Random, prefix: &str) -> Vec<Tensor> {
    let mut tensors = Vec::new();
    for (part, columns, rows) in [
        ("attn_q", WIDTH, WIDTH),
        ("attn_k", WIDTH, WIDTH),
        ("attn_v", WIDTH, WIDTH),
        ("attn_out", WIDTH, WIDTH),
        ("ffn_up", WIDTH, FEED_FORWARD),
        ("ffn_down", FEED_FORWARD, WIDTH),
    ] {
        tensors.push(random.tensor(&format!("{prefix}.blk.0.{part}.weight"), columns, rows, 0.2));
    }
    for norm in ["ln1", "ln2"] {
        tensors.push(ones(&format!("{prefix}.blk.0.{norm}.weight"), WIDTH));
    }
    tensors
}

fn vision(random: &mut Random, model: u64) -> Vec<Tensor> {
    let patch = random.tensor("v.patch_embd.weight", PATCH * PATCH * 3, WIDTH, 0.5);
    let mut tensors = layer(random, "v");
    tensors.push(shaped(patch, &[PATCH, PATCH, 3, WIDTH]));
    tensors.push(ones("v.pre_ln.weight", WIDTH));
    tensors.push(random.tensor("v.blk.0.ffn_gate.weight", WIDTH, FEED_FORWARD, 0.2));
    tensors.push(random.tensor("mm.1.weight", WIDTH, model, 0.5));
    tensors.push(random.tensor("mm.2.weight", model, model, 0.5));
    let end = random.tensor("v.token_embd.img_break", model, 1, 1.0);
    tensors.push(shaped(end, &[model]));
    tensors
}

fn audio(random: &mut Random, model: u64) -> Vec<Tensor> {
    let mut tensors = layer(random, "a");
    for (part, inputs) in [(1, MELS), (2, WIDTH)] {
        let weight = random.tensor(&format!("a.conv1d.{part}.weight"), 3 * inputs, WIDTH, 0.2);
        tensors.push(shaped(weight, &[3, inputs, WIDTH]));
        let bias = random.tensor(&format!("a.conv1d.{part}.bias"), 1, WIDTH, 0.1);
        tensors.push(shaped(bias, &[1, WIDTH]));
    }
    for part in ["ln1", "ln2", "attn_q", "attn_v", "attn_out"] {
        let bias = random.tensor(&format!("a.blk.0.{part}.bias"), WIDTH, 1, 0.1);
        tensors.push(shaped(bias, &[WIDTH]));
    }
    tensors.push(random.tensor("a.position_embd.weight", WIDTH, POSITIONS, 0.2));
    tensors.push(ones("mm.a.norm_pre.weight", WIDTH * STACK));
    tensors.push(random.tensor("mm.a.mlp.1.weight", WIDTH * STACK, 2 * model, 0.2));
    tensors.push(ones("mm.a.norm_mid.weight", model));
    tensors.push(random.tensor("mm.a.mlp.2.weight", model, model, 0.5));
    tensors
}
