"""The reader of crates/core/src/markup, for the scripts that hold it against others' tests."""

import json
import os
import re
import subprocess

# Formats whose thoughts do not stand between <think> and </think>.
THINK = {
    "gemma4": ("<|channel>thought", "<channel|>"), "seed-oss": ("<seed:think>", "</seed:think>"),
    "kimi-k3": ("<|open|>think<|sep|>", "<|close|>think<|sep|>"), "minimax-m3": ("<mm:think>", "</mm:think>"),
    "muse-glimmer": ("to=self<|message|>", "<|eom|>"), "harmony": ("<|channel|>analysis<|message|>", "<|end|>"),
    "inkling": ("<|content_thinking|>", "<|end_message|>"),
    "apriel": ("Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"),
    "command-r7b": ("<|START_THINKING|>", "<|END_THINKING|>"), "mistral": ("[THINK]", "[/THINK]"),
}

READER = subprocess.Popen(
    [os.environ["MARKUP_READER"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
)


def ask(**asked):
    READER.stdin.write(json.dumps(asked) + "\n")
    READER.stdin.flush()
    return json.loads(READER.stdout.readline())


def read(format, tools, chunks, **asked):
    """The pieces of each chunk, and of the end."""
    return ask(format=format, tools=tools, chunks=chunks, **asked)


def format_of(template):
    """The format that the reader takes a chat template to show; None where it knows none."""
    return ask(template=template)["format"]


def shown(tools):
    """Tools as the reader takes them, whatever their classes are."""
    for tool in tools or []:
        tool = tool if isinstance(tool, dict) else vars(tool)
        tool = tool.get("function", tool)
        tool = tool if isinstance(tool, dict) else vars(tool)
        yield {"name": tool.get("name"), "parameters": tool.get("parameters")}


def any_word(text, tools=()):
    """These tools, and one for every word of the text: what a test means that shows none."""
    tools = list(tools)
    known = {tool["name"] for tool in tools}
    words = set(re.findall(r"[\w.\-/]+", text)) - known
    words |= {word.removeprefix("functions.") for word in words} - known
    # A name may be yet to come.
    return tools + [{"name": word} for word in sorted(words | {"a name to come"})]


def with_thoughts(format, pieces, state, tokens=None):
    """The text of these pieces with the thoughts in it, between their tokens or these."""
    begin, end = tokens or THINK.get(format, ("<think>", "</think>"))
    text = ""
    for piece in pieces:
        if "thought" in piece:
            text += ("" if state.get("thinks") else begin) + piece["thought"]
            state["thinks"] = True
            continue
        if state.pop("thinks", False):
            text += end
        text += piece.get("text", "") + piece.get("unread", "")
    return text


class Text(str):
    """Text of which blanks at the ends do not count."""

    def __eq__(self, other):
        return isinstance(other, str) and self.strip() == other.strip()

    def __ne__(self, other):
        return not self == other

    def __add__(self, other):
        return Text(str.__add__(self, other))

    def __radd__(self, other):
        return Text(str.__add__(other, self))

    __hash__ = str.__hash__


def parsed(text):
    try:
        return json.loads(text)
    except ValueError:
        return {}


def close():
    READER.stdin.close()
    READER.wait()
