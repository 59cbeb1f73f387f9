"""Renders the cases beside it with Jinja as transformers' `apply_chat_template` sets it up, and
writes what comes out into them.

Needs Python 3.11+ and jinja2 3.1.6. `expected` is the text, `error` the template's refusal.
A case's `seen` replaces what the template sees, where that is not what the client sent.
"""

import datetime
import json
import pathlib

import jinja2
import jinja2.ext
import jinja2.sandbox

HERE = pathlib.Path(__file__).parent


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


def main():
    path = HERE / "golden.json"
    cases = json.loads(path.read_text())
    for case in cases:
        seen = case.get("seen", {})
        messages = seen.get("messages") or parsed(case["messages"])
        tools = seen.get("tools", case.get("tools")) or None
        now = 1794916800
        source = (HERE / (case["template"] + ".jinja")).read_text()
        variables = {"date_string": "17 Nov 2026"} | case.get("kwargs", {})
        case.pop("expected", None)
        case.pop("error", None)
        try:
            case["expected"] = (
                environment(now)
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
        except jinja2.exceptions.TemplateError as error:
            case["error"] = str(error)
    path.write_text(json.dumps(cases, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
