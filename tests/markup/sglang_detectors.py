"""Runs the tests that SGLang has for its tool call detectors against the reader of crates/core/src/markup.

A plugin for pytest: modules of SGLang are stand-ins; a detector is one that asks the reader. The tests themselves are
not touched. Thoughts go back into the text (those detectors leave them there), and texts are compared without blanks
at their ends (blanks around calls are layout to the reader). Where SGLang's own detector gives each call of a stream
whole, so does its stand-in.
"""

import os
import unittest

import pytest
import stand_ins
from reader import Text, any_word, parsed, read, shown, with_thoughts
from stand_ins import Tokenizer, record

# A detector, and the name under which SGLang has it, and the format.
FORMATS = {
    "DeepSeekV3Detector": ("deepseekv3", "deepseek-v3"),
    "DeepSeekV31Detector": ("deepseekv31", "deepseek-v3.1"),
    "DeepSeekV32Detector": ("deepseekv32", "deepseek-v3.2"),
    "DeepSeekV4Detector": ("deepseekv4", "deepseek-v4"),
    "Gemma4Detector": ("gemma4", "gemma4"),
    "GigaChat3Detector": ("gigachat3", "gigachat3"),
    "Glm4MoeDetector": ("glm45", "glm-4.5"),
    "Glm47MoeDetector": ("glm47", "glm-4.7"),
    "GptOssDetector": ("gpt-oss", "harmony"),
    "HermesDetector": ("hermes", "hermes"),
    "HunyuanDetector": ("hunyuan", "hunyuan-3"),
    "InklingDetector": ("inkling", "inkling"),
    "JsonArrayParser": ("json_array", "xlam"),
    "KimiK2Detector": ("kimi_k2", "kimi-k2"),
    "KimiK3Detector": ("kimi_k3", "kimi-k3"),
    "Lfm2Detector": ("lfm2", "lfm2"),
    "Llama32Detector": ("llama3", "llama3-json"),
    "MiniCPM5Detector": ("minicpm5", "minicpm5"),
    "MinimaxM3Detector": ("minimax-m3", "minimax-m3"),
    "MistralDetector": ("mistral", "mistral"),
    "MuseGlimmerDetector": ("muse", "muse-glimmer"),
    "PoolsideV1Detector": ("poolside_v1", "glm-4.5"),
    "PythonicDetector": ("pythonic", "pythonic"),
    "Qwen25Detector": ("qwen25", "hermes"),
    "Qwen3CoderDetector": ("qwen3_coder", "qwen3-coder"),
    # What SGLang's detectors of JSON between tokens are made of.
    "BaseFormatDetector": ("base", "hermes"),
}
# Detectors that give the calls of a stream whole.
WHOLE = {
    "Gemma4Detector", "InklingDetector", "KimiK3Detector", "Lfm2Detector", "MiniCPM5Detector",
    "MuseGlimmerDetector", "PythonicDetector",
}
# Detectors that give the text of thoughts without the tokens around it.
BARE = {"MuseGlimmerDetector"}
KNOWN_FORMATS = {
    name.removesuffix(".toml")
    for name in os.listdir(os.path.join(os.path.dirname(__file__), "../../rules/markup"))
}

Item = record("ToolCallItem", parameters="")
Result = record("StreamingParseResult", normal_text="", calls=list)


class Detector:
    """A detector of SGLang's, of which the reader does the work."""

    format = None

    def __init__(self, *_, **__):
        self.chunks = []
        self.calls = []
        self.state = {}
        self.given = 0
        self.items = {}
        self.current_tool_id = -1
        self.prev_tool_call_arr = []
        self.streamed_args_for_tool = []

    def read(self, tools, chunks):
        if self.format not in KNOWN_FORMATS:
            pytest.fail(f"there is no format for {type(self).__name__}")
        return read(self.format, list(shown(tools)), chunks)

    def has_tool_call(self, text):
        if self.format not in KNOWN_FORMATS:
            pytest.fail(f"there is no format for {type(self).__name__}")
        steps = read(self.format, any_word(text), [text])
        return any("call" in piece for step in steps for piece in step)

    def result(self, pieces, state):
        """The text of these pieces, and an item for each call of which they tell something."""
        items = {}
        for piece in pieces:
            if "call" in piece:
                self.calls.append(piece["call"])
                at = len(self.calls) - 1
                items[at] = Item(tool_index=at, name=piece["call"])
                self.prev_tool_call_arr.append({"name": piece["call"], "arguments": {}})
                self.streamed_args_for_tool.append("")
                self.current_tool_id = at
            elif "input" in piece:
                at = len(self.calls) - 1
                items.setdefault(at, Item(tool_index=at)).parameters += piece["input"]
                self.streamed_args_for_tool[at] += piece["input"]
                self.prev_tool_call_arr[at]["arguments"] = parsed(self.streamed_args_for_tool[at])
        tokens = ("", "") if type(self).__name__ in BARE else None
        text = with_thoughts(self.format, pieces, state, tokens)
        return Result(normal_text=Text(text), calls=list(items.values()))

    def streamed(self, pieces):
        result = self.result(pieces, self.state)
        if type(self).__name__ not in WHOLE:
            return result
        for item in result.calls:
            known = self.items.setdefault(item.tool_index, item)
            known.parameters += item.parameters if known is not item else ""
        ended = self.given + sum("end" in piece for piece in pieces)
        result.calls = [self.items[at] for at in range(self.given, ended)]
        self.given = ended
        return result

    def detect_and_parse(self, text, tools):
        self.calls = []
        return self.result(sum(self.read(tools, [text]), []), {})

    def parse_streaming_increment(self, new_text, tools):
        self.chunks.append(new_text)
        return self.streamed(self.read(tools, self.chunks)[len(self.chunks) - 1])

    def finish(self, tools):
        return self.streamed(self.read(tools, self.chunks)[-1])

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None


def detector(name):
    format = FORMATS.get(name, (name, None))[1]
    return type(name, (Detector,), {"format": format})


DETECTORS = {name: detector(name) for name in FORMATS}


class FunctionCallParser:
    """What SGLang puts before its detectors."""

    def __init__(self, tools, tool_call_parser, **_):
        names = {short: name for name, (short, _) in FORMATS.items()}
        self.tools = tools
        self.detector = DETECTORS[names[tool_call_parser]]()

    def has_tool_call(self, text):
        return self.detector.has_tool_call(text)

    def parse_non_stream(self, full_text):
        result = self.detector.detect_and_parse(full_text, self.tools)
        return result.normal_text, result.calls

    def parse_stream_chunk(self, chunk_text):
        result = self.detector.parse_streaming_increment(chunk_text, self.tools)
        return result.normal_text, result.calls


KNOWN = {
    "CustomTestCase": unittest.TestCase, "FunctionCallParser": FunctionCallParser,
    "StreamingParseResult": Result, "ToolCallItem": Item,
    "get_tokenizer": Tokenizer.from_pretrained, "Tool": record("Tool", type="function"), "Function": record("Function"),
}


def known(module, name):
    """What a name of a module is."""
    if ".srt.function_call" in module and name in DETECTORS:
        return DETECTORS[name]
    path = os.path.join("python", *module.split(".")) + ".py"
    return stand_ins.constants(path).get(name, KNOWN.get(name))


def row(test):
    """The detector that a file or a class is named for."""
    file, _, rest = test.partition("::")
    name = file.rpartition("/")[2].removeprefix("test_").removesuffix(".py")
    if name == "function_call_parser" and rest:
        name = rest.partition("::")[0].removeprefix("Test")
    return name.removesuffix("Detector").removesuffix("_detector").lower()


stand_ins.install(["sglang", "xgrammar", "torch", "transformers"], known)
RESULTS = stand_ins.Results(row)


def pytest_runtest_logreport(report):
    RESULTS.add(report)


def pytest_sessionfinish():
    RESULTS.table()
