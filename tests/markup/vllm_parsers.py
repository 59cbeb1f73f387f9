"""Runs the tests that vLLM has for its tool parsers against the reader of crates/core/src/markup.

A plugin for pytest: modules of vLLM, and of what its tests import beside it, are stand-ins; a
parser is one that asks the reader. The tests themselves are not touched. Where a test shows its
parser no tools, every word of the text is the name of one, since those parsers take any name.
Thoughts go back into the text (those parsers leave them there), and texts are compared without
blanks at their ends (blanks around calls are layout to the reader).
"""

import json
import types

import stand_ins
from reader import Text, any_word, parsed, read, shown, with_thoughts
from stand_ins import Tokenizer, Vocabulary, record

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
FunctionCall = record("FunctionCall")
DeltaFunctionCall = record("DeltaFunctionCall")
ToolCall = record("ToolCall", type="function")
DeltaToolCall = record("DeltaToolCall", type=None)
DeltaMessage = record("DeltaMessage", tool_calls=list)
Extracted = record("ExtractedToolCallInformation", tool_calls=list, tools_called=False)


def detokenize_incrementally(tokenizer, all_input_ids, *_, **__):
    return [], tokenizer.decode(all_input_ids[-1:]), 0, 0


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
        return any_word(text, shown(tools) if isinstance(tools, (list, tuple)) else ())

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
        content = with_thoughts(self.format, pieces, {})
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
        content = with_thoughts(self.format, steps[len(self.chunks) - 1], self.state)
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


def known(module, name):
    """What a name of a module is."""
    module = module.rpartition(".")
    found = CONSTANTS.get(module[2], {}).get(name, KNOWN.get(name))
    if found is None and name.endswith("Parser") and "tool_parsers" in module[0]:
        found = parser(module[2].removesuffix("_tool_parser"))
    return found


def row(test):
    file = test.partition("::")[0].rpartition("/")[2]
    return file.removeprefix("test_").removesuffix("_tool_parser.py").removesuffix("_moe").removesuffix(".py")


ROOTS = ["vllm", "transformers", "openai", "xgrammar", "partial_json_parser", "mistral_common",
         "torch", "openai_harmony"]
stand_ins.install(ROOTS, known)
RESULTS = stand_ins.Results(row)


def pytest_runtest_logreport(report):
    RESULTS.add(report)


def pytest_sessionfinish():
    RESULTS.table()
