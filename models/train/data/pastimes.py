"""Situations of sports, games, music and other pastimes. The notation is that of `situations`."""

from __future__ import annotations

TEXT = """
@ match
winner,winning_team,won_by,first_team : made or company or city or fullname : {v} won; the winner was {v}; victory for {v}; well done {v} : winner {v}
loser,losing_team,lost_by,beaten : made or company or city or fullname : {v} lost; it ended in defeat for {v}; {v} went home with nothing : loser {v}
winner_goals,winner_score,goals_winner,winning_score,winner_points : int 0 12 : -
loser_goals,loser_score,goals_loser,losing_score,loser_points : int 0 12 : -
minute,minute_of_goal,decided_in_minute : int 1 90 : the last goal fell in minute {v}; it was decided in minute {v} : minute {v}
spectators,attendance,fans,crowd : int 40 60000 : {v} fans watched; {v} people were in the stadium; {v} spectators came : {v} spectators
stadium,ground,played_at : made or company : they met at the {v} stadium; it was played at {v} : at {v}
referee,umpire : fullname : the referee was {v}; {v} blew the whistle : referee {v}
scorer,man_of_the_match,best_player : person or fullname : {v} scored the last goal; best on the field was {v} : scorer {v}
> {winner} beat {loser} {winner_goals} to {loser_goals}
> {winner} defeated {loser} {winner_goals}-{loser_goals}
> {loser} lost to {winner} by {loser_goals} goals to {winner_goals}
> {winner} {winner_goals}, {loser} {loser_goals}
> {loser} went down {loser_goals}:{winner_goals} against {winner}
> {winner} won {winner_goals}:{loser_goals} against {loser} in front of {spectators} fans
> in minute {minute} {scorer} made it {winner_goals}:{loser_goals} for {winner} against {loser}
< loser_goals winner_goals

@ fixture
home,home_team,hosts,home_side : made or company or city : {v} played at home; {v} were the hosts : home {v}
away,away_team,visitors,away_side,guests : made or company or city : {v} were the visitors; {v} had to travel : away {v}
home_goals,home_score,score_home,goals_home : int 0 9 : -
away_goals,away_score,score_away,goals_away : int 0 9 : -
kick_off,kickoff,starts,time : time : kick-off was at {v}; it began at {v} : {v}; kick-off {v}
> {home} - {away} {home_goals}:{away_goals}
> {home} {home_goals} {away_goals} {away}
> the visitors from {away} got {away_goals}, {home} scored {home_goals}
> {home} against {away} ended {home_goals} to {away_goals}
> at {kick_off} {home} will host {away}

@ ride
distance_km,distance,km,kilometres,length_km : num 2 180 1 or int 3 200 : I rode {v} km; it was {v} kilometres; the loop is {v} km long; we covered {v} km : {v} km; {v}km
climb_m,climb,ascent_m,uphill_m,elevation_gain : int 20 2900 : there were {v} m of climbing; we climbed {v} metres; it goes up {v} m : {v} m up; {v} m of climbing
time_hours,hours_taken,hours_spent,ride_hours,total_hours : num 0.5 9 1 or int 1 12 : it took {v} hours; we were out for {v} hours; we needed {v} hours; I was back after {v} h : {v} h; {v} hours
heart_rate,average_heart_rate,pulse,avg_hr,bpm : int 95 185 : my heart rate was {v}; average pulse {v}; my heart beat at {v} bpm : {v} bpm; pulse {v}
speed_kmh,average_speed,avg_speed,speed : num 8 45 1 : we averaged {v} km/h; average speed was {v} km/h : {v} km/h; avg {v} km/h
calories,kcal,energy_kcal : int 150 3800 : I burned {v} kcal; that's {v} calories : {v} kcal; {v} calories
date,day,ridden_on : date : it was on {v}; I went on {v} : {v}; on {v}
> {distance_km} km with {climb_m} m of climbing in {time_hours} hours
> rode {distance_km} kilometres at {speed_kmh} km/h, heart rate {heart_rate}
> {time_hours} hours on the bike, {distance_km} km, {climb_m} metres up, pulse {heart_rate} on average
> my watch says {calories} kcal, {heart_rate} bpm and {distance_km} km

@ run
distance_km,distance,km_run,kilometres : num 2 43 1 : my run was {v} km; did {v} kilometres : {v} km; {v}km
minutes,duration_min,time_minutes,duration : int 9 240 : I needed {v} minutes; it took me {v} min : {v} min; {v} minutes
pace,min_per_km : num 3.5 8 1 : my pace was {v} minutes per km; I ran at {v} min/km : {v} min/km
steps,step_count : int 1500 42000 : the counter shows {v} steps; I did {v} steps : {v} steps
shoes,shoe,running_shoes : made or company : I wore my {v} shoes; the {v} pair held up : in {v}
runner,athlete,who : first or person : {v} ran; the runner is {v} : {v}
place,rank,position,finished : int 1 800 : I came in at place {v}; I finished number {v} : place {v}; rank {v}
> {runner} ran {distance_km} km in {minutes} minutes
> {distance_km} km in {minutes} min, {steps} steps
> {runner} came in at number {place} after {minutes} minutes
> after {distance_km} kilometres {runner} had {steps} steps on the counter

@ concert
artist,band,singer,performer : made or fullname or company : {v} will play; on stage: {v}; I saw {v} : {v}
support,opening_act,support_act : made or fullname : {v} opens the evening; support comes from {v} : support {v}
venue,hall,place : company or made : it's in the {v}; they play at {v} : at {v}
doors,doors_open,entry : time : doors open at {v}; you get in from {v} : doors {v}
begins,start,start_time,show_starts : time : it starts at {v}; the music begins at {v} : starts {v}
tickets,number_of_tickets,ticket_count : few 1 8 : I have {v} ticket(s); we bought {v} ticket(s) : {v} ticket(s)
price,ticket_price,price_each : money 8 190 : one ticket is {v}; each costs {v} : {v} each
row,seat_row : int 1 60 or code A : we sit in row {v}; row {v} it is : row {v}
seat,seat_number : int 1 99 : my seat is {v}; seat number {v} : seat {v}
> {artist} at {venue}, doors {doors}, begins {begins}
> {tickets} ticket(s) for {artist} at {price} each
> {support} opens for {artist} at {begins}
> row {row}, seat {seat}, doors open {doors}
> {tickets} ticket(s) in row {row} to see {artist} after {support}

@ music
song,track,title,piece : title : the song is {v}; I keep hearing {v} : {v}
artist,singer,performed_by,band : made or fullname : it's by {v}; {v} sings it : by {v}
album,record,from_album : title : it's on the album {v}; the record is {v} : album {v}
year,released,release_year : year : it came out in {v}; released in {v} : {v}
minutes,length_min : few 1 9 : it is {v} minutes long; {v} minutes of music : {v} min
bpm,tempo,beats_per_minute : int 60 190 : the tempo is {v} bpm; {v} beats per minute : {v} bpm
composer,written_by : fullname : {v} wrote it; composed by {v} : composer {v}
plays,streams,play_count : int 100 900000 : it has {v} plays; played {v} times so far : {v} plays
> {artist} sings {song} from the album {album}
> {song} by {artist} came out in {year}
> {composer} wrote {song} for {artist}
> {song}, {minutes} minutes at {bpm} bpm, {plays} plays

@ film
film,movie,title : title : we watched {v}; the film is {v} : {v}
director,directed_by : fullname or person : {v} directed it; the director is {v} : director {v}
actor,lead,star,starring : fullname : {v} plays the lead; with {v} in the main part : with {v}
year,release_year : year : it's from {v}; it came out in {v} : {v}
minutes,runtime,length_min : int 70 210 : it runs for {v} minutes; {v} minutes long : {v} min
stars,rating,our_rating : few 1 5 : I give it {v} star(s); we say {v} star(s) : {v} star(s)
screen,hall,cinema_screen : int 1 14 : it's on screen {v}; in hall {v} : screen {v}
starts,showing,start_time : time : it's on at {v}; the showing is at {v} : {v}; at {v}
> {film} by {director} with {actor}, {minutes} minutes
> {film}, {year}, directed by {director}
> {starts} on screen {screen}: {film}
> {actor} was great in {film}, {stars} star(s)

@ garden
plant,crop,vegetable : some tomatoes/runner beans/sweet peas/roses/lettuce/pumpkins/wild garlic : I planted {v}; {v} grow there : {v}
beds,number_of_beds : few 1 9 : in {v} bed(s); there are {v} bed(s) : {v} bed(s)
height_cm,height : int 3 290 : they are {v} cm high; they grew to {v} centimetres : {v} cm high
spacing_cm,distance_cm,apart_cm : int 5 90 : put them {v} cm apart; leave {v} centimetres between them : {v} cm apart
watering_days,every_days,water_every : few 2 14 : water them every {v} days : every {v} days
litres,water_litres,water_l : int 1 60 : they need {v} litres; give {v} litres of water : {v} litres; {v} l
sown,sown_on,planted_on : date : sown on {v}; I put them in on {v} : sown {v}
picked_kg,kilos,crop_kg : num 0.2 40 1 : we picked {v} kg; it gave {v} kilos : {v} kg
> {plant}, {spacing_cm} cm apart, {litres} litres every {watering_days} days
> we picked {picked_kg} kg of {plant} from {beds} bed(s)
> the {plant} of {sown} are {height_cm} cm high now
> {litres} litres for {beds} bed(s) of {plant}

@ board game
game,game_name,what : made or title : we played {v}; the game was {v} : {v}
winner,won,first : first or person : {v} won; the winner is {v} : winner {v}
second,runner_up,came_second : first or person : {v} came second; second place for {v} : second {v}
winner_points,points_first,best_score : int 5 300 : -
second_points,points_second,runner_up_points : int 5 300 : -
players,number_of_players,player_count : few 2 8 : we were {v} players; {v} of us played : {v} players
rounds,number_of_rounds : few 2 20 : it went over {v} rounds; {v} rounds in all : {v} rounds
minutes,duration_min,played_minutes : int 10 260 : it took {v} minutes; we played for {v} min : {v} min
> {winner} won {game} with {winner_points} points, {second} had {second_points}
> {winner} {winner_points}, {second} {second_points} after {rounds} rounds
> {players} players, {rounds} rounds, {minutes} minutes
> second was {second} with {second_points} points behind {winner} on {winner_points}
< second_points winner_points

@ race
winner,first,gold : fullname or person : {v} won the race; gold goes to {v} : gold {v}
second,silver,runner_up : fullname or person : {v} came in second; silver for {v} : silver {v}
third,bronze : fullname or person : {v} was third; bronze goes to {v} : bronze {v}
winning_time,time_seconds,seconds : num 9 240 2 : the winning time was {v} seconds; the clock stopped at {v} s : {v} s
distance_m,length_m,race_metres : int 50 10000 : over {v} metres; the distance was {v} m : {v} m
starters,participants,runners : int 4 900 : {v} runners started; there were {v} starters : {v} starters
gap,lead_seconds,margin : num 0.1 30 1 : with a lead of {v} s; ahead by {v} seconds : +{v} s
> {winner} ahead of {second} and {third}
> gold for {winner}, silver for {second}, bronze for {third}
> {winner} won over {distance_m} m in {winning_time} seconds
> {second} was {gap} seconds behind {winner}
> of {starters} starters, {third} came third, {second} second

@ gym
exercise,movement : some squats/bench press/deadlift/pull-ups/rowing/lunges : I did {v}; today {v} : {v}
weight_kg,weight,kilos,load_kg : int 5 220 : with {v} kg; I put {v} kilos on the bar : {v} kg
sets,number_of_sets : few 1 8 : {v} set(s); in {v} set(s) : {v} set(s)
reps,repetitions,reps_per_set : int 1 30 : {v} reps each; I managed {v} repetitions : {v} reps
rest_seconds,rest,pause_s : int 20 240 : {v} seconds rest between; I pause for {v} s : rest {v} s
coach,trainer : first or person : {v} coached me; my trainer is {v} : trainer {v}
body_weight,own_weight : int 45 130 : I myself weigh {v} kg; my own weight is {v} kilos : own weight {v} kg
> {exercise}: {sets} set(s) of {reps} with {weight_kg} kg
> {sets} x {reps} {exercise} at {weight_kg} kilos, {rest_seconds} s rest
> {coach} made me do {reps} reps of {exercise}
> at {body_weight} kg I lift {weight_kg} kg, {reps} times

@ fishing
fish,species,caught : some pike/trout/carp/perch/sea bass/eel : I caught a {v}; it was a {v} : {v}
length_cm,length,centimetres : int 12 150 : it was {v} cm long; it measured {v} centimetres : {v} cm
weight_kg,weight,kilos : num 0.2 24 1 : it weighed {v} kg; {v} kilos heavy : {v} kg
water,lake,river,place : made : it was in the {v}; I fish at the {v} : at {v}
bait,lure : some a worm/bread/sweetcorn/a spinner/a fly : it took {v}; I used {v} : bait {v}
time,caught_at,at : time : it bit at {v}; caught at {v} : {v}
depth_m,depth : num 0.5 40 1 : at a depth of {v} m; it stood {v} metres down : {v} m deep
> a {fish} of {length_cm} cm and {weight_kg} kg out of the {water}
> caught a {fish} with {bait} at {time}
> {fish}, {weight_kg} kilos, {length_cm} centimetres, {depth_m} m down

@ party
host,given_by,birthday_child : first or person : {v} is giving a party; the host is {v} : host {v}
age,turns,turning : int 1 95 : birthday number {v}; we celebrate {v} years : turns {v}
date,day,when : date : it's on {v}; come on {v} : {v}; on {v}
time,from_time,start : time : we start at {v}; from {v} on : {v}; from {v}
place,where,address : address or made : it's at {v}; come to {v} : at {v}
bring,please_bring,contribution : food : please bring {v}; could you bring {v}? : bring {v}
guests,guest_count,invited : int 4 120 : {v} people are invited; we'll be {v} : {v} guests
rsvp,reply_by,answer_until : date : tell us until {v}; reply by {v} : reply by {v}
theme,motto : phrase or made : the theme is {v}; dress up as {v} : theme {v}
> {host} turns {age} on {date}
> party at {place} from {time}, {guests} guests
> on {date} at {time} {host} celebrates at {place}
> reply by {rsvp}, party on {date}, bring {bring}

@ swimming course
child,swimmer,name : first or person : {v} takes part; it's for {v} : {v}
lanes_swum,lengths,pool_lengths : int 1 90 : swam {v} lengths; {v} lengths without a stop : {v} lengths
metres_swum,distance_m : int 25 4000 : that is {v} m; {v} metres in the water : {v} m
badge,level,certificate : some bronze/silver/gold/seahorse/pirate : got the {v} badge; now has {v} : badge {v}
water_temperature,pool_c,water_c : num 16 32 1 : the water has {v} degrees; the pool is at {v} °C : water {v} °C
trainer,teacher : person or fullname : the trainer is {v}; {v} gives the course : trainer {v}
> {child} swam {lanes_swum} lengths, that is {metres_swum} metres
> {trainer} gave {child} the {badge} badge for {metres_swum} m
> at {water_temperature} degrees {child} did {lanes_swum} lengths
"""
