"""What training on from a GGUF file relies on: run `python -m unittest` in this folder."""

from __future__ import annotations

import argparse
import filecmp
import tempfile
import unittest
from pathlib import Path

import torch

import tokenizer
from data.chat import Chats
from export import write
from feed import padded
from model import Model, quick
from restore import Restored
from train import Run, keep_tokenizer

SHIPPED = Path(__file__).resolve().parents[1] / "builtin" / "isogloss-builtin.gguf"


def options(out: Path, start: Path | None) -> argparse.Namespace:
    sizes = {"dim": 256, "layers": 6, "ff": 704, "heads": 4}
    return argparse.Namespace(out=out, start=start, seed=1, lr=0.004, compile=False, **sizes)


class Resumed(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name)
        torch.set_num_threads(1)

    def test_what_was_restored_is_exported_to_the_same_bytes(self) -> None:
        restored = Restored(SHIPPED)
        restored.tokenizer().save(str(self.out / "tokenizer.json"))
        write(self.out / "again.gguf", restored.config(), self.out / "tokenizer.json", restored.weights())
        self.assertTrue(filecmp.cmp(self.out / "again.gguf", SHIPPED, shallow=False))

    def test_the_first_step_has_the_loss_of_the_weights_it_begins_with(self) -> None:
        run = Run(options(self.out, SHIPPED))
        encoded = [run.encoder.sample(Chats(3).draw("extract_json")) for _ in range(8)]
        batch = padded(encoded, max(len(one[0]) for one in encoded))
        shipped = Model(run.config)
        shipped.load_state_dict(Restored(SHIPPED).weights())
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=quick("cpu") == torch.bfloat16):
            wanted = shipped.loss(*batch, run.encoder.close).item()
            fresh = Model(run.config).loss(*batch, run.encoder.close).item()
        self.assertAlmostEqual(run.learn(batch, 0.5).item(), wanted, places=5)
        self.assertLess(wanted, 1)
        self.assertGreater(fresh, 5)
        self.assertNotAlmostEqual(run.learn(batch, 0.5).item(), wanted, places=5)

    def test_weights_are_not_trained_with_another_tokeniser(self) -> None:
        keep_tokenizer(Restored(SHIPPED), self.out / "tokenizer.json")
        keep_tokenizer(Restored(SHIPPED), self.out / "tokenizer.json")
        tokenizer.train(50, 400, 1).save(str(self.out / "tokenizer.json"))
        with self.assertRaises(SystemExit):
            keep_tokenizer(Restored(SHIPPED), self.out / "tokenizer.json")


if __name__ == "__main__":
    unittest.main()
