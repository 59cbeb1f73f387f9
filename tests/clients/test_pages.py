"""The examples of README.md and docs/clients.md, as they stand there, against the model in the program."""

from __future__ import annotations

import ast
import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import pages
from conftest import ROOT
from worker import Served, start

# What PydanticAI's and our own tests do not need is installed apart: its versions of `openai` are others.
FRAMEWORKS = ROOT / ".venv" / "frameworks" / "bin" / "python"
MODULES = ROOT / "tests" / "clients" / "frameworks" / "node_modules"
# Some clients are given an address with `/v1`, others without.
ADDRESS = "http://127.0.0.1:8080"
PYTHON = pages.blocks("python")
NODE = pages.blocks("js")


@pytest.fixture(scope="module")
def served(binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """With nothing named, as the README's first command."""
    served = start(binary, tmp_path_factory.mktemp("pages"), model=None)
    served.wait_ready()
    yield served
    assert served.stop() == 0, served.tail()


def prints(*command: object, cwd: Path) -> str:
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, cwd=cwd, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def expected(block: pages.Block) -> str:
    """What the last line's comment says."""
    return re.search(r"(?:#|//) (.+)\s*$", block.text)[1].strip()


def interpreter(code: str) -> Path:
    """The one that has what the example imports."""
    trees = ast.walk(ast.parse(code))
    names = {node.module for node in trees if isinstance(node, ast.ImportFrom)}
    names |= {alias.name for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Import) for alias in node.names}
    if "pydantic_ai.models.anthropic" in names and FRAMEWORKS.exists():
        return FRAMEWORKS  # It is not made for the other's `anthropic`.
    roots = {name.split(".")[0] for name in names}
    if all(importlib.util.find_spec(name) for name in roots):
        return Path(sys.executable)
    if not FRAMEWORKS.exists():
        pytest.skip(f"not installed: {', '.join(sorted(roots))}; tests/clients/run installs them")
    return FRAMEWORKS


@pytest.mark.parametrize("block", PYTHON, ids=[f"{block.page}-{index}" for index, block in enumerate(PYTHON)])
def test_each_example_in_python_prints_what_it_says(block: pages.Block, served: Served, tmp_path: Path) -> None:
    assert ADDRESS in block.text
    python = interpreter(block.text)
    script = tmp_path / "example.py"
    script.write_text(block.text.replace(ADDRESS, served.base_url.removesuffix("/v1")))
    assert prints(python, script, cwd=tmp_path) == expected(block)


@pytest.mark.parametrize("block", NODE, ids=[f"{block.page}-{index}" for index, block in enumerate(NODE)])
def test_each_example_in_javascript_prints_what_it_says(block: pages.Block, served: Served, tmp_path: Path) -> None:
    node = shutil.which("node")
    if not node or not MODULES.is_dir():
        pytest.skip("node, or what tests/clients/run installs for it, is not there")
    assert ADDRESS in block.text
    script = tmp_path / "example.mjs"
    script.write_text(block.text.replace(ADDRESS, served.base_url.removesuffix("/v1")))
    (tmp_path / "node_modules").symlink_to(MODULES)
    assert prints(node, script, cwd=tmp_path) == expected(block)


def test_there_is_an_example_for_each_client_that_the_readme_names() -> None:
    names = ("pydantic_ai", "openai import OpenAI", "instructor", "langchain_openai", "agents", "ai-sdk")
    text = "\n".join(block.text for block in PYTHON + NODE)
    assert [name for name in names if name not in text] == []
    assert len(NODE) == 2 and all(expected(block) for block in PYTHON + NODE)
