"""Properties of a schema, with their values."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

MISSING = object()


@dataclass
class Slot:
    """One property of a schema, and its value in the text."""

    key: str
    schema: dict[str, Any]
    value: Any
    required: bool = True
    description: str | None = None


@dataclass
class Record:
    """A text and what is to be read out of it."""

    noun: str
    text: str
    slots: list[Slot] = field(default_factory=list)

    def schema(self) -> dict[str, Any]:
        """The object's JSON Schema."""
        return object_schema(self.slots)

    def value(self) -> dict[str, Any]:
        """The object."""
        return object_value(self.slots)


def object_schema(slots: list[Slot]) -> dict[str, Any]:
    """An object's JSON Schema."""
    properties = {}
    for slot in slots:
        properties[slot.key] = dict(slot.schema)
        if slot.description:
            properties[slot.key]["description"] = slot.description
    required = [slot.key for slot in slots if slot.required]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def object_value(slots: list[Slot]) -> dict[str, Any]:
    """An object; what is optional and not said is left out."""
    return {slot.key: slot.value for slot in slots if slot.value is not MISSING}


def nullable(schema: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """A schema that takes null, too."""
    if set(schema) == {"type"} and isinstance(schema["type"], str) and rng.random() < 0.5:
        return {"type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def words_of(key: str) -> str:
    """`dueDate` and `due_date` are `due date`."""
    spaced = "".join(
        f" {c.lower()}" if c.isupper() and i and not key[i - 1].isupper() else c for i, c in enumerate(key)
    )
    return spaced.replace("_", " ").replace("-", " ").lower()
