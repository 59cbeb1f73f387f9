"""Agent programs, set up as docs/clients.md says, each in a home and a workplace of its own."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pages
from clients_conftest import Stack, Stacks
from samples import Call
from standins import STANDINS, Errand

HERE = Path(__file__).resolve().parent
PAGE = "docs/clients.md"
# Nothing tells these from others.
PINNED = ("transformers", "ollama-native")
ADDRESS, MODEL = "http://127.0.0.1:8080", "qwen3"
# What a run may take on a machine with much else to do; most take a few seconds.
SECONDS = 90.0


@dataclass(frozen=True)
class Program:
    title: str  # Of its section in docs/clients.md.
    command: str
    shell: Callable[[str], Call]  # Its tool that runs a command.
    # Nobody is there to be asked, and nothing but loopback to be reached.
    environment: dict[str, str] = field(default_factory=dict)
    # What a test's machine cannot do of the page's settings, and what is set in its place.
    instead: tuple[str, str] = ("", "")

    @property
    def folder(self) -> Path:
        return HERE / "node_modules" / self.package / "node_modules" / ".bin"

    @property
    def package(self) -> str:
        return next(name for name, program in PROGRAMS.items() if program is self)

    @property
    def section(self) -> str:
        """Its text on the page."""
        found = re.search(rf"^## {re.escape(self.title)}\n(.*?)(?=^## |\Z)", pages.read(PAGE), re.S | re.M)
        assert found, f"{PAGE} has no section `{self.title}`"
        return found[1]

    @property
    def commands(self) -> list[str]:
        return [
            command
            for _, language, text in pages.FENCED.findall(self.section)
            if language == "sh"
            for command in pages.split(text)
        ]

    def files(self) -> dict[str, str]:
        """The files of settings that the page shows, by their paths below the home."""
        return dict(re.findall(r"`~/([^`]+)`:\n\n```\w+\n(.*?)^```$", self.section, re.S | re.M))


PROGRAMS = {
    "claude-code": Program(
        "Claude Code",
        "claude",
        lambda command: Call("Bash", {"command": command, "description": "Writes a note"}),
        {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "CLAUDE_CODE_MAX_RETRIES": "1", "DISABLE_AUTOUPDATER": "1"},
    ),
    "codex": Program(
        "Codex",
        "codex",
        lambda command: Call("exec_command", {"cmd": command}),
        # Its sandbox needs rights that a test may not have.
        instead=('"workspace-write"', '"danger-full-access"'),
    ),
    "gemini-cli": Program(
        "Gemini CLI",
        "gemini",
        lambda command: Call("run_shell_command", {"command": command}),
        {"GEMINI_TELEMETRY_ENABLED": "false"},
    ),
    "opencode-ai": Program(
        "opencode",
        "opencode",
        lambda command: Call("bash", {"command": command, "description": "Writes a note"}),
        {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_PURE": "1"},
    ),
    "qwen-code": Program(
        "Qwen Code",
        "qwen",
        lambda command: Call("run_shell_command", {"command": command, "is_background": False}),
    ),
}


@dataclass
class Done:
    """A run that has ended."""

    code: int
    out: str
    err: str
    place: Path
    server: Any
    log: str

    def note(self, name: str = "note.txt") -> str | None:
        path = self.place / name
        return path.read_text() if path.is_file() else None

    def __str__(self) -> str:
        asked = "\n".join(f"{len(body['messages'])} messages" for body in self.server.bodies())
        return (
            f"ended with {self.code}\n--- out\n{self.out[-2000:]}\n--- err\n{self.err[-2000:]}\n--- asked\n{asked}"
            f"\n--- refused\n{self.server.refusals[:5]}\n{self.server.crashes[:1]}\n--- isogloss\n{self.log}"
        )


def is_installed(program: Program) -> bool:
    return bool(shutil.which("node")) and (program.folder / program.command).exists()


def run(
    binary: Path,
    folder: Path,
    program: Program,
    standin: str,
    errand: Errand,
    command: str,
    model: str,
    more: str = "",
) -> Done:
    """Runs a command of the page in front of the stand-in until it ends, with `more` behind its settings."""
    place = folder / "place"
    # As much of a repository as git itself asks for: some will work in nothing less.
    for part in ("objects", "refs/heads"):
        (place / ".git" / part).mkdir(parents=True)
    (place / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    server = STANDINS[standin]()
    server.model, server.script = model, errand
    stacks = Stacks(binary, folder)
    options = ("--dialect", standin) if standin in PINNED else ()
    stack = stacks.start(standin, *options, server=server)
    server.open_sockets = lambda: stack.metrics()["isogloss_websockets_open"]
    try:
        code, out, err = _run(folder, place, program, stack, command, model, more)
        return Done(code, out, err, place, server, stack.tail())
    finally:
        stack.stop()


def _run(
    folder: Path, place: Path, program: Program, stack: Stack, command: str, model: str, more: str
) -> tuple[int, str, str]:
    home = folder / "home"
    (home / "tmp").mkdir(parents=True)

    def here(text: str) -> str:
        text = re.sub(rf"\b{MODEL}\b", model, text)
        return text.replace(ADDRESS, stack.base_url.removesuffix("/v1"))

    for name, text in program.files().items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        page, instead = program.instead
        assert page in text or not name.endswith(".toml"), f"{page} is not in {name} any more"
        text = text.replace(page, instead) if page else text
        path.write_text(here(text + more if name.endswith(".toml") else text))
    environment = {
        "HOME": str(home),
        "PATH": f"{program.folder}:{os.environ['PATH']}",
        "TMPDIR": str(home / "tmp"),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "NO_COLOR": "1",
        **program.environment,
    }
    process = subprocess.Popen(
        ["bash", "-ec", here(command)],
        cwd=place,
        env=environment,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        err += f"\nkilled after {SECONDS} s"
    return process.returncode, out, err
