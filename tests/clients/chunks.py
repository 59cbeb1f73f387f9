"""The steps of a reply in; the chunks of a stream out, in the shape that the dialects vary."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scripted import Reply, ScriptedServer


def now() -> int:
    return int(time.time())


def hex_id(length: int) -> str:
    return (uuid.uuid4().hex * 2)[:length]


class Chunks:
    """The chunks of one streamed reply, in vLLM's shape; the other dialects change parts of it."""

    def __init__(self, server: ScriptedServer, body: dict, usage: dict, reply_id: str) -> None:
        self.server, self.body, self.counts = server, body, usage
        self.base = {"id": reply_id, "object": "chat.completion.chunk", "created": now()}
        self.base["model"] = server.model

    def chunk(self, choices: list, **extra: Any) -> dict:
        return {**self.base, "choices": choices, **extra}

    def choice(self, index: int, delta: dict, finish: str | None, logprobs: Any, **extra: Any) -> dict:
        return {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish, **extra}

    def first(self, index: int) -> dict:
        delta = {"role": "assistant", "content": ""}
        return self.chunk([self.choice(index, delta, None, None)], prompt_token_ids=None)

    def delta(self, index: int, what: str, value: Any) -> dict:
        logprobs = None
        if what == "content":
            delta: dict = {"content": value}
            logprobs = self.server.logprobs(self.body, [value])
        elif what == "open":
            delta = {"tool_calls": [self.opened(*value)]}
        else:
            delta = {"tool_calls": [self.more(*value)]}
        return self.chunk([self.choice(index, delta, None, logprobs, token_ids=None)])

    def opened(self, index: int, name: str) -> dict:
        call_id = f"chatcmpl-tool-{hex_id(16)}"
        return {"id": call_id, "type": "function", "index": index, "function": {"name": name}}

    def more(self, index: int, piece: str) -> dict:
        return {"index": index, "function": {"arguments": piece}}

    def last(self, index: int, reply: Reply) -> dict:
        delta: dict = {"content": self.server.last_piece(reply)}
        if isinstance(self.body.get("tool_choice"), dict) and reply.calls:
            delta = {"tool_calls": [self.more(len(reply.calls) - 1, "")]}
        logprobs = self.server.logprobs(self.body, [delta["content"]]) if delta.get("content") else None
        return self.chunk(
            [self.choice(index, delta, reply.finish, logprobs, stop_reason=None, token_ids=None)]
        )

    def usage(self) -> list[dict]:
        return [self.chunk([], usage=self.counts)]
