"""Sixty demands: what a client asks for, in its own words; what a server says that ignores it; who judges the reply.

A lie is what such a server answers, with status 200: a text, or calls. Where something else is demanded as well, all of that
holds, so that one rule alone is broken.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from judge import ANY_OBJECT, Judge, answer, called, either, matches, silent

PROSE = "Sure! I would say that this depends on what you have in mind."
Calls = list[tuple[str, Any]]


@dataclass(frozen=True)
class Demand:
    """One demand."""

    name: str
    dialect: str
    fields: dict[str, Any]
    judge: Judge
    # A text, or the calls that a server makes that does not care.
    lie: str | Calls
    # A refusal that has one of these in it says what it refuses.
    words: tuple[str, ...]
    is_stream: bool = False

    @property
    def key(self) -> str:
        """Stands in the prompt, so that a scripted server knows what it is asked whatever became of the rest."""
        return f"<{self.name}>"

    def route(self, base: str, model: str) -> str:
        root = base.removesuffix("/v1")
        return {
            "chat": f"{base}/chat/completions",
            "responses": f"{base}/responses",
            "messages": f"{base}/messages",
            "gemini": f"{root}/v1beta/models/{model}:generateContent",
            "ollama": f"{root}/api/chat",
        }[self.dialect]

    def body(self, model: str) -> dict[str, Any]:
        prompt = f"{self.key} Tell me about the order, please, as I asked for it."
        said = [{"role": "user", "content": prompt}]
        head: dict[str, Any] = {
            "chat": {"model": model, "messages": said, "max_tokens": 600},
            "responses": {"model": model, "input": prompt, "max_output_tokens": 600},
            "messages": {"model": model, "messages": said, "max_tokens": 600},
            "gemini": {"contents": [{"role": "user", "parts": [{"text": prompt}]}]},
            "ollama": {"model": model, "messages": said, "stream": False},
        }[self.dialect]
        if self.is_stream:
            head["stream"] = True
        return head | self.fields


def obj(properties: dict[str, Any], required: list[str] | None = None, **more: Any) -> dict[str, Any]:
    wanted = list(properties) if required is None else required
    return {"type": "object", "properties": properties, "required": wanted, "additionalProperties": False, **more}


TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
ORDER = obj({"id": WHOLE, "status": {"type": "string", "enum": ["open", "sent", "paid"]}})
PLACE = obj({"city": {"type": "string", "maxLength": 30}, "days": {"type": "integer", "minimum": 1, "maximum": 7}})
GOOD_PLACE, BAD_PLACE = {"city": "Oslo", "days": 3}, {"city": "Oslo", "days": 90}
CODE = "[A-Z]{3}-[0-9]{4}"
LARK = 'start: "[" NUMBER "]"\nNUMBER: /[0-9]+/'
GBNF = 'root ::= "[" [0-9]+ "]"'
IN_BRACKETS = r"\[[0-9]+\]"


def function(name: str, parameters: Any, **more: Any) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": name, "description": f"The {name}.", "parameters": parameters, **more},
    }


# --- Chat: the answer ----------------------------------------------------------------------------

# The schema, and JSON that breaks one rule of it.
SCHEMAS: dict[str, tuple[Any, Any]] = {
    "object": (ORDER, {"id": "seven", "status": "open"}),
    "additionalProperties": (ORDER, {"id": 7, "status": "open", "note": "!"}),
    "required": (ORDER, {"id": 7}),
    "enum": (ORDER, {"id": 7, "status": "lost"}),
    "const": (obj({"kind": {"const": "order"}}), {"kind": "invoice"}),
    "minimum": (obj({"n": {"type": "integer", "minimum": 10, "maximum": 20}}), {"n": 3}),
    "exclusiveMaximum": (obj({"n": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}}), {"n": 1}),
    "multipleOf": (obj({"n": {"type": "integer", "multipleOf": 5}}), {"n": 7}),
    "maxLength": (obj({"word": {"type": "string", "maxLength": 5}}), {"word": "much too long"}),
    "minLength": (obj({"word": {"type": "string", "minLength": 3}}), {"word": "a"}),
    "pattern": (obj({"code": {"type": "string", "pattern": f"^{CODE}$"}}), {"code": "abc"}),
    "format date": (obj({"day": {"type": "string", "format": "date"}}), {"day": "tomorrow"}),
    "format uuid": (obj({"id": {"type": "string", "format": "uuid"}}), {"id": "42"}),
    "minItems": (obj({"tags": {"type": "array", "items": TEXT, "minItems": 2}}), {"tags": ["a"]}),
    "maxItems": (obj({"tags": {"type": "array", "items": TEXT, "maxItems": 2}}), {"tags": ["a", "b", "c"]}),
    "uniqueItems": (
        obj({"tags": {"type": "array", "items": TEXT, "uniqueItems": True, "minItems": 2}}),
        {"tags": ["a", "a"]},
    ),
    "prefixItems": (
        obj({"pair": {"type": "array", "prefixItems": [TEXT, WHOLE], "items": False, "minItems": 2}}),
        {"pair": [1, "a"]},
    ),
    "anyOf": (obj({"ref": {"anyOf": [WHOLE, {"type": "null"}]}}), {"ref": "x"}),
    "oneOf": (
        obj({"n": {"oneOf": [{"type": "integer", "maximum": 5}, {"type": "integer", "minimum": 3}]}}),
        {"n": 4},
    ),
    "allOf": (obj({"n": {"allOf": [WHOLE, {"minimum": 10}]}}), {"n": 3}),
    "not": (obj({"word": {"type": "string", "not": {"const": "no"}}}), {"word": "no"}),
    "$ref": (
        {"$ref": "#/$defs/node", "$defs": {"node": obj({"v": WHOLE, "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}})}},
        {"v": 1, "next": {"v": "two", "next": None}},
    ),
    "dependentRequired": (
        {**obj({"card": TEXT, "owner": TEXT}, ["card"]), "dependentRequired": {"card": ["owner"]}},
        {"card": "4111"},
    ),
    "if then": (
        {
            **obj({"kind": {"enum": ["gift", "sale"]}, "price": WHOLE}, ["kind"]),
            "if": {"properties": {"kind": {"const": "sale"}}},
            "then": {"required": ["price"]},
        },
        {"kind": "sale"},
    ),
    "patternProperties": (
        {"type": "object", "patternProperties": {"^n_": WHOLE}, "additionalProperties": False, "minProperties": 1},
        {"n_a": "one"},
    ),
    "array at the root": ({"type": "array", "items": ORDER, "minItems": 1}, {"orders": []}),
}  # fmt: skip
FORMAT_WORDS = ("response_format", "json_schema", "schema", "contract", "constraint", "grammar", "format")


def as_json(value: Any) -> str:
    return json.dumps(value)


def of_format(name: str, schema: Any, lie: Any, is_stream: bool = False, **more: Any) -> Demand:
    inner = {"name": "order", "schema": schema, **more}
    fields = {"response_format": {"type": "json_schema", "json_schema": inner}}
    words = (*FORMAT_WORDS, name.split()[0])
    return Demand(f"schema: {name}", "chat", fields, answer(schema), as_json(lie), words, is_stream=is_stream)


def chat_answers() -> list[Demand]:
    out = [of_format(name, schema, lie) for name, (schema, lie) in SCHEMAS.items()]
    out.append(of_format("strict", ORDER, {"id": 7, "status": "open", "x": 1}, strict=True))
    out.append(of_format("streamed", *SCHEMAS["pattern"], is_stream=True))
    json_object = {"response_format": {"type": "json_object"}}
    out.append(Demand("json_object", "chat", json_object, answer(ANY_OBJECT), PROSE, FORMAT_WORDS))
    return out


# --- Chat: tools ---------------------------------------------------------------------------------

TOOL_WORDS = ("tool", "function", "call", "contract", "constraint", "schema")
PLAN, OTHER = function("plan", PLACE), function("other", obj({"why": TEXT}))
BOTH = {"plan": PLACE, "other": obj({"why": TEXT})}
NAMED = {"type": "function", "function": {"name": "plan"}}


def of_tools(name: str, fields: dict, judge: Judge, lie: str | Calls, is_stream: bool = False) -> Demand:
    return Demand(f"tools: {name}", "chat", fields, judge, lie, TOOL_WORDS, is_stream=is_stream)


def custom(syntax: str, definition: str) -> dict[str, Any]:
    grammar = {"type": "grammar", "grammar": {"syntax": syntax, "definition": definition}}
    return {"type": "custom", "custom": {"name": "number", "description": "A number.", "format": grammar}}


def chat_tools() -> list[Demand]:
    required = {"tools": [PLAN], "tool_choice": "required"}
    several = {"tools": [PLAN, OTHER], "tool_choice": "required"}
    one = {"parallel_tool_calls": False}
    bad: Calls = [("plan", BAD_PLACE)]
    two: Calls = [("plan", GOOD_PLACE), ("plan", GOOD_PLACE)]
    allowed = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [NAMED]}}
    order_format = {"response_format": {"type": "json_schema", "json_schema": {"name": "order", "schema": ORDER}}}
    strict = {"tools": [function("plan", PLACE, strict=True)], "tool_choice": "auto"}
    empty = {"tools": [function("stop", obj({}))], "tool_choice": "required"}
    custom_choice = {"tool_choice": "required"}
    legacy = {"functions": [PLAN["function"]], "function_call": {"name": "plan"}}
    only_plan = {"plan": PLACE}
    return [
        of_tools("required", required, called(only_plan), PROSE),
        of_tools("required, arguments", required, called(only_plan), bad),
        of_tools("required, streamed", {**required}, called(only_plan), PROSE, is_stream=True),
        of_tools("required of several", several, called(BOTH), PROSE),
        of_tools("named", {"tools": [PLAN, OTHER], "tool_choice": NAMED}, called(only_plan), [("other", {"why": "x"})]),
        of_tools("named, streamed", {"tools": [PLAN, OTHER], "tool_choice": NAMED}, called(only_plan), bad, True),
        of_tools("one call at most", required | one, called(only_plan, most=1), two),
        of_tools("none", {"tools": [PLAN], "tool_choice": "none"}, silent, [("plan", GOOD_PLACE)]),
        of_tools("allowed_tools", {"tools": [PLAN, OTHER], "tool_choice": allowed}, called(only_plan), [("other", {"why": "x"})]),
        of_tools("auto, strict arguments", strict, called(only_plan, least=0), bad),
        of_tools("auto, a tool that is not there", {"tools": [PLAN]}, called(only_plan, least=0), [("delete", {})]),
        of_tools("auto, one call at most", {"tools": [PLAN]} | one, called(only_plan, most=1, least=0), two),
        of_tools("auto beside a schema", {"tools": [PLAN]} | order_format, either(called(only_plan), answer(ORDER)), PROSE),
        of_tools("no arguments", empty, called({"stop": obj({})}), [("stop", {"now": True})]),
        of_tools("custom, regex", {"tools": [custom("regex", CODE)]} | custom_choice, called({"number": CODE}), PROSE),
        of_tools("custom, Lark", {"tools": [custom("lark", LARK)]} | custom_choice, called({"number": IN_BRACKETS}), PROSE),
        of_tools("functions, as they were", legacy, called(only_plan), PROSE),
    ]  # fmt: skip


# --- Chat: other servers' words ------------------------------------------------------------------


def foreign() -> list[Demand]:
    def of(name: str, fields: dict[str, Any], judge: Judge, lie: str = PROSE) -> Demand:
        return Demand(f"words: {name}", "chat", fields, judge, lie, (*fields, *FORMAT_WORDS, "regex", "choice"))

    choice, of_choice = ["red", "green"], matches("red|green")
    order = as_json({"id": 7, "status": "lost"})
    return [
        of("structured_outputs choice", {"structured_outputs": {"choice": choice}}, of_choice),
        of("structured_outputs regex", {"structured_outputs": {"regex": CODE}}, matches(CODE)),
        of("structured_outputs grammar", {"structured_outputs": {"grammar": GBNF}}, matches(IN_BRACKETS)),
        of("guided_json", {"guided_json": ORDER}, answer(ORDER), order),
    ]


# --- Other clients -------------------------------------------------------------------------------


def responses() -> list[Demand]:
    plan = {"type": "function", "name": "plan", "description": "The plan.", "parameters": PLACE}
    form = {"text": {"format": {"type": "json_schema", "name": "order", "schema": ORDER, "strict": True}}}
    grammar = {"type": "grammar", "syntax": "lark", "definition": LARK}
    number = {"type": "custom", "name": "number", "description": "A number.", "format": grammar}

    def of(name: str, fields: dict, judge: Judge, lie: str | Calls, is_stream: bool = False) -> Demand:
        words = (*TOOL_WORDS, *FORMAT_WORDS)
        return Demand(f"Responses: {name}", "responses", fields, judge, lie, words, is_stream=is_stream)

    bad: Calls = [("plan", BAD_PLACE)]
    required = {"tools": [plan], "tool_choice": "required"}
    return [
        of("schema", form, answer(ORDER), as_json({"id": 7, "status": "lost"})),
        of("required", required, called({"plan": PLACE}), PROSE),
        of("required, streamed", required, called({"plan": PLACE}), bad, True),
        of("custom, Lark", {"tools": [number], "tool_choice": "required"}, called({"number": IN_BRACKETS}), PROSE),
    ]


def anthropic() -> list[Demand]:
    plan = {"name": "plan", "description": "The plan.", "input_schema": PLACE}
    words = (*TOOL_WORDS, *FORMAT_WORDS, "output_config")

    def of(name: str, fields: dict, judge: Judge, lie: str | Calls, is_stream: bool = False) -> Demand:
        return Demand(f"Messages: {name}", "messages", fields, judge, lie, words, is_stream=is_stream)

    bad: Calls = [("plan", BAD_PLACE)]
    two: Calls = [("plan", GOOD_PLACE), ("plan", GOOD_PLACE)]
    tools, plans = {"tools": [plan]}, {"plan": PLACE}
    once = {"tool_choice": {"type": "any", "disable_parallel_tool_use": True}}
    form = {"output_config": {"format": {"type": "json_schema", "schema": ORDER}}}
    return [
        of("any", tools | {"tool_choice": {"type": "any"}}, called(plans), PROSE),
        of("a tool by name, streamed", tools | {"tool_choice": {"type": "tool", "name": "plan"}}, called(plans), bad, True),
        of("one call at most", tools | once, called(plans, most=1), two),
        of("schema", form, answer(ORDER), as_json({"id": 7, "status": "lost"})),
    ]  # fmt: skip


def others() -> list[Demand]:
    small = {"type": "object", "properties": {"id": WHOLE, "status": ORDER["properties"]["status"]}}
    wanted = small | {"required": ["id", "status"]}
    config = {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": wanted}}
    lie = as_json({"id": 7, "status": "lost"})
    words = (*TOOL_WORDS, *FORMAT_WORDS, "generationConfig", "responseSchema")
    return [
        Demand("Gemini: schema", "gemini", config, answer(wanted), lie, words),
        Demand("Ollama: format", "ollama", {"format": wanted}, answer(wanted), lie, words),
    ]


def every() -> list[Demand]:
    return [*chat_answers(), *chat_tools(), *foreign(), *responses(), *anthropic(), *others()]
