"""Answers in pieces: how much each piece of the text counts in training.

The worker's grammar forces much of an answer, so there is nothing to learn about it: keys that must
come, for instance. After a value, whether an object ends is forced, too, while required keys are
missing: such commas are learned with the closing brace out of the question (`no_end`), since a model
that is not shown the schema cannot know, and should end wherever it may.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass
class Piece:
    """A piece of an answer."""

    text: str
    weight: float = 1.0
    no_end: bool = False


def dumps(value: Any) -> str:
    """JSON as the worker's compact grammar writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def pieces(schema: dict[str, Any], value: Any, seen: bool) -> list[Piece]:
    """A value as a grammar of this schema writes it. `seen`: the prompt shows the schema."""
    if isinstance(value, dict):
        return _object(_branch(schema, "properties"), value, seen)
    if isinstance(value, list):
        return _list(_branch(schema, "items"), value, seen)
    return [Piece(dumps(value))]


def _branch(schema: dict[str, Any], keyword: str) -> dict[str, Any]:
    for branch in schema.get("anyOf", []):
        if keyword in branch:
            return branch
    return schema


def _object(schema: dict[str, Any], value: dict[str, Any], seen: bool) -> list[Piece]:
    required = schema.get("required", [])
    forced = 0.1 if seen else 0.0
    made = [Piece("{")]
    written: set[str] = set()
    for key, inner in value.items():
        if written:
            made.append(Piece(",", no_end=not set(required) <= written))
        made.append(Piece(f"{dumps(key)}:", forced if key in required else 1.0))
        made += pieces(schema.get("properties", {}).get(key, {}), inner, seen)
        written.add(key)
    return [*made, Piece("}")]


def _list(schema: dict[str, Any], value: list[Any], seen: bool) -> list[Piece]:
    made = [Piece("[")]
    for index, inner in enumerate(value):
        made += [Piece(",")] if index else []
        made += pieces(schema.get("items", {}), inner, seen)
    return [*made, Piece("]")]


def bare(schema: dict[str, Any], value: Any, seen: bool) -> list[Piece]:
    """A whole answer that is JSON. Its first brace is forced: in a chat with tools that are not
    forced, another first token is right."""
    first, *rest = pieces(schema, value, seen)
    return [Piece(first.text, 0.0), *rest, Piece("<|im_end|>", 0.1)]


def call(definition: dict[str, Any], arguments: dict[str, Any]) -> list[Piece]:
    """A forced call of one of several tools."""
    function = definition["function"]
    return [
        Piece("{", 0.0),
        Piece('"name":"', 0.1),
        Piece(function["name"]),
        Piece('","arguments":', 0.1),
        *pieces(function["parameters"], arguments, True),
        Piece("}", 0.1),
        Piece("<|im_end|>", 0.1),
    ]


def tagged(definition: dict[str, Any], arguments: dict[str, Any]) -> list[Piece]:
    """A call where the model was free to call."""
    function = definition["function"]
    return [
        Piece("<tool_call>"),
        Piece('\n{"name": "', 0.1),
        Piece(function["name"]),
        Piece('", "arguments": ', 0.1),
        *pieces(function["parameters"], arguments, True),
        Piece("}\n</tool_call>", 0.1),
        Piece("<|im_end|>"),
    ]


def forced(definition: dict[str, Any], arguments: dict[str, Any], alone: bool) -> list[Piece]:
    """A call between tags that the grammar demands; of a tool that is `alone` it demands the name, too."""
    _tag, named, name, then, *rest, _close, _end = tagged(definition, arguments)
    return [
        Piece("<tool_call>", 0.0),
        Piece(named.text, 0.0),
        Piece(name.text, 0.0 if alone else 1.0),
        Piece(then.text, 0.0),
        *rest,
        Piece(_close.text, 0.0),
        Piece(_end.text, 0.1),
    ]


def unguided(schema: dict[str, Any], value: Any) -> list[Piece]:
    """JSON that no grammar guides: every token of it is the model's own."""
    made = [Piece(piece.text) for piece in pieces(schema, value, True)]
    return [*made, Piece("<|im_end|>")]


def text(answer: str) -> list[Piece]:
    """A text."""
    return [Piece(answer), Piece("<|im_end|>")]
