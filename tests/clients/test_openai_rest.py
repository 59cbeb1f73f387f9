"""The `openai` package through isogloss: what is carried, what isogloss says of itself, what it refuses."""

from __future__ import annotations

import json

import httpx
import openai
import pytest

from helpers import (
    CITY_SCHEMA,
    IN_PARIS,
    PARIS,
    TOOLS,
    USER,
    WEATHER,
    ZURICH,
    City,
    counting,
    create,
    json_schema,
    only,
    sdk,
)
from model import Turn

DIALECTS = {
    "vllm-new": "vllm@0.32.0",
    "vllm-old": "vllm@0.10.2",
    "sglang": "sglang@0.5.23",
    "llama-cpp": "llama-cpp",
    "plain": "plain",
}


# --- what is none of our business ---


def test_a_plain_request_passes_through_byte_for_byte(stack):
    stack.server.reset(Turn(text="Zürich"))
    raw = json.dumps({"messages": USER, "model": stack.model, "temperature": 0.5}, indent=3).encode()
    reply = httpx.post(
        f"{stack.base_url}/chat/completions",
        content=raw,
        headers={"content-type": "application/json"},
        timeout=10,
    )
    assert reply.json()["choices"][0]["message"]["content"] == "Zürich"
    assert stack.server.requests[-1].raw == raw
    assert reply.headers["x-isogloss-strategy"] == "passthrough"


def test_fields_that_isogloss_does_not_know_are_carried(stack):
    if stack.name == "plain":
        pytest.skip("transformers serve refuses unknown fields")
    stack.server.reset(IN_PARIS)
    extra = {"top_k": 20, "min_p": 0.1, "chat_template_kwargs": {"enable_thinking": False}}
    create(
        stack, tools=TOOLS, tool_choice="required", seed=7, temperature=0.3, extra_body=extra
    )
    sent = stack.server.last
    assert {key: sent[key] for key in ("top_k", "min_p", "seed", "temperature")} == {
        "top_k": 20,
        "min_p": 0.1,
        "seed": 7,
        "temperature": 0.3,
    }
    assert sent["chat_template_kwargs"]["enable_thinking"] is False


def test_stop_texts_are_for_texts(stack):
    stack.server.reset(Turn(values=PARIS))
    create(stack, stop=["END"], response_format=json_schema(CITY_SCHEMA))
    assert stack.server.last["stop"] == ["END"]
    # In a call that the server is held to they would end its JSON.
    stack.server.reset(IN_PARIS)
    create(stack, tools=TOOLS, tool_choice="required", stop=["Paris", "\n"])
    assert "\n" not in stack.server.last.get("stop", [])


def test_images_reach_the_server_as_they_were(stack):
    stack.server.reset(Turn(values=PARIS))
    pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    parts = [
        {"type": "text", "text": "Where is this?"},
        {"type": "image_url", "image_url": {"url": pixel, "detail": "low"}},
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
    ]
    reply = sdk(stack).chat.completions.parse(
        model=stack.model, messages=[{"role": "user", "content": parts}], response_format=City
    )
    assert reply.choices[0].message.parsed == City(**PARIS)
    sent = [message["content"] for message in stack.server.last["messages"] if message["role"] == "user"]
    assert parts in sent or any(
        parts == content[: len(parts)] for content in sent if isinstance(content, list)
    )


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
def test_logprobs_are_the_servers_own(stack, streamed):
    if stack.name == "plain":
        pytest.skip("transformers serve has no logprobs")
    stack.server.reset(Turn(values=ZURICH))
    asked = {
        "response_format": json_schema(CITY_SCHEMA),
        "logprobs": True,
        "top_logprobs": 1,
        "stream": streamed,
    }
    reply = create(stack, **asked)
    if streamed:
        tokens = [
            entry
            for chunk in reply
            for choice in chunk.choices
            if choice.logprobs
            for entry in choice.logprobs.content or []
        ]
    else:
        tokens = reply.choices[0].logprobs.content
    assert json.loads("".join(token.token for token in tokens)) == ZURICH
    assert all(token.logprob == -0.00120936194434762 and token.top_logprobs for token in tokens)


def test_usage_is_the_servers_own(stack):
    stack.server.reset(IN_PARIS)
    usage = create(stack, tools=TOOLS, tool_choice="required").usage
    counted = stack.server.last_usage
    for key in ("prompt_tokens", "completion_tokens", "total_tokens"):
        assert getattr(usage, key) == counted[key]


def test_the_clients_key_reaches_the_server(stack):
    stack.server.reset(IN_PARIS)
    create(stack, tools=TOOLS, tool_choice="required")
    assert stack.server.requests[-1].headers["authorization"] == "Bearer test-key"


def test_other_paths_pass_through(stack):
    if stack.name == "plain":
        pytest.skip("transformers serve answers 500 to /v1/models")
    assert [model.id for model in sdk(stack).models.list()] == [stack.model]


# --- what isogloss says about itself ---


@pytest.mark.parametrize(
    ("body", "strategies"),
    [
        ({}, dict.fromkeys(DIALECTS, "passthrough")),
        (
            {"tools": TOOLS, "tool_choice": "required"},
            {
                "vllm-new": "tags",
                "vllm-old": "constrain",
                "sglang": "tags",
                "llama-cpp": "native",
                "plain": "instruct",
            },
        ),
        (
            {"response_format": json_schema(CITY_SCHEMA)},
            {**dict.fromkeys(DIALECTS, "native"), "plain": "instruct"},
        ),
        (
            {"extra_body": {"guided_choice": ["red", "green"]}},
            {
                "vllm-new": "native",
                "vllm-old": "native",
                "sglang": "convert",
                "llama-cpp": "convert",
                "plain": "instruct",
            },
        ),
    ],
    ids=["chat", "required", "response_format", "guided_choice"],
)
def test_headers_and_metrics_say_what_was_done(stack, body, strategies):
    stack.server.reset(Turn(values={**PARIS, **IN_PARIS.values}, prompted="red"))
    if "tools" in body:
        stack.server.reset(IN_PARIS)
    with counting(stack) as grown:
        raw = sdk(stack).chat.completions.with_raw_response.create(model=stack.model, messages=USER, **body)
        raw.parse()
    strategy = strategies[stack.name]
    assert raw.headers["x-isogloss-strategy"] == strategy
    assert raw.headers["x-isogloss-dialect"] == DIALECTS[stack.name]
    assert raw.headers["x-isogloss-request-id"]
    counted = [series for series in grown if series.startswith("isogloss_requests_total{")]
    assert [f'strategy="{strategy}"' in series for series in counted] == [True], grown


def test_the_admin_port_knows_the_server(stack):
    for path in ("livez", "readyz"):
        assert httpx.get(f"{stack.admin_url}/{path}").status_code == 200
    told = httpx.get(f"{stack.admin_url}/capabilities").text
    assert DIALECTS[stack.name].partition("@")[0] in told


# --- errors ---


def test_two_constraints_are_refused_before_the_server_sees_them(stack):
    with pytest.raises(openai.BadRequestError) as caught:
        create(stack, response_format=json_schema(CITY_SCHEMA), extra_body={"guided_regex": "a+"})
    error = caught.value
    assert (error.code, error.type) == ("conflicting_constraints", "invalid_request_error")
    assert error.param
    assert "response_format" in error.message and "guided_regex" in error.message
    assert not stack.server.requests


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({"response_format": json_schema({"type": "banana"})}, "invalid_schema", "response_format"),
        (
            {
                "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "banana"}}}],
                "tool_choice": "required",
            },
            "invalid_schema",
            "tools",
        ),
        (
            {"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "nope"}}},
            "unknown_tool",
            "tool_choice",
        ),
        ({"tools": [WEATHER, WEATHER], "tool_choice": "required"}, "duplicate_tool_name", "tools"),
        ({"extra_body": {"guided_regex": "("}}, "invalid_grammar", "guided_regex"),
    ],
    ids=["schema", "tool-schema", "unknown-tool", "duplicate-tool", "regex"],
)
@only("vllm-new", "plain")
def test_a_wrong_request_is_refused_with_its_field(stack, body, code, param):
    with pytest.raises(openai.BadRequestError) as caught:
        create(stack, **body)
    assert (caught.value.code, caught.value.type) == (code, "invalid_request_error")
    assert (caught.value.param or "").startswith(param)
    assert not stack.server.requests


@only("vllm-new", "vllm-old")
@pytest.mark.parametrize("body", [{}, {"tools": TOOLS, "tool_choice": "required"}], ids=["chat", "required"])
def test_an_unknown_model_is_not_found(stack, body):
    with pytest.raises(openai.NotFoundError) as caught:
        sdk(stack).chat.completions.create(model="no-such-model", messages=USER, **body)
    assert "no-such-model" in caught.value.message
    assert caught.value.code is not None


@only("sglang")
def test_a_flat_error_body_reaches_the_sdk_as_openai_writes_it(stack):
    with pytest.raises(openai.BadRequestError) as caught:
        create(stack, tools=TOOLS, tool_choice="required", temperature=-3)
    assert isinstance(caught.value.body, dict) and "non-negative" in caught.value.body["message"]
    assert isinstance(caught.value.code, str)


def test_a_request_that_is_no_json_is_refused(stack):
    reply = httpx.post(
        f"{stack.base_url}/chat/completions",
        content=b'{"model": "tiny", "messages": [',
        headers={"content-type": "application/json"},
        timeout=10,
    )
    assert reply.status_code == 400
    assert reply.json()["error"]["code"] == "invalid_json"
    assert not stack.server.requests
