"""What training never sees: subjects, field names and tools for the evaluation.

Same notations as `domains` and `toolset`. Key names here are not in the training's domains.
"""

from __future__ import annotations

from . import domains, toolset

DOMAINS_TEXT = """
mountain | mountain | company | peak,summit_name,mountain | It
elevation_m,metres : int 400 8800 : rises to {v} metres; is {v} metres high; has an elevation of {v} metres : height above the sea in metres
first_ascent,climbed_first : year : was first climbed in {v}; saw its first ascent in {v} : year in which it was first climbed
range,massif : made : belongs to the {v} range; is part of the {v} massif : mountain range
hut,refuge : company : has a hut named {v}; offers shelter in the {v} refuge : hut on the mountain
glacier,glaciated : bool : carries a glacier; is covered by a glacier // carries no glacier; has no glacier : whether there is a glacier

exhibition | exhibition | title | exhibition,show_title,exhibit | It
museum,gallery : company : is shown at the {v} museum; hangs in the {v} gallery : museum
curator,curated_by : fullname : was curated by {v}; has {v} as curator : curator
opening,opens_on : date : opens on {v}; has its opening on {v} : first day
artworks,exhibits : int 5 400 : shows {v} artworks; comprises {v} exhibits : number of artworks
admission,entrance_fee : money 2 40 : has an admission of {v}; costs {v} to enter : price of admission
photo_permitted,photography : bool : permits photography; allows photography // forbids photography; does not permit photography : whether photography is permitted

ship | ship | company | vessel,ship,vessel_name | It
tonnage,gross_tonnage : int 200 90000 : has a tonnage of {v}; displaces {v} tons : tonnage
skipper,master : fullname : is commanded by {v}; has {v} as skipper : who commands it
home_port,registered_port : city : has its home port in {v}; is registered in the port of {v} : home port
crew,crew_size : int 2 900 : has a crew of {v}; sails with {v} hands : crew
launched,launch_date : date : was launched on {v}; had its launch on {v} : day of the launch
cargo,freight : list product : carries {v}; has {v} on board as cargo : cargo
flag,flag_state : country : sails under the flag of {v}; flies the flag of {v} : flag

wine | wine | title | wine,label,bottle | It
grape,variety : made : is pressed from {v}; is made from the grape {v} : grape
vintage,harvest : year : is of the vintage {v}; was harvested in {v} : vintage
alcohol,alcohol_percent : num 9 16 1 : has {v} percent alcohol; contains {v}% alcohol : alcohol in percent
vineyard,winery : company : comes from the vineyard {v}; was bottled by the winery {v} : vineyard
sweetness,taste : enum dry/semi_dry/sweet : tastes {v}; is {v} : sweetness
organic,bio : bool : is organic; was grown organically // is not organic; was not grown organically : whether it is organic
bottle_price,retail : money 4 120 : costs {v} a bottle; retails for {v} : price of a bottle

experiment | experiment | code | experiment,trial,run_id | It
researcher,investigator : fullname : was carried out by {v}; was run by {v} : researcher
sample_size,samples : int 3 2000 : used {v} samples; had a sample size of {v} : number of samples
hypothesis,outcome : enum confirmed/rejected/unclear : was {v}; ended {v}; has the outcome {v} : outcome
lab,laboratory : company : took place in the {v} laboratory; was done at the {v} lab : laboratory
duration_hours,hours : int 1 96 : took {v} hours; ran for {v} hours : hours it took
reagents,chemicals : list material : needed {v}; used the reagents {v} : reagents
published_on,publication : date : was published on {v}; appeared on {v} : day of publication

beehive | beehive | code A-99 | hive,hive_id,beehive | It
beekeeper,apiarist : person : is looked after by {v}; belongs to the beekeeper {v} : beekeeper
honey_kg,yield : num 1 40 1 : gave {v} kg of honey; yielded {v} kg : honey in kilograms
queen_color,queen_mark : color : has a queen marked {v}; has a {v} queen : colour of the queen
frames,comb_frames : int 4 24 : holds {v} frames; has {v} frames : number of frames
inspected,last_inspection : date : was inspected on {v}; had its last inspection on {v} : last inspection
aggressive,is_aggressive : bool : is aggressive; stings a lot // is not aggressive; is gentle : whether the bees are aggressive

bridge | bridge | title | bridge,structure | It
span,span_m : int 10 2000 : has a span of {v} metres; spans {v} metres : span in metres
architect,designed_by : fullname : was designed by {v}; has {v} as architect : architect
inaugurated,inauguration : date : was inaugurated on {v}; had its inauguration on {v} : day of inauguration
lanes,lane_count : int 1 8 : has {v} lanes; carries {v} lanes : number of lanes
toll,toll_fee : money 1 20 : charges a toll of {v}; costs {v} toll : toll
construction,built_of : material : was built of {v}; is a construction of {v} : material

podcast | podcast | title | podcast,episode,show | It
presenter,moderator : person : is presented by {v}; has {v} as moderator : presenter
episodes,episode_count : int 2 800 : has {v} episodes; counts {v} episodes : number of episodes
listeners,audience : int 20 900000 : has {v} listeners; reaches an audience of {v} : number of listeners
weekday,airs_on : enum Monday/Tuesday/Friday/Sunday : airs on {v}; comes out every {v} : day of the week
sponsored,has_sponsor : bool : is sponsored; has a sponsor // is not sponsored; has no sponsor : whether it is sponsored
feed,feed_url : url : has the feed {v}; can be subscribed at {v} : feed
"""

TOOLS_TEXT = """
water_plants,irrigate : Water the plants in a part of the garden.
zone enum lawn/roses/greenhouse/vegetables; liters int 1 80
- Water the {zone} with {liters} liters - Give the {zone} {liters} liters of water

charge_car,start_charging : Charge the electric car up to a level.
percent int 20 100
- Charge my car to {percent} percent - Load the car battery up to {percent}%

book_dentist,dentist_appointment : Make an appointment with a dentist.
patient fullname; date date
- Make a dentist appointment for {patient} on {date} - {patient} has to see the dentist on {date}

mute_channel,silence_channel : Mute a chat channel for some hours.
channel made; hours int 1 48
- Mute the channel {channel} for {hours} hours - I want silence in {channel} for the next {hours} hours

scale_deployment,set_replicas : Change how many replicas of a deployment run.
deployment made; replicas int 1 60
- Scale {deployment} to {replicas} replicas - Run {replicas} replicas of the deployment {deployment}

feed_pet,dispense_food : Give food to a pet from the feeder.
pet first; grams int 10 400
- Feed {pet} {grams} grams - Give {pet} {grams} grams of food

lend_book,borrow_book : Lend a library book to a reader.
title title; reader fullname; until date
- Lend {title} to {reader} until {until} - {reader} wants to borrow {title} until {until}

check_visa,visa_rules : Look up visa rules for a trip.
nationality country; destination country
- Do I need a visa for {destination} with a passport from {nationality}? - Visa rules for {destination}, citizen of {nationality}

compress_image,shrink_image : Make an image file smaller.
path filename; quality int 10 95
- Compress {path} to quality {quality} - Shrink the image {path}, quality {quality}

donate,give_donation : Give money to a charity.
charity company; amount money
- Donate {amount} to {charity} - I want to give {amount} to the charity {charity}

open_garage,garage_door : Open or close the garage door.
action enum open/close
- Please {action} the garage door - {action} the garage

rent_bike,hire_bike : Rent a bicycle at a station.
station street; hours int 1 12
- Rent a bike at {station} for {hours} hours - I need a bicycle at {station} for {hours} hours
"""

DOMAINS = domains.parse(DOMAINS_TEXT)
TOOLS = toolset.parse(TOOLS_TEXT.replace("until {until}", "until {until}"))
