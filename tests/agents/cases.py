"""What is run: which program, before which server, on which errand, and how often the model slips."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from model import Turn
from programs import MODEL, PROGRAMS, Done, is_installed, run
from samples import Call
from standins import Errand

# The shell's work shows in the file and in the result: neither the task nor the call has these words.
PROOF = "made-by-42"
WRITES = "printf 'made-by-%d\\n' 42 > note.txt; cat note.txt"
ANSWER = "The note is there, as asked: 7311."

SOCKETS = "supports_websockets = true"
PATCH = "*** Begin Patch\n*** Add File: note.txt\n+made by a patch\n*** End Patch\n"
REPORT = {"done": True, "files": ["note.txt"]}


@dataclass(frozen=True)
class Case:
    program: str
    standin: str
    slips: int = 0
    slip: Callable[[str], str] | None = None
    # With the page's second command: codex patches a file, and reports in a shape of its own.
    patches: bool = False
    # Over the WebSocket, as the page says that codex can.
    by_socket: bool = False

    @property
    def id(self) -> str:
        return f"{self.program}-{self.standin}"

    @property
    def call(self) -> Call:
        """What the model calls."""
        return Call("apply_patch", {"input": PATCH}) if self.patches else PROGRAMS[self.program].shell(WRITES)

    def run(self, binary: Path, folder: Path) -> Done:
        slip = {"slips": self.slips, **({"slip": self.slip} if self.slip else {})}
        program = PROGRAMS[self.program]
        more = f"{SOCKETS}\n" if self.by_socket else ""
        if self.patches:
            errand = Errand((self.call,), "Success. Updated", Turn(values=REPORT), prompted=PATCH, **slip)
            # It offers `apply_patch` to models alone that it knows by name.
            return run(binary, folder, program, self.standin, errand, program.commands[1], "gpt-5.5", more)
        errand = Errand((self.call,), PROOF, Turn(text=ANSWER), **slip)
        return run(binary, folder, program, self.standin, errand, program.commands[0], MODEL, more)


@dataclass
class Runs:
    """All runs that the chosen tests want, a few at a time."""

    futures: dict[Case, Future[Done]]

    def of(self, case: Case) -> Done:
        if not is_installed(PROGRAMS[case.program]):
            pytest.skip(f"{case.program} is not installed; tests/agents/run installs it where npm and the package are")
        return self.futures[case].result()


def cases(listed: list[Case]) -> Any:
    return pytest.mark.parametrize("case", listed, ids=[case.id for case in listed])
