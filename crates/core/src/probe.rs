//! What does this server enforce? A rule and a model in, micro-requests out one by one; the
//! server's replies in, a verdict for each demand out. Pure: the caller does the asking.
//!
//! Status 200 proves nothing: many servers accept a constraint and ignore it. So each request has
//! one lawful answer that is known and that no model would give by itself, in the very words that
//! the rule has for traffic.

mod asking;
mod judge;
mod question;
#[cfg(test)]
mod tests;

use crate::dialect::server::Asked;
use crate::exchange;
use crate::rules::{
    ANSWERS_AS_THOUGHTS, Finding, NO_TAGGED_CALLS, OPENS_THOUGHTS, Rule, THINKS_IN_TEXT,
    TOOLS_ON_RESPONSES, Verdict,
};
use judge::Heard;
use question::{Attempt, Expected, Question};
use std::collections::VecDeque;

/// How much is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Nothing.
    Off,
    /// Each demand once, in the rule's words; never sent to hosted APIs.
    Light,
    /// Every spelling that the rule leaves as it is, and each demand as a stream too.
    Full,
}

impl Depth {
    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Light => "light",
            Self::Full => "full",
        }
    }

    /// Seven kinds of constraints, two spellings of `response_format`, three tool choices, tools
    /// beside a constraint, two requests for showing tools and the one without a demand are 16;
    /// with every spelling of vLLM 0.11, the richest rule, and streams they are 51. Under `Full`,
    /// each may be asked once more for a model that was still thinking.
    #[must_use]
    pub const fn max_requests(self) -> usize {
        match self {
            Self::Off => 0,
            Self::Light => 16,
            Self::Full => 56,
        }
    }
}

/// The longest lawful answer is a call of some 40 tokens, its frame included; only what is not
/// constrained runs on to this.
pub const MAX_TOKENS: u32 = 64;

/// What a model gets that was still thinking, where everything is asked: small models think for some
/// hundred tokens about one word.
pub const THINKING_TOKENS: u32 = 1024;

/// What came of one request.
#[derive(Debug, Clone)]
pub enum Answer {
    /// A reply, whole.
    Reply {
        /// The HTTP status.
        status: u16,
        /// The body: JSON, or a stream's events.
        body: Vec<u8>,
    },
    /// No reply; why.
    Nothing(String),
}

/// What a server was found to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The model that was asked.
    pub model: String,
    /// What the server says of its own build and launch, where it does.
    pub system_fingerprint: Option<String>,
    /// How many requests were sent.
    pub requests: usize,
    /// What each came to.
    pub findings: Vec<Finding>,
    /// Why it ended before its end, where it did.
    pub ended: Option<Ended>,
}

/// Why no more was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// For a person.
    pub why: String,
    /// Asking again later may help.
    pub may_pass: bool,
}

impl Report {
    /// The verdict on a demand by its name, of all that was asked about it the worst.
    #[must_use]
    pub fn verdict(&self, demand: &str) -> Option<&Verdict> {
        self.findings
            .iter()
            .filter(|found| found.probed.demand() == demand)
            .map(|found| &found.verdict)
            .max_by_key(|verdict| verdict.rank())
    }
}

/// The names of the demands that are asked about, a closed set.
pub const DEMANDS: [&str; 12] = [
    "json_schema",
    "json_object",
    "regex",
    "choice",
    "grammar:gbnf",
    "grammar:lark",
    "structural_tag",
    "auto",
    "required",
    "named",
    "show_tools",
    "compose",
];

fn questions(rule: &Rule, model: &str, depth: Depth) -> VecDeque<Question> {
    let mut questions = VecDeque::from(question::all(rule, model, depth));
    questions.truncate(depth.max_requests());
    questions
}

/// The questions to one server, and its answers.
#[derive(Debug)]
pub struct Prober {
    rule: Rule,
    depth: Depth,
    questions: VecDeque<Question>,
    /// Thoughts are waited for.
    is_patient: bool,
    /// A reply told how the server was launched.
    learnt: Option<String>,
    /// The model's thoughts stand in the text. It is asked without room for them: few tokens tell then.
    thinks_in_text: bool,
    /// The prompt's tokens without tools.
    without_tools: Option<u64>,
    report: Report,
}

impl Prober {
    /// Begins. A rule that has no words for any demand leaves nothing to ask.
    #[must_use]
    pub fn new(rule: &Rule, model: &str, depth: Depth) -> Self {
        let questions = questions(rule, model, depth);
        Self {
            rule: rule.clone(),
            depth,
            questions,
            is_patient: depth == Depth::Full,
            learnt: None,
            thinks_in_text: false,
            without_tools: None,
            report: Report {
                model: model.to_owned(),
                system_fingerprint: None,
                requests: 0,
                findings: Vec::new(),
                ended: None,
            },
        }
    }

    /// The next chat request, on the server's wire, or what leads to it ([`Asked::pending`]); `None`
    /// where there is nothing more to ask.
    #[must_use]
    pub fn next(&self) -> Option<Asked> {
        let next = self.questions.front()?;
        next.asking.asked(&self.rule)
    }

    /// Takes the answer to it.
    pub fn answer(&mut self, answer: &Answer) {
        let Some(question) = self.questions.pop_front() else {
            return;
        };
        self.report.requests += 1;
        match answer {
            Answer::Nothing(why) => self.end(why.clone(), true),
            Answer::Reply { status, body } => self.reply(&question, *status, body),
        }
    }

    /// What was found out.
    #[must_use]
    pub fn finish(self) -> Report {
        self.report
    }

    fn reply(&mut self, question: &Question, status: u16, body: &[u8]) {
        let server = question.asking.server();
        let read = match status {
            200..=299 if question.streamed => judge::read_stream(server, &self.rule, body),
            200..=299 => judge::read_whole(server, &self.rule, body),
            _ => Err(body.to_vec()),
        };
        match read {
            Ok(said) if self.was_answered_at_once(question, &said) => {
                self.found(question, Verdict::Enforced, Some(OPENS_THOUGHTS.to_owned()));
            }
            Ok(said) => self.said(question, &said),
            Err(error) => self.refused(question, status, &error),
        }
    }

    /// Whether the lawful answer was taken for thoughts where it is held from the first token on: the prompt opened some.
    fn was_answered_at_once(&self, question: &Question, said: &Heard) -> bool {
        let is_held = question.is_held_from_start(&self.rule) && said.is_only_thoughts();
        is_held && judge::verdict(&question.expected, &said.as_answer()) == Verdict::Enforced
    }

    fn said(&mut self, question: &Question, said: &Heard) {
        if self.report.system_fingerprint.is_none() {
            self.report
                .system_fingerprint
                .clone_from(&said.system_fingerprint);
        }
        let verdict = match &question.expected {
            Expected::Anything => {
                self.thinks_in_text = said.opens_thoughts(&self.rule, &self.report.model);
                return;
            }
            Expected::WithoutTools => {
                self.without_tools = said.prompt_tokens;
                return;
            }
            _ if self.is_patient && said.was_thinking() && !question.is_roomy => {
                self.questions
                    .push_front(question.with_room(THINKING_TOKENS));
                return;
            }
            expected
                if expected.is_constrained()
                    && said.is_among_thoughts()
                    && self.knows(ANSWERS_AS_THOUGHTS) =>
            {
                return self.begin_again(ANSWERS_AS_THOUGHTS);
            }
            Expected::MorePrompt => judge::shown(self.without_tools, said.prompt_tokens),
            expected => judge::verdict(expected, said),
        };
        // With thoughts the server failed: what ended them was none of the answer.
        if question.attempt == Attempt::Thoughtless
            && verdict == Verdict::Enforced
            && self.knows(ANSWERS_AS_THOUGHTS)
        {
            return self.begin_again(ANSWERS_AS_THOUGHTS);
        }
        let verdict = match verdict {
            Verdict::Ignored if question.attempt == Attempt::Thoughtless => {
                Verdict::Unclear("the server failed when it was first asked".to_owned())
            }
            verdict => verdict,
        };
        self.found(question, verdict, None);
    }

    /// The server's error. What says nothing of the demand ends it: a server that refuses
    /// everybody, or that is not there, has not been asked.
    fn refused(&mut self, question: &Question, status: u16, body: &[u8]) {
        let message = exchange::upstream_error(&self.rule, status, body).message;
        // An event of a stream may say what the status of a whole reply would have.
        let status = match judge::stated_status(body) {
            Some(stated) if (200..=299).contains(&status) => stated,
            _ => status,
        };
        let is_about_demand = matches!(status, 200..=299 | 400 | 422 | 500 | 501);
        if !is_about_demand {
            return self.end(message, matches!(status, 408 | 425 | 429 | 502..=599));
        }
        match question.expected {
            Expected::Anything if self.learns(body) => {}
            Expected::Anything => {
                let why = format!("a request without any demand is refused: {message}");
                self.end(why, status >= 500);
            }
            Expected::WithoutTools => {}
            _ => {
                let again = self.after_failure(question, status);
                if let Some(again) = again {
                    self.questions.push_front(again);
                    return;
                }
                let fact = self.told(body);
                if fact.as_deref() == Some(TOOLS_ON_RESPONSES) && self.knows(TOOLS_ON_RESPONSES) {
                    return self.begin_again(TOOLS_ON_RESPONSES);
                }
                if let Some(again) = self.loosened(question, fact.as_deref()) {
                    self.questions.push_front(again);
                    return;
                }
                // One crash says nothing certain; a refusal does.
                let verdict = match status {
                    500 => Verdict::Unclear(message),
                    _ => Verdict::Refused(message),
                };
                self.found(question, verdict, fact);
            }
        }
    }

    /// Whether the server told how it can be asked at all: all is asked anew then.
    fn learns(&mut self, body: &[u8]) -> bool {
        let fact = self.told(body);
        fact.is_some_and(|fact| self.knows(&fact))
    }

    /// What failed twice is asked without thoughts: vLLM ends a request with a 500 where the model opens a
    /// call among what is taken for thoughts, since the grammar that begins there allows none (0.32.0, run).
    fn after_failure(&self, question: &Question, status: u16) -> Option<Question> {
        let is_worth_it =
            status == 500 && question.expected.is_constrained() && !self.rule.answers_as_thoughts;
        is_worth_it
            .then(|| question.after_failure(&self.rule))
            .flatten()
    }

    /// The same of a tool that is not strict, where the server refused no more than that.
    fn loosened(&mut self, question: &Question, fact: Option<&str>) -> Option<Question> {
        let learnt = self.rule.knowing(fact?)?;
        let model = &self.report.model;
        let again = question.loosened(&self.rule, &learnt, model)?;
        for other in &mut self.questions {
            if let Some(again) = other.loosened(&self.rule, &learnt, model) {
                *other = again;
            }
        }
        self.rule = learnt;
        self.learnt = fact.map(str::to_owned);
        Some(again)
    }

    /// What its error surely tells of its launch; nothing of forced calls, since none is asked for in tags.
    fn told(&self, body: &[u8]) -> Option<String> {
        let told = exchange::launch_facts(&self.rule, body).into_iter();
        let mut sure = told
            .filter(|told| told.is_sure_of_probe)
            .map(|told| told.fact);
        sure.find(|fact| fact != NO_TAGGED_CALLS)
    }

    /// Whatever was found out before was found out of a server that was asked wrongly.
    fn begin_again(&mut self, fact: &'static str) {
        self.learnt = Some(fact.to_owned());
        self.report.findings.clear();
    }

    /// Whether a fact is news: all is asked anew then.
    fn knows(&mut self, fact: &str) -> bool {
        let Some(learnt) = self.rule.knowing(fact) else {
            return false;
        };
        self.questions = questions(&learnt, &self.report.model, self.depth);
        self.rule = learnt;
        true
    }

    fn found(&mut self, question: &Question, verdict: Verdict, fact: Option<String>) {
        let Some(probed) = question.probed.clone() else {
            return;
        };
        self.report.findings.push(Finding {
            probed,
            words: question.words.clone(),
            streamed: question.streamed,
            verdict,
            fact: fact.or_else(|| {
                let seen = || self.thinks_in_text.then(|| THINKS_IN_TEXT.to_owned());
                self.learnt.clone().or_else(seen)
            }),
        });
    }

    fn end(&mut self, why: String, may_pass: bool) {
        self.questions.clear();
        self.report.ended = Some(Ended { why, may_pass });
    }
}
