"""How often a forced call is right, by how it is constrained: as bare arguments, in an envelope with the tool's name,
in the markup in which a tool-trained model writes calls by itself, and as the rules have it for this server.

    python forced.py --serve target/release/isogloss
    python forced.py --serve target/release/isogloss --gguf model.gguf
    python forced.py --serve target/release/isogloss --upstream http://127.0.0.1:8000

The requests are written by hand, in the style of people; none of them is in the training data's style. The ways are the
rules as they stand, and copies of them in which forced calls are met otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from evaluate import served

ROOT = Path(__file__).resolve().parents[2]
FORCED = ("required", "named", "allowed_required")
WAYS = {
    "bare": 'how = "constrain"\nbare = true',
    "envelope": 'how = "constrain"',
    "tags": 'how = "tags"',
    "rule": None,
}


def tool(name: str, description: str, properties: dict[str, Any]) -> dict[str, Any]:
    """A function whose parameters are all required; a type alone stands for its schema."""
    schemas = {key: {"type": value} if isinstance(value, str) else value for key, value in properties.items()}
    parameters = {"type": "object", "properties": schemas, "required": list(schemas)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


WEATHER = tool("get_weather", "Current weather of a city", {"city": "string"})
ADD = tool("add_numbers", "Adds two numbers", {"a": "number", "b": "number"})
REMIND = tool("set_reminder", "Sets a reminder", {"text": "string", "time": "string"})
EMAIL = tool("send_email", "Sends an email", {"to": "string", "subject": "string"})
SEARCH = tool("search", "Searches the web", {"query": "string"})
CURRENCY = {"type": "string", "enum": ["EUR", "USD", "GBP"]}
CONVERT = tool("convert_currency", "Converts money", {"amount": "number", "to": CURRENCY})
PERSON = tool("record_person", "Notes a person", {"name": "string", "age": "integer"})

# The request, the tools, which of them is right, and its arguments where one answer alone is.
REQUESTS: list[tuple[str, list[dict[str, Any]], dict[str, Any], dict[str, Any] | None]] = [
    ("What is the weather in Paris?", [WEATHER], WEATHER, {"city": "Paris"}),
    ("Is it raining in Oslo right now?", [WEATHER], WEATHER, {"city": "Oslo"}),
    ("Tell me how warm Lisbon is today.", [WEATHER], WEATHER, {"city": "Lisbon"}),
    ("weather Berlin pls", [WEATHER], WEATHER, {"city": "Berlin"}),
    ("What is 12 plus 30?", [ADD], ADD, {"a": 12, "b": 30}),
    ("Add 7 and 5.", [ADD], ADD, {"a": 7, "b": 5}),
    ("How much are 100 and 23 together?", [ADD], ADD, {"a": 100, "b": 23}),
    ("My name is Maria and I am 31.", [PERSON], PERSON, {"name": "Maria", "age": 31}),
    ("Tom, 45 years old, called today.", [PERSON], PERSON, {"name": "Tom", "age": 45}),
    ("I met Ada. She is 36.", [PERSON], PERSON, {"name": "Ada", "age": 36}),
    ("Please note: Bruno is 41 years old.", [PERSON], PERSON, {"name": "Bruno", "age": 41}),
    ("Convert 50 to EUR.", [CONVERT], CONVERT, {"amount": 50, "to": "EUR"}),
    ("I need 200 dollars in GBP.", [CONVERT], CONVERT, {"amount": 200, "to": "GBP"}),
    ("Search for cheap flights.", [SEARCH], SEARCH, {"query": "cheap flights"}),
    ("Look up Rust tutorials on the web.", [SEARCH], SEARCH, {"query": "Rust tutorials"}),
    ("What is the weather in Rome?", [WEATHER, ADD, SEARCH], WEATHER, {"city": "Rome"}),
    ("Please add 3 and 4.", [WEATHER, ADD, SEARCH], ADD, {"a": 3, "b": 4}),
    ("Find news about solar power.", [WEATHER, ADD, SEARCH], SEARCH, None),
    ("How is the weather in Madrid?", [REMIND, WEATHER, EMAIL], WEATHER, {"city": "Madrid"}),
    ("Remind me to call mom at 5 pm.", [REMIND, WEATHER, EMAIL], REMIND, None),
    ("Write an email to bob@example.com about lunch.", [REMIND, WEATHER, EMAIL], EMAIL, None),
    ("Sum of 9 and 16?", [ADD, CONVERT], ADD, {"a": 9, "b": 16}),
    ("Change 75 to USD", [ADD, CONVERT], CONVERT, {"amount": 75, "to": "USD"}),
    ("Lena is 27.", [WEATHER, PERSON], PERSON, {"name": "Lena", "age": 27}),
]


def name_of(one: dict[str, Any]) -> str:
    """A tool's name."""
    return one["function"]["name"]


def asked(url: str, model: str, body: dict[str, Any]) -> tuple[list[tuple[str, Any]], str]:
    """The calls of the answer, none where it is an error or was cut, and the strategy."""
    body = {"model": model, "temperature": 0, "max_tokens": 300, **body}
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(f"{url}/v1/chat/completions", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=300) as reply:
            strategy = reply.headers["x-isogloss-strategy"]
            message = json.load(reply)["choices"][0]["message"]
        calls = [call["function"] for call in message.get("tool_calls") or []]
        return [(call["name"], json.loads(call["arguments"])) for call in calls], strategy
    except urllib.error.HTTPError as error:
        return [], f"{error.code} {error.read().decode()[:200]}"
    except ValueError:
        return [], "no JSON"


def counted(url: str, show: str | None) -> dict[str, list[int]]:
    """Of each way of forcing: how many calls are right, how many are valid, how many were asked for."""
    with urllib.request.urlopen(f"{url}/v1/models") as reply:
        model = json.load(reply)["data"][0]["id"]
    counts: dict[str, list[int]] = {}
    for text, tools, right, arguments in REQUESTS:
        base = {"messages": [{"role": "user", "content": text}], "tools": tools}
        named = {"type": "function", "function": {"name": name_of(right)}}
        ways = {
            "one tool, required" if len(tools) == 1 else "several tools, required": {"tool_choice": "required"},
            "named": {"tool_choice": named},
            "one call alone": {"tool_choice": "required", "parallel_tool_calls": False},
            "required, several calls allowed": {"tool_choice": "required", "parallel_tool_calls": True},
        }
        for way, fields in ways.items():
            count = counts.setdefault(way, [0, 0, 0])
            calls, strategy = asked(url, model, {**base, **fields})
            is_right = bool(calls) and calls[0][0] == name_of(right) and arguments in (None, calls[0][1])
            is_right = is_right and len(calls) == 1
            count[0] += is_right
            count[1] += bool(calls)
            count[2] += 1
            if show and not is_right:
                print(f"{show} ({strategy}), {way}: {text} -> {calls}")
    return counts


def entry_in(entry: str, words: str) -> str:
    """A `[[tool_choice]]` of a forced call, met in this way, where its server's content can be constrained."""
    choice = re.search(r'^choice = "(\w+)"', entry)
    is_forced = choice is not None and choice[1] in FORCED
    # Tags are for servers of which the rules say that they take them.
    met = 'tags"' if words == WAYS["tags"] else '(constrain|tags)"'
    if not is_forced or not re.search(f'^(how|otherwise) = "{met}', entry, re.MULTILINE):
        return entry
    entry, rest = re.split(r"(?m)^(?=\[|$)", entry, maxsplit=1)
    is_reasoned = re.search("^reason =", entry, re.MULTILINE)
    entry = re.sub(r"(?m)^(otherwise|one|bare|free_texts) = .*\n", "", entry)
    if 'how = "tags"' not in words:
        entry = re.sub(r"(?m)^(forms|send|typed|may_parse) = .*\n", "", entry)
    entry = re.sub(r'(?m)^how = "\w+"$', words, entry)
    return entry + ("" if is_reasoned else 'reason = "to compare it"\n') + rest


def write_rules(folder: Path, words: str) -> None:
    """The rules, with forced calls that are met in this way."""
    mark = "[[tool_choice]]\n"
    for file in (ROOT / "rules").glob("*.toml"):
        head, *entries = file.read_text().split(mark)
        changed = mark.join([head, *(entry_in(entry, words) for entry in entries)])
        if changed != file.read_text():
            (folder / file.name).write_text(changed)


def main() -> None:
    """Reads the arguments and reports."""
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--serve", metavar="BINARY", required=True)
    args.add_argument("--gguf", help="the model; without it and a server, the binary's own")
    args.add_argument("--upstream", metavar="URL", help="a server to ask in place of the worker")
    args.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    args.add_argument("--show", action="store_true", help="print each answer that is not right")
    options = args.parse_args()
    found = {}
    for way in options.ways:
        os.environ.pop("ISOGLOSS_RULES", None)
        with tempfile.TemporaryDirectory() as folder:
            words = WAYS[way]
            if words is not None:
                write_rules(Path(folder), words)
                os.environ["ISOGLOSS_RULES"] = folder
            with served(options.serve, options.gguf, options.upstream) as (url, _ready):
                found[way] = counted(url, way if options.show else None)
    print("| forced | asked |" + "".join(f" {way}: right | valid |" for way in found))
    print("| --- | ---: |" + " ---: | ---: |" * len(found))
    for kind, (_, _, asked_for) in next(iter(found.values())).items():
        cells = (f" {counts[kind][0]} | {counts[kind][1]} |" for counts in found.values())
        print(f"| {kind} | {asked_for} |" + "".join(cells))
    total = [sum(counts) for counts in zip(*next(iter(found.values())).values(), strict=True)]
    sums = ([sum(column) for column in zip(*counts.values(), strict=True)] for counts in found.values())
    print(f"| in all | {total[2]} |" + "".join(f" {right} | {valid} |" for right, valid, _ in sums))


if __name__ == "__main__":
    main()
