"""Texts that belong to a class: what they are about, how they sound, how urgent they are."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from . import composing, sorting, variety
from .lexicon import Dice, Words
from .values import Values

THING = "the food|the service|the delivery|the app|the hotel|the film|the phone|the support team|this product|the update|the book|the new version|the room|the flight"

SETS: dict[str, dict[str, str]] = {
    "sentiment": {
        "positive": "I love {t}|{T} is great|{T} was excellent, I am very happy|Really good, I would buy it again|Wonderful! {T} works perfectly|I am delighted with {t}|{T} is the best I have had|Fantastic experience, thank you|I enjoyed {t} a lot|!What a pleasure, {t} was superb|!Five stars, I recommend it",
        "negative": "I hate {t}|{T} is terrible|{T} was awful, I am very disappointed|Really bad, I want my money back|Horrible! {T} does not work|I am angry about {t}|{T} is the worst I have had|A waste of time and money|I did not like {t} at all|!Never again, {t} was dreadful|!One star, avoid it",
        "neutral": "{T} arrived on Monday|{T} is okay, nothing special|I used {t} last week|{T} is average|It is neither good nor bad|{T} comes in a box|!{T} does what it says, no more",
    },
    "topic,category,subject,area": {
        "billing": "I was charged twice this month|There is a mistake on my invoice|Why is my bill so high?|I want a refund for my last payment|My credit card was declined|!You took too much money from my account",
        "technical": "The app crashes when I open it|I get an error message|The page does not load|The software is very slow and freezes|My device does not connect|!Nothing happens when I press the button",
        "shipping": "My parcel has not arrived|Where is my package?|The delivery is late|The box was damaged on the way|Can you ship it to another address?|!The courier never came",
        "sales": "I would like to buy ten licences|Do you have a discount for schools?|Which plan is best for my team?|Can I get a quote?|What does the premium version cost?|!We are interested in an offer",
        "account": "I forgot my password|I cannot log in|How do I change my email address?|Please delete my account|My user name is wrong|!I am locked out of my profile",
    },
    "priority,urgency,severity": {
        "high": "This is urgent, please help immediately|Everything is down, nobody can work|We need this right now|Critical: data is being lost|As soon as possible please!|!Drop everything else and fix this",
        "low": "No hurry at all|Whenever you have time|This is just a minor detail|It can wait until next month|Not important|!Some day would be nice",
        "medium": "Please look at it this week|It would be good to have it soon|It is somewhat annoying but there is a workaround|Please handle it in the next days|!Try to get to it in the coming days",
    },
    "genre,section,field,domain": {
        "sports": "The team won the match with two late goals|The striker scored in the final|The runner broke the world record|The coach praised the players|!The goalkeeper saved a penalty",
        "politics": "The parliament passed a new law|The president met the prime minister|The election takes place in autumn|The party chose a new leader|!The minister resigned after the vote",
        "technology": "The company presented a new smartphone|Researchers trained a bigger neural network|The chip is twice as fast|The start-up builds software for robots|!A new operating system was released",
        "business": "The shares fell after the report|The bank raised its interest rates|Profits grew by ten percent|The two firms agreed on a merger|!Investors sold their stocks",
        "science": "Astronomers found a distant planet|The vaccine was tested in mice|Biologists described a new species|The experiment measured the particle|!Physicists observed a rare decay",
        "weather": "Heavy rain is expected tonight|It stays sunny and warm|A storm moves in from the west|Snow falls in the mountains|!Fog and frost in the morning",
    },
    "intent,action,request_type": {
        "question": "How does this work?|What time do you open?|Where can I find the manual?|Which one is cheaper?|!Who can tell me more about it?",
        "complaint": "I am not satisfied with {t}|This is unacceptable|I want to complain about {t}|{T} broke after one day|!You let me down with {t}",
        "praise": "You did a great job|Thank you for the wonderful help|{T} was amazing, well done|I am impressed by {t}|!Hats off to your team",
        "order": "I want to order two of them|Please send me one|I would like to buy it|Put me down for three pieces|!I take five of these",
    },
    "language,lang": {
        "English": "The house is big and the garden is green|I am going to the market today|Where is the station?|We have a dog and a cat|!She reads a book in the evening",
        "German": "Das Haus ist groß und der Garten ist grün|Ich gehe heute auf den Markt|Wo ist der Bahnhof?|Wir haben einen Hund und eine Katze|!Sie liest am Abend ein Buch",
        "French": "La maison est grande et le jardin est vert|Je vais au marché aujourd'hui|Où est la gare ?|Nous avons un chien et un chat|!Elle lit un livre le soir",
        "Spanish": "La casa es grande y el jardín es verde|Hoy voy al mercado|¿Dónde está la estación?|Tenemos un perro y un gato|!Ella lee un libro por la noche",
        "Italian": "La casa è grande e il giardino è verde|Oggi vado al mercato|Dov'è la stazione?|Abbiamo un cane e un gatto|!Lei legge un libro la sera",
    },
    "spam,label,kind": {
        "spam": "You have won a million dollars, click here|Cheap pills without prescription|Earn money fast from home|Claim your free prize now|!Limited offer: get rich in one week",
        "ham": "Shall we meet for lunch tomorrow?|The minutes of the meeting are attached|Please find my report below|Can you send me the file?|!I will be ten minutes late",
    },
    "size,amount_class": {
        "small": "It is tiny|It fits into a pocket|It is a little one|!You can hardly see it",
        "large": "It is huge|It fills the whole room|It is a very big one|!It is as big as a house",
    },
    "mood,emotion,feeling": {
        "happy": "I am so glad today|What a wonderful morning, I could sing|We laughed all evening|!I am over the moon",
        "sad": "I cried the whole night|I miss my friend so much|Everything feels grey and empty|!My heart is heavy",
        "angry": "I am furious with them|How dare they treat me like this|This makes my blood boil|!I could scream with rage",
        "afraid": "I am scared of the dark|I fear the worst|My hands shake when I think of it|!It frightens me to death",
    },
    "answer,yes_no,is_question": {
        "yes": "Yes, of course|Sure, count me in|I agree|That is right|!Absolutely",
        "no": "No, thank you|I do not think so|I disagree|That is wrong|!Not at all",
    },
}


@dataclass
class Labelled:
    """A text and its class among others; `notes`: what each is for, where that is known."""

    key: str
    text: str
    label: str
    labels: list[str]
    notes: list[str] = field(default_factory=list)


def draw(rng: Dice, held_patterns: bool = False) -> Labelled:
    """One text. A part of them name their class: classes that nobody saw before."""
    if rng.varied and rng.random() < composing.SHARE:
        one = composing.composed(rng, Values(rng), 1)
        return Labelled(one.key, *one.texts[0], one.labels, one.notes)
    shape = rng.random()
    if rng.varied and shape < 0.62:
        return _felt(rng) if shape < 0.2 else Labelled(*sorting.draw(rng))
    if shape < (0.82 if rng.varied else 0.3):
        return _named(rng, held_patterns)
    keys = rng.choice(list(SETS))
    labels = SETS[keys]
    kept = list(labels) if rng.random() < 0.6 else rng.sample(list(labels), max(2, len(labels) - 1))
    if rng.random() < 0.5:
        rng.shuffle(kept)
    label = rng.choice(kept)
    texts = labels[label].split("|")
    known = [t for t in texts if not t.startswith("!")]
    held = [t[1:] for t in texts if t.startswith("!")]
    text = _said(rng, rng.choice(held if held_patterns and held else known))
    if rng.random() < 0.25 and not held_patterns:
        text += ". " + _said(rng, rng.choice(known))
    case = rng.random()
    spelled = str.upper if case < 0.1 else str.capitalize if case < 0.2 else str
    return Labelled(rng.choice(keys.split(",")), text, spelled(label), [spelled(one) for one in kept])


POSITIVE = "great excellent wonderful amazing superb fantastic lovely brilliant perfect delicious friendly comfortable reliable beautiful helpful impressive charming tasty spotless outstanding delightful good nice marvellous terrific enjoyable flawless generous quick quiet clean cosy incredible awesome".split()
NEGATIVE = "terrible awful horrible broken slow rude dirty useless disappointing cold noisy boring unreliable faulty poor disgusting overpriced bland dreadful annoying defective bad ugly smelly stale unfriendly uncomfortable lousy miserable pathetic mediocre worthless unacceptable".split()
GLAD = "works perfectly|exceeded my expectations|I will come back|my kids adore it|I would buy it again|worth every penny|it made my day|highly recommended|could not be better|we had a wonderful time|exactly what I needed|everything went smoothly|I am so happy with it|thanks a million|they went out of their way to help|my new favourite|I'm impressed|love it|best purchase this year|it still runs like new|five stars from me".split("|")
SORRY = "it broke after {n} days|it stopped working|I want a refund|never again|it arrived damaged|a waste of money|nobody answered my calls|I regret buying it|we had to wait {n} minutes|I will not come back|it does not work|it fell apart|save your money|stay away|the worst I have seen|nobody cared|I had to throw it away|it leaks|they ignored my complaint|half of it was missing|the battery died after {n} hours|it gave me a headache|I was lied to|I sent it back|one star is too much".split("|")
PLAIN = "it is okay|it does what it should|neither good nor bad|nothing special|it is average|it arrived on time|it has two buttons|it comes in a box|I use it at work|it is what it is|so-so".split("|")
ASPECTS = "food|service|staff|room|delivery|screen|battery|price|quality|sound|packaging|waiter|driver|taste|location|breakfast|support|camera|fabric|bed|seat|ending|plot|acting|software|view|shower|coffee|handle|size|owner|whole thing|experience|meal|hotel|phone|film|book".split("|")
FEELINGS = [("positive", "negative"), ("positive", "negative"), ("positive", "negative", "neutral"), ("good", "bad"), ("happy", "unhappy"), ("satisfied", "dissatisfied"), ("pos", "neg"), ("like", "dislike"), ("praise", "complaint"), ("positive", "negative", "mixed")]


def _felt(rng: Dice) -> Labelled:
    """A review, put together of words that all feel the same."""
    labels = list(rng.choice(FEELINGS))
    which = rng.randrange(len(labels))
    parts = [_feeling(rng, which) for _ in range(rng.choice([1, 1, 2, 2, 3]))]
    if which == 2:
        parts = [rng.choice(PLAIN)] if labels[2] == "neutral" else [_feeling(rng, 0), "but " + _feeling(rng, 1)]
    text = ""
    for part in parts:
        link = rng.choice([". ", ". ", ", ", "! ", " and "]) if not part.startswith("but ") else ", "
        text += (link if text else "") + (part[0].upper() + part[1:] if not text or link in (". ", "! ") else part)
    text += rng.choice([".", ".", "!", "", "!!"])
    label = labels[which]
    case = rng.random()
    spelled = str.upper if case < 0.15 else str.capitalize if case < 0.35 else str
    if rng.random() < 0.5:
        rng.shuffle(labels)
    key = rng.choice(["sentiment", "sentiment", "label", "class", "opinion", "tone", "feeling", "result", "response", "verdict", "review", "rating"])
    return Labelled(key, text, spelled(label), [spelled(one) for one in labels])


def _feeling(rng: Dice, which: int) -> str:
    """A clause that is glad (0) or sorry (1)."""
    words, other, deeds = (POSITIVE, NEGATIVE, GLAD) if which == 0 else (NEGATIVE, POSITIVE, SORRY)
    aspect = rng.choice(ASPECTS) if rng.random() < 0.7 else variety.word(rng)
    shape = rng.random()
    if shape < 0.35:
        return rng.choice(deeds).replace("{n}", str(rng.randint(2, 30)))
    if shape < 0.43:
        return f"the {aspect} was {rng.choice(['not', 'not at all', 'far from', 'never'])} {rng.choice(other)}"
    verb = rng.choice(["was", "is", "was so", "was really", "is just", "looks", "felt", "was absolutely", "turned out", "was too" if which else "was very"])
    word = rng.choice(words)
    return rng.choice([f"the {aspect} {verb} {word}", f"the {aspect} {verb} {word}", f"what a {word} {aspect}", f"{word} {aspect}", f"{word} and {rng.choice(words)}", f"a {word} {aspect}", f"{aspect}: {word}"])


def _said(rng: random.Random, text: str) -> str:
    thing = rng.choice(THING.split("|"))
    return text.replace("{t}", thing).replace("{T}", thing[0].upper() + thing[1:])


def _spelled(rng: Dice, labels: list[str], label: str) -> Labelled:
    """A class that the text names, in letters of another size."""
    text = rng.choice(
        ["{}", "{}", "{}!", "a {}", "I have a {}", "My {} is here", "We saw a {}", "Look at the {}", "She bought a {}", "It was a {}", "That's a {}", "the {} is asleep", "I like my {}", "{}, I think", "Probably {}", "I'd say {}", "We got a new {} yesterday", "There is a {} outside", "Is it a {}? Yes."]
    ).format(label)
    if rng.random() < 0.4:
        text = f"{variety.strange(rng).replace('{v}', 'the ' + label)}"
        text = rng.choice(["It ", "Our friend ", "The man ", "She "]) + text
    text = rng.choice([str, str, str, str.lower, str.upper])(text)
    spelled = rng.choice([str.capitalize, str.capitalize, str.upper, str, str.title])
    key = rng.choice(["category", "topic", "label", "class", "kind", "group", "choice", "type", "response", "animal", "result", "answer"])
    return Labelled(key, text, spelled(label), [spelled(one) for one in labels])


def _named(rng: random.Random, held: bool) -> Labelled:
    words = Words(rng, held)
    labels = words.some(
        rng.choice(["product", "food", "animal", "sport", "job", "color", "material", "genre", "noun"]), 2, 5
    )
    label = rng.choice(labels)
    if rng.varied and not held and rng.random() < 0.6:
        return _spelled(rng, labels, label)
    form = [
        "It is about a {}",
        "I need a {} quickly",
        "Tell me more about the {}",
        "We saw the {} yesterday",
        "The {} was in the news",
        "Put it under {}",
        "They talked about {} all day",
        "{} please",
    ]
    text = rng.choice(["My question concerns the {}", "Everybody spoke of {}"] if held else form).format(label)
    return Labelled(
        rng.choice(["category", "topic", "label", "class", "kind", "group", "choice", "tag"]), text, label, labels
    )
