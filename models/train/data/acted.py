"""Tools that nobody wrote: a verb, a thing, and arguments that a request puts into its sentence.

Their requests do not name the parameters. What is to go where shows in the kind of the value, in a
unit, or in the preposition. Training alone uses them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .lexicon import TRAIN, Dice, composed
from .things import entries
from .values import Value, Values, schema_of
from .variety import STEMS, UNITS, word

VERBS = entries("""fetch move sell fold wash paint load scan boil guard lift sort cook clean wrap weigh drive
    inspect measure hide press stack switch grill slice steer tow dim flash ring rinse drain refill unlock trim
    vote bless invite greet hug praise""")


@dataclass
class Call:
    """A request, the tool that it needs, and the arguments."""

    request: str
    definition: dict[str, Any]
    arguments: dict[str, Any]
    result: str


def definition(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    """A tool as Chat Completions has it."""
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


@dataclass
class Part:
    """A parameter, its value, and the phrase that says it."""

    key: str
    schema: dict[str, Any]
    value: Value
    phrase: str
    description: str


def part(rng: Dice, values: Values, sort: str) -> Part:
    """A parameter of a sort."""
    key, kind, said, about = "", "made", ["{v}"], ""
    if sort == "count":
        unit = rng.choice(UNITS) if rng.random() < 0.7 else word(rng).split()[-1] + "s"
        kind, said = rng.choice(["int 1 60", "int 1 900"]), [f"for {{v}} {unit}", f"with {{v}} {unit}", f"{{v}} {unit}"]
        key, about = rng.choice([unit, unit, f"{unit.removesuffix('s')}_count", "amount"]), f"number of {unit}"
    elif sort == "level":
        kind, said = "int 0 100", ["to {v}", "to {v} percent", "at {v}", "up to {v}%"]
        key, about = rng.choice(["level", "percent", "value", "target", "degree", word(rng).split()[-1]]), "the level"
    elif sort == "day":
        kind, said = "date", ["on {v}", "until {v}", "by {v}", "for {v}", "from {v} on"]
        key, about = rng.choice(["date", "day", "when", "until", "deadline", "on", "due", "from_date"]), "the day"
    elif sort == "hour":
        kind, said = "time", ["at {v}", "by {v}", "around {v}"]
        key, about = rng.choice(["time", "at", "hour", "clock", "start"]), "the time"
    elif sort == "who":
        kind, said = (
            rng.choice(["person", "fullname", "first"]),
            ["for {v}", "to {v}", "with {v}", "from {v}", "of {v}"],
        )
        key = rng.choice(
            ["person", "name", "reader", "user", "who", "recipient", "owner", "friend", "member", "patient"]
        )
        about = f"name of the {key}"
    elif sort == "where":
        kind, said = rng.choice(["city", "street", "company", "country"]), ["in {v}", "at {v}", "near {v}", "to {v}"]
        key, about = rng.choice(["place", "city", "where", "location", "station", "site", "area"]), "the place"
    elif sort == "money":
        kind, said = "money", ["for {v}", "worth {v}", "at {v}", "up to {v}"]
        key, about = rng.choice(["amount", "price", "budget", "sum", "fee", "limit"]), "how much"
    else:
        return named(rng, values)
    value = values.draw(kind)
    return Part(key, schema_of(kind), value, rng.choice(said).replace("{v}", value.text), about)


def named(rng: Dice, values: Values) -> Part:
    """A parameter whose name stands in the sentence."""
    kind = rng.choice(["made", "made", "code", "title", "phrase", "color", "product", "company", "enum"])
    label = word(rng)
    if kind == "enum":
        options = list(dict.fromkeys(values.words.some(rng.choice(["noun", "color", "adj"]), 2, 4)))
        choice = rng.choice(options)
        schema: dict[str, Any] = {"type": "string", "enum": options}
        return Part(
            label, schema, Value(choice, choice), rng.choice([f"the {choice}", f"{choice}", f"to {choice}"]), label
        )
    value = values.draw(kind)
    phrase = rng.choice([f"the {label} {value.text}", f"{label} {value.text}", f"the {value.text} {label}", value.text])
    return Part(label, schema_of(kind), value, phrase, f"the {label}")


FRAMES = [
    "{V} {o}{p}",
    "{V} {o}{p}",
    "{V} {o}{p}",
    "Please {v} {o}{p}",
    "I want to {v} {o}{p}",
    "I have to {v} {o}{p}",
    "Can you {v} {o}{p}?",
    "Could somebody {v} {o}{p}?",
    "I would like you to {v} {o}{p}",
    "We must {v} {o}{p}",
    "Let us {v} {o}{p}",
    "{N}: {v}{p}",
    "The {n} needs somebody to {v} it{p}",
    "It is time to {v} {o}{p}",
    "I need a {n}{p}",
    "Something with the {n}{p}",
    "What about the {n}{p}?",
]


def call(rng: Dice, values: Values, result: str) -> Call:
    """A call of such a tool."""
    verb = rng.choice(VERBS + STEMS) if rng.random() < 0.6 else composed(rng).lower()
    noun = word(rng) if rng.random() < 0.8 else rng.choice(UNITS).removesuffix("s")
    sorts = rng.sample(
        ["count", "level", "day", "hour", "who", "where", "money", "named"], rng.choice([1, 1, 2, 2, 2, 3])
    )
    if {"count", "level"} <= set(sorts):
        sorts.remove("level")
    parts = list({one.key: one for one in (part(rng, values, sort) for sort in sorts)}.values())
    object_ = rng.choice([f"the {noun}", f"a {noun}", f"my {noun}", noun, f"the {rng.choice(TRAIN['adj'])} {noun}"])
    if parts[0].key and sorts[0] in ("named", "money", "who") and rng.random() < 0.4:
        # The first argument is what is acted upon.
        object_ = parts[0].value.text
        noun = parts[0].key.replace("_", " ") if rng.random() < 0.5 else noun
        said = parts[1:]
    else:
        said = parts
    phrases = "".join(f" {one.phrase}" for one in rng.sample(said, len(said)))
    frame = rng.choice(FRAMES if said is parts else FRAMES[:11])
    request = frame.format(v=verb, V=verb.capitalize(), n=noun, N=noun.capitalize(), o=object_, p=phrases)
    ending = verb.removesuffix("e") + "ing"
    name = rng.choice(
        [f"{verb}_{noun}"] * 4
        + [
            f"{noun}_{verb}",
            f"start_{ending}",
            f"{noun}_{ending}",
            f"{noun}_service",
            f"do_{verb}",
            verb,
            f"{verb}_{noun}_now",
        ]
    ).replace(" ", "_")
    described = rng.choice(
        [
            f"{verb.capitalize()} a {noun}.",
            f"{verb.capitalize()} the {noun} of the user.",
            f"Use this to {verb} a {noun}.",
            f"Make somebody {verb} a {noun}.",
            f"{ending.capitalize()} of a {noun}.",
            f"{verb.capitalize()} something: a {noun}, for instance.",
        ]
    )
    properties = {}
    for one in rng.sample(parts, len(parts)):
        properties[one.key] = dict(one.schema)
        if rng.random() < 0.25:
            properties[one.key]["description"] = one.description
    arguments = {key: next(one.value.json for one in parts if one.key == key) for key in properties}
    required = [key for key in properties if rng.random() < 0.9]
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return Call(request, definition(name, described, schema), arguments, result)
