"""Trains the tokeniser: byte-level BPE in which every border of JSON is a border of tokens.

No token holds letters and anything else, digits are single, and so are spaces and punctuation. So a
word has the same tokens in a sentence and between quotes, which makes copying easy to learn, and the
texts that a grammar forces never cut a token in two.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from data.chat import Chats
from prompt import render

CONTROLS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
NAMED = ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<tools>", "</tools>"]
# Letters with their marks together; all else by itself.
WORDS = r"[\p{L}\p{M}]+|[^\p{L}\p{M}]"


def split(tokenizer: Tokenizer) -> Tokenizer:
    """A tokeniser that cuts texts in these places."""
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(WORDS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def train(samples: int, size: int, seed: int) -> Tokenizer:
    """A tokeniser of so many tokens."""
    tokenizer = split(Tokenizer(models.BPE()))
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=CONTROLS + NAMED,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    chats = Chats(seed, varied=True)
    draws = (chats.draw() for _ in range(samples))
    texts = (render(s.messages, s.tools) + "".join(p.text for p in s.answer) for s in draws)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def main() -> None:
    """Writes the tokeniser to a file."""
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("out", type=Path)
    args.add_argument("--samples", type=int, default=20_000)
    args.add_argument("--size", type=int, default=3_072)
    args.add_argument("--seed", type=int, default=1)
    options = args.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    train(options.samples, options.size, options.seed).save(str(options.out))


if __name__ == "__main__":
    main()
