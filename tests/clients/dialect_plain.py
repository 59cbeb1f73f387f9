"""A plain server, after recordings of `transformers serve` 5.23.0."""

from __future__ import annotations

import uuid
from typing import Any

from chunks import Chunks, now
from model import prompted, read_prompt
from scripted import Demand, Refused, Reply, ScriptedServer
from wire import Recorded, Response, as_json


class Plain(ScriptedServer):
    """`transformers serve`: it constrains nothing, and refuses fields that it does not know.

    `response_format` and `tool_choice` are taken and ignored; calls in free text are parsed. The
    model does what the prompt asks for, in a code fence (`style="fenced"`), bare (`"bare"`), or
    after a first answer in prose (`"prose_first"`).
    """

    name = "plain"
    model = "local/tiny-chat-model"
    reads_prompt = True
    knows_n = False
    knows_logprobs = False
    knows_parallel = False
    sends_done = False
    fields = frozenset(
        ["chat_template_kwargs", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs", "max_completion_tokens", "max_tokens", "messages", "metadata", "modalities", "model", "n", "parallel_tool_calls", "prediction", "presence_penalty", "reasoning_effort", "response_format", "seed", "service_tier", "stop", "store", "stream", "stream_options", "temperature", "tool_choice", "tools", "top_logprobs", "top_p", "user", "web_search_options", "generation_config"]
    )

    def reset(self, *turns: Any) -> None:
        super().reset(*turns)
        self.style = "fenced"

    def identify(self, request: Recorded) -> Response | None:
        if request.path == "/health":
            return as_json(200, {"status": "ok"})
        if request.path == "/v1/models":
            return Response(500, b"Internal Server Error", "text/plain; charset=utf-8")
        return None

    def failure(self) -> dict:
        return {"error": {"message": "Internal Server Error", "type": "server_error", "code": 500}}

    def unavailable(self) -> Response:
        return as_json(503, {"detail": "Model is loading"})

    def malformed(self) -> Response:
        detail = {"type": "json_invalid", "loc": ["body", 31], "msg": "JSON decode error", "input": {}}
        return as_json(422, {"detail": [detail]})

    def unsupported(self, message: str) -> Response:
        return as_json(400, {"detail": message})

    def refuse(self, body: dict) -> None:
        unknown = set(body) - self.fields
        if unknown:
            named = ", ".join(repr(name) for name in sorted(unknown))
            raise Refused(422, {"detail": f"Unexpected fields in the request: {{{named}}}"})
        if body.get("model") not in (None, self.model):
            text = f"Server is pinned to '{self.model}'; requested '{body['model']}'."
            raise Refused(400, {"detail": text})

    def demand(self, body: dict) -> Demand:
        tools = self.listed(body)
        asked = self.asked(body)
        # What the prompt asks for comes first; otherwise the model calls what its template shows.
        return Demand(None, {} if asked else tools, rendered=frozenset(tools))

    def asked(self, body: dict) -> bool:
        schemas, tools = read_prompt(body["messages"])
        turn = self.script.turn(body["messages"])
        return bool(schemas or tools) or prompted(turn, body["messages"], frozenset()) is not None

    def speak(self, body: dict, turn: Any, demand: Demand, fault: str | None) -> Reply:
        if self.style == "prose_first" and fault is None and self.asked(body):
            said = [request for request in self.requests if self.asked(request.body)]
            fault = "prose" if len(said) == 1 else None
        return super().speak(body, turn, demand, fault)

    def dressed(self, text: str) -> str:
        return f"```json\n{text}\n```" if self.style == "fenced" and text[:1] in "{[" else text

    def usage(self, body: dict, choices: list[Reply], demand: Demand) -> dict:
        counts = super().usage(body, choices, demand)
        return {key: counts[key] for key in ("completion_tokens", "prompt_tokens", "total_tokens")}

    def completion(self, body: dict, choices: list[Reply], usage: dict) -> dict:
        if choices[0].calls and choices[0].finish == "length":
            raise Refused(500, "Internal Server Error")  # Its parser stumbles over half a call.
        reply_id = str(uuid.uuid4())
        return {
            "id": reply_id,
            "choices": [self.whole(reply_id, index, reply) for index, reply in enumerate(choices)],
            "created": now(),
            "model": f"{self.model}@main",
            "object": "chat.completion",
            "usage": usage,
        }

    def whole(self, reply_id: str, index: int, reply: Reply) -> dict:
        message: dict = {"content": reply.content, "role": "assistant"}
        if reply.calls:
            message["tool_calls"] = [
                {
                    "id": f"{reply_id}_tool_call_{number}",
                    "function": {"arguments": "".join(pieces), "name": name},
                    "type": "function",
                }
                for number, (name, pieces) in enumerate(reply.calls)
            ]
        return {"finish_reason": reply.finish, "index": index, "message": message}

    def deltas(self, reply: Reply) -> Any:
        """Calls come whole."""
        for piece in reply.pieces:
            yield "content", piece
        for index, (name, pieces) in enumerate(reply.calls):
            yield "call", (index, name, "".join(pieces))

    def chunks(self, body: dict, usage: dict) -> Chunks:
        return PlainChunks(self, body, usage, str(uuid.uuid4()))

    def events(self, body: dict, choices: list[Reply], usage: dict) -> Any:
        # Usage is on the last choice chunk, asked for or not; there is no chunk of its own.
        return super().events({**body, "stream_options": None}, choices, usage)


class PlainChunks(Chunks):
    def chunk(self, choices: list, **extra: Any) -> dict:
        return {
            "id": self.base["id"],
            "choices": choices,
            "created": self.base["created"],
            "model": f"{self.server.model}@main",
            "object": "chat.completion.chunk",
            "system_fingerprint": "",
            **extra,
        }

    def first(self, index: int) -> dict:
        return self.chunk([{"delta": {"role": "assistant"}, "index": index}])

    def delta(self, index: int, what: str, value: Any) -> dict:
        if what == "content":
            return self.chunk([{"delta": {"content": value}, "index": index}])
        number, name, arguments = value
        call = {
            "index": number,
            "id": f"{self.base['id']}_tool_call_{number}",
            "function": {"arguments": arguments, "name": name},
            "type": "function",
        }
        return self.chunk([{"delta": {"tool_calls": [call]}, "index": index}])

    def last(self, index: int, reply: Reply) -> dict:
        choice = {"delta": {}, "index": index, "finish_reason": reply.finish}
        return self.chunk([choice], usage=self.counts)
