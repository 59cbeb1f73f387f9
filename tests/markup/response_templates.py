"""Runs the tests that transformers has for reading models' answers against the reader of crates/core/src/markup.

A plugin for pytest: modules of transformers are stand-ins. What transformers reads by a template that the test gives
it, the reader reads in the format of the model for which that template was written; a template that was written for no
model has no format here, and its test fails. The tests themselves are not touched. Where a test shows no tools, every
word of the text is the name of one.
"""

import sys

import stand_ins
from reader import THINK, any_word, parsed, read

# The test file's templates, and the format of the model that each is for.
FORMATS = {
    "cohere_template": "command-r7b", "ernie_template": "ernie-4.5", "gpt_oss_template": "harmony",
    "smollm_template": "hermes", "qwen3_template": "qwen3-coder", "gemma4_template": "gemma4",
    "inkling_template": "inkling", "_XML_STRING_ARGS_TEMPLATE": "qwen3-coder",
}


def format_of(template):
    for module in list(sys.modules.values()):
        for name, format in FORMATS.items():
            if template and vars(module).get(name) == template:
                return format
    raise NotImplementedError("a template that is for no model")


def opens_thought(format, prefix, text):
    """Whether the text begins in a thought."""
    begin, end = THINK.get(format, ("<think>", "</think>"))
    if format == "ernie-4.5":
        # Its template takes every answer to begin with one.
        return not text.startswith(begin)
    return begin in prefix and end not in prefix[prefix.rindex(begin):]


class ResponseParser:
    """What transformers reads a stream with, of which the reader does the work."""

    def __init__(self, template, prefix=None, tools=None, **_):
        self.format = format_of(template)
        self.prefix = prefix or ""
        self.tools = tools
        self.chunks = []

    def feed(self, chunk):
        self.chunks.append(chunk)
        # What transformers tells of a stream has no counterpart here: a test that looks into it is to fail.
        return [{"type": "a piece of the reader's"}]

    def finalize(self):
        text = "".join(self.chunks)
        thinks = opens_thought(self.format, self.prefix, text)
        tools = [tool["function"] for tool in self.tools or []] or any_word(text)
        pieces = sum(read(self.format, tools, self.chunks, in_thought=thinks), [])
        message = {"role": "assistant"}
        for key, kind in [("thinking", "thought"), ("content", "text")]:
            said = "".join(piece.get(kind, "") for piece in pieces).strip()
            if said:
                message[key] = said
        calls = []
        for piece in pieces:
            if "call" in piece:
                calls.append({"type": "function", "function": {"name": piece["call"], "arguments": ""}})
            elif "input" in piece:
                calls[-1]["function"]["arguments"] += piece["input"]
        for call in calls:
            call["function"]["arguments"] = parsed(call["function"]["arguments"])
        if calls:
            message["tool_calls"] = calls
        return message, []


def parse_response(response, template, prefix=None, tools=None, **_):
    parser = ResponseParser(template, prefix, tools)
    parser.feed(response)
    return parser.finalize()[0]


class ChatTokenizer(stand_ins.Tokenizer):
    """A tokenizer with a template for answers."""

    def __call__(self, text, return_tensors=None, **_):
        ids = self.encode(text)
        return stand_ins.record("Encoding")(input_ids=[ids] if return_tensors else ids)

    def get_response_parser(self, **given):
        return ResponseParser(self.response_template, **given)

    def parse_response(self, response, schema=None, prefix=None, **given):
        template = schema or self.response_template
        template = {key: value for key, value in template.items() if key != "version"}
        if isinstance(response, list) and response and not isinstance(response[0], int):
            prefixes = prefix if isinstance(prefix, list) else [prefix] * len(response)
            if len(prefixes) != len(response):
                raise ValueError("as many prefixes as answers")
            both = zip(response, prefixes)
            return [self.parse_response(one, template, own, **given) for one, own in both]
        text, prefix = (self.decode(one) if isinstance(one, list) else one for one in (response, prefix))
        return parse_response(text, template, prefix, **given)


KNOWN = {"ResponseParser": ResponseParser, "parse_response": parse_response, "AutoTokenizer": ChatTokenizer}


def row(test):
    return test.partition("::")[2].partition("::")[0].removesuffix("Test")


stand_ins.install(["transformers", "torch"], lambda module, name: KNOWN.get(name))
RESULTS = stand_ins.Results(row)


def pytest_runtest_logreport(report):
    RESULTS.add(report)


def pytest_sessionfinish():
    RESULTS.table()
