"""What people write about, in parts that any of a class go together: things, what is the matter with them, whole sentences.

A block begins with `# names of the field`. Then, its classes, three lines each or more: `names = what the class is for`,
then lines with `* ` for things (`the bill`), `+ ` for what is said of any of them (`is wrong`), and `- ` for whole
sentences. A class need not have all of them. `{product}` is a value of that kind. Training alone uses them.
"""

from __future__ import annotations

TEXT = """
# category,department,topic,team,queue,issue_type,routing,area
billing,payments,accounting,invoices,finance = bills and payments
* the bill; my invoice; the direct debit; the instalment; the credit note; the charge on my card; the VAT number on the bill; the last statement; the sum on the slip; the receipt; the payment reminder; the dunning letter; the monthly fee; the refund; the bank transfer; the voucher amount
+ is too high; is wrong; was booked two times; never reached my account; does not match what we agreed; came in the wrong currency; shows {money} instead of {money}; has somebody else's name on it; is {money} too much; went to an old bank account; bounced; makes no sense to me; came a second time though I had paid
- I paid twice by mistake; my bank details have changed; can I pay by card instead?; {money} went off without my consent; I can only pay at the end of the month; may I pay in three parts?; why am I charged for a month I did not use?; where do I enter my tax number?; I still wait for my {money} back; my card has a new number
technical,tech_support,it,support,bugs,software = programs and devices that do not work
* the app; the login page; the website; your software; the update; the installer; the dashboard; the search; the sync; the video call; the upload; the printer driver; the mobile version; the plugin; the database; the wifi; the browser; the mail client; the touchscreen; the Bluetooth link
+ crashes all the time; freezes; shows a blank screen; gives error {int 100 599}; is painfully slow; will not load; throws me out; loses what I typed; hangs at {int 3 97} percent; does not react to clicks; stopped working after the update; shows garbled letters; cannot find the server; closes by itself; keeps asking for a restart
- I only see a spinning wheel; everything is gone after a restart; the button is greyed out; it says out of memory; my files do not open any more; no sound comes out; the code by text message never comes, so I can't sign in; tapping does nothing at all; it does not recognise my fingerprint
delivery,shipping,logistics,dispatch,parcels = parcels on their way
* the parcel; my package; the box; the courier; the driver; the van; the delivery of my {product}; the letter with the {product}; the pallet; the tracking page; the envelope; the shipment
+ has not arrived; never turned up; went to my neighbour; is stuck at customs; was left in the rain; has been in the same depot since {date}; was sent back to you; is three days late; went to {city} by mistake; got lost somewhere; was dropped over the fence; cannot be found
- nobody rang the bell; they left a card but I was at home; can it come in the evening instead?; please leave it with the porter; how long does it take to {country}?; is it on the road already?; can I still change where it goes?; the depot closes before I am home from work
returns,return,exchange,send_back = things that go back or are swapped
* the {product}; the trousers; the shoes; the dress; the coat; the size; what I bought; the gift
+ is too small; is too big, I want the next size; does not fit; does not suit me, I want to send it back; is not what I had in mind, it goes back; pinches, can I swap it?
- how do I send this back?; I need a return label; can I swap it for another colour?; where do I drop off what I don't want to keep?; I would like to exchange it for something else; how many days do I have to send it back?; I changed my mind and don't want to keep it; may I return it without the box?
account,profile,membership,my_account = the user's own data and access
* my profile; my user name; my account; my password; my address in your system; the nickname; my membership; my profile picture
+ has to be changed; is spelt wrongly; should be deleted; was taken over by somebody; needs a new name; has been locked; is out of date; must be merged with another one
- I moved and need to change my address; I married and have a new surname; delete everything you know about me; how do I change my mail address?; two accounts of mine should become one; I want to close my account; who else can see my data?; please make me an administrator
sales,presales,new business,offers = what somebody may buy
* a licence for {int 5 400} people; the premium plan; a demo; a price list; a quote; a bulk discount; a sample; a catalogue; the yearly plan; an offer for {int 20 900} pieces
+ would interest us; is what we are looking for; would be helpful before we decide; is needed for our boss to say yes; could win us as a customer
- what would it cost for a team of {int 4 90}?; do schools get it cheaper?; can we try it before we buy?; how does it compare with your rivals?; we think of switching to you; can somebody call us about an offer?; which plan suits a small firm?
jobs,careers,recruiting,hr,applications = people who want to work here
* my application; my CV; the vacancy; the job interview; the internship; the trial day; my cover letter; the post of {job}
+ was sent on {date}; is attached; interests me a lot; would suit me; is still open, I hope; went well, I think
- are you hiring?; do you take trainees?; I would love to work as a {job} for you; what do I need to apply?; I have five years of experience and look for a new employer; is part-time possible in this post?; when will I hear whether I got the job?

# sentiment,feeling,opinion,tone,mood,polarity,verdict,review
positive,good,happy,satisfied,pos,favourable = somebody is pleased
* the food; the staff; the room; the {product}; the trip; the film; the driver; the app; our guide; the view; the service; the new version; the price; the soup; the bed; the teacher; the concert; the nurse; the garden; the support
+ was a dream; made my day; is worth every cent; could not be better; exceeded all I hoped for; left us speechless with joy; is the best I know; was spot on; blew me away; was warm and kind; is a joy to use; deserves a prize; was simply perfect; won my heart; went like clockwork
- I would come back any time; my kids did not want to leave; we are already planning the next visit; I told all my friends to go there; thumbs up from the whole family; I smiled all the way home; a round of applause for everybody; I could not stop laughing in the best way; never had it so good; ten out of ten; I bought a second one for my mother right away; so glad we found this place
negative,bad,unhappy,dissatisfied,neg,critical = somebody is not pleased
* the food; the staff; the room; the {product}; the trip; the film; the driver; the app; our guide; the view; the service; the new version; the price; the soup; the bed; the teacher; the concert; the nurse; the garden; the support
+ was a nightmare; ruined my day; is a rip-off; could not be worse; disappointed us; left us hungry and cross; is the worst I know; was a mess; made me want to cry; was cold and rude; is a pain to use; deserves no star; was simply awful; put me off for good; went wrong from start to end
- I would not go there again; we left before the end; I want my money back; I warned all my friends; thumbs down from the whole family; I was fuming all the way home; nobody said sorry; we waited for ages and nobody came; never had it so bad; zero out of ten; it went straight into the bin; I wish we had gone elsewhere; it broke on the second day
neutral,indifferent,mixed,average,so-so = neither pleased nor displeased
* the food; the staff; the room; the {product}; the trip; the film; the driver; the app; the service; the new version; the price; the bed; the concert
+ was all right, I suppose; is about what one expects; was neither here nor there; does its job; is like all the others; has its good and its bad sides; was okay, I guess
- nothing to complain about, nothing to rave about; I have no strong feelings about it; some things were fine, others were not; it is what it is; could be better, could be worse; an ordinary place, nothing more

# priority,urgency,severity,importance,how_urgent
urgent,high,critical,immediate,asap = cannot wait
* the whole shop; our production line; the till; the heating; the server; the alarm; the main door; the phone system; the fridge with the vaccines; the payroll
+ has stopped, we need somebody at once; is down and customers are waiting; failed, people are stuck; burst, there is water everywhere; is dead and we lose money every minute; must be working again within the hour
- come running; there is smoke in the server room; somebody is hurt; we open in ten minutes and nothing works; please, this very minute; all of our data is leaking; nobody in the building can work; the deadline is tonight; call me right now; a child is locked in
normal,medium,moderate,routine = in the next days
* the monthly report; the second printer; the projector; the coffee machine; the list of guests; the lamp in the hall; the form; the order for paper
+ should be looked at this week; needs some attention in the next days; ought to be done by Friday; works, but not as it should, please see to it soon; would be good to have next week
- within a few days would be fine; there is a way round it, but please fix it soon; sometime this week, please; not today, but do not forget it; we can manage for two or three days
low,minor,trivial,can wait,not urgent = no hurry
* the colour of the logo; the plant in the lobby; the typo on page {int 2 90}; the squeaky chair; the old poster; the wording of the footer; the name plate
+ could be changed some time; can wait until next year; is just a small flaw; is only a matter of taste; may stay as it is if you are busy
- no rush whatsoever; when you have nothing better to do; just for the record; it is only cosmetic; if it never gets done, nobody will mind; an idea for the long winter evenings; take all the time you like

# intent,purpose,request_type,wants,goal,user_intent
book,booking,reserve,reservation = wants to reserve something
- a table for {int 2 9} on {date}, please; do you have a room free for two nights?; keep two seats for us at {time}; can we get a court at {time}?; I would like the haircut slot at {time}; please put us down for the tour on {date}; we would like to stay from {date}; any space in the course on {date}?; one place on the {time} boat please; could you hold a car for me on {date}?
cancel,cancellation,call off,terminate = wants to end or call off something
- we can't come on {date} after all; please take us off the list for {date}; forget my order {code}; I don't want the subscription any longer; the trip is off, please free our seats; I have to call off the appointment with {fullname}; stop the contract at the next date; we won't need the room now; please strike my name off; let the membership run out
reschedule,move,change_date,postpone = wants another time
- could we make it {time} instead?; {date} does not suit me, what about {date}?; can we push it back a week?; I will be late, is {time} all right too?; please put my appointment on another day; is it possible to come a day earlier than planned?; the boss is ill, can we meet on {date} rather than {date}?; swap my morning slot for an evening one
complain,complaint,protest = is not satisfied
- this is the third time that I write; your man was rude to my wife; I have never been treated so badly; I expect an apology; the room was filthy; you promised a call and nobody called; the soup was cold and the waiter laughed; such a mess, and for that price; what a shambles; I am at the end of my patience
praise,thank,compliment,gratitude = says something kind
- {first} at the desk was an angel; what a lovely evening, thank you; your people are the best; we were so well looked after; please tell the cook it was superb; just a word of thanks; that was quick, bravo; you saved our holiday; keep up the fine work; a big hug to the whole team
ask,question,information,inquiry,info = wants to know something
- how far is it from the station?; do you have a lift?; what is the water temperature?; is breakfast in the price?; may I bring my {animal}?; how old must one be?; what does a day cost?; is there a doctor in the village?; which bus goes to {city}?; do I need boots?; when does the museum shop shut?

# topic,category,subject,section,rubric,news_category,field
sports,sport,athletics = matches, players and races
* the striker; the goalkeeper; the home team; the coach of {city}; the skier; the sprinter; the cyclist; the tennis champion; the boxer; the national side; the swimmer; the referee; the midfielder; the relay team; the gymnast
+ won {int 2 9}-{int 0 1} on Sunday; missed the final by a hair; was injured in training; broke the old record; signed until {year}; lost in extra time; took gold; retired after {int 5 20} seasons; was sent off; climbed to second in the table; scored in the last minute
- the match was abandoned because of floodlights; {city} beats {city} on penalties; the marathon starts in the old town; tickets for the cup final are gone; transfer fee of {money} for the winger
politics,government,state affairs = elections, laws and parties
* the chancellor; the opposition; the mayor of {city}; the senate; the foreign minister; the governing party; the president; the ambassador; the city council; the committee; the prime minister; the coalition
+ voted against the bill; lost the majority; wants to lower the voting age; stepped down over the affair; meets the leaders of {country}; plans a new tax; was sworn in; won the run-off; debated for {int 4 20} hours; refused to sign the treaty; called an early election
- polling stations open at {time}; turnout was {int 40 80} percent; a law on rents passed its second reading; protesters gathered before the parliament; the budget was carried by one vote
economy,business,finance,markets = firms, money and trade
* the carmaker; the central bank; the shares of {company}; the retailer; the start-up; the steel giant; the price of oil; the export industry; the airline {company}; the insurer
+ cut {int 100 900} jobs; raised its outlook; lost a tenth of its value; reported a profit of {int 2 900} million; was taken over by {company}; kept interest at {num 1 6 1} percent; filed for bankruptcy; opened a plant in {city}; goes public in {year}; warned of falling sales
- inflation slows for the third month; the euro gains against the dollar; consumers spend less before Christmas; wages rise by {num 1 6 1} percent; investors flee into gold
science,research,discovery = what researchers found out
* astronomers; a team of biologists; the space probe; researchers from {city}; the telescope; geologists; the particle collider; a young chemist; palaeontologists; the Mars rover
+ spotted a new moon; found bones of a giant lizard; measured ripples in space; decoded the genes of the tulip; photographed a black hole; discovered water under the ice; grew a tiny brain in a dish; solved a riddle {int 40 200} years old; described {int 3 90} new species
- the comet comes near the earth on {date}; bees can count, an experiment shows; the hole in the ozone layer shrinks; a vaccine worked in mice; crystals that bend light backwards
health,medicine,wellbeing = illness, doctors and fitness
* acupuncture; the clinic in {city}; a new drug; the flu; sleep; too much sugar; walking; the hospital; hay fever; back pain; vitamin D
+ can shorten your life or lengthen it; helped {int 20 400} patients; keeps many people in bed; lowers the blood pressure; may be treated without surgery; is good for the heart; should be taken seriously, say experts; makes waiting rooms full
- drink two litres a day; what to do about a stiff neck; the allergy season begins early; a check-up from age {int 30 60} is free; stretch for ten minutes every morning
culture,arts,entertainment,showbiz = films, music, books and stage
* the director; the novel; the opera; the band; the museum in {city}; the actress; the painter; the series; the choir; the comedian; the poet; the rapper; the orchestra; the new musical
+ was cheered for ten minutes; gets a second season; goes on tour in spring; won the big prize; opens with works by {fullname}; is number one in the charts; was filmed in {city}; was translated into {int 5 40} languages; premieres on {date}
- the book fair begins; a lost symphony was played for the first time; {fullname} plays the villain; the festival had {int 2 90} thousand visitors; a sculpture was stolen from the gallery
technology,tech,digital,it,computers = devices, software and the net
* the new phone; the chip; the robot; the browser; the search engine; the laptop; hackers; the smart watch; the language model; the drone; the operating system; the start-up's app
+ gets an update; folds in the middle; runs twice as fast; leaked {int 2 90} million passwords; can read lips; needs no charger; opened its source code; learned to cook; has a flaw that lets strangers in; costs less than its rival
- old devices get no more updates; quantum computers come closer; a cable under the sea broke and the net was slow; self-driving buses in {city}; social networks have to delete faster
travel,tourism,holidays = trips, places and how to get there
* the beach of {city}; the night train to {city}; the island; the old town; the cruise; the hiking trail; the mountain hut; the campsite; the lighthouse; the safari
+ is a quiet beauty; is best in early autumn; is full in August; can be reached by boat only; costs less than you think; is great for families; welcomes guests again; has a view to die for
- three days in {city}; what to pack for {country}; how to beat jet lag; where the locals eat in {city}; with the camper van along the coast
weather,climate,forecast = rain, sun and storms
* heavy rain; a cold front; thick fog; the storm; snow; sunshine; black ice; a heat wave; strong wind; hail; a thunderstorm
+ is expected on {date}; moves in from the west; covers the valleys; reaches {city} tonight; stays until the weekend; clears up by noon; closes roads; brings up to {int 2 38} degrees
- up to {int 24 39} degrees on the coast; bring an umbrella; the night will be clear and frosty; clouds in the north, blue sky in the south; the driest month since {year}
food,cooking,recipes,eating = dishes and how to make them
* the dough; the sauce; the onions; the roast; the soup; the salad; the cake; the potatoes; the fish; the filling
+ needs {int 10 90} minutes in the oven; wants a pinch of salt; must be stirred now and then; tastes best with lemon; simmers on low heat; goes well with white bread; should rest overnight; gets a crust of cheese
- whip the cream until stiff; a pie with pears and thyme; what to do with old bread; chop the herbs finely; season to taste; our favourite pancake topping
crime,police,courts = deeds, arrests and trials
* the burglar; the thief; the gang; a masked man; the jury; the accused; the detective; the pickpocket; the fraudster; the judge
+ was caught at the border; got away with {money}; was sentenced to {int 2 15} years; broke into a jeweller's; denied everything; robbed a bank in {city}; was arrested on {date}; hid the loot in a well; left fingerprints
- police look for witnesses; stolen cars found in a barn; the trial begins on {date}; a fake doctor fooled hundreds; the safe was opened without a trace

# emotion,mood,feeling,state,how_they_feel
joy,happy,happiness,glad,cheerful = is glad
- I got the place at the school!; we are having a baby; I could dance all night; best news in years; I woke up singing; she said yes; the test came back fine, hooray; my team won and I hugged a stranger; life is beautiful today; I can't stop grinning; we laughed till our sides hurt; finally holidays, yippee
sadness,sad,unhappy,grief,sorrow = is sad
- my cat died this morning; I can't stop crying; the house is so empty without him; I miss you more each day; nobody came to my birthday; we had to say goodbye for ever; everything feels pointless; she left and took the light with her; I have no more tears left; I sat on the bed and wept; another Christmas alone
anger,angry,furious,mad,rage = is angry
- how dare you!; I am sick of his lies; they keyed my car, the swine; get out of my sight; I am boiling; that was the last straw; who does she think she is?; I slammed the phone down; they cheated us again, the crooks; don't you ever touch my things again; my blood is boiling
fear,afraid,scared,anxious,worried = is afraid
- I heard steps in the attic; my hands tremble before the exam; what if the lump is something bad?; I don't dare to go down there; the plane shook and I prayed; I lie awake and think of the worst; please don't leave me alone in the dark; someone follows me home; my heart is pounding, I can't breathe; the dog bared its teeth and I froze
surprise,surprised,astonished,amazed = did not expect it
- wait, what?; I never saw that coming; you are kidding!; out of the blue she stood there; my jaw dropped; who would have thought it?; I had to read it twice; of all people, him?; good heavens, is it that late?; I nearly fell off my chair
disgust,disgusted,repelled = finds it repulsive
- there were maggots in the rice, yuck; the toilet stank to heaven; ugh, he licked the spoon and put it back; mouldy socks under the bed; I nearly threw up; slimy, smelly, no thank you; a cockroach in the salad, eww; it turned my stomach
boredom,bored,dull = is bored
- is it over yet?; same thing every day; I counted the tiles on the ceiling; another endless meeting; nothing to do all Sunday; I yawned through the whole speech; paint dries faster than this plot moves; I have read the cereal box three times

# category,expense_category,expense_type,budget,kind,account,cost_type
travel,transport,travel costs = getting somewhere and sleeping there
- train ticket to {city}, {money}; taxi from the airport {money}; two nights at Hotel {company} {money}; petrol for the hire car, {money}; parking at the station {money}; flight {city} - {city} {money}; bus pass for the week; toll on the motorway {money}; {money} for the sleeper to {city}
meals,food,catering,entertainment = eating and drinking
- lunch with the client at {company}, {money}; coffee and cake {money}; sandwiches for the meeting; dinner for {int 2 9} at the steak house {money}; pizza for the team {money}; two bottles of water and a salad; breakfast buffet {money}; ice cream for all {money}
office supplies,office,stationery,materials = paper and pens
- printer paper {money}; {int 2 40} pens and a stapler; toner {money}; envelopes and stamps {money}; sticky notes {money}; a box of folders; whiteboard markers {money}; a desk tidy and paper clips
software,licences,subscriptions,it = programs and online services
- yearly licence for the photo program {money}; cloud storage {money} a month; antivirus for {int 2 40} computers; hosting of the website {money}; plan of the chat service {money}; domain name renewal {money}; video call plan {money}
rent,housing,premises = for rooms
- {money} to the landlord for May; monthly payment for the office floor; hire of the hall {money}; deposit for the new flat {money}; storage room {money} a month; desk in the shared office {money}
utilities,energy,power and water = electricity, water, gas
- electricity bill {money}; gas for the heating {money}; water and sewage {money}; advance payment for power {money}; heating oil, {int 500 3000} litres; the meter reading says {money} more
health,medical,healthcare = doctors and medicine
- pharmacy {money}; dentist, two fillings {money}; new glasses {money}; physiotherapy {int 2 10} sessions; cough syrup and plasters {money}; blood test {money}; vaccination {money}
clothing,clothes,wardrobe = something to wear
- winter coat {money}; two pairs of jeans {money}; shoes for the kids {money}; socks and underwear {money}; a tie for the wedding {money}; rain jacket {money}; alterations at the tailor's {money}
leisure,fun,hobbies,free time = for pleasure
- cinema for two {money}; concert tickets {money}; bowling night {money}; zoo with the family {money}; guitar strings {money}; theme park {money}; a board game {money}; museum entry {money}; swimming pool {money}

# kind,speech_act,type,form,message_type,act
question,query,ask = wants an answer
- do you know where the {product} is?; how long will you be in {city}?; may I sit here?; who took my {product}?; why did nobody tell me?; is {fullname} in today?; have you fed the {animal}?; which of the two is yours?; could it be that the shop is shut?; what did {first} say?
request,command,order,instruction = wants somebody to do something
- please pass me the {food}; bring the {product} to room {code A99}; shut the window; send {first} the photos; take your shoes off; wait for me at the corner; put it on the shelf; be at the station by {time}; don't tell {first}; turn the music down, please
offer,proposal,invitation,suggestion = offers or proposes something
- shall I carry that for you?; let's go to {city} at the weekend; you may borrow my {product}; why don't we ask {first}?; come over for {food} on {date}; I could pick you up at {time}; how about a walk?; we could split the bill; want a lift home?
promise,commitment,pledge = binds the speaker
- I'll be there at {time}, you can rely on me; I'll pay you back on {date}, word of honour; I will never be late again; you shall have it by {date}; I swear I'll keep it to myself; we'll get it done, I promise
statement,information,fact,report = tells something
- the {product} is in the cellar; {first} moved to {city}; it rained on {date}; the lake is frozen; my sister works as a {job}; the shop opens at {time}; we have two cats; the bridge was closed; the bus was full
apology,sorry,excuse = is sorry for something
- I'm terribly sorry I broke your {product}; forgive me, I forgot; my bad, wrong number; I shouldn't have said that; please excuse the mess; I owe you an apology; it was all my fault
refusal,rejection,no = says no
- not a chance; I'd rather stay at home; count me out, I have no time; I won't sign that; thanks, but we don't need any; over my dead body; that's not possible, I'm afraid

# label,spam,class,filter,verdict,mail_type
spam,junk,scam,fraud = unwanted mail
- your parcel is on hold, pay {money} here; congratulations, your number was drawn, reply with your bank details; make {money} a week from your sofa; lose ten kilos in ten days with this pill; dear beneficiary, I am a widow with {money} to give away; your account will be closed, log in at once via this link; crypto doubles overnight, join now; cheap replica watches; last warning: verify your password; lonely singles near {city}; guaranteed loan without any check; you have been chosen for a free phone
ham,legitimate,not spam,normal,personal = wanted mail
- did you get home all right?; see attached the notes of Tuesday; {first} asks whether you bring the {product}; your appointment with {fullname} is at {time}; the choir meets in the other room; thanks for the lovely dinner; the plumber can come at {time}; I put the signed form on your desk; can you water my flowers while I'm in {city}?; the class trip is on {date}; here is the recipe you wanted

# language,lang,written_in,text_language
english,English,en = English
- where did you leave the keys?; we shall see what the morning brings; the old man fed the pigeons; nobody knows when the ferry leaves; my brother has bought a boat; it smells of fresh bread here; don't forget to lock the door; the children are playing outside
german,German,de = German
- wo hast du die Tasche gelassen?; wir haben heute keine Zeit; der alte Mann schläft im Garten; morgen fahren wir ans Meer; das Wetter ist schön; ich möchte bitte zahlen; mein Bruder wohnt nicht hier; kannst du mir helfen?; die Kinder spielen draußen
french,French,fr = French
- où est la clé ?; nous partons demain matin; il fait très froid aujourd'hui; je voudrais un café; mon frère habite à la campagne; les enfants jouent dehors; elle ne parle pas beaucoup; avec plaisir, merci; c'est trop cher
spanish,Spanish,es = Spanish
- ¿dónde están las llaves?; mañana vamos a la playa; hace mucho calor hoy; quiero una cerveza; mi hermano vive en el campo; los niños juegan fuera; no entiendo nada; muchas gracias por todo; es demasiado caro
italian,Italian,it = Italian
- dove sono le chiavi?; domani andiamo al mare; oggi fa molto caldo; vorrei un bicchiere di vino; mio fratello abita in campagna; i bambini giocano fuori; non capisco niente; grazie mille; costa troppo
dutch,Dutch,nl = Dutch
- waar zijn de sleutels?; wij gaan morgen naar zee; het is erg koud vandaag; ik wil graag een biertje; mijn broer woont op het land; de kinderen spelen buiten; ik begrijp het niet; hartelijk bedankt
portuguese,Portuguese,pt = Portuguese
- onde estão as chaves?; amanhã vamos à praia; hoje está muito quente; queria um café, por favor; o meu irmão mora no campo; as crianças brincam lá fora; não percebo nada; muito obrigado

# action,device_action,room_task,command_type,what_to_do,domain
music,play music,audio = wants to hear something
- put on some {genre}; turn it up, I love this song; what's that tune?; skip this one; my gym playlist please; something calm for dinner; louder!; shuffle my favourites
light,lighting,lamps = wants it brighter or darker
- it's pitch dark in here; I can't read in this gloom; make it cosy and dim; who left the lamp burning?; brighter please; candle mood tonight; the bulb in the hall, off
heating,temperature,climate = wants it warmer or colder
- I'm shivering; it's like an oven in here; two degrees more; open the radiator; my feet are ice; too stuffy and hot for me; warm up the bathroom before I shower
alarm,timer,clock,reminder = wants to be told in time
- wake me at {time}; tell me when {int 3 40} minutes are over; don't let me miss the train at {time}; the eggs need {int 4 9} minutes; I must be up by {time}; give me a nudge at {time}
shopping,shopping list,groceries = wants to buy
- we are out of {ingredient}; put {ingredient} on the list; I need {ingredient} and {ingredient} for tonight; there's no more toilet paper; buy nappies; we could do with some {ingredient}
call,phone,telephone = wants to speak to somebody
- get me {first} on the line; dial {phone}; ring my mother; I have to speak to {fullname}; redial the last number; put me through to {company}
navigation,directions,route,maps = wants to find the way
- take me to {street}; how do I get to {city} without the motorway?; nearest petrol station; I'm lost; is there a jam ahead?; on foot to the museum; which exit for {city}?

# answer,reply,response,agrees,decision,consent,is_yes
yes,agreed,true,accept,accepted,affirmative = agrees
- count on me; I'm in; by all means; with the greatest pleasure; you bet; sounds like a plan; consider it done; I could not agree more; exactly, that's how it is; fine by me; go for it; okay, let's; we'd be delighted to come; nothing I'd rather do; indeed it is; I do, I do!; you have my word and my vote; sign me up
no,refused,false,decline,declined,negative = does not agree
- no way; I have to pass; sorry, that won't work; forget it; I'd rather you didn't; thanks, but no; I beg to differ; it isn't so; count us out; under no circumstances; we must turn it down; I can't say yes to that; nope, never; that's where you are mistaken; I'm against it; not in a hundred years; we are not coming; leave me out of this
maybe,unsure,undecided,perhaps,open = has not decided
- let me sleep on it; I can't tell yet; ask me again tomorrow; it depends on the weather; could go either way; I have to look at my diary first; my wife has to say what she thinks; hard to say; we'll see; I'm in two minds; give me a day or two to think; if the babysitter has time; fifty-fifty, I'd say

# size,size_class,how_big,magnitude,dimension
small,little,tiny,s = little of it
* the flat; the dog; the island; the car; the screen; the garden; the portion; the town; the bag; the camera; the boat; the desk
+ fits into a hand; is no bigger than a stamp; leaves no room to turn round; looks like a toy; could be overlooked; can be crossed in three steps; is smaller than I thought; slips into any pocket; is a dwarf beside the others
- you need a magnifying glass for it; a mouse would feel cramped; there is less of it than of salt in a soup; one bite and it was gone; a doll could live there; not even a cat would fit in
large,big,huge,l = much of it
* the flat; the dog; the island; the car; the screen; the garden; the portion; the town; the bag; the camera; the boat; the desk
+ takes up half the room; makes everything else look little; would hold a whole family; needs two people to lift it; goes on and on; is bigger than I thought; does not get through the door; is a giant beside the others; can be seen from miles away
- we got lost inside it; ten men could not carry it; an elephant would fit in; you need a ladder to reach the top; it fed the whole village; a day's walk from end to end

# aspect,topic,about,feature,what_is_rated,category,subject
cleanliness,hygiene,tidiness = how clean it is
* the bathroom; the carpet; the sheets; the kitchen; the windows; the pool; the cutlery; the towels
+ had stains; smelled of mould; shone like new; was full of hairs; had not been wiped for weeks; sparkled; was covered in dust; could have been used for surgery
- there were crumbs in the bed; you could eat off the floor; spiders in every corner; somebody had scrubbed every tile; I found a used plaster under the pillow; fresh linen every day
noise,quietness,sound,sleep = how loud or quiet it is
* the street; the neighbours; the lift; the disco next door; the air conditioning; the bar below; the building site; the pipes
+ kept us awake; roared all night; could be heard through the walls; was as silent as a grave; hummed until morning; woke the baby; rattled from five o'clock on
- we slept with plugs in our ears; not a sound but the birds; doors slammed all night; you could hear a pin drop; thin walls, we heard every word; a motorway under the window
food,meals,breakfast,kitchen = what there is to eat
* the breakfast; the soup; the bread; the buffet; the roast; the coffee; the fish; the dessert
+ was cold; tasted of nothing; was fresh from the oven; melted on the tongue; was salted twice; was the same every day; made us ask for the recipe; was burnt at the edges
- nothing for people who eat no meat; we ate until our belts were too tight; the cook knows his trade; eggs like rubber; the portions left us hungry; the best pancakes for miles
staff,service,people,personnel = the people who work there
* the receptionist; the waiter; the porter; the lady at the desk; the manager; the barman; the chambermaid; the boy at the door
+ smiled all day; looked through us; knew our names; shouted at a guest; carried our bags; forgot us twice; helped with everything; rolled her eyes at us; could not have been kinder
- nobody greeted us; they read every wish from our eyes; we rang for an hour and nobody came; always a friendly word; they argued in front of the guests; a handwritten card on the pillow
price,value,money,costs = what it costs
* the bill; the rate; the minibar; the parking fee; the deposit; the tourist tax; the surcharge for the dog
+ was a shock; was less than we had feared; is too steep; was fair; emptied our purse; is a bargain; doubled overnight; was not mentioned anywhere
- {money} a night, unbelievable; you get a lot for little; we paid extra for every towel; elsewhere you pay half; cheap as chips; hidden charges everywhere
location,position,surroundings,area = where it is
* the beach; the station; the old town; the next shop; the bus stop; the ski lift; the park
+ is just round the corner; is miles away; can be reached on foot; is two minutes from the door; is at the other end of the town; lies right behind the house; can be seen from the window
- in the middle of nowhere; everything within walking distance; you need a car to get anywhere; right by the harbour; a long climb from the bus; the heart of the town

# specialist,department,doctor,clinic,ward,specialty
eyes,eye clinic,ophthalmology,optician = eyes and sight
* my left eye; my sight; the eyelid; my new glasses; the iris
+ got worse; is red and itches; hurts in bright light; waters all day; shows everything double; is swollen shut
- I see black dots; letters swim when I read; something flew into it at work and now I see nothing but fog; I can't make out street signs any more; flashes of light at the edge of what I see
teeth,dental,dentistry,dentist = teeth and gums
* a molar; my filling; the gum; my crown; the brace; a wisdom tooth
+ fell out; bleeds when I brush; throbs all night; broke on a nut; aches when I drink something cold; is loose; has a hole
- I can't chew on the left; my jaw is swollen since the root was treated; a bit of an incisor chipped off; my child will not stop grinding at night; time for a check of my bite
skin,dermatology,skin clinic = skin, hair and nails
* a mole; the rash; my scalp; the scar; a wart; the birthmark
+ itches like mad; has changed its colour; spreads down the arm; peels; is growing; came after sunbathing; flakes
- I have spots all over my back; red patches since I use a new soap; my nails turn yellow; blisters between the toes; my hair comes out in clumps; acne at forty
heart,cardiology,cardiac = heart and circulation
* my pulse; my heart; my blood pressure; the pacemaker
+ races when I climb stairs; skips beats; is far too high; flutters at night; gives me a fright; beeps
- a tight feeling in my chest; my father had two infarctions and I feel pressure there, too; I faint when I get up; swollen ankles and no breath; pain that goes into the left arm
bones,orthopaedics,orthopedics,surgery = bones and joints
* my knee; the ankle; my hip; the shoulder; my lower back; a finger; the wrist; my neck
+ is swollen after the match; hurts at every step; cracks when I bend it; cannot be moved; was twisted on the stairs; is stiff in the morning; gave way
- I fell off a ladder; I think it is broken; it popped out and back in; the plaster cast comes off next week; a disc slipped when I lifted a crate
stomach,gastroenterology,digestion = stomach and gut
* my belly; my stomach; the gut; my tummy
+ cramps after milk; burns at night; bloats like a balloon; will not stay down; rumbles all day; feels like a stone
- I throw up since yesterday; acid comes up when I lie flat; I have been running to the toilet all day; no appetite and a bitter taste; blocked for a week

# cause,fault_type,kind,component,area,problem_type
hardware,device,equipment,physical = the device itself
* the fan; the screen; the keyboard; the hinge; the power socket; the battery; the mouse; the hard disk; the webcam; the docking station
+ is cracked; smells burnt; got wet; rattles; fell down the stairs; has a loose contact; is swollen; glows hot; makes grinding noises; lost a screw
- I spilt coffee over it; the S key is gone; it bleeps three times and stays black; sparks flew; the plug is bent; it will not charge with any cable
network,connection,internet,connectivity = the connection
* the wifi; the VPN; the router; the LAN socket; the signal; the line; the hotspot; the DNS server
+ drops every ten minutes; is out in the whole street; reaches {int 1 9} megabits only; does not get through the walls; refuses my laptop; was cut by an excavator; times out; has no address for me
- I'm offline since the morning; pages load on the phone net but not here; the call breaks up all the time; ping takes two seconds; the cable guy has to come
software,program,application,code = programs
* the spreadsheet; the mail program; the driver; the browser tab; the game; the import; the script; the calendar app; the licence check; the form
+ closes itself; asks for a newer version; throws an exception; shows the wrong language; saves nothing; computes the sums wrongly; hangs since the upgrade; cannot open old files
- a window pops up every minute; undo does not undo; my settings are reset each time; it says that the trial is over; the macro runs for ever
access,permissions,login,rights = rights and passwords
* my password; my badge; the shared folder; the admin account; the second factor; the token; my role; the approval
+ is refused; has expired; is not mine to open; was taken away; belongs to a colleague who left; cannot be renewed; is missing in the list
- I am new and can't get in anywhere; it says that I'm not allowed to see this; three wrong tries and I'm blocked; please put me into the group of {fullname}; who can let me into the wiki?

# tone,register,style,formality,manner
formal,official,polite,business = as one writes to strangers
- we would be obliged if you sent us the file; please find enclosed the agreement; with reference to your letter of {date}; I should be grateful for a reply; may I draw your attention to clause {int 2 30}; on behalf of the board I wish to inform you; kindly confirm receipt; we regret to advise you of a delay; I remain yours faithfully; the undersigned hereby agrees
casual,informal,chatty,relaxed = as one writes to friends
- hey, what's up?; lol, no idea; gotta run, see ya; wanna grab a bite?; dude, that was wild; thx a bunch, you rock; nah, can't be bothered; omg did you see that?; yo, you there?; cya tmrw; chill, it's no biggie; haha, good one

# time,tense,when,time_frame
past,before,earlier,over = it was
- we sold the house years ago; last summer I swam every day; she used to sing here; the bus had already gone; they met at school and married young; I lost my keys yesterday; it rained all last week; he once owned a circus; the shop closed down in {year}; I ate too much at lunch
present,now,current,today = it is going on
- I am peeling potatoes; the kettle is whistling; it's snowing outside as I write; we're standing in a queue; at this moment she is on stage; the baby is asleep; I'm holding the phone with one hand; they are painting the fence; the sun is just coming up
future,later,upcoming,to come = it will be
- next year we'll move; I'm going to learn {language}; tomorrow she starts her new job; they will have grown up by then; soon there'll be a new bridge; we intend to marry in spring; one day I shall write a book; the band plays here in two weeks; he is about to jump
"""
