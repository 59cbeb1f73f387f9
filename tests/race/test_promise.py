"""The scoreboard's judge against replies that are honest and replies that lie, and its gateways against scripted ones."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches" / "race"))

import promise  # noqa: E402
import table  # noqa: E402
from asking import ABSENT, CUT, ERROR, KEPT, LOST, REFUSED, Gateway, ask, of_error, of_success  # noqa: E402
from demands import Demand, every  # noqa: E402
from replies import Said  # noqa: E402
from servers import SERVERS  # noqa: E402

MODEL = "bench"
DEMANDS = {demand.name: demand for demand in every()}
# A right answer to some of each kind.
RIGHT: dict[str, Said] = {
    "schema: pattern": Said('{"code": "ABC-1234"}'),
    "schema: array at the root": Said('[{"id": 1, "status": "open"}]'),
    "schema: if then": Said('{"kind": "sale", "price": 3}'),
    "json_object": Said("{}"),
    "tools: required": Said(calls=[("plan", '{"city": "Oslo", "days": 3}')]),
    "tools: one call at most": Said(calls=[("plan", '{"city": "Oslo", "days": 3}')]),
    "tools: none": Said("Hello."),
    "tools: auto beside a schema": Said('{"id": 1, "status": "open"}'),
    "tools: custom, Lark": Said(calls=[("number", "[42]")]),
    "words: structured_outputs choice": Said("red"),
}


def chat(said: Said, finish: str = "stop") -> bytes:
    calls = [{"type": "function", "function": {"name": name, "arguments": text}} for name, text in said.calls]
    message = {"role": "assistant", "content": said.text, "tool_calls": calls}
    return json.dumps({"choices": [{"message": message, "finish_reason": finish}]}).encode()


def lie_of(demand: Demand) -> Said:
    if isinstance(demand.lie, str):
        return Said(demand.lie)
    return Said(calls=[(name, json.dumps(values)) for name, values in demand.lie])


def test_there_are_sixty_demands_of_different_names() -> None:
    assert len(every()) == len(DEMANDS) == 60


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_reply_is_kept(name: str) -> None:
    assert DEMANDS[name].judge(RIGHT[name]) is None


@pytest.mark.parametrize("name", DEMANDS)
def test_each_lie_is_seen(name: str) -> None:
    assert DEMANDS[name].judge(lie_of(DEMANDS[name])) is not None


def test_a_success_that_is_not_what_was_asked_for_is_lost_and_a_cut_one_is_cut() -> None:
    demand = DEMANDS["schema: pattern"]
    assert of_success(demand, chat(RIGHT[demand.name])).kind == KEPT
    assert of_success(demand, chat(lie_of(demand))).kind == LOST
    assert of_success(demand, chat(lie_of(demand), "length")).kind == CUT
    assert of_success(demand, b"<html>").kind == ERROR


def test_an_error_is_a_refusal_only_where_it_says_what_it_refuses() -> None:
    demand = DEMANDS["tools: required"]
    assert of_error(demand, 400, b'{"error": {"message": "tool_choice is not supported"}}').kind == REFUSED
    assert of_error(demand, 500, b"Internal Server Error").kind == ERROR
    assert of_error(demand, 404, b"{}").kind == ABSENT


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    made = SERVERS[request.param](every(), MODEL)
    yield request.param, made.url
    made.close()


def test_the_scripted_servers_do_as_they_are_called(server: tuple[str, str]) -> None:
    kind, url = server
    found = promise.survey(Gateway(f"{url}/v1", MODEL), every())
    counts = table.counted(found)
    if kind == "ignorant":  # Whoever only forwards loses everything on the one route that it knows.
        assert counts == {LOST: 50, ABSENT: 10}
    else:
        assert found["schema: pattern"][0] == found["tools: required"][0] == KEPT
        assert found["words: guided_json"][0] == LOST


@pytest.mark.skipif("ISOGLOSS_BIN" not in os.environ, reason="ISOGLOSS_BIN names no binary")
def test_isogloss_loses_nothing(server: tuple[str, str]) -> None:
    kind, url = server
    with promise.isogloss(os.environ["ISOGLOSS_BIN"], url) as ours:
        found = {demand.name: ask(ours, demand) for demand in every()}
    assert {name: outcome.why for name, outcome in found.items() if outcome.kind not in (KEPT, REFUSED)} == {}
    kept = sum(outcome.kind == KEPT for outcome in found.values())
    assert kept == 0 if kind == "ignorant" else kept >= 50


def test_the_table_counts_what_was_found(tmp_path: Path) -> None:
    good, bad, no = [KEPT, ""], [LOST, "it is no JSON"], [REFUSED, "400"]
    rows = [
        {
            "name": "isogloss",
            "version": "1",
            "before": {"obedient": {"a": good, "b": no}, "ignorant": {"a": no, "b": no}},
        },
        {
            "name": "other",
            "version": "2",
            "before": {"obedient": {"a": good, "b": bad}, "ignorant": {"a": bad, "b": bad}},
        },
        {"name": "third", "version": "", "before": {}, "missing": "no such package"},
    ]
    report = {"date": "2026-11-24", "demands": ["a", "b"], "gateways": rows, "servers": []}
    page = tmp_path / "page.md"
    page.write_text(f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n")
    table.write(report, page)
    text = page.read_text()
    assert "| isogloss | 1 | 1 | 1 | 1 | 0 | 0 | 0 | 0 |" in text
    assert "| other | 2 | 1 | 0 | 0 | 0 | 0 | 1 | 2 |" in text
    assert "| third |  | not measured: no such package |" in text
    assert "| `b` | refused | **lost** |" in text
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert table.lost_by(report, "isogloss") == []
    assert table.lost_by(report, "other") == ["b", "a", "b"]
