"""A server that speaks Responses itself, as OpenAI's does. Its script says which items it answers with: what a client
reads of them, and what comes back of them, is what is tested. As OpenAI's it enforces nothing that is not said to it:
a strict format and a forced call are met by the script alone, or broken by it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from wire import HttpServer, Recorded, Response, Stream, as_json, compact

PATH = "/v1/responses"
Item = dict[str, Any]


def message(text: str, number: int = 1) -> Item:
    cited = [{"type": "url_citation", "url": "https://example.org/", "title": "t", "start_index": 0, "end_index": 1}]
    part = {"type": "output_text", "text": text, "annotations": cited, "logprobs": []}
    return {"id": f"msg_{number}", "type": "message", "status": "completed", "role": "assistant", "content": [part]}


def thought(number: int = 1) -> Item:
    """One that only its own server can read."""
    summary = [{"type": "summary_text", "text": "A city is asked for."}]
    return {"id": f"rs_{number}", "type": "reasoning", "summary": summary, "encrypted_content": f"gAAAAB+/{number}=="}


def search() -> Item:
    action = {"type": "search", "query": "Eiffel tower"}
    return {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": action}


def call(name: str, arguments: str, number: int = 1) -> Item:
    return {
        "id": f"fc_{number}", "type": "function_call", "status": "completed",
        "arguments": arguments, "call_id": f"call_{number}", "name": name,
    }  # fmt: skip


class ResponsesServer:
    """One upstream on loopback. `reset` gives it the items of each of its replies."""

    name = "openai"
    model = "gpt-scripted"

    def __init__(self) -> None:
        self.reset()
        self.http = HttpServer("cloudflare", self.handle)
        self.url = self.http.url

    def reset(self, *replies: list[Item]) -> None:
        self.replies = list(replies)
        self.requests: list[Recorded] = []
        self.said: list[bytes] = []
        self.crashes: list[str] = []

    @property
    def last(self) -> Any:
        return self.requests[-1].body

    def handle(self, request: Recorded) -> Response | Stream:
        if (request.method, request.path) == ("GET", "/v1/models"):
            model = {"id": self.model, "object": "model", "created": 1, "owned_by": "system"}
            return as_json(200, {"object": "list", "data": [model]})
        if (request.method, request.path) != ("POST", PATH):
            return as_json(404, {"error": {"message": "Invalid URL", "type": "invalid_request_error", "code": None}})
        request.body = json.loads(request.raw)
        self.requests.append(request)
        items = self.replies.pop(0)
        if request.body.get("stream"):
            events = ({**event, "sequence_number": number} for number, event in enumerate(self.events(request.body, items)))
            return Stream((f"event: {event['type']}\ndata: {compact(event)}" for event in events), frame="{}\n\n")
        # With spaces, as OpenAI writes it: who writes it anew is found out.
        body = json.dumps(self.response(request.body, items, "completed"), ensure_ascii=False, indent=2).encode()
        self.said.append(body)
        return Response(200, body)

    def response(self, asked: Any, output: list[Item], status: str) -> dict[str, Any]:
        usage = {
            "input_tokens": 9, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 7,
            "output_tokens_details": {"reasoning_tokens": 3}, "total_tokens": 16,
        }  # fmt: skip
        return {
            "id": f"resp_{len(self.requests)}", "object": "response", "created_at": 1741476542, "status": status,
            "background": False, "error": None, "incomplete_details": None, "instructions": asked.get("instructions"),
            "max_output_tokens": None, "model": self.model, "output": output, "parallel_tool_calls": True,
            "previous_response_id": asked.get("previous_response_id"), "reasoning": {"effort": "low", "summary": None},
            "service_tier": "flex", "store": asked.get("store", True), "temperature": 1.0,
            "text": asked.get("text") or {"format": {"type": "text"}}, "tool_choice": asked.get("tool_choice", "auto"),
            "tools": asked.get("tools", []), "top_p": 1.0, "truncation": "disabled",
            "usage": usage if status == "completed" else None, "user": None, "metadata": {},
        }  # fmt: skip

    def events(self, asked: Any, items: list[Item]) -> Iterator[dict[str, Any]]:
        yield {"type": "response.created", "response": self.response(asked, [], "in_progress")}
        yield {"type": "response.in_progress", "response": self.response(asked, [], "in_progress")}
        for place, item in enumerate(items):
            at = {"output_index": place}
            begun = dict(item)
            if "status" in item:
                begun["status"] = "in_progress"
            begun |= {"message": {"content": []}, "function_call": {"arguments": ""}}.get(item["type"], {})
            yield {"type": "response.output_item.added", **at, "item": begun}
            yield from ({**event, **at, "item_id": item["id"]} for event in self.inside(item))
            yield {"type": "response.output_item.done", **at, "item": item}
        yield {"type": "response.completed", "response": self.response(asked, items, "completed")}

    def inside(self, item: Item) -> Iterator[dict[str, Any]]:
        if item["type"] == "message":
            (part,) = item["content"]
            at = {"content_index": 0}
            empty = {**part, "text": "", "annotations": []}
            yield {"type": "response.content_part.added", **at, "part": empty}
            for piece in pieces(part["text"]):
                yield {"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []}
            for number, annotation in enumerate(part["annotations"]):
                yield {
                    "type": "response.output_text.annotation.added", **at,
                    "annotation_index": number, "annotation": annotation,
                }  # fmt: skip
            yield {"type": "response.output_text.done", **at, "text": part["text"], "logprobs": []}
            yield {"type": "response.content_part.done", **at, "part": part}
        elif item["type"] == "function_call":
            for piece in pieces(item["arguments"]):
                yield {"type": "response.function_call_arguments.delta", "delta": piece}
            yield {"type": "response.function_call_arguments.done", "arguments": item["arguments"], "name": item["name"]}
        elif item["type"] == "reasoning":
            for number, part in enumerate(item["summary"]):
                at = {"summary_index": number}
                yield {"type": "response.reasoning_summary_part.added", **at, "part": {**part, "text": ""}}
                yield {"type": "response.reasoning_summary_text.delta", **at, "delta": part["text"]}
                yield {"type": "response.reasoning_summary_text.done", **at, "text": part["text"]}
                yield {"type": "response.reasoning_summary_part.done", **at, "part": part}
        elif item["type"] == "web_search_call":
            for state in ("in_progress", "searching", "completed"):
                yield {"type": f"response.web_search_call.{state}"}

    def close(self) -> None:
        self.http.close()


def pieces(text: str) -> Iterator[str]:
    for at in range(0, len(text), 4):
        yield text[at : at + 4]
