"""What texts are about: subjects, their fields, and how sentences say them.

A domain is a block of lines. The first: `name | noun of the subject | kind of its name | key names of
its name | pronoun`. Each further line is a field: `keys : kind : sayings : descriptions`. Sayings
follow a subject; those with `!` in front are patterns that only the evaluation sees. Booleans have
sayings for true, then `//`, then those for false; enums have `value= saying` where it is not said
literally.
"""

from __future__ import annotations

from dataclasses import dataclass, field

TRAIN_TEXT = """
person | person | person | name,full_name,person,fullName,person_name | They
age,years,age_years,age_in_years : int 1 99 : is {v} years old; is {v}; turned {v} last month; has just turned {v}; is aged {v}; !celebrated a {v}th birthday : age in years; how old the person is
city,hometown,lives_in,location,residence : city : lives in {v}; comes from {v}; is based in {v}; moved to {v}; has a flat in {v}; !calls {v} home : the city where the person lives; where they live
country,nationality_country,home_country : country : was born in {v}; grew up in {v}; is from {v}; !has roots in {v} : country of birth
job,occupation,profession,job_title,role : job : works as a {v}; is a {v}; has a job as a {v}; trained as a {v}; !earns a living as a {v} : what the person does for a living
employer,company,works_for,organisation : company : works for {v}; is employed at {v}; joined {v} recently; !is on the payroll of {v} : the company the person works for
email,mail,email_address,contact_email : email : can be reached at {v}; uses the address {v}; has the email {v}; !answers mail at {v} : e-mail address
phone,phone_number,tel,mobile : phone : has the phone number {v}; can be called on {v}; !picks up at {v} : telephone number
birthday,birth_date,date_of_birth,born : date : was born on {v}; has the birth date {v}; !came into the world on {v} : date of birth
languages,speaks,spoken_languages : list language : speaks {v}; is fluent in {v}; !gets by in {v} : languages that the person speaks
skills,abilities,strengths : list skill : is good at {v}; knows {v}; has experience with {v}; !shines at {v} : what the person can do
hobby,sport,favourite_sport : sport : likes {v}; plays {v}; spends weekends on {v}; !is mad about {v} : favourite sport
height_cm,height : int 140 205 : is {v} cm tall; measures {v} centimetres; !stands {v} cm high : height in centimetres
married,is_married : bool : is married; has a spouse; !tied the knot long ago // is single; is not married; !never married : whether the person is married
smoker,smokes,is_smoker : bool : smokes; is a smoker // does not smoke; is a non-smoker : whether the person smokes
pet,pet_type,animal : animal : owns a {v}; has a {v}; keeps a {v}; !shares the house with a {v} : which animal the person keeps
favourite_color,color,favorite_colour : color : likes the color {v}; prefers {v}; !paints everything {v} : favourite colour

employee | employee | fullname | name,employee,employee_name,fullName | They
employee_id,id,staff_number,employeeId : code : has the staff number {v}; has the employee id {v}; !is listed under {v} : staff number
department,team,division,unit : enum engineering/sales/marketing/finance/support/legal/operations : works in {v}; is in the {v} department; belongs to {v}; !sits with the {v} team : department
salary,annual_salary,pay : int 20000 180000 : earns {v} a year; has a salary of {v}; is paid {v}; !takes home {v} per year : annual salary
start_date,hired_on,joined,hire_date : date : started on {v}; was hired on {v}; joined on {v}; !has been with us since {v} : first day at work
manager,reports_to,boss,supervisor : fullname : reports to {v}; has {v} as manager; works under {v}; !answers to {v} : name of the manager
remote,works_remotely,is_remote : bool : works remotely; works from home // works in the office; comes to the office every day : whether they work remotely
level,seniority,grade : enum junior/senior/lead/principal/intern : is at the level {v}; is a {v}; was promoted to {v}; !holds the grade {v} : seniority
office,location,site : city : sits in the {v} office; works in {v}; !has a desk in {v} : where the office is
vacation_days,days_off,holidays_left : int 0 40 : has {v} vacation days left; has {v} days off; !can still take {v} days of leave : vacation days left

product | product | product | product,name,item,product_name,article | It
price,cost,unit_price,price_usd,amount : money 1 900 : costs {v}; sells for {v}; is priced at {v}; goes for {v}; !will set you back {v} : price
color,colour : color : comes in {v}; is {v}; has a {v} finish; !is painted {v} : colour
material,made_of : material : is made of {v}; is built from {v}; !consists of {v} : what it is made of
brand,manufacturer,maker,vendor : company : is made by {v}; comes from {v}; is a {v} product; !carries the {v} brand : the manufacturer
weight_kg,weight : num 0.1 30 1 : weighs {v} kg; has a weight of {v} kg; !brings {v} kg to the scales : weight in kilograms
stock,in_stock_count,quantity,units,inventory : int 0 500 : has {v} units in stock; is stocked {v} times; !has {v} pieces left : units in stock
available,in_stock,is_available : bool : is available; is in stock; can be ordered now // is sold out; is out of stock; is not available : whether it can be bought
rating,stars,score : num 1 5 1 : is rated {v} stars; has {v} out of 5 stars; has a rating of {v}; !gets {v} stars from buyers : rating in stars
sku,article_number,product_code,code : code : has the SKU {v}; has the article number {v}; !is filed under {v} : article number
warranty_years,warranty : int 1 10 : has a warranty of {v} years; comes with {v} years of warranty; !is covered for {v} years : years of warranty
category,department,type : enum electronics/furniture/kitchen/sports/garden/clothing/toys/books : belongs to {v}; is in the {v} category; !is found under {v} : category

order | order | code | order_id,order,order_number,id,orderId | It
customer,customer_name,buyer,client : person : was placed by {v}; comes from {v}; belongs to {v}; !was made on behalf of {v} : who ordered
item,product,article,goods : product : is for a {v}; contains a {v}; includes one {v}; !consists of a {v} : what was ordered
quantity,qty,count,pieces : int 1 60 : has a quantity of {v}; covers {v} pieces; contains {v} units; !asks for {v} items : number of pieces
total,amount,total_price,sum : money 5 3000 : totals {v}; comes to {v}; has a total of {v}; !adds up to {v} : total amount
order_date,date,placed_on,ordered_at : date : was placed on {v}; is dated {v}; was made on {v}; !came in on {v} : day of the order
status,state,order_status : enum pending/shipped/delivered/cancelled/returned/paid : is {v}; has the status {v}; is marked as {v}; !now counts as {v} : state of the order
delivery_date,deliver_by,arrives,eta : date : arrives on {v}; will be delivered on {v}; is due on {v}; !should be there by {v} : day of delivery
ship_to,destination,city,shipping_city : city : ships to {v}; goes to {v}; is sent to {v}; !is headed for {v} : city it is sent to
express,is_express,fast_shipping : bool : goes by express; is shipped express // goes by standard mail; is shipped the normal way : whether it is an express delivery
payment_method,payment,paid_with : enum card/cash/invoice/paypal/transfer : was paid by {v}; is paid with {v}; !was settled by {v} : how it is paid
tracking,tracking_number,parcel_code : code : has the tracking number {v}; can be tracked with {v}; !travels under {v} : tracking number
gift,is_gift,gift_wrap : bool : is a gift; should be gift-wrapped // is not a gift; needs no gift wrap : whether it is a gift

event | event | topic | event,title,name,subject,event_name,summary | It
date,day,event_date,when,on : date : takes place on {v}; is on {v}; is planned for {v}; happens on {v}; !has been put down for {v} : day of the event
start_time,time,starts_at,begins,start : time : starts at {v}; begins at {v}; !kicks off at {v} : when it starts
end_time,ends_at,until,end : time : ends at {v}; lasts until {v}; !is over at {v} : when it ends
location,venue,place,city : city : is held in {v}; takes place in {v}; happens in {v}; !brings everyone to {v} : where it is
room,meeting_room : code A99 : is in room {v}; uses room {v}; !was given room {v} : room
organizer,host,organised_by,organiser : person : is organised by {v}; is hosted by {v}; is run by {v}; !lies in the hands of {v} : who organises it
attendees,participants,guests,people : list first : is attended by {v}; will be joined by {v}; has the participants {v}; !brings together {v} : who takes part
attendee_count,guest_count,headcount,number_of_guests : int 2 400 : has {v} guests; expects {v} people; is for {v} participants; !draws {v} visitors : number of people
duration_minutes,duration,minutes,length_minutes : int 10 240 : lasts {v} minutes; takes {v} minutes; !runs for {v} minutes : minutes it lasts
ticket_price,fee,entry_fee,price : money 1 300 : costs {v} per person; has a fee of {v}; !charges {v} at the door : price of a ticket
online,virtual,is_online,remote : bool : is online; is a virtual event // is held in person; is not online : whether it is online

booking | booking | code | booking_code,reference,booking_id,confirmation | It
guest,guest_name,name,traveller,customer : person : is for {v}; was made by {v}; is under the name {v}; !was reserved by {v} : the guest
hotel,hotel_name,accommodation : company : is at the {v} hotel; is for the hotel {v}; !is valid at the {v} : hotel
check_in,arrival,arrival_date,from_date : date : starts on {v}; has check-in on {v}; begins on {v}; !has an arrival on {v} : day of arrival
check_out,departure,departure_date,to_date : date : ends on {v}; has check-out on {v}; runs until {v}; !has a departure on {v} : day of departure
nights,number_of_nights,stay_nights : int 1 21 : covers {v} nights; is for {v} nights; !means {v} nights : number of nights
guests,persons,party_size,number_of_people : int 1 12 : is for {v} people; is for {v} guests; !seats {v} : number of guests
room_type,room,bed_type : enum single/double/twin/suite/family : is for a {v} room; includes a {v} room; !comes with a {v} room : kind of room
breakfast,breakfast_included,with_breakfast : bool : includes breakfast; comes with breakfast // is without breakfast; does not include breakfast : whether breakfast is included
price_per_night,rate,nightly_rate : money 30 600 : costs {v} per night; has a rate of {v} per night; !runs at {v} a night : price of a night

flight | flight | code AA999 | flight,flight_number,flight_no,number | It
origin,departure_city,from_city,departs_from,from : city : leaves from {v}; departs from {v}; starts in {v}; !takes off in {v} : where it departs
destination,arrival_city,to_city,arrives_in,to : city : flies to {v}; goes to {v}; lands in {v}; arrives in {v}; !touches down in {v} : where it lands
date,departure_date,flight_date,day : date : leaves on {v}; is on {v}; departs on {v}; !is scheduled for {v} : day of departure
departure_time,departs_at,takeoff,leaves_at : time : leaves at {v}; departs at {v}; !takes off at {v} : when it departs
gate,departure_gate,boarding_gate : code A99 : leaves from gate {v}; boards at gate {v}; !is called at gate {v} : gate
airline,carrier,operator : company : is operated by {v}; is run by {v}; !is served by {v} : airline
passengers,passenger_count,seats_taken : int 1 300 : carries {v} passengers; has {v} passengers; !takes {v} people : number of passengers
delayed,is_delayed,late : bool : is delayed; is late // is on time; leaves as planned : whether it is late
seat_class,cabin,travel_class,class : enum economy/business/first/premium : is booked in {v} class; is in {v}; !offers {v} class : class

book | book | title | title,book,book_title,name | It
author,written_by,writer,author_name : fullname : was written by {v}; is by {v}; comes from the pen of {v}; !has {v} as its author : author
year,published,publication_year,release_year : year : was published in {v}; came out in {v}; appeared in {v}; !dates from {v} : year of publication
pages,page_count,number_of_pages,length : int 40 1200 : has {v} pages; is {v} pages long; !runs to {v} pages : number of pages
genre,category,kind : genre : is a {v}; belongs to the genre {v}; !is shelved under {v} : genre
language,written_in,lang : language : is written in {v}; was published in {v}; !is to be read in {v} : language
publisher,published_by,press : company : was published by {v}; is printed by {v}; !was brought out by {v} : publisher
isbn,isbn_number : code 978-99999999 : has the ISBN {v}; is listed under ISBN {v} : ISBN
price,cost : money 3 80 : costs {v}; sells for {v}; !can be had for {v} : price

film | film | title | title,movie,film,name,movie_title | It
director,directed_by,filmmaker : fullname : was directed by {v}; is a film by {v}; !was shot by {v} : director
year,release_year,released : year : came out in {v}; was released in {v}; !reached cinemas in {v} : year of release
genre,type,kind : genre : is a {v}; counts as {v}; !falls under {v} : genre
runtime,duration_minutes,length_min,minutes : int 60 220 : runs for {v} minutes; lasts {v} minutes; !keeps you seated for {v} minutes : minutes
cast,actors,stars : list first : stars {v}; features {v}; !has {v} in the cast : actors
rating,score,stars : num 1 10 1 : has a score of {v}; is rated {v}; !earned {v} points : rating
awards,award_count,prizes : int 0 20 : won {v} awards; received {v} prizes; !took {v} awards home : number of awards

recipe | recipe | food | dish,recipe,name,title,meal | It
servings,serves,portions,people : int 1 12 : serves {v}; is enough for {v} people; makes {v} portions; !feeds {v} : number of portions
prep_minutes,preparation_time,prep_time,minutes : int 5 180 : takes {v} minutes to prepare; needs {v} minutes; is ready in {v} minutes; !keeps you busy for {v} minutes : minutes of preparation
ingredients,needs,shopping_list : list ingredient : needs {v}; is made with {v}; contains {v}; !calls for {v} : ingredients
vegetarian,is_vegetarian,meat_free : bool : is vegetarian; contains no meat // contains meat; is not vegetarian : whether it is vegetarian
difficulty,level,skill_level : enum easy/medium/hard : is {v} to make; has the difficulty {v}; is rated {v}; !counts as {v} : difficulty
calories,kcal,energy : int 50 1500 : has {v} calories; contains {v} kcal; !comes to {v} kcal : calories
cuisine,origin,country : country : comes from {v}; is a dish from {v}; !is eaten all over {v} : where the dish comes from

apartment | apartment | address | address,street,apartment,street_address | It
rent,monthly_rent,price,rent_per_month : money 200 4000 : rents for {v} a month; costs {v} per month; has a rent of {v}; !is let for {v} monthly : rent per month
rooms,room_count,number_of_rooms : int 1 9 : has {v} rooms; comes with {v} rooms; !is divided into {v} rooms : number of rooms
size_sqm,area,square_meters,size : int 18 260 : has {v} square metres; measures {v} sqm; is {v} square meters large; !stretches over {v} sqm : size in square metres
floor,storey,level : int 1 30 : is on floor {v}; lies on level {v}; !is up on floor {v} : floor
city,town,location : city : is in {v}; is located in {v}; !is to be found in {v} : city
furnished,is_furnished : bool : is furnished; comes with furniture // is unfurnished; comes without furniture : whether it is furnished
pets_allowed,pets,allows_pets : bool : allows pets; is open to pets // does not allow pets; is not for pets : whether pets are allowed
available_from,free_from,move_in_date,available : date : is available from {v}; is free from {v}; can be rented from {v}; !is vacant as of {v} : first possible day
landlord,owner,contact : person : belongs to {v}; is let by {v}; is owned by {v}; !is the property of {v} : the landlord

car | car | company | make,brand,car,manufacturer,model | It
color,colour,paint : color : is {v}; is painted {v}; !shines in {v} : colour
year,model_year,built,first_registered : year : was built in {v}; is from {v}; was made in {v}; !left the factory in {v} : year it was built
mileage,km,kilometers,odometer : int 100 300000 : has {v} km on the clock; has driven {v} kilometres; has a mileage of {v}; !covered {v} km so far : kilometres driven
price,asking_price,cost : money 500 90000 : costs {v}; is offered for {v}; sells for {v}; !is up for {v} : price
fuel,fuel_type,engine : enum petrol/diesel/electric/hybrid : is {v}; has a {v} engine; runs on {v} power; !is a {v} car : kind of fuel
doors,door_count,number_of_doors : int 2 5 : has {v} doors; comes with {v} doors : number of doors
plate,licence_plate,registration : code AA-AA-999 : has the plate {v}; is registered as {v}; !bears the plate {v} : licence plate
automatic,is_automatic : bool : has an automatic gearbox; is an automatic // has a manual gearbox; is shifted by hand : whether it is an automatic
horsepower,hp,power : int 50 600 : has {v} horsepower; delivers {v} hp; !makes {v} hp : horsepower

invoice | invoice | code | invoice_number,invoice,invoice_id,number,invoiceNo | It
vendor,supplier,issued_by,seller,from : company : was issued by {v}; comes from {v}; is from {v}; !was sent by {v} : who issued it
customer,bill_to,recipient,client : company : is addressed to {v}; was sent to {v}; goes to {v}; !bills {v} : who has to pay
amount,total,amount_due,total_amount : money 10 20000 : is over {v}; amounts to {v}; has a total of {v}; !asks for {v} : amount
issue_date,invoice_date,date,issued : date : was issued on {v}; is dated {v}; !bears the date {v} : day of issue
due_date,payable_by,due,deadline : date : is due on {v}; has to be paid by {v}; is payable until {v}; !must be settled before {v} : day it is due
currency,currency_code : enum EUR/USD/GBP/CHF/SEK/JPY : is in {v}; uses the currency {v}; !is charged in {v} : currency
paid,is_paid,settled : bool : is paid; has been settled // is unpaid; is still open : whether it is paid
tax_rate,vat,vat_percent : int 0 25 : includes {v}% VAT; has a tax rate of {v} percent; !adds {v}% tax : tax in percent

ticket | ticket | code | ticket_id,ticket,id,case_number,issue | It
reporter,reported_by,customer,opened_by : person : was opened by {v}; was reported by {v}; comes from {v}; !was raised by {v} : who reported it
priority,severity,urgency : enum low/medium/high/critical : has {v} priority; has the priority {v}; is {v}; !was classed as {v} : priority
assignee,assigned_to,owner,agent : person : is assigned to {v}; was given to {v}; is handled by {v}; !landed with {v} : who works on it
status,state : enum open/closed/in_progress/waiting/resolved : is {v}; has the status {v}; is set to {v}; !stands at {v} : state
created,created_on,opened_on,date : date : was opened on {v}; was created on {v}; !goes back to {v} : day it was opened
component,module,area,subsystem : enum login/billing/search/database/network/printer : concerns {v}; is about {v}; belongs to {v}; !touches {v} : part of the system that is affected
affected_users,users,impacted : int 1 5000 : affects {v} users; hits {v} users; !troubles {v} users : number of users affected
version,app_version,release : code 9.99.9 : was found in version {v}; concerns version {v}; !appears in {v} : version of the software
reproducible,is_reproducible : bool : can be reproduced; is reproducible // cannot be reproduced; is not reproducible : whether it can be reproduced

company | company | company | company,name,company_name,organisation,firm | It
founded,founding_year,year_founded,since : year : was founded in {v}; has existed since {v}; started in {v}; !opened its doors in {v} : year of foundation
headquarters,hq,city,based_in : city : is based in {v}; has its headquarters in {v}; sits in {v}; !is run out of {v} : city of the headquarters
employees,employee_count,headcount,staff : int 1 90000 : has {v} employees; employs {v} people; !has a staff of {v} : number of employees
ceo,chief_executive,head,director : fullname : is led by {v}; has {v} as CEO; is headed by {v}; !is steered by {v} : who leads it
founder,founded_by : fullname : was founded by {v}; was started by {v}; !owes its existence to {v} : who founded it
revenue,annual_revenue,turnover : int 10000 9000000 : has a revenue of {v}; turned over {v} last year; makes {v} a year; !took in {v} : revenue of a year
website,url,homepage,web : url : has the website {v}; can be found at {v}; is online at {v}; !presents itself at {v} : website
products,sells,offerings : list product : sells {v}; makes {v}; offers {v}; !is known for {v} : what it sells
public,is_public,listed : bool : is listed on the stock exchange; is a public company // is privately held; is not listed : whether it is listed
country,registered_in : country : is registered in {v}; comes from {v}; !pays its taxes in {v} : country

patient | patient | fullname | patient,name,patient_name,fullName | They
age,age_years : int 1 99 : is {v} years old; is {v}; is aged {v}; !reached the age of {v} : age
symptoms,complaints : list attribute : reports {v}; complains of {v}; suffers from {v} : symptoms
doctor,physician,treated_by : fullname : is treated by {v}; was seen by {v}; is under the care of {v}; !sees {v} : doctor
admitted,admission_date,admitted_on : date : was admitted on {v}; came in on {v}; !has been here since {v} : day of admission
ward,room,station : code A9 : is on ward {v}; lies in room {v}; !was put on {v} : ward
blood_type,blood_group : enum A/B/AB/O : has blood type {v}; has the blood group {v} : blood group
temperature,body_temperature,fever : num 35 41 1 : has a temperature of {v}; was measured at {v} degrees; !runs a temperature of {v} : temperature
allergic,has_allergies,allergies : bool : has allergies; is allergic // has no allergies; is not allergic : whether there are allergies
weight_kg,weight : int 30 140 : weighs {v} kg; has a weight of {v} kg : weight in kilograms

course | course | topic | course,title,name,subject,course_name | It
teacher,instructor,lecturer,taught_by : fullname : is taught by {v}; is given by {v}; is led by {v}; !has {v} as its teacher : teacher
weeks,duration_weeks,length_weeks : int 1 40 : lasts {v} weeks; runs for {v} weeks; !spans {v} weeks : number of weeks
credits,credit_points,ects : int 1 15 : gives {v} credits; is worth {v} points; !earns you {v} credits : credits
start_date,starts,begins_on,first_day : date : starts on {v}; begins on {v}; !opens on {v} : first day
students,enrolled,student_count,participants : int 3 300 : has {v} students; counts {v} participants; !filled up with {v} people : number of students
level,difficulty : enum beginner/intermediate/advanced : is for the level {v}; is {v}; !aims at {v} learners : level
weekday,day,day_of_week : enum Monday/Tuesday/Wednesday/Thursday/Friday : is on {v}; takes place every {v}; meets on {v}; !fills every {v} : day of the week
room,classroom,hall : code A99 : is in room {v}; meets in {v} : room

song | song | title | song,title,track,name | It
artist,singer,performer,band : person : is by {v}; is sung by {v}; was recorded by {v}; !made {v} famous : artist
album,record : title : is on the album {v}; appeared on {v}; !is taken from {v} : album
seconds,duration_seconds,length_seconds : int 60 600 : lasts {v} seconds; is {v} seconds long; !plays for {v} seconds : length in seconds
genre,style,kind : genre : is {v}; belongs to {v}; is a {v} track; !is pure {v} : genre
plays,play_count,streams : int 10 9000000 : has {v} plays; was streamed {v} times; !was heard {v} times : number of plays
year,released,release_year : year : came out in {v}; was released in {v}; !is from {v} : year

pet | pet | first | name,pet_name,pet,animal_name | It
species,animal,kind,type : animal : is a {v}; is our {v}; !belongs to the {v} family : kind of animal
age,age_years,years : int 1 25 : is {v} years old; is {v}; turned {v}; !has lived for {v} years : age in years
owner,owner_name,belongs_to : person : belongs to {v}; is owned by {v}; lives with {v}; !is the darling of {v} : owner
color,fur_color,colour : color : is {v}; has {v} fur; !looks {v} : colour
weight_kg,weight : num 0.2 60 1 : weighs {v} kg; has a weight of {v} kg; !tips the scales at {v} kg : weight in kilograms
vaccinated,is_vaccinated : bool : is vaccinated; has had all shots // is not vaccinated; has had no shots : whether it is vaccinated
favourite_food,food,eats : food : loves {v}; eats {v}; !goes wild for {v} : favourite food
chip,chip_number,chip_id : code 999999999 : has the chip number {v}; is chipped as {v} : chip number

place | city | city | city,name,place,town | It
country,state,nation : country : is in {v}; lies in {v}; belongs to {v}; !is part of {v} : country
population,inhabitants,residents : int 500 9000000 : has {v} inhabitants; has a population of {v}; is home to {v} people; !counts {v} souls : inhabitants
mayor,mayor_name,head : fullname : is governed by {v}; has {v} as mayor; elected {v} as mayor; !is in the hands of {v} : mayor
founded,founded_year,founding_year : year : was founded in {v}; dates from {v}; !goes back to {v} : year of foundation
river,river_name : made : lies on the {v}; is on the river {v}; !is crossed by the {v} : river
language,main_language : language : speaks {v}; has {v} as its language; !does its business in {v} : language spoken
capital,is_capital : bool : is the capital; is a capital city // is not the capital; is no capital : whether it is a capital
temperature,temp_c,degrees : int 0 40 : has {v} degrees today; is at {v} degrees; !warms up to {v} degrees : temperature in degrees
altitude_m,elevation,height_m : int 1 3000 : lies at {v} m; is {v} metres above the sea; !reaches up to {v} m : metres above the sea

device | device | code | device,device_id,id,serial_number,serial | It
model,model_name,type : made : is a {v}; is of the model {v}; !goes by the model name {v} : model
ip,ip_address,address : code 192.168.1.99 : has the address {v}; is reachable at {v}; uses {v}; !answers on {v} : address
battery,battery_percent,battery_level,charge : int 1 100 : has {v}% battery; is charged to {v} percent; !is down to {v}% : battery in percent
online,is_online,connected : bool : is online; is connected // is offline; is not connected : whether it is connected
temperature,temp,celsius : num 10 90 1 : is at {v} degrees; reports {v} degrees; measures {v}; !heats up to {v} degrees : temperature
location,room,place : enum kitchen/bedroom/office/garage/basement/lobby : is in the {v}; stands in the {v}; is installed in the {v}; !hangs in the {v} : where it is
firmware,version,firmware_version : code 9.99 : runs firmware {v}; is on version {v}; !was flashed with {v} : version of the firmware
user,owner,assigned_to : person : belongs to {v}; is used by {v}; !was handed to {v} : who uses it
last_seen,seen_on,last_contact : date : was last seen on {v}; reported on {v}; !fell silent on {v} : last day of contact

vacancy | position | job | position,title,job,role,job_title | It
company,employer,firm : company : is at {v}; is offered by {v}; is with {v}; !would put you on the team of {v} : company
city,location,place : city : is in {v}; is based in {v}; !takes you to {v} : city
salary,pay,annual_salary : int 18000 150000 : pays {v} a year; comes with {v} a year; has a salary of {v}; !brings in {v} yearly : salary
skills,requirements,required_skills : list skill : requires {v}; asks for {v}; needs {v}; !builds on {v} : required skills
remote,is_remote,home_office : bool : is remote; can be done from home // is on site; cannot be done from home : whether it is remote
experience_years,min_years,years_of_experience : int 1 15 : asks for {v} years of experience; requires {v} years; !expects {v} years behind you : years of experience
contract,contract_type,employment_type : enum permanent/temporary/freelance/internship : is {v}; is a {v} contract; !is offered as {v} : kind of contract
deadline,apply_by,closing_date : date : is open until {v}; has the deadline {v}; closes on {v}; !takes applications up to {v} : last day to apply

match | match | sport | sport,discipline,game | It
home_team,home,host_team : city : is played at home by {v}; has {v} as home team; !is hosted by {v} : home team
away_team,away,visitors,guest_team : city : has {v} as guests; sees {v} as away team; !welcomes {v} : away team
home_score,home_goals : int 0 9 : gave {v} points to the home team; saw {v} goals of the home team : goals of the home team
stadium,venue,arena : company : takes place in the {v} arena; is played at {v} stadium; !fills the {v} : stadium
spectators,attendance,crowd : int 100 90000 : had {v} spectators; was watched by {v} people; !drew a crowd of {v} : number of spectators
date,played_on,match_date,day : date : was played on {v}; is on {v}; !went down on {v} : day
referee,umpire : fullname : is refereed by {v}; has {v} as referee; !is whistled by {v} : referee
winner,won_by : city : was won by {v}; ended with a win for {v}; !went to {v} : winner
"""


@dataclass
class Field:
    """A field of a subject."""

    keys: list[str]
    kind: str
    sayings: list[str]
    held_sayings: list[str]
    descriptions: list[str]
    false_sayings: list[str] = field(default_factory=list)
    # Its key tells nothing: the description does.
    opaque: bool = False


@dataclass
class Domain:
    """What a text can be about."""

    name: str
    noun: str
    subject: str
    subject_keys: list[str]
    pronoun: str
    fields: list[Field]


def _split(text: str, mark: str) -> list[str]:
    return [part.strip() for part in text.split(mark) if part.strip()]


def _field(line: str) -> Field:
    keys, kind, sayings, *descriptions = (part.strip() for part in line.split(" : "))
    true, _, false = sayings.partition("//")
    known = [s for s in _split(true, ";") if not s.startswith("!")]
    held = [s[1:] for s in _split(true, ";") if s.startswith("!")]
    untrue = [s for s in _split(false, ";") if not s.startswith("!")]
    said = _split(descriptions[0], ";") if descriptions else []
    return Field(_split(keys, ","), kind, known, held or known, said, untrue)


def parse(text: str) -> list[Domain]:
    """The domains of a text in the notation above."""
    domains = []
    for block in text.strip().split("\n\n"):
        head, *lines = block.splitlines()
        name, noun, subject, keys, pronoun = _split(head, "|")
        domains.append(Domain(name, noun, subject, _split(keys, ","), pronoun, [_field(line) for line in lines]))
    return domains


TRAIN = parse(TRAIN_TEXT)
