"""What is answered in words: greetings, and questions of fact that so small a model should not try to answer."""

from __future__ import annotations

from . import variety
from .lexicon import Dice
from .tooltexts import SMALL_TALK
from .values import Values

HONEST = (
    "I am a small demonstration model: I know no facts and write no texts. "
    "I can read data out of a text, sort it into classes, and call your tools."
)
GREETING = "Hello! How can I help you?"

QUESTIONS = [
    "Which city is the capital of {country}?", "Who invented the {product}?", "How old is {fullname}?", "When was {company} founded?",
    "How many people live in {city}?", "Why do {animal}s sleep?", "What is {int 1 99} times {int 1 99}?", "Explain {topic}", "Write a poem about the {noun}",
    'Translate "{phrase}" into {language}', "Write a story about a {animal}", "What do you think about {topic}?", "Which is the largest {noun} in {country}?",
    "Is {city} bigger than {city}?", "Do you know {fullname}?", "Tell me about {product}", "Tell me something about {country}", "What does {noun} mean?",
    "Who wrote {title}?", "How do I make {food}?", "How far is it from {city} to {city}?", "What is {noun}?", "Who is {fullname}?", "Where is {city}?", "When did the {noun} begin?",
    "Why is the {noun} {color}?", "How does a {product} work?", "What year did {fullname} die?", "Give me a recipe for {food}", "Summarise {title}", "Who plays {sport} best?",
    "How tall is the {noun}?", "Can you write code for {topic}?", "Write an essay on {topic}", "List three {animal} breeds", "What is the best {food} in {city}?",
    "Who was the first {job}?", "What language do they speak in {country}?", "How much does a {product} cost?", "Should I learn {language}?", "Recommend me a {genre} film",
    "What time is it in {city}?", "Who is the president of {country}?", "What happened in {year}?", "Compare {material} and {material}", "Is {food} healthy?", "Are {animal}s dangerous?",
    "What can I do against {noun}?", "How long does a {animal} live?", "Give me advice about {topic}", "Can {animal}s swim?", "What is {int 1 900} plus {int 1 900}?", "Solve x + {int 1 50} = {int 51 99}",
]
# More such, asked as people ask when tools are there that do not fit.
WONDERS = [
    "how many legs has a {animal}?", "what's the deepest {noun} there is?", "why is {material} so expensive", "when was {city} built?", "who was {fullname}?", "which {animal} runs fastest?",
    "what do {animal}s eat", "how come the {noun} is {color}?", "at what temperature does {material} melt?", "did {fullname} ever live in {city}?", "what came first, the {noun} or the {noun}?",
    "how heavy is a {animal}?", "who discovered {country}?", "is {material} harder than {material}?", "what's so special about {city}?", "how far away is the {noun}?", "when did {fullname} write {title}?",
    "which planet has a {noun}?", "how many {noun}s are there in {country}?", "what's the longest {noun} in the world?", "who sang {title}?", "in which year was {title} written?", "what is {int 2 90} squared?",
    "write a song about {city}", "make up a story with a {animal} and a {noun}", "a poem on {noun}s, please", "give me three tips for {sport}", "explain {topic} to a child", "describe a {noun} in one sentence",
    "what religion do they have in {country}?", "who rules {country}?", "what's the currency of {country}?", "how do {animal}s sleep?", "why do people like {food}?", "where does {food} come from?", "when is the next {noun}?",
    "how old can a {animal} get?", "can a {animal} see colours?", "what's the difference between {material} and {material}?", "who holds the record in {sport}?", "how is {food} made?", "what rhymes with {noun}?",
    "how was the {noun} invented?", "what language is spoken in {city}?", "what does the {noun} stand for?", "tell me everything about {fullname}", "is there life on the {noun}?", "what makes the {noun} move?",
    "how big is {country}?", "who is the richest {job}?", "why did {company} fail?", "what would happen without {animal}s?", "who came up with {sport}?", "what's your favourite {food}?", "do you prefer {color} or {color}?",
]
STARTS = ["What is", "Who is", "Why is", "When was", "Where is", "How many", "How does", "Which", "Do you know", "Explain", "Describe", "Tell me about", "Write about", "Why does", "How old is", "What are", "Who discovered", "Who painted", "What causes", "Define"]
GREETINGS = ["Hello", "Hi", "Hey", "Hi there", "Good morning", "Good afternoon", "Good evening", "Hello there", "Hey there", "Howdy", "Greetings", "hi", "hello", "hey", "Hiya", "Yo"]
AFTER = ["", "", "", "!", "!", ".", ", how are you?", "! How are you?", ", how is it going?", ", how are you doing?", "! Are you there?", " :)", ", anybody there?", ", what's up?", "! Good to see you."]


def question(rng: Dice, values: Values) -> str:
    """A question of fact, or a wish for a text."""
    if rng.random() < 0.3:
        words = [variety.word(rng) for _ in range(rng.choice([1, 2, 2]))]
        return f"{rng.choice(STARTS)} {rng.choice(['the ', 'a ', ''])}{rng.choice([' of the ', ' in ', ' and ', ' ']).join(words)}{rng.choice(['?', '?', ''])}"
    text = rng.choice(QUESTIONS if rng.random() < 0.5 else WONDERS)
    if rng.random() < 0.5:
        text = text[0].upper() + text[1:]
    text = values.filled(text)
    return text.lower() if rng.random() < 0.08 else text


def greeting(rng: Dice, values: Values) -> str:
    """Somebody says hello."""
    name = rng.choice(["", "", "", f" {values.draw('first').text}", " assistant", " bot"])
    return rng.choice(GREETINGS) + name + rng.choice(AFTER)


def exchange(rng: Dice, values: Values) -> tuple[str, str]:
    """What somebody says, and the answer."""
    if rng.random() < 0.45:
        return question(rng, values), HONEST
    if rng.random() < 0.35:
        return greeting(rng, values), GREETING
    asked, answer = rng.choice(SMALL_TALK)
    return rng.choice(asked), answer
