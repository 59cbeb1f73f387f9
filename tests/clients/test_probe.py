"""What isogloss finds out about each scripted server, and what it then does.

The servers honour and ignore what the recorded ones do, so each verdict is a recording's.
"""

from __future__ import annotations

import json
import subprocess
import time
from typing import Any

import httpx
import pytest

from dialect_vllm import VllmNew
from helpers import IN_PARIS, WEATHER, arguments, create
from model import PROSE, Turn
from scripted import ScriptedServer

# The demands of which the rule leaves the enforcement to the server.
VLLM = {"json_schema", "json_object", "regex", "choice", "grammar:gbnf", "grammar:lark", "structural_tag", "compose"}
HONOURED = {
    "vllm-new": VLLM,
    # Before 0.32 Lark is sent as GBNF.
    "vllm-old": (VLLM | {"auto"}) - {"grammar:lark"},
    "sglang": {"json_schema", "json_object", "regex", "grammar:gbnf", "structural_tag", "auto", "compose"},
    "llama-cpp": {"json_schema", "json_object", "grammar:gbnf", "auto", "required", "named", "compose"},
    "plain": set(),
}
WHOLE = 16  # Requests at most, each of at most 64 tokens.


# What the model wants to say where it is made to call: the probe's own tool.
PROBED = Turn(values={"zqx17": "vbk42"}, calls=("zqx17",))


def probe(binary: Any, url: str, *arguments: str) -> dict[str, Any]:
    """`isogloss probe --json`."""
    command = [str(binary), "probe", url, "--json", *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return json.loads(ran.stdout)


def verdicts(report: dict[str, Any]) -> dict[str, set[str]]:
    """The verdicts on each demand, over spellings and streams."""
    found: dict[str, set[str]] = {}
    for finding in report["findings"]:
        found.setdefault(finding["demand"], set()).add(finding["verdict"])
    return found


def enforced_ones(found: dict[str, set[str]]) -> set[str]:
    return {demand for demand, words in found.items() if words == {"enforced"} and demand != "show_tools"}


@pytest.mark.parametrize("depth", ["--light", "--full"])
def test_what_a_server_honours_is_enforced(server: ScriptedServer, binary: Any, depth: str) -> None:
    if server.name not in HONOURED:
        pytest.skip("a variant of another server")
    server.reset(PROBED)
    told = probe(binary, server.url, depth)
    assert told["probe"]["ended"] is None
    # Launched without a tool parser, a new vLLM refuses to choose by itself.
    chooses = {"auto"} if isinstance(server, VllmNew) and server.parser else set()
    assert enforced_ones(verdicts(told["probe"])) == HONOURED[server.name] | chooses, told["probe"]
    if depth == "--light":
        assert len(server.bodies()) == told["probe"]["requests"] <= WHOLE
    assert all(body["max_tokens"] <= 64 and body["temperature"] == 0 for body in server.bodies())


def test_tools_reach_the_prompt_beside_a_constraint(server: ScriptedServer, binary: Any) -> None:
    if not HONOURED.get(server.name):
        pytest.skip("a server without words, or a variant of another")
    server.reset(PROBED)
    assert verdicts(probe(binary, server.url, "--light")["probe"])["show_tools"] == {"enforced"}


def probed(stack: Any) -> dict[str, Any]:
    """What `/capabilities` says of the upstream, once it has been asked."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        upstream = httpx.get(f"{stack.admin_url}/capabilities").raise_for_status().json()["upstreams"][0]
        if upstream["probe"] is not None:
            return upstream
        time.sleep(0.05)
    raise AssertionError(f"the upstream was not asked\n{stack.tail()}")


def test_a_wrong_pin_is_found_out_and_traffic_goes_another_way(stacks: Any) -> None:
    """vLLM 0.32.0 taken for 0.10.2: `guided_*` is ignored there, with status 200."""
    server = VllmNew()
    server.reads_prompt = True
    stack = stacks.start("vllm-new", "--dialect", "vllm@0.10.2", server=server, probe="light")
    try:
        upstream = probed(stack)
        found = verdicts(upstream["probe"])
        for demand in ("regex", "choice", "grammar:gbnf"):
            assert found[demand] == {"ignored"}, found
            assert upstream["strategies"]["constraint"][demand] == "instruct"
        # `response_format` is honoured by every version, `guided_json` is not.
        assert found["json_schema"] == {"enforced", "ignored"}
        assert found["json_object"] == {"enforced"}
        assert upstream["strategies"]["tool_choice"]["required"] == "instruct"
        series = 'isogloss_probe_results{upstream="0",demand="regex",verdict="ignored"}'
        assert stack.metrics()[series] == 1
        stack.server.reset(IN_PARIS)
        reply = create(stack, tools=[WEATHER], tool_choice="required")
        call = reply.choices[0].message.tool_calls[0]
        assert arguments(call) == {"city": "Paris", "unit": "celsius"}
        assert "guided_json" not in stack.server.bodies()[-1]
    finally:
        assert stack.stop() == 0


def test_a_right_pin_changes_nothing(stacks: Any) -> None:
    stack = stacks.start("sglang", probe="full")
    try:
        upstream = probed(stack)
        # The model that is asked says prose: left to choose, it makes no call.
        assert enforced_ones(verdicts(upstream["probe"])) == HONOURED["sglang"] - {"auto"}
        assert upstream["strategies"]["constraint"]["regex"] == "native"
        assert upstream["strategies"]["tool_choice"]["required"] == "tags"
        stack.server.reset()
        assert create(stack).choices[0].message.content == PROSE
    finally:
        assert stack.stop() == 0
