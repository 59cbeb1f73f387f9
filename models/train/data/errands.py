"""Everyday tools and requests as people write them: drawn from the texts of `errandtexts`. For training alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from .acted import definition
from .errandtexts import TEXT
from .lexicon import Dice
from .values import Value, Values, schema_of


@dataclass
class Parameter:
    """A parameter of a tool."""

    keys: list[str]
    kind: str
    optional: bool
    description: str | None


@dataclass
class Errand:
    """A tool and requests for it."""

    group: str
    names: list[str]
    description: str
    parameters: list[Parameter]
    requests: list[str]


# A request, the tool's definition, and the arguments.
Made = tuple[str, dict[str, Any], dict[str, Any]]
PLACE = re.compile(r"\{(\w+)\}")
SET = re.compile(r" ?\[(\w+)=(\w+)\]")


def parse(text: str) -> list[Errand]:
    """See `errandtexts` for the notation."""
    made: list[Errand] = []
    group = head = ""
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("## "):
            group = line[3:]
        elif line.startswith("> "):
            made[-1].requests += line[2:].split(" | ")
        elif not head:
            head = line
        else:
            names, _, description = head.partition(" : ")
            made.append(Errand(group, names.split(","), description, [parameter(one) for one in line.split("; ")], []))
            head = ""
    return made


def parameter(text: str) -> Parameter:
    """`degrees,temperature? int 15 28=the warmth`."""
    text, _, description = text.partition("=")
    keys, kind = text.split(" ", 1)
    return Parameter(keys.rstrip("?").split(","), kind, keys.endswith("?"), description or None)


TOOLS = parse(TEXT)
GROUPS = list(dict.fromkeys(tool.group for tool in TOOLS))
# Tools that may answer a question of fact.
ANSWERING = {name for tool in TOOLS if tool.group in ("knowledge", "time", "food", "travel", "money", "shop") for name in tool.names}

BEFORE = ["hey, ", "hi, ", "ok, ", "Hello, ", "um, ", "please, ", "oh, ", "so, ", "Hi! ", "quick one: ", "sorry to bother you, ", "one more thing: ", "right, ", "Good morning, ", "well, "]
AFTER = [" please", " thanks", ", please", ", thanks", " thx", ", would you?", ", ok?", " asap", ", if you can", ", will you?", " - thank you!", ". Cheers", ", if that's possible"]


class Errands:
    """Draws requests for everyday tools."""

    def __init__(self, rng: Dice, values: Values) -> None:
        self.rng, self.values = rng, values

    def calls(self, count: int) -> list[Made]:
        """Calls of different tools, mostly of few groups: what is asked for is told apart from what is like it."""
        rng = self.rng
        groups = GROUPS if rng.random() < 0.3 else rng.sample(GROUPS, rng.choice([1, 1, 2, 3]))
        pool = [tool for tool in TOOLS if tool.group in groups]
        return [self.call(tool) for tool in rng.sample(pool, min(count, len(pool)))]

    def unmet(self, count: int) -> tuple[str, list[dict[str, Any]]]:
        """A request, and tools of other groups than the one that it needs."""
        rng = self.rng
        tool = rng.choice(TOOLS)
        others = [one for one in TOOLS if one.group != tool.group]
        return self.call(tool)[0], [self.call(one)[1] for one in rng.sample(others, count)]

    def call(self, tool: Errand) -> Made:
        """A request for a tool."""
        rng = self.rng
        template = rng.choice(tool.requests)
        fixed = dict(SET.findall(template))
        template = SET.sub("", template)
        said = set(PLACE.findall(template))
        properties: dict[str, Any] = {}
        required, arguments, texts = [], {}, {}
        keep, first = rng.random() < 0.7, rng.random() < 0.6
        for item in tool.parameters:
            name = item.keys[0]
            if item.optional and not keep and name not in said and name not in fixed:
                continue
            key = name if first else rng.choice(item.keys)
            schema, value = self.filled(item.kind)
            properties[key] = schema
            if rng.random() < 0.15:
                schema["description"] = item.description or rng.choice([f"the {name.replace('_', ' ')}", name.replace("_", " ")])
            if not item.optional:
                required.append(key)
            if name in fixed:
                arguments[key] = fixed[name]
            elif name in said:
                texts[name], arguments[key] = value.text, value.json
        for name in said - set(texts):
            texts[name] = self.values.draw(name).text
        if len({repr(value) for value in arguments.values()}) < len(arguments):
            return self.call(tool)
        properties = {key: properties[key] for key in rng.sample(list(properties), len(properties))} if rng.random() < 0.3 else properties
        arguments = {key: arguments[key] for key in properties if key in arguments}
        schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        return self.worded(template, texts), definition(rng.choice(tool.names), tool.description, schema), arguments

    def worded(self, template: str, texts: dict[str, str]) -> str:
        """A request with its values, and perhaps words around it."""
        rng = self.rng
        shape = rng.random()
        if shape < 0.12:
            template = rng.choice(BEFORE) + template
        elif shape < 0.24 and template[-1] not in "?!}":
            template += rng.choice(AFTER)
        if rng.random() < 0.65:
            template = template[0].upper() + template[1:]
        elif rng.random() < 0.5:
            template = "".join(part if part.startswith("{") else part.lower() for part in re.split(r"(\{\w+\})", template))
        if template[-1] not in "?!." and rng.random() < 0.4:
            template += rng.choice([".", ".", ".", "!"])
        return PLACE.sub(lambda found: texts[found[1]], template)

    def filled(self, kind: str) -> tuple[dict[str, Any], Value]:
        """A schema and a value."""
        rng = self.rng
        name, _, rest = kind.partition(" ")
        if name == "enum":
            options = rest.split("/")
            word = rng.choice(options)
            return {"type": "string", "enum": options}, Value(word, word.replace("_", " "))
        if name == "sum":
            numbers = [str(rng.randint(1, rng.choice([9, 99, 999]))) for _ in range(rng.choice([2, 2, 3]))]
            text = rng.choice([" + ", " * ", "-", "+", " / ", "*", " - "]).join(numbers)
            return {"type": "string"}, Value(text, text)
        if name == "bool":
            return {"type": "boolean"}, Value(rng.random() < 0.5, "")
        if name == "filename":
            stem = rng.choice([*self.values.words.lists["noun"], *self.values.words.lists["attribute"]]).replace(" ", rng.choice(["_", "-"]))
            text = f"{rng.choice(['', '', '', '/tmp/', 'data/', 'docs/', '~/'])}{stem}{rng.choice(['', '', '2', '_old', '_v2', '-2024'])}.{rng.choice(['txt', 'csv', 'md', 'json', 'log', 'pdf', 'docx', 'png', 'xlsx', 'py'])}"
            return {"type": "string"}, Value(text, text)
        schema = schema_of(kind)
        if schema.get("format") and rng.random() < 0.3:
            schema.pop("format")
        return schema, self.values.draw("clock" if name == "time" and rng.random() < 0.3 else kind)
