"""Agent programs, unchanged but for the address: each finishes a task before servers that know nothing of its dialect."""

from __future__ import annotations

import json

from cases import ANSWER, PROOF, WRITES, Case, Runs, cases
from programs import HERE, PROGRAMS, Done
from standins import calls, is_result

# What servers say at first of their launch or their model; the proxy learns of it, and asks in another way.
LEARNT = (
    '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    '"qwen3" does not support thinking',
)


def commas(text: str) -> str:
    """What weak models write: a comma before the brace that closes."""
    return text.replace("}", ",}")


THREE = ("vllm", "ollama", "plain")
# Two send what `transformers serve` answers 422 to.
FINISHES = [Case(program, standin) for program in PROGRAMS for standin in THREE]
FINISHES += [Case("codex", "transformers"), Case("gemini-cli", "transformers")]
FINISHES += [Case(program, "ollama-native") for program in ("claude-code", "codex", "gemini-cli")]
# Where something is out already, the reply ends with an error, after which most agents ask again by themselves.
WRONG_ONCE = [
    Case("claude-code", "plain", slips=1),
    Case("codex", "vllm", slips=1),
    Case("gemini-cli", "plain", slips=1),
    Case("qwen-code", "ollama", slips=1),
]
MENDED = [Case("claude-code", "ollama", 1, commas), Case("codex", "ollama", 1, commas)]
ALWAYS_WRONG = [Case("claude-code", "vllm", slips=1000), Case("opencode-ai", "vllm", slips=1000)]


def finished(done: Done, case: Case) -> None:
    """The tool ran, what it said went back, the answer was told, and all of it went well."""
    assert done.code == 0, str(done)
    assert ANSWER in done.out, str(done)
    assert done.note() == f"{PROOF}\n", str(done)
    assert not done.server.crashes, done.server.crashes[0]
    learnt = [next((fact for fact in LEARNT if json.dumps(fact)[1:-1] in text), text) for text in done.server.refusals]
    # Two requests at once may both be too early.
    assert set(learnt) <= set(LEARNT) and len(learnt) < 4, str(done)
    told = [body["messages"] for body in done.server.bodies() if PROOF in json.dumps(body["messages"][-1])]
    assert told, str(done)
    *_, asked, result = told[0]
    assert (asked["role"], is_result(result)) == ("assistant", True)
    if result["role"] == "tool":
        assert result["tool_call_id"] in [one["id"] for one in asked["tool_calls"]]
    (made,) = calls(asked)
    assert made.name == case.call.name
    assert WRITES in made.values.values(), made


@cases(FINISHES)
def test_it_calls_its_shell_and_answers(case: Case, runs: Runs) -> None:
    done = runs.of(case)
    finished(done, case)
    shown = [body for body in done.server.bodies() if body.get("tools")]
    if case.standin == "vllm":
        # In vLLM's own words, once it is known that it parses no calls.
        assert all("structural_tag" in body["structured_outputs"] for body in shown[1:]), str(done)
    elif "ollama" in case.standin:
        assert shown and not any("response_format" in body for body in shown)
    else:
        assert not shown, "a server that reads no tools was sent some"


@cases(WRONG_ONCE)
def test_wrong_arguments_are_asked_for_again(case: Case, runs: Runs) -> None:
    """The agent never takes them for a call."""
    done = runs.of(case)
    finished(done, case)
    history = json.dumps([body["messages"] for body in done.server.bodies() if PROOF in json.dumps(body["messages"])])
    assert '"order' not in history.replace("\\", ""), str(done)
    asked = [body for body in done.server.bodies() if PROOF not in json.dumps(body["messages"])]
    assert len(asked) - len(done.server.refusals) > 1, f"nothing was asked for again\n{done}"


@cases(MENDED)
def test_what_has_one_meaning_is_mended(case: Case, runs: Runs) -> None:
    done = runs.of(case)
    finished(done, case)
    called = [body for body in done.server.bodies() if body.get("tools") and PROOF not in json.dumps(body["messages"])]
    assert len(called) - len(done.server.refusals) == 1, f"it was asked for again\n{done}"


@cases(ALWAYS_WRONG)
def test_a_call_that_stays_wrong_is_an_error_and_never_runs(case: Case, runs: Runs) -> None:
    done = runs.of(case)
    assert done.note() is None, str(done)
    assert ANSWER not in done.out, str(done)
    assert done.code != 0 and "breaks what the request asks for" in done.out + done.err, str(done)
    assert not done.server.crashes


def test_each_command_of_the_page_is_run() -> None:
    """By the tests above, and those of what is codex's own."""
    for program in PROGRAMS.values():
        has_patches = program.command == "codex"
        assert len(program.commands) == (2 if has_patches else 1)
        assert all(program.command in command for command in program.commands)


def test_the_versions_are_those_of_the_page() -> None:
    pins = json.loads((HERE / "package.json").read_text())["dependencies"]
    for package, version in pins.items():
        program = PROGRAMS[package.rpartition("/")[2]]
        assert f"`npm install -g {package}` ({version})" in program.section
    assert len(pins) == len(PROGRAMS)
