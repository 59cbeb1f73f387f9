"""Runs the suites, and holds what they find against the list of exceptions.

`exceptions.json` has for each stand and suite the checks that fail, each with its reason. `--write` adds those that
fail now as "not yet" and drops those that pass: read the difference before you commit it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from honest import Honest

HERE = Path(__file__).resolve().parent
BIN = os.environ["ISOGLOSS_BIN"]
SCRIPTS = Path(sys.executable).parent
NODE = HERE / "node_modules" / ".bin"
LIST = HERE / "exceptions.json"
PATIENCE = 240  # Seconds, for one suite.

# A check's name, and what is wrong with it; `None` where it passes.
Results = dict[str, str | None]


class Missing(Exception):
    """A suite that cannot be had here."""


@dataclass(frozen=True)
class Stand:
    """A running proxy, and the model that it is asked for."""

    name: str
    url: str
    model: str


def output(*command: str | Path, env: dict[str, str] | None = None, cwd: Path | None = None) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "NO_COLOR": "1", **(env or {})},
        cwd=cwd,
        check=False,
    )
    if not done.stdout.strip():
        raise Missing(f"it says nothing: {done.stderr.strip()[-300:]}")
    return done.stdout


def comply(form: str, base: str) -> Callable[[Stand], Results]:
    def run(stand: Stand) -> Results:
        said = output(
            SCRIPTS / "llm-comply", "--json", "--format", form,
            "-u", stand.url + base, "-k", "unused", "-m", stand.model,
        )  # fmt: skip
        tests = json.loads(said[said.index("{") :])["results"]
        out: Results = {}
        for test in tests:
            if test["status"] == "skipped":  # It does not apply to a model of this name.
                continue
            why = "; ".join(map(str, test.get("errors") or [test.get("error") or "it fails"]))
            out[test["id"]] = None if test["status"] == "passed" else why
        return out

    return run


def canitoolcall(stand: Stand) -> Results:
    said = output(
        SCRIPTS / "canitoolcall", "probe", "--base-url", stand.url + "/v1", "--model", stand.model, "--json", "-"
    )
    out: Results = {}
    for row in json.loads(said)["outcomes"]:
        name = f"{row['scenario_id']} {row['check']}{' streamed' if row['stream'] else ''}"
        out[name] = None if row["status"] == "pass" else str(row["detail"])
    return out


def compatcanary(profile: str) -> Callable[[Stand], Results]:
    def run(stand: Stand) -> Results:
        if not (NODE / "compatcanary").exists():
            raise Missing("npm, or the package, is not there")
        said = output(
            NODE / "compatcanary", "scan", "--base-url", stand.url + "/v1", "--model", stand.model,
            "--profile", profile, "--format", "json", "--fail-on", "never", env={"OPENAI_API_KEY": "unused"},
        )  # fmt: skip
        checks = json.loads(said)["results"]
        return {check["id"]: None if check["status"] == "pass" else check["summary"] for check in checks}

    return run


def openresponses(stand: Stand) -> Results:
    """The official suite, of a checkout: it is in no registry."""
    folder = os.environ.get("OPENRESPONSES")
    if not folder:
        raise Missing("OPENRESPONSES names no checkout of openresponses/openresponses")
    runner = ["bun"] if subprocess.run(["which", "bun"], capture_output=True).returncode == 0 else ["npx", "tsx"]
    said = output(
        *runner, "bin/compliance-test.ts", "--base-url", stand.url + "/v1", "--api-key", "unused",
        "--model", stand.model, "--json", cwd=Path(folder),
    )  # fmt: skip
    tests = json.loads(said[said.index("{") :])["results"]
    return {test["id"]: None if test["status"] == "passed" else str(test.get("errors")) for test in tests}


SUITES: dict[str, Callable[[Stand], Results]] = {
    "llm-comply openai-chat": comply("openai-chat", "/v1"),
    "llm-comply open-responses": comply("open-responses", "/v1"),
    "llm-comply anthropic": comply("anthropic", ""),
    "llm-comply google-genai": comply("google-genai", ""),
    "open responses": openresponses,
    "canitoolcall": canitoolcall,
    "compatcanary modern": compatcanary("modern"),
    "compatcanary chat": compatcanary("chat"),
}


@contextmanager
def proxy(name: str, model: str, *flags: str) -> Iterator[Stand | None]:
    """The binary; nothing where it does not start."""
    command = [BIN, "serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", *flags]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        hello = child.stdout.readline()
        address = hello.split("http://")[1].split(",")[0].strip() if "http://" in hello else ""
        yield Stand(name, f"http://{address}", model) if address else None
    finally:
        child.kill()
        child.wait()


@contextmanager
def honest() -> Iterator[Stand | None]:
    server = Honest()
    try:
        with proxy("honest", server.model, "--upstream", server.url) as stand:
            yield stand
    finally:
        server.close()


@contextmanager
def builtin() -> Iterator[Stand | None]:
    with proxy("built-in", "isogloss-builtin") as stand:
        yield stand


def judge(stand: Stand, known: dict, is_written: bool) -> Iterator[tuple[str, int, int, list[str], str]]:
    """Of each suite its name, how much passed and applied, what is wrong, and why it was skipped."""
    for suite, run in SUITES.items():
        if not suite.startswith(os.environ.get("CONFORMANCE_ONLY", "")):
            continue
        try:
            results = run(stand)
        except (Missing, subprocess.TimeoutExpired, OSError) as missing:
            yield suite, 0, 0, [], str(missing)
            continue
        listed = known.setdefault(stand.name, {}).setdefault(suite, {})
        failed = {name: why for name, why in results.items() if why is not None}
        if is_written:
            for name in set(listed) - set(failed):
                del listed[name]
            for name, why in failed.items():
                listed.setdefault(name, f"not yet: {why[:200]}")
        wrong = [f"{name}: {why}" for name, why in failed.items() if name not in listed]
        wrong += [f"{name} passes, and is listed: take it out" for name in listed if name not in failed]
        yield suite, len(results) - len(failed), len(results), wrong, ""


def main() -> int:
    is_written = "--write" in sys.argv
    known = json.loads(LIST.read_text())
    passed = failed = skipped = 0
    print(f"{'stand':10} {'suite':28} {'passed':>8}  exceptions")
    for make in (honest, builtin):
        with make() as stand:
            if stand is None:
                print(f"skipped: {make.__name__}: the binary has no worker, or does not start")
                skipped += 1
                continue
            # A model of which nobody has written down what it cannot do is shown, and not judged.
            is_judged = is_written or stand.name in known
            for suite, good, all_, wrong, why in judge(stand, known, is_written):
                if why:
                    print(f"skipped: {stand.name} {suite}: {why}")
                    skipped += 1
                    continue
                listed = known[stand.name][suite]
                print(f"{stand.name:10} {suite:28} {good:4}/{all_:<4} {len(listed)}")
                for name, reason in listed.items():
                    print(f"{'':10}   except {name}: {reason}")
                for line in wrong:
                    print(f"{'':10}   WRONG {line}")
                if not is_judged:
                    print(f"skipped: {stand.name} {suite} is not judged: it is not in exceptions.json")
                    skipped += 1
                    continue
                passed += good
                failed += len(wrong)
    if is_written:
        LIST.write_text(json.dumps(known, indent=2, ensure_ascii=False) + "\n")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
