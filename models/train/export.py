"""Writes a checkpoint as a GGUF file: q8_0 matrices, the tokeniser, the chat template.

python export.py OUT ../builtin/isogloss-builtin.gguf
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from gguf import GGMLQuantizationType, GGUFWriter, LlamaFileType, TokenType, quants

from model import SHARPNESS, Config
from prompt import TEMPLATE
from restore import Restored
from tokenizer import CONTROLS, NAMED

ARCH = "qwen3"
NAME = "isogloss-builtin"


def header(writer: GGUFWriter, config: Config) -> None:
    """What the model is."""
    writer.add_name(NAME)
    writer.add_description("A small model for trying structured outputs: extraction, classification, tool calls.")
    writer.add_license("apache-2.0")
    writer.add_author("The Isogloss authors")
    writer.add_block_count(config.layers)
    writer.add_context_length(config.context)
    writer.add_embedding_length(config.dim)
    writer.add_feed_forward_length(config.ff)
    writer.add_head_count(config.heads)
    writer.add_head_count_kv(config.kv_heads)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_layer_norm_rms_eps(config.eps)
    writer.add_rope_freq_base(config.theta)
    writer.add_vocab_size(config.vocab)
    writer.add_file_type(LlamaFileType.MOSTLY_Q8_0)
    writer.add_quantization_version(2)


def vocabulary(writer: GGUFWriter, path: Path) -> None:
    """The tokeniser. Its pieces never mix letters with anything else, so llama.cpp's `qwen2` splits,
    which are coarser, change nothing."""
    model = json.loads(path.read_text())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].__getitem__)
    kinds = [
        TokenType.CONTROL if t in CONTROLS else TokenType.USER_DEFINED if t in NAMED else TokenType.NORMAL
        for t in tokens
    ]
    merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in model["merges"]]
    ids = model["vocab"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(merges)
    writer.add_bos_token_id(ids["<|endoftext|>"])
    writer.add_pad_token_id(ids["<|endoftext|>"])
    writer.add_eos_token_id(ids["<|im_end|>"])
    writer.add_add_bos_token(False)
    writer.add_add_eos_token(False)
    writer.add_chat_template(TEMPLATE.read_text())


def tensors(writer: GGUFWriter, weights: dict[str, torch.Tensor]) -> None:
    """The weights, named as llama.cpp names them already."""
    for name, weight in weights.items():
        values = weight.float().numpy()
        if name == "output_norm.weight":
            values = values * SHARPNESS
        if values.ndim == 2:
            kind = GGMLQuantizationType.Q8_0
            writer.add_tensor(name, quants.quantize(values, kind), raw_dtype=kind)
        else:
            writer.add_tensor(name, values.astype(np.float32))


def write(out: Path, config: Config, tokenizer: Path, weights: dict[str, torch.Tensor]) -> None:
    """Writes the file."""
    writer = GGUFWriter(out, ARCH)
    header(writer, config)
    vocabulary(writer, tokenizer)
    tensors(writer, weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    """Reads the checkpoint and writes the file."""
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("run", type=Path, help="the folder of checkpoint.pt and tokenizer.json")
    args.add_argument("out", type=Path)
    args.add_argument("--last", action="store_true", help="the last weights, not the running average")
    args.add_argument("--mean-with", type=Path, metavar="GGUF", help="between the trained weights and these")
    args.add_argument("--share", type=float, default=0.5, help="with --mean-with: the part of the trained weights")
    options = args.parse_args()
    state = torch.load(options.run / "checkpoint.pt", map_location="cpu", weights_only=True)
    weights = state["model" if options.last else "average"]
    if options.mean_with:
        others = Restored(options.mean_with).weights()
        weights = {name: others[name].lerp(weight, options.share) for name, weight in weights.items()}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    config = Config(**{**state["config"], "context": Config.context})
    write(options.out, config, options.run / "tokenizer.json", weights)
    print(f"{options.out}: {options.out.stat().st_size} bytes, step {state['step']}, {state['tokens']} tokens")


if __name__ == "__main__":
    main()
