"""`isogloss serve --model`: the proxy and its own decoding worker, as one process group."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import httpx

from conftest import ROOT, free_port

MODEL = ROOT / "tests" / "models" / "tiny-chat-q8_0.gguf"
# The debug build on a machine with much else to do.
READY_SECONDS = 60.0


@dataclass
class Served:
    """A running `isogloss serve --model`."""

    base_url: str  # With `/v1`.
    admin_url: str
    process: subprocess.Popen[bytes]
    log: Path

    def series(self) -> dict[str, float]:
        """The admin port's series, the worker's among them, by name and labels."""
        text = httpx.get(f"{self.admin_url}/metrics").raise_for_status().text
        lines = (line.rpartition(" ") for line in text.splitlines() if line and line[0] != "#")
        return {series: float(value) for series, _, value in lines}

    def worker_pids(self) -> list[int]:
        """The proxy's children."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        return [int(pid) for task in ([path] if not path.exists() else tasks) for pid in task.read_text().split()]

    def wait_ready(self) -> None:
        end, last = time.monotonic() + READY_SECONDS, "no answer"
        while time.monotonic() < end:
            assert self.process.poll() is None, f"ended with {self.process.returncode}\n{self.tail()}"
            try:
                reply = httpx.get(f"{self.admin_url}/readyz", timeout=2)
                if reply.status_code == 200:
                    return
                last = f"{reply.status_code} {reply.text[:200]}"
            except httpx.HTTPError as error:
                last = str(error)
            time.sleep(0.05)
        raise AssertionError(f"not ready in {READY_SECONDS} s: {last}\n{self.tail()}")

    def tail(self) -> str:
        return self.log.read_text(errors="replace")[-3000:]

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"isogloss ignored SIGTERM\n{self.tail()}") from None


def start(binary: Path, folder: Path, *arguments: str, model: Path | None = MODEL) -> Served:
    """Starts it; without a model file, with the one in the program."""
    listen, admin = free_port(), free_port()
    log = folder / f"worker-{listen}.log"
    command = [str(binary), "serve", *([] if model is None else ["--model", str(model)])]
    command += ["--listen", f"127.0.0.1:{listen}", "--admin", f"127.0.0.1:{admin}", *arguments]
    clean = {key: value for key, value in os.environ.items() if not key.startswith("ISOGLOSS_")}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=clean, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
    return Served(f"http://127.0.0.1:{listen}/v1", f"http://127.0.0.1:{admin}", process, log)
