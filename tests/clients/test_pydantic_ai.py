"""PydanticAI through isogloss, to each upstream: nothing but the base URL is changed."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, ModelRetry, NativeOutput, PromptedOutput, ToolOutput
from pydantic_ai.messages import TextPart, ToolCallPart, ToolReturnPart

from helpers import (
    ADA,
    PARIS,
    ZURICH,
    City,
    Employee,
    Mood,
    Node,
    Person,
    assert_called,
    assert_own_dialect,
    chat_model,
    parts,
)
from model import Turn
from samples import Call

FINAL = "final_result"


def final(values: dict[str, Any], tool: str = FINAL, **more: Any) -> Turn:
    return Turn(values=values, calls=(tool,), **more)


# --- tool output: PydanticAI's default ---


def test_a_model_comes_back_as_a_validated_object(stack):
    stack.server.reset(final(PARIS))
    result = Agent(chat_model(stack), output_type=City).run_sync("Where is the Eiffel tower?")
    assert result.output == City(**PARIS)
    # Text would do for PydanticAI here: only a call proves that the reply was rewrapped.
    (call,) = assert_called(result.all_messages(), FINAL)
    assert call.tool_call_id
    assert len(stack.server.requests) == 1
    assert stack.server.visible(FINAL)
    assert_own_dialect(stack)


def test_its_text_reaches_the_server_as_it_was(stack):
    stack.server.reset(final(PARIS))
    question = 'Where is the "Eiffel" tower?\n\t東京 \\ \U0001f5fc'
    agent = Agent(
        chat_model(stack), output_type=City, system_prompt="Be terse.", instructions="Answer in French."
    )
    agent.run_sync(question)
    texts = [message["content"] for message in stack.server.last["messages"]]
    assert question in texts
    for said in ("Be terse.", "Answer in French."):
        assert any(said in text for text in texts)


def test_the_tokens_that_the_server_counted_are_reported(stack):
    stack.server.reset(final(PARIS))
    result = Agent(chat_model(stack), output_type=City).run_sync("Where?")
    counted = stack.server.last_usage
    usage = result.usage() if callable(result.usage) else result.usage
    assert (usage.input_tokens, usage.output_tokens) == (
        counted["prompt_tokens"],
        counted["completion_tokens"],
    )


def test_a_named_output_tool_is_called_by_its_name(stack):
    stack.server.reset(final(PARIS, "record_city"))
    output = ToolOutput(City, name="record_city", description="Give the city.")
    result = Agent(chat_model(stack), output_type=output).run_sync("Where?")
    assert result.output == City(**PARIS)
    assert_called(result.all_messages(), "record_city")
    assert len(stack.server.requests) == 1


@pytest.mark.parametrize(
    ("tool", "values", "expected"),
    [("final_result_City", PARIS, City(**PARIS)), ("final_result_Person", ADA, Person(**ADA))],
)
def test_of_two_output_types_the_model_chooses(stack, tool, values, expected):
    stack.server.reset(final(values, tool))
    result = Agent(chat_model(stack), output_type=[City, Person]).run_sync("Who or where?")
    assert result.output == expected
    assert_called(result.all_messages(), tool)
    assert len(stack.server.requests) == 1
    assert stack.server.visible("final_result_City", "final_result_Person")
    assert_own_dialect(stack)


@pytest.mark.parametrize(
    ("kind", "said", "expected"),
    [
        (list[int], [3, 1, 2], [3, 1, 2]),
        (bool, False, False),
        (Literal["a", "b"], "b", "b"),
        (float, 2.5, 2.5),
        (dict[str, int], {"x": 1, "y": 2}, {"x": 1, "y": 2}),
    ],
    ids=["list", "bool", "literal", "float", "map"],
)
def test_types_that_are_no_objects_come_back(stack, kind, said, expected):
    values = said if isinstance(said, dict) else {"response": said}
    stack.server.reset(final({"response": said, **values}))
    result = Agent(chat_model(stack), output_type=kind).run_sync("Which?")
    if kind == dict[str, int]:  # Its strict form has no properties at all, or any.
        assert all(isinstance(value, int) for value in result.output.values())
    else:
        assert result.output == expected
    assert_called(result.all_messages(), FINAL)


def test_nested_models_come_back(stack):
    home = {"street": 'Rue "X"', "city": PARIS}
    stack.server.reset(final({"name": "Ada", "home": home, "work": None, "nicknames": ["a", "b"]}))
    result = Agent(chat_model(stack), output_type=Employee).run_sync("Who?")
    assert result.output.home.city == City(**PARIS)
    assert result.output.work is None
    assert result.output.nicknames == ["a", "b"]
    assert_called(result.all_messages(), FINAL)


def test_a_model_that_refers_to_itself_comes_back(stack):
    tree = {"value": 1, "children": [{"value": 2, "children": [{"value": 3, "children": []}]}]}
    stack.server.reset(final(tree))
    result = Agent(chat_model(stack), output_type=Node).run_sync("Draw a tree.")
    assert result.output == Node.model_validate(tree)
    assert_called(result.all_messages(), FINAL)


def test_two_output_types_may_refer_to_themselves_each(stack):
    """A union of tools moves the roots that `#` and `#/$defs` point to."""
    tree = {"value": 1, "children": [{"value": 2, "children": []}]}
    stack.server.reset(final(tree, "final_result_Node"))
    result = Agent(chat_model(stack), output_type=[Employee, Node]).run_sync("Draw a tree.")
    assert result.output == Node.model_validate(tree)
    assert_called(result.all_messages(), "final_result_Node")


def test_enumerations_hold(stack):
    stack.server.reset(final({"mood": "sad", "level": 3}))
    result = Agent(chat_model(stack), output_type=Mood).run_sync("How?")
    assert result.output == Mood(mood="sad", level=3)


@pytest.mark.parametrize("style", [{}, {"escaped": True}, {"spaced": True}], ids=["raw", "escaped", "spaced"])
def test_texts_survive_however_the_model_writes_its_json(stack, style):
    stack.server.reset(final(ZURICH, **style))
    result = Agent(chat_model(stack), output_type=City).run_sync("Where?")
    assert result.output == City(**ZURICH)
    assert_called(result.all_messages(), FINAL)


# --- function tools ---


def weather_agent(stack: Any, **options: Any) -> tuple[Agent, list[str]]:
    asked: list[str] = []
    agent = Agent(chat_model(stack), **options)

    @agent.tool_plain
    def get_weather(city: str, unit: Literal["c", "f"] = "c") -> dict[str, Any]:
        """Get the weather of a city."""
        asked.append(city)
        return {"city": city, "temp": 21, "unit": unit}

    return agent, asked


def test_a_function_tool_is_called_and_then_the_output_tool(stack):
    stack.server.reset(Turn(values=PARIS, calls=("get_weather",)), final(PARIS))
    agent, asked = weather_agent(stack, output_type=City)
    result = agent.run_sync("Weather in Paris, then the city")
    assert result.output == City(**PARIS)
    assert asked == ["Paris"]
    assert_called(result.all_messages(), "get_weather", FINAL)
    first, second = stack.server.bodies()
    history = second["messages"]
    assert [m["role"] for m in history if m["role"] in ("user", "assistant", "tool")] == [
        "user",
        "assistant",
        stack.result_role,
    ]
    assert '"temp":21' in history[-1]["content"]
    assert len(first["messages"]) < len(second["messages"])
    assert stack.server.visible("get_weather", FINAL)
    assert_own_dialect(stack)


def test_several_function_tools_are_called_at_once_where_that_is_asked_for(stack):
    calls = (Call("get_weather", {"city": "Paris"}), Call("get_weather", {"city": "Oslo"}))
    stack.server.reset(Turn(calls=calls), final(PARIS))
    agent, asked = weather_agent(stack, output_type=City, model_settings={"parallel_tool_calls": True})
    result = agent.run_sync("Weather in Paris and in Oslo, then the city")
    assert sorted(asked) == ["Oslo", "Paris"]
    assert_called(result.all_messages(), "get_weather", "get_weather", FINAL)
    assert len(stack.server.requests) == 2


def test_many_tools_are_told_apart(stack):
    agent = Agent(chat_model(stack), output_type=City)
    seen = []
    for number in range(20):

        def act(city: str) -> str:
            seen.append(city)
            return "done"

        agent.tool_plain(act, name=f"tool_{number}", description=f"Tool number {number}")
    stack.server.reset(Turn(values={"city": "Oslo"}, calls=("tool_17",)), final(PARIS))
    result = agent.run_sync("Use the seventeenth tool")
    assert seen == ["Oslo"]
    assert_called(result.all_messages(), "tool_17", FINAL)


def test_a_conversation_goes_on_with_its_history(stack):
    stack.server.reset(final(PARIS), final(ZURICH))
    agent = Agent(chat_model(stack), output_type=City)
    first = agent.run_sync("Where is the Eiffel tower?")
    second = agent.run_sync("And the ETH?", message_history=first.all_messages())
    assert second.output == City(**ZURICH)
    assert_called(second.new_messages(), FINAL)


# --- text or a tool: `tool_choice: "auto"` ---


def test_the_model_may_call_where_text_was_possible(any_stack):
    agent = Agent(chat_model(any_stack), output_type=[City, str])
    # What only an answer tells of how a server was launched is learnt once, in a request more.
    any_stack.server.reset(final(PARIS))
    agent.run_sync("Where?")
    any_stack.server.reset(final(PARIS))
    result = agent.run_sync("Where?")
    assert result.output == City(**PARIS)
    assert_called(result.all_messages(), FINAL)
    assert len(any_stack.server.requests) == 1


def test_the_model_may_write_where_a_call_was_possible(any_stack):
    any_stack.server.reset(Turn(text='It is in Paris, {"or": so'))
    agent = Agent(chat_model(any_stack), output_type=[City, str])
    result = agent.run_sync("Where?")
    assert result.output == 'It is in Paris, {"or": so'
    assert not parts(result.all_messages(), ToolCallPart)


# --- native and prompted output ---


def test_native_output_comes_back_as_text(stack):
    stack.server.reset(Turn(values=PARIS))
    result = Agent(chat_model(stack), output_type=NativeOutput(City)).run_sync("Where?")
    assert result.output == City(**PARIS)
    assert not parts(result.all_messages(), ToolCallPart)
    (text,) = parts(result.all_messages(), TextPart)
    assert json.loads(text.content) == PARIS  # Bare JSON: a fence is taken off.
    assert len(stack.server.requests) == 1
    assert_own_dialect(stack)


def test_native_output_of_two_types_comes_back(stack):
    said = {"kind": "Person", "data": {**ADA, "title": None}}
    stack.server.reset(Turn(values={"result": said}))
    result = Agent(chat_model(stack), output_type=NativeOutput([City, Person], name="one")).run_sync("Who?")
    assert result.output == Person(**ADA)


def test_native_output_leaves_function_tools_in_reach(stack):
    """The answer may be a call or the final object: forcing the object alone would shut the tools out."""
    stack.server.reset(Turn(values=PARIS, calls=("get_weather",)), Turn(values=PARIS))
    agent, asked = weather_agent(stack, output_type=NativeOutput(City))
    result = agent.run_sync("Weather then city")
    assert asked == ["Paris"]
    assert result.output == City(**PARIS)
    assert [call.tool_name for call in parts(result.all_messages(), ToolCallPart)] == ["get_weather"]
    assert len(stack.server.requests) == 2
    assert stack.server.visible("get_weather")
    assert_own_dialect(stack)


def test_prompted_output_comes_back(stack):
    stack.server.reset(Turn(values=PARIS))
    result = Agent(chat_model(stack), output_type=PromptedOutput(City)).run_sync("Where?")
    assert result.output == City(**PARIS)
    assert_own_dialect(stack)


# --- retries ---


def test_an_output_that_its_validator_refuses_is_asked_for_again(stack):
    stack.server.reset(final({**PARIS, "population": 7}), final(PARIS))
    agent = Agent(chat_model(stack), output_type=City)

    @agent.output_validator
    def big_enough(output: City) -> City:
        if output.population < 1000:
            raise ModelRetry("too small: count again")
        return output

    result = agent.run_sync("Where?")
    assert result.output == City(**PARIS)
    assert_called(result.all_messages(), FINAL, FINAL)
    retry = stack.server.last["messages"]
    assert any("too small: count again" in str(message.get("content")) for message in retry)


def test_a_function_tool_may_ask_to_be_called_again(stack):
    stack.server.reset(
        Turn(values={"city": "Pari"}, calls=("find",)),
        Turn(values={"city": "Paris"}, calls=("find",)),
        final(PARIS),
    )
    agent = Agent(chat_model(stack), output_type=City)
    asked = []

    @agent.tool_plain(retries=2)
    def find(city: str) -> str:
        """Find a city."""
        asked.append(city)
        if city != "Paris":
            raise ModelRetry("no such city")
        return "found"

    result = agent.run_sync("Find Paris")
    assert asked == ["Pari", "Paris"]
    assert_called(result.all_messages(), "find", "find", FINAL)
    assert parts_returned(result)[-1] == "found"


def parts_returned(result: Any) -> list[Any]:
    """What the function tools gave back."""
    found = [part for m in result.all_messages() for part in m.parts if isinstance(part, ToolReturnPart)]
    return [part.content for part in found if part.tool_name != FINAL]


# --- streaming ---


class Story(BaseModel):
    """Everything may be missing, so that every partial object is valid."""

    title: str = ""
    scenes: list[str] = []
    cast: list[Person] = []


STORY = {
    "title": "Zürich — 東京",
    "scenes": ['a "b" c', "two\nlines", "\U0001f5fc"],
    "cast": [
        {"name": "Ada", "age": 36, "title": None},
        {"name": "Grace", "age": 85, "title": "Rear admiral"},
    ],
}


def stream(agent: Agent, prompt: str = "Go") -> tuple[list[Any], Any, list[Any]]:
    """The partial outputs, the final one, and the messages of a streamed run."""

    async def run() -> tuple[list[Any], Any, list[Any]]:
        async with agent.run_stream(prompt) as result:
            partial = [output async for output in result.stream_output(debounce_by=None)]
            return partial, await result.get_output(), result.all_messages()

    return asyncio.run(run())


@pytest.mark.parametrize("style", [{}, {"escaped": True}, {"spaced": True}], ids=["raw", "escaped", "spaced"])
def test_an_object_grows_while_it_is_streamed(stack, style):
    stack.server.reset(final(STORY, **style))
    partial, whole, messages = stream(Agent(chat_model(stack), output_type=Story))
    assert whole == Story.model_validate(STORY)
    assert partial[-1] == whole
    assert_called(messages, FINAL)
    for earlier, later in zip(partial, partial[1:], strict=False):
        assert len(later.scenes) >= len(earlier.scenes)
        assert len(later.cast) >= len(earlier.cast)
        assert later.title.startswith(earlier.title)
    if stack.name != "plain":
        assert len(partial) > 5, "the object came in one piece"
    assert len(stack.server.requests) == 1
    assert_own_dialect(stack)


def test_a_streamed_union_comes_back_by_name(stack):
    stack.server.reset(final(ADA, "final_result_Person"))
    _, whole, messages = stream(Agent(chat_model(stack), output_type=[City, Person]))
    assert whole == Person(**ADA)
    assert_called(messages, "final_result_Person")


def test_a_streamed_function_tool_is_called_and_then_the_output_tool(stack):
    stack.server.reset(Turn(values=PARIS, calls=("get_weather",)), final(PARIS))
    agent, asked = weather_agent(stack, output_type=City)
    _, whole, messages = stream(agent)
    assert whole == City(**PARIS)
    assert asked == ["Paris"]
    assert_called(messages, "get_weather", FINAL)


def test_streamed_native_output_comes_back(stack):
    stack.server.reset(Turn(values=STORY))
    partial, whole, messages = stream(Agent(chat_model(stack), output_type=NativeOutput(Story)))
    assert whole == Story.model_validate(STORY)
    assert partial[-1] == whole
    assert not parts(messages, ToolCallPart)


def test_streamed_native_output_leaves_function_tools_in_reach(stack):
    stack.server.reset(Turn(values=PARIS, calls=("get_weather",)), Turn(values=PARIS))
    agent, asked = weather_agent(stack, output_type=NativeOutput(City))
    _, whole, messages = stream(agent)
    assert asked == ["Paris"]
    assert whole == City(**PARIS)


def test_streamed_prompted_output_comes_back(stack):
    stack.server.reset(Turn(values=PARIS))
    _, whole, _ = stream(Agent(chat_model(stack), output_type=PromptedOutput(City)))
    assert whole == City(**PARIS)


def test_streamed_text_comes_in_pieces(stack):
    stack.server.reset(Turn(text="Zürich, 東京, \U0001f5fc and so on"))
    agent = Agent(chat_model(stack))

    async def run() -> list[str]:
        async with agent.run_stream("Say something") as result:
            return [text async for text in result.stream_text(delta=True, debounce_by=None)]

    pieces = asyncio.run(run())
    assert "".join(pieces) == "Zürich, 東京, \U0001f5fc and so on"
    assert len(pieces) > 5


def test_the_tokens_of_a_stream_are_counted_once(stack):
    stack.server.reset(final(PARIS))
    agent = Agent(chat_model(stack), output_type=City)

    async def run() -> Any:
        async with agent.run_stream("Where?") as result:
            await result.get_output()
            return result.usage() if callable(result.usage) else result.usage

    usage = asyncio.run(run())
    counted = stack.server.last_usage
    assert (usage.input_tokens, usage.output_tokens) == (
        counted["prompt_tokens"],
        counted["completion_tokens"],
    )
