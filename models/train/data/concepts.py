"""What may be asked of a thing: names of the field, the kind of value, and what a text says in other words.

A theme begins with `# noun of the record | subjects`, a subject being `nouns/names of the field/kind`. Then, one a line,
its concepts, `keys : kind : labels : clauses`. A clause goes on where the subject ends; with `@` it is a sentence of its
own, with `~` it stands beside others, with `?` it asks for the value. Booleans have ` / ` between the clauses for true
and for false; an `enum` has `option=clause|clause`. Kinds are those of `values`. Training alone uses them.
"""

from __future__ import annotations

TEXT = """
# item | lamp,light/item,product,lamp_name,article/made; rucksack,bag/product,model,bag_model/made; tent/item,model,tent_name/made; kettle/product,kettle_model,device/made; chair,seat/article,furniture,chair_name/made; camera/model,camera_model,gear/code; cooker,stove/appliance,device_name,model/code; carpet,rug/item,rug_name/made; mower/machine,model/code; pram/product,pram_model/made; knife/tool,knife_name/made; speaker,loudspeaker/device,speaker_model/code
price,cost,retail_price,price_tag,asking_price,unit_price : money 3 900 : price,asking price,cost : costs {v}; goes for {v}; sells at {v}; is yours for {v}; is priced at {v}; ~priced {v}; ~only {v}; ?how much is it; ?what does it cost; @You pay {v}
shipping_cost,postage,delivery_fee,shipping_fee,delivery_charge : money 2 40 : postage,shipping,delivery charge : ships for {v}; is posted for {v}; @Delivery is another {v}; @Postage comes to {v}; @We charge {v} for sending it; ~plus {v} postage; ~shipping {v}; ?what is the postage; ?how much do you take for delivery
old_price,previous_price,original_price,list_price,price_before : money 20 1500 : old price,former price : used to cost {v}; once sold for {v}; cost {v} before the sale; was marked down from {v}; ~instead of {v}; ~formerly {v}; ?what was it before
weight_kg,weight,mass,mass_kg,kilograms : num 0.2 60 1 : weight,mass : weighs {v} kg; is {v} kg heavy; ~{v} kg; ?how heavy is it; ?what does it weigh
height_cm,height,size_vertical : int 5 230 : height : is {v} cm high; reaches {v} cm upwards; ~{v} cm tall; ~{v} cm high; ?how tall is it
width_cm,width,breadth : int 5 250 : width,breadth : is {v} cm wide; measures {v} cm across; takes up {v} cm from left to right; ~{v} cm wide; ?how wide is it
length_cm,length,long_cm : int 5 300 : length : is {v} cm long; runs to {v} cm from end to end; ~{v} cm long; ?how long is it in centimetres
depth_cm,depth : int 5 120 : depth : is {v} cm deep; goes {v} cm back; ~{v} cm deep; ?how deep is it
power_w,watts,wattage,power,power_consumption : int 5 2400 : power,wattage : draws {v} watts; runs on {v} watts; eats up {v} W; ~{v} watts; ~{v} W; ?how many watts does it need
battery_hours,battery_life,runtime_h,runtime : int 2 90 : battery life,running time : lasts {v} hours on one charge; @The battery is empty after {v} hours; ~{v} h of battery; ?how many hours does the battery hold
volume_l,capacity_litres,litres,holds_l : num 0.5 90 1 : volume,capacity : holds {v} litres; takes in {v} litres; has room for {v} litres; ~{v} litres; ?how many litres fit in
noise_db,noise_level,loudness : int 20 95 : noise,loudness : hums at {v} dB; is {v} decibels loud; makes {v} decibels of noise; ~{v} dB; ?how loud is it
made_of,material,fabric,substance : material : material : is all {v}; was crafted from {v}; ~all {v}; ~in {v}; ?what is it made from
colour,color,shade,finish : color : colour,shade : comes in {v}; is {v} all over; gleams in {v}; was painted {v}; ~in {v}; ?which colour is it
brand,maker,manufacturer,produced_by,made_by : company : brand,maker : is a {v} product; comes from the house of {v}; bears the badge of {v}; was produced by {v}; ~by {v}; ?which brand is it
origin,made_in,country_of_origin,origin_country : country : origin,country of origin : was made in {v}; hails from {v}; was imported from {v}; ~made in {v}; ?where was it made
warranty_years,guarantee_years,years_of_warranty : int 1 12 : warranty,guarantee : is guaranteed for {v} years; @If it breaks within {v} years we mend it free of charge; ~{v} years of guarantee; ?for how many years is there a guarantee
stock,in_stock,units_left,available_units,quantity_available : int 2 400 : stock,pieces left : is in the store {v} times; @There are {v} left on the shelf; @We still have {v} of them; @{v} pieces remain; ~{v} in stock; ?how many are left
rating,stars,score,average_rating,customer_rating : num 1 5 1 : rating,stars : is rated {v} out of 5; ~{v} stars; ?how many stars did buyers give
item_number,sku,article_number,product_code : code AA-9999 : item number,article number : has the number {v}; ~no. {v}; @Order it as {v}; ?what is the order code
serial_number,serial,serial_no : code A99999 : serial number,serial : bears the serial {v}; is engraved with the serial {v}; ~serial {v}; ?what is the serial
best_before,expires_on,expiry_date,use_by : date : expiry,use by : goes off on {v}; expires on {v}; should be used up by {v}; ~best before {v}; ?when does it expire
waterproof,is_waterproof,water_resistant : bool : waterproof : is waterproof; keeps the rain out; survives a bath; can be used under water / is not waterproof; must not get wet; lets water in; does not survive a shower
second_hand,is_used,used,pre_owned : bool : second-hand : had an owner before; is second-hand; was used for a while / is brand new; is still in its wrapping; has never been used
foldable,is_foldable,collapsible : bool : foldable : folds up; folds flat for the cupboard; can be folded / cannot be folded; does not fold up
includes_batteries,batteries_included,with_batteries : bool : batteries included : comes with batteries; has batteries in the box / comes without batteries; needs batteries that are not in the box
condition,state,item_condition,quality : enum : condition : new=was never taken out of the box|is brand new|is still sealed; like_new=was used once|looks as if it were new; used=shows some scratches|has been in use for years|is a little worn; broken=does not work any more|is for spares only|has stopped working
availability,stock_status,delivery_status : enum : availability : in_stock=can be sent today|is on our shelves; sold_out=is sold out|is gone, the last one went today; preorder=is not out yet, but you may order it now|will be released soon, order it ahead

# trip | coach tour,bus trip/trip,tour,trip_name/phrase; ferry,crossing/ferry,ferry_name,line/made; train,express/train,train_number,service/code AA 999; shuttle,minibus/shuttle,line/made; flight/flight,flight_number,flight_no/code AA999; hike,walk/hike,route,tour/phrase; cruise/cruise,cruise_name/phrase; tram,streetcar/line,tram_line/code A9
departure_time,departs_at,leaves_at,takeoff,start_time,sets_off : time : departure,departure time : leaves at {v}; sets off at {v}; pulls out at {v}; gets going at {v}; ~dep. {v}; ~leaving {v}; ?when does it leave; @Doors shut at {v}
arrival_time,arrives_at,gets_in_at,landing,reaches_at,eta : time : arrival,arrival time : gets in at {v}; pulls in at {v}; reaches the end of the line at {v}; is due in at {v}; ~arr. {v}; ~arriving {v}; ?when does it get in
from,origin,start_city,departure_city,starting_point : city : start,from : starts in {v}; begins its way in {v}; sets out from {v}; comes from {v}; ~from {v}; ~starting in {v}; ?where does it start
to,destination,end_city,arrival_city,bound_for,final_stop : city : destination,to : goes to {v}; is bound for {v}; ends in {v}; ~to {v}; ~bound for {v}; ?where does it go
via,stopover,stops_in,change_at,layover : city : via,stopover : calls at {v} on the way; passes through {v}; makes a halt in {v}; @You change trains in {v}; ~via {v}; ?where does it stop on the way
date,day,travel_date,departure_date,outward_date : date : date of travel,outward date : sets off on {v}; begins on {v}; @The way out is on {v}; ~outward {v}; ?on which day does it start
return_date,back_on,returns_on,way_back : date : return,way back : brings you back on {v}; returns on {v}; @We are home again on {v}; ~back {v}; ?when does it come back
fare,ticket_price,price_per_person,price : money 4 800 : fare,ticket : costs {v} a head; is {v} per passenger; @A seat is {v}; @Tickets go for {v}; ~{v} a seat; ?what is the fare
distance_km,distance,kilometres,km,route_length : int 2 900 : distance : @It is {v} km all in all; ~{v} km; ?how far is it
duration_min,travel_time,minutes,journey_time : int 10 600 : travel time,journey time : takes {v} minutes; is over after {v} minutes; @You sit there for {v} minutes; ~{v} min; ?how many minutes does it take
delay_min,delay,late_by,minutes_late : int 2 160 : delay : is {v} minutes behind time; lost {v} minutes on the way; ~{v} min late; ?how late is it
platform,track,departs_from,platform_number : int 1 40 : platform,track : goes from platform {v}; stands on track {v}; ~platform {v}; ?which platform is it
seat,seat_number,place,your_seat : code 99A : seat : has seat {v} for you; @You sit in {v}; @Your place is {v}; ~seat {v}; ?where do I sit
passengers,travellers,people,persons,on_board : int 2 240 : passengers,travellers : carries {v} passengers; has {v} people on board; @{v} travellers are booked; ~{v} passengers; ?how many people travel
bags,luggage,pieces_of_luggage,suitcases : int 1 9 : bags,luggage : allows {v} bags; lets you take {v} suitcases; ~{v} bags; ?how many bags may I take
operator,run_by,carrier,operated_by : company : operator : belongs to the timetable of {v}; is a service of {v}; ~with {v}; ?who runs it
guide,tour_guide,led_by,leader,conductor : fullname : guide,leader : is led by {v}; @{v} shows you the way; @Your guide is {v}; ~guide {v}; ?who leads it
booking_code,reservation,booking_reference,confirmation : code AAA999 : booking,confirmation : is booked under {v}; was confirmed as {v}; ~booking {v}; ?what is the booking code
meal_included,meals,with_meal,catering : bool : meal included : comes with a hot meal; feeds you on board; has lunch in the price / has no food on board; leaves the catering to you; does not include a meal
refundable,is_refundable,can_be_refunded : bool : refundable : can be given back for the full price; is refundable / cannot be given back; is not refundable; gives you no money back
direct,is_direct,non_stop : bool : direct : goes straight through; does not stop on the way; is direct / has a change on the way; makes a stop in between; is not direct
travel_class,class,cabin,comfort : enum : class : first=seats you in the best cabin|puts you in first class; second=seats you in second class|comes with a plain second-class seat; business=has a business seat for you|flies you in business
means,mode,transport,vehicle_type : enum : means of transport : bus=takes you by coach on the motorway; boat=goes over water all the way; plane=takes you through the air; train=rolls on rails; foot=is done on foot

# gathering | workshop,seminar/workshop,title,event,seminar_title/title; concert,gig/concert,event_name,gig/title; party,celebration/party,occasion,event/phrase; fair,market/fair,event,fair_name/title; lecture,talk/lecture,talk_title,subject/title; reunion,get-together/event,reunion,gathering/phrase; tournament,contest/tournament,competition,cup/title; auction,sale/auction,event,auction_name/title
host,hosted_by,organiser,organizer,organised_by : fullname : host,organiser : is hosted by {v}; is put on by {v}; has {v} as host; @{v} invites you; ~host {v}; ?who is the host
speaker,lecturer,keynote,talk_by,guest_speaker : fullname : speaker : has {v} on the stage; features a talk by {v}; @{v} will speak; ~speaker {v}; ?who gives the talk
contact,contact_person,ask_for,questions_to : fullname : contact : @{v} answers your questions; @If anything is unclear, turn to {v}; @Ask for {v}; ~contact {v}; ?whom can I ask
venue,hall,location,place_name,where : company : venue,hall : takes place at {v}; is held at {v}; happens over at {v}; ~at {v}; ?where is it held
city,town,held_in,event_city : city : city,town : comes to {v}; is held in {v}; ~in {v}; ?which town is it in
date,day,on,takes_place_on,event_date : date : date,day : takes place on {v}; falls on {v}; was set for {v}; ~on {v}; ?what day is it
rsvp_by,register_by,sign_up_by,registration_deadline : date : registration until,answer by : wants your answer by {v}; closes its list on {v}; @Please sign up by {v}; ~sign up by {v}; ?until when can I sign up
begins_at,start,starts_at,start_time,doors_open : time : start,beginning : begins at {v}; gets under way at {v}; ~from {v}; ?when does it begin
ends_at,end,end_time,finishes_at,over_by : time : end : winds up at {v}; finishes at {v}; goes on until {v}; ~till {v}; ?when is it over
attendees,guests,visitors,participants,headcount : int 5 900 : visitors,guests : expects {v} guests; @{v} people said yes; ~{v} guests; ?how many people come
seats_left,free_places,places_left,vacancies : int 1 80 : places left : has {v} places left; can take {v} more; @{v} chairs are still free; ~{v} places free; ?how many places are free
ticket_price,price,fee,costs,participation_fee : money 3 300 : fee,ticket : costs {v} to get in; @A ticket is {v}; ~{v} at the door; ?what is the ticket
prize_money,prize,award,reward : money 50 9000 : prize,reward : has {v} for the winner; @First place earns {v}; ~{v} for the winner; ?what can you win
topic,theme,subject_matter,about : topic : topic,theme : is about {v}; turns on {v}; deals with {v}; ~on {v}; ?what is it about
dress_code,attire,what_to_wear : enum : dress code : formal=asks for a dark suit or a long dress|wants you in evening dress; casual=lets you come in jeans|takes you as you are, no need to dress up; costume=wants you in fancy dress|asks for masks and costumes
bring,bring_along,please_bring,take_along : product : bring along,please bring : wants everybody to bring a {v}; @Do not come without a {v}; @Please have a {v} with you; ~bring a {v}; ?what shall I bring
food_served,menu,dish,catering : food : food,dish : serves {v} to everybody; ends with {v} for all; @There will be {v} to eat; ~with {v}; ?what is there to eat
outdoors,is_outdoors,open_air,outside : bool : open air : is held in the open; takes place under the sky; happens out on the lawn / is held indoors; stays under a roof; happens inside
online,is_online,virtual,remote : bool : online : happens on the screen only; can be followed by video call; is held on the web / is held in person only; is not shown on the web
free_entry,is_free,no_charge,free_of_charge : bool : free entry : is free of charge; costs nothing at all; lets everybody in for nothing / has to be paid for; is not free
children_allowed,kids_welcome,family_friendly : bool : children allowed : welcomes children; is fine for kids; has a corner for the little ones / is for grown-ups only; does not let children in
status,event_status,current_state : enum : status : planned=is still being planned|has been announced; cancelled=has been called off|will not happen after all; postponed=was put off to a later day|has been moved to later; finished=is over and done|ended a while ago

# person | colleague,employee/name,employee,staff_member,colleague/fullname; applicant,candidate/applicant,candidate,full_name/fullname; player/player,name,athlete/fullname; neighbour/neighbour,name,resident/fullname; singer,musician/artist,musician,stage_name/fullname; pupil,student/student,pupil_name,learner/fullname; patient/patient,patient_name,name/fullname; tenant,lodger/tenant,renter,lodger_name/fullname
age,years_old,how_old,age_years : int 5 94 : age : is {v} years old; turned {v} in spring; has seen {v} summers; ~aged {v}; ~{v} years old; ?how old is this person
born_on,birthday,date_of_birth,birth_date : date : born,birthday : was born on {v}; celebrates the birthday of {v}; ~born {v}; ?when was the birth
birthplace,born_in,native_town,hometown,place_of_birth : city : birthplace,home town : was born in {v}; grew up in {v}; comes from {v}; is a native of {v}; ~native of {v}; ?which town is home
residence,lives_in,home_city,current_city,resides_in : city : residence,lives in : lives in {v}; has settled in {v}; has a flat in {v}; resides in {v}; ~living in {v}; ?where does this person live
works_in,office_city,office,place_of_work : city : office,place of work : goes to the office in {v}; commutes to {v}; works out of {v}; ~office in {v}; ?where is the office
nationality,citizenship,passport,citizen_of : country : citizenship,passport : holds a passport of {v}; is a citizen of {v}; ~citizen of {v}; ?which passport is it
job,occupation,profession,job_title,works_as : job : job,profession : works as a {v}; is a {v} by trade; is employed as a {v}; ~a {v}; ?what is the job
employer,company,works_for,firm,workplace : company : employer,firm : works for {v}; has a job at {v}; draws a salary from {v}; ~with {v}; ?who is the employer
previous_employer,former_company,worked_before_at,last_employer : company : former employer : left {v} for it; used to work for {v}; spent years at {v} before; ~formerly of {v}; ?where was the job before
salary,income,pay,earns,annual_pay : money 900 90000 : salary,pay : earns {v}; is paid {v}; ~on {v}; ?what is the pay
joined_on,hired_on,started_on,first_day,entry_date : date : joined,first day : joined on {v}; was hired on {v}; ~since {v}; ?when was the first day
leaves_on,last_day,exit_date,leaving_date : date : last day : leaves on {v}; says goodbye on {v}; stays until {v}; ~until {v}; ?when is the last day
boss,supervisor,manager,reports_to,line_manager : fullname : boss,superior : reports to {v}; takes orders from {v}; has {v} as boss; ~under {v}; ?who is the boss
spouse,partner,married_to,husband_or_wife : fullname : spouse,partner : is married to {v}; said yes to {v} at the altar; ~married to {v}; ?who is the spouse
mentor,teacher,taught_by,coach,trained_by : fullname : teacher,mentor : learned it all from {v}; was taught by {v}; has lessons with {v}; ~pupil of {v}; ?who taught this person
emergency_contact,next_of_kin,call_in_emergency : fullname : emergency contact : wants {v} to be called if something happens; @In an emergency, tell {v}; ~in an emergency: {v}; ?whom do we tell in an emergency
languages,speaks,spoken_languages,fluent_in : list language : languages : speaks {v}; is fluent in {v}; can chat in {v}; ~speaks {v}; ?which languages are spoken
skills,abilities,strengths,knows,good_at : list skill : skills,strengths : is good at {v}; knows a lot about {v}; has a talent for {v}; ~good at {v}; ?what are the strengths
hobby,pastime,likes_to_do,free_time,sport : sport : hobby,pastime : plays {v} after work; spends the weekends on {v}; ~loves {v}; ?what is the hobby
pet,has_pet,animal,owns_animal : animal : pet : keeps a {v}; owns a {v}; walks in with a {v}; ~with a {v}; ?which pet is there
children,kids,number_of_children,offspring : int 1 6 : children,kids : has {v} kids; is raising {v} children; ~{v} kids; ?how many kids are there
height_cm,height,tall,body_height : int 145 205 : height : is {v} cm tall; stands {v} cm in socks; ~{v} cm; ?how tall is this person
weight_kg,weight,body_weight : int 42 130 : weight : weighs {v} kilos; ~{v} kg; ?what does this person weigh
shoe_size,shoes,foot_size : int 35 48 : shoe size : takes shoes in {v}; needs size {v} for the feet; ~shoes {v}; ?which shoe size is it
experience_years,years_of_experience,experience,years_in_job : int 2 40 : experience : has done this for {v} years; looks back on {v} years in the trade; ~{v} years in the trade; ?how many years of experience are there
email,mail,e_mail,email_address : email : mail,email : can be mailed at {v}; reads what comes to {v}; ~{v}; ?what is the mail address
phone,telephone,mobile,phone_number,cell : phone : phone,mobile : can be rung on {v}; ~tel. {v}; ?what is the phone number
allergy,allergic_to,allergies,intolerance : ingredient : allergy : cannot eat {v}; gets a rash from {v}; is allergic to {v}; ~no {v} please; ?what is there an allergy to
vegetarian,is_vegetarian,eats_no_meat : bool : vegetarian : never touches meat; gave up meat; is a vegetarian / eats meat; likes a good steak; is no vegetarian
smoker,is_smoker,smokes : bool : smoker : smokes; lights one cigarette after the other; cannot give up cigarettes / does not smoke; has never smoked; gave up cigarettes for good
has_licence,can_drive,driving_licence,drives : bool : driving licence : drives; has a driving licence; passed the driving test / does not drive; has no driving licence; failed the driving test
retired,is_retired,pensioner : bool : retired : has retired; lives on a pension; stopped working for good / is still at work; has not retired yet
full_time,is_full_time,works_full_time : bool : full-time : works full-time; works all five days a week / works half days only; comes in on two days a week; is not full-time
marital_status,family_status,civil_status : enum : marital status : married=has a husband|has a wife; single=has never been married|lives alone and never married; divorced=split up in court|is divorced; widowed=lost a husband to illness|lost a wife years ago
mood,feeling,emotion,state_of_mind : enum : mood : happy=beams all over|cannot stop smiling; sad=has been crying all day|is down in the dumps; angry=is fuming|slammed the door in a rage; tired=can hardly keep both eyes open|yawns all the time

# case | complaint,ticket/ticket,ticket_id,case_number,complaint_no/code; claim/claim,claim_number,claim_id/code; repair job,repair/job,job_number,repair_id/code; request,enquiry/request,request_id,enquiry_no/code; incident,outage/incident,incident_id,event_id/code; order/order,order_id,order_number/code; return/return_id,return,rma/code
reported_by,reporter,opened_by,raised_by,customer,complainant : fullname : reported by,customer : came in from {v}; @{v} got in touch about it; ~from {v}; ?who reported it
assigned_to,assignee,handled_by,agent,owner,in_charge : fullname : assigned to,agent : is handled by {v}; lies on the desk of {v}; was passed to {v}; @{v} takes care of it; ~with {v}; ?who takes care of it
approved_by,approver,signed_off_by,authorised_by : fullname : approved by : was signed off by {v}; got the blessing of {v}; @{v} gave the green light; ~signed off by {v}; ?who said yes to it
opened_on,created_on,received_on,date_opened,reported_on : date : opened,received : came in on {v}; was opened on {v}; reached us on {v}; ~of {v}; ?when did it come in
closed_on,resolved_on,solved_on,date_closed,settled_on : date : closed,settled : was settled on {v}; was closed on {v}; came to an end on {v}; ~settled {v}; ?when was it settled
due_by,deadline,due_date,respond_by,must_be_done_by : date : deadline,due : has to be done by {v}; must not wait beyond {v}; is due on {v}; ~due {v}; ?until when must it be done
amount,sum,value,claimed_amount,amount_claimed : money 5 9000 : sum,amount claimed : is about {v}; asks for {v}; puts the damage at {v}; ~over {v}; ?what sum is it about
refund,refunded,paid_back,refund_amount,money_back : money 5 900 : refund,paid back : was settled with {v} back; got {v} returned; @We paid {v} back; ~{v} back; ?how much was paid back
product,item,device,affected_item,article : product : item,article : concerns a {v}; has to do with a {v}; is about a {v}; ~re: {v}; ?what is it about
problem,issue,fault,what_is_wrong,description,error : said problem : problem,fault : says: {v}; @What is wrong: {v}; @The customer writes: {v}; ~fault: {v}; ?what is wrong
next_step,todo,action,to_do,follow_up : said todo : next step,to do : needs somebody to {v}; @What is left is to {v}; @Next we {v}; ~next: {v}; ?what comes next
location,site,branch,where,store : city : site,branch : happened in {v}; came from the branch in {v}; arose in {v}; ~{v} branch; ?where did it happen
affected_users,people_affected,users,customers_hit : int 2 900 : people affected : hits {v} people; keeps {v} customers from working; @{v} users are stuck; ~{v} users hit; ?how many people does it hit
attempts,tries,times_tried,retries : int 2 9 : attempts,tries : was tried {v} times; took {v} attempts; ~{v} tries; ?how often was it tried
contact_phone,callback_number,phone,call_back_on : phone : callback,phone : asks for a call on {v}; @Please ring {v}; ~ring {v}; ?which number shall we ring
contact_email,email,reply_to,answer_to : email : mail,reply to : wants the answer at {v}; @Write back to {v}; ~mail {v}; ?where do we write to
invoice_number,bill,invoice,invoice_no : code AA-99999 : invoice,bill : belongs to invoice {v}; ~bill {v}; ?which bill is it
urgent,is_urgent,high_priority,rush : bool : urgent : cannot wait; has to be done at once; is urgent / can wait; is in no hurry; is not urgent
has_photo,photos_attached,with_picture,picture_sent : bool : photo attached : came with a photo; has pictures with it; shows the damage in a photo / came without a photo; has no picture with it
resolved,is_solved,closed,done,fixed : bool : solved : has been solved; is off the table; is dealt with / is still open; has not been solved; waits for a solution
first_contact,is_first,new_customer : bool : new customer : comes from somebody new to us; is from a first-time buyer / comes from a regular customer; is from somebody who has bought here for years
priority,urgency,severity,level : enum : urgency : high=has everybody standing still, so drop the rest|must be done within the hour; medium=should be looked at this week|is a nuisance, but there is a way round; low=is a mere trifle|may be done some time or other
channel,source,came_by,received_via : enum : channel : phone=was told us by somebody who rang|came in by a call; email=was mailed to us|came in a mail; chat=was typed into the chat window; letter=came on paper with a stamp|arrived by post; in_person=was told us at the counter
status,state,stage,progress : enum : status : open=has not been touched yet|waits for somebody to begin; in_progress=is being worked on|is half done; waiting=waits for a spare part|waits until the customer answers; closed=is done with|was finished and filed

# home | flat,apartment/flat,title,listing/phrase; cottage,cabin/cottage,cabin_name,property/company; hotel,guest house/hotel,accommodation,lodging/company; office,workspace/office,premises,space/company; villa/villa,house,property/company; hostel/hostel,lodging,stay_at/company; warehouse,storehouse/warehouse,building,store/company
rent,monthly_rent,price_per_month,rent_per_month : money 200 4200 : rent : takes {v} of your pay each month; rents at {v}; ~{v} a month; ?what is the rent
price_per_night,night_rate,rate,nightly_price : money 20 600 : price per night,night : @A night costs {v}; @You sleep here for {v}; ~{v} a night; ?what is one night
deposit,security,bond,security_deposit : money 100 5000 : deposit,security : wants {v} as a security; keeps {v} until you move out; ~deposit {v}; ?what is the deposit
cleaning_fee,cleaning,final_cleaning : money 15 150 : cleaning : adds {v} for the cleaner; @Cleaning is {v} on top; ~cleaning {v}; ?what does the cleaning cost
purchase_price,asking_price,sale_price,for_sale_at : money 90000 990000 : asking price : changes hands for {v}; @The seller wants {v}; ~for sale at {v}; ?what does the seller want
size_m2,area,square_metres,floor_space,living_area : int 18 400 : size,floor space : offers {v} square metres; has {v} m² to live on; ~{v} m²; ?how many square metres are there
rooms,number_of_rooms,room_count : int 2 14 : rooms : has {v} rooms; ~{v} rooms; ?how many rooms are there
bedrooms,number_of_bedrooms,beds_rooms : int 1 7 : bedrooms : sleeps its people in {v} bedrooms; has {v} rooms with beds; ~{v} bedrooms; ?how many bedrooms are there
bathrooms,baths,number_of_bathrooms : int 1 5 : bathrooms : has {v} bathrooms; @You can wash in {v} bathrooms; ~{v} baths; ?how many bathrooms are there
floor,storey,level,on_floor : int 1 20 : floor,storey : is on floor {v}; lies on storey {v}; ~floor {v}; ?which floor is it
sleeps,max_guests,guests,capacity,people : int 2 16 : guests : has beds for {v}; puts up {v} people; takes {v} guests at most; ~sleeps {v}; ?how many people can sleep there
built_in,year_built,construction_year,year : year : built,year : dates from {v}; has been standing since {v}; was put up in {v}; ~built {v}; ?what year was it put up
renovated_in,modernised,last_renovation,done_up_in : year : renovated : was done up in {v}; got new windows and pipes in {v}; ~done up in {v}; ?when was it done up
address,street,located_at,full_address : address : address,street : is at {v}; has its door at {v}; ~{v}; ?what is the address
city,town,located_in,place : city : town,city : lies in {v}; stands in the heart of {v}; ~in {v}; ?which town is it in
landlord,owner,let_by,owned_by,proprietor : fullname : owner,landlord : belongs to {v}; is let by {v}; ~owner {v}; ?who owns it
caretaker,janitor,looked_after_by,housekeeper : fullname : caretaker,housekeeper : is kept in order by {v}; @{v} sweeps the stairs; @{v} has the spare key; ~caretaker {v}; ?who is the caretaker
estate_agent,agent,broker,viewings_with : fullname : agent,broker : is shown by {v}; @Viewings are with {v}; ~viewings: {v}; ?who shows it
check_in,arrival_from,check_in_time,keys_from : time : check-in : lets you in from {v}; @You get the keys at {v}; ~check-in {v}; ?from when can I get in
check_out,leave_by,check_out_time,out_by : time : check-out : wants you out by {v}; @Please leave by {v}; ~out by {v}; ?until when must I be out
available_from,free_from,vacant_from,move_in : date : free from : is free from {v}; @You may move in on {v}; ~free {v}; ?from when is it free
distance_beach_m,metres_to_beach,beach_distance : int 50 900 : to the beach : is {v} m from the beach; @To the sea it is {v} m; ~{v} m to the sea; ?how far is the sea
heating,heated_with,heating_type : enum : heating : gas=burns gas in its boiler; oil=burns oil from a tank; wood=is kept warm by a wood stove; electric=is heated by electric radiators; solar=gets its heat from the sun on the roof
furnished,is_furnished,with_furniture : bool : furnished : comes with all the furniture; is furnished / comes without furniture; is empty, bring your own bed; is not furnished
pets_allowed,pets_welcome,allows_pets : bool : pets allowed : lets you bring your dog; is fine with cats and dogs / does not take animals; wants no pets
has_parking,parking,car_park,parking_space : bool : parking : has a place for your car; includes a parking space / leaves you to look for a parking space; has no parking
has_lift,elevator,lift : bool : lift : has a lift; takes you up by lift / has stairs only; has no lift
garden,has_garden,with_garden : bool : garden : has a lawn and some apple trees; comes with a garden / has no garden; has nothing green around it
balcony,has_balcony,with_balcony : bool : balcony : has a balcony; lets you sit outside on the balcony / has no balcony; comes without a balcony

# document | contract,agreement/contract,contract_id,agreement_no/code; invoice,bill/invoice,invoice_number,bill_no/code; report,study/report,title,report_title/title; letter/letter,subject,re/topic; article,essay/article,headline,title/title; policy/policy,policy_number,policy_no/code; novel,book/book,title,novel/title; manual,handbook/manual,handbook,title/title; offer,quote/offer,quote_number,offer_id/code
author,written_by,writer,penned_by : fullname : author,writer : was written by {v}; comes from the pen of {v}; @{v} put it on paper; ~by {v}; ?who wrote it
editor,edited_by,proofread_by,corrected_by : fullname : editor : was edited by {v}; was cut into shape by {v}; @{v} took the mistakes out; ~edited by {v}; ?who edited it
translator,translated_by,into_other_language_by : fullname : translator : was translated by {v}; @{v} put it into another language; ~translated by {v}; ?who translated it
illustrator,illustrated_by,drawings_by : fullname : illustrator : has drawings by {v}; was illustrated by {v}; ~drawings by {v}; ?who drew the pictures
recipient,addressee,sent_to,addressed_to,receiver : fullname : recipient,addressee : is meant for {v}; was sent to {v}; is addressed to {v}; ~to {v}; ?who gets it
sender,sent_by,from,from_person : fullname : sender,from : came from {v}; ~from {v}; ?who sent it
issuer,issued_by,company,publisher : company : issuer,company : was issued by {v}; came out at {v}; bears the stamp of {v}; ~{v}; ?which house put it out
signed_on,date_signed,signature_date,date : date : signed : was signed on {v}; ~dated {v}; ?when was it signed
valid_until,expires,end_date,runs_until : date : valid until,expires : runs until {v}; is good until {v}; ends on {v}; ~valid until {v}; ?until when is it good
valid_from,starts,effective_from,begins : date : valid from : comes into force on {v}; begins to count on {v}; ~as of {v}; ?from when does it count
due_date,pay_by,payable_by,payment_due : date : payable by,due : has to be paid by {v}; falls due on {v}; ~payable by {v}; ?until when must one pay
pages,page_count,number_of_pages,length_pages : int 2 900 : pages : fills {v} pages; ~{v} pages; ?how many pages are there
words,word_count,number_of_words : int 300 90000 : words : comes to {v} words; ~{v} words; ?how many words are there
chapters,chapter_count,sections : int 2 40 : chapters : falls into {v} chapters; ~{v} chapters; ?how many chapters are there
copies,print_run,copies_sold,sold : int 50 90000 : copies : sold {v} copies; was bought {v} times; ~{v} copies; ?how many were sold
edition,edition_number,issue : int 2 30 : edition : is in edition {v}; ~edition {v}; ?which edition is it
total,amount,gross_amount,sum_due,to_pay : money 5 9000 : total,sum : comes to {v}; asks for {v} in all; ~total {v}; ?what is the total
tax,vat,tax_amount,sales_tax : money 2 900 : tax : has {v} of tax in it; @Of this the state gets {v}; ~tax {v}; ?how much is the tax
discount,rebate,reduction,money_off : money 2 400 : rebate : takes {v} off; @We let you off {v}; ~less {v}; ?how much is taken off
monthly_fee,per_month,monthly_payment,instalment : money 5 900 : monthly fee,instalment : is paid off at {v} a month; takes {v} monthly; ~{v} monthly; ?what is to be paid each month
language,written_in,text_language,in_language : language : language : is in {v}; was written in {v}; ~in {v}; ?which language is it in
subject,about,topic,concerns,deals_with : topic : subject : is about {v}; deals with {v}; treats {v}; ~on {v}; ?what is it about
version,revision,version_number : code 9.9 : version,revision : is now at version {v}; ~version {v}; ?which version is it
confidential,is_confidential,secret,restricted : bool : confidential : must not be shown to others; is for your eyes only; is confidential / may be shown to anybody; is open to the public
signed,is_signed,has_signature : bool : signed : has been signed; bears a signature / has not been signed; still lacks a signature
paid,is_paid,settled,has_been_paid : bool : paid : has been paid; was settled in full / is still unpaid; nobody has paid
payment_method,paid_by,means_of_payment,pay_with : enum : payment : cash=was paid in notes and coins|was paid at the till with a banknote; card=was paid by plastic|was paid with a Visa; transfer=was paid from one bank account to the other|was wired; cheque=was paid by cheque
format,medium,binding : enum : format : paperback=has a soft cover; hardcover=has a stiff cover|is bound in boards; ebook=is for your reading device only|comes as a file to load down; audio=is read aloud to you

# vehicle | van,delivery van/van,vehicle,model/made; lorry,truck/truck,vehicle,lorry/made; scooter/scooter,model,moped/made; tractor/tractor,machine,model/made; boat,yacht/boat,yacht,boat_name/made; motorbike/motorcycle,bike_model,model/made; caravan,camper/camper,caravan,model/made
plate,licence_plate,registration,number_plate : code AA-99AA : number plate,plate : drives with the plates {v}; is registered as {v}; ~plate {v}; ?what is on the plate
mileage_km,mileage,odometer,km_driven,kilometres : int 900 190000 : mileage,km driven : has {v} km on the clock; was driven {v} km; ~{v} km; ?how many kilometres were driven
horsepower,hp,engine_power,ps : int 9 400 : horsepower : has {v} horses under the bonnet; puts out {v} hp; ~{v} hp; ?how many horsepower has it
top_speed_kmh,top_speed,max_speed,fastest : int 25 260 : top speed : does {v} km/h at most; ~up to {v} km/h; ?how fast can it go
consumption_l,fuel_consumption,litres_per_100_km,uses_l : num 2 30 1 : consumption : burns {v} litres per 100 km; drinks {v} l on a hundred kilometres; ~{v} l/100 km; ?how much does it burn
tank_l,tank_size,tank_capacity,tank : int 5 400 : tank : fits {v} litres in the tank; @Filling up takes {v} litres; ~tank {v} l; ?how big is the tank
doors,number_of_doors,door_count : int 2 6 : doors : has {v} doors; ~{v} doors; ?how many doors are there
seats,seat_count,places,passengers : int 1 9 : seats : has room for {v} people; ~{v} seats; ?how many can sit in it
first_registered,year,model_year,year_of_make : year : year,model year : was first on the road in {v}; was made in {v}; is a {v} model; ~built {v}; ?what year was it made
last_service,serviced_on,last_checked,last_maintenance : date : last service : was last serviced on {v}; saw a garage on {v}; ~serviced {v}; ?when was it last serviced
next_service,service_due,next_check,mot_until : date : next check : has to go to the garage on {v}; is due for a check on {v}; ~next check {v}; ?when is the next check
driver,driven_by,driver_name,at_the_wheel : fullname : driver : is driven by {v}; has {v} at the wheel; @{v} sits behind the wheel; ~driver {v}; ?who drives it
owner,owned_by,belongs_to,holder,keeper : fullname : owner,holder : belongs to {v}; ~owner {v}; ?whose is it
bought_from,seller,dealer,sold_by,previous_owner : fullname : seller : was bought from {v}; @{v} sold it to us; ~seller {v}; ?who sold it
insurer,insurance,insured_with,insurance_company : company : insurer : is insured with {v}; @If it crashes, {v} pays; ~insured with {v}; ?who insures it
price,asking_price,cost,selling_price : money 500 90000 : price : is for sale at {v}; costs {v}; went for {v}; ~{v}; ?what does it cost
yearly_tax,road_tax,tax_per_year : money 30 900 : road tax : is taxed at {v} a year; @The state takes {v} a year for it; ~tax {v}; ?what is the yearly tax
colour,color,paint,painted : color : colour,paint : is {v}; was sprayed {v}; ~in {v}; ?what colour is it
parked_at,location,position,stands_at : street : place,parked : stands in {v}; is parked in {v}; ~in {v}; ?where is it parked
has_damage,damaged,accident_damage,was_in_accident : bool : damaged : was in a crash; has a dented door; has some damage / has never been in a crash; is without a dent
towbar,has_towbar,tow_hitch : bool : towbar : can pull a trailer; has a towbar / cannot pull a trailer; has no towbar
air_conditioning,has_aircon,climate_control,aircon : bool : air conditioning : stays cool in summer thanks to its aircon; has air conditioning / has no air conditioning; gets hot in summer without an aircon
roadworthy,drivable,is_running,runs : bool : drivable : runs well; starts at the first turn of the key / does not start; has to be towed away
fuel,fuel_type,runs_on,drive : enum : fuel : diesel=runs on diesel|takes diesel at the pump; petrol=runs on petrol|takes petrol; electric=runs on a battery|is plugged in overnight; gas=runs on gas from a bottle
gearbox,transmission,gears : enum : gearbox : manual=has a clutch and a stick|lets you change gear by hand; automatic=changes gear by itself|has no clutch

# course | course,class/course,course_title,class_name/title; school/school,school_name,institution/company; club,society/club,society,club_name/company; gym,studio/gym,studio,facility/company; library/library,institution,library_name/company; kindergarten/kindergarten,nursery,name/company; choir/choir,group,choir_name/made
teacher,instructor,taught_by,trainer,tutor : fullname : teacher,trainer : is taught by {v}; has {v} in front of the board; @{v} gives the lessons; ~with {v}; ?who teaches
head,director,headed_by,principal,chair : fullname : head,director : is headed by {v}; ~head {v}; ?who is the head
founder,founded_by,set_up_by,started_by : fullname : founder : was set up by {v}; was the idea of {v}; @{v} called it into being; ~founder {v}; ?who set it up
founded_in,established,since,year_founded : year : founded,since : has been around since {v}; was founded in {v}; ~since {v}; ?since when has it been there
members,member_count,number_of_members,size : int 5 900 : members : counts {v} members; has {v} people on its list; ~{v} members; ?how many members are there
staff,employees,team_size,people_employed : int 2 300 : staff : employs {v} people; pays {v} people; ~staff of {v}; ?how many people work there
waiting_list,people_waiting,queue_length,waiting : int 1 90 : waiting list : has {v} people waiting for a place; @{v} are on the waiting list; ~{v} waiting; ?how many are waiting
lessons,number_of_lessons,sessions,units : int 2 60 : lessons,sessions : has {v} lessons; is made up of {v} sessions; ~{v} lessons; ?how many lessons are there
minimum_age,age_from,from_age,youngest : int 3 21 : minimum age,from age : takes people from age {v}; is for those above {v}; ~from age {v}; ?from which age can one come
annual_fee,membership_fee,yearly_fee,fee_per_year : money 10 900 : yearly fee,membership : costs {v} a year; takes {v} a year from its people; ~{v} a year; ?what is the yearly fee
joining_fee,registration_fee,one_time_fee,sign_up_fee : money 5 200 : joining fee : takes {v} once when you join; @Signing up is {v}; ~{v} to join; ?what does joining cost
opens_at,open_from,opening_time,opens : time : opens : opens at {v}; lets people in from {v}; ~open from {v}; ?when does it open
closes_at,open_until,closing_time,closes : time : closes : shuts at {v}; turns off the lights at {v}; ~open until {v}; ?when does it shut
starts_on,first_lesson,begins_on,start_date : date : first day,start : begins on {v}; meets for the first time on {v}; ~from {v} on; ?when is the first day
ends_on,last_lesson,end_date,final_day : date : last day,end : ends on {v}; meets for the last time on {v}; ~until {v}; ?when is the last day
exam_on,exam_date,test_day,final_exam : date : exam : tests its people on {v}; @The exam is on {v}; ~exam {v}; ?when is the exam
enrol_by,register_until,sign_up_deadline,apply_by : date : sign up by : takes names until {v}; @Apply by {v}; ~apply by {v}; ?until when can one apply
room,classroom,held_in,meets_in : code A99 : room : meets in room {v}; is held in {v}; ~room {v}; ?which room is it
city,town,based_in,location : city : town,place : is based in {v}; sits in {v}; ~{v}; ?which town is it in
language,taught_in,language_of_instruction : language : language : is given in {v}; ~in {v}; ?which language is used
website,url,homepage,web_address : url : website : is on the web at {v}; @Read more at {v}; ~{v}; ?what is the web address
textbook,book,course_book,read : title : course book : works with the book {v}; @Please buy the book {v}; ~book: {v}; ?which book is used
certificate,gives_certificate,with_certificate : bool : certificate : ends with a certificate; gives you a paper that says you passed / ends without a certificate; gives no certificate
beginners_welcome,for_beginners,no_experience_needed : bool : for beginners : takes people who know nothing yet; is good for beginners / is not for beginners; wants people who know the basics
is_full,fully_booked,full,booked_out : bool : full : has no place left; is booked out / still has places; still takes people
level,difficulty,grade : enum : level : beginner=starts from zero|is for those who have never done it; intermediate=is for those who know the basics; advanced=is for experts|is for those who have done it for years
rhythm,frequency,how_often,interval : enum : how often : daily=meets every day; weekly=meets once a week; monthly=meets twelve times a year|meets once a month

# payment | transfer,payment/payment,payment_id,transfer_no/code; donation,gift/donation,gift_id,reference/code; loan/loan,loan_number,loan_id/code; subscription/subscription,plan_name,service/company; bet,wager/bet,bet_id/code; fine,penalty/fine,fine_number,case_no/code; grant/grant,grant_number,programme/code
amount,sum,value,total,paid_amount : money 3 9000 : sum,amount : is for {v}; amounts to {v}; comes to {v}; ~over {v}; ?what is the sum
processing_fee,fee,bank_charge,commission,costs : money 1 60 : charge,commission : loses {v} to the bank; @The bank keeps {v}; @We take {v} for our trouble; ~bank charge {v}; ?what does the bank take
remaining,outstanding,balance,still_owed,left_to_pay : money 10 9000 : outstanding,still owed : leaves {v} to be paid; @{v} are still owed; ~{v} still owed; ?how much is still owed
payer,paid_by,from,sender,donor : fullname : payer : was paid by {v}; comes out of the pocket of {v}; @{v} paid; ~from {v}; ?who paid
payee,paid_to,to,recipient,beneficiary : fullname : payee,recipient : goes to {v}; ends up with {v}; @{v} gets the money; ~to {v}; ?who gets the money
guarantor,backed_by,co_signer,secured_by : fullname : guarantor : is backed by {v}; @{v} vouches for it; ~backed by {v}; ?who vouches for it
bank,bank_name,via_bank,institution : company : bank : goes through {v}; was handled by the bank {v}; ~via {v}; ?which bank is it
account,account_number,iban,account_no : code 999 999 999 : account : went into account {v}; ~account {v}; ?which account is it
reference,purpose_code,payment_reference,ref : code AA-9999 : reference : quotes {v}; has the note {v} on it; ~ref. {v}; ?what is the reference
booked_on,paid_on,transaction_date,value_date : date : booked,paid on : was booked on {v}; left the account on {v}; ~paid {v}; ?when was it booked
due_on,payable_until,due_date,pay_before : date : due : has to be there by {v}; is wanted by {v}; ~due {v}; ?until when is it wanted
ends_on,final_instalment,last_payment,paid_off_on : date : last instalment : is paid off on {v}; ends with the instalment of {v}; ~paid off {v}; ?when is it paid off
interest_rate,interest,rate_percent,apr : num 0.5 15 1 : interest : bears {v} percent interest; grows by {v}% a year; ~at {v} percent; ?what is the interest
instalments,rates,number_of_payments,payments : int 2 60 : instalments : is spread over {v} instalments; is paid in {v} parts; ~in {v} instalments; ?how many instalments are there
purpose,reason,used_for,for_what : topic : purpose : is meant for {v}; pays for {v}; ~for {v}; ?what is it for
recurring,is_recurring,repeats,standing_order : bool : recurring : comes back every month; is repeated until you stop it / happens once only; is not repeated
confirmed,is_confirmed,went_through,successful : bool : confirmed : went through; has been confirmed by the bank / did not go through; was turned down by the bank
tax_deductible,deductible,counts_for_tax : bool : tax deductible : can be taken off your tax; lowers your tax / cannot be taken off your tax; does nothing for your tax
category,expense_category,budget,expense_type : enum : category : groceries=went on bread and milk|bought vegetables for the week; travel=bought a train ticket|was for the hotel in the mountains; rent=went to the landlord; leisure=bought two seats in the cinema|was for a round of bowling; health=was for the pharmacy|went to the optician; clothing=was for a pair of jeans|bought a winter coat

# animal | horse,mare/horse,animal_name,name/first; dog,puppy/dog,pet_name,name/first; cat,kitten/cat,name,pet/first; cow/cow,animal,name/first; rabbit/rabbit,name,pet_name/first; parrot/bird,parrot,name/first
age_years,age,years,old : int 1 24 : age : is {v} years old; has lived {v} years; ~{v} years; ?how old is it
breed,race,kind,sort : made : breed : is a {v}; ~a {v}; ?which breed is it
weight_kg,weight,kilos : num 0.5 600 1 : weight : weighs {v} kg; ~{v} kilos; ?what does it weigh
owner,owner_name,belongs_to,keeper : fullname : owner : belongs to {v}; lives with {v}; ~owner {v}; ?who owns it
vet,veterinarian,treated_by,doctor : fullname : vet : is treated by {v}; goes to {v} when it is ill; ~vet {v}; ?who treats it
finder,found_by,brought_in_by : fullname : found by : was picked up by {v}; @{v} brought it in; ~found by {v}; ?who found it
chip_number,chip,microchip,tag : code 999999 : chip,tag : wears the chip {v}; ~chip {v}; ?what is on the chip
vaccinated_on,last_vaccination,vaccination_date,shot_on : date : vaccinated : got its shot on {v}; was vaccinated on {v}; ~vaccinated {v}; ?when did it get its shot
born_on,birth_date,date_of_birth : date : born : was born on {v}; ~born {v}; ?when was it born
missing_since,lost_on,last_seen,disappeared : date : missing since : has been gone since {v}; was last seen on {v}; ~gone since {v}; ?since when has it been gone
diet,food,eats,fed_with : food : food : eats nothing but {v}; lives on {v}; ~likes {v}; ?what does it eat
fur_colour,coat,colour,color : color : coat,colour : is {v} from head to tail; ~{v}; ?which colour is it
legs_injured,injury,hurt_part : enum : injury : leg=limps|broke a leg; eye=cannot see on one side; ear=hears nothing on one side; none=is not hurt at all
house_trained,is_house_trained,clean_indoors : bool : house-trained : never makes a mess indoors; asks to go out in time / still makes a mess indoors; is not house-trained
good_with_kids,likes_children,child_friendly : bool : good with children : loves to play with children; is gentle with kids / snaps at children; had better live without kids
sex,gender : enum : sex : female=had young ones last year|is a she; male=is a he|fathered a litter

# project | app,software/app,software,project/made; website,web shop/website,site,project/made; garden project,plan/project,plan,project_name/phrase; film,movie/film,movie_title,picture/title; series/series,series_title,programme/title; song,track/song,track,song_title/title; game/game,game_title,name/title; plant,factory/plant,factory,site_name/company; survey,poll/survey,poll,survey_name/phrase
lead,led_by,project_manager,leader,managed_by : fullname : lead,manager : is led by {v}; ~led by {v}; ?who leads it
client,customer,ordered_by,commissioned_by : company : client : was ordered by {v}; is done for {v}; @{v} pays for it; ~for {v}; ?who ordered it
made_by,developer,created_by,maker,studio : company : maker : was made by {v}; comes from the workshop of {v}; ~by {v}; ?who made it
tested_by,tester,checked_by,reviewer : fullname : tester : was tried out by {v}; @{v} looks for mistakes in it; ~tested by {v}; ?who tested it
budget,cost,funding,money_available : money 200 90000 : budget : has {v} to spend; may cost {v}; ~budget {v}; ?how much may be spent
spent,spent_so_far,cost_to_date,used_budget : money 100 60000 : spent : has eaten up {v} so far; @{v} are gone already; ~{v} spent; ?how much is gone already
revenue,income,earned,turnover,takings : money 200 90000 : takings,income : earned {v}; ~earned {v}; ?what did it bring in
started_on,kickoff,start_date,begun_on : date : start : got off the ground on {v}; began on {v}; ~since {v}; ?when did it begin
release_date,goes_live,released_on,out_on,available_from : date : release : comes out on {v}; goes live on {v}; reaches the public on {v}; ~out {v}; ?when does it come out
deadline,finish_by,due_date,complete_by : date : deadline : must be finished by {v}; has to be ready on {v}; ~ready by {v}; ?until when must it be ready
team_size,members,people,headcount : int 2 90 : team,people : @{v} people work on it; ~team of {v}; ?how many people work on it
users,downloads,viewers,customers : int 20 90000 : users,viewers : is used by {v} people; ~{v} users; ?how many people use it
bugs,open_issues,defects,known_errors : int 1 300 : open issues,defects : still has {v} mistakes in it; ~{v} defects; ?how many mistakes are left
progress_percent,progress,percent_done,completion : int 3 97 : progress : is {v} percent done; ~{v}% done; ?how far is it
duration_weeks,weeks,length_weeks,time_frame : int 2 60 : weeks : takes {v} weeks; ~{v} weeks; ?how many weeks does it take
running_time_min,runtime,length_min,minutes : int 3 200 : running time : lasts {v} minutes from the first to the last second; ~{v} min; ?how many minutes does it last
version,release,current_version : code 9.9.9 : version : has reached version {v}; ~v{v}; ?which version is it at
genre,style,sort_of,category : genre : genre,style : belongs to the {v} shelf; ~{v}; ?which genre is it
star,lead_actor,main_role,played_by,starring : fullname : star,main part : stars {v}; has {v} in the main part; ~with {v}; ?who plays the main part
risk,main_risk,danger,biggest_problem : said problem : risk : could fail because of this: {v}; @What worries us: {v}; ~risk: {v}; ?what is the risk
next_step,next,todo,upcoming : said todo : next step : needs us to {v} next; @The next thing is to {v}; ~next: {v}; ?what comes next
technologies,tools_used,stack,built_with : list skill : tools : was done with {v}; rests on {v}; ~done with {v}; ?what was it done with
open_source,is_open_source,public_code : bool : open source : may be copied by anybody; has its code out in the open / keeps its code locked away; must not be copied
on_schedule,on_time,is_on_track : bool : on time : keeps to the plan; is on time / has fallen behind; is late
approved,is_approved,green_light : bool : approved : has been given the green light; was waved through / has not been given the green light; was turned down by the board
phase,stage,status : enum : phase : idea=is no more than a thought so far; draft=exists as a first sketch; development=is being made right now; testing=is being tried out; live=is out and in use

# meal | restaurant,diner/restaurant,eatery,place/company; cafe,coffee house/cafe,coffee_house,venue_name/company; dish,special/dish,meal,special/food; canteen,mensa/canteen,canteen_name/company; food truck,stall/food_truck,stall,stand/made
cook,chef,cooked_by,head_cook : fullname : cook,head cook : lets {v} rule the kitchen; @{v} stands at the stove; @In the kitchen you find {v}; ~cook {v}; ?who cooks
waiter,served_by,server_name,waited_on_by : fullname : waiter : was brought to us by {v}; @{v} took our order; @{v} waited on us; ~waiter {v}; ?who waited on you
booked_for,reservation_name,table_name,under_the_name : fullname : booked for : keeps a table for {v}; @The table is under the name of {v}; ~table for {v}; ?whose table is it
dish_price,main_course,price,menu_price : money 4 60 : main course,menu : asks {v} for a main course; @A plate costs {v}; @For a full plate you pay {v}; ~{v} a plate; ?what is a plate
tip,gratuity,left_for_waiter,service_money : money 2 40 : gratuity : got {v} from us on top; @We left {v} for the waiter; @{v} went into the jar for the staff; ~{v} for the waiter; ?how much did you leave for the waiter
bill_total,total,we_paid,amount_paid : money 15 400 : bill,we paid : cost us {v} altogether; @In the end we paid {v}; @Our table came to {v}; ~{v} all in all; ?what did you pay in the end
table,table_number,seated_at,our_table : int 2 60 : table : seated us at table {v}; had table {v} for us; ~table {v}; ?which table was it
diners,party_size,guests,people : int 2 14 : guests,people : fed the {v} of us; @We were {v} at the table; @Our party was {v} strong; ~for {v}; ?how many were you
seats_inside,indoor_seats,capacity : int 8 200 : seats inside : can seat {v} inside; @Indoors there is room for {v}; ~{v} seats inside; ?how many can sit inside
waiting_minutes,wait,minutes_waited,waiting_time : int 3 90 : wait,minutes waited : let us wait {v} minutes; @It took {v} minutes until the food came; ~{v} minutes until the food came; ?how long did you wait
calories,kcal,energy,energy_kcal : int 90 1900 : energy : has {v} kcal; @You eat {v} calories with it; ~{v} kcal; ?how many calories has it
last_orders,kitchen_closes,kitchen_until : time : last orders : takes its last orders at {v}; cooks until {v}; ~last orders {v}; ?when is the last order
lunch_from,lunch_starts,midday_from : time : lunch from : serves lunch from {v}; @At noon they begin at {v}; ~lunch from {v}; ?from when is there lunch
starter,first_course,appetiser : food : starter : begins with {v}; @First there is {v}; ~{v} to begin with; ?what comes first
dessert,sweet,last_course,afters : food : sweet,last course : closes the meal with {v}; @In the end there is {v}; ~{v} to finish; ?what comes last
drink,beverage,to_drink,served_with_drink : food : drink : goes down well with {v}; @We drank {v} with it; ~with {v} in the glass; ?what did you drink
main_ingredient,based_on,key_ingredient : ingredient : main ingredient : would be nothing without {v}; is full of {v}; ~full of {v}; ?what is mostly in it
cuisine_country,cuisine,kitchen_of,food_from : country : cuisine : cooks the way they do in {v}; has its recipes from {v}; ~recipes from {v}; ?from which country are the recipes
vegan,is_vegan,no_animal_products : bool : vegan : gets by without anything from animals; is free of meat, milk and eggs / has milk or eggs in it; is not for vegans
takes_cards,card_payment,cards_accepted : bool : cards taken : takes cards; lets you pay with plastic / wants cash only; takes no cards
takeaway,to_go,can_take_out : bool : takeaway : packs it for you to carry home; may be eaten at home / can be eaten on the spot only; packs nothing to carry home
spiciness,heat,how_hot,hotness : enum : spiciness : mild=can be eaten by a baby|burns nobody's tongue; medium=tingles a little; hot=made my eyes water|sets your mouth on fire

# match | match,game/match,fixture,game/phrase; race,run/race,race_name,competition/phrase; final,cup final/final,cup,fixture/title; regatta,rowing race/regatta,event,race_name/title; league game,derby/game,derby,match/phrase
home_team,hosts,team_a,local_team : company : home team : was played on the ground of {v}; had {v} as the home side; ~home side {v}; ?who played at home
visitors,away_team,guests,team_b : company : away team : brought {v} as guests; saw {v} come from afar; ~against {v}; ?who were the guests
winner,won_by,champion,first_place : fullname : winner : was won by {v}; ended with {v} in front; @{v} came first; ~first {v}; ?who came first
runner_up,second_place,second,silver : fullname : second place : put {v} in second; @{v} came second; ~second {v}; ?who came second
referee,umpire,refereed_by,official : fullname : umpire : was refereed by {v}; @{v} blew for half-time; ~referee {v}; ?who was the referee
best_player,man_of_the_match,star_player,mvp : fullname : best player : had its hero in {v}; @Nobody played better than {v}; ~best player {v}; ?who played best
injured,injured_player,hurt,carried_off : fullname : injured : ended in hospital for {v}; @{v} was carried off on a stretcher; ~injured: {v}; ?who got hurt
goals_home,home_score,score_a,goals_for_hosts : int 2 9 : goals of the hosts : gave the hosts {v} goals; @The hosts scored {v} times; ~{v} for the hosts; ?how often did the hosts score
goals_away,away_score,score_b,goals_for_guests : int 2 9 : goals of the guests : gave the guests {v} goals; @The guests scored {v} times; ~{v} for the guests; ?how often did the guests score
spectators,crowd,watched_by,attendance : int 30 90000 : spectators : was watched by {v} people; @{v} came to see it; ~{v} in the stands; ?how many watched
yellow_cards,bookings,cautions : int 2 9 : yellow cards : saw {v} yellow cards; @The yellow card was shown {v} times; ~{v} yellow cards; ?how many yellow cards were there
distance_km,course_length,length_km,kilometres : num 1 90 1 : course length : leads over {v} km; @The course is {v} kilometres; ~{v} km; ?how long is the course
winning_time_min,best_time,fastest_minutes,finish_minutes : int 3 300 : best time : was done by the fastest in {v} minutes; @The quickest needed {v} minutes; ~fastest {v} min; ?how many minutes did the quickest need
kick_off,first_whistle,starting_time,gun_fired_at : time : first whistle : gets under way at {v}; @The first whistle is at {v}; ~first whistle {v}; ?when is the first whistle
played_on,match_date,date,day : date : played on : was played on {v}; @They met on {v}; ~played {v}; ?when was it played
return_match,rematch_on,second_leg,replay_date : date : second leg : has its second leg on {v}; @They meet again on {v}; ~again {v}; ?when do they meet again
stadium,ground,arena,played_at : company : ground,arena : filled the arena {v}; took place in the {v} stadium; ~{v} stadium; ?which stadium was it
trophy,cup_name,won_trophy,played_for : made : trophy : was about the {v} trophy; @They fought for the {v} cup; ~for the {v} cup; ?which trophy is it about
league,division,competition,series : made : division : counts for the {v} league; belongs to the {v} division; ~{v} league; ?which league is it
went_to_extra_time,extra_time,overtime : bool : extra time : needed half an hour more; was still level after ninety minutes and went on / was decided within ninety minutes; needed no extra time
televised,on_tv,broadcast_live,shown_live : bool : on television : could be seen live on the screen; was broadcast live / was not shown on any station; was kept from the screens
weather,conditions,sky,weather_conditions : enum : conditions : rain=was played in puddles|had everybody soaked to the skin; sun=was played under a blue sky; snow=needed an orange ball on white ground; wind=had gusts blow the flags away
result,ended_as,outcome_for_hosts : enum : for the hosts : win=was lost by the guests|sent the hosts home with three points; loss=was lost by the hosts; draw=had no winner|ended level

# machine | pump,water pump/pump,machine,unit/code; press,hydraulic press/press,machine_id,unit/code; server,computer/server,host,machine/made; sensor,meter/sensor,device,sensor_id/code; oven,furnace/furnace,oven,oven_no/code; robot,robot arm/robot,unit,robot_id/code; generator,power set/generator,unit_id,machine/code
operator,operated_by,run_by,user_on_duty : fullname : operated by : is operated by {v}; has {v} at its buttons; ~operated by {v}; ?who runs it
technician,maintained_by,serviced_by,mechanic : fullname : technician : is oiled and mended by {v}; @{v} looks after its parts; ~technician {v}; ?who mends it
reported_by,fault_seen_by,noticed_by,alerted_by : fullname : fault seen by : was reported broken by {v}; @{v} heard the strange noise first; ~reported by {v}; ?who saw the fault
supplier,vendor,bought_from,delivered_by : company : supplier : was bought from {v}; came on a lorry of {v}; ~from {v}; ?where was it bought
hall,building,stands_in,plant_section : code A9 : hall : stands in hall {v}; was bolted down in hall {v}; ~hall {v}; ?which hall is it in
temperature_c,temperature,celsius,heat : int 5 900 : temperature : has {v} degrees inside; runs at {v} degrees; ~{v} degrees; ?how hot is it
max_temperature,temperature_limit,must_stay_below,critical_temperature : int 40 1500 : highest temperature : must not get hotter than {v} degrees; switches off at {v} degrees; ~{v} degrees at most; ?how hot may it get
pressure_bar,pressure,bar : num 1 90 1 : pressure : is under {v} bar; builds up {v} bar; ~{v} bar; ?what is the pressure
speed_rpm,rpm,revolutions,turns_per_minute : int 50 9000 : revolutions : turns {v} times a minute; spins at {v} rpm; ~{v} rpm; ?how fast does it spin
load_percent,load,utilisation,usage : int 3 99 : load : is busy to {v} percent; runs under a load of {v}%; ~load {v}%; ?how busy is it
operating_hours,hours_run,run_hours,time_in_use : int 50 90000 : operating hours : has been running for {v} hours; @The counter shows {v} hours; ~{v} h run; ?how many hours has it run
output_per_day,parts_per_day,daily_output,produced_daily : int 20 90000 : daily output : spits out {v} parts a day; makes {v} pieces from morning to night; ~{v} parts a day; ?how many parts does it make a day
rejects,scrap_parts,faulty_parts,waste : int 2 400 : rejects,waste : spoilt {v} parts; @{v} parts had to be thrown away; ~{v} spoilt; ?how many parts were spoilt
downtime_min,downtime,minutes_stopped,standstill : int 3 900 : downtime : stood still for {v} minutes; @For {v} minutes nothing moved; ~{v} min at a standstill; ?how long did it stand still
repair_cost,cost_of_repair,repair_bill,fixing_cost : money 40 9000 : repair : cost {v} to mend; @To fix it we need {v}; ~repair {v}; ?what does mending cost
replacement_cost,price_new,new_price,cost_new : money 900 90000 : price new : would cost {v} if we had to buy a new one; @A new one is {v}; ~new {v}; ?what does a new one cost
installed_on,set_up_on,commissioned,in_use_since : date : set up : was set up on {v}; has been in use since {v}; ~in use since {v}; ?when was it set up
broke_down_on,failure_date,failed_on,stopped_on : date : broke down : gave up on {v}; broke down on {v}; ~broke down {v}; ?when did it break down
oil_change_due,next_oil_change,service_due_on : date : next oil change : wants new oil on {v}; @Change its oil on {v}; ~oil change {v}; ?when is the next oil change
shift_start,switched_on_at,running_from,starts_up_at : time : runs from : is switched on at {v}; starts up at {v}; ~on at {v}; ?when is it switched on
shift_end,switched_off_at,running_until,shuts_down_at : time : runs until : is switched off at {v}; comes to rest at {v}; ~off at {v}; ?when is it switched off
error_code,fault_code,display_shows,alarm_code : code A-99 : fault code : blinks {v}; shows {v} on its display; ~display: {v}; ?what does the display show
fault,problem,what_failed,defect : said problem : fault : has this fault: {v}; @What is the matter: {v}; ~fault: {v}; ?what is the matter
processed_material,works_on,raw_material,feeds_on : material : raw material : eats nothing but {v}; works on {v}; ~for {v}; ?what does it work on
under_warranty,warranty_valid,still_guaranteed : bool : under warranty : is still under warranty; would be replaced for free / is no longer under warranty; is too old for the guarantee
connected,is_online,on_network,has_connection : bool : connected : talks to the network; sends its data every minute / is cut off from the network; sends no data at all
safety_checked,passed_safety,is_safe,safety_ok : bool : safety check : passed the safety test; has a fresh safety sticker / failed the safety test; may hurt somebody, so keep away
alarm_level,alarm,warning_level,light : enum : warning light : green=has its green light on|works as it should; yellow=has its yellow light on|should be watched; red=has its red light on|was stopped because of danger
"""

# What was done: base, past, participle, who does it, and the deed itself. Who, when and where are said with them.
DEEDS = """
write wrote written writer,author writing; sell sold sold seller,vendor sale; buy bought bought buyer,purchaser purchase; paint painted painted painter,artist painting
repair repaired repaired mechanic,repairer repair; deliver delivered delivered courier,deliverer delivery; clean cleaned cleaned cleaner cleaning; photograph photographed photographed photographer photo
review reviewed reviewed reviewer,critic review; approve approved approved approver approval; test tested tested tester test; install installed installed installer,fitter installation
find found found finder find; steal stole stolen thief theft; sign signed signed signatory signature; order ordered ordered customer,orderer order; pack packed packed packer packing
translate translated translated translator translation; record recorded recorded recorder,engineer recording; print printed printed printer printing; film filmed filmed filmer,cameraman filming
lose lost lost loser loss; draw drew drawn drawer,draughtsman drawing; cook cooked cooked cook,chef cooking; bake baked baked baker baking; sew sewed sewn tailor,sewer sewing
carve carved carved carver carving; teach taught taught teacher,tutor teaching; guard guarded guarded guard,watchman guarding; check checked checked checker,examiner check
sponsor sponsored sponsored sponsor,patron sponsorship; discover discovered discovered discoverer discovery; invent invented invented inventor invention
examine examined examined examiner,doctor examination; treat treated treated doctor,therapist treatment; report reported reported reporter,informant report; collect collected collected collector collection
restore restored restored restorer restoration; measure measured measured measurer,surveyor measurement; plan planned planned planner planning; program programmed programmed programmer programming
correct corrected corrected corrector correction; edit edited edited editor editing; unload unloaded unloaded docker,loader unloading; audit audited audited auditor audit
insure insured insured insurer,underwriter insurance; value valued valued valuer,assessor valuation; register registered registered registrar registration; hide hid hidden hider hiding
bring brought brought bringer bringing; choose chose chosen chooser choice; send sent sent sender sending; receive received received receiver,recipient receipt; grow grew grown grower growing
decorate decorated decorated decorator decoration; dismantle dismantled dismantled dismantler dismantling; interview interviewed interviewed interviewer interview; train trained trained trainer,coach training
feed fed fed feeder,keeper feeding; catch caught caught catcher,fisher catch; weld welded welded welder welding; forge forged forged smith,forger forging; weave wove woven weaver weaving
donate donated donated donor,giver donation; inherit inherited inherited heir inheritance; rent rented rented tenant,renter rental; accept accepted accepted acceptor acceptance; reject rejected rejected rejecter rejection
supply supplied supplied supplier supply; transport transported transported carrier,haulier transport; nominate nominated nominated nominator nomination; seal sealed sealed sealer sealing
compose composed composed composer composition; direct directed directed director direction; produce produced produced producer production; engrave engraved engraved engraver engraving
"""
