"""The `openai` package through isogloss: answers of a stated form, in every spelling."""

from __future__ import annotations

import json
import re

import httpx
import openai
import pytest

from helpers import (
    CITY_SCHEMA,
    PARIS,
    USER,
    ZURICH,
    City,
    Employee,
    StrictNode,
    assert_own_dialect,
    create,
    json_schema,
    only,
    sdk,
)
from model import Turn

# --- structured answers ---


def test_parse_gives_the_model(stack):
    stack.server.reset(Turn(values=ZURICH))
    reply = sdk(stack).chat.completions.parse(model=stack.model, messages=USER, response_format=City)
    message = reply.choices[0].message
    assert message.parsed == City(**ZURICH)
    assert json.loads(message.content) == ZURICH
    assert reply.choices[0].finish_reason == "stop"
    assert not message.tool_calls
    assert_own_dialect(stack)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (Employee, {"name": "Ada", "home": {"street": "X", "city": PARIS}, "work": None, "nicknames": ["a"]}),
        (StrictNode, {"value": 1, "children": [{"value": 2, "children": []}]}),
    ],
    ids=["nested", "recursive"],
)
def test_parse_gives_nested_and_recursive_models(stack, kind, values):
    stack.server.reset(Turn(values=values))
    reply = sdk(stack).chat.completions.parse(model=stack.model, messages=USER, response_format=kind)
    assert reply.choices[0].message.parsed == kind.model_validate(values)


@pytest.mark.parametrize("style", [{}, {"escaped": True}, {"spaced": True}], ids=["raw", "escaped", "spaced"])
def test_the_stream_helper_parses_the_model(stack, style):
    stack.server.reset(Turn(values=ZURICH, **style))
    with sdk(stack).chat.completions.stream(
        model=stack.model, messages=USER, response_format=City, stream_options={"include_usage": True}
    ) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_completion()
    assert final.choices[0].message.parsed == City(**ZURICH)
    assert "content.delta" in kinds and "content.done" in kinds
    assert final.usage.completion_tokens == stack.server.last_usage["completion_tokens"]


def test_a_json_object_comes_back(stack):
    stack.server.reset(Turn(values=PARIS))
    reply = create(stack, response_format={"type": "json_object"})
    assert json.loads(reply.choices[0].message.content) == PARIS
    assert_own_dialect(stack)


def test_several_choices_are_each_an_answer(stack):
    if stack.name == "plain":
        pytest.skip("transformers serve ignores n")
    stack.server.reset(Turn(values=PARIS))
    reply = sdk(stack).chat.completions.parse(model=stack.model, messages=USER, response_format=City, n=2)
    assert [choice.index for choice in reply.choices] == [0, 1]
    assert all(choice.message.parsed == City(**PARIS) for choice in reply.choices)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
def test_an_answer_cut_by_the_token_limit_says_so(stack, streamed):
    stack.server.reset(Turn(values=ZURICH))
    asked = {"model": stack.model, "messages": USER, "response_format": City, "max_tokens": 6}
    with pytest.raises(openai.LengthFinishReasonError):
        if streamed:
            with sdk(stack).chat.completions.stream(**asked) as stream:
                stream.get_final_completion()
        else:
            sdk(stack).chat.completions.parse(**asked)


# --- the fields that other servers spell their constraints with ---


@pytest.mark.parametrize(
    "extra",
    [
        {"guided_json": CITY_SCHEMA},
        {"guided_json": json.dumps(CITY_SCHEMA)},
        {"structured_outputs": {"json": CITY_SCHEMA}},
        {"nvext": {"guided_json": CITY_SCHEMA}},
        {"response_format": {"type": "json_object", "schema": CITY_SCHEMA}},
    ],
    ids=[
        "guided_json",
        "guided_json-text",
        "structured_outputs.json",
        "nvext.guided_json",
        "json_object-schema",
    ],
)
def test_a_schema_in_any_spelling_reaches_any_server(stack, extra):
    stack.server.reset(Turn(values=PARIS))
    reply = create(stack, extra_body=extra)
    assert json.loads(reply.choices[0].message.content) == PARIS
    assert "nvext" not in stack.server.last
    assert_own_dialect(stack)


@pytest.mark.parametrize(
    ("extra", "pattern", "prompted"),
    [
        ({"guided_regex": "(red|green)-[0-9]{2}"}, "(red|green)-[0-9]{2}", "red-21"),
        ({"structured_outputs": {"regex": "(red|green)-[0-9]{2}"}}, "(red|green)-[0-9]{2}", "green-07"),
        ({"guided_choice": ["red", "green (light)"]}, "red|green \\(light\\)", "green (light)"),
        ({"structured_outputs": {"choice": ["red", "green (light)"]}}, "red|green \\(light\\)", "red"),
        ({"guided_grammar": 'root ::= "red" | "green"\n'}, "red|green", "green"),
        ({"structured_outputs": {"grammar": 'root ::= "red" | "green"\n'}}, "red|green", "red"),
        ({"ebnf": 'root ::= "red" | "green"\n'}, "red|green", "red"),
    ],
    ids=[
        "guided_regex",
        "structured_outputs.regex",
        "guided_choice",
        "structured_outputs.choice",
        "guided_grammar",
        "structured_outputs.grammar",
        "ebnf",
    ],
)
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
def test_a_text_constraint_in_any_spelling_reaches_any_server(stack, extra, pattern, prompted, streamed):
    stack.server.reset(Turn(prompted=prompted))
    reply = create(stack, extra_body=extra, stream=streamed)
    if streamed:
        said = "".join(choice.delta.content or "" for chunk in reply for choice in chunk.choices)
    else:
        said = reply.choices[0].message.content
    assert re.fullmatch(pattern, said), said
    assert len(stack.server.requests) == 1
    assert_own_dialect(stack)


@only("vllm-new")
def test_old_fields_become_new_ones_on_a_new_vllm(stack):
    stack.server.reset(Turn(values=PARIS))
    create(stack, extra_body={"guided_json": CITY_SCHEMA})
    assert stack.server.last["structured_outputs"] == {"json": CITY_SCHEMA}
    assert list(stack.server.last["structured_outputs"]["json"]["properties"]) == list(
        CITY_SCHEMA["properties"]
    )
    assert "guided_json" not in stack.server.last


@only("vllm-old")
def test_new_fields_become_old_ones_on_an_old_vllm(stack):
    stack.server.reset(Turn(values=PARIS))
    create(stack, extra_body={"structured_outputs": {"json": CITY_SCHEMA}})
    assert stack.server.last["guided_json"] == CITY_SCHEMA
    assert "structured_outputs" not in stack.server.last


@only("vllm-new", "sglang", "llama-cpp")
def test_a_spelling_that_the_server_knows_goes_through_untouched(stack):
    stack.server.reset(Turn(values=PARIS))
    # To llama.cpp's sampler goes the field at the top, whatever the model's template.
    stated = {"response_format": json_schema(CITY_SCHEMA)}
    if stack.name == "llama-cpp":
        stated = {"json_schema": CITY_SCHEMA}
    raw = json.dumps({"messages": USER, **stated, "model": stack.model, "top_k": 3}, indent=1).encode()
    reply = httpx.post(
        f"{stack.base_url}/chat/completions",
        content=raw,
        headers={"content-type": "application/json"},
        timeout=10,
    )
    assert reply.status_code == 200, reply.text
    assert json.loads(reply.json()["choices"][0]["message"]["content"]) == PARIS
    assert stack.server.requests[-1].raw == raw
