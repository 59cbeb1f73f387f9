"""A demand to a running gateway; what became of it out."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from dataclasses import dataclass, field

from demands import Demand
from replies import Broken, Failed, read

# What can become of a demand. The last is the one that must not be: a success that is not what was asked for.
KEPT, REFUSED, ERROR, ABSENT, CUT, LOST = OUTCOMES = ("kept", "refused", "error", "absent", "cut", "lost")
PATIENCE = 90  # Seconds.


@dataclass(frozen=True)
class Gateway:
    """Where it is asked, and how."""

    base: str
    model: str
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What became of a demand, and a word on it: of a loss what is wrong, of an error what it says."""

    kind: str
    why: str = ""


def ask(gateway: Gateway, demand: Demand, patience: float = PATIENCE) -> Outcome:
    headers = {"content-type": "application/json", "authorization": "Bearer unused", "x-api-key": "unused"}
    if demand.dialect == "messages":
        headers["anthropic-version"] = "2023-06-01"
    url = demand.route(gateway.base, gateway.model)
    body = json.dumps(demand.body(gateway.model)).encode()
    request = urllib.request.Request(url, body, headers | gateway.headers)
    try:
        with urllib.request.urlopen(request, timeout=patience) as reply:
            return of_success(demand, reply.read())
    except urllib.error.HTTPError as error:
        return of_error(demand, error.code, error.read())
    except (OSError, ValueError) as error:  # No reply, or one that is no HTTP.
        return Outcome(ERROR, f"{type(error).__name__}: {error}"[:200])


def of_success(demand: Demand, raw: bytes) -> Outcome:
    try:
        said = read(demand.dialect, demand.is_stream, raw)
    except Failed as failed:
        return named(demand, json.dumps(failed.args[0]))
    except Broken as broken:
        return Outcome(ERROR, f"200 that no client can read: {broken}"[:200])
    wrong = demand.judge(said)
    if wrong is None:
        return Outcome(KEPT)
    return Outcome(CUT if said.is_cut else LOST, wrong)


def of_error(demand: Demand, status: int, raw: bytes) -> Outcome:
    # A route that is not there; a gateway that passes on a server's 404 has none either.
    if status in (404, 405, 501):
        return Outcome(ABSENT, str(status))
    return named(demand, f"{status} {raw.decode(errors='replace')}")


def named(demand: Demand, text: str) -> Outcome:
    """A refusal says what it refuses: one that does not leaves its client to guess."""
    is_named = any(word.lower() in text.lower() for word in demand.words)
    return Outcome(REFUSED if is_named else ERROR, text[:300])
