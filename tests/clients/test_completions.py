"""Legacy completions of the `openai` package through isogloss."""

from __future__ import annotations

import json

import openai
import pytest

from helpers import CITY_SCHEMA, PARIS, only, sdk
from model import PROSE, Turn

SERVERS = only("vllm-new", "vllm-old", "llama-cpp")


def complete(stack, **body):
    return sdk(stack).completions.create(model=stack.model, prompt="The city is ", **body)


@SERVERS
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
def test_a_schema_is_kept_to(stack, streamed):
    stack.server.reset(Turn(values=PARIS))
    reply = complete(stack, stream=streamed, extra_body={"guided_json": CITY_SCHEMA})
    chunks = list(reply) if streamed else [reply]
    assert json.loads("".join(chunk.choices[0].text for chunk in chunks)) == PARIS
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert all(chunk.object == "text_completion" for chunk in chunks)
    assert stack.server.requests[-1].path == "/v1/completions"
    assert "messages" not in stack.server.last and stack.server.last["prompt"] == "The city is "


@SERVERS
def test_a_regex_in_anothers_words_is_kept_to(stack):
    reply = complete(stack, extra_body={"structured_outputs": {"regex": "[ab]{2}"}})
    assert set(reply.choices[0].text) <= {"a", "b"} and len(reply.choices[0].text) == 2


@SERVERS
def test_what_breaks_it_is_an_error(stack):
    stack.server.fail("prose", times=None)
    with pytest.raises(openai.APIStatusError) as caught:
        complete(stack, extra_body={"guided_json": CITY_SCHEMA})
    assert caught.value.status_code == 502
    assert caught.value.body["param"] == "choices[0].text"


@only("vllm-new", "plain")
def test_what_demands_nothing_is_untouched(stack):
    reply = complete(stack, max_tokens=1000)
    assert reply.choices[0].text == PROSE
    assert stack.server.last == {"model": stack.model, "prompt": "The city is ", "max_tokens": 1000}


@only("plain")
def test_a_server_that_constrains_nothing_is_not_asked(stack):
    with pytest.raises(openai.BadRequestError) as caught:
        complete(stack, extra_body={"guided_regex": "a"})
    assert caught.value.body["param"] == "guided_regex"
    assert not stack.server.requests
