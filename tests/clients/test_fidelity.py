"""The recorded servers' own requests, sent to the scripted ones: same status, same shape of reply.

The recordings are in the folder that `ISOGLOSS_CAPTURES` names (default `../shared/captures`, from
the repository's root); without it these tests are skipped.
"""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path
from typing import Any

import httpx
import pytest

from conftest import ROOT
from model import PROSE, Turn
from servers import SERVERS

CAPTURES = Path(os.environ.get("ISOGLOSS_CAPTURES", ROOT.parent / "shared" / "captures")) / "servers"
FOLDERS = {
    "vllm-new": "vllm-0.32.0-bare",
    "vllm-new-parser": "vllm-0.32.0",
    "vllm-old": "vllm-0.10.2",
    "sglang": "sglang-0.5.23",
    "llama-cpp": "llamacpp-0c1e57098",
    "plain": "transformers-serve-5.23.0",
}
FAMILIES = ("rf", "so", "old", "tool", "toolx", "mix", "chat", "dial", "err")
# Where the scripted servers differ from the recorded ones on purpose.
UNLIKE = {
    "chat-image": "the recorded model reads text only; the scripted ones take images",
    "chat-toolhistory-objargs": "nobody sends arguments that are objects",
    "chat-toolhistory-badargs": "the scripted servers do not parse the history",
    "err-context": "the scripted models have no context limit",
    "err-context-stream": "the scripted models have no context limit",
}
UNLIKE_AT = {
    "vllm-old": {"old-structural_tag-top", "tool-empty-auto"},
    "sglang": {"chat-maxtokens-0", "chat-null-fields", "err-bad-role", "rf-string"},
    "plain": {
        "chat-maxtokens-0",
        "chat-maxtokens-neg",
        "err-empty-messages",
        "err-temp",
        # The recorded model wrote calls that its server's parser could not read.
        "tool-auto-bad",
        "toolx-auto-bad-nonstrict",
        "toolx-auto-bad-strict",
        "toolx-named-random-nonstrict",
        "toolx-named-random-strict",
        "toolx-required-random-nonstrict",
        "toolx-required-random-strict",
    },
}
SHAPES = (
    "chat-plain",
    "chat-plain-stream",
    "chat-plain-stream-nousage",
    "chat-logprobs",
    "chat-logprobs-stream",
    "chat-n2",
    "chat-n2-stream",
    "rf-schema-strict",
    "rf-schema-strict-stream",
    "rf-json_object",
    "tool-auto-1",
    "tool-auto-1-stream",
    "tool-named-1",
    "tool-named-1-stream",
    "tool-required-1",
    "tool-required-1-stream",
    "tool-none-hello-1",
    "err-unknown-model",
    "id_version",
    "id_v1_models",
    "id_server_info",
    "id_props",
    "id_root",
    "id_health",
)
CLIENT = httpx.Client(timeout=10)
WEATHER = Turn(values={"city": "Paris", "temperature": 21, "unit": "celsius"}, calls=("get_weather",))


@functools.cache
def recordings(folder: str) -> list[tuple[str, dict, int, str]]:
    """The cases of one server: name, request, status, body."""
    out = []
    for path in sorted((CAPTURES / folder).glob("*.request.json")):
        answer = path.with_name(path.name.replace(".request.json", ".response.txt"))
        reply = answer.read_text(errors="replace") if answer.is_file() else ""
        if not reply.startswith("HTTP/"):
            continue  # The server died or hung: there is no reply to compare with.
        head, _, body = reply.replace("\r\n", "\n").partition("\n\n")
        out.append(
            (
                path.name.removesuffix(".request.json"),
                json.loads(path.read_text()),
                int(head.split()[1]),
                body,
            )
        )
    return out


@pytest.fixture(params=list(FOLDERS))
def recorded(request):
    if not (CAPTURES / FOLDERS[request.param]).is_dir():
        pytest.skip(f"no recordings at {CAPTURES}: set ISOGLOSS_CAPTURES")
    server = SERVERS[request.param]()
    yield server, request.param, recordings(FOLDERS[request.param])
    server.close()


def ask(server: Any, request: dict) -> httpx.Response:
    """The recorded request, to a model that wants what the recorded model wanted."""
    body = request.get("body")
    greets = "hello" in json.dumps(body.get("messages") if isinstance(body, dict) else body).lower()
    server.reset(Turn(values=WEATHER.values) if greets else WEATHER)
    url = server.url + request.get("path", "/")
    return CLIENT.request(request.get("method", "POST"), url, json=body)


def test_statuses_are_those_of_the_recorded_server(recorded):
    server, name, cases = recorded
    unlike, asked = [], 0
    for case, request, status, _ in cases:
        family = case.partition("-")[0]
        if family not in FAMILIES or request.get("path") != "/v1/chat/completions":
            continue
        if case in UNLIKE or case in UNLIKE_AT.get(name, ()) or not isinstance(request.get("body"), dict):
            continue
        asked += 1
        got = ask(server, request)
        if got.status_code != status:
            unlike.append(f"{case}: recorded {status}, scripted {got.status_code} {got.text[:120]}")
    assert asked > 100 and not unlike, "\n".join(unlike)


def test_a_constraint_is_honoured_or_ignored_as_recorded(recorded):
    """Prose where the recorded model chatted although it was asked for a form, and only there."""
    server, _, cases = recorded
    unlike, asked = [], 0
    for case, request, status, body in cases:
        family = case.partition("-")[0]
        if family not in ("rf", "so", "old", "dial") or status != 200 or "stag" in case or "think" in case:
            continue
        if request.get("path") != "/v1/chat/completions" or body.startswith("data:"):
            continue
        messages = request["body"]["messages"]
        if "hello" not in json.dumps(messages).lower():
            continue
        asked += 1
        said = json.loads(body)["choices"][0]["message"]["content"]
        got = ask(server, request).json()["choices"][0]["message"]["content"]
        if (said == PROSE) != (got == PROSE):
            unlike.append(f"{case}: recorded {said[:40]!r}, scripted {got[:40]!r}")
    assert not unlike, "\n".join(unlike)


@pytest.mark.parametrize("case", SHAPES)
def test_replies_have_the_recorded_fields(recorded, case):
    server, name, cases = recorded
    found = [(request, status, body) for named, request, status, body in cases if named == case]
    if not found:
        return  # Not recorded for this server.
    request, status, body = found[0]
    got = ask(server, request)
    assert got.status_code == status
    if not body.strip() or not (body.lstrip()[0] in "{[" or body.startswith("data:")):
        assert got.text.strip().strip('"') == body.strip().strip('"')
        return
    allowed_missing = case in ("id_props", "id_server_info", "id_v1_models")
    if name == "llama-cpp" and case.startswith("tool-named"):
        # A named tool is `auto` there: the recorded model called, the scripted one chats.
        assert "tool_calls" not in got.text
        return
    # Choices end in any order, and the recorded model rambled on to its limit where the scripted one
    # ends: then only the fields of the whole are compared.
    pairs = zip(shapes(got.text), shapes(body), strict=True)
    cut_short = '"finish_reason":"length"' in body and '"finish_reason":"length"' not in got.text
    if case == "chat-n2-stream" or cut_short:
        pairs = [(set().union(*shapes(got.text)), set().union(*shapes(body)))]
    for scripted, original in pairs:
        assert scripted <= original, f"made up: {sorted(scripted - original)}"
        assert allowed_missing or original <= scripted, f"left out: {sorted(original - scripted)}"


def shapes(text: str) -> list[set[str]]:
    """The paths of a body; of a stream, those of its first, middle and last chunks, and whether it is done."""
    if not text.startswith("data:"):
        return [paths(json.loads(text))]
    events = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    chunks = [json.loads(event) for event in events if event != "[DONE]"]
    middle: set[str] = set().union(*(paths(chunk) for chunk in chunks[1:-2])) if len(chunks) > 3 else set()
    ends = [paths(chunk) for chunk in chunks[-2:]]
    return [paths(chunks[0]), middle, *ends, {"done"} if "[DONE]" in events else set()]


def paths(value: Any, at: str = "") -> set[str]:
    """Every key of a value, as dotted paths; lists count as their items."""
    if isinstance(value, dict):
        inner = (paths(item, f"{at}.{key}") for key, item in value.items() if key not in ("timings", "param"))
        return set().union(*inner) | ({at} if at else set())
    if isinstance(value, list):
        return set().union({at}, *(paths(item, f"{at}[]") for item in value))
    return {at}
