"""Situations at home and out: travel, housing, families, health, shops, food and the like.

A situation begins with `@ noun`. Then, one a line, its facts, `keys : kind : sayings : shorts`, where `-` is for no
sayings, and booleans have ` / ` between those for true and for false. `shorts` are for lists without verbs. Lines with
`>` say several facts, named by their first keys; `<` names two facts whose smaller value belongs to the first. In
`{few} cat(s)`, what is in brackets goes away after one. Kinds are those of `values`, and `few`, `some` and `money`
of `everyday`.
"""

from __future__ import annotations

TEXT = """
@ body
weight_kg,weight,kilos,body_weight,mass_kg : num 42 130 1 or int 42 130 : I weigh {v} kilograms; my weight is {v} kg; the scales say {v} kg; I'm down to {v} kilos : {v} kg; {v}kg; {v} kilos
height_m,height,tall_m,size_m : num 1.45 2.05 2 : I stand {v} m tall; I measure {v} metres; my height is {v} m : {v} m; {v} m tall; {v}m
age,years,age_years : int 14 90 : I'm {v}; I am {v} years old; I'll soon be {v} : {v} years; {v} years old; age {v}
waist_cm,waist,belly_cm : int 60 130 : my waist is {v} cm; I have {v} cm around the belly : waist {v} cm
shoe_size,shoes,eu_size : int 35 48 : I wear size {v} shoes; my shoe size is {v} : shoes {v}; shoe size {v}
> my weight is {weight_kg} kilos, my height {height_m} m
> weighing {weight_kg} kg, I stand {height_m} m tall
> at {height_m} m I weigh {weight_kg} kg, and I'm {age}
> {age} years, {height_m} m, {weight_kg} kg
> I'm {height_m} metres tall, {age} years old and take shoes in {shoe_size}

@ train trip
from,from_station,departure_station,start,origin : city : we start from {v}; I get on at {v}; the train leaves from {v} : from {v}
to,to_station,arrival_station,destination,end : city : I'm going to {v}; we get off at {v}; the last stop is {v} : to {v}
departure,departs,departure_time,leaves_at : time : it leaves at {v}; departure is at {v}; we set off at {v} : dep. {v}; departs {v}
arrival,arrives,arrival_time,gets_in_at : time : it gets in at {v}; arrival is at {v}; we are there at {v} : arr. {v}; arrives {v}
platform,track,departure_platform : int 1 24 : it goes from platform {v}; go to track {v} : platform {v}; track {v}
seat,seat_number,place : int 11 118 or code 99A : my seat is {v}; I sit in seat {v} : seat {v}
coach,carriage,wagon,car : int 1 32 : I'm in coach {v}; look for carriage {v} : coach {v}; carriage {v}
train,train_number,connection,service : code AA 999 or code AAA 9999 or code AA99 : it's train {v}; I take the {v} : train {v}
changes,transfers,number_of_changes : few 0 4 : there are {v} changes; with {v} transfers : {v} change(s)
price,fare,ticket_price,cost : money 5 240 : the ticket is {v}; I paid {v}; the fare was {v} : {v}; ticket {v}
delay_min,delay,minutes_late : int 3 170 : it is {v} minutes late; there is a delay of {v} min : {v} min late; +{v} min
> {train} from {from} to {to}, departs {departure}, arrives {arrival}
> the {departure} from {from} gets to {to} at {arrival}
> coach {coach}, seat {seat}, platform {platform}
> to {to} from {from}: off at {departure} from platform {platform}, there at {arrival}
> we leave {from} at {departure} and reach {to} at {arrival} with {changes} change(s)
> train {train} leaves from platform {platform}, I'm in coach {coach} on seat {seat}
> {train} to {to} is running {delay_min} minutes late, now from platform {platform}
> {from} {departure} - {to} {arrival}, {price}

@ flight
flight,flight_number,flight_no : code AA999 or code AA9999 or code AA 9999 : I'm on flight {v}; the flight is {v} : flight {v}; {v}
airline,carrier,operated_by : company or made : we fly with {v}; it's operated by {v} : with {v}
from,departure_airport,origin,from_city : city : we take off in {v}; it leaves {v} : from {v}
to,arrival_airport,destination,to_city : city : we land in {v}; it goes to {v} : to {v}
departure,departs,takes_off,departure_time : time : take-off is at {v}; it departs at {v} : dep {v}
arrival,lands,arrival_time,landing : time : we land at {v}; touchdown at {v} : arr {v}
gate,departure_gate : code A99 or int 1 80 : it leaves from gate {v}; gate {v} opens soon : gate {v}
seat,seat_number : code 99A or code 9A : I sit in {v}; my seat is {v} : seat {v}
terminal : int 1 5 : it is terminal {v}; go to terminal {v} : terminal {v}
bags,luggage,checked_bags : few 0 4 : I have {v} bag(s); we check in {v} bag(s) : {v} bag(s)
booking_code,booking,pnr,confirmation : code AAA99A or code A9AA99 : the booking code is {v}; confirmation {v} : booking {v}
> flight {flight} from {from} to {to} boards at gate {gate}
> {flight} takes off in {from} at {departure} and lands in {to} at {arrival}
> {airline} {flight}, seat {seat}, gate {gate}, terminal {terminal}
> I fly from {from} to {to} with {airline}, off at {departure}
> I have seat {seat} on {flight} and {bags} bag(s) to check in
> booking {booking_code}: {from} to {to}, {departure} till {arrival}

@ flat
rent,monthly_rent,rent_per_month,price : money 250 3200 : the rent is {v}; it costs {v} a month; they ask {v} monthly : {v} per month; rent {v}; {v} a month
square_metres,size_m2,area,living_space,sqm : int 18 190 : it has {v} square metres; the flat measures {v} m²; it's {v} sqm big : {v} m²; {v} sqm; {v} square metres
rooms,number_of_rooms,room_count : few 1 7 or num 1.5 5.5 1 : it has {v} room(s); there are {v} room(s) : {v} room(s)
floor,storey,level : int 1 14 : it is on floor {v}; we'd live on floor {v} : floor {v}
available_from,free_from,move_in,vacant_from : date : it's free from {v}; you can move in on {v}; vacant as of {v} : from {v}; free {v}
deposit,security_deposit,caution : money 400 6000 : the deposit is {v}; they want {v} as a security : deposit {v}
heating_costs,utilities,extras,additional_costs : money 40 400 : heating is another {v}; utilities come to {v} : plus {v} utilities
street,address,location : address : it's at {v}; the house is {v} : {v}
district,quarter,part_of_town,neighbourhood : made or city : it's in {v}; the quarter is called {v} : in {v}
landlord,owner,contact_person : person or fullname : the landlord is {v}; it belongs to {v}; ask {v} for the keys : landlord {v}
balcony,has_balcony : bool : there is a balcony; it comes with a balcony / there's no balcony; it has no balcony
pets_allowed,pets : bool : pets are allowed; you may bring a dog / no pets; pets are not allowed
> {rooms} room(s), {square_metres} square metres, {rent} a month plus {heating_costs} for heating
> {square_metres} m² on floor {floor}, rent {rent}, free from {available_from}
> the flat at {street} costs {rent} and the deposit is {deposit}
> {landlord} lets {rooms} room(s) of {square_metres} sqm in {district} for {rent}
> we pay {rent} for {square_metres} square metres in {district}
> floor {floor}, {rooms} room(s), {deposit} deposit, available {available_from}

@ house
price,asking_price,sale_price : int 60000 1900000 : they ask {v} for it; the price is {v} : {v}; price {v}
bedrooms,number_of_bedrooms,beds : few 1 7 : it has {v} bedroom(s); there are {v} bedroom(s) : {v} bedroom(s); {v} bed
bathrooms,number_of_bathrooms,baths : few 1 4 : with {v} bathroom(s); it has {v} bathroom(s) : {v} bathroom(s); {v} bath
built,year_built,construction_year : year : it was built in {v}; the house dates from {v} : built {v}; from {v}
plot_m2,plot,garden_m2,land : int 90 3000 : the plot is {v} m²; there's a garden of {v} square metres : {v} m² plot
living_m2,living_space,house_m2 : int 45 390 : {v} m² to live in; the house itself has {v} square metres : {v} m² living space
agent,broker,estate_agent : person or company : the agent is {v}; it's sold by {v} : agent {v}
town,city,place : city : it is in {v}; it stands in {v} : {v}; in {v}
> {bedrooms} bedroom(s), {bathrooms} bathroom(s), built in {built}, {price}
> {living_m2} m² house on a {plot_m2} m² plot in {town}
> a house of {built} in {town} with {bedrooms} bedroom(s) and {bathrooms} bathroom(s)
> {agent} wants {price} for {living_m2} square metres in {town}

@ family
brothers,number_of_brothers : few 0 5 : I have {v} brother(s); there are {v} brother(s) : {v} brother(s)
sisters,number_of_sisters : few 0 5 : I have {v} sister(s); I've got {v} sister(s) : {v} sister(s)
cousins,number_of_cousins : few 0 12 : I have {v} cousin(s); there are {v} cousin(s) : {v} cousin(s)
mother,mum,mothers_name : first or person : my mother is {v}; mum's name is {v} : mother {v}
father,dad,fathers_name : first or person : my father is {v}; dad is called {v} : father {v}
grandmother,grandma,granny : first or person : grandma is called {v}; my granny is {v} : grandma {v}
mother_age,age_of_mother : int 30 90 : my mother is {v} years old; mum just turned {v} : mother {v}
father_age,age_of_father : int 30 90 : my father is {v} years old; dad will be {v} : father {v}
> besides me there are {brothers} brother(s), {sisters} sister(s)
> my siblings: {sisters} sister(s), {brothers} brother(s)
> {cousins} cousin(s) on one side, {sisters} sister(s) and {brothers} brother(s) at home
> we are many: {cousins} cousin(s), {brothers} brother(s), but {sisters} sister(s)
> my mother {mother} is {mother_age} and my father {father} is {father_age}
> my parents are {mother}, {mother_age}, and {father}, {father_age}
> {father} and {mother} are dad and mum

@ household
adults,grown_ups,number_of_adults : few 1 6 : we are {v} adult(s); {v} adult(s) live here : {v} adult(s)
children,kids,number_of_children : few 0 6 : there are {v} kid(s); we have {v} kid(s) : {v} kid(s)
cats,number_of_cats : few 0 5 : we keep {v} cat(s); there are {v} cat(s) : {v} cat(s)
dogs,number_of_dogs : few 0 4 : we have {v} dog(s); {v} dog(s) live with us : {v} dog(s)
cars,number_of_cars : few 0 4 : we own {v} car(s); there are {v} car(s) outside : {v} car(s)
bikes,bicycles,number_of_bikes : few 0 7 : there are {v} bike(s) in the shed; we have {v} bike(s) : {v} bike(s)
> {adults} adult(s), {children} kid(s), {dogs} dog(s) and {cats} cat(s)
> we have {children} kid(s) and {cats} cat(s), but {dogs} dog(s)
> we own {cars} car(s) and {bikes} bike(s)
> with {cats} cat(s) and {children} kid(s) we need room, also for {bikes} bike(s)

@ wedding
bride,bride_name : fullname or person : the bride is {v}; the bride's name is {v} : bride {v}
groom,bridegroom,groom_name : fullname or person : the groom is {v}; he, the groom, is {v} : groom {v}
venue,place,location,where : made or company : the feast is at {v}; we celebrate in the {v} : at {v}
date,wedding_day,day,when : date : the wedding is on {v}; the day is {v} : {v}; on {v}
guests,guest_count,invited : int 12 320 : {v} guests are invited; we expect {v} guests : {v} guests
witness,best_man,maid_of_honour : fullname : {v} is the witness; the best man is {v} : witness {v}
ceremony,ceremony_time,starts_at : time : the ceremony begins at {v}; be at the church at {v} : ceremony {v}
band,music_by,dj : made or company : {v} play the music; music comes from {v} : music {v}
> the bride {bride} and her groom {groom} get married on {date}
> {bride} marries {groom} at {venue}
> groom {groom} and bride {bride} say yes on {date} at {ceremony}
> the groom, {groom}, and {witness}, his witness, have booked {venue} for {guests} guests
> {guests} people will see how {bride} walks up to her {groom} in the {venue}

@ birth
baby,child,name,baby_name : first or person : the baby is called {v}; we named the child {v} : {v}
weight_g,birth_weight,grams : int 2100 4900 : the little one weighs {v} g; {v} grams on the scales : {v} g; {v} grams
length_cm,size_cm,centimetres : int 43 58 : the baby is {v} cm long; measuring {v} centimetres : {v} cm
born_at,time_of_birth,time : time : the birth was at {v}; it came at {v} : at {v}
born_on,date,birthday : date : born on {v}; the birthday is {v} : {v}
mother,mum : person : the mother is {v}; {v}, the mother, is well : mother {v}
midwife,doctor : fullname : the midwife was {v}; {v} helped as midwife : midwife {v}
> {baby} was born on {born_on} at {born_at}, {weight_g} g and {length_cm} cm
> {mother} gave birth to {baby}: {length_cm} centimetres, {weight_g} grams
> little {baby} came at {born_at}, and midwife {midwife} said {weight_g} g

@ health
temperature,fever,body_temperature : num 36 41 1 : I have {v} degrees fever; my temperature is {v} °C; the thermometer says {v} : {v} °C; {v} degrees
systolic,upper_pressure,blood_pressure_high : int 95 190 : the upper value is {v}; systolic {v} : systolic {v}
diastolic,lower_pressure,blood_pressure_low : int 50 110 : the lower value is {v}; diastolic {v} : diastolic {v}
pulse,heart_rate,bpm : int 48 140 : my pulse is {v}; heart rate {v} : pulse {v}; {v} bpm
symptom,complaint,problem : some a dry cough/headache/a sore throat/back pain/a rash/stomach ache/dizziness/a runny nose : I have {v}; it started with {v} : {v}
medicine,drug,medication : made : I take {v}; the doctor gave me {v} : {v}
dose_mg,dose,milligrams : int 5 900 : the dose is {v} mg; I swallow {v} milligrams : {v} mg
times_a_day,per_day,doses_per_day : few 1 6 : {v} time(s) a day : {v}x daily
days,days_ill,duration_days : int 1 40 : I've had this for {v} days; it has been {v} days : {v} days
> blood pressure {systolic} over {diastolic}, pulse {pulse}
> {systolic}/{diastolic}, pulse {pulse}, temperature {temperature}
> I have had {symptom} for {days} days and {temperature} degrees
> {medicine} {dose_mg} mg, {times_a_day} time(s) a day for {days} days
> take {dose_mg} mg of {medicine} {times_a_day} time(s) per day
> the nurse wrote down {temperature} °C, heart rate {pulse}, {systolic} over {diastolic}
< diastolic systolic

@ sleep
slept_hours,hours_slept,sleep_hours : num 3 11 1 : I slept {v} hours; I got {v} h of sleep : {v} h of sleep
bedtime,went_to_bed,asleep_at : time : I went to bed at {v}; lights out at {v} : bed {v}
woke_up,up_at,wake_time : time : I woke up at {v}; the alarm rang at {v} : up {v}
coffees,cups_of_coffee,cups : few 0 7 : I had {v} coffee(s); it took {v} coffee(s) : {v} coffee(s)
times_awake,interruptions,wake_ups : few 0 6 : I was awake {v} time(s); the baby woke us {v} time(s) : awake {v} time(s)
> in bed at {bedtime}, up at {woke_up}
> slept {slept_hours} h, from {bedtime} to {woke_up}, then {coffees} coffee(s)
> {slept_hours} hours of sleep and {coffees} coffee(s)

@ used bike
year,model_year,built,year_of_make : year : it is from {v}; bought in {v} : {v}; from {v}
km,mileage_km,mileage,kilometres : int 100 240000 : it has done {v} km; {v} kilometres on the clock : {v} km; {v}km
price,asking_price,price_eur : money 30 19000 : I want {v} for it; yours for {v}; the price is {v} : {v}; for {v}
brand,make,manufacturer : company or made : it's a {v}; made by {v} : {v}
color,colour,paint : color : it is {v}; painted in {v} : {v}
owners,previous_owners,number_of_owners : few 1 5 : it had {v} owner(s); there were {v} owner(s) before : {v} owner(s)
inspection,inspected_until,mot_until,valid_until : date : the inspection is good until {v}; approved till {v} : inspected until {v}
power_hp,horsepower,hp : int 5 290 : the engine has {v} hp; it makes {v} horsepower : {v} hp
seller,seller_name,sold_by : person : ask for {v}; the seller is {v} : {v}
> {brand}, {year}, {km} km, {price}
> a {color} {brand} of {year} with {km} kilometres, asking {price}
> {brand} with {power_hp} hp, {owners} owner(s), {km} km
> {seller} sells a {brand} built in {year} for {price}
> {price} for a {brand} that ran {km} km under {owners} owner(s)

@ offer
item,article,thing,what,product : product : I'm selling my {v}; up for sale: {v}; I have a {v} to give away : {v}
price,asking,price_now : money 2 900 : I'd like {v} for it; you can have it for {v}; now {v} : {v}; only {v}
new_price,original_price,price_new,bought_for : money 5 1900 : it was {v} new; in the shop it costs {v}; I once paid {v} : {v} new; new {v}
condition,state : some as good as new/a few scratches/slightly worn/hardly used/some stains/very good : condition: {v}; it is in this state: {v} : {v}
age_years,years_old,age : few 1 20 : it is {v} years old; I've had it {v} years : {v} years old
pickup,collect_in,place,city : city : collect it in {v}; you can pick it up in {v} : pickup {v}; in {v}
shipping,postage,shipping_cost : money 3 40 : shipping is {v}; postage costs {v} : shipping {v}
width_cm,width : int 20 240 : it is {v} cm wide; the width is {v} cm : {v} cm wide
height_cm,height : int 20 240 : it is {v} cm high; the height is {v} cm : {v} cm high
depth_cm,depth : int 20 120 : it is {v} cm deep; the depth is {v} cm : {v} cm deep
> {item}, {price}, was {new_price} new
> selling a {item} for {price} instead of {new_price}
> {item}, {width_cm} cm wide, {height_cm} cm high and {depth_cm} cm deep
> {price} plus {shipping} postage, or collect the {item} in {pickup}
> the {item} cost {new_price} when I bought it, now it's {price}

@ restaurant
restaurant,place,name,where : made or company : we booked at {v}; dinner is at {v}; we ate at {v} : {v}
people,party_size,guests,persons : few 2 14 : we'll be {v} people; a table for {v} : {v} people; table for {v}
time,at,reserved_for : time : the table is for {v}; we come at {v} : {v}; at {v}
date,day,on : date : the booking is for {v}; we come on {v} : {v}; on {v}
table,table_number : int 1 60 : we have table {v}; they put us at table {v} : table {v}
starter,first_course,appetizer : food : to begin with, {v}; as a starter we had {v} : starter {v}
main,main_course,main_dish : food : then came {v}; the main course was {v} : main {v}
dessert,sweet,pudding : food : and {v} for dessert; dessert was {v} : dessert {v}
bill,total,paid,sum : money 12 400 : the bill was {v}; it came to {v} altogether : bill {v}
tip,gratuity : money 1 40 : we left a tip of {v}; the waiter got {v} on top : tip {v}
waiter,waitress,served_by : first : {v} served us; our waiter was {v} : waiter {v}
> a table for {people} at {restaurant} on {date} at {time}
> {people} people, {time}, table {table}
> we had {starter}, then {main}, and {dessert} for dessert
> the bill was {bill} and we gave {tip} to {waiter}
> {starter} first, {main} afterwards, {bill} in all with a tip of {tip}
> at {restaurant} {waiter} brought us {main} at table {table}

@ recipe
dish,recipe,name,title : food : this makes {v}; today: {v}; the recipe is for {v} : {v}
flour_g,flour,grams_of_flour : int 50 900 : you need {v} g of flour; weigh {v} grams of flour : {v} g flour
sugar_g,sugar,grams_of_sugar : int 10 400 : with {v} g of sugar; add {v} grams of sugar : {v} g sugar
eggs,number_of_eggs,egg_count : few 0 8 : it takes {v} egg(s); beat {v} egg(s) : {v} egg(s)
milk_ml,milk,millilitres_of_milk : int 50 900 : pour in {v} ml of milk; warm {v} millilitres of milk : {v} ml milk
butter_g,butter,grams_of_butter : int 20 300 : melt {v} g of butter; and {v} grams of butter : {v} g butter
oven_c,oven,oven_temperature,degrees : int 120 250 : the oven at {v} degrees; heat the oven to {v} °C : {v} °C; oven {v} °C
minutes,baking_minutes,time_min,baking_time : int 8 120 : bake it for {v} minutes; it needs {v} min : {v} min; {v} minutes
servings,serves,portions,people : few 1 12 : it feeds {v}; enough for {v} people; serves {v} : serves {v}; for {v}
> {flour_g} g of flour, {sugar_g} g of sugar, {eggs} egg(s)
> mix {sugar_g} grams of sugar with {butter_g} grams of butter and {flour_g} of flour
> {minutes} minutes at {oven_c} degrees
> for {dish} take {milk_ml} ml of milk and {eggs} egg(s), then {minutes} min in the oven at {oven_c} °C
> {dish} for {servings}: {oven_c} degrees, {minutes} minutes
> {eggs} egg(s), {milk_ml} ml milk, {flour_g} g flour and {butter_g} g butter

@ weather
place,city,location,town : city : this is {v}; here in {v} : {v}; in {v}
high,max_temperature,high_c,warmest : int 5 39 : up to {v} degrees; the high is {v} °C : high {v}; max {v} °C
low,min_temperature,low_c,coldest : int 1 24 : down to {v} at night; the low is {v} °C : low {v}; min {v} °C
rain_mm,rain,rainfall,precipitation_mm : num 0.5 60 1 : {v} mm of rain are expected; {v} millimetres of rain fell : {v} mm rain; {v} mm
wind_kmh,wind,wind_speed : int 3 120 : the wind blows at {v} km/h; wind up to {v} km/h : wind {v} km/h; {v} km/h
wind_from,wind_direction,direction : some the north/the south-west/the east/the sea/the hills : the wind comes from {v} : wind from {v}
humidity,humidity_percent,moisture : int 15 100 : humidity is {v}%; the air has {v} percent humidity : {v} % humidity
sunrise,sun_up : time : the sun rises at {v}; sunrise is at {v} : sunrise {v}
sunset,sun_down : time : the sun goes down at {v}; sunset is at {v} : sunset {v}
snow_cm,snow,snow_depth : int 1 190 : there are {v} cm of snow; {v} centimetres of fresh snow : {v} cm snow
> {place}: between {low} and {high} degrees, {rain_mm} mm of rain
> {high} degrees by day, {low} at night
> in {place} the wind is {wind_kmh} km/h from {wind_from}
> sun from {sunrise} to {sunset}, up to {high} °C
> {humidity} percent humidity, {rain_mm} mm rain and {wind_kmh} km/h wind
> {place} woke up to {snow_cm} cm of snow and {low} degrees
< low high

@ pet
name,pet_name,called,pet : first or made : it is called {v}; the name is {v}; it listens to {v} : {v}
species,animal,kind : animal : it's a {v}; the animal is a {v} : {v}
breed,race : made or phrase : the breed is {v}; it's a real {v} : breed {v}
age,age_years,years : few 1 18 : it is {v} years old; it turned {v} : {v} years old
weight_kg,weight,kilos : num 0.3 60 1 : it weighs {v} kg; the scales show {v} kilos : {v} kg
owner,holder,belongs_to : person or fullname : it belongs to {v}; the owner is {v} : owner {v}
chip,chip_number,microchip : code 999999 or code AA-99999 : the chip is {v}; chip number {v} : chip {v}
vet,doctor,vet_name : fullname or person : our vet is {v}; {v} is the vet : vet {v}
vaccinated,is_vaccinated : bool : it is vaccinated; it had its shots / it isn't vaccinated; no vaccination yet
> {owner} has a {species} called {name}
> {name} is a {age} year old {species} of {weight_kg} kg
> {name} the {species} belongs to {owner} and goes to see vet {vet}
> vet {vet} weighed {name}: {weight_kg} kilos at {age} years
> lost: {species}, answers to {name}, chip {chip}, call {owner}

@ lost and found
item,object,thing,lost_item : product : I lost my {v}; somebody left a {v}; a {v} was handed in : {v}
color,colour : color : it is {v}; the colour is {v} : {v}
where,place,location,found_at : made or address or company : it was at {v}; last seen at {v} : at {v}
line,bus,bus_line,tram : int 1 400 : it happened on line {v}; I was on the {v} bus : line {v}
date,day,lost_on : date : it was on {v}; lost on {v} : {v}; on {v}
finder,found_by : person or fullname : {v} found it; the finder is {v} : found by {v}
owner,lost_by,belongs_to : person or fullname : it belongs to {v}; {v} is missing it : owner {v}
reward,finders_reward : money 5 300 : the reward is {v}; whoever finds it gets {v} : reward {v}
phone,call,contact_number : phone : call {v}; my number is {v} : tel {v}; {v}
> {owner} lost a {color} {item} on line {line}
> {finder} found the {item} of {owner} at {where}
> a {color} {item} was left at {where} on {date}, {reward} reward
> if you see a {color} {item}, call {phone}, {owner} pays {reward}

@ hotel
hotel,hotel_name,place : company or made : we stay at the {v}; the hotel is called {v} : {v}; hotel {v}
room,room_number : int 2 999 : our room is {v}; we have room {v} : room {v}
nights,number_of_nights,stay_nights : few 1 14 : we stay {v} night(s); for {v} night(s) : {v} night(s)
check_in,arrival,from : date : we arrive on {v}; check-in is on {v} : from {v}; check-in {v}
check_out,departure,until : date : we leave on {v}; check-out is on {v} : until {v}; check-out {v}
price_per_night,rate,per_night : money 35 420 : it's {v} a night; a night costs {v} : {v} per night
guest,guest_name,booked_by : fullname or person : the guest is {v}; booked in the name of {v} : guest {v}
breakfast,breakfast_included,with_breakfast : bool : breakfast is included; with breakfast / breakfast is extra; without breakfast
beds,number_of_beds : few 1 5 : with {v} bed(s); the room has {v} bed(s) : {v} bed(s)
> {nights} night(s) at the {hotel} at {price_per_night} each
> {guest} stays in room {room} of the {hotel} from {check_in} to {check_out}
> {hotel}, room {room}, {nights} night(s), {beds} bed(s)
> from {check_in} until {check_out}, {price_per_night} per night, room {room}
< check_in check_out

@ childcare
child,kid,name,child_name : first or person : the child is {v}; it is about {v} : {v}
group,class,kindergarten_group : made or phrase : in the group {v}; the group is called {v} : group {v}
picked_up_by,collected_by,pick_up : person or fullname : {v} will fetch the child; today {v} collects : picked up by {v}
pick_up_time,collected_at,until : time : pick-up is at {v}; until {v} today : until {v}
allergy,allergic_to,intolerance : ingredient : allergic to {v}; cannot eat {v} : no {v}
teacher,carer,educator : fullname or person : the carer is {v}; {v} looks after the group : carer {v}
> {child} will be fetched by {picked_up_by} at {pick_up_time}
> {child} from the group {group} is allergic to {allergy}
> {teacher} told {picked_up_by} that {child} ate no {allergy}
> {picked_up_by} picks {child} up from {teacher} at {pick_up_time}

@ car trip
start_km,odometer_start,km_before : int 1000 180000 : the clock said {v} km at the start; we began at {v} km : start {v} km
end_km,odometer_end,km_after : int 1000 190000 : it showed {v} km at the end; we finished at {v} km : end {v} km
litres,fuel_litres,fuel_l,petrol : num 5 70 1 : I put in {v} litres; the tank took {v} l : {v} l; {v} litres
price_per_litre,litre_price,per_litre : num 1.1 2.4 2 : a litre was {v}; at {v} a litre : {v}/l
total,paid,fuel_cost,cost : money 8 150 : I paid {v}; that made {v} : {v}
driver,at_the_wheel : first or person : {v} drove; the driver was {v} : driver {v}
passengers,people_in_car : few 0 7 : there were {v} passenger(s); with {v} passenger(s) : {v} passenger(s)
plate,licence_plate,registration : code AA-AA 999 or code AA 99 AA : the plate is {v}; it's the car {v} : {v}; plate {v}
> {litres} litres at {price_per_litre}, together {total}
> from {start_km} to {end_km} km with {passengers} passenger(s)
> {driver} drove {plate} from kilometre {start_km} to {end_km}
> filled up {plate} with {litres} l for {total}
< start_km end_km

@ parking
plate,licence_plate,car : code AA-AA 999 or code AAA 999 : the car is {v}; plate {v} : {v}
level,deck,parking_level : int 1 9 : on level {v}; I parked on deck {v} : level {v}
space,spot,bay,parking_space : int 1 800 or code A99 : in space {v}; the spot is {v} : space {v}
from,since,entered : time : since {v}; I drove in at {v} : from {v}
until,left,exit_time : time : until {v}; I drove out at {v} : until {v}
fee,price,paid : money 1 40 : it cost {v}; the machine wanted {v} : {v}
fine,penalty : money 10 120 : I got a fine of {v}; the penalty is {v} : fine {v}
street,where : street : on {v}; it was in {v} : {v}
> {plate} is on level {level}, space {space}
> parked from {from} to {until} for {fee}
> {plate} in {street}: fine of {fine}, since no {fee} had been paid
> level {level}, spot {space}, paid {fee} until {until}

@ energy
electricity_kwh,power_kwh,kwh,electricity : int 30 6000 : we used {v} kWh; the power meter says {v} kWh : {v} kWh
gas_m3,gas,cubic_metres_gas : int 10 2500 : {v} m³ of gas; the gas meter shows {v} : gas {v} m³
water_m3,water,cubic_metres_water : int 2 300 : {v} m³ of water; the water meter is at {v} : water {v} m³
meter,meter_number,meter_id : code 9AAA99999 or code 99999999 : the meter is number {v}; meter number {v} : meter {v}
read_on,reading_date,date : date : read on {v}; I looked on {v} : {v}
tenant,customer_name,reader : person or fullname : the tenant is {v}; read by {v} : tenant {v}
monthly,instalment,monthly_payment : money 20 390 : we pay {v} a month; the instalment is {v} : {v} a month
> {electricity_kwh} kWh of power, {gas_m3} m³ of gas and {water_m3} m³ of water
> meter {meter} stood at {electricity_kwh} kWh on {read_on}
> {tenant} pays {monthly} for {electricity_kwh} kWh and {gas_m3} cubic metres of gas
> water {water_m3}, gas {gas_m3}, electricity {electricity_kwh}
"""
