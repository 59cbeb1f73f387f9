"""What is sent on the wires of Anthropic, Gemini and Cohere is what their own Python packages know, and so are
the replies that the scripted servers give: where both sides were written from the same documents, the
packages are a third opinion."""

from __future__ import annotations

import json
from collections.abc import Iterator

import openai
import pytest
from pydantic import ValidationError

from foreign import FOREIGN, in_front
from helpers import CITY_SCHEMA, NAMED, PARIS, TOOLS, USER, json_schema, sdk
from sdk_types import SDKS, Unknown, is_known
from wire import Stream

WEATHER = {"city": "Paris", "unit": "celsius"}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
DEMANDS = {
    "text": {"temperature": 0.5, "max_tokens": 40, "top_p": 0.9, "stop": ["END"], "seed": 7},
    "penalties": {"frequency_penalty": 0.5, "presence_penalty": 0.5},
    "required": {"tools": TOOLS, "tool_choice": "required"},
    "one call": {"tools": TOOLS, "tool_choice": "required", "parallel_tool_calls": False},
    "named": {"tools": TOOLS, "tool_choice": NAMED},
    "auto": {"tools": TOOLS},
    "none": {"tools": TOOLS, "tool_choice": "none"},
    "strict tools": {
        "tools": [{"type": "function", "function": {"name": "f", "strict": True, "parameters": CITY_SCHEMA}}],
    },
    "schema": {"response_format": json_schema(CITY_SCHEMA)},
    "object": {"response_format": {"type": "json_object"}},
    "schema and tools": {"response_format": json_schema(CITY_SCHEMA), "tools": TOOLS},
    "image": {"messages": [{"role": "user", "content": [{"type": "text", "text": "What is this?"}, IMAGE]}]},
    "effort": {"reasoning_effort": "low"},
}


@pytest.fixture(scope="module", params=list(SDKS))
def running(request: pytest.FixtureRequest, stacks) -> Iterator:
    yield from in_front(stacks, request.param)


@pytest.fixture
def foreign(running) -> Iterator:
    running.server.reset(**PARIS | WEATHER)
    yield running
    kind = SDKS[running.name]
    assert running.server.requests
    for sent in running.server.requests:
        kind.request(sent.body)
    for reply in running.server.replies:
        if isinstance(reply, Stream):
            for event in reply.events:
                kind.event(json.loads(event))
        elif reply.status == 200:
            kind.reply(json.loads(reply.body))


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("demand", list(DEMANDS))
def test_what_is_sent_is_known(foreign, demand, streamed):
    foreign.server.thinks = "Let me see."
    with sdk(foreign) as client:
        fields = {"model": foreign.model, "messages": USER, "stream": streamed} | DEMANDS[demand]
        try:
            reply = client.chat.completions.create(**fields)
            list(reply) if streamed else reply
        except openai.APIError as error:
            # A model that chats where it was to answer in JSON: what was sent counts.
            assert "breaks what the request asks for" in str(error), error


def test_a_conversation_is_known(foreign):
    with sdk(foreign) as client:
        ask = client.chat.completions.create
        foreign.server.thinks = "Paris."
        first = ask(model=foreign.model, messages=USER, tools=TOOLS[:1], tool_choice="required").choices[0].message
        history = [
            {"role": "system", "content": "Be brief."},
            *USER,
            first.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "21 degrees"},
        ]
        second = ask(model=foreign.model, messages=history, tools=TOOLS[:1]).choices[0].message
        history += [second.model_dump(exclude_none=True), {"role": "user", "content": "And tomorrow?"}]
        ask(model=foreign.model, messages=history, tools=TOOLS[:1])


def test_what_the_packages_do_not_know_is_found():
    anthropic = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}]}
    SDKS["anthropic"].request(anthropic)
    anthropic["messages"][0]["content"][0]["zzz"] = 1
    for kind, body in [
        ("anthropic", anthropic),
        ("gemini", {"contents": [{"role": "user", "parts": [{"txt": "a"}]}]}),
        ("cohere", {"messages": [{"role": "user", "content": "a", "zzz": 1}]}),
        ("cohere", {"tool_choice": 7}),
        ("gemini", {"generationConfig": {"max_output_tokens": "many"}}),
    ]:
        with pytest.raises((Unknown, ValidationError)):
            SDKS[kind].request(body)
    with pytest.raises(ValidationError):
        is_known(int, "x", "x")
