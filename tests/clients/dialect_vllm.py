"""vLLM new and old, after recordings of 0.32.0 (with and without a tool parser) and 0.10.2."""

from __future__ import annotations

import json
from typing import Any

from chunks import Chunks, hex_id, now
from model import Constraint
from scripted import Demand, Refused, Reply, ScriptedServer
from wire import Recorded, Response, as_json


class Vllm(ScriptedServer):
    """What both generations share."""

    version = ""
    refused_type = "Bad Request"
    ends_on_piece = True

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
            raise Refused(
                404, self.error(404, self.no_model(body["model"]), "NotFoundError", self.model_param)
            )
        if not isinstance(body.get("messages"), list):
            raise self.bad("1 validation error:\n  Field required: messages", self.refused_type)
        if not body["messages"]:
            raise self.bad(
                "Cannot apply chat template to an empty conversation. Provide at least one message."
            )
        for tool in body.get("tools") or []:
            if tool.get("type") != "function" or "function" not in tool:
                text = (
                    "2 validation errors:\n  {'type': 'literal_error', 'msg': \"Input should be 'function'\"}"
                )
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
        if isinstance(choice, str) and choice not in ("auto", "none", "required"):
            text = f'Invalid value for `tool_choice`: {choice}! Only named tools, "none", "auto" or "required" are supported.'
            raise self.bad(text, param="tool_choice")
        self.refuse_format(body.get("response_format"))
        self.refuse_sampling(body)
        if body.get("stream_options") and not body.get("stream"):
            raise self.bad("Stream options can only be defined when `stream=True`.", param="stream_options")

    def refuse_format(self, form: Any) -> None:
        if form is None:
            return
        invalid = self.bad("6 validation errors:\n  {'loc': 'body.response_format'}", self.refused_type)
        if not isinstance(form, dict) or form.get("type") not in self.formats:
            raise invalid
        if form["type"] == "json_schema":
            inner = form.get("json_schema")
            if inner is None:
                text = "When response_format type is 'json_schema', the 'json_schema' field must be provided."
                raise self.no_schema_field(text)
            if not isinstance(inner.get("name"), str) or not isinstance(inner.get("schema", {}), dict):
                raise invalid

    def no_schema_field(self, text: str) -> Refused:
        return self.bad(text, param="response_format")

    def refuse_sampling(self, body: dict) -> None:
        limit = body.get("max_completion_tokens", body.get("max_tokens"))
        if limit is not None and not isinstance(limit, int):
            raise self.bad(
                "1 validation error:\n  {'type': 'int_parsing', 'loc': 'body.max_tokens'}", self.refused_type
            )
        if limit is not None and limit < 1:
            raise self.bad(f"max_tokens must be at least 1, got {limit}.")
        if limit is not None and limit > 4096:
            raise self.bad(f"max_tokens={limit} cannot be greater than max_model_len=4096.")
        if (body.get("temperature") or 0) < 0:
            raise self.bad(f"temperature must be non-negative, got {body['temperature']}.")
        if body.get("temperature") == 0 and (body.get("n") or 1) > 1:
            raise self.bad(f"n must be 1 when using greedy sampling, got {body['n']}.")

    formats: tuple[str, ...] = ("text", "json_object", "json_schema")
    model_param: str | None = None

    def no_model(self, name: str) -> str:
        return f"The model `{name}` does not exist."

    def response_format(self, body: dict) -> Constraint | None:
        form = body.get("response_format") or {}
        if form.get("type") == "json_schema":
            if "schema" not in form["json_schema"]:
                return self.no_schema()
            return Constraint("json_schema", form["json_schema"]["schema"])
        if form.get("type") == "json_object":
            return Constraint("json_object")
        if form.get("type") == "structural_tag":
            return Constraint("structural_tag", form)
        return None

    def no_schema(self) -> Constraint | None:
        raise self.bad("You must use one kind of structured outputs constraint but none are specified: ")

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
    formats = ("text", "json_object", "json_schema", "structural_tag")

    def __init__(self, parser: bool = False) -> None:
        self.parser = parser
        super().__init__()

    def no_model(self, name: str) -> str:
        return f"The model `{name}` does not exist. Valid aliases: {self.model}."

    def identify(self, request: Recorded) -> Response | None:
        if request.path == "/v1/chat/completions/render":
            text = (
                "Scale-out endpoints are disabled. Restart vllm serve with --enable-scale-out to enable them."
            )
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
            raise self.bad(
                '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
            )
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
            raise self.bad(
                "You can only use one kind of structured outputs constraint but multiple are specified: "
            )
        if not members:
            raise self.bad("You must use one kind of structured outputs constraint but none are specified: ")
        self.refuse_member(members)
        return members

    def refuse_member(self, members: dict[str, Any]) -> None:
        choices = members.get("choice")
        if choices == []:
            raise self.bad("Choice '[]' cannot be an empty list")
        if choices and not all(isinstance(choice, str) for choice in choices):
            text = (
                "2 validation errors:\n  {'type': 'string_type', 'loc': 'body.structured_outputs.choice.0'}"
            )
            raise self.bad(text, self.refused_type)
        if members.get("json_object") is False:
            text = "structured_outputs.json_object must be True if set; omit structured_outputs to disable"
            raise self.bad(text)
        if not isinstance(members.get("structural_tag", ""), str):
            raise self.bad(
                "Invalid structured_outputs structural_tag specification.", param="structured_outputs"
            )

    def demand(self, body: dict) -> Demand:
        stated, form = self.stated(body), self.response_format(body)
        if form and stated and not (form.kind == "json_schema" and "json" in stated):
            raise self.bad(
                "You can only use one kind of structured outputs constraint but multiple are specified: "
            )
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
        piece = self.server.last_piece(reply)
        logprobs = self.server.logprobs(self.body, [piece]) if piece else None
        delta = {"content": piece} if piece else {}
        choice = self.choice(index, delta, finish, logprobs, stop_reason=None, token_ids=None)
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
    knows_parallel = False
    guided = {
        "guided_json": "json_schema",
        "guided_regex": "regex",
        "guided_choice": "choice",
        "guided_grammar": "grammar",
        "guided_json_object": "json_object",
    }

    def refuse_format(self, form: Any) -> None:
        # Of the two shapes of structural tags only the older is known.
        if not (isinstance(form, dict) and form.get("type") == "structural_tag" and "structures" in form):
            super().refuse_format(form)

    def no_schema_field(self, text: str) -> Refused:
        return Refused(500, self.error(500, "", "Internal Server Error"))

    def refuse(self, body: dict) -> None:
        super().refuse(body)
        if body.get("guided_decoding_backend"):
            raise self.bad("Request-level structured output backend selection is no longer supported.")

    def no_schema(self) -> Constraint | None:
        return None

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
