"""llama.cpp, after recordings of b1-0c1e570."""

from __future__ import annotations

import random
import string
from typing import Any

from chunks import Chunks, now
from model import Constraint
from scripted import Demand, Refused, Reply, ScriptedServer, invalid_type
from wire import Recorded, Response, as_json


def letters(length: int = 32) -> str:
    return "".join(random.choices(string.ascii_letters + string.digits, k=length))


class LlamaCpp(ScriptedServer):
    """llama.cpp: `required` is enforced natively; a named choice is treated as `auto`."""

    name = "llama-cpp"
    header = "llama.cpp"
    build = "b1-0c1e570"
    knows_parallel = False

    def identify(self, request: Recorded) -> Response | None:
        if request.path == "/props":
            props = {
                "default_generation_settings": {"params": {"temperature": 1.0}, "n_ctx": 4096},
                "total_slots": 4,
                "model_path": "tiny.gguf",
                "modalities": {"vision": False, "audio": False},
                "chat_template": "{%- for message in messages %}{{- message.content }}{%- endfor %}",
                "chat_template_caps": {
                    "supports_object_arguments": True,
                    "supports_parallel_tool_calls": True,
                    "supports_system_role": True,
                    "supports_tool_calls": True,
                    "supports_tools": True,
                },
                "bos_token": "<|endoftext|>",
                "eos_token": "<|im_end|>",
                "build_info": self.build,
                "is_sleeping": False,
            }
            return as_json(200, props)
        if request.path in ("/health", "/v1/health"):
            return as_json(200, {"status": "ok"})
        if request.path == "/v1/models":
            card = {"id": self.model, "aliases": [self.model], "tags": [], "object": "model"}
            card |= {"created": now(), "owned_by": "llamacpp", "meta": {"n_ctx_train": 4096}}
            listed = {"name": self.model, "model": self.model, "type": "model"}
            return as_json(200, {"models": [listed], "object": "list", "data": [card]})
        return None

    def error(self, status: int, message: str, kind: str = "invalid_request_error") -> dict:
        return {"error": {"code": status, "message": message, "type": kind}}

    def unknown_path(self) -> Response:
        return as_json(404, {"error": {"message": "File Not Found", "type": "not_found_error", "code": 404}})

    def failure(self) -> dict:
        return self.error(500, "Compute error.", "server_error")

    def unavailable(self) -> Response:
        return as_json(503, self.error(503, "Loading model", "unavailable_error"))

    def malformed(self) -> Response:
        text = "[json.exception.parse_error.101] parse error at line 1, column 32: syntax error while parsing value"
        return as_json(500, self.error(500, text, "server_error"))

    def unsupported(self, message: str) -> Response:
        return as_json(
            400, self.error(400, f"Failed to initialize samplers: failed to parse grammar ({message})")
        )

    def refuse(self, body: dict) -> None:
        bad = lambda text: Refused(400, self.error(400, text))  # noqa: E731
        if not isinstance(body.get("messages"), list):
            raise bad("'messages' is required")
        for tool in body.get("tools") or []:
            if tool.get("type") != "function":
                text = f"Failed to parse tools: Unsupported tool type: {tool}"
                raise Refused(500, self.error(500, text, "server_error"))
            if "function" not in tool:
                raise Refused(
                    500, self.error(500, "Failed to parse tools: Missing tool function", "server_error")
                )
            unknown = invalid_type(tool["function"].get("parameters"))
            if unknown:
                raise bad(
                    f"Automatic parser generation failed: JSON schema error at #: unrecognized type {unknown}"
                )
        limit = body.get("max_tokens")
        if limit is not None and not isinstance(limit, int):
            raise bad("Field 'max_tokens': type must be number, but is string")
        if not isinstance(body.get("json_schema", {}), dict | bool):
            raise bad("Field 'json_schema': JSON schema conversion failed: schema must be an object")
        choice = body.get("tool_choice", "auto")
        if isinstance(choice, str) and choice not in ("auto", "none", "required"):
            raise bad(f"Invalid tool_choice: {choice}")
        form = self.format(body).get("type", "text")
        if form not in ("text", "json_object", "json_schema"):
            raise bad(f'response_format type must be one of "text" or "json_object", but got: {form}')
        if body.get("grammar") and body.get("json_schema"):
            text = "Cannot use both json_schema and grammar"
            raise Refused(500, self.error(500, text, "server_error"))
        if body.get("grammar") and body.get("tools") and choice != "none":
            raise bad("Cannot use custom grammar constraints with tools.")

    def demand(self, body: dict) -> Demand:
        constraint = self.constraint(body)
        tools, choice = self.listed(body), self.choice(body)
        rendered = frozenset(tools)
        if constraint or choice == "none":
            # A response format wins over the calls' grammar, `required` included.
            return Demand(constraint, rendered=rendered)
        if isinstance(choice, dict):
            # Replaced by auto; the model, left to itself, chats.
            return Demand(None, rendered=rendered)
        return Demand(None, tools, must_call=choice == "required" and bool(tools), rendered=rendered)

    def format(self, body: dict) -> dict:
        form = body.get("response_format")
        return form if isinstance(form, dict) else {}

    def constraint(self, body: dict) -> Constraint | None:
        form = self.format(body)
        if form.get("type") == "json_schema":
            schema = (form.get("json_schema") or {}).get("schema")
            if isinstance(schema, str):
                return None
            return Constraint("json_schema", self.ordered(schema)) if schema else Constraint("json_object")
        if body.get("json_schema") == {"type": "object"}:
            return Constraint("json_object")
        if body.get("json_schema"):
            return Constraint("json_schema", self.ordered(body["json_schema"]))
        if form.get("type") == "json_object":
            schema = form.get("schema")
            return Constraint("json_schema", self.ordered(schema)) if schema else Constraint("json_object")
        if isinstance(body.get("grammar"), str) and body["grammar"]:
            return Constraint("grammar", body["grammar"])
        return None

    def ordered(self, schema: Any) -> Any:
        """Its schema converter writes the required properties first."""
        if isinstance(schema, list):
            return [self.ordered(item) for item in schema]
        if not isinstance(schema, dict):
            return schema
        out = {key: self.ordered(value) for key, value in schema.items()}
        if isinstance(out.get("properties"), dict) and isinstance(out.get("required"), list):
            first = {k: v for k, v in out["properties"].items() if k in out["required"]}
            out["properties"] = {**first, **out["properties"]}
        return out

    def usage(self, body: dict, choices: list[Reply], demand: Demand) -> dict:
        counts = super().usage(body, choices, demand)
        return {
            "completion_tokens": counts["completion_tokens"],
            "prompt_tokens": counts["prompt_tokens"],
            "total_tokens": counts["total_tokens"],
            "prompt_tokens_details": {"cached_tokens": 0},
        }

    def logprobs(self, body: dict, pieces: list[str]) -> dict | None:
        found = super().logprobs(body, pieces)
        for entry in (found or {}).get("content", ()):
            entry["id"] = 0
            entry["top_logprobs"] = [{**top, "id": 0} for top in entry["top_logprobs"]]
        return found

    def timings(self, usage: dict) -> dict:
        return {"cache_n": 0, "prompt_n": usage["prompt_tokens"], "predicted_n": usage["completion_tokens"]}

    def completion(self, body: dict, choices: list[Reply], usage: dict) -> dict:
        return {
            "choices": [self.whole(body, index, reply) for index, reply in enumerate(choices)],
            "created": now(),
            "model": self.model,
            "system_fingerprint": self.build,
            "object": "chat.completion",
            "usage": usage,
            "id": f"chatcmpl-{letters()}",
            "timings": self.timings(usage),
        }

    def whole(self, body: dict, index: int, reply: Reply) -> dict:
        message: dict = {"role": "assistant", "content": reply.content}
        if reply.calls:
            message["tool_calls"] = [
                {
                    "type": "function",
                    "function": {"name": name, "arguments": "".join(pieces)},
                    "id": letters(),
                }
                for name, pieces in reply.calls
            ]
        choice: dict = {"finish_reason": reply.finish, "index": index, "message": message}
        logprobs = self.logprobs(body, reply.pieces)
        return {**choice, "logprobs": logprobs} if logprobs else choice

    def stream_type(self) -> str:
        return "text/event-stream"

    def chunks(self, body: dict, usage: dict) -> Chunks:
        return LlamaCppChunks(self, body, usage, f"chatcmpl-{letters()}")


class LlamaCppChunks(Chunks):
    def chunk(self, choices: list, **extra: Any) -> dict:
        return {
            "choices": choices,
            "created": self.base["created"],
            "id": self.base["id"],
            "model": self.server.model,
            "system_fingerprint": self.server.build,
            "object": "chat.completion.chunk",
            **extra,
        }

    def choice(self, index: int, delta: dict, finish: str | None, logprobs: Any, **extra: Any) -> dict:
        more = {"logprobs": logprobs} if logprobs else {}
        return {"finish_reason": finish, "index": index, "delta": delta, **more}

    def first(self, index: int) -> dict:
        return self.chunk([self.choice(index, {"role": "assistant", "content": None}, None, None)])

    def opened(self, index: int, name: str) -> dict:
        function = {"name": name, "arguments": ""}
        return {"index": index, "id": letters(), "type": "function", "function": function}

    def last(self, index: int, reply: Reply) -> dict:
        wants_usage = (self.body.get("stream_options") or {}).get("include_usage")
        extra = {} if wants_usage else {"timings": self.server.timings(self.counts)}
        return self.chunk([self.choice(index, {}, reply.finish, None)], **extra)

    def usage(self) -> list[dict]:
        return [self.chunk([], usage=self.counts, timings=self.server.timings(self.counts))]
