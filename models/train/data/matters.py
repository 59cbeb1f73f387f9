"""What messages, notes and news are about, and how they are meant: for training alone.

The notation is that of `sorts`, but a class has whole texts; `{product}` is a value of that kind.
"""

from __future__ import annotations

TEXT = """
# - | intent,request,reason,topic,category,issue_type,contact_reason,purpose
refund,money back,refund_request : I'd like my money back for the {product}; please pay back the {money}; can I get a refund?; I sent the {product} back weeks ago and still have no money; reimburse me please; when will the {money} be back on my card?; you promised to pay me back
cancellation,cancel,cancel_order,terminate : I don't need the {product} any more, please take it off my order; please stop my subscription; I'd like to end my contract; call off the order {code}; I changed my mind about the {product}; please do not renew my membership; can I still withdraw from the purchase?
delivery,shipping,late delivery,where_is_my_order : my {product} still isn't here; it should have come on {date}; when does my parcel get here?; the tracking has not moved for days; order {code} has not shown up; how long does shipping take?; nobody rang the bell, yet it says delivered; was it posted yet?
damaged item,damage,damaged_goods,broken on arrival : the {product} came with a crack; the box was squashed and the {product} is in pieces; it was scratched when I unpacked it; the glass is shattered; one leg of it was snapped off; the screen had a dent out of the box
wrong item,wrong_product,mix-up : I ordered a {product} and got a {product}; this is not the colour I chose; you sent me somebody else's parcel; it's the wrong size; what came is not what I ordered; I got size 38 instead of 42
missing item,missing_parts,incomplete : the screws are not in the box; one of the two {product}s was not in the parcel; the power cable is missing; only half of the order came; there was no manual inside; a part is lacking
password reset,login,access,password : I can't remember my password; the reset link does not come; I can't sign in any more; it says my password is wrong; I need access to my account again; the code for logging in never arrives; my account has been blocked after three tries
bug report,bug,technical problem,error : the app closes itself when I tap on save; the page stays white; I always get error {int 100 599}; since the update nothing loads; the button does nothing; the program hangs at {int 2 99} percent; it freezes on start-up; the export file is empty
feature request,suggestion,idea,wish : a dark mode would be nice; could you add a search box?; it would be great to export to {language}; please let us sort the list by date; I miss a calendar view; have you thought of an offline mode?; an undo button would help a lot
invoice,billing,payment,invoice_question : there is a number on my bill that I don't understand; I was billed {money} instead of {money}; please send me the invoice for {date}; the VAT on the bill is wrong; you debited me two times; my card gets rejected at the checkout; what is the charge of {money} for?
price question,pricing,quote,sales : what does it cost for {int 5 90} people?; do you give discounts for students?; please make us an offer for {int 20 400} pieces; is there a cheaper plan?; how much is the {product} with shipping?; could you send a quote?; do you have a price list?
upgrade,plan change,change_plan : we'd like to go from basic to premium; please move me to the bigger plan; can I get more storage?; I want to switch to the yearly plan; we need five more seats
address change,change_address,update data,data_change : I've moved, my new address is {address}; please send post to {address} from now on; my surname has changed; my new email is {email}; here is my new phone number {phone}; please update my details
appointment,booking,schedule,meeting request : could I come by on {date}?; is {time} still free?; I'd like to book a slot with {fullname}; can we move our appointment to {date}?; do you have anything on {date} in the morning?; let's find a time for a call
opening hours,hours,opening_times,store info : are you open on Sundays?; until when can I come in the evening?; what time do you close on {date}?; are you there over Christmas?; when does the shop in {city} open?
warranty,guarantee,repair : my {product} broke after five months, is that covered?; how long is the guarantee?; can you mend my {product}?; the motor gave up, I bought it on {date}; is a repair still free?; I'd like to send it in to be fixed
job application,application,jobs,careers : I'd like to work for you as a {job}; my CV is attached; are there any vacancies in {city}?; I am applying for the post of {job}; do you take interns?; I read that you are looking for a {job}
product question,information,product_info,question : does the {product} also come in {color}?; is the {product} waterproof?; how heavy is it?; which {product} fits a {product}?; is it made of {material}?; does it run on batteries?; will there be a new model?
return,exchange,send back : how do I send the {product} back?; I'd like to swap it for a bigger one; please send me a return label; may I bring it back to the shop?; it does not fit, can I exchange it?
thanks,praise,compliment,feedback_positive : you were so helpful, thank you; that was the fastest delivery ever; {fullname} on the phone was a gem; I just wanted to say that I'm very happy; great work, keep it up; I told all my friends about you; what lovely packaging
complaint,dissatisfaction,anger : this is the third time that nothing works; nobody calls me back; I have been on hold for {int 20 90} minutes; your staff hung up on me; I am really fed up with you; this is no way to treat customers; I expect an apology
unsubscribe,opt out,newsletter : stop sending me these mails; take me off your list; I do not want your newsletter; please remove my address from the mailing list; no more advertising please
privacy,data protection,delete_account : delete everything you have stored about me; which data of mine do you keep?; please close my account for good; I do not agree that you pass on my data; who can see my profile?

# - | department,team,queue,route_to,assigned_team,forward_to
Human Resources,HR,hr,personnel,people : my payslip for last month is wrong; how many days of holiday do I have left?; I'd like to take parental leave; {fullname} starts as a {job} on {date}; I'm ill and stay at home today; whom do I tell about my new bank account for my salary?; we should hire another {job}; the certificate from my doctor is attached; when is the job interview?
IT,it,it_support,helpdesk : my laptop won't start; the VPN drops all the time; I need a new mouse; the printer on the second floor says offline; please install {product} on my computer; the wifi in the meeting room is down; my mailbox is full; I need admin rights; my screen flickers
Finance,finance,accounting,accounts : the supplier wants to know when we pay; attached is the invoice over {money}; please book this on cost centre {int 100 999}; the expense claim for my trip to {city}; the tax office has written to us; what is left in the budget?; the bank needs a signature; the audit starts on {date}
Legal,legal,law : please look over the contract with {company}; they threaten to sue us; we need a non-disclosure agreement; may we use this picture?; the licence terms have changed; a letter from a lawyer came today; somebody copied our trademark
Marketing,marketing,advertising,communications : the flyer for the fair has to be printed; the campaign starts on {date}; who writes the post for social media?; our logo on the banner looks wrong; a journalist asks for an interview; the newsletter goes out tomorrow; we want an ad in the local paper
Sales,sales,account_management : a customer asks for an offer over {int 10 900} pieces; {company} wants a demo; we won the deal with {company}; who looks after the new client?; the lead from the fair wants a call back; can I give {company} ten percent off?
Logistics,logistics,warehouse,shipping : the lorry stands at the gate; we have run out of boxes; pallet {code} can't be found; the forklift is broken; when does the container from {city} arrive?; the goods have to be on the ramp by {time}; stocktaking is on {date}
Facilities,facilities,building,maintenance : the heating in room {code A99} is cold; a window on the first floor doesn't shut; the lift is stuck; the toilet is blocked; the lamp in the corridor flickers; there is a puddle under the sink; we need a key for the cellar; the cleaners did not come
Purchasing,procurement,purchase,buying : please order {int 2 50} {product}s; we should find a cheaper supplier for paper; the price at {company} went up; who may sign orders over {money}?; compare the offers of {company} and {company}
Research,research,r_and_d,development : the prototype passed the test; the experiment has to be repeated; we filed a patent; the new sensor measures too high; results from the lab are in; we tried another alloy

# - | topic,section,category,subject,news_category,rubric,theme
sports,sport : {city} won the derby {int 1 5} to 0; she ran the marathon in record time; the coach was fired after the defeat; the champion lost in three sets; the team is top of the league; he signed with a new club; the cyclist won the stage in the mountains; she swam to gold; the referee showed the red card
politics,government,world : the government wants to raise the tax; the mayor of {city} steps down; voters go to the polls on {date}; the two presidents signed a treaty; the opposition demands new elections; the parliament argued about pensions; a new ambassador came to {city}; the senate voted against the bill
technology,tech,it,digital : a new phone with a foldable screen; hackers stole passwords of thousands; the robot can climb stairs; the programming language gets a new version; self-driving cars on trial in {city}; the laptop has a faster processor; quantum computers are getting nearer; the social network changes its rules
business,economy,finance,money : shares of {company} went up by {int 2 30} percent; {company} lays off {int 100 900} people; inflation fell to {num 1 9 1} percent; the central bank leaves rates alone; {company} buys {company}; sales were weaker than expected; oil got dearer; exports grew
science,research,knowledge : scientists discovered a new planet; the telescope took a picture of a far galaxy; a fossil of a giant bird was dug up; researchers grow tissue in the lab; the probe landed on Mars; DNA from the ice age was read; the formula was proved after a hundred years
health,medicine,wellness : drink enough when it is hot; the flu goes round in {city}; a new medicine against migraine; sleep is good for the memory; how to treat a sprained ankle; doctors warn of too much sugar; a vaccine for children; walking lowers the blood pressure
culture,arts,entertainment,music : the museum shows paintings from {country}; the band goes on tour; her new novel is a bestseller; the film got three prizes; the opera opens with a new staging; the singer's album is number one; a sculpture was sold for a record sum; the series gets a second season
weather,climate : tomorrow it will rain in the north; a storm is coming from the sea; up to {int 28 41} degrees in {city}; black ice on the roads; sunny with a few clouds; thunderstorms in the afternoon; the snow line drops to {int 300 900} metres; fog in the valleys
travel,tourism,holidays : the nicest beaches of {country}; three days in {city} for little money; hiking huts in the Alps; what to pack for a cruise; the night train to {city} is back; the best time for a safari; a hotel made of ice; hand luggage gets smaller
food,cooking,recipes,cuisine : bake the dough for {int 20 60} minutes; fry the onions in butter; a soup of pumpkin and ginger; which wine goes with fish; let the rice simmer; whisk the eggs with sugar; a restaurant in {city} got a star; season with salt and pepper
education,school,learning : the pupils get tablets; exams start on {date}; a new university in {city}; teachers are missing everywhere; how children learn to read; the class goes on a trip; fees for students rise; homework is to be abolished
crime,police,law : a jewellery shop in {city} was robbed; the police caught a burglar; the jury found him guilty; a bank robber got away; stolen paintings turned up; the court sent her to prison; a man was arrested at the airport; the thief left fingerprints
environment,nature,ecology : the glaciers melt faster; wolves are back in the forest; plastic in the sea; bees are dying; a dam for the river was torn down; the city plants a thousand trees; less carbon dioxide from cars; the rare frog was found again
cars,motoring,transport,traffic : ten miles of jam on the motorway; the new electric car goes {int 300 700} km; petrol costs more; a bridge is closed for repairs; drivers have to change tyres; a recall of {int 1000 90000} vehicles; the bus line gets longer; speed cameras in {city}
fashion,style,beauty : skirts get shorter this summer; the designer showed her collection in {city}; which scarf goes with the coat; pastel is the colour of the season; a haircut for curly hair; lipstick that lasts; sneakers with a suit
property,real estate,housing : a flat with three rooms and a balcony; rents in {city} rise again; the house has a cellar and a garden; the landlord wants to sell; how to get a mortgage; new homes by the river
religion,faith : the pope visits {country}; pilgrims walk to the shrine; the mosque opens its doors; a new rabbi in {city}; the parish collects for the bells; the monks brew beer
gaming,games,video games : the new level has two bosses; the console is sold out; the sequel gets a multiplayer mode; she won the chess tournament online; an add-on with new maps; his avatar got a sword

# - | emotion,mood,feeling,tone,sentiment
joy,happy,happiness,joyful : I got the job, I can't stop smiling; we danced all night; best day of my life; she said yes!; the sun is out and I'm singing; I passed my exam, hooray; I could hug the whole world; what a wonderful surprise
sadness,sad,grief,unhappy : my dog died yesterday; I've been crying since {date}; I feel so lonely; she left and I don't know what to do; nothing is fun any more; I miss my grandma terribly; we said goodbye for ever
anger,angry,furious,annoyed : how can they be so careless!; I've had enough of this nonsense; he lied to my face again; stop shouting at me; who scratched my car?; I'm boiling inside; this makes me so mad
fear,afraid,scared,anxious : I hear steps behind me; I dare not open the letter; what if the plane crashes?; I can't sleep before the exam; there was somebody in the house; my heart races when I see a spider; I worry about tomorrow
surprise,surprised,astonished : I didn't expect that at all; wow, really?; you could have knocked me down with a feather; I can't believe my eyes; out of nowhere he stood at the door; since when do you have a beard?
disgust,disgusted : there was a hair in my soup, yuck; the smell makes me sick; mould all over the bread; I can't touch that, it's slimy; rats in the kitchen, ugh; that turned my stomach
love,affection : you are everything to me; I think of you every minute; I'd marry you tomorrow; my heart beats for you; kisses, yours for ever; I adore you
boredom,bored : nothing ever happens here; I've been staring at the wall for hours; is this film ever going to end?; same old meeting, same old slides; I don't know what to do with myself; yawn
gratitude,grateful,thankful : I can never thank you enough; you saved me; so kind of you to help; I owe you one; bless you for all you did; without you I would have failed
pride,proud : I finished first of {int 40 900}; my daughter won the prize; I built it all by myself; look what I made; we did it against all odds

# - | urgency,priority,severity,level,importance
critical,urgent,high,blocker,immediate : all our screens are black, work stands still; our customers are unable to pay; please call at once; smoke comes out of the machine; we lose money every minute; the server room is under water; this can't wait, the deadline is in an hour; production stands still; security hole, everyone can see the data
medium,normal,moderate : one report is slow, but it works; please have a look within the week; some users see an odd message; there is a way round it for now; the search finds too much; would be good before the end of the month
low,minor,not urgent,trivial : there is a typo on the help page; the icon is a pixel too far left; if you are bored some time; a cosmetic thing; just an idea for later; no rush at all; next year is fine; the grey could be darker

# - | document_type,document,kind,type,doc_type,file_type
invoice,bill : amount due {money}, payable within {int 10 30} days; invoice no. {code}, please transfer {money}; for our services we charge you {money} plus VAT; net {money}, tax {money}, total {money}
letter,correspondence : Dear {person}, I hope this finds you well. Yours sincerely, {fullname}; Dear Sir, thank you for your letter of {date}; Dear grandma, we are having a lovely time
contract,agreement : the parties agree as follows; the tenant pays {money} a month to the landlord; this agreement may be ended with three months' notice; signed in {city} by both parties; clause 4: liability
recipe,cooking instructions : take {int 2 5} eggs and 200 g of flour; bake at 180 degrees; mix, knead and let it rest; simmer for {int 10 50} minutes, then add the {ingredient}
cv,resume,curriculum vitae : 2015 to 2019 {job} at {company}; skills: {list skill}; education: degree from the university of {city}; born {date}, languages: {list language}
manual,instructions,user guide : press the red button for three seconds; insert the batteries as shown; before first use, remove the film; step 2: tighten the screws; do not put the device under water
minutes,meeting notes,protocol : present: {list first}; action item: {first} calls {company}; next meeting on {date}; agreed: the budget stays; agenda item 2, {topic}
news article,news,report,press release : {city}, {date}: the mayor opened the new bridge; as a spokesman told reporters; the fire broke out on Monday night; {company} announced on {date} that it will open a plant
advertisement,ad,advert : only this week: {product} for {money}; now with 30 percent off; buy two, get one free; the new {product}: you'll love it; hurry, while stocks last
diary,journal,diary entry : today I got up late and it rained; dear diary, I met {first} again; tired, but it was a good day; nothing much happened, I read a little
poem,poetry : the moon is pale, the night is long, the nightingale repeats her song; roses are red, violets are blue; o silent sea, o falling star
receipt,till receipt : {food} {num 1 9 2}, {food} {num 1 9 2}, total {num 10 40 2}, paid cash, change {num 1 9 2}; thank you for shopping at {company}, VISA **** {int 1000 9999}

# - | speech_act,type,kind,intent,message_type,form,act
question,ask,query : where did you put the {product}?; how many of you are coming?; who is {fullname}?; can I park here?; is it far to {city}?; when does it start?; why is the {noun} closed?; do you take cards?; which one is yours?
statement,inform,information,fact : the {product} is in the cellar; we arrive at {time}; {first} works in {city}; the shop shuts at {time}; the meeting was moved to {date}; the {noun} is {color}; I put it on your desk
command,instruction,order,imperative : close the door; bring me the {product}; sign here; turn left at the church; put the {food} on the table; don't touch that; send it to {email}; wait for {first}; be quiet
greeting,hello : good morning everyone; hello {first}; hi there; hey, nice to see you; welcome back; good evening, {first}; hi folks
farewell,goodbye,bye : see you tomorrow; bye bye; take care; until next week; so long, {first}; good night and sleep well; have a safe trip home
apology,sorry : I'm so sorry about that; please forgive me for being late; that was my mistake; I didn't mean to hurt you; my apologies for the mix-up; it won't happen again
promise,commitment : I'll bring it back on {date}; you can count on me; I will finish it by {time}; we'll take care of it, I promise; I'll call you tonight for sure
offer,proposal,suggestion : shall I help you with that?; you can have my {product}; why don't we take the train?; let's meet at {time}; would you like some {food}?; I could drive you home
refusal,rejection,decline : no way; I can't make it on {date}; sorry, I'm busy; thanks, but I'd rather not; that's out of the question; we have to turn your offer down; count me out
agreement,acceptance,confirmation,consent : sounds good to me; fine, let's do it; I'm in; all right, {time} it is; you're right; we accept your offer; {date} suits me; okay, deal
thanks,gratitude : thank you for the {food}; thanks a bunch; I'm grateful for your help; many thanks, {first}; that's so kind of you
warning,alert,caution : careful, the floor is wet; watch out for the dog; don't drink that, it's poison; mind the step; the ice is thin; beware of pickpockets in {city}
congratulations,good wishes,wish : happy birthday, {first}!; all the best for the new job; congratulations on the baby; get well soon; good luck in the exam; merry Christmas to you all

# - | label,class,spam,verdict,is_spam,filter
spam,junk,unwanted : you are our lucky winner, claim {money} now; make {money} a day without work; hot singles in {city} are waiting; click this link to unlock your prize; cheap watches, 90 percent off; your inheritance of {money} is waiting, send your bank details; lose {int 5 30} kilos in a week; buy followers now; act now, this offer ends tonight!!!
not spam,ham,legitimate,ok,normal : are you coming to dinner on {date}?; here are the photos from {city}; the meeting was moved to {time}; can you proofread my draft?; {first} forgot the keys again; I've attached the report on {topic}; grandma is out of hospital; your library book is due

# - | part_of_day,time_of_day,when,daytime
morning : we met at breakfast; the cock crowed and the sun came up; at {int 6 10} am sharp; before the first lesson; with the first coffee; at sunrise; I had just got up
afternoon : it was after lunch; at {int 2 5} pm; when school was out; at tea time; after the midday nap; at half past three, with cake
evening : just before dinner; at sunset; after work, with a beer; when the news came on; at {int 7 9} pm; when the street lamps went on
night : at {int 1 3} am; everybody was asleep; under the stars; it was past midnight; in pitch darkness; while the owls hooted

# - | audience,age_group,stage,life_stage
children,child,kids : she goes to kindergarten; he is {int 4 9} and plays with blocks; the pupils of class two; my little one lost a milk tooth; they are learning the alphabet
teenagers,teen,youth : she is {int 13 17}; he has his first moped; stress with parents and spots; the class of year ten; she is allowed out until ten
adults,adult,grown-ups : she is {int 30 50} and runs a firm; he has two children and a mortgage; working parents; she pays her taxes; after ten years in the job
seniors,elderly,retired,older people : he has been retired since {year}; grandma is {int 75 96}; she lives in a nursing home; a walking frame and a hearing aid; he draws his pension; her great-grandchildren visit her

# - | topic,area,field,subject,school_subject,course
mathematics,maths,math : solve the equation for x; the angles of a triangle; pull the root of {int 4 90}; fractions and percentages; the proof of the theorem; draw the graph of the function
biology,life science : the cell divides; photosynthesis in leaves; how the heart pumps blood; genes and heredity; the food chain in the pond
chemistry : the acid reacts with the base; the periodic table; salt dissolves in water; two atoms of hydrogen; burn the magnesium
physics : the force on a falling body; voltage and current; light is bent by a prism; the speed of sound; energy can't be lost
history : the French Revolution; the Romans crossed the Alps; in the Middle Ages; the war ended in {year}; the pharaohs of Egypt; the fall of the Berlin Wall
geography : the longest river of {country}; capitals of Africa; volcanoes and continents; how to read a map; where the Alps begin
literature,english : read chapter two of the novel; the rhyme of the poem; who is the narrator?; a play by Shakespeare; the sonnet
music : learn the scale of C; the choir rehearses; sing in tune; what is a fugue?; read the notes; the rhythm of the waltz
art : mix blue and yellow; draw a still life; the painters of the Renaissance; sculpt it in clay; shade with a pencil
physical education,sport,pe : warm up, then run three laps; climb the rope; jump over the box; bring your gym shoes; throw the ball to your partner

# - | room,place,where,location
kitchen : the stew is on the stove; I'm washing the dishes; the kettle whistles; the oven is still hot; he chops onions
bathroom : she is brushing her teeth; the bath overflowed; the tap over the basin drips; he is having a shower; the towel is wet
bedroom : the children are asleep; make the bed; the alarm clock rang; he snores on his pillow; turn the mattress
living room,lounge : we watch television; the sofa is new; the cat sleeps by the fire; guests sit round the coffee table
garden,outside : the grass needs cutting; the roses bloom; the swing hangs from the tree; we barbecue tonight
garage : the car needs new tyres; the bikes hang on the wall; I changed the oil; the door opens by remote
office,study : I'm typing a report; the printer is out of ink; papers all over the desk; a video call with {company}
cellar,basement : the wine is stored there; the boiler is down the stairs; jars of jam on the shelf; it's damp and dark

# - | answer,reply,decision,confirmed,accepted,response,coming
yes,true,accepted,coming : yes please; sure, why not; I'd love to; count on us; with pleasure; we'll be there; of course I will; gladly; okay, I'll do it; that works for me
no,false,declined,not coming : no thanks; I'm afraid I can't; not this time; we have to stay at home; never; unfortunately not; I'd rather not; that doesn't work for us; nope
maybe,unsure,undecided,tentative : I'm not sure yet; perhaps, it depends on the weather; I have to ask {first} first; could be; I'll let you know on {date}; fifty-fifty; we'll see

# - | size,size_class,magnitude
small,tiny,little : as little as a pea; it fits in a matchbox; an ant could carry it; no longer than my thumb; a mouse of a house; you need a magnifying glass to see it
medium,average,middle : neither big nor little; about the usual size; it's the one between the two; like most others of its sort
large,big,huge : as tall as a tower; it took ten men to carry it; it did not go through the door; a giant of a thing; we needed a crane; as wide as a street

# - | speed,pace
fast,quick : it shot past like an arrow; gone in a second; before I could blink; she raced down the hill; in no time at all
slow,sluggish : at a snail's pace; it took ages; we crept along; a tortoise would have won; he dawdled all the way

# - | temperature,feel,climate
hot,warm : the tarmac melts; I burnt my tongue on the soup; forty degrees in the shade; we sweat all day; open the window, it's like an oven in here
cold,freezing : my fingers are blue; put on two jumpers; the lake is frozen; ice on the windscreen; I'm shivering; ten below zero
"""
