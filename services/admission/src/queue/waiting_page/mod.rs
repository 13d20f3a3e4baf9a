//! The waiting page: plain, and working without a script.
//!
//! A GET never joins. Without JavaScript a button joins and `meta refresh` keeps the page current;
//! with it the page joins by itself, follows its place by events, takes the turn and goes on to
//! `return_to`. Without a `return_to` the page itself is where the visit is: it says how long it
//! lasts, and has a button that finishes. All that comes from outside is escaped, and the
//! Content-Security-Policy lets nothing run but the one script and the one style whose digests it
//! names.

mod render;
mod words;

use std::borrow::Cow;
use std::sync::Arc;

use anteroom_core::queue::{GoneReason, PlaceId};
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use http::header::{HeaderValue, LOCATION, RETRY_AFTER, SET_COOKIE};
use http::{HeaderMap, StatusCode, Uri};

use self::render::{Page, PageState};
use self::words::Words;
use super::calls::{held, is_strong_key};
use super::return_to::with_return_to;
use super::views::queue::{StateView, paused_by};
use super::visitor::{Held, Visitor};
use super::visits;
use crate::app::App;
use crate::durations::whole_seconds;
use crate::http::extract::whole_body;
use crate::problem::{Code, Problem};

/// Show the waiting page.
#[utoipa::path(
    get, path = "/queues/{queue}", tag = "page",
    params(
        ("return_to" = Option<String>, Query, description = "where the page sends the visitor when it is their turn"),
        ("over" = Option<String>, Query,
            description = "the finish button leads here: a visitor without a place reads that the \
                visit is over"),
    ),
    security((), ("cookie" = [])),
    responses(
        (status = 200, description = "the page", body = String, content_type = "text/html"),
        (status = "default", description = "a problem", body = crate::problem::ProblemBody<'static>,
            content_type = "application/problem+json"),
    ),
)]
pub async fn page(visitor: Visitor, uri: Uri, headers: HeaderMap) -> Response {
    let shown = match &visitor.held {
        Held::Valid(_) => look(&visitor).await,
        Held::Nothing | Held::Forged if is_over(&uri) => PageState::Over,
        Held::Nothing | Held::Forged if is_closed(&visitor) => {
            PageState::Refused(Code::QUEUE_CLOSED)
        }
        Held::Nothing | Held::Forged => PageState::NoPlace,
    };
    let mut response = answer(&visitor, &uri, Words::of(&headers), &shown);
    if visitor.held == Held::Forged
        && let Some(cookie) = visitor.no_cookie()
    {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

/// Whether a join would be refused, as far as is known.
fn is_closed(visitor: &Visitor) -> bool {
    visitor
        .queue
        .latest
        .get()
        .is_some_and(|seen| StateView::from(seen.snapshot.state) == StateView::Closed)
}

async fn look(visitor: &Visitor) -> PageState {
    let place = async {
        let of = visitor.holder()?.place;
        visits::place(&visitor.queue, of).await
    };
    match place.await {
        Ok(place) => PageState::Place(visits::view(&visitor.queue, &place).into()),
        Err(problem) if problem.gone_reason() == Some(GoneReason::Completed) => PageState::Over,
        Err(problem) if problem.code() == Code::PLACE_GONE => PageState::Gone,
        Err(problem) => PageState::Kept(problem.retry_delay()),
    }
}

/// Submit a button of the waiting page.
///
/// For browsers without JavaScript. Joins the queue. On a page without `return_to` also enters
/// (`step=claim`) and finishes (`step=finish`).
#[utoipa::path(
    post, path = "/queues/{queue}", tag = "page", operation_id = "join_by_form",
    params(
        ("return_to" = Option<String>, Query, description = "where the page sends the visitor when it is their turn"),
    ),
    request_body(content = String, content_type = "application/x-www-form-urlencoded"),
    security((), ("cookie" = [])),
    responses(
        (status = 303, description = "done; redirects to the page"),
        (status = "default", description = "the page, or a problem", content(
            (String = "text/html"),
            (crate::problem::ProblemBody<'static> = "application/problem+json"),
        )),
    ),
)]
pub async fn join(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    uri: Uri,
    request: Request,
) -> Result<Response, Problem> {
    visitor.may_change()?;
    // Takes the dead cookie away; the next press of the button joins.
    if visitor.held == Held::Forged {
        return Ok(back(&visitor, &uri, visitor.no_cookie()));
    }
    let words = Words::of(request.headers());
    let (parts, body) = request.into_parts();
    let form = whole_body(&parts.headers, body, &app).await?;
    if let Some(step) = FormStep::of(&form) {
        return visit(&visitor, &uri, words, step).await;
    }
    let joined = match held(&visitor).await {
        Ok(Some(held)) => Ok(held),
        Ok(None) => visits::join_from(&app, &visitor, form_identity(&visitor, &form))
            .await
            .map(|joined| (joined, None)),
        Err(problem) if problem.code() == Code::ASSERTION_MISSING => Err(problem),
        Err(problem) => return Ok(kept(&visitor, &uri, words, &problem)),
    };
    match joined {
        Ok((joined, visitor_id)) => {
            let token = joined.token(&app, &visitor.queue, visitor_id);
            Ok(back(&visitor, &uri, Some(visitor.cookie(&token)?)))
        }
        Err(problem) => Ok(match wanted(&visitor, &uri) {
            // Where the visitor came from, the backend can sign a new identity.
            Some(to) if problem.code() == Code::ASSERTION_MISSING => see(&to, None),
            _ => failed(&visitor, &uri, words, &problem, &PageState::Refused(problem.code())),
        }),
    }
}

/// The page that says that the place is kept, whatever else did not work.
fn kept(visitor: &Visitor, uri: &Uri, words: &'static Words, problem: &Problem) -> Response {
    failed(visitor, uri, words, problem, &PageState::Kept(problem.retry_delay()))
}

/// The page that says what did not work.
fn failed(
    visitor: &Visitor,
    uri: &Uri,
    words: &'static Words,
    problem: &Problem,
    shown: &PageState,
) -> Response {
    let mut response = answer(visitor, uri, words, shown);
    *response.status_mut() = problem.code().status();
    if let Some(after) = problem.retry_delay() {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(whole_seconds(after)));
    }
    response
}

/// What the form can do with a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FormStep {
    Claim,
    Finish,
}

impl FormStep {
    fn of(form: &[u8]) -> Option<Self> {
        let (_, step) = url::form_urlencoded::parse(form).find(|(name, _)| name == "step")?;
        match &*step {
            "claim" => Some(Self::Claim),
            "finish" => Some(Self::Finish),
            _ => None,
        }
    }
}

/// Takes the turn or finishes, and goes back to the page, which shows the new state. A visitor
/// whose place has ended does not get a new one by this.
async fn visit(
    visitor: &Visitor,
    uri: &Uri,
    words: &'static Words,
    step: FormStep,
) -> Result<Response, Problem> {
    let done = match (&visitor.held, step) {
        (Held::Nothing, _) => Ok(()),
        (_, FormStep::Claim) => {
            visits::claim(&visitor.queue, visitor.holder()?.place).await.map(drop)
        }
        (_, FormStep::Finish) => visits::leave(&visitor.queue, visitor.holder()?.place).await,
    };
    match (done, step) {
        (Err(problem), _) if !matches!(problem.code(), Code::NOT_READY | Code::PLACE_GONE) => {
            Ok(kept(visitor, uri, words, &problem))
        }
        (_, FormStep::Claim) => Ok(back(visitor, uri, None)),
        (_, FormStep::Finish) => {
            let over = format!("{}?{OVER}", visitor.queue.name());
            Ok(see(&over, visitor.no_cookie()))
        }
    }
}

/// The key that the form carries makes two presses of the button one join.
fn form_identity(visitor: &Visitor, form: &[u8]) -> Option<PlaceId> {
    form_key(form).map(|key| PlaceId::of_key(visitor.queue.name(), key.as_bytes()))
}

/// The key in the body of a form; `None` when there is none, or one that can be guessed.
pub fn form_key(body: &[u8]) -> Option<Cow<'_, str>> {
    let (_, key) = url::form_urlencoded::parse(body).find(|(name, _)| name == "key")?;
    is_strong_key(key.as_bytes()).then_some(key)
}

fn answer(visitor: &Visitor, uri: &Uri, words: &'static Words, shown: &PageState) -> Response {
    let queue = &visitor.queue;
    let return_to = wanted(visitor, uri);
    let seen = queue.latest.get();
    let snapshot = seen.as_ref().map(|seen| &seen.snapshot);
    let page = Page {
        queue: queue.name(),
        title: queue.config.title.as_deref(),
        words,
        state: snapshot.map_or(StateView::Open, |snapshot| snapshot.state.into()),
        paused_by: snapshot.and_then(paused_by),
        reason: snapshot.and_then(|snapshot| snapshot.reason.as_deref()),
        action: &here(queue.name(), return_to.as_deref()),
        return_to: return_to.as_deref(),
        shown,
    };
    let mut response = page.response();
    if let Some(after) = page.refresh() {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(whole_seconds(after)));
    }
    response
}

/// Back to the page, by a GET.
fn back(visitor: &Visitor, uri: &Uri, cookie: Option<HeaderValue>) -> Response {
    see(&here(visitor.queue.name(), wanted(visitor, uri).as_deref()), cookie)
}

/// To another page, by a GET.
fn see(to: &str, cookie: Option<HeaderValue>) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    if let Ok(to) = HeaderValue::try_from(to) {
        response.headers_mut().insert(LOCATION, to);
    }
    if let Some(cookie) = cookie {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

/// This page, seen from itself: whatever host and path the visitor came by, the cookie is there.
fn here(queue: &str, return_to: Option<&str>) -> String {
    with_return_to(queue.to_owned(), return_to)
}

/// In the page's address: the visit that was here is over.
const OVER: &str = "over";

fn is_over(uri: &Uri) -> bool {
    let query = uri.query().unwrap_or_default().as_bytes();
    url::form_urlencoded::parse(query).any(|(name, _)| name == OVER)
}

/// Where the visitor wants to go on to, if it may.
fn wanted(visitor: &Visitor, uri: &Uri) -> Option<String> {
    let query = uri.query()?.as_bytes();
    let (_, wanted) = url::form_urlencoded::parse(query).find(|(name, _)| name == "return_to")?;
    visitor.queue.return_to.parse(&wanted)
}
