"""The models, the scripted turns and the ways to a client that the tests share."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any, Literal

import openai
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
    children: list["Node"] = []


class StrictNode(BaseModel):
    model_config = ConfigDict(extra="forbid")

    value: int
    children: list["StrictNode"]


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
