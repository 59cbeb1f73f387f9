"""The `google-genai` package and PydanticAI's GoogleModel through isogloss, before servers that know neither."""

from __future__ import annotations

import json

import httpx
import pytest
from google import genai
from google.genai import errors, types
from pydantic_ai import Agent
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.providers.google import GoogleProvider

from helpers import IN_PARIS, PARIS, City, only
from model import PROSE, Turn

SERVERS = only("vllm-new", "llama-cpp", "plain")
PROMPT = "Where is the Eiffel tower?"
WEATHER = types.FunctionDeclaration(
    name="get_weather",
    description="Get the weather of a city",
    parameters=types.Schema(
        type=types.Type.OBJECT,
        properties={
            "city": types.Schema(type=types.Type.STRING),
            "unit": types.Schema(type=types.Type.STRING, enum=["celsius", "fahrenheit"]),
        },
        required=["city", "unit"],
        property_ordering=["city", "unit"],
    ),
)
ADD = types.FunctionDeclaration(
    name="add_numbers",
    description="Add two numbers",
    parameters_json_schema={
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
)


def root(stack) -> str:
    return stack.base_url.removesuffix("/v1")


def client(stack, version: str = "v1beta") -> genai.Client:
    options = types.HttpOptions(base_url=root(stack), api_version=version, timeout=30_000)
    return genai.Client(api_key="test-key", http_options=options)


def calling(mode: str, *names: str, tools=(WEATHER, ADD)) -> types.GenerateContentConfig:
    return types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=list(tools))],
        tool_config=types.ToolConfig(
            function_calling_config=types.FunctionCallingConfig(
                mode=mode, allowed_function_names=list(names) or None
            )
        ),
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )


def calls(replies) -> list[tuple[str, dict]]:
    return [(call.name, call.args) for reply in replies for call in reply.function_calls or []]


def ask(stack, streamed: bool, config=None, **more):
    with client(stack, **more) as asking:
        fields = {"model": stack.model, "contents": PROMPT, "config": config}
        if streamed:
            return list(asking.models.generate_content_stream(**fields))
        return [asking.models.generate_content(**fields)]


STREAMED = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])


@SERVERS
@STREAMED
@pytest.mark.parametrize("version", ["v1", "v1beta"])
def test_text_and_counts_come(stack, streamed, version):
    replies = ask(stack, streamed, version=version)
    assert "".join(reply.text or "" for reply in replies) == PROSE
    assert len(replies) > 3 or not streamed
    last = replies[-1]
    assert last.candidates[0].finish_reason == types.FinishReason.STOP
    assert last.usage_metadata.total_token_count == stack.server.last_usage["total_tokens"]
    assert last.model_version and last.response_id
    # The key goes where the server looks for it, and nowhere else.
    headers = {name.lower(): value for name, value in dict(stack.server.requests[-1].headers).items()}
    assert headers["authorization"] == "Bearer test-key"
    assert "x-goog-api-key" not in headers


@SERVERS
@STREAMED
@pytest.mark.parametrize("names", [("get_weather",), ("get_weather", "add_numbers"), ()])
def test_a_forced_call_is_made(stack, streamed, names):
    stack.server.reset(IN_PARIS)
    replies = ask(stack, streamed, calling("ANY", *names))
    assert calls(replies) == [("get_weather", {"city": "Paris", "unit": "celsius"})]
    assert replies[-1].candidates[0].finish_reason == types.FinishReason.STOP


@SERVERS
@STREAMED
@pytest.mark.parametrize("called", [(), ("get_weather",)], ids=["text", "call"])
def test_the_model_chooses_under_auto(stack, streamed, called):
    stack.server.reset(Turn(values=IN_PARIS.values, calls=called))
    replies = ask(stack, streamed, calling("AUTO"))
    if called:
        assert calls(replies) == [("get_weather", {"city": "Paris", "unit": "celsius"})]
    else:
        assert "".join(reply.text or "" for reply in replies) == PROSE


@SERVERS
def test_results_go_back(stack):
    stack.server.reset(Turn(text="Warm."))
    config = calling("NONE")
    call = types.Part.from_function_call(name="get_weather", args={"city": "Paris", "unit": "celsius"})
    result = types.Part.from_function_response(name="get_weather", response={"result": "21"})
    contents = [
        types.Content(role="user", parts=[types.Part(text="Weather?")]),
        types.Content(role="model", parts=[call]),
        types.Content(role="user", parts=[result]),
    ]
    with client(stack) as asking:
        reply = asking.models.generate_content(model=stack.model, contents=contents, config=config)
    assert reply.text == "Warm."
    assert [message["role"] for message in stack.server.last["messages"]][-3:] == ["user", "assistant", stack.result_role]


@SERVERS
@STREAMED
def test_a_schema_is_kept(stack, streamed):
    stack.server.reset(Turn(values=PARIS))
    config = types.GenerateContentConfig(response_mime_type="application/json", response_schema=City)
    replies = ask(stack, streamed, config)
    text = "".join(reply.text or "" for reply in replies)
    assert City.model_validate_json(text) == City(**PARIS)
    if not streamed:
        assert replies[0].parsed == City(**PARIS)


@SERVERS
def test_what_breaks_the_schema_is_an_error_of_googles(stack):
    stack.server.reset(Turn(values=PARIS))
    stack.server.fail("wrong", times=None)
    config = types.GenerateContentConfig(response_mime_type="application/json", response_schema=City)
    with pytest.raises(errors.ServerError) as caught:
        ask(stack, False, config)
    assert (caught.value.code, caught.value.status) == (502, "INTERNAL")
    assert "candidates[0].content.parts" in caught.value.message


@SERVERS
def test_a_stream_that_breaks_off_raises(stack):
    stack.server.fail("cut", times=None)
    with pytest.raises(errors.APIError):
        ask(stack, True)


@SERVERS
def test_what_cannot_be_is_refused_by_its_name(stack):
    config = calling("ANY", tools=())
    with pytest.raises(errors.ClientError) as caught:
        ask(stack, False, config)
    assert (caught.value.code, caught.value.status) == (400, "INVALID_ARGUMENT")
    assert "toolConfig.functionCallingConfig.mode" in caught.value.message
    assert not stack.server.requests


@SERVERS
def test_a_stream_without_sse_is_a_list_and_a_key_stays_out_of_the_url(stack):
    body = {"contents": {"parts": {"text": PROMPT}}}
    url = f"{root(stack)}/v1beta/models/{stack.model}:streamGenerateContent?key=secret"
    with httpx.stream("POST", url, json=body) as reply:
        assert reply.headers["content-type"].startswith("application/json")
        reply.read()
        parts = [part for item in reply.json() for part in item["candidates"][0]["content"]["parts"]]
    assert "".join(part["text"] for part in parts) == PROSE
    assert "secret" not in stack.server.requests[-1].path


@SERVERS
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
def test_pydantic_ai_gets_its_output(stack, streamed):
    stack.server.reset(Turn(values=PARIS, calls=("final_result",)))
    provider = GoogleProvider(api_key="test-key", base_url=root(stack))
    agent = Agent(GoogleModel(stack.model, provider=provider), output_type=City)
    if streamed:
        reply = agent.run_stream_sync(PROMPT).get_output()
    else:
        reply = agent.run_sync(PROMPT).output
    assert reply == City(**PARIS)


@SERVERS
@STREAMED
def test_validated_calls_are_the_models_choice_among_those_allowed(stack, streamed):
    stack.server.reset(Turn(values=IN_PARIS.values, calls=("get_weather",)))
    replies = ask(stack, streamed, calling("VALIDATED", "get_weather"))
    assert calls(replies) == [("get_weather", {"city": "Paris", "unit": "celsius"})]
    stack.server.reset(Turn(text="No call."))
    replies = ask(stack, streamed, calling("VALIDATED", "get_weather"))
    assert "".join(reply.text or "" for reply in replies) == "No call."


@SERVERS
def test_the_corners_of_the_openapi_subset_are_kept(stack):
    stack.server.reset(Turn(values={"unit": None, "size": 7, "mood": "calm"}))
    schema = types.Schema(
        type=types.Type.OBJECT,
        properties={
            "mood": types.Schema(type=types.Type.STRING, format="enum", enum=["calm", "wild"]),
            "unit": types.Schema(type=types.Type.STRING, nullable=True),
            "size": types.Schema(any_of=[types.Schema(type=types.Type.INTEGER), types.Schema(type=types.Type.STRING)]),
        },
        required=["mood", "unit", "size"],
        property_ordering=["size", "mood", "unit"],
    )
    config = types.GenerateContentConfig(response_mime_type="application/json", response_schema=schema)
    said = json.loads(ask(stack, False, config)[0].text)
    assert set(said) == {"mood", "unit", "size"} and said["mood"] in ("calm", "wild")
    assert said["unit"] is None or isinstance(said["unit"], str)
    assert isinstance(said["size"], int | str)


@only("vllm-new", "llama-cpp")
def test_an_enumeration_is_answered_bare(stack):
    stack.server.reset(Turn(text="wild"))
    schema = types.Schema(type=types.Type.STRING, enum=["calm", "wild"])
    config = types.GenerateContentConfig(response_mime_type="text/x.enum", response_schema=schema)
    assert ask(stack, False, config)[0].text in ("calm", "wild")


@SERVERS
def test_an_image_reaches_the_server_as_a_link_to_its_data(stack):
    pixel = b"\x89PNG\r\n\x1a\n0000"
    parts = [types.Part(text="What is it?"), types.Part.from_bytes(data=pixel, mime_type="image/png")]
    with client(stack) as asking:
        asking.models.generate_content(model=stack.model, contents=[types.Content(role="user", parts=parts)])
    sent = stack.server.last["messages"][-1]["content"]
    assert sent[0] == {"type": "text", "text": "What is it?"}
    assert sent[1]["image_url"]["url"].startswith("data:image/png;base64,iVBORw0KGgo")


@SERVERS
@STREAMED
def test_what_the_limit_cut_says_so(stack, streamed):
    stack.server.fail("length", times=None)
    replies = ask(stack, streamed, types.GenerateContentConfig(max_output_tokens=100))
    assert replies[-1].candidates[0].finish_reason == types.FinishReason.MAX_TOKENS


@SERVERS
def test_a_list_that_breaks_off_ends_with_the_error(stack):
    stack.server.fail("cut", times=None)
    url = f"{root(stack)}/v1beta/models/{stack.model}:streamGenerateContent"
    reply = httpx.post(url, json={"contents": [{"parts": [{"text": PROMPT}]}]})
    *said, last = reply.json()
    assert said and last["error"]["status"] and not any("error" in item for item in said)


@SERVERS
def test_tokens_are_counted_or_estimated(stack):
    asking = client(stack)
    count = asking.models.count_tokens
    few = count(model=stack.model, contents=PROMPT).total_tokens
    assert 5 <= few <= 20
    assert count(model=stack.model, contents=[PROMPT] * 9).total_tokens > 4 * few
    with pytest.raises(errors.ClientError) as caught:
        count(model=stack.model, contents=types.Content(role="nobody", parts=[types.Part(text="x")]))
    assert caught.value.code == 400 and "contents[0].role" in caught.value.message
    assert not stack.server.requests
