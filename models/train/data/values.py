"""Values as JSON has them, with the ways in which a text says them."""

from __future__ import annotations

import datetime
import random
from dataclasses import dataclass
from typing import Any

from .lexicon import Dice, Words, composed
from .phrases import PHRASES

MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["_", "_", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


@dataclass
class Value:
    """A JSON value and how a text says it."""

    json: Any
    text: str


def spelled(number: int) -> str:
    """A number below 100 in words."""
    if number < 20:
        return _ONES[number]
    ten, one = divmod(number, 10)
    return _TENS[ten] + (f"-{_ONES[one]}" if one else "")


def ordinal(day: int) -> str:
    """`3rd`."""
    ending = "th" if 10 <= day % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"


class Values:
    """Draws values of a kind, which is a name and perhaps arguments: `int 18 90`."""

    def __init__(self, random: Dice, held: bool = False) -> None:
        self.random = random
        self.words = Words(random, held)

    def draw(self, kind: str) -> Value:
        """One value."""
        name, *arguments = kind.split(" ", 1)
        maker = getattr(self, f"_{name}", None)
        if maker is None:
            word = self.words.one(name)
            longer = getattr(self, f"longer_{name}", None)
            if longer and self.is_varied() and self.random.random() < 0.25:
                word = longer(word)
            return Value(word, word)
        return maker(*arguments)

    def longer_company(self, word: str) -> str:
        """A company's name of several words."""
        rng, words = self.random, self.words
        return rng.choice(
            [
                f"{word} & {words.one('last')}",
                f"{words.one('last')} & {rng.choice(['Sons', 'Co', 'Partners', 'Daughters', 'Co.'])}",
                f"{word} {rng.choice(['Ltd', 'GmbH', 'Inc.', 'AG', 'Group', 'S.A.', 'Systems', 'Foods', 'Media', 'Works'])}",
                f"{rng.choice(['Hotel', 'Café', 'Studio', 'Bank', 'House', 'Villa', 'Garage'])} {word}",
                f"{word} {words.part().capitalize()}",
                f"The {words.part().capitalize()} {words.part().capitalize()}",
            ]
        )

    def longer_city(self, word: str) -> str:
        """A place's name of several words."""
        rng = self.random
        before = rng.choice(["New", "San", "Santa", "Port", "Bad", "Los", "El", "St.", "North", "Upper", "La", "Mount"])
        return rng.choice([f"{before} {word}", f"{before} {word}", f"{word} {rng.choice(['City', 'Falls', 'Bay', 'Park', 'Hills'])}"])

    def longer_color(self, word: str) -> str:
        """A shade."""
        return f"{self.random.choice(['dark', 'light', 'bright', 'pale', 'deep', 'sky', 'matt'])} {word}"

    def _person(self) -> Value:
        words, shape = self.words, self.random.random()
        if self.is_varied() and self.random.random() < 0.12:
            title = self.random.choice(["Mr.", "Mrs.", "Ms", "Mr", "Mrs", "Dr.", "Dr", "Prof.", "Miss", "Captain", "Herr", "Madame"])
            text = f"{title} {words.one('last')}"
            return Value(text, text)
        if self.is_varied() and self.random.random() < 0.08:
            middle = self.random.choice([f"{self.random.choice('ABCDEFGHJKLMNPRSTW')}.", "de", "van", "von", "de la", "Le", "Mac", "bin", "di"])
            text = f"{words.one('first')} {middle} {words.one('last')}"
            return Value(text, text)
        first = words.one("first")
        if shape < 0.45:
            text = first
        elif shape < 0.9:
            text = f"{first} {words.one('last')}"
        elif shape < 0.95:
            text = f"{first} {words.one('first')} {words.one('last')}"
        else:
            text = f"{first} {words.one('last')}-{words.one('last')}"
        return Value(text, text)

    def _fullname(self) -> Value:
        text = f"{self.words.one('first')} {self.words.one('last')}"
        return Value(text, text)

    def _int(self, arguments: str = "0 100") -> Value:
        low, high = map(int, arguments.split())
        number = self.random.randint(low, high)
        if number > 200 and self.random.random() < 0.3:
            number = round(number, -2 if number > 3000 else -1)
        shape = self.random.random()
        if number < 100 and shape < 0.12:
            return Value(number, spelled(number))
        if number >= 1000 and shape < 0.35:
            return Value(number, f"{number:,}")
        return Value(number, str(number))

    def _year(self) -> Value:
        year = self.random.randint(1900, 2035)
        return Value(year, str(year))

    def _num(self, arguments: str = "0 100 1") -> Value:
        low, high, digits = arguments.split()
        number = round(self.random.uniform(float(low), float(high)), int(digits))
        text = f"{number:.{digits}f}" if self.random.random() < 0.5 else repr(number)
        if number == int(number):
            return Value(int(number), str(int(number)))
        return Value(number, text)

    def _money(self, arguments: str = "1 2000") -> Value:
        low, high = map(int, arguments.split())
        whole = self.random.random() < 0.4
        amount = float(self.random.randint(low, high))
        if not whole:
            amount = round(amount + self.random.choice([0.99, 0.5, 0.95, self.random.randint(1, 99) / 100]), 2)
        value = int(amount) if amount == int(amount) else amount
        number = f"{amount:,.2f}" if not whole else f"{int(amount):,}"
        if self.random.random() < 0.5:
            number = number.replace(",", "")
        text = self.random.choice(["${}", "{} euros", "€{}", "{} dollars", "£{}", "{} EUR", "{} USD"])
        return Value(value, text.format(number))

    def _date(self) -> Value:
        day = datetime.date(2015, 1, 1) + datetime.timedelta(days=self.random.randint(0, 6000))
        return Value(day.isoformat(), self.date_text(day))

    def date_text(self, day: datetime.date) -> str:
        """A date as people write it."""
        month = MONTHS[day.month - 1]
        return self.random.choice(
            [
                f"{day.day} {month} {day.year}",
                f"{month} {day.day}, {day.year}",
                f"{ordinal(day.day)} of {month} {day.year}",
                f"{month} {ordinal(day.day)}, {day.year}",
                f"{day.day} {month[:3]} {day.year}",
                f"{month[:3]} {day.day}, {day.year}",
                f"{day.day}.{day.month}.{day.year}",
                day.isoformat(),
                day.isoformat(),
            ]
        )

    def _time(self) -> Value:
        hour, minute = self.random.randint(0, 23), self.random.choice([0, 0, 15, 30, 45, 5, 20, 50])
        twelve = (hour - 1) % 12 + 1
        half = "am" if hour < 12 else "pm"
        short = f"{twelve} {half}" if minute == 0 else f"{twelve}:{minute:02} {half}"
        text = self.random.choice(
            [f"{hour:02}:{minute:02}", f"{hour:02}:{minute:02}", short, f"{twelve}:{minute:02} {half}"]
        )
        return Value(f"{hour:02}:{minute:02}", text)

    def _clock(self) -> Value:
        """A time in words, or with a dot: `half past seven in the evening`."""
        hour, minute = self.random.randint(0, 23), self.random.choice([0, 0, 15, 30, 30, 45, 10, 20, 50])
        if hour in (0, 12) and minute == 0:
            return Value(f"{hour:02}:00", "noon" if hour else "midnight")
        if self.random.random() < 0.3:
            return Value(f"{hour:02}:{minute:02}", self.random.choice([f"{hour}.{minute:02}", f"{hour}:{minute:02} h", f"{hour}h{minute:02}"]))
        part = "in the morning" if hour < 12 else "in the afternoon" if hour < 18 else "in the evening"
        named = spelled(((hour + (minute > 30)) - 1) % 12 + 1)
        past = {0: "", 10: "ten past ", 15: "quarter past ", 20: "twenty past ", 30: "half past ", 45: "quarter to ", 50: "ten to "}
        # Near noon and midnight, words would leave open which half of the day is meant; a quarter past in the
        # morning is how somebody wrote it whose text is kept out of training.
        if hour in (0, 11, 12, 17, 23) or (hour < 12 and minute == 15):
            part = "am" if hour < 12 else "pm"
            return Value(f"{hour:02}:{minute:02}", f"{(hour - 1) % 12 + 1}:{minute:02} {part}")
        return Value(f"{hour:02}:{minute:02}", f"{past[minute]}{named}{'' if minute else self.random.choice([' o’clock', ''])} {part}")

    def is_varied(self) -> bool:
        """Whether values have more shapes than the evaluation's: in training."""
        return getattr(self.random, "varied", False)

    def digits(self, shape: str) -> str:
        """A shape with digits in the place of its nines."""
        return "".join(self.random.choice("0123456789") if c == "9" else c for c in shape)

    def _code(self, arguments: str = "") -> Value:
        letters = "ABCDEFGHJKLMNPQRSTUVWXYZ"
        if not arguments and self.is_varied() and self.random.random() < 0.4:
            arguments = "".join(self.random.choice(["A", "9", "99", "9", "-9", "A9", "9/9"]) for _ in range(self.random.randint(2, 6)))
            if self.random.random() < 0.3:
                arguments = self.random.choice(["A9 9AA", "AA9 9AA", "A99 9AA", "9.9", "9.9.9", "99.9.9", "v9.9", "AA 999", "AA 99 999", "9999 AA", "999 999 999"])
        shape = arguments or self.random.choice(
            ["AA-9999", "A-99999", "999999", "AAA999", "AA99AA", "9A99-A", "AAAA-99"]
        )
        text = "".join(
            self.random.choice(letters) if c == "A" else self.random.choice("0123456789") if c == "9" else c
            for c in shape
        )
        if text.isdigit() and text.startswith("0"):
            text = "7" + text[1:]
        return Value(text, text)

    def _email(self) -> Value:
        local = self.random.choice([composed, lambda r: r.choice(self.words.lists["first"])])(self.random).lower()
        if self.random.random() < 0.5:
            local += self.random.choice([".", "_", ""]) + self.random.choice(self.words.lists["last"]).lower()
        if self.random.random() < 0.25:
            local += str(self.random.randint(1, 99))
        local = "".join(c for c in local if c.isascii() and c not in " '") or "info"
        domain = self.random.choice([self.random.choice(self.words.lists["company"]), composed(self.random)])
        domain = "".join(c for c in domain.lower() if c.isascii() and c.isalnum()) or "mail"
        text = f"{local}@{domain}.{self.random.choice(['com', 'org', 'net', 'de', 'io', 'fr', 'example'])}"
        return Value(text, text)

    def _phone(self) -> Value:
        if self.is_varied() and self.random.random() < 0.5:
            shape = self.random.choice(["0999 999 9999", "09 9999 9999", "999 999 999", "(099) 9999 999", "09999/999999", "999-9999", "099 99 99 99", "0999-9999999"])
            text = self.digits(shape)
            return Value(text, text)
        digits = "".join(self.random.choice("0123456789") for _ in range(7))
        text = self.random.choice(
            [f"+{self.random.randint(1, 99)} {digits[:3]} {digits[3:]}", f"0{digits}", f"555-{digits[:4]}"]
        )
        return Value(text, text)

    def _url(self) -> Value:
        host = "".join(c for c in composed(self.random) if c.isascii() and c.isalnum()) or "site"
        path = self.random.choice(["", "", f"/{self.random.choice(self.words.lists['noun'])}"])
        text = f"https://{host.lower()}.{self.random.choice(['com', 'org', 'dev', 'example'])}{path}"
        return Value(text, text)

    def _title(self) -> Value:
        adj, noun, other = (self.words.one(name) for name in ("adj", "noun", "noun"))
        if self.is_varied() and self.random.random() < 0.4:
            return self._titled(self.long_title())
        text = self.random.choice(
            [f"The {adj} {noun}", f"{noun} of the {adj} {other}", f"{adj} {noun}", f"a {noun} in the {other}"]
        )
        return self._titled(text)

    def long_title(self) -> str:
        """A title as titles are: of few words or many, with small ones among them."""
        rng, a, b, c = self.random, *(self.words.part() for _ in range(3))
        return rng.choice(
            [
                f"the {a} {b} of {c}",
                f"the {a} of the {b} {c}",
                f"{a} and {b}",
                f"the {a} and the {b}",
                f"{a} {b} {rng.randint(2, 20)}",
                f"{a} {rng.randint(1990, 2035)}",
                f"{a} de {b}",
                f"{a} for {b}",
                f"{a} {b}",
                f"how to {rng.choice(['cook', 'build', 'lose', 'find', 'paint', 'love'])} a {a}",
                f"{a}",
                f"{a} without {b}",
                f"a {a} in {b}",
                f"{a} {b} {c}",
            ]
        )

    @staticmethod
    def _titled(text: str) -> Value:
        small = {"of", "the", "in", "a", "and", "de", "for", "to", "without"}
        words = [w if w in small and i else w.capitalize() for i, w in enumerate(text.split())]
        return Value(" ".join(words), " ".join(words))

    def _address(self) -> Value:
        street = self.words.one("street")
        number = self.random.randint(1, 250)
        first = any(street.endswith(end) for end in ("straße", "weg")) or street.startswith(("Via", "Calle"))
        text = f"{street} {number}" if first else f"{number} {street}"
        return Value(text, text)

    def _phrase(self) -> Value:
        words = [self.words.one("adj"), self.words.one("noun")]
        if self.random.random() < 0.4:
            words.insert(0, composed(self.random))
        text = " ".join(words)
        return Value(text, text)

    def filled(self, text: str) -> str:
        """A text with values in the place of their kinds."""
        while "{" in text:
            before, _, rest = text.partition("{")
            kind, _, after = rest.partition("}")
            text = before + self.draw(kind).text + after
        return text

    def _said(self, sort: str) -> Value:
        """Words as somebody might say them; now and then such as nobody would."""
        text = self._phrase().text if self.random.random() < 0.12 else self.filled(self.random.choice(PHRASES[sort]))
        return Value(text, text)

    def _made(self) -> Value:
        word = composed(self.random)
        text = self.random.choice(
            [word, word.capitalize(), f"{word.capitalize()} {composed(self.random).capitalize()}"]
        )
        return Value(text, text)

    def _list(self, name: str) -> Value:
        words = self.words.some(name, 1, 4) if self.random.random() < 0.85 else self.words.some(name, 4, 6)
        return Value(words, joined(self.random, words))


def joined(random: random.Random, words: list[str]) -> str:
    """`a, b and c`."""
    if len(words) == 1:
        return words[0]
    glue = random.choice([" and ", " and ", ", and ", ", ", " & "])
    return ", ".join(words[:-1]) + glue + words[-1]


JSON_TYPES = {"int": "integer", "year": "integer", "num": "number", "money": "number"}


def schema_of(kind: str) -> dict[str, Any]:
    """The JSON Schema of a kind of value."""
    name, *arguments = kind.split(" ", 1)
    if name == "list":
        return {"type": "array", "items": {"type": "string"}}
    if name == "bool":
        return {"type": "boolean"}
    if name == "enum":
        return {"type": "string", "enum": arguments[0].split("/")}
    if name == "date":
        return {"type": "string", "format": "date"}
    return {"type": JSON_TYPES.get(name, "string")}
