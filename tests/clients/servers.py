"""The scripted servers, one class a dialect: vLLM new and old, SGLang, llama.cpp, a plain one.

Fields, orders, texts and statuses are those of recorded servers: vLLM 0.32.0 with and without a
tool parser, vLLM 0.10.2, SGLang 0.5.23, llama.cpp b1-0c1e570 and `transformers serve` 5.23.0.
What a real server ignores in silence is ignored here in silence.
"""

from __future__ import annotations

import json
import uuid
from typing import Any

from model import Constraint
from samples import Unsupported
from scripted import Demand, Recorded, Refused, Reply, ScriptedServer, now
from wire import Response, as_json


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
        choice = self.choice(index, {"content": ""}, reply.finish, None, stop_reason=None, token_ids=None)
        return self.chunk([choice])

    def usage(self) -> list[dict]:
        return [self.chunk([], usage=self.counts)]


# --- vLLM ----------------------------------------------------------------------------------------


class Vllm(ScriptedServer):
    """What both generations share."""

    version = ""
    refused_type = "Bad Request"

    def identify(self, request: Recorded) -> Response | None:
        if request.path == "/version":
            return as_json(200, {"version": self.version})
        if request.path in ("/health", "/ping"):
            return Response(200, b"")
        if request.path == "/v1/models":
            permission = {
                "id": f"modelperm-{hex_id(16)}",
                "object": "model_permission",
                "created": now(),
                "allow_create_engine": False,
                "allow_sampling": True,
                "allow_logprobs": True,
                "allow_search_indices": False,
                "allow_view": True,
                "allow_fine_tuning": False,
                "organization": "*",
                "group": None,
                "is_blocking": False,
            }
            card = {
                "id": self.model,
                "object": "model",
                "created": now(),
                "owned_by": "vllm",
                "root": "local/tiny-chat-model",
                "parent": None,
                "max_model_len": 4096,
                "permission": [permission],
            }
            return as_json(200, {"object": "list", "data": [card]})
        return None

    def error(self, status: int, message: str, kind: str = "BadRequestError", param: Any = None) -> dict:
        return {"error": {"message": message, "type": kind, "param": param, "code": status}}

    def bad(self, message: str, kind: str = "BadRequestError", param: str | None = None) -> Refused:
        text = f"{message} (parameter={param})" if param else message
        return Refused(400, self.error(400, text, kind, param))

    def failure(self) -> dict:
        return self.error(500, "EngineCore encountered an issue.", "InternalServerError")

    def unavailable(self) -> Response:
        return as_json(503, self.error(503, "Service Unavailable", "ServiceUnavailableError"))

    def malformed(self) -> Response:
        text = "1 validation error:\n  {'type': 'json_invalid', 'msg': 'JSON decode error'}"
        return as_json(400, self.error(400, text, self.refused_type))

    def unsupported(self, message: str) -> Response:
        return as_json(400, self.error(400, f"Grammar error: {message}"))

    def refuse(self, body: dict) -> None:
        if body.get("model") not in (None, self.model):
            raise Refused(404, self.error(404, self.no_model(body["model"]), "NotFoundError", self.model_param))
        if not isinstance(body.get("messages"), list):
            raise self.bad("1 validation error:\n  Field required: messages", self.refused_type)
        for tool in body.get("tools") or []:
            if tool.get("type") != "function" or "function" not in tool:
                text = "2 validation errors:\n  {'type': 'literal_error', 'msg': \"Input should be 'function'\"}"
                raise self.bad(text, self.refused_type)
        choice = body.get("tool_choice")
        if choice not in (None, "none") and not body.get("tools"):
            raise self.bad("When using `tool_choice`, `tools` must be set.", param="tool_choice")
        if isinstance(choice, dict) and not isinstance(choice.get("function"), dict):
            text = (
                "Invalid value for `function`: `None` in `tool_choice`! Correct usage: "
                '`{"type": "function", "function": {"name": "my_function"}}`'
            )
            raise self.bad(text, param="tool_choice.function")
        if isinstance(choice, dict) and choice["function"].get("name") not in self.listed(body):
            raise self.bad("The tool specified in `tool_choice` does not match any of the specified `tools`")
        form = body.get("response_format")
        if form and form.get("type") not in ("text", "json_object", "json_schema", "structural_tag"):
            text = "6 validation errors:\n  {'type': 'literal_error', 'loc': 'body.response_format.type'}"
            raise self.bad(text, self.refused_type)
        if body.get("stream_options") and not body.get("stream"):
            raise self.bad("Stream options can only be defined when `stream=True`.", param="stream_options")

    model_param: str | None = None

    def no_model(self, name: str) -> str:
        return f"The model `{name}` does not exist."

    def response_format(self, body: dict) -> Constraint | None:
        form = body.get("response_format") or {}
        if form.get("type") == "json_schema":
            return Constraint("json_schema", form["json_schema"].get("schema", {}))
        if form.get("type") == "json_object":
            return Constraint("json_object")
        if form.get("type") == "structural_tag":
            return Constraint("structural_tag", form)
        return None

    def message(self, reply: Reply) -> dict:
        return {
            "role": "assistant",
            "content": reply.content,
            "refusal": None,
            "annotations": None,
            "audio": None,
            "function_call": None,
        }

    def tool_calls(self, reply: Reply) -> list[dict]:
        return [
            {
                "id": f"chatcmpl-tool-{hex_id(16)}",
                "type": "function",
                "function": {"name": name, "arguments": "".join(pieces)},
            }
            for name, pieces in reply.calls
        ]


class VllmNew(Vllm):
    """vLLM 0.32.0: `structured_outputs` and `response_format`; `guided_*` does nothing.

    Launched without a tool parser, as most people launch it, it refuses every tool choice but none.
    """

    name = "vllm-new"
    version = "0.32.0"
    parser = False
    model_param = "model"
    kinds = ("json", "regex", "choice", "grammar", "json_object", "structural_tag")

    def __init__(self, parser: bool = False) -> None:
        self.parser = parser
        super().__init__()

    def no_model(self, name: str) -> str:
        return f"The model `{name}` does not exist. Valid aliases: {self.model}."

    def identify(self, request: Recorded) -> Response | None:
        if request.path == "/v1/chat/completions/render":
            text = "Scale-out endpoints are disabled. Restart vllm serve with --enable-scale-out to enable them."
            return as_json(403, self.error(403, text, "PermissionDeniedError"))
        return super().identify(request)

    def refuse(self, body: dict) -> None:
        if body.get("tools") == []:
            text = "`tools` must not be an empty array. Either provide at least one tool or omit the field entirely."
            raise self.bad(text, param="tools")
        super().refuse(body)
        stated = self.stated(body)
        choice = self.choice(body)
        if isinstance(choice, dict) and {"json", "regex", "choice"} & set(stated):
            raise self.bad("You can only either use constraints for structured outputs or tools, not both.")
        if self.parser or choice == "none":
            return
        if choice == "auto":
            raise self.bad('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set')
        said = f'"{choice}"' if isinstance(choice, str) else f'function "{choice["function"]["name"]}"'
        raise self.bad(f"tool_choice={said} requires --tool-call-parser to be set")

    def stated(self, body: dict) -> dict[str, Any]:
        """The members of `structured_outputs`, exactly one of which may be there."""
        given = body.get("structured_outputs")
        if given is None:
            return {}
        members = {kind: given[kind] for kind in self.kinds if given.get(kind) is not None}
        if len({"json", "regex", "choice"} & set(members)) > 1:
            text = "You can only use one kind of constraints for structured outputs ('json', 'regex' or 'choice')."
            raise self.bad(text)
        if len(members) > 1:
            raise self.bad("You can only use one kind of structured outputs constraint but multiple are specified: ")
        if not members:
            raise self.bad("You must use one kind of structured outputs constraint but none are specified: ")
        if members.get("choice") == []:
            raise self.bad("Choice '[]' cannot be an empty list")
        return members

    def demand(self, body: dict) -> Demand:
        stated, form = self.stated(body), self.response_format(body)
        if form and stated and not (form.kind == "json_schema" and "json" in stated):
            raise self.bad("You can only use one kind of structured outputs constraint but multiple are specified: ")
        constraint = form or self.constraint(stated)
        tools, choice = self.listed(body), self.choice(body)
        rendered = frozenset(tools)
        if choice == "none":
            return Demand(constraint, rendered=rendered)
        if choice == "auto":
            # A tool grammar gives way to the user's; calls are then out of reach.
            return Demand(constraint, tools, rendered=rendered)
        if isinstance(choice, dict):
            tools = {choice["function"]["name"]: tools[choice["function"]["name"]]}
        return Demand(None, tools, must_call=True, rendered=rendered)

    def constraint(self, stated: dict[str, Any]) -> Constraint | None:
        for kind, value in stated.items():
            if kind in ("json", "structural_tag"):
                value = json.loads(value) if isinstance(value, str) else value
            return Constraint({"json": "json_schema"}.get(kind, kind), value)
        return None

    def completion(self, body: dict, choices: list[Reply], usage: dict) -> dict:
        return {
            "id": f"chatcmpl-{hex_id(16)}",
            "object": "chat.completion",
            "created": now(),
            "model": self.model,
            "choices": [self.whole(body, index, reply) for index, reply in enumerate(choices)],
            "service_tier": None,
            "system_fingerprint": f"vllm-{self.version}-b5bd8504",
            "usage": {**usage, "prompt_tokens_details": None, "completion_tokens_details": None},
            "prompt_logprobs": None,
            "prompt_token_ids": None,
            "prompt_text": None,
            "kv_transfer_params": None,
            "ec_transfer_params": None,
            "metrics": None,
        }

    def whole(self, body: dict, index: int, reply: Reply) -> dict:
        message = self.message(reply)
        if reply.calls:
            message["content"] = None if self.choice(body) == "auto" else ""
            message["tool_calls"] = self.tool_calls(reply)
        message["reasoning"] = None
        return {
            "index": index,
            "message": message,
            "logprobs": self.logprobs(body, reply.pieces),
            "finish_reason": self.finish(body, reply),
            "stop_reason": None,
            "token_ids": None,
            "routed_experts": None,
        }

    def finish(self, body: dict, reply: Reply) -> str:
        """A named call ends with `stop`, a required one with `tool_calls`."""
        named = isinstance(self.choice(body), dict) and reply.finish == "tool_calls"
        return "stop" if named else reply.finish

    def chunks(self, body: dict, usage: dict) -> Chunks:
        return VllmNewChunks(self, body, usage, f"chatcmpl-{hex_id(16)}")


class VllmNewChunks(Chunks):
    def first(self, index: int) -> dict:
        return {**super().first(index), "prompt_text": None}

    def delta(self, index: int, what: str, value: Any) -> dict:
        chunk = super().delta(index, what, value)
        if what != "content":
            choice = chunk["choices"][0]
            choice["delta"] = {"content": None, **choice["delta"]}
        return chunk

    def last(self, index: int, reply: Reply) -> dict:
        finish = self.server.finish(self.body, reply)
        choice = self.choice(index, {}, finish, None, stop_reason=None, token_ids=None)
        wants_usage = (self.body.get("stream_options") or {}).get("include_usage")
        return self.chunk([choice], **({} if wants_usage else self.fingerprint()))

    def usage(self) -> list[dict]:
        return [self.chunk([], usage=self.counts, **self.fingerprint())]

    def fingerprint(self) -> dict:
        return {"system_fingerprint": f"vllm-{self.server.version}-b5bd8504"}


class VllmOld(Vllm):
    """vLLM 0.10.2: `guided_*` and `response_format`; `structured_outputs` does nothing.

    `required` is broken as it was recorded: the model goes on with the array of calls until the
    token limit, which fails whole, and streaming it fails on the first piece.
    """

    name = "vllm-old"
    version = "0.10.2.post2"
    guided = {
        "guided_json": "json_schema",
        "guided_regex": "regex",
        "guided_choice": "choice",
        "guided_grammar": "grammar",
        "guided_json_object": "json_object",
    }

    def demand(self, body: dict) -> Demand:
        stated = [name for name in self.guided if body.get(name)]
        if len({"guided_json", "guided_regex", "guided_choice"} & set(stated)) > 1:
            text = (
                "1 validation error:\n  {'type': 'value_error', 'loc': ('body',), 'msg': \"Value error, You can "
                "only use one kind of guided decoding ('guided_json', 'guided_regex' or 'guided_choice').\"}"
            )
            raise self.bad(text, self.refused_type)
        constraint = self.response_format(body)
        if constraint is None and stated:
            value = body[stated[0]]
            if stated[0] == "guided_json" and isinstance(value, str):
                value = json.loads(value)
            constraint = Constraint(self.guided[stated[0]], value)
        tools, choice = self.listed(body), self.choice(body)
        if isinstance(choice, dict):
            named = choice["function"]["name"]
            return Demand(None, {named: tools[named]}, must_call=True, rendered=frozenset(tools))
        if choice == "required":
            return Demand(None, tools, must_call=True, rendered=frozenset(tools))
        callable_tools = tools if choice == "auto" else {}
        return Demand(constraint, callable_tools, rendered=frozenset(tools))

    def chat(self, body: dict) -> Any:
        if isinstance(body, dict) and body.get("tool_choice") == "required" and body.get("tools"):
            self.refuse(body)
            if not body.get("stream"):
                text = (
                    "1 validation error for list[function-wrap[__log_extra_fields__()]]\n  Invalid JSON: EOF while "
                    "parsing a string at line 6 column 15 [type=json_invalid, input_type=str]"
                )
                raise self.bad(text)
        return super().chat(body)

    def events(self, body: dict, choices: list[Reply], usage: dict) -> Any:
        if body.get("tool_choice") == "required" and body.get("tools"):
            make = self.chunks(body, usage)
            return iter([make.first(0), self.error(400, "Expecting ':' delimiter: line 1 column 7 (char 6)")])
        return super().events(body, choices, usage)

    def completion(self, body: dict, choices: list[Reply], usage: dict) -> dict:
        return {
            "id": f"chatcmpl-{hex_id(32)}",
            "object": "chat.completion",
            "created": now(),
            "model": self.model,
            "choices": [self.whole(body, index, reply) for index, reply in enumerate(choices)],
            "service_tier": None,
            "system_fingerprint": None,
            "usage": {**usage, "prompt_tokens_details": None},
            "prompt_logprobs": None,
            "prompt_token_ids": None,
            "kv_transfer_params": None,
        }

    def whole(self, body: dict, index: int, reply: Reply) -> dict:
        message = self.message(reply)
        if reply.calls:
            message["content"] = None if self.choice(body) == "auto" else ""
        message["tool_calls"] = self.tool_calls(reply)
        message["reasoning_content"] = None
        named = isinstance(self.choice(body), dict) and reply.finish == "tool_calls"
        return {
            "index": index,
            "message": message,
            "logprobs": self.logprobs(body, reply.pieces),
            "finish_reason": "stop" if named else reply.finish,
            "stop_reason": None,
            "token_ids": None,
        }

    def chunks(self, body: dict, usage: dict) -> Chunks:
        return Chunks(self, body, usage, f"chatcmpl-{hex_id(32)}")


# --- SGLang --------------------------------------------------------------------------------------


class Sglang(ScriptedServer):
    """SGLang 0.5.23 with a tool parser: `response_format`, `regex`, `ebnf`; flat error bodies.

    A required or named call is forced by a tag whose arguments are free unless the tool is strict;
    tools with `none` are not shown to the model; vLLM's fields do nothing.
    """

    name = "sglang"
    version = "0.5.23"
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
        for tool in body.get("tools") or []:
            if "function" not in tool:
                raise bad("1 validation error:\n  {'type': 'missing', 'loc': ('body', 'tools', 0, 'function')}")
        choice = body.get("tool_choice")
        if isinstance(choice, dict) and not isinstance(choice.get("function"), dict):
            raise bad("3 validation errors:\n  {'type': 'missing', 'loc': ('body', 'tool_choice', 'ToolChoice')}")
        stated = self.stated(body)
        if len(stated) > 1:
            raise bad("Only one of json_schema, regex, ebnf, or structural_tag can be set.", "BadRequestError")
        if stated and body.get("tools") and self.choice(body) not in ("auto", "none"):
            text = (
                "tool_choice 'required' or a named tool cannot be combined with response_format, regex, or ebnf: "
                "the tool-call constraint and the output constraint cannot both be honored."
            )
            raise bad(text, "BadRequest")
        for constraint in stated:
            if constraint.kind == "json_schema":
                self.refuse_keywords(constraint.value, "#")

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
