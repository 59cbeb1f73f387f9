"""Codex's own demands in one request: tools, a patch by a Lark grammar, and a report that has a schema."""

from __future__ import annotations

import json

import pages
from cases import PATCH, REPORT, SOCKETS, Case, Runs, cases
from programs import PAGE, PROGRAMS, Done
from standins import calls, results


def no_end(text: str) -> str:
    """A patch without its last line: codex's grammar knows no such."""
    return text.replace("\\n*** End Patch", "")


def other_report(text: str) -> str:
    return text.replace('"files"', '"paths"') if '"done"' in text else text


PATCHES = [Case("codex", standin, patches=True) for standin in ("vllm", "ollama", "ollama-native", "plain")]
WRONG_PATCH = [Case("codex", standin, 1, no_end, patches=True) for standin in ("vllm", "plain")]
NEVER_RIGHT = [Case("codex", "vllm", 1000, no_end, patches=True)]
WRONG_REPORT = [Case("codex", "ollama", 1000, other_report, patches=True)]


BY_SOCKET = [Case("codex", standin, patches=True, by_socket=True) for standin in ("vllm", "plain")]


def patched(done: Done) -> None:
    assert done.code == 0, str(done)
    assert done.note() == "made by a patch\n", str(done)
    assert json.loads(done.out) == REPORT
    # The call went back as codex made it: its text, and what codex said of it.
    messages = done.server.bodies()[-1]["messages"]
    (said,) = [text for text in results(messages) if "Success" in text]
    (call,) = [call for message in messages for call in calls(message)]
    assert call.values in ({"input": PATCH}, PATCH)
    assert "note.txt" in said


@cases(PATCHES)
def test_a_patch_is_applied_and_the_report_keeps_to_its_schema(case: Case, runs: Runs) -> None:
    done = runs.of(case)
    patched(done)
    assert not done.server.crashes, str(done)
    # Ollama's model does not think, which is said once.
    assert len(done.server.refusals) == ("ollama" in case.standin), str(done)
    asked = done.server.bodies()[-1]
    if case.standin == "vllm":
        assert {"answer"} in [set(branch["properties"]) for branch in asked["structured_outputs"]["json"]["anyOf"]]
    elif "ollama" in case.standin:
        assert asked["response_format"]["json_schema"]["schema"]["anyOf"]
    else:
        assert not {"tools", "response_format", "structured_outputs"} & set(asked)


@cases(BY_SOCKET)
def test_it_works_as_well_over_the_websocket(case: Case, runs: Runs) -> None:
    done = runs.of(case)
    patched(done)
    assert not done.server.crashes, str(done)
    assert done.server.sockets and all(done.server.sockets), str(done)
    assert SOCKETS in pages.read(PAGE)


@cases(WRONG_PATCH)
def test_a_patch_against_the_grammar_is_never_applied(case: Case, runs: Runs) -> None:
    """It is asked for again, by codex or before codex hears of it."""
    done = runs.of(case)
    patched(done)
    assert len(done.server.requests) > 2


@cases(NEVER_RIGHT)
def test_a_patch_that_stays_wrong_is_an_error(case: Case, runs: Runs) -> None:
    done = runs.of(case)
    assert done.note() is None and done.code != 0, str(done)
    assert "breaks what the request asks for" in done.err and "grammar" in done.err, str(done)


@cases(WRONG_REPORT)
def test_a_report_against_its_schema_is_never_delivered(case: Case, runs: Runs) -> None:
    done = runs.of(case)
    assert "paths" not in done.out and done.code != 0, str(done)
    assert "breaks what the request asks for" in done.err, str(done)
    assert done.note() == "made by a patch\n"


def test_the_pages_schema_is_the_reports() -> None:
    schema = json.loads(PROGRAMS["codex"].files()["report.json"])
    assert set(schema["required"]) == set(REPORT) and schema["additionalProperties"] is False
