"""What people say in a few words: messages, tasks, appointments, places, what is wrong. `{product}` is a value of that kind."""

from __future__ import annotations

TEXT: dict[str, str] = {
    "words": """I'm running late|the keys are under the mat|dinner is ready|I got the job|the train is delayed|I'll be home by {time}|don't wait for me|the dog is fine|
        see you at the {noun}|happy birthday|the meeting is off|I'm stuck in traffic|we need more {ingredient}|can you pick up {first}|call me back|the parcel is here|I forgot my {product}|
        thanks for last night|the door code is {int 1000 9999}|it's raining cats and dogs|I love the {product}|bring your {product}|we're at {company}|the plumber comes at {time}|ok for me|
        I miss you|good luck today|{first} is ill|the car is fixed|all went well|no milk left|I can't make it|let's talk tomorrow|the {noun} is closed|I'm on my way|come over for {food}|
        the wifi is down|I paid the rent|we won|{first} says hi|my flight landed|dinner at ours on {date}|the report is done|sorry about yesterday|the baby is asleep|who has the {product}""",
    "todo": """call the plumber|pay the rent|buy {food}|take out the bins|pick up {first}|return the {product}|renew my passport|mail the contract|water bill|book the {noun} tour|clean the {product}|
        send {first} the photos|do the laundry|back up my laptop|change the tyres|prepare the slides|buy a present for {first}|order a new {product}|vacuum the stairs|sign the papers|
        cancel the gym|walk the {animal}|take my pills|check the oil|{topic}|fix the {product}|write to {company}|phone grandma|iron the shirts|get cash|fill in the tax form|buy stamps|
        charge the {product}|collect the suit from the cleaner's|register for the {sport} course|cook for {first}|hand in the essay""",
    "event": """team lunch|yoga class|parents' evening|{sport} practice|dinner with {first}|job interview|{topic}|budget meeting|haircut|coffee with {first}|{first}'s birthday|board meeting|
        piano lesson|car inspection|flat viewing|call with {company}|wedding rehearsal|book club|{sport} match|staff party|doctor's visit|lunch with {fullname}|project kick-off|movie night|
        sprint review|choir rehearsal|check-up|stand-up|barbecue|farewell drinks""",
    "query": """cheap flights to {city}|how to fix a {product}|best {food} recipe|{city} population|who won the {sport} final|symptoms of flu|{company} opening hours|{fullname}|used {product}|
        {color} {product}|things to do in {city}|how to tie a tie|history of {country}|{material} prices|learn {language}|{animal} training|train strike|{product} review|is {food} healthy|
        exchange rate|{company} careers|{genre} concerts in {city}|plants for shade|second-hand {product}|vegan {food}|tallest {noun} in {country}|{topic}|{sport} rules""",
    "place": """{company}|{city} station|the airport|{street}|{city} airport|the {company} office|{address}|the city museum|{city}|the town hall|the central station|{city} town centre|the zoo""",
    "problem": """the {product} is broken|no hot water|the heating is cold|the login page is blank|the printer is jammed|wifi keeps dropping|{product} leaks|app crashes on start|the lift is stuck|
        strange noise from the {product}|email bounces|screen stays black|search finds nothing|the door won't close|invoice {code} is wrong|payments fail|smell of gas|slow {noun} page|missing {product}""",
}

PHRASES = {name: [" ".join(one.split()) for one in text.split("|")] for name, text in TEXT.items()}
