"""Prompts as the worker renders them, and samples as tokens."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2
from tokenizers import Tokenizer

from data.chat import Sample

TEMPLATE = Path(__file__).with_name("chat_template.jinja")


@lru_cache
def template() -> jinja2.Template:
    """The chat template, in an engine set up as that of the worker is."""
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment.from_string(TEMPLATE.read_text())


def render(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> str:
    """The prompt of a conversation."""
    return template().render(messages=messages, tools=tools, add_generation_prompt=True)


class Encoder:
    """Samples as tokens, with the weight of each."""

    def __init__(self, path: Path) -> None:
        self.tokenizer = Tokenizer.from_file(str(path))
        self.close = self.tokenizer.token_to_id("}")

    def ids(self, text: str) -> list[int]:
        """The tokens of a text."""
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def pieces(self) -> list[str]:
        """The tokens that are letters of words, alphabetically."""
        texts = (self.tokenizer.decode([token]) for token in range(self.tokenizer.get_vocab_size()))
        return sorted({text for text in texts if text.isalpha()})

    def sample(self, sample: Sample) -> tuple[list[int], list[float], list[bool]]:
        """Tokens, the weight of each as something to be predicted, and whether the object could not
        end in its place."""
        ids = self.ids(render(sample.messages, sample.tools))
        weights, no_end = [0.0] * len(ids), [False] * len(ids)
        for piece in sample.answer:
            made = self.ids(piece.text)
            ids += made
            weights += [piece.weight] * len(made)
            no_end += [piece.no_end] * len(made)
        return ids, weights, no_end
