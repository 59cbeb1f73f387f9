"""Holds the reader of crates/core/src/markup against the cases of llama.cpp's tests/test-chat.cpp.

A case there is a chat template, the tools that were shown, a model's text, and the message that is to come of it; it is
taken from the C++ source where it is written in literals. The reader gets the format that it takes the template itself
to show, and begins in a thought where the template's own generation prompt (rendered with jinja2) has opened one. Texts
and thoughts are compared without blanks at their ends; ids as llama.cpp has them. What llama.cpp's test asks of its own
grammars and of prompts that are rendered anew is not asked here.
"""

import collections
import json
import os
import re
import sys

import reader
from cpp import Parser, Unreadable, tokens


def message(content="", reasoning="", name="", arguments="", id=""):
    calls = [[name, arguments, id]] if name or id else []
    return {"content": content, "reasoning": reasoning, "calls": calls}


def message_of_many(reasoning, content, calls):
    return {"content": content, "reasoning": reasoning, "calls": [[*call, ""] for call in calls]}


CALLS = {
    "simple_assist_msg": message,
    "message_with_tool_calls": lambda name, arguments: message("", "", name, arguments),
    "message_with_tool_calls_and_reasoning":
        lambda name, arguments, reasoning: message("", reasoning, name, arguments),
    "message_with_reasoning_and_tool_call":
        lambda reasoning, name, arguments: message("", reasoning, name, arguments),
    "message_with_content_and_tool_call":
        lambda content, name, arguments: message(content, "", name, arguments),
    "message_with_reasoning_content_and_multiple_tool_calls": message_of_many,
}


class Cases:
    """All cases of the file, in its order."""

    def __init__(self, source):
        self.found = tokens("\n".join(line for line in source.split("\n") if not line.startswith("#")))
        self.names = {}
        self.template = None
        self.cases = []
        self.unread = []
        # The templates that stand for a name: a loop's over them, or a function's that is called in one.
        self.loops = {}
        self.paths = {}
        for at, token in enumerate(self.found):
            signs = self.found[at + 1:at + 3]
            if token[0] == "word" and signs == [("sign", ":"), ("sign", "{")]:
                parser = Parser(self.found, {}, {})
                parser.at = at + 3
                try:
                    self.loops[token[1]] = parser.items("}")
                except Unreadable:
                    continue
            elif token[0] == "word" and signs[:1] == [("sign", "(")] and signs[1:] and signs[1][1] in self.loops:
                self.paths[token[1]] = self.loops[signs[1][1]]
        self.function = None
        self.read()

    def read(self):
        at = 0
        while at < len(self.found):
            at = self.step(at)

    def step(self, at):
        words = [value for _, value in self.found[at:at + 8]]
        # static void test_something(
        if words[:2] == ["static", "void"]:
            self.function = words[2]
            return at + 3
        # common_chat_tool name{ name, description, parameters };  common_chat_msg name = value;
        if words[0] in ("common_chat_tool", "common_chat_msg", "std::string", "string", "auto", "char"):
            name = 2 if words[1] in ("*", "&") else 1
            if self.found[at + name][0] == "word" and words[name + 1] in ("{", "="):
                return self.definition(at, words[0], name)
        if words[:4] == ["tst", ".", "test", "("]:
            return self.case(at)
        return at + 1

    def definition(self, at, type, name):
        parser = Parser(self.found, self.names, CALLS)
        parser.at = at + name + 2
        name = self.found[at + name][1]
        if name in ("tst", "tester") and self.found[parser.at][1] == "peg_tester":
            kind, value = self.found[parser.at + 2]
            named = self.loops.get(value, self.paths.get(self.function, []))
            self.template = [value] if kind == "string" else named
            return parser.at + 3
        self.names.pop(name, None)
        try:
            if self.found[parser.at - 1][1] == "=":
                self.names[name] = parser.value()
            else:
                values = parser.items("}")
                if type == "common_chat_tool":
                    self.names[name] = self.tool(values)
        except (Unreadable, ValueError, IndexError):
            return at + 2
        return parser.at

    def case(self, at):
        parser = Parser(self.found, self.names, CALLS)
        parser.at = at + 4
        case = {"text": None, "tools": [], "expect": message(), "reasoning_format": "COMMON_REASONING_FORMAT_NONE"}
        try:
            case["text"] = parser.items(")")[0]
            while parser.eat("."):
                name = parser.next()[1]
                parser.eat("(")
                if name == "run":
                    parser.eat(")")
                    break
                start = parser.at
                try:
                    given = parser.items(")")
                except Unreadable:
                    # What is asked of the prompt does not concern the reader.
                    if name not in ("messages", "json_schema"):
                        raise
                    parser.at = start
                    parser.skip(")")
                    given = [None]
                self.take(case, name, given)
        except (Unreadable, TypeError, ValueError) as why:
            self.unread.append((self.template, str(why)))
            return at + 4
        for template in self.template or [None]:
            self.cases.append({**case, "template": template})
        return parser.at

    def take(self, case, name, given):
        value = given[0] if given else True
        if name == "expect":
            case["expect"] = dict(value)
        elif name in ("expect_content", "expect_reasoning"):
            case["expect"][name.removeprefix("expect_")] = value
        elif name == "expect_tool_calls":
            case["expect"]["calls"] = [[part if isinstance(part, str) else "" for part in call] for call in value]
        elif name == "tools":
            case["tools"] = [tool if isinstance(tool, dict) else self.tool(tool) for tool in value]
        else:
            case[name] = value

    def tool(self, values):
        """A tool as it stands between braces: name, description, and the schema of its parameters."""
        return {"name": values[0], "parameters": json.loads(values[2]) if values[2] else None}


def generation_prompt(template, case):
    """What the template itself writes of the answer."""
    import jinja2
    import jinja2.ext

    class Generation(jinja2.ext.Extension):
        tags = {"generation"}

        def parse(self, parser):
            parser.stream.expect("name:generation")
            return parser.parse_statements(["name:endgeneration"], drop_needle=True)

    def raise_exception(why):
        raise ValueError(why)

    def tojson(value, **how):
        how.pop("ensure_ascii", None)
        value = list(value) if hasattr(value, "__next__") else value
        return json.dumps(value, ensure_ascii=False, **how)

    environment = jinja2.Environment(
        trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols, Generation]
    )
    environment.filters["tojson"] = tojson
    environment.globals.update(raise_exception=raise_exception, strftime_now=lambda how: "2026-01-01")
    tools = [
        {"type": "function", "function": {"description": "", **tool}} for tool in case["tools"]
    ]
    thinks = case.get("enable_thinking", True)
    given = {
        "messages": [{"role": "user", "content": "Hey"}], "tools": tools or None, "bos_token": "", "eos_token": "",
        "enable_thinking": thinks, "thinking": thinks,
    }
    compiled = environment.from_string(template)
    without = compiled.render(**given, add_generation_prompt=False)
    prompt = compiled.render(**given, add_generation_prompt=True)
    return prompt[len(os.path.commonprefix([without, prompt])):]


def opens_thought(format, prompt):
    begin, end = reader.THINK.get(format, ("<think>", "</think>"))
    return begin in prompt and end not in prompt[prompt.rindex(begin):]


def normalized(arguments):
    """As llama.cpp compares them: what is cut short is nothing."""
    try:
        return json.loads(arguments)
    except ValueError:
        return ""


def read(case, format, prompt):
    """The message that the reader makes of the case's text."""
    thinks = opens_thought(format, prompt)
    given = {"cut": bool(case.get("is_partial")), "in_thought": thinks}
    pieces = sum(reader.read(format, case["tools"], [case["text"]], **given), [])
    calls = []
    for piece in pieces:
        if "call" in piece:
            calls.append([piece["call"], "", piece["id"] or ""])
        elif "input" in piece:
            calls[-1][1] += piece["input"]
    if case["reasoning_format"] == "COMMON_REASONING_FORMAT_NONE":
        begin, end = reader.THINK.get(format, ("<think>", "</think>"))
        # What the prompt has of the thought is a part of it.
        begin = prompt[prompt.rindex(begin):] if thinks else begin
        content = reader.with_thoughts(format, pieces + [{"text": ""}], {}, (begin, end))
        return {"content": content, "reasoning": "", "calls": calls}
    text = "".join(piece.get("text", "") + piece.get("unread", "") for piece in pieces)
    thoughts = "".join(piece.get("thought", "") for piece in pieces)
    return {"content": text, "reasoning": thoughts, "calls": calls}


def comparable(message):
    def blank(text):
        return re.sub(r"\s+", "", text)
    return {
        "content": message["content"].strip(), "reasoning": message["reasoning"].strip(),
        "calls": [[name, normalized(arguments), id] for name, arguments, id in message["calls"]],
    }


def main(folder):
    source = open(os.path.join(folder, "tests/test-chat.cpp"), encoding="utf-8").read()
    found = Cases(source)
    rows = collections.defaultdict(list)
    continued, formats, prompts = 0, {}, {}
    for case in found.cases:
        # What is asked there is how a message that the client has begun is put together again.
        if case.get("continue_final_message"):
            continued += 1
            continue
        path = case["template"]
        if path not in formats:
            template = open(os.path.join(folder, path), encoding="utf-8").read()
            formats[path] = reader.format_of(template), template
        format, template = formats[path]
        name = f"{os.path.basename(path or '').removesuffix('.jinja')} | {format or 'none'}"
        try:
            prompt = generation_prompt(template, case)
        except Exception as why:
            prompt = ""
            prompts[path] = str(why)
        # Where no format is known, the text is text.
        actual = read(case, format, prompt) if format else message(case["text"])
        is_right = comparable(actual) == comparable(case["expect"])
        rows[name].append(is_right)
        if not is_right and os.environ.get("MARKUP_DIFFERENCES"):
            print(f"{name}: {case['text']!r}\n  expected {case['expect']}\n  read     {actual}")
    print("\n\n| template | format | cases | passed |\n| --- | --- | --- | --- |")
    for name, results in sorted(rows.items()):
        print(f"| {name} | {len(results)} | {sum(map(bool, results))} |")
    every = sum(rows.values(), [])
    print(f"| all | | {len(every)} | {sum(map(bool, every))} |")
    print(f"\n{len(found.unread)} cases cannot be read from the source, {continued} continue a client's message")
    for path, why in found.unread:
        print(f"unread: {path}: {why}")
    for path, why in prompts.items():
        print(f"no prompt: {path}: {why}")
    reader.close()


if __name__ == "__main__":
    main(sys.argv[1])
