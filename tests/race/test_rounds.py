"""The race's table and picture, of rounds that are written down here."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches" / "race"))

import rounds


def side(name: str, cpu: float | None, p50: float) -> dict[str, Any]:
    return {
        "name": name,
        "added_p50_ms": p50,
        "added_p90_ms": p50 * 1.5,
        "added_p99_ms": p50 * 2,
        "added_first_p50_ms": p50 / 2,
        "cpu_us_per_request": cpu,
        "cpu_us_per_event": None,
        "requests_per_second": 1000.0,
    }


def one(ours: float) -> dict[str, Any]:
    sides = [side("direct", None, 0.0), side("isogloss", ours, 0.1), side("nginx", 20.0, 0.03)]
    memory = [{"name": "isogloss", "rss_idle_bytes": 15 << 20, "rss_after_bytes": 20 << 20}]
    return {"cases": [{"case": "pass-through", "sides": sides}], "memory": memory, "open_streams": []}


def report(is_loaded: bool, *ours: float) -> dict[str, Any]:
    head = {"date": "2026-11-24", "machine": "x86_64, 2 cores", "load_before": 3.0, "is_loaded": is_loaded}
    return {**head, "rounds": [one(cpu) for cpu in ours]}


def test_a_number_is_the_median_of_its_rounds_and_stands_beside_nginx() -> None:
    said = rounds.table(report(False, 30.0, 500.0, 40.0))
    assert "| pass-through | isogloss | 40 | 2.00 | - | 0.100 | 0.150 | 0.200 | 0.050 |" in said
    assert "| pass-through | nginx | 20 | 1.00 |" in said
    assert "direct" not in said
    assert "isogloss, MiB: 15.0 idle, 20.0 after the load\n" in said


def test_a_loaded_machine_is_marked() -> None:
    assert "LOADED" in rounds.table(report(True, 30.0))
    assert "LOADED" not in rounds.table(report(False, 30.0))
    assert "loaded" in rounds.picture(report(True, 30.0))


def test_processors_that_were_kept_awake_are_told() -> None:
    awake = report(False, 30.0) | {"is_awake": True}
    assert "2 cores, kept awake." in rounds.table(awake)
    assert "kept awake" in rounds.picture(awake)
    assert "kept awake" not in rounds.table(report(False, 30.0))


def test_the_picture_has_a_bar_for_each_proxy_as_long_as_its_number() -> None:
    drawn = ElementTree.fromstring(rounds.picture(report(False, 40.0)))
    nginx, ours = (float(bar.attrib["width"]) for bar in drawn.iter("{http://www.w3.org/2000/svg}rect"))
    assert abs(ours / nginx - 2) < 0.01


def test_what_a_gateway_cannot_do_is_said_and_not_measured() -> None:
    told = report(False, 40.0)
    told["rounds"][0]["cases"][0]["sides"].append({"name": "gateway", "failed": "404 Not Found: no such route"})
    told["missing"] = {"other": "pip: no such package"}
    said = rounds.table(told)
    assert "| pass-through | gateway | fails |" in said
    assert "- gateway fails at pass-through: 404 Not Found: no such route" in said
    assert "- other is not measured: pip: no such package" in said
    assert "gateway" not in rounds.picture(told)


def test_a_bar_that_is_far_longer_than_ours_is_cut_and_says_so() -> None:
    told = report(False, 40.0)
    told["rounds"][0]["cases"][0]["sides"].append(side("slow", 7000.0, 9.0))
    drawn = ElementTree.fromstring(rounds.picture(told))
    _, ours, slow = (float(bar.attrib["width"]) for bar in drawn.iter("{http://www.w3.org/2000/svg}rect"))
    assert abs(slow / ours - rounds.LONGEST) < 0.01
    assert "7,000 →" in rounds.picture(told)


def crowded(used: float, gap: float, beside: float) -> dict[str, Any]:
    def streams(name: str, count: int, each_kib: int) -> dict[str, Any]:
        numbers = {"rss_before_bytes": 1 << 20, "rss_open_bytes": (1 << 20) + count * each_kib * 1024}
        return {"name": name, "streams": count, **numbers, "gap_p50_ms": 1000.0, "gap_p99_ms": gap}

    told = one(40.0)
    told["memory"][0]["rss_a_minute_later_bytes"] = 16 << 20
    told["open_streams"] = [
        streams("isogloss", 1000, 23),
        {"name": "slow", "streams": 1000, "failed": "12 of 1000 streams had an event within 30 s"},
        streams("isogloss", 5000, 20),
    ]
    told["saturation"] = [
        {"case": "pass-through", "name": "isogloss", "requests_per_second": 9000.0, "is_at_least": used < 0.9, "p99_ms": 4.0}
    ]
    readers = {"rss_before_bytes": 0, "rss_with_bytes": 64 << 14, "ahead_bytes": 300 << 10}
    told["slow_readers"] = [{"name": "isogloss", **readers, "p99_alone_ms": 0.5, "p99_beside_ms": beside}]
    return told


def test_what_crowds_do_stands_in_tables_of_its_own() -> None:
    told = report(False)
    told["rounds"] = [crowded(0.95, 1001.0, 0.6), crowded(0.95, 1003.0, 0.8), crowded(0.95, 1002.0, 0.7)]
    told["slow_readers"] = 64
    said = rounds.table(told)
    assert "- isogloss, MiB: 15.0 idle, 20.0 after the load, 16.0 a minute later" in said
    assert "| isogloss | 9000 | 4.0 |" in said
    assert "| isogloss | 16.0 | 300 | 0.70 | 0.50 |" in said
    assert "| isogloss | 23.5 | 23.0 | 1000 | 1002 |" in said
    assert "| 5000 open streams | MiB with them |" in said
    assert "- slow fails with 1000 open streams: 12 of 1000 streams had an event within 30 s" in said


def test_a_rate_that_the_load_was_too_slow_for_is_a_lower_bound() -> None:
    told = report(False)
    told["rounds"] = [crowded(0.5, 1001.0, 0.6)]
    assert "| isogloss | ≥ 9000 | 4.0 |" in rounds.table(told)
