"""The scripted servers that agent programs are put before, and the model in them that has one errand.

They are those of the other client tests, but for what agents make of a server: long answers are allowed, and whatever
the real server would not know, or would misread, is answered with an error, so that nothing slips through unseen.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from chunks import now
from dialect_plain import Plain
from dialect_vllm import VllmNew
from model import Constraint, Turn
from samples import Call
from scripted import CHAT, Demand, Refused, Reply, ScriptedServer, cut_up
from wire import Recorded, Response, Stream, as_json, compact

PLENTY = 4096
# After so many results without the right one the model stops, and the test with it.
PATIENCE = 5

# What vLLM 0.32 reads of a chat request (`ChatCompletionRequest`); it ignores any other field with HTTP 200.
VLLM_FIELDS = frozenset(
    """messages model frequency_penalty logit_bias logprobs top_logprobs max_tokens max_completion_tokens n
    presence_penalty response_format seed stop stream stream_options temperature top_p tools tool_choice
    reasoning_effort include_reasoning parallel_tool_calls user use_beam_search top_k min_p repetition_penalty
    length_penalty stop_token_ids include_stop_str_in_output ignore_eos min_tokens skip_special_tokens
    spaces_between_special_tokens truncate_prompt_tokens prompt_logprobs allowed_token_ids bad_words echo
    add_generation_prompt continue_final_message add_special_tokens documents chat_template_kwargs
    media_io_kwargs mm_processor_kwargs structured_outputs priority return_tokens_as_token_ids return_token_ids
    vllm_xargs thinking_token_budget""".split()
)
# Of `/v1/chat/completions` Ollama 0.33 reads these, and drops the others with HTTP 200; of those, some do no harm.
OLLAMA_FIELDS = frozenset(
    """model messages stream stream_options max_tokens seed stop temperature frequency_penalty presence_penalty
    top_p response_format tools reasoning reasoning_effort logprobs top_logprobs""".split()
)
# Hints that change how an answer comes rather than what it must be.
HARMLESS = frozenset(["tool_choice", "parallel_tool_calls", "prompt_cache_key", "top_k", "verbosity"])
PARTS = {"text", "image_url"}


@dataclass
class Errand:
    """What the model does: it calls a tool, once it reads the tool's result it answers."""

    calls: tuple[Call, ...]
    proof: str  # Stands in the tool's result, and nowhere before.
    answer: Turn
    slips: int = 0  # How often it gets the call's arguments wrong before it gets them right.
    slip: Callable[[str], str] = lambda text: re.sub(r'"(command|cmd)"(?=\s*:)', '"order"', text)
    # What it would write where the prompt alone asks for a text.
    prompted: str | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def turn(self, messages: list) -> Turn:
        if self.is_proven(messages):
            return self.answer
        if len(results(messages)) >= PATIENCE:
            return Turn(text="I give up.")
        return Turn(calls=self.calls, text="A note", prompted=self.prompted)

    def is_proven(self, messages: list) -> bool:
        return any(self.proof in told for told in results(messages))

    def slips_now(self) -> bool:
        with self.lock:
            self.slips -= 1
            return self.slips >= 0


# What a server that takes no tools is told a tool's result in.
RESULT = "<tool_response"


def is_result(message: dict) -> bool:
    return message["role"] == "tool" or (message["role"] == "user" and RESULT in str(message.get("content")))


def results(messages: list) -> list[str]:
    """What tools answered, as the server reads it."""
    return [str(message.get("content")) for message in messages if is_result(message)]


def calls(message: dict) -> list[Call]:
    """What the model called in this message, whether it is told as calls or as text."""
    if message["role"] != "assistant":
        return []
    told = [call["function"] for call in message.get("tool_calls") or []]
    made = [Call(one["name"], json.loads(one["arguments"])) for one in told]
    lines = [json.loads(line) for line in str(message.get("content")).splitlines() if line.startswith('{"name"')]
    return made + [Call(one["name"], one.get("arguments", one.get("input"))) for one in lines]


class Agents(ScriptedServer):
    """What the three share."""

    model = "qwen3"
    fields: frozenset[str]
    joins_instructions = False
    # How many WebSockets are open before the server.
    open_sockets: Callable[[], float] | None = None

    def reset(self, *turns: Turn) -> None:
        super().reset(*turns)
        self.refusals: list[str] = []
        self.sockets: list[float] = []  # At each request.

    def handle(self, request: Recorded) -> Response | Stream:
        reply = super().handle(request)
        if self.open_sockets and request in self.requests:
            self.sockets.append(self.open_sockets())
        if isinstance(reply, Response) and request in self.requests and reply.status != 200:
            self.refusals.append(reply.body.decode())
        return reply

    def refused(self, message: str) -> Refused:
        raise NotImplementedError

    def refuse(self, body: dict) -> None:
        if unknown := set(body) - self.fields:
            raise self.refused(f"not a field of this server: {', '.join(sorted(unknown))}")
        self.refuse_messages(body["messages"])
        super().refuse({**body, **{key: PLENTY for key in ("max_tokens", "max_completion_tokens") if key in body}})

    def refuse_messages(self, messages: list) -> None:
        asked: set[str] = set()
        for index, message in enumerate(messages):
            role, content = message.get("role"), message.get("content")
            if role not in ("system", "user", "assistant", "tool"):
                raise self.refused(f"messages[{index}].role {role}")
            # Many chat templates fail here, and on a second one; Ollama puts those together that follow each other.
            before = {earlier["role"] for earlier in messages[:index]}
            if role == "system" and before - ({"system"} if self.joins_instructions else set()):
                raise self.refused("System message must be at the beginning.")
            if not isinstance(content, str | list | None) or (content is None and role != "assistant"):
                raise self.refused(f"messages[{index}].content")
            if isinstance(content, list) and (strange := {part.get("type") for part in content} - PARTS):
                raise self.refused(f"messages[{index}].content has {strange}")
            if role == "tool" and message.get("tool_call_id") not in asked:
                raise self.refused(f"messages[{index}] answers no call")
            for call in message.get("tool_calls") or []:
                if call.get("type") != "function" or not isinstance(call["function"]["arguments"], str):
                    raise self.refused(f"messages[{index}].tool_calls")
                asked.add(call["id"])

    def speak(self, body: dict, turn: Turn, demand: Demand, fault: str | None) -> Reply:
        reply = super().speak(body, turn, demand, fault)
        errand = self.script
        said = reply.content + "".join(piece for _, pieces in reply.calls for piece in pieces)
        if not isinstance(errand, Errand) or errand.slip(said) == said or not errand.slips_now():
            return reply
        calls = [(name, cut_up(errand.slip("".join(pieces)))) for name, pieces in reply.calls]
        return Reply(cut_up(errand.slip(reply.content)), calls, reply.finish)


class AgentsVllm(Agents, VllmNew):
    """vLLM 0.32 as it comes: Chat alone, no tool parser, so that calls are made of its constraints."""

    fields = VLLM_FIELDS | HARMLESS

    def refused(self, message: str) -> Refused:
        return self.bad(message)


class AgentsPlain(Agents, Plain):
    """A server that reads no tools: the model does what the prompt asks for, in a code fence."""

    fields = Plain.fields | HARMLESS

    def refused(self, message: str) -> Refused:
        return Refused(422, {"detail": message})

    def demand(self, body: dict) -> Demand:
        return Demand(None)

    def asked(self, body: dict) -> bool:
        return True


class AgentsTransformers(AgentsPlain):
    """The same, by name: `transformers serve` refuses what it does not know."""

    fields = Plain.fields


class AgentsOllama(Agents, Plain):
    """Ollama 0.33 on its compatible route: calls by its own parser and whole, a schema governs the text."""

    name = "ollama"
    reads_prompt = False
    sends_done = True
    fields = OLLAMA_FIELDS | HARMLESS
    joins_instructions = True

    def refused(self, message: str) -> Refused:
        error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
        return Refused(400, {"error": error})

    def refuse(self, body: dict) -> None:
        # Of a model without that capability, which most are.
        if body.get("reasoning_effort", "none") != "none" or "reasoning" in body:
            raise self.refused(f'"{self.model}" does not support thinking')
        super().refuse(body)

    def identify(self, request: Recorded) -> Response | None:
        if request.path == "/api/version":
            return as_json(200, {"version": "0.33.0"})
        if request.path == "/api/tags":
            return as_json(200, {"models": [{"name": self.model, "model": self.model, "size": 1}]})
        if request.path == "/v1/models":
            card = {"id": self.model, "object": "model", "created": now(), "owned_by": "library"}
            return as_json(200, {"object": "list", "data": [card]})
        return None

    def asked(self, body: dict) -> bool:
        return False

    def dressed(self, text: str) -> str:
        return text

    def demand(self, body: dict) -> Demand:
        tools = self.listed(body)
        form = body.get("response_format") or {}
        constraint = None
        if form.get("type") in ("json_schema", "json_object"):
            constraint = Constraint(form["type"], form.get("json_schema", {}).get("schema"))
        return Demand(constraint, {} if constraint else tools, rendered=frozenset(tools))


class AgentsOllamaNative(AgentsOllama):
    """Its own route, `/api/chat`, which nothing tells from the other: the proxy is told. Requests are kept in Chat's words."""

    own = frozenset(
        "model messages tools format options stream think keep_alive logprobs top_logprobs shift truncate".split()
    )

    def refused(self, message: str) -> Refused:
        return Refused(400, {"error": message})

    def handle(self, request: Recorded) -> Response | Stream:
        if (request.method, request.path) != ("POST", "/api/chat"):
            return Response(404, b"404 page not found") if request.path == CHAT else super().handle(request)
        try:
            said = compact(self.in_chats_words(json.loads(request.raw))).encode()
        except Refused as refused:
            self.refusals.append(refused.response.body.decode())
            return refused.response
        return super().handle(Recorded("POST", CHAT, request.headers, said))

    def in_chats_words(self, body: dict) -> dict:
        if unknown := set(body) - self.own:
            raise self.refused(f"not a field of this route: {', '.join(sorted(unknown))}")
        out = {"model": body["model"], "messages": list(map(self.message, body["messages"]))}
        out["stream"] = body.get("stream", True)
        if body.get("tools"):
            out["tools"] = body["tools"]
        if limit := body.get("options", {}).get("num_predict"):
            out["max_tokens"] = limit
        if "think" in body:
            out["reasoning_effort"] = body["think"] or "none"
        if form := body.get("format"):
            is_schema = isinstance(form, dict)
            out["response_format"] = {"type": "json_schema" if is_schema else "json_object"}
            if is_schema:
                out["response_format"]["json_schema"] = {"name": "format", "schema": form}
        return out

    def message(self, message: dict) -> dict:
        if not isinstance(message.get("content", ""), str):
            raise self.refused("json: cannot unmarshal array into Go struct field of type string")
        calls = []
        for call in message.get("tool_calls", []):
            if not isinstance(call["function"]["arguments"], dict):
                raise self.refused("json: cannot unmarshal string into ToolCallFunctionArguments")
            function = {"name": call["function"]["name"], "arguments": json.dumps(call["function"]["arguments"])}
            calls.append({"id": call["id"], "type": "function", "function": function})
        kept = {key: message[key] for key in ("role", "content", "tool_call_id") if key in message}
        return {**kept, **({"tool_calls": calls} if calls else {})}

    def line(self, done: bool = False, **message: Any) -> dict:
        line = {"model": self.model, "created_at": "2026-11-21T05:43:39.546Z", "done": done}
        line["message"] = {"role": "assistant", "content": "", **message}
        # It counts what it read: fewer tokens than words are a prompt that was cut.
        counts = {"prompt_eval_count": self.words, "eval_count": 7}
        return line | ({"done_reason": "stop", **counts} if done else {})

    def called(self, reply: Reply) -> list[dict]:
        made = [{"name": name, "arguments": json.loads("".join(pieces))} for name, pieces in reply.calls]
        return [{"function": function} for function in made]

    def completion(self, body: dict, choices: list[Reply], usage: dict) -> dict:
        calls = self.called(choices[0])
        self.words = len(json.dumps(body).split())
        return self.line(True, content=choices[0].content, **({"tool_calls": calls} if calls else {}))

    def stream(self, body: dict, choices: list[Reply], usage: dict, fault: str | None) -> Stream:
        self.words = len(json.dumps(body).split())
        lines = [self.line(content=piece) for piece in choices[0].pieces]
        lines += [self.line(tool_calls=[call]) for call in self.called(choices[0])]
        lines.append(self.line(True))
        return Stream([compact(line) for line in lines], "application/x-ndjson", frame="{}\n")


STANDINS: dict[str, Callable[[], ScriptedServer]] = {
    "vllm": AgentsVllm,
    "ollama": AgentsOllama,
    "plain": AgentsPlain,
    "transformers": AgentsTransformers,
    "ollama-native": AgentsOllamaNative,
}
