"""Texts of things, people and cases, put together of clauses in which the names of the fields need not occur.

What is learned here is what a field's name means: that a `fare` is what a ticket costs, and that the `welder` is who
welded something. The clauses are in `concepts`. Training alone uses them, as it does `everyday`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from . import concepts
from .everyday import FILLERS, WHO
from .keyed import Keyed
from .lexicon import Dice
from .slots import MISSING, Record, Slot, nullable, object_schema, words_of
from .spoken import HELLO, THANKS
from .things import entries
from .values import Value, schema_of


@dataclass
class Concept:
    """A field's names, its kind, what a text may call it, and clauses for each of its values, or for all."""

    keys: list[str]
    kind: str
    labels: list[str]
    clauses: dict[Any, list[str]]


@dataclass
class Theme:
    """Subjects (what they are called, the names of the field, the kind of their own names) and what is said of them."""

    noun: str
    subjects: list[tuple[list[str], list[str], str]]
    concepts: list[Concept] = field(default_factory=list)
    words: set[str] = field(default_factory=set)


@dataclass
class Deed:
    """What was done: the past, the participle, who does it, and the deed itself."""

    past: str
    done: str
    agents: list[str]
    noun: str
    words: set[str]


@dataclass
class Told:
    """A field with its value, and the clauses that say it."""

    key: str
    schema: dict[str, Any]
    value: Value
    labels: list[str]
    clauses: list[str]
    sort: str


def clauses_of(kind: str, text: str) -> dict[Any, list[str]]:
    """The clauses of every value: of booleans and enums they differ."""
    if kind == "bool":
        yes, no = text.split(" / ")
        return {True: yes.split("; "), False: no.split("; ")}
    if kind == "enum":
        pairs = [one.split("=") for one in text.split("; ")]
        return {name: said.split("|") for name, said in pairs}
    return {None: text.split("; ")}


def parse(text: str) -> list[Theme]:
    """See `concepts` for the notation."""
    made: list[Theme] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("# "):
            noun, subjects = line[2:].split(" | ")
            parts = [one.split("/") for one in subjects.split("; ")]
            made.append(Theme(noun, [(names.split(","), keys.split(","), kind) for names, keys, kind in parts]))
        else:
            keys, kind, labels, said = line.split(" : ", 3)
            # One of something would need other words.
            kind = kind.replace("int 1 ", "int 2 ")
            one = Concept(keys.split(","), kind, labels.split(","), clauses_of(kind, said))
            made[-1].concepts.append(one)
            made[-1].words |= {word for key in one.keys for word in key.split("_")}
    return made


def deeds(text: str) -> list[Deed]:
    """See `concepts` for the notation."""
    made = []
    for one in filter(None, (part.strip() for part in text.replace("\n", ";").split(";"))):
        base, past, done, agents, noun = one.split()
        made.append(Deed(past, done, agents.split(","), noun, {base, past, done, noun, *agents.split(",")}))
    return made


THEMES = parse(concepts.TEXT)
DEEDS = deeds(concepts.DEEDS)
# Of what something can be done to.
DONE_TO = ("item", "document", "vehicle", "project")
# Of each line, a text says one at most, and asks for none that it does not say: one would tell something of the other.
RIVALS = [
    set(line.split())
    for line in """condition second_hand
    availability stock
    online outdoors venue
    free_entry ticket_price status
    resolved status closed_on next_step
    urgent priority
    marital_status spouse
    retired full_time leaves_on
    direct via means
    paid payment_method
    signed signed_on
    phase on_schedule release_date
    recurring instalments ends_on
    confirmed booked_on
    is_full waiting_list
    purpose category
    fuel consumption_l tank_l
    retired job
    retired employer
    retired salary
    retired boss
    resolved refund
    status refund
    paid due_date
    has_damage roadworthy
    alarm_level fault
    result goals_home
    result goals_away""".splitlines()
]
# Names that say too little where two values of a sort are in the text.
VAGUE = set(
    entries("""date day on amount price cost total sum name city town location place where start end number year people
    contact time level size value from to fee company owner phone email topic about item product""")
)
OPENERS = [
    "Here is what I know about {s}",
    "You asked about {s}",
    "I had a look at {s}",
    "Let me tell you about {s}",
    "Some words on {s}",
    "It is about {s}",
    "Now to {s}",
    "Have you heard of {s}?",
    "We talked about {s} yesterday",
    "This came in today: {s}",
    "Another one for the file, {s}",
]
REPORTED = ["I was told that", "They say", "As far as I know,", "It turns out that", "I think", "Word is that", "Well,"]


def sort_of(kind: str) -> str:
    """Kinds whose values look alike."""
    name = kind.split()[0]
    return "number" if name in ("int", "num") else "person" if name in ("person", "first") else name


def pronoun_of(rng: Dice, theme: Theme) -> str:
    """What stands for the subject."""
    return rng.choice(["She", "He"]) if theme.noun == "person" else "It"


def many(noun: str) -> str:
    """A name for several of them."""
    one = noun.split()[-1].replace("-", "_")
    return f"{one}_list" if one.endswith(("s", "y", "o", "h")) else f"{one}s"


class Conveyed(Keyed):
    """Draws such records. Keys are written as the record writes them."""

    def conveyed(self, least: int, most: int) -> Record:
        """One of any theme."""
        rng = self.rng
        theme = rng.choice(THEMES)
        if rng.random() < 0.09:
            return self.several_conveyed(theme)
        nouns, names, kind = rng.choice(theme.subjects)
        subject = self.values.draw(kind)
        told = self.some_told(theme, rng.randint(least, most) + rng.choice([0, 0, 1, 1, 2, 3]))
        asked = rng.sample(told, min(len(told), rng.randint(least, most)))
        slots = [self.slot_of(one) for one in asked]
        if rng.random() < 0.55:
            schema = {"type": "string"}
            slots.append(Slot(self.key(rng.choice(names)), schema, subject.json))
        if rng.random() < 0.22:
            slots += self.not_told(theme, told)
        text = self.text_of(theme, rng.choice(nouns), subject.text, told)
        text = self.wrapped(theme, text, slots)
        if rng.random() < 0.75:
            rng.shuffle(slots)
        return Record(theme.noun, text, list({slot.key: slot for slot in slots}.values()))

    def slot_of(self, one: Told) -> Slot:
        """A property that the text says; now and then one that may be missing."""
        rng = self.rng
        slot = Slot(self.key(one.key), one.schema, one.value.json)
        if rng.random() < 0.1:
            slot.schema = nullable(one.schema, rng)
        elif rng.random() < 0.06 and self.shown:
            slot.required = False
        if rng.random() < 0.12:
            slot.description = rng.choice([*one.labels, f"the {one.labels[0]}"])
        return slot

    # --- what is said ------------------------------------------------------------------------

    def some_told(self, theme: Theme, count: int) -> list[Told]:
        """Fields with their values: no two of them are called the same or have the same value."""
        rng = self.rng
        chosen = self.without_rivals(rng.sample(theme.concepts, min(count, len(theme.concepts))))
        if rng.random() < 0.3:
            # Several of one sort, told apart by the words beside them.
            sort = sort_of(rng.choice(chosen).kind)
            alike = [one for one in theme.concepts if sort_of(one.kind) == sort]
            chosen = [*rng.sample(alike, min(len(alike), count, 3)), *chosen][: max(count, 2)]
            chosen = self.without_rivals(list({one.keys[0]: one for one in chosen}.values()))
        told: list[Told] = []
        sorts = [sort_of(one.kind) for one in chosen]
        for one in chosen:
            told.append(self.told_of(one, sorts.count(sort_of(one.kind)) > 1))
        if theme.noun in DONE_TO and rng.random() < 0.35:
            told += self.deed(theme, told)
        kept: dict[str, Told] = {}
        values: set[str] = set()
        for one in told:
            value = str(one.value.json)
            if one.key not in kept and (one.sort in ("bool", "enum") or value not in values):
                kept[one.key] = one
                values.add(value)
        return rng.sample(list(kept.values()), len(kept))

    @staticmethod
    def without_rivals(chosen: list[Concept]) -> list[Concept]:
        """Those of which none tells something of another."""
        kept: list[Concept] = []
        for one in chosen:
            if not any({one.keys[0], other.keys[0]} <= rivals for other in kept for rivals in RIVALS):
                kept.append(one)
        return kept

    def told_of(self, one: Concept, has_like: bool) -> Told:
        """A concept with a value."""
        rng = self.rng
        keys = [key for key in one.keys if not has_like or key not in VAGUE] or one.keys
        key = rng.choice(keys)
        if one.kind == "bool":
            truth = rng.random() < 0.5
            value = Value(truth, rng.choice(["yes", "yes", "true"] if truth else ["no", "no", "false"]))
            return Told(key, {"type": "boolean"}, value, one.labels, one.clauses[truth], "bool")
        if one.kind == "enum":
            options = list(one.clauses)
            options = rng.sample(options, rng.randint(2, len(options)))
            chosen = rng.choice(options)
            style = rng.choice([str, str, str, str.upper, str.capitalize, words_of])
            schema = {"type": "string", "enum": [style(option) for option in options]}
            return Told(key, schema, Value(style(chosen), words_of(chosen)), one.labels, one.clauses[chosen], "enum")
        schema = schema_of(one.kind)
        if rng.random() < 0.3:
            schema.pop("format", None)
        kind = "clock" if one.kind == "time" and rng.random() < 0.25 else one.kind
        return Told(key, schema, self.values.draw(kind), one.labels, one.clauses[None], sort_of(one.kind))

    def deed(self, theme: Theme, told: list[Told]) -> list[Told]:
        """By whom, when and where something was done."""
        rng = self.rng
        made: list[Told] = []
        taken = set(theme.words)
        for _ in range(rng.choice([1, 1, 2])):
            one = rng.choice(DEEDS)
            if one.words & taken:
                continue
            taken |= one.words
            agent, was = rng.choice(one.agents), rng.choice(["was", "was", "has been", "got"])
            roles = [
                ("fullname", [f"{one.done}_by", agent, agent, f"{agent}_name"], [f"{was} {one.done} by {{v}}", f"@{{v}} {one.past} it", f"@The {agent} was {{v}}", f"@It was {{v}} who {one.past} it", f"~{one.done} by {{v}}", f"?who {one.past} it"]),
                ("date", [f"{one.done}_on", f"{one.noun}_date", f"date_of_{one.noun}", f"day_of_{one.noun}"], [f"{was} {one.done} on {{v}}", f"@The {one.noun} was on {{v}}", f"@They {one.past} it on {{v}}", f"~{one.done} on {{v}}", f"?when was it {one.done}"]),
                ("city", [f"{one.done}_in", f"{one.noun}_city", f"place_of_{one.noun}", f"{one.noun}_place"], [f"{was} {one.done} in {{v}}", f"@The {one.noun} took place in {{v}}", f"~{one.done} in {{v}}", f"?where was it {one.done}"]),
            ]  # fmt: skip
            for kind, keys, clauses in rng.sample(roles, rng.choice([1, 2, 2, 3])):
                label = f"{one.done} {dict(fullname='by', date='on', city='in')[kind]}"
                made.append(Told(rng.choice(keys), schema_of(kind), self.values.draw(kind), [label], clauses, kind))
        return made

    def not_told(self, theme: Theme, told: list[Told]) -> list[Slot]:
        """Properties of which the text says nothing."""
        rng = self.rng
        said = {clause for one in told for clause in one.clauses}
        keys = {one.key for one in told}
        first = {one.keys[0] for one in theme.concepts if any(set(ways) & said for ways in one.clauses.values())}
        near = first.union(*(rivals for rivals in RIVALS if rivals & first))
        rest = [one for one in theme.concepts if one.kind != "enum" and one.keys[0] not in near]
        made = []
        for one in rng.sample(rest, min(len(rest), rng.choice([1, 1, 2]))):
            other = self.told_of(one, True)
            if other.key in keys or other.key in VAGUE:
                continue
            keys.add(other.key)
            if self.shown and rng.random() < 0.5:
                made.append(Slot(self.key(other.key), other.schema, MISSING, required=False))
            else:
                made.append(Slot(self.key(other.key), nullable(other.schema, rng), None))
        return made

    # --- texts -------------------------------------------------------------------------------

    def text_of(self, theme: Theme, noun: str, name: str, told: list[Told]) -> str:
        """A text in one of several forms."""
        shape = self.rng.random()
        if shape < 0.6:
            return self.in_clauses(theme, noun, name, told)
        if shape < 0.74:
            return self.in_labels_of(noun, name, told)
        if shape < 0.87:
            return self.beside_each_other(noun, name, told)
        return self.asked_and_answered(noun, name, told, pronoun_of(self.rng, theme))

    def filled_clause(self, one: Told, marks: str) -> tuple[str, str]:
        """A clause with its value, and its mark. `marks`: which marks are of use, apart from none."""
        rng = self.rng
        ways = [way for way in one.clauses if way[0] in marks or way[0] not in "@~?"]
        way = rng.choice(ways)
        mark = way[0] if way[0] in "@~?" else ""
        return mark, way.removeprefix(mark).replace("{v}", one.value.text)

    def named(self, noun: str, name: str) -> str:
        """The subject."""
        shape = self.rng.random()
        if shape < 0.3:
            return name
        quoted = f'"{name}"' if shape > 0.9 else name
        return f"{self.rng.choice(['The', 'The', 'Our', 'This'])} {noun} {quoted}"

    def in_clauses(self, theme: Theme, noun: str, name: str, told: list[Told]) -> str:
        """Sentences of one clause or some."""
        rng = self.rng
        clauses = [self.filled_clause(one, "@") for one in told]
        alone = [text for mark, text in clauses if mark == "@"]
        going_on = [text for mark, text in clauses if not mark]
        is_person = theme.noun == "person"
        pronoun = pronoun_of(rng, theme)
        start, sentences = self.named(noun, name), []
        if is_person and rng.random() < 0.6:
            start = name
        if not going_on or rng.random() < 0.22:
            sentences.append(rng.choice(OPENERS).format(s=start if start == name else start[0].lower() + start[1:]))
            start = pronoun if rng.random() < 0.7 else f"The {noun}"
        while going_on:
            taken, going_on = going_on[:2], going_on[2:]
            if rng.random() < 0.5:
                going_on, taken = [*taken[1:], *going_on], taken[:1]
            sentence = f"{start} {taken[0]}"
            if len(taken) > 1:
                shape = rng.random()
                sentence += rng.choice([" and ", " and ", ", and ", " but ", ", "]) + taken[1]
                if shape < 0.2 and start != pronoun and "lso" not in start:
                    sentence = f"{start}, {'who' if is_person else 'which'} {taken[0]}, {taken[1]}"
            if rng.random() < 0.08:
                sentence = f"{rng.choice(REPORTED)} {sentence if start == name else sentence[0].lower() + sentence[1:]}"
            sentences.append(sentence)
            start = rng.choice([pronoun, pronoun, pronoun, f"The {noun}", f"Also, {pronoun.lower()}"])
        for one in alone:
            sentences.insert(rng.randint(min(1, len(sentences)), len(sentences)), one)
        if rng.random() < 0.12:
            sentences.insert(rng.randint(0, len(sentences)), rng.choice(FILLERS))
        glue = rng.choice([". ", ". ", ". ", ". ", ".\n", "\n", "; ", " - "])
        text = sentences[0]
        for one in sentences[1:]:
            text += (" " if text[-1] in "?!." else glue) + one
        return text if text[-1] in "?!." or rng.random() < 0.1 else text + "."

    def in_labels_of(self, noun: str, name: str, told: list[Told]) -> str:
        """`Postage: $4`, line by line or in one line, with labels that need not be the fields' names."""
        rng = self.rng
        colon = rng.choice([": ", ": ", ": ", " = ", " - ", ":\t"])
        title = rng.choice([str.capitalize, str.capitalize, str, str.upper, str.title])
        glue = rng.choice(["\n", "\n", "\n", "; ", " | ", ", "])
        parts = [f"{title(noun)}{colon}{name}"]
        used = {noun}
        for one in told:
            label = rng.choice(one.labels) if rng.random() < 0.75 else words_of(one.key)
            label = label if label not in used else words_of(one.key)
            used.add(label)
            parts.append(f"{title(label)}{colon}{one.value.text}")
        return glue.join(parts)

    def beside_each_other(self, noun: str, name: str, told: list[Told]) -> str:
        """As an advertisement or a note has it: little but the values."""
        rng = self.rng
        parts = []
        for one in told:
            short = [way[1:] for way in one.clauses if way[0] == "~"]
            if short and rng.random() < 0.85:
                parts.append(rng.choice(short).replace("{v}", one.value.text))
            else:
                parts.append(self.filled_clause(one, "@")[1])
        glue = rng.choice([", ", ", ", ", ", "; ", " - ", " / ", "\n", " | "])
        head = rng.choice(
            [
                f"{name}: ",
                f"{noun.capitalize()} {name}: ",
                f"{noun} {name}{glue}",
                f"{name} ({noun}){glue}",
                f"{name}\n",
            ]
        )
        return head + glue.join(parts) + rng.choice(["", "", "."])

    def asked_and_answered(self, noun: str, name: str, told: list[Told], pronoun: str) -> str:
        """Two people, one of whom wants to know."""
        rng = self.rng
        first, second = rng.choice(
            [
                ("A: ", "B: "),
                ("- ", "- "),
                ("Q: ", "A: "),
                ("me: ", "them: "),
                ("Customer: ", "Agent: "),
                ("", ""),
                ("> ", ""),
            ]
        )
        start = rng.choice(
            [
                f"I have a question about {self.named(noun, name)}",
                f"Hi, it is about the {noun} {name}",
                f"The {noun} {name}, please",
                f"What about {name}?",
            ]
        )
        start = (
            start.replace("about The", "about the")
            .replace("about Our", "about our")
            .replace("about This", "about this")
        )
        lines = [f"{first}{start}{'' if start[-1] == '?' else '.'}"]
        for one in told:
            questions = [way[1:] for way in one.clauses if way[0] == "?"]
            if questions and rng.random() < 0.8:
                asked = rng.choice(questions) + "?"
                asked = rng.choice(["", "", "", "And ", "Ok, ", "Tell me, "]) + asked
                lines.append(first + asked[0].upper() + asked[1:])
                said = (
                    one.value.text
                    if rng.random() < 0.65
                    else rng.choice(["That would be {}", "It's {}", "Let me see... {}", "{}, I think"]).format(
                        one.value.text
                    )
                )
                lines.append(
                    second + said[0].upper() + said[1:] + rng.choice([".", ".", ""])
                    if said != one.value.text
                    else second + said
                )
            else:
                mark, said = self.filled_clause(one, "@")
                lines.append(f"{second}{'' if mark else rng.choice([pronoun + ' ', 'The ' + noun + ' '])}{said}.")
        return "\n".join(lines)

    def wrapped(self, theme: Theme, text: str, slots: list[Slot]) -> str:
        """With a greeting, or with a name below, which may be asked for."""
        rng = self.rng
        shape = rng.random()
        if shape < 0.12:
            return f"{rng.choice(HELLO)}{rng.choice([' ', chr(10)])}{text}"
        if shape < 0.22:
            name = self.values.draw(rng.choice(["first", "fullname"])).text
            key = rng.choice(["sender", "writer", "signed_by_person", "message_from"])
            if rng.random() < 0.5 and not set(WHO) & theme.words:
                slots.append(Slot(self.key(key), {"type": "string"}, name))
            return f"{text}\n{rng.choice(THANKS)}{rng.choice([', ', ',' + chr(10), ' '])}{name}"
        return text

    # --- several of them ---------------------------------------------------------------------

    def several_conveyed(self, theme: Theme) -> Record:
        """The same of several subjects, as a list of objects."""
        rng = self.rng
        nouns, names, kind = rng.choice(theme.subjects)
        noun = nouns[0]
        chosen = rng.sample(
            [one for one in theme.concepts if not one.kind.startswith(("list", "said"))], rng.choice([1, 2, 2, 3])
        )
        drawn = [self.told_of(one, True) for one in chosen]
        keys = [self.key(rng.choice(names)), *(self.key(one.key) for one in drawn)]
        plain = [[way for way in one.clauses if way[0] not in "@?~"] for one in drawn]
        if len(set(keys)) < len(keys) or not all(plain):
            return self.several_conveyed(theme)
        schemas: list[dict[str, Any]] = [{"type": "string"}, *(one.schema for one in drawn)]
        rows, lines = [], []
        alike = rng.random() < 0.5
        ways = [rng.choice(one) for one in plain]
        for _ in range(rng.choice([2, 2, 3, 3, 4])):
            name = self.values.draw(kind)
            row, said = {keys[0]: name.json}, []
            for concept, one, key, way in zip(chosen, drawn, keys[1:], ways):
                if concept.kind in ("bool", "enum"):
                    value, way = self.option(concept, one)
                else:
                    value = self.values.draw(concept.kind)
                    way = way if alike else rng.choice([way for way in one.clauses if way[0] not in "@?~"])
                row[key] = value.json
                said.append(way.replace("{v}", value.text))
            rows.append(row)
            lines.append(f"{name.text} {', '.join(said[:-1])}{' and ' if len(said) > 1 else ''}{said[-1]}")
        text = rng.choice([". ", ". ", "; ", ".\n", "\n", ", "]).join(lines) + "."
        if rng.random() < 0.4:
            text = (
                rng.choice(["We have these: ", f"About every {noun}: ", "The list:\n", "Compare: ", "Here they are. "])
                + text
            )
        inner = object_schema([Slot(key, schema, None) for key, schema in zip(keys, schemas)])
        key = self.key(rng.choice(["items", "entries", "results", "records", "list", many(noun)]))
        return Record(theme.noun, text, [Slot(key, {"type": "array", "items": inner}, rows)])

    def option(self, concept: Concept, one: Told) -> tuple[Value, str]:
        """One of the values of a boolean or an enum, and a clause that says it."""
        rng = self.rng
        if concept.kind == "bool":
            truth = rng.random() < 0.5
            return Value(truth, ""), rng.choice(concept.clauses[truth])
        option = rng.choice(one.schema["enum"])
        clauses = {words_of(name): said for name, said in concept.clauses.items()}
        return Value(option, ""), rng.choice(clauses[words_of(option.lower())])
