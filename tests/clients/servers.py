"""The scripted servers by name: vLLM new and old, SGLang, llama.cpp, a plain one.

Fields, orders, texts and statuses are those of recorded servers (`test_fidelity.py` compares them).
What a real server ignores in silence is ignored here in silence.
"""

from __future__ import annotations

from collections.abc import Callable

from dialect_llama_cpp import LlamaCpp
from dialect_plain import Plain
from dialect_sglang import Sglang
from dialect_vllm import VllmNew, VllmOld
from scripted import ScriptedServer

# By the id that tests show. `vllm-new` runs without a tool parser, as it comes.
SERVERS: dict[str, Callable[[], ScriptedServer]] = {
    "vllm-new": VllmNew,
    "vllm-old": VllmOld,
    "sglang": Sglang,
    "llama-cpp": LlamaCpp,
    "plain": Plain,
    "vllm-new-parser": lambda: VllmNew(parser=True),
}
FIVE = ("vllm-new", "vllm-old", "sglang", "llama-cpp", "plain")
