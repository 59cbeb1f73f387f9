"""Reads a GGUF file that `export.py` wrote: its sizes, its tokeniser and its weights, to train on from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import GGUFReader, quants
from tokenizers import Tokenizer, models

from export import SHARPNESS
from model import Config
from tokenizer import CONTROLS, NAMED, split


class Restored:
    """What a file holds."""

    def __init__(self, path: Path) -> None:
        self.reader = GGUFReader(path)

    def value(self, key: str) -> Any:
        """One entry of the header."""
        return self.reader.fields[key].contents()

    def config(self) -> Config:
        """The sizes."""
        arch = self.value("general.architecture")
        return Config(
            vocab=self.value(f"{arch}.vocab_size"),
            dim=self.value(f"{arch}.embedding_length"),
            layers=self.value(f"{arch}.block_count"),
            heads=self.value(f"{arch}.attention.head_count"),
            kv_heads=self.value(f"{arch}.attention.head_count_kv"),
            head_dim=self.value(f"{arch}.attention.key_length"),
            ff=self.value(f"{arch}.feed_forward_length"),
            theta=self.value(f"{arch}.rope.freq_base"),
            eps=self.value(f"{arch}.attention.layer_norm_rms_epsilon"),
            context=self.value(f"{arch}.context_length"),
        )

    def tokenizer(self) -> Tokenizer:
        """The tokeniser. A new one would be another as soon as the generator is, and the weights are for this one."""
        vocabulary = {token: index for index, token in enumerate(self.value("tokenizer.ggml.tokens"))}
        merges = [tuple(pair.split(" ")) for pair in self.value("tokenizer.ggml.merges")]
        tokenizer = split(Tokenizer(models.BPE(vocabulary, merges)))
        tokenizer.add_special_tokens([*CONTROLS, *NAMED])
        return tokenizer

    def weights(self) -> dict[str, torch.Tensor]:
        """The weights, without the sharpness that the export gave them."""
        found = {}
        for one in self.reader.tensors:
            values = quants.dequantize(one.data, one.tensor_type).astype(np.float32)
            if one.name == "output_norm.weight":
                values = values / SHARPNESS
            found[one.name] = torch.from_numpy(values.copy())
        return found
