"""The `openai` package and PydanticAI, unchanged, against servers that speak neither's wire."""

from __future__ import annotations

import json
from collections.abc import Iterator

import openai
import pytest
from pydantic_ai import Agent

from foreign import FOREIGN, PROSE, in_front
from helpers import CITY_SCHEMA, NAMED, PARIS, TOOLS, USER, City, chat_model, collect, json_schema, sdk
from wire import as_json

WEATHER = {"city": "Paris", "unit": "celsius"}


@pytest.fixture(scope="module", params=list(FOREIGN))
def running(request: pytest.FixtureRequest, stacks) -> Iterator:
    yield from in_front(stacks, request.param)


@pytest.fixture
def foreign(running) -> Iterator:
    running.server.reset()
    yield running
    assert not running.server.crashes


def ask(stack, **fields):
    with sdk(stack) as client:
        fields = {"model": stack.model, "messages": USER} | fields
        reply = client.chat.completions.create(**fields)
        return list(reply) if fields.get("stream") else reply


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
def test_text_and_counts_come(foreign, streamed):
    foreign.server.thinks = "Let me see."
    options = {"stream": True, "stream_options": {"include_usage": True}} if streamed else {}
    reply = ask(foreign, temperature=0.5, max_tokens=40, **options)
    if streamed:
        assert collect(reply) == (PROSE, [], "stop")
        assert reply[0].choices[0].delta.role == "assistant"
        thoughts = [getattr(c.choices[0].delta, "reasoning_content", None) for c in reply if c.choices]
        assert "".join(filter(None, thoughts)) == "Let me see."
        assert len({chunk.id for chunk in reply}) == 1
        usage = reply[-1].usage
    else:
        message = reply.choices[0].message
        assert (message.content, reply.choices[0].finish_reason) == (PROSE, "stop")
        assert message.reasoning_content == "Let me see."
        usage = reply.usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (15, 7, 22)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("choice", ["required", NAMED], ids=["required", "named"])
def test_a_forced_call_is_made(foreign, choice, streamed):
    foreign.server.reset(**WEATHER)
    tools = TOOLS if choice == "required" else TOOLS[::-1]
    if foreign.name == "ollama-native" and choice == "required":
        tools = TOOLS[:1]
    reply = ask(foreign, tools=tools, tool_choice=choice, stream=streamed)
    if streamed:
        content, ((call_id, name, text),), finish = collect(reply)
    else:
        message = reply.choices[0].message
        (call,) = message.tool_calls
        content, call_id, name, text = message.content or "", call.id, call.function.name, call.function.arguments
        finish = reply.choices[0].finish_reason
    assert (content, name, json.loads(text), finish) == ("", "get_weather", WEATHER, "tool_calls")
    assert call_id


def test_no_call_is_made_under_none(foreign):
    foreign.server.reset(**WEATHER)
    reply = ask(foreign, tools=TOOLS, tool_choice="none")
    assert reply.choices[0].message.content == PROSE
    assert not reply.choices[0].message.tool_calls


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
def test_an_answer_has_its_schema(foreign, streamed):
    foreign.server.reset(**PARIS)
    reply = ask(foreign, response_format=json_schema(CITY_SCHEMA), stream=streamed)
    content = collect(reply)[0] if streamed else reply.choices[0].message.content
    assert json.loads(content) == PARIS


def test_what_is_not_enforced_is_never_delivered(foreign):
    foreign.server.lies = True
    for demand in [
        {"response_format": json_schema(CITY_SCHEMA)},
        {"tools": TOOLS[:1], "tool_choice": "required"},
    ]:
        with pytest.raises(openai.APIStatusError) as raised:
            ask(foreign, **demand)
        assert raised.value.status_code == 502
        assert raised.value.code == "constraint_violated"


def test_a_conversation_goes_on(foreign):
    """The assistant's message goes back as it came, with what the tool said."""
    foreign.server.reset(**WEATHER)
    foreign.server.thinks = "Paris."
    first = ask(foreign, tools=TOOLS[:1], tool_choice="required").choices[0].message
    call = first.tool_calls[0]
    history = [
        {"role": "system", "content": "Be brief."},
        *USER,
        first.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": call.id, "content": "21 degrees"},
    ]
    reply = ask(foreign, messages=history, tools=TOOLS[:1])
    assert reply.choices[0].message.content == PROSE
    sent = foreign.server.last
    text = json.dumps(sent)
    assert "21 degrees" in text and "Be brief." in text
    if foreign.name == "anthropic":
        use, result = sent["messages"][1]["content"][-1], sent["messages"][2]["content"][0]
        assert (use["input"], result["tool_use_id"]) == (WEATHER, use["id"])
        assert sent["messages"][1]["content"][0] == {"type": "thinking", "thinking": "Paris.", "signature": "c2ln"}
    elif foreign.name == "gemini":
        made, said = sent["contents"][1]["parts"][-1], sent["contents"][2]["parts"][0]["functionResponse"]
        assert made["functionCall"] == {"id": "g7", "name": "get_weather", "args": WEATHER}
        assert (said["id"], said["name"], said["response"]) == ("g7", "get_weather", {"output": "21 degrees"})
    elif foreign.name == "cohere":
        made, said = sent["messages"][2], sent["messages"][3]
        assert made["tool_plan"] == "Paris."
        assert json.loads(made["tool_calls"][0]["function"]["arguments"]) == WEATHER
        assert (said["tool_call_id"], said["content"]) == ("f_0", "21 degrees")
    else:
        assert sent["messages"][2]["tool_calls"][0]["function"]["arguments"] == WEATHER
        assert sent["messages"][3]["tool_name"] == "get_weather"


def test_an_image_arrives(foreign):
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    ask(foreign, messages=[{"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]}])
    assert 'iVBORw0KGgo="' in json.dumps(foreign.server.last)


def test_the_servers_refusal_is_the_clients_error(foreign):
    shapes = {
        "anthropic": {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}},
        "gemini": {"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}},
        "ollama-native": {"error": "slow down"},
        "cohere": {"message": "slow down"},
    }
    foreign.server.error = as_json(429, shapes[foreign.name], retry_after="7")
    with pytest.raises(openai.RateLimitError, match="slow down") as raised:
        ask(foreign)
    assert raised.value.response.headers["retry-after"] == "7"


def test_a_programs_agent_runs_unchanged(foreign):
    foreign.server.reset(**PARIS)
    answer = Agent(chat_model(foreign), output_type=City).run_sync("Where is the Eiffel tower?").output
    assert answer == City(**PARIS)
