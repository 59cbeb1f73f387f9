"""An honest server that knows Chat alone, as vLLM does with a tool parser: what a suite's prompt asks for, its model does.

What it cannot do is what such a model could not; whatever else a suite finds is the proxy's.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "clients"))

from dialect_vllm import VllmNew  # noqa: E402
from model import Turn, text_of  # noqa: E402
from samples import Call  # noqa: E402

EVENT = {
    "title": "Design review",
    "start": "2026-10-01T15:00:00Z",
    "attendees": [{"name": "Ana", "email": "ana@example.com"}, {"name": "Bo", "email": "bo@example.com"}],
}


def values(text: str) -> dict:
    """What the prompt says of the arguments."""
    out: dict = {"city": "Paris", "location": "San Francisco", "answer": "9.9", **EVENT}
    if "Create an event" in text:
        out["location"] = {"city": "Berlin", "room": "4.12"}
    if note := re.search(r"titled '([^']*)' whose body is exactly: (.*)", text):
        out |= {"title": note[1], "body": note[2]}
    return out


class Honest(VllmNew):
    """Its model calls a tool wherever it is shown one, unless it has the result or is told not to."""

    reads_prompt = True

    def __init__(self) -> None:
        super().__init__(parser=True)

    def speak(self, body, turn, demand, fault):
        return super().speak(body, self.turn(body), demand, fault)

    def turn(self, body: dict) -> Turn:
        last = body["messages"][-1]
        text = text_of([last])
        if last.get("role") == "tool":
            return Turn(text="It is sunny, and 18 degrees.")
        if "do not use any tool" in text:
            return Turn(text="42")
        names = list(self.listed(body))
        if not names:
            return Turn(values=values(text), text="CANARY_OK: hello! 1, 2, 3.")
        wanted = [name for name in names if name.split("_")[-1] in text.lower()] or names
        calls = [Call(wanted[0], values(text))]
        if "Paris and in Tokyo" in text:
            calls = [Call(wanted[0], {"city": city}) for city in ("Paris", "Tokyo")]
        return Turn(values=values(text), calls=tuple(calls), text="Hello!")
