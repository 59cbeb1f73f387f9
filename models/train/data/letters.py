"""Situations in which people write to each other: requests, complaints, plans, notes, hand-overs. See `situations` for the notation."""

from __future__ import annotations

TEXT = """
@ support request
problem,issue,summary,what_is_wrong,description : said problem : {v}; the problem is: {v}; what happens: {v}; it's this: {v}; since this morning {v} : {v}; issue: {v}
device,product,machine,equipment,affected_device : product or some the laptop/the scanner/my phone/the till/the coffee machine/the projector : it is about the {v}; I mean {v}; the thing in question is {v} : {v}; device {v}
since,started,first_seen,start_date : date : it has been like that since {v}; it began on {v}; it started on {v} : since {v}
users,affected,people_affected,affected_users : few 1 90 : it hits {v} of us; {v} colleagues have the same; {v} people are stuck : {v} user(s)
error_code,code,error : code A999 or code 9x99 or int 100 599 : it shows error {v}; the code on the screen is {v}; it says {v} : error {v}
callback,phone,call_back_number,reach_me_at : phone : call me on {v}; I'm at {v}; ring {v} if you need more : tel. {v}
tried,attempted_fix,already_tried : some a restart/new cables/another browser/clearing the cache/turning it off and on/a different user/reinstalling it : I have tried {v}; {v} did not help; even after {v} it stays like that : tried {v}
> {problem} since {since}, {users} of us can't work
> {problem}, error {error_code}
> our {device} makes trouble: {problem}. I tried {tried}
> {device}: {problem} (error {error_code}), reach me on {callback}
> ever since {since} the {device} shows {error_code}
> I've tried {tried}, still {problem}

@ complaint
order,order_number,order_id,reference,purchase_number : code : it's order {v}; my order number is {v}; I mean {v} : order {v}; ref {v}
item,product,article,goods : product : I bought a {v}; it's the {v}; the {v} is the trouble : {v}
defect,problem,what_is_wrong,reason,fault : some a crack in the side/a missing screw/the wrong colour/a loose handle/water damage/a dead battery/scratches all over/no instructions/a torn seam/a strange smell : it has {v}; it came with {v}; what I found: {v} : {v}
bought_on,purchase_date,bought,date_of_purchase : date : I bought it on {v}; the purchase was on {v} : bought {v}
paid,price,amount_paid,cost : money : I paid {v}; it cost me {v}; {v} is a lot for that : {v}
wants,desired_solution,demand,wish,expected : some a refund/a new one/a repair/a discount/an apology/my money back/a voucher : I want {v}; I expect {v}; please give me {v}; all I ask for is {v} : wants {v}
deadline,answer_by,until,respond_by : date : please answer by {v}; I give you until {v}; I want to hear from you by {v} : by {v}
contacts,times_called,calls_made,attempts : few 1 9 : I have called {v} time(s); this is mail number {v}; I've written {v} time(s) : {v} call(s)
> the {item} I got with order {order} has {defect}
> I paid {paid} for a {item} with {defect}
> order {order} of {bought_on}: {defect}. I want {wants}
> {item}, {paid}, {defect}: I expect {wants} by {deadline}
> I've called {contacts} time(s) about {order} and still wait for {wants}
> on {bought_on} I bought a {item} for {paid}; now it has {defect}

@ invitation
event,occasion,what,title,party : said event : we're having {v}; it's {v}; come to {v}; you're invited to {v} : {v}
date,day,when,on : date : it's on {v}; come on {v}; keep {v} free : {v}; on {v}
start,time,begins_at,start_time,from_time : time : we start at {v}; be there at {v}; it begins at {v} : {v}; from {v}
place,venue,where,location : said place or address or company : it's at {v}; we meet at {v}; the place is {v} : at {v}
bring,please_bring,to_bring,contribution : some a salad/your guitar/warm clothes/good mood/a cake/your own drinks/swimwear/a sleeping bag/nothing but yourself : please bring {v}; bring {v} along; don't forget {v} : bring {v}
host,inviter,organiser,hosted_by : first or fullname : {v} is hosting; {v} invites you; it's {v} who organises it : host: {v}
rsvp,reply_by,answer_until,rsvp_date : date : let us know by {v}; answer until {v}; please say yes or no before {v} : rsvp {v}
guests,number_of_guests,expected,people : few 3 80 : we'll be {v}; {v} are coming; there will be {v} of us : {v} guest(s)
dress_code,dress,what_to_wear : some black tie/casual/something green/fancy dress/white/smart casual/costumes : wear {v}; the dress code is {v} : dress: {v}
> {host} invites you to {event} on {date} at {start}
> {event}: {date}, {start}, {place}
> come to {event} at {place}, we start at {start}, bring {bring}
> {guests} of us meet on {date} for {event}. Let me know by {rsvp}
> it's {event} at {place}; wear {dress_code} and bring {bring}
> {host} here, {event} is on {date}, please answer by {rsvp}

@ hand-over
task,to_do,todo,what,job : said todo : somebody has to {v}; please {v}; what's left: {v}; your job: {v} : {v}; task: {v}
person,assignee,who,responsible,owner : first or fullname : {v} will do it; it's for {v}; I gave it to {v} : {v}; for {v}
due,deadline,until,due_date,by : date : it's due on {v}; the deadline is {v}; not later than {v} : due {v}; by {v}
requested_by,asked_by,from,on_behalf_of,boss : person : {v} asked for it; it comes from {v}; {v} wants it : from {v}
effort_h,effort,estimated_hours,work_hours : few 1 40 : it takes {v} hour(s); reckon with {v} hour(s); about {v} hour(s) of work : {v} h
project,for_project,project_name : made or company : it's for project {v}; it belongs to {v} : project {v}
done_percent,progress,percent_done : int 5 95 : {v}% is done; I'm {v} percent through : {v}% done
> {person} will {task} by {due}
> {person}, please {task} until {due}, {requested_by} is waiting
> {requested_by} wants {person} to {task}
> for {project}: {task}, {effort_h} hour(s), due {due}
> {task} is {done_percent}% done, {person} takes over
> {due}: {person} has to {task} for {project}

@ note at home
gone_to,where,went_to,whereabouts : said place or some the shops/the gym/my mother's/the dentist's/the office/choir : I'm at {v}; I've gone to {v}; you'll find me at {v} : at {v}
back_at,back,return_time,home_by : time : I'm back at {v}; home by {v}; expect me at {v} : back {v}
dinner,food,meal,to_eat : food : there's {v} in the fridge; dinner is {v}; warm up the {v} : dinner: {v}
chore,please_do,todo,favour : said todo : please {v}; don't forget to {v}; could you {v}? : pls {v}
visitor,visitors,who_comes,guest : first or some the plumber/grandma/the neighbour/the chimney sweep/the landlord : {v} is coming; we expect {v}; {v} will drop in : visitor {v}
visit_time,visitor_time,comes_at,arrival : time : that will be at {v}; let them in at {v} : visit {v}
money_left,cash,left_on_table,money : money 5 90 : there is {v} on the table; I left {v} for you : {v} on the table
> I'm at {gone_to}, back at {back_at}
> {visitor} comes at {visit_time}, I'm home by {back_at}
> {dinner} is in the fridge. Please {chore}
> back at {back_at} - {dinner} for dinner, and please {chore}
> gone to {gone_to}; {money_left} is on the table for {visitor}

@ plan with friends
activity,plan,what,idea : some bowling/the cinema/a hike/a picnic/the flea market/a concert/go-karting/a museum/karaoke/a bike tour/sushi : how about {v}?; let's do {v}; I'm thinking of {v}; up for {v}? : {v}
day,date,when,on_day : date : on {v}; {v} would suit me; are you free on {v}? : {v}
meet_at,time,at,meeting_time : time : let's say {v}; we meet at {v}; be there at {v} : {v}
meeting_point,where,place,spot : said place : we meet at {v}; see you at {v} : at {v}
friend,with,who,companion : first : {v} is coming, too; {v} wants to join; I asked {v} : with {v}
price,cost,ticket,per_person : money 4 90 : it costs {v} each; tickets are {v}; you need {v} : {v} each
seats_left,spots,free_seats,places_left : few 1 7 : there is room for {v} more; {v} seat(s) left in my car; I can take {v} : {v} seat(s) free
> {activity} on {day}, we meet at {meet_at}
> {friend} and I want to try {activity} on {day}
> meet you at {meeting_point} at {meet_at} for {activity}
> {activity}? {day}, {meet_at}, {meeting_point}
> tickets for {activity} are {price}, {friend} is in
> I'm driving, {seats_left} seat(s) left, off at {meet_at} from {meeting_point}

@ car for sale
make,brand,manufacturer : some Volkswagen/Toyota/Fiat/Ford/Renault/Skoda/Volvo/Opel/Mazda/Honda or made : it's a {v}; a {v} in fact; my {v} : {v}
model_year,year,built,first_registered : year : built in {v}; it's from {v}; first registered in {v} : {v}; built {v}
mileage_km,mileage,kilometres,odometer : int 9000 290000 : it has {v} km on the clock; {v} kilometres so far; it has run {v} km : {v} km
price,asking,asking_price,wants : money 500 29000 : I want {v}; asking {v}; yours for {v} : {v}
fuel,fuel_type,runs_on : enum petrol/diesel/electric/hybrid : it runs on {v}; it's a {v} one; {v} engine : {v}
doors,number_of_doors : int 3 5 : it has {v} doors; {v} doors : {v} doors
owners,previous_owners,owner_count : few 1 5 : it had {v} owner(s); {v} owner(s) before you; it's from {v} owner(s) : {v} owner(s)
accident_free,no_accidents : bool : never had an accident; no accidents; accident-free / had a small accident; it was in a crash once; not accident-free
color,colour,paint : color : in {v}; painted {v}; {v} metallic : {v}
> {make}, {model_year}, {mileage_km} km, {price}
> I'm selling my {make} from {model_year} for {price}
> {color} {make} with {mileage_km} km, {fuel}, {doors} doors
> {price} for a {make}, {mileage_km} km, {owners} owner(s)
> my {color} {make}, built {model_year}, has {mileage_km} km

@ order by message
item,product,what,article : product or food : I'd like the {v}; I want to order {v}; send me {v}; one sort only: {v} : {v}
quantity,count,how_many,pieces,amount : few 1 60 : I need {v}; make it {v}; {v} piece(s) : {v} pcs; {v}x
size,size_letter,garment_size : enum S/M/L/XL : size {v}; in {v}; I take {v} : size {v}
colour,color,shade : color : in {v}; the {v} one; {v} please : {v}
deliver_to,address,ship_to,delivery_address : address : send it to {v}; deliver to {v}; I live at {v} : to {v}
needed_by,by,delivery_date,wanted_on : date : I need it by {v}; it has to be here on {v}; not after {v} : by {v}
payment,pay_by,payment_method,paying_with : enum invoice/card/cash/paypal : I pay by {v}; {v} if possible; payment by {v} : {v}
coupon,voucher,discount_code,promo : code AAAA99 or code AAA9 : I have the voucher {v}; my code is {v} : code {v}
gift,is_gift,gift_wrap : bool : it's a present; please wrap it; it's a gift / no need to wrap it; it's for myself; not a gift
> {quantity} {item} in {colour}, size {size}, please
> please send {quantity} {item} to {deliver_to}
> I'd like {quantity} {item}, voucher {coupon}, payment by {payment}
> {item} x {quantity}, {colour}, by {needed_by}
> I need {quantity} {item} by {needed_by} at {deliver_to}

@ application
applicant,name,candidate,full_name : fullname : my name is {v}; I'm {v}; this is the application of {v} : {v}
position,job,role,applied_for,job_title : job : I'm applying as a {v}; I'd like to be your new {v}; I saw that you need a {v} : as {v}
current_employer,works_for,company_now,employer : company : I'm at {v} now; at present I work for {v}; my employer is {v} : now at {v}
experience_years,years,experience,years_in_job : few 1 35 : I have {v} year(s) of experience; I've done this for {v} year(s); {v} year(s) in the trade : {v} year(s)
available_from,start,can_start,earliest_start : date : I could start on {v}; I'm free from {v}; available as of {v} : from {v}
salary,expected_salary,salary_wish,pay : int 20000 120000 : I think of {v} a year; my wish would be {v}; {v} would be fair : {v} a year
languages,speaks,language_skills : list language : I speak {v}; I know {v}; my languages are {v} : {v}
email,contact,mail,write_to : email : write to {v}; my address is {v}; {v} reaches me : {v}
degree,studied,education,qualification : some biology/civil engineering/nursing/economics/history/computer science/law/design : I studied {v}; I have a degree in {v}; trained in {v} : {v} degree
driving_licence,can_drive,has_licence : bool : I have a driving licence; I can drive / I have no driving licence; I don't drive
> {applicant}, {experience_years} year(s) as a {position}, now at {current_employer}
> I'd like to join you as a {position}; I could start on {available_from} for {salary} a year
> my name is {applicant} and I studied {degree}
> at {current_employer} I've worked for {experience_years} year(s)
> I speak {languages}, studied {degree} and am free from {available_from}

@ meeting follow-up
decision,decided,agreed,resolution : some to hire two people/to cut the budget/to move the launch/to buy new chairs/to drop the project/to test again/to raise prices/to keep the name : we decided {v}; it was agreed {v}; the resolution is {v} : decision: {v}
action,action_item,next_step,follow_up : said todo : next step: {v}; somebody must {v}; action item: {v} : to do: {v}
owner,responsible,assigned_to,who : first : {v} takes care of it; that's for {v}; {v} volunteered : owner {v}
due,deadline,until,by_when : date : by {v}; until {v}; it's due {v} : due {v}
next_meeting,next_date,meet_again,follow_up_date : date : we meet again on {v}; next time on {v}; see you on {v} : next: {v}
absent,missing,excused,not_there : first or fullname : {v} was missing; {v} sent regrets; without {v} : absent: {v}
duration_min,minutes,lasted,length : int 10 180 : it took {v} minutes; we talked for {v} min; over after {v} minutes : {v} min
room,where,held_in : code A99 or some the small room/the canteen/the library/room four : we were in {v}; it took place in {v} : {v}
> {owner} will {action} by {due}
> we agreed {decision}. {owner} should {action}
> in {room}, {duration_min} minutes, without {absent}
> next meeting on {next_meeting}; until then {owner} has to {action}
> decided: {decision}. Next step: {action} ({owner}, {due})

@ room for rent
rooms,number_of_rooms,room_count : few 1 7 : it has {v} room(s); {v} room(s) in all; a place with {v} room(s) : {v} room(s)
area_sqm,area,size,square_metres : int 12 180 : {v} square metres; it's {v} sqm big; with {v} m2 : {v} sqm; {v} m²
rent,monthly_rent,per_month,price : money 200 2900 : the rent is {v}; {v} a month; it costs {v} warm : {v}/month
deposit_amount,security,bond : money 300 5000 : the deposit is {v}; leave {v} as a security : deposit {v}
street,address,where,located_at : address : it's at {v}; you find it at {v}; {v} is the address : {v}
free_from,available,move_in,move_in_date : date : free from {v}; you can move in on {v}; empty as of {v} : from {v}
storey,floor_number,level,on_floor : int 1 14 : on floor {v}; it's on level {v}; {v} floors up : floor {v}
pets_allowed,pets,animals_ok : bool : pets are welcome; you may have a dog / no pets please; pets are not allowed
furnished,is_furnished,with_furniture : bool : it comes furnished; the furniture stays / it's empty; without furniture
landlord,owner,contact,call : person : ask {v}; {v} shows it to you; the landlord is {v} : contact {v}
> {rooms} room(s), {area_sqm} sqm, {rent} a month
> {area_sqm} sqm at {street}, free from {free_from}
> {rent} a month plus {deposit_amount} deposit, on floor {storey}
> {landlord} rents out {rooms} room(s) at {street} for {rent}
> free from {free_from}: {rooms} room(s) on floor {storey}

@ absence
name,employee,who,person : fullname or first : it's {v}; {v} is away; this is about {v} : {v}
reason,why,cause,because_of : some a cold/a conference/parental leave/a move/jury duty/a sick child/holidays/an operation/a funeral/training : because of {v}; the reason is {v}; it's {v} : {v}
first_day,from,away_from,start : date : from {v} on; gone from {v}; the first day off is {v} : from {v}
last_day,until,to,end : date : until {v}; up to {v}; the last day is {v} : until {v}
substitute,cover,stand_in,replacement : first or fullname : {v} stands in; ask {v} instead; {v} covers : cover: {v}
days,working_days,number_of_days : few 1 30 : that is {v} day(s); {v} working day(s); {v} day(s) off : {v} day(s)
< first_day last_day
> {name} is away from {first_day} to {last_day}, {substitute} stands in
> I'm off until {last_day} because of {reason}; ask {substitute}
> {name}: {reason}, {days} day(s), back after {last_day}
> because of {reason} {name} won't be in from {first_day} until {last_day}

@ feedback
rating,stars,score,points : few 1 5 : {v} star(s); I give {v} out of five; {v} point(s) from me : {v}/5
liked,good,best_part,pro,advantage : some the friendly staff/the view/the quick delivery/the big portions/the clear menu/the soft beds/the low price/the music : I liked {v}; the best was {v}; {v} was great; thumbs up for {v} : + {v}
disliked,bad,worst_part,con,drawback : some the noise/the long queue/the cold soup/the tiny room/the slow wifi/the dirty floor/the high price/the rude waiter : I did not like {v}; {v} was awful; only {v} was bad; thumbs down for {v} : - {v}
visited,visit_date,was_there,date : date : I was there on {v}; we came on {v}; the visit was on {v} : {v}
place,where,business,location_name : company : it was at {v}; we went to {v}; my visit to {v} : {v}
come_back,would_return,again : bool : I'll come again; we'll be back / I won't come again; never going back
spent,paid,bill,cost : money 5 300 : we paid {v}; the bill was {v}; I left {v} there : {v}
recommended_by,tip_from,referred_by : first : {v} had told us about it; it was a tip from {v} : tip from {v}
> {rating} star(s) for {place}: {liked}, but {disliked}
> I liked {liked} at {place}, I hated {disliked}
> we were at {place} on {visited} and paid {spent}
> {liked} was great, {disliked} less so. {rating} out of 5
> on {visited} {recommended_by} sent us to {place}

@ contact card
name,full_name,contact_name,person : fullname : this is {v}; {v}; yours, {v} : {v}
job,title,position,role : job : {v}; I'm the {v} here; works as {v} : {v}
company,organisation,firm,employer : company : {v}; at {v}; from {v} : {v}
phone,office_phone,landline,tel : phone : office {v}; phone {v}; call {v} : T {v}; tel. {v}
mobile,cell,mobile_phone : phone : mobile {v}; on the road: {v} : M {v}; mobile {v}
email,mail,e_mail : email : mail {v}; write to {v} : {v}
website,web,url,homepage : url : see {v}; our site: {v} : {v}
street,address,office_address : address : you find us at {v}; office: {v} : {v}
> {name}, {job}, {company}
> {name} ({job}) - {email} - {phone}
> {company}, {street}, {website}
> yours, {name}, {job} at {company}, phone {phone}, mobile {mobile}
> I'm {name} from {company}, reach me at {email} or {mobile}
"""
