"""Objects and lists of objects in an object: an address, a price, what was ordered."""

from __future__ import annotations

from .keyed import Keyed
from .slots import Slot, object_schema, object_value, words_of
from .values import Value, joined, schema_of


class Groups(Keyed):
    """Draws such properties. Keys are written as the record writes them."""

    def group(self) -> tuple[Slot, str, tuple[str, str]]:
        """An object in the object: its slot, the saying, and its label."""
        rng, draw = self.rng, self.values.draw
        kind = rng.choice(["address", "price", "contact", "size", "items", "items", "members", "place"])
        if kind == "address":
            parts = [("street", draw("address")), ("city", draw("city")), ("zip", draw("code 99999"))]
            street, city, code = (value.text for _, value in parts)
            parts = parts[: rng.choice([2, 3])]
            said = (
                f"{street}, {city}"
                if len(parts) == 2
                else rng.choice([f"{street}, {code} {city}", f"{street}, {city} {code}"])
            )
            saying = rng.choice(["has the address {}", "is to be found at {}", "uses the address {}"])
            keys = ["address", "shipping_address", "location", "home_address"]
        elif kind == "price":
            number, code = draw("num 5 900 2"), Value(*[rng.choice(["EUR", "USD", "GBP", "CHF"])] * 2)
            parts, said = (
                [(rng.choice(["amount", "value"]), number), ("currency", code)],
                rng.choice([f"{number.text} {code.text}", f"{code.text} {number.text}"]),
            )
            saying, keys = (
                rng.choice(["is valued at {}", "has a value of {}", "comes to {}"]),
                ["price", "value", "cost", "total_cost"],
            )
        elif kind == "contact":
            parts = [("name", draw("person")), ("email", draw("email"))]
            said = rng.choice(
                [
                    f"{parts[0][1].text} ({parts[1][1].text})",
                    f"{parts[0][1].text}, {parts[1][1].text}",
                    f"{parts[0][1].text} at {parts[1][1].text}",
                ]
            )
            saying, keys = (
                rng.choice(["is looked after by {}", "has the contact {}", "is handled by {}"]),
                ["contact", "contact_person", "owner", "responsible"],
            )
        elif kind == "size":
            parts = [
                (name, draw("int 1 300"))
                for name in rng.choice([("width", "height"), ("length", "width", "height"), ("width", "depth")])
            ]
            said = rng.choice(
                [
                    ", ".join(f"{name} {value.text}" for name, value in parts),
                    " and ".join(f"a {name} of {value.text}" for name, value in parts),
                ]
            )
            saying, keys = rng.choice(["measures {}", "has {}"]), ["dimensions", "size", "measurements"]
        elif kind == "place":
            parts = [("city", draw("city")), ("country", draw("country"))]
            said, saying = (
                f"{parts[0][1].text}, {parts[1][1].text}",
                rng.choice(["is registered in {}", "is linked to {}", "was seen in {}"]),
            )
            keys = ["place", "location", "origin", "hometown"]
        else:
            return self.listed(kind)
        inner = [
            Slot(
                self.key(name),
                schema_of("num 0 1 1" if name in ("amount", "value") else "int 0 1" if kind == "size" else "made"),
                value.json,
            )
            for name, value in parts
        ]
        if rng.random() < 0.25:
            rng.shuffle(inner)
        key = self.key(rng.choice(keys))
        slot = Slot(key, object_schema(inner), object_value(inner))
        return slot, saying.format(said), (words_of(key), said)

    def listed(self, kind: str) -> tuple[Slot, str, tuple[str, str]]:
        """A list of objects in the object."""
        rng, draw = self.rng, self.values.draw
        names = self.values.words.some("product" if rng.random() < 0.5 else "food", 1, 3)
        texts, values = [], []
        if kind == "items":
            first, second = (
                self.key(rng.choice(["name", "item", "product"])),
                self.key(rng.choice(["quantity", "count", "qty", "amount"])),
            )
            form = rng.choice(["{} {}", "{} x {}", "{}x {}", "{} units of {}"])
            for name in names:
                count = draw("int 1 20")
                values.append({first: name, second: count.json})
                texts.append(form.format(count.text, name))
            schemas = [Slot(first, {"type": "string"}, None), Slot(second, {"type": "integer"}, None)]
            keys, saying = (
                ["items", "products", "lines", "positions"],
                rng.choice(["contains {}", "covers {}", "comes with {}"]),
            )
        else:
            first, second = self.key("name"), self.key(rng.choice(["role", "age", "city"]))
            for _ in range(rng.randint(1, 3)):
                name, other = draw("person"), draw({"role": "job", "age": "int 5 90", "city": "city"}[second])
                values.append({first: name.json, second: other.json})
                link = {"role": ", a ", "age": ", ", "city": " from "}[second]
                texts.append(f"{name.text} ({other.text})" if rng.random() < 0.4 else f"{name.text}{link}{other.text}")
            schemas = [
                Slot(first, {"type": "string"}, None),
                Slot(second, {"type": "integer" if second == "age" else "string"}, None),
            ]
            keys, saying = (
                ["members", "people", "team", "contacts"],
                rng.choice(["involves {}", "is shared by {}", "brings together {}"]),
            )
            if any(", " in text for text in texts):
                saying = saying.format("; ".join(texts))
                key = self.key(rng.choice(keys))
                return (
                    Slot(key, {"type": "array", "items": object_schema(schemas)}, values),
                    saying,
                    (words_of(key), "; ".join(texts)),
                )
        key = self.key(rng.choice(keys))
        said = joined(rng, texts)
        return (
            Slot(key, {"type": "array", "items": object_schema(schemas)}, values),
            saying.format(said),
            (words_of(key), said),
        )
