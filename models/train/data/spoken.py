"""What people write themselves: messages in the first person, lists of things, receipts, tickets, mails.

Training alone uses them. The evaluation's counterpart is written by hand (`../written`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import variety
from .keyed import Keyed
from .lexicon import Dice
from .slots import Record, Slot, nullable
from .values import Value, Values, joined, schema_of


@dataclass
class Said:
    """Something that people say of themselves or of what they want."""

    keys: list[str]
    kind: str
    sayings: list[str]


def parse(text: str) -> list[Said]:
    """One a line: `keys : kind : sayings`."""
    made = []
    for line in text.strip().splitlines():
        keys, kind, sayings = line.split(" : ")
        made.append(Said(keys.split(","), kind, sayings.split("; ")))
    return made


NAMES = parse("""
name,full_name,customer,customer_name,person,user,sender,from_name,first_name,contact,guest,applicant : person : My name is {v}; my name is {v}; I'm {v}; I am {v}; This is {v}; {v} here; Name is {v}; it's {v}; They call me {v}; I go by {v}; You are speaking with {v}
""")
SELF = parse("""
age,years,age_years : int 3 99 : I am {v}; I'm {v}; I am {v} years old; I'm {v} years old; I turned {v} last week; I just turned {v}; aged {v}; My age is {v}
city,home,town,location,lives_in : city : I live in {v}; I'm from {v}; I am based in {v}; I come from {v}; I moved to {v}; my home is {v}; greetings from {v}; I'm writing from {v}
job,occupation,profession,role : job : I work as a {v}; I'm a {v}; I am a {v} by trade; I have been a {v} for years; my job is {v}
company,employer,works_at,organisation : company : I work for {v}; I'm with {v}; I work at {v}; my employer is {v}; I run {v}
email,mail,email_address,contact_email : email : my email is {v}; write to me at {v}; you can reach me at {v}; send it to {v}; my address is {v}; mail me: {v}
phone,phone_number,tel,callback_number : phone : my number is {v}; call me on {v}; you can call me at {v}; ring me on {v}; phone: {v}
birthday,born,date_of_birth : date : I was born on {v}; my birthday is {v}; born {v}; my date of birth is {v}
order_id,order,order_number,reference : code : my order is {v}; order number {v}; it is about order {v}; I placed the order {v}; the reference is {v}; Re: order {v}
product,item,article,thing : product : I bought a {v}; I'd like a {v}; I ordered a {v}; I need a {v}; it's about the {v}; my {v} is broken; I want to return the {v}; the {v} does not work; I'm looking for a {v}
quantity,count,amount,pieces : int 1 60 : I need {v} of them; I'd take {v}; {v} pieces please; I ordered {v}; make it {v}; we want {v} of those
price,amount,total,cost,paid : money : I paid {v}; it cost me {v}; it was {v}; the total was {v}; they charged me {v}; you owe me {v}; it came to {v}
date,day,when,on : date : it was on {v}; I need it by {v}; I'd come on {v}; let's meet on {v}; it happened on {v}; it arrived on {v}; is {v} possible?; we leave on {v}
time,at,hour,start : time : at {v} please; I'll be there at {v}; let's say {v}; does {v} work?; around {v}; we start at {v}; pick me up at {v}
people,guests,party_size,seats,persons : int 2 20 : there are {v} of us; for {v} people; a table for {v}; we are {v} people; we'll be {v}; {v} guests are coming
color,colour : color : I'd like it in {v}; in {v} please; the {v} one; mine is {v}; I love {v}; I prefer {v}
pet,animal,pet_kind : animal : I have a {v}; my {v} is ill; we own a {v}; our {v} ran away; I'm getting a {v}
languages,speaks,spoken : list language : I speak {v}; I know {v}; I can talk to you in {v}
skills,knows,good_at : list skill : I'm good at {v}; I have done {v}; I know {v}; my strengths are {v}
destination,to,going_to,to_city : city : I'm travelling to {v}; I want to go to {v}; we fly to {v}; take me to {v}; I need a ticket to {v}
origin,start_city,from_city,leaving_from : city : I start in {v}; I leave from {v}; from {v}; we depart from {v}
address,street,ship_to : address : I live at {v}; ship it to {v}; my address is {v}; send it to {v}; we are at {v}
country,nationality,home_country : country : I'm in {v}; I am from {v}; I come from {v}
married,is_married : bool : I'm married; I have a husband; I have a wife / I'm single; I'm not married; I am divorced
vegetarian,is_vegetarian,no_meat : bool : I don't eat meat; I'm a vegetarian; no meat for me / I eat meat; I'm not a vegetarian; I love steak
urgent,is_urgent,asap : bool : it's urgent; I need it right away; please hurry / no hurry; it can wait; take your time
paid,has_paid,is_paid : bool : I have already paid; it's paid; the money was sent / I haven't paid yet; I still have to pay; nothing was paid
student,is_student : bool : I'm a student; I study / I'm not a student; I don't study
hobby,sport,plays : sport : I play {v}; I do {v}; I'm into {v}; I love {v}; my hobby is {v}
food,dish,meal,order : food : I'd like the {v}; one {v} please; I'll have the {v}; can I get a {v}?; I had the {v}; we ordered {v}
children,kids,number_of_children : int 1 6 : I have {v} kids; we have {v} children; {v} kids at home
salary,income,pay : int 900 90000 : I earn {v}; I make {v} a year; my salary is {v}
room,desk,office : code A99 : I'm in room {v}; my room is {v}; we are in {v}; come to room {v}
doctor,manager,teacher,boss,colleague : fullname : my {k} is {v}; I talked to {v}, my {k}; {v} is my {k}
""")

HELLO = ["Hi,", "Hello,", "Hey,", "Hi!", "Hello there,", "Dear team,", "Good morning,", "hi", "Hi all,", "Dear Sir or Madam,", "Hey guys,", "To whom it may concern,"]
THANKS = ["Thanks", "Thank you", "Best", "Regards", "Best wishes", "Cheers", "Kind regards", "Many thanks", "Yours", "Love"]
NEEDS = ["I need {}", "We still need {}", "Please get {}", "Could you buy {}?", "I bought {}", "We bought {} today", "I'll bring {}", "Don't forget {}", "On my list: {}", "Shopping: {}", "{}", "{}", "I packed {}", "We ran out of {}", "He ate {}", "To do: {}", "There are {}", "I have {}", "She likes {}", "I like {}", "We ordered {}", "Add {}", "{} please", "I found {} in the drawer", "My favourites are {}", "Things to take along: {}", "We saw {}", "Today I got {}", "I see {} here"]
PRESENT = ["{} were there", "{} are coming", "I met {}", "Present: {}", "{} and nobody else came", "Invite {}", "We are {}", "cc {}", "Attendees: {}", "My friends are {}", "{} said yes", "With me were {}", "I talked to {}", "Please welcome {}"]
NUMBERS = ["The numbers are {}", "We measured {}", "Values: {}", "{}", "My scores were {}", "I got {}", "It was {}", "The results: {}", "Lottery: {}", "I rolled {}", "Readings {}"]
PLACES = ["We went to {}", "I have been to {}", "Next stops: {}", "I lived in {}", "{}", "They flew to {}", "Offices: {}", "I know {} well", "From there to {}", "We visited {} last summer"]
GENERIC = ["response", "response", "response", "items", "result", "values", "list", "answer", "output", "data", "entries", "things"]


def listing(rng: Dice, values: Values, texts: list[str]) -> str:
    """Several things, in a sentence's middle or line by line."""
    if rng.random() < 0.12:
        bullet = rng.choice(["- ", "* ", "1. ", ""])
        return "\n" + "\n".join((f"{i}. " if bullet == "1. " else bullet) + text for i, text in enumerate(texts, 1))
    if rng.random() < 0.4 and texts[0][0].isalpha() and texts[0].islower():
        texts = [rng.choice(["a ", "some ", "the ", "one ", "my ", ""]) + text for text in texts]
    return joined(rng, texts)


class Spoken(Keyed):
    """Draws such records. Keys are written as the record writes them."""

    def spoken(self, least: int, most: int) -> Record:
        """One of any sort."""
        shape = self.rng.random()
        if shape < 0.5:
            return self.first_person(least, most)
        if shape < 0.72:
            return self.plain_list()
        if shape < 0.82:
            return self.single()
        if shape < 0.88:
            return self.notice()
        return self.receipt() if shape < 0.94 else self.form()

    def message(self, item: Said) -> tuple[dict[str, Any], Value, str]:
        """A schema, a value and the saying."""
        rng = self.rng
        if item.kind == "bool":
            truth = rng.random() < 0.5
            yes, no = "; ".join(item.sayings).split(" / ")
            return {"type": "boolean"}, Value(truth, ""), rng.choice((yes if truth else no).split("; "))
        schema = schema_of(item.kind)
        if rng.random() < 0.3:
            schema.pop("format", None)
        return schema, self.values.draw(item.kind), rng.choice(item.sayings)

    def first_person(self, least: int, most: int) -> Record:
        """Somebody writes about themselves."""
        rng = self.rng
        count = rng.randint(least, most)
        chosen = rng.sample(SELF, min(len(SELF), count + rng.choice([0, 0, 1])))
        # Two that are told apart by nothing but the world are not in one text.
        seen: set[str] = set()
        slots: list[Slot] = []
        said: list[str] = []
        start = end = ""
        if rng.random() < 0.65:
            name = self.values.draw(rng.choice(["first", "person", "fullname"]))
            slots.append(Slot(self.key(rng.choice(NAMES[0].keys)), {"type": "string"}, name.json))
            if rng.random() < 0.7:
                start = rng.choice(NAMES[0].sayings).replace("{v}", name.text)
            else:
                end = rng.choice([", ", ",\n", "\n", " - "]).join([rng.choice(THANKS), name.text])
        for item in chosen:
            kind = variety.family(item.kind)
            kind = kind if kind in ("date", "address") else item.kind.split()[0] if kind == "number" else item.kind
            if kind in seen and item.kind != "bool":
                continue
            seen.add(kind)
            schema, value, saying = self.message(item)
            key = rng.choice(item.keys)
            said.append(saying.replace("{v}", value.text).replace("{k}", key))
            if len(slots) >= most:
                continue
            slot = Slot(self.key(key), schema, value.json)
            if rng.random() < 0.08:
                slot.schema = nullable(schema, rng)
            slots.append(slot)
        if rng.random() < 0.12:
            rest = rng.choice([one for one in SELF if one not in chosen])
            slots.append(Slot(self.key(rng.choice(rest.keys)), nullable(schema_of(rest.kind) if rest.kind != "bool" else {"type": "boolean"}, rng), None))
        slots = list({slot.key: slot for slot in slots}.values())
        rng.shuffle(said)
        if start:
            said.insert(0 if rng.random() < 0.8 else rng.randint(0, len(said)), start)
        text = self.run_on(said)
        if rng.random() < 0.35:
            text = f"{rng.choice(HELLO)} {text}"
        if end:
            text += rng.choice(["\n", " ", "\n\n"]) + end
        if rng.random() < 0.75:
            rng.shuffle(slots)
        return Record(rng.choice(["person", "customer", "user", "message", "request", "contact"]), text, slots)

    def run_on(self, said: list[str]) -> str:
        """Clauses, as people string them together."""
        rng = self.rng
        glue = rng.choice([". ", ". ", ". ", ", ", " and ", "! ", "\n", " - ", "; "])
        text = ""
        for one in said:
            if not text:
                text = one[0].upper() + one[1:] if rng.random() < 0.85 else one
                continue
            link = glue if rng.random() < 0.7 else rng.choice([". ", ", ", " and ", ", and ", " but "])
            if text[-1] in "?!" and link not in ("\n", " - "):
                link = " "
            begins = link.endswith((". ", "! ", "\n")) or text[-1] in "?!"
            text += link + (one[0].upper() + one[1:] if begins and rng.random() < 0.85 else one)
        return text if text[-1] in "?!" or rng.random() < 0.2 else text + "."

    def plain_list(self) -> Record:
        """Things of one sort, under a name that says nothing, or what they are."""
        rng, draw = self.rng, self.values.draw
        shape = rng.random()
        count = rng.choices([1, 2, 3, 4, 5, 6], [8, 22, 32, 20, 10, 8])[0]
        if shape < 0.5:
            sort = rng.choice(["food", "ingredient", "product", "color", "animal", "skill", "material", "noun", "topic"])
            texts, frames = self.values.words.some(sort, count, count), NEEDS
            named = [f"{sort}s", "items", "products", "shopping_list", "things", "tags", "groceries"]
        elif shape < 0.68:
            texts, frames = [draw(rng.choice(["first", "fullname"])).text for _ in range(count)], PRESENT
            named = ["names", "people", "attendees", "participants", "persons", "guests"]
        elif shape < 0.8:
            texts, frames = [draw("city").text for _ in range(count)], PLACES
            named = ["cities", "places", "stops", "locations", "destinations"]
        elif shape < 0.9:
            numbers = [draw(rng.choice(["int 0 99", "int 0 9", "int 1 2000"])).json for _ in range(count)]
            texts, frames = [str(one) for one in numbers], NUMBERS
            named = ["numbers", "values", "scores", "readings", "results"]
        else:
            texts, frames = [draw("email").text for _ in range(count)], ["Mail {}", "Send it to {}", "{}", "Recipients: {}", "Copy {}"]
            named = ["emails", "recipients", "addresses", "to"]
        texts = list(dict.fromkeys(texts))
        found: list[Any] = texts
        kind = "string"
        if frames is NUMBERS:
            found, kind = [int(one) for one in texts], "integer"
        frame = rng.choice(frames)
        if rng.random() < 0.3:
            frame = f"{rng.choice(variety.HAVE).removesuffix('s')} {{}}" if rng.random() < 0.3 else variety.strange(rng).replace("{v}", "{}")
            frame = rng.choice(["We ", "I ", "They ", "Please ", "Then we "]) + frame
        text = frame.format(listing(rng, self.values, texts))
        text = text[0].upper() + text[1:] if rng.random() < 0.9 else text
        if text[-1] not in "?!" and "\n" not in text and rng.random() < 0.75:
            text += "."
        if rng.random() < 0.15:
            text = f"{rng.choice(HELLO)} {text}"
        key = self.key(rng.choice(GENERIC if rng.random() < 0.5 else named))
        return Record("list", text, [Slot(key, {"type": "array", "items": {"type": kind}}, found)])

    def single(self) -> Record:
        """One value under a name that says nothing."""
        rng = self.rng
        item = rng.choice(SELF if rng.random() < 0.6 else NAMES)
        schema, value, saying = self.message(item)
        key = rng.choice(GENERIC[:5] + ["answer", "value", "output", "result"])
        text = saying.replace("{v}", value.text).replace("{k}", item.keys[0])
        text = text[0].upper() + text[1:] + rng.choice([".", ".", "", "!"])
        if rng.random() < 0.3:
            text = f"{rng.choice(HELLO)} {text}"
        return Record(item.keys[0], text, [Slot(self.key(key), schema, value.json)])

    def notice(self) -> Record:
        """Somebody or something in a few words: an advertisement, a note on a patient, a contact, an entry of a log."""
        rng, draw = self.rng, self.values.draw
        parts = [
            ("name,patient,customer,owner,seller,tenant,driver,player", "person", ["{v}", "{k} {v}", "{k}: {v}", "contact {v}", "ask for {v}", "by {v}"]),
            ("item,product,article,object,thing", "product", ["{v}", "selling my {v}", "one {v}", "a {v}", "{v} for sale", "used {v}"]),
            ("price,cost,amount,fee,budget", "money", ["{v}", "for {v}", "{v} only", "asking {v}", "{v} or best offer", "{k} {v}"]),
            ("city,location,place,town", "city", ["{v}", "in {v}", "pick up in {v}", "from {v}", "near {v}"]),
            ("phone,tel,mobile,number", "phone", ["{v}", "call {v}", "tel {v}", "mobile {v}", "phone {v}", "{v} after six"]),
            ("date,day,when,date_of_visit", "date", ["{v}", "on {v}", "since {v}", "from {v}", "{k} {v}"]),
            ("time,at,starts_at", "time", ["{v}", "at {v}", "{v} sharp"]),
            ("color,colour", "color", ["{v}", "in {v}", "{k} {v}"]),
            ("age,years_old", "int 1 95", ["{v} years old", "aged {v}", "age {v}", "{v} y/o"]),
            ("material,made_of", "material", ["{v}", "made of {v}", "all {v}"]),
            ("id,number,reference,serial,order,plate,flight", "code", ["{v}", "{k} {v}", "no. {v}", "ref. {v}", "#{v}"]),
            ("email,mail", "email", ["{v}", "mail {v}", "write to {v}"]),
            (f"{variety.word(rng).split()[-1]}s", "int 1 400", ["{v} {k}", "{k}: {v}", "with {v} {k}", "{k} {v}"]),
            (f"{variety.word(rng).split()[-1]}", "num 1 90 1", ["{k} {v}", "{k}: {v}", "{v} {k}"]),
        ]
        slots, said = [], []
        for keys, kind, sayings in rng.sample(parts, rng.randint(2, 7)):
            value, key = draw(kind), rng.choice(keys.split(","))
            said.append(rng.choice(sayings).replace("{v}", value.text).replace("{k}", key.replace("_", " ")))
            slots.append(Slot(self.key(key), schema_of(kind), value.json))
        glue = rng.choice([", ", ", ", ", ", " - ", "; ", ". ", "\n", " | "])
        text = glue.join(said)
        text = text[0].upper() + text[1:] if rng.random() < 0.7 else text
        if rng.random() < 0.3:
            text = rng.choice(["Note: ", "For sale: ", "Wanted: ", "Lost: ", "Found: ", "New entry: ", "Log: ", "Ad: ", "Visit: "]) + text
        kept = rng.sample(slots, rng.randint(1, len(slots)))
        return Record("notice", text + rng.choice(["", "."]), list({slot.key: slot for slot in kept}.values()))

    def receipt(self) -> Record:
        """What was bought, line by line."""
        rng, draw = self.rng, self.values.draw
        store, day = draw("company"), draw("date")
        names = self.values.words.some(rng.choice(["food", "product"]), 1, 4)
        form = rng.choice(["{q} x {n} {p}", "{q}x {n}  {p}", "{n} x{q} {p}", "{q} {n} {p}", "{n} ({q}) {p}"])
        lines, items = [], []
        first, second, third = self.key(rng.choice(["name", "item", "product", "description"])), self.key(rng.choice(["quantity", "qty", "count"])), self.key(rng.choice(["price", "amount", "unit_price"]))
        priced = rng.random() < 0.6
        if not priced:
            form = form.replace(" {p}", "").rstrip()
        for name in names:
            many, price = draw("int 1 9"), draw("num 1 60 2")
            lines.append(form.format(q=many.text, n=name, p=price.text))
            items.append({first: name, second: many.json, **({third: price.json} if priced else {})})
        total, money = draw("num 5 300 2"), rng.choice(["EUR", "USD", "GBP", "$", "€"])
        code = {"$": "USD", "€": "EUR"}.get(money, money)
        inner = {first: {"type": "string"}, second: {"type": "integer"}, **({third: {"type": "number"}} if priced else {})}
        shop = {"type": "object", "properties": inner, "required": list(inner), "additionalProperties": False}
        slots = [
            Slot(self.key(rng.choice(["store", "shop", "merchant", "vendor"])), {"type": "string"}, store.json),
            Slot(self.key(rng.choice(["date", "day", "purchased_on"])), schema_of("date"), day.json),
            Slot(self.key(rng.choice(["items", "lines", "products"])), {"type": "array", "items": shop}, items),
            Slot(self.key(rng.choice(["total", "amount_due", "sum", "grand_total"])), {"type": "number"}, total.json),
            Slot(self.key("currency"), {"type": "string", "enum": ["EUR", "USD", "GBP"]} if rng.random() < 0.5 else {"type": "string"}, code),
        ]
        kept = sorted(rng.sample(range(5), rng.randint(2, 5)))
        due = f"{rng.choice(['Total', 'TOTAL', 'Sum', 'Amount due', 'To pay'])}{rng.choice([': ', ' ', '  '])}" + (f"{money}{total.text}" if money in "$€" else f"{total.text} {money}")
        text = "\n".join([rng.choice(["{}", "{} store", "Receipt: {}"]).format(store.text), day.text, *lines, due])
        if rng.random() < 0.3:
            text = text.replace("\n", ", ")
        slots = list({slot.key: slot for slot in (slots[i] for i in kept)}.values())
        return Record("receipt", text, slots)

    def form(self) -> Record:
        """A mail or a ticket: a head of labels, and words below that say something, too."""
        rng, draw = self.rng, self.values.draw
        heads = [
            ("From", "sender,from,author", draw("email")), ("To", "recipient,to,receiver", draw("email")),
            ("Subject", "subject,topic,title", draw("topic")), ("Date", "date,sent,day", draw("date")),
            ("Ticket", "ticket_id,ticket,id", draw("code")), ("Customer", "customer,client,name", draw("fullname")),
            ("Product", "product,item", draw("product")), ("Phone", "phone,tel", draw("phone")),
        ]
        heads = rng.sample(heads, rng.randint(2, 5))
        text = "\n".join(f"{label}: {value.text}" for label, _, value in heads)
        schemas = {"Date": schema_of("date")}
        slots = [Slot(self.key(rng.choice(keys.split(","))), dict(schemas.get(label, {"type": "string"})), value.json) for label, keys, value in heads]
        item = rng.choice([one for one in SELF if one.kind in ("money", "time", "bool", "color", "animal") or one.kind.startswith("int")])
        schema, value, saying = self.message(item)
        text += "\n\n" + self.run_on([saying.replace("{v}", value.text)])
        slots.append(Slot(self.key(rng.choice(item.keys)), schema, value.json))
        slots = rng.sample(slots, rng.randint(2, len(slots)))
        return Record("ticket", text, list({slot.key: slot for slot in slots}.values()))
