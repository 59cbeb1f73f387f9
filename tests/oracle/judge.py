"""Judges the validator by two others: jsonschema for Python and ajv, both with formats.

What it accepts and both refuse is a wrong object that would pass: there must be none.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import formats
import jsonschema
from jsonschema.validators import validator_for

HERE = Path(__file__).parent
DRAFTS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
# What both refuse, each for another reason, and both without one.
RIGHT = {
    # RFC 6570 has escapes in names (Python's does not read them), and erratum 6937 the apostrophe (not ajv's).
    ("uri-template", "{%41}'"),
}


def cases(folder):
    for name in ("json_schema_test_suite", "schemas"):
        for line in (folder / f"{name}.jsonl").read_text().splitlines():
            group = json.loads(line)
            schema = group["schema"]
            if isinstance(schema, dict) and "$schema" not in schema and group["draft"] in DRAFTS:
                schema = {"$schema": DRAFTS[group["draft"]], **schema}
            for test in group["tests"]:
                yield {"suite": name, "id": group["id"], "schema": schema, "instance": test["data"]}
    yield from formats.cases()


def python_verdicts(all_cases):
    last, check = None, None
    for case in all_cases:
        if case["schema"] != last:
            last = case["schema"]
            kind = validator_for(last, default=jsonschema.Draft202012Validator)
            check = kind(last, format_checker=kind.FORMAT_CHECKER, registry=formats.REGISTRY)
        try:
            yield check.is_valid(case["instance"])
        except Exception:  # A reference or a pattern that it cannot read: it has no opinion.
            yield None


def asked(command, all_cases):
    lines = "".join(json.dumps(case) + "\n" for case in all_cases)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=500, check=True)
    verdicts = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(verdicts) == len(all_cases), f"{command}: {len(verdicts)} of {len(all_cases)}"
    return verdicts


def main():
    folder = Path(os.environ.get("ISOGLOSS_DATA", HERE.parents[2] / "shared" / "data"))
    if not (folder / "schemas.jsonl").exists():
        print(f"skipped: no {folder}/schemas.jsonl (set ISOGLOSS_DATA)\n0 passed, 0 failed, 1 skipped")
        return 0
    all_cases = list(cases(folder))
    ours = asked([os.environ["ISOGLOSS_VERDICTS"]], all_cases)
    python = list(python_verdicts(all_cases))
    ajv = asked(["node", str(HERE / "ajv.cjs")], all_cases)
    table, wrong, narrow = Counter(), [], []
    for case, *verdicts in zip(all_cases, ours, python, ajv):
        table[case["suite"], *verdicts] += 1
        if verdicts == [True, False, False] and (case["id"], str(case["instance"])) not in RIGHT:
            wrong.append(case)
        elif verdicts == [False, True, True]:
            narrow.append(case)
    print(f"{'suite':24} {'ours':6} {'python':6} {'ajv':6} {'cases':>6}")
    for key, count in sorted(table.items(), key=str):
        print(f"{key[0]:24} {key[1]!s:6} {key[2]!s:6} {key[3]!s:6} {count:6}")
    for title, found in (("accepted, and both refuse", wrong), ("refused, and both accept", narrow)):
        print(f"{title}: {len(found)}")
        for case in found[: 200 if "-v" in sys.argv else 20]:
            print(f"  {case['id']}: {json.dumps(case['instance'])[:200]}")
    refused = sum(count for key, count in table.items() if key[1] is None)
    print(f"{len(all_cases) - len(wrong) - refused} passed, {len(wrong)} failed, {refused} skipped")
    return 1 if wrong else 0


sys.exit(main())
