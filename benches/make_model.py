#!/usr/bin/env python3
"""Makes a model with random weights for benchmarks: real tokeniser, real sizes, no training.

    pip install gguf numpy
    benches/make_model.py VOCAB.gguf OUT.gguf [--layers 24] [--dim 896] [--ff 4864]

VOCAB.gguf is any GGUF file with a tokeniser, such as the vocabularies that llama.cpp's source has
under models/ (ggml-vocab-llama-bpe.gguf has 128,256 tokens). The result is a q8_0 model of llama's
architecture: its speed is that of a trained model of the same sizes, its text is noise.
"""

import argparse

import numpy as np
from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter, quants

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}<|im_start|>assistant\n"
)


def main() -> None:
    args = argparse.ArgumentParser()
    args.add_argument("vocab")
    args.add_argument("out")
    args.add_argument("--layers", type=int, default=24)
    args.add_argument("--dim", type=int, default=896)
    args.add_argument("--ff", type=int, default=4864)
    args.add_argument("--heads", type=int, default=14)
    args.add_argument("--kv-heads", type=int, default=2)
    args.add_argument("--context", type=int, default=8192)
    args = args.parse_args()

    reader = GGUFReader(args.vocab)
    tokens = len(reader.fields["tokenizer.ggml.tokens"].data)
    writer = GGUFWriter(args.out, "llama")
    writer.add_name("random")
    writer.add_block_count(args.layers)
    writer.add_context_length(args.context)
    writer.add_embedding_length(args.dim)
    writer.add_feed_forward_length(args.ff)
    writer.add_head_count(args.heads)
    writer.add_head_count_kv(args.kv_heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(500000.0)
    writer.add_rope_dimension_count(args.dim // args.heads)
    writer.add_vocab_size(tokens)
    writer.add_chat_template(CHATML)
    for field in reader.fields.values():
        if not field.name.startswith("tokenizer.") or field.name == "tokenizer.chat_template":
            continue
        kind = field.types[0]
        sub = field.types[-1] if kind == GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), kind, sub_type=sub)

    random = np.random.default_rng(7)

    def weight(name: str, rows: int, columns: int) -> None:
        values = random.standard_normal((rows, columns), dtype=np.float32) / np.sqrt(columns)
        kind = GGMLQuantizationType.Q8_0
        writer.add_tensor(name, quants.quantize(values, kind), raw_dtype=kind)

    def ones(name: str) -> None:
        writer.add_tensor(name, np.ones(args.dim, dtype=np.float32))

    head = args.dim // args.heads
    weight("token_embd.weight", tokens, args.dim)
    ones("output_norm.weight")
    for layer in range(args.layers):
        block = f"blk.{layer}."
        ones(block + "attn_norm.weight")
        ones(block + "ffn_norm.weight")
        weight(block + "attn_q.weight", args.dim, args.dim)
        weight(block + "attn_k.weight", args.kv_heads * head, args.dim)
        weight(block + "attn_v.weight", args.kv_heads * head, args.dim)
        weight(block + "attn_output.weight", args.dim, args.dim)
        weight(block + "ffn_gate.weight", args.ff, args.dim)
        weight(block + "ffn_up.weight", args.ff, args.dim)
        weight(block + "ffn_down.weight", args.dim, args.ff)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
