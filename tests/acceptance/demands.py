"""What is asked: schemas as people write them, texts, and the ways in which a client can demand either."""

import re
from dataclasses import dataclass, field
from typing import Any, Callable


def closed(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An object of these properties and no others, all of them required."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
        **more,
    }


TEXT = {"type": "string"}
SHORT = {"type": "string", "maxLength": 40}

SCHEMAS: dict[str, dict[str, Any]] = {
    "person": closed({"name": SHORT, "age": {"type": "integer"}}),
    "bounds": closed({"count": {"type": "integer", "minimum": 1, "maximum": 9}, "share": {"type": "number", "minimum": 0}}),
    "enum": closed({"colour": {"enum": ["red", "green", "blue"]}, "sure": {"type": "boolean"}}),
    "mixed_enum": closed({"level": {"enum": [1, 2, "high", None]}}),
    "list": closed({"tags": {"type": "array", "items": SHORT, "minItems": 1, "maxItems": 3}}),
    "nested": closed({"who": closed({"name": SHORT}), "where": closed({"city": SHORT, "zip": {"type": "string", "pattern": "^[0-9]{5}$"}})}),
    "optional": {"type": "object", "properties": {"a": SHORT, "b": {"type": "integer"}}, "required": ["a"], "additionalProperties": False},
    "open": {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]},
    "union": closed({"pet": {"anyOf": [closed({"cat": SHORT}), closed({"dog": {"type": "integer"}})]}}),
    "nullable": closed({"note": {"type": ["string", "null"], "maxLength": 20}}),
    "refs": closed({"home": {"$ref": "#/$defs/place"}, "work": {"$ref": "#/$defs/place"}}, **{"$defs": {"place": closed({"city": SHORT})}}),
    "recursive": {"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties": {"v": {"type": "integer", "maximum": 9, "minimum": 0}, "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}}, "required": ["v", "next"], "additionalProperties": False}}},
    "date": closed({"day": {"type": "string", "format": "date"}}),
    "pattern": closed({"code": {"type": "string", "pattern": "^[A-Z]{2}-\\d{3}$"}}),
    "negated": closed({"mail": {"type": "string", "pattern": "^\\S+@\\S+$", "maxLength": 40}}),
    "search": closed({"word": {"type": "string", "pattern": "ab+c", "maxLength": 20}}),
    "map": {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 3},
    "tuple": closed({"pair": {"type": "array", "prefixItems": [SHORT, {"type": "integer"}], "items": False, "minItems": 2}}),
    "const": closed({"kind": {"const": "report"}, "pages": {"type": "integer", "multipleOf": 1}}),
    "big_bounds": closed({"id": {"type": "integer", "minimum": -9007199254740993, "maximum": 9007199254740993}}),
    "long": closed({"text": {"type": "string", "minLength": 2, "maxLength": 2500}}),
    "all_of": {"allOf": [closed({"a": SHORT}), {"not": {"required": ["z"]}}]},
    "quoted": closed({'a "quoted" name': {"type": "boolean"}}),
    "one_of": closed({"v": {"oneOf": [{"type": "integer"}, {"type": "boolean"}]}}),
}


def tool(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": f"Records {name}.", "parameters": schema}}


def named(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


OTHER = tool("look_up", closed({"query": SHORT}))


@dataclass
class Demand:
    """One request, and what its answer has to be."""

    way: str
    label: str
    fields: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)
    # The schemas of the tools that may be called; whether one must be.
    tools: dict[str, Any] = field(default_factory=dict)
    must_call: bool = False
    # What the content is where nothing is called.
    schema: dict[str, Any] | None = None
    is_text: Callable[[str], bool] | None = None


def schema_ways(label: str, schema: dict[str, Any]) -> list[Demand]:
    ours, both = {"record": schema}, {"record": schema, "look_up": OTHER["function"]["parameters"]}
    one, two = [tool("record", schema)], [tool("record", schema), OTHER]
    wanted = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    return [
        Demand("json_schema", label, {"response_format": wanted}, schema=schema),
        Demand("required, one tool", label, {"tools": one, "tool_choice": "required"}, tools=ours, must_call=True),
        Demand("required, several", label, {"tools": two, "tool_choice": "required"}, tools=both, must_call=True),
        Demand("named", label, {"tools": two, "tool_choice": named("record")}, tools=ours, must_call=True),
        Demand("auto", label, {"tools": two}, tools=both),
        Demand("auto + schema", label, {"tools": two, "response_format": wanted}, tools=both, schema=schema),
    ]


def text(way: str, label: str, extra: dict[str, Any], pattern: str, **fields: Any) -> Demand:
    return Demand(way, label, fields, extra, is_text=lambda said: re.fullmatch(pattern, said) is not None)


GBNF = 'root ::= "yes" | "no " [0-9]+'
TEXTS = [
    text("regex", "code", {"structured_outputs": {"regex": "[a-c]{2}-[0-9]{3}"}}, r"[a-c]{2}-[0-9]{3}"),
    text("regex", "words", {"guided_regex": "(red|green) (fox|hen)"}, r"(red|green) (fox|hen)"),
    text("regex", "unlike", {"structured_outputs": {"regex": "\\S{3}\\s\\S{3}"}}, r"\S{3}\s\S{3}"),
    text("choice", "colour", {"structured_outputs": {"choice": ["red", "green", "blue"]}}, "red|green|blue"),
    text("choice", "odd", {"guided_choice": ['say "a"', "b\\c", "é"]}, 'say "a"|b\\\\c|é'),
    text("grammar", "gbnf", {"structured_outputs": {"grammar": GBNF}}, "yes|no [0-9]+"),
    text("regex + tools", "unlike", {"structured_outputs": {"regex": "\\S{3}\\s\\S{3}"}}, r"\S{3}\s\S{3}", tools=[OTHER]),
    Demand("json_object", "any", {"response_format": {"type": "json_object"}}, schema={"type": "object"}),
]
TEXTS[-2].tools = {"look_up": OTHER["function"]["parameters"]}

ALL = [demand for label, schema in SCHEMAS.items() for demand in schema_ways(label, schema)] + TEXTS
