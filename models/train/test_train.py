"""What the training relies on: run `python -m unittest` in this folder."""

from __future__ import annotations

import collections
import datetime
import json
import random
import re
import sys
import unittest
import unittest.mock
from typing import Any

from data import (
    acted,
    answers,
    chat,
    classify,
    composing,
    conveyed,
    domains,
    errands,
    everyday,
    heldout,
    lexicon,
    orders,
    sorting,
    talk,
    toolset,
    variety,
)
from data.chat import Chats
from data.slots import words_of
from data.values import Values, spelled
from prompt import render
from tokenizer import train


def fits(schema: dict[str, Any], value: Any) -> bool:
    """Whether a value satisfies a schema of the few keywords that are used here."""
    if "anyOf" in schema:
        return any(fits(branch, value) for branch in schema["anyOf"])
    if "enum" in schema:
        return value in schema["enum"]
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return any(of_kind(kind, schema, value) for kind in kinds)


def of_kind(kind: str, schema: dict[str, Any], value: Any) -> bool:
    """Whether a value is of a type, with all that is in it."""
    if kind == "object":
        known = schema["properties"]
        has_all = isinstance(value, dict) and set(schema["required"]) <= set(value) <= set(known)
        return has_all and all(fits(known[key], inner) for key, inner in value.items())
    if kind == "array":
        return isinstance(value, list) and all(fits(schema["items"], inner) for inner in value)
    python = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}[kind]
    return isinstance(value, python) and (kind == "boolean" or not isinstance(value, bool))


def leaves(value: Any) -> list[Any]:
    """What is in a value that has no inside."""
    if isinstance(value, dict):
        return [inner for one in value.values() for inner in leaves(one)]
    return [inner for one in value for inner in leaves(one)] if isinstance(value, list) else [value]


def is_said(value: Any, text: str) -> bool:
    """Whether a text says a string as it is, and a number in digits or in words; of others, nothing is known."""
    if isinstance(value, str):
        is_when = re.fullmatch(r"\d{4}-\d\d-\d\d|\d\d:\d\d", value)
        return bool(is_when) or value in text or value.lower() in text.lower()
    if isinstance(value, bool) or not isinstance(value, int | float):
        return True
    words = [*(["no", "none"] if value == 0 else []), spelled(value) if isinstance(value, int) and value < 100 else ""]
    digits = [f"{value}", f"{value:,}", f"{value:.1f}", f"{value:.2f}", f"{value:,.2f}"]
    return any(re.search(rf"(?<![\d]){re.escape(word)}(?![\d])", text.lower()) for word in [*words, *digits] if word)


def is_text(value: Any) -> bool:
    """Whether a text has to say a value: what is yes or no shows in other words."""
    return not isinstance(value, bool)


class Data(unittest.TestCase):
    def test_the_same_seed_draws_the_same_samples(self) -> None:
        for varied in (False, True):
            first, second = Chats(5, varied=varied), Chats(5, varied=varied)
            for _ in range(200):
                self.assertEqual(first.draw(), second.draw())

    def test_every_extraction_satisfies_its_schema_in_the_schemas_order(self) -> None:
        for chats in (Chats(1), Chats(2, True, True), Chats(3, True, domains=heldout.DOMAINS)):
            for _ in range(300):
                sample = chats.draw("extract_json")
                schema = sample.request["response_format"]["json_schema"]["schema"]
                self.assertTrue(fits(schema, sample.expected), sample)
                order = [key for key in schema["properties"] if key in sample.expected]
                self.assertEqual(order, list(sample.expected))

    def test_every_call_satisfies_its_tool(self) -> None:
        for chats in (Chats(1), Chats(2, True, True), Chats(3, True, tools=heldout.TOOLS)):
            for _ in range(300):
                sample = chats.draw("auto_call")
                tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in sample.tools}
                self.assertTrue(fits(tools[sample.expected["name"]], sample.expected["arguments"]), sample)

    def test_the_pieces_of_an_answer_are_the_answer(self) -> None:
        chats = Chats(9)
        for turn in range(300):
            sample = chats.draw(["extract_tool", "extract_json", "prompted"][turn % 3])
            text = "".join(piece.text for piece in sample.answer).removesuffix("<|im_end|>")
            if text.startswith("<tool_call>"):
                call = json.loads(text.removeprefix("<tool_call>\n").removesuffix("\n</tool_call>"))
                self.assertIn(call["name"], {tool["function"]["name"] for tool in sample.tools})
                text = json.dumps(call["arguments"])
            self.assertEqual(json.loads(text), sample.expected)

    def test_of_a_forced_call_only_what_is_free_counts(self) -> None:
        tool = toolset.definition("save", "", {"type": "object", "properties": {"a": {}}, "required": ["a"]})
        free = lambda alone: [piece.text for piece in answers.forced(tool, {"a": 1}, alone) if piece.weight >= 1]
        self.assertEqual(free(True), ["{", "1", "}"])
        self.assertEqual(free(False), ["save", "{", "1", "}"])

    def test_what_no_grammar_guides_counts_wholly(self) -> None:
        schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
        self.assertEqual({piece.weight for piece in answers.unguided(schema, {"a": 1})}, {1.0})

    def test_an_object_cannot_end_before_its_required_keys(self) -> None:
        schema = {"type": "object", "properties": {"a": {}, "b": {}, "c": {}}, "required": ["a", "b"]}
        commas = [piece.no_end for piece in answers.pieces(schema, {"a": 1, "b": 2, "c": 3}, True) if piece.text == ","]
        self.assertEqual(commas, [True, False])

    def test_words_domains_and_tools_of_the_evaluation_are_not_trained_on(self) -> None:
        for name in lexicon.LISTS:
            self.assertFalse(set(lexicon.TRAIN[name]) & set(lexicon.HELD[name]))
        known = {words_of(key) for domain in domains.TRAIN for item in domain.fields for key in item.keys}
        unseen = [words_of(item.keys[0]) for domain in heldout.DOMAINS for item in domain.fields]
        shared = set(unseen) & known
        self.assertLessEqual(len(shared), len(unseen) // 10, shared)
        trained = {name for tool in toolset.TRAIN for name in tool.names}
        self.assertFalse(trained & {name for tool in heldout.TOOLS for name in tool.names})

    def test_wordings_composed_for_training_are_none_of_the_evaluations(self) -> None:
        rng = lexicon.Dice(6)
        item = Chats(6, True, True).records.attribute("depth")
        held = {
            said for domain in [*domains.TRAIN, *heldout.DOMAINS] for one in domain.fields for said in one.held_sayings
        }
        held = {said for said in held if not any(said in one.sayings for d in domains.TRAIN for one in d.fields)}
        made = {variety.labelled(rng, "depth") for _ in range(4000)} | {variety.strange(rng) for _ in range(4000)}
        self.assertGreater(len(made), 4000)
        self.assertFalse(made & (held | set(item.held_sayings)))

    def test_words_composed_with_are_none_of_the_evaluations_subjects_and_tools(self) -> None:
        keys = [key for domain in heldout.DOMAINS for key in domain.subject_keys]
        keys += [key for domain in heldout.DOMAINS for one in domain.fields for key in one.keys]
        keys += [name for tool in heldout.TOOLS for name in tool.names]
        keys += [parameter.key for tool in heldout.TOOLS for parameter in tool.parameters]
        known = {words_of(key) for domain in domains.TRAIN for one in domain.fields for key in one.keys}
        unseen = {words_of(key) for key in keys} - known
        made = {*variety.THINGS, *variety.STEMS, *variety.UNITS, *acted.VERBS}
        self.assertFalse(made & {word for key in unseen for word in key.split()})

    def test_what_training_composes_satisfies_its_schemas(self) -> None:
        chats = Chats(8, varied=True)
        for _ in range(600):
            sample = chats.draw("extract_tool")
            schema = sample.tools[-1]["function"]["parameters"]
            self.assertTrue(fits(schema, sample.expected), sample)
            sample = chats.draw("required_call")
            tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in sample.tools}
            self.assertTrue(fits(tools[sample.expected["name"]], sample.expected["arguments"]), sample)

    def test_the_evaluation_asks_in_written_words_alone(self) -> None:
        chats = Chats(1, True, True)
        for _ in range(50):
            chats.draw()
            self.assertFalse(chats.rng.varied)

    def test_dates_are_said_in_many_ways_and_written_in_one(self) -> None:
        values = Values(random.Random(1))
        for _ in range(50):
            datetime.date.fromisoformat(values.draw("date").json)
        self.assertEqual(len({values.date_text(datetime.date(2024, 3, 5)) for _ in range(200)}), 8)


    def test_what_people_write_of_themselves_has_its_values_in_the_text(self) -> None:
        chats = Chats(12, varied=True)
        chats.rng.varied = True
        for _ in range(600):
            record = chats.records.spoken(1, 6)
            self.assertTrue(fits(record.schema(), record.value()), record)
            for slot in record.slots:
                if isinstance(slot.value, str) and slot.schema.get("format") is None and slot.key.isalpha():
                    is_said = slot.value.lower() in record.text.lower()
                    self.assertTrue(is_said or ":" in slot.value or slot.value[:2] in ("19", "20") or slot.value in ("EUR", "USD"), record)

    def test_every_sentence_of_a_situation_names_its_facts(self) -> None:
        known = {words_of(key) for domain in domains.TRAIN for item in domain.fields for key in item.keys}
        unseen = [key for domain in heldout.DOMAINS for key in domain.subject_keys]
        unseen += [key for domain in heldout.DOMAINS for item in domain.fields for key in item.keys]
        held = {words_of(key) for key in unseen} - known
        for one in everyday.SITUATIONS:
            said = set()
            for pattern in one.patterns:
                names = everyday.PLACE.findall(pattern)
                said |= set(names)
                self.assertLessEqual(set(names), set(one.facts), pattern)
                self.assertEqual(len(names), len(set(names)), pattern)
            for pair in one.ordered:
                self.assertLessEqual(set(pair), set(one.facts), one.noun)
            keys = [key for fact in one.facts.values() for key in fact.keys]
            self.assertEqual(len(keys), len(set(keys)), one.noun)
            self.assertFalse({words_of(key) for key in keys} & held, one.noun)
            for name, fact in one.facts.items():
                self.assertTrue(fact.sayings or name in said, (one.noun, name))
                self.assertTrue(all("{v}" in saying or fact.kind == "bool" for saying in fact.sayings), fact)
                self.assertTrue(all("{v}" in short for short in fact.shorts), fact)

    def test_what_everyday_texts_are_asked_for_stands_in_them(self) -> None:
        chats = Chats(13, varied=True)
        for turn in range(4000):
            chats.rng.varied = turn % 2 == 0
            record = chats.records.everyday(1, 7)
            self.assertTrue(fits(record.schema(), record.value()), record)
            self.assertNotRegex(record.text, r"\{\w+\}", record)
            for slot in record.slots:
                if slot.key != "currency":
                    for value in leaves(slot.value):
                        self.assertTrue(is_said(value, record.text), (value, record))

    def test_the_shares_of_the_records_in_training_are_as_stated(self) -> None:
        shares = {"conveyed": chat.CONVEYED, "everyday": chat.EVERYDAY * (1 - chat.CONVEYED)}
        for varied in (True, False):
            for name, share in shares.items():
                chats = Chats(14, varied=varied)
                with unittest.mock.patch.object(chats.records, name, wraps=getattr(chats.records, name)) as drawn:
                    for _ in range(2000):
                        chats.draw("extract_json")
                self.assertAlmostEqual(drawn.call_count / 2000, share if varied else 0, delta=0.04)

    def test_what_is_said_in_other_words_stands_in_the_text(self) -> None:
        chats = Chats(21, varied=True)
        for turn in range(4000):
            chats.rng.varied, chats.records.shown = turn % 2 == 0, turn % 3 == 0
            record = chats.records.conveyed(1, 7)
            self.assertTrue(fits(record.schema(), record.value()), record)
            self.assertNotRegex(record.text, r"[{}]", record)
            for slot in record.slots:
                inner = slot.schema.get("items", slot.schema).get("properties", {"": slot.schema})
                rows = slot.value if isinstance(slot.value, list) and "" not in inner else [{"": slot.value}]
                for key, value in ((key, value) for row in rows for key, value in row.items()):
                    if "enum" not in str(inner[key]):
                        for one in leaves(value):
                            self.assertTrue(one is None or not is_text(one) or is_said(one, record.text), (one, record))

    def test_concepts_are_none_of_the_evaluations_and_each_has_its_clauses(self) -> None:
        known = {words_of(key) for domain in domains.TRAIN for item in domain.fields for key in item.keys}
        unseen = [key for domain in heldout.DOMAINS for key in domain.subject_keys]
        unseen += [key for domain in heldout.DOMAINS for item in domain.fields for key in item.keys]
        held = {words_of(key) for key in unseen} - known
        sayings = {said for domain in [*domains.TRAIN, *heldout.DOMAINS] for one in domain.fields for said in one.held_sayings}
        sayings -= {said for domain in domains.TRAIN for one in domain.fields for said in one.sayings}
        done = [f"{deed.done} {link}" for deed in conveyed.DEEDS for link in ("by", "on", "in")]
        done += [name for deed in conveyed.DEEDS for name in [*deed.agents, *(f"{deed.noun} date {deed.noun} place".split())]]
        self.assertFalse({*done} & held)
        for theme in conveyed.THEMES:
            self.assertGreater(len(theme.concepts), 12, theme.noun)
            firsts = [one.keys[0] for one in theme.concepts]
            self.assertEqual(len(firsts), len(set(firsts)), theme.noun)
            keys = [key for one in theme.concepts for key in one.keys] + [key for one in theme.subjects for key in one[1]]
            self.assertFalse({words_of(key) for key in keys} & held, theme.noun)
            for one in theme.concepts:
                self.assertFalse({clause.lstrip("@~") for said in one.clauses.values() for clause in said} & sayings)
                for value, said in one.clauses.items():
                    self.assertTrue(any(clause[0] not in "~?" for clause in said), one)
                    for clause in said:
                        self.assertEqual(clause.count("{v}"), int(value is None and clause[0] != "?"), (one.keys, clause))

    def test_composed_sentences_belong_to_one_class_of_their_block(self) -> None:
        held = {said[1:] for labels in classify.SETS.values() for texts in labels.values() for said in texts.split("|") if said[0] == "!"}
        plain = lambda text: " ".join(re.findall(r"\w+", text.lower()))
        for keys, kinds in composing.BLOCKS:
            names = [name for kind in kinds for name in {name.lower() for name in kind.names}]
            self.assertEqual(len(names), len(set(names)), keys)
            self.assertEqual(composing.repeated(kinds), [], keys)
            for kind in kinds:
                self.assertEqual(bool(kind.things), bool(kind.matters), kind.names)
                self.assertGreater(len(kind.wholes), 4, kind.names)
                self.assertFalse({plain(one) for one in kind.wholes} & {plain(one) for one in held})
        rng = lexicon.Dice(22)
        rng.varied = True
        values = Values(rng)
        for _ in range(2000):
            made = composing.composed(rng, values, 3)
            self.assertEqual(len(made.labels), len(set(made.labels)), made)
            for text, label in made.texts:
                self.assertIn(label, made.labels)
                self.assertNotRegex(text, r"[{}]")

    def test_tools_that_are_asked_for_in_other_words_get_what_the_request_says(self) -> None:
        held = {name for tool in heldout.TOOLS for name in tool.names}
        plain = lambda text: " ".join(re.findall(r"\w+", re.sub(r"\{\w+\}", " _ ", text).lower()))
        patterns = {plain(said) for tool in [*toolset.TRAIN, *heldout.TOOLS] for said in tool.held_requests}
        self.assertFalse(patterns & {plain(said) for action in orders.ACTIONS for said in action.requests})
        chats = Chats(23, varied=True)
        for turn in range(3000):
            chats.rng.varied = turn % 2 == 0
            calls = chats.tools.orders.calls(turn % 4 + 1)
            self.assertEqual(len({definition["function"]["name"] for _, definition, _ in calls}), len(calls), calls)
            for request, definition, arguments in calls:
                schema = definition["function"]["parameters"]
                self.assertNotIn(definition["function"]["name"], held)
                self.assertTrue(fits(schema, arguments), (request, arguments))
                self.assertNotRegex(request + definition["function"]["description"], r"[{}]")
                for key, value in arguments.items():
                    self.assertTrue("enum" in schema["properties"][key] or is_said(value, request), (request, arguments))

    def test_everyday_texts_take_about_as_many_calls_as_others(self) -> None:
        def calls(share: float) -> int:
            chats, count = Chats(15, varied=True), 0
            chats.records.everyday_share = share

            def counted(_frame: object, event: str, _argument: object) -> None:
                nonlocal count
                count += event in ("call", "c_call")

            sys.setprofile(counted)
            try:
                for _ in range(1500):
                    chats.draw()
            finally:
                sys.setprofile(None)
            return count

        self.assertLess(calls(chat.EVERYDAY), 1.5 * calls(0.0))

    def test_a_time_in_words_is_the_time(self) -> None:
        values = Values(random.Random(4))
        drawn = {value.text: value.json for value in (values.draw("clock") for _ in range(5000))}
        self.assertEqual(drawn["half past seven in the evening"], "19:30")
        self.assertEqual(drawn["quarter to nine in the morning"], "08:45")
        self.assertEqual((drawn["noon"], drawn["midnight"]), ("12:00", "00:00"))
        self.assertEqual((drawn["12:30 pm"], drawn["12:15 am"], drawn["11:50 pm"]), ("12:30", "00:15", "23:50"))

    def test_a_review_feels_like_its_class(self) -> None:
        rng = lexicon.Dice(3)
        rng.varied = True
        seen = collections.Counter()
        for _ in range(4000):
            one = classify.draw(rng)
            self.assertIn(one.label, one.labels)
            text = one.text.lower()
            if one.label.lower() in ("positive", "negative"):
                seen[one.label.lower()] += 1
                wrong = ("i want a refund", "stay away") if one.label.lower() == "positive" else ("love it", "made my day")
                self.assertFalse(any(word in text for word in wrong), one)
        self.assertGreater(min(seen.values()), 100)

    def test_a_word_that_is_to_be_sorted_belongs_to_one_of_its_classes(self) -> None:
        words = {text for block in sorting.WORDS for sort in block.sorts for text in sort.texts}
        self.assertFalse(words & {word for held in lexicon.HELD.values() for word in held})
        for block in [*sorting.WORDS, *sorting.MATTERS]:
            names = [name for sort in block.sorts for name in {name.lower() for name in sort.names}]
            self.assertEqual(len(names), len(set(names)), block.keys)
            self.assertTrue(all(len(sort.texts) > 1 for sort in block.sorts), block.keys)
        rng = lexicon.Dice(4)
        rng.varied = True
        for _ in range(2000):
            key, text, label, labels = sorting.draw(rng)
            self.assertIn(label, labels)
            self.assertEqual(len(labels), len(set(labels)))
            self.assertNotRegex(text, r"[{}]", key)

    def test_everyday_tools_get_what_the_request_says(self) -> None:
        held = {name for tool in heldout.TOOLS for name in tool.names}
        self.assertFalse(held & {name for tool in errands.TOOLS for name in tool.names})
        chats = Chats(16, varied=True)
        for turn in range(3000):
            chats.rng.varied = turn % 2 == 0
            tool = errands.TOOLS[turn % len(errands.TOOLS)]
            request, definition, arguments = chats.tools.errands.call(tool)
            schema = definition["function"]["parameters"]
            self.assertTrue(fits(schema, arguments), (request, arguments))
            self.assertNotRegex(request, r"[{}\[\]]")
            for key, value in arguments.items():
                is_enum = "enum" in schema["properties"][key]
                for one in leaves(value):
                    self.assertTrue(is_enum or is_said(one, request), (request, arguments))

    def test_a_request_for_everyday_tools_says_no_pattern_of_the_evaluation(self) -> None:
        plain = lambda text: " ".join(re.findall(r"\w+", re.sub(r"\{\w+\}", " _ ", text).lower()))
        known = {plain(said) for tool in toolset.TRAIN for said in tool.requests}
        held = {plain(said) for tool in [*toolset.TRAIN, *heldout.TOOLS] for said in tool.held_requests} - known
        asked = {plain(errands.SET.sub("", said)) for tool in errands.TOOLS for said in tool.requests}
        self.assertFalse(asked & held)

    def test_words_that_ask_for_a_list_are_not_in_it(self) -> None:
        chats = Chats(17, varied=True)
        empty = 0
        for turn in range(3000):
            chats.rng.varied = turn % 2 == 0
            record = chats.records.asked_list()
            self.assertTrue(fits(record.schema(), record.value()), record)
            for value in leaves(record.value()):
                self.assertTrue(value is None or is_said(value, record.text), (value, record))
            empty += record.slots[0].value == []
        self.assertGreater(empty, 60)

    def test_questions_of_fact_are_answered_honestly(self) -> None:
        chats = Chats(2, varied=True)
        chats.rng.varied = True
        asked = {talk.question(chats.rng, chats.records.values) for _ in range(400)}
        self.assertGreater(len(asked), 380)
        self.assertFalse(any("{" in text for text in asked))
        answers_given = collections.Counter(chats.text().expected for _ in range(300))
        self.assertGreater(answers_given[talk.HONEST], 90)


class Prompts(unittest.TestCase):
    def test_tools_are_shown_as_signatures(self) -> None:
        address = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
        properties = {
            "name": {"type": "string", "description": "full name"},
            "born": {"type": "string", "format": "date"},
            "mood": {"enum": ["good", "bad"]},
            "home": {"$ref": "#/$defs/Address"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "age": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        }
        schema = {
            "type": "object",
            "properties": properties,
            "required": ["name", "home"],
            "$defs": {"Address": address},
        }
        text = render([{"role": "user", "content": "Hi"}], [toolset.definition("save", "Save it.", schema)])
        self.assertEqual(
            text,
            '<|im_start|>system\n<tools>\nsave{name:string(full name),born?:date,mood?:"good"|"bad",home:{city:string},'
            "tags?:[string],age?:integer|null} Save it.\n</tools><|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n",
        )

    def test_a_schema_that_contains_itself_has_an_end(self) -> None:
        node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
        schema = {"$ref": "#/$defs/Node", "$defs": {"Node": node}}
        self.assertIn("any", render([{"role": "user", "content": "Hi"}], [toolset.definition("f", "F.", schema)]))

    def test_a_call_and_its_result_are_shown_as_hermes_does(self) -> None:
        chats = Chats(4)
        while True:
            sample = chats.draw("after_result")
            if sample.kind == "after_result":
                break
        text = render(sample.messages, sample.tools)
        self.assertIn('<tool_call>\n{"name": "', text)
        self.assertIn("<tool_response>\n", text)


class Tokens(unittest.TestCase):
    def test_a_text_has_the_same_tokens_wherever_it_stands(self) -> None:
        tokenizer = train(300, 600, 1)
        ids = lambda text: tokenizer.encode(text).ids
        for word in ("Zoë", "name", "Łukasz", "12.5", "2024-03-05", "Ada Lovelace", "山田"):
            for before, after in (('{"', '"}'), (" ", "."), (":", ","), ("[", "]"), ("\n", "<|im_end|>")):
                self.assertEqual(ids(before + word + after), ids(before) + ids(word) + ids(after))
            self.assertEqual(tokenizer.decode(ids(word), skip_special_tokens=False), word)


if __name__ == "__main__":
    unittest.main()
