"""Conversations with their answers: what the model is trained on, and asked in the evaluation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from . import answers, classify, composing, errands, sorting, talk
from .answers import Piece
from .domains import Domain
from .frames import ASKS, FINAL, FINAL_TEXTS, KEY_ASKS, SCHEMA_ASKS, SYSTEMS
from .lexicon import Dice
from .records import Records
from .slots import Record
from .toolset import Call, Tool, Tools, definition, told

# How many of the records in training are of everyday situations.
EVERYDAY = 0.35
# How many are of what is said in other words than the fields' names; the others are that many fewer.
CONVEYED = 0.28


@dataclass
class Sample:
    """A conversation, how it is asked for, and the right answer."""

    kind: str
    messages: list[dict[str, Any]]
    answer: list[Piece]
    expected: Any
    tools: list[dict[str, Any]] = field(default_factory=list)
    request: dict[str, Any] = field(default_factory=dict)


def user(text: str) -> dict[str, Any]:
    """A message of the user."""
    return {"role": "user", "content": text}


def further(text: str) -> Piece:
    """What the user says next, in the middle of an answer that goes on."""
    return Piece(f"\n<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n", 0.0)


def asks_a_tool(answer: str, tools: list[dict[str, Any]]) -> bool:
    """Whether one of the tools might know what the honest answer does not."""
    return answer == talk.HONEST and bool(errands.ANSWERING & {tool["function"]["name"] for tool in tools})


class Chats:
    """Draws samples. See [`Records`] for what is held out; `varied`: see `variety`."""

    def __init__(
        self,
        seed: int,
        held_words: bool = False,
        held_patterns: bool = False,
        domains: list[Domain] | None = None,
        tools: list[Tool] | None = None,
        pieces: Sequence[str] = (),
        varied: bool = False,
    ) -> None:
        self.rng = Dice(seed)
        self.rng.pieces, self.varied = pieces, varied
        self.held_patterns = held_patterns
        shares = (EVERYDAY, CONVEYED) if varied else (0.0, 0.0)
        self.records = Records(self.rng, held_words, held_patterns, domains, *shares)
        self.tools = Tools(self.rng, held_words, held_patterns, tools)

    KINDS = {
        "extract_tool": 27,
        "extract_json": 23,
        "prompted": 5,
        "classify": 13,
        "several_classes": 9,
        "auto_call": 15,
        "auto_text": 7,
        "text": 3,
        "required_call": 8,
        "after_result": 4,
        "final_after_result": 6,
        "call_or_answer": 2,
        "several_calls": 9,
    }

    def draw(self, kind: str | None = None) -> Sample:
        """One sample. Where wordings are composed, some samples have the written ones all the same."""
        self.rng.varied = self.varied and self.rng.random() < 0.75
        kind = kind or self.rng.choices(list(self.KINDS), list(self.KINDS.values()))[0]
        return getattr(self, kind)()

    def framed(self, messages: list[dict[str, Any]], chance: float = 0.35) -> list[dict[str, Any]]:
        """Perhaps with a system's message first."""
        if self.rng.random() < chance:
            return [{"role": "system", "content": self.rng.choice(SYSTEMS)}, *messages]
        return messages

    # --- extraction --------------------------------------------------------------------------

    def said(self, record: Record) -> list[dict[str, Any]]:
        """A text in one message, or in several."""
        rng = self.rng
        sentences = record.text.split(". ")
        if len(sentences) > 1 and rng.random() < 0.08:
            cut = rng.randint(1, len(sentences) - 1)
            first, second = ". ".join(sentences[:cut]) + ".", ". ".join(sentences[cut:])
            between = {
                "role": "assistant",
                "content": rng.choice(["Noted.", "Go on.", "Thank you. Is there more?", "Ok."]),
            }
            return [user(first), between, user(second)]
        if rng.random() < 0.6:
            return [user(record.text)]
        ask = rng.choice(ASKS)
        return [user(ask.replace("{noun}", record.noun).replace("{text}", record.text))]

    def final(self, record: Record) -> dict[str, Any]:
        """The tool that takes what was read."""
        noun = record.noun.replace(" ", "_").lower()
        camel = "".join(word.capitalize() for word in noun.split("_"))
        name = self.rng.choice([*FINAL, camel, camel, f"save_{noun}", f"create_{noun}", f"add_{noun}"])
        text = self.rng.choice(FINAL_TEXTS)
        made = definition(name, "", record.schema())
        if text is None:
            del made["function"]["description"]
        else:
            made["function"]["description"] = text.replace("{noun}", record.noun).replace("{Noun}", camel)
        return made

    def size(self) -> tuple[int, int]:
        """The least and the most fields of an object."""
        many = [(7, 11)] if self.rng.varied else []
        return self.rng.choice([(1, 3), (1, 3), (2, 5), (2, 5), (3, 7), (3, 7), *many])

    def forced(self, tool: dict[str, Any], arguments: dict[str, Any], alone: bool) -> list[Piece]:
        """A forced call as the worker asks for it, between tags; now and then, its arguments or its envelope alone."""
        if self.rng.random() < 0.9:
            return answers.forced(tool, arguments, alone)
        if alone:
            return answers.bare(tool["function"]["parameters"], arguments, True)
        return answers.call(tool, arguments)

    def extract_tool(self) -> Sample:
        """One tool, which is forced: the answer is its arguments."""
        record = self.records.draw(*self.size())
        tool = self.final(record)
        tools = [tool]
        choice: Any = "required"
        if self.rng.random() < 0.1:
            tools = [*[c.definition for c in self.tools.calls(self.rng.randint(1, 2))], tool]
            choice = {"type": "function", "function": {"name": tool["function"]["name"]}}
        answer = self.forced(tool, record.value(), True)
        messages = self.framed(self.said(record))
        return Sample("extract_tool", messages, answer, record.value(), tools, {"tools": tools, "tool_choice": choice})

    def extract_json(self) -> Sample:
        """A response format: the prompt does not show the schema, unless the client wrote it there."""
        rng = self.rng
        record = self.records.draw(*self.size(), shown=False)
        schema = record.schema()
        shape = rng.random()
        messages = self.framed(self.said(record))
        if shape < 0.25:
            keys = ", ".join(schema["properties"])
            ask = rng.choice(
                [
                    f"Extract {keys}.",
                    f"Give me {keys} as JSON.",
                    f"Fields: {keys}",
                    f"Answer with JSON that has the keys {keys}.",
                ]
            )
            messages = self.told(messages, ask)
        elif shape < 0.38:
            text = json.dumps(schema, separators=rng.choice([(",", ":"), (", ", ": ")]))
            if len(text) < 500:
                ask = rng.choice(
                    [
                        "Answer with JSON of this schema: {}",
                        "Use this JSON schema:\n{}",
                        "Always respond with a JSON object that's compatible with this schema:\n\n{}",
                    ]
                )
                messages = self.told(messages, ask.format(text))
        answer = answers.bare(schema, record.value(), shape < 0.25)
        named = {
            "name": record.noun.replace(" ", "_") if record.noun.isascii() else "data",
            "schema": schema,
            "strict": True,
        }
        request = {"response_format": {"type": "json_schema", "json_schema": named}}
        return Sample("extract_json", messages, answer, record.value(), [], request)

    def prompted(self) -> Sample:
        """A schema in the instructions, and nothing that enforces it."""
        rng = self.rng
        while True:
            record = self.records.draw(1, rng.choice([3, 4, 6]))
            schema = record.schema()
            text = self.written(schema, record.noun) if rng.random() < 0.88 else ", ".join(schema["properties"])
            if len(text) < 800 and record.noun.isascii():
                break
        ask = rng.choice(SCHEMA_ASKS if text.startswith("{") else KEY_ASKS).replace("{}", text)
        messages = self.said(record)
        if rng.random() < 0.8:
            before = rng.choice(["", "", "\n", f"{rng.choice(SYSTEMS)}\n\n"])
            messages = [{"role": "system", "content": before + ask + rng.choice(["", "\n"])}, *messages]
        else:
            messages = self.told(messages, ask)
        request = {"response_format": {"type": "json_object"}} if rng.random() < 0.5 else {}
        return Sample("prompted", messages, answers.unguided(schema, record.value()), record.value(), [], request)

    def written(self, schema: dict[str, Any], noun: str) -> str:
        """A schema as a client writes it into its prompt: as it is, or as Pydantic makes it, with titles and the type last."""
        rng = self.rng
        title = "".join(word.capitalize() for word in noun.split())
        shape = rng.random()
        if shape < 0.3:
            shown = {**schema, "title": title} if rng.random() < 0.5 else schema
        else:
            properties = schema["properties"]
            if shape < 0.65:
                properties = {key: {**inner, "title": key.replace("_", " ").title()} for key, inner in properties.items()}
            shown = {"properties": properties, "required": schema["required"], "title": title, "type": "object"}
            if rng.random() < 0.3:
                shown.pop("title")
            if rng.random() < 0.2:
                shown = {"description": f"A {noun}.", **shown}
        if rng.random() < 0.15:
            return json.dumps(shown, indent=2)
        return json.dumps(shown, separators=rng.choice([(",", ":"), (", ", ": "), (", ", ": ")]))

    def told(self, messages: list[dict[str, Any]], ask: str) -> list[dict[str, Any]]:
        """With an instruction, in the system's message or the user's."""
        first = messages[0]
        if first["role"] == "system":
            return [{**first, "content": f"{first['content']} {ask}"}, *messages[1:]]
        if self.rng.random() < 0.5:
            return [{"role": "system", "content": ask}, *messages]
        last = messages[-1]
        text = self.rng.choice(
            [f"{ask}\n\n{last['content']}", f"{last['content']}\n\n{ask}", f"{ask} {last['content']}"]
        )
        return [*messages[:-1], {**last, "content": text}]

    # --- classes -----------------------------------------------------------------------------

    def classify(self) -> Sample:
        """A class: in an object of a tool, in an object, or bare."""
        rng = self.rng
        one = classify.draw(rng, self.held_patterns)
        ask = rng.choice(
            [
                "{text}",
                "{text}",
                "Classify: {text}",
                "Classify the text. {text}",
                "What is the {key} of this? {text}",
                "Text: {text}",
                "{key}: {text}",
                "Which {key}? {text}",
                "{text}\n\nAnswer with one of: {labels}.",
                "{labels}? {text}",
                "Is this {labels}?\n{text}",
            ]
        )
        listed = rng.choice([", ", " or ", "/", " | "]).join(one.labels)
        text = ask.replace("{key}", one.key.replace("_", " ")).replace("{labels}", listed).replace("{text}", one.text)
        messages = self.framed([user(text)], 0.25)
        if rng.random() < 0.2:
            messages = self.told(
                messages,
                rng.choice([f"Classify the {one.key}.", f"Choose one of {listed}.", f"The classes are {listed}."]),
            )
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {one.key: {"type": "string", "enum": one.labels}},
            "required": [one.key],
            "additionalProperties": False,
        }
        if one.notes and rng.random() < 0.25:
            messages = self.noted(messages, one.notes, schema["properties"][one.key])
        shape = rng.random()
        if shape < 0.4:
            return Sample(
                "choice",
                messages,
                answers.text(one.label),
                one.label,
                [],
                {"structured_outputs": {"choice": one.labels}},
            )
        if shape < 0.55:
            request = {"response_format": {"type": "json_schema", "json_schema": {"name": "label", "schema": schema}}}
            return Sample(
                "classify_json",
                messages,
                answers.bare(schema, {one.key: one.label}, False),
                {one.key: one.label},
                [],
                request,
            )
        tool = definition(
            rng.choice([*FINAL, "classify", "set_label"]),
            rng.choice(
                ["Classify the text.", f"The {one.key} of the text.", "The final response which ends this conversation"]
            ),
            schema,
        )
        answer = self.forced(tool, {one.key: one.label}, True)
        return Sample(
            "classify_tool",
            messages,
            answer,
            {one.key: one.label},
            [tool],
            {"tools": [tool], "tool_choice": "required"},
        )

    def noted(self, messages: list[dict[str, Any]], notes: list[str], schema: dict[str, Any]) -> list[dict[str, Any]]:
        """With what the classes are for: in the instructions or beside the field."""
        if self.rng.random() < 0.7:
            return self.told(messages, self.rng.choice(["; ", ", ", "\n"]).join(notes))
        schema["description"] = "; ".join(notes)
        return messages

    def several_classes(self) -> Sample:
        """Texts one after the other, of the same classes: for training alone, which so learns of many
        words for the price of one list of classes."""
        rng = self.rng
        count = rng.randint(3, 9)
        if rng.random() < composing.SHARE:
            made = composing.composed(rng, self.records.values, count)
            key, texts, labels = made.key, made.texts, made.labels
        else:
            key, texts, labels = sorting.several(rng, count)
        schema = {"type": "object", "properties": {key: {"type": "string", "enum": labels}}, "required": [key], "additionalProperties": False}
        tool = definition(rng.choice([*FINAL, "classify", "set_label"]), f"The {key} of the text.", schema)
        shape = rng.random()
        answer: list[Piece] = []
        for text, label in texts:
            if answer:
                answer.append(further(text))
            if shape < 0.4:
                answer += answers.forced(tool, {key: label}, True)
            else:
                answer += answers.text(label) if shape < 0.75 else answers.bare(schema, {key: label}, False)
        messages = [user(texts[0][0])]
        if shape >= 0.4 and rng.random() < 0.6:
            listed = rng.choice([", ", " or ", "/", " | "]).join(labels)
            asked = rng.choice([f"Choose one of {listed}.", f"The classes are {listed}.", f"Which {key}? {listed}", f"{key}: {listed}"])
            messages = [{"role": "system", "content": asked}, *messages]
        tools = [tool] if shape < 0.4 else []
        return Sample("several_classes", messages, answer, [label for _, label in texts], tools)

    # --- tools -------------------------------------------------------------------------------

    def offered(self, most: int = 5) -> tuple[Call, list[dict[str, Any]]]:
        """A call, and the tools that it is chosen from."""
        while True:
            calls = self.tools.calls(self.rng.choices(range(1, most + 1), [2, 4, 4, 2, 2][:most])[0])
            tools = [call.definition for call in calls]
            if len({tool["function"]["name"] for tool in tools}) == len(tools):
                break
        self.rng.shuffle(tools)
        return calls[0], tools

    def before(self) -> list[dict[str, Any]]:
        """Now and then, something was said before."""
        if self.rng.random() > 0.12:
            return []
        asked, answer = self.exchange()
        return [user(asked), {"role": "assistant", "content": answer}]

    def exchange(self) -> tuple[str, str]:
        """What somebody says who needs no tool, and the answer."""
        if self.rng.varied:
            return talk.exchange(self.rng, self.records.values)
        asked, answer = self.rng.choice(talk.SMALL_TALK)
        return self.rng.choice(asked), answer

    def polite(self, request: str) -> str:
        """With some words around it."""
        shape = self.rng.random()
        if shape < 0.05:
            return "Hello! " + request
        if shape < 0.1:
            return "Can you help me? " + request
        if shape < 0.14:
            return request.rstrip(".") + ". Thanks!" if not request.endswith("?") else request + " Thanks!"
        return request

    def auto_call(self) -> Sample:
        """A tool may be called, and should be."""
        call, tools = self.offered()
        messages = self.framed([*self.before(), user(self.polite(call.request))])
        expected = {"name": call.definition["function"]["name"], "arguments": call.arguments}
        return Sample(
            "auto_call", messages, answers.tagged(call.definition, call.arguments), expected, tools, {"tools": tools}
        )

    def auto_text(self) -> Sample:
        """A tool may be called, and should not be."""
        if self.rng.varied and self.rng.random() < 0.2:
            asked, tools = self.tools.errands.unmet(self.rng.randint(1, 4))
            answer = talk.HONEST
        else:
            _, tools = self.offered()
            asked, answer = self.exchange()
            while self.rng.varied and asks_a_tool(answer, tools):
                _, tools = self.offered()
        messages = self.framed([*self.before(), user(asked)])
        return Sample("auto_text", messages, answers.text(answer), answer, tools, {"tools": tools})

    def text(self) -> Sample:
        """No tools, no format."""
        asked, answer = self.exchange()
        return Sample("text", self.framed([*self.before(), user(asked)]), answers.text(answer), answer)

    def required_call(self) -> Sample:
        """One of several tools has to be called."""
        call, tools = self.offered()
        while len(tools) < 2:
            call, tools = self.offered()
        messages = self.framed([*self.before(), user(self.polite(call.request))])
        expected = {"name": call.definition["function"]["name"], "arguments": call.arguments}
        request = {"tools": tools, "tool_choice": "required"}
        return Sample(
            "required_call", messages, self.forced(call.definition, call.arguments, False), expected, tools, request
        )

    def several_calls(self) -> Sample:
        """Requests one after the other, with the same tools: for training alone, which so has several
        choices for the price of one list of tools."""
        while True:
            calls = self.tools.calls(self.rng.randint(2, 5))
            tools = [call.definition for call in calls]
            if len({tool["function"]["name"] for tool in tools}) == len(tools):
                break
        self.rng.shuffle(tools)
        free = self.rng.random() < 0.5
        answer, expected = [], []
        for call in self.rng.sample(calls, min(len(calls), 4)):
            if answer and free and self.rng.varied and self.rng.random() < 0.25:
                answer += self.aside(tools)
            if answer:
                answer.append(further(self.polite(call.request)))
            made = answers.tagged if free else partial(answers.forced, alone=False)
            answer += made(call.definition, call.arguments)
            expected.append(call)
        messages = self.framed([user(self.polite(expected[0].request))])
        return Sample("several_calls", messages, answer, [call.arguments for call in expected], tools, {"tools": tools})

    def aside(self, tools: list[dict[str, Any]]) -> list[Piece]:
        """Something in between that needs none of the tools, and its answer."""
        while True:
            asked, answer = self.exchange()
            if not asks_a_tool(answer, tools):
                return [further(asked), *answers.text(answer)]

    def turn(self, call: Call) -> list[dict[str, Any]]:
        """A call and its result."""
        function = {"name": call.definition["function"]["name"], "arguments": call.arguments}
        made = {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
        }
        return [user(call.request), made, {"role": "tool", "tool_call_id": "call_1", "content": call.result}]

    def after_result(self) -> Sample:
        """The result of a call is told, or the next call is made."""
        call, tools = self.offered(4)
        messages = self.framed(self.turn(call))
        if self.rng.random() < 0.3:
            others = self.tools.calls(1)
            names = {tool["function"]["name"] for tool in tools}
            if others[0].definition["function"]["name"] not in names:
                other = others[0]
                tools = [*tools, other.definition]
                messages += [{"role": "assistant", "content": told(call.result)}, user(other.request)]
                expected = {"name": other.definition["function"]["name"], "arguments": other.arguments}
                return Sample(
                    "next_call",
                    messages,
                    answers.tagged(other.definition, other.arguments),
                    expected,
                    tools,
                    {"tools": tools},
                )
        answer = told(call.result)
        return Sample("after_result", messages, answers.text(answer), answer, tools, {"tools": tools})

    def final_after_result(self) -> Sample:
        """A call, its result, and then the tool that takes the final answer."""
        rng = self.rng
        if rng.varied and rng.random() < 0.5:
            return self.final_from_text()
        call, tools = self.offered(3)
        while not call.result.startswith("{"):
            call, tools = self.offered(3)
        found = {**call.arguments, **json.loads(call.result)}
        keys = rng.sample(list(found), rng.randint(1, min(3, len(found))))
        value = {key: found[key] for key in keys}
        types = {str: "string", int: "integer", float: "number", list: "array", bool: "boolean"}
        properties = {key: {"type": types[type(inner)]} for key, inner in value.items()}
        for inner in properties.values():
            if inner["type"] == "array":
                inner["items"] = {"type": "string"}
        schema = {"type": "object", "properties": properties, "required": keys, "additionalProperties": False}
        final = definition(
            rng.choice(["final_result", "final_result", "answer", "submit"]),
            "The final response which ends this conversation",
            schema,
        )
        if final["function"]["name"] in {tool["function"]["name"] for tool in tools}:
            return self.final_after_result()
        tools = [*tools, final]
        request = {"tools": tools, "tool_choice": "required"}
        messages = self.framed(self.turn(call))
        if rng.random() < 0.45:
            messages = messages[:-2]
            expected = {"name": call.definition["function"]["name"], "arguments": call.arguments}
            return Sample(
                "first_call", messages, self.forced(call.definition, call.arguments, False), expected, tools, request
            )
        expected = {"name": final["function"]["name"], "arguments": value}
        return Sample("final_call", messages, self.forced(final, value, False), expected, tools, request)

    def final_from_text(self) -> Sample:
        """A call whose result is a text, out of which the final answer is read, or which is it."""
        rng = self.rng
        call, tools = self.offered(3)
        record = self.records.draw(1, 3)
        schema, value, result = record.schema(), record.value(), record.text
        if rng.random() < 0.35:
            result = call.result if rng.random() < 0.5 and not call.result.startswith("{") else record.text
            key = rng.choice(["response", "response", "answer", "result", "text"])
            schema = {"type": "object", "properties": {key: {"type": "string"}}, "required": [key]}
            value = {key: result}
        final = definition(rng.choice(FINAL[:8]), "The final response which ends this conversation", schema)
        if final["function"]["name"] in {tool["function"]["name"] for tool in tools}:
            return self.final_from_text()
        messages = self.framed(self.turn(call))
        messages[-1] = {**messages[-1], "content": result}
        tools = rng.sample([*tools, final], len(tools) + 1) if rng.random() < 0.3 else [*tools, final]
        expected = {"name": final["function"]["name"], "arguments": value}
        request = {"tools": tools, "tool_choice": "required"}
        return Sample("final_call", messages, self.forced(final, value, False), expected, tools, request)

    def call_or_answer(self) -> Sample:
        """One object: a call, or an answer of a schema."""
        rng = self.rng
        call, tools = self.offered(3)
        record = self.records.draw(1, 3, shown=False)
        schema = record.schema()
        request = {
            "tools": tools,
            "response_format": {"type": "json_schema", "json_schema": {"name": "data", "schema": schema}},
        }
        if rng.random() < 0.5:
            messages = self.framed([user(self.polite(call.request))])
            expected = {"name": call.definition["function"]["name"], "arguments": call.arguments}
            first, second, *rest = answers.call(call.definition, call.arguments)
            return Sample("union_call", messages, [first, Piece(second.text), *rest], expected, tools, request)
        messages = self.framed(self.said(record))
        inner = answers.pieces(schema, record.value(), False)
        answer = [Piece("{", 0.0), Piece('"answer":'), *inner, Piece("}", 0.1), Piece("<|im_end|>", 0.1)]
        return Sample("union_answer", messages, answer, record.value(), tools, request)
