"""The scripted servers alone, with no isogloss in front: they behave like the recorded ones.

What fails here is what isogloss is for: the same program against the same server, unhelped.
"""

from __future__ import annotations

import json

import openai
import pytest
from pydantic_ai import Agent, NativeOutput, ToolOutput
from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.messages import ToolCallPart

from grammars import Unsupported, of_grammar, of_regex
from helpers import (
    ADD,
    CITY_SCHEMA,
    IN_PARIS,
    PARIS,
    USER,
    WEATHER,
    ZURICH,
    City,
    arguments,
    chat_model,
    parts,
    sdk,
)
from model import PROSE, Turn
from samples import Call, of_schema
from servers import SERVERS

CITY = Turn(values=PARIS, calls=("final_result",))


@pytest.fixture
def only(request):
    """One server by its name."""
    found = SERVERS[request.param]()
    yield found
    found.close()


def one(*names):
    return pytest.mark.parametrize("only", names, indirect=True)


def test_a_plain_question_is_answered_in_the_servers_own_shape(server):
    reply = sdk(server).chat.completions.create(model=server.model, messages=USER)
    assert reply.choices[0].message.content == PROSE
    assert reply.choices[0].finish_reason == "stop"
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens


def test_a_stream_says_what_the_whole_reply_says(server):
    server.reset(Turn(text='Zürich, 東京, "\\"'))
    with sdk(server).chat.completions.stream(model=server.model, messages=USER) as stream:
        final = stream.get_final_completion()
    assert final.choices[0].message.content == 'Zürich, 東京, "\\"'
    assert final.choices[0].finish_reason == "stop"


# --- what works without help ---


@one("vllm-new", "vllm-new-parser", "vllm-old", "sglang", "llama-cpp")
def test_response_format_is_honoured_unhelped(only):
    only.reset(Turn(values=ZURICH))
    reply = sdk(only).chat.completions.parse(model=only.model, messages=USER, response_format=City)
    assert reply.choices[0].message.parsed == City(**ZURICH)


@one("vllm-new", "vllm-old", "sglang", "llama-cpp")
def test_native_output_works_unhelped(only):
    only.reset(Turn(values=PARIS))
    result = Agent(chat_model(only), output_type=NativeOutput(City)).run_sync("Where?")
    assert result.output == City(**PARIS)


@one("vllm-new-parser", "llama-cpp")
def test_tool_output_works_unhelped_where_required_is_enforced(only):
    only.reset(CITY)
    result = Agent(chat_model(only), output_type=City).run_sync("Where?")
    assert result.output == City(**PARIS)
    assert [call.tool_name for call in parts(result.all_messages(), ToolCallPart)] == ["final_result"]


@one("vllm-new-parser", "llama-cpp", "sglang", "plain")
def test_streamed_calls_are_read_by_the_client_unhelped(only):
    only.reset(IN_PARIS)
    tools = [{**WEATHER, "function": {**WEATHER["function"], "strict": True}}]
    stream = sdk(only).chat.completions.create(
        model=only.model, messages=USER, tools=tools, tool_choice="required", stream=True
    )
    text = "".join(
        call.function.arguments or ""
        for chunk in stream
        for choice in chunk.choices
        for call in choice.delta.tool_calls or []
    )
    assert json.loads(text) == {"city": "Paris", "unit": "celsius"}


# --- what does not ---


@one("vllm-new")
def test_tool_output_is_refused_by_a_vllm_without_a_parser(only):
    only.reset(CITY)
    with pytest.raises(AgentRunError, match="requires --tool-call-parser to be set"):
        Agent(chat_model(only), output_type=City).run_sync("Where?")


@one("vllm-new")
@pytest.mark.parametrize("choice", ["auto", {"type": "function", "function": {"name": "get_weather"}}])
def test_every_choice_but_none_is_refused_by_a_vllm_without_a_parser(only, choice):
    with pytest.raises(openai.BadRequestError, match="tool-call-parser to be set"):
        sdk(only).chat.completions.create(
            model=only.model, messages=USER, tools=[WEATHER], tool_choice=choice
        )
    reply = sdk(only).chat.completions.create(
        model=only.model, messages=USER, tools=[WEATHER], tool_choice="none"
    )
    assert reply.choices[0].message.content == PROSE


@one("vllm-old")
def test_required_fails_on_an_old_vllm(only):
    only.reset(CITY)
    with pytest.raises(AgentRunError, match="validation error"):
        Agent(chat_model(only), output_type=City).run_sync("Where?")
    with pytest.raises(openai.APIError, match="Expecting ':' delimiter"):
        list(
            sdk(only).chat.completions.create(
                model=only.model, messages=USER, tools=[WEATHER], tool_choice="required", stream=True
            )
        )


@one("sglang")
def test_sglang_forces_a_call_but_not_its_arguments(only):
    only.reset(CITY)
    reply = sdk(only).chat.completions.create(
        model=only.model, messages=USER, tools=[WEATHER], tool_choice="required"
    )
    call = reply.choices[0].message.tool_calls[0]
    assert call.function.name == "get_weather"
    assert arguments(call) == ": {"


@one("sglang")
def test_sglang_refuses_a_forced_call_beside_a_constraint(only):
    with pytest.raises(openai.BadRequestError, match="cannot both be honored") as caught:
        sdk(only).chat.completions.create(
            model=only.model,
            messages=USER,
            tools=[WEATHER],
            tool_choice="required",
            response_format={"type": "json_object"},
        )
    assert caught.value.type == "BadRequest"  # A flat body: the SDK finds no `error` in it.


@one("llama-cpp")
def test_llama_cpp_takes_a_named_tool_for_auto(only):
    only.reset(IN_PARIS)
    reply = sdk(only).chat.completions.create(
        model=only.model,
        messages=USER,
        tools=[WEATHER],
        tool_choice={"type": "function", "function": {"name": "get_weather"}},
    )
    assert reply.choices[0].message.content == PROSE


@one("llama-cpp")
def test_llama_cpp_refuses_a_grammar_beside_tools(only):
    with pytest.raises(openai.BadRequestError, match="custom grammar constraints with tools"):
        sdk(only).chat.completions.create(
            model=only.model, messages=USER, tools=[WEATHER], extra_body={"grammar": 'root ::= "a"'}
        )


@one("plain")
def test_a_plain_server_ignores_response_format(only):
    only.reset(Turn(values=PARIS))
    reply = sdk(only).chat.completions.create(
        model=only.model,
        messages=USER,
        response_format={"type": "json_schema", "json_schema": {"name": "c", "schema": CITY_SCHEMA}},
    )
    assert reply.choices[0].message.content == PROSE


@pytest.mark.parametrize(
    ("only", "extra"),
    [
        ("vllm-new", {"guided_json": CITY_SCHEMA}),
        ("vllm-new", {"guided_regex": "a+"}),
        ("vllm-new", {"guided_choice": ["red", "green"]}),
        ("vllm-new", {"grammar": 'root ::= "a"'}),
        ("vllm-old", {"structured_outputs": {"json": CITY_SCHEMA}}),
        ("vllm-old", {"structured_outputs": {"choice": ["red", "green"]}}),
        ("sglang", {"structured_outputs": {"json": CITY_SCHEMA}}),
        ("sglang", {"guided_json": CITY_SCHEMA}),
        ("llama-cpp", {"structured_outputs": {"choice": ["red", "green"]}}),
        ("llama-cpp", {"guided_json": CITY_SCHEMA}),
    ],
    indirect=["only"],
)
def test_another_dialects_field_is_ignored_in_silence(only, extra):
    reply = sdk(only).chat.completions.create(model=only.model, messages=USER, extra_body=extra)
    assert reply.choices[0].message.content == PROSE


@one("plain")
def test_a_plain_server_refuses_fields_that_it_does_not_know(only):
    with pytest.raises(openai.UnprocessableEntityError) as caught:
        sdk(only).chat.completions.create(
            model=only.model, messages=USER, extra_body={"guided_json": CITY_SCHEMA}
        )
    assert caught.value.response.json() == {"detail": "Unexpected fields in the request: {'guided_json'}"}


@one("vllm-new", "vllm-new-parser")
def test_vllm_takes_one_constraint_only(only):
    with pytest.raises(openai.BadRequestError, match="one kind of constraints"):
        sdk(only).chat.completions.create(
            model=only.model,
            messages=USER,
            extra_body={"structured_outputs": {"json": CITY_SCHEMA, "regex": "a+"}},
        )


# --- what each honours in its own words ---


@pytest.mark.parametrize(
    ("only", "extra", "said"),
    [
        ("vllm-new", {"structured_outputs": {"regex": "(red|green)-[0-9]{2}"}}, "red-00"),
        ("vllm-new", {"structured_outputs": {"choice": ["red", "green"]}}, "red"),
        ("vllm-new", {"structured_outputs": {"grammar": 'root ::= "red" | "green"\n'}}, "red"),
        ("vllm-new", {"structured_outputs": {"grammar": 'start: "red" | "green"\n'}}, "red"),
        ("vllm-old", {"guided_regex": "(red|green)-[0-9]{2}"}, "red-00"),
        ("vllm-old", {"guided_choice": ["red", "green"]}, "red"),
        ("vllm-old", {"guided_grammar": 'root ::= "red" | "green"\n'}, "red"),
        ("sglang", {"regex": "(red|green)-[0-9]{2}"}, "red-00"),
        ("sglang", {"ebnf": 'root ::= "red" | "green"\n'}, "red"),
        ("llama-cpp", {"grammar": 'root ::= "red" | "green"'}, "red"),
        ("plain", {}, PROSE),
    ],
    indirect=["only"],
)
def test_its_own_constraint_is_honoured(only, extra, said):
    reply = sdk(only).chat.completions.create(model=only.model, messages=USER, extra_body=extra)
    assert reply.choices[0].message.content == said


@one("vllm-new", "vllm-old", "sglang", "llama-cpp")
def test_a_schema_outside_json_schema_is_refused(only):
    with pytest.raises(openai.BadRequestError):
        sdk(only).chat.completions.create(
            model=only.model,
            messages=USER,
            response_format={
                "type": "json_schema",
                "json_schema": {"name": "x", "schema": {"type": "banana"}},
            },
        )


@one("plain")
def test_the_plain_servers_model_does_what_the_prompt_asks(only):
    only.reset(Turn(values=PARIS))
    asked = [{"role": "user", "content": f"Where? Answer with JSON that satisfies {json.dumps(CITY_SCHEMA)}"}]
    create = sdk(only).chat.completions.create
    assert (
        create(model=only.model, messages=asked)
        .choices[0]
        .message.content.startswith('```json\n{"city": "Paris"')
    )
    only.reset(Turn(values=PARIS))
    only.style = "prose_first"
    assert create(model=only.model, messages=asked).choices[0].message.content == PROSE
    assert json.loads(create(model=only.model, messages=asked).choices[0].message.content) == PARIS


# --- faults ---


@one("vllm-new", "vllm-old", "sglang", "llama-cpp")
def test_each_fault_shows(only):
    client, only.script = sdk(only), only.script
    only.reset(Turn(values=PARIS))
    ask = lambda **more: client.chat.completions.create(  # noqa: E731
        model=only.model, messages=USER, response_format={"type": "json_object"}, **more
    )
    only.fail("prose")
    assert ask().choices[0].message.content == PROSE
    only.fail("wrong")
    assert json.loads(ask().choices[0].message.content) == {"city": "Paris", "country": "France"}
    only.fail("length")
    assert ask().choices[0].finish_reason == "length"
    only.fail("unavailable")
    with pytest.raises(openai.InternalServerError):
        ask()
    only.fail("error_event")
    with pytest.raises(openai.APIError):
        list(ask(stream=True))
    only.fail("cut")
    with pytest.raises(openai.APIConnectionError):
        list(ask(stream=True))
    assert json.loads(ask().choices[0].message.content) == PARIS


# --- the sampler ---


def test_a_call_of_a_tool_that_the_model_never_saw_is_made_blindly():
    schema = {
        "type": "object",
        "properties": {"name": {"const": "get_weather"}, "arguments": WEATHER["function"]["parameters"]},
        "required": ["name", "arguments"],
    }
    calls = (Call("get_weather"),)
    seen = of_schema(schema, {"city": "Paris"}, calls, frozenset({"get_weather"}))
    assert seen == {"name": "get_weather", "arguments": {"city": "Paris", "unit": "celsius"}}
    assert of_schema(schema, {"city": "Paris"}, calls, frozenset())["arguments"]["city"] == "text"


def test_a_union_of_calls_and_an_answer_goes_where_the_script_says():
    call = lambda tool: {  # noqa: E731
        "type": "object",
        "properties": {"name": {"enum": [tool["name"]]}, "arguments": tool["parameters"]},
        "required": ["name", "arguments"],
    }
    answer = {"type": "object", "properties": {"answer": {"$ref": "#/$defs/City"}}, "required": ["answer"]}
    schema = {
        "anyOf": [call(WEATHER["function"]), call(ADD["function"]), answer],
        "$defs": {"City": CITY_SCHEMA},
    }
    assert of_schema(schema, PARIS) == {"answer": PARIS}
    assert of_schema(schema, {"a": 2, "b": 40}, (Call("add_numbers"),)) == {
        "name": "add_numbers",
        "arguments": {"a": 2, "b": 40},
    }
    both = of_schema(
        {"type": "array", "items": schema}, {"city": "Oslo"}, (Call("get_weather"), Call("add_numbers"))
    )
    assert [item["name"] for item in both] == ["get_weather", "add_numbers"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('root ::= ("a" | b)+ "-" [0-9]{4}\nb ::= "x"', "a-0000"),
        ('root ::= list\nlist ::= list "," item | item\nitem ::= [^"] "\\n"', None),
        ('start: WORD "-" /[0-9]{2}/\nWORD: /[a-z]+/\n', "a-00"),
    ],
)
def test_grammars_have_samples(text, said):
    sample = of_grammar(text)
    assert sample == said if said else sample


@pytest.mark.parametrize("text", ["root ::= foo", 'other ::= "a"', "root ::= ("])
def test_grammars_that_cannot_be_read_have_none(text):
    with pytest.raises(Unsupported):
        of_grammar(text)


def test_regexes_have_samples_that_match():
    assert of_regex(r"^[A-Z]{3}-\d+$") == "AAA-0"
    with pytest.raises(Unsupported):
        of_regex("(")


def test_explicit_tool_output_is_not_satisfied_by_text():
    """The check that the tests rely on: text in place of the call costs a retry, and then fails."""
    server = SERVERS["vllm-new-parser"]()
    try:
        server.reset(CITY)
        server.fail("prose", times=None)
        with pytest.raises(AgentRunError):
            Agent(chat_model(server), output_type=ToolOutput(City, name="record_city")).run_sync("Where?")
    finally:
        server.close()
