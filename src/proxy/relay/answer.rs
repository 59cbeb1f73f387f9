//! One reply of an upstream in; the client's reply, or why there is none, out.

use super::kinds::{self, BodyKind};
use super::refusal::refusal_of;
use super::whole::{self, WholeError};
use super::{Broken, Failed, Planned, Relay, Translated, Untouched, ids, pass, work, working_room};
use crate::config::OnViolation;
use crate::proxy::body::ReplyBody;
use crate::proxy::budget::no_room;
use crate::proxy::headers;
use crate::proxy::peek::Prefixed;
use crate::telemetry::Metrics;
use crate::upstream::Target;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http::response::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Response};
use isogloss_core::dialect::server::{Asked, Pending};
use isogloss_core::error::{Error, Kind};
use isogloss_core::exchange::{self, Demand, Exchange, Fault, InPlace, Told};
use isogloss_core::ir::{Framing, Violation, Wire};
use isogloss_core::rules::Rule;
use std::time::Instant;

/// The reading of one reply.
pub(super) struct Answer<'a> {
    pub(super) relay: &'a Relay<'a>,
    pub(super) planned: &'a Planned,
    /// Until when the first event, or the whole reply, must be there.
    pub(super) first_byte: tokio::time::Instant,
}

pub(in crate::proxy) fn too_late() -> Error {
    Error::new(
        Kind::UpstreamTimeout,
        "the upstream did not answer in time (timeouts.first_byte)",
    )
}

pub(in crate::proxy) fn unread(error: WholeError, limit: usize, metrics: &Metrics) -> Error {
    match error {
        WholeError::NoRoom => no_room(metrics),
        WholeError::TooLate => too_late(),
        WholeError::TooLarge => {
            metrics.limit_hit("reply_bytes");
            let message =
                format!("the upstream's reply is over {limit} bytes (limits.reply_bytes)");
            Error::new(Kind::UpstreamTooLarge, message)
        }
        WholeError::Cut => cut(),
    }
}

pub(in crate::proxy) fn cut() -> Error {
    Error::new(
        Kind::UpstreamTruncated,
        "connection error: the upstream closed the connection in the middle of its reply",
    )
}

/// An error, in the reply that it came in.
fn reported(error: Error, own: Response<ReplyBody>) -> Broken {
    let own = Some(Box::new(own));
    Broken::Reported(Failed { error, own })
}

/// An error in the place of an answer: in the reply that it came in where clients find it there.
fn in_place(said: InPlace, own: Response<ReplyBody>) -> Broken {
    match said.is_read {
        true => reported(said.error, own),
        false => Broken::Error(said.error),
    }
}

fn bad_reply(message: impl Into<String>) -> Error {
    Error::new(Kind::UpstreamBadReply, message)
}

impl Answer<'_> {
    pub(super) async fn read(
        &self,
        reply: Response<reqwest::Body>,
    ) -> Result<Response<ReplyBody>, Broken> {
        self.relay.record.answered(reply.status());
        match reply.status().as_u16() {
            400.. => Err(self.refused(reply).await),
            200..=203 | 206..300 if self.is_passed() => {
                let (reply, kind) = self.sorted(reply).await?;
                match self.is_unasked(&reply, kind) {
                    true => self.translated(reply).await,
                    false => self.untouched(reply, kind).await,
                }
            }
            // Whatever it is called: Portkey's guardrails have 246.
            200..=203 | 207..300 => self.translated(reply).await,
            300..400 => Err(Broken::Error(bad_reply(
                "the upstream redirects, which is not followed; configure the URL that it leads to",
            ))),
            status => Err(Broken::Error(bad_reply(format!(
                "the upstream answered with status {status}"
            )))),
        }
    }

    async fn translated(
        &self,
        reply: Response<reqwest::Body>,
    ) -> Result<Response<ReplyBody>, Broken> {
        let (head, body) = reply.into_parts();
        check_coding(&head.headers)?;
        match self.relay.is_stream {
            true => self.stream(head, body).await,
            false => self.whole(head, body).await,
        }
    }

    /// What a reply is. Where its head says that it is something else than what was asked for, its first bytes decide: gateways call
    /// events JSON (openclaw/openclaw#96497), and Flask calls everything HTML that nobody calls otherwise. What is called events is
    /// looked at, too: others call so whatever answers a request for a stream.
    async fn sorted(
        &self,
        reply: Response<reqwest::Body>,
    ) -> Result<(Response<reqwest::Body>, Option<BodyKind>), Broken> {
        let told = self.kind_of(reply.headers(), &[]);
        let asked = match self.relay.is_stream {
            true => BodyKind::Events,
            false => BodyKind::Json,
        };
        let is_coded = reply.headers().contains_key(CONTENT_ENCODING);
        let is_lines = self.planned.exchange.server.framing() == Framing::Lines;
        let is_told = told == Some(asked) && !self.relay.is_stream;
        if is_told || is_coded || is_lines {
            return Ok((reply, told));
        }
        let (mut head, mut body) = reply.into_parts();
        let first = whole::first_chunks(&mut body, self.first_byte).await;
        let first = first.map_err(|error| unread(error, 0, &self.relay.app.metrics))?;
        let first = Bytes::from(first.concat());
        let kind = self.kind(&head, &first);
        let media_type = match kind {
            Some(BodyKind::Events) => Some("text/event-stream"),
            Some(BodyKind::Json) => Some("application/json"),
            Some(BodyKind::Other) | None => None,
        };
        // Some clients read nothing else (httpx-sse, openai-node).
        if let Some(media_type) = media_type.filter(|_| kind != told) {
            let media_type = HeaderValue::from_static(media_type);
            head.headers.insert(CONTENT_TYPE, media_type);
        }
        let body = reqwest::Body::wrap(Prefixed::new(first, body));
        Ok((Response::from_parts(head, body), kind))
    }

    /// The answer to a question before the request itself, and what follows from it.
    pub(super) async fn question(
        &self,
        reply: Response<reqwest::Body>,
        pending: Pending,
    ) -> Result<Asked, Broken> {
        let status = reply.status().as_u16();
        if status >= 400 {
            return Err(self.refused(reply).await);
        }
        if !(200..300).contains(&status) {
            let message = format!(
                "the upstream answered with status {status} when it was to render a prompt"
            );
            return Err(bad_reply(message).into());
        }
        let (head, body) = reply.into_parts();
        check_coding(&head.headers)?;
        let bytes = self.gathered(&[], body).await?;
        Ok(work(bytes.len(), || pending.next(&bytes))?)
    }

    /// Whether the reply goes through as it is. The worker's does not: where it dies in the middle
    /// of a stream, the client is told so in an event.
    fn is_passed(&self) -> bool {
        let is_read = self.planned.flight.is_some() || self.relay.keeping.is_some();
        !is_read && self.planned.exchange.is_passthrough()
    }

    /// Whether a whole reply was asked for and a stream comes, or the other way round, which no client would read: it is put
    /// together, or told in events. So it is where the model gives no stream, which the client asked for.
    fn is_unasked(&self, reply: &Response<reqwest::Body>, kind: Option<BodyKind>) -> bool {
        let other = match self.relay.is_stream {
            true => BodyKind::Json,
            false => BodyKind::Events,
        };
        let exchange = &self.planned.exchange;
        if exchange.asks_whole && self.relay.is_stream {
            return true;
        }
        // What a server of another wire says of itself in its last event would be lost.
        exchange.demand.request.wire == Some(Wire::Chat)
            && !reply.headers().contains_key(CONTENT_ENCODING)
            && kind == Some(other)
    }

    /// The reply as it is; a stream that breaks off ends with the error event, and a whole reply has what clients of
    /// the dialect find in every one. One that begins with an error is the client's where nobody else answers.
    async fn untouched(
        &self,
        reply: Response<reqwest::Body>,
        kind: Option<BodyKind>,
    ) -> Result<Response<ReplyBody>, Broken> {
        let has_length = reply.headers().contains_key(CONTENT_LENGTH);
        let is_coded = reply.headers().contains_key(CONTENT_ENCODING);
        let is_whole = kind == Some(BodyKind::Json) && !is_coded;
        if is_whole && (self.relay.client.completes() || self.relay.is_stream) {
            return self.completed(reply).await;
        }
        let app = self.relay.app;
        if kind == Some(BodyKind::Other) {
            let expected = match self.relay.is_stream {
                true => BodyKind::Events,
                false => BodyKind::Json,
            };
            return Err(unexpected(expected).into());
        }
        if kind != Some(BodyKind::Events) || has_length || is_coded {
            let record = self.relay.record.clone();
            return Ok(pass::pass_reply(app, reply, self.first_byte, record));
        }
        let (head, body) = reply.into_parts();
        let mut body = Untouched::new(
            body,
            self.relay.client,
            self.planned.exchange.server.framing(),
            app,
            self.first_byte,
            self.relay.record.clone(),
        )
        .watched();
        let rule = self.facing();
        let exchange = &self.planned.exchange;
        let limit = app.config.limits.event_bytes;
        let begins = |bytes: &[u8], over| exchange.begins(rule, bytes, over, limit);
        let opened = body.open(self.first_byte, begins).await?;
        let framing = self.planned.exchange.server.framing();
        let body = ReplyBody::Events(Box::new(body)).framed(framing);
        let reply = pass::reply(head, body);
        match opened {
            Some(begun) => Err(in_place(begun, reply)),
            None => Ok(reply),
        }
    }

    /// The server's rule on the wire of the request.
    fn facing(&self) -> &Rule {
        let rule = &self.planned.target.rule;
        rule.facing(&self.planned.exchange.demand.request)
    }

    /// A whole reply of the client's own wire: its bytes, and between them what is missing. Who asked for a stream expects
    /// nothing there, and gets an error as one.
    async fn completed(
        &self,
        reply: Response<reqwest::Body>,
    ) -> Result<Response<ReplyBody>, Broken> {
        let (mut head, body) = reply.into_parts();
        let bytes = self.gathered(&[], body).await?;
        let is_chat = self.planned.exchange.demand.request.wire == Some(Wire::Chat);
        if is_chat && !self.relay.is_stream && kinds::by_bytes(&bytes) == Some(BodyKind::Events) {
            return self.whole(head, bytes.into()).await;
        }
        let room = working_room(self.relay.app, &bytes).await?;
        let fault = work(bytes.len(), || {
            self.planned.exchange.reports(self.facing(), &bytes)
        });
        if let Some(mut fault) = fault {
            fault.is_read &= !self.relay.is_stream;
            let own = pass::reply(head, ReplyBody::full(bytes));
            return Err(in_place(fault, own));
        }
        let completed = match self.relay.is_stream {
            true => None,
            false => work(bytes.len(), || self.relay.client.completed(&bytes)),
        };
        if completed.is_some() {
            head.headers.remove(CONTENT_LENGTH);
        }
        let bytes = completed.map_or(bytes, |completed| room.bind(completed.into()));
        Ok(pass::reply(head, ReplyBody::full(bytes)))
    }

    /// The upstream's error, in the client's terms, unless there is another way to ask.
    async fn refused(&self, reply: Response<reqwest::Body>) -> Broken {
        let Target { upstream, rule, .. } = &self.planned.target;
        let rule = rule.facing(&self.planned.exchange.demand.request);
        let (head, body, error) = refusal_of(upstream, rule, reply).await;
        self.relay.record.came(&body);
        // What it says of a key that is not the client's would be taken for the client's.
        let is_of_key = error.kind == Kind::UpstreamAuth && upstream.has_key();
        if is_of_key && error.status() == 401 {
            upstream.doubt_key();
        }
        let may_be_own = rule.ends.own_errors && !is_of_key;
        match self.told(error, &exchange::launch_facts(rule, &body)) {
            Broken::Error(error) if may_be_own && self.is_own_error(&head, &body) => {
                let mut own = pass::reply(head, ReplyBody::full(body));
                own.headers_mut().remove(CONTENT_LENGTH);
                reported(error, own)
            }
            broken => self.within(broken, false),
        }
    }

    /// Whether an error's body is one that clients of the server's wire read.
    fn is_own_error(&self, head: &Parts, body: &[u8]) -> bool {
        let media_type = head
            .headers
            .get(CONTENT_TYPE)
            .and_then(|it| it.to_str().ok());
        self.planned.exchange.keeps_wire()
            && media_type.is_some_and(kinds::is_json)
            && serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok()
    }

    /// What follows from an error that told this, as [`Self::after_error`] has it; or, where it says that nothing could be made of what
    /// the model wrote, and that is to be asked again, a violation.
    fn told(&self, error: Error, told: &[Told]) -> Broken {
        let exchange = &self.planned.exchange;
        let is_asked_again = self.relay.app.config.on_violation == OnViolation::Retry
            && !exchange.demand.contract.is_empty();
        match self.after_error(error, told) {
            Broken::Error(error) if is_asked_again => {
                let garbled = exchange::garbled(self.facing(), &error);
                garbled.map_or(Broken::Error(error), Broken::Violation)
            }
            broken => broken,
        }
    }

    /// What follows from an error that told this: whether one of these facts is news and makes another question of this one.
    fn after_error(&self, error: Error, told: &[Told]) -> Broken {
        if told.is_empty() {
            return Broken::Error(error);
        }
        // The conversation is in none of the exchanges that others share.
        let Ok(demand) = work(self.planned.opened.body().len(), || {
            self.planned.opened.read()
        }) else {
            return Broken::Error(error);
        };
        let Target {
            upstream,
            rule,
            known,
            ..
        } = &self.planned.target;
        let Exchange {
            demand: Demand { request, .. },
            strategy,
            ..
        } = &*self.planned.exchange;
        let facing = rule.facing(request);
        let asked = self.planned.opened.body();
        let concerns = |told: &&Told| {
            exchange::concerns(&demand, *strategy, facing, &told.fact)
                && !work(asked.len(), || exchange::says(asked, &told.words))
        };
        let (sure, unsure): (Vec<_>, Vec<_>) =
            told.iter().filter(concerns).partition(|told| told.is_sure);
        let learns = |told: &&Told| upstream.learn(&told.fact, &request.model, known);
        if sure.iter().any(learns) {
            return Broken::Learnt;
        }
        let supposed = unsure.into_iter().next();
        match supposed.filter(|told| rule.knowing(&told.fact).is_some()) {
            Some(told) => Broken::Supposed(told.fact.clone(), error),
            None => Broken::Error(error),
        }
    }

    async fn whole(&self, head: Parts, body: reqwest::Body) -> Result<Response<ReplyBody>, Broken> {
        let bytes = self.gathered(&[], body).await?;
        let room = working_room(self.relay.app, &bytes).await?;
        let came = self.kind(&head, &bytes).unwrap_or(BodyKind::Json);
        let translate = match came {
            BodyKind::Json => exchange::reply,
            BodyKind::Events => exchange::reply_of_events,
            BodyKind::Other => return Err(unexpected(BodyKind::Json).into()),
        };
        let begun = Instant::now();
        let Planned {
            exchange, checks, ..
        } = self.planned;
        let ids = ids().after(self.relay.record.waited());
        let written = work(bytes.len(), || translate(exchange, checks, ids, &bytes));
        self.relay.record.own(begun.elapsed());
        match written {
            Ok(translated) => {
                if let Some(violation) = &translated.violation
                    && let Some(taught) = self.taught(violation)
                {
                    return Err(taught);
                }
                self.planned.lived();
                if let Some(violation) = &translated.violation {
                    self.relay.app.metrics.violation(&violation.rule, "pass");
                    self.relay.record.passed(&violation.rule);
                    self.relay.record.broke(self.relay.client, violation);
                }
                self.relay.app.metrics.repaired(translated.repairs);
                self.relay.record.repaired(translated.repairs);
                if self.planned.flight.is_some() {
                    self.relay.record.steered(&head.headers);
                }
                self.planned.learn(translated.fact);
                if let Some(keeping) = &self.relay.keeping {
                    keeping.keep(translated.body.clone());
                }
                let body = ReplyBody::full(room.bind(translated.body.into()));
                Ok(reply(head.headers, "application/json", body))
            }
            Err(fault) => Err(self.broken(fault)),
        }
    }

    /// Why there is no reply, or that the server showed how to ask it for one.
    fn broken(&self, fault: Fault) -> Broken {
        let Target { rule, .. } = &self.planned.target;
        let rule = rule.facing(&self.planned.exchange.demand.request);
        match fault {
            // vLLM looks at a stream's constraint once the stream has begun.
            Fault::Error(error)
                if matches!(error.kind, Kind::UpstreamFailed | Kind::UpstreamRefused) =>
            {
                let told = exchange::launch_facts_in(rule, &error.message);
                self.told(error, &told)
            }
            Fault::Error(error) => Broken::Error(error),
            Fault::Violation(violation) => match self.taught(&violation) {
                Some(taught) => taught,
                None => Broken::Violation(violation),
            },
        }
    }

    /// What an answer that breaks its contract told of the server, by which the request is planned again.
    fn taught(&self, violation: &Violation) -> Option<Broken> {
        if self.planned.learns(violation) {
            return Some(Broken::Learnt);
        }
        let fact = self.planned.supposes(violation)?;
        let error = exchange::violation_error(self.relay.client, violation);
        Some(Broken::Supposed(fact, error))
    }

    /// The head is held back until the first event is there: until then a failure has a status
    /// of its own, and a violation can be asked again.
    async fn stream(
        &self,
        head: Parts,
        mut body: reqwest::Body,
    ) -> Result<Response<ReplyBody>, Broken> {
        let first = whole::first_chunks(&mut body, self.first_byte).await;
        let first = first.map_err(|error| unread(error, 0, &self.relay.app.metrics))?;
        let mut translated = match self
            .kind(&head, &first.concat())
            .unwrap_or(BodyKind::Events)
        {
            BodyKind::Events => {
                let begun = Instant::now();
                let mut translated = Translated::new(self, body);
                for chunk in first {
                    translated.take(chunk);
                }
                self.relay.record.own(begun.elapsed());
                translated
            }
            BodyKind::Json => self.whole_as_stream(first, body).await?,
            BodyKind::Other => return Err(unexpected(BodyKind::Events).into()),
        };
        match translated.open(self.first_byte).await {
            Ok(()) => {
                self.relay.record.repaired(translated.repairs());
                let body = ReplyBody::Translated(Box::new(translated));
                let body = body.framed(self.relay.client.framing());
                let mut reply = reply(head.headers, self.relay.client.stream_type(), body);
                let headers = reply.headers_mut();
                headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
                // nginx would collect the events of a minute otherwise.
                headers.insert(
                    HeaderName::from_static("x-accel-buffering"),
                    HeaderValue::from_static("no"),
                );
                Ok(reply)
            }
            Err(fault) => {
                let is_told =
                    matches!(fault, Fault::Error(_)) && self.planned.exchange.keeps_wire();
                Err(self.within(self.broken(fault), is_told))
            }
        }
    }

    /// The same failure, in a stream, where clients read there what the server told in one (`is_told`), or that a prompt is too
    /// long.
    fn within(&self, broken: Broken, is_told: bool) -> Broken {
        let error = match broken {
            Broken::Error(error) if self.relay.fails_in_streams => error,
            other => return other,
        };
        let is_theirs = match error.kind {
            Kind::ContextLength => true,
            Kind::UpstreamFailed | Kind::UpstreamRefused | Kind::UpstreamRateLimited => is_told,
            _ => false,
        };
        if !is_theirs {
            return Broken::Error(error);
        }
        let error = self.planned.explain(error);
        let mut out = Vec::new();
        super::translated::translator(self, 0).fail(&error, &mut out);
        let body = ReplyBody::full(out.into());
        let own = reply(HeaderMap::new(), self.relay.client.stream_type(), body);
        reported(error, own)
    }

    /// What came, as far as the content type or else the first bytes tell.
    fn kind(&self, head: &Parts, first: &[u8]) -> Option<BodyKind> {
        self.kind_of(&head.headers, first)
    }

    fn kind_of(&self, headers: &HeaderMap, first: &[u8]) -> Option<BodyKind> {
        let framing = self.planned.exchange.server.framing();
        let media_type = headers.get(CONTENT_TYPE);
        let media_type = media_type.map(|value| value.to_str().unwrap_or("?"));
        let told = kinds::by_type(media_type, framing, self.relay.is_stream);
        // Of lines of JSON the first looks like one JSON text.
        let seen = || kinds::by_bytes(first).filter(|_| framing == Framing::Events);
        match (told, seen()) {
            // Some write an error as a bare line of their events.
            (Some(BodyKind::Events), Some(BodyKind::Json)) if kinds::has_event(first) => told,
            (_, Some(seen @ (BodyKind::Json | BodyKind::Events))) => Some(seen),
            (Some(BodyKind::Other) | None, seen) => seen.or(told),
            (told, _) => told,
        }
    }

    /// A server that answers a request for a stream with one JSON body.
    async fn whole_as_stream(
        &self,
        first: Vec<Bytes>,
        body: reqwest::Body,
    ) -> Result<Translated, Error> {
        let bytes = self.gathered(&first, body).await?;
        let room = working_room(self.relay.app, &bytes).await?;
        Ok(Translated::of(self, &bytes, room))
    }

    /// A body as a whole, of which some was read already.
    async fn gathered(&self, first: &[Bytes], body: reqwest::Body) -> Result<Bytes, Error> {
        let app = self.relay.app;
        let limit = app.config.limits.reply_bytes;
        let bytes = whole::read(first, body, limit, self.first_byte, &app.budget).await;
        let bytes = bytes.map_err(|error| unread(error, limit, &app.metrics))?;
        self.relay.record.came(&bytes);
        Ok(bytes)
    }
}

fn reply(upstream: HeaderMap, media_type: &'static str, body: ReplyBody) -> Response<ReplyBody> {
    let mut reply = Response::new(body);
    *reply.headers_mut() = headers::rewritten_down(upstream);
    reply
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    reply
}

pub(in crate::proxy) fn check_coding(headers: &HeaderMap) -> Result<(), Error> {
    match headers.get(CONTENT_ENCODING) {
        Some(coding) if !coding.as_bytes().eq_ignore_ascii_case(b"identity") => Err(bad_reply(
            "the upstream compressed its reply although it was asked not to; \
             switch compression off in whatever stands before it",
        )),
        _ => Ok(()),
    }
}

fn unexpected(expected: BodyKind) -> Error {
    let name = match expected {
        BodyKind::Events => "a stream of events",
        _ => "one JSON reply",
    };
    bad_reply(format!(
        "the upstream answered with something that is neither JSON nor events where {name} was asked for; check that the upstream URL is that of the server's API"
    ))
}
