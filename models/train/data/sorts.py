"""Which everyday word belongs to which class: for training alone.

A block begins with `# names of the whole | names of the field`, where `-` is for a whole that has no name of its own.
Then, one a line, its classes: `names : words`. A line with `>` has what is written around the words of its block.
"""

from __future__ import annotations

TEXT = """
# animal,animals,pet,creature | animal,kind,species,animal_type
> I saw a {} in the park; my neighbour has a {}; we have a {} at home; a {} ran across the road; the vet looked at our {}; look, a {}!; is that a {}?; the {} is hungry; a picture of a {}
dog,dogs,canine : poodle; beagle; terrier; puppy; labrador; dachshund; bulldog; husky; collie; boxer; spaniel; retriever; hound; pug; greyhound; rottweiler
cat,cats,feline : kitten; tabby; tomcat; siamese; persian; kitty; lion; tiger; leopard; lynx; cheetah; panther; puma; jaguar
bird,birds : sparrow; robin; eagle; pigeon; owl; parrot; swan; crow; seagull; penguin; blackbird; falcon; stork; woodpecker; flamingo; ostrich; hen; turkey; raven; swallow
fish,fishes : salmon; trout; tuna; carp; cod; herring; shark; pike; goldfish; eel; sardine; haddock; perch; mackerel; plaice
insect,insects,bug : ant; bee; wasp; fly; mosquito; beetle; butterfly; moth; grasshopper; ladybird; cricket; flea; dragonfly; bumblebee; termite
reptile,reptiles : snake; lizard; crocodile; turtle; tortoise; gecko; iguana; python; chameleon; cobra; alligator; viper
mammal,mammals : cow; pig; sheep; goat; horse; pony; donkey; rabbit; mouse; elephant; whale; dolphin; bear; wolf; fox; deer; camel; squirrel; hedgehog; monkey

# food,foods,groceries,something to eat | food,kind,food_group,category,aisle
> I bought {} today; we had {} for dinner; {} please; two portions of {}; I'm out of {}; the {} was delicious; a plate of {}; do you like {}?; {} is on the table; add {} to the basket; I love {}
fruit,fruits : apple; pear; plum; banana; cherry; grapes; strawberry; orange; peach; mango; pineapple; melon; kiwi; raspberry; apricot; fig; apples; bananas; blueberries; grapefruit; lime; nectarine; watermelon
vegetable,vegetables,veg : carrot; potato; cabbage; onion; leek; spinach; broccoli; cauliflower; lettuce; peas; cucumber; courgette; aubergine; radish; celery; beetroot; carrots; turnip; asparagus; kale; pepper; beans
meat,meats : beef; pork; chicken; bacon; ham; sausage; lamb; steak; veal; turkey breast; mince; salami; meatballs; ribs; duck breast; cutlet
fish,seafood : salmon; tuna; cod; trout; prawns; shrimp; mussels; squid; lobster; oysters; crab; herring; anchovies; sardines; fish fingers
dairy,milk products : milk; cheese; butter; yoghurt; cream; quark; cottage cheese; mozzarella; cheddar; sour cream; buttermilk; parmesan; gouda; kefir
bakery,bread,baked goods : bread; roll; baguette; toast; croissant; bagel; rye loaf; bun; pretzel; pita; ciabatta; sourdough loaf; crispbread
sweets,dessert,candy : chocolate; cake; biscuit; candy; ice cream; cookie; pudding; lollipop; doughnut; toffee; brownie; marshmallows; jelly beans; tiramisu; apple pie; caramel
drinks,drink,beverage : water; beer; wine; coffee; tea; orange juice; lemonade; cola; milkshake; whisky; cocoa; cider; espresso; smoothie; gin; rum; sparkling water; red wine; green tea
spices,spice,herb : salt; cinnamon; basil; oregano; paprika; curry powder; thyme; nutmeg; rosemary; parsley; mint; ginger; saffron; turmeric; chilli powder; vanilla
grains,grain,cereal : rice; oats; wheat; barley; flour; cornflakes; muesli; couscous; spaghetti; noodles; quinoa; macaroni; millet; porridge

# vehicle,vehicles,transport,means of transport | vehicle,transport,kind,mode
> we went by {}; I took the {}; a {} came round the corner; my {} broke down; she drives a {}; I bought a used {}; the {} was late; he travelled in a {}; a red {}
road,land,car : car; bus; truck; motorbike; van; taxi; lorry; scooter; bicycle; tractor; ambulance; coach; limousine; jeep; pickup; moped; convertible; camper van
water,sea,boat : ship; boat; ferry; yacht; canoe; kayak; submarine; sailing boat; raft; cruise liner; rowing boat; tanker; gondola; speedboat; lifeboat
air,sky,aircraft : plane; helicopter; jet; glider; airliner; hot-air balloon; airship; drone; seaplane; biplane; paraglider; space shuttle
rail,train,railway : train; tram; metro; underground; locomotive; goods train; night train; express; monorail; subway; sleeper train; high-speed train

# profession,job,occupation,person | job,profession,field,sector,work
> she works as a {}; my brother is a {}; we are looking for a {}; I'd like to become a {}; the {} came at nine; ask the {}; he has been a {} for years; a {} with experience; I talked to a {}
health,medical,medicine : doctor; nurse; surgeon; pharmacist; midwife; paramedic; physiotherapist; optician; psychiatrist; anaesthetist; radiologist; carer; vet
education,teaching,school : teacher; professor; lecturer; tutor; headmaster; kindergarten teacher; librarian; school caretaker; lab instructor; trainer; teaching assistant
crafts,trade,craft : plumber; carpenter; electrician; bricklayer; roofer; painter and decorator; joiner; locksmith; welder; tiler; glazier; blacksmith; mechanic; tailor; shoemaker
law,legal,justice : lawyer; judge; notary; solicitor; barrister; prosecutor; paralegal; attorney; court clerk
it,technology,computing : programmer; web developer; system administrator; data scientist; software tester; database engineer; network technician; security analyst; app designer; devops engineer
food,gastronomy,kitchen : cook; chef; waiter; baker; butcher; bartender; pastry cook; barista; dishwasher; waitress; brewer; sommelier; kitchen porter
arts,art,culture : painter; actor; singer; dancer; musician; sculptor; novelist; poet; film director; pianist; violinist; photographer; composer; comedian; actress
transport,logistics,driving : bus driver; pilot; lorry driver; train driver; courier; taxi driver; flight attendant; sailor; captain; postman; forklift driver; conductor
farming,agriculture,nature : farmer; gardener; shepherd; forester; beekeeper; fisherman; winegrower; florist; tree surgeon; farm hand
security,safety,emergency : police officer; firefighter; soldier; bodyguard; detective; prison guard; lifeguard; customs officer; night watchman; bouncer

# clothing,clothes,garment,something to wear | clothing,kind,department,item_type
> I bought a new {}; my {} has a hole; where is my {}?; a blue {}; he wore a {}; the {} does not fit; wash the {}; put on your {}
tops,top,upper body : shirt; jumper; t-shirt; blouse; sweater; hoodie; cardigan; vest; polo shirt; pullover; tank top; sweatshirt
bottoms,bottom,legs : trousers; jeans; skirt; shorts; leggings; chinos; tracksuit bottoms; miniskirt; dungarees; cords
shoes,footwear,feet : boots; sneakers; sandals; slippers; trainers; high heels; wellingtons; flip-flops; loafers; hiking boots; ballet shoes
outerwear,coats,jackets : coat; jacket; raincoat; parka; anorak; windbreaker; fur coat; down jacket; trench coat; poncho
accessories,accessory : scarf; belt; gloves; necklace; earrings; handbag; bracelet; tie; sunglasses; wristwatch; brooch; cufflinks; ring; purse
hats,headwear,head : cap; bonnet; beanie; helmet; beret; top hat; bowler; straw hat; woolly hat; hood

# furniture,household,household item,thing for the home | item,kind,category,product_type,department
> the {} is broken; we need a {}; a {} in good condition; I sold my {}; where should the {} go?; the {} was delivered; our new {}; clean the {}
kitchen,kitchenware : oven; fridge; kettle; toaster; frying pan; saucepan; dishwasher; microwave; cutting board; whisk; ladle; coffee machine; mixing bowl; corkscrew; tin opener; grater; freezer; colander
bathroom,bath : shower; bathtub; toilet; toothbrush; towel; washbasin; soap; shampoo; hairdryer; razor; bath mat; toilet brush; bathrobe; shower curtain
bedroom,sleeping : bed; mattress; pillow; duvet; wardrobe; bedside table; blanket; alarm clock; sheets; pyjamas; nightlight; bedspread; bunk bed
living room,lounge : sofa; armchair; television; coffee table; rug; fireplace; bookcase; remote control; cushion; couch; floor lamp; record player; footstool
garden,outdoor,yard : lawnmower; rake; spade; watering can; hedge; flower bed; wheelbarrow; hosepipe; garden shed; deckchair; greenhouse; barbecue; compost heap; pruning shears; sprinkler
office,workplace,study : printer; stapler; desk; filing cabinet; paper clip; photocopier; ring binder; whiteboard; hole punch; swivel chair; envelope; notepad; in-tray; calendar
workshop,tools,tool : hammer; screwdriver; saw; drill; pliers; spanner; wrench; chisel; sandpaper; toolbox; spirit level; nails; vice; axe; screws
children's room,nursery,toys : doll; teddy bear; building blocks; cot; toy car; jigsaw; rattle; rocking horse; marbles; puppet; crayons; pushchair; toy train; spinning top

# electronics,device,gadget,appliance | device,kind,product_category,category
> my {} does not turn on; I'd like to buy a {}; the {} is too expensive; a used {}; a cable for my {}; the {} I ordered; repair a {}; how old is your {}?
computers,computer,it : laptop; desktop; keyboard; monitor; hard disk; notebook computer; graphics card; router; computer mouse; memory stick; webcam; motherboard; docking station
phones,phone,mobile : smartphone; mobile phone; sim card; phone case; charger for my mobile; handset; touchscreen phone; answering machine; cordless phone
audio,sound,music : headphones; speaker; amplifier; microphone; earbuds; subwoofer; turntable; radio; stereo; soundbar; mp3 player
photo,cameras,photography : camera; lens; tripod; flash gun; camcorder; camera bag; film roll; light meter; zoom lens

# plant,plants,flora | plant,kind,plant_type
> there is a {} in front of the house; we planted a {}; the {} needs water; a leaf of a {}; a {} by the window; what a beautiful {}; the {} is in bloom
tree,trees : oak; beech; birch; pine; maple; willow; fir; elm; poplar; chestnut tree; cedar; spruce; palm; larch; ash tree
flower,flowers : rose; tulip; daisy; lily; daffodil; sunflower; orchid; violet; carnation; poppy; crocus; dahlia; snowdrop; geranium
mushroom,fungus : champignon; truffle; toadstool; chanterelle; porcini; morel; fly agaric; shiitake

# sport,sports,exercise | sport,kind,discipline,category
> I play {}; we watched {} on television; she is good at {}; {} on Sunday?; {} is my favourite; they train for {}; the {} final; he teaches {}
ball sport,ball game,ball : football; basketball; volleyball; handball; rugby; tennis; cricket; baseball; squash; golf; table tennis; softball; soccer
water sport,water,swimming : swimming; diving; rowing; sailing; surfing; water polo; kayaking; snorkelling; windsurfing; canoeing
winter sport,winter,snow : skiing; snowboarding; ice hockey; sledging; ice skating; biathlon; curling; ski jumping; bobsleigh; figure skating
martial arts,fighting,combat : judo; karate; boxing; wrestling; fencing; kickboxing; taekwondo; aikido; kung fu; sumo
athletics,running,track : marathon; high jump; javelin; hurdles; sprint; long jump; pole vault; shot put; relay race; discus

# instrument,musical instrument | instrument,kind,family
> he plays the {}; a lesson on the {}; my {} is out of tune; a concert for {}; she bought a {}; the sound of the {}; who plays the {}?
strings,string instrument : violin; guitar; cello; harp; banjo; viola; double bass; mandolin; lute; ukulele; fiddle
wind,woodwind,brass : flute; trumpet; clarinet; saxophone; trombone; oboe; bassoon; recorder; tuba; french horn; bugle; bagpipes
percussion,drums : drum; cymbals; xylophone; triangle; tambourine; timpani; bongo; snare drum; castanets; kettledrum
keyboard,keys : piano; organ; harpsichord; grand piano; synthesizer; accordion; upright piano; celesta

# place,places,building,location | place,kind,building,place_type
> we met at the {}; I'm at the {}; turn left at the {}; the {} is closed; how far is the {}?; a {} near here; they built a {}; opposite the {}
shop,store,shopping : supermarket; bakery; butcher's; bookshop; florist's; chemist's; department store; shoe shop; kiosk; greengrocer's; boutique; shopping centre; market hall
health,medical : hospital; clinic; pharmacy; surgery; nursing home; health centre; maternity ward; hospice; casualty department
education,learning : school; university; kindergarten; library; college; nursery school; academy; lecture hall; grammar school; evening school
nature,outdoors : forest; lake; mountain; river; beach; desert; valley; meadow; waterfall; island; hill; canyon; swamp; cave; glacier tongue; ocean
transport,travel : airport; railway station; bus stop; motorway; bus station; taxi rank; platform; car park; tram stop; petrol station; departure lounge
religion,worship : church; mosque; temple; synagogue; cathedral; monastery; chapel; abbey; convent; shrine
leisure,free time : cinema; theatre; swimming pool; museum of toys; zoo; stadium; circus; bowling alley; concert hall; funfair; playground; amusement park; gym; casino; nightclub
eating out,restaurant,food : pizzeria; café; snack bar; pub; canteen; beer garden; steakhouse; tea room; takeaway; bistro; burger bar; ice-cream parlour

# country,countries,nation | continent,region,part_of_the_world
> I'm from {}; we flew to {}; a letter from {}; she was born in {}; our office in {}; the weather in {}; they moved to {}; {} won the match; holidays in {}
Europe,europe,European : France; Italy; Spain; Poland; Sweden; Norway; Portugal; Greece; Austria; Finland; Ireland; Hungary; Belgium; Denmark; Germany; Switzerland
Asia,asia,Asian : Japan; China; India; Thailand; Vietnam; Nepal; Indonesia; Korea; Malaysia; Mongolia; Bangladesh; Cambodia
Africa,africa,African : Kenya; Nigeria; Ghana; Morocco; Senegal; Ethiopia; Uganda; Tanzania; Algeria; Zambia; Tunisia
South America,south_america,Latin America : Brazil; Argentina; Chile; Peru; Colombia; Bolivia; Ecuador; Uruguay; Paraguay; Venezuela
North America,north_america : Canada; Mexico; the United States; Alaska; Texas; California; Florida; Ontario

# body,body part,part of the body | body_part,part,area,organ
> my {} hurts; pain in the {}; she broke her {}; an operation on the {}; he has something with his {}; my {} is swollen; show the doctor your {}
head,face : nose; ear; eye; mouth; chin; forehead; cheek; lip; tooth; tongue; eyebrow; jaw
arm,arms,hand : elbow; wrist; finger; thumb; palm; fingernail; forearm; knuckle; upper arm
leg,legs,foot : knee; ankle; toe; heel; thigh; calf; shin; sole; kneecap
torso,trunk,middle : stomach; chest; back; belly; rib; hip; spine; navel; waist
organ,organs,inside : heart; liver; lung; kidney; brain; bladder; spleen; pancreas; gut

# material,materials,substance | material,kind,material_group
> it is made of {}; a box of {}; the {} is scratched; we use {} for it; a piece of {}; a lorry with {}; recycle the {}
metal,metals : iron; steel; copper; gold; silver; tin; zinc; lead; brass; bronze; nickel; chrome; aluminium foil
textile,fabric,cloth : cotton; wool; silk; linen; velvet; denim; nylon; polyester; cashmere; felt; tweed; lace; satin
wood,timber : oak plank; pine board; plywood; mahogany; teak; chipboard; walnut veneer; bamboo cane; beech parquet; ebony
stone,mineral,rock : marble; granite; slate; sandstone; limestone; basalt; quartz; gravel; pebble; flint; chalk

# time,season,date | season,time_of_year
> it was in {}; see you in {}; we married in {}; I think of {}; that smells of {}; she visits us in {}
spring : March; April; May; Easter; the time when tulips open; when the swallows come back; the first warm days after the frost
summer : June; July; August; the long school holidays; the time of sunburn and ice cream; beach weather; a heat wave; the hottest weeks of the year
autumn,fall : September; October; November; Halloween; when the leaves fall; harvest time; the grape harvest; when the leaves turn red
winter : December; January; February; Christmas; the first snow; New Year's Eve; the time of frost and skates; when the lake freezes; snowman weather

# colour,color,colours | colour_family,shade,tone,group
> I'd like it in {}; her dress is {}; paint the wall {}; a car in {}; the {} one; {} suits you
red,reds,reddish : crimson; scarlet; ruby; cherry red; wine red; brick red; burgundy; vermilion
blue,blues,bluish : navy; sky blue; turquoise; azure; cobalt; ultramarine; royal blue; indigo
green,greens,greenish : olive; emerald; lime green; moss green; bottle green; jade; mint green; grass green
yellow,yellows : lemon yellow; mustard; gold; amber; canary yellow; corn yellow; straw
"""
