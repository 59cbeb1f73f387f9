"""A conversation in; what the scripted model says next out.

The model has no memory: like a real one it reads the history it is sent. The n-th turn of its
script is what it wants to say after n of its own messages. Under a constraint it says that inside
what the constraint allows; without one it chats, so that a constraint dropped on the way shows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import grammars
import samples
from grammars import Unsupported
from samples import Call

PROSE = "Hello! How can I help you today?"
FORM = re.compile("regular expression|regex|exactly (?:one )?of|one of these|grammar", re.IGNORECASE)
JSON_TYPES = {"object", "array", "string", "number", "integer", "boolean", "null"}


@dataclass(frozen=True)
class Turn:
    """What the model wants to say once."""

    values: Mapping[str, Any] = field(default_factory=dict)
    calls: tuple[str | Call, ...] = ()
    text: str = PROSE
    # What it says where the prompt alone asks for a form (a server that constrains nothing).
    prompted: str | None = None
    # Non-ASCII as \uXXXX, which is the same JSON: the pieces then cut escapes in two.
    escaped: bool = False
    # Line breaks and indents, as small models like to write.
    spaced: bool = False

    def wanted(self) -> tuple[Call, ...]:
        return tuple(Call(call) if isinstance(call, str) else call for call in self.calls)

    def json(self, value: Any) -> str:
        indent = 2 if self.spaced else None
        return json.dumps(value, ensure_ascii=self.escaped, indent=indent)


@dataclass(frozen=True)
class Script:
    """The model's turns; the last one is repeated."""

    turns: tuple[Turn, ...] = (Turn(),)

    def turn(self, messages: list) -> Turn:
        said = sum(1 for message in messages if message.get("role") == "assistant")
        return self.turns[min(said, len(self.turns) - 1)]


@dataclass(frozen=True)
class Constraint:
    """What a server lets the model say: the kind, and its schema, regex, choices or grammar."""

    kind: str
    value: Any = None


def constrained(
    turn: Turn, constraint: Constraint, messages: list, known: frozenset[str], tools: Mapping[str, Any]
) -> str:
    """The model's words inside a constraint. Raises `Unsupported` for one that no server takes. `tools` are those that the
    model is shown, with their parameters."""
    kind, value = constraint.kind, constraint.value
    if kind == "json_schema":
        return turn.json(samples.of_schema(value, turn.values, turn.wanted(), known))
    if kind == "json_object":
        schemas, _ = read_prompt(messages)
        wish = samples.of_schema(schemas[-1], turn.values) if schemas else dict(turn.values)
        return turn.json(wish if isinstance(wish, dict) else {"answer": wish})
    if kind == "choice":
        return turn.text if turn.text in value else value[0]
    if kind == "regex":
        return grammars.of_regex(value)
    if kind == "grammar":
        return _calls_in_grammar(turn, value, known, tools) or grammars.of_grammar(value)
    if kind == "structural_tag":
        return _tagged(turn, value, known)
    raise Unsupported(f"the constraint {kind}")


def _calls_in_grammar(turn: Turn, grammar: str, known: frozenset[str], tools: Mapping[str, Any]) -> str:
    """The model's calls between tags, where the grammar has a literal that begins such a call."""
    literals = re.findall(r'"(?:[^"\\]|\\.)*"', grammar)
    begins = [json.loads(literal) for literal in literals if "tool_call>" in literal]
    named = {json.loads(found[1]): begin for begin in begins if (found := NAMED.search(begin))}
    schema = {name: tools.get(name) or {"type": "object"} for name in named}
    ends = [literal for literal in begins if literal.endswith("</tool_call>")]
    tags = {name: {"begin": begin, "schema": schema[name], "end": ends[0]} for name, begin in named.items() if ends}
    wanted = [call for call in turn.wanted() if call.name in tags]
    return "\n".join(_call_between(turn, call, tags[call.name], known) for call in wanted)


NAMED = re.compile(r'"name": ("(?:[^"\\]|\\.)*")')


def _tagged(turn: Turn, tag: Mapping[str, Any], known: frozenset[str]) -> str:
    """What a structural tag lets the model say, in either of its two shapes: its calls between the
    tags that begin with their names, else its text; of tags without names the first."""
    inner = tag.get("format", tag)
    if "triggers" in inner:
        tags = tag.get("structures") or inner["tags"]
        named = {json.loads(found[1]): one for one in tags if (found := NAMED.search(one["begin"]))}
        if len(named) == len(tags):
            wanted = [call for call in turn.wanted() if call.name in named]
            said = [_call_between(turn, call, named[call.name], known) for call in wanted]
            return "\n".join(said) or turn.text
    if "structures" in tag:
        first = tag["structures"][0]
        return first["begin"] + turn.json(samples.of_schema(first["schema"], turn.values)) + first["end"]
    calls = [one for one in _tags_in(inner) if NAMED.search(one["begin"])]
    if calls:
        named = {json.loads(NAMED.search(one["begin"])[1]): one for one in calls}
        wanted = [call for call in turn.wanted() if call.name in named] or [Call(next(iter(named)))]
        return "\n".join(_call_between(turn, call, named[call.name], known) for call in wanted)
    while "tags" in inner:
        inner = inner["tags"][0]
    if inner.get("type") == "json_schema":
        return turn.json(samples.of_schema(inner["json_schema"], turn.values))
    if inner.get("type") == "tag":
        return inner["begin"] + _tagged(turn, inner["content"], known) + inner["end"]
    raise Unsupported(f"the structural tag format {inner.get('type')}")


def _tags_in(inner: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The tags of a format of calls: one, alternatives, or a list with something between."""
    if inner.get("type") == "tag":
        return [inner]
    parts = [*inner.get("elements", ()), *inner.get("tags", ())]
    return [tag for part in parts for tag in _tags_in(part)]


def _call_between(turn: Turn, call: Call, tag: Mapping[str, Any], known: frozenset[str]) -> str:
    schema = tag["schema"] if "schema" in tag else tag["content"]["json_schema"]
    wish = {**turn.values, **call.values} if call.name in known else {}
    return tag["begin"] + turn.json(samples.of_schema(schema, wish)) + tag["end"]


def prompted(turn: Turn, messages: list, known: frozenset[str]) -> str | None:
    """What the model says because the prompt alone asks for a form; nothing where it does not."""
    schemas, tools = read_prompt(messages)
    asked = text_of(
        [message for message in messages if message.get("role") in ("system", "developer", "user")]
    )
    wanted = [call for call in turn.wanted() if call.name in tools]
    if wanted:
        calls = [_prompted_call(turn, call, tools[call.name], known) for call in wanted]
        return turn.json(calls if "JSON array" in asked else calls[0])
    if schemas:
        value = samples.of_schema(schemas[-1], turn.values, turn.wanted(), known)
        return turn.json({"answer": value} if tools and '"answer"' in asked else value)
    if turn.prompted is not None and FORM.search(asked):
        return turn.prompted
    if turn.values and not tools and "JSON object" in asked:
        return turn.json(dict(turn.values))
    return None


def _prompted_call(turn: Turn, call: Call, parameters: Any, known: frozenset[str]) -> dict:
    """A call written down, as the prompt wants it: a tool that takes text has an `input`."""
    if parameters is None:
        return {"name": call.name, "input": turn.prompted}
    wish = {**turn.values, **call.values} if call.name in known else {}
    return {"name": call.name, "arguments": samples.of_schema(parameters, wish)}


def read_prompt(messages: list) -> tuple[list[Any], dict[str, Any]]:
    """The JSON Schemas in the prompt, and the tools that are described there with their parameters."""
    schemas: list[Any] = []
    tools: dict[str, Any] = {}
    for message in messages:
        if message.get("role") in ("tool", "function", "assistant"):
            continue
        for found in _json_in(_text(message)):
            items = found if isinstance(found, list) else [found]
            for item in items:
                tool = _tool(item)
                if tool:
                    # What follows may be an example of a call.
                    tools.setdefault(*tool)
                elif _is_schema(item):
                    schemas.append(item)
    return schemas, tools


def text_of(messages: list) -> str:
    """Every text that the model sees, tool descriptions aside."""
    return "\n".join(_text(message) for message in messages)


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content if isinstance(part, Mapping))
    return content if isinstance(content, str) else ""


def _json_in(text: str) -> Iterator[Any]:
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        if text[at] in "{[":
            try:
                value, at = decoder.raw_decode(text, at)
                yield value
                continue
            except ValueError:
                pass
        at += 1


def _tool(item: Any) -> tuple[str, Any] | None:
    if not isinstance(item, Mapping):
        return None
    inner = item.get("function", item)
    if isinstance(inner, Mapping) and isinstance(inner.get("name"), str):
        for key in ("parameters", "arguments", "input_schema", "schema"):
            if isinstance(inner.get(key), Mapping):
                return inner["name"], inner[key]
        if isinstance(inner.get("input"), str):
            return inner["name"], None
    return None


def _is_schema(item: Any) -> bool:
    if not isinstance(item, Mapping):
        return False
    kinds = item.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    return all(kind in JSON_TYPES for kind in kinds if kind is not None) and bool(
        {"properties", "anyOf", "oneOf", "allOf", "$ref", "enum", "const", "items"} & set(item)
        or kinds != [None]
    )
