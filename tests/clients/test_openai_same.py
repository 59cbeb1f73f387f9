"""The `openai` package's Responses before a server that speaks them itself: what nobody demands anything of goes
through byte by byte, what is demanded is verified, and what only this server knows comes back as it went.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest

from conftest import Stack, Stacks
from dialect_responses import ResponsesServer, call, message, search, thought
from helpers import PARIS, City
from test_openai_responses import FLAT

IN_PARIS = '{"city": "Paris", "unit": "celsius"}'
HELLO = "Héllo, 世界."


@pytest.fixture(scope="module")
def running(stacks: Stacks) -> Iterator[Stack]:
    stack = stacks.start("openai", "--dialect", "openai", server=ResponsesServer())
    yield stack
    assert stack.stop() == 0, stack.tail()


@pytest.fixture
def same(running: Stack) -> Stack:
    running.server.reset()
    return running


def client(stack: Stack) -> tuple[openai.OpenAI, list[bytes]]:
    """The SDK, and what it sends."""
    sent: list[bytes] = []
    http = httpx.Client(event_hooks={"request": [lambda request: sent.append(request.read())]})
    return openai.OpenAI(base_url=stack.base_url, api_key="test-key", max_retries=0, timeout=30, http_client=http), sent


def test_what_demands_nothing_goes_through_byte_by_byte(same: Stack) -> None:
    same.server.reset([thought(), search(), message(HELLO)])
    sdk, sent = client(same)
    raw = sdk.responses.with_raw_response.create(
        model=same.model, input="Hi", tools=[{"type": "web_search"}], include=["reasoning.encrypted_content"], store=False
    )
    assert [request.raw for request in same.server.requests] == sent
    assert same.server.requests[0].headers["authorization"] == "Bearer test-key"
    assert raw.content == same.server.said[0]
    reply = raw.parse()
    assert reply.output_text == HELLO
    assert [item.type for item in reply.output] == ["reasoning", "web_search_call", "message"]


def test_a_stream_has_the_servers_items_in_their_order(same: Stack) -> None:
    items = [thought(), search(), message(HELLO), call("get_weather", IN_PARIS)]
    same.server.reset(items)
    sdk, sent = client(same)
    with sdk.responses.stream(model=same.model, input="Hi", tools=FLAT) as stream:
        events = list(stream)
        reply = stream.get_final_response()
    assert [json.loads(request.raw) for request in same.server.requests] == [json.loads(body) for body in sent]
    assert [item.id for item in reply.output] == [item["id"] for item in items]
    added = [event.item.id for event in events if event.type == "response.output_item.added"]
    assert added == [item["id"] for item in items]
    assert reply.output[0].encrypted_content == items[0]["encrypted_content"]
    assert reply.output[2].content[0].annotations[0].url == "https://example.org/"
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == HELLO
    assert reply.output[3].parsed_arguments == json.loads(IN_PARIS)
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert (reply.id, reply.usage.total_tokens, reply.service_tier) == ("resp_1", 16, "flex")


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
def test_a_structure_is_parsed_and_held_to_its_schema(same: Stack, streams: bool) -> None:
    sdk, _ = client(same)

    def parsed(text: str) -> Any:
        # Asked twice, it says it twice.
        same.server.reset([thought(), message(text)], [thought(), message(text)])
        if not streams:
            return sdk.responses.parse(model=same.model, input="Where?", text_format=City).output_parsed
        with sdk.responses.stream(model=same.model, input="Where?", text_format=City) as stream:
            return stream.get_final_response().output_parsed

    assert parsed(json.dumps(PARIS)) == City(**PARIS)
    assert same.server.last["text"]["format"]["strict"] is True
    with pytest.raises(openai.APIError, match="breaks what the request asks for"):
        parsed(json.dumps({**PARIS, "population": "many"}))


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
def test_a_loop_of_tools_gives_everything_back_as_it_came(same: Stack, streams: bool) -> None:
    first = [thought(1), message("I look it up."), call("get_weather", IN_PARIS, 1), call("get_weather", IN_PARIS, 2)]
    second = [thought(2), call("add_numbers", '{"a": 2, "b": 40}', 3)]
    same.server.reset(first, second, [message(HELLO, 2)])
    sdk, sent = client(same)
    asked: list[Any] = [{"role": "user", "content": "Weather?"}]
    options = {"model": same.model, "tools": FLAT, "store": False, "include": ["reasoning.encrypted_content"]}
    for choice in ("required", "auto", "auto"):
        if streams:
            with sdk.responses.stream(input=asked, tool_choice=choice, **options) as stream:
                reply = stream.get_final_response()
        else:
            reply = sdk.responses.create(input=asked, tool_choice=choice, **options)
        asked += [item.to_dict() for item in reply.output]
        calls = [item for item in reply.output if item.type == "function_call"]
        asked += [{"type": "function_call_output", "call_id": made.call_id, "output": "20"} for made in calls]
    assert reply.output_text == HELLO
    # The server's own words came back to it, in their order, and nobody changed what was sent.
    assert [request.raw for request in same.server.requests] == sent
    came_back = [item for item in same.server.last["input"] if item.get("id")]
    assert [item["id"] for item in came_back] == [item["id"] for item in first + second]
    for item, said in zip(came_back, first + second, strict=True):
        for name in ("type", "encrypted_content", "summary", "arguments", "call_id", "name"):
            assert item.get(name) == said.get(name)


def test_a_forced_call_that_is_not_made_is_an_error(same: Stack) -> None:
    same.server.reset([message("No.")], [message("No.")])
    sdk, _ = client(same)
    with pytest.raises(openai.APIStatusError, match="breaks what the request asks for") as caught:
        sdk.responses.create(model=same.model, input="Weather?", tools=FLAT, tool_choice="required")
    assert (caught.value.status_code, caught.value.code) == (502, "constraint_violated")
