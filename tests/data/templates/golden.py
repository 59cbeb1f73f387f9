"""Renders the cases beside it with Jinja as transformers' `apply_chat_template` sets it up, and
writes what comes out into them.

Needs Python 3.11+ and jinja2 3.1.6. `expected` is the text, `error` the template's refusal.
A case's `seen` replaces what the template sees, where that is not what the client sent.

Given a folder, it renders a few conversations in every template of that folder, and writes them into
its `golden.json`: `expected` are the texts, of which there are several where calls can be shown in
several ways, and `words` what must not be lost.
"""

import datetime
import json
import pathlib
import sys

import jinja2
import jinja2.ext
import jinja2.sandbox

HERE = pathlib.Path(__file__).parent
NOW = 1794916800


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.Scope(body).set_lineno(line)


def environment(now):
    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(
            x,
            ensure_ascii=ensure_ascii,
            indent=indent,
            separators=separators,
            sort_keys=sort_keys,
        )

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def strftime_now(format):
        moment = datetime.datetime.fromtimestamp(now, datetime.timezone.utc)
        return moment.replace(tzinfo=None).strftime(format)

    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[Generation, jinja2.ext.loopcontrols],
    )
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = strftime_now
    return env


def parsed(messages):
    """A call's arguments as an object, as vLLM passes them on."""
    messages = json.loads(json.dumps(messages))
    for message in messages:
        for call in message.get("tool_calls") or []:
            function = call["function"]
            function["arguments"] = json.loads(function["arguments"])
    return messages


def rendered(source, messages, tools, variables):
    variables = {"date_string": "17 Nov 2026"} | variables
    return (
        environment(NOW)
        .from_string(source)
        .render(
            messages=messages,
            tools=tools,
            documents=None,
            add_generation_prompt=True,
            bos_token="<s>",
            eos_token="</s>",
            **variables,
        )
    )


def tool(name, properties):
    parameters = {"type": "object", "properties": properties, "required": list(properties)[:1]}
    function = {"name": name, "description": f"The {name}.", "parameters": parameters}
    return {"type": "function", "function": function}


def call(number, name, arguments):
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": f"call0000{number}", "type": "function", "function": function}


def result(number, name, content):
    return {"role": "tool", "tool_call_id": f"call0000{number}", "name": name, "content": content}


TOOLS = [
    tool("weather", {"city": {"type": "string", "description": "Where."}, "days": {"type": "integer"}}),
    tool("clock", {"zone": {"type": "string", "enum": ["UTC", "CET"]}}),
]
SYSTEM = {"role": "system", "content": "Be brief."}
ASKED = {"role": "user", "content": "Weather in Oslo?"}
OSLO = call(0, "weather", {"city": "Oslo", "days": 3})
CLOCK = call(1, "clock", {"zone": "CET"})
# Each with what must not be lost.
CONVERSATIONS = {
    "a question": ([{"role": "user", "content": "Hello, wörld"}], [], ["Hello, wörld"]),
    "turns": ([SYSTEM, ASKED, {"role": "assistant", "content": "Yes?"}, ASKED], [], ["Be brief.", "Yes?"]),
    "tools": ([ASKED], TOOLS, ["weather", "clock", "Where."]),
    "a call": (
        [ASKED, {"role": "assistant", "content": "", "tool_calls": [OSLO]}, result(0, "weather", "rain")],
        TOOLS,
        ["clock", "3", "rain"],
    ),
    "calls beside a text": (
        [
            SYSTEM,
            ASKED,
            {"role": "assistant", "content": "I look.", "tool_calls": [OSLO, CLOCK]},
            result(0, "weather", "rain"),
            result(1, "clock", "12:03"),
            {"role": "assistant", "content": "It rains."},
            {"role": "user", "content": "Thanks"},
        ],
        TOOLS,
        ["Be brief.", "3", "CET", "rain", "12:03", "It rains.", "Thanks"],
    ),
}


def ways(messages):
    """Arguments as objects and as text, each with the client's ids and with Kimi's."""
    for way in (parsed(messages), messages):
        yield way
        text = json.dumps(way)
        for one in (OSLO, CLOCK):
            number = one["id"][-1]
            text = text.replace(one["id"], f"functions.{one['function']['name']}:{number}")
        yield json.loads(text)


def of_folder(folder):
    cases = []
    for path in sorted(folder.glob("*.jinja")):
        for name, (messages, tools, words) in CONVERSATIONS.items():
            expected = []
            for seen in ways(messages):
                try:
                    text = rendered(path.read_text(), seen, tools or None, {})
                except Exception:  # Whatever a template does wrong.
                    continue
                if text not in expected:
                    expected.append(text)
            case = {"template": path.name, "name": name, "messages": messages, "tools": tools}
            cases.append(case | {"expected": expected, "words": words})
    (folder / "golden.json").write_text(json.dumps(cases, ensure_ascii=False))


def main():
    if len(sys.argv) > 1:
        of_folder(pathlib.Path(sys.argv[1]))
        return
    path = HERE / "golden.json"
    cases = json.loads(path.read_text())
    for case in cases:
        seen = case.get("seen", {})
        messages = seen.get("messages") or parsed(case["messages"])
        tools = seen.get("tools", case.get("tools")) or None
        source = (HERE / (case["template"] + ".jinja")).read_text()
        case.pop("expected", None)
        case.pop("error", None)
        try:
            case["expected"] = rendered(source, messages, tools, case.get("kwargs", {}))
        except jinja2.exceptions.TemplateError as error:
            case["error"] = str(error)
    path.write_text(json.dumps(cases, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
