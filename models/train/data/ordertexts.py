"""What tools that nobody wrote are made of: what may be done, to what, how people ask for it, and what else they say.

`ACTIONS`: `verbs of the name : description : requests : parameters : modes that go with it`, where `-` is for none. In a request, `{o}` is the thing with what tells it
from others (`the bill AB-12`), `{n}` what it is called; parameters are `keys kind=phrases`, and a phrase follows the
request unless it has the parameter's first key in braces. `THINGS`: `name,other words : key of what tells it
apart : kind`. `MODES`: `keys : what it is for : value=phrases`. `STATES`: devices and what people say who want them on
or off. Training alone uses them.
"""

from __future__ import annotations

ACTIONS = """
add_people,invite_people,add_members : Add people to {a}. : {people} should be in on {o}; get {people} into {o}; {o} can't do without {people}; let {people} join {o}; I want {people} on board for {o}; {people} belong in {o} as well : people,members,names,persons list first : notify
tag,label,add_tags : Put tags on {a}, by which it is found. : stick {tags} on {o}; I'd look for {o} under {tags}, mark it so; mark {o} with {tags}; write {tags} on the label of {o} : tags,labels,keywords,marks list noun : private
estimate,plan_effort,set_effort : Say how many hours {a} will take. : {o} will keep us {effort} hours; I reckon with {effort} hours for {o}; {o} is a matter of {effort} hours; put {effort} h down for {o} : effort,estimated_hours,working_hours,planned_hours num 1 80 1 : -
move_to_folder,file_under,put_into_folder : Put {a} into a folder. : {o} belongs under {folder}; file {o} under {folder}; I'd expect to find {o} in {folder}; shove {o} into {folder} : folder,directory,place,target made : notify
reduce_price,give_discount,make_cheaper : Make {a} cheaper by some percent. : knock {percent} percent off {o}; let them have {o} for {percent}% less; take {percent} percent off {o}; {o} is too dear, {percent}% down with it : percent,discount,reduction,off int 5 70 : permanent notify
send_by_post,ship,post_on_paper : Send {a} on paper to an address. : get {o} to {address}; a courier should take {o} to {address}; {address} is where {o} has to go; put {o} in an envelope for {address} : address,to,destination,ship_to address : urgent
call_about,phone_about,ring_about : Ring somebody about {a}. : ring {phone} because of {o}; {phone} has questions on {o}, call them; get {phone} on the line, it's about {o}; dial {phone}, they want to talk about {o} : phone,number_to_call,telephone,line phone : urgent
start_at,schedule_start,set_start_time : Say at what time {a} begins. : {o} had better begin at {time}; let {o} begin at {time}; nobody is there before {time}, start {o} then; {time} is early enough for {o} to begin : time,start,begin_at,starts time : notify repeat
delete,remove,erase,discard : Delete {a} for good. : get rid of {o}; throw {o} away; I don't need {o} any more; {o} may end in the bin; take {o} off my hands; bin {o}; wipe {o} out; scrap {o}; {o} is of no use now, away with it; we won't use {o} again, drop it : - : permanent test notify
show,get,view,display,read : Show the details of {a}. : let me see {o}; what's in {o}?; pull up {o}; I'd like to have a look at {o}; what do we know about {o}?; show me {o}; bring {o} up on the screen; how does {o} look?; tell me about {o}; I want to go over {o} once more : - : -
cancel,call_off,revoke,withdraw : Cancel {a} before it takes effect. : call {o} off; we don't want {o} after all; I changed my mind about {o}; stop {o} before it's too late; {o} is not going to happen; please undo {o}; {o} must not go ahead; forget about {o} : reason,why said problem=because {v}|the reason: {v} : notify urgent test
approve,accept,confirm,sign_off : Approve {a} that waits for a decision. : {o} looks fine to me, go ahead; I agree with {o}; give {o} the green light; {o} is all right with me; yes to {o}; let {o} through; I'm happy with {o}, it may go on; wave {o} through : - : notify
reject,decline,refuse,turn_down : Reject {a} that waits for a decision. : {o} is not acceptable; I can't agree to {o}; no to {o}; send {o} back where it came from; turn {o} down; {o} won't do; I say no to {o}; we can't let {o} through : comment,reason,note said words=and say: {v}|with the words "{v}" : notify tone
assign,delegate,hand_over,allocate : Give {a} to somebody who takes care of it. : let {person} handle {o}; {o} is a job for {person}; {person} should look after {o}; hand {o} over to {person}; {person} takes care of {o} from now on; put {o} on the desk of {person}; I want {person} to deal with {o} : person,assignee,user,owner,responsible fullname : notify urgent priority
share,give_access,let_see : Let somebody else see {a}. : {person} should see {o}; let {person} have a look at {o}; {person} wants to read {o}; could {person} get {o} from us?; give {person} a view of {o} : person,recipient,with,user fullname : notify urgent
rename,relabel,retitle : Give {a} another name. : {o} should be called {title}; call {o} {title} from now on; {title} would be a better name for {o}; let {o} go by the name of {title}; change the name of {o} to {title} : title,name,new_name,label title : notify test
postpone,reschedule,move_date,put_off : Move {a} to another day. : {o} can't stay where it is, {date} is better; push {o} to {date}; let's do {o} on {date}; {o} will be on {date} instead; put {o} off until {date}; we have to move {o} to {date} : date,new_date,to_date,day date : notify
extend,prolong,lengthen : Make {a} last some days longer. : {o} needs {days} more days; give {o} another {days} days; I can't finish {o}, {days} days more please; let {o} run {days} days longer; add {days} days to {o} : days,extra_days,number_of_days int 2 90 : notify
remind_about,set_reminder,nudge : Remind the user of {a} at a time. : don't let me forget {o}, ping me at {time}; at {time} I have to think of {o}; nudge me about {o} at {time}; bring {o} to my mind at {time}; {time}: tell me to look at {o} : time,at,remind_at time : repeat
print,print_out : Print {a} on paper. : I need {o} on paper; put {o} on paper; run {o} through the printer; could I have {o} as a hard copy?; make a paper version of {o} : copies,count,number int 2 30={v} copies|{v} times : urgent
export,download,save_as_file : Save {a} as a file. : I want to have {o} on my computer; give me {o} as a file; save {o} to my disk; let me take {o} home as a file : format,file_type enum pdf/csv/xlsx/json=as {v}|in the format {v} : repeat
duplicate,copy,clone : Make a second one of {a}. : I need another one just like {o}; make a twin of {o}; take {o} and make a second one; the same again as {o}; use {o} as a pattern for a new one : - : private test
archive,file_away,store : Put {a} into the archive, where it is kept. : {o} is finished, put it away; file {o}; {o} belongs with the old things now; keep {o}, but out of my sight; we are through with {o}, into the archive : - : notify
restore,recover,bring_back,undelete : Bring {a} back that was deleted. : {o} is gone and I need it again; I threw {o} away by mistake; can you get {o} back?; undo the deletion of {o}; I miss {o}, please recover it; rescue {o} from the bin : - : urgent notify
pause,suspend,hold : Stop {a} for a while. : let {o} rest; put {o} on ice; stop {o} for now; {o} should wait a while; take a break with {o} : until,resume_on,end_date date=until {v}|till {v} : notify
resume,continue,reactivate : Go on with {a} that was stopped. : {o} can go on; wake {o} up again; let's carry on with {o}; get {o} going again; {o} has rested long enough : - : notify urgent
pay,settle,transfer_for : Pay for {a}. : {o} is still unpaid, send {amount}; settle {o} with {amount}; {amount} for {o}, please send it; I owe {amount} for {o}; clear {o}, it's {amount} : amount,sum,value money : urgent repeat test
rate,review,score,give_stars : Rate {a} with one to five stars. : {o} is worth {stars} stars; I'd give {o} {stars} out of five; {stars} stars for {o}; my verdict on {o}: {stars} stars : stars,rating,score,points int 2 5 : private
comment_on,annotate,add_note,add_comment : Write a note to {a}. : note on {o}: {text}; write beside {o} that {text}; put "{text}" next to {o}; I'd like to say something on {o}: {text} : text,comment,note,message said words : private
lock,protect,freeze : Make sure that nobody changes {a}. : nobody should touch {o} any more; hands off {o}; make {o} read-only; {o} must stay as it is; keep people from changing {o} : - : permanent notify
unlock,release,unfreeze : Let people change {a} again. : people must be able to change {o} again; lift the block on {o}; {o} may be changed again; take the padlock off {o} : - : permanent notify
track,follow,locate,where_is : Tell where {a} is right now. : where has {o} got to?; any trace of {o}?; I'm looking for {o}; how far has {o} come?; is {o} still under way? : - : urgent
compare,diff,contrast : Compare {a} with another one. : what's different between {o} and {other}?; hold {o} against {other}; {o} or {other}, what speaks for which?; is {o} the same as {other}? : other,with,second,compare_to code AA-999 : -
translate_into,localize,convert_language : Translate {a} into another language. : I need {o} in {language}; nobody here reads it, put {o} into {language}; what would {o} be in {language}?; our partner speaks {language} only, make {o} fit for them : language,target,to_language language : tone urgent
email_to,mail_out,post_to : Send {a} by mail to an address. : {email} is waiting for {o}; get {o} to {email}; mail {o} to {email}; {o} should go out to {email} : email,address,to,recipient email : urgent repeat
count,number_of,how_many : Count how many {p} there are in a place. : how many {p} are there in {city}?; the number of {p} for {city}, please; {city}: how many {p}?; are there many {p} in {city}? : city,place,branch,where city : -
find,search,look_up,lookup : Look for {p} by a word. : is there any of the {p} about {query}?; which {p} have to do with {query}?; {query} - do we have {p} on that?; find me {p} on {query} : query,keyword,term,about topic : -
list,show_all,overview : List all {p} of a day. : what {p} are there on {date}?; all {p} of {date}; which {p} do we have for {date}?; give me the {p} for {date} : date,day,on date : -
create,add,new,register,set_up : Create a new {n}. : I need a new {n} called {title}; make me a {n} with the name {title}; there should be a {n} {title}; set up a {n}, name it {title}; start a {n} under the name {title} : title,name,label title : private notify priority
request,order,apply_for,ask_for : Ask for {a} for somebody. : {person} needs a {n} by {date}; get a {n} for {person}, {date} at the latest; {person} has no {n} yet, please arrange one by {date}; a {n} for {person} until {date} : person,for_whom,user,employee fullname; date,by,needed_by,deadline date : urgent priority notify
merge,combine,join : Put {a} together with another one. : {o} and {other} belong together; make one out of {o} and {other}; {other} should become part of {o}; put {other} into {o} : other,second,with code AA-999 : test notify
limit,set_limit,cap : Set how much money {a} may cost. : {o} must not cost more than {amount}; keep {o} below {amount}; {amount} is the most I'd spend on {o}; draw the line at {amount} for {o} : amount,maximum,limit,max_cost money : permanent notify
subscribe_to,watch,notify_me : Tell the user whenever {a} changes. : let me know when anything happens with {o}; keep me posted on {o}; I want to hear about every change of {o}; tell me if {o} changes : - : private
"""

THINGS = """
invoice,bill : invoice_id,number : code AA-999; contract,agreement : contract_id,number : code A-9999; parcel,package,shipment : tracking_number,parcel_id : code AA99999; report,write-up : report_id,name : made; ticket,issue : ticket_id,number : int 100 9999
customer record,client card : customer_id,id : code A9999; presentation,slide deck : name,title : made; playlist,song list : playlist,name : phrase; photo album,album : album,name : phrase; meeting,appointment : meeting_id,name : phrase
budget,spending plan : budget_id,name : made; recipe,cooking instruction : recipe,name : food; survey,poll : survey_id,name : made; job advert,vacancy : vacancy_id,number : code A-999; application form,form : form_id,number : code AA9999
newsletter,mailing : newsletter_id,issue : made; discount code,voucher : code,voucher : code AAAA99; insurance claim,claim : claim_id,number : code A-99999; timesheet,work sheet : sheet_id,name : made; shift,duty : shift_id,name : code A99
database backup,backup : backup_id,name : made; user account,login : username,account : made; shopping basket,cart : basket_id,id : int 100 9999; subscription,plan : plan_id,name : made; expense claim,expense report : claim_id,number : code AA-999
class schedule,timetable : schedule_id,name : made; flight booking,flight : booking_code,flight : code AAA99A; hotel booking,hotel stay : booking_id,number : code AA-9999; podium talk,speech : talk_id,name : phrase; press release,media statement : release_id,name : made
training plan,workout plan : plan,name : made; patient file,medical record : patient_id,number : code 99-999; prescription,medicine slip : prescription_id,number : code A9999; test run,trial run : run_id,number : int 10 999; pull request,code change : number,request_id : int 10 9999
feature flag,feature switch : flag,name : made; data set,data collection : dataset,name : made; mailing list,reader list : list_id,name : made; floor plan,floor drawing : plan_id,number : code A-99; key card,badge : card_id,number : code 999999
"""

MODES = """
notify,send_notification,inform_people : whether people are told : true=and let people know|and tell them about it|and give everybody notice; false=but keep it quiet|without telling anybody|nobody needs to hear of it
urgent,is_urgent,rush : whether it is urgent : true=it's urgent|I need it this minute|please hurry; false=there's no hurry|take your time
priority,importance,urgency : how important it is : high=it's really important|before anything else; low=whenever there is time|it can wait; normal=in the usual order|neither early nor late
permanent,forever,for_good : whether it is for ever : true=for good|for ever and ever; false=just for the time being|only for now
private,hidden,only_me : whether others can see it : true=so that only I can see it|nobody else should see it; false=everybody may see it|in public
repeat,frequency,how_often : how often it happens : daily=every day|each morning anew; weekly=once a week|every Monday; monthly=each month|on the first of every month
test,dry_run,simulate : whether it is only a test : true=just as a test|only pretend to; false=for real this time|and I mean it, no test
tone,style,manner : how it should sound : friendly=in a warm tone|nice and friendly; formal=in a stiff and proper way|very formal please; short=in as few words as can be|keep it brief
"""

STATES = """
fan,ventilator : it's stuffy in here; I could do with a breeze; the air stands still; I'm sweating : that draught makes my neck stiff; enough wind now; the blowing annoys me
heater,radiator : I'm cold; my toes are freezing; we need it cosy; there's frost on the inside of the window : it's far too hot; I'm boiling in here; no need to warm an empty room; save on heating
floor_lamp,reading_light : I can't make out the letters; too dim to read; it's getting dark; I want to see what I'm doing : the light hurts my eyes; it's bright day outside; I'd like to sleep now; why is it lit up in here?
robot_vacuum,vacuum : there are crumbs all over; the floor is dusty; the carpet is full of hair; it should sweep now : that thing makes too much noise on the floor; stop the sweeping; the floor is clean enough
dishwasher : there's not a clean plate left; the dirty cups pile up; time to do the dishes : don't wash the plates yet; there's room for more dishes, hold on
coffee_maker,coffee_machine : I need caffeine; a hot cup would do me good; I'm half asleep, brew something : nobody wants any more coffee; I've had enough cups; don't brew any more
television,tv : the match begins; I want to see the news; let's watch something : nobody's watching; the kids have stared at the screen long enough; no more shows today
radio,speaker : I'd like some tunes; it's too quiet; let's hear something : I can't hear myself think; silence please; I have a call, no music
burglar_alarm,alarm_system : we're leaving for the weekend; nobody will be at home, keep it safe; guard the house : it's us coming in, don't ring; we're back, no need to guard
humidifier : the air is so dry; my throat is like sandpaper : the windows are wet with steam; it's damp in here
oven,stove : the pizza wants to be baked; get it hot for the cake; I'm about to roast something : the roast is done; I smell burning; the cake is out
washing_machine,washer : I've run out of clean socks; the laundry basket is full; these shirts stink : I forgot a sock, stop the laundry; no washing now, the baby sleeps
do_not_disturb,quiet_mode : I need to concentrate; nobody should bother me; I'm in a meeting : I can be reached again; calls may come through; the meeting is over
night_mode,sleep_mode : I'm going to bed; good night; we all go to sleep : I'm up; rise and shine; the day begins
wifi_hotspot,hotspot : my laptop has no net, lend it yours; the others want to go online over my phone : it eats up my data; nobody should surf over my phone now
"""
