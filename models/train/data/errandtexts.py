"""Everyday tools, and requests as people write them: for training alone.

Tools that are alike stand in one group, which begins with `## name`: requests are told apart within it, and no tool of
another group fits. A tool is `names : description`, its parameters as in `tooltexts`, and requests in lines with `>`.
`[key=value]` behind a request is an argument that other words say. Kinds of values are those of `values`.
"""

from __future__ import annotations

TEXT = """
## time
set_alarm,alarm,wake_me,create_alarm : Set an alarm clock.
time time; label? said todo=what it is for
> I need to be at the airport early, wake me at {time} | don't let me sleep past {time} | can you get me up at {time}? | I want to be woken at {time} | alarm for {time} please | {time} alarm, label it {label} | tomorrow I have to be up by {time} | my shift starts early, so ring at {time} | make sure I'm awake at {time} | wake-up call at {time}
set_timer,timer,start_timer,countdown : Start a countdown.
minutes int 1 120; label? food
> the {label} needs {minutes} minutes, keep an eye on the time | {minutes} minutes for the {label}, go | tell me when {minutes} minutes are over | ping me in {minutes} minutes | eggs are on, {minutes} minutes please | give me {minutes} minutes on the clock | the pizza has to come out in {minutes} minutes | I'll take a nap for {minutes} minutes, wake me after that | {minutes} min timer
create_reminder,remind_me,add_reminder,set_reminder : Remind the user of something at a time.
text said todo; time? time; date? date
> don't let me forget to {text} | at {time} I have to {text}, please remind me | can you remind me to {text} on {date}? | remind me: {text}, {date} at {time} | I always forget it, so remind me to {text} at {time} | nudge me at {time} to {text} | I should really {text} on {date}, give me a reminder | make sure I remember to {text}
world_clock,get_time,current_time,time_in_city : Tell the time of day in a city.
city city
> is it too late to call somebody in {city}? | what's the clock say in {city} right now? | my sister lives in {city}, what time do they have there? | are they awake in {city}? | time in {city}? | how many o'clock is it over in {city}?
stopwatch,start_stopwatch,measure_time : Start or stop the stopwatch.
command enum start/stop/reset
> I'm about to run, measure my time [command=start] | stopwatch on [command=start] | I'm done running, stop the watch [command=stop] | set the stopwatch back to zero [command=reset] | clear the stopwatch [command=reset] | start measuring now [command=start] | that's it, I've crossed the line, stop measuring [command=stop]

## calendar
create_event,add_event,calendar_add,schedule : Put an appointment into the calendar.
title said event; date date; time? time
> {title} on {date}, put it in my calendar | I've got {title} on {date} at {time}, can you note it? | save the date: {title}, {date} | {title} is now fixed for {date}, {time}, please enter it | block {time} on {date} for {title} | new appointment: {title}, {date}, {time} | we agreed on {date} at {time} for {title}, add that please
list_events,get_agenda,show_calendar,calendar_day : List the appointments of a day.
date date
> what do I have on {date}? | am I free on {date}? | what's on my calendar for {date}? | is there anything on {date}? | show me my day on {date} | how busy am I on {date}? | which appointments are there on {date}?
cancel_event,remove_event,delete_appointment : Remove an appointment from the calendar.
title said event
> {title} is off, take it out | I won't go to {title}, remove it from my calendar | please cancel {title} | {title} was called off | scrap {title} | I can't make it to {title}, delete it
move_event,reschedule,change_appointment : Move an appointment to another day or time.
title said event; date? date; time? time
> {title} has to be later, move it to {time} | can we push {title} to {date}? | shift {title} to {date} at {time} | {title} will be on {date} instead | put {title} on {date} rather | they moved {title} to {time}, please change it
invite_guest,add_attendee,invite_person : Invite somebody to an appointment.
person fullname; title said event
> {person} should come to {title}, too | invite {person} to {title} | add {person} to {title} | can {person} join {title}? send an invitation | ask {person} along to {title}

## messages
send_message,text,send_text,sms,message_contact : Send a short message to a contact.
recipient,to person; text,message,body said words
> tell {recipient} {text} | text {recipient} that {text} | {recipient} has to hear that {text} | message {recipient}: {text} | shoot {recipient} a quick text, {text} | can you write {recipient} that {text}? | say to {recipient}: {text} | {recipient} is waiting for news, tell them {text} | send "{text}" to {recipient} | write "{text}" to {recipient}
send_email,email,compose_mail,mail : Send an email.
to email; subject said event; body? said words
> mail {to}, subject {subject} | I have to write to {to} about {subject} | send {to} an email about {subject} saying {body} | email {to} with the subject "{subject}" and the text "{body}" | could you mail {to} on {subject}? | new mail to {to}: {subject}. {body}
call_contact,phone,dial,make_call : Call somebody on the phone.
name person
> get me {name} on the phone | I need to speak to {name} | give {name} a ring | can you dial {name}? | let's phone {name} | I want to hear {name}'s voice, ring them up | connect me with {name}
read_messages,show_inbox,unread : Read the unread messages aloud.
from? person
> did anybody write? | any new messages? | what's in my inbox? | has {from} written? | read me what {from} wrote | did I miss anything from {from}? | check my messages
find_contact,get_contact,contact_details : Look up somebody's number or address.
name person
> what's {name}'s number? | I lost the address of {name} | where does {name} live? | do we have an email for {name}? | look up {name} for me | give me the contact details of {name}
block_number,block_caller : Block a phone number.
number phone
> {number} keeps calling me, make it stop | I don't want calls from {number} any more | block {number} | no more calls from {number} please

## lists
add_to_list,add_item,shopping_list_add,shopping_list : Put things on the shopping list.
items list ingredient
> we're out of {items} | I'm out of {items}, can you put that on the list | {items} on the list please | we need {items} | don't let me come home without {items}, put them on the shopping list | there's no more {items} | the kids ate all the {items}, we need new | buy {items} | add {items} | please note for shopping: {items}
remove_from_list,cross_off,list_remove : Take a thing off the shopping list.
item ingredient
> I've bought {item} already | we still have {item}, take it off | cross off {item} | no need for {item} any more | scratch {item} from the list | I got the {item}, remove it
show_list,get_list,read_shopping_list : Show what is on a list.
list enum shopping/todo/wishes
> what do I have to buy? [list=shopping] | read me the shopping list [list=shopping] | what's left to do today? [list=todo] | which tasks are open? [list=todo] | what did I wish for? [list=wishes] | I'm at the supermarket, what do we need? [list=shopping]
add_task,create_task,add_todo,todo_add : Put a task on the to-do list.
task said todo; due? date
> I still have to {task} | new task: {task} | put "{task}" on my to-dos | {task}, until {due} | I must {task} by {due}, put it on my list | add to my tasks: {task} | for the to-do list: {task}
complete_task,mark_done,finish_task : Mark a task as done.
task said todo
> done: {task} | I've finished it, tick off "{task}" | {task} is done | tick {task} | mark {task} as finished | check off {task}
take_note,create_note,save_note,note : Save a note.
text,content said words
> jot down: {text} | note to self: {text} | keep this in mind for me: {text} | write this down: {text} | make a note that {text} | new note, {text} | save this thought: {text}

## home
light,switch_light,set_light,lights : Switch the light in a room on or off.
room enum kitchen/bedroom/bathroom/office/hallway/garage; state enum on/off
> it's dark in the {room} [state=on] | I can't see a thing in the {room} [state=on] | I left the {room} light burning, kill it [state=off] | nobody's in the {room}, no need for light there [state=off] | {room} lights {state} | switch {state} the lights in the {room} please | make it bright in the {room} [state=on] | {state} with the light in the {room} | I'm going to bed, {room} dark please [state=off]
set_temperature,thermostat,heating,set_heating : Set the heating of a room.
degrees,temperature int 15 28; room? enum kitchen/bedroom/bathroom/office/living_room
> I'm freezing, make it {degrees} degrees | it's too hot in the {room}, {degrees} is enough | {degrees} degrees in the {room} please | turn the heating to {degrees} | could the {room} be {degrees}? | we'd like {degrees} degrees in the {room} | put the thermostat at {degrees}
blinds,move_blinds,shutters : Open or close the blinds.
move,position enum open/close; room? enum kitchen/bedroom/office/living_room
> the sun blinds me in the {room}, blinds down [move=close] | let some sun into the {room} [move=open] | {move} the blinds in the {room} | blinds up please [move=open] | let the blinds down [move=close] | the neighbours can see into the {room}, shut the blinds [move=close]
lock_door,door_lock,lock : Lock or unlock a door of the house.
door enum front/back/cellar; state enum locked/unlocked
> did I lock up? lock the {door} door [state=locked] | let {first} in at the {door} door [state=unlocked] | please unlock the {door} door [state=unlocked] | make sure the {door} door is shut tight [state=locked] | the {door} door should be {state}
start_vacuum,vacuum,clean_floor,robot_vacuum : Send the robot to vacuum a room.
room enum kitchen/bedroom/hallway/office/living_room
> there are crumbs all over the {room} | the {room} floor is filthy | vacuum the {room} | send the robot into the {room} | could you clean the floor in the {room}? | hoover the {room} please
set_volume,volume,loudness : Set how loud the music is.
level int 0 100
> that's too loud, {level} will do | I can hardly hear it, put it at {level} | volume {level} | {level} percent volume please | sound at {level} | turn it down to {level} | turn it up to {level}
play_music,play,play_song : Play music.
title,song title; artist? fullname
> I'm in the mood for {title} | put {title} on | can I hear {title} by {artist}? | start {title} | play me {title} from {artist} | {title} please, the one by {artist} | some music: {title}
pause_music,stop_music,stop_playback : Stop the music.
fade? bool
> quiet please | turn that music off | stop the song | enough music for today | hush, the baby sleeps, no more music

## travel
search_flights,find_flights,flights : Search for flights.
origin,from city; destination,to city; date? date
> I have to be in {destination} on {date}, what flies from {origin}? | how do I fly from {origin} to {destination}? | anything in the air between {origin} and {destination} on {date}? | plane tickets {origin} {destination}, {date} | I'm in {origin} and want to fly to {destination} | flying to {destination} on {date}, starting in {origin} | flights from {origin} to {destination} please
search_trains,find_trains,train_times : Search for trains.
origin,from city; destination,to city; time? time
> when does the next train go from {origin} to {destination}? | I'd like to take the train to {destination}, I'm in {origin} | trains {origin} to {destination} after {time} | how can I get by rail from {origin} to {destination}? | is there a train to {destination} from {origin} at {time}? | rail connection from {origin} to {destination}
book_hotel,hotel,reserve_room : Book a hotel room.
city city; check_in date; nights int 1 14; guests? int 1 6
> we stay {nights} nights in {city}, arriving {check_in}, find us a hotel | I need a bed in {city} from {check_in}, {nights} nights | a room for {guests} in {city}, {check_in}, {nights} nights | {nights} nights in {city} starting on {check_in} | hotel in {city}: arrival {check_in}, {nights} nights, {guests} people
order_taxi,taxi,get_cab,call_cab : Order a taxi.
pickup said place; destination said place; time? time
> I need a cab from {pickup} to {destination} | get me from {pickup} to {destination} by taxi | cab at {time}, from {pickup} to {destination} | send a taxi to {pickup}, we're going to {destination} | can somebody drive me from {pickup} to {destination} at {time}?
get_directions,directions,navigate,route : Show the way to a place.
start,from said place; destination,to said place; mode? enum car/walk/bike/transit
> how do I get to {destination} from {start}? | I'm at {start}, which way to {destination}? | lead me from {start} to {destination} on foot [mode=walk] | which road do I drive from {start} to {destination}? [mode=car] | cycling from {start} to {destination}, what's the way? [mode=bike] | by bus from {start} to {destination} [mode=transit] | I'm lost, I'm at {start} and need to be at {destination}
find_parking,parking,parking_nearby : Find a car park.
place,near said place
> where can I leave my car near {place}? | is there a car park at {place}? | parking around {place} | I'm driving to {place}, where do I park? | find a spot for my car close to {place}
flight_status,check_flight,is_flight_delayed : Tell whether a flight is on time.
flight,flight_number code AA999
> is {flight} on time? | has {flight} landed? | my mum is on {flight}, when does she get in? | is there a delay on {flight}? | what about flight {flight}? | status of {flight}

## food
book_table,reserve_table,restaurant : Reserve a table in a restaurant.
restaurant company; people,party_size,guests int 1 12; time time; date? date
> dinner at {restaurant} for {people} at {time} | we'd like to eat at {restaurant}, {people} of us, {time} | get us a table at {restaurant}, {time}, {people} people | can you reserve at {restaurant} for {people} on {date} at {time}? | {people} people, {restaurant}, {date}, {time} | table for {people} at {restaurant} at {time} please
order_food,order_meal,delivery_order : Order food to be brought home.
dish,item food; quantity,count int 1 9; restaurant? company
> I'm starving, get me {quantity} {dish} | {quantity} {dish} to our place | can we have {quantity} {dish} from {restaurant}? | order {quantity} times {dish} | bring us {quantity} {dish} please | let's get {quantity} {dish} delivered
find_recipe,recipes,search_recipes : Search for recipes.
ingredient ingredient; max_minutes? int 10 90
> what can I make out of {ingredient}? | there's {ingredient} in the fridge, any ideas? | a dish with {ingredient}, ready in {max_minutes} minutes | I've got {max_minutes} minutes and some {ingredient}, what's for dinner? | how can I use up {ingredient}? | something with {ingredient} please
calories,nutrition,get_calories : Tell how many calories a food has.
food food; amount_g? int 20 900
> is {food} bad for my diet? | how fattening is {food}? | calories of {food} | how many calories are in {amount_g} g of {food}? | I ate {amount_g} grams of {food}, what does that make?
convert_units,units,convert : Convert a measurement into another unit.
value num 1 500 1; from_unit enum cup/ounce/gram/mile/km/pound/kg/inch/cm; to_unit enum cup/ounce/gram/mile/km/pound/kg/inch/cm
> how many {to_unit}s is {value} {from_unit}s? | the recipe says {value} {from_unit}, what's that as {to_unit}? | {value} {from_unit} to {to_unit} | I need {value} {from_unit}s expressed in {to_unit}s | turn {value} {from_unit} into {to_unit}

## money
transfer_money,send_money,pay_person,make_payment : Send money to somebody.
recipient,to person; amount money; note? said event
> I owe {recipient} {amount}, pay them back | give {recipient} {amount} | {recipient} lent me {amount}, send it back | wire {amount} to {recipient} | {amount} to {recipient} for {note} | pay {recipient} {amount} please | my share is {amount}, send it to {recipient}
get_balance,balance,account_balance : Tell how much money is on an account.
account? enum checking/savings/credit
> can I afford a holiday? how much do I have? | how much is on my savings account? [account=savings] | am I broke? | how much money is there on {account}? | did my salary come, what's on the account? | what's left on the card? [account=credit]
add_expense,log_expense,spent,record_expense : Record an expense.
amount money; category enum food/travel/rent/fun/health
> lunch cost me {amount} [category=food] | I paid {amount} at the supermarket [category=food] | the bus ticket was {amount} [category=travel] | {amount} for the landlord [category=rent] | cinema, {amount} [category=fun] | {amount} at the pharmacy [category=health] | put down {amount} under {category} | spent {amount} on {category} today | train to my parents: {amount} [category=travel] | concert tickets {amount} [category=fun]
convert_currency,exchange_rate,currency : Convert money into another currency.
amount num 1 5000 0; from_currency,source enum USD/EUR/GBP/JPY/CHF; to_currency,target enum USD/EUR/GBP/JPY/CHF
> I'm going abroad, what are {amount} {from_currency} as {to_currency}? | {amount} {from_currency} in {to_currency}, roughly? | how many {to_currency} do I get for {amount} {from_currency}? | change {amount} {from_currency} to {to_currency} | {amount} {from_currency} into {to_currency} | what's {amount} dollars in euros? [from_currency=USD] [to_currency=EUR] | {amount} pounds to dollars [from_currency=GBP] [to_currency=USD] | {amount} euros in pounds [from_currency=EUR] [to_currency=GBP]
stock_price,share_price,quote : Tell the price of a share.
company company
> should I sell {company}? what's it at? | how is {company} doing on the market? | price of {company} shares | what's {company} trading at? | quote for {company}
split_bill,split,share_costs : Split a bill among people.
total,amount money; people int 2 12
> the bill is {total} and there are {people} of us | {total} between {people} people | we're {people}, dinner was {total}, how much each? | divide {total} by {people} friends | split {total} {people} ways
calculate_tip,tip : Work out a tip.
amount money; rate,tip_rate int 5 25
> how much is {rate} percent tip on {amount}? | dinner was {amount}, I'd like to tip {rate}% | {rate}% on top of {amount} for the waiter | what do I leave for {amount} with {rate} percent?

## shop
track_order,order_status,where_is_order : Tell where an order is.
order_id code
> I ordered two weeks ago and nothing came, it's {order_id} | where's {order_id}? | when will {order_id} get here? | is {order_id} on its way? | any sign of {order_id}? | my order {order_id} should have come yesterday
cancel_order,revoke_order,stop_order : Cancel an order that has not been sent.
order_id code; reason? enum too_late/wrong_item/changed_mind/other
> I changed my mind about {order_id} [reason=changed_mind] | please stop {order_id} | {order_id} takes too long, forget it [reason=too_late] | I don't need {order_id} any more | don't send {order_id}, I picked the wrong thing [reason=wrong_item] | call {order_id} off
start_return,return_item,create_return : Begin the return of something that was delivered.
order_id code; reason? enum damaged/too_small/too_big/not_liked
> what came with {order_id} is broken, I'm sending it back [reason=damaged] | {order_id} doesn't fit, it's too tight [reason=too_small] | {order_id} is way too big [reason=too_big] | I don't like what I got with {order_id} [reason=not_liked] | I'd like to send {order_id} back | how do I return {order_id}? please set it up
change_address,update_address,set_shipping_address : Change the address that an order goes to.
order_id code; address address
> we've moved, send {order_id} to {address} | {order_id} has to go to {address} instead | deliver {order_id} to {address} please | the address of {order_id} is wrong, it's {address} | new address for {order_id}: {address}
check_stock,in_stock,product_availability : Tell whether a product is in stock.
product product; color? color
> do you still have the {product}? | can I get a {product} in {color}? | is the {color} {product} sold out? | any {product}s left? | I'm looking for a {product}, have you got one? | is the {product} available?
find_product,search_products,product_search : Search for products.
query product; max_price? money
> I need a {query} | show me {query}s under {max_price} | a {query} for at most {max_price} | looking for a cheap {query}, up to {max_price} | what {query}s do you sell? | my budget is {max_price}, I want a {query}
escalate,talk_to_human,human_agent,transfer_to_agent : Hand the customer over to a person.
reason? said problem
> I want to talk to a real person | this bot is useless, get me somebody | can I speak to your manager? | a human please, {reason} | connect me to an employee: {reason}
open_ticket,create_ticket,report_problem : Open a support ticket.
title,summary said problem; priority enum low/medium/high
> {title}, and it's really urgent [priority=high] | {title}, no hurry though [priority=low] | could somebody look at this within the week: {title} [priority=medium] | I'd like to report something: {title}. {priority} priority | {title}! We can't work like this [priority=high] | {title}, whenever you have time [priority=low] | {priority} ticket: {title}

## knowledge
get_weather,weather,current_weather : Tell the weather in a place now.
city,location city
> do I need a jacket in {city}? | is it raining over in {city}? | what's it like outside in {city}? | how hot is it in {city}? | is the sun out in {city}? | weather {city} | I'm in {city}, should I take an umbrella?
get_forecast,forecast,weather_forecast : Tell the weather of the next days.
city,location city; days int 1 10
> we're camping in {city} for {days} days, will it stay dry? | {days} days ahead for {city} please | the next {days} days in {city}, sun or rain? | will it rain in {city} within {days} days? | forecast {city}, {days} days
search_web,web_search,search,look_up : Search the web.
query said query
> can you google {query}? | find out about {query} | I'd like to read up on {query} | search: {query} | what's there on the net about {query}? | look for {query} online | {query}, have a look on the web
translate,translate_text,translator : Translate something into another language.
text said words; language,target_language language
> how would I say "{text}" in {language}? | "{text}" in {language} please | I need this in {language}: {text} | translate to {language}: {text} | what's the {language} for "{text}"? | my landlord speaks {language} only, tell me how to say "{text}"
define_word,dictionary,definition : Explain what a word means.
word made
> what's a {word}? | never heard the word {word}, what is it? | {word}, what does that mean? | explain the word "{word}" | look {word} up in the dictionary
calculate,calculator,math : Work out a sum.
expression sum
> {expression} is how much? | what's {expression}? | {expression} | help me with {expression} | can you do {expression} in your head? | work out {expression}
news,get_news,headlines,latest_news : Read the news about a topic.
topic sport
> what's going on in {topic}? | anything new in {topic}? | catch me up on {topic} | {topic} news | what did I miss in {topic}?

## work
assign_task,assign,delegate : Give a task to somebody.
task said todo; assignee,person first; due? date
> {assignee} could {task} | ask {assignee} to {task} by {due} | {task}, that's one for {assignee} | "{task}" goes to {assignee} | have {assignee} {task} until {due} | let {assignee} do it: {task}
log_hours,log_time,book_time,track_hours : Book working time on a project.
worked,time_spent num 1 10 1; project made
> I worked {worked} hours on {project} | {worked}h {project} | {worked} hours for {project} today | put {worked} hours down for {project} | yesterday it was {worked} hours on {project}
request_leave,ask_holiday,book_vacation : Ask for days off.
start,from date; end,to date
> I'd like to be off from {start} to {end} | holiday {start} until {end} | I'm away between {start} and {end}, please put in a request | can I have free from {start} to {end}? | we go on holiday on {start} and are back on {end}
report_sick,sick_leave,call_in_sick : Report that somebody is ill.
name,employee fullname; days? int 1 14
> {name} is ill | {name} has the flu and stays home for {days} days | {name} won't come in, fever | {name} is off sick, {days} days | the doctor has put {name} to bed for {days} days
book_room,meeting_room,reserve_meeting_room : Reserve a meeting room.
room code A99; time,start time; date? date
> we need {room} at {time} | is {room} free at {time}? then take it | {room} on {date} at {time} please | get us {room} for {time} | put us into {room}, {time}
find_employee,lookup_colleague,staff_search : Look up a colleague.
name fullname
> who's {name}? which desk? | where does {name} sit? | what team is {name} in? | I need the extension of {name} | find {name} in the directory
restart_server,reboot,restart_service : Restart a server.
server,host code AAA-99
> {server} hangs again | {server} doesn't answer, kick it | please reboot {server} | {server} needs a restart | turn {server} off and on again
deploy,release,deploy_version : Put a version of a service into operation.
service made; version code 9.9.9
> {service} {version} is ready to go live | ship {service} {version} | roll out {service} {version} | bring {version} of {service} into production | we're ready with {service} {version}, put it out
share_file,share_document,send_file : Share a file with somebody.
path,file filename; person,with person
> {person} needs {path} | let {person} see {path} | give {person} access to {path} | can you send {path} over to {person}? | {path} for {person} please
delete_file,remove_file,rm : Delete a file.
path,file filename
> I don't need {path} any more | throw {path} away | {path} is rubbish, remove it | bin {path} | clean up, {path} first
rename_file,rename,move_file : Give a file another name.
old,from filename; new,to filename
> {old} should be called {new} | make {old} into {new} | change the name of {old} to {new} | {old} is a bad name, {new} is better

## health
log_weight,record_weight,weight : Record somebody's weight.
kilograms,kg num 42 130 1
> the scales say {kilograms} today | I'm down to {kilograms} kg | {kilograms} kilos this morning | I weigh {kilograms} now | weight {kilograms}
log_workout,add_workout,workout : Record sport that was done.
sport,activity sport; minutes int 10 180
> I did {minutes} minutes of {sport} | {sport} for {minutes} minutes this morning | just finished {minutes} min {sport} | {minutes} minutes {sport}, I'm exhausted | note my {sport}: {minutes} minutes
log_sleep,sleep,record_sleep : Record how long somebody slept.
slept,duration num 3 11 1
> I slept {slept} hours | only {slept} hours of sleep last night | {slept} hours in bed, slept well | last night it was {slept} hours
find_doctor,doctor_search,search_doctor : Find a doctor nearby.
specialty enum skin/eyes/children/heart/general; city city
> my child has a rash... somebody for kids in {city}? [specialty=children] | I can't see well any more, who's good in {city}? [specialty=eyes] | something odd on my skin, I live in {city} [specialty=skin] | a GP in {city} please [specialty=general] | my chest feels tight, a heart specialist in {city} [specialty=heart] | {specialty} doctor in {city}
book_appointment,doctor_appointment,make_appointment : Make an appointment with a doctor.
doctor fullname; date date; time? time
> I'd like to see {doctor} on {date} | can {doctor} fit me in on {date} at {time}? | {doctor}, {date}, {time} if possible | get me an appointment with {doctor} for {date} | I need to see {doctor}, {date} would be good
take_pills,log_medicine,medication_taken : Record that a medicine was taken.
medicine made; count,pills int 1 4
> I took {count} {medicine} | just had {count} {medicine} | {count} {medicine} after breakfast | {count} pills of {medicine} taken
"""
