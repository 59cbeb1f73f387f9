"""How often a forced call is right, by how it is constrained: as bare arguments (an envelope where several tools are there),
or in the tags that a tool-trained model writes by itself.

    python forced.py --serve target/release/isogloss
    python forced.py --serve target/release/isogloss --gguf model.gguf

The requests are written by hand, in the style of people; none of them is in the training data's style. The two ways are the
worker's rule as it stands, and a copy of it in which forced calls are not in tags.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from evaluate import served

ROOT = Path(__file__).resolve().parents[2]
FORCED = ("required", "named", "allowed_required")


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


def asked(url: str, model: str, body: dict[str, Any]) -> list[tuple[str, Any]]:
    """The calls of the answer; none where it is an error, or was cut."""
    body = {"model": model, "temperature": 0, "max_tokens": 300, **body}
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(f"{url}/v1/chat/completions", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=120) as reply:
            message = json.load(reply)["choices"][0]["message"]
        calls = [call["function"] for call in message.get("tool_calls") or []]
        return [(call["name"], json.loads(call["arguments"])) for call in calls]
    except (urllib.error.HTTPError, ValueError):
        return []


def counted(url: str) -> dict[str, list[int]]:
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
            "required, several calls allowed": {"tool_choice": "required", "parallel_tool_calls": True},
        }
        for way, fields in ways.items():
            count = counts.setdefault(way, [0, 0, 0])
            calls = asked(url, model, {**base, **fields})
            is_right = bool(calls) and calls[0][0] == name_of(right) and arguments in (None, calls[0][1])
            count[0] += is_right and len(calls) == 1
            count[1] += bool(calls)
            count[2] += 1
    return counts


def bare_rules(folder: Path) -> None:
    """The worker's rule, with forced calls that are not in tags."""
    text = (ROOT / "rules" / "worker.toml").read_text()
    for choice in FORCED:
        before, after = text.split(f'choice = "{choice}"\n', 1)
        text = f'{before}choice = "{choice}"\n' + after.replace('how = "tags"', 'how = "constrain"', 1)
    (folder / "worker.toml").write_text(text)


def main() -> None:
    """Reads the arguments and reports."""
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--serve", metavar="BINARY", required=True)
    args.add_argument("--gguf", help="the model; without it, the binary's own")
    options = args.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        bare_rules(Path(folder))
        for label, rules in (("bare", folder), ("tags", "")):
            os.environ.pop("ISOGLOSS_RULES", None)
            if rules:
                os.environ["ISOGLOSS_RULES"] = rules
            with served(options.serve, options.gguf) as (url, _ready):
                found[label] = counted(url)
    print("| forced | bare: right | valid | tags: right | valid | asked |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    for way, (right, valid, asked_for) in found["bare"].items():
        tags = found["tags"][way]
        print(f"| {way} | {right} | {valid} | {tags[0]} | {tags[1]} | {asked_for} |")


if __name__ == "__main__":
    main()
