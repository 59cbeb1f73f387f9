"""Tools that nobody wrote, asked for in other words than their descriptions': drawn from the texts of `ordertexts`.

What may be done and what it is done to go together in thousands of ways; tools that are shown together share the one or
the other. Training alone uses them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from . import ordertexts
from .acted import definition
from .errands import AFTER, BEFORE, Made
from .lexicon import Dice
from .values import Value, Values, schema_of


@dataclass
class Part:
    """A parameter of an action: its names, its kind, and phrases that say it where the request does not."""

    keys: list[str]
    kind: str
    phrases: list[str]


@dataclass
class Action:
    """What may be done: verbs for the tool's name, its description, requests, parameters, and modes."""

    verbs: list[str]
    description: str
    requests: list[str]
    parts: list[Part]
    modes: list[str]


@dataclass
class Thing:
    """What it is done to: its names, the names of the field that tells it from others, and that field's kind."""

    names: list[str]
    keys: list[str]
    kind: str


@dataclass
class Mode:
    """How it is to be done: a parameter that may be left out, and what people say for each of its values."""

    keys: list[str]
    about: str
    said: dict[str, list[str]]


def part(text: str) -> Part:
    """`person,user fullname=for {v}|to {v}`."""
    head, _, phrases = text.partition("=")
    keys, kind = head.split(" ", 1)
    return Part(keys.split(","), kind, phrases.split("|") if phrases else [])


def actions(text: str) -> list[Action]:
    """See `ordertexts` for the notation."""
    made = []
    for line in filter(None, map(str.strip, text.splitlines())):
        verbs, about, requests, parts, modes = line.split(" : ")
        made.append(
            Action(
                verbs.split(","),
                about,
                requests.split("; "),
                [part(one) for one in parts.split("; ") if one != "-"],
                modes.replace("-", "").split(),
            )
        )
    return made


def things(text: str) -> list[Thing]:
    """See `ordertexts` for the notation."""
    parts = [one.split(" : ") for line in text.strip().splitlines() for one in line.split("; ")]
    return [Thing(names.split(","), keys.split(","), kind) for names, keys, kind in parts]


def modes(text: str) -> list[Mode]:
    """See `ordertexts` for the notation."""
    made = []
    for line in text.strip().splitlines():
        keys, about, said = line.split(" : ")
        pairs = [one.split("=") for one in said.split("; ")]
        made.append(Mode(keys.split(","), about, {value: phrases.split("|") for value, phrases in pairs}))
    return made


ACTIONS = actions(ordertexts.ACTIONS)
THINGS = things(ordertexts.THINGS)
MODES = {mode.keys[0]: mode for mode in modes(ordertexts.MODES)}
STATES = [line.split(" : ") for line in ordertexts.STATES.strip().splitlines()]
ROOMS = ["kitchen", "bedroom", "bathroom", "study", "hall", "attic", "nursery", "cellar"]
PLACE = re.compile(r"\{(\w+)\}")


def article(noun: str) -> str:
    """`an invoice`."""
    return f"{'an' if noun[0] in 'aeio' else 'a'} {noun}"


class Orders:
    """Draws requests for such tools."""

    def __init__(self, rng: Dice, values: Values) -> None:
        self.rng, self.values = rng, values

    def calls(self, count: int) -> list[Made]:
        """Calls of different tools: one thing and several actions, several things and one action, or any."""
        rng, shape = self.rng, self.rng.random()
        if shape < 0.15:
            return [self.switched(one) for one in rng.sample(STATES, count)]
        acts, objects = rng.sample(ACTIONS, count), rng.sample(THINGS, count)
        if shape < 0.5:
            objects = objects[:1] * count
        elif shape < 0.7:
            acts = acts[:1] * count
        made = [self.call(action, thing) for action, thing in zip(acts, objects)]
        if shape > 0.9 and count > 1:
            made[-1] = self.switched(rng.choice(STATES))
        return made

    def switched(self, state: list[str]) -> Made:
        """A device that is to be on or off, which the request may only hint at."""
        rng = self.rng
        names, on, off = state
        name = rng.choice(names.split(","))
        words, is_on = name.replace("_", " "), rng.random() < 0.5
        hint = rng.choice((on if is_on else off).split("; "))
        arguments: dict[str, Any] = {}
        properties: dict[str, Any] = {}
        switch = "on" if is_on else "off"
        properties[key := rng.choice(["state", "power", "mode", "switch"])] = {"type": "string", "enum": ["on", "off"]}
        arguments[key] = switch
        if rng.random() < 0.4:
            properties = {rng.choice(["on", "enabled", "is_on", "active"]): {"type": "boolean"}}
            arguments = dict.fromkeys(properties, is_on)
        shape = rng.random()
        if shape < 0.25:
            said = rng.choice(
                [
                    f"{words} {switch}",
                    f"{switch} with the {words}",
                    f"switch the {words} {switch}",
                    f"I want the {words} {switch}",
                ]
            )
        elif shape < 0.5:
            said = f"{hint}, {words} {switch}"
        else:
            said = hint
        if rng.random() < 0.4:
            properties["room"] = {"type": "string"}
            if shape < 0.6 or rng.random() < 0.5:
                arguments["room"] = rng.choice(ROOMS)
                said = rng.choice(
                    [
                        f"in the {arguments['room']}: {said}",
                        f"{said} ({arguments['room']})",
                        f"it's about the {arguments['room']}, {said}",
                    ]
                )
        required = [one for one in properties if one != "room"]
        schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        about = rng.choice([f"Switch the {words} on or off.", f"Turn the {words} on or off.", f"Control the {words}."])
        return (
            self.worded(said),
            definition(rng.choice([name, f"set_{name}", f"switch_{name}", f"{name}_power"]), about, schema),
            arguments,
        )

    def call(self, action: Action, thing: Thing) -> Made:
        """A request for an action with a thing."""
        rng = self.rng
        request = rng.choice(action.requests)
        noun, called = thing.names[0], rng.choice(thing.names)
        properties: dict[str, Any] = {}
        arguments: dict[str, Any] = {}
        required: list[str] = []
        if "{o}" in request:
            value, key = self.values.draw(thing.kind), rng.choice(thing.keys)
            properties[key], arguments[key] = schema_of(thing.kind), value.json
            required.append(key)
            request = request.replace(
                "{o}",
                rng.choice(
                    [
                        f"the {called} {value.text}",
                        f"the {called} {value.text}",
                        f"our {called} {value.text}",
                        f"{called} {value.text}",
                    ]
                ),
            )
        is_value_first = request[0] == "{" and request[:3] not in ("{o}", "{n}", "{p}")
        request = request.replace("a {n}", article(called)).replace("{n}", called).replace("{p}", f"{called}s")
        for one in action.parts:
            schema, value = self.filled(one.kind)
            key = rng.choice(one.keys)
            if key in properties:
                return self.call(action, thing)
            properties[key] = schema
            if "{" + one.keys[0] + "}" in request:
                required.append(key)
                arguments[key] = value.json
                request = request.replace("{" + one.keys[0] + "}", value.text)
            elif rng.random() < 0.6:
                arguments[key] = value.json
                request = (
                    request.rstrip("?")
                    + rng.choice([", ", " - ", ", "])
                    + rng.choice(one.phrases).replace("{v}", value.text)
                )
        request = self.with_modes(action, request, properties, arguments)
        for key, schema in properties.items():
            if "description" not in schema and rng.random() < 0.12:
                schema["description"] = rng.choice(
                    [key.replace("_", " "), f"the {key.replace('_', ' ')} of the {noun}"]
                )
        if len({repr(value) for value in arguments.values()}) < len(arguments):
            return self.call(action, thing)
        order = rng.sample(list(properties), len(properties)) if rng.random() < 0.3 else list(properties)
        schema = {
            "type": "object",
            "properties": {key: properties[key] for key in order},
            "required": required,
            "additionalProperties": False,
        }
        about = action.description.replace("{a}", article(noun)).replace("{n}", noun).replace("{p}", f"{noun}s")
        name = "_".join(noun.split())
        verb = rng.choice(action.verbs)
        named = rng.choice(
            [
                f"{verb}_{name}",
                f"{verb}_{name}",
                f"{name}_{verb}",
                f"{name}.{verb}" if rng.random() < 0.1 else f"{verb}_{name}",
            ]
        ).replace(".", "_")
        return (
            self.worded(request, is_value_first),
            definition(named, about, schema),
            {key: arguments[key] for key in order if key in arguments},
        )

    def with_modes(self, action: Action, request: str, properties: dict[str, Any], arguments: dict[str, Any]) -> str:
        """Perhaps with a parameter or two that may be left out, and are, where the request does not say them."""
        rng = self.rng
        for name in rng.sample(action.modes, min(len(action.modes), rng.choice([0, 1, 1, 2]))):
            mode = MODES[name]
            key = rng.choice(mode.keys)
            if key in properties or (
                mode.keys[0] in ("urgent", "priority")
                and {"urgent", "is_urgent", "rush", "priority", "importance", "urgency"} & set(properties)
            ):
                continue
            is_bool = "true" in mode.said
            options = list(mode.said)
            properties[key] = {"type": "boolean"} if is_bool else {"type": "string", "enum": options}
            if rng.random() < 0.4:
                properties[key]["description"] = mode.about
            if rng.random() < 0.45:
                option = rng.choice(options)
                arguments[key] = option == "true" if is_bool else option
                glue = rng.choice([". ", ", ", " - "]) if request[-1] not in "?!" else " "
                request += glue + rng.choice(mode.said[option])
        return request

    def filled(self, kind: str) -> tuple[dict[str, Any], Value]:
        """A schema and a value."""
        if kind.startswith("enum "):
            options = kind[5:].split("/")
            word = self.rng.choice(options)
            return {"type": "string", "enum": options}, Value(word, word)
        schema = schema_of(kind)
        if schema.get("format") and self.rng.random() < 0.3:
            schema.pop("format")
        return schema, self.values.draw("clock" if kind == "time" and self.rng.random() < 0.25 else kind)

    def worded(self, request: str, is_value_first: bool = False) -> str:
        """A request with words around it, or none."""
        rng, shape = self.rng, self.rng.random()
        if shape < 0.12:
            request = rng.choice(BEFORE) + request
        elif shape < 0.22 and request[-1] not in "?!.":
            request += rng.choice(AFTER)
        if not is_value_first and rng.random() < 0.65:
            request = request[0].upper() + request[1:]
        if request[-1] not in "?!." and rng.random() < 0.4:
            request += rng.choice([".", ".", ".", "!"])
        return request
