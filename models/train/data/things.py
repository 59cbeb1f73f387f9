"""Everyday words that composed texts and values are made of. Training alone uses them."""

from __future__ import annotations


def entries(text: str) -> list[str]:
    """The words of a text, or what stands between its bars."""
    parts = text.split("|") if "|" in text else text.split()
    return list(dict.fromkeys(" ".join(part.split()) for part in parts))


THINGS = entries("""acre advert agency alarm alley amulet anchor angle ankle apron arch arena armchair army arrow article
    atlas attic axle badger bakery ballad bandage banner barn barrel basin basket battery beach beacon beam bean beard
    bell belt bench berry bishop blade blaze boat bolt bone bonus border bracket brake brand brass breeze brick broom
    brush bucket buckle buffer bulb bunker burden butter button cabin cabinet cable cactus cage candle canoe canvas
    carpet carrot cave ceiling cellar cement chain chalk chamber champion chapel charm cheese cherry chest chief
    chimney chorus cinema circle circuit citizen clay cliff climate clinic cloud clover coach coal coast coin collar
    colony comet complaint cone contest copper coral cord corner cottage couch cousin cradle crane crater cream creek
    crest crime crown crystal culture cupboard curtain cushion dairy dam dance dawn debate debt decade deck delay desert
    diagram diamond diary dinner dish ditch doll dome donor dough draft dragon drawer dream dress drill drum dust
    eagle earth echo editor effort elbow elm emblem empire engine envelope error essay estate event excuse exit
    fabric factory failure fan farm father fence fern ferry fever fiber fiction figure filter finger flame flask fleet
    flute foam fog folk foot formula fort fossil fountain fox fraction friend frost fruit funnel furnace gallon game
    gang gear gem ghost giant glove goal goose gown grain gravel gravity guess guest guild habit hail hall handle hare
    hat hawk heart hedge heir helmet herb hero hill hinge hobby hollow hood hook horizon horn host hunter ice idea
    idol income ink insect invoice iron ivy jacket jam jar jewel joint joke journal journey judge juice jungle jury
    kettle kidney king kitchen kite knee knight knot labour lace lake language laser law lawn layer leaf league leg
    lemon lesson lever library lime limb line lion lip list liver loan lobby lodge log loop lord lotion luck lung
    magnet maid mail maker manor maple marble margin marsh mask mast mat meal medal melody member memory merit message
    metal mill mineral minister minute mist mixture monk mood moon moral moss moth motion motor mouse mouth mud muscle
    myth nail nation neck nest net niece nickel night nose note novel nut oak oath object oil onion option oven owner
    oxygen paddle palace palm panel pants parade parcel parent park parrot partner party passage pasta patch
    pause peach pearl pedal pen pencil people pepper phrase piano picnic pigeon pile pillow pine pipe pitch planet
    plank plate plot plum pocket poem poet pole pond pool portion post pot powder prayer prince prison prize proof puzzle
    queue quilt quiz rabbit race radar rail rain ranch rat razor reason rebel recipe reef relic remedy rhythm ribbon
    riddle ring robe robot rocket roof root rope rose rug rule ruler saddle salad salmon sand satellite sauce saw
    scandal scene scholar screw script sea seal seed sense sentence servant session shade shark sheet shell shelter
    shield shirt shop shore shoulder shower sigh singer sister skeleton skin skirt sky sleeve slope smoke snack
    snail snow soap society soil soldier soup spark spear speech spell sphere spider spin spirit spoon spring spy stable
    staff stair stamp star statue steam stem sting stomach stove straw stream string stripe student style sun surface
    surgeon swamp swan sword symbol system tail talent tank tape target task tax temple tent text thread throat throne
    thumb thunder tide tie tile timber tissue tongue tool tooth torch towel toy trail trap tray treaty tribe trick
    triumph truck trumpet trunk tube tunnel turbine twin uncle union valve vapour vase vein verb verse vest victim
    village violin virus voice volcano wagon wall war wave wax wealth weapon web wedding wheat wheel whistle widow wing
    wisdom wish witness wolf wonder wool workshop worm wrist yard youth zebra""")
