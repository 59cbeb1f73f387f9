"""Requests that people wrote, each with its one right answer: none of them can come out of the generator.

An item is a line of JSON in `written/`: its `kind`, the `messages` and the rest of the `request`, and either
the `right` answer (the call, the object, the choice) or the words that the answer `says`. Where the request
enforces nothing, the `schema` that its prompt shows stands beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema

FOLDER = Path(__file__).with_name("written")


@dataclass
class Item:
    """A request, and what is right."""

    kind: str
    messages: list[dict[str, Any]]
    request: dict[str, Any]
    right: Any = None
    says: list[str] = field(default_factory=list)
    schema: dict[str, Any] | None = None


def items() -> list[Item]:
    """All of them."""
    lines = (line for path in sorted(FOLDER.glob("*.jsonl")) for line in path.read_text().splitlines())
    return [Item(**json.loads(line)) for line in lines]


def tools_of(item: Item) -> dict[str, dict[str, Any]]:
    """The parameters of each tool."""
    functions = (tool["function"] for tool in item.request.get("tools", []))
    return {function["name"]: function["parameters"] for function in functions}


def given(item: Item, message: dict[str, Any]) -> Any:
    """The answer, in the shape of what is right; `None` where it has another."""
    calls = [call["function"] for call in message.get("tool_calls") or []]
    text = message.get("content") or ""
    if calls:
        if len(calls) > 1 or not item.request.get("tools"):
            return None
        return {"name": calls[0]["name"], "arguments": json.loads(calls[0]["arguments"])}
    if item.says or "structured_outputs" in item.request:
        return text
    return None if item.request.get("tools") else json.loads(text)


def is_valid(item: Item, answer: Any) -> bool:
    """Whether an answer keeps to the request, right or not."""
    tools = tools_of(item)
    if isinstance(answer, str):
        choices = item.request.get("structured_outputs", {}).get("choice")
        return answer in choices if choices else bool(answer) and bool(item.says)
    if answer is None:
        return False
    if tools:
        return answer["name"] in tools and fits(tools[answer["name"]], answer["arguments"])
    schema = item.schema or item.request["response_format"]["json_schema"]["schema"]
    return fits(schema, answer)


def fits(schema: dict[str, Any], value: Any) -> bool:
    """Whether a value satisfies a schema."""
    return jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker()).is_valid(value)


def is_right(item: Item, answer: Any) -> bool:
    """Whether an answer is the right one."""
    if item.says:
        return isinstance(answer, str) and all(word.lower() in answer.lower() for word in item.says)
    return answer == item.right


@dataclass
class Tally:
    """What came out of one kind."""

    asked: int = 0
    right: int = 0
    valid: int = 0


def judged(asked: Iterable[tuple[Item, dict[str, Any]]], show: int = 0) -> dict[str, Tally]:
    """Counts answers by kind; prints so many wrong ones of each."""
    tallies: dict[str, Tally] = {}
    for item, message in asked:
        tally = tallies.setdefault(item.kind, Tally())
        tally.asked += 1
        try:
            answer = given(item, message)
        except ValueError:
            answer = None
        is_good = is_right(item, answer)
        tally.right += is_good
        tally.valid += is_valid(item, answer)
        if not is_good and tally.asked - tally.right <= show:
            print(f"  [{item.kind}] {item.messages[-1]['content']!r}")
            print(f"    right {item.right or item.says}\n    given {message if answer is None else answer}")
    return tallies


def table(tallies: dict[str, Tally]) -> str:
    """The counts, in Markdown."""
    rows = ["| Written by hand | Right | Valid | Asked |", "| --- | ---: | ---: | ---: |"]
    whole = Tally(*(sum(getattr(one, name) for one in tallies.values()) for name in ("asked", "right", "valid")))
    for kind, one in [*sorted(tallies.items()), ("all", whole)]:
        rows.append(f"| {kind} | {one.right} | {one.valid} | {one.asked} |")
    return "\n".join(rows)
