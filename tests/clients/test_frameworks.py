"""Frameworks in the dialects that they speak, to a server that enforces in words of its own and to one that enforces nothing.

Some have an environment of their own (frameworks/requirements.txt), in which this file runs itself again.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conftest import ROOT
from model import Turn
from ways import City, Way, more_ways, ways

FRAMEWORKS = ROOT / ".venv" / "frameworks" / "bin" / "python"
IS_INNER = bool(os.environ.get("FRAMEWORKS_INNER"))
PARIS = {"city": "Paris", "country": '東京 "quoted" \\ \U0001f5fb', "population": 2100000}
ANSWER = "It is 21 degrees in Paris."

WAYS = more_ways() if IS_INNER else ways()

only = pytest.mark.parametrize("stack", ["vllm-new", "plain"], indirect=True)


def having(part: str) -> Any:
    found = [way for way in WAYS if getattr(way, part)]
    return pytest.mark.parametrize("way", found, ids=[way.name for way in found])


@only
@having("forced")
def test_a_structure_comes_by_a_tool(stack: Any, way: Way) -> None:
    stack.server.reset(Turn(values=PARIS, calls=(way.tool,)))
    assert way.forced(stack).model_dump() == PARIS
    assert len(stack.server.requests) == 1


@only
@having("native")
def test_a_structure_comes_by_its_schema(stack: Any, way: Way) -> None:
    stack.server.reset(Turn(values=PARIS))
    assert way.native(stack).model_dump() == PARIS
    assert len(stack.server.requests) == 1


@only
@having("streamed")
def test_a_structure_is_streamed(stack: Any, way: Way) -> None:
    stack.server.reset(Turn(values=PARIS, calls=(way.streamed_tool,) if way.streamed_tool else ()))
    assert way.streamed(stack).model_dump() == PARIS
    assert stack.server.last["stream"] is True


@only
@having("acts")
def test_a_tool_is_called_and_answered(stack: Any, way: Way) -> None:
    stack.server.reset(Turn(values={"city": "Paris"}, calls=("get_weather",)), Turn(text=ANSWER))
    assert way.acts(stack) == (["Paris"], ANSWER)
    assert any("21 degrees" in str(message["content"]) for message in stack.server.last["messages"])


BREAKS = [(way, part) for way in WAYS for part in ("forced", "native", "streamed") if getattr(way, part)]


@only
@pytest.mark.parametrize(("way", "part"), BREAKS, ids=[f"{way.name}-{part}" for way, part in BREAKS])
def test_what_breaks_the_schema_is_an_error(stack: Any, way: Way, part: str) -> None:
    """With what the proxy says of it, and not the framework's own mistake over a reply."""
    stack.server.reset(Turn(values=PARIS, calls=(way.tool,)))
    stack.server.fail("wrong", times=None)
    # Instructor reads a stream as far as the object goes, which is before the error.
    early = "|Field required" if part == "streamed" and "instructor" in way.name else ""
    with pytest.raises(Exception, match=f"breaks what the request asks for{early}"):
        getattr(way, part)(stack)


@only
@pytest.mark.skipif(not IS_INNER, reason="the other environment has the SDK that threads")
def test_a_tool_runner_that_threads_goes_on(stack: Any) -> None:
    """It sends what is new alone, and all of the conversation once it is told that nobody kept the rest."""
    import anthropic

    @anthropic.beta_tool
    def add(a: int, b: int) -> str:
        """Adds.

        Args:
            a: one
            b: the other
        """
        return str(a + b)

    stack.server.reset(Turn(values={"a": 19, "b": 23}, calls=("add",)), Turn(text=ANSWER))
    client = anthropic.Anthropic(base_url=stack.base_url.removesuffix("/v1"), api_key="k", max_retries=0)
    messages = [{"role": "user", "content": "What are 19 and 23?"}]
    runner = client.beta.messages.tool_runner(model=stack.model, max_tokens=300, tools=[add], messages=messages)
    assert runner.until_done().content[0].text == ANSWER
    said = [str(message["content"]) for message in stack.server.last["messages"]]
    assert any("19 and 23" in text for text in said) and any("42" in text for text in said)


# --- the model in the program ---


FEW = ("pydantic-ai-google", "openai-agents-responses", "pydantic-ai-anthropic", "instructor-chat", "langchain-anthropic")


@pytest.mark.parametrize("way", [way for way in WAYS if way.name in FEW], ids=lambda way: way.name)
def test_the_model_in_the_program_gives_a_structure(builtin: SimpleNamespace, way: Way) -> None:
    """Which city it says is another matter."""
    assert isinstance(way.native(builtin) if way.native else way.forced(builtin), City)


@pytest.mark.skipif(IS_INNER, reason="it runs the others")
def test_those_of_the_other_environment_pass(binary: Any) -> None:
    if not FRAMEWORKS.exists():
        pytest.skip("tests/clients/run installs them")
    command = [FRAMEWORKS, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    environment = {**os.environ, "FRAMEWORKS_INNER": "1", "ISOGLOSS_BIN": str(binary)}
    done = subprocess.run(command, env=environment, text=True, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
