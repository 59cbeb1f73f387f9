"""Tools and what people say who need them: drawn from the texts of `tooltexts`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from . import acted
from .acted import Call, definition
from .errands import Errands
from .lexicon import Dice, composed
from .orders import Orders
from .tooltexts import MORE_VERBS, NOUNS, TRAIN_TEXT, VERBS
from .values import Values, schema_of


@dataclass
class Parameter:
    """A parameter of a tool."""

    key: str
    kind: str
    optional: bool
    description: str | None


@dataclass
class Tool:
    """A tool and requests for it."""

    names: list[str]
    description: str
    parameters: list[Parameter]
    requests: list[str]
    held_requests: list[str]


def parse(text: str) -> list[Tool]:
    """The tools of a text in the notation above."""
    return [_tool(*block.splitlines()) for block in text.strip().split("\n\n")]


def _tool(head: str, parameters: str, requests: str) -> Tool:
    names, _, description = head.partition(" : ")
    known, held = [], []
    for part in f" {requests}".split(" -")[1:]:
        target, part = (held, part[1:]) if part.startswith("!") else (known, part)
        target.append(part.strip())
    made = [_parameter(part.strip()) for part in parameters.split(";")]
    return Tool(names.split(","), description, made, known, held or known)


def _parameter(text: str) -> Parameter:
    text, _, description = text.partition("=")
    key, kind = text.split(" ", 1)
    return Parameter(key.rstrip("?"), kind, key.endswith("?"), description or None)


TRAIN = parse(TRAIN_TEXT)
# How many of the lists of tools in training are of everyday ones.
ERRANDS = 0.4
# How many are of such as are asked for in other words than their descriptions'; the others are that many fewer.
ORDERS = 0.31


class Tools:
    """Draws tools and calls."""

    def __init__(
        self, rng: Dice, held_words: bool = False, held_patterns: bool = False, tools: list[Tool] | None = None
    ) -> None:
        self.rng = rng
        self.values = Values(rng, held_words)
        self.held_patterns = held_patterns
        self.tools = tools or TRAIN
        self.errands = Errands(rng, self.values)
        self.orders = Orders(rng, self.values)

    def calls(self, count: int) -> list[Call]:
        """Calls of different tools; nothing but the first one's request is used."""
        if self.rng.varied and self.rng.random() < ORDERS:
            return [Call(*call, self.result()) for call in self.orders.calls(count)]
        if self.rng.varied and self.rng.random() < ERRANDS:
            return [Call(*call, self.result()) for call in self.errands.calls(count)]
        if self.rng.varied and self.rng.random() < 0.6:
            return [self.any_call() for _ in range(count)]
        shape = self.rng.random()
        if shape < 0.3:
            return [self.invented() for _ in range(count)]
        if shape < 0.5:
            return self.composed(count)
        tools = self.rng.sample(self.tools, min(count, len(self.tools)))
        calls = [self.call(tool) for tool in tools]
        if self.rng.random() < 0.2:
            calls[-1] = self.composed(1)[0] if len(calls) > 1 else calls[-1]
        return calls

    def any_call(self) -> Call:
        """A call of any sort of tool."""
        shape = self.rng.random()
        if shape < 0.35:
            return acted.call(self.rng, self.values, self.result())
        if shape < 0.45:
            return Call(*self.errands.calls(1)[0], self.result())
        if shape < 0.6:
            return self.invented()
        return self.composed(1)[0] if shape < 0.7 else self.call(self.rng.choice(self.tools))

    def call(self, tool: Tool) -> Call:
        """A request for a tool."""
        rng = self.rng
        request = rng.choice(tool.held_requests if self.held_patterns else tool.requests)
        properties, required, arguments = {}, [], {}
        keep = rng.random() < 0.75
        for item in tool.parameters:
            said = "{" + item.key + "}" in request
            if not (said or not item.optional or keep):
                continue
            schema, value, text = self.filled(item)
            properties[item.key] = schema
            if item.description and rng.random() < 0.7:
                schema["description"] = item.description
            if not item.optional:
                required.append(item.key)
            if said:
                request = request.replace("{" + item.key + "}", text)
                arguments[item.key] = value
        schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        made = definition(rng.choice(tool.names), tool.description, schema)
        return Call(request, made, arguments, self.result())

    def filled(self, item: Parameter) -> tuple[dict[str, Any], Any, str]:
        """A schema, a value and its text."""
        if item.kind == "bool":
            return {"type": "boolean"}, self.rng.random() < 0.5, ""
        if item.kind.startswith("enum "):
            options = item.kind[5:].split("/")
            value = self.rng.choice(options)
            return {"type": "string", "enum": options}, value, value.replace("_", " ")
        if item.kind == "filename":
            stem = self.rng.choice(self.values.words.lists["noun"])
            name = f"{self.rng.choice(['', '', '/tmp/', 'data/', 'src/'])}{stem}.{self.rng.choice(['txt', 'csv', 'md', 'json', 'log'])}"
            return {"type": "string"}, name, name
        value = self.values.draw(item.kind)
        return schema_of(item.kind), value.json, value.text

    def composed(self, count: int) -> list[Call]:
        """Tools that do something with some thing: told apart by their names."""
        rng = self.rng
        nouns, calls, seen = NOUNS, [], set()
        fixed = rng.random()
        verb0, noun0 = rng.choice(list(VERBS)), rng.choice(nouns)
        while len(calls) < count:
            verb = verb0 if fixed < 0.3 else rng.choice(list(VERBS))
            noun = noun0 if 0.3 <= fixed < 0.6 else rng.choice(nouns)
            if (verb, noun) in seen:
                if fixed >= 0.6 or len(seen) >= len(VERBS):
                    fixed = 1.0
                continue
            seen.add((verb, noun))
            calls.append(self.acted(verb, noun))
        return calls

    def invented(self) -> Call:
        """A tool that nobody knows: its words are those of the request."""
        rng, words = self.rng, self.values.words
        verb = composed(rng).lower() if rng.random() < 0.5 else rng.choice(MORE_VERBS)
        noun = (
            composed(rng).lower()
            if rng.random() < 0.5
            else words.one(rng.choice(["product", "noun", "animal", "food"])).lower()
        )
        places = words.some("attribute", 1, 3)
        properties, arguments, said = {}, {}, []
        for place in places:
            kind = rng.choice(
                ["int 1 999", "made", "phrase", "person", "code", "city", "num 0 50 1", "date", "color", "list first"]
            )
            value = self.values.draw(kind)
            key = place.replace(" ", "_")
            properties[key] = schema_of(kind)
            if rng.random() < 0.2:
                properties[key]["description"] = f"the {place}"
            arguments[key] = value.json
            said.append(
                rng.choice(
                    [
                        f"{place} {value.text}",
                        f"{place} {value.text}",
                        f"the {place} {value.text}",
                        f"{value.text} as {place}",
                    ]
                )
            )
        start = rng.choice(
            [
                "{v} the {n}",
                "Please {v} the {n}",
                "I want to {v} a {n}",
                "Can you {v} my {n}?",
                "{v} {n}",
                "Time to {v} the {n}",
                "The {n} is waiting, {v} it",
            ]
        )
        if rng.random() < 0.2:
            start = rng.choice(["I need something for the {n}", "Do it with the {n}", "It is about the {n}"])
        start = start.replace("{v}", verb).replace("{n}", noun)
        request = start[0].upper() + start[1:] + rng.choice([" with ", ": ", ", ", " - "]) + ", ".join(said)
        name = rng.choice(
            [f"{verb}_{noun}", f"{verb}_{noun}", noun, f"{noun}_{verb}", f"run_{composed(rng).lower()}"]
        ).replace(" ", "_")
        described = rng.choice(
            [
                f"{verb.capitalize()} a {noun}.",
                f"{verb.capitalize()}s the {noun}",
                f"To {verb} a {noun}",
                f"{verb} a {noun} of the user",
            ]
        )
        schema = {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
        return Call(request, definition(name, described, schema), arguments, self.result())

    def acted(self, verb: str, noun: str) -> Call:
        """One of those tools."""
        rng = self.rng
        words = noun.replace("_", " ")
        parameter = Parameter(
            rng.choice(["id", f"{noun}_id", "name", "number"]), rng.choice(["code", "int 1 9999", "made"]), False, None
        )
        if verb in ("create", "list"):
            parameter = Parameter(
                rng.choice(["name", "title", "owner", "category"]),
                rng.choice(["phrase", "person", "made"]),
                False,
                None,
            )
        schema, value, text = self.filled(parameter)
        link = {
            "create": rng.choice([" called ", " with the {} ", " for the {} "]),
            "list": rng.choice([" with the {} ", " where the {} is "]),
        }.get(verb, rng.choice([" ", " ", " with the {} "]))
        thing = words + link.replace("{}", parameter.key.replace("_", " ")) + text
        start = rng.choice(VERBS[verb]).format(
            a=f"a {thing}",
            the=f"the {thing}" if rng.random() < 0.6 else thing,
            all="all " + words + "s" + thing[len(words) :],
        )
        described = rng.choice(
            [
                f"{verb.capitalize()} a {words}.",
                f"{verb.capitalize()}s {words}s",
                f"Use this to {verb} a {words}",
                f"{verb} {words}",
            ]
        )
        name = rng.choice(
            [
                f"{verb}_{noun}",
                f"{verb}_{noun}",
                f"{noun}_{verb}",
                verb + "".join(w.capitalize() for w in noun.split("_")),
            ]
        )
        made = {
            "type": "object",
            "properties": {parameter.key: schema},
            "required": [parameter.key],
            "additionalProperties": False,
        }
        return Call(start, definition(name, described, made), {parameter.key: value}, self.result())

    def result(self) -> str:
        """What a tool gave back."""
        rng, draw = self.rng, self.values.draw
        shape = rng.random()
        if shape < 0.25:
            return rng.choice(["ok", "done", "success", "sent", "saved", "created", "not found", "failed"])
        if shape < 0.5:
            return rng.choice(
                [
                    draw("int 0 9999").text,
                    draw("code").text,
                    draw("phrase").text,
                    f"{draw('int 0 35').text} degrees and {rng.choice(['sunny', 'cloudy', 'rainy', 'windy'])}",
                    draw("city").text,
                ]
            )

        keys = rng.sample(
            [
                "status",
                "id",
                "temperature",
                "price",
                "city",
                "name",
                "count",
                "date",
                "total",
                "owner",
                "score",
                "place",
                "result",
                "level",
            ],
            rng.randint(1, 3),
        )
        kinds = {
            "id": "code",
            "temperature": "int 0 35",
            "price": "num 1 500 2",
            "city": "city",
            "name": "person",
            "count": "int 0 900",
            "date": "date",
            "total": "int 1 9000",
            "owner": "person",
            "score": "int 0 100",
            "place": "city",
            "level": "int 0 9",
        }
        made = {key: draw(kinds.get(key, "phrase")).json for key in keys}
        return json.dumps(made, ensure_ascii=False, separators=rng.choice([(", ", ": "), (",", ":")]))


def told(result: str) -> str:
    """The sentence that tells a tool's result."""

    try:
        found = json.loads(result)
    except ValueError:
        found = result
    if isinstance(found, dict):
        return "Here is the result: " + ", ".join(f"{key} {value}" for key, value in found.items()) + "."
    return f"The result is: {found}."
