"""A regex, a grammar (GBNF, EBNF, Lark) or a JSON Schema in; one text or value that it allows out.

A scripted server that honours a constraint needs an answer which satisfies it, whatever the
proxy wrote: the client's own schema, a union of calls, a choice turned into a regex, a regex
turned into GBNF. So nothing here knows the proxy's envelopes, save how a union of calls is told
from other unions. The answer is always the same for the same question.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

try:  # The parser's module has had two names.
    from re import _constants as sre, _parser as sre_parse
except ImportError:  # pragma: no cover - Python before 3.11
    import sre_constants as sre
    import sre_parse

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


class Unsupported(Exception):
    """A constraint that this sampler cannot read: the scripted server answers 400."""


# --- regexes -------------------------------------------------------------------------------------


def of_regex(pattern: str) -> str:
    """A text that the whole pattern matches: the first branch, the fewest repeats."""
    try:
        text = _sequence(sre_parse.parse(pattern))
    except re.error as error:
        raise Unsupported(f"invalid regex: {error}") from error
    if not re.fullmatch(pattern, text):
        raise Unsupported(f"no sample for the regex {pattern!r}")
    return text


def _sequence(parsed: Any) -> str:
    return "".join(_node(op, value) for op, value in parsed)


def _node(op: Any, value: Any) -> str:
    if op is sre.LITERAL:
        return chr(value)
    if op is sre.NOT_LITERAL:
        return "a" if value != ord("a") else "b"
    if op is sre.ANY:
        return "a"
    if op is sre.AT:
        return ""
    if op is sre.IN:
        return _in(value)
    if op is sre.BRANCH:
        return _sequence(value[1][0])
    if op is sre.SUBPATTERN:
        return _sequence(value[-1])
    if op in (sre.MAX_REPEAT, sre.MIN_REPEAT):
        low, high, inner = value
        return _sequence(inner) * max(low, min(1, high))
    raise Unsupported(f"regex part {op}")


def _in(items: Any) -> str:
    if items[0][0] is sre.NEGATE:
        allowed = lambda c: not any(_in_has(item, c) for item in items[1:])  # noqa: E731
    else:
        allowed = lambda c: any(_in_has(item, c) for item in items)  # noqa: E731
    for code in (*range(ord("a"), ord("z") + 1), *range(32, 127), *range(160, 0x3000)):
        if allowed(code):
            return chr(code)
    raise Unsupported("an empty character class")


def _in_has(item: Any, code: int) -> bool:
    op, value = item
    if op is sre.LITERAL:
        return code == value
    if op is sre.RANGE:
        return value[0] <= code <= value[1]
    classes = {
        sre.CATEGORY_DIGIT: r"\d",
        sre.CATEGORY_NOT_DIGIT: r"\D",
        sre.CATEGORY_SPACE: r"\s",
        sre.CATEGORY_NOT_SPACE: r"\S",
        sre.CATEGORY_WORD: r"\w",
        sre.CATEGORY_NOT_WORD: r"\W",
    }
    return re.match(classes[value], chr(code)) is not None


# --- grammars ------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"""(?P<space>(?:\s|\#[^\n]*|//[^\n]*)+)
      | (?P<string>"(?:\\.|[^"\\])*"i?)
      | (?P<class>\[(?:\\.|[^\]\\])*\])
      | (?P<regex>/(?:\\.|[^/\\\n])+/[imslux]*)
      | (?P<repeat>\{\d+(?:,\d*)?\})
      | (?P<lark_repeat>~\s*\d+(?:\s*\.\.\s*\d+)?)
      | (?P<directive>%[a-z_]+[^\n]*)
      | (?P<define>::=|:)
      | (?P<name>[?!]?[A-Za-z_][\w.-]*)
      | (?P<mark>[()|*+?,.])""",
    re.VERBOSE,
)


def of_grammar(text: str) -> str:
    """A text of the grammar's language: GBNF or EBNF where a line has `::=`, Lark otherwise."""
    return _Grammar(text).sample()


class _Grammar:
    """A reader of the small grammars that clients and proxies write."""

    def __init__(self, text: str) -> None:
        self.start = "root" if "::=" in text else "start"
        tokens = [(kind, value) for kind, value in _tokens(text) if kind not in ("space", "directive")]
        heads = [
            at
            for at in range(len(tokens) - 1)
            if tokens[at][0] == "name" and tokens[at + 1][0] == "define"
        ]
        self.rules = {
            tokens[at][1].lstrip("?!"): tokens[at + 2 : end]
            for at, end in zip(heads, [*heads[1:], len(tokens)], strict=True)
        }
        if self.start not in self.rules:
            raise Unsupported(f"the grammar has no rule `{self.start}`")

    def sample(self) -> str:
        return self._rule(self.start, 0)

    def _rule(self, name: str, depth: int) -> str:
        if name not in self.rules:
            raise Unsupported(f"the grammar's rule `{name}` is not defined")
        if depth > 40:
            raise Unsupported("the grammar recurses without an end")
        best, _ = self._alternatives(self.rules[name], 0, depth)
        return best

    def _alternatives(self, tokens: list, at: int, depth: int) -> tuple[str, int]:
        found: list[str] = []
        failure: Unsupported | None = None
        while True:
            try:
                text, at = self._one(tokens, at, depth)
                found.append(text)
            except Unsupported as error:  # A branch that never ends: another may.
                failure, at = error, _branch_end(tokens, at)
            if at < len(tokens) and tokens[at] == ("mark", "|"):
                at += 1
                continue
            if not found:
                raise failure or Unsupported("an empty rule")
            return found[0], at

    def _one(self, tokens: list, at: int, depth: int) -> tuple[str, int]:
        out = ""
        while at < len(tokens) and tokens[at] not in (("mark", "|"), ("mark", ")")):
            atom, after = self._atom(tokens, at, depth)
            low = 1
            if after < len(tokens):
                kind, value = tokens[after]
                if (kind, value) in (("mark", "*"), ("mark", "?")):
                    low, after = 0, after + 1
                elif (kind, value) == ("mark", "+"):
                    after += 1
                elif kind in ("repeat", "lark_repeat"):
                    low, after = int(re.search(r"\d+", value).group()), after + 1
            if low:
                out += self._text(atom, depth) * low
            at = after
        return out, at

    def _atom(self, tokens: list, at: int, depth: int) -> tuple[Any, int]:
        kind, value = tokens[at]
        if (kind, value) == ("mark", "("):
            end = _closing(tokens, at)
            return ("group", tokens[at + 1 : end]), end + 1
        return (kind, value), at + 1

    def _text(self, atom: Any, depth: int) -> str:
        kind, value = atom
        if kind == "group":
            return self._alternatives(value, 0, depth)[0]
        if kind == "string":
            return json.loads(value.rstrip("i"), strict=False)
        if kind == "class":
            return of_regex(value)
        if kind == "regex":
            return of_regex(value[1 : value.rindex("/")].replace("\\/", "/"))
        if kind == "name":
            return self._rule(value, depth + 1)
        if (kind, value) == ("mark", "."):
            return "a"
        raise Unsupported(f"grammar part {value!r}")


def _tokens(text: str) -> list[tuple[str, str]]:
    at, out = 0, []
    while at < len(text):
        match = _TOKEN.match(text, at)
        if not match:
            raise Unsupported(f"the grammar cannot be read at character {at}")
        out.append((match.lastgroup, match.group()))
        at = match.end()
    return out


def _closing(tokens: list, at: int) -> int:
    depth = 0
    for index in range(at, len(tokens)):
        depth += {("mark", "("): 1, ("mark", ")"): -1}.get(tokens[index], 0)
        if depth == 0:
            return index
    raise Unsupported("the grammar has an open group")


def _branch_end(tokens: list, at: int) -> int:
    while at < len(tokens) and tokens[at] not in (("mark", "|"), ("mark", ")")):
        at = _closing(tokens, at) + 1 if tokens[at] == ("mark", "(") else at + 1
    return at


# --- JSON Schema ---------------------------------------------------------------------------------


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
