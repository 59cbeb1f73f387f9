"""Runs the tests that vLLM has for its tool parsers against the reader of crates/core/src/markup.

A plugin for pytest: modules of vLLM, and of what its tests import beside it, are stand-ins; a
parser is one that asks the reader. The tests themselves are not touched. Where a test shows its
parser no tools, every word of the text is the name of one, since those parsers take any name.
Thoughts go back into the text (those parsers leave them there), and texts are compared without
blanks at their ends (blanks around calls are layout to the reader).
"""

import collections
import importlib.abc
import importlib.machinery
import json
import os
import re
import subprocess
import sys
import types

# A parser's module, or the name under which vLLM has it, and the format.
FORMATS = {
    "hermes": "hermes", "longcat": "longcat", "granite": "granite", "granite4": "hermes",
    "granite_20b_fc": "granite-20b", "granite-20b-fc": "granite-20b", "internlm2": "internlm2",
    "internlm": "internlm2", "phi4mini": "phi-4-mini", "phi4_mini_json": "phi-4-mini",
    "llama": "llama3-json", "llama3_json": "llama3-json", "llama4_pythonic": "pythonic",
    "pythonic": "pythonic", "olmo3": "olmo3", "lfm2": "lfm2", "mistral": "mistral",
    "deepseekv3": "deepseek-v3", "deepseek_v3": "deepseek-v3", "deepseekv31": "deepseek-v3.1",
    "deepseek_v31": "deepseek-v3.1", "deepseekv32": "deepseek-v3.2",
    "deepseekv32_engine": "deepseek-v3.2", "deepseekv4": "deepseek-v4",
    "deepseekv4_engine": "deepseek-v4", "qwen3coder": "qwen3-coder", "qwen3_engine": "qwen3-coder",
    "qwen3_coder": "qwen3-coder", "qwen3_xml": "qwen3-coder", "step3p5": "qwen3-coder",
    "step3": "step3", "glm4_moe": "glm-4.5", "glm45": "glm-4.5", "glm47_moe": "glm-4.7",
    "glm47": "glm-4.7", "kimi_k2": "kimi-k2", "minimax_m2": "minimax-m2", "gemma4": "gemma4",
    "gemma4_engine": "gemma4", "functiongemma": "functiongemma", "xlam": "xlam",
    "ernie45": "ernie-4.5", "hunyuan_a13b": "hunyuan", "jamba": "jamba", "apertus": "apertus",
    "seed_oss": "seed-oss", "openai": "harmony", "gigachat3": "gigachat3", "granite_engine": "granite",
}
THINK = {"gemma4": ("<|channel>thought", "<channel|>"), "seed-oss": ("<seed:think>", "</seed:think>")}

READER = subprocess.Popen(
    [os.environ["MARKUP_READER"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
)


def read(format, tools, chunks):
    """The pieces of each chunk, and of the end."""
    line = json.dumps({"format": format, "tools": tools, "chunks": chunks})
    READER.stdin.write(line + "\n")
    READER.stdin.flush()
    return json.loads(READER.stdout.readline())


class Text(str):
    """Text of which blanks at the ends do not count."""

    def __eq__(self, other):
        return isinstance(other, str) and self.strip() == other.strip()

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__


class Record:
    """A stand-in for a class of values: what it is given, and None for what it is not."""

    DEFAULTS = {}

    def __init__(self, *args, **fields):
        for key, value in self.DEFAULTS.items():
            setattr(self, key, value() if callable(value) else value)
        self.__dict__.update(fields)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None

    def __eq__(self, other):
        mine, other = dict(vars(self)), dict(getattr(other, "__dict__", {}))
        for ids in (mine, other):
            ids.pop("id", None)
        return mine == other

    def model_dump(self, **_):
        return dict(vars(self))


def record(name, **defaults):
    return type(name, (Record,), {"DEFAULTS": defaults})


FunctionCall = record("FunctionCall")
DeltaFunctionCall = record("DeltaFunctionCall")
ToolCall = record("ToolCall", type="function")
DeltaToolCall = record("DeltaToolCall", type=None)
DeltaMessage = record("DeltaMessage", tool_calls=list)
Extracted = record("ExtractedToolCallInformation", tool_calls=list, tools_called=False)


class Vocabulary(dict):
    """Every token is in it."""

    def __contains__(self, _):
        return True

    def get(self, token, _=None):
        return self.setdefault(token, len(self) + 1)

    __missing__ = get


class Tokenizer:
    """Pieces of up to four characters; special tokens are one each."""

    is_fast = True

    def __init__(self, *_, **__):
        self.words = []
        self.ids = {}

    @classmethod
    def from_pretrained(cls, *_, **__):
        return cls()

    def tokenize(self, text):
        return re.findall(r"<[^<>\s]{1,40}>|\[[A-Z_]+\]|\w{1,4}|\W", text)

    def encode(self, text, **_):
        return [self.ids.setdefault(word, self._new(word)) for word in self.tokenize(text)]

    def _new(self, word):
        if word not in self.ids:
            self.words.append(word)
            return len(self.words) - 1
        return self.ids[word]

    def decode(self, ids, **_):
        ids = [ids] if isinstance(ids, int) else ids
        return "".join(self.words[at] for at in ids)

    def convert_ids_to_tokens(self, ids, **_):
        return [self.words[at] for at in ids]

    def get_vocab(self):
        return Vocabulary()

    def add_tokens(self, *_, **__):
        return 0

    def get_added_vocab(self):
        return {}


def detokenize_incrementally(tokenizer, all_input_ids, *_, **__):
    return [], tokenizer.decode(all_input_ids[-1:]), 0, 0


def shown(tools):
    """Tools as the reader takes them, whatever their classes are."""
    for tool in tools or []:
        tool = tool if isinstance(tool, dict) else vars(tool)
        tool = tool.get("function", tool)
        tool = tool if isinstance(tool, dict) else vars(tool)
        yield {"name": tool.get("name"), "parameters": tool.get("parameters")}


class Parser:
    """A tool parser of vLLM's, of which the reader does the work."""

    format = None

    def __init__(self, tokenizer=None, tools=None, **_):
        self.model_tokenizer = tokenizer
        self.tools = tools
        self.vocab = Vocabulary()
        self.chunks = []
        self.prev_tool_call_arr = []
        self.streamed_args_for_tool = []

    def shown(self, text, request):
        tools = self.tools or getattr(request, "tools", None)
        tools = list(shown(tools)) if isinstance(tools, (list, tuple)) else []
        known = {tool["name"] for tool in tools}
        words = set(re.findall(r"[\w.\-/]+", text)) - known
        words |= {word.removeprefix("functions.") for word in words} - known
        # A name may be yet to come.
        return tools + [{"name": word} for word in sorted(words | {"a name to come"})]

    def text(self, pieces, state):
        begin, end = THINK.get(self.format, ("<think>", "</think>"))
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

    def extract_tool_calls(self, model_output, request=None, **_):
        steps = read(self.format, self.shown(model_output, request), [model_output])
        pieces = sum(steps, [])
        calls = []
        for piece in pieces:
            if "call" in piece:
                function = FunctionCall(name=piece["call"], arguments="")
                calls.append(ToolCall(id=piece["id"] or f"call_{len(calls):020}", function=function))
            elif "input" in piece:
                calls[-1].function.arguments += piece["input"]
        self.prev_tool_call_arr = [
            {"name": call.function.name, "arguments": parsed(call.function.arguments)}
            for call in calls
        ]
        content = self.text(pieces, {})
        content = Text(content) if content.strip() or not calls else None
        return Extracted(tools_called=bool(calls), tool_calls=calls, content=content)

    def extract_tool_calls_streaming(
        self, previous_text="", current_text="", delta_text="", *_, request=None, **__
    ):
        if current_text == delta_text:
            self.chunks, self.state = [], {}
        self.chunks.append(delta_text)
        steps = read(self.format, self.shown(current_text, request), self.chunks)
        before = sum("call" in piece for step in steps[: len(self.chunks) - 1] for piece in step)
        calls = {}
        at = before - 1
        for piece in steps[len(self.chunks) - 1]:
            if "call" in piece:
                at += 1
                self.prev_tool_call_arr.append({"name": piece["call"], "arguments": {}})
                self.streamed_args_for_tool.append("")
                calls[at] = DeltaToolCall(
                    index=at, id=piece["id"] or f"call_{at:020}", type="function",
                    function=DeltaFunctionCall(name=piece["call"], arguments=""),
                )
            elif "input" in piece:
                empty = DeltaToolCall(index=at, function=DeltaFunctionCall(arguments=""))
                calls.setdefault(at, empty).function.arguments += piece["input"]
                self.streamed_args_for_tool[at] += piece["input"]
                self.prev_tool_call_arr[at]["arguments"] = parsed(self.streamed_args_for_tool[at])
        content = self.text(steps[len(self.chunks) - 1], self.state)
        if not content and not calls:
            return None
        message = DeltaMessage(tool_calls=list(calls.values()))
        message.content = Text(content) if content else None
        return message

    def adjust_request(self, request):
        return request

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None


def parsed(text):
    try:
        return json.loads(text)
    except ValueError:
        return {}


def parser(name):
    format = FORMATS.get(name)
    if format is None:
        raise ImportError(f"no format for {name}")
    return type(f"Parser_{name}", (Parser,), {"format": format})


KNOWN = {
    "FunctionCall": FunctionCall, "DeltaFunctionCall": DeltaFunctionCall, "ToolCall": ToolCall,
    "DeltaToolCall": DeltaToolCall, "DeltaMessage": DeltaMessage,
    "ExtractedToolCallInformation": Extracted, "AutoTokenizer": Tokenizer, "ToolParser": Parser,
    "TokenizerLike": Tokenizer, "get_tokenizer": Tokenizer.from_pretrained,
    "detokenize_incrementally": detokenize_incrementally,
    "ToolParserManager": types.SimpleNamespace(get_tool_parser=parser),
}


CONSTANTS = {
    "gemma4": {"TOOL_CALL_START": "<|tool_call>", "TOOL_CALL_END": "<tool_call|>"},
    "apertus_tool_parser": {
        "TOOL_CALLS_PREFIX": "<|tools_prefix|>", "TOOL_CALLS_SUFFIX": "<|tools_suffix|>",
    },
}


class Stand(types.ModuleType):
    """A module in which every name is something."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        found = KNOWN.get(name)
        module = self.__name__.rpartition(".")[2]
        found = CONSTANTS.get(module, {}).get(name, found)
        if found is None and name.endswith("Parser") and "tool_parsers." in self.__name__:
            found = parser(module.removesuffix("_tool_parser"))
        if found is None:
            found = record(name)
        setattr(self, name, found)
        return found


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    ROOTS = {"vllm", "transformers", "openai", "xgrammar", "partial_json_parser", "mistral_common",
             "torch", "openai_harmony"}

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.ROOTS:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Stand(spec.name)

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, Finder())
RESULTS = collections.defaultdict(list)


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        file = report.nodeid.partition("::")[0].rpartition("/")[2]
        name = file.removeprefix("test_").removesuffix("_tool_parser.py").removesuffix("_moe")
        # What vLLM's own parser is known to fail, and the reader does not.
        is_better = str(report.longrepr).startswith("[XPASS")
        outcome = "passed" if is_better else report.outcome
        RESULTS[name].append((report.nodeid.partition("::")[2], outcome))


def pytest_sessionfinish():
    print("\n\n| tests | cases | passed |\n| --- | --- | --- |")
    for name, results in sorted(RESULTS.items()):
        ran = [outcome for _, outcome in results if outcome != "skipped"]
        print(f"| {name} | {len(ran)} | {ran.count('passed')} |")
    if os.environ.get("MARKUP_DIFFERENCES"):
        for name, results in sorted(RESULTS.items()):
            for test, outcome in results:
                if outcome == "failed":
                    print(f"{name}: {test}")
    READER.stdin.close()
    READER.wait()
