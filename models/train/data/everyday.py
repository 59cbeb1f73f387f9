"""Small situations of everyday life and work, with several values of one kind in a text.

What is learned here is which words and units stand by which field. Training alone uses them, as it does
`spoken`. The situations are in `situations`, `pastimes`, `workplaces`, `dealings` and `letters`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from . import dealings, letters, pastimes, situations, variety, workplaces
from .keyed import Keyed
from .lexicon import composed
from .slots import MISSING, Record, Slot, nullable, object_schema, words_of
from .spoken import HELLO, THANKS
from .values import Value, schema_of, spelled


@dataclass
class Fact:
    """A field of a situation. `shorts`: how a list without verbs has it."""

    keys: list[str]
    kind: str
    sayings: list[str]
    shorts: list[str]


@dataclass
class Situation:
    """Facts, by the first of their keys, and sentences that say several; `ordered`: the smaller and the larger."""

    noun: str
    facts: dict[str, Fact] = field(default_factory=dict)
    patterns: list[str] = field(default_factory=list)
    ordered: list[tuple[str, str]] = field(default_factory=list)


def parse(text: str) -> list[Situation]:
    """See `situations` for the notation."""
    made: list[Situation] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("@ "):
            made.append(Situation(line[2:]))
        elif line.startswith("> "):
            made[-1].patterns.append(line[2:])
        elif line.startswith("< "):
            small, large = line[2:].split()
            made[-1].ordered.append((small, large))
        else:
            keys, kind, sayings, *shorts = line.split(" : ")
            said = [] if sayings == "-" else sayings.split("; ")
            fact = Fact(keys.split(","), kind, said, shorts[0].split("; ") if shorts else [])
            made[-1].facts[fact.keys[0]] = fact
    return made


SITUATIONS = [one for module in (situations, pastimes, workplaces, dealings, letters) for one in parse(module.TEXT)]

PLACE = re.compile(r"\{(\w+)\}")
# A placeholder, or an ending that a single one does not have: `{sisters} sister(s)`.
PART = re.compile(r"\{(\w+)\}|\((s|es|ren)\)")
MONEY = {"${}": "USD", "{} dollars": "USD", "{} USD": "USD", "€{}": "EUR", "{} euros": "EUR", "{} EUR": "EUR", "{} €": "EUR", "{}€": "EUR", "£{}": "GBP", "{} pounds": "GBP", "{} GBP": "GBP", "{}": ""}
# Kinds that a text in small letters keeps as they are.
KEPT = ("code", "email", "url", "phone", "enum")
WHO = ["name", "sender", "caller", "from_name", "customer", "contact", "writer", "person", "user", "author"]
PLACES = {"city": ["city", "town", "location", "from_city", "lives_in"], "company": ["company", "employer", "firm", "organisation"]}
INTROS = ["hey its {n}", "hi it's {n}", "Hi, {n} here", "Hello, this is {n}", "Hi, this is {n} from {p}", "hey its {n} from {p}", "Hello, {n} from {p} here", "{n} here", "{n} here from {p}", "it's me, {n}", "Hi, my name is {n}", "Hi there, I'm {n} from {p}", "Hey, {n} speaking", "Good evening, {n} here, the one from {p}", "hi {n} from {p} again", "Morning, it's {n}"]
FILLERS = ["I hope you are well", "Sorry for the late reply", "It rained all the way", "No rush with this", "More on that another day", "As promised, the details", "Just so that you know", "You know how it is", "Let me know what you think", "Not much else to tell", "What a day", "Greetings to everybody", "Please note it down", "Ask me if anything is unclear"]


@dataclass
class Fill:
    """A fact that was drawn: the key, schema and value of a record, and the words for it."""

    fact: Fact
    key: str
    schema: dict[str, Any]
    value: Value


class Everyday(Keyed):
    """Draws records of such situations. Keys are written as the record writes them."""

    def everyday(self, least: int, most: int) -> Record:
        """One of any situation."""
        rng = self.rng
        situation = rng.choice(SITUATIONS)
        self.is_small = rng.random() < 0.15
        self.money = rng.choice(list(MONEY))
        if situation.patterns and rng.random() < 0.06:
            made = self.several(situation)
            if made:
                return made
        fills = self.fills(situation)
        asked = rng.sample(list(fills), min(len(fills), rng.randint(least, most)))
        rest = [name for name in fills if name not in asked]
        beside = rng.sample(rest, min(len(rest), rng.choices([0, 1, 2, 3, 9], [25, 25, 25, 15, 10])[0]))
        shape = rng.random()
        if shape < 0.7:
            text, said = self.told_in_sentences(situation, fills, [*asked, *beside])
        elif shape < 0.86:
            said = rng.sample([*asked, *beside], len(asked) + len(beside))
            text = self.in_short(fills, said)
        else:
            said = rng.sample([*asked, *beside], len(asked) + len(beside))
            text = self.in_labels(fills, said)
        slots = [Slot(self.key(fills[name].key), fills[name].schema, fills[name].value.json) for name in asked]
        for slot in slots:
            if rng.random() < 0.08:
                slot.schema = nullable(slot.schema, rng)
        if MONEY[self.money] and any("money" in fills[name].fact.kind for name in said) and rng.random() < 0.2:
            schema = {"type": "string", "enum": ["EUR", "USD", "GBP"]} if rng.random() < 0.5 else {"type": "string"}
            slots.append(Slot("currency", schema, MONEY[self.money]))
        unsaid = [name for name in fills if name not in said and fills[name].fact.kind != "bool"]
        if unsaid and rng.random() < 0.12:
            slots.append(self.left_out(fills[rng.choice(unsaid)]))
        text = self.framed_by_name(situation, text, slots)
        if rng.random() < 0.7:
            rng.shuffle(slots)
        return Record(situation.noun, text, list({slot.key: slot for slot in slots}.values()))

    # --- values ------------------------------------------------------------------------------

    def fills(self, situation: Situation) -> dict[str, Fill]:
        """Every fact of a situation, with different values where they are of one sort."""
        made: dict[str, Fill] = {}
        for name, fact in situation.facts.items():
            for _ in range(4):
                schema, value = self.drawn(fact.kind)
                if isinstance(value.json, bool) or all(one.value.json != value.json for one in made.values()):
                    break
            key = fact.keys[0] if self.rng.random() < 0.35 else self.rng.choice(fact.keys)
            made[name] = Fill(fact, key, schema, value)
        for small, large in situation.ordered:
            one, other = made[small], made[large]
            if one.value.json > other.value.json:
                one.value, other.value = other.value, one.value
        return made

    def drawn(self, kind: str) -> tuple[dict[str, Any], Value]:
        """A schema and a value of one of the kinds that ` or ` stands between."""
        rng = self.rng
        kind = rng.choice(kind.split(" or "))
        name, _, rest = kind.partition(" ")
        if name == "bool":
            truth = rng.random() < 0.5
            return {"type": "boolean"}, Value(truth, "yes" if truth else "no")
        if name == "few":
            low, high = map(int, rest.split())
            number = 0 if low == 0 and rng.random() < 0.15 else rng.randint(low, high)
            in_words = rng.random() < (0.6 if number < 13 else 0.2 if number < 100 else 0)
            return self.plain_schema(kind), Value(number, "no" if number == 0 else spelled(number) if in_words else str(number))
        if name == "money":
            return {"type": "number"}, self.cash(kind)
        if name == "enum":
            word = rng.choice(rest.split("/"))
            return schema_of(kind), Value(word, word.replace("_", " "))
        schema = schema_of(kind)
        if rng.random() < 0.3:
            schema.pop("format", None)
        if name == "some":
            word = rng.choice(rest.split("/"))
            if rng.random() < 0.3:
                word = self.values.words.phrase() if " " in word else composed(rng)
            value = Value(word, word)
        elif name == "time" and rng.random() < 0.4:
            value = self.values.draw("clock")
        else:
            value = self.values.draw(kind)
        if self.is_small and name not in KEPT:
            if isinstance(value.json, str) and value.json == value.text:
                value = Value(value.json.lower(), value.text.lower())
            elif name == "list":
                value = Value([one.lower() for one in value.json], value.text.lower())
        return schema, value

    def cash(self, kind: str) -> Value:
        """An amount, in the currency of this text."""
        value = self.values.draw(kind).json
        text = f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"
        if self.rng.random() < 0.5:
            text = text.replace(",", "")
        return Value(value, self.money.format(text))

    def left_out(self, fill: Fill) -> Slot:
        """A property of which the text says nothing."""
        if self.shown and self.rng.random() < 0.5:
            return Slot(self.key(fill.key), fill.schema, MISSING, required=False)
        return Slot(self.key(fill.key), nullable(fill.schema, self.rng), None)

    # --- sentences ---------------------------------------------------------------------------

    def rendered(self, template: str, texts: dict[str, Any]) -> str:
        """A sentence with its values. What is around them may be in small letters, or begin with a large one."""
        template = template.lower() if self.is_small else template[0].upper() + template[1:]
        last: Any = None

        def filled(found: re.Match[str]) -> str:
            nonlocal last
            if found[2]:
                return "" if last == 1 else found[2]
            value = texts[found[1]]
            last = value.json
            # No words where something is joined to a number: `3x`, `80%`, `2:1`.
            joined = template[: found.start()][-1:] + template[found.end() :][:1]
            is_word = isinstance(last, int) and value.text[0].isalpha()
            if value.text == "no" and isinstance(last, int) and not re.match(r" (\w+ )?\w+\(", template[found.end() :]):
                return "0" if re.search(r"[^\W_]|[%°:/+#-]", joined) else self.rng.choice(["none", "none", "0", "zero"])
            return str(last) if is_word and re.search(r"[^\W_]|[%°:/+#-]", joined) else value.text

        return PART.sub(filled, template)

    def saying(self, fill: Fill) -> str:
        """One fact, in a clause of its own."""
        rng, fact = self.rng, fill.fact
        if fact.kind == "bool":
            yes, no = "; ".join(fact.sayings).split(" / ")
            template = rng.choice((yes if fill.value.json else no).split("; "))
        elif not fact.sayings or rng.random() < 0.08:
            label = words_of(rng.choice([fill.key, fact.keys[0]]))
            is_many = label.endswith("s") and not label.endswith("ss")
            verb = rng.choice(["are", "were"] if is_many else ["is", "was"])
            template = rng.choice([f"the {label} {verb} {{v}}", f"my {label} {verb} {{v}}", f"{label}: {{v}}", f"{{v}} {verb} the {label}"])
            return self.rendered(template, {"v": self.plain(fill)})
        else:
            template = rng.choice(fact.sayings)
        return self.rendered(template, {"v": fill.value})

    def plain(self, fill: Fill) -> Value:
        """A value that no noun follows: `0`, not `no`."""
        if fill.fact.kind.startswith("few") and fill.value.text == "no":
            return Value(0, "0")
        return fill.value

    def told_in_sentences(self, situation: Situation, fills: dict[str, Fill], wanted: list[str]) -> tuple[str, list[str]]:
        """Sentences that say what is wanted, and which facts they say: patterns bring others along."""
        rng = self.rng
        texts = {name: fill.value for name, fill in fills.items()}
        left, said, sentences = list(wanted), [], []
        for pattern in rng.sample(situation.patterns, len(situation.patterns)):
            names = PLACE.findall(pattern)
            if rng.random() < 0.85 and any(name in left for name in names) and not any(name in said for name in names):
                sentences.append(self.rendered(pattern, texts))
                said += names
                left = [name for name in left if name not in names]
        alone = [self.saying(fills[name]) for name in rng.sample(left, len(left))]
        said += left
        if sentences and rng.random() < 0.35:
            sentences = rng.sample([*sentences, *alone], len(sentences) + len(alone))
        else:
            sentences += alone
        if rng.random() < 0.12:
            filler = rng.choice(FILLERS) if rng.random() < 0.6 else variety.chatter(rng).rstrip(".:!")
            sentences.insert(rng.randint(0, len(sentences)), filler.lower() if self.is_small else filler)
        return self.strung(sentences), said

    def strung(self, sentences: list[str]) -> str:
        """Sentences one after the other, with or without what ends them."""
        rng = self.rng
        glue = rng.choice([". ", ". ", ". ", ". ", "\n", "! ", "; ", " - ", ", "])
        if self.is_small:
            glue = rng.choice([" ", ", ", ", ", ". ", "\n", " and "])
        text = sentences[0]
        for one in sentences[1:]:
            text += (" " if text[-1] in "?!" and glue.strip() else glue) + one
        return text if text[-1] in "?!" or rng.random() < (0.7 if self.is_small else 0.15) else text + "."

    def in_short(self, fills: dict[str, Fill], said: list[str]) -> str:
        """Values with little around them, as in an advertisement or a note."""
        rng = self.rng
        families = [variety.family(fills[name].fact.kind.split(" or ")[0]) for name in said]
        parts = []
        for name, sort in zip(said, families):
            fill = fills[name]
            if fill.fact.kind == "bool":
                parts.append(self.saying(fill))
                continue
            label = words_of(fill.key)
            shorts = fill.fact.shorts or [f"{label} {{v}}", f"{label}: {{v}}", f"{{v}} ({label})"]
            value = fill.value if fill.fact.shorts else self.plain(fill)
            if sort not in ("number", "word") and families.count(sort) == 1 and rng.random() < 0.5:
                shorts = ["{v}"]
            template = rng.choice(shorts)
            texts = {"v": value}
            parts.append(self.rendered(template, texts) if rng.random() < 0.3 else self.rendered("\0" + template, texts)[1:])
        text = rng.choice([", ", ", ", ", ", "; ", " - ", " / ", "\n", ". ", " | "]).join(parts)
        if rng.random() < 0.12:
            text = rng.choice(["Note: ", "New: ", "For the list: ", "Entry: ", "Noted: ", "Memo - "]) + text
        return text + rng.choice(["", "."])

    def in_labels(self, fills: dict[str, Fill], said: list[str]) -> str:
        """`Seat: 14C`, line by line or in one line."""
        rng = self.rng
        colon = rng.choice([": ", ": ", ": ", " = ", "=", " - ", ":\t", " "])
        title = rng.choice([str.capitalize, str.capitalize, str, str.upper, str.title])
        glue = rng.choice(["\n", "\n", "\n", "; ", ", ", " | "])
        parts = []
        for name in said:
            fill = fills[name]
            label = words_of(fill.key if rng.random() < 0.65 else rng.choice(fill.fact.keys))
            value = self.plain(fill)
            text = value.text
            units = [short for short in fill.fact.shorts if re.fullmatch(r"\{v\} ?[\w%°/]{1,3}", short)]
            if units and rng.random() < 0.5:
                text = self.rendered("\0" + rng.choice(units), {"v": value})[1:]
            parts.append(f"{title(label)}{colon}{text}")
        return glue.join(parts)

    def framed_by_name(self, situation: Situation, text: str, slots: list[Slot]) -> str:
        """Somebody's name before or after the text, which may be asked for; or a greeting."""
        rng = self.rng
        shape = rng.random()
        taken = {key for fact in situation.facts.values() for key in fact.keys}
        if shape < 0.25 and not taken & set(WHO):
            name = self.values.draw(rng.choice(["first", "first", "person", "fullname"])).text
            sort = rng.choice(["city", "company"])
            place = self.values.draw(sort).text
            if self.is_small:
                name, place = name.lower(), place.lower()
            if rng.random() < 0.75:
                intro = rng.choice(INTROS)
                intro = (intro.lower() if self.is_small else intro).replace("{n}", name).replace("{p}", place)
                key = rng.choice(PLACES[sort])
                if place in intro and rng.random() < 0.35 and key not in taken:
                    slots.append(Slot(self.key(key), {"type": "string"}, place))
                text = intro + rng.choice([", ", ". ", "! ", " - ", "\n"]) + text
            else:
                text += rng.choice(["\n", " " if text[-1] in ".?!" else "\n", "\n\n"]) + rng.choice(THANKS) + rng.choice([", ", ",\n", " "]) + name
            if rng.random() < 0.6:
                slots.append(Slot(self.key(rng.choice(WHO)), {"type": "string"}, name))
        elif shape < 0.37:
            hello = rng.choice(HELLO)
            text = f"{hello.lower() if self.is_small else hello}{rng.choice([' ', ' ', chr(10)])}{text}"
        elif shape < 0.43:
            text += rng.choice(["\n", " " if text[-1] in ".?!" else "\n"]) + rng.choice([*THANKS, "Bye", "See you", "Talk soon", "Over and out"])
        return text

    @staticmethod
    def plain_schema(kind: str) -> dict[str, Any]:
        """The schema of one of the kinds that are known here, too."""
        return {"type": "integer"} if kind.startswith("few ") else schema_of(kind)

    # --- several of a sort -------------------------------------------------------------------

    def several(self, situation: Situation) -> Record | None:
        """The same said of several, as a list of objects."""
        rng = self.rng
        pattern = rng.choice(situation.patterns)
        names = list(dict.fromkeys(PLACE.findall(pattern)))
        schemas = {name: [self.plain_schema(one) for one in situation.facts[name].kind.split(" or ")] for name in names}
        if any(one != ones[0] or one == {"type": "boolean"} for ones in schemas.values() for one in ones):
            return None
        kept = rng.sample(names, rng.randint(min(2, len(names)), min(3, len(names))))
        keys = {name: self.key(rng.choice(situation.facts[name].keys)) for name in kept}
        if len(set(keys.values())) < len(keys):
            return None
        fills: dict[str, Fill] = {}
        rows, sentences = [], []
        for _ in range(rng.choice([1, 2, 2, 3, 3, 4])):
            fills = self.fills(situation)
            sentences.append(self.rendered(pattern, {name: fill.value for name, fill in fills.items()}))
            rows.append({keys[name]: fills[name].value.json for name in kept})
        inner = object_schema([Slot(keys[name], schemas[name][0], None) for name in kept])
        key = self.key(rng.choice(["items", "entries", "results", "records", "list", "rows", f"{situation.noun.split()[-1]}s"]))
        return Record(situation.noun, self.strung(sentences), [Slot(key, {"type": "array", "items": inner}, rows)])
