"""Batches of samples without end, composed by this process or by others beside it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from typing import Any

import numpy as np
import torch
from torch import Tensor

from data.chat import Chats
from prompt import Encoder

Encoded = tuple[list[int], list[float], list[bool]]
# Tokens, in rows of one length; the places in them, flattened, where something is to be predicted; how much each of
# these counts; and whether the object cannot end there.
Batch = tuple[Tensor, Tensor, Tensor, Tensor]
STEP = 16


def batches(encoder: Encoder, seed: int, tokens: int, longest: int) -> Iterator[Batch]:
    """Batches without end, each of samples that are about as long."""
    chats, rng = Chats(seed, pieces=encoder.pieces(), varied=True), random.Random(seed)
    shelves: dict[int, list[Any]] = {}
    while True:
        drawn: list[Batch] = []
        while len(drawn) < 16:
            one = encoder.sample(chats.draw())
            # Few lengths: kernels are prepared anew for each.
            length = -(-len(one[0]) // STEP) * STEP
            if length > longest:
                continue
            shelf = shelves.setdefault(length, [])
            shelf.append(one)
            if len(shelf) == max(1, tokens // length):
                drawn.append(padded(shelf, length))
                shelf.clear()
        rng.shuffle(drawn)
        yield from drawn


def padded(group: list[Encoded], length: int) -> Batch:
    """Samples as tensors. What follows their ends is never looked at: attention goes back only."""
    ids = np.zeros((len(group), length), dtype=np.int64)
    places, weights, no_end = [], [], []
    for row, (one_ids, one_weights, one_no_end) in enumerate(group):
        ids[row, : len(one_ids)] = one_ids
        counts = np.flatnonzero(one_weights)
        places.append(row * length + counts)
        weights.append(np.asarray(one_weights, dtype=np.float32)[counts])
        no_end.append(np.asarray(one_no_end, dtype=bool)[counts])
    parts = ids, *map(np.concatenate, (places, weights, no_end))
    return tuple(map(torch.from_numpy, parts))


def compose(queue: Any, path: Path, seed: int, tokens: int, longest: int) -> None:
    """A process that composes for another."""
    torch.set_num_threads(1)
    for batch in batches(Encoder(path), seed, tokens, longest):
        queue.put([part.numpy() for part in batch])


def composed(feeders: int, path: Path, seed: int, tokens: int, longest: int) -> Iterator[Batch]:
    """The batches of so many processes, as they come; they end with this one."""
    context = torch.multiprocessing.get_context("spawn")
    queue = context.Queue(maxsize=4 * feeders)
    processes = [
        context.Process(target=compose, args=(queue, path, seed + 104_729 * index, tokens, longest), daemon=True)
        for index in range(feeders)
    ]
    for process in processes:
        process.start()
    while True:
        try:
            batch = queue.get(timeout=60)
        except Empty:
            if not any(process.is_alive() for process in processes):
                raise SystemExit("no process composes samples any more: what ended them stands above") from None
            continue
        yield tuple(map(torch.from_numpy, batch))
