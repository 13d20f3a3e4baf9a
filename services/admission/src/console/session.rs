//! Sign-in to the console, and sign-out.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anteroom_authorize::callers::client_address::client_address;
use anteroom_authorize::durations::since_1970;
use anteroom_authorize::problem::{Code, Problem};
use anteroom_config::Rate;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::header::{AUTHORIZATION, SET_COOKIE};
use http::request::Parts;
use http::{HeaderValue, StatusCode};
use serde_json::json;

use super::problems::{SignInProblems, SignOutProblems};
use crate::app::{App, LiveConfig};
use crate::callers::caller::{Caller, Permission};
use crate::callers::sender::{Sender, other_page};
use crate::callers::{RequestHead, session};
use crate::http::audit::AuditEntry;
use crate::http::extract::Peer;

/// The rate limit of sign-ins of one address. A person can mistype a key a few times.
const SIGN_INS: Rate = Rate { count: 10, window: Duration::from_secs(60) };

/// Sign in to the console, or renew the session.
///
/// With an API key of an operator or a viewer: begins a session, and returns it as the cookie
/// `anteroom_console`. With that cookie instead of a key: renews the session. A session lasts 30
/// minutes, and with renewals 12 hours. It also ends when you remove the API key.
///
/// The cookie counts as its API key for requests with `Sec-Fetch-Site: same-origin`. A call that
/// changes something also needs an `Origin` that equals `Host`. An API key in the request takes
/// precedence. One address can sign in 10 times a minute.
///
/// If no keys are configured, there is no session, and the answer sets no cookie.
#[utoipa::path(
    post, path = "/v1/console/session", tag = "console", operation_id = "sign_in",
    responses(
        (status = 204, description = "the session has begun, or is renewed",
            headers(("set-cookie" = String, description = "the session"))),
        SignInProblems,
    ),
)]
pub async fn sign_in(State(app): State<Arc<App>>, parts: Parts) -> Result<Response, Problem> {
    let (entry, head) = (AuditEntry::of(&parts)?, RequestHead::of(&parts));
    let live = app.live();
    let is_renewal = !parts.headers.contains_key(AUTHORIZATION);
    if !is_renewal && !live.config.keys.is_empty() {
        refuse_other_pages(&head)?;
        take_sign_in(&app, &live, &parts)?;
    }
    let caller = Caller::of(live.access(), &head)?;
    entry.key(caller.name());
    caller.may(Permission::View)?;
    let now = since_1970();
    let session = match caller.session() {
        Some(session) => Some(session.clone().renewed(now)),
        None => caller.begin_session(now),
    };
    entry.after(json!({ "renewed": is_renewal }));
    let Some((session, keys)) = session.zip(live.access().sessions) else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    signed(session::set(&keys.sign(&session), session.left(now), head.host()))
}

/// Sign out of the console.
///
/// Removes the cookie. Idempotent. To end a session whose cookie was stolen, replace the API key.
#[utoipa::path(
    delete, path = "/v1/console/session", tag = "console", operation_id = "sign_out",
    responses(
        (status = 204, description = "the browser has no session",
            headers(("set-cookie" = String, description = "removes the session"))),
        SignOutProblems,
    ),
)]
pub async fn sign_out(State(app): State<Arc<App>>, parts: Parts) -> Result<Response, Problem> {
    let (entry, head) = (AuditEntry::of(&parts)?, RequestHead::of(&parts));
    let live = app.live();
    Caller::may_see_page(live.access(), &head)?;
    refuse_other_pages(&head)?;
    // Without a valid session, sign-out succeeds too.
    if let Ok(caller) = Caller::of(live.access(), &head) {
        entry.key(caller.name());
    }
    signed(session::set("", Duration::ZERO, head.host()))
}

/// Counts a sign-in of an address.
fn take_sign_in(app: &App, live: &LiveConfig, parts: &Parts) -> Result<(), Problem> {
    let proxies = &live.config.admission.trusted_proxies;
    let address = client_address(Peer::in_any(parts), &parts.headers, proxies);
    let taken = app.sign_ins.take(address, SIGN_INS, Instant::now());
    taken.map(drop).map_err(|wait| {
        let rule = "one address can sign in 10 times a minute";
        Problem::new(Code::SLOW_DOWN).detail(rule).retry_after(wait)
    })
}

/// Refuses other pages: they must not begin or end a session of their visitor.
fn refuse_other_pages(head: &RequestHead<'_>) -> Result<(), Problem> {
    match Sender::of(head) {
        Sender::Program | Sender::OwnPage => Ok(()),
        Sender::User | Sender::OtherPage | Sender::OtherHost => Err(other_page()),
    }
}

fn signed(cookie: Result<HeaderValue, impl std::fmt::Display>) -> Result<Response, Problem> {
    let cookie = cookie.map_err(|error| Problem::new(Code::INTERNAL).cause(error.to_string()))?;
    Ok((StatusCode::NO_CONTENT, [(SET_COOKIE, cookie)]).into_response())
}
