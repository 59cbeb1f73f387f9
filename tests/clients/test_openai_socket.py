"""The `openai` package's WebSocket of Responses through isogloss: before servers that have none, and one of the same wire."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from conftest import Stack, Stacks
from dialect_responses import ResponsesServer, call, message, thought
from helpers import IN_PARIS, PARIS, City, only, sdk
from model import Turn
from test_openai_responses import FLAT, FORMAT

ENDS = ("response.completed", "response.incomplete", "response.failed")


def turn(connection: Any, **body: Any) -> list[Any]:
    """What one request is answered with."""
    connection.response.create(**body)
    events = []
    for event in connection:
        events.append(event)
        # An error before anything was said is all there is.
        if event.type in ENDS or (event.type == "error" and len(events) == 1):
            return events
    raise AssertionError(f"the connection ended after {events}")


def whole(events: list[Any]) -> Any:
    assert events[-1].type == "response.completed", events[-1]
    return events[-1].response


@only("vllm-new", "plain")
def test_tools_are_called_and_answered_on_one_connection(stack: Stack) -> None:
    stack.server.reset(IN_PARIS, Turn(text="20 degrees."))
    options = {"model": stack.model, "store": False, "tools": FLAT}
    with sdk(stack).responses.connect() as connection:
        asked = whole(turn(connection, input="Weather?", tool_choice="required", **options))
        (made,) = asked.output
        assert json.loads(made.arguments) == {"city": "Paris", "unit": "celsius"}
        answer = {"type": "function_call_output", "call_id": made.call_id, "output": "20"}
        told = whole(turn(connection, input=[answer], previous_response_id=asked.id, **options))
        assert (told.output_text, told.previous_response_id) == ("20 degrees.", asked.id)
    messages = [each for each in stack.server.last["messages"] if each["role"] != "system"]
    assert [each["role"] for each in messages] == ["user", "assistant", stack.result_role]


@only("vllm-new", "plain")
def test_a_structure_is_held_to_its_schema(stack: Stack) -> None:
    with sdk(stack).responses.connect() as connection:
        stack.server.reset(Turn(values=PARIS))
        events = turn(connection, model=stack.model, input="Where?", text={"format": FORMAT})
        assert City(**json.loads(whole(events).output_text)) == City(**PARIS)
        # What the server was not told, and how the demand was met, stands where a reply's headers would.
        assert events[0].to_dict()["headers"]["x-isogloss-strategy"]
        stack.server.reset(Turn(values=PARIS))
        stack.server.fail("wrong", times=None)
        events = turn(connection, model=stack.model, input="Where?", text={"format": FORMAT})
        assert "response.completed" not in [event.type for event in events]
        said = json.dumps([event.to_dict() for event in events])
        assert "constraint_violated" in said and "breaks what the request asks for" in said
        stack.server.reset(Turn(values=PARIS))
        whole(turn(connection, model=stack.model, input="Where?", text={"format": FORMAT}))


@pytest.fixture(scope="module")
def running(stacks: Stacks) -> Iterator[Stack]:
    stack = stacks.start("openai", "--dialect", "openai", server=ResponsesServer())
    yield stack
    assert stack.stop() == 0, stack.tail()


def test_a_server_of_the_same_wire_gets_its_own_items_back(running: Stack) -> None:
    first = [thought(), message("I look it up."), call("get_weather", '{"city": "Paris", "unit": "celsius"}')]
    running.server.reset(first, [message("20 degrees.", 2)])
    options = {"model": running.server.model, "store": False, "tools": FLAT, "include": ["reasoning.encrypted_content"]}
    with sdk(running).responses.connect() as connection:
        asked = whole(turn(connection, input="Weather?", **options))
        answer = {"type": "function_call_output", "call_id": "call_1", "output": "20"}
        told = whole(turn(connection, input=[answer], previous_response_id=asked.id, **options))
    assert told.output_text == "20 degrees."
    sent = running.server.last
    assert "previous_response_id" not in sent
    assert [item["type"] for item in sent["input"]] == [
        "message", "reasoning", "message", "function_call", "function_call_output",
    ]  # fmt: skip
    assert sent["input"][1:4] == first
