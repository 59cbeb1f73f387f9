"""Other programs that stand between a client and an inference server: how each is had, started and asked.

`peers.py start NAME UPSTREAM PORT` runs one in the foreground, in front of the server at UPSTREAM. Each lives in a folder
of its own below `target/race`: two of them bring a program of the same name.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOME = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "race"
MODEL = "bench"


class Missing(Exception):
    """A peer that cannot be had here, with the reason."""


@dataclass(frozen=True)
class Launch:
    """What starts a peer."""

    command: list[str]
    env: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Peer:
    """A peer: what it is got by, what starts it, and what its clients have to say."""

    name: str
    # What pip or npm is told, and the program (or the package, for Python's `-m`) that is started.
    packages: tuple[str, ...]
    launch: Callable[[Path, str, int], Launch]
    python: str = "python3"
    npm: bool = False
    # Where a client's `/v1` is.
    base: str = "/v1"
    model: str = MODEL
    headers: Callable[[str], dict[str, str]] = lambda upstream: {}
    # Answers with 200 once it serves; asked for until then.
    ready: str = "/v1/models"

    @property
    def folder(self) -> Path:
        return HOME / self.name

    def program(self, name: str) -> str:
        return str(self.folder / "bin" / name)


def wrote(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def router(name: str, *words: str) -> Callable[[Path, str, int], Launch]:
    """The routers share a family of flags."""

    def launch(folder: Path, upstream: str, port: int) -> Launch:
        command = [str(folder / "bin" / name), *words, "--worker-urls", upstream, "--host", "127.0.0.1"]
        metrics = ["--prometheus-port", str(free_port())]
        return Launch([*command, "--port", str(port), "--policy", "round_robin", *metrics])

    return launch


def litellm(folder: Path, upstream: str, port: int) -> Launch:
    config = {
        "model_list": [
            {
                "model_name": MODEL,
                "litellm_params": {"model": f"hosted_vllm/{MODEL}", "api_base": f"{upstream}/v1", "api_key": "unused"},
            }
        ],
        "litellm_settings": {"num_retries": 0, "telemetry": False},
        "router_settings": {"num_retries": 0, "disable_cooldowns": True},
    }
    path = wrote(folder / f"config-{port}.yaml", json.dumps(config))
    command = [str(folder / "bin" / "litellm"), "--config", path, "--host", "127.0.0.1", "--port", str(port)]
    env = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "ERROR", "DISABLE_ADMIN_UI": "True"}
    return Launch([*command, "--num_workers", "1", "--telemetry", "False"], env)


TENSORZERO = """
import sys, threading
import tensorzero.tensorzero as gateway

kept = gateway._start_http_gateway(
    config_file=sys.argv[1], clickhouse_url=None, postgres_url=None, valkey_url=None, async_setup=False
)
print(kept, flush=True)
threading.Event().wait()
"""


def tensorzero(folder: Path, upstream: str, port: int) -> Launch:
    config = f"""
[gateway]
bind_address = "127.0.0.1:{port}"
observability.enabled = false

[models.{MODEL}]
routing = ["server"]

[models.{MODEL}.providers.server]
type = "vllm"
model_name = "{MODEL}"
api_base = "{upstream}/v1/"
api_key_location = "none"
"""
    path = wrote(folder / f"config-{port}.toml", config)
    # The wheel has no command, but the whole gateway.
    return Launch([str(folder / "bin" / "python"), "-c", TENSORZERO, path])


def portkey(folder: Path, upstream: str, port: int) -> Launch:
    script = folder / "node_modules/@portkey-ai/gateway/build/start-server.js"
    return Launch(
        ["node", str(script), "--headless", f"--port={port}"], {"TRUSTED_CUSTOM_HOSTS": "127.0.0.1,localhost"}
    )


def rosetta(folder: Path, upstream: str, port: int) -> Launch:
    config = {
        "providers": {"openai_chat": {"api_key": "unused", "base_url": f"{upstream}/v1"}},
        "models": {MODEL: "openai_chat"},
        "server": {"host": "127.0.0.1", "port": port},
    }
    path = wrote(folder / f"config-{port}" / "config.jsonc", json.dumps(config))
    data = ["--data-dir", str(folder / f"config-{port}")]
    command = [str(folder / "bin" / "llm-rosetta-gateway"), "--config", path, "--no-banner", "--log-level", "error"]
    return Launch([*command, "--host", "127.0.0.1", "--port", str(port), *data])


def forge(folder: Path, upstream: str, port: int) -> Launch:
    command = [
        str(folder / "bin" / "python"),
        "-m",
        "forge.proxy",
        "--backend-url",
        f"{upstream}/v1",
        "--backend",
        "vllm",
    ]
    return Launch([*command, "--model", MODEL, "--host", "127.0.0.1", "--port", str(port), "--no-serialize"])


def to_portkey(upstream: str) -> dict[str, str]:
    return {
        "x-portkey-provider": "openai",
        "x-portkey-custom-host": f"{upstream}/v1",
        "authorization": "Bearer unused",
    }


PEERS = {
    peer.name: peer
    for peer in (
        Peer("vllm-router", ("vllm-router",), router("vllm-router")),
        Peer("sglang-router", ("sglang-router",), router("sglang-router", "launch")),
        Peer("smg", ("smg",), router("smg", "launch")),
        Peer("litellm", ("litellm[proxy]==1.99.0",), litellm, ready="/health/liveliness"),
        Peer(
            "tensorzero",
            ("tensorzero",),
            tensorzero,
            base="/openai/v1",
            model=f"tensorzero::model_name::{MODEL}",
            ready="/status",
        ),
        Peer("portkey", ("@portkey-ai/gateway",), portkey, npm=True, headers=to_portkey, ready="/"),
        Peer("llm-rosetta", ("llm-rosetta",), rosetta),
        Peer("forge-guardrails", ("forge-guardrails",), forge, python="python3.12", ready="/health"),
    )
}


def free_port() -> int:
    import socket

    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


def run(*command: str, cwd: Path | None = None) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=cwd, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(f"{command[0]}: {error}") from error
    if done.returncode:
        said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise Missing(f"{Path(command[0]).name}: {said[-1][:200] if said else 'it fails without a word'}")
    return done.stdout


def install(peer: Peer) -> str:
    """Installs a peer where it is not there yet, and gives its version. Raises `Missing` with the reason."""
    mark = peer.folder / ".installed"
    wanted = " ".join(peer.packages)
    if not mark.exists() or mark.read_text() != wanted:
        peer.folder.mkdir(parents=True, exist_ok=True)
        if peer.npm:
            run("npm", "install", "--silent", "--no-audit", "--no-fund", *peer.packages, cwd=peer.folder)
        else:
            python = shutil.which(peer.python) or shutil.which("python3") or sys.executable
            run(python, "-m", "venv", str(peer.folder))
            run(
                peer.program("python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *peer.packages
            )
        mark.write_text(wanted)
    return version(peer)


def version(peer: Peer) -> str:
    name = re.split(r"[\[=<>]", peer.packages[0])[0]
    if peer.npm:
        return json.loads((peer.folder / "node_modules" / name / "package.json").read_text())["version"]
    asked = f"import importlib.metadata as it; print(it.version({name!r}))"
    return run(peer.program("python"), "-c", asked).strip()


def main() -> None:
    if len(sys.argv) != 5 or sys.argv[1] != "start" or sys.argv[2] not in PEERS:
        sys.exit(f"usage: peers.py start NAME UPSTREAM PORT, with NAME one of {', '.join(PEERS)}")
    peer = PEERS[sys.argv[2]]
    try:
        install(peer)
    except Missing as missing:
        sys.exit(f"{peer.name} cannot be installed: {missing}")
    launch = peer.launch(peer.folder, sys.argv[3], int(sys.argv[4]))
    os.chdir(peer.folder)
    os.execvpe(launch.command[0], launch.command, {**os.environ, **launch.env})


if __name__ == "__main__":
    main()
