"""Real clients through isogloss to its own decoding worker and a real, very small model.

The model knows little, so what it says is not looked at: that every answer has the shape asked for is.
Texts have a length limit in the schemas, since a model of this size may never end one by itself.
"""

from __future__ import annotations

import asyncio
import base64
import concurrent.futures
import json
import os
import re
import signal
import struct
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import httpx
import openai
import pytest
from pydantic import BaseModel, ConfigDict, Field
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

import projector
from worker import MODEL, Served, start

QUESTION = "What is the weather in Paris in celsius?"


class Closed(BaseModel):
    """Without properties of the model's own: it would think of many."""

    model_config = ConfigDict(extra="forbid")


class Weather(Closed):
    city: str = Field(max_length=12)
    unit: Literal["celsius", "fahrenheit"]
    sunny: bool


class Person(Closed):
    name: str = Field(max_length=10)
    age: int = Field(ge=0, le=120)


class Team(Closed):
    lead: Person
    members: list[Person] = Field(max_length=3)
    motto: str | None = Field(default=None, max_length=12)


TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Get the weather of a city",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "maxLength": 12},
                    "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                },
                "required": ["city", "unit"],
                "additionalProperties": False,
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "roll-dice",
            "parameters": {
                "type": "object",
                "properties": {"sides": {"type": "integer", "minimum": 2, "maximum": 20}},
                "required": ["sides"],
                "additionalProperties": False,
            },
        },
    },
]


@pytest.fixture(scope="module")
def served(binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    served = start(binary, tmp_path_factory.mktemp("worker"))
    try:
        served.wait_ready()
        yield served
    finally:
        code = served.stop()
    assert code == 0, served.tail()


@pytest.fixture
def agent_model(served: Served) -> OpenAIChatModel:
    provider = OpenAIProvider(base_url=served.base_url, api_key="unused")
    return OpenAIChatModel(MODEL.stem, provider=provider)


@pytest.fixture
def client(served: Served) -> openai.OpenAI:
    return openai.OpenAI(base_url=served.base_url, api_key="unused", max_retries=0, timeout=120)


def ask(client: openai.OpenAI, **more):
    messages = [{"role": "user", "content": QUESTION}]
    more.setdefault("max_tokens", 200)
    return client.chat.completions.create(model=MODEL.stem, messages=messages, **more)


def check_call(call) -> None:
    arguments = json.loads(call.function.arguments)
    if call.function.name == "get_weather":
        assert set(arguments) == {"city", "unit"}
        assert arguments["unit"] in ("celsius", "fahrenheit") and len(arguments["city"]) <= 12
    else:
        assert call.function.name == "roll-dice"
        assert 2 <= arguments["sides"] <= 20


# --- PydanticAI ---


@pytest.mark.parametrize("kind", [Weather, Person, Team])
def test_a_model_comes_back_as_a_validated_object(agent_model, kind):
    agent = Agent(agent_model, output_type=kind, model_settings={"max_tokens": 300})
    assert isinstance(agent.run_sync(QUESTION).output, kind)


def test_a_union_of_models_comes_back_as_one_of_them(agent_model):
    agent = Agent(agent_model, output_type=[Weather, Person], model_settings={"max_tokens": 300})
    assert isinstance(agent.run_sync(QUESTION).output, Weather | Person)


def test_native_output_is_constrained_content(agent_model):
    agent = Agent(agent_model, output_type=NativeOutput(Team), model_settings={"max_tokens": 300})
    assert isinstance(agent.run_sync(QUESTION).output, Team)


def test_an_object_streams_in_pieces(agent_model):
    async def stream() -> tuple[int, Team]:
        agent = Agent(agent_model, output_type=Team, model_settings={"max_tokens": 300})
        pieces = 0
        async with agent.run_stream(QUESTION) as run:
            async for _ in run.stream_output(debounce_by=None):
                pieces += 1
            return pieces, await run.get_output()

    pieces, team = asyncio.run(stream())
    assert pieces > 1
    assert isinstance(team, Team)


# --- the openai package: calls ---


@pytest.mark.parametrize("stream", [False, True])
def test_a_named_tool_is_called(client, stream):
    choice = {"type": "function", "function": {"name": "roll-dice"}}
    if stream:
        with client.chat.completions.stream(
            model=MODEL.stem,
            messages=[{"role": "user", "content": QUESTION}],
            tools=TOOLS,
            tool_choice=choice,
            max_tokens=200,
        ) as events:
            for _ in events:
                pass
            answer = events.get_final_completion()
    else:
        answer = ask(client, tools=TOOLS, tool_choice=choice)
    (call,) = answer.choices[0].message.tool_calls
    assert call.function.name == "roll-dice"
    check_call(call)


@pytest.mark.parametrize("parallel", [False, True])
def test_required_makes_calls_of_the_tools(client, parallel):
    for seed in range(4):
        answer = ask(client, tools=TOOLS, tool_choice="required", parallel_tool_calls=parallel, seed=seed)
        choice = answer.choices[0]
        calls = choice.message.tool_calls
        if parallel and choice.finish_reason == "length":
            # It calls as long as it has room; the last call may be cut.
            calls = calls[:-1]
        else:
            assert choice.finish_reason == "tool_calls"
            assert parallel or len(calls) == 1
        assert calls
        for call in calls:
            check_call(call)


def test_auto_calls_as_the_model_likes(client):
    called = 0
    for seed in range(6):
        answer = ask(client, tools=TOOLS, seed=seed, max_tokens=120)
        choice = answer.choices[0]
        if choice.message.tool_calls:
            called += 1
            assert choice.finish_reason in ("tool_calls", "length")
            if choice.finish_reason == "tool_calls":
                for call in choice.message.tool_calls:
                    check_call(call)
        assert "<tool_call>" not in (choice.message.content or "")
    # The model was trained to call for this very question.
    assert called


def test_no_call_comes_under_none(client):
    answer = ask(client, tools=TOOLS, tool_choice="none", max_tokens=40)
    assert not answer.choices[0].message.tool_calls


# --- the openai package: constraints ---


@pytest.mark.parametrize(
    ("fields", "whole"),
    [
        ({"structured_outputs": {"regex": "[a-z]{3}-[0-9]{2}"}}, "[a-z]{3}-[0-9]{2}"),
        ({"guided_regex": "(yes|no), [A-Z]{1,5}"}, "(yes|no), [A-Z]{1,5}"),
        ({"structured_outputs": {"choice": ["red", "green", "reddish"]}}, "red|green|reddish"),
        ({"guided_choice": ["a b", 'c"d', "é"]}, 'a b|c"d|é'),
        ({"structured_outputs": {"grammar": 'root ::= "x" [0-9]+ ";"'}}, r"x[0-9]+;"),
        ({"structured_outputs": {"grammar": 'start: "<" WORD ">"\nWORD: /[a-z]{1,8}/'}}, "<[a-z]{1,8}>"),
        ({"grammar": 'root ::= ("ab")+ "."'}, r"(ab)+\."),
        ({"regex": "[01]{8}"}, "[01]{8}"),
    ],
)
def test_text_is_what_was_asked_for(client, fields, whole):
    for seed in range(3):
        answer = ask(client, extra_body=fields, seed=seed, temperature=2.0, max_tokens=400)
        choice = answer.choices[0]
        assert choice.finish_reason in ("stop", "length")
        if choice.finish_reason == "stop":
            assert re.fullmatch(whole, choice.message.content), choice.message.content


@pytest.mark.parametrize(
    "fields",
    [
        {"response_format": {"type": "json_schema", "json_schema": {"name": "p", "schema": Person.model_json_schema()}}},
        {"extra_body": {"structured_outputs": {"json": Person.model_json_schema()}}},
        {"extra_body": {"guided_json": Person.model_json_schema()}},
        {"extra_body": {"json_schema": Person.model_json_schema()}},
    ],
)
def test_json_of_a_schema_in_every_spelling(client, fields):
    for seed in range(3):
        answer = ask(client, seed=seed, temperature=1.5, **fields)
        Person.model_validate_json(answer.choices[0].message.content)


def test_json_without_space_where_that_is_asked(client):
    fields = {"structured_outputs": {"json": Team.model_json_schema(), "disable_any_whitespace": True}}
    content = ask(client, extra_body=fields, max_tokens=400, seed=1).choices[0].message.content
    team = json.loads(content)
    assert content == json.dumps(team, separators=(",", ":"), ensure_ascii=False)


# --- the openai package: sampling ---


def test_a_seed_makes_the_answer_reproducible(client):
    texts = {ask(client, seed=7, temperature=1.2, max_tokens=30).choices[0].message.content for _ in range(3)}
    assert len(texts) == 1


def test_n_answers_of_one_request(client):
    answer = ask(client, n=3, seed=3, tools=TOOLS, tool_choice="required", parallel_tool_calls=False)
    assert [choice.index for choice in answer.choices] == [0, 1, 2]
    for choice in answer.choices:
        check_call(choice.message.tool_calls[0])
    assert answer.usage.prompt_tokens > 0


def test_log_probabilities_are_of_what_the_constraint_allows(client):
    fields = {"structured_outputs": {"choice": ["a", "b"]}}
    answer = ask(client, extra_body=fields, logprobs=True, top_logprobs=5, seed=1)
    first = answer.choices[0].logprobs.content[0]
    assert first.token in ("a", "b")
    likely = {top.token: top.logprob for top in first.top_logprobs}
    assert set(likely) <= {"a", "b"}
    assert first.logprob <= 0


def test_a_stop_text_is_not_part_of_the_answer(client):
    free = ask(client, temperature=0, max_tokens=30).choices[0].message.content
    stop = free[5:8]
    choice = ask(client, temperature=0, max_tokens=30, stop=[stop]).choices[0]
    assert choice.finish_reason == "stop"
    assert choice.message.content == free[: free.index(stop)]


def test_bias_moves_the_answer(served, client):
    fields = {"structured_outputs": {"choice": ["red", "green"]}}
    for word in ("red", "green"):
        tokens = httpx.post(
            f"{served.base_url.removesuffix('/v1')}/tokenize", json={"model": MODEL.stem, "prompt": word}
        ).json()["tokens"]
        answer = ask(client, extra_body=fields, logit_bias={str(token): 100 for token in tokens}, seed=5)
        assert answer.choices[0].message.content == word


# --- errors ---


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"extra_body": {"structured_outputs": {"regex": "(a"}}}, "regex"),
        ({"temperature": -1}, "temperature"),
        ({"logit_bias": {"99999999": 5}}, "logit_bias"),
        ({"top_p": 0}, "top_p"),
        ({"extra_body": {"structured_outputs": {"json": {"type": "objekt"}}}}, "/type"),
        ({"extra_body": {"structured_outputs": {"regex": "a", "choice": ["a"]}}}, "structured_outputs"),
    ],
)
def test_what_cannot_be_is_refused_by_name(client, fields, said):
    with pytest.raises(openai.BadRequestError) as refused:
        ask(client, **fields)
    assert said in str(refused.value)


def test_a_prompt_that_is_too_long_is_refused_with_the_numbers(client):
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(
            model=MODEL.stem, messages=[{"role": "user", "content": "weather " * 20_000}], max_tokens=5
        )
    assert re.search(r"\d{4}", str(refused.value))


# --- the process ---


def test_the_series_of_the_worker_are_among_the_proxys(served, client):
    # Closed: a model of random weights writes a property of its own twice, and is then asked again.
    schema = {
        "type": "object",
        "properties": {"a_name_only_here": {"type": "boolean"}},
        "required": ["a_name_only_here"],
        "additionalProperties": False,
    }
    before = served.series()
    for _ in range(3):
        ask(client, extra_body={"structured_outputs": {"json": schema, "disable_any_whitespace": True}})
    after = served.series()

    def grew(prefix: str) -> float:
        count = lambda series: sum(value for name, value in series.items() if name.startswith(prefix))
        return count(after) - count(before)

    assert grew("isogloss_worker_grammar_cache_misses_total") == 1
    assert grew("isogloss_worker_grammar_cache_hits_total") == 2
    assert grew("isogloss_worker_completion_tokens_total") > 0
    assert grew("isogloss_worker_forced_tokens_total") > 0
    assert after["isogloss_worker_up"] == 1


def test_many_requests_with_mixed_constraints_at_once(client):
    def one(seed: int) -> None:
        kind = seed % 4
        if kind == 0:
            answer = ask(client, seed=seed, extra_body={"structured_outputs": {"json": Team.model_json_schema()}}, max_tokens=400)
            Team.model_validate_json(answer.choices[0].message.content)
        elif kind == 1:
            answer = ask(client, seed=seed, tools=TOOLS, tool_choice="required")
            for call in answer.choices[0].message.tool_calls:
                check_call(call)
        elif kind == 2:
            answer = ask(client, seed=seed, extra_body={"structured_outputs": {"regex": f"[ab]{{3}}{seed}"}})
            assert re.fullmatch(f"[ab]{{3}}{seed}", answer.choices[0].message.content)
        else:
            assert ask(client, seed=seed, max_tokens=20).usage.completion_tokens <= 20

    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        list(pool.map(one, range(48)))


def test_a_client_that_goes_frees_its_slot(served, client):
    for _ in range(12):
        stream = ask(client, stream=True, max_tokens=3000, extra_body={"ignore_eos": True})
        next(iter(stream))
        stream.close()
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if served.series().get("isogloss_worker_running", 0) == 0:
            return
        time.sleep(0.1)
    raise AssertionError("the slots of clients that went are still taken")


def test_a_killed_worker_is_replaced_and_nobody_hangs(binary, tmp_path):
    served = start(binary, tmp_path)
    try:
        served.wait_ready()
        client = openai.OpenAI(base_url=served.base_url, api_key="unused", max_retries=0, timeout=60)
        (pid,) = served.worker_pids()

        def one(seed: int) -> str:
            try:
                answer = ask(client, seed=seed, max_tokens=2000, extra_body={"ignore_eos": True})
                return answer.choices[0].finish_reason
            except openai.APIStatusError as error:
                assert error.status_code in (502, 503), error
                return error.body["code"] if isinstance(error.body, dict) else "error"

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = [pool.submit(one, seed) for seed in range(8)]
            time.sleep(1.0)
            os.kill(pid, signal.SIGKILL)
            outcomes = [answer.result(timeout=60) for answer in answers]
        assert "worker_crashed" in outcomes, outcomes
        # The next request waits for the new worker.
        assert ask(client, max_tokens=3).usage.completion_tokens <= 3
        assert served.worker_pids() != [pid]
        assert served.series()["isogloss_worker_restarts_total"] >= 1
    finally:
        served.stop()


def test_no_worker_outlives_its_proxy(binary, tmp_path):
    served = start(binary, tmp_path)
    served.wait_ready()
    (pid,) = served.worker_pids()
    served.process.kill()
    served.process.wait()
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().split()[2]:
            return
        time.sleep(0.05)
    raise AssertionError("the worker lives on")


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        (None, 64, "model.gguf"),
        (b"<!DOCTYPE html><html>", 1, "it is a web page"),
        (b"GGUF\x03\x00", 1, "download it again"),
    ],
)
def test_a_file_that_is_no_model_is_said_at_once(binary, tmp_path, content, code, said):
    path = tmp_path / "model.gguf"
    if content is not None:
        path.write_bytes(content)
    served = start(binary, tmp_path, model=path)
    assert served.process.wait(30) == code
    assert said in served.tail(), served.tail()


# --- images ---


def png(width: int, height: int, colour: bytes) -> str:
    """A data: URL of an image of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + colour * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = [chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")]
    file = b"\x89PNG\r\n\x1a\n" + b"".join(parts)
    return f"data:image/png;base64,{base64.b64encode(file).decode()}"


def test_an_image_reaches_a_model_that_has_a_projector_and_the_answer_has_its_shape(binary, tmp_path):
    mmproj = projector.write(tmp_path / "mmproj.gguf", 256)
    served = start(binary, tmp_path, "--mmproj", str(mmproj))
    try:
        served.wait_ready()
        client = openai.OpenAI(base_url=served.base_url, api_key="unused", max_retries=0, timeout=120)

        def look(url: str):
            image = {"type": "image_url", "image_url": {"url": url, "detail": "low"}}
            question = {"type": "text", "text": "What is the weather in this picture?"}
            messages = [{"role": "user", "content": [question, image]}]
            return client.chat.completions.parse(
                model=MODEL.stem, messages=messages, response_format=Weather, max_tokens=200
            )

        small, big = look(png(40, 24, b"\xff\0\0")), look(png(80, 48, b"\0\0\xff"))
        assert isinstance(small.choices[0].message.parsed, Weather)
        # 5 x 3 patches and the ends of 2 rows; 10 x 6 and 5.
        assert big.usage.prompt_tokens - small.usage.prompt_tokens == 65 - 17
        with pytest.raises(openai.BadRequestError, match="data: URL") as refused:
            look("https://example.com/picture.png")
        assert refused.value.param == "messages[0].content[1].image_url.url"
        assert "takes image" in served.tail()
    finally:
        assert served.stop() == 0, served.tail()


def test_an_image_for_a_model_without_a_projector_is_refused_with_what_is_missing(client):
    image = {"type": "image_url", "image_url": {"url": png(8, 8, b"\0\0\0")}}
    with pytest.raises(openai.BadRequestError, match="no projector"):
        client.chat.completions.create(model=MODEL.stem, messages=[{"role": "user", "content": [image]}])
