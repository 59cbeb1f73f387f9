"""Two scripted servers in the shape of vLLM 0.32: one that does what it is told and no more, and one that ignores it all.

Both know Chat alone. What they are asked is told by the mark in the prompt, which every gateway passes on; what they are
told by everything else in the request, which is what gateways lose.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "clients"))

from demands import PROSE, Demand
from dialect_vllm import VllmNew
from model import Turn, text_of
from samples import Call
from scripted import Reply, cut_up
from wire import as_json

MARK = re.compile(r"<([^<>]+)>")


class Server(VllmNew):
    """What both share: which demand it is that they are asked."""

    def __init__(self, demands: list[Demand], model: str) -> None:
        self.demands = {demand.name: demand for demand in demands}
        self.model = model
        super().__init__(parser=True)

    def asked(self, messages: list) -> Demand | None:
        found = MARK.findall(text_of(messages))
        return next((self.demands[name] for name in found if name in self.demands), None)


class Obedient(Server):
    """Enforces what vLLM 0.32 enforces of what reaches it. Wherever that leaves it free, it says what was not asked for."""

    def chat(self, body: dict) -> Any:
        self.script = self
        return super().chat(body)

    def turn(self, messages: list) -> Turn:
        demand = self.asked(messages)
        if demand is None:
            return Turn(text=PROSE)
        if not isinstance(demand.lie, str):
            return Turn(calls=tuple(Call(name, values) for name, values in demand.lie), text=PROSE)
        values = json.loads(demand.lie) if demand.lie.startswith("{") else {}
        return Turn(values=values, text=demand.lie)


class Ignorant(Server):
    """Answers with status 200 what it likes, whatever it is told, as servers do that do not know a field."""

    def refuse(self, body: dict) -> None:
        pass

    def chat(self, body: dict) -> Any:
        demand = self.asked(body["messages"])
        lie = demand.lie if demand else PROSE
        if isinstance(lie, str):
            reply = Reply(cut_up(lie))
        else:
            calls = [(name, cut_up(json.dumps(values))) for name, values in lie]
            reply = Reply(calls=calls, finish="tool_calls")
        usage = {"prompt_tokens": 9, "completion_tokens": reply.tokens(), "total_tokens": 9 + reply.tokens()}
        if body.get("stream"):
            return self.stream(body, [reply], usage, None)
        return as_json(200, self.completion(body, [reply], usage))


SERVERS = {"obedient": Obedient, "ignorant": Ignorant}
