"""Judges every JSON that left as a success against its schema, with `jsonschema`.

Arguments: the folder with `schemas.json` and `claims.jsonl`. Last line: how many are right and wrong.
"""

import json
import sys
from pathlib import Path

from jsonschema import Draft202012Validator


def no_number(word):
    raise ValueError(f"{word} is no JSON")


def main(folder):
    schemas = json.loads((folder / "schemas.json").read_text())
    validators = {name: Draft202012Validator(schema) for name, schema in schemas.items()}
    right = wrong = 0
    with (folder / "claims.jsonl").open() as claims:
        for line in claims:
            claim = json.loads(line)
            try:
                value = json.loads(claim["text"], parse_constant=no_number)
                fault = None
                for error in validators[claim["schema"]].iter_errors(value):
                    fault = error.message
                    break
            except ValueError as error:
                fault = str(error)
            if fault is None:
                right += 1
            else:
                wrong += 1
                print(f"ADVERSARY_ONLY={claim['seed']}  {claim['dialect']}  {claim['schema']}: {fault}: {claim['text']}")
    print(f"jsonschema: {right} right, {wrong} wrong")
    return 1 if wrong else 0


sys.exit(main(Path(sys.argv[1])))
