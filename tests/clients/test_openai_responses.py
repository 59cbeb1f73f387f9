"""The `openai` package's Responses, and agents that speak them, through isogloss."""

from __future__ import annotations

import asyncio
import json

import agents
import openai
import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, ToolOutput
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

from helpers import CITY_SCHEMA, IN_PARIS, PARIS, City, base_url, only, sdk
from model import PROSE, Turn

FLAT = [
    {
        "type": "function",
        "name": "get_weather",
        "description": "Get the weather of a city",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}},
            "required": ["city", "unit"],
            "additionalProperties": False,
        },
    },
    {
        "type": "function",
        "name": "add_numbers",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
            "additionalProperties": False,
        },
    },
]
FORMAT = {"type": "json_schema", "name": "city", "strict": True, "schema": CITY_SCHEMA}


def test_text(stack):
    reply = sdk(stack).responses.create(model=stack.model, input="Hello", instructions="Be brief.")
    assert reply.output_text == PROSE
    assert (reply.status, reply.instructions, reply.store) == ("completed", "Be brief.", True)
    assert reply.usage.output_tokens == stack.server.last_usage["completion_tokens"]
    assert [message["role"] for message in stack.server.last["messages"]] == ["system", "user"]


@pytest.mark.parametrize("choice", ["required", {"type": "function", "name": "get_weather"}], ids=["required", "named"])
def test_a_forced_call_is_made(stack, choice):
    stack.server.reset(IN_PARIS)
    reply = sdk(stack).responses.create(model=stack.model, input="Weather?", tools=FLAT, tool_choice=choice)
    (call,) = reply.output
    assert (call.type, call.name, call.status) == ("function_call", "get_weather", "completed")
    assert json.loads(call.arguments) == {"city": "Paris", "unit": "celsius"}
    assert call.call_id and call.id != call.call_id


def test_a_streamed_call_is_made(stack):
    stack.server.reset(IN_PARIS)
    with sdk(stack).responses.stream(
        model=stack.model, input="Weather?", tools=FLAT, tool_choice="required"
    ) as stream:
        events = list(stream)
        reply = stream.get_final_response()
    (call,) = reply.output
    assert call.parsed_arguments == {"city": "Paris", "unit": "celsius"}
    deltas = [event for event in events if event.type == "response.function_call_arguments.delta"]
    assert "".join(event.delta for event in deltas) == call.arguments
    assert deltas[-1].snapshot == call.arguments
    assert [event.sequence_number for event in events] == sorted({event.sequence_number for event in events})


def test_a_schema_is_kept(stack):
    stack.server.reset(Turn(values=PARIS))
    reply = sdk(stack).responses.parse(model=stack.model, input="Where?", text_format=City)
    assert reply.output_parsed == City(**PARIS)


def test_a_streamed_schema_is_kept(stack):
    stack.server.reset(Turn(values=PARIS))
    with sdk(stack).responses.stream(model=stack.model, input="Where?", text_format=City) as stream:
        text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        reply = stream.get_final_response()
    assert reply.output_parsed == City(**PARIS)
    assert text == reply.output_text


@pytest.mark.parametrize("calls", [(), ("get_weather",)], ids=["answer", "call"])
def test_tools_beside_a_schema(stack, calls):
    stack.server.reset(Turn(values={**PARIS, "unit": "celsius"}, calls=calls))
    reply = sdk(stack).responses.create(model=stack.model, input="Where?", tools=FLAT, text={"format": FORMAT})
    (item,) = reply.output
    if calls:
        assert (item.type, item.name) == ("function_call", "get_weather")
    else:
        assert json.loads(reply.output_text) == PARIS


@only("vllm-new", "vllm-old", "sglang", "llama-cpp")
def test_a_custom_tool_is_called(stack):
    """The scripted model writes such a text where the server holds it to one."""
    stack.server.reset(Turn(text="42"))
    grammar = {"type": "grammar", "syntax": "regex", "definition": "[0-9]+"}
    tool = {"type": "custom", "name": "number", "format": grammar}
    reply = sdk(stack).responses.create(model=stack.model, input="6*7", tools=[tool], tool_choice="required")
    (call,) = reply.output
    assert (call.type, call.name) == ("custom_tool_call", "number")
    assert call.input.isdigit()


def test_a_conversation_goes_on(stack):
    stack.server.reset(IN_PARIS, Turn(text="20 degrees."))
    client = sdk(stack)
    asked = [{"role": "user", "content": "Weather?"}]
    reply = client.responses.create(model=stack.model, input=asked, tools=FLAT, tool_choice="required")
    (call,) = reply.output
    answer = {"type": "function_call_output", "call_id": call.call_id, "output": "20"}
    again = client.responses.create(model=stack.model, input=[*asked, *reply.output, answer])
    assert again.output_text == "20 degrees."
    messages = stack.server.last["messages"]
    messages = [message for message in messages if message["role"] != "system"]
    assert [message["role"] for message in messages] == ["user", "assistant", stack.result_role]
    assert "20" in messages[2]["content"]
    if stack.result_role == "tool":
        assert messages[1]["tool_calls"][0]["id"] == messages[2]["tool_call_id"] == call.call_id


def test_what_is_not_stored_is_refused_by_name(stack):
    with pytest.raises(openai.BadRequestError) as caught:
        sdk(stack).responses.create(model=stack.model, input="again", previous_response_id="resp_1")
    assert (caught.value.param, caught.value.code) == ("previous_response_id", "previous_response_not_found")
    assert "`input`" in caught.value.message
    assert not stack.server.requests


def test_a_violation_is_an_error(stack):
    stack.server.reset()
    stack.server.fail("prose", times=None)
    with pytest.raises(openai.APIStatusError) as caught:
        sdk(stack).responses.create(model=stack.model, input="Where?", text={"format": FORMAT})
    assert caught.value.code == "constraint_violated"


def test_a_stream_that_is_cut_raises(stack):
    stack.server.reset(Turn(values=PARIS))
    stack.server.fail("cut", times=None)
    with pytest.raises(openai.APIError, match="not the whole answer"):
        for _ in sdk(stack).responses.create(model=stack.model, input="Hello", stream=True):
            pass


def agent_model(stack) -> OpenAIResponsesModel:
    client = openai.AsyncOpenAI(base_url=base_url(stack), api_key="test-key", max_retries=0, timeout=30)
    return OpenAIResponsesModel(stack.model, provider=OpenAIProvider(openai_client=client))


def test_pydantic_ai_gets_its_output_from_a_tool(stack):
    stack.server.reset(Turn(values=PARIS, calls=("final_result",)))
    agent = Agent(agent_model(stack), output_type=ToolOutput(City))
    result = agent.run_sync("Where?")
    assert result.output == City(**PARIS)
    assert len(stack.server.requests) == 1


def test_openai_agents_get_their_output(stack):
    agents.set_tracing_disabled(True)

    class Place(BaseModel):
        city: str
        country: str
        population: int

    stack.server.reset(Turn(values=PARIS))
    client = openai.AsyncOpenAI(base_url=base_url(stack), api_key="test-key", max_retries=0, timeout=30)
    model = agents.OpenAIResponsesModel(stack.model, client)
    agent = agents.Agent("reader", model=model, output_type=Place)
    assert agents.Runner.run_sync(agent, "Where?").final_output == Place(**PARIS)


@pytest.fixture(scope="module")
def storing(stacks):
    """A proxy that keeps replies."""
    running = stacks.start("vllm-new", "--responses-store", "memory")
    yield running
    assert running.stop() == 0


def test_a_stored_conversation_goes_on_by_its_id(storing):
    storing.server.reset()
    client = sdk(storing)
    first = client.responses.create(model=storing.model, input="one", instructions="Be brief.")
    assert first.store is True and first.completed_at >= first.created_at
    with client.responses.stream(
        model=storing.model, input=[{"role": "user", "content": "two"}], previous_response_id=first.id
    ) as stream:
        second = stream.until_done().get_final_response()
    assert second.previous_response_id == first.id
    said = [(message["role"], text(message["content"])) for message in storing.server.last["messages"]]
    assert said == [("user", "one"), ("assistant", first.output_text), ("user", "two")]
    # What the stream's helper folded is what is kept.
    kept = client.responses.retrieve(second.id)
    assert kept.model_dump(exclude={"output"}) == second.model_dump(exclude={"output"})
    assert kept.output_text == second.output_text
    assert [item.id for item in kept.output] == [item.id for item in second.output]
    items = list(client.responses.input_items.list(second.id, order="asc", limit=1))
    assert [item.content[0].text for item in items] == ["two"]
    client.responses.delete(second.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(second.id)
    # The first is as it was, for its key alone.
    assert client.responses.retrieve(first.id).output_text == first.output_text
    with pytest.raises(openai.NotFoundError):
        client.with_options(api_key="another").responses.retrieve(first.id)


def test_calls_and_their_results_are_stored(storing):
    storing.server.reset(IN_PARIS, Turn())
    client = sdk(storing)
    asked = client.responses.create(model=storing.model, input="Weather?", tools=FLAT, tool_choice="required")
    (call,) = asked.output
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
    reply = client.responses.create(model=storing.model, previous_response_id=asked.id, input=[result])
    assert reply.status == "completed"
    roles = [message["role"] for message in storing.server.last["messages"]]
    assert roles == ["user", "assistant", "tool"]
    assert storing.server.last["messages"][1]["tool_calls"][0]["id"] == call.call_id


def text(content):
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


class Desk:
    """Carries out what it is told, and remembers it."""

    def __init__(self) -> None:
        self.did: list[object] = []

    def run(self, request: agents.ShellCommandRequest) -> agents.ShellResult:
        self.did.append(request.data.action.commands)
        outcome = agents.ShellCallOutcome(type="exit", exit_code=0)
        return agents.ShellResult(output=[agents.ShellCommandOutput(stdout="a.txt\n", outcome=outcome)])

    def run_one(self, request: agents.LocalShellCommandRequest) -> str:
        self.did.append(request.data.action.command)
        return "a.txt"

    def create_file(self, operation: agents.ApplyPatchOperation) -> agents.ApplyPatchResult:
        self.did.append((operation.type, operation.path, operation.diff))
        return agents.ApplyPatchResult(output="made")

    update_file = delete_file = create_file


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
def test_openai_agents_carry_out_their_own_tools(stack, streams):
    agents.set_tracing_disabled(True)
    desk = Desk()
    tools = [agents.ShellTool(executor=desk.run), agents.ApplyPatchTool(editor=desk)]
    stack.server.reset(
        Turn(values={"commands": ["ls"]}, calls=("shell",)),
        Turn(values={"type": "create_file", "path": "b.txt", "diff": "+b"}, calls=("apply_patch",)),
        Turn(values={"type": "delete_file", "path": "a.txt", "diff": ""}, calls=("apply_patch",)),
        Turn(text="Done."),
    )
    answer = work(stack, tools, streams)
    assert desk.did == [["ls"], ("create_file", "b.txt", "+b"), ("delete_file", "a.txt", None)]
    assert answer == "Done."
    listed, made, _ = results(stack)
    assert "a.txt" in listed and "made" in made


def test_openai_agents_run_a_local_shell(stack):
    agents.set_tracing_disabled(True)
    desk = Desk()
    stack.server.reset(Turn(values={"command": ["ls", "-l"]}, calls=("local_shell",)), Turn(text="Done."))
    assert work(stack, [agents.LocalShellTool(executor=desk.run_one)], streams=False) == "Done."
    assert desk.did == [["ls", "-l"]]
    (listed,) = results(stack)
    assert "a.txt" in listed


def results(stack):
    """What the model was told of its calls; a server that renders no tools is told it as text."""
    said = [message["content"] for message in stack.server.last["messages"] if message["role"] in ("tool", "user")]
    return said[1:]


def work(stack, tools, streams):
    """What an agent with these tools answers in the end."""
    client = openai.AsyncOpenAI(base_url=base_url(stack), api_key="test-key", max_retries=0, timeout=30)
    model = agents.OpenAIResponsesModel(stack.model, client)
    settings = agents.ModelSettings(tool_choice="required")
    agent = agents.Agent("desk", model=model, tools=tools, model_settings=settings)
    if not streams:
        return agents.Runner.run_sync(agent, "Tidy up.").final_output

    async def follow():
        run = agents.Runner.run_streamed(agent, "Tidy up.")
        async for _ in run.stream_events():
            pass
        return run.final_output

    return asyncio.run(follow())
