"""The binary is found or built, started in front of a scripted server, and ended with SIGTERM."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from scripted import ScriptedServer
from servers import FIVE, SERVERS

ROOT = Path(__file__).resolve().parents[2]
READY_SECONDS = 20.0
DRAIN_SECONDS = 10.0
# Loopback is never reached through a proxy of the environment.
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost"


@dataclass
class Stack:
    """A scripted server, and an isogloss process in front of it."""

    name: str
    server: ScriptedServer
    base_url: str  # What a client is given: with `/v1`.
    admin_url: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def model(self) -> str:
        return self.server.model

    @property
    def result_role(self) -> str:
        """Whose words a tool's result is told in: a server of which nothing is known gets it as text."""
        return "user" if self.name == "plain" else "tool"

    def metrics(self) -> dict[str, float]:
        """The admin port's series, by name and labels."""
        text = httpx.get(f"{self.admin_url}/metrics").raise_for_status().text
        lines = (line.rpartition(" ") for line in text.splitlines() if line and line[0] != "#")
        return {series: float(value) for series, _, value in lines}

    def stop(self) -> int:
        """Ends the process as an orchestrator does; gives its exit code."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(DRAIN_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"isogloss ignored SIGTERM for {DRAIN_SECONDS} s\n{self.tail()}") from None
        finally:
            self.server.close()

    def tail(self) -> str:
        return self.log.read_text(errors="replace")[-2000:]


@dataclass
class Stacks:
    """Starts each stack once, when it is first asked for."""

    binary: Path
    folder: Path
    running: dict[str, Stack] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def get(self, name: str) -> Stack:
        if name in self.failed:
            pytest.fail(self.failed[name], pytrace=False)
        if name not in self.running:
            try:
                self.running[name] = self.start(name)
            except AssertionError as error:
                self.failed[name] = str(error)
                pytest.fail(str(error), pytrace=False)
        return self.running[name]

    def start(
        self, name: str, *arguments: str, server: ScriptedServer | None = None, probe: str = "off"
    ) -> Stack:
        """A fresh process. The caller stops it, unless `get` keeps it.

        The servers record every request, so the proxy sends none of its own unless a test is about them.
        """
        server = server or SERVERS[name]()
        listen, admin = free_port(), free_port()
        log = self.folder / f"{name}-{listen}.log"
        command = [str(self.binary), "serve", "--upstream", server.url]
        command += ["--listen", f"127.0.0.1:{listen}", "--admin", f"127.0.0.1:{admin}"]
        command += ["--probe", probe, *arguments]
        # Settings of the caller's environment would change what is tested.
        clean = {key: value for key, value in os.environ.items() if not key.startswith("ISOGLOSS_")}
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=clean,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        stack = Stack(
            name, server, f"http://127.0.0.1:{listen}/v1", f"http://127.0.0.1:{admin}", process, log
        )
        wait_ready(stack)
        return stack


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_ready(stack: Stack) -> None:
    end, last = time.monotonic() + READY_SECONDS, "no answer"
    while time.monotonic() < end:
        if stack.process.poll() is not None:
            stack.server.close()
            raise AssertionError(f"isogloss ended with {stack.process.returncode} at start\n{stack.tail()}")
        try:
            reply = httpx.get(f"{stack.admin_url}/readyz", timeout=2)
            if reply.status_code == 200:
                return
            last = f"{reply.status_code} {reply.text[:200]}"
        except httpx.HTTPError as error:
            last = str(error)
        time.sleep(0.05)
    stack.process.kill()
    stack.server.close()
    raise AssertionError(f"isogloss was not ready in {READY_SECONDS} s: /readyz says {last}\n{stack.tail()}")


@pytest.fixture(scope="session")
def binary() -> Path:
    """`ISOGLOSS_BIN`, or the debug build, which is made where it is missing."""
    given = os.environ.get("ISOGLOSS_BIN")
    if given:
        path = Path(given).resolve()
        assert path.is_file(), f"ISOGLOSS_BIN names no file: {path}"
        return path
    path = ROOT / "target" / "debug" / "isogloss"
    if not path.is_file():
        subprocess.run(["cargo", "build", "--locked", "--bin", "isogloss"], cwd=ROOT, check=True)
    return path


@pytest.fixture(scope="session")
def stacks(binary: Path) -> Iterator[Stacks]:
    with tempfile.TemporaryDirectory(prefix="isogloss-clients-") as folder:
        all_stacks = Stacks(binary, Path(folder))
        yield all_stacks
        codes = {name: stack.stop() for name, stack in all_stacks.running.items()}
        assert not any(codes.values()), f"exit codes after SIGTERM: {codes}"


@pytest.fixture(scope="session")
def builtin(binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """The model in the program, where it has one."""
    from worker import start  # It needs this module.

    if subprocess.run([binary, "worker", "--help"], capture_output=True, check=False).returncode:
        pytest.skip("this binary is built without the worker")
    served = start(binary, tmp_path_factory.mktemp("builtin"), model=None)
    served.wait_ready()
    yield SimpleNamespace(base_url=served.base_url, model="isogloss-builtin")
    assert served.stop() == 0, served.tail()


@pytest.fixture(params=FIVE)
def stack(request: pytest.FixtureRequest, stacks: Stacks) -> Iterator[Stack]:
    """Each of the five upstreams in turn, with a clean script."""
    yield from prepared(stacks, request.param)


@pytest.fixture(params=(*FIVE, "vllm-new-parser"))
def any_stack(request: pytest.FixtureRequest, stacks: Stacks) -> Iterator[Stack]:
    """The five, and vLLM with a tool parser."""
    yield from prepared(stacks, request.param)


def prepared(stacks: Stacks, name: str) -> Iterator[Stack]:
    found = stacks.get(name)
    if found.process.poll() is not None:
        pytest.fail(f"isogloss in front of {name} has ended\n{found.tail()}", pytrace=False)
    found.server.reset()
    yield found
    assert not found.server.crashes, found.server.crashes[0]


@pytest.fixture(params=list(SERVERS))
def server(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A scripted server alone: no isogloss in front of it."""
    found = SERVERS[request.param]()
    yield found
    found.close()
