"""What a reply says, as the SDKs of its dialect read it: its text, its calls and why it ended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Said:
    """A reply, of whichever dialect and form."""

    text: str = ""
    # Names and arguments; those of a custom tool are its input.
    calls: list[tuple[str, str]] = field(default_factory=list)
    # It says itself that it was cut short.
    is_cut: bool = False


class Broken(Exception):
    """A success that no client of its dialect could read, or a stream that ends in an error."""


class Failed(Exception):
    """A stream's error event, with its JSON."""


def arguments(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def chat(body: dict) -> Said:
    choice = body["choices"][0]
    message = choice["message"]
    calls = [
        (it["function"]["name"], arguments(it["function"]["arguments"]))
        if it.get("type", "function") == "function"
        else (it["custom"]["name"], it["custom"]["input"])
        for it in message.get("tool_calls") or []
    ]
    if legacy := message.get("function_call"):
        calls.append((legacy["name"], arguments(legacy["arguments"])))
    return Said(message.get("content") or "", calls, choice.get("finish_reason") == "length")


def chat_stream(events: list[dict]) -> Said:
    out, open_calls = Said(), {}
    for event in events:
        for choice in event.get("choices") or []:
            delta = choice.get("delta") or {}
            out.text += delta.get("content") or ""
            out.is_cut |= choice.get("finish_reason") == "length"
            for piece in delta.get("tool_calls") or []:
                known = open_calls.setdefault(piece.get("index", 0), ["", ""])
                inner = piece.get("function") or piece.get("custom") or {}
                known[0] += inner.get("name") or ""
                known[1] += inner.get("arguments") or inner.get("input") or ""
    out.calls = [tuple(call) for call in open_calls.values()]
    return out


def responses(body: dict) -> Said:
    out = Said(is_cut=body.get("status") == "incomplete")
    if body.get("status") == "failed":
        raise Failed(body.get("error"))
    for item in body["output"]:
        if item["type"] == "message":
            out.text += "".join(part.get("text", "") for part in item["content"])
        elif item["type"] == "function_call":
            out.calls.append((item["name"], item["arguments"]))
        elif item["type"] == "custom_tool_call":
            out.calls.append((item["name"], item["input"]))
    return out


def responses_stream(events: list[dict]) -> Said:
    for event in events:
        if event.get("type") in ("response.completed", "response.incomplete"):
            return responses(event["response"])
        if event.get("type") in ("response.failed", "error"):
            raise Failed(event)
    raise Broken("a stream that does not end")


def messages(body: dict) -> Said:
    out = Said(is_cut=body.get("stop_reason") == "max_tokens")
    for block in body["content"]:
        if block["type"] == "text":
            out.text += block["text"]
        elif block["type"] == "tool_use":
            out.calls.append((block["name"], arguments(block["input"])))
    return out


def messages_stream(events: list[dict]) -> Said:
    out, blocks = Said(), {}
    for event in events:
        kind = event.get("type")
        if kind == "error":
            raise Failed(event)
        if kind == "content_block_start":
            blocks[event["index"]] = [event["content_block"], ""]
        elif kind == "content_block_delta":
            delta = event["delta"]
            blocks[event["index"]][1] += delta.get("text") or delta.get("partial_json") or ""
        elif kind == "message_delta":
            out.is_cut = event["delta"].get("stop_reason") == "max_tokens"
    for block, text in blocks.values():
        if block["type"] == "text":
            out.text += block.get("text", "") + text
        elif block["type"] == "tool_use":
            out.calls.append((block["name"], text or arguments(block.get("input", {}))))
    return out


def gemini(body: dict) -> Said:
    candidate = body["candidates"][0]
    out = Said(is_cut=candidate.get("finishReason") == "MAX_TOKENS")
    for part in (candidate.get("content") or {}).get("parts") or []:
        out.text += part.get("text", "")
        if call := part.get("functionCall"):
            out.calls.append((call["name"], arguments(call.get("args", {}))))
    return out


def ollama(body: dict) -> Said:
    message = body["message"]
    calls = [(it["function"]["name"], arguments(it["function"]["arguments"])) for it in message.get("tool_calls") or []]
    return Said(message.get("content") or "", calls, body.get("done_reason") == "length")


WHOLE = {"chat": chat, "responses": responses, "messages": messages, "gemini": gemini, "ollama": ollama}
STREAMED = {"chat": chat_stream, "responses": responses_stream, "messages": messages_stream}


def read(dialect: str, is_stream: bool, raw: bytes) -> Said:
    """Raises `Failed` with an error that stands in a stream, `Broken` where a client could not read it."""
    try:
        if not is_stream:
            return WHOLE[dialect](json.loads(raw))
        events = list(parsed(raw))
        for event in events:
            if event.get("error"):
                raise Failed(event)
        return STREAMED[dialect](events)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise Broken(f"{type(error).__name__}: {error}") from error


def parsed(raw: bytes) -> Iterator[dict]:
    for line in raw.decode(errors="replace").splitlines():
        if line.startswith("data:") and (data := line[5:].strip()) != "[DONE]":
            yield json.loads(data)
