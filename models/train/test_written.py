"""What the requests that people wrote are held to: run `python -m unittest` in this folder."""

from __future__ import annotations

import collections
import re
import unittest
from collections.abc import Iterator

import written
from data.chat import Chats
from written import Item

SAMPLES = 20_000
# Runs of so many words that an item shares with no generated text.
RUN = 6


def words(text: str) -> list[str]:
    """A text as words, without what stands between them."""
    return re.findall(r"\w+", text.lower())


def texts(messages: list[dict]) -> Iterator[str]:
    """What the user says; what a program says in its name is the same everywhere."""
    return (message["content"] for message in messages if message["role"] == "user")


def said(item: Item) -> str:
    """What the user of an item says first."""
    return item.messages[0 if item.messages[0]["role"] == "user" else 1]["content"]


class Written(unittest.TestCase):
    def setUp(self) -> None:
        self.items = written.items()

    def test_there_are_four_hundred_of_all_kinds(self) -> None:
        kinds = collections.Counter(re.split(r"[, ]", item.kind)[0] for item in self.items)
        self.assertEqual(kinds, {"extraction": 220, "classification": 60, "tool": 90, "small": 18, "second": 12})

    def test_each_is_asked_once(self) -> None:
        asked = collections.Counter((" ".join(words(said(item))), str(item.request.get("tools"))) for item in self.items)
        self.assertEqual([text for text, times in asked.items() if times > 1], [])

    def test_every_right_answer_is_valid(self) -> None:
        for item in self.items:
            if item.says:
                self.assertIsNone(item.right)
                self.assertTrue(written.is_right(item, " ".join(item.says)))
            else:
                self.assertTrue(written.is_valid(item, item.right), item)
                self.assertTrue(written.is_right(item, item.right))
                self.assertFalse(written.is_right(item, None))

    def test_what_is_to_be_read_stands_in_the_text(self) -> None:
        for item in self.items:
            if item.kind.startswith("extraction"):
                value = item.right["arguments"] if "arguments" in item.right else item.right
                text = " ".join(words(said(item)))
                for word in strings(value):
                    self.assertIn(" ".join(words(word)), text, item)

    def test_every_tool_choice_has_its_tool(self) -> None:
        for item in self.items:
            if item.kind.startswith("tool"):
                names = set(written.tools_of(item))
                self.assertGreater(len(names), 2)
                self.assertIn(item.right["name"], names)
                named = item.request.get("tool_choice")
                if isinstance(named, dict):
                    self.assertEqual(named["function"]["name"], item.right["name"])

    def test_an_answer_is_judged(self) -> None:
        call = lambda name, arguments: {"tool_calls": [{"function": {"name": name, "arguments": arguments}}]}
        by_kind = {item.kind: item for item in self.items}
        tool = next(item for item in self.items if item.right == {"name": "set_timer", "arguments": {"minutes": 9}})
        cases = [
            (tool, call("set_timer", '{"minutes":9}'), True, True),
            (tool, call("set_timer", '{"minutes":8}'), False, True),
            (tool, call("set_timer", '{"minutes":"9"}'), False, False),
            (tool, call("timer", '{"minutes":9}'), False, False),
            (tool, {"content": "Nine minutes."}, False, False),
            (by_kind["small talk and facts"], {"content": "I am a Small model."}, True, True),
            (by_kind["small talk and facts"], {"content": "Rome."}, False, True),
            (by_kind["small talk and facts"], {"error": "no"}, False, False),
            (by_kind["extraction, schema in the prompt"], {"content": "not JSON"}, False, False),
        ]
        for item, message, right, valid in cases:
            tally = written.judged([(item, message)])[item.kind]
            self.assertEqual((tally.right, tally.valid), (right, valid), (item, message))

    def test_none_of_them_can_come_out_of_the_generator(self) -> None:
        wholes: dict[str, Item] = {}
        runs: dict[tuple[str, ...], Item] = {}
        for item in self.items:
            one = words(said(item))
            wholes[" ".join(one)] = item
            runs |= {tuple(one[at : at + RUN]): item for at in range(len(one) - RUN + 1)}
        met = {}
        for chats in (Chats(11, varied=True), Chats(12)):
            for _ in range(SAMPLES // 2):
                for text in texts(chats.draw().messages):
                    one = words(text)
                    if " ".join(one) in wholes:
                        met[" ".join(one)] = text
                    for at in range(len(one) - RUN + 1):
                        if tuple(one[at : at + RUN]) in runs:
                            met[" ".join(one[at : at + RUN])] = text
        self.assertEqual(met, {})


def strings(value: object) -> Iterator[str]:
    """The texts in a value that are copied: neither dates, times nor enums that are said in other words."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from strings(inner)
    elif isinstance(value, str) and not re.fullmatch(r"\d{4}-\d\d-\d\d|\d\d:\d\d", value):
        yield value


if __name__ == "__main__":
    unittest.main()
