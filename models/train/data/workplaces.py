"""Situations at work, with machines and with authorities. The notation is that of `situations`."""

from __future__ import annotations

TEXT = """
@ server
host,server,machine,hostname : made or code AAA99 : it is about {v}; the machine is {v}; look at {v} : {v}
down,down_at,down_since,went_down,outage_start : time : it went down at {v}; off since {v}; the outage began at {v} : down {v}; down since {v}
up,up_at,back_at,back_up,outage_end : time : it came back at {v}; up again at {v}; it was restored at {v} : up {v}; back {v}
cause,reason,root_cause,because_of : some a full drive/a broken fan/a power cut/an expired certificate/a bad update/a loose cable/too many requests : the cause was {v}; it was down to {v}; because of {v} : cause {v}
engineer,on_call,fixed_by,handled_by : person or fullname : {v} fixed it; {v} was on call : fixed by {v}
users,affected_users,users_affected : int 2 90000 : {v} users were affected; {v} users noticed : {v} users
minutes,downtime_minutes,outage_minutes : int 2 600 : it was gone for {v} minutes; {v} minutes of downtime : {v} min
region,data_center,site : city or made : it stands in {v}; the region is {v} : in {v}
> {host} went down at {down} and was up again at {up}
> {host} was off from {down} to {up} because of {cause}
> {down} {host} stops answering, {up} all fine again, {cause}
> {engineer} brought {host} back at {up} after {minutes} minutes
> {cause} took {host} down, {users} users noticed
> {minutes} minutes without {host} in {region}: {cause}
< down up

@ server load
host,server,node,machine : code AAA99 or made : this is {v}; numbers for {v} : {v}
cpu,cpu_percent,cpu_load,processor : int 1 100 : CPU at {v}%; the processor is at {v} percent : cpu {v}%; {v}% cpu
memory,memory_percent,ram,ram_percent : int 3 100 : memory at {v}%; {v} percent of the RAM is used : mem {v}%; ram {v}%
disk,disk_percent,disk_usage,storage : int 3 100 : the disk is {v}% full; {v} percent of the disk is taken : disk {v}%
latency_ms,latency,response_ms,ping : int 1 2900 : it answers in {v} ms; latency is {v} milliseconds : {v} ms
uptime_days,uptime,days_up : int 1 900 : running for {v} days; up {v} days : up {v} days
errors,error_count,failures : int 0 900 : {v} errors in the log; there were {v} errors : {v} errors
requests,request_count,requests_per_second,rps : int 3 90000 : {v} requests per second; it serves {v} requests : {v} req/s
port,listens_on : int 20 999 : it listens on port {v}; port {v} is open : port {v}
version,release,build : code 9.9.9 or code 9.99 : it runs version {v}; on version {v} : v{v}; version {v}
> {host}: cpu {cpu}%, memory {memory}%, disk {disk}%
> {memory}% memory and {cpu}% CPU on {host}
> disk of {host} {disk}% full, up for {uptime_days} days
> {host} serves {requests} requests per second with {latency_ms} ms and {errors} errors
> version {version} on {host}, port {port}
> {errors} errors in {requests} requests, {latency_ms} ms on average

@ sensor
sensor,device,sensor_id,probe,station : code AA-99 or made or code A9 : the sensor is {v}; reading of {v} : {v}; sensor {v}
temperature,temp,temperature_c,degrees : num 1 39 1 : it is {v} °C; temperature {v}; it measures {v} degrees : {v} °C; {v} C; {v} degrees
humidity,humidity_percent,rel_humidity,moisture : int 10 99 : humidity {v}%; {v} percent humidity : {v}% humidity; {v} % rh
pressure,pressure_hpa,hpa,air_pressure : int 960 1045 : the pressure is {v} hPa; {v} hPa : {v} hPa
co2,co2_ppm,ppm,carbon_dioxide : int 380 2900 : CO2 is at {v} ppm; {v} ppm of CO2 : {v} ppm
battery,battery_percent,charge,battery_level : int 1 100 : the battery has {v}%; {v} percent battery left : battery {v}%
light_lux,lux,brightness,light : int 1 30000 : it sees {v} lux; brightness {v} lux : {v} lux
time,measured_at,read_at,at : time : measured at {v}; the reading is from {v} : at {v}; {v}
room,place,location : some the cellar/the attic/the kitchen/cold store/the server room/the greenhouse or code A99 : it hangs in {v}; in {v} : in {v}
voltage,volts,supply_v : num 1.5 48 1 : supply is {v} V; it gets {v} volts : {v} V
> {sensor} reads {temperature} °C and {humidity}% humidity
> {sensor} at {time}: {temperature} degrees, {humidity} percent, {pressure} hPa
> {sensor} in {room} says {co2} ppm at {temperature} °C
> battery of {sensor} at {battery}%, {voltage} V
> {humidity}% and {temperature} degrees in {room} at {time}
> {room}: {temperature} C, {humidity} %, {light_lux} lux, {co2} ppm

@ library
book,title,book_title : title : the book is {v}; I have borrowed {v}; it's {v} : {v}
author,written_by,writer : fullname : it's by {v}; {v} wrote it : by {v}
due,due_date,return_by,due_on : date : it is due on {v}; bring it back by {v}; return it until {v} : due {v}
borrowed,borrowed_on,lent_on,taken_out : date : I took it out on {v}; lent on {v} : lent {v}
fine,fee,late_fee,charge : money 1 30 : the fine is {v}; you have to pay {v} since it's late : fine {v}
reader,borrower,member,borrowed_by : person or fullname : {v} has it; the reader is {v} : reader {v}
card,card_number,library_card : code 999999 or code A-99999 : my card is {v}; card number {v} : card {v}
shelf,shelfmark,location : code AA 99 or code A9 : it stands on shelf {v}; the shelf is {v} : shelf {v}
pages,page_count : int 40 1200 : it has {v} pages; {v} pages long : {v} pages
copies,number_of_copies : int 1 9 : we have {v} of them; {v} in stock : {v} in stock
> {book} by {author} is due on {due}
> {reader} borrowed {book} on {borrowed}, due {due}
> {reader} owes {fine} for {book}
> {book} should have been back on {due}, that makes {fine}
> card {card}: {book}, lent {borrowed}, back by {due}
> {author}: {book}, {pages} pages, shelf {shelf}
< borrowed due

@ school
pupil,student,child,name : person or fullname : the pupil is {v}; it's about {v} : {v}
class,form,grade,school_class : code 9A or code 99A : in class {v}; {v} is the class : class {v}
subject,lesson,course : some maths/history/biology/art/chemistry/geography/physical education/music : in {v}; the subject is {v} : {v}
teacher,taught_by : person or fullname : the teacher is {v}; {v} teaches it : teacher {v}
mark,result,points : int 1 100 : the mark was {v}; with {v} points : {v} points
average,class_average,mean : num 1 60 1 : the average was {v}; the class had {v} on average : average {v}
room,classroom : code A99 or int 1 400 : it's in room {v}; room {v} : room {v}
homework,pages_to_read,exercises : few 0 12 : {v} exercise(s) to do; there are {v} exercise(s) : {v} exercise(s)
absent,days_absent,missed_days : few 0 20 : missed {v} day(s); {v} day(s) absent : {v} day(s) absent
date,day,test_date,exam_date : date : the test is on {v}; written on {v} : {v}
> {pupil} of class {class} got {mark} points in {subject}
> {teacher} teaches {subject} in room {room}
> {pupil} had {mark} points, the class {average} on average
> {subject} test on {date} with {teacher}, class {class}
> {pupil} missed {absent} day(s) and has {homework} exercise(s) to do
> {teacher} says {pupil} was absent {absent} day(s)

@ delivery
driver,delivered_by,courier : first or person : {v} brought it; the driver was {v} : driver {v}
pallets,number_of_pallets : few 0 24 : {v} pallet(s); there were {v} pallet(s) : {v} pallet(s)
crates,boxes,number_of_crates : few 0 60 : {v} crate(s); with {v} crate(s) : {v} crate(s)
damaged,broken,damaged_crates : few 0 9 : {v} crate(s) damaged; found {v} damaged one(s) : {v} damaged
missing,missing_crates,not_delivered : few 0 9 : {v} crate(s) missing; {v} of them missing : {v} missing
arrived,arrived_at,arrival_time,time : time : the lorry came at {v}; it was here at {v} : {v}; at {v}
ramp,dock,gate,loading_bay : int 1 30 : unloaded at ramp {v}; it stood at dock {v} : ramp {v}
supplier,sender,company : company or made : it is from {v}; {v} sent it : from {v}
note_number,delivery_note,document : code AA-9999 or code 999999 : the delivery note is {v}; note number {v} : note {v}
> {supplier} sent {pallets} pallet(s) and {crates} crate(s)
> {driver} came at {arrived} to ramp {ramp}
> {crates} crate(s), {damaged} damaged, {missing} missing
> note {note_number}: {crates} crate(s) from {supplier}, {missing} missing
> {driver} of {supplier} unloaded {pallets} pallet(s) at {arrived}

@ appointment
patient,client,name,for_whom : person or fullname : the appointment is for {v}; it's for {v} : {v}
doctor,dentist,with_whom,physician : fullname or person : {v} is the doctor; you'll see doctor {v} : doctor {v}
date,day,on,when : date : it's on {v}; come on {v} : {v}; on {v}
time,at,hour : time : be there at {v}; it's at {v} : {v}; at {v}
old_date,previous_date,instead_of,cancelled_date : date : not on {v} as planned; the one on {v} is off : instead of {v}
room,consulting_room : int 1 40 or code A9 : go to room {v}; in room {v} : room {v}
minutes,duration_minutes,takes_minutes : int 5 120 : it takes {v} minutes; plan {v} minutes : {v} min
phone,call_back,practice_phone : phone : if you can't come, call {v}; our number is {v} : tel {v}
reason,for,treatment : some a check-up/a filling/new glasses/a blood test/a haircut/a massage/an X-ray : it is about {v}; for {v} : {v}
> {patient} sees {doctor} on {date} at {time}
> {date}, {time}, {doctor}, room {room}
> {patient} is moved from {old_date} to {date}
> not {old_date} but {date} at {time}, with {doctor}
> {doctor} has {minutes} minutes for {patient} at {time}
> {reason} for {patient} on {date}, room {room}

@ meeting
topic,subject,about,title : topic : it is about {v}; the topic is {v}; we discuss {v} : {v}
date,day,when : date : it's on {v}; we meet on {v} : {v}; on {v}
start,starts,begin,from_time : time : we start at {v}; it begins at {v} : from {v}
end,ends,until,to_time : time : it ends at {v}; we stop at {v} : until {v}
room,place,where : some the small hall/the blue room/the canteen/the library or code A99 or made : in {v}; we sit in {v} : in {v}
chair,chaired_by,led_by,leader : person or fullname : {v} leads it; {v} is in the chair : chair {v}
minutes_by,note_taker,protocol,secretary : person or fullname : {v} takes the minutes; notes are taken by {v} : notes {v}
absent,excused,not_coming,missing : person or fullname : {v} is excused; {v} cannot come : without {v}
attendees,number_of_attendees,participants : few 2 30 : {v} people come; we'll be {v} : {v} people
next,next_meeting,next_date : date : the next one is on {v}; we meet again on {v} : next {v}
> {chair} leads, {minutes_by} takes the minutes, {absent} is excused
> {topic}, from {start} to {end}, in {room}
> {date} {start}-{end}: {topic}
> {chair} and {attendees} people met about {topic}, next on {next}
> {absent} did not come, so {minutes_by} wrote the notes for {chair}
< start end
< date next

@ shift
worker,employee,staff,name : person or fullname : {v} works; on duty: {v} : {v}
replaces,replaced,instead_of,covers_for : person or fullname : in place of {v}; it was the turn of {v} : for {v}
start,from_time,begins,shift_start : time : from {v}; the shift starts at {v} : from {v}
end,to_time,finishes,shift_end : time : until {v}; the shift ends at {v} : until {v}
break_min,break_minutes,pause : int 10 90 : with {v} minutes break; a pause of {v} minutes : {v} min break
overtime_min,overtime,extra_minutes : int 5 240 : plus {v} minutes overtime; stayed {v} minutes longer : {v} min overtime
hourly,hourly_wage,wage,per_hour : money 8 60 : at {v} an hour; {v} per hour : {v}/h
ward,station,department,area : some the kitchen/the till/the front desk/night ward/the warehouse or made : in {v}; on duty in {v} : {v}
> {worker} covers for {replaces} from {start} to {end}
> {start} to {end}, {break_min} min break, {hourly} an hour
> {worker} steps in for {replaces}, who is ill
> {replaces} is ill, {worker} takes the shift in {ward}
> {worker} stayed {overtime_min} minutes longer, break was {break_min}
< start end

@ repair
device,appliance,item,machine : product : it's the {v}; the {v} is broken : {v}
fault,defect,problem,symptom : some a cracked screen/no power/a strange noise/water inside/a loose screw/it smells burnt : the fault: {v}; it shows {v} : {v}
serial,serial_number,device_number : code AA99999 or code 999-AAA : serial number {v}; the serial is {v} : serial {v}
technician,repaired_by,mechanic,fitter : person or fullname : {v} repaired it; the technician is {v} : technician {v}
customer,owner,brought_by : person or fullname : {v} brought it in; it belongs to {v} : for {v}
parts_cost,parts,cost_of_parts : money 2 400 : parts cost {v}; {v} for parts : parts {v}
labour_cost,labour,work_cost : money 10 500 : work costs {v}; {v} for labour : labour {v}
estimate,quote,estimated_cost : money 10 900 : the estimate is {v}; we guess {v} : estimate {v}
ready_on,ready,pickup_date,done_by : date : ready on {v}; collect it on {v} : ready {v}
warranty,under_warranty,has_warranty : bool : it's under warranty; there is still warranty / the warranty is over; no warranty any more
> {customer} brought a {device} with {fault}
> {technician} fixed the {device} of {customer}
> {parts_cost} for parts and {labour_cost} for labour
> {device}, {fault}, ready on {ready_on}, estimate {estimate}
> {technician} called {customer}: {labour_cost} work, {parts_cost} parts
> {device} {serial}: {fault}

@ plumber
address,where,street,job_address : address : it's at {v}; please come to {v} : {v}
tenant,resident,caller,reported_by : person or fullname : {v} reported it; the tenant is {v} : tenant {v}
plumber,sent,craftsman,assigned_to : person or fullname : {v} will come; we send {v} : plumber {v}
leak,damage,trouble,what : some a dripping tap/a burst pipe/a blocked drain/a cold radiator/a wet ceiling : there is {v}; it is {v} : {v}
floor,storey,level : int 1 20 : on floor {v}; it's floor {v} : floor {v}
window_from,between_from,earliest,from_time : time : not before {v}; from {v} : from {v}
window_to,between_to,latest,to_time : time : not after {v}; until {v} : until {v}
phone,number,call : phone : call {v} first; the number is {v} : tel {v}
key_with,keys_at,key_holder : person or fullname : {v} has the key; the key is with {v} : key with {v}
> {tenant} at {address} has {leak}
> {plumber} comes between {window_from} and {window_to}
> {leak} on floor {floor}, {address}, key with {key_with}
> {tenant} will let {plumber} in after {window_from}
> {plumber} gets the key from {key_with}, since {tenant} is away
< window_from window_to

@ election
winner,elected,new_mayor,won_by : fullname or person : {v} was elected; {v} won : winner {v}
runner_up,second,defeated : fullname or person : {v} came second; {v} was not elected : second {v}
winner_votes,votes_winner,votes_for_winner : int 20 90000 : -
runner_up_votes,votes_second,votes_runner_up : int 20 90000 : -
turnout,turnout_percent,participation : num 15 95 1 : turnout was {v}%; {v} percent went to vote : turnout {v}%
invalid,invalid_votes,spoilt : few 0 900 : {v} vote(s) were invalid; there were {v} spoilt paper(s) : {v} invalid
office,post,position,elected_as : some mayor/chair/treasurer/class speaker/club president : it is about the post of {v}; the new {v} is known : {v}
town,place,district : city : in {v}; {v} has voted : {v}
date,held_on,election_day : date : held on {v}; the vote was on {v} : {v}
> {winner} got {winner_votes} votes, {runner_up} {runner_up_votes}
> {winner} beat {runner_up} by {winner_votes} votes to {runner_up_votes}
> {winner} is the new {office} of {town}
> with a turnout of {turnout}%, {invalid} vote(s) were invalid
> {runner_up} lost with {runner_up_votes} votes against {winner}
< runner_up_votes winner_votes

@ poll
yes,yes_votes,in_favour,for : few 0 90 : {v} in favour; {v} vote(s) for it : {v} in favour
no,no_votes,against : few 0 90 : {v} against; {v} vote(s) against it : {v} against
abstained,abstentions,undecided : few 0 30 : {v} abstention(s); {v} undecided : {v} abstention(s)
motion,proposal,question : topic : the motion: {v}; it was about {v} : {v}
proposed_by,mover,moved_by : person or fullname : {v} proposed it; brought in by {v} : by {v}
> {yes} in favour, {no} against, {abstained} abstention(s)
> {yes} for {motion}, {no} against
> {proposed_by} asked for {motion}: {no} against, {yes} in favour
> there were {no} vote(s) against and {abstained} abstention(s)

@ measurement
substance,material,sample,specimen : material : it is {v}; we tested {v} : {v}
mass_g,mass,grams : num 0.1 900 1 : it has {v} g; we weighed {v} grams : {v} g
volume_ml,volume,millilitres : num 1 900 1 : it takes up {v} ml; a volume of {v} millilitres : {v} ml
temperature_c,temperature,heated_to : int 5 900 : heated to {v} °C; at {v} degrees : {v} °C
ph,ph_value,acidity : num 1 13 1 : the pH is {v}; pH {v} : pH {v}
duration_s,seconds,time_s : int 2 900 : for {v} seconds; after {v} s : {v} s
length_mm,length,thickness_mm : num 0.5 400 1 : it is {v} mm long; {v} millimetres : {v} mm
current_a,current,amperes : num 0.1 32 1 : a current of {v} A; {v} amperes flow : {v} A
voltage_v,voltage,volts : int 1 400 : at {v} V; {v} volts : {v} V
power_w,power,watts : int 2 3000 : it draws {v} W; {v} watts : {v} W
measured_by,observer,technician : fullname or person : {v} measured it; noted by {v} : by {v}
> {mass_g} g of {substance} in {volume_ml} ml
> {substance}: {mass_g} grams, {volume_ml} millilitres, pH {ph}
> heated {mass_g} g to {temperature_c} °C for {duration_s} seconds
> at {voltage_v} volts {current_a} A flow, {power_w} W
> {measured_by} found {power_w} watts at {voltage_v} V
> {length_mm} mm of {substance} at {temperature_c} degrees, {duration_s} s

@ field
field,plot,name,field_name : made : the field is {v}; out on {v} : {v}
crop,planted,grown : some wheat/barley/potatoes/maize/sugar beet/oats/clover : we grow {v}; it's {v} : {v}
hectares,area_ha,ha,area : num 0.5 90 1 : it has {v} hectares; {v} ha big : {v} ha; {v} hectares
tonnes,tons,harvested_t,t_of_crop : num 1 600 1 : it gave {v} tonnes; we brought in {v} t : {v} t; {v} tonnes
moisture,moisture_percent,water_content : num 8 30 1 : moisture was {v}%; {v} percent moist : {v}% moisture
farmer,farmed_by,owner : fullname or person : {v} farms it; it belongs to {v} : farmer {v}
tractor,machine,vehicle : company or made : with the {v}; the {v} pulled : with {v}
diesel_l,diesel,fuel_l,litres : int 5 600 : {v} litres of diesel; it drank {v} l : {v} l diesel
date,reaped_on,day : date : on {v}; done on {v} : {v}
> {field}: {hectares} ha of {crop}, {tonnes} t
> {tonnes} tonnes of {crop} from {hectares} hectares
> {farmer} brought in {tonnes} t from {field} on {date}
> {crop} at {moisture}% moisture, {diesel_l} litres of diesel
> {farmer} has {hectares} ha of {crop}

@ animals on a farm
cows,number_of_cows,cattle : few 0 120 : {v} cow(s) in the stable; we keep {v} cow(s) : {v} cow(s)
pigs,number_of_pigs : few 0 300 : {v} pig(s) outside; we have {v} pig(s) : {v} pig(s)
hens,chickens,number_of_hens : few 0 900 : {v} hen(s) run about; there are {v} hen(s) : {v} hen(s)
goats,number_of_goats : few 0 60 : {v} goat(s) on the slope; we milk {v} goat(s) : {v} goat(s)
milk_l,litres_of_milk,milk : int 5 2400 : they gave {v} litres of milk; {v} l of milk : {v} l milk
eggs,egg_count,eggs_a_day : int 1 700 : we found {v} eggs; {v} eggs a day : {v} eggs
born,new_born,born_today : few 0 12 : {v} born today; there are {v} newborn one(s) : {v} born
farmer,owner,farm_owner : fullname or person : the farm belongs to {v}; {v} runs the farm : {v}
> {cows} cow(s), {pigs} pig(s) and {hens} hen(s)
> {farmer} keeps {cows} cow(s) and {goats} goat(s), but {pigs} pig(s)
> {milk_l} litres from {cows} cow(s) and {eggs} eggs from {hens} hen(s)
> {goats} goat(s), {hens} hen(s), {born} born this week

@ warehouse
article,item,product,goods : product : it is the {v}; we counted the {v} : {v}
in_stock,stock,on_hand,available : few 0 900 : {v} in stock; we have {v} left : {v} in stock
ordered,on_order,reordered : few 0 900 : {v} on order; we ordered {v} more : {v} on order
sold,sold_count,units_sold : few 0 900 : {v} sold; we sold {v} this week : {v} sold
returned,returns,sent_back : few 0 60 : {v} came back; customers returned {v} : {v} returned
minimum,min_stock,reorder_at : int 1 100 : the minimum is {v}; reorder below {v} : min {v}
aisle,row,shelf_row : int 1 60 or code A9 : in aisle {v}; aisle {v} : aisle {v}
unit_price,price,each : money 1 900 : {v} each; one costs {v} : {v} each
counted_by,checked_by,clerk : person or fullname : {v} counted; checked by {v} : by {v}
> {article}: {in_stock} in stock, {ordered} on order
> we sold {sold} of the {article}, {returned} came back
> {in_stock} left in aisle {aisle}, {sold} sold
> {counted_by} found {in_stock} pieces of {article} at {unit_price} each
> {ordered} ordered, {in_stock} there, minimum {minimum}

@ release
version,release,build,tag : code 9.9.9 or code 9.99 : it's version {v}; {v} is out : v{v}; {v}
previous,previous_version,old_version,replaces : code 9.9.9 or code 9.99 : before it was {v}; it replaces {v} : was {v}
environment,env,stage,target : enum production/staging/test/development : it runs on {v}; deployed to {v} : on {v}
passed,tests_passed,passing : int 1 2900 : {v} tests passed; {v} tests are green : {v} passed
failed,tests_failed,failing : few 0 60 : {v} test(s) failed; {v} test(s) are red : {v} failed
commit,revision,sha : code A9A99A : the commit is {v}; built from {v} : commit {v}
deployed_by,author,released_by : person or fullname : {v} deployed it; released by {v} : by {v}
reviewer,reviewed_by,approved_by : person or fullname : {v} reviewed it; approved by {v} : reviewer {v}
time,deployed_at,at : time : it went out at {v}; live since {v} : at {v}
branch,git_branch : made : from the branch {v}; it sits on {v} : branch {v}
> {version} replaces {previous} on {environment}
> {deployed_by} put {version} on {environment} at {time}
> {passed} tests passed, {failed} failed
> {failed} test(s) failed and {passed} passed on {branch}
> {deployed_by} wrote it and {reviewer} reviewed it
> rolled back {version} to {previous}, {failed} test(s) failed

@ bug report
app,application,program,product : company or made : it's in {v}; the program is {v} : {v}
version,app_version,release : code 9.9.9 or code 9.9 : I use version {v}; since {v} : v{v}
system,os,operating_system,platform : some Linux/Windows 11/Android/macOS/Ubuntu/iOS or made : on {v}; my system is {v} : on {v}
error_code,error,code : code A999 or int 100 599 or code AA-99 : it says error {v}; the code is {v} : error {v}
page,screen,where : some the login page/the checkout/settings/the search/the upload : it happens on {v}; in {v} : on {v}
reporter,reported_by,found_by : person or fullname : {v} found it; reported by {v} : by {v}
assignee,assigned_to,developer : person or fullname : {v} looks into it; assigned to {v} : assigned to {v}
times,occurrences,count : few 1 90 : it happened {v} time(s); seen {v} time(s) : {v} time(s)
ticket,issue,issue_id,bug_id : code AAA-999 or int 10 999 : the ticket is {v}; see {v} : #{v}; ticket {v}
> {app} {version} on {system} shows error {error_code}
> {reporter} reported {ticket}, {assignee} has it now
> error {error_code} on {page}, {times} time(s)
> {ticket}: {app} breaks on {page}, assigned to {assignee}
> since {version}, {reporter} sees {error_code} on {system}

@ call
caller,called_by,from,who_called : person or fullname : {v} called; on the phone: {v} : {v}
callee,for_whom,wanted,to : person or fullname : they wanted {v}; it was for {v} : for {v}
company,firm,caller_company : company or made : of {v}; the company is {v} : {v}
time,called_at,at : time : the call was at {v}; it rang at {v} : {v}; at {v}
call_back_at,callback_time,ring_back : time : call back at {v}; please ring at {v} : call back {v}
phone,number,callback_number : phone : the number is {v}; on {v} : {v}; tel {v}
extension,ext : int 10 999 : extension {v}; ask for {v} at the switchboard : ext. {v}
matter,about,topic : topic : it was about {v}; because of {v} : re {v}
> {caller} of {company} called for {callee}
> {caller} called at {time} and wants {callee} to ring {phone}
> message for {callee}: {caller} rang about {matter}
> {callee}, please call {caller} back at {call_back_at}, extension {extension}
> {time}: {caller}, {company}, {phone}

@ guided tour
guide,led_by,tour_guide : first or fullname : {v} shows us round; the guide is {v} : guide {v}
group,booked_by,group_name : company or made : the group is {v}; booked by {v} : {v}
visitors,group_size,people : few 2 60 : {v} people come; a group of {v} : {v} people
children,kids,under_12 : few 0 30 : {v} kid(s) among them; with {v} kid(s) : {v} kid(s)
starts,start,meet_at,time : time : we meet at {v}; it starts at {v} : {v}; from {v}
price_adult,adult,adult_price : money 4 40 : adults pay {v}; {v} for grown-ups : adults {v}
price_child,child,child_price : money 1 20 : children pay {v}; {v} for kids : children {v}
minutes,tour_minutes,takes : int 20 180 : it takes {v} minutes; {v} min long : {v} min
> {guide} leads {group} at {starts}
> {visitors} people, of whom {children} kid(s)
> adults {price_adult}, children {price_child}, {minutes} minutes
> {group} comes with {visitors} people at {starts}
< price_child price_adult

@ police report
officer,reported_to,policeman : fullname : officer {v} wrote it down; taken by {v} : officer {v}
victim,owner,reported_by : fullname or person : {v} reported it; the victim is {v} : victim {v}
suspect,accused : fullname or person : the suspect is {v}; {v} was seen running : suspect {v}
stolen,stolen_item,item : product : a {v} was stolen; gone is the {v} : {v}
value,worth,value_of_item : money 10 5000 : it was worth {v}; the value is {v} : worth {v}
place,street,where : street or address : it was in {v}; it happened at {v} : {v}
date,day,happened_on : date : on {v}; it was {v} : {v}
between_from,earliest,from_time : time : not before {v}; after {v} : from {v}
between_to,latest,to_time : time : before {v}; not later than {v} : to {v}
case,case_number,file_number : code 99-9999 or code A/999 : the case is {v}; file {v} : case {v}
> {victim} is missing a {stolen} worth {value}
> {suspect} took the {stolen} of {victim} in {place}
> between {between_from} and {between_to} on {date}
> {victim} told officer {officer} that {suspect} had the {stolen}
> case {case}: {stolen}, {place}, {date}
< between_from between_to

@ building site
site,project,site_name : made or address : the site is {v}; out at {v} : {v}
foreman,site_manager,led_by : fullname or person : the foreman is {v}; {v} is in charge : foreman {v}
workers,workers_present,men : few 1 60 : {v} worker(s) on site; {v} worker(s) came : {v} worker(s)
sick,ill,workers_sick : few 0 9 : {v} off sick; {v} ill : {v} sick
concrete_m3,concrete,cubic_metres : num 0.5 90 1 : {v} m³ of concrete; we poured {v} cubic metres : {v} m³ concrete
bricks,brick_count : int 50 9000 : {v} bricks laid; we used {v} bricks : {v} bricks
done_percent,progress,percent_done : int 1 100 : {v}% done; we're at {v} percent : {v}%
delay_days,days_late,behind_days : few 0 40 : {v} day(s) late; we're {v} day(s) behind : {v} day(s) late
accidents,incidents : few 0 4 : {v} accident(s); there were {v} accident(s) : {v} accident(s)
> {site}: {workers} worker(s), {sick} sick, {accidents} accident(s)
> {foreman} had {workers} worker(s) at {site}
> {concrete_m3} m³ of concrete and {bricks} bricks, {done_percent}% done
> {done_percent} percent done, {delay_days} day(s) behind
> {foreman} reports {accidents} accident(s) and {delay_days} day(s) of delay

@ printer
printer,device,model : company or made or code AA-999 : the printer is {v}; it's about {v} : {v}
toner,toner_percent,ink,ink_level : int 1 100 : toner at {v}%; {v} percent ink : toner {v}%
pages,pages_printed,page_count : int 1 90000 : {v} pages printed; it did {v} pages : {v} pages
paper,sheets_left,sheets : few 0 500 : {v} sheet(s) left; there are {v} sheet(s) in the tray : {v} sheet(s)
jams,paper_jams : few 0 12 : {v} paper jam(s); it jammed {v} time(s) : {v} jam(s)
floor,level : int 1 20 : on floor {v}; floor {v} : floor {v}
ip,ip_address,address : code 99.9.9.99 or code 999.99.9.9 : its address is {v}; reach it on {v} : {v}
contact,responsible,looked_after_by : person or fullname : {v} looks after it; ask {v} : contact {v}
> {printer} on floor {floor}: toner {toner}%, {paper} sheet(s) left
> {jams} jam(s) in {pages} pages
> {printer} at {ip}, ask {contact}
> {pages} pages and {jams} jam(s) on {printer}, {toner}% toner

@ translation
client,customer,ordered_by : company or person : {v} ordered it; the client is {v} : for {v}
translator,translated_by,done_by : fullname or person : {v} translates; it's done by {v} : translator {v}
source,from_language,source_language : language : it is written in {v}; the original is {v} : from {v}
target,to_language,target_language : language : they need it in {v}; it shall be {v} : into {v}
words,word_count,number_of_words : int 50 20000 : it has {v} words; {v} words long : {v} words
per_word,price_per_word,rate : num 0.05 0.4 2 : at {v} a word; each word is {v} : {v}/word
deadline,due,deliver_by : date : due on {v}; needed by {v} : by {v}
> {words} words from {source} into {target}
> {translator} turns {source} into {target} for {client}
> {client} pays {per_word} per word for {words} words, due {deadline}
> into {target} by {deadline}, the original is {source}
"""
