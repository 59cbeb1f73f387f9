"""A demand's judge: what a reply says in, what is wrong with it out (nothing where it is what was asked for).

Another program's validator (`jsonschema`), and no word of Isogloss.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import jsonschema
from replies import Said

Judge = Callable[[Said], str | None]
ANY_OBJECT = {"type": "object"}


def no_number(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


def of_schema(text: str, schema: Any) -> str | None:
    try:
        value = json.loads(text, parse_constant=no_number)
    except ValueError:
        return "it is no JSON"
    kind = jsonschema.Draft202012Validator
    errors = kind(schema, format_checker=kind.FORMAT_CHECKER).iter_errors(value)
    return next((f"{error.validator} at {error.json_path}" for error in errors), None)


def answer(schema: Any) -> Judge:
    """JSON that satisfies the schema, and no call."""
    return lambda said: "there is a call" if said.calls else of_schema(said.text, schema)


def matches(pattern: str) -> Judge:
    def judge(said: Said) -> str | None:
        if said.calls:
            return "there is a call"
        return None if re.fullmatch(pattern, said.text) else "it does not match"

    return judge


def called(tools: Mapping[str, Any], most: int | None = None, least: int = 1) -> Judge:
    """Calls of these tools alone, so many, each with arguments that its schema allows; of a custom tool (a pattern
    in place of a schema) the input matches."""

    def judge(said: Said) -> str | None:
        if len(said.calls) < least:
            return "there is no call"
        if most is not None and len(said.calls) > most:
            return "there are too many calls"
        for name, given in said.calls:
            if name not in tools:
                return "it calls a tool that it may not"
            wanted = tools[name]
            if isinstance(wanted, str):
                wrong = None if re.fullmatch(wanted, given) else "the input does not match"
            else:
                wrong = of_schema(given, wanted)
            if wrong:
                return f"arguments: {wrong}"
        return None

    return judge


def either(calls: Judge, text: Judge) -> Judge:
    """Calls, or an answer."""
    return lambda said: calls(said) if said.calls else text(said)


def silent(said: Said) -> str | None:
    """No call."""
    return "there is a call" if said.calls else None
