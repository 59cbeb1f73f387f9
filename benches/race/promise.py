"""The scoreboard: sixty demands to each gateway and server, and what became of each.

`promise.py` writes `target/race/promise.json` and prints the table; `--write` puts it into `docs/promise.md`. Exits with 1
where Isogloss lost a demand.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import demands
import peers
import real
import table
from asking import Gateway, Outcome, ask
from peers import MODEL, PEERS, Missing
from servers import SERVERS

READY_WITHIN = 180  # Seconds: the slowest imports for a minute where the machine is busy.
OURS = "isogloss"
NOBODY = "no gateway"


@contextmanager
def started(command: list[str], env: dict[str, str], ready: str, log: Path) -> Iterator[None]:
    """A process with a group of its own, ended with all that it started."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as out:
        child = subprocess.Popen(
            command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, env={**os.environ, **env}, cwd=log.parent,
            start_new_session=True,
        )  # fmt: skip
        try:
            wait(child, ready, log)
            yield
        finally:
            end(child)


def wait(child: subprocess.Popen, ready: str, log: Path) -> None:
    until = time.monotonic() + READY_WITHIN
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(ready, timeout=5) as reply:
                if reply.status == 200:
                    return
        except OSError:
            pass
        if child.poll() is not None:
            said = log.read_text(errors="replace").strip().splitlines()
            raise Missing(f"it ends at once: {said[-1][:200] if said else 'without a word'}")
        time.sleep(0.2)
    raise Missing(f"it is not ready after {READY_WITHIN} s")


def end(child: subprocess.Popen) -> None:
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, sign)
            child.wait(10)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


@contextmanager
def isogloss(program: str, upstream: str, *flags: str) -> Iterator[Gateway]:
    port, admin = peers.free_port(), peers.free_port()
    command = [program, "serve", "--upstream", upstream, *flags]
    command += ["--listen", f"127.0.0.1:{port}", "--admin", f"127.0.0.1:{admin}"]
    with started(command, {}, f"http://127.0.0.1:{admin}/livez", peers.HOME / OURS / "log"):
        yield Gateway(f"http://127.0.0.1:{port}/v1", MODEL)


@contextmanager
def peer(name: str, upstream: str) -> Iterator[Gateway]:
    it, port = PEERS[name], peers.free_port()
    peers.install(it)
    launch = it.launch(it.folder, upstream, port)
    with started(launch.command, launch.env, f"http://127.0.0.1:{port}{it.ready}", it.folder / "log"):
        yield Gateway(f"http://127.0.0.1:{port}{it.base}", it.model, it.headers(upstream))


@contextmanager
def gateway(name: str, program: str, upstream: str) -> Iterator[Gateway]:
    if name == NOBODY:
        yield Gateway(f"{upstream}/v1", MODEL)
    else:
        with isogloss(program, upstream) if name == OURS else peer(name, upstream) as made:
            yield made


def survey(made: Gateway, wanted: list[demands.Demand]) -> dict[str, list[str]]:
    out = {}
    for demand in wanted:
        outcome: Outcome = ask(made, demand)
        out[demand.name] = [outcome.kind, outcome.why]
    return out


def version_of(name: str, program: str) -> str:
    if name == OURS:
        return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    return "" if name == NOBODY else peers.install(PEERS[name])


def scripted(names: list[str], program: str, wanted: list[demands.Demand]) -> list[dict]:
    """Each gateway before both scripted servers."""
    rows = []
    for name in names:
        row: dict = {"name": name, "version": "", "before": {}}
        rows.append(row)
        try:
            row["version"] = version_of(name, program)
            for kind, make in SERVERS.items():
                server = make(wanted, MODEL)
                try:
                    with gateway(name, program, server.url) as made:
                        row["before"][kind] = survey(made, wanted)
                finally:
                    server.close()
                say(name, kind, row["before"][kind])
        except Missing as missing:
            row["missing"] = str(missing)
            print(f"{name}: not measured: {missing}", file=sys.stderr, flush=True)
    return rows


def say(name: str, kind: str, found: dict[str, list[str]]) -> None:
    counts = Counter(outcome for outcome, _ in found.values())
    print(f"{name} before {kind}: {dict(counts)}", file=sys.stderr, flush=True)


def real_servers(program: str, wanted: list[demands.Demand], named: list[str]) -> list[dict]:
    """Each real server by itself, and behind Isogloss."""
    rows = []
    for name, version, opened in real.servers(named, started):
        row: dict = {"name": name, "version": version, "before": {}}
        rows.append(row)
        try:
            with opened as (url, model):
                direct = Gateway(f"{url}/v1", model)
                row["before"][NOBODY] = survey(direct, wanted)
                say(name, NOBODY, row["before"][NOBODY])
                with isogloss(program, url) as ours:
                    row["before"][OURS] = survey(Gateway(ours.base, model), wanted)
                say(name, OURS, row["before"][OURS])
        except Missing as missing:
            row["missing"] = str(missing)
            print(f"{name}: not measured: {missing}", file=sys.stderr, flush=True)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", help="the built program; target/release or target/debug otherwise")
    parser.add_argument("--only", help="these gateways alone, between commas")
    parser.add_argument(
        "--server", action="append", default=[], metavar="NAME=URL", help="a real server that runs already"
    )
    parser.add_argument("--no-real", action="store_true", help="no real server")
    parser.add_argument("--write", action="store_true", help="writes docs/promise.md")
    given = parser.parse_args()
    built = [peers.ROOT / "target" / kind / "isogloss" for kind in ("release", "debug")]
    program = given.program or next((str(path) for path in built if path.exists()), None)
    if not program:
        sys.exit("build the program first: cargo build --release")
    program = str(Path(program).resolve())
    wanted = demands.every()
    names = given.only.split(",") if given.only else [NOBODY, OURS, *PEERS]
    report = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "demands": [demand.name for demand in wanted],
        "gateways": scripted(names, program, wanted),
        "servers": [] if given.no_real else real_servers(program, wanted, given.server),
    }
    peers.HOME.mkdir(parents=True, exist_ok=True)
    (peers.HOME / "promise.json").write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    print(table.scoreboard(report))
    if given.write:
        table.write(report, peers.ROOT / "docs" / "promise.md")
    return 1 if table.lost_by(report, OURS) else 0


if __name__ == "__main__":
    sys.exit(main())
