"""Texts about a subject, with a schema and the value that is to be read out of the text."""

from __future__ import annotations

from typing import Any

from . import domains as known
from . import variety
from .conveyed import Conveyed
from .domains import Domain, Field
from .everyday import Everyday
from .groups import Groups
from .lexicon import Dice, composed
from .listings import Listings
from .slots import MISSING, Record, Slot, nullable, object_schema, words_of
from .spoken import Spoken
from .values import Value, Values, schema_of

BEFORE = [
    "Hello,",
    "Good morning!",
    "Thanks for your message.",
    "Here is what I know.",
    "Just a quick note:",
    "As discussed:",
    "It rained all day.",
    "Sorry for the delay.",
    "From our files:",
    "To sum up:",
    "The weather was fine.",
    "FYI:",
]
AFTER = [
    "Thanks!",
    "That is all.",
    "Let me know if anything is missing.",
    "Best regards",
    "See you soon.",
    "Have a nice day.",
    "Everything else stays as it was.",
    "More will follow.",
]


def is_told_apart(item: Field) -> bool:
    """Whether a list of objects can have it: it has a key and a saying to go by, and one value."""
    is_plain = item.kind != "bool" and not item.kind.startswith("list")
    return is_plain and not item.opaque and not item.sayings[0].startswith("@")


class Records(Groups, Spoken, Everyday, Listings, Conveyed):
    """Draws records. `held_words` and `held_patterns`: such as training never sees. `everyday`: how many
    of the records are of `everyday`; `conveyed`: how many are of `conveyed`, before all others."""

    def __init__(
        self,
        rng: Dice,
        held_words: bool = False,
        held_patterns: bool = False,
        domains: list[Domain] | None = None,
        everyday: float = 0.0,
        conveyed: float = 0.0,
    ) -> None:
        self.rng = rng
        self.everyday_share, self.conveyed_share = everyday, conveyed
        self.values = Values(rng, held_words)
        self.held_patterns = held_patterns
        self.domains = domains or known.TRAIN
        self.casing = "snake"
        self.shown = True

    def draw(self, least: int = 1, most: int = 6, shown: bool = True) -> Record:
        """One record. `shown`: the model will see the schema, without which nobody can know what may
        be left out, or what a field without a telling name is for."""
        self.shown = shown
        self.casing = self.rng.choices(["snake", "camel", "plain"], [70, 25, 5])[0]
        if self.conveyed_share and self.rng.random() < self.conveyed_share:
            return self.conveyed(least, most)
        if self.everyday_share and self.rng.random() < self.everyday_share:
            return self.everyday(least, most)
        if self.rng.varied and self.rng.random() < 0.13:
            return self.asked_list()
        if self.rng.varied and self.rng.random() < 0.36:
            return self.spoken(least, most)
        shape = self.rng.random()
        if shape < 0.10:
            return self.entries()
        domain = self.rng.choice(self.domains)
        if shape < (0.5 if self.rng.varied else 0.32):
            domain = self.invented()
        return self.record(domain, least, most, group=self.rng.random() < 0.2)

    # --- keys and values ---------------------------------------------------------------------

    def key(self, key: str) -> str:
        """A key in the casing of this record."""
        words = words_of(key).split()
        if self.casing == "camel":
            return words[0] + "".join(word.capitalize() for word in words[1:])
        if self.casing == "plain" and self.rng.random() < 0.5:
            return " ".join(words)
        return "_".join(words)

    def filled(self, item: Field) -> tuple[dict[str, Any], Value, str]:
        """A schema, a value and the saying that states it."""
        sayings = item.held_sayings if self.held_patterns else item.sayings
        if item.kind == "bool":
            truth = self.rng.random() < 0.5
            return (
                {"type": "boolean"},
                Value(truth, "yes" if truth else "no"),
                self.rng.choice(sayings if truth else item.false_sayings),
            )
        if item.kind.startswith("enum "):
            options = item.kind[5:].split("/")
            kept = options if self.rng.random() < 0.6 else self.rng.sample(options, max(2, len(options) - 2))
            chosen = self.rng.choice(kept)
            text = chosen.replace("_", " ")
            case = self.rng.random()
            spelled = str.upper if case < 0.12 else str.capitalize if case < 0.2 else str
            return (
                {"type": "string", "enum": [spelled(o) for o in kept]},
                Value(spelled(chosen), text),
                self.rng.choice(sayings),
            )
        schema = schema_of(item.kind)
        if "format" in schema and self.rng.random() < 0.3:
            del schema["format"]
        return schema, self.values.draw(item.kind), self.rng.choice(sayings)

    def slot(self, key: str, schema: dict[str, Any], value: Any, description: str | None) -> Slot:
        """A property whose value the text says."""
        slot = Slot(self.key(key), schema, value, description=description if self.rng.random() < 0.35 else None)
        shape = self.rng.random()
        if shape < 0.08:
            slot.schema = nullable(schema, self.rng)
        elif shape < 0.12 and self.shown:
            slot.required = False
        return slot

    def unsaid(self, item: Field) -> Slot:
        """A property of which the text says nothing."""
        schema, _, _ = self.filled(item)
        slot = Slot(self.key(self.rng.choice(item.keys)), schema, None)
        if self.rng.random() < (0.5 if self.rng.varied else 0.6) or not self.shown:
            slot.schema = nullable(schema, self.rng)
        else:
            slot.value, slot.required = MISSING, False
        if item.descriptions and self.rng.random() < 0.3:
            slot.description = self.rng.choice(item.descriptions)
        return slot

    # --- one subject -------------------------------------------------------------------------

    def record(self, domain: Domain, least: int, most: int, group: bool = False) -> Record:
        """A text about one subject."""
        rng = self.rng
        subject = self.values.draw(domain.subject)
        named = rng.random() < 0.8
        count = min(rng.randint(least, most), len(domain.fields))
        extra = rng.choices([0, 1, 2], [60, 25, 15])[0]
        chosen = rng.sample(domain.fields, min(len(domain.fields), count + extra))
        slots, said, labels = [], [], []
        if named:
            key = domain.subject_keys[0] if rng.random() < 0.4 else rng.choice(domain.subject_keys)
            if rng.varied and rng.random() < 0.25:
                key = variety.subject_key(rng, domain.noun)
            slots.append(
                self.slot(
                    key,
                    {"type": "string"},
                    subject.json,
                    f"{domain.noun}'s name",
                )
            )
            labels.append((words_of(slots[0].key), subject.text))
        reworded = rng.varied and rng.random() < 0.6
        for index, item in enumerate(chosen):
            schema, value, saying = self.filled(item)
            key = rng.choice(item.keys)
            if reworded:
                saying = self.reworded(item, key, saying, chosen)
            said.append(saying.replace("{v}", value.text))
            label = key if rng.random() < 0.6 else rng.choice(item.keys)
            labels.append((words_of(label), value.text))
            if index < count:
                description = rng.choice(item.descriptions) if item.descriptions else None
                slots.append(self.slot(key, schema, value.json, description))
                if item.opaque:
                    slots[-1].description = description
        rest = [item for item in domain.fields if item not in chosen]
        if rest and rng.random() < (0.45 if rng.varied else 0.24):
            slots.append(self.unsaid(rng.choice(rest)))
        if group:
            slot, saying, label = self.group()
            slots.append(slot)
            said.append(saying)
            labels.append(label)
        if not slots:
            return self.record(domain, least, most)
        slots = list({slot.key: slot for slot in rng.sample(slots, len(slots))}.values())
        if len({slot.key for slot in slots}) < len(slots):
            return self.record(domain, least, most)
        rng.shuffle(said)
        if not self.held_patterns and rng.random() < (0.2 if rng.varied else 0.16):
            text = self.labelled(labels)
        else:
            text = self.prose(domain, subject.text, named, said)
        return Record(domain.noun, text, slots)

    def reworded(self, item: Field, key: str, saying: str, among: list[Field]) -> str:
        """What a text says of a field, in other words, where it can still be told what is meant."""
        rng = self.rng
        if item.kind == "bool":
            return saying
        shape = rng.random()
        if shape < 0.35 and not item.opaque:
            label = key if rng.random() < 0.75 else rng.choice(item.keys)
            return variety.labelled(rng, words_of(label))
        kind = variety.family(item.kind)
        if shape < 0.6 and sum(variety.family(other.kind) == kind for other in among) == 1:
            return variety.strange(rng)
        return saying

    def labelled(self, labels: list[tuple[str, str]]) -> str:
        """`Name: Ada`, line by line or in one line."""
        rng = self.rng
        labels = rng.sample(labels, len(labels))
        colon = rng.choice([": ", ": ", " = ", "=", " - "])
        title = rng.choice([str.capitalize, str.capitalize, str, str.upper, str.title])
        glue = rng.choice(["\n", "\n", "; ", ", ", " | "])
        return glue.join(f"{title(label)}{colon}{text}" for label, text in labels)

    def prose(self, domain: Domain, subject: str, named: bool, said: list[str]) -> str:
        """Sentences."""
        rng = self.rng
        is_person = domain.pronoun == "They"
        pronoun = rng.choice(["He", "She"]) if is_person else domain.pronoun
        if named:
            plain = is_person or domain.subject in ("first", "company", "city", "title") or rng.random() < 0.2
            start = subject if plain else f"The {domain.noun} {subject}"
            if not plain and self.held_patterns:
                start = f"As for the {domain.noun} {subject}, it"
            elif not plain and rng.random() < 0.2:
                start = f"{domain.noun.capitalize()} {subject}"
            elif rng.varied and rng.random() < 0.35:
                start = variety.start(rng, domain.noun, subject, pronoun)
        else:
            start = rng.choice([f"The {domain.noun}", f"Our {domain.noun}", f"This {domain.noun}", pronoun])
        sentences: list[str] = []
        rest = [one for one in said if not one.startswith("@")]
        aloud = [one[1:2].upper() + one[2:] + "." for one in said if one.startswith("@")]
        if not rest and aloud:
            sentences, aloud = (
                [f"{start} {rng.choice(['is here', 'was mentioned', 'is on the list'])}."] if named else [],
                aloud,
            )
        if not rest and not aloud:
            about = [
                "This is about {}.",
                "We talked about {}.",
                "It concerns {}.",
                "{} was mentioned.",
                "My favourite is {}.",
            ]
            return rng.choice(about).format(subject if named else f"the {domain.noun}")
        opener = start
        while rest:
            taken = rest[: rng.choice([1, 1, 2, 2, 3])]
            rest = rest[len(taken) :]
            if not sentences and is_person and named and len(taken) == 1 and rng.random() < 0.25:
                sentences.append(
                    rng.choice(
                        [
                            f"I met {subject}, who {taken[0]}.",
                            f"{subject}, who {taken[0]}, says hello.",
                            f"We know {subject}, who {taken[0]}.",
                        ]
                    )
                )
            else:
                glue = rng.choice(
                    [" and ", " and ", ", and ", ", and it " if not is_person else ", and " + pronoun.lower() + " "]
                )
                if rng.varied and rng.random() < 0.2:
                    glue = rng.choice([", ", "; ", " but ", ", while ", " plus ", ", then ", " as it ", "; "])
                if len(taken) > 2:
                    clause = ", ".join(taken[:-1]) + " and " + taken[-1]
                else:
                    clause = glue.join(taken)
                sentences.append(f"{opener} {clause}.")
            again = [pronoun, pronoun, f"The {domain.noun}", "Also, " + pronoun.lower()]
            if self.held_patterns:
                again = ["What is more, " + pronoun.lower(), pronoun + " also"]
            if rng.varied and rng.random() < 0.35:
                again = [variety.beside(rng).format(pronoun.lower())]
            opener = rng.choice(again)
        for one in aloud:
            sentences.insert(rng.randint(min(1, len(sentences)), len(sentences)), one)
        text = " ".join(sentences)
        if rng.varied and rng.random() < 0.12:
            text = " ".join(rng.sample([text, variety.chatter(rng)], 2))
        if rng.random() < 0.15:
            text = rng.choice(BEFORE) + " " + text
        if rng.random() < 0.12:
            text = text + " " + rng.choice(AFTER)
        return text

    # --- several subjects, invented ones, groups ------------------------------------------------

    def entries(self) -> Record:
        """A list of objects."""
        rng = self.rng
        domain = rng.choice(self.domains)
        if rng.varied and rng.random() < 0.3:
            domain = self.invented()
            domain.fields = [one for one in domain.fields if is_told_apart(one)]
        if len(domain.fields) < 2:
            return self.entries()
        items = rng.sample(domain.fields, rng.randint(1, 2))
        items = [item for item in items if item.kind != "bool" and not item.kind.startswith("list")] or domain.fields[
            :1
        ]
        names = [self.key(domain.subject_keys[0])] + [self.key(rng.choice(item.keys)) for item in items]
        if len(set(names)) < len(names):
            return self.entries()
        schemas = [{"type": "string"}] + [schema_of(item.kind) for item in items]
        values, sentences = [], []
        short = self.held_patterns or rng.random() < 0.4
        sayings = [rng.choice(item.held_sayings if self.held_patterns else item.sayings) for item in items]
        for _ in range(rng.randint(1, 4)):
            drawn = [self.values.draw(domain.subject)]
            for item, schema in zip(items, schemas[1:]):
                options = schema.get("enum")
                word = rng.choice(options) if options else None
                drawn.append(Value(word, word.replace("_", " ")) if word else self.values.draw(item.kind))
            values.append({name: value.json for name, value in zip(names, drawn)})
            if not short:
                sayings = [rng.choice(item.sayings) for item in items]
            clauses = [s.replace("{v}", v.text) for s, v in zip(sayings, drawn[1:])]
            sentences.append(f"{drawn[0].text} {' and '.join(clauses)}")
        if short and len(sentences) > 1:
            text = ", ".join(sentences[:-1]) + rng.choice([" and ", ", and "]) + sentences[-1] + "."
        else:
            text = ". ".join(sentences) + "."
        inner = object_schema([Slot(n, s, None) for n, s in zip(names, schemas)])
        key = self.key(
            rng.choice([domain.noun.split()[-1] + "s", "items", "entries", "results", "records", "list", "rows"])
        )
        slot = Slot(key, {"type": "array", "items": inner}, values)
        return Record(domain.noun, text, [slot])

    def invented(self) -> Domain:
        """A subject with attributes that are said by their names alone."""
        rng = self.rng
        noun = rng.choice(
            [
                composed(rng),
                self.values.words.one("product"),
                self.values.words.one("noun"),
                self.values.words.one("attribute"),
            ]
        )
        fields = []
        names = self.values.words.some("attribute", 3, 7)
        for name in names:
            if rng.varied and rng.random() < 0.3:
                fields.append(rng.choice([variety.deed, variety.counted])(rng, Field))
                continue
            if rng.random() < 0.15:
                name = f"{rng.choice(self.values.words.lists['noun'])} {name}"
            if rng.random() < 0.2:
                name = composed(rng).lower()
            fields.append(self.attribute(name))
        subjects = ["made", "code", "phrase", "person"]
        return Domain(
            "invented",
            noun,
            rng.choice([*subjects, "title", "company", "fullname"] if rng.varied else subjects),
            ["name", "id", "label", noun.replace(" ", "_").lower()],
            "It",
            fields,
        )

    def attribute(self, name: str) -> Field:
        """A field that is said by its name."""
        rng = self.rng
        kind = rng.choice(
            [
                "int 0 50",
                "int 1 9999",
                "num 0 100 1",
                "num 0 10 2",
                "money",
                "made",
                "made",
                "phrase",
                "code",
                "color",
                "city",
                "person",
                "fullname",
                "date",
                "time",
                "bool",
                "enum",
                "list color",
                "list first",
                "email",
                "company",
                "material",
                "product",
                "animal",
                "title",
                "year",
            ]
        )
        if kind == "enum":
            pool = self.values.words.some(rng.choice(("color", "noun", "adj", "material", "genre", "animal")), 2, 5)
            kind = "enum " + "/".join(word.replace(" ", "_").replace("/", "") for word in pool)
        key = name.replace(" ", "_")
        if rng.varied:
            key, name = variety.attribute_name(rng, name)
        keys = [key]
        described = [f"the {name}", name, f"{name} of the thing"]
        opaque = self.shown and rng.random() < 0.08
        if opaque:
            keys = [
                rng.choice(["x", "field", "value", "f", "item", "data", "attr"])
                + rng.choice(["", "_1", "2", "_a", "3"])
            ]
        if kind == "bool" and rng.varied and rng.random() < 0.6:
            true, false = variety.switched(rng, name)
            return Field(keys, kind, true, true, described, false, opaque)
        if kind == "bool":
            return Field(
                keys,
                kind,
                [f"has {name} enabled", f"has the {name} switched on", f"has a {name}"],
                [f"comes with {name} turned on"],
                described,
                [f"has {name} disabled", f"has the {name} switched off", f"has no {name}"],
                opaque,
            )
        sayings = [
            f"has the {name} {{v}}",
            f"has a {name} of {{v}}",
            f"has {{v}} as {name}",
            f"uses {{v}} as the {name}",
            f"has its {name} set to {{v}}",
            f"shows {{v}} for the {name}",
            f"lists {{v}} under {name}",
        ]
        if rng.varied and rng.random() < 0.7:
            sayings = [variety.labelled(rng, name)]
        return Field(
            keys, kind, sayings, [f"got {{v}} for its {name}", f"names {{v}} as its {name}"], described, [], opaque
        )
