"""Lists that are asked for in the same breath: where the asking ends and the list begins. For training alone."""

from __future__ import annotations

from typing import Any

from .keyed import Keyed
from .lexicon import Dice
from .slots import Record, Slot, nullable, object_schema
from .sorting import WORDS
from .spoken import HELLO, THANKS
from .values import joined, schema_of

VERBS = ["List", "List", "List", "Name", "Give me", "Find", "Extract", "Collect", "Get", "Tell me", "Return", "Show", "Pick out", "Read out", "Please list", "Please extract", "Can you list", "I need", "Make a list of", "Enumerate", "Gather", "Note"]
WHOLES = ["all", "all the", "every one of the", "the", "all of the", "", "just the", "each of the"]
ENDS = ["", "", "that are named", "that are mentioned", "that is said here", "said in the text", "in the text", "in this text", "in this message", "here", "below", "you can find", "that appear", "which are named here", "from the following", "in what follows", "I am talking about", "that were mentioned", "out of this", "in the sentence", "given here"]
QUESTIONS = ["Which {n} are named", "What {n} are there", "Which {n} are mentioned here", "What {n} do you see", "Which {n} does it speak of", "What are the {n}", "Which {n} can you find", "Which ones are named", "What is being listed", "What {n} appear below", "Which {n} were meant"]
GENERAL = ["things", "items", "words", "entries", "objects", "elements", "parts", "points", "values", "pieces", "products"]
EVERYTHING = ["all that is named", "everything that is mentioned", "everything", "all of it", "all that there is", "whatever is named", "what is listed", "all that I say", "everything I mention", "what you read"]
KEYS = ["items", "items", "list", "things", "values", "entries", "result", "results", "names", "elements", "words", "found", "response", "output", "answer", "data"]
STARTS = ["We bought", "I saw", "There are", "She likes", "On the table lay", "We talked about", "They have", "He mentioned", "I packed", "You'll need", "In the drawer I found", "The shop sells", "My bag holds", "We ordered", "Here come", "I can offer", "The parcel contains", "Yesterday we got", "Don't forget", "Bring", "I'd like"]
NOTHING = ["Nothing was bought today", "There is nothing to report", "I have no idea", "It rained all day", "We stayed at home", "The list is empty", "None", "Nobody named any", "We need nothing", "no entries", "Nothing at all", "The box was empty", "I forgot what it was", "All is well here", "n/a", "Hello, how are you?"]


def asking(rng: Dice, noun: str) -> str:
    """Words that ask for a list."""
    if rng.random() < 0.25:
        return rng.choice(QUESTIONS).replace("{n}", noun) + "?"
    if rng.random() < 0.25:
        return f"{rng.choice(VERBS)} {rng.choice(EVERYTHING)}"
    return " ".join(f"{rng.choice(VERBS)} {rng.choice(WHOLES)} {noun} {rng.choice(ENDS)}".split())


class Listings(Keyed):
    """Draws such records. Keys are written as the record writes them."""

    def asked_list(self) -> Record:
        """What is asked for, and the things: none of the asking words is one of them."""
        rng = self.rng
        shape = rng.random()
        if shape < 0.12:
            return self.asked_pairs()
        if shape < 0.24:
            return self.picked()
        sort, texts, schema, found = self.things(rng.choices([1, 2, 3, 4, 5, 6, 7], [7, 20, 30, 20, 12, 7, 4])[0])
        noun = sort if rng.random() < 0.5 else rng.choice(GENERAL)
        key = sort.replace(" ", "_") if rng.random() < 0.3 else rng.choice(KEYS)
        if rng.random() < 0.08:
            text, found = self.around(asking(rng, noun), rng.choice(NOTHING)), []
        else:
            text = self.around(asking(rng, noun), self.laid_out(texts))
        return Record("list", text, [Slot(self.key(key), {"type": "array", "items": schema}, found)])

    def things(self, count: int) -> tuple[str, list[str], dict[str, Any], list[Any]]:
        """What they are, as texts, and as JSON."""
        rng, draw = self.rng, self.values.draw
        shape = rng.random()
        if shape < 0.42:
            block = rng.choice(WORDS)
            sort = rng.choice(block.sorts)
            pool = sort.texts if rng.random() < 0.7 else [text for one in block.sorts for text in one.texts]
            texts = list(dict.fromkeys(rng.sample(pool, min(count, len(pool)))))
            return rng.choice(block.names or GENERAL), texts, {"type": "string"}, texts
        if shape < 0.68:
            name = rng.choice(["food", "ingredient", "product", "color", "animal", "skill", "material", "noun", "topic", "sport", "job", "language", "country"])
            texts = self.values.words.some(name, count, count)
            return f"{name}s", texts, {"type": "string"}, texts
        if shape < 0.92:
            kind, noun = rng.choice([("first", "names"), ("fullname", "people"), ("city", "cities"), ("company", "companies"), ("email", "addresses"), ("code", "codes"), ("title", "titles"), ("date", "dates")])
            values = list({value.text: value for value in (draw(kind) for _ in range(count))}.values())
            return noun, [value.text for value in values], schema_of(kind), [value.json for value in values]
        numbers = [draw(rng.choice(["int 0 99", "int 1 2000"])).json for _ in range(count)]
        return "numbers", [str(one) for one in numbers], {"type": "integer"}, numbers

    def laid_out(self, texts: list[str]) -> str:
        """Side by side, line by line, or in a sentence."""
        rng = self.rng
        shape = rng.random()
        if shape < 0.2:
            bullet = rng.choice(["- ", "* ", "• ", "", "1. ", "1) "])
            marked = [(f"{i}{bullet[1:]}" if bullet[:1] == "1" else bullet) + text for i, text in enumerate(texts, 1)]
            return "\n" + "\n".join(marked)
        if shape < 0.3:
            return rng.choice([", ", "; ", " / ", " | ", ",", "\t"]).join(texts)
        text = joined(rng, texts)
        if shape < 0.6:
            return text
        article = rng.choice(["", "", "some ", "the "]) if text[0].islower() else ""
        if article and len(texts) > 1 and rng.random() < 0.5:
            text = joined(rng, [article + one for one in texts])
        else:
            text = article + text
        start = rng.choice(STARTS)
        return f"{start} {text}"

    def around(self, ask: str, said: str) -> str:
        """The asking words before the list, or behind it."""
        rng = self.rng
        lined = said.startswith("\n")
        said = said[0].upper() + said[1:] if said.startswith(tuple(NOTHING)) else said
        is_question = ask.endswith("?")
        if rng.random() < 0.72:
            glue = rng.choice([" ", "\n", "\n\n", " "]) if is_question else rng.choice([": ", ": ", ": ", ":\n", ". ", " - ", "\n\n", ":\n\n"])
            text = ask + (glue.rstrip() or ":" if lined and not is_question else "" if lined else glue) + said
        else:
            text = said.strip() + ("\n" if lined else rng.choice([". ", ".\n", "\n\n", ". "])) + ask
            text += "" if is_question else rng.choice([".", "", "."])
        if text[-1] not in "?.!" and not lined and rng.random() < 0.6:
            text += "."
        if rng.random() < 0.12:
            text = f"{rng.choice(HELLO)} {text}"
        if rng.random() < 0.06:
            text += rng.choice([" ", "\n"]) + rng.choice(THANKS)
        if not text.startswith(ask):
            return text
        return text[0].upper() + text[1:] if rng.random() < 0.85 else text[0].lower() + text[1:]

    def asked_pairs(self) -> Record:
        """Things with their numbers, as objects."""
        rng = self.rng
        names = self.values.words.some(rng.choice(["food", "product", "ingredient", "animal", "first"]), 1, 5)
        form = rng.choice(["{q} {n}", "{q} {n}", "{n} x{q}", "{q}x {n}", "{n} ({q})", "{n}: {q}", "{n} {q}", "{q} x {n}"])
        counts = [rng.randint(1, rng.choice([5, 20, 300])) for _ in names]
        first = self.key(rng.choice(["name", "item", "product", "what", "thing"]))
        second = self.key(rng.choice(["quantity", "count", "amount", "number", "qty", "how_many"]))
        rows = [{first: name, second: count} for name, count in zip(names, counts)]
        texts = [form.replace("{q}", str(count)).replace("{n}", name) for name, count in zip(names, counts)]
        inner = object_schema([Slot(first, {"type": "string"}, None), Slot(second, {"type": "integer"}, None)])
        ask = asking(rng, rng.choice(GENERAL)) + rng.choice(["", " with their numbers", " and how many of each"])
        ask = ask.replace("? with", " with").replace("? and", " and")
        slot = Slot(self.key(rng.choice(KEYS[:8])), {"type": "array", "items": inner}, rows)
        return Record("list", self.around(ask, self.laid_out(texts)), [slot])

    def picked(self) -> Record:
        """Things of two sorts: those of each, or of one alone."""
        rng = self.rng
        blocks = rng.sample([block for block in WORDS if block.names], 2)
        chosen: list[list[str]] = []
        for block in blocks:
            pool = [text for sort in block.sorts for text in sort.texts]
            chosen.append(rng.sample(pool, rng.randint(1, 3)))
        chosen[1] = [text for text in chosen[1] if text not in {one for sort in blocks[0].sorts for one in sort.texts}]
        nouns = [rng.choice(block.names) for block in blocks]
        mixed = rng.sample([*chosen[0], *chosen[1]], len(chosen[0]) + len(chosen[1]))
        said = self.laid_out(mixed)
        slots = [Slot(self.key(noun.replace(" ", "_")), {"type": "array", "items": {"type": "string"}}, [text for text in mixed if text in group]) for noun, group in zip(nouns, chosen)]
        if rng.random() < 0.5:
            text = self.around(f"{rng.choice(VERBS)} {rng.choice(WHOLES)} {nouns[0]}", said)
            return Record("list", " ".join(text.split(" ")), slots[:1])
        if slots[0].key == slots[1].key:
            return Record("list", said.strip(), slots[:1])
        if rng.random() < 0.1:
            slots.append(Slot(self.key("total_price"), nullable({"type": "number"}, rng), None))
        return Record("list", said.strip() + rng.choice([".", ""]), slots)
