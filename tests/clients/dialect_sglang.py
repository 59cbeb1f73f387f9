"""SGLang, after recordings of 0.5.23."""

from __future__ import annotations

from typing import Any

from chunks import Chunks, hex_id, now
from model import Constraint
from samples import Unsupported
from scripted import Demand, Refused, Reply, ScriptedServer, conflicting_definitions, invalid_type
from wire import Recorded, Response, as_json


class Sglang(ScriptedServer):
    """SGLang 0.5.23 with a tool parser: `response_format`, `regex`, `ebnf`; flat error bodies.

    A required or named call is forced by a tag whose arguments are free unless the tool is strict;
    tools with `none` are not shown to the model; vLLM's fields do nothing.
    """

    name = "sglang"
    version = "0.5.23"
    knows_parallel = False
    # Keywords that its xgrammar would ignore are refused.
    refused_keywords = ("uniqueItems", "multipleOf", "contains", "not", "if", "dependentRequired")

    def identify(self, request: Recorded) -> Response | None:
        if request.path in ("/server_info", "/get_server_info"):
            info = {
                "model_path": "local/tiny-chat-model",
                "tokenizer_path": "local/tiny-chat-model",
                "skip_tokenizer_init": False,
                "context_length": 4096,
                "grammar_backend": "xgrammar",
                "reasoning_parser": None,
                "tool_call_parser": "qwen",
                "internal_states": [{"last_gen_throughput": 0.0}],
                "version": self.version,
                "frontend": "python",
            }
            return as_json(200, info)
        if request.path in ("/model_info", "/get_model_info"):
            info = {
                "model_path": "local/tiny-chat-model",
                "served_model_name": self.model,
                "is_generation": True,
                "reasoning_parser": None,
                "tool_call_parser": "qwen",
                "model_type": "qwen3",
            }
            return as_json(200, info)
        if request.path == "/v1/models":
            card = {"id": self.model, "object": "model", "created": now(), "owned_by": "sglang"}
            card |= {"root": self.model, "parent": None, "max_model_len": 4096}
            return as_json(200, {"object": "list", "data": [card]})
        if request.path == "/health":
            return Response(200, b"")
        if request.path == "/":
            return as_json(200, "SGLang is running")
        return None

    def error(self, status: int, message: str, kind: str = "BadRequestError") -> dict:
        return {"object": "error", "message": message, "type": kind, "param": None, "code": status}

    def failure(self) -> dict:
        return {"error": {"message": "Internal server error", "type": "InternalServerError", "code": 500}}

    def unavailable(self) -> Response:
        return as_json(503, self.error(503, "Server is not ready.", "ServiceUnavailable"))

    def malformed(self) -> Response:
        text = "1 validation error:\n  {'type': 'json_invalid', 'msg': 'JSON decode error'}"
        return as_json(400, self.error(400, text, "Bad Request"))

    def unsupported(self, message: str) -> Response:
        return as_json(400, self.error(400, f"Failed to compile json grammar: {message}"))

    def refuse(self, body: dict) -> None:
        bad = lambda text, kind="Bad Request": Refused(400, self.error(400, text, kind))  # noqa: E731
        if not isinstance(body.get("messages"), list):
            raise bad("1 validation error:\n  {'type': 'missing', 'loc': ('body', 'messages')}")
        if not body["messages"]:
            raise bad("Messages cannot be empty.", "BadRequestError")
        self.refuse_format(body.get("response_format"), bad)
        self.refuse_sampling(body, bad)
        for tool in body.get("tools") or []:
            if "function" not in tool:
                raise bad(
                    "1 validation error:\n  {'type': 'missing', 'loc': ('body', 'tools', 0, 'function')}"
                )
            if invalid_type(tool["function"].get("parameters")):
                raise bad("Tool 0 function has invalid 'parameters' schema", "BadRequestError")
        choice = body.get("tool_choice")
        if isinstance(choice, dict) and not isinstance(choice.get("function"), dict):
            raise bad(
                "3 validation errors:\n  {'type': 'missing', 'loc': ('body', 'tool_choice', 'ToolChoice')}"
            )
        if isinstance(choice, str) and choice not in ("auto", "none", "required"):
            raise bad("2 validation errors:\n  {'loc': ('body', 'tool_choice')}")
        if choice == "required" and not body.get("tools"):
            raise bad("Tools cannot be empty if tool choice is set to required.", "BadRequestError")
        if isinstance(choice, dict) and choice["function"].get("name") not in self.listed(body):
            raise bad(f"Tool '{choice['function'].get('name')}' not found in tools list.", "BadRequestError")
        twice = conflicting_definitions(body) if choice == "required" else None
        if twice:
            raise bad(
                f"Tool definition '{twice}' has multiple schemas, which is not supported.", "BadRequest"
            )
        stated = self.stated(body)
        if len(stated) > 1:
            raise bad(
                "Only one of json_schema, regex, ebnf, or structural_tag can be set.", "BadRequestError"
            )
        if stated and body.get("tools") and self.choice(body) not in ("auto", "none"):
            text = (
                "tool_choice 'required' or a named tool cannot be combined with response_format, regex, or ebnf: "
                "the tool-call constraint and the output constraint cannot both be honored."
            )
            raise bad(text, "BadRequest")
        for constraint in stated:
            if constraint.kind == "json_schema":
                self.refuse_keywords(constraint.value, "#")

    def refuse_format(self, form: Any, bad: Any) -> None:
        if form is None:
            return
        kinds = ("text", "json_object", "json_schema", "structural_tag")
        if not isinstance(form, dict) or form.get("type") not in kinds:
            raise bad(
                "6 validation errors:\n  {'loc': ('body', 'response_format', 'ResponseFormat', 'type')}"
            )
        if form["type"] == "json_schema":
            inner = form.get("json_schema") or ({"name": "", **form} if "schema" in form else {"name": ""})
            if not isinstance(inner.get("name"), str) or not isinstance(inner.get("schema", {}), dict):
                raise bad("6 validation errors:\n  {'loc': ('body', 'response_format', 'ResponseFormat')}")
            if "schema" not in inner:
                raise bad("schema_ is required for json_schema response format request.", "BadRequestError")

    def refuse_sampling(self, body: dict, bad: Any) -> None:
        limit = body.get("max_completion_tokens", body.get("max_tokens"))
        if limit is not None and not isinstance(limit, int):
            raise bad("1 validation error:\n  {'type': 'int_parsing', 'loc': ('body', 'max_tokens')}")
        if limit is not None and limit > 4096:
            raise bad(f"max_completion_tokens is too large: {limit}.", "BadRequestError")
        if limit is not None and limit < 1:
            raise bad(f"max_completion_tokens must be at least 1, got {limit}.", "BadRequestError")
        if (body.get("temperature") or 0) < 0:
            raise bad("temperature must be a non-negative finite number", "BadRequestError")

    def refuse_keywords(self, schema: Any, at: str) -> None:
        if isinstance(schema, dict):
            for word in self.refused_keywords:
                if word in schema and not at.endswith("/properties"):
                    raise Unsupported(
                        f"JSON Schema at {at} is not supported by xgrammar: keyword(s) {word} would be ignored"
                    )
            for key, value in schema.items():
                if key not in ("enum", "const", "default", "examples"):
                    self.refuse_keywords(value, f"{at}/{key}")
        elif isinstance(schema, list):
            for index, value in enumerate(schema):
                self.refuse_keywords(value, f"{at}/{index}")

    def stated(self, body: dict) -> list[Constraint]:
        form = body.get("response_format") or {}
        out = []
        if form.get("type") == "json_schema":
            inner = form.get("json_schema") or form
            out.append(Constraint("json_schema", inner.get("schema", {})))
        elif form.get("type") == "json_object":
            out.append(Constraint("json_object"))
        elif form.get("type") == "structural_tag":
            out.append(Constraint("structural_tag", form))
        if body.get("regex"):
            out.append(Constraint("regex", body["regex"]))
        if body.get("ebnf"):
            out.append(Constraint("grammar", body["ebnf"]))
        return out

    def demand(self, body: dict) -> Demand:
        stated = self.stated(body)
        constraint = stated[0] if stated else None
        tools, choice = self.listed(body), self.choice(body)
        if choice == "none" or not tools:
            return Demand(constraint)
        if choice == "auto":
            return Demand(constraint, tools, rendered=frozenset(tools))
        if isinstance(choice, dict):
            tools = {choice["function"]["name"]: tools[choice["function"]["name"]]}
        strict = all(tool["function"].get("strict") for tool in body["tools"])
        rendered = frozenset(tools)
        return Demand(None, tools, must_call=True, rendered=rendered, broken_arguments=not strict)

    def usage(self, body: dict, choices: list[Reply], demand: Demand) -> dict:
        more = {"prompt_tokens_details": None, "reasoning_tokens": 0, "completion_tokens_details": None}
        return {**super().usage(body, choices, demand), **more}

    def completion(self, body: dict, choices: list[Reply], usage: dict) -> dict:
        span = {"version": "default", "start": 0, "end": usage["completion_tokens"]}
        return {
            "id": hex_id(32),
            "object": "chat.completion",
            "created": now(),
            "model": body.get("model", self.model),
            "choices": [self.whole(body, index, reply) for index, reply in enumerate(choices)],
            "usage": usage,
            "metadata": {"weight_version": "default", "weight_versions": [span]},
        }

    def whole(self, body: dict, index: int, reply: Reply) -> dict:
        message: dict = {"role": "assistant", "content": reply.content, "reasoning_content": None}
        if reply.calls:
            message["tool_calls"] = [
                {
                    "id": f"call_{hex_id(24)}",
                    "index": number,
                    "type": "function",
                    "function": {"name": name, "arguments": "".join(pieces)},
                }
                for number, (name, pieces) in enumerate(reply.calls)
            ]
        return {
            "index": index,
            "message": message,
            "logprobs": self.logprobs(body, reply.pieces),
            "finish_reason": reply.finish,
            "matched_stop": None if reply.finish == "length" else 4082,
        }

    def chunks(self, body: dict, usage: dict) -> Chunks:
        return SglangChunks(self, body, usage, hex_id(32))


class SglangChunks(Chunks):
    def first(self, index: int) -> dict:
        delta = {"reasoning_content": None, "role": "assistant", "content": ""}
        return self.chunk([self.choice(index, delta, None, None, matched_stop=None)])

    def delta(self, index: int, what: str, value: Any) -> dict:
        if what == "content":
            delta = {"reasoning_content": None, "content": value}
            logprobs = self.server.logprobs(self.body, [value])
            return self.chunk([self.choice(index, delta, None, logprobs, matched_stop=None)])
        call_index, text = value
        opens = what == "open"
        call = {
            "id": f"call_{hex_id(24)}" if opens else None,
            "index": call_index,
            "type": "function",
            "function": {"name": text if opens else None, "arguments": "" if opens else text},
        }
        delta = {"role": None, "content": None, "reasoning_content": None, "tool_calls": [call]}
        return self.chunk([self.choice(index, delta, None, None, matched_stop=None)], usage=None)

    def last(self, index: int, reply: Reply) -> dict:
        stop = None if reply.finish == "length" else 4082
        delta = {"reasoning_content": None}
        return self.chunk([self.choice(index, delta, reply.finish, None, matched_stop=stop)])
