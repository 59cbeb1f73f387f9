"""A JSON Schema in; one value that it allows out.

A scripted server that honours a constraint needs an answer which satisfies it, whatever the
proxy wrote: the client's own schema, a union of calls, a choice turned into a regex, a regex
turned into GBNF. So nothing here knows the proxy's envelopes, save how a union of calls is told
from other unions. The answer is always the same for the same question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from grammars import Unsupported, of_regex

MISSING = object()
DEPTH = 8  # Where a recursive schema stops by itself.
FORMATS = {
    "date": "2026-11-21",
    "date-time": "2026-11-21T08:00:00Z",
    "time": "08:00:00Z",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "email": "ada@example.org",
    "uri": "https://example.org/",
    "ipv4": "192.0.2.1",
}


@dataclass(frozen=True)
class Call:
    """One call that the model wants to make, with its own values where they differ."""

    name: str
    values: Mapping[str, Any] = field(default_factory=dict)


def of_schema(
    schema: Any,
    values: Mapping[str, Any] | None = None,
    calls: tuple[Call, ...] = (),
    known: frozenset[str] | None = None,
) -> Any:
    """A value that satisfies the schema.

    `values` are preferred by property name, at any depth. In a union of calls `calls` says which;
    without any, the alternative that is no call is taken. A call whose tool is not in `known` is
    made without the preferred values: the model has never seen what it is for.
    """
    return _Sampler(schema, dict(values or {}), calls, known).value(schema, MISSING, 0, calls)


class _Sampler:
    def __init__(self, root: Any, values: dict, calls: tuple[Call, ...], known: Any) -> None:
        self.root, self.values, self.known = root, values, known
        if calls and not _has_envelope(root, root):
            # One tool alone: its bare parameters are the schema.
            self.values = self._values_for(calls[0])

    def _values_for(self, call: Call) -> dict:
        if self.known is not None and call.name not in self.known:
            return {}
        return {**self.values, **call.values}

    def value(self, schema: Any, want: Any, depth: int, calls: tuple[Call, ...] = ()) -> Any:
        schema = self._resolve(schema)
        if schema is True or schema == {}:
            return "text" if want is MISSING else want
        if schema is False:
            raise Unsupported("the schema allows nothing")
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return want if want is not MISSING and want in schema["enum"] else schema["enum"][0]
        for union in ("anyOf", "oneOf"):
            if union in schema:
                rest = {key: value for key, value in schema.items() if key != union}
                branch = self._branch(schema[union], want, depth, calls)
                return self.value(_merge(rest, self._resolve(branch)), want, depth, calls)
        return self._typed(schema, want, depth, calls)

    def _typed(self, schema: dict, want: Any, depth: int, calls: tuple[Call, ...]) -> Any:
        kind = _kind(schema, want)
        if kind == "object":
            return self._object(schema, want, depth, calls)
        if kind == "array":
            return self._array(schema, want, depth, calls)
        if kind == "string":
            return _string(schema, want)
        if kind in ("integer", "number"):
            return _number(schema, want, kind)
        if kind == "boolean":
            return want if isinstance(want, bool) else True
        if kind == "null":
            return None
        raise Unsupported(f"Invalid type: {kind}")

    def _object(self, schema: dict, want: Any, depth: int, calls: tuple[Call, ...]) -> dict:
        if calls and is_envelope(schema, self.root):
            inner = self._values_for(calls[0])
            outer, self.values = self.values, inner
            try:
                return self._properties(schema, {"name": calls[0].name}, depth)
            finally:
                self.values = outer
        return self._properties(schema, want, depth)

    def _properties(self, schema: dict, want: Any, depth: int) -> dict:
        given = want if isinstance(want, Mapping) else {}
        properties = schema.get("properties", {})
        required = set(schema.get("required", ()))
        out = {}
        for name, inner in properties.items():
            prefer = given.get(name, MISSING)
            if prefer is MISSING and not isinstance(want, Mapping):
                prefer = self.values.get(name, MISSING)
            if prefer is MISSING and isinstance(want, Mapping) and depth <= 1:
                prefer = self.values.get(name, MISSING)
            if name in required or (prefer is not MISSING and depth < DEPTH):
                out[name] = self.value(inner, prefer, depth + 1)
        for name in required - set(properties):
            out[name] = given.get(name, "text")
        if schema.get("additionalProperties") not in (None, False):
            extra = schema["additionalProperties"]
            for name, prefer in given.items():
                if name not in out:
                    out[name] = self.value(extra, prefer, depth + 1)
        return out

    def _array(self, schema: dict, want: Any, depth: int, calls: tuple[Call, ...]) -> list:
        low, high = schema.get("minItems", 0), schema.get("maxItems", 1 << 16)
        prefix = schema.get("prefixItems", [])
        items = schema.get("items", True)
        if calls and not prefix and _has_envelope(items, self.root):
            chosen = (calls * max(1, low))[: max(low, min(high, len(calls)))]
            return [self.value(items, MISSING, depth + 1, (call,)) for call in chosen]
        given = list(want) if isinstance(want, list | tuple) else []
        out = [
            self.value(inner, given[at] if at < len(given) else MISSING, depth + 1)
            for at, inner in enumerate(prefix)
        ]
        out += [self.value(items, item, depth + 1) for item in given[len(prefix) : high]]
        while len(out) < low:
            out.append(self.value(items, MISSING, depth + 1))
        return out

    def _branch(self, branches: list, want: Any, depth: int, calls: tuple[Call, ...]) -> Any:
        resolved = [self._resolve(branch) for branch in branches]
        envelopes = [_has_envelope(branch, self.root) for branch in resolved]
        if calls:
            for branch, envelope in zip(resolved, envelopes, strict=True):
                if envelope and (
                    not is_envelope(branch, self.root) or calls[0].name in names_of(branch, self.root)
                ):
                    return branch
        elif any(envelopes) and not all(envelopes):
            return resolved[envelopes.index(False)]
        if want is not MISSING:
            for branch in resolved:
                if self._suits(branch, want):
                    return branch
        if depth >= DEPTH:
            for branch in resolved:
                if _kind(branch, MISSING) == "null":
                    return branch
        return resolved[0]

    def _suits(self, schema: Any, want: Any) -> bool:
        schema = self._resolve(schema)
        if not isinstance(schema, dict):
            return schema is True
        if "const" in schema:
            return schema["const"] == want
        if "enum" in schema:
            return want in schema["enum"]
        for union in ("anyOf", "oneOf"):
            if union in schema:
                return any(self._suits(branch, want) for branch in schema[union])
        if isinstance(want, Mapping):
            properties = schema.get("properties", {})
            if _kind(schema, want) != "object" or set(schema.get("required", ())) - set(want):
                return False
            closed = schema.get("additionalProperties") is False
            return all(
                self._suits(properties[name], inner) if name in properties else not closed
                for name, inner in want.items()
            )
        kinds = schema.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        return any(_is(want, kind) for kind in kinds) if kinds else True

    def _resolve(self, schema: Any) -> Any:
        return resolve(schema, self.root)


def resolve(schema: Any, root: Any) -> Any:
    """The schema with its own `$ref` and `allOf` taken in."""
    for _ in range(64):
        if not isinstance(schema, dict):
            return schema
        if "$ref" in schema:
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            schema = _merge(rest, _pointer(root, schema["$ref"]))
        elif "allOf" in schema:
            merged = {key: value for key, value in schema.items() if key != "allOf"}
            for part in schema["allOf"]:
                merged = _merge(merged, resolve(part, root))
            schema = merged
        else:
            return schema
    raise Unsupported("a `$ref` that never ends")


def is_envelope(schema: Any, root: Any) -> bool:
    """Whether this is one call: an object with a closed `name` and its arguments."""
    schema = resolve(schema, root)
    if not isinstance(schema, dict) or not isinstance(schema.get("properties"), dict):
        return False
    properties = schema["properties"]
    return bool({"arguments", "parameters", "input"} & set(properties)) and bool(names_of(schema, root))


def names_of(schema: dict, root: Any) -> list[str]:
    """The values that an envelope's `name` may have."""
    name = resolve(schema.get("properties", {}).get("name", {}), root)
    if not isinstance(name, dict):
        return []
    names = [name["const"]] if "const" in name else name.get("enum", [])
    return names if all(isinstance(item, str) for item in names) else []


def _has_envelope(schema: Any, root: Any) -> bool:
    """Whether this is a call, a union with one, or a list of them."""
    schema = resolve(schema, root)
    if not isinstance(schema, dict):
        return False
    if is_envelope(schema, root):
        return True
    branches = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    if schema.get("type") == "array" and isinstance(schema.get("items"), dict):
        branches.append(schema["items"])
    return any(branch is not schema and _has_envelope(branch, root) for branch in branches[:64])


def _pointer(root: Any, ref: str) -> Any:
    if not ref.startswith("#"):
        raise Unsupported(f"the reference {ref}")
    found = root
    for part in ref[1:].split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        try:
            found = found[int(part)] if isinstance(found, list) else found[part]
        except (KeyError, IndexError, ValueError) as error:
            raise Unsupported(f"the reference {ref} points nowhere") from error
    return found


def _merge(into: Any, other: Any) -> Any:
    if not isinstance(into, dict) or not isinstance(other, dict):
        return other if isinstance(other, dict) or not into else into
    merged = {**other, **into}
    for key in ("properties", "$defs"):
        if key in into and key in other:
            merged[key] = {**other[key], **into[key]}
    if "required" in into and "required" in other:
        merged["required"] = [*other["required"], *into["required"]]
    return merged


def _kind(schema: dict, want: Any) -> str:
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return next((kind for kind in kinds if _is(want, kind)), kinds[0])
    if kinds:
        return kinds
    if "properties" in schema or "required" in schema or "additionalProperties" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    for kind in ("object", "array", "boolean", "integer", "number", "null"):
        if _is(want, kind):
            return kind
    return "string"


def _is(value: Any, kind: str) -> bool:
    if kind in ("integer", "number"):
        allowed = (int,) if kind == "integer" else (int, float)
        return isinstance(value, allowed) and not isinstance(value, bool)
    types = {"object": Mapping, "array": list | tuple, "string": str, "boolean": bool}
    return value is None if kind == "null" else isinstance(value, types.get(kind, ()))


def _string(schema: dict, want: Any) -> str:
    low, high, pattern = schema.get("minLength", 0), schema.get("maxLength"), schema.get("pattern")
    fits = lambda text: (  # noqa: E731
        len(text) >= low
        and (high is None or len(text) <= high)
        and (pattern is None or re.search(pattern, text))
    )
    candidates = [want] if isinstance(want, str) else []
    if "format" in schema:
        candidates += [FORMATS[schema["format"]]] if schema["format"] in FORMATS else []
    if pattern is not None:
        candidates.append(of_regex(pattern))
    candidates += ["text"[: high if high is not None else 4], "x" * low]
    return next((text for text in candidates if fits(text)), candidates[-1])


def _number(schema: dict, want: Any, kind: str) -> float | int:
    low, high = schema.get("minimum"), schema.get("maximum")
    if "exclusiveMinimum" in schema:
        low = schema["exclusiveMinimum"] + (1 if kind == "integer" else 0.5)
    if "exclusiveMaximum" in schema:
        high = schema["exclusiveMaximum"] - (1 if kind == "integer" else 0.5)
    step = schema.get("multipleOf")
    fits = lambda n: (  # noqa: E731
        (low is None or n >= low) and (high is None or n <= high) and (not step or n % step == 0)
    )
    candidates = [want] if _is(want, kind) else []
    candidates += [n for n in (1, 0, step, low, high) if n is not None]
    return next((n for n in candidates if fits(n)), candidates[0])
