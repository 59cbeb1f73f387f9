"""Google's Interactions API, as `google-genai` speaks it, before servers that do not know it."""

from __future__ import annotations

import pytest
from google import genai
from google.genai import types
from google.genai._interactions import BadRequestError, NotFoundError

from helpers import IN_PARIS, PARIS, City, only
from model import PROSE, Turn

SERVERS = only("vllm-new", "llama-cpp", "plain")
STREAMED = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
PROMPT = "Where is the Eiffel tower?"
WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "Get the weather of a city",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}},
        "required": ["city", "unit"],
    },
}
FORMAT = {"type": "text", "mime_type": "application/json", "schema": City.model_json_schema()}


@pytest.fixture
def asking(stack):
    options = types.HttpOptions(base_url=stack.base_url.removesuffix("/v1"), timeout=30_000)
    with genai.Client(api_key="test-key", http_options=options) as client:
        yield client.interactions


def folded(events) -> tuple[list[dict], object]:
    """The steps of a stream, and the interaction that it ended with."""
    steps, last = [], None
    for event in events:
        match event.event_type:
            case "step.start":
                assert event.index == len(steps)
                step = event.step
                steps.append({"type": step.type, "text": "", "name": getattr(step, "name", None)})
            case "step.delta":
                delta = event.delta
                more = getattr(delta, "text", None) or getattr(delta, "arguments", None)
                steps[event.index]["text"] += more or ""
            case "interaction.completed":
                last = event.interaction
    return steps, last


def text_of(asking, streamed: bool, **fields) -> tuple[str, object]:
    reply = asking.create(stream=streamed, **fields)
    if not streamed:
        return reply.output_text, reply
    steps, last = folded(reply)
    return "".join(step["text"] for step in steps if step["type"] == "model_output"), last


@SERVERS
@STREAMED
def test_text_and_counts_come(stack, asking, streamed):
    text, last = text_of(asking, streamed, model=stack.model, input=PROMPT)
    assert text == PROSE
    assert last.status == "completed"
    assert last.usage.total_tokens == stack.server.last_usage["total_tokens"]
    headers = {name.lower(): value for name, value in dict(stack.server.requests[-1].headers).items()}
    assert headers["authorization"] == "Bearer test-key"


@SERVERS
@STREAMED
@pytest.mark.parametrize("listed", [False, True], ids=["one", "list"])
def test_a_schema_is_kept(stack, asking, streamed, listed):
    stack.server.reset(Turn(values=PARIS))
    form = [FORMAT] if listed else FORMAT
    text, _ = text_of(asking, streamed, model=stack.model, input=PROMPT, response_format=form)
    assert City.model_validate_json(text) == City(**PARIS)


@SERVERS
@STREAMED
@pytest.mark.parametrize("choice", ["any", {"allowed_tools": {"mode": "any", "tools": ["get_weather"]}}], ids=["any", "named"])
def test_a_forced_call_is_made_and_its_result_goes_back(stack, asking, streamed, choice):
    stack.server.reset(IN_PARIS)
    asked = {"model": stack.model, "tools": [WEATHER]}
    reply = asking.create(input=PROMPT, stream=streamed, generation_config={"tool_choice": choice}, **asked)
    if streamed:
        steps, last = folded(reply)
        (call,) = [step for step in steps if step["type"] == "function_call"]
        assert types.FunctionCall(name=call["name"]).name == "get_weather"
        assert '"Paris"' in call["text"]
    else:
        last = reply
        (call,) = [step for step in reply.steps if step.type == "function_call"]
        assert (call.name, call.arguments) == ("get_weather", {"city": "Paris", "unit": "celsius"})
    assert last.status == "requires_action"
    # What was asked and called is known by the interaction's id.
    stored = asking.get(last.id)
    (call,) = [step for step in stored.steps if step.type == "function_call"]
    stack.server.reset(Turn(text="Warm."))
    result = {"type": "function_result", "call_id": call.id, "name": call.name, "result": "21"}
    text, after = text_of(asking, streamed, input=[result], previous_interaction_id=last.id, **asked)
    assert text == "Warm."
    roles = [message["role"] for message in stack.server.last["messages"]]
    assert roles[-3:] == ["user", "assistant", stack.result_role]
    asking.delete(last.id)
    with pytest.raises(NotFoundError):
        asking.create(model=stack.model, input="And?", previous_interaction_id=last.id)


@SERVERS
def test_a_conversation_of_its_own_steps_goes_back(stack, asking):
    stack.server.reset(Turn(text="Warm."))
    steps = [
        {"type": "user_input", "content": [{"type": "text", "text": "Weather?"}]},
        {"type": "function_call", "id": "c1", "name": "get_weather", "arguments": {"city": "Paris", "unit": "celsius"}},
        {"type": "function_result", "call_id": "c1", "name": "get_weather", "result": [{"type": "text", "text": "21"}]},
    ]
    reply = asking.create(model=stack.model, input=steps, tools=[WEATHER], store=False)
    assert reply.output_text == "Warm."
    with pytest.raises(NotFoundError):
        asking.get(reply.id)


@SERVERS
@STREAMED
def test_what_breaks_the_schema_is_an_error(stack, asking, streamed):
    stack.server.reset(Turn(values=PARIS))
    stack.server.fail("wrong", times=None)
    with pytest.raises(Exception) as caught:
        text, last = text_of(asking, streamed, model=stack.model, input=PROMPT, response_format=FORMAT)
        # A stream that had begun ends with its error, and with no answer.
        assert last is not None, text
    assert "output_text" in str(caught.value) or streamed


@SERVERS
@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"generation_config": {"tool_choice": "any"}}, "generation_config.tool_choice"),
        ({"background": True}, "background"),
        ({"response_format": {"type": "image"}}, "response_format"),
    ],
)
def test_what_cannot_be_is_refused_by_its_name(stack, asking, more, field):
    with pytest.raises(BadRequestError) as caught:
        asking.create(model=stack.model, input=PROMPT, **more)
    assert field in str(caught.value)
    assert not stack.server.requests
