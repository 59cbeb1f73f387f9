"""Tools, and what people say who need them.

One tool a block: `names : description`, its parameters `key kind`, each perhaps with a `?` (not
always said) and a description behind `=`, and then requests. `{key}` is a parameter's value;
requests with `!` in front are patterns that only the evaluation sees.
"""

from __future__ import annotations

TRAIN_TEXT = """
get_weather,weather,current_weather,weather_lookup : Get the weather of a city.
city city=the city's name; unit? enum celsius/fahrenheit
- What is the weather in {city}? - How is the weather in {city} today? - Is it raining in {city}? - Weather for {city} in {unit}, please - Do I need an umbrella in {city}? -! How warm is it in {city} right now?

get_forecast,forecast,weather_forecast : Get the weather forecast for the next days.
city city; days int 1 10=number of days
- What will the weather be like in {city} over the next {days} days? - Give me a {days}-day forecast for {city} -! I stay {days} days in {city}, what weather will I get?

send_email,email,mail_send,compose_email : Send an email.
to email=recipient; subject topic; body? phrase
- Send an email to {to} about {subject} - Write to {to} with the subject {subject} - Please mail {to} regarding {subject} -! Drop {to} a mail on {subject}

send_message,message,text_message,send_sms : Send a short text message to a contact.
recipient person; text phrase
- Text {recipient}: {text} - Send {recipient} a message saying {text} - Message {recipient} that {text} -! Let {recipient} know: {text}

set_timer,timer,start_timer : Start a timer.
minutes int 1 120
- Set a timer for {minutes} minutes - Start a {minutes} minute timer - Wake me in {minutes} minutes with a timer - Timer: {minutes} minutes -! Count down {minutes} minutes for me

set_alarm,alarm,create_alarm : Set an alarm clock.
time time
- Wake me up at {time} - Set an alarm for {time} - Alarm at {time} please -! I have to get up at {time}

create_reminder,remind_me,add_reminder : Remind the user of something on a day.
text topic; date date
- Remind me of {text} on {date} - Set a reminder for {date}: {text} -! On {date} I must not forget {text}

create_event,add_event,schedule_meeting,calendar_add : Put an appointment into the calendar.
title topic; date date; time time; attendees? list first
- Schedule {title} on {date} at {time} - Put {title} into my calendar for {date}, {time} - Plan a meeting about {title} on {date} at {time} with {attendees} -! Book a slot for {title}: {date}, {time}

play_music,play_song,play : Play a song.
title title; artist? person
- Play {title} - Play {title} by {artist} - I want to hear {title} - Put on {title} from {artist} -! Let us listen to {title}

set_volume,volume,change_volume : Change the loudness.
level int 0 100
- Set the volume to {level} - Volume {level} - Turn the sound to {level} percent -! Make it {level} percent loud

convert_currency,exchange,currency_convert : Convert an amount of money into another currency.
amount num 1 5000 0; from_currency enum USD/EUR/GBP/JPY/CHF/SEK; to_currency enum USD/EUR/GBP/JPY/CHF/SEK
- Convert {amount} {from_currency} to {to_currency} - How much is {amount} {from_currency} in {to_currency}? - What are {amount} {from_currency} worth in {to_currency}? -! I have {amount} {from_currency} and need {to_currency}

convert_units,unit_converter : Convert a measurement into another unit.
value num 1 500 1; from_unit enum km/mile/kg/pound/liter/gallon; to_unit enum km/mile/kg/pound/liter/gallon
- Convert {value} {from_unit} into {to_unit} - How many {to_unit} are {value} {from_unit}? -! {value} {from_unit} in {to_unit}?

translate_text,translate,translator : Translate a text into another language.
text phrase; target_language language
- Translate "{text}" into {target_language} - How do you say {text} in {target_language}? - What is {text} in {target_language}? -! Put {text} into {target_language} for me

multiply,product_of : Multiply two numbers.
a int 1 500; b int 1 500
- What is {a} times {b}? - Multiply {a} by {b} - Calculate {a} * {b} -! How much is {a} x {b}?

add_numbers,add,sum : Add two numbers.
a int 1 900; b int 1 900
- What is {a} plus {b}? - Add {a} and {b} - Calculate {a} + {b} -! Sum up {a} and {b}

search_web,web_search,search,google : Search the web.
query phrase
- Search the web for {query} - Google {query} - Look up {query} online - Find information about {query} -! What does the internet say about {query}?

search_flights,find_flights,flight_search : Search for flights.
origin city; destination city; date? date
- Find a flight from {origin} to {destination} - Show me flights from {origin} to {destination} on {date} - I want to fly from {origin} to {destination} on {date} - Flights to {destination} from {origin} -! Which planes go from {origin} to {destination} on {date}?

book_hotel,reserve_hotel,hotel_booking : Book a hotel room.
city city; check_in date; nights int 1 14; guests? int 1 6
- Book a hotel in {city} from {check_in} for {nights} nights - I need a hotel room in {city} for {nights} nights starting {check_in} - Reserve a hotel in {city} on {check_in}, {nights} nights, {guests} guests -! Get me a place to sleep in {city}: {check_in}, {nights} nights

book_table,reserve_table,restaurant_booking : Reserve a table in a restaurant.
restaurant company; people int 1 12; time time
- Book a table for {people} at {restaurant} at {time} - Reserve a table at {restaurant} for {people} people, {time} -! We are {people} and want to eat at {restaurant} at {time}

order_status,track_order,get_order,lookup_order : Look up the state of an order.
order_id code=number of the order
- Where is my order {order_id}? - What is the status of order {order_id}? - Has {order_id} been shipped? - Track order {order_id} -! I am still waiting for {order_id}

cancel_order,order_cancel,revoke_order : Cancel an order.
order_id code
- Cancel order {order_id} - I want to cancel {order_id} - Please cancel my order {order_id} -! I no longer want order {order_id}

refund,issue_refund,refund_order : Pay money back for an order.
order_id code; amount? money; reason? enum damaged/late/wrong_item/other
- Refund order {order_id} - I want my money back for {order_id} - Refund {amount} for order {order_id} -! Please return the payment of {order_id}

create_ticket,open_ticket,report_issue : Open a support ticket.
title phrase; priority enum low/medium/high
- Open a ticket: {title}, priority {priority} - Create a {priority} priority ticket about {title} - Report an issue with {title}, it is {priority} priority -! File a {priority} issue for {title}

turn_on_light,light_on,switch_light : Switch the light in a room.
room enum kitchen/bedroom/bathroom/office/hallway/garage; state enum on/off
- Turn {state} the light in the {room} - Switch the {room} light {state} - Lights {state} in the {room} -! The {room} lamp should be {state}

set_temperature,thermostat,heat : Set the heating.
degrees int 15 28; room? enum kitchen/bedroom/bathroom/office/hallway
- Set the heating to {degrees} degrees - Set the {room} to {degrees} degrees - Make it {degrees} degrees in the {room} -! I would like {degrees} degrees here

get_stock_price,stock_quote,share_price : Get the price of a share.
company company
- What is the stock price of {company}? - How are {company} shares doing? - Share price of {company}? -! What does one share of {company} cost?

find_contact,get_contact,lookup_person,contact_search : Look up a contact's details.
name person
- What is the phone number of {name}? - Find the contact {name} - Look up {name} in my contacts -! How can I reach {name}?

call_contact,phone_call,call : Call somebody on the phone.
name person
- Call {name} - Phone {name} please - Ring {name} -! Get {name} on the line

order_taxi,book_taxi,get_ride : Order a taxi.
pickup address; destination city; time? time
- Get me a taxi from {pickup} to {destination} - Order a taxi to {destination} from {pickup} at {time} -! I need a ride from {pickup} to {destination}

track_parcel,parcel_status,track_package : Find out where a parcel is.
tracking_number code 9999999999
- Where is my parcel {tracking_number}? - Track package {tracking_number} - Has parcel {tracking_number} arrived? -! Any news on parcel {tracking_number}?

get_news,news,headlines : Get the latest news on a topic.
topic sport
- What is new in {topic}? - Show me news about {topic} - Latest headlines on {topic} -! Anything happening in {topic}?

create_note,add_note,take_note : Save a note.
text phrase
- Take a note: {text} - Note down {text} - Save a note saying {text} -! Write down {text}

add_to_list,shopping_list_add,add_item : Put things on the shopping list.
items list ingredient
- Put {items} on the shopping list - Add {items} to my list - We need to buy {items} -! The fridge lacks {items}

read_file,open_file,load_file : Read a file.
path filename
- Open {path} - Read the file {path} - Show me what is in {path} -! Print the content of {path}

write_file,save_file,create_file : Write a text into a file.
path filename; content phrase
- Write {content} into {path} - Save "{content}" to {path} - Create the file {path} with {content} -! {path} should contain {content}

delete_file,remove_file,rm : Delete a file.
path filename
- Delete {path} - Remove the file {path} - Get rid of {path} -! {path} can go

run_query,query_database,sql : Run a query on a table of the database.
table noun; limit? int 1 500
- Query the table {table} - Show {limit} rows of the table {table} - Select from {table}, at most {limit} rows -! Give me {limit} records out of {table}

get_user,user_lookup,fetch_user : Get a user by number.
user_id int 1 99999
- Show me user {user_id} - Get the user with id {user_id} - Who is user {user_id}? -! Which person is number {user_id}?

create_user,register_user,add_user : Create a user account.
name fullname; email email; role? enum admin/editor/viewer
- Create a user {name} with the email {email} - Register {name}, {email}, as {role} - Add {name} ({email}) to the system as {role} -! Set up an account for {name}, {email}

transfer_money,send_money,pay : Transfer money to somebody.
recipient person; amount money
- Transfer {amount} to {recipient} - Send {recipient} {amount} - Pay {recipient} {amount} -! {recipient} should get {amount} from me

get_balance,account_balance,balance : Get the balance of an account.
account? enum checking/savings/credit
- How much money do I have? - What is my {account} balance? - Show the balance of my {account} account -! What is left in my {account} account?

get_time,current_time,clock,time_in : Get the time of day in a city.
city city
- What time is it in {city}? - Tell me the time in {city} - Current time in {city}? -! How late is it in {city}?

get_directions,route,navigate,directions : Get the way from one place to another.
start city; end city; mode? enum car/train/bike/walk
- How do I get from {start} to {end}? - Directions from {start} to {end} by {mode} - Navigate from {start} to {end} -! Show me the way from {start} to {end} by {mode}

find_recipe,recipe_search,search_recipes : Search for recipes.
ingredient ingredient; max_minutes? int 10 90
- What can I cook with {ingredient}? - Find a recipe with {ingredient} - A recipe with {ingredient} in at most {max_minutes} minutes -! I have {ingredient} left, what should I cook?

get_definition,define,dictionary : Look up what a word means.
word made
- What does {word} mean? - Define {word} - Look up the word {word} -! What is the meaning of {word}?

roll_dice,dice,throw_dice : Roll dice.
count int 1 6; sides? int 4 20
- Roll {count} dice - Throw {count} dice with {sides} sides - Roll {count} dice for me -! Let {count} dice fall

generate_image,draw,create_image : Draw a picture.
prompt phrase; style? enum photo/cartoon/painting
- Draw {prompt} - Make a picture of {prompt} - Generate a {style} of {prompt} -! I want to see a {style} of {prompt}

add_expense,log_expense,record_expense : Record an expense.
amount money; category enum food/travel/rent/fun/health
- I spent {amount} on {category} - Record an expense of {amount} for {category} - Log {amount}, category {category} -! {amount} went to {category}

rate_movie,rate_film,add_rating : Rate a film.
title title; stars int 1 5
- Give {title} {stars} stars - Rate {title} with {stars} - I rate {title} {stars} out of 5 -! {title} deserves {stars} stars

assign_task,assign,delegate : Give a task to somebody.
task topic; assignee person; due? date
- Assign {task} to {assignee} - {assignee} should do {task} by {due} - Give {task} to {assignee} -! Let {assignee} take care of {task}

change_status,update_status,set_status : Change the state of a ticket.
ticket_id code; status enum open/closed/in_progress/waiting
- Set ticket {ticket_id} to {status} - Mark {ticket_id} as {status} - Change the status of {ticket_id} to {status} -! {ticket_id} is now {status}

enroll,enroll_student,sign_up : Enrol somebody in a course.
student fullname; course topic
- Enrol {student} in {course} - Sign {student} up for {course} - {student} wants to take the course {course} -! Put {student} down for {course}

check_inventory,stock_level,inventory : How many of a product are in stock.
product product
- How many {product} do we have? - Check the stock of {product} - Is the {product} in stock? -! Are there any {product} left?

restart_service,restart,reboot : Restart a service.
service made; force? bool
- Restart {service} - Please restart the service {service} - Reboot {service} -! {service} hangs, start it anew
"""

VERBS = {
    "create": ["Create {a}", "Please create {a}", "Make {a}", "I want to create {a}"],
    "delete": ["Delete {the}", "Please delete {the}", "Remove {the}"],
    "update": ["Update {the}", "Please update {the}", "Change {the}"],
    "get": ["Show me {the}", "Get {the}", "I need {the}"],
    "list": ["List {all}", "Show {all}", "Give me {all}"],
    "approve": ["Approve {the}", "Please approve {the}"],
    "archive": ["Archive {the}", "Please archive {the}"],
    "export": ["Export {the}", "Please export {the}"],
    "lock": ["Lock {the}", "Please lock {the}"],
    "copy": ["Copy {the}", "Make a copy of {the}"],
    "validate": ["Validate {the}", "Check whether {the} is valid"],
    "publish": ["Publish {the}", "Please publish {the}"],
    "share": ["Share {the}", "Please share {the}"],
    "print": ["Print {the}", "Please print {the}"],
}
MORE_VERBS = [
    "paint",
    "wash",
    "repair",
    "sell",
    "fold",
    "melt",
    "count",
    "lift",
    "sort",
    "plant",
    "cook",
    "clean",
    "move",
    "test",
    "tune",
    "wrap",
    "cut",
    "mix",
    "load",
    "pack",
    "send",
    "weigh",
    "drive",
    "polish",
    "inspect",
    "measure",
    "hide",
    "burn",
    "bend",
    "press",
    "store",
    "fetch",
    "stack",
]
NOUNS = [
    "invoice",
    "contract",
    "report",
    "account",
    "project",
    "task",
    "folder",
    "document",
    "page",
    "article",
    "comment",
    "playlist",
    "device",
    "sensor",
    "server",
    "database",
    "backup",
    "certificate",
    "campaign",
    "customer",
    "employee",
    "member",
    "subscription",
    "coupon",
    "shipment",
    "warehouse",
    "route",
    "room",
    "booking",
    "appointment",
    "lesson",
    "exam",
    "recipe",
    "menu",
    "budget",
    "payment",
    "loan",
    "claim",
    "policy",
    "vehicle",
    "patient",
    "lab_result",
    "dashboard",
    "chart",
    "survey",
    "template",
    "branch",
    "release",
    "bug",
    "key",
    "token",
    "webhook",
    "schedule",
]

SMALL_TALK = [
    (
        ["Hello", "Hi", "Hi there!", "Good morning", "Hey", "Hello!", "Good evening", "Hi, how are you?"],
        "Hello! How can I help you?",
    ),
    (
        ["Thanks", "Thank you!", "Thank you very much", "Great, thanks", "Thanks a lot", "Many thanks for the help"],
        "You are welcome!",
    ),
    (["Bye", "Goodbye", "See you", "That is all, bye", "Good night"], "Goodbye!"),
    (
        ["Who are you?", "What are you?", "What is your name?", "Are you a human?"],
        "I am a small assistant that fills in structured data and calls tools.",
    ),
    (
        ["Tell me a joke", "Say something funny", "Do you know a joke?", "Make me laugh"],
        "Why did the parser cross the road? To get to the other side of the string.",
    ),
    (["I am tired", "I feel sad today", "This is a long day", "I am bored"], "I am sorry to hear that."),
    (
        ["What can you do?", "Help", "How can you help me?", "What are you good at?"],
        "I can read data out of texts, classify them, and call your tools.",
    ),
    (["Ok", "Alright", "Fine", "I see", "Good"], "Is there anything else?"),
    (
        [
            "What is the meaning of life?",
            "Why is the sky blue?",
            "Do you like music?",
            "What do you think about love?",
            "Is there a god?",
            "Who won the war?",
        ],
        "I am a small demonstration model: I know no facts and write no texts. "
        "I can read data out of a text, sort it into classes, and call your tools.",
    ),
    (["Nice work", "Well done", "You are great", "I like you"], "Thank you!"),
]
