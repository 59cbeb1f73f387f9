"""The scoreboard's tables, of what was measured."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from asking import ABSENT, CUT, ERROR, KEPT, LOST, REFUSED

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
# In the table of each demand.
SIGNS = {KEPT: "kept", REFUSED: "refused", ERROR: "error", ABSENT: "-", CUT: "cut", LOST: "**lost**"}
Row = dict[str, Any]


def counted(found: dict[str, list[str]]) -> Counter:
    return Counter(kind for kind, _ in found.values())


def verified(row: Row) -> int:
    """Demands that it keeps before a server that enforces them, and does not lose before one that ignores them."""
    obedient, ignorant = row["before"]["obedient"], row["before"]["ignorant"]
    return sum(obedient[name][0] == KEPT and ignorant[name][0] != LOST for name in obedient)


def lines(head: list[str], rows: list[list[str]]) -> str:
    out = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(out + ["| " + " | ".join(row) + " |" for row in rows])


def gateways(report: Row) -> str:
    head = ["gateway", "version", "kept", "of these verified", "refused by name", "another error", "no such route"]
    head += ["**lost with 200**", "**lost with 200** before a server that ignores it"]
    rows = []
    for row in report["gateways"]:
        if "missing" in row:
            rows.append([row["name"], row["version"], f"not measured: {row['missing']}", *[""] * (len(head) - 3)])
            continue
        there, lying = counted(row["before"]["obedient"]), counted(row["before"]["ignorant"])
        numbers = [there[KEPT], verified(row), there[REFUSED], there[ERROR] + there[CUT], there[ABSENT], there[LOST]]
        rows.append([row["name"], row["version"], *map(str, numbers), str(lying[LOST])])
    return lines(head, rows)


def servers(report: Row) -> str:
    head = [
        "server",
        "version",
        "asked",
        "kept",
        "refused by name",
        "another error",
        "cut",
        "no such route",
        "**lost with 200**",
    ]
    rows = []
    for row in report["servers"]:
        if "missing" in row:
            rows.append([row["name"], row["version"], f"not measured: {row['missing']}", *[""] * (len(head) - 3)])
            continue
        for way, found in row["before"].items():
            got = counted(found)
            asked = "by itself" if way == "no gateway" else f"through {way}"
            kinds = (KEPT, REFUSED, ERROR, CUT, ABSENT, LOST)
            rows.append([row["name"], row["version"], asked, *(str(got[kind]) for kind in kinds)])
    return lines(head, rows)


def each(report: Row) -> str:
    """Every demand and gateway: before the server that enforces, and before the one that ignores."""
    shown = [row for row in report["gateways"] if "missing" not in row]
    rows = []
    for name in report["demands"]:
        cells = []
        for row in shown:
            pair = [SIGNS[row["before"][kind][name][0]] for kind in ("obedient", "ignorant")]
            cells.append(pair[0] if pair[0] == pair[1] else ", ".join(pair))
        rows.append([f"`{name}`", *cells])
    return lines(["demand", *(row["name"] for row in shown)], rows)


def scoreboard(report: Row) -> str:
    out = [f"{report['date']}, {len(report['demands'])} demands.", gateways(report)]
    if report["servers"]:
        out.append(servers(report))
    return "\n\n".join(out)


def lost_by(report: Row, name: str) -> list[str]:
    """What a gateway lost, before whichever server."""
    found = [row["before"] for row in report["gateways"] if row["name"] == name]
    found += [{"real": row["before"][name]} for row in report["servers"] if name in row["before"]]
    return [
        demand for before in found for all_ in before.values() for demand, (kind, _) in all_.items() if kind == LOST
    ]


def write(report: Row, page: Path) -> None:
    """Puts the tables between the page's marks; what is written around them stays."""
    text = page.read_text()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    page.write_text(f"{text[:begin]}\n{scoreboard(report)}\n\n## Each demand\n\n{each(report)}\n{text[end:]}")
