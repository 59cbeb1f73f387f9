"""Tools, the built binaries, and running proxies for the tests of what is in deploy/."""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DEPLOY = ROOT / "deploy"
# The scripted servers and the model of the client tests; their `conftest` is another one.
sys.path.append(str(ROOT / "tests" / "clients"))
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost"

READY_SECONDS = 60.0
# Neither is given: the static binary is built here, and not as it is shipped.
QUICK = not os.environ.get("ISOGLOSS_DIST") and not os.environ.get("ISOGLOSS_STATIC_BIN")
TRIPLE = f"{platform.machine()}-unknown-linux-musl"


def tool(name: str) -> str:
    """The program, of the virtual environment first: those are pinned. A test that lacks it skips."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.is_file() else shutil.which(name)
    if not found:
        pytest.skip(f"{name} is not installed")
    return found


def run(*command: Any, env: dict[str, str] | None = None, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end; what it printed is in the failure."""
    done = subprocess.run(
        [str(part) for part in command], text=True, capture_output=True, env=clean_environment(env), **options
    )
    assert done.returncode == 0, f"{command} ended with {done.returncode}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done


def clean_environment(more: dict[str, str] | None = None) -> dict[str, str]:
    """Without settings of the caller's, which would change what is tested."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("ISOGLOSS_")}
    return {**kept, **(more or {})}


def documents(text: str) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(text) if document]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def eventually(check: Callable[[], Any], what: str, seconds: float = READY_SECONDS) -> Any:
    """What `check` gives once that is true; network errors are "not yet"."""
    end, last = time.monotonic() + seconds, None
    while time.monotonic() < end:
        try:
            if found := check():
                return found
        except (httpx.HTTPError, OSError) as error:
            last = error
        time.sleep(0.05)
    raise AssertionError(f"{what}: not within {seconds} s ({last})")


@dataclass
class Proxy:
    """A running `isogloss serve`."""

    model: str
    base_url: str  # With `/v1`.
    admin: str  # host:port
    process: subprocess.Popen[bytes]
    log: Path

    def get(self, path: str) -> httpx.Response:
        return httpx.get(f"http://{self.admin}{path}", timeout=30)

    def wait_ready(self) -> None:
        def is_ready() -> bool:
            assert self.process.poll() is None, f"ended with {self.process.returncode}\n{self.tail()}"
            return self.get("/readyz").status_code == 200

        eventually(is_ready, f"ready\n{self.tail()}")

    def series(self) -> set[str]:
        """Every series by name and labels."""
        lines = self.get("/metrics").text.splitlines()
        return {line.rpartition(" ")[0] for line in lines if line and line[0] != "#"}

    def lines(self) -> list[dict[str, Any]]:
        """The log, where it is JSON."""
        text = self.log.read_text(errors="replace").splitlines()
        return [json.loads(line) for line in text if line.startswith("{")]

    def tail(self) -> str:
        return self.log.read_text(errors="replace")[-3000:]

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"isogloss ignored SIGTERM\n{self.tail()}") from None


@pytest.fixture(scope="session")
def binary() -> Path:
    """`ISOGLOSS_BIN`, or the debug build, which is made where it is missing."""
    if given := os.environ.get("ISOGLOSS_BIN"):
        return Path(given).resolve()
    path = target() / "debug" / "isogloss"
    if not path.is_file():
        run("cargo", "build", "--locked", "--bin", "isogloss", cwd=ROOT)
    return path


def target() -> Path:
    return Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")


@pytest.fixture(scope="session")
def start(binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Proxy]]:
    """Starts proxies, and ends those that still run at the end."""
    folder, started = tmp_path_factory.mktemp("proxies"), []

    def begin(
        *arguments: Any, program: Path | None = None, model: str = "tiny", env: dict[str, str] | None = None
    ) -> Proxy:
        listen, admin = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
        log = folder / f"{len(started)}.log"
        command = [program or binary, "serve", "--listen", listen, "--admin", admin, *arguments]
        with log.open("wb") as output:
            process = subprocess.Popen(
                [str(part) for part in command],
                cwd=folder,
                env=clean_environment(env),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        proxy = Proxy(model, f"http://{listen}/v1", admin, process, log)
        started.append(proxy)
        return proxy

    yield begin
    for proxy in started:
        if proxy.process.poll() is None:
            proxy.stop()


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the static build, which runs on every Linux. One build serves the image's tests too. What is shipped
    takes twice as long to build and does the same: `ISOGLOSS_DIST=1` builds that."""
    maturin = tool("maturin")
    if not shutil.which("cargo") or not shutil.which("musl-gcc"):
        pytest.skip("the static build needs cargo and musl-gcc")
    if TRIPLE not in run("rustup", "target", "list", "--installed").stdout.split():
        pytest.skip(f"the target {TRIPLE} is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    build = [maturin, "build", "--profile", "dist", "--no-default-features", "--features", "jemalloc", "--target", TRIPLE, "--out", folder]
    quick = {"OPT_LEVEL": "1", "LTO": "off", "CODEGEN_UNITS": "16"} if QUICK else {}
    settings = {"STRIP": "symbols", **quick}
    run(*build, cwd=ROOT, env={f"CARGO_PROFILE_DIST_{name}": value for name, value in settings.items()})
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="session")
def static_binary(request: pytest.FixtureRequest) -> Path:
    """What the image's target `sidecar` carries."""
    if given := os.environ.get("ISOGLOSS_STATIC_BIN"):
        return Path(given).resolve()
    request.getfixturevalue("wheel")
    return target() / TRIPLE / "dist" / "isogloss"
