"""Daft's `prompt` with `return_format` over many rows on Ray's runner: every row is a person, or has an error.

    rows.py BASE_URL ROWS"""

import os
import sys
import time

os.environ.setdefault("OPENAI_API_KEY", "unused")
import daft
from daft.ai.openai.provider import OpenAIProvider
from daft.functions import prompt
from pydantic import BaseModel


class Person(BaseModel):
    name: str
    age: int


def main(base_url, count):
    daft.set_runner_ray(os.environ.get("RAY_ADDRESS"))
    provider = OpenAIProvider(name="isogloss", base_url=base_url, api_key="unused", max_retries=10, timeout=600.0)
    begun = time.monotonic()
    frame = daft.from_pydict({"text": [f"Person {number}: Ada is 36 years old." for number in range(count)]})
    # A row that fails takes its batch along, and a batch is sent at once.
    frame = frame.into_partitions(4).into_batches(250)
    asked = prompt(
        daft.col("text"),
        system_message="Extract the person.",
        return_format=Person,
        provider=provider,
        model="isogloss-builtin",
        use_chat_completions=True,
        on_error="log",
    )
    rows = frame.with_column("person", asked).collect().to_pydict()["person"]
    good = [row for row in rows if row and isinstance(row["name"], str) and isinstance(row["age"], int)]
    errors = sum(row is None for row in rows)
    print(f"daft: {count} rows in {time.monotonic() - begun:.0f} s: {len(good)} valid, {errors} errors, {len(rows)} in all")
    return len(rows) == count and len(good) + errors == count and errors < count // 100 + 1


if __name__ == "__main__":
    sys.exit(not main(sys.argv[1], int(sys.argv[2])))
