"""`isogloss serve` with nothing named: what the model in the program can do (`test_pages.py` runs the examples)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from worker import Served, start

NAME = "isogloss-builtin"


class Person(BaseModel):
    name: str
    age: int


@pytest.fixture(scope="module")
def served(binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    served = start(binary, tmp_path_factory.mktemp("builtin"), model=None)
    served.wait_ready()
    yield served
    assert served.stop() == 0, served.tail()


@pytest.fixture
def model(served: Served) -> OpenAIChatModel:
    return OpenAIChatModel(NAME, provider=OpenAIProvider(base_url=served.base_url, api_key="unused"))


def test_it_is_the_only_model_and_says_that_it_is_for_trying_things_out(served: Served) -> None:
    client = openai.OpenAI(base_url=served.base_url, api_key="unused")
    assert [model.id for model in client.models.list()] == [NAME]
    assert "for trying things out" in served.tail()


@pytest.mark.parametrize(("name", "age"), [("Ada", 36), ("Bruno", 41), ("Chiara", 29)])
def test_it_reads_a_person_out_of_a_sentence(model: OpenAIChatModel, name: str, age: int) -> None:
    found = Agent(model, output_type=Person).run_sync(f"{name} is {age} years old.").output
    assert found == Person(name=name, age=age)


def test_it_picks_a_tool_and_fills_its_arguments_from_the_question(model: OpenAIChatModel) -> None:
    called: list[str] = []
    agent = Agent(model)

    @agent.tool_plain
    def get_weather(city: str) -> str:
        """Current weather of a city."""
        called.append(city)
        return "sunny, 21 degrees"

    @agent.tool_plain
    def convert_currency(amount: float, to: str) -> str:
        """Convert an amount of money."""
        called.append(to)
        return "42.00"

    assert agent.run_sync("What is the weather in Paris?").output
    assert called == ["Paris"]


def test_a_conversation_may_have_eight_thousand_tokens(served: Served) -> None:
    client = openai.OpenAI(base_url=served.base_url, api_key="unused")
    [card] = client.models.list()
    assert card.max_model_len == 8192
    said = "Read the file before you edit it. " * 350
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
    reply = client.chat.completions.create(
        model=NAME,
        messages=[{"role": "system", "content": said}, {"role": "user", "content": "There are 7 files."}],
        response_format={"type": "json_schema", "json_schema": {"name": "count", "schema": schema}},
        max_tokens=64,
    )
    assert reply.usage.prompt_tokens > 4096
    assert isinstance(json.loads(reply.choices[0].message.content)["n"], int)


def test_the_prompt_of_a_coding_agent_is_refused_with_the_limit(served: Served) -> None:
    client = openai.OpenAI(base_url=served.base_url, api_key="unused", max_retries=0)
    said = "Read the file before you edit it. " * 900
    with pytest.raises(openai.BadRequestError, match=r"8192 tokens.*14\d{3} input tokens") as refused:
        client.chat.completions.create(
            model=NAME, messages=[{"role": "system", "content": said}, {"role": "user", "content": "Hello"}]
        )
    assert refused.value.code == "context_length_exceeded"


def test_it_says_that_it_knows_no_facts(served: Served) -> None:
    client = openai.OpenAI(base_url=served.base_url, api_key="unused")
    asked = [{"role": "user", "content": "What is the capital of France?"}]
    reply = client.chat.completions.create(model=NAME, messages=asked, temperature=0)
    assert reply.choices[0].message.content.startswith("I am a small demonstration model")


def test_it_reads_the_name_of_somebody_who_writes_in_the_first_person(served: Served) -> None:
    client = openai.OpenAI(base_url=served.base_url, api_key="unused")
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"], "additionalProperties": False}
    reply = client.chat.completions.create(
        model=NAME,
        messages=[{"role": "user", "content": "My name is Maria"}],
        response_format={"type": "json_schema", "json_schema": {"name": "person", "schema": schema}},
        temperature=0,
    )
    assert json.loads(reply.choices[0].message.content) == {"name": "Maria"}
