"""The README and the pages in docs/, as the tests read them: blocks between fences, and the commands in them."""

from __future__ import annotations

import re
import shlex
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCED = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.S | re.M)


@dataclass(frozen=True)
class Block:
    page: str  # As `docs/worker.md`.
    language: str
    text: str

    @property
    def commands(self) -> list[str]:
        """What a reader would type: every line of `sh`, in `console` what follows a prompt."""
        if self.language == "sh":
            return split(self.text)
        prompts = [line[2:] for line in self.text.splitlines() if line.startswith("$ ")]
        return [command for line in prompts for command in split(line)]

    @property
    def outputs(self) -> dict[str, str]:
        """Of a `console`, each command with what it is said to print."""
        parts = re.split(r"^\$ (.*)\n", self.text, flags=re.M)[1:]
        return dict(zip(parts[::2], parts[1::2], strict=True))


def split(text: str) -> list[str]:
    """Commands, each whole where it goes over several lines, without comments."""
    found, begun = [], ""
    for line in text.splitlines(keepends=True):
        begun += line
        if is_whole(begun):
            found.append(uncommented(begun))
            begun = ""
    assert not begun, f"a command without an end: {begun}"
    return [command for command in found if command]


def is_whole(text: str) -> bool:
    try:
        shlex.split(text, comments=True)
    except ValueError:
        return False  # A quote is open.
    return not text.rstrip("\n").endswith("\\")


def uncommented(command: str) -> str:
    """Without a comment of its own or behind it; what stands in quotes over several lines has none."""
    if "\n" in command.rstrip("\n"):
        return command.strip()
    return re.split(r"(?:^|\s)#", command, maxsplit=1)[0].strip()


def read(page: str) -> str:
    return (ROOT / page).read_text()


def pages() -> list[str]:
    return ["README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md"))]


def blocks(*languages: str, page: str | None = None) -> list[Block]:
    """Those of a page, or of all, in these languages."""
    found = []
    for name in [page] if page else pages():
        for indent, language, text in FENCED.findall(read(name)):
            if not languages or language in languages:
                found.append(Block(name, language, textwrap.dedent(text) if indent else text))
    return found
