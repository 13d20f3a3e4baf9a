//! `…/authorize`: may this visitor pass? For gateways, which understand 200, 401 and 403 only.
//!
//! Exactly 200 passes. A refusal is 401 or 403 whatever the reason, because gateways turn other
//! refusals into errors of their own and let some 5xx through. Every header of Anteroom is on every
//! answer, blank if it has no value, so that a client's own never reaches the service behind.

mod bypassed;
mod options;
pub mod original;
mod pass;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anteroom_config::WithoutStore;
use anteroom_core::queue::{Place, PlaceRef, Standing, Token, Visit};
use anteroom_core::store;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue, LOCATION, SET_COOKIE, WWW_AUTHENTICATE};
use http::request::Parts;

pub use self::bypassed::BypassedVisits;
use self::options::{GateOptions, is_navigation, is_preflight};
use self::original::Original;
use self::pass::{BLANK, Pass, REFUSAL, ROOM, blank};
use super::problems::GateProblems;
use super::visitor::{Held, Visitor};
use super::visits;
use crate::app::App;
use crate::http::extract::Peer;
use crate::http::route::RouteInfo;
use crate::problem::{Code, Problem};
use crate::queue::active_cache::Basis;
use crate::queue::metrics::GateAnswer;
use crate::queue::return_to;
use crate::queue::state::QueueState;

/// Where a gateway asks that says the original path in a header, if at all.
pub const PLAIN: &str = "/v1/queues/{queue}/authorize";
/// Where one asks that puts the original path behind ours.
pub const BEHIND: &str = "/v1/queues/{queue}/authorize/{*path}";
/// The original path may be `/`, which a wildcard does not match.
pub const BEHIND_ROOT: &str = "/v1/queues/{queue}/authorize/";
/// All of them, as the router has them: the document has a form of its own for the second, and
/// leaves out the third.
pub const ROUTES: &[(&str, RouteInfo)] =
    &[(PLAIN, RouteInfo::GATE), (BEHIND, RouteInfo::GATE), (BEHIND_ROOT, RouteInfo::GATE)];

/// Authorize a request of a visitor.
///
/// For gateways. Any method; the body is ignored. A visitor whose turn has come enters. 200 has the
/// headers `x-anteroom-visitor` (the visitor_id, or the ticket of an anonymous visitor),
/// `x-anteroom-visitor-kind` (`identified` or `anonymous`), `x-anteroom-place` (the place handle
/// for the service port; not a token) and `x-anteroom-expires-in` (seconds). 401 and 403 have
/// `x-anteroom-room` (the address of the waiting page) and `x-anteroom-refusal` (the error code).
#[utoipa::path(
    method(get, put, post, delete, options, head, patch, trace),
    path = "/v1/queues/{queue}/authorize", tag = "gateways",
    params(
        ("join" = Option<String>, Query,
            description = "1: a visitor who opens a page and has no place joins"),
        ("on_refusal" = Option<String>, Query,
            description = "redirect: 302 to the waiting page for navigations"),
    ),
    security((), ("token" = []), ("cookie" = [])),
    responses(
        (status = 200, description = "allowed"),
        (status = 302, description = "a navigation is refused, and `on_refusal=redirect` is set"),
        GateProblems,
    ),
)]
pub async fn authorize(State(app): State<Arc<App>>, request: Request) -> Response {
    let (parts, _body) = request.into_parts();
    let peer = Peer::address_in(&parts);
    let visitor = match Visitor::at_gate(&app, &parts.uri, &parts.headers, peer) {
        Ok(visitor) => visitor,
        Err(problem) => return refusal(problem, room_of(&app, parts.uri.path())),
    };
    match begin(&app, &visitor, &parts) {
        Begun::Answered(response) => response,
        Begun::NeedsStore(undecided) => finish(&app, &visitor, &parts, undecided).await,
    }
}

/// How far this process comes without the store.
pub enum Begun {
    /// To the answer.
    Answered(Response),
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
pub fn begin(app: &App, visitor: &Visitor, parts: &Parts) -> Begun {
    let options = GateOptions::of(parts);
    match decide(app, visitor, &options, parts) {
        Decision::Passes(pass) => Begun::Answered(conclude(visitor, &options, parts, Ok(pass))),
        Decision::Refused(problem) => {
            Begun::Answered(conclude(visitor, &options, parts, Err(problem)))
        }
        Decision::Undecided(question) => Begun::NeedsStore(Undecided { options, question }),
    }
}

/// The answer by the store.
pub async fn finish(app: &App, visitor: &Visitor, parts: &Parts, undecided: Undecided) -> Response {
    let Undecided { options, question } = undecided;
    let verdict = match question {
        Question::Authorize => ask(app, visitor, &options).await,
        Question::Join => Box::pin(join(app, visitor)).await,
    };
    conclude(visitor, &options, parts, verdict)
}

fn conclude(
    visitor: &Visitor,
    options: &GateOptions,
    parts: &Parts,
    verdict: Result<Pass, Problem>,
) -> Response {
    let metrics = &visitor.queue.metrics;
    match verdict {
        Ok(pass) => {
            metrics.gate(pass.by);
            pass.into_response()
        }
        Err(problem) => {
            metrics.gate(match problem.code() {
                Code::STORE_UNAVAILABLE => GateAnswer::StoreUnavailable,
                _ => GateAnswer::Refused,
            });
            refused(visitor, options, parts, problem)
        }
    }
}

/// Authorize a request; the original path follows the address.
///
/// For gateways such as Envoy that append the visitor's path. The waiting page sends the visitor
/// back to this path. The query is the visitor's own: set options in the header `x-anteroom-gate`,
/// and overwrite the client's value of it.
#[utoipa::path(
    method(get, put, post, delete, options, head, patch, trace),
    path = "/v1/queues/{queue}/authorize/{path}", tag = "gateways",
    params(
        ("path" = String, Path, description = "the original path, with slashes"),
        ("x-anteroom-gate" = Option<String>, Header,
            description = "with commas between: join (a visitor who opens a page and has no \
                place joins), redirect (302 to the waiting page for navigations)"),
    ),
    security((), ("token" = []), ("cookie" = [])),
    responses(
        (status = 200, description = "allowed"),
        (status = 302, description = "a navigation is refused, and `redirect` is set"),
        GateProblems,
    ),
)]
pub async fn authorize_behind(state: State<Arc<App>>, request: Request) -> Response {
    authorize(state, request).await
}

/// A refusal where nothing is known of the visitor, and perhaps nothing of the queue.
pub fn refusal(problem: Problem, room: Option<HeaderValue>) -> Response {
    let code = problem.code();
    let mut response = problem.at_gate().into_response();
    let headers = response.headers_mut();
    blank(headers);
    headers.insert(REFUSAL, HeaderValue::from_static(code.name()));
    headers.insert(ROOM, room.unwrap_or(BLANK));
    response
}

/// The waiting page of the queue that a path of the gate names.
pub fn room_of(app: &App, path: &str) -> Option<HeaderValue> {
    let name = path.strip_prefix("/v1/queues/")?.split('/').next()?;
    let queue = app.queue(name)?;
    let room = return_to::room(queue.config.public_url.url(), queue.name(), None);
    HeaderValue::try_from(room).ok()
}

/// What this process knows without the store.
fn decide(app: &App, visitor: &Visitor, options: &GateOptions, parts: &Parts) -> Decision {
    let queue = &visitor.queue;
    if queue.config.pass_preflight && is_preflight(parts) {
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
            if !app.store.is_up() && may_fail_open(visitor) {
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
async fn ask(app: &App, visitor: &Visitor, options: &GateOptions) -> Result<Pass, Problem> {
    let Held::Valid(token) = &visitor.held else { return Err(Problem::new(Code::TOKEN_MISSING)) };
    let queue = &visitor.queue;
    let basis = queue.active_cache.basis();
    match queue.queue.authorize(token.place, queue.config.renew_on_authorize).await {
        Ok(visit) => {
            queue.fail_open.reset();
            queue.metrics.polled(&visit);
            if basis.is_local() || queue.config.without_store() != WithoutStore::Closed {
                note(queue, token.place, &visit, basis);
            }
            match visit {
                // Only the backend can say who this is.
                Visit::Gone(_) if options.join && token.visitor_id.is_some() => {
                    Err(Problem::new(Code::ASSERTION_MISSING))
                }
                // Boxed, because it is rare and larger than all the rest.
                Visit::Gone(_) if options.join => Box::pin(join(app, visitor)).await,
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
            let retry_after = visits::view(&visitor.queue, &place).poll_after();
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
        Visit::Gone(_) => queue.active_cache.forget(of),
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
async fn join(app: &App, visitor: &Visitor) -> Result<Pass, Problem> {
    let queue = &visitor.queue;
    let joined = visits::join_from(app, visitor, None).await?;
    let token = Token { place: joined.of, visitor_id: None };
    let cookie = visitor.cookie(&app.live().tokens.sign(queue.name(), &token))?;
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

fn refused(visitor: &Visitor, options: &GateOptions, parts: &Parts, problem: Problem) -> Response {
    let queue = &visitor.queue;
    let original = Original::of(parts);
    let return_to = original.path.and_then(|path| queue.return_to.parse(path));
    let room = return_to::room(queue.config.public_url.url(), queue.name(), return_to.as_deref());
    let room = HeaderValue::try_from(room).unwrap_or(BLANK);
    let code = problem.code();
    let mut response = problem.at_gate().into_response();
    if options.redirect && is_navigation(&original.method, &parts.headers) {
        *response.status_mut() = StatusCode::FOUND;
        *response.body_mut() = Body::empty();
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
