"""The `openai` package through isogloss: calls, forced and free, whole and streamed."""

from __future__ import annotations

import json
import re

import openai
import pytest

from helpers import (
    EMPTY,
    IN_PARIS,
    NAMED,
    PARIS,
    TOOLS,
    USER,
    WEATHER,
    ZURICH,
    City,
    arguments,
    assert_own_dialect,
    collect,
    create,
    json_schema,
    only,
    sdk,
    whole,
)
from model import PROSE, Turn
from samples import Call

# --- tools ---


def test_a_required_call_is_made(stack):
    stack.server.reset(IN_PARIS)
    reply = create(stack, tools=TOOLS, tool_choice="required")
    choice = reply.choices[0]
    (call,) = choice.message.tool_calls
    assert (call.type, call.function.name) == ("function", "get_weather")
    assert arguments(call) == {"city": "Paris", "unit": "celsius"}
    assert choice.finish_reason == "tool_calls"
    assert not choice.message.content
    assert call.id
    assert stack.server.visible("get_weather", "add_numbers")
    assert_own_dialect(stack)


def test_a_named_call_is_made(stack):
    """On llama.cpp the object would be taken for `auto`; on a bare vLLM it would be refused."""
    stack.server.reset(IN_PARIS)
    reply = create(stack, tools=TOOLS, tool_choice=NAMED)
    (call,) = reply.choices[0].message.tool_calls
    assert call.function.name == "get_weather"
    assert arguments(call) == {"city": "Paris", "unit": "celsius"}
    assert reply.choices[0].finish_reason == "tool_calls"
    assert_own_dialect(stack)


def test_a_required_call_is_one_of_the_allowed_tools(stack):
    stack.server.reset(Turn(values={"a": 2, "b": 40}, calls=("add_numbers",)))
    allowed = {"mode": "required", "tools": [{"type": "function", "function": {"name": "add_numbers"}}]}
    reply = create(stack, tools=TOOLS, tool_choice={"type": "allowed_tools", "allowed_tools": allowed})
    (call,) = reply.choices[0].message.tool_calls
    assert (call.function.name, arguments(call)) == ("add_numbers", {"a": 2, "b": 40})
    assert "allowed_tools" not in json.dumps(stack.server.last.get("tool_choice"))


def test_no_call_is_made_under_none(stack):
    stack.server.reset(Turn(values=IN_PARIS.values, calls=IN_PARIS.calls, text="No tools today."))
    reply = create(stack, tools=TOOLS, tool_choice="none")
    assert reply.choices[0].message.content == "No tools today."
    assert not reply.choices[0].message.tool_calls
    assert reply.choices[0].finish_reason == "stop"


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("calls", [(), ("get_weather",)], ids=["text", "call"])
def test_the_model_chooses_under_auto(any_stack, calls, streamed):
    any_stack.server.reset(Turn(values=IN_PARIS.values, calls=calls))
    reply = create(any_stack, tools=TOOLS, tool_choice="auto", stream=streamed)
    content, made, finish = collect(reply) if streamed else whole(reply)
    if calls:
        assert [(name, json.loads(text)) for _, name, text in made] == [
            ("get_weather", {"city": "Paris", "unit": "celsius"})
        ]
        assert finish == "tool_calls"
    else:
        assert (content, made, finish) == (PROSE, [], "stop")


@pytest.mark.parametrize("choice", ["required", NAMED], ids=["required", "named"])
@pytest.mark.parametrize("usage", [False, True], ids=["no-usage", "usage"])
def test_a_streamed_call_has_every_part_in_its_place(stack, choice, usage):
    stack.server.reset(Turn(values={"city": ZURICH["country"], "unit": "celsius"}, calls=("get_weather",)))
    options = {"stream_options": {"include_usage": True}} if usage else {}
    chunks = list(create(stack, tools=TOOLS, tool_choice=choice, stream=True, **options))
    content, calls, finish = collect(chunks)
    assert (content, finish) == ("", "tool_calls")
    ((call_id, name, text),) = calls
    assert call_id and name == "get_weather"
    assert json.loads(text) == {"city": ZURICH["country"], "unit": "celsius"}
    assert chunks[0].choices[0].delta.role == "assistant"
    assert len({chunk.id for chunk in chunks}) == 1
    assert all(chunk.object == "chat.completion.chunk" and chunk.created for chunk in chunks)
    counted = [chunk for chunk in chunks if chunk.usage]
    if usage:
        assert counted == [chunks[-1]] and chunks[-1].choices == []
        assert chunks[-1].usage.completion_tokens == stack.server.last_usage["completion_tokens"]
    else:
        assert not counted
    assert_own_dialect(stack)


def test_the_stream_helper_reads_the_call(stack):
    stack.server.reset(IN_PARIS)
    with sdk(stack).chat.completions.stream(
        model=stack.model, messages=USER, tools=TOOLS, tool_choice="required"
    ) as stream:
        kinds = {event.type for event in stream}
        final = stream.get_final_completion()
    (call,) = final.choices[0].message.tool_calls
    assert arguments(call) == {"city": "Paris", "unit": "celsius"}
    assert {"tool_calls.function.arguments.delta", "tool_calls.function.arguments.done"} <= kinds


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
def test_parallel_calls_are_made_where_they_are_asked_for(stack, streamed):
    calls = (
        Call("get_weather", {"city": "Paris"}),
        Call("add_numbers"),
        Call("get_weather", {"city": "Oslo"}),
    )
    stack.server.reset(Turn(values={"a": 2, "b": 40, "unit": "celsius"}, calls=calls))
    reply = create(stack, tools=TOOLS, tool_choice="required", parallel_tool_calls=True, stream=streamed)
    content, made, finish = collect(reply) if streamed else whole(reply)
    assert (content, finish) == ("", "tool_calls")
    assert [(name, json.loads(text)) for _, name, text in made] == [
        ("get_weather", {"city": "Paris", "unit": "celsius"}),
        ("add_numbers", {"a": 2, "b": 40}),
        ("get_weather", {"city": "Oslo", "unit": "celsius"}),
    ]
    assert len({call_id for call_id, _, _ in made}) == 3


def test_one_call_is_made_where_parallel_ones_are_refused(stack):
    calls = (Call("get_weather", {"city": "Paris"}), Call("get_weather", {"city": "Oslo"}))
    stack.server.reset(Turn(values={"unit": "celsius"}, calls=calls))
    reply = create(stack, tools=TOOLS, tool_choice="required", parallel_tool_calls=False)
    (call,) = reply.choices[0].message.tool_calls
    assert arguments(call)["city"] == "Paris"


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
def test_several_choices_are_each_a_call(stack, streamed):
    if stack.name == "plain":
        pytest.skip("transformers serve ignores n")
    stack.server.reset(IN_PARIS)
    reply = create(stack, tools=TOOLS, tool_choice="required", n=2, stream=streamed)
    if streamed:
        chunks = list(reply)
        made = [collect(chunks, index) for index in (0, 1)]
    else:
        made = [whole(reply), whole(reply.model_copy(update={"choices": reply.choices[1:]}))]
    for content, calls, finish in made:
        assert (content, finish) == ("", "tool_calls")
        assert [json.loads(text) for _, _, text in calls] == [{"city": "Paris", "unit": "celsius"}]
    assert made[0][1][0][0] != made[1][1][0][0], "the ids of two choices' calls are the same"


def test_a_strict_tool_is_parsed_by_the_sdk(stack):
    stack.server.reset(Turn(values=PARIS, calls=("City",)))
    tool = openai.pydantic_function_tool(City)
    reply = sdk(stack).chat.completions.parse(
        model=stack.model, messages=USER, tools=[tool], tool_choice="required"
    )
    assert reply.choices[0].message.tool_calls[0].function.parsed_arguments == City(**PARIS)


def test_a_call_cut_by_the_token_limit_says_so(stack):
    stack.server.reset(Turn(values=PARIS, calls=("City",)))
    reply = create(stack, tools=[openai.pydantic_function_tool(City)], tool_choice="required", max_tokens=7)
    assert reply.choices[0].finish_reason == "length"


def test_a_tool_without_parameters_is_called(stack):
    stack.server.reset(Turn(calls=("now",)))
    now = {"type": "function", "function": {"name": "now", "description": "The time", "parameters": EMPTY}}
    reply = create(stack, tools=[now, WEATHER], tool_choice="required")
    (call,) = reply.choices[0].message.tool_calls
    assert (call.function.name, arguments(call)) == ("now", {})


@only("sglang")
def test_keywords_that_the_server_refuses_are_checked_by_isogloss(stack):
    stack.server.reset(Turn(values={"tags": ["a", "b"]}))
    tags = {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "minItems": 2}
    schema = {
        "type": "object",
        "properties": {"tags": tags},
        "required": ["tags"],
        "additionalProperties": False,
    }
    reply = create(stack, response_format=json_schema(schema))
    assert json.loads(reply.choices[0].message.content) == {"tags": ["a", "b"]}
    assert "uniqueItems" not in json.dumps(stack.server.last["response_format"])
    stack.server.reset(Turn(values={"tags": ["a", "a"]}))
    with pytest.raises(openai.APIStatusError) as caught:
        create(stack, response_format=json_schema(schema))
    assert (caught.value.status_code, caught.value.code) == (502, "constraint_violated")


# --- legacy and custom tools ---


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
def test_a_legacy_function_is_called(stack, streamed):
    stack.server.reset(IN_PARIS)
    functions = [tool["function"] for tool in TOOLS]
    reply = create(stack, functions=functions, function_call={"name": "get_weather"}, stream=streamed)
    if streamed:
        name = text = ""
        finish = None
        for chunk in reply:
            for choice in chunk.choices:
                assert not choice.delta.tool_calls
                if choice.delta.function_call:
                    name += choice.delta.function_call.name or ""
                    text += choice.delta.function_call.arguments or ""
                finish = choice.finish_reason or finish
    else:
        message, finish = reply.choices[0].message, reply.choices[0].finish_reason
        assert not message.tool_calls
        name, text = message.function_call.name, message.function_call.arguments
    assert (name, json.loads(text)) == ("get_weather", {"city": "Paris", "unit": "celsius"})
    assert finish == "function_call"


@pytest.mark.parametrize(
    ("grammar", "pattern"),
    [
        ({"syntax": "regex", "definition": "[0-9]{4}"}, "[0-9]{4}"),
        ({"syntax": "lark", "definition": 'start: "red" | "green"'}, "red|green"),
    ],
    ids=["regex", "lark"],
)
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
def test_a_custom_tool_with_a_grammar_is_called(stack, grammar, pattern, streamed):
    stack.server.reset(Turn(calls=("d",), prompted="2026" if grammar["syntax"] == "regex" else "red"))
    custom = {"name": "d", "description": "A date", "format": {"type": "grammar", "grammar": grammar}}
    reply = create(
        stack, tools=[{"type": "custom", "custom": custom}], tool_choice="required", stream=streamed
    )
    if streamed:
        pieces, name, kind, finish = "", "", "", None
        for chunk in reply:
            for choice in chunk.choices:
                for delta in choice.delta.tool_calls or []:
                    raw = delta.model_dump()
                    kind = raw.get("type") or kind
                    name += (raw.get("custom") or {}).get("name") or ""
                    pieces += (raw.get("custom") or {}).get("input") or ""
                finish = choice.finish_reason or finish
        said = pieces
    else:
        (call,) = reply.choices[0].message.tool_calls
        kind, name, said, finish = (
            call.type,
            call.custom.name,
            call.custom.input,
            reply.choices[0].finish_reason,
        )
    assert (kind, name, finish) == ("custom", "d", "tool_calls")
    assert re.fullmatch(pattern, said), said
