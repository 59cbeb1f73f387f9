"""Words and messages that belong to a class which they do not name: drawn from `sorts` and `matters`. For training alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from . import matters, sorts
from .lexicon import HELD, Dice
from .slots import words_of
from .spoken import HELLO, THANKS
from .values import Values, joined


@dataclass
class Sort:
    """A class: what it may be called, and what belongs to it."""

    names: list[str]
    texts: list[str]


@dataclass
class Block:
    """Classes among which a text belongs to one, and what is written around their words."""

    names: list[str]
    keys: list[str]
    frames: list[str] = field(default_factory=list)
    sorts: list[Sort] = field(default_factory=list)


# Words that only the evaluation has.
KEPT_OUT = {word for words in HELD.values() for word in words}


def parse(text: str) -> list[Block]:
    """See `sorts` for the notation."""
    made: list[Block] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("# "):
            names, keys = line[2:].split(" | ")
            made.append(Block([] if names == "-" else names.split(","), keys.split(",")))
        elif line.startswith("> "):
            made[-1].frames = line[2:].split("; ")
        else:
            names, _, texts = line.partition(" : ")
            made[-1].sorts.append(Sort(names.split(","), [one for one in texts.split("; ") if one not in KEPT_OUT]))
    return made


WORDS = parse(sorts.TEXT)
MATTERS = parse(matters.TEXT)
WHOLE_KEYS = ["category", "category", "kind", "type", "class", "label", "group", "topic", "sort", "answer", "what"]
GENERAL_KEYS = ["category", "label", "class", "type", "kind", "result", "answer", "group", "choice", "tag"]
STYLES = [str, str, str, str, str.lower, str.capitalize, str.title, str.upper, "_".join, "-".join]


def labels_of(rng: Dice, names: list[str]) -> list[str]:
    """Classes written in one style."""
    style = rng.choice(STYLES)
    if style in ("_".join, "-".join):
        return ["_".join(name.lower().split()) if style == "_".join else "-".join(name.lower().split()) for name in names]
    return [style(words_of(name) if "_" in name and rng.random() < 0.5 else name) for name in names]


def draw(rng: Dice) -> tuple[str, str, str, list[str]]:
    """The field's name, a text, its class, and all the classes."""
    key, [(text, label)], labels = several(rng, 1)
    return key, text, label, labels


def several(rng: Dice, count: int) -> tuple[str, list[tuple[str, str]], list[str]]:
    """The field's name, texts with their classes, and all the classes."""
    shape = rng.random()
    values = Values(rng)
    if shape < 0.3:
        chosen = rng.sample([block for block in WORDS if block.names], rng.randint(2, 5))
        names = [rng.choice(block.names) for block in chosen]
        groups = [[text for sort in block.sorts for text in sort.texts] for block in chosen]
        keys, frames = WHOLE_KEYS, []
    else:
        block = rng.choice(WORDS if shape < 0.5 else MATTERS)
        most = min(len(block.sorts), rng.choice([2, 3, 4, 5, 6, 8]))
        chosen_sorts = rng.sample(block.sorts, most)
        names = [rng.choice(sort.names) for sort in chosen_sorts]
        groups = [sort.texts for sort in chosen_sorts]
        keys = block.keys if rng.random() < 0.7 else GENERAL_KEYS
        frames = block.frames
    if len({name.lower() for name in names}) < len(names):
        return several(rng, count)
    # What belongs to two of the classes is left out.
    met = Counter(text for group in groups for text in set(group))
    groups = [[text for text in group if met[text] == 1] for group in groups]
    if not all(groups):
        return several(rng, count)
    names, groups = with_other(rng, names, groups)
    labels = labels_of(rng, names)
    made = []
    for _ in range(count):
        at = rng.randrange(len(groups))
        made.append((worded(rng, groups[at], frames) if shape < 0.5 else written(rng, values, groups[at]), labels[at]))
    return rng.choice(keys), made, labels


def with_other(rng: Dice, names: list[str], groups: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Now and then with a class for the rest: for texts of a class that is not offered, or for none."""
    if rng.random() > 0.12 or len(names) < 3:
        return names, groups
    other = rng.choice(["other", "none", "something else", "misc"])
    if rng.random() < 0.5:
        return [*names[:-1], other], groups
    return [*names, other], groups


def worded(rng: Dice, words: list[str], frames: list[str]) -> str:
    """A word or some, alone or in a sentence."""
    shape = rng.random()
    count = 1 if shape < 0.75 else rng.choice([2, 3])
    word = joined(rng, rng.sample(words, min(count, len(words))))
    if count == 1 and frames and rng.random() < 0.55:
        frame = rng.choice(frames)
        if word[0] in "aeiou":
            frame = frame.replace(" a {}", " an {}")
    else:
        frame = rng.choice(["{}", "{}", "{}", "{}", "{}?", "the {}", "It is about {}", "Where does {} belong?", "What is {}?", "Which one is {}?"])
    text = frame.format(word)
    if rng.random() < 0.6:
        text = text[0].upper() + text[1:]
    return text + (rng.choice(["", "", ".", "!"]) if text[-1] not in "?!." else "")


def written(rng: Dice, values: Values, texts: list[str]) -> str:
    """A message or some news of a class, in a sentence or two."""
    parts = [values.filled(text) for text in rng.sample(texts, rng.choice([1, 1, 1, 2]))]
    if rng.random() < 0.8:
        parts = [part[0].upper() + part[1:] for part in parts]
    text = parts[0]
    for part in parts[1:]:
        text += (" " if text[-1] in "?!." else rng.choice([". ", ". ", ". ", " - ", "; ", ", "])) + part
    if text[-1] not in "?!.":
        text += rng.choice([".", ".", ".", "", "!"])
    if rng.random() < 0.15:
        text = f"{rng.choice(HELLO)} {text}"
    if rng.random() < 0.12:
        text += rng.choice([" ", "\n"]) + rng.choice(THANKS)
    return text.lower() if rng.random() < 0.06 else text
