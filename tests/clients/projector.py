"""A multimodal projector with random weights, for a model of any width: an image becomes a token for
each patch of eight by eight pixels, and one for the end of each row but the last (Pixtral's way)."""

from __future__ import annotations

import random
import struct
from pathlib import Path

WIDTH, FEED_FORWARD, PATCH = 32, 64, 8
ALIGNMENT = 32


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def value(kind: object) -> bytes:
    match kind:
        case bool():
            return struct.pack("<IB", 7, kind)
        case int():
            return struct.pack("<II", 4, kind)
        case float():
            return struct.pack("<If", 6, kind)
        case str():
            return struct.pack("<I", 8) + text(kind)
        case list():
            return struct.pack(f"<IIQ{len(kind)}f", 9, 6, len(kind), *kind)
    raise TypeError(kind)


def write(path: Path, model_width: int) -> Path:
    metadata: dict[str, object] = {
        "general.architecture": "clip",
        "general.type": "mmproj",
        "clip.has_vision_encoder": True,
        "clip.has_audio_encoder": False,
        "clip.use_silu": True,
        "clip.vision.projector_type": "pixtral",
        "clip.vision.embedding_length": WIDTH,
        "clip.vision.feed_forward_length": FEED_FORWARD,
        "clip.vision.block_count": 1,
        "clip.vision.attention.head_count": 2,
        "clip.vision.projection_dim": model_width,
        "clip.vision.attention.layer_norm_epsilon": 1e-5,
        "clip.vision.image_size": 256,
        "clip.vision.patch_size": PATCH,
        "clip.vision.image_mean": [0.5, 0.5, 0.5],
        "clip.vision.image_std": [0.5, 0.5, 0.5],
    }
    shapes = {
        "v.patch_embd.weight": (PATCH, PATCH, 3, WIDTH),
        "v.pre_ln.weight": (WIDTH,),
        "v.blk.0.ln1.weight": (WIDTH,),
        "v.blk.0.ln2.weight": (WIDTH,),
        **{f"v.blk.0.attn_{part}.weight": (WIDTH, WIDTH) for part in ("q", "k", "v", "out")},
        "v.blk.0.ffn_gate.weight": (WIDTH, FEED_FORWARD),
        "v.blk.0.ffn_up.weight": (WIDTH, FEED_FORWARD),
        "v.blk.0.ffn_down.weight": (FEED_FORWARD, WIDTH),
        "mm.1.weight": (WIDTH, model_width),
        "mm.2.weight": (model_width, model_width),
        "v.token_embd.img_break": (model_width,),
    }
    generator = random.Random(11)
    head, data = bytearray(), bytearray()
    for name, shape in shapes.items():
        head += text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape) + struct.pack("<IQ", 0, len(data))
        count = 1
        for size in shape:
            count *= size
        numbers = [1.0] * count if "ln" in name else [generator.gauss(0.0, 0.1) for _ in range(count)]
        data += struct.pack(f"<{count}f", *numbers)
        data += bytes(-len(data) % ALIGNMENT)
    file = bytearray(b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(metadata)))
    for key, kind in metadata.items():
        file += text(key) + value(kind)
    file += head
    file += bytes(-len(file) % ALIGNMENT)
    path.write_bytes(file + data)
    return path
