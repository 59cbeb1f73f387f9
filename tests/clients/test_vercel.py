"""The Vercel AI SDK over Chat and Responses (frameworks/vercel.mjs): objects, streams, forced tools, a tool's result, errors."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import pytest

from conftest import ROOT
from helpers import only
from model import Turn

FOLDER = ROOT / "tests" / "clients" / "frameworks"
PARIS = {"city": "Paris", "country": '東京 "quoted" \\ \U0001f5fb', "population": 2100000}
ANSWER = "It is 21 degrees in Paris."
wires = pytest.mark.parametrize("wire", ["compatible", "chat", "responses"])


def ask(stack: Any, wire: str, way: str) -> dict[str, Any]:
    node = shutil.which("node")
    if not node or not (FOLDER / "node_modules" / "@ai-sdk" / "openai").is_dir():
        pytest.skip("node, or what tests/clients/run installs for it, is not there")
    command = [node, FOLDER / "vercel.mjs", wire, way, stack.base_url, stack.model]
    done = subprocess.run(command, text=True, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@only("vllm-new", "plain")
@wires
@pytest.mark.parametrize("way", ["object", "stream"])
def test_an_object_comes(stack: Any, wire: str, way: str) -> None:
    stack.server.reset(Turn(values=PARIS))
    assert ask(stack, wire, way) == {"came": PARIS}
    assert len(stack.server.requests) == 1


@only("vllm-new", "plain")
@wires
def test_a_forced_tool_is_called(stack: Any, wire: str) -> None:
    stack.server.reset(Turn(values=PARIS, calls=("record",)))
    assert ask(stack, wire, "forced") == {"came": PARIS}


@only("vllm-new", "plain")
@wires
def test_a_tool_is_called_and_answered(stack: Any, wire: str) -> None:
    stack.server.reset(Turn(values={"city": "Paris"}, calls=("get_weather",)), Turn(text=ANSWER))
    assert ask(stack, wire, "acts") == {"came": [["Paris"], ANSWER]}
    assert any("21 degrees" in str(message["content"]) for message in stack.server.last["messages"])


@only("vllm-new", "plain")
@wires
def test_a_conversation_goes_on(stack: Any, wire: str) -> None:
    stack.server.reset(Turn(text="In Paris."), Turn(text="In London."))
    assert ask(stack, wire, "again") == {"came": ["In Paris.", "In London."]}
    said = [(message["role"], message["content"]) for message in stack.server.last["messages"]]
    assert said == [("user", "Where is the Eiffel tower?"), ("assistant", "In Paris."), ("user", "And Big Ben?")]


@only("vllm-new")
@wires
@pytest.mark.parametrize("way", ["object", "stream", "forced"])
def test_what_breaks_the_schema_is_an_error(stack: Any, wire: str, way: str) -> None:
    stack.server.reset(Turn(values=PARIS, calls=("record",)))
    stack.server.fail("wrong", times=None)
    said = ask(stack, wire, way)
    assert "came" not in said
    assert "breaks what the request asks for" in said["error"]
    if way != "stream":  # An error in a stream has no status, or one that the SDK makes up.
        assert said["status"] == 502


@wires
@pytest.mark.parametrize("way", ["object", "stream", "forced"])
def test_the_model_in_the_program_gives_an_object(builtin: Any, wire: str, way: str) -> None:
    """Which city it says is another matter."""
    came = ask(builtin, wire, way)["came"]
    assert {name: type(value) for name, value in came.items()} == {"city": str, "country": str, "population": int}
