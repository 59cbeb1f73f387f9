"""Asks a running endpoint what training never saw, and prints how much of it is right.

    isogloss serve --model models/builtin/isogloss-builtin.gguf &
    python evaluate.py --url http://127.0.0.1:8080 --model isogloss-builtin

With `--serve BINARY --gguf FILE` it starts the endpoint itself and measures how soon it is ready. With
`--written` it asks what people wrote instead of what the generator composes.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import written
from data import heldout
from data.chat import Chats, Sample

EXTRACT = ["extract_tool", "extract_json", "classify"]
CALLS = ["auto_call", "required_call", "auto_text", "final_after_result", "after_result"]


@dataclass
class Split:
    """Samples of one sort."""

    title: str
    kinds: list[str]
    chats: dict[str, Any] = field(default_factory=dict)
    goal: float | None = None


SPLITS = [
    Split("extraction, unseen fillings", EXTRACT[:2], {"held_words": True}, 90),
    Split("extraction, unseen sentence patterns", EXTRACT[:2], {"held_words": True, "held_patterns": True}, 75),
    Split(
        "extraction, unseen schemas, shown (tool)", EXTRACT[:1], {"held_words": True, "domains": heldout.DOMAINS}, 60
    ),
    Split(
        "extraction, unseen schemas, not shown (response_format)",
        EXTRACT[1:2],
        {"held_words": True, "domains": heldout.DOMAINS},
        60,
    ),
    Split("classification, unseen fillings", EXTRACT[2:], {"held_words": True}),
    Split("classification, unseen sentences", EXTRACT[2:], {"held_words": True, "held_patterns": True}),
    Split("tools, unseen fillings", CALLS, {"held_words": True}, 95),
    Split("tools, unseen requests", CALLS, {"held_words": True, "held_patterns": True}, 95),
    Split("tools, unseen tools", CALLS[:2], {"held_words": True, "tools": heldout.TOOLS}, 95),
]


@dataclass
class Score:
    """What came out of one split."""

    asked: int = 0
    exact: int = 0
    choices: int = 0
    chosen: int = 0
    valid: int = 0
    refused: int = 0
    by_kind: dict[str, list[int]] = field(default_factory=lambda: collections.defaultdict(lambda: [0, 0]))


class Endpoint:
    """An OpenAI-compatible endpoint."""

    def __init__(self, url: str, model: str) -> None:
        self.url, self.model = url.rstrip("/"), model

    def ask(self, sample: Sample | written.Item) -> dict[str, Any]:
        """The first choice's message, or the error."""
        messages = [wire(message) for message in sample.messages]
        body = {"model": self.model, "messages": messages, "temperature": 0, "max_tokens": 400, **sample.request}
        request = urllib.request.Request(
            self.url + "/v1/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["choices"][0]["message"]
        except urllib.error.HTTPError as error:
            return {"error": error.read().decode()[:300]}


def wire(message: dict[str, Any]) -> dict[str, Any]:
    """A message as clients send it: arguments are a text."""
    if "tool_calls" not in message:
        return message
    calls = []
    for call in message["tool_calls"]:
        arguments = json.dumps(call["function"]["arguments"], ensure_ascii=False)
        calls.append({**call, "function": {**call["function"], "arguments": arguments}})
    return {**message, "tool_calls": calls}


def given(sample: Sample, message: dict[str, Any]) -> Any:
    """The answer, in the shape of what is expected."""
    calls = [call["function"] for call in message.get("tool_calls") or []]
    if calls:
        arguments = json.loads(calls[0]["arguments"])
        if sample.kind in ("extract_tool", "classify_tool"):
            return arguments
        return {"name": calls[0]["name"], "arguments": arguments}
    text = message.get("content") or ""
    is_json = sample.kind in ("extract_json", "classify_json", "union_answer")
    return json.loads(text) if is_json else text


def count(score: Score, sample: Sample, message: dict[str, Any]) -> Any:
    """Counts one answer, and returns it."""
    score.asked += 1
    kind = score.by_kind[sample.kind]
    kind[1] += 1
    if "error" in message:
        score.refused += 1
        return message
    try:
        answer = given(sample, message)
    except ValueError:
        return message
    score.valid += 1
    score.exact += answer == sample.expected
    kind[0] += answer == sample.expected
    if sample.kind.endswith(("_call", "auto_text", "after_result")):
        score.choices += 1
        wanted = sample.expected["name"] if isinstance(sample.expected, dict) else None
        score.chosen += wanted == (answer["name"] if isinstance(answer, dict) else None)
    return answer


def evaluate(endpoint: Endpoint, split: Split, size: int, seed: int, show: int) -> Score:
    """Asks the samples of a split."""
    chats, score = Chats(seed, **split.chats), Score()
    samples = [chats.draw(split.kinds[i % len(split.kinds)]) for i in range(size)]
    with ThreadPoolExecutor(4) as pool:
        messages = list(pool.map(endpoint.ask, samples))
    for sample, message in zip(samples, messages):
        answer = count(score, sample, message)
        if answer != sample.expected and show > 0:
            show -= 1
            print(
                f"  [{sample.kind}] {sample.messages[-1]['content']!r}\n    right {sample.expected}\n    given {answer}"
            )
    return score


def report_written(endpoint: Endpoint, options: argparse.Namespace) -> None:
    """Prints the table of what people wrote."""
    items = written.items()
    with ThreadPoolExecutor(4) as pool:
        messages = pool.map(endpoint.ask, items)
        print(written.table(written.judged(zip(items, messages), options.show)))


def speed(endpoint: Endpoint) -> float:
    """Tokens a second of one answer at a time, without the constraint forcing any."""
    body = {
        "model": endpoint.model,
        "messages": [{"role": "user", "content": "Hello"}],
        "max_tokens": 400,
        "temperature": 0.7,
        "seed": 1,
        "ignore_eos": True,
    }
    best = 0.0
    for _ in range(3):
        request = urllib.request.Request(
            endpoint.url + "/v1/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
        )
        began = time.monotonic()
        with urllib.request.urlopen(request, timeout=120) as answer:
            made = json.load(answer)["usage"]["completion_tokens"]
        best = max(best, made / (time.monotonic() - began))
    return best


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextmanager
def served(binary: str, gguf: str | None, upstream: str | None = None) -> Iterator[tuple[str, float]]:
    """An endpoint, with a model of its own or before a server: its address, and the seconds until it was ready."""
    port, admin = free_port(), free_port()
    command = [binary, "serve", "--listen", f"127.0.0.1:{port}", "--admin", f"127.0.0.1:{admin}"]
    if upstream:
        command += ["--upstream", upstream]
    if gguf:
        command += ["--model", gguf, "--model-name", "isogloss-builtin"]
    began = time.monotonic()
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ})
        try:
            while True:
                if process.poll() is not None or time.monotonic() - began > 60:
                    log.seek(0)
                    raise SystemExit(f"the endpoint does not start:\n{log.read().decode()}")
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{admin}/readyz", timeout=5).close()
                    break
                except (urllib.error.URLError, ConnectionError):
                    time.sleep(0.01)
            yield f"http://127.0.0.1:{port}", time.monotonic() - began
        finally:
            process.terminate()
            process.wait(30)


def percent(part: int, whole: int) -> str:
    """A share, or nothing of nothing."""
    return f"{100 * part / whole:.1f} %" if whole else ""


def report(endpoint: Endpoint, options: argparse.Namespace) -> None:
    """Prints the table."""
    rows, valid, asked, refused = [], 0, 0, 0
    details: list[str] = []
    for split in SPLITS:
        score = evaluate(endpoint, split, options.size, options.seed, options.show)
        asked, valid, refused = asked + score.asked, valid + score.valid, refused + score.refused
        goal = f"{split.goal} %" if split.goal else ""
        if split.title.startswith("tools"):
            rows.append((f"tool choice, {split.title[7:]}", percent(score.chosen, score.choices), goal, score.choices))
            rows.append((f"whole answers, {split.title}", percent(score.exact, score.asked), "", score.asked))
        else:
            rows.append((split.title, percent(score.exact, score.asked), goal, score.asked))
        details.append(
            split.title + ": " + ", ".join(f"{kind} {right}/{all}" for kind, (right, all) in score.by_kind.items())
        )
    print("| What | Right | Goal | Asked |\n| --- | ---: | ---: | ---: |")
    for title, right, goal, number in rows:
        print(f"| {title} | {right} | {goal} | {number} |")
    print(f"| answers that are valid | {percent(valid, asked)} | 100 % | {asked} |")
    print("\n" + "\n".join(details))
    if refused:
        print(f"{refused} requests were refused")
    print(f"tokens per second, one answer at a time: {speed(endpoint):.0f}")


def main() -> None:
    """Reads the arguments and reports."""
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--url", default="http://127.0.0.1:8080")
    args.add_argument("--model", default="isogloss-builtin")
    args.add_argument("--serve", metavar="BINARY")
    args.add_argument("--gguf", help="with --serve: the model; without it, the binary's own")
    args.add_argument("--size", type=int, default=200, help="samples of each split")
    args.add_argument("--seed", type=int, default=90_001)
    args.add_argument("--show", type=int, default=0, help="wrong answers of each split to print")
    args.add_argument("--written", action="store_true", help="ask what people wrote")
    options = args.parse_args()
    tell = report_written if options.written else report
    if not options.serve:
        tell(Endpoint(options.url, options.model), options)
        return
    with served(options.serve, options.gguf) as (url, ready):
        tell(Endpoint(url, "isogloss-builtin"), options)
        print(f"ready after {ready:.2f} s")


if __name__ == "__main__":
    main()
