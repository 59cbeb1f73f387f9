"""The `anthropic` package, and PydanticAI's model of it, through isogloss to servers of another wire."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from typing import Any

import anthropic
import pytest
from anthropic.lib.tools import BetaAbstractMemoryTool
from pydantic import BaseModel

from conftest import ROOT
from model import PROSE, Turn

# Newer clients, which do not go with the `anthropic` whose types are compared (requirements.txt).
FRAMEWORKS = ROOT / ".venv" / "frameworks" / "bin" / "python"
IS_INNER = bool(os.environ.get("ANTHROPIC_INNER"))

PARIS = {"city": "Paris", "country": '東京 "quoted" \\ \U0001f5fb', "population": 2100000}
TOOL: dict[str, Any] = {
    "name": "record_city",
    "description": "Record a city.",
    "input_schema": {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "country": {"type": "string"},
            "population": {"type": "integer"},
        },
        "required": ["city", "country", "population"],
        "additionalProperties": False,
    },
}
ADD: dict[str, Any] = {
    "name": "add",
    "input_schema": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
        "additionalProperties": False,
    },
}
USER = [{"role": "user", "content": "Where is the Eiffel tower?"}]
NAMED = {"type": "tool", "name": "record_city"}
only = pytest.mark.parametrize("stack", ["vllm-new", "llama-cpp", "plain"], indirect=True)


class City(BaseModel):
    city: str
    country: str
    population: int


def sdk(stack: Any) -> anthropic.Anthropic:
    url = stack.base_url.removesuffix("/v1")
    return anthropic.Anthropic(base_url=url, api_key="test-key", max_retries=0, timeout=30)


def ask(stack: Any, **body: Any) -> dict[str, Any]:
    return {"model": stack.model, "max_tokens": 4096, "messages": USER, **body}


def said(stack: Any, streamed: bool, **body: Any) -> Any:
    """The message, whole or as the SDK puts it together of a stream."""
    if not streamed:
        return sdk(stack).messages.create(**ask(stack, **body))
    with sdk(stack).messages.stream(**ask(stack, **body)) as stream:
        kinds = [event.type for event in stream]
        assert kinds[0] == "message_start" and kinds[-1] == "message_stop"
        return stream.get_final_message()


both = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])


@only
@both
@pytest.mark.parametrize("choice", [{"type": "any"}, NAMED], ids=["any", "tool"])
def test_a_forced_call_is_made(stack, choice, streamed):
    stack.server.reset(Turn(values=PARIS, calls=("record_city",)))
    message = said(stack, streamed, tools=[TOOL, ADD], tool_choice=choice)
    (call,) = message.content
    assert (call.type, call.name, call.input) == ("tool_use", "record_city", PARIS)
    assert call.id
    assert message.stop_reason == "tool_use"
    assert message.usage.output_tokens > 0 and message.usage.input_tokens > 0
    assert stack.server.requests[-1].path == "/v1/chat/completions"
    assert stack.server.visible("record_city")


@only
@both
def test_a_text_is_a_text(stack, streamed):
    message = said(stack, streamed, system="Be kind.")
    (block,) = message.content
    assert (block.type, block.text, message.stop_reason) == ("text", PROSE, "end_turn")
    assert message.role == "assistant" and message.type == "message" and message.model
    assert stack.server.last["messages"][0] == {"role": "system", "content": "Be kind."}
    assert stack.server.last["max_tokens"] == 4096


@only
@both
@pytest.mark.parametrize("calls", [(), ("record_city",)], ids=["text", "call"])
def test_the_model_chooses_under_auto(stack, calls, streamed):
    stack.server.reset(Turn(values=PARIS, calls=calls))
    message = said(stack, streamed, tools=[TOOL])
    kinds = [block.type for block in message.content]
    if calls:
        assert kinds[-1] == "tool_use" and message.content[-1].input == PARIS
        assert message.stop_reason == "tool_use"
    else:
        assert kinds == ["text"] and message.content[0].text == PROSE
        assert message.stop_reason == "end_turn"


@only
@both
def test_a_schema_is_kept(stack, streamed):
    stack.server.reset(Turn(values=PARIS))
    schema = {"type": "json_schema", "schema": TOOL["input_schema"]}
    message = said(stack, streamed, extra_body={"output_config": {"format": schema}})
    (block,) = message.content
    assert json.loads(block.text) == PARIS
    assert message.stop_reason == "end_turn"


@only
def test_parse_gives_an_object(stack):
    if not hasattr(anthropic.Anthropic(api_key="x").messages, "parse"):
        pytest.skip("this anthropic has no parse")
    stack.server.reset(Turn(values=PARIS))
    message = sdk(stack).messages.parse(**ask(stack), output_format=City)
    assert message.parsed_output == City(**PARIS)


@only
def test_a_result_goes_back_to_the_model(stack):
    stack.server.reset(Turn(values=PARIS, calls=("record_city",)), Turn(text="Noted."))
    first = said(stack, streamed=False, tools=[TOOL], tool_choice=NAMED)
    result = {"type": "tool_result", "tool_use_id": first.content[0].id, "content": "ok", "is_error": False}
    content = [block.to_dict() for block in first.content]
    messages = [*USER, {"role": "assistant", "content": content}, {"role": "user", "content": [result]}]
    message = said(stack, streamed=True, tools=[TOOL], messages=messages)
    assert message.content[0].text == "Noted."
    told = [message["role"] for message in stack.server.last["messages"] if message["role"] != "system"]
    assert told == ["user", "assistant", stack.result_role]


class Memory(BetaAbstractMemoryTool):
    """Notes; the SDK hands it the commands that it reads of calls."""

    def __init__(self) -> None:
        super().__init__()
        self.viewed: list[str] = []

    def view(self, command):
        self.viewed.append(command.path)
        return "Likes coffee."

    def create(self, command):
        raise NotImplementedError

    str_replace = insert = delete = rename = clear_all_memory = create


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
def test_the_sdk_carries_out_a_tool_that_it_names_by_its_type(stack, streamed):
    view = Turn(values={"command": "view", "path": "/memories/a.md"}, calls=("memory",))
    stack.server.reset(view, Turn(text="Coffee."))
    memory = Memory()
    messages = [{"role": "user", "content": "What do I like?"}]
    runner = sdk(stack).beta.messages.tool_runner(
        model=stack.model, max_tokens=500, messages=messages, tools=[memory], stream=streamed
    )
    assert runner.until_done().content[0].text == "Coffee."
    assert memory.viewed == ["/memories/a.md"]
    assert "Likes coffee." in json.dumps(stack.server.last["messages"][-1])


@only
def test_what_breaks_the_schema_is_an_error_of_the_sdk(stack):
    stack.server.fail("wrong", times=None)
    schema = {"type": "json_schema", "schema": TOOL["input_schema"]}
    with pytest.raises(anthropic.APIStatusError) as caught:
        said(stack, streamed=False, extra_body={"output_config": {"format": schema}})
    assert caught.value.status_code == 502
    assert caught.value.body["type"] == "error"
    assert caught.value.body["error"]["type"] == "api_error"


@only
def test_an_error_in_a_stream_is_raised(stack):
    stack.server.fail("error_event")
    with pytest.raises(anthropic.APIStatusError) as caught:
        said(stack, streamed=True)
    assert caught.value.body["type"] == "error"


@only
def test_a_mistake_is_told_by_its_field(stack):
    with pytest.raises(anthropic.BadRequestError) as caught:
        said(stack, streamed=False, tools=[TOOL], tool_choice={"type": "tool", "name": "other"})
    assert "tool_choice.name" in caught.value.body["error"]["message"]
    assert caught.value.body["error"]["type"] == "invalid_request_error"
    assert not stack.server.requests


@only
def test_its_key_reaches_a_server_as_a_bearers(stack):
    said(stack, streamed=False)
    headers = {name.lower(): value for name, value in dict(stack.server.requests[-1].headers).items()}
    assert headers["authorization"] == "Bearer test-key"
    assert "x-api-key" not in headers


# --- PydanticAI ----------------------------------------------------------------------------------


def agent(stack: Any, output: Any) -> Any:
    try:
        from pydantic_ai import Agent
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.profiles.anthropic import anthropic_model_profile
        from pydantic_ai.providers.anthropic import AnthropicProvider
    except ImportError as error:
        pytest.skip(str(error))
    url = stack.base_url.removesuffix("/v1")
    client = anthropic.AsyncAnthropic(base_url=url, api_key="test-key", max_retries=0, timeout=30)
    provider = AnthropicProvider(anthropic_client=client)
    model = AnthropicModel(stack.model, provider=provider, profile=anthropic_model_profile("claude-sonnet-4-5"))
    # Its default is more than the scripted servers have room for.
    return Agent(model, output_type=output, model_settings={"max_tokens": 1024})


@only
def test_pydantic_ai_gets_its_output_of_a_tool(stack):
    found = agent(stack, City)
    stack.server.reset(Turn(values=PARIS, calls=("final_result",)))
    assert found.run_sync("Where is the Eiffel tower?").output == City(**PARIS)


@only
def test_pydantic_ai_gets_its_native_output(stack):
    from pydantic_ai import NativeOutput

    found = agent(stack, NativeOutput(City))
    stack.server.reset(Turn(values=PARIS))
    assert found.run_sync("Where is the Eiffel tower?").output == City(**PARIS)


@only
def test_pydantic_ai_streams_its_output(stack):
    found = agent(stack, City)
    stack.server.reset(Turn(values=PARIS, calls=("final_result",)))

    async def run() -> City:
        async with found.run_stream("Where is the Eiffel tower?") as result:
            return await result.get_output()

    assert asyncio.run(run()) == City(**PARIS)


@pytest.mark.skipif(IS_INNER, reason="these are the newer clients")
def test_the_newer_clients_get_the_same(binary):
    if not FRAMEWORKS.exists():
        pytest.skip("tests/clients/run installs them")
    command = [FRAMEWORKS, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    environment = {**os.environ, "ANTHROPIC_INNER": "1", "ISOGLOSS_BIN": str(binary)}
    done = subprocess.run(command, env=environment, text=True, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    # This test alone.
    assert ", 1 skipped" in done.stdout.splitlines()[-1], done.stdout[-2000:]
