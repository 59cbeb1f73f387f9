"""Servers that misbehave: the client gets what it asked for, or an error, and never anything else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError

from conftest import Stack
from helpers import (
    CITY_SCHEMA,
    IN_PARIS,
    PARIS,
    USER,
    WEATHER,
    City,
    arguments,
    assert_called,
    chat_model,
    counting,
    sdk,
)
from model import PROSE, Turn

SCHEMA = {"type": "json_schema", "json_schema": {"name": "city", "schema": CITY_SCHEMA, "strict": True}}
DEMANDS: dict[str, dict[str, Any]] = {
    "response_format": {"response_format": SCHEMA},
    "required": {"tools": [WEATHER], "tool_choice": "required"},
    "named": {"tools": [WEATHER], "tool_choice": {"type": "function", "function": {"name": "get_weather"}}},
    "choice": {"extra_body": {"structured_outputs": {"choice": ["red", "green"]}}},
}
TURN = Turn(
    values={**PARIS, "unit": "celsius"},
    prompted="red",
)
CALLING = Turn(values={"city": "Paris", "unit": "celsius"}, calls=("get_weather",))


def prepare(stack: Any, demand: str) -> dict[str, Any]:
    stack.server.reset(CALLING if demand in ("required", "named") else TURN)
    return {"model": stack.model, "messages": USER, **DEMANDS[demand]}


def check(message: Any, demand: str) -> None:
    """The reply satisfies the demand."""
    if demand in ("required", "named"):
        (call,) = message.tool_calls
        assert arguments(call) == {"city": "Paris", "unit": "celsius"}
    elif demand == "choice":
        assert message.content in ("red", "green")
    else:
        assert json.loads(message.content) == PARIS


# --- a constraint that the server ignores ---


@pytest.mark.parametrize("demand", list(DEMANDS))
def test_a_constraint_that_is_always_ignored_ends_in_an_error(stack, demand):
    asked = prepare(stack, demand)
    stack.server.fail("prose", times=None)
    with counting(stack) as grown, pytest.raises(openai.APIStatusError) as caught:
        sdk(stack).chat.completions.create(**asked)
    assert (caught.value.status_code, caught.value.code) == (502, "constraint_violated")
    assert PROSE not in str(caught.value.body), "the error quotes the model"
    assert len(stack.server.requests) == 2, "asked once more, and no oftener"
    assert any(series.startswith("isogloss_violations_total") for series in grown)


@pytest.mark.parametrize("fault", ["prose", "wrong"])
@pytest.mark.parametrize("demand", ["response_format", "required"])
def test_a_constraint_that_is_ignored_once_is_asked_for_again(stack, demand, fault):
    asked = prepare(stack, demand)
    stack.server.fail(fault)
    reply = sdk(stack).chat.completions.create(**asked)
    check(reply.choices[0].message, demand)
    first, second = stack.server.bodies()
    assert len(second["messages"]) > len(first["messages"]), "the model is shown what was wrong"
    assert second["messages"][: len(USER)] == USER or USER[0] in second["messages"]


def test_the_sdks_own_retries_do_not_come_on_top(stack):
    asked = prepare(stack, "required")
    stack.server.fail("prose", times=3)
    with pytest.raises(openai.InternalServerError) as caught:
        sdk(stack).with_options(max_retries=5).chat.completions.create(**asked)
    assert caught.value.code == "constraint_violated"
    assert caught.value.response.headers["x-should-retry"] == "false"
    # Asked once, and once more by the proxy.
    assert len(stack.server.requests) == 2


@pytest.mark.parametrize("demand", list(DEMANDS))
def test_a_stream_that_ignores_its_constraint_ends_in_an_error(stack, demand):
    asked = prepare(stack, demand)
    stack.server.fail("prose", times=None)
    said = ""
    with pytest.raises(openai.APIError) as caught:
        for chunk in sdk(stack).chat.completions.create(**asked, stream=True):
            said += "".join(choice.delta.content or "" for choice in chunk.choices)
    assert caught.value.code == "constraint_violated"
    assert not said, "text got out that no answer begins with"


@pytest.mark.parametrize("demand", ["response_format", "required"])
def test_a_stream_whose_first_byte_is_wrong_is_asked_for_again(stack, demand):
    asked = prepare(stack, demand)
    stack.server.fail("prose")
    with sdk(stack).chat.completions.stream(**asked) as stream:
        final = stream.get_final_completion()
    check(final.choices[0].message, demand)
    assert len(stack.server.requests) == 2


@pytest.mark.parametrize("demand", ["response_format", "required"])
def test_a_stream_that_turns_wrong_in_the_middle_ends_in_an_error(stack, demand):
    asked = prepare(stack, demand)
    stack.server.fail("wrong", times=None)
    with pytest.raises(openai.APIError) as caught:
        for _ in sdk(stack).chat.completions.create(**asked, stream=True):
            pass
    assert caught.value.code == "constraint_violated"


def test_a_pydantic_ai_run_gets_the_error_too(stack):
    stack.server.reset(Turn(values=PARIS, calls=("final_result",)))
    stack.server.fail("prose", times=None)
    with pytest.raises(ModelHTTPError) as caught:
        Agent(chat_model(stack), output_type=City).run_sync("Where?")
    assert caught.value.status_code == 502
    assert "constraint_violated" in str(caught.value.body)


def test_a_pydantic_ai_run_does_not_notice_one_bad_answer(stack):
    stack.server.reset(Turn(values=PARIS, calls=("final_result",)))
    stack.server.fail("wrong")
    result = Agent(chat_model(stack), output_type=City).run_sync("Where?")
    assert result.output == City(**PARIS)
    assert_called(result.all_messages(), "final_result")


# --- calls where content was asked for, and the other way round ---


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
def test_a_call_that_comes_as_a_call_although_content_was_constrained_is_taken(stack, streamed):
    """vLLM 0.20 to 0.22 with a tool parser, SGLang with a JSON-like one."""
    if stack.name in ("llama-cpp", "plain"):
        pytest.skip("the call is asked for as a call there, or no tools are sent")
    asked = prepare(stack, "required")
    stack.server.fail("tool_calls", times=None)
    if streamed:
        with sdk(stack).chat.completions.stream(**asked) as stream:
            message = stream.get_final_completion().choices[0].message
    else:
        message = sdk(stack).chat.completions.create(**asked).choices[0].message
    check(message, "required")
    assert len(stack.server.requests) == 1


def test_the_plain_servers_model_may_need_to_be_asked_twice(stacks):
    stack = stacks.get("plain")
    for style, requests in (("fenced", 1), ("bare", 1), ("prose_first", 2)):
        stack.server.reset(TURN)
        stack.server.style = style
        reply = sdk(stack).chat.completions.parse(model=stack.model, messages=USER, response_format=City)
        assert reply.choices[0].message.parsed == City(**PARIS)
        assert json.loads(reply.choices[0].message.content) == PARIS
        assert len(stack.server.requests) == requests


# --- streams that break ---


@pytest.mark.parametrize(
    "demand", [None, "response_format", "required"], ids=["chat", "response_format", "required"]
)
def test_a_stream_that_is_cut_never_ends_cleanly(stack, demand):
    asked = prepare(stack, demand) if demand else {"model": stack.model, "messages": USER}
    stack.server.fail("cut")
    finished = []
    with pytest.raises(openai.APIError) as caught:
        for chunk in sdk(stack).chat.completions.create(**asked, stream=True):
            finished += [choice.finish_reason for choice in chunk.choices if choice.finish_reason]
    assert not finished, "a finish reason came before the error"
    if demand:  # Without a demand the bytes pass through, the cut as well.
        assert caught.value.code == "upstream_truncated"


@pytest.mark.parametrize("demand", ["response_format", "required"])
def test_an_error_in_the_stream_reaches_the_client(stack, demand):
    asked = prepare(stack, demand)
    stack.server.fail("error_event")
    with pytest.raises(openai.APIError) as caught:
        for _ in sdk(stack).chat.completions.create(**asked, stream=True):
            pass
    assert caught.value.code == "upstream_error"


def test_a_whole_reply_that_is_cut_is_an_error(stack):
    asked = prepare(stack, "required")
    stack.server.fail("cut")
    with pytest.raises(openai.APIStatusError) as caught:
        sdk(stack).chat.completions.create(**asked)
    assert (caught.value.status_code, caught.value.code) == (502, "upstream_truncated")


def test_a_server_that_fails_is_reported(stack):
    asked = prepare(stack, "required")
    stack.server.fail("error_event")
    with pytest.raises(openai.InternalServerError) as caught:
        sdk(stack).chat.completions.create(**asked)
    assert caught.value.code == "upstream_error"


def test_a_server_that_is_busy_for_a_moment_is_asked_again_by_the_sdk(stack):
    asked = prepare(stack, "required")
    stack.server.fail("unavailable")
    reply = sdk(stack).with_options(max_retries=2).chat.completions.create(**asked)
    check(reply.choices[0].message, "required")


def test_a_reply_cut_by_the_token_limit_is_passed_as_such(stack):
    asked = prepare(stack, "response_format")
    stack.server.fail("length")
    reply = sdk(stack).chat.completions.create(**asked)
    assert reply.choices[0].finish_reason == "length"
    assert len(stack.server.requests) == 1


# --- the other policies ---


@pytest.fixture(scope="module")
def policies(stacks) -> Iterator[dict[str, Stack]]:
    """A new vLLM behind each of the other two policies."""
    running = {what: stacks.start("vllm-new", "--on-violation", what) for what in ("reject", "pass")}
    yield running
    codes = {what: stack.stop() for what, stack in running.items()}
    assert not any(codes.values()), f"exit codes after SIGTERM: {codes}"


def test_reject_does_not_ask_again(policies):
    stack = policies["reject"]
    asked = prepare(stack, "required")
    stack.server.fail("prose")
    with pytest.raises(openai.APIStatusError) as caught:
        sdk(stack).chat.completions.create(**asked)
    assert (caught.value.status_code, caught.value.code) == (502, "constraint_violated")
    assert len(stack.server.requests) == 1


def test_pass_lets_it_through_and_says_so(policies):
    stack = policies["pass"]
    asked = prepare(stack, "response_format")
    stack.server.fail("prose")
    with counting(stack) as grown:
        raw = sdk(stack).chat.completions.with_raw_response.create(**asked)
    assert raw.parse().choices[0].message.content == PROSE
    assert raw.headers["x-isogloss-violation"]
    assert any(series.startswith("isogloss_violations_total") for series in grown)
    assert len(stack.server.requests) == 1


@pytest.mark.parametrize("policy", ["reject", "pass"])
def test_a_good_reply_is_the_same_under_every_policy(policies, policy):
    stack = policies[policy]
    stack.server.reset(IN_PARIS)
    reply = sdk(stack).chat.completions.create(model=stack.model, messages=USER, **DEMANDS["required"])
    check(reply.choices[0].message, "required")
