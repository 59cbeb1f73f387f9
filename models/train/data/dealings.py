"""Situations of money, contracts and what is bought. The notation is that of `situations`."""

from __future__ import annotations

TEXT = """
@ parcel
tracking,tracking_number,parcel_id,parcel : code AA999999999 or code 9999999999 : the tracking number is {v}; parcel {v} : {v}; parcel {v}
sender,from,shipped_by,from_company : company or person : it was sent by {v}; the sender is {v} : from {v}
recipient,to,receiver,addressee : fullname or person : it goes to {v}; it's for {v} : to {v}
weight_kg,weight,kilos : num 0.2 31 1 : it weighs {v} kg; {v} kilos : {v} kg
length_cm,length : int 15 150 : it is {v} cm long; the length is {v} cm : {v} cm long
courier,delivery_service,driver : company or first : it comes with {v}; {v} brings it : with {v}
delivered_on,delivery_date,delivered,date : date : it arrived on {v}; delivered on {v} : {v}
left_with,neighbour,handed_to : person or fullname : it was left with {v}; neighbour {v} took it : left with {v}
shop,pickup_point,collect_at : company or made : you can collect it at {v}; it waits at {v} : at {v}
postage,price,shipping_cost : money 2 60 : postage was {v}; sending it cost {v} : postage {v}
> {tracking} from {sender} to {recipient}, {weight_kg} kg
> {sender} sent {recipient} a parcel of {weight_kg} kilos
> parcel {tracking} for {recipient} was left with {left_with} on {delivered_on}
> {courier} handed the parcel of {sender} to {left_with}
> {recipient} may collect {tracking} at {shop}
> {weight_kg} kg, {length_cm} cm long, postage {postage}

@ invoice
invoice,invoice_number,number,invoice_id : code AA-9999 or code 9999/99 or code 999999 : this is invoice {v}; the number is {v} : invoice {v}; no. {v}
vendor,issuer,from,seller : company or made : it's from {v}; {v} sent it : from {v}
customer,billed_to,client,buyer : company or person : billed to {v}; it's made out to {v} : to {v}
net,net_amount,subtotal,amount_net : money 10 4000 : net it is {v}; {v} before tax : net {v}
tax,vat,tax_amount,vat_amount : money 1 900 : tax is {v}; plus {v} VAT : VAT {v}; tax {v}
total,gross,amount_due,to_pay : money 12 5000 : in total {v}; to pay: {v}; {v} are due : total {v}
issued,invoice_date,dated,issued_on : date : dated {v}; issued on {v} : of {v}
due,due_date,payable_by,pay_by : date : pay by {v}; due on {v}; payable until {v} : due {v}
iban,account,bank_account : code AA99 9999 9999 or code AA9999999999 : the account is {v}; send it to {v} : {v}
discount,rebate,discount_percent : int 1 40 : {v}% off if you pay soon; less {v} percent : {v}% off
> invoice {invoice} of {issued}, due {due}
> net {net}, VAT {tax}, total {total}
> {vendor} bills {customer} {total}, payable by {due}
> {net} plus {tax} tax makes {total}
> {customer} has not paid {total} to {vendor} for {invoice}
> {vendor}: {total} until {due}, minus {discount}% if paid early
< issued due
< tax net
< net total

@ transfer
payer,sender,from_name,paid_by : person or fullname or company : {v} pays; the money comes from {v} : from {v}
payee,recipient,to_name,paid_to : person or fullname or company : {v} gets it; it goes to {v} : to {v}
amount,sum,transferred : money 2 9000 : {v} were transferred; the amount is {v} : {v}
fee,bank_fee,charge : money 1 40 : the bank takes {v}; with a fee of {v} : fee {v}
balance,new_balance,left_over : money 10 9900 : {v} are left; the balance is now {v} : balance {v}
date,booked_on,value_date : date : booked on {v}; on {v} : {v}
reference,purpose,for : some rent for May/the concert tickets/half the bill/a birthday present/the gas bill or code AA-999 : for {v}; the reference is {v} : ref. {v}
> {payer} sent {payee} {amount}
> {payee} got {amount} from {payer} for {reference}
> {payer} owes {payee} {amount}
> {payer} paid {amount} to {payee}, {balance} are left
> {amount} from {payer} to {payee} on {date}, fee {fee}

@ loan
bank,lender : company or made : the bank is {v}; {v} lends it : {v}
borrower,client,debtor : fullname or person : {v} takes the loan; the borrower is {v} : borrower {v}
principal,loan_amount,amount,borrowed_amount : int 1000 400000 : the loan is over {v}; {v} are borrowed : {v}
rate_percent,interest,interest_rate,rate : num 0.5 12 2 : at {v}% interest; the rate is {v} percent : {v}%
years,term_years,term,runs_for : few 1 30 : it runs for {v} years; over {v} years : {v} years
monthly,monthly_rate,instalment,monthly_payment : money 30 2400 : {v} a month; the instalment is {v} : {v} a month
first_payment,starts_on,from : date : the first payment is on {v}; from {v} on : from {v}
> {bank} lends {borrower} {principal} at {rate_percent}% for {years} years
> {principal} over {years} years at {rate_percent} percent
> {borrower} pays {monthly} a month to {bank}
> {rate_percent}%, {years} years, {monthly} per month

@ stocks
company,share,stock,name : company or made : it is about {v}; the share is {v} : {v}
ticker,symbol : code AAA or code AAAA : the symbol is {v}; listed as {v} : {v}
opened,open_price,open : num 2 900 2 : it opened at {v}; in the morning it stood at {v} : open {v}
closed,close_price,close : num 2 900 2 : it closed at {v}; in the evening it stood at {v} : close {v}
change_percent,change,percent : num 0.1 19 1 : a change of {v}%; it moved by {v} percent : {v}%
shares,shares_sold,volume : int 10 900000 : {v} shares changed hands; a volume of {v} : {v} shares
analyst,said_by : fullname : {v} is the analyst; says {v} : analyst {v}
> {company} opened at {opened} and closed at {closed}
> {ticker} closed at {closed} after {opened} in the morning
> {shares} shares of {company} ({ticker}) were sold
> {analyst} thinks {company} will move by {change_percent}%

@ job advert
position,job,role,job_title : job : we look for a {v}; wanted: {v}; the post is {v} : {v}
company,employer,firm : company or made : {v} is hiring; at {v} : at {v}
city,place,location : city : in {v}; the office is in {v} : {v}; in {v}
salary,pay,salary_from,yearly_pay : int 18000 140000 : it pays {v} a year; the salary is {v} : {v} a year
weekly_hours,hours_per_week,hours_a_week : int 5 42 : {v} hours a week; it's {v} h per week : {v} h/week
vacation_days,holidays,leave_days : int 18 40 : with {v} days off; {v} days of holiday : {v} days of holiday
experience_years,years_of_experience,experience : few 0 12 : {v} year(s) of experience needed; you bring {v} year(s) : {v} year(s) of experience
start,start_date,from : date : from {v}; it starts on {v} : from {v}
apply_by,deadline,closing_date : date : apply by {v}; the deadline is {v} : apply by {v}
contact,recruiter,hr_contact : person or fullname : write to {v}; {v} answers questions : contact {v}
remote,home_office,from_home : bool : you may work from home; fully remote / on site only; no home office
> {company} in {city} is looking for a {position}
> {position}, {weekly_hours} hours a week, {salary} a year
> {salary} per year, {vacation_days} days off, from {start}
> {position} at {company} with {experience_years} year(s) of experience
> apply by {apply_by} to {contact}, begin on {start}
< apply_by start

@ contract
contract,contract_number,agreement : code AA-9999 or code 99-9999 : the contract is {v}; number {v} : contract {v}
provider,company,landlord,supplier : company or made : with {v}; the other side is {v} : with {v}
holder,client,signed_by,signatory : fullname or person : {v} signed; the holder is {v} : {v}
starts,start_date,from,begins_on : date : it begins on {v}; valid from {v} : from {v}
ends,end_date,until,expires : date : it ends on {v}; valid until {v} : until {v}
notice_weeks,notice,notice_period,cancel_weeks : few 1 12 : with {v} week(s) notice; cancel {v} week(s) before : {v} week(s) notice
monthly_fee,monthly,per_month : money 5 300 : {v} a month; the fee is {v} monthly : {v} a month
setup_fee,one_time_fee,setup : money 5 200 : once {v} for the setup; the setup costs {v} : setup {v}
> {holder} signed {contract} with {provider}
> from {starts} until {ends}, {notice_weeks} week(s) notice
> {monthly_fee} a month plus {setup_fee} once
> {contract} with {provider} ends on {ends}, {monthly_fee} a month
> {provider} charges {holder} {monthly_fee} monthly and {setup_fee} for the setup
< starts ends

@ insurance claim
policy,policy_number,insurance_number : code AA-999999 or code 9999999 : my policy is {v}; policy number {v} : policy {v}
claim,claim_number,case_number : code A-9999 or code 99-AAA : the claim is {v}; case {v} : claim {v}
insured,policy_holder,claimant,name : fullname or person : the insured is {v}; it's insured by {v} : {v}
other_party,opponent,other_driver : fullname or person : the other one was {v}; {v} drove into it : other party {v}
damage,damage_amount,repair_cost : money 50 9000 : the damage is {v}; repairs cost {v} : damage {v}
excess,deductible,own_share : money 20 900 : I pay {v} myself; the excess is {v} : excess {v}
happened_on,date,accident_date : date : it happened on {v}; on {v} : {v}
reported_on,reported,notified : date : I told you on {v}; reported on {v} : reported {v}
place,street,where : street or city : it was in {v}; near {v} : {v}
witness,seen_by : fullname or person : {v} saw it; the witness is {v} : witness {v}
> {insured} and {other_party} met at {place}, damage {damage}
> claim {claim} under policy {policy}
> it happened on {happened_on} and was reported on {reported_on}
> damage {damage}, of which {excess} are mine
> {witness} saw how {other_party} hit the car of {insured}
< happened_on reported_on
< excess damage

@ purchase
buyer,customer,ordered_by : person or fullname : {v} bought it; the buyer is {v} : buyer {v}
shop,store,merchant,bought_at : company or made : I bought it at {v}; from {v} : at {v}
item,product,thing : product : it's a {v}; a {v} : {v}
quantity,pieces,qty : few 1 24 : {v} of them; {v} piece(s) : {v} pcs; {v}x
unit_price,price_each,single_price : money 1 300 : {v} each; one was {v} : {v} each
total,sum,paid,total_price : money 5 900 : {v} altogether; in all {v} : total {v}
discount,saved,rebate : money 1 100 : {v} off; I saved {v} : {v} off
card_last_four,card,last_four : code 9999 : paid with the card ending in {v}; card ...{v} : card {v}
> {quantity} {item} at {unit_price} each, {total} in all
> {buyer} got a {item} at {shop} for {total}
> {total} after {discount} off at {shop}
> {item} from {shop}, {unit_price} each, {quantity} piece(s)
> {buyer} paid {total} with card {card_last_four} and saved {discount}
< unit_price total

@ membership
member,name,member_name : fullname or person : the member is {v}; {v} belongs to us : {v}
number,member_number,member_id : code 9999 or code A-999 : member number {v}; with the number {v} : no. {v}
club,association,society : company or made : the club is {v}; in {v} : {v}
joined,joined_on,since,member_since : date : joined on {v}; a member since {v} : since {v}
left,left_on,until,resigned : date : left on {v}; a member until {v} : until {v}
dues,yearly_fee,fee,annual_fee : money 5 300 : the dues are {v} a year; pays {v} yearly : {v} a year
referred_by,recommended_by : fullname or person : {v} brought them in; recommended by {v} : through {v}
> {member} joined {club} on {joined} through {referred_by}
> {member}, number {number}, pays {dues} a year
> {referred_by} recommended {member} to {club}
> {member} was in {club} from {joined} until {left}
< joined left
"""
