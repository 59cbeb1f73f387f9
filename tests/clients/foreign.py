"""Scripted servers that are not asked in Chat Completions: Anthropic's, Gemini's, Ollama's, Cohere's wires.

Each refuses what its API refuses, enforces what its API enforces, and chats where nothing constrains
it, so that a constraint or a choice that is lost on the way shows. Calls and answers are made of
`values`, by the schema that the request names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from scripted import cut_up
from wire import HttpServer, Recorded, Response, Stream, as_json, compact

PROSE = "Hello! How can I help you today?"


class Foreign:
    """One upstream on loopback. `reset` gives it what it knows; `error` lets it fail."""

    dialect = ""
    model = "tiny"

    def __init__(self) -> None:
        self.reset()
        self.http = HttpServer("test", self.handle)
        self.url = self.http.url

    def reset(self, **values: Any) -> None:
        self.values = values
        self.lies = False  # Whether it ignores what it is told, as many servers do.
        self.thinks = ""
        self.error: Response | None = None
        self.requests: list[Recorded] = []
        self.replies: list[Response | Stream] = []
        self.crashes: list[str] = []

    def close(self) -> None:
        self.http.close()

    @property
    def last(self) -> Any:
        return self.requests[-1].body

    def handle(self, request: Recorded) -> Response | Stream:
        if request.method == "GET":
            return as_json(404, {"error": "no such route"})
        request.body = json.loads(request.raw)
        self.requests.append(request)
        self.replies.append(self.error or self.answer(request))
        return self.replies[-1]

    def answer(self, request: Recorded) -> Response | Stream:
        raise NotImplementedError

    def filled(self, schema: dict) -> Any:
        """What the schema asks for, of what is known."""
        kind = schema.get("type")
        if self.lies:
            return {"nonsense": True}
        if "anyOf" in schema:
            # Of a union the first branch that something is known of.
            answers = [branch for branch in schema["anyOf"] if "answer" in branch.get("properties", {})]
            return self.filled(answers[0] if answers else schema["anyOf"][0])
        if kind == "object":
            return {
                name: self.values[name] if name in self.values else self.filled(inner)
                for name, inner in schema.get("properties", {}).items()
            }
        return schema.get("enum", [None])[0]


class Messages(Foreign):
    """`/v1/messages`."""

    dialect = "anthropic"
    fields = frozenset(
        "model max_tokens messages system stream tools tool_choice temperature top_p top_k stop_sequences metadata thinking output_config".split()
    )

    def refuse(self, status: int, kind: str, message: str) -> Response:
        return as_json(status, {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"})

    def answer(self, request: Recorded) -> Response | Stream:
        body = request.body
        if request.path != "/v1/messages":
            return self.refuse(404, "not_found_error", request.path)
        if request.headers.get("x-api-key") != "test-key" or "authorization" in request.headers:
            return self.refuse(401, "authentication_error", "invalid x-api-key")
        if "anthropic-version" not in request.headers:
            return self.refuse(400, "invalid_request_error", "anthropic-version: header is required")
        if strange := set(body) - self.fields:
            return self.refuse(400, "invalid_request_error", f"{min(strange)}: Extra inputs are not permitted")
        if "max_tokens" not in body:
            return self.refuse(400, "invalid_request_error", "max_tokens: Field required")
        roles = [message["role"] for message in body["messages"]]
        if any(one == other for one, other in zip(roles, roles[1:])) or set(roles) - {"user", "assistant"}:
            return self.refuse(400, "invalid_request_error", "messages: roles must alternate")
        blocks = self.blocks(body)
        return self.stream(blocks) if body.get("stream") else self.whole(blocks)

    def blocks(self, body: dict) -> list[dict]:
        blocks: list[dict] = []
        if self.thinks:
            blocks.append({"type": "thinking", "thinking": self.thinks, "signature": "c2ln"})
        choice = body.get("tool_choice", {"type": "auto"})
        tools = [tool for tool in body.get("tools", []) if choice.get("name", tool["name"]) == tool["name"]]
        if tools and choice["type"] in ("any", "tool"):
            tool = tools[0]
            call = {"type": "tool_use", "id": "toolu_01", "name": tool["name"]}
            return [*blocks, call | {"input": self.filled(tool["input_schema"])}]
        schema = body.get("output_config", {}).get("format", {}).get("schema")
        text = compact(self.filled(schema)) if schema and not self.lies else PROSE
        return [*blocks, {"type": "text", "text": text}]

    def head(self) -> dict:
        usage = {"input_tokens": 11, "cache_read_input_tokens": 4, "output_tokens": 1}
        return {"id": "msg_01", "type": "message", "role": "assistant", "model": "claude", "usage": usage}

    def whole(self, blocks: list[dict]) -> Response:
        reason = "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn"
        usage = self.head()["usage"] | {"output_tokens": 7}
        return as_json(200, self.head() | {"content": blocks, "stop_reason": reason, "usage": usage})

    def stream(self, blocks: list[dict]) -> Stream:
        def events() -> Iterator[dict]:
            yield {"type": "message_start", "message": self.head() | {"content": [], "stop_reason": None}}
            for index, block in enumerate(blocks):
                start, deltas = self.pieces(block)
                yield {"type": "content_block_start", "index": index, "content_block": start}
                yield {"type": "ping"}
                for delta in deltas:
                    yield {"type": "content_block_delta", "index": index, "delta": delta}
                yield {"type": "content_block_stop", "index": index}
            reason = "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn"
            yield {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 7}}
            yield {"type": "message_stop"}

        return Stream([compact(event) for event in events()])

    def pieces(self, block: dict) -> tuple[dict, list[dict]]:
        if block["type"] == "tool_use":
            text = compact(block["input"])
            return block | {"input": {}}, [{"type": "input_json_delta", "partial_json": p} for p in cut_up(text)]
        if block["type"] == "thinking":
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in cut_up(block["thinking"])]
            return {"type": "thinking", "thinking": "", "signature": ""}, [
                *deltas,
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        return {"type": "text", "text": ""}, [{"type": "text_delta", "text": p} for p in cut_up(block["text"])]


class Gemini(Foreign):
    """`models/M:generateContent`."""

    dialect = "gemini"
    fields = frozenset("contents systemInstruction tools toolConfig generationConfig safetySettings".split())

    def refuse(self, message: str, status: int = 400) -> Response:
        error = {"code": status, "message": message, "status": "INVALID_ARGUMENT"}
        return as_json(status, {"error": error})

    def answer(self, request: Recorded) -> Response | Stream:
        body = request.body
        verb = request.path.removeprefix(f"/v1beta/models/{self.model}:")
        if verb not in ("generateContent", "streamGenerateContent"):
            return self.refuse(f"{request.path} is not found", 404)
        if request.headers.get("x-goog-api-key") != "test-key" or "authorization" in request.headers:
            return self.refuse("API key not valid. Please pass a valid API key.")
        if strange := set(body) - self.fields:
            return self.refuse(f'Invalid JSON payload received. Unknown name "{min(strange)}": Cannot find field.')
        config = body.get("generationConfig", {})
        if body.get("tools") and config.get("responseMimeType") == "application/json":
            return self.refuse("Function calling with a response mime type: 'application/json' is unsupported")
        for content in body["contents"]:
            for part in content["parts"]:
                if "functionCall" in part and part.get("thoughtSignature") != "c2lnbmF0dXJl+/8=":
                    return self.refuse("Function call is missing a thought_signature in functionCall parts.")
        parts = self.parts(body, config)
        if verb == "generateContent":
            return as_json(200, self.chunk(parts, "STOP"))
        chunks = [self.chunk([part], None) for whole in parts for part in self.cut(whole)]
        return Stream([compact(chunk) for chunk in [*chunks, self.chunk([{"text": ""}], "STOP")]])

    def parts(self, body: dict, config: dict) -> list[dict]:
        parts: list[dict] = [{"text": self.thinks, "thought": True}] if self.thinks else []
        calling = body.get("toolConfig", {}).get("functionCallingConfig", {})
        tools = [tool for group in body.get("tools", []) for tool in group["functionDeclarations"]]
        allowed = calling.get("allowedFunctionNames", [tool["name"] for tool in tools])
        tools = [tool for tool in tools if tool["name"] in allowed]
        if tools and calling.get("mode") == "ANY":
            call = {"id": "g7", "name": tools[0]["name"], "args": self.filled(tools[0]["parametersJsonSchema"])}
            return [*parts, {"functionCall": call, "thoughtSignature": "c2lnbmF0dXJl+/8="}]
        schema = config.get("responseJsonSchema")
        text = compact(self.filled(schema)) if schema and not self.lies else PROSE
        return [*parts, {"text": text}]

    def cut(self, part: dict) -> list[dict]:
        return [part | {"text": piece} for piece in cut_up(part["text"])] if "text" in part else [part]

    def chunk(self, parts: list[dict], finish: str | None) -> dict:
        candidate: dict = {"content": {"role": "model", "parts": parts}, "index": 0}
        if finish:
            candidate["finishReason"] = finish
        usage = {"promptTokenCount": 15, "candidatesTokenCount": 5, "thoughtsTokenCount": 2, "totalTokenCount": 22}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini", "responseId": "r1"}


class Ollama(Foreign):
    """`/api/chat`: the format governs the text, nothing forces a call."""

    dialect = "ollama-native"

    def answer(self, request: Recorded) -> Response | Stream:
        body = request.body
        if request.path != "/api/chat":
            return as_json(404, {"error": "404 page not found"})
        for message in body["messages"]:
            if not isinstance(message["content"], str):
                return as_json(400, {"error": "json: cannot unmarshal array into Go struct field of type string"})
            for call in message.get("tool_calls", []):
                if not isinstance(call["function"]["arguments"], dict):
                    return as_json(400, {"error": "json: cannot unmarshal string into ToolCallFunctionArguments"})
        schema = body.get("format")
        text = compact(self.filled(schema)) if isinstance(schema, dict) and not self.lies else PROSE
        if not body.get("stream", True):
            return as_json(200, self.line(text, "done", self.thinks))
        lines = [self.line("", None, piece) for piece in cut_up(self.thinks)]
        lines += [self.line(piece, None) for piece in cut_up(text)]
        lines.append(self.line("", "done"))
        return Stream([compact(line) for line in lines], "application/x-ndjson", frame="{}\n")

    def line(self, content: str, done: str | None, thinking: str = "") -> dict:
        message = {"role": "assistant", "content": content} | ({"thinking": thinking} if thinking else {})
        line = {"model": self.model, "created_at": "2026-11-21T05:43:39.546Z", "message": message, "done": bool(done)}
        if done:
            line |= {"done_reason": "stop", "total_duration": 5, "prompt_eval_count": 15, "eval_count": 7}
        return line


class Cohere(Foreign):
    """`/v2/chat`."""

    dialect = "cohere"
    fields = frozenset(
        "model messages stream tools tool_choice strict_tools response_format temperature p k seed max_tokens stop_sequences frequency_penalty presence_penalty thinking".split()
    )

    def refuse(self, message: str, status: int = 400) -> Response:
        return as_json(status, {"id": "e", "message": message})

    def answer(self, request: Recorded) -> Response | Stream:
        body = request.body
        if request.path != "/v2/chat":
            return self.refuse(request.path, 404)
        if request.headers.get("authorization") != "Bearer test-key":
            return self.refuse("invalid api token", 401)
        if strange := set(body) - self.fields:
            return self.refuse(f"unknown field: {min(strange)}", 422)
        schema = body.get("response_format", {}).get("json_schema")
        if body.get("tools") and body.get("response_format"):
            return self.refuse("response_format is not supported with tools")
        if schema and not (schema.get("type") == "object" and schema.get("required")):
            return self.refuse("invalid json_schema: an object with a required property")
        choice = body.get("tool_choice")
        if choice not in (None, "REQUIRED", "NONE"):
            return self.refuse(f"invalid tool_choice: {choice}")
        if choice == "REQUIRED":
            function = body["tools"][0]["function"]
            text = compact(self.filled(function["parameters"]))
            call = {"id": "f_0", "type": "function", "function": {"name": function["name"], "arguments": text}}
            return self.stream(body, None, call) if body.get("stream") else self.whole(None, call)
        text = compact(self.filled(schema)) if schema and not self.lies else PROSE
        return self.stream(body, text, None) if body.get("stream") else self.whole(text, None)

    def usage(self) -> dict:
        return {"billed_units": {"input_tokens": 3.0, "output_tokens": 7.0}, "tokens": {"input_tokens": 15.0, "output_tokens": 7.0}}

    def whole(self, text: str | None, call: dict | None) -> Response:
        message: dict = {"role": "assistant"}
        if call:
            message |= {"tool_calls": [call], "tool_plan": self.thinks}
        else:
            thinking = [{"type": "thinking", "thinking": self.thinks}] if self.thinks else []
            message["content"] = [*thinking, {"type": "text", "text": text}]
        reason = "TOOL_CALL" if call else "COMPLETE"
        return as_json(200, {"id": "c", "message": message, "finish_reason": reason, "usage": self.usage()})

    def stream(self, body: dict, text: str | None, call: dict | None) -> Stream:
        def part(kind: str, index: int, message: dict | None = None) -> dict:
            return {"type": kind, "index": index} | ({"delta": {"message": message}} if message is not None else {})

        def content(index: int, kind: str, said: str) -> Iterator[dict]:
            yield part("content-start", index, {"content": {"type": kind, kind: ""}})
            for piece in cut_up(said):
                yield part("content-delta", index, {"content": {kind: piece}})
            yield part("content-end", index)

        def events() -> Iterator[dict]:
            yield {"type": "message-start", "id": "c", "delta": {"message": {"role": "assistant"}}}
            if call:
                for piece in cut_up(self.thinks):
                    yield {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": piece}}}
                function = call["function"]
                start = call | {"function": {"name": function["name"], "arguments": ""}}
                yield part("tool-call-start", 0, {"tool_calls": start})
                for piece in cut_up(function["arguments"]):
                    yield part("tool-call-delta", 0, {"tool_calls": {"function": {"arguments": piece}}})
                yield part("tool-call-end", 0)
            else:
                if self.thinks:
                    yield from content(0, "thinking", self.thinks)
                yield from content(1 if self.thinks else 0, "text", text or "")
            reason = "TOOL_CALL" if call else "COMPLETE"
            yield {"type": "message-end", "delta": {"finish_reason": reason, "usage": self.usage()}}

        return Stream([compact(event) for event in events()])


FOREIGN = {kind.dialect: kind for kind in (Messages, Gemini, Ollama, Cohere)}


def in_front(stacks: Any, dialect: str) -> Iterator:
    """isogloss in front of such a server, until the test is done with it."""
    found = stacks.start(dialect, "--dialect", dialect, server=FOREIGN[dialect]())
    yield found
    assert found.stop() == 0
