"""Trains the model for a given time. Interrupted, it goes on from its last checkpoint.

python train.py OUT --minutes 70
python train.py OUT --from ../builtin/isogloss-builtin.gguf --lr 0.004
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor

from feed import Batch, batches, composed
from model import Config, Model, quick
from optimizer import Work, optimizers
from prompt import Encoder
from restore import Restored


def rate(progress: float, step: int, warm: int = 80, decay_from: float = 0.5) -> float:
    """The share of the learning rate: up, level, and down to nothing."""
    down = 1.0 if progress < decay_from else max(0.0, (1 - progress) / (1 - decay_from))
    return min(1.0, (step + 1) / warm) * down


class Team:
    """Processes that train one model together: each has its own samples, the gradients are averaged.

    On shared CPUs, two processes of one thread that meet once a step get further than one of two
    threads, which meet at every operation.
    """

    def __init__(self, size: int, weights: int) -> None:
        self.size = size
        self.buffers = torch.zeros(size, weights).share_memory_()
        # The first one's: the learning rate depends on it, which must be the same for all.
        self.clock = torch.zeros(1, dtype=torch.float64).share_memory_()
        self.barrier = torch.multiprocessing.get_context("spawn").Barrier(size)

    def average(self, rank: int, gradients: list[Tensor]) -> None:
        """Averages the gradients of all."""
        if self.size == 1:
            return
        torch.cat([gradient.flatten().float().cpu() for gradient in gradients], out=self.buffers[rank])
        self.barrier.wait()
        mean, at = self.buffers.mean(0), 0
        self.barrier.wait()
        for gradient in gradients:
            gradient.copy_(mean[at : at + gradient.numel()].view_as(gradient))
            at += gradient.numel()

    def spread(self, rank: int, tensors: list[Tensor], work: Work) -> list[Tensor]:
        """The work on each tensor, of which every process does its part for all."""
        at = [0, *itertools.accumulate(tensor.numel() for tensor in tensors)]
        done = [self.buffers[0, a:b].view_as(tensor) for tensor, a, b in zip(tensors, at, at[1:])]
        for index in range(rank, len(tensors), self.size):
            done[index].copy_(work(tensors[index]))
        # Nobody writes to the buffers again before all have met at the step's end.
        self.barrier.wait()
        return done


def keep_tokenizer(restored: Restored, path: Path) -> None:
    """Puts the tokeniser of restored weights in its place, where there must be no other."""
    tokenizer = restored.tokenizer()
    if path.exists() and Tokenizer.from_file(str(path)).get_vocab() != tokenizer.get_vocab():
        raise SystemExit(f"{path} is another tokeniser than that of the weights to begin with: take an empty folder")
    path.parent.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(path))


class Run:
    """A training run and its files."""

    def __init__(self, options: argparse.Namespace, rank: int = 0) -> None:
        self.options, self.rank = options, rank
        self.team: Team | None = None
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.dtype = quick(self.device)
        restored = Restored(options.start) if options.start else None
        if restored and rank == 0:
            keep_tokenizer(restored, options.out / "tokenizer.json")
        self.encoder = Encoder(options.out / "tokenizer.json")
        self.config = (
            restored.config()
            if restored
            else Config(
                vocab=self.encoder.tokenizer.get_vocab_size(),
                dim=options.dim,
                layers=options.layers,
                ff=options.ff,
                heads=options.heads,
            )
        )
        torch.manual_seed(options.seed)
        self.model = Model(self.config).to(self.device)
        if restored:
            self.model.load_state_dict(restored.weights())
        if options.compile:
            for block in self.model.blk:
                block.compile(dynamic=True)
        self.average = {name: weight.detach().clone() for name, weight in self.model.named_parameters()}
        self.optimizers = optimizers(self.model, options.lr)
        self.rates = [group["lr"] for optimizer in self.optimizers for group in optimizer.param_groups]
        self.step, self.seconds, self.tokens = 0, 0.0, 0
        self.path = options.out / "checkpoint.pt"
        if self.path.exists():
            self.load()

    def load(self) -> None:
        """Goes on from the last checkpoint."""
        state = torch.load(self.path, map_location=self.device, weights_only=True)
        self.model.load_state_dict(state["model"])
        self.average = state["average"]
        for optimizer, saved in zip(self.optimizers, state["optimizers"]):
            optimizer.load_state_dict(saved)
        self.step, self.seconds, self.tokens = state["step"], state["seconds"], state["tokens"]

    def save(self) -> None:
        """Writes a checkpoint; the one before stays until this one is whole."""
        state = {
            "model": self.model.state_dict(),
            "average": self.average,
            "config": asdict(self.config),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "step": self.step,
            "seconds": self.seconds,
            "tokens": self.tokens,
        }
        beside = self.path.with_suffix(".new")
        torch.save(state, beside)
        beside.replace(self.path)

    def learn(self, batch: Batch, share: float) -> Tensor:
        """One step; its loss."""
        if self.device != "cpu":
            # Nothing waits for the GPU before its loss is read.
            batch = tuple(part.pin_memory().to(self.device, non_blocking=True) for part in batch)
        groups = [group for optimizer in self.optimizers for group in optimizer.param_groups]
        for group, full in zip(groups, self.rates):
            group["lr"] = full * share
        with torch.autocast(self.device, dtype=torch.bfloat16, enabled=self.dtype == torch.bfloat16):
            loss = self.model.loss(*batch, self.encoder.close)
        loss.backward()
        if self.team:
            self.team.average(self.rank, [weight.grad for weight in self.model.parameters() if weight.grad is not None])
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        keep = min(0.995, self.step / (self.step + 20))
        with torch.no_grad():
            torch._foreach_lerp_(list(self.average.values()), list(self.model.parameters()), 1 - keep)
        return loss.detach()

    def train(self, team: Team) -> None:
        """Trains until the time is up."""
        options, began = self.options, time.monotonic()
        self.team = team
        if team.size > 1:
            self.optimizers[0].spread = partial(team.spread, self.rank)
        before = self.seconds
        limit = options.minutes * 60
        # What was seen before an interruption is not seen again.
        seed = options.seed + 7919 * self.step + self.rank
        feed = (
            composed(options.feeders, options.out / "tokenizer.json", seed, options.tokens, options.longest)
            if options.feeders
            else batches(self.encoder, seed, options.tokens, options.longest)
        )
        mean, saved, seen = math.nan, time.monotonic(), []
        team.clock[0] = before
        while team.clock.item() < limit:
            batch = next(feed)
            loss = self.learn(batch, rate(team.clock.item() / limit, self.step, decay_from=options.decay_from))
            self.step += 1
            self.tokens += batch[0].numel() * team.size
            self.seconds = before + time.monotonic() - began
            if self.rank == 0:
                seen.append(loss)
                if self.step % 20 == 0:
                    latest = torch.stack(seen).mean().item()
                    mean = latest if math.isnan(mean) else 0.5 * mean + 0.5 * latest
                    seen.clear()
                    print(
                        f"step {self.step} loss {mean:.4f} tokens {self.tokens} seconds {self.seconds:.0f}", flush=True
                    )
                if time.monotonic() - saved > options.save_every:
                    self.save()
                    saved = time.monotonic()
                team.clock[0] = self.seconds
            if team.size > 1:
                team.barrier.wait()
        if self.rank == 0:
            self.save()


def work(rank: int, options: argparse.Namespace, team: Team) -> None:
    """One process of the team."""
    torch.set_num_threads(options.threads)
    Run(options, rank).train(team)


def main() -> None:
    """Reads the arguments and trains."""
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("out", type=Path)
    args.add_argument(
        "--from", dest="start", type=Path, metavar="GGUF", help="weights and tokeniser to begin with (of export.py)"
    )
    args.add_argument("--minutes", type=float, default=70)
    args.add_argument("--seed", type=int, default=11)
    gpu = torch.cuda.is_available()
    args.add_argument("--tokens", type=int, default=32_768 if gpu else 6_144, help="of a process's batch, with padding")
    args.add_argument("--longest", type=int, default=1_024)
    args.add_argument("--lr", type=float, default=0.02)
    args.add_argument("--dim", type=int, default=Config.dim)
    args.add_argument("--heads", type=int, default=Config.heads)
    args.add_argument("--layers", type=int, default=Config.layers)
    args.add_argument("--ff", type=int, default=Config.ff)
    args.add_argument(
        "--decay-from", type=float, default=0.5, help="share of the time after which the learning rate goes down"
    )
    args.add_argument("--processes", type=int, default=1 if gpu else 2)
    args.add_argument(
        "--feeders",
        type=int,
        default=max(1, (os.cpu_count() or 1) - 2) if gpu else 0,
        help="processes that compose samples; without, those that train do it",
    )
    args.add_argument("--threads", type=int, default=1, help="of each process")
    args.add_argument("--compile", action=argparse.BooleanOptionalAction, default=True)
    args.add_argument("--save-every", type=float, default=120)
    options = args.parse_args()
    first = Run(options)
    team = Team(options.processes, sum(weight.numel() for weight in first.model.parameters()))
    del first
    if options.processes == 1:
        work(0, options, team)
    else:
        torch.multiprocessing.spawn(work, (options, team), nprocs=options.processes)


if __name__ == "__main__":
    main()
