"""Words that fillings are drawn from. All of them were written for this repository.

Each list is split: every seventh entry is held out, and is seen by the evaluation only.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from .things import THINGS, entries

_LISTS = {
    "first": """Ada Alan Grace Linus Maria José Chloë Zoë Björn Søren Łukasz Agnieszka Ngozi Chidi Aiko Haruto Mei Wei
        Priya Arjun Fatima Omar Leila Yusuf Ivan Olga Dmitri Svetlana Anika Jonas Emma Noah Liam Olivia Sofia Mateo
        Lucía Diego Camila Pedro Inês João Giulia Marco Luca Chiara Élodie Benoît Amélie Thierry Jürgen Käthe Sören
        Ingrid Astrid Freya Anders Nils Aino Väinö Eero Kaisa Réka Zoltán Ágnes Tomáš Jiří Božena Milan Dragana
        Goran Jelena Kostas Eleni Dimitra Ayşe Mehmet Emre Elif Tariq Amina Kwame Abena Kofi Thandiwe Sipho Lerato
        Nia Malik Keanu Leilani Tama Aroha Siobhán Niamh Padraig Rhys Cerys Angus Isla Hamish Fiona Victor Hannah
        Oscar Clara Felix Ruth Simon Tessa Hugo Vera Bruno Nora Paul Jane Peter Alice Robert Helen Frank Diana
        Henry Laura Kevin Monica Brian Sandra Carlos Elena Rafael Beatriz Sanjay Deepa Ravi Lakshmi Hiroshi Yuki
        Min-jun Seo-yeon Linh Minh Anong Somchai Budi Dewi Aziz Gulnara Nino Levan Ani Tigran Yael Avi Noor Samir
        Bob Carol Dave Eve Tom Kim Max Sam Ben Amy Joe Sue Ian Lea Ida Leo Mia Zara Otto Greta Ludwig Marlene Theo""",
    "last": """Lovelace Turing Hopper Smith Jones Brown Taylor Wilson Evans Walker Wright Robinson Thompson White Hughes
        Edwards Green Hall Wood Harris Martin Jackson Clarke Lewis Baker Müller Schmidt Schneider Fischer Weber
        Schäfer Köhler Böhm Krüger Garnier Dubois Lefèvre Moreau Rousseau Fontaine García Fernández Muñoz Ibáñez
        Castillo Romero Silva Santos Oliveira Gonçalves Araújo Rossi Bianchi Esposito Ferrari Conti Nowak Kowalska
        Wiśniewski Zieliński Novák Dvořák Horvat Petrović Jovanović Kovács Szabó Nagy Tóth Ivanov Petrova Sokolov
        Volkov Larsson Lindqvist Åkesson Øvergaard Hansen Nielsen Sørensen Virtanen Korhonen Mäkinen Papadopoulos
        Yılmaz Demir Kaya Haddad Khalil Mansour Rahman Hussain Khan Patel Sharma Gupta Iyer Nair Chatterjee Tanaka
        Suzuki Takahashi Watanabe Ito Chen Wang Zhang Liu Huang Park Choi Nguyen Tran Pham Okafor Adeyemi Mensah
        Asante Dlamini Nkosi Mwangi Otieno O'Brien O'Connor Murphy Kelly MacLeod Campbell Stewart Jensen Van Dijk
        De Vries Bakker Peeters Janssens Keller Meier Graf Bauer Wolf Vogel Stone Rivers Field Marsh Hill Frost""",
    "city": """Berlin Paris London Madrid Rome Oslo Lisbon Vienna Prague Dublin Athens Helsinki Warsaw Budapest Zürich
        Geneva Brussels Amsterdam Copenhagen Stockholm Hamburg Munich Leipzig Köln Lyon Marseille Nice Bordeaux
        Milan Turin Naples Seville Valencia Porto Kraków Gdańsk Brno Graz Salzburg Basel Bern Rotterdam Antwerp
        Ghent Malmö Bergen Tampere Tallinn Riga Vilnius Minsk Kyiv Odesa Bucharest Sofia Belgrade Zagreb Ljubljana
        Istanbul Ankara Cairo Tunis Rabat Lagos Accra Nairobi Kampala Dakar Johannesburg Durban Tokyo Osaka Kyoto
        Sapporo Seoul Busan Beijing Shanghai Shenzhen Taipei Hanoi Bangkok Manila Jakarta Singapore Delhi Mumbai
        Chennai Pune Karachi Lahore Dhaka Colombo Sydney Melbourne Perth Auckland Wellington Toronto Montréal
        Vancouver Ottawa Boston Chicago Denver Seattle Austin Dallas Houston Phoenix Miami Atlanta Portland Detroit
        Lima Quito Bogotá Santiago Montevideo Recife Salvador Havana Leeds York Bristol Cardiff Glasgow Edinburgh
        Belfast Cork Galway Exeter Dresden Bremen Mainz Kassel Trier Metz Dijon Lille Siena Pisa Verona Cádiz""",
    "country": """Germany France Spain Italy Norway Sweden Denmark Finland Poland Austria Switzerland Belgium Portugal
        Greece Ireland Hungary Romania Bulgaria Croatia Serbia Turkey Egypt Morocco Nigeria Ghana Kenya Senegal
        Japan Korea China Vietnam Thailand Indonesia India Pakistan Australia Canada Mexico Brazil Argentina Chile
        Peru Colombia Iceland Estonia Latvia Lithuania Ukraine Georgia Armenia Nepal Malta Cyprus Cuba Uruguay""",
    "job": """nurse teacher engineer baker pilot lawyer plumber chemist architect carpenter journalist electrician
        programmer designer accountant dentist farmer gardener librarian musician painter photographer surgeon
        translator veterinarian writer analyst biologist butcher cashier consultant driver economist firefighter
        florist geologist mechanic optician pharmacist physicist potter sailor tailor waiter welder""",
    "company": """Acme Globex Initech Umbra Northwind Contoso Fabrikam Nordlicht Bluebird Redwood Silverline Brightway
        Greenleaf Skyline Ironworks Moonshot Papertrail Quickstep Riverbend Stonebridge Sunfield Tidewater Vantage
        Westwind Yellowtail Zenith Alpenrose Brückner Cobalt Driftwood Everglow Foxglove Glasshouse Harbour""",
    "product": """lamp|desk|office chair|keyboard|monitor|coffee grinder|backpack|water bottle|headphones|notebook|bicycle
        |tent|blender|camera|drone|electric kettle|phone case|raincoat|running shoes|scarf|speaker|standing desk
        |sunglasses|tablet|teapot|toaster|umbrella|vacuum cleaner|wallet|watch|yoga mat|printer|router|hammer
        |garden hose|picture frame|wool blanket|usb cable|power bank|sleeping bag|rice cooker|bread knife|guitar""",
    "food": """espresso|latte|green tea|orange juice|mineral water|cheese sandwich|tomato soup|caesar salad|margherita pizza
        |apple pie|chocolate cake|croissant|bagel|pancakes|fried rice|noodles|sushi|tacos|falafel|lentil curry
        |mushroom risotto|lasagne|hot dog|veggie burger|french fries|ice cream|lemonade|cappuccino|muffin|omelette""",
    "ingredient": """flour|sugar|butter|eggs|milk|salt|pepper|olive oil|garlic|onions|tomatoes|basil|rice|chicken|lemon|honey
        |yeast|cream|carrots|potatoes|spinach|chickpeas|cumin|ginger|soy sauce|parmesan|mushrooms|walnuts""",
    "color": """red blue green yellow black white orange purple pink brown grey silver gold teal navy turquoise beige
        crimson ivory lime maroon olive violet magenta""",
    "language": """English German French Spanish Italian Portuguese Polish Dutch Swedish Finnish Greek Turkish Arabic
        Hebrew Hindi Japanese Korean Mandarin Vietnamese Swahili Czech Hungarian Norwegian Danish Ukrainian""",
    "skill": """python|rust|welding|public speaking|project management|sql|photography|cooking|first aid|accounting
        |graphic design|negotiation|statistics|machine learning|gardening|video editing|swimming|chess|typing
        |data analysis|copywriting|woodworking|javascript|leadership|bookkeeping|illustration""",
    "animal": """dog cat rabbit horse parrot hamster goldfish turtle lizard goat sheep pony ferret canary donkey duck
        snake owl hedgehog guinea-pig""",
    "adj": """quiet silver broken golden hidden last second lonely red winter northern silent little forgotten bright
        endless crooked early hollow gentle burning paper glass iron velvet distant secret wild frozen electric""",
    "noun": """river garden mountain letter summer window bridge forest lantern harbour mirror orchard shadow island
        compass clock station feather road castle valley ocean storm song map key ladder market meadow tower""",
    "topic": """budget planning|hiring|the new website|quarterly results|customer feedback|office move|security review
        |product launch|holiday schedule|training plan|data migration|supplier contracts|brand refresh
        |team retreat|release notes|network outage|travel policy|design review|the roadmap|safety rules""",
    "street": """Main Street|High Street|Oak Avenue|Elm Road|Station Road|Mill Lane|King Street|Park Avenue|Church Lane
        |Lindenstraße|Hauptstraße|Gartenweg|Rue Victor Hugo|Rue de la Paix|Via Roma|Calle Mayor|Rua Augusta
        |Market Square|Harbour Road|Maple Drive|Sunset Boulevard|Birch Close|Victoria Street|Bahnhofstraße""",
    "genre": """jazz rock pop classical folk techno blues reggae metal soul comedy drama horror thriller fantasy
        romance documentary mystery western animation""",
    "material": """wood steel cotton leather glass plastic wool silk aluminium ceramic bamboo granite linen copper rubber
        marble titanium concrete""",
    "sport": """football tennis basketball hockey volleyball cricket rugby handball badminton golf cycling rowing
        fencing judo skiing""",
    "attribute": """warranty|capacity|threshold|priority|voltage|margin|deposit|password hint|nickname|budget|version
        |channel|region|altitude|duration|frequency|distance|depth|volume|speed|pressure|temperature|humidity
        |score|rank|level|limit|quota|balance|discount|fee|rate|grade|size|weight|height|width|length|diameter
        |owner|author|editor|manager|supplier|sponsor|captain|coach|host|guide|tenant|driver|reviewer|assignee
        |label|category|mode|phase|theme|format|protocol|platform|engine|module|branch|folder|hostname|port
        |seat|gate|lane|shelf|floor|room|wing|desk|locker|track|platform number|batch|lot number|serial number
        |model number|account number|tracking code|voucher|coupon|reference|ticket|badge|plate|policy number
        |origin|destination|venue|birthplace|headquarters|warehouse|harbour|landmark|district|province
        |start|end|deadline|delivery date|due date|expiry|anniversary|opening day|renewal date|release date
        |number of guests|number of pages|number of seats|number of doors|passenger count|retry count|page count
        |step count|error count|battery level|fuel level|noise level|brightness|contrast|exposure|zoom|latency
        |uptime|bandwidth|throughput|wheel size|shoe size|ring size|collar size|screen size|blood type|eye color
        |hair color|cover color|frame color|primary color|flavour|topping|side dish|drink|dessert|spice
        |mother tongue|second language|hobby|instrument|favourite food|favourite film|shipping method
        |payment method|delivery window|carrier|currency|tax rate|interest rate|exchange rate|growth rate
        |chief architect|night nurse|team lead|project code|cost centre|invoice number|gift message|motto
        |slogan|title|subtitle|headline|caption|summary|comment|signature|alias|handle|surname|maiden name""",
}


LISTS = {name: entries(text) for name, text in _LISTS.items()}
TRAIN = {name: [e for i, e in enumerate(es) if i % 7 != 3] for name, es in LISTS.items()}
HELD = {name: [e for i, e in enumerate(es) if i % 7 == 3] for name, es in LISTS.items()}

_ONSETS = [
    "b",
    "c",
    "d",
    "f",
    "g",
    "h",
    "j",
    "k",
    "l",
    "m",
    "n",
    "p",
    "r",
    "s",
    "t",
    "v",
    "w",
    "z",
    "br",
    "cr",
    "dr",
    "fl",
    "gl",
    "gr",
    "kl",
    "kr",
    "pl",
    "pr",
    "sch",
    "sh",
    "sk",
    "sl",
    "sm",
    "sn",
    "sp",
    "st",
    "str",
    "sw",
    "th",
    "tr",
    "tw",
    "ch",
    "qu",
    "Ł",
    "ž",
    "š",
    "č",
]
_NUCLEI = [
    "a",
    "e",
    "i",
    "o",
    "u",
    "y",
    "ai",
    "ea",
    "ee",
    "ie",
    "oa",
    "oo",
    "ou",
    "ua",
    "ä",
    "ö",
    "ü",
    "é",
    "è",
    "ó",
    "á",
    "í",
    "å",
    "ø",
    "ã",
    "ê",
]
_CODAS = [
    "",
    "",
    "",
    *[
        "n",
        "r",
        "s",
        "l",
        "t",
        "m",
        "d",
        "k",
        "x",
        "n",
        "g",
        "nd",
        "rt",
        "st",
        "ck",
        "ll",
        "ng",
        "rd",
        "lm",
        "sz",
        "nt",
    ],
]
_OTHER_SCRIPTS = [
    "абвгдежзиклмнопрстуфхцчшя",
    "αβγδεζηθικλμνξοπρστυφχψω",
    "東京大山田中村木林小川高橋佐藤美花子一郎",
    "אבגדהוזחטילמנסעפצקרשת",
    "ابتثجحدرزسشصضعغفقكلمنهوي",
    "가나다라마바사아자차카타파하민서준지현",
]


class Dice(random.Random):
    """Draws at random, and knows pieces of words: the tokeniser's, so that each of them is copied."""

    pieces: Sequence[str] = ()
    # Whether wordings are composed, too: in training.
    varied: bool = False


def composed(random: Dice) -> str:
    """A word that nobody knows: names of any language have to be copied."""
    if random.pieces and random.random() < 0.65:
        return "".join(random.choice(random.pieces) for _ in range(random.choice([1, 1, 2, 2, 3])))
    if random.random() < 0.04:
        script = random.choice(_OTHER_SCRIPTS)
        return "".join(random.choice(script) for _ in range(random.randint(2, 6))).capitalize()
    if random.random() < 0.15:
        letters = "abcdefghijklmnopqrstuvwxyz"
        word = "".join(random.choice(letters) for _ in range(random.randint(2, 9)))
    else:
        syllables = random.choice([1, 2, 2, 2, 3, 3, 4])
        parts = (random.choice(_ONSETS) + random.choice(_NUCLEI) + random.choice(_CODAS) for _ in range(syllables))
        word = "".join(parts)
    return word


SEVERAL_WORDS = ["topic", "product", "food", "skill", "ingredient", "material", "sport", "job"]


class Words:
    """Draws words: those of training, or the held-out ones."""

    def __init__(self, random: Dice, held: bool) -> None:
        self.random = random
        self.lists = HELD if held else TRAIN
        self.all = LISTS

    def one(self, name: str) -> str:
        """An entry of a list; now and then a composed word in the place of a name."""
        if self.random.varied and name in SEVERAL_WORDS and self.random.random() < 0.45:
            return self.phrase()
        rare = {"first": 0.35, "last": 0.5, "city": 0.35, "company": 0.5, "street": 0.3}.get(name, 0.3)
        if self.random.random() < rare and name not in ("country", "language", "attribute"):
            word = composed(self.random)
            proper = name in ("first", "last", "city", "company", "street")
            return word[:1].upper() + word[1:] if proper else word
        return self.random.choice(self.lists[name])

    def phrase(self) -> str:
        """Two or more words that are no entry together: where a value ends is to be read, not known."""
        rng = self.random
        words = [self.part() for _ in range(rng.choice([2, 2, 2, 2, 3, 3, 4]))]
        shape = rng.random()
        if shape < 0.08:
            words.insert(-1, "of")
        elif shape < 0.14:
            words.append(str(rng.choice([rng.randint(2, 20), rng.randint(2, 999), rng.randint(1990, 2035)])))
        return " ".join(words)

    def part(self) -> str:
        """A word of a phrase: of some list, of everyday things, or one that nobody knows."""
        rng, shape = self.random, self.random.random()
        if shape < 0.45:
            return rng.choice(rng.choice(self.lists[rng.choice([*SEVERAL_WORDS, "adj", "noun"])]).split())
        if shape < 0.85:
            return rng.choice(THINGS) + ("s" if rng.random() < 0.2 else "")
        return composed(rng).lower()

    def some(self, name: str, least: int, most: int) -> list[str]:
        """Different entries of a list."""
        count = min(self.random.randint(least, most), len(self.lists[name]))
        words: list[str] = []
        while len(words) < count:
            word = self.one(name)
            if word not in words:
                words.append(word)
        return words
