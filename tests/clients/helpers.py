"""The models, the scripted turns and the ways to a client that the tests share."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any, Literal

import openai
import pytest
from pydantic import BaseModel, ConfigDict, Field
from pydantic_ai.messages import ModelMessage, TextPart, ToolCallPart
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from model import Turn

PARIS = {"city": "Paris", "country": "France", "population": 2100000}
ADA = {"name": "Ada", "age": 36}
ZURICH = {"city": "Zürich", "country": '東京 "quoted" \\ \u00a0\U0001f5fb', "population": 434335}


class City(BaseModel):
    """A city and where it is."""

    city: str
    country: str
    population: int = Field(ge=0)


class Person(BaseModel):
    name: str
    age: int = Field(ge=0, le=150)
    title: str | None = None


class Address(BaseModel):
    street: str
    city: City


class Employee(BaseModel):
    """Nested models, which become `$defs`, and optional ones."""

    name: str
    home: Address
    work: Address | None = None
    nicknames: list[str] = []


class Node(BaseModel):
    """A schema that refers to itself."""

    value: int
    children: list[Node] = []


class StrictNode(BaseModel):
    model_config = ConfigDict(extra="forbid")

    value: int
    children: list[StrictNode]


class Mood(BaseModel):
    mood: Literal["happy", "sad"]
    level: Literal[1, 2, 3]


CITY_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "country": {"type": "string"},
        "population": {"type": "integer", "minimum": 0},
    },
    "required": ["city", "country", "population"],
    "additionalProperties": False,
}
WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the weather of a city",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
            },
            "required": ["city", "unit"],
            "additionalProperties": False,
        },
    },
}
ADD: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "add_numbers",
        "description": "Add two numbers",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
            "additionalProperties": False,
        },
    },
}
USER = [{"role": "user", "content": "Where is the Eiffel tower?"}]
TOOLS = [WEATHER, ADD]
NAMED = {"type": "function", "function": {"name": "get_weather"}}
EMPTY: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
IN_PARIS = Turn(values={"city": "Paris", "unit": "celsius", "a": 2, "b": 40}, calls=("get_weather",))


def chat_model(stack: Any) -> OpenAIChatModel:
    """PydanticAI's model, as a program has it: nothing but the base URL points at isogloss."""
    client = openai.AsyncOpenAI(base_url=base_url(stack), api_key="test-key", max_retries=0, timeout=30)
    return OpenAIChatModel(stack.model, provider=OpenAIProvider(openai_client=client))


def sdk(stack: Any, **options: Any) -> openai.OpenAI:
    """The OpenAI client without its own retries, which would hide a failure."""
    return openai.OpenAI(base_url=base_url(stack), api_key="test-key", max_retries=0, timeout=30, **options)


def base_url(stack: Any) -> str:
    """A stack's URL, or a scripted server's own, for the tests that leave isogloss out."""
    return getattr(stack, "base_url", None) or f"{stack.url}/v1"


def parts(messages: list[ModelMessage], kind: type) -> list[Any]:
    """The parts of this kind in the model's answers."""
    return [part for m in messages if m.kind == "response" for part in m.parts if isinstance(part, kind)]


def assert_called(messages: list[ModelMessage], *names: str) -> list[ToolCallPart]:
    """The model's answers were these calls, and not text that PydanticAI took for one."""
    calls = parts(messages, ToolCallPart)
    assert [call.tool_name for call in calls] == list(names)
    assert not [part for part in parts(messages, TextPart) if part.content]
    assert len({call.tool_call_id for call in calls}) == len(calls)
    return calls


def create(stack: Any, **body: Any) -> Any:
    """One request of the OpenAI client."""
    body.setdefault("messages", USER)
    return sdk(stack).chat.completions.create(model=stack.model, **body)


def json_schema(schema: Any) -> dict[str, Any]:
    """The schema as a `response_format`."""
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}


def only(*names: str) -> Any:
    """Runs a test on these upstreams alone."""
    return pytest.mark.parametrize("stack", names, indirect=True)


def whole(reply: Any) -> tuple[str, list[tuple[str, str, str]], str]:
    """Content, calls (id, name, arguments) and finish reason of a reply."""
    choice = reply.choices[0]
    calls = [
        (call.id, call.function.name, call.function.arguments) for call in choice.message.tool_calls or []
    ]
    return choice.message.content or "", calls, choice.finish_reason


def collect(stream: Any, index: int = 0) -> tuple[str, list[tuple[str, str, str]], str | None]:
    """The same of a stream, holding every delta to what the strictest client needs."""
    content, calls, finish = "", [], None
    for chunk in stream:
        for choice in chunk.choices:
            if choice.index != index:
                continue
            assert finish is None, "a delta after the finish reason"
            content += choice.delta.content or ""
            for delta in choice.delta.tool_calls or []:
                if delta.index == len(calls):
                    assert delta.id and delta.type == "function" and delta.function.name
                    calls.append([delta.id, delta.function.name, delta.function.arguments or ""])
                else:
                    assert delta.index == len(calls) - 1
                    assert set(delta.model_fields_set) <= {"index", "function"}, (
                        "later deltas carry arguments alone"
                    )
                    assert delta.function.model_fields_set == {"arguments"}
                    calls[-1][2] += delta.function.arguments
            finish = choice.finish_reason or finish
    return content, [tuple(call) for call in calls], finish


def arguments(call: Any) -> Any:
    return json.loads(call.function.arguments)


@contextlib.contextmanager
def counting(stack: Any) -> Iterator[dict[str, float]]:
    """The metric series that grew inside the block, filled in at its end."""
    before, grown = stack.metrics(), {}
    yield grown
    for series, value in stack.metrics().items():
        if value > before.get(series, 0.0):
            grown[series] = value - before.get(series, 0.0)


# Fields of one dialect that another ignores in silence, or refuses: they never reach it.
FOREIGN = {
    "vllm-new": ("guided_", "ebnf", "regex", "grammar", "json_schema"),
    "vllm-new-parser": ("guided_", "ebnf", "regex", "grammar", "json_schema"),
    "vllm-old": ("structured_outputs", "ebnf", "regex", "grammar", "json_schema"),
    "sglang": ("structured_outputs", "guided_", "grammar", "json_schema"),
    "llama-cpp": ("structured_outputs", "guided_", "ebnf", "regex"),
    "plain": ("structured_outputs", "guided_", "ebnf", "regex", "grammar", "json_schema"),
}


def assert_own_dialect(stack: Any) -> None:
    """Every request reached the server in its own words, and in one constraint at most."""
    assert stack.server.requests, "nothing reached the server"
    for body in stack.server.bodies():
        foreign = [field for field in body for word in FOREIGN[stack.name] if field.startswith(word)]
        assert not foreign, f"{stack.name} was sent {foreign}"
        stated = [
            field
            for field in ("structured_outputs", "regex", "ebnf", "grammar", "json_schema", *_guided(body))
            if body.get(field) is not None
        ]
        form = body.get("response_format")
        if form and form.get("type") != "text":
            stated.append("response_format")
        assert len(stated) <= 1, f"{stack.name} was sent {stated} together"


def _guided(body: dict) -> list[str]:
    return [field for field in body if field.startswith("guided_")]
