#!/usr/bin/env python3
"""Writes repairs.jsonl: texts as weak models write them, and what they mean.

    python3 tests/data/repairs.py > tests/data/repairs.jsonl

Right instances of the schemas below are broken in the ways of weak models. `expected` is the
instance, or null where the text has several readings, or none, and so must not be repaired. What
has several readings is decided here by trying them, with a validator of its own that takes no
property that its schema does not name. The traps at the end are written by hand.
"""

import copy
import itertools
import json
import random

SEED = 20261122
CASES = 2000

TEXTS = [
    "Oslo", "it's fine", "the dogs' bowl", "https://example.org/a//b?c=1#d", "red, green; blue",
    'say "hi"', "a/b", "# no comment", "/* nor this */", "True", "None", "null", "36", "{x}", "[1]",
    "back\\slash", "trailing,", "ünï", "日本", "line\nbreak", "tab\tstop", "a: b", "'quoted'", "NaN",
    "don't, won't", "}", "]", "", "C:\\temp", "x" * 40,
]
WORDS = ["Oslo", "rain", "garden", "blue", "north", "alpha", "Tove", "Ibsen", "tram", "fjord"]


def obj(required=None, **properties):
    names = list(properties) if required is None else required
    return {"type": "object", "properties": properties, "required": names}


INT, NUM, STR, BOOL = ({"type": word} for word in ("integer", "number", "string", "boolean"))


def many(item):
    return {"type": "array", "items": item}


def maybe(item):
    return {"anyOf": [item, {"type": "null"}]}


PLACE = obj(["city"], city=STR, lat=NUM, lon=NUM)
SCHEMAS = {
    "person": obj(name=STR, age=INT, is_member=BOOL),
    "weather": obj(["city"], city=STR, days=INT, unit={"enum": ["celsius", "fahrenheit"]}),
    "order": obj(id=INT, items=many(obj(sku=STR, count=INT, price=NUM)), paid=BOOL),
    "event": obj(["title", "place"], title=STR, place=PLACE, guests=many(STR), notes=STR),
    "search": obj(["query"], query=STR, limit=INT, tags=many(STR), exact=BOOL),
    "settings": {**obj(theme={"enum": ["Light", "Dark", "System"]}, size=NUM, wrap=BOOL,
                       mode={"const": "Strict"}), "additionalProperties": False},
    "nullable": obj(["id"], id=maybe(INT), note=maybe(STR), flag=maybe(BOOL), at=maybe(NUM)),
    "tree": {**obj(["root"], root={"$ref": "#/$defs/node"}),
             "$defs": {"node": obj(["value"], value=INT, children=many({"$ref": "#/$defs/node"}))}},
    "list": many(obj(["id"], id=INT, label=STR)),
    "matrix": obj(rows=many(many(INT)), name=STR),
    "mixed": obj(["key"], key={"type": ["string", "integer"]}, value={"anyOf": [NUM, BOOL]}, n=INT),
    "user": obj(["user"], user=obj(["id"], id=INT, role=STR, tags=many(STR)), role=STR, active=BOOL),
    "level": obj(severity={"type": "string", "enum": ["LOW", "MEDIUM", "HIGH"]}, code={"enum": [1, 2, 3]},
                 owners=many({"enum": ["ann", "bob", "cy"]})),
    "wrapped": {"allOf": [{"$ref": "#/$defs/it"}], "$defs": {"it": obj(n=INT, at=PLACE)}},
}


def alternatives(schema, root):
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    if "allOf" in schema:
        return alternatives(schema["allOf"][0], root)
    if "anyOf" in schema:
        return [one for part in schema["anyOf"] for one in alternatives(part, root)]
    return [schema]


def kinds(value):
    if value is None:
        return {"null"}
    if isinstance(value, bool):
        return {"boolean"}
    if isinstance(value, (int, float)):
        return {"number", "integer"} if float(value).is_integer() else {"number"}
    return {str: {"string"}, list: {"array"}, dict: {"object"}}[type(value)]


def same(a, b):
    return type(a) is type(b) and a == b


def holds(value, schema, root):
    """Whether a value satisfies a schema and has no property that it does not name."""
    for one in alternatives(schema, root):
        allowed = one.get("type", [])
        allowed = {allowed} if isinstance(allowed, str) else set(allowed)
        if allowed and not kinds(value) & allowed:
            continue
        if "enum" in one and not any(same(value, known) for known in one["enum"]):
            continue
        if "const" in one and not same(value, one["const"]):
            continue
        if isinstance(value, dict):
            named = one.get("properties", {})
            if any(name not in value for name in one.get("required", [])):
                continue
            if not all(name in named and holds(inner, named[name], root) for name, inner in value.items()):
                continue
        if isinstance(value, list) and not all(holds(inner, one["items"], root) for inner in value):
            continue
        return True
    return False


def allows_text(schema, root):
    return any("string" in one.get("type", "") for one in alternatives(schema, root) if "enum" not in one)


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def text(self):
        return self.random.choice(TEXTS if self.random.random() < 0.5 else WORDS)

    def instance(self, schema, root, depth=0):
        pick = self.random
        one = pick.choice(alternatives(schema, root))
        if "const" in one:
            return one["const"]
        if "enum" in one:
            return pick.choice(one["enum"])
        word = one["type"] if isinstance(one["type"], str) else pick.choice(one["type"])
        if word == "object":
            names = [name for name in one["properties"]
                     if name in one["required"] or pick.random() < 0.6]
            return {name: self.instance(one["properties"][name], root, depth + 1) for name in names}
        if word == "array":
            count = 0 if depth > 5 else pick.choice([1, 1, 2, 3, 0])
            return [self.instance(one["items"], root, depth + 2) for _ in range(count)]
        return {
            "integer": lambda: pick.choice([0, 1, 7, 36, -4, 2026, 10**12]),
            "number": lambda: pick.choice([0.5, 1.25, -3.75, 12, 99.9, 4]),
            "string": self.text,
            "boolean": lambda: pick.random() < 0.5,
            "null": lambda: None,
        }[word]()


# --- ways to write ------------------------------------------------------------------------------


class Writer:
    """JSON as a model writes it, each way with its own chance."""

    def __init__(self, pick, ways):
        self.pick, self.ways, self.used = pick, ways, set()
        self.indent = pick.random() < 0.4 or "comment" in ways

    def may(self, way, chance=0.6):
        if way in self.ways and self.pick.random() < chance:
            self.used.add(way)
            return True
        return False

    def string(self, text):
        if self.may("single_quotes", 0.9):
            escaped = json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"').replace("'", "\\'")
            return f"'{escaped}'"
        written = json.dumps(text, ensure_ascii=False)
        if ("\n" in text or "\t" in text) and self.may("line_break", 1):
            written = '"' + "\n".join(json.dumps(line)[1:-1].replace("\\t", "\t") for line in text.split("\n")) + '"'
        return written

    def key(self, name):
        if name.isidentifier() and self.may("unquoted_key", 0.9):
            return name
        return self.string(name)

    def note(self, depth):
        if not self.may("comment", 0.5):
            return ""
        return self.pick.choice([" // the value", " # as asked", " /* see above */", " // it's, well: so"])

    def write(self, value, depth=1):
        if value is None or isinstance(value, bool):
            if self.may("python_literal", 0.95):
                return repr(value)
            return json.dumps(value)
        if isinstance(value, str):
            return self.string(value)
        if not isinstance(value, (dict, list)):
            return json.dumps(value)
        if isinstance(value, dict):
            parts = [f"{self.key(name)}: {self.write(inner, depth + 1)}" for name, inner in value.items()]
        else:
            parts = [self.write(inner, depth + 1) for inner in value]
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        if not parts:
            return opening + closing
        end = "," if self.may("trailing_comma", 0.8) else ""
        if not self.indent:
            return opening + ", ".join(parts) + end + closing
        pad = "\n" + "  " * depth
        lines = [part + ("," if at + 1 < len(parts) else end) + self.note(depth) for at, part in enumerate(parts)]
        return opening + pad + pad.join(lines) + "\n" + "  " * (depth - 1) + closing


# --- ways to mistake a type ----------------------------------------------------------------------


def places(value, schema, root):
    """Each value with its schema and what puts another in its place."""
    for one in alternatives(schema, root):
        if isinstance(value, dict) and "properties" in one:
            for name, inner in value.items():
                yield value, name, inner, one["properties"][name]
                yield from places(inner, one["properties"][name], root)
        if isinstance(value, list) and "items" in one:
            for at, inner in enumerate(value):
                yield value, at, inner, one["items"]
                yield from places(inner, one["items"], root)


def mistakes(inner, schema, root):
    """What a model writes for the value, and whether only the value can be meant."""
    is_apart = not allows_text(schema, root)
    options = [option for one in alternatives(schema, root)
               for option in one.get("enum", [one["const"]] if "const" in one else [])]
    if isinstance(inner, bool):
        yield "boolean", json.dumps(inner), is_apart
        yield "yes", "yes" if inner else "no", False
    elif isinstance(inner, (int, float)):
        yield "number", json.dumps(inner), is_apart
        yield "unit", f"{inner} km", False
        yield "zeros", f"00{abs(inner)}", False
        yield "exponent", f"{inner}e0", False
        yield "space", f" {inner}", False
    elif isinstance(inner, str) and inner in options:
        for other in {inner.upper(), inner.lower(), inner.capitalize()} - {inner}:
            alike = [option for option in options if str(option).lower() == other.lower()]
            yield "enum_case", other, len(alike) == 1
        yield "near", inner + "s", False
    elif isinstance(inner, list):
        if len(inner) == 1 and not isinstance(inner[0], (list, type(None))):
            only = inner[0]
            is_plain = not isinstance(only, str) or (
                only.strip() not in ("", "null", "None", "[]") and not any(c in only for c in ",;|\n")
                and not (only.startswith("[") and only.endswith("]")))
            yield "list", only, is_plain and not holds(only, schema, root)
        yield "double_encoded", json.dumps(inner), is_apart
    elif isinstance(inner, dict):
        yield "double_encoded", json.dumps(inner), is_apart


# --- brackets that are missing -------------------------------------------------------------------


def outside(text):
    """The places of a JSON text that are in no string."""
    found, quoted, skip = [], False, False
    for at, c in enumerate(text):
        if skip:
            skip = False
        elif quoted and c == "\\":
            skip = True
        elif c == '"':
            quoted = not quoted
        elif not quoted:
            found.append(at)
    return found


def readings(text, missing, schema):
    """Every right value that the text is with so many brackets more."""
    spots = [at for at in outside(text) if text[at] in ",}]"] + [len(text)]
    found = []
    for chosen in itertools.combinations_with_replacement(spots, missing):
        for kinds_of in itertools.product("}]", repeat=missing):
            parts, last = [], 0
            for at, c in zip(chosen, kinds_of):
                parts += [text[last:at], c]
                last = at
            try:
                value = json.loads("".join(parts) + text[last:], object_pairs_hook=unique)
            except ValueError:
                continue
            if holds(value, schema, schema) and value not in found:
                found.append(value)
    return found


def unique(pairs):
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def at_end(text):
    """The text with the brackets that are open."""
    open_ = []
    for at in outside(text):
        if text[at] in "{[":
            open_.append("}" if text[at] == "{" else "]")
        elif text[at] in "}]":
            if not open_ or open_.pop() != text[at]:
                return None
    try:
        return json.loads(text + "".join(reversed(open_)))
    except ValueError:
        return None


# --- cases ---------------------------------------------------------------------------------------


def written_badly(maker, name, schema):
    pick = maker.random
    value = maker.instance(schema, schema)
    ways = pick.sample(["single_quotes", "python_literal", "trailing_comma", "comment", "unquoted_key",
                        "line_break"], pick.choice([1, 1, 2, 3]))
    writer = Writer(pick, ways)
    text = writer.write(value)
    return (name, text, value) if writer.used else None


def mistaken(maker, name, schema):
    pick = maker.random
    value = maker.instance(schema, schema)
    broken = copy.deepcopy(value)
    spots = [(holder, key, *found) for holder, key, inner, stated in places(broken, schema, schema)
             for found in mistakes(inner, stated, schema)]
    if not spots:
        return None
    holder, key, _way, other, is_certain = pick.choice(spots)
    holder[key] = other
    if holds(broken, schema, schema):
        is_certain = False
    ways = ["single_quotes", "python_literal"] if pick.random() < 0.2 else []
    text = Writer(pick, ways).write(broken)
    if not is_certain and ways and holds(broken, schema, schema):
        return None
    return name, text, value if is_certain else None


def unclosed(maker, name, schema):
    pick = maker.random
    value = maker.instance(schema, schema)
    text = json.dumps(value)
    missing = pick.choice([1, 1, 1, 2])
    if pick.random() < 0.6:
        if not text.endswith(("}}", "}]", "]}", "]]")[: 4 if missing == 2 else 4]) and missing == 2:
            return None
        text = text[:-missing]
    else:
        missing = 1
        spots = [at for at in outside(text) if text[at] in "}]"]
        at = pick.choice(spots)
        text = text[:at] + text[at + 1:]
    if len(text) > 160:
        return None
    found = readings(text, missing, schema)
    is_certain = found == [value] and same(at_end(text), value) and text[-1:] in '}]"el'
    return name, text, value if is_certain else None


def cut(maker, name, schema):
    pick = maker.random
    text = json.dumps(maker.instance(schema, schema))
    end = pick.randrange(1, len(text))
    text = text[:end]
    inside = outside(text)
    ends_open = len(text) - 1 not in inside and at_end(text) is None or text[-1] in ",:{[ 0123456789."
    is_empty = text[-1] in "{["
    return (name, text, None) if ends_open and not is_empty else None


def misnamed(maker):
    pick = maker.random
    tools = pick.sample(["get_weather", "search_web", "list-files", "createEvent", "send mail", "stop",
                         "get-weather", "Search_Web", "delete_user", "run2"], 4)
    name = pick.choice(tools)
    other = pick.choice([name.upper(), name.lower(), name.title(), name.replace("_", "-"),
                         name.replace("-", "_"), name.replace("_", "").replace("-", ""), name + "s", "x" + name])
    fold = lambda text: "".join(c for c in text.lower() if c not in "-_ ")
    alike = [tool for tool in tools if fold(tool) == fold(other)]
    certain = len(alike) == 1 and other not in tools
    return {"tools": tools, "text": other, "expected": alike[0] if certain else None}


TRAPS = [
    ("person", t, None) for t in [
        '{"name": "A", "age": "007", "is_member": true}', '{"name": "A", "age": "1e3", "is_member": true}',
        '{"name": "A", "age": " 36", "is_member": true}', '{"name": "A", "age": "36 ", "is_member": true}',
        '{"name": "A", "age": "36.0", "is_member": true}', '{"name": "A", "age": "3,600", "is_member": true}',
        '{"name": "A", "age": "thirty", "is_member": true}', '{"name": "A", "age": "", "is_member": true}',
        '{"name": "A", "age": "0x24", "is_member": true}', '{"name": "A", "age": "+36", "is_member": true}',
        '{"name": "A", "age": "-0", "is_member": true}', '{"name": "A", "age": "٣٦", "is_member": true}',
        '{"name": "A", "age": NaN, "is_member": true}', '{"name": "A", "age": 1_000, "is_member": true}',
        '{"name": "A", "age": Infinity, "is_member": true}', '{"name": "A", "age": 036, "is_member": true}',
        '{"name": "A", "age": ["36"], "is_member": true}', '{"name": "A", "age": [36], "is_member": true}',
        '{"name": "A", "age": 36, "is_member": "yes"}', '{"name": "A", "age": 36, "is_member": "no"}',
        '{"name": "A", "age": 36, "is_member": "TRUE"}', '{"name": "A", "age": 36, "is_member": 1}',
        '{"name": "A", "age": 36, "is_member": "1"}', '{"name": "A", "age": 36, "is_member": null}',
        '{"name": "A", "age": 36, "is_member": "null"}', '{"name": 36, "age": 36, "is_member": true}',
        '{"name": null, "age": 36, "is_member": true}', '{"name": ["A"], "age": 36, "is_member": true}',
        "{'name': 'it's', 'age': 36, 'is_member': true}", "{'name': 'O'Neill', 'age': 36, 'is_member': True}",
        "{'name': ''A'', 'age': 36, 'is_member': True}", '{"name": "a"b", "age": 36, "is_member": true}',
        '{"name": "A" "B", "age": 36, "is_member": true}', '{"name": A, "age": 36, "is_member": true}',
        '{"name": "A"; "age": 36; "is_member": true}', '{"name" = "A", "age" = 36, "is_member" = true}',
        '{"is_member": true, "name": "A", "age": 36', '{"name": "A", "age": 36, "is_member": tr',
        '{"name": "A", "age": 36 // "is_member": false}', '{"name": "A", "age": 36, "is_member": true /* }',
        '{"name": "A", "age": 36, // "age": 37\n "is_member": true}',
        '{"name": "A", "age": 36, "age": 37, "is_member": true,}', "{'name': 'A', name: 'B', 'age': 1, 'is_member': True}",
        '{"name": "A", "age": 36, "is_member": true}}', '[{"name": "A", "age": 36, "is_member": true}]',
        '{"name": "A", "age": 36, "is_member": true}, {"name": "B", "age": 36, "is_member": true}',
        'name: A, age: 36, is_member: true', '"name": "A", "age": 36, "is_member": true',
        '{"name": "A", "age": 36, "is_member": None of these}', '{"Name": "A", "age": 36, "is_member": true}',
        '{name of it: "A", "age": 36, "is_member": true}', '{"name": "A", age-now: 36, "is_member": true}',
        '{"name": "A",, "age": 36, "is_member": true}', '{, "name": "A", "age": 36, "is_member": true}',
        '{"name": "A", "age": 30 + 6, "is_member": true}', '{"name": "A", "age": .5, "is_member": true}',
        '{"name": `A`, "age": 36, "is_member": true}', '{"name": """A""", "age": 36, "is_member": true}',
        '{"name": \u201cA\u201d, "age": 36, "is_member": true}', '("A", 36, True)', '', 'null', '[]', '{}', '"A"',
        '{"name": "A", "age": 36, "is_member": not True}', '{"name": r\'A\', "age": 36, "is_member": True}',
        '{"name": f\'A\', "age": 36, "is_member": True}', '{"name": \'\\x41\', "age": 36, "is_member": True}',
        '{"name": "A", "age": 99999999999999999999, "is_member": "true "}',
    ]
] + [
    ("mixed", t, None) for t in [
        '{"key": "36", "n": "0 "}', '{"key": true, "n": 1}', '{"key": ["36"], "n": 1}', '{"key": "k", "value": "x"}',
        '{"key": "k", "value": null}', '{"key": "k", "value": "1.50"}', '{"key": "k", "value": "True"}',
    ]
] + [
    ("search", t, None) for t in [
        '{"query": "a", "tags": "red, blue"}', '{"query": "a", "tags": "none"}', '{"query": "a", "tags": ""}',
        '{"query": "a", "tags": "[red]"}', '{"query": "a", "tags": "[1]"}', '{"query": "a", "tags": null}', '{"query": "a", "tags": "N/A"}',
        '{"query": "a", "tags": {"0": "red"}}', '{"query": "a", "tags": 5}', '{"query": ["a"]}', '{"query": {"q": "a"}}',
        '{"query": "a", "tags": "red|blue"}', '{"query": "a", "tags": "red\\nblue"}', '{"query": "a", "tags": [["red"]]}',
        '{"query": "a", "tags": "red; blue"}', '{"query": "a", "limit": "ten"}', '{"query": "a", "exact": "on"}',
        "{'query': 'a', 'b'}", '{"query": https://example.org}', '{"query": //example.org\n}',
    ]
] + [
    ("settings", t, None) for t in [
        '{"theme": "light ", "size": 1, "wrap": true, "mode": "Strict"}', '{"theme": "Lights", "size": 1, "wrap": true, "mode": "Strict"}',
        '{"theme": "light", "size": "big", "wrap": true, "mode": "Strict"}', '{"theme": "l", "size": 1, "wrap": true, "mode": "Strict"}',
        '{"theme": "light", "size": 1, "wrap": true, "mode": "Strict", "more": 1,}', '{"theme": 1, "size": 1, "wrap": true, "mode": "Strict"}',
        '{"theme": ["Light"], "size": 1, "wrap": true, "mode": "Strict"}', '{"theme": "lıght", "size": 1, "wrap": true, "mode": "Strict"}',
    ]
] + [
    ("cases", t, None) for t in ['{"v": "TRUE"}', '{"v": "tRue"}', '{"v": "maybe"}', '{"v": true}']
] + [
    ("either", t, None) for t in ['{"v": "36"}', '{"v": "true"}', '{"v": "x, y"}']
] + [
    ("search", '{"query": "see https://a.org//b, \'or\' not",}', {"query": "see https://a.org//b, 'or' not"}),
    ("search", "{'query': 'see https://a.org//b', /* c, d */ 'exact': True}", {"query": "see https://a.org//b", "exact": True}),
    ("search", "{'query': \"it's\", tags: ['a, b', 'c'],}", {"query": "it's", "tags": ["a, b", "c"]}),
    ("search", '{"query": "True, None", "exact": "true"}', {"query": "True, None", "exact": True}),
    ("search", '"{\\"query\\": \\"a\\"}"', {"query": "a"}),
    ("search", '{"query": "a", "tags": "[\\"red\\"]"}', {"query": "a", "tags": ["red"]}),
    ("person", '{"name": "A", "age": 36, "is_member": true', {"name": "A", "age": 36, "is_member": True}),
    ("either", '{"v": "x y"}', {"v": ["x y"]}),
    ("either", '{"v": "{\\"a\\": 1}"}', {"v": {"a": 1}}),
    ("list", '{"id": 1}', [{"id": 1}]),
    ("list", '{"id": "1"}', None),
    ("mixed", '{"key": "36", "n": "36"}', {"key": "36", "n": 36}),
    ("mixed", '{"key": "36", "value": "1.5"}', {"key": "36", "value": 1.5}),
]
MORE_SCHEMAS = {
    "cases": obj(v={"enum": ["True", "true", "False"]}),
    # An integer or a list of texts; a boolean or one; an object or one.
    "either": obj(v={"anyOf": [INT, BOOL, many(STR), obj(a=INT)]}),
}


def main():
    maker = Maker(SEED)
    schemas = {**SCHEMAS, **MORE_SCHEMAS}
    for name, schema in schemas.items():
        print(json.dumps({"name": name, "schema": schema}, separators=(",", ":")))
    cases, seen = list(TRAPS), {(name, text) for name, text, _ in TRAPS}
    named = []
    while len(cases) + len(named) < CASES:
        way = maker.random.choices([written_badly, mistaken, unclosed, cut, misnamed], [40, 30, 20, 6, 4])[0]
        if way is misnamed:
            case = misnamed(maker)
            named += [case] if case not in named else []
            continue
        name = maker.random.choice(list(SCHEMAS))
        case = way(maker, name, SCHEMAS[name])
        if case and case[:2] not in seen and len(case[1]) < 500:
            seen.add(case[:2])
            cases.append(case)
    for name, text, expected in cases:
        print(json.dumps({"schema": name, "text": text, "expected": expected}, ensure_ascii=False, separators=(",", ":")))
    for case in named:
        print(json.dumps(case, separators=(",", ":")))


main()
