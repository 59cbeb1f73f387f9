"""What every part of a record's generator draws with."""

from __future__ import annotations

from .lexicon import Dice
from .values import Values


class Keyed:
    """A part of the generator. Keys are written as the record writes them."""

    rng: Dice
    values: Values
    shown: bool

    def key(self, key: str) -> str:
        """A key in the casing of the record."""
        raise NotImplementedError
