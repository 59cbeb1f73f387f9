"""What Anthropic's, Google's and Cohere's own Python packages know: a request's or a reply's JSON comes in;
an error where their types do not have it goes out.

The packages are lenient towards what they do not know, so that is looked for here: a field that is
lost on the way through a type, or that a type only tolerates.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, get_args

import cohere.types
import cohere.v2.types
from anthropic.types import Message, RawMessageStreamEvent, message_create_params
from google.genai import types as genai
from pydantic import BaseModel, TypeAdapter


class Unknown(AssertionError):
    """A field that the package does not have."""


def is_known(kind: Any, value: Any, at: str) -> None:
    """The type takes the value, and knows all of it."""
    adapter = TypeAdapter(kind)  # It is still needed where reading goes on.
    lost(value, plain(adapter.validate_python(value), at), at)


def plain(read: Any, at: str) -> Any:
    """What was read, as JSON has it again."""
    if isinstance(read, BaseModel):
        if read.model_extra:
            raise Unknown(f"{at}: {sorted(read.model_extra)} of {type(read).__name__}")
        fields = type(read).model_fields
        names = {name: fields[name].alias or name for name in read.model_fields_set}
        return {alias: plain(getattr(read, name), f"{at}.{name}") for name, alias in names.items()}
    if isinstance(read, dict):
        return {name: plain(inner, f"{at}.{name}") for name, inner in read.items()}
    if isinstance(read, Iterable) and not isinstance(read, str | bytes):
        # Where a type says no more than that it can be gone through, it is read on the way.
        return [plain(item, f"{at}[]") for item in read]
    return read


def lost(value: Any, written: Any, at: str) -> None:
    if isinstance(value, dict) and isinstance(written, dict):
        if missing := set(value) - set(written):
            raise Unknown(f"{at}: {sorted(missing)}")
        for name, inner in value.items():
            lost(inner, written[name], f"{at}.{name}")
    elif isinstance(value, list) and isinstance(written, list):
        for place, (one, other) in enumerate(zip(value, written, strict=True)):
            lost(one, other, f"{at}[{place}]")


class Anthropic:
    @staticmethod
    def request(body: dict) -> None:
        streaming = body.get("stream")
        kind = (
            message_create_params.MessageCreateParamsStreaming
            if streaming
            else message_create_params.MessageCreateParamsNonStreaming
        )
        is_known(kind, body, "request")

    @staticmethod
    def reply(body: dict) -> None:
        # The package fills in these; the servers leave them out where they have nothing to say.
        is_known(Message, {"stop_sequence": None} | body, "reply")

    @staticmethod
    def event(body: dict) -> None:
        if body["type"] == "ping":
            return  # The package skips it before it reads.
        if body["type"] == "message_start":
            body = body | {"message": {"stop_sequence": None} | body["message"]}
        is_known(RawMessageStreamEvent, body, body["type"])


class FieldByField:
    """Requests have no type as a whole: each field has one."""

    fields: dict[str, Any]

    @classmethod
    def request(cls, body: dict) -> None:
        for name, value in body.items():
            is_known(cls.fields[name], value, name)


class Google(FieldByField):
    fields = {
        "contents": list[genai.Content],
        "systemInstruction": genai.Content,
        "tools": list[genai.Tool],
        "toolConfig": genai.ToolConfig,
        "generationConfig": genai.GenerationConfig,
        "safetySettings": list[genai.SafetySetting],
    }

    @staticmethod
    def reply(body: dict) -> None:
        is_known(genai.GenerateContentResponse, body, "reply")

    event = reply


class Cohere(FieldByField):
    """Its requests are the arguments of a method."""

    fields = {
        "model": str,
        "messages": list[cohere.types.ChatMessageV2],
        "stream": bool,
        "tools": list[cohere.types.ToolV2],
        # Beside its words the package lets anything through.
        "tool_choice": get_args(cohere.v2.types.V2ChatRequestToolChoice)[0],
        "strict_tools": bool,
        "response_format": cohere.types.ResponseFormatV2,
        "thinking": cohere.types.Thinking,
        "temperature": float,
        "p": float,
        "k": int,
        "seed": int,
        "max_tokens": int,
        "stop_sequences": list[str],
        "frequency_penalty": float,
        "presence_penalty": float,
    }

    @staticmethod
    def reply(body: dict) -> None:
        is_known(cohere.v2.types.V2ChatResponse, body, "reply")

    @staticmethod
    def event(body: dict) -> None:
        is_known(cohere.v2.types.V2ChatStreamResponse, body, body["type"])


SDKS = {"anthropic": Anthropic, "gemini": Google, "cohere": Cohere}
