"""Sentences of classes that they do not name, put together of the parts in `troubles`. For training alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from . import troubles
from .lexicon import Dice
from .spoken import HELLO, THANKS
from .values import Values


@dataclass
class Kind:
    """A class: names, what it is for, things, what is said of them, and whole sentences."""

    names: list[str]
    about: str
    things: list[str] = field(default_factory=list)
    matters: list[str] = field(default_factory=list)
    wholes: list[str] = field(default_factory=list)


@dataclass
class Composed:
    """Texts with their classes: the field's name, texts and classes, all the classes, and what each is for."""

    key: str
    texts: list[tuple[str, str]]
    labels: list[str]
    notes: list[str]


def parse(text: str) -> list[tuple[list[str], list[Kind]]]:
    """See `troubles` for the notation: the field's names and the classes of each block."""
    made: list[tuple[list[str], list[Kind]]] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("# "):
            made.append((line[2:].split(","), []))
        elif line[:2] in ("* ", "+ ", "- "):
            kind = made[-1][1][-1]
            {"*": kind.things, "+": kind.matters, "-": kind.wholes}[line[0]].extend(line[2:].split("; "))
        else:
            names, _, about = line.partition(" = ")
            made[-1][1].append(Kind(names.split(","), about))
    return made


# How many of the texts that are to be classified are of these, where wordings are composed.
SHARE = 0.42
BLOCKS = parse(troubles.TEXT)
GENERAL = ["category", "label", "class", "type", "kind", "result", "answer", "group", "choice", "tag"]
AROUND = ["{}", "{}", "{}", "{}", "{}", "I must say, {}", "just so you know: {}", "as I said, {}", "sadly or not, {}", "well, {}", "{}, as I see it", "{}, that's all", "and again {}", "to be honest, {}", "once more: {}", "my wife says {}", "I noticed that {}", "it looks as if {}", "so {}", "{} - what do you say?"]  # fmt: skip
CLOSING = ["What now?", "Any idea?", "Please answer.", "That is all for today.", "I'm writing from my phone.", "More when we meet.", "Let me know.", "Hope you are well.", "Sent from my tablet."]  # fmt: skip
STYLES = [str, str, str, str, str.lower, str.capitalize, str.title, str.upper, "_", "-"]


def spelled_like(rng: Dice, names: list[str]) -> list[str]:
    """Classes written in one style."""
    style = rng.choice(STYLES)
    return [style.join(name.lower().split()) if isinstance(style, str) else style(name) for name in names]


def composed(rng: Dice, values: Values, count: int) -> Composed:
    """Texts of one block's classes."""
    while True:
        keys, kinds = rng.choice(BLOCKS)
        chosen = rng.sample(kinds, rng.randint(2, min(len(kinds), rng.choice([2, 3, 4, 5, 6, 9]))))
        names = [rng.choice(kind.names) for kind in chosen]
        if len({name.lower() for name in names}) == len(names):
            break
    labels = spelled_like(rng, names)
    if rng.random() < 0.12:
        return yes_or_no(rng, values, chosen, names, count)
    texts = []
    for _ in range(count):
        at = rng.randrange(len(chosen))
        texts.append((text_of(rng, values, chosen[at]), labels[at]))
    key = rng.choice(keys if rng.random() < 0.65 else GENERAL)
    if len(chosen) > 2 and rng.random() < 0.1:
        # One class is not offered: its texts are of the rest.
        other = rng.choice(["other", "none", "something else", "misc"])
        texts = [(text, other if label == labels[-1] else label) for text, label in texts]
        return Composed(key, texts, [*labels[:-1], other], [])
    notes = [f"{label}: {kind.about}" for label, kind in zip(labels, chosen)]
    return Composed(key, texts, labels, notes)


def yes_or_no(rng: Dice, values: Values, chosen: list[Kind], names: list[str], count: int) -> Composed:
    """Whether a text is of the first class: the field is named after it."""
    yes, no = rng.choice([("yes", "no"), ("true", "false"), ("Yes", "No"), ("y", "n")])
    key = rng.choice(["is_{}", "is_about_{}", "{}", "{}_or_not"]).format("_".join(names[0].lower().split()))
    texts = []
    for _ in range(count):
        at = 0 if rng.random() < 0.5 else rng.randrange(1, len(chosen))
        texts.append((text_of(rng, values, chosen[at]), no if at else yes))
    labels = [yes, no] if rng.random() < 0.5 else [no, yes]
    return Composed(key, texts, labels, [f"{yes}: {chosen[0].about}", f"{no}: anything else"])


def clause(rng: Dice, kind: Kind) -> str:
    """One thing that a class says."""
    if kind.things and rng.random() < 0.72:
        return f"{rng.choice(kind.things)} {rng.choice(kind.matters)}"
    return rng.choice(kind.wholes)


def text_of(rng: Dice, values: Values, kind: Kind) -> str:
    """A message of a class."""
    parts = list(dict.fromkeys(clause(rng, kind) for _ in range(rng.choice([1, 1, 1, 2, 2]))))
    if kind.things and rng.random() < 0.3:
        frame = rng.choice(AROUND)
        parts[0] = frame.format(parts[0]) if parts[0][-1] not in "?!" else parts[0]
    text = ""
    for part in map(values.filled, parts):
        glue = " " if text and text[-1] in "?!" else rng.choice([". ", ". ", ". ", " - ", "; ", ", "])
        begins = not text or glue in (". ", " ")
        text += (glue if text else "") + (part[0].upper() + part[1:] if begins and rng.random() < 0.9 else part)
    if text[-1] not in "?!.":
        text += rng.choice([".", ".", ".", "", "!"])
    shape = rng.random()
    if kind.things and shape < 0.1:
        text = f"{rng.choice(HELLO)} {text}"
    elif kind.things and shape < 0.16:
        text += f" {rng.choice(CLOSING)}"
    elif kind.things and shape < 0.22:
        text += f"\n{rng.choice(THANKS)}"
    if rng.random() < 0.08:
        text = text.lower()
    return slipped(rng, text) if rng.random() < 0.07 else text


def slipped(rng: Dice, text: str) -> str:
    """With two letters of a longer word in the wrong order."""
    words = text.split(" ")
    long = [
        at for at, word in enumerate(words) if len(word) > 4 and word.isalpha() and word.isascii() and word.islower()
    ]
    if long:
        at, place = rng.choice(long), 2
        word = words[at]
        words[at] = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    return " ".join(words)


def repeated(kinds: list[Kind]) -> list[str]:
    """What is said of several classes in a block: things may be, sentences may not."""
    met = Counter(text for kind in kinds for text in {*kind.wholes, *kind.matters})
    return [text for text, times in met.items() if times > 1]
