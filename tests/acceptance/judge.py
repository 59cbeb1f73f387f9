"""What a client got, judged by a validator that is not ours."""

import json
from dataclasses import dataclass, field
from typing import Any

import jsonschema
from demands import Demand

CUT = ("length", "content_filter")


@dataclass
class Got:
    """An answer as the client's own package put it together."""

    content: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list)
    finish: str | None = None
    error: str | None = None


def is_valid(schema: Any, text: str) -> bool:
    try:
        value = json.loads(text, object_pairs_hook=once)
    except ValueError:
        return False
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    return jsonschema.Draft202012Validator(schema, format_checker=checker).is_valid(value)


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("a name stands twice")
    return dict(pairs)


def verdict(demand: Demand, got: Got) -> str:
    """`valid`, `cut`, `error`, or `WRONG`."""
    if got.error is not None:
        return "error"
    calls = [is_call(demand, name, arguments) for name, arguments in got.calls]
    if got.finish in CUT:
        # Only what is unfinished is excused: all calls but the last, and what is whole.
        if not all(calls[:-1]):
            return "WRONG"
        said = [(demand.tools.get(name), arguments) for name, arguments in got.calls[-1:]]
        said += [(demand.schema, got.content)] if demand.schema and got.content else []
        wrong = any(is_whole(text) and not is_valid(schema, text) for schema, text in said)
        return "WRONG" if wrong else "cut"
    if not all(calls) or (demand.must_call and not calls):
        return "WRONG"
    if not calls and demand.schema is not None and not is_valid(demand.schema, got.content):
        return "WRONG"
    if not calls and demand.is_text is not None and not demand.is_text(got.content):
        return "WRONG"
    return "valid"


def is_call(demand: Demand, name: str, arguments: str) -> bool:
    return name in demand.tools and is_valid(demand.tools[name], arguments)


def is_whole(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
