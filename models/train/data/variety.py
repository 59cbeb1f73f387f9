"""Wordings that nobody wrote: drawn anew for each sample, so that none is learned by heart.

Training alone uses them. What is left to go by is what holds for sentences never seen, too: a label
near a value, a verb's stem, a unit, the kind of a value, or which value is left over. No pattern
that is marked for the evaluation can come out of the words here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lexicon import TRAIN, Dice, composed
from .things import THINGS, entries

if TYPE_CHECKING:
    from .domains import Field

HAVE = entries("""has shows uses lists carries states gives reports displays bears holds takes keeps records mentions notes
    indicates reads features includes contains offers wants needs requires specifies declares claims received
    gained chose selected prefers announces publishes presents provides owns accepts expects assumes promises
    stores returns confirms quotes documents cites repeats adopted demands""")
LINKS = ["", "", "", "of", "of", "as", "being", "at", "set to", "equal to", "called", "like", "with", "to be", "now"]
ROLES = [
    "as",
    "as",
    "for",
    "under",
    "in",
    "by way of",
    "in terms of",
    "on",
    "at",
    "through",
    "with regard to",
    "next to",
]
STEMS = entries("""test paint pack repair wash visit join load lock print clean register collect record film
    plant import export audit scan boil toast polish inspect restore award sort weld insure appoint elect
    nominate adopt rescue tune calibrate stamp seal pick mend sketch accept admire advise allow announce answer arrange
    arrest assemble attach attack avoid ban bake balance blend block bless bow brush burn calm care carve chase cheer
    chew claim clip compare confirm connect consult copy correct cover crack crush cure damage dance deliver
    demand describe detect develop disarm discover divide double draft dress drop dry dust earn edit empty enjoy
    enter examine explain fasten filter fix float fold follow frame gather glue grade grant grill guard guess guide
    hammer handle harm heal heat hunt identify inject install invent invite iron judge kick kiss knock
    laugh level license lift list measure melt merge milk mix mount move murmur nail observe obtain offer
    order own pass paste pause perform place plan play point post pour praise predict press process promote
    protect prove pull pump punch push raise rate reach reject release remove replace report reserve return
    review reward roast rob roll rub ruin sail save score select serve settle shape share shave sign smooth
    solve stain steer stir stop store stretch supply support switch tame tease tick tie touch trace trade
    train translate trap treat trim trust turn twist unite update value warm warn watch wax weigh wipe wrap""")
PREPOSITIONS = entries("on at in by with for to from over under through against near along after before behind beside")
PARTICLES = ["up", "down", "out", "off", "away", "back", "together", "around", "across", "over"]
UNITS = entries("""minutes days weeks litres pieces steps pages rows seats lamps tiles boxes cups stops rounds layers
    sheets bricks wheels guests votes shelves nights points copies bags cans""")
ADVERBS = entries("always usually currently apparently really now already officially once partly")
BESIDES = [
    "In addition, {}",
    "Moreover, {}",
    "Besides, {}",
    "Furthermore, {}",
    "On top of that, {}",
    "Note that {}",
    "We heard that {}",
    "Apart from that, {}",
    "Then {}",
    "It seems that {}",
    "As far as we know, {}",
    "By the way, {}",
    "At the same time {}",
    "They say {}",
]
STARTS = [
    "There is a {n} called {s}. {P}",
    "About the {n} {s}: {p}",
    "Regarding {s}, {p}",
    "The {n} is called {s}. {P}",
    "A {n}, {s},",
    "{s} is a {n} that",
    "Take {s}: {p}",
    "Concerning the {n} {s}, we know that {p}",
    "Here comes {s}. {P}",
    "Do you know the {n} {s}? {P}",
    "The {n} named {s}",
    "Look at {s}, which",
    "With the {n} {s} it is like this: {p}",
    "{s} ({n})",
    "{s}, our {n},",
    "Everybody talks about the {n} {s}. {P}",
]
ALOUD = [
    "The {l} is {{v}}",
    "The {l} is {{v}}",
    "The {l} was {{v}}",
    "Its {l} is {{v}}",
    "{L}: {{v}}",
    "Its {l}: {{v}}",
    "{{v}} is the {l}",
    "{{v}} was given as {l}",
    "For the {l} we have {{v}}",
    "As {l}, {{v}} was noted",
    "The {l} would be {{v}}",
    "We put {{v}} down as {l}",
]


def word(rng: Dice) -> str:
    """Some word, known or not."""
    if rng.random() < 0.3:
        return composed(rng).lower()
    if rng.random() < 0.6:
        return rng.choice(THINGS)
    return rng.choice(TRAIN[rng.choice(["noun", "adj", "animal", "material", "product", "food"])])


def labelled(rng: Dice, label: str) -> str:
    """A saying that has a field's label in it. One that begins with `@` is a sentence of its own."""
    shape = rng.random()
    verb = rng.choice(HAVE) if rng.random() < 0.8 else composed(rng).lower() + "s"
    if rng.random() < 0.12:
        verb = f"{rng.choice(ADVERBS)} {verb}"
    article = rng.choice(["a ", "the ", "the ", "its ", "its ", "", "one "])
    if shape < 0.2:
        return "@" + rng.choice(ALOUD).format(l=label, L=label.capitalize())
    if shape < 0.5:
        link = rng.choice(LINKS)
        return f"{verb} {article}{label} {link + ' ' if link else ''}{{v}}"
    if shape < 0.78:
        return f"{verb} {{v}} {rng.choice(ROLES)} {article}{label}"
    if shape < 0.88:
        return f"{verb} {{v}} {label}"
    return rng.choice(
        [f"is {{v}} in {label}", f"goes by the {label} {{v}}", f"is of the {label} {{v}}", f"is a {label} {{v}}"]
    )


def strange(rng: Dice) -> str:
    """A saying that says nothing: what it is about shows only in the value."""
    verb = rng.choice(STEMS) + rng.choice(["s", "ed"]) if rng.random() < 0.6 else composed(rng).lower() + "s"
    if rng.random() < 0.2:
        verb = f"{rng.choice(['is', 'was', 'has', 'can'])} {word(rng)}"
    shape = rng.random()
    if shape < 0.2:
        return f"{verb} {{v}}"
    if shape < 0.5:
        return f"{verb} {rng.choice(PREPOSITIONS)} {{v}}"
    if shape < 0.65:
        return f"{verb} {rng.choice(PARTICLES)} {rng.choice(PREPOSITIONS)} {{v}}"
    if shape < 0.85:
        return f"{verb} {rng.choice(['', 'a ', 'the '])}{word(rng)} {rng.choice(PREPOSITIONS)} {{v}}"
    return f"{verb} {{v}} {word(rng)}"


def family(kind: str) -> str:
    """Kinds whose values look alike."""
    name = kind.split()[0]
    if name in ("int", "num", "money", "year"):
        return "number"
    if name in ("person", "fullname", "first"):
        return "person"
    if name in ("date", "time", "email", "phone", "url", "code", "list", "bool", "enum", "title", "address"):
        return name
    return "word"


def deed(rng: Dice, field: type[Field]) -> Field:
    """A field that is named after what was done: `welded_by`, said `was welded by`."""
    stem = rng.choice(STEMS) if rng.random() < 0.6 else composed(rng).lower() + "t"
    past = stem + ("d" if stem.endswith("e") else "ed")
    link, kinds, others = rng.choice(
        [
            ("on", ["date", "date", "made"], [f"{stem}_date", f"date_{past}", f"day_{past}"]),
            ("by", ["person", "fullname", "fullname", "company"], [f"{stem}er", f"{stem}er_name"]),
            ("in", ["city", "year", "country"], [f"{stem}_place", f"place_{past}"]),
            ("at", ["time", "company", "address"], [f"{stem}_time"]),
            ("for", ["money", "person"], [f"{stem}_fee", f"{stem}_price"]),
            ("with", ["material", "product", "made"], [f"{stem}_with", f"{stem}_means"]),
            ("", ["bool"], [f"is_{past}", f"was_{past}", f"is_{past}"]),
        ]
    )
    keys = [rng.choice([f"{past}_{link}" if link else past, past, *others])]
    if not link:
        verb = rng.choice(["is", "was", "has been"])
        said, denied = [f"{verb} {past}"], [f"{verb} {rng.choice(['not', 'never', 'not yet'])} {past}"]
        return field(keys, "bool", said, said, [f"whether it {verb} {past}"], denied)
    verb = rng.choice(["was", "was", "is", "has been", "gets", "had to be"])
    said = [f"{verb} {past} {link} {{v}}", f"had its {past.removesuffix('d').removesuffix('e')}ing {link} {{v}}"]
    described = rng.choice([f"{past} {link}", f"the {stem} of it", f"when or how it was {past}"])
    return field(keys, rng.choice(kinds), said, said, [described])


def counted(rng: Dice, field: type[Field]) -> Field:
    """A field that counts something: `brick_count`, said `has 7 bricks`."""
    unit = rng.choice(UNITS) if rng.random() < 0.5 else word(rng).split()[-1] + "s"
    one = unit.removesuffix("s")
    keys = [
        rng.choice([unit, unit, f"{one}_count", f"number_of_{unit}", f"{composed(rng).lower()}_{unit}", f"num_{unit}"])
    ]
    verb = rng.choice([*HAVE, "is home to", "is for", "takes", "lasts", "comes with", "comprises", "covers"])
    said = [
        f"{verb} {{v}} {unit}",
        f"has {rng.choice(['a total of', 'room for', 'up to', 'about', 'exactly'])} {{v}} {unit}",
    ]
    kind = rng.choice(["int 1 40", "int 1 900", "int 100 90000", "num 0 50 1"])
    return field(keys, kind, said, said, [f"number of {unit}", f"how many {unit}", unit])


def attribute_name(rng: Dice, name: str) -> tuple[str, str]:
    """A key, and the label that a text has for it: not always the same words."""
    shape = rng.random()
    if shape < 0.4:
        name = word(rng)
    elif shape < 0.5:
        name = f"{word(rng)} {name}"
    key = name.replace(" ", "_")
    shape = rng.random()
    if shape < 0.12:
        return (
            f"{key}_{rng.choice(['m', 'kg', 'name', 'value', 'id', 'count', 'percent', 'text', 'info', 'no', 'cm', 'usd'])}",
            name,
        )
    if shape < 0.18:
        return f"{composed(rng).lower()}_{key}", name
    if shape < 0.24:
        return key, f"{word(rng)} {name}"
    if shape < 0.28:
        return key, name + rng.choice(["s", "ing", "er"])
    return key, name


def switched(rng: Dice, label: str) -> tuple[list[str], list[str]]:
    """Sayings of a boolean: for true, and for false."""
    verb = rng.choice(["has", "has the", "has its", "keeps the", "runs with", "shows the", "reports the"])
    yes = rng.choice(["active", "activated", "in place", "included", "on", "allowed", "confirmed", "working"])
    no = rng.choice(["inactive", "deactivated", "missing", "excluded", "off", "forbidden", "rejected", "broken"])
    pairs = [
        (f"{verb} {label} {yes}", f"{verb} {label} {no}"),
        (f"is {label}", f"is not {label}"),
        (f"comes with {label}", f"comes without {label}"),
        (f"allows {label}", f"does not allow {label}"),
        (f"offers {label}", f"offers no {label}"),
        (f"needs a {label}", f"does not need a {label}"),
        (f"@The {label} is {yes}", f"@The {label} is {no}"),
    ]
    true, false = rng.choice(pairs)
    return [true], [false]


def subject_key(rng: Dice, noun: str) -> str:
    """What a schema may call the name of what a text is about."""
    one = (noun if rng.random() < 0.5 else word(rng)).lower().replace(" ", "_")
    return one + rng.choice(["", "", "", "_name", "_id", "_title", "_label"])


def beside(rng: Dice) -> str:
    """What a further sentence begins with; `{}` is the pronoun."""
    if rng.random() < 0.3:
        return f"{word(rng).capitalize()} {word(rng)}, {{}}"
    return rng.choice(BESIDES)


def start(rng: Dice, noun: str, subject: str, pronoun: str) -> str:
    """What the first sentence begins with."""
    return rng.choice(STARTS).format(n=noun, s=subject, p=pronoun.lower(), P=pronoun)


def chatter(rng: Dice) -> str:
    """A sentence that has nothing to do with it."""
    words = " ".join(word(rng) for _ in range(rng.randint(2, 6)))
    return words[:1].upper() + words[1:] + rng.choice([".", ".", "!", ":"])
