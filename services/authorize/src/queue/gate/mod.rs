//! The gateway check: may this visitor pass? Gateways understand 200, 401 and 403 only.
//!
//! Exactly 200 passes. A refusal is 401 or 403 whatever the reason, because gateways turn other
//! refusals into errors of their own and let some 5xx through. Every header of Anteroom is on every
//! answer, blank if it has no value, so that a client's own never reaches the service behind.

mod bypassed;
mod options;
mod pass;
mod request;

use std::time::{Duration, Instant};

use anteroom_config::WithoutStore;
use anteroom_core::queue::{Place, PlaceRef, Standing, Token, Visit};
use anteroom_core::store;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, LOCATION, SET_COOKIE, WWW_AUTHENTICATE};
use http::{Response, StatusCode};

pub use self::bypassed::BypassedVisits;
use self::options::{GateOptions, is_navigation, is_preflight};
pub use self::pass::OWN_HEADERS;
use self::pass::{BLANK, Pass, REFUSAL, ROOM, blank};
pub use self::request::GateRequest;
use super::active_cache::Basis;
use super::metrics::GateAnswer;
use super::state::QueueState;
use super::visitor::{Held, Visitor};
use super::{return_to, visits};
use crate::problem::{Code, Problem};
use crate::process::Process;

/// How far this process comes without the store.
pub enum Begun {
    /// To the answer. Its body is empty, or a problem as JSON.
    Answered(Response<Bytes>),
    /// Not so far.
    NeedsStore(Undecided),
}

/// What is left to do.
pub struct Undecided {
    options: GateOptions,
    question: Question,
}

/// What the store is needed for.
enum Question {
    /// To say whether the place that a valid token names may pass.
    Authorize,
    /// To give a place to a visitor without a token.
    Join,
}

/// What this process decides by itself.
enum Decision {
    Passes(Pass),
    Refused(Problem),
    Undecided(Question),
}

/// Answers, if this process can without the store.
pub fn begin(process: &Process, visitor: &Visitor, request: GateRequest<'_>) -> Begun {
    let options = GateOptions::of(request);
    match decide(process, visitor, &options, request) {
        Decision::Passes(pass) => Begun::Answered(conclude(visitor, &options, request, Ok(pass))),
        Decision::Refused(problem) => {
            Begun::Answered(conclude(visitor, &options, request, Err(problem)))
        }
        Decision::Undecided(question) => Begun::NeedsStore(Undecided { options, question }),
    }
}

/// The answer by the store.
pub async fn finish(
    process: &Process,
    visitor: &Visitor,
    request: GateRequest<'_>,
    undecided: Undecided,
) -> Response<Bytes> {
    let Undecided { options, question } = undecided;
    let verdict = match question {
        Question::Authorize => ask(process, visitor, &options).await,
        Question::Join => Box::pin(join(process, visitor)).await,
    };
    conclude(visitor, &options, request, verdict)
}

/// The same within this time: after it, `on_store_error` decides about a valid token. `None` if
/// the visitor has none; whether it has joined is unknown then.
pub async fn finish_within(
    limit: Duration,
    process: &Process,
    visitor: &Visitor,
    request: GateRequest<'_>,
    undecided: Undecided,
) -> Option<Response<Bytes>> {
    let options = undecided.options.clone();
    let answer = finish(process, visitor, request, undecided);
    match tokio::time::timeout(limit, answer).await {
        Ok(answer) => Some(answer),
        Err(_) => {
            let Held::Valid(token) = &visitor.held else { return None };
            // A short time that a crowd uses up is no outage: that opens nothing.
            let late = if process.store.is_up() {
                store::Error::Overloaded
            } else {
                store::Error::Unknown("the request took too long".to_owned())
            };
            let verdict = without_store(visitor, token, &late);
            Some(conclude(visitor, &options, request, verdict))
        }
    }
}

fn conclude(
    visitor: &Visitor,
    options: &GateOptions,
    request: GateRequest<'_>,
    verdict: Result<Pass, Problem>,
) -> Response<Bytes> {
    let metrics = &visitor.queue.metrics;
    match verdict {
        Ok(pass) => {
            metrics.gate(pass.by);
            pass.into_answer()
        }
        Err(problem) => {
            metrics.gate(match problem.code() {
                Code::STORE_UNAVAILABLE => GateAnswer::StoreUnavailable,
                _ => GateAnswer::Refused,
            });
            refused(visitor, options, request, problem)
        }
    }
}

/// A refusal where nothing is known of the visitor, and perhaps nothing of the queue. It names the
/// waiting page of the queue.
pub fn refusal(problem: Problem, queue: Option<&QueueState>) -> Response<Bytes> {
    let code = problem.code();
    let mut response = problem.at_gate().into_answer();
    let headers = response.headers_mut();
    blank(headers);
    headers.insert(REFUSAL, HeaderValue::from_static(code.name()));
    headers.insert(ROOM, queue.map_or(BLANK, |queue| room(queue, None)));
    response
}

/// What this process knows without the store.
fn decide(
    process: &Process,
    visitor: &Visitor,
    options: &GateOptions,
    request: GateRequest<'_>,
) -> Decision {
    let queue = &visitor.queue;
    if queue.config.pass_preflight && is_preflight(request) {
        return Decision::Passes(Pass::unnamed(GateAnswer::Preflight));
    }
    if queue.latest.is_bypass() {
        return Decision::Passes(bypass(visitor));
    }
    match visitor.holder() {
        Ok(token) => match queue.active_cache.passes(token.place) {
            Some(left) => Decision::Passes(Pass::named(GateAnswer::Local, token, Some(left))),
            None => Decision::Undecided(Question::Authorize),
        },
        Err(problem) if problem.code() == Code::TOKEN_MISSING => {
            if !process.store.is_up() && may_fail_open(visitor) {
                Decision::Passes(Pass::unnamed(GateAnswer::Opened))
            } else if options.join {
                Decision::Undecided(Question::Join)
            } else {
                Decision::Refused(problem)
            }
        }
        Err(problem) => Decision::Refused(problem),
    }
}

/// Lets every visitor pass; names only the holder of a known place. Keeps sessions in use alive, so
/// that they outlast the bypass; the answer does not wait for that.
fn bypass(visitor: &Visitor) -> Pass {
    let Held::Valid(token) = &visitor.held else { return Pass::unnamed(GateAnswer::Bypass) };
    let queue = &visitor.queue;
    let mut left = queue.active_cache.passes(token.place);
    if left.is_none() {
        left = queue.active_cache.left(token.place);
        if visitor.holder().is_ok() {
            queue.bypassed_visits.visit(queue, token.place);
        }
    }
    match left {
        Some(left) => Pass::named(GateAnswer::Bypass, token, Some(left)),
        None => Pass::unnamed(GateAnswer::Bypass),
    }
}

/// The store's verdict on the place that the visitor's token names.
async fn ask(process: &Process, visitor: &Visitor, options: &GateOptions) -> Result<Pass, Problem> {
    let Held::Valid(token) = &visitor.held else { return Err(Problem::new(Code::TOKEN_MISSING)) };
    let queue = &visitor.queue;
    let basis = queue.active_cache.basis();
    match queue.queue.authorize(token.place, queue.config.renew_on_authorize).await {
        Ok(visit) => {
            queue.fail_open.reset();
            queue.polled(token.place, &visit);
            if basis.is_local() || queue.config.without_store() != WithoutStore::Closed {
                note(queue, token.place, &visit, basis);
            }
            match visit {
                // Only the backend can say who this is.
                Visit::Gone(_) if options.join && token.visitor_id.is_some() => {
                    Err(Problem::new(Code::ASSERTION_MISSING))
                }
                // Boxed, because it is rare and larger than all the rest.
                Visit::Gone(_) if options.join => Box::pin(join(process, visitor)).await,
                visit => admitted(visitor, token, visit),
            }
        }
        Err(error) => without_store(visitor, token, &error),
    }
}

/// Exactly an active place passes.
fn admitted(visitor: &Visitor, token: &Token, visit: Visit) -> Result<Pass, Problem> {
    match visit {
        Visit::Here(Place { standing: Standing::Active { expires_in }, .. }) => {
            Ok(Pass::named(GateAnswer::Admitted, token, Some(expires_in)))
        }
        Visit::Here(place) | Visit::NotReady(place) | Visit::NotActive(place) => {
            let retry_after = visits::poll_after(&visitor.queue, &place);
            Err(Problem::new(Code::NOT_ADMITTED).retry_after(retry_after))
        }
        Visit::Gone(reason) => Err(Problem::gone(reason)),
    }
}

/// Remembers the state of a place.
fn note(queue: &QueueState, of: PlaceRef, visit: &Visit, basis: Basis) {
    match visit {
        Visit::Here(Place { standing: Standing::Active { expires_in }, .. }) => {
            queue.active_cache.note(of, *expires_in, basis, renewal(queue));
        }
        Visit::Gone(_) => queue.has_ended(of),
        Visit::Here(_) | Visit::NotReady(_) | Visit::NotActive(_) => {}
    }
}

/// The time after which a place that passes must be renewed by a quarter; none where the gate
/// renews nothing.
fn renewal(queue: &QueueState) -> Option<Duration> {
    let session_ttl = || queue.latest.session_ttl().unwrap_or(queue.config.rules.session_ttl);
    queue.config.renew_on_authorize.then(session_ttl)
}

/// Gives a place to a visitor without one. On a quiet day it passes at once; that session is short
/// until its token is shown, and so it is not noted.
async fn join(process: &Process, visitor: &Visitor) -> Result<Pass, Problem> {
    let queue = &visitor.queue;
    let joined = visits::join_from(process, visitor, None).await?;
    let token = Token { place: joined.of, visitor_id: None };
    let cookie = visitor.cookie(&process.settings().tokens.sign(queue.name(), &token))?;
    let pass = match joined.place.standing {
        Standing::Waiting { .. } => admitted(visitor, &token, Visit::Here(joined.place)),
        Standing::Ready { .. } | Standing::Active { .. } => {
            match queue.queue.authorize_joined(joined.of).await {
                Ok(visit) => admitted(visitor, &token, visit),
                Err(error) => without_store(visitor, &token, &error),
            }
        }
    };
    // The token goes out in both cases: it is the only proof of the place that now exists.
    match pass {
        Ok(mut pass) => {
            pass.cookie = Some(cookie);
            Ok(pass)
        }
        Err(problem) => Err(problem.header(SET_COOKIE, cookie)),
    }
}

/// The answer by `on_store_error` for a valid token. If it is open, a known visitor does not need
/// the rate, and the token of an unknown place gives no name.
fn without_store(visitor: &Visitor, token: &Token, error: &store::Error) -> Result<Pass, Problem> {
    let known = || {
        let left = visitor.queue.active_cache.left(token.place)?;
        Some(Pass::named(GateAnswer::Held, token, Some(left)))
    };
    // A crowd that fills a lane while Redis is up opens nothing.
    let is_away = !matches!(error, store::Error::Overloaded);
    let opened = || (is_away && may_fail_open(visitor)).then(|| Pass::unnamed(GateAnswer::Opened));
    let pass = match visitor.queue.config.without_store() {
        WithoutStore::Hold => known(),
        WithoutStore::Open { .. } => known().or_else(opened),
        WithoutStore::Closed => None,
    };
    pass.ok_or_else(|| {
        let retry_after = visitor.queue.retry_hint();
        Problem::new(Code::STORE_UNAVAILABLE).retry_after(retry_after).cause(error.to_string())
    })
}

/// Whether `on_store_error = "open"` has room for one more from the visitor's address.
fn may_fail_open(visitor: &Visitor) -> bool {
    match visitor.queue.config.without_store() {
        WithoutStore::Open { rate, lasts } => {
            visitor.queue.fail_open.admit(visitor.address, rate, lasts, Instant::now())
        }
        WithoutStore::Hold | WithoutStore::Closed => false,
    }
}

fn refused(
    visitor: &Visitor,
    options: &GateOptions,
    request: GateRequest<'_>,
    problem: Problem,
) -> Response<Bytes> {
    let queue = &visitor.queue;
    let return_to = request.path().and_then(|path| queue.return_to.parse(path));
    let room = room(queue, return_to.as_deref());
    let code = problem.code();
    let mut response = problem.at_gate().into_answer();
    if options.redirect && is_navigation(&request.method(), request.headers()) {
        *response.status_mut() = StatusCode::FOUND;
        response.body_mut().clear();
        let headers = response.headers_mut();
        headers.insert(LOCATION, room.clone());
        headers.remove(CONTENT_TYPE);
        headers.remove(WWW_AUTHENTICATE);
    }
    let headers = response.headers_mut();
    blank(headers);
    headers.insert(ROOM, room);
    headers.insert(REFUSAL, HeaderValue::from_static(code.name()));
    response
}

/// The address of the waiting page.
fn room(queue: &QueueState, return_to: Option<&str>) -> HeaderValue {
    let room = return_to::room(queue.config.public_url.url(), queue.name(), return_to);
    HeaderValue::try_from(room).unwrap_or(BLANK)
}
