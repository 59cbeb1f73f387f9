"""The `ollama` package through isogloss: chat and generate, whole and streamed, in front of servers that do not speak it."""

from __future__ import annotations

import json

import httpx
import ollama
import pytest

from helpers import CITY_SCHEMA, IN_PARIS, PARIS, TOOLS, USER, City, only
from model import PROSE, Turn

SERVERS = only("vllm-new", "llama-cpp", "plain")


def sdk(stack) -> ollama.Client:
    return ollama.Client(host=stack.base_url.removesuffix("/v1"), timeout=30)


@SERVERS
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
def test_a_call_comes_whole_with_an_object(stack, streamed):
    stack.server.reset(IN_PARIS)
    reply = sdk(stack).chat(model=stack.model, messages=USER, tools=TOOLS, stream=streamed)
    lines = list(reply) if streamed else [reply]
    calls = [call for line in lines for call in line.message.tool_calls or []]
    if stack.name == "vllm-new":  # A bare vLLM parses no calls: the proxy tells the model how to make them.
        assert stack.server.visible("get_weather")
    ((name, arguments),) = [(call.function.name, call.function.arguments) for call in calls]
    assert (name, arguments) == ("get_weather", {"city": "Paris", "unit": "celsius"})
    assert lines[-1].done and lines[-1].done_reason == "stop"
    assert not any(line.done for line in lines[:-1])


@SERVERS
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
def test_a_format_is_kept_to(stack, streamed):
    stack.server.reset(Turn(values=PARIS))
    reply = sdk(stack).chat(model=stack.model, messages=USER, format=City.model_json_schema(), stream=streamed)
    lines = list(reply) if streamed else [reply]
    text = "".join(line.message.content or "" for line in lines)
    assert City.model_validate_json(text) == City(**PARIS)
    assert lines[-1].done and lines[-1].eval_count


@SERVERS
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
def test_generate_answers_a_prompt(stack, streamed):
    stack.server.reset(Turn(values=PARIS))
    reply = sdk(stack).generate(
        model=stack.model, prompt="Where?", system="Be brief.", format=CITY_SCHEMA, stream=streamed
    )
    lines = list(reply) if streamed else [reply]
    assert json.loads("".join(line.response or "" for line in lines)) == PARIS
    assert lines[-1].done


@SERVERS
def test_text_is_text_and_options_are_settings(stack):
    reply = sdk(stack).chat(
        model=stack.model, messages=USER, options={"temperature": 0.5, "num_predict": 100, "num_ctx": 4096}
    )
    assert reply.message.content == PROSE
    assert stack.server.last["temperature"] == 0.5
    assert stack.server.last["max_tokens"] == 100
    assert "num_ctx" not in stack.server.last and "options" not in stack.server.last


@only("vllm-new")
def test_errors_are_read_by_the_client(stack):
    with pytest.raises(ollama.ResponseError) as caught:
        sdk(stack).chat(model=stack.model, messages=USER, tools=[TOOLS[0], TOOLS[0]])
    assert caught.value.status_code == 400 and "`tools[1]`" in caught.value.error
    stack.server.fail("prose", times=None)
    with pytest.raises(ollama.ResponseError) as caught:
        sdk(stack).chat(model=stack.model, messages=USER, format=CITY_SCHEMA)
    assert caught.value.status_code == 502 and "message.content" in caught.value.error
    with pytest.raises(ollama.ResponseError):
        list(sdk(stack).chat(model=stack.model, messages=USER, format=CITY_SCHEMA, stream=True))


@only("vllm-new", "llama-cpp")
@pytest.mark.parametrize("fault", ["cut", "error_event"])
def test_a_stream_that_fails_raises_in_its_middle(stack, fault):
    stack.server.fail(fault, times=None)
    said = []
    with pytest.raises(ollama.ResponseError):
        for line in sdk(stack).chat(model=stack.model, messages=USER, stream=True):
            said.append(line)
    # What fails with the first words is an error of its own.
    assert not any(line.done for line in said)


@only("vllm-new")
def test_curl_need_not_say_that_it_sends_json(stack):
    url = stack.base_url.removesuffix("/v1")
    body = json.dumps({"model": stack.model, "prompt": "Hello", "stream": False})
    form = {"content-type": "application/x-www-form-urlencoded"}
    reply = httpx.post(f"{url}/api/generate", content=body, headers=form)
    assert reply.json()["response"] == PROSE
    # A page of another site is not let in so.
    refused = httpx.post(f"{url}/api/generate", content=body, headers={**form, "origin": "http://evil.example"})
    assert refused.status_code == 415 and isinstance(refused.json()["error"], str)
