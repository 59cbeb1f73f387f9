"""The `anthropic` package and what is not a reply alone: thoughts that come back, stop sequences, counts of tokens."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import anthropic
import httpx
import pytest

from dialect_vllm import VllmNew
from model import Turn
from test_anthropic import ADD, TOOL, USER, ask, both, said, sdk
from wire import Recorded, Response, Stream, as_json, compact

# Who does not ask for thoughts is told none.
THINKS = {"thinking": {"type": "adaptive"}}
THOUGHT = 'Who asks? "東京" \U0001f5fb'


class Thinking(VllmNew):
    """A vLLM that thinks, stops where it is told to, and counts the letters of what it would be sent."""

    def handle(self, request: Recorded) -> Response | Stream:
        if request.path == "/tokenize":
            self.others.append(request)
            body = json.loads(request.raw)
            assert set(body) <= {"model", "messages", "tools", "chat_template_kwargs"}, body
            return as_json(200, {"count": len(request.raw), "max_model_len": 4096, "tokens": [1]})
        return super().handle(request)

    def chat(self, body: dict) -> Response | Stream:
        stop = body.get("stop", [None])[0]
        end = {"index": 0, "finish_reason": "stop", "stop_reason": stop}
        usage = {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}
        head = {"id": "chatcmpl-1", "created": 1, "model": self.model}
        if not body.get("stream"):
            message = {"role": "assistant", "reasoning": THOUGHT, "content": "Done."}
            choices = [{**end, "message": message}]
            return as_json(200, {**head, "object": "chat.completion", "choices": choices, "usage": usage})
        deltas = [{"role": "assistant", "content": ""}]
        deltas += [{"reasoning": letter} for letter in THOUGHT]
        deltas += [{"content": letter} for letter in "Done."]
        choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
        choices.append({**end, "delta": {}})
        chunks = [{**head, "object": "chat.completion.chunk", "choices": [choice]} for choice in choices]
        chunks.append({**head, "object": "chat.completion.chunk", "choices": [], "usage": usage})
        return Stream([*(compact(chunk) for chunk in chunks), "[DONE]"])


@pytest.fixture
def thinker(stacks):
    """A process of its own each: its key is."""
    started = []

    def start(*arguments: str) -> Any:
        started.append(stacks.start("vllm-new", *arguments, server=Thinking()))
        return started[-1]

    yield start
    for stack in started:
        assert stack.stop() == 0
        assert not stack.server.crashes, stack.server.crashes[0]


def after(message: Any) -> dict[str, Any]:
    """The conversation with this message in it, as agents send it back."""
    content = [block.to_dict() for block in message.content]
    return {**THINKS, "messages": [*USER, {"role": "assistant", "content": content}, {"role": "user", "content": "And?"}]}


def told(stack: Any) -> dict:
    """What the server was told of the model's turn."""
    return next(message for message in stack.server.last["messages"] if message["role"] == "assistant")


@both
def test_a_thought_comes_signed_and_goes_back_to_its_server(thinker, streamed):
    stack = thinker()
    assert [block.type for block in said(stack, streamed).content] == ["text"]
    message = said(stack, streamed, **THINKS)
    assert [block.type for block in message.content] == ["thinking", "text"]
    thought = message.content[0]
    assert thought.thinking == THOUGHT and thought.signature
    said(stack, streamed, **after(message))
    assert told(stack) == {"role": "assistant", "content": "Done.", "reasoning": THOUGHT}
    # What is changed is no thought of the model's any more, and no error either.
    message.content[0].thinking = THOUGHT + "!"
    said(stack, streamed, **after(message))
    assert told(stack) == {"role": "assistant", "content": "Done."}


def test_replicas_with_one_key_know_each_others_thoughts(thinker, tmp_path: Path):
    (tmp_path / "key").write_text("a secret of many letters\n")
    config = tmp_path / "isogloss.toml"
    config.write_text('thinking_key_file = "key"\n')
    one, other, stranger = thinker("--config", str(config)), thinker("--config", str(config)), thinker()
    message = said(one, streamed=False, **THINKS)
    said(other, streamed=False, **after(message))
    assert told(other)["reasoning"] == THOUGHT
    raw = sdk(stranger).messages.with_raw_response.create(**ask(stranger, **after(message)))
    assert told(stranger) == {"role": "assistant", "content": "Done."}
    assert raw.headers["x-isogloss-losses"] == "1; /messages/1/content/0"


@both
def test_the_sequence_that_ended_it_is_told(thinker, streamed):
    stack = thinker()
    message = said(stack, streamed, stop_sequences=["HALT"])
    assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", "HALT")
    message = said(stack, streamed)
    assert (message.stop_reason, message.stop_sequence) == ("end_turn", None)


def test_the_streams_helpers_tell_thought_and_text(thinker):
    stack = thinker()
    with sdk(stack).messages.stream(**ask(stack, **THINKS)) as stream:
        events = list(stream)
        assert stream.get_final_text() == "Done."
    kinds = [event.type for event in events]
    assert "thinking" in kinds and "signature" in kinds and "text" in kinds
    assert "".join(event.thinking for event in events if event.type == "thinking") == THOUGHT
    client = anthropic.AsyncAnthropic(base_url=str(sdk(stack).base_url), api_key="k", max_retries=0)

    async def letters() -> str:
        async with client.messages.stream(**ask(stack)) as stream:
            return "".join([piece async for piece in stream.text_stream])

    assert asyncio.run(letters()) == "Done."


def test_tokens_are_counted_by_the_server(thinker):
    stack = thinker()
    count = sdk(stack).messages.count_tokens
    few = count(model=stack.model, messages=USER).input_tokens
    assert few == len(stack.server.others[-1].raw)
    more = count(model=stack.model, messages=USER, tools=[TOOL, ADD], system="Be brief.").input_tokens
    assert more == len(stack.server.others[-1].raw) > few + 100
    body = json.loads(stack.server.others[-1].raw)
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    raw = sdk(stack).messages.with_raw_response.count_tokens(model=stack.model, messages=USER)
    assert raw.headers["x-isogloss-tokens"] == "counted"


@pytest.mark.parametrize("stack", ["plain", "vllm-old"], indirect=True)
def test_tokens_are_estimated_where_the_server_does_not_count(stack):
    raw = sdk(stack).messages.with_raw_response.count_tokens(model=stack.model, messages=USER, tools=[TOOL])
    assert raw.headers["x-isogloss-tokens"] == "estimated"
    assert 40 < raw.parse().input_tokens < 160
    with pytest.raises(anthropic.BadRequestError) as caught:
        sdk(stack).messages.count_tokens(model=stack.model, messages=[{"role": "nobody", "content": "x"}])
    assert "messages[0].role" in caught.value.body["error"]["message"]
    assert not stack.server.requests


@pytest.mark.parametrize("stack", ["vllm-new", "plain"], indirect=True)
def test_a_tool_runner_runs_its_tool(stack):
    if not hasattr(anthropic, "beta_tool"):
        pytest.skip("this anthropic has no tool runner")

    @anthropic.beta_tool
    def add(a: int, b: int) -> str:
        """Adds.

        Args:
            a: one
            b: the other
        """
        return str(a + b)

    stack.server.reset(Turn(values={"a": 19, "b": 23}, calls=("add",)), Turn(text="Noted."))
    choice = {"type": "auto"}
    runner = sdk(stack).beta.messages.tool_runner(**ask(stack, tools=[add], tool_choice=choice), max_iterations=3)
    assert runner.until_done().content[0].text == "Noted."
    result = stack.server.last["messages"][-1]
    assert result["role"] == stack.result_role and "42" in result["content"]


@pytest.mark.parametrize("stack", ["vllm-new"], indirect=True)
def test_somebody_is_there(stack):
    before = len(stack.server.others)
    assert httpx.head(stack.base_url.removesuffix("/v1") + "/").status_code == 200
    assert httpx.head(f"{stack.base_url}/messages").status_code == 200
    assert len(stack.server.others) == before
