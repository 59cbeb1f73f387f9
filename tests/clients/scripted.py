"""What every scripted server does: read a request, let the model speak, write the reply, misbehave.

A dialect (see `dialect_*.py`) says how the request is refused, what constrains the model, which tools
it sees, and how replies, chunks and errors look, field by field.
"""

from __future__ import annotations

import itertools
import json
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import samples
from model import JSON_TYPES, PROSE, Constraint, Script, Turn, constrained, prompted, text_of
from samples import Unsupported
from wire import HttpServer, Recorded, Response, Stream, as_json, compact

CHAT = "/v1/chat/completions"
COMPLETIONS = "/v1/completions"
WIDTHS = (1, 3, 2, 4, 1, 6)  # Lengths of the pieces ("tokens"), over and over.


class Refused(Exception):
    """The server refuses a request."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__(status)
        self.response = as_json(status, body)


@dataclass(frozen=True)
class Demand:
    """What one request makes of the model on this server."""

    constraint: Constraint | None = None
    tools: dict[str, Any] = field(default_factory=dict)  # Those it can call, with parameters.
    must_call: bool = False
    rendered: frozenset[str] = frozenset()  # Those that the chat template shows it.
    broken_arguments: bool = False  # The server forces the call's frame, not its arguments.


@dataclass
class Reply:
    """One choice."""

    pieces: list[str] = field(default_factory=list)
    calls: list[tuple[str, list[str]]] = field(default_factory=list)
    finish: str = "stop"

    @property
    def content(self) -> str:
        return "".join(self.pieces)

    def tokens(self) -> int:
        return len(self.pieces) + sum(len(pieces) for _, pieces in self.calls)

    def cut(self, tokens: int) -> Reply:
        """The same reply, stopped after so many pieces."""
        if tokens >= self.tokens():
            return self
        out, left = Reply(finish="length"), tokens
        out.pieces = self.pieces[:left]
        left -= len(out.pieces)
        for name, pieces in self.calls:
            if left > 0:
                out.calls.append((name, pieces[:left]))
                left -= len(pieces[:left])
        return out


def cut_up(text: str) -> list[str]:
    """The text in small pieces that respect nothing: not words, not escapes, not JSON."""
    out, at = [], 0
    for width in itertools.cycle(WIDTHS):
        if at >= len(text):
            return out
        out.append(text[at : at + width])
        at += width
    return out


class ScriptedServer:
    """One upstream on loopback. `reset` gives it a script; `fail` lets it misbehave."""

    name = ""
    header = "uvicorn"
    model = "tiny"
    reads_prompt = False  # Whether the model does what the prompt alone asks for.
    parser = True  # Whether calls in free text come back as `tool_calls`.
    knows_n = True
    knows_logprobs = True
    sends_done = True
    knows_parallel = True
    ends_on_piece = False  # Whether a cut stream's last piece comes with its `finish_reason`.

    def __init__(self) -> None:
        self.reset()
        self.http = HttpServer(self.header, self.handle)
        self.url = self.http.url

    def reset(self, *turns: Turn) -> None:
        """A new script; earlier requests and faults are forgotten."""
        self.script = Script(turns or (Turn(),))
        self.requests: list[Recorded] = []
        self.others: list[Recorded] = []
        self.crashes: list[str] = []
        self.last_usage: dict = {}
        self.faults: list[str] = []
        self.lasting: str | None = None

    def visible(self, *names: str) -> bool:
        """Whether the model saw all these tools in the latest request."""
        shown = self.demand(self.last).rendered
        text = text_of(self.last["messages"])
        return all(name in shown or name in text for name in names)

    def fail(self, kind: str, times: int | None = 1) -> None:
        """Misbehaves in the next chat requests, or in all of them (`times=None`).

        prose: the constraint is ignored. wrong: JSON of another shape. tool_calls: a call where
        content was asked. cut: the connection breaks. error_event: an error in the stream (a 500
        where it is none). unavailable: 503. length: the reply is cut by the token limit.
        """
        if times is None:
            self.lasting = kind
        else:
            self.faults += [kind] * times

    @property
    def last(self) -> Any:
        """The body of the latest chat request."""
        return self.requests[-1].body

    def bodies(self) -> list[Any]:
        return [request.body for request in self.requests]

    # --- the exchange ---

    def handle(self, request: Recorded) -> Response | Stream:
        if request.method != "POST" or request.path not in (CHAT, COMPLETIONS):
            self.others.append(request)
            return self.identify(request) or self.unknown_path()
        self.requests.append(request)
        try:
            request.body = json.loads(request.raw)
        except ValueError:
            return self.malformed()
        try:
            return self.chat(request.body) if request.path == CHAT else self.complete(request.body)
        except Refused as refused:
            return refused.response
        except Unsupported as unsupported:
            return self.unsupported(str(unsupported))
        except (AttributeError, KeyError, TypeError, ValueError):
            # A body that no dialect foresees; `crashes` shows it to the tests.
            self.crashes.append(traceback.format_exc())
            return as_json(500, self.failure())

    def chat(self, body: dict) -> Response | Stream:
        fault = self.faults.pop(0) if self.faults else self.lasting
        if fault == "unavailable":
            return self.unavailable()
        self.refuse(body)
        demand = self.demand(body)
        turn = self.script.turn(body["messages"])
        reply = self.speak(body, turn, demand, fault)
        limit = body.get("max_completion_tokens") or body.get("max_tokens")
        if fault == "length":
            limit = max(1, reply.tokens() // 2)
        if limit:
            reply = reply.cut(limit)
        choices = [reply] * ((body.get("n") or 1) if self.knows_n else 1)
        usage = self.last_usage = self.usage(body, choices, demand)
        if body.get("stream"):
            return self.stream(body, choices, usage, fault)
        if fault == "error_event":
            return as_json(500, self.failure())
        answer = as_json(200, self.completion(body, choices, usage))
        answer.torn = fault == "cut"
        return answer

    def complete(self, body: dict) -> Response | Stream:
        """A legacy completion: the same words for constraints, a text instead of a message."""
        fault = self.faults.pop(0) if self.faults else self.lasting
        body = {**body, "messages": [{"role": "user", "content": body["prompt"]}]}
        del body["prompt"]
        demand = self.demand(body)
        reply = self.speak(body, self.script.turn(body["messages"]), demand, fault)

        def envelope(text: str, finish: str | None) -> dict:
            choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": finish}
            head = {"id": "cmpl-1", "object": "text_completion", "created": 1750000000, "model": self.model}
            return {**head, "choices": [choice]}

        if not body.get("stream"):
            usage = {"prompt_tokens": 3, "completion_tokens": reply.tokens(), "total_tokens": 3 + reply.tokens()}
            return as_json(200, {**envelope(reply.content, reply.finish), "usage": usage})
        events = [*(envelope(piece, None) for piece in reply.pieces), envelope("", reply.finish)]
        return Stream([*(compact(event) for event in events), "[DONE]"], self.stream_type())

    def speak(self, body: dict, turn: Turn, demand: Demand, fault: str | None) -> Reply:
        messages = body["messages"]
        known = self.known(messages, turn, demand)
        if fault == "prose":
            return Reply(cut_up(PROSE))
        if fault == "tool_calls":
            return self.calls(body, turn, demand, known, stray=True)
        if demand.constraint:
            text = constrained(turn, demand.constraint, messages, known, self.listed(body))
            return Reply(cut_up(broken(text) if fault == "wrong" else text))
        if demand.must_call or (demand.tools and any(c.name in demand.tools for c in turn.wanted())):
            return self.calls(body, turn, demand, known, wrong=fault == "wrong")
        text = prompted(turn, messages, known) if self.reads_prompt else None
        if text is None:
            return Reply(cut_up(turn.text))
        return Reply(cut_up(self.dressed(broken(text) if fault == "wrong" else text)))

    def calls(
        self,
        body: dict,
        turn: Turn,
        demand: Demand,
        known: frozenset[str],
        wrong: bool = False,
        stray: bool = False,
    ) -> Reply:
        """Calls in the server's own form; `stray` ones come where content was asked for."""
        tools = self.listed(body) if stray else demand.tools
        wanted = [call for call in turn.wanted() if call.name in tools]
        if not wanted:
            wanted = [samples.Call(next(iter(tools)))]
        if self.knows_parallel and body.get("parallel_tool_calls") is False:
            wanted = wanted[:1]
        out = Reply(finish="tool_calls")
        for call in wanted:
            wish = {**turn.values, **call.values} if call.name in known else {}
            try:
                arguments = turn.json(samples.of_schema(tools[call.name] or {"type": "object"}, wish))
            except Unsupported:  # Nothing compiles a tool's schema where arguments are free.
                arguments = turn.json(wish)
            if demand.broken_arguments and not stray:
                arguments = '": {"'
            out.calls.append((call.name, cut_up(broken(arguments) if wrong else arguments)))
        return out

    def known(self, messages: list, turn: Turn, demand: Demand) -> frozenset[str]:
        """The wanted tools that the model has seen, in its template or in the prompt's text."""
        text = text_of(messages)
        return frozenset(
            call.name for call in turn.wanted() if call.name in demand.rendered or call.name in text
        )

    def dressed(self, text: str) -> str:
        """How a model that nothing constrains writes its JSON down."""
        return text

    # --- streams ---

    def stream(self, body: dict, choices: list[Reply], usage: dict, fault: str | None) -> Stream:
        events = [compact(event) for event in self.events(body, choices, usage)]
        middle = max(1, len(events) // 2)
        if fault == "error_event":
            events = [*events[:middle], compact(self.failure())]
        elif fault == "cut":
            return Stream(events, self.stream_type(), torn_after=middle)
        if self.sends_done:
            events.append("[DONE]")
        return Stream(events, self.stream_type())

    def stream_type(self) -> str:
        return "text/event-stream; charset=utf-8"

    def events(self, body: dict, choices: list[Reply], usage: dict) -> Iterator[dict]:
        make = self.chunks(body, usage)
        for index in range(len(choices)):
            yield make.first(index)
        lanes = [list(self.deltas(reply)) for reply in choices]
        for step in itertools.zip_longest(*lanes):
            for index, delta in enumerate(step):
                if delta is not None:
                    yield make.delta(index, *delta)
        for index, reply in enumerate(choices):
            yield make.last(index, reply)
        if (body.get("stream_options") or {}).get("include_usage"):
            yield from make.usage()

    def deltas(self, reply: Reply) -> Iterator[tuple[str, Any]]:
        """The steps of a reply: pieces of content, calls that open, pieces of arguments."""
        for piece in reply.pieces[:-1] if self.last_piece(reply) else reply.pieces:
            yield "content", piece
        for index, (name, pieces) in enumerate(reply.calls):
            yield "open", (index, name)
            for piece in pieces:
                yield "arguments", (index, piece)

    def last_piece(self, reply: Reply) -> str:
        """The piece that goes out with the `finish_reason`; mostly none."""
        cut = self.ends_on_piece and reply.finish == "length" and reply.pieces and not reply.calls
        return reply.pieces[-1] if cut else ""

    # --- what a dialect says ---

    def identify(self, request: Recorded) -> Response | None:
        raise NotImplementedError

    def refuse(self, body: dict) -> None:
        raise NotImplementedError

    def demand(self, body: dict) -> Demand:
        raise NotImplementedError

    def completion(self, body: dict, choices: list[Reply], usage: dict) -> dict:
        raise NotImplementedError

    def chunks(self, body: dict, usage: dict) -> Any:
        raise NotImplementedError

    def failure(self) -> dict:
        """The error of a request that fails while it runs."""
        raise NotImplementedError

    def unavailable(self) -> Response:
        raise NotImplementedError

    def malformed(self) -> Response:
        raise NotImplementedError

    def unsupported(self, message: str) -> Response:
        raise NotImplementedError

    def unknown_path(self) -> Response:
        return as_json(404, {"detail": "Not Found"})

    # --- shared pieces ---

    def listed(self, body: dict) -> dict[str, Any]:
        """The functions of `tools`, by name, with their parameters."""
        return {
            tool["function"]["name"]: tool["function"].get("parameters")
            for tool in body.get("tools") or []
            if "function" in tool
        }

    def choice(self, body: dict) -> Any:
        """`tool_choice` with its default."""
        return body.get("tool_choice") or ("auto" if body.get("tools") else "none")

    def usage(self, body: dict, choices: list[Reply], demand: Demand) -> dict:
        prompt = 4 + len(text_of(body["messages"]).split())
        prompt += sum(20 + len(compact(self.listed(body)[name])) // 4 for name in demand.rendered)
        completion = sum(reply.tokens() + 1 for reply in choices)
        return {
            "prompt_tokens": prompt,
            "total_tokens": prompt + completion,
            "completion_tokens": completion,
        }

    def logprobs(self, body: dict, pieces: list[str]) -> dict | None:
        if not (body.get("logprobs") and self.knows_logprobs):
            return None
        top = body.get("top_logprobs") or 0
        entry = lambda piece: {  # noqa: E731
            "token": piece,
            "logprob": -0.00120936194434762,
            "bytes": list(piece.encode()),
        }
        return {"content": [{**entry(p), "top_logprobs": [entry(p)] * min(top, 1)} for p in pieces]}

    def close(self) -> None:
        self.http.close()


def broken(text: str) -> str:
    """JSON of another shape: the innermost last member is gone."""
    try:
        value = json.loads(text)
    except ValueError:
        return "…"
    at = value
    while isinstance(at, list) and at:
        at = at[0]
    while isinstance(at, dict) and at and isinstance(list(at.values())[-1], dict):
        at = list(at.values())[-1]
    if not isinstance(at, dict) or not at:
        return compact({"no": "such thing"})
    at.popitem()
    return json.dumps(value, ensure_ascii=False)


def invalid_type(schema: Any) -> str | None:
    """A `type` that JSON Schema does not have, anywhere in the schema."""
    if isinstance(schema, list):
        return next(filter(None, map(invalid_type, schema)), None)
    if not isinstance(schema, dict):
        return None
    kind = schema.get("type")
    if isinstance(kind, str) and kind not in JSON_TYPES:
        return kind
    inner = [value for key, value in schema.items() if key not in ("enum", "const", "default")]
    return next(filter(None, map(invalid_type, inner)), None)


def conflicting_definitions(body: dict) -> str | None:
    """A `$defs` name that two tools define differently: their schemas cannot be hoisted into one."""
    seen: dict[str, Any] = {}
    for tool in body.get("tools") or []:
        for name, schema in ((tool.get("function") or {}).get("parameters") or {}).get("$defs", {}).items():
            if seen.setdefault(name, schema) != schema:
                return name
    return None
