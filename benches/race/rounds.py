"""Several rounds of `isogloss bench --json` in; the table and the picture of their medians out."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any
from xml.sax.saxutils import escape

NUMBERS = ("added_p50_ms", "added_p90_ms", "added_p99_ms", "added_first_p50_ms", "cpu_us_per_request", "cpu_us_per_event", "requests_per_second")
DIRECT, OURS, MEASURE = "direct", "isogloss", "nginx"
Report = dict[str, Any]
Medians = dict[str, dict[str, dict[str, float | None]]]


def medians(report: Report) -> Medians:
    """Of each case and side the median of its rounds; `None` where no round has the number."""
    found: dict[str, dict[str, dict[str, list[float]]]] = {}
    for one in report["rounds"]:
        for case in one["cases"]:
            for side in case["sides"]:
                numbers = found.setdefault(case["case"], {}).setdefault(side["name"], {})
                for name in NUMBERS:
                    if side.get(name) is not None:
                        numbers.setdefault(name, []).append(side[name])
    return {
        case: {
            name: {number: median(numbers[number]) if number in numbers else None for number in NUMBERS}
            for name, numbers in sides.items()
        }
        for case, sides in found.items()
    }


def failures(report: Report) -> dict[tuple[str, str], str]:
    """What a side could not do, by case and side, as the first round that saw it says it."""
    found: dict[tuple[str, str], str] = {}
    for one in report["rounds"]:
        for case in one["cases"]:
            for side in case["sides"]:
                if side.get("failed"):
                    found.setdefault((case["case"], side["name"]), side["failed"])
    return found


def ratio(side: dict[str, float | None], to: dict[str, float | None] | None) -> float | None:
    """Processor time in another's; of the same case and the same rounds."""
    ours, theirs = side["cpu_us_per_request"], (to or {}).get("cpu_us_per_request")
    return ours / theirs if ours is not None and theirs else None


def shown(number: float | None, digits: int) -> str:
    return "-" if number is None else f"{number:.{digits}f}"


def table(report: Report) -> str:
    head = ["case", "proxy", "CPU µs a request", f"times {MEASURE}", "CPU µs an event"]
    head += ["added p50 ms", "p90", "p99", "first delta or bytes p50"]
    out = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    failed = failures(report)
    for case, sides in medians(report).items():
        for name, side in sorted(sides.items(), key=lambda pair: pair[1]["cpu_us_per_request"] or float("inf")):
            if name == DIRECT:
                continue
            if (case, name) in failed:
                out.append(f"| {case} | {name} | fails |" + " |" * (len(head) - 3))
                continue
            row = [
                case,
                name,
                shown(side["cpu_us_per_request"], 0),
                shown(ratio(side, sides.get(MEASURE)), 2),
                shown(side["cpu_us_per_event"], 2),
                shown(side["added_p50_ms"], 3),
                shown(side["added_p90_ms"], 3),
                shown(side["added_p99_ms"], 3),
                shown(side["added_first_p50_ms"], 3),
            ]
            out.append("| " + " | ".join(row) + " |")
    told = [f"- {name} fails at {case}: {why}" for (case, name), why in failed.items()]
    told += [f"- {name} is not measured: {why}" for name, why in report.get("missing", {}).items()]
    kept = ", kept awake" if report.get("is_awake") else ""
    out += ["", *told, *memory(report), *crowds(report), f"Medians of {len(report['rounds'])} rounds, {report['date']}, {report['machine']}{kept}."]
    if report["is_loaded"]:
        out.append(
            f"LOADED: others were at work (load {report['load_before']:.1f}): milliseconds are worth little here."
        )
    return "\n".join(out)


def memory(report: Report) -> list[str]:
    """Resident memory of each proxy, MiB: idle, after the load, and where it was waited for a minute later."""
    names = [("rss_idle_bytes", "idle"), ("rss_after_bytes", "after the load"), ("rss_a_minute_later_bytes", "a minute later")]
    found: dict[str, dict[str, list[float]]] = {}
    for one in report["rounds"]:
        for it in one["memory"]:
            for key, _ in names:
                if it.get(key) is not None:
                    found.setdefault(it["name"], {}).setdefault(key, []).append(it[key] / (1 << 20))
    out = []
    for name, numbers in found.items():
        words = [f"{median(numbers[key]):.1f} {word}" for key, word in names if key in numbers]
        out.append(f"- {name}, MiB: {', '.join(words)}")
    return [*out, ""] if out else []


def crowds(report: Report) -> list[str]:
    """The tables of what is measured beside the cases: on one processor, with slow readers, with open streams."""
    readers = report.get("slow_readers") or 1

    def kib(with_them: str, before: str, count: float) -> Callable[[dict[str, list[float]]], str]:
        def each(numbers: dict[str, list[float]]) -> str:
            pairs = zip(numbers.get(with_them, []), numbers.get(before, []))
            grown = [max(has - had, 0) / 1024 / count for has, had in pairs]
            return shown(median(grown) if grown else None, 1)

        return each

    def number(key: str, digits: int, unit: float = 1) -> Callable[[dict[str, list[float]]], str]:
        return lambda numbers: shown(median(numbers[key]) / unit if numbers.get(key) else None, digits)

    def rate(numbers: dict[str, list[float]]) -> str:
        # Who asked was slower in one of the rounds: the proxy can do more.
        least = "≥ " if any(numbers.get("is_at_least", [])) else ""
        return least + number("requests_per_second", 0)(numbers)

    out = []
    for case in dict.fromkeys(it["case"] for one in report["rounds"] for it in one.get("saturation", [])):
        columns = {"requests/s it keeps up with": rate, "p99 ms": number("p99_ms", 1)}
        out += crowd(report, f"one processor, {case}", columns, "saturation", "case", case)
    columns = {
        "KiB each": kib("rss_with_bytes", "rss_before_bytes", readers),
        "KiB of each sent and not read": number("ahead_bytes", 0, 1024),
        "p99 ms of others": number("p99_beside_ms", 2),
        "without them": number("p99_alone_ms", 2),
    }
    out += crowd(report, f"{readers} slow readers", columns, "slow_readers")
    for streams in dict.fromkeys(it["streams"] for one in report["rounds"] for it in one["open_streams"]):
        columns = {
            "MiB with them": number("rss_open_bytes", 1, 1 << 20),
            "KiB each": kib("rss_open_bytes", "rss_before_bytes", streams),
            "ms between events a second apart, p50": number("gap_p50_ms", 0),
            "p99": number("gap_p99_ms", 0),
        }
        out += crowd(report, f"{streams} open streams", columns, "open_streams", "streams", streams)
    return out


def crowd(
    report: Report,
    title: str,
    columns: dict[str, Callable[[dict[str, list[float]]], str]],
    part: str,
    key: str = "",
    value: object = None,
) -> list[str]:
    """One of these tables: a row for each proxy, of the numbers of all rounds; and who could not."""
    found: dict[str, dict[str, list[float]]] = {}
    failed: dict[str, str] = {}
    for one in report["rounds"]:
        for it in one.get(part, []):
            if key and it[key] != value:
                continue
            if it.get("failed"):
                failed.setdefault(it["name"], it["failed"])
                continue
            for name, number in it.items():
                if isinstance(number, (int, float)):
                    found.setdefault(it["name"], {}).setdefault(name, []).append(number)
    if not found and not failed:
        return []
    out = ["| " + " | ".join([title, *columns]) + " |", "|" + "---|" * (len(columns) + 1)]
    for name, numbers in found.items():
        if name not in failed:
            out.append("| " + " | ".join([name, *(column(numbers) for column in columns.values())]) + " |")
    out += [f"| {name} | fails |" + " |" * (len(columns) - 1) for name in failed]
    return [*out, "", *(f"- {name} fails with {title}: {why}" for name, why in failed.items()), ""]


BAR, LEFT, WIDTH = 16, 210, 640
# A bar that is longer than so many of ours is cut there; its number says how long it is.
LONGEST = 8
PICTURED = ("pass-through", "tools, required")


def picture(report: Report) -> str:
    """Bars of processor time a request, each case on a scale of its own."""
    at, out = 24, []
    for case, sides in medians(report).items():
        measured = [(name, side["cpu_us_per_request"]) for name, side in sides.items()]
        bars = sorted(((name, cpu) for name, cpu in measured if cpu is not None), key=lambda bar: bar[1])
        if case not in PICTURED or not bars:
            continue
        out.append(f'<text x="8" y="{at}" font-weight="bold">{escape(case)}: processor time a request, µs</text>')
        at += 10
        most = min(bars[-1][1], LONGEST * dict(bars).get(OURS, bars[-1][1])) or 1
        for name, cpu in bars:
            width = (WIDTH - LEFT - 70) * min(cpu / most, 1)
            colour = "#2563eb" if name == OURS else "#9ca3af"
            number = f"{cpu:,.0f}" + (" →" if cpu > most else "")
            out.append(f'<text x="{LEFT - 8}" y="{at + 12}" text-anchor="end">{escape(name)}</text>')
            out.append(f'<rect x="{LEFT}" y="{at}" width="{width:.1f}" height="{BAR - 3}" fill="{colour}"/>')
            out.append(f'<text x="{LEFT + width + 6:.1f}" y="{at + 12}">{number}</text>')
            at += BAR
        at += 22
    note = f"{report['date']}, {report['machine']}, medians of {len(report['rounds'])} rounds"
    note += ", kept awake" if report.get("is_awake") else ""
    note += ", on a loaded machine" if report["is_loaded"] else ""
    out.append(f'<text x="8" y="{at}" fill="#6b7280">{escape(note)}</text>')
    size = f'width="{WIDTH}" height="{at + 12}"'
    # Where it stands on a dark page its letters are to be read too.
    style = 'font-family="sans-serif" font-size="12" style="background:#fff"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>\n' + "\n".join(out) + "\n</svg>\n"
