//! The waiting page, which works without a script.
//!
//! A GET never joins. Without JavaScript a button joins and `meta refresh` keeps the page current.
//! With it the page joins by itself, follows its place by events, takes the turn and goes on to
//! `return_to`. Without a `return_to` the visit is on the page itself: it shows the time left, and
//! has a button that finishes. All that comes from outside is escaped. The Content-Security-Policy
//! lets nothing run but the scripts that it names.

mod address;
mod assets;
mod colours;
mod languages;
pub mod preview;
mod render;
mod views;

use std::borrow::Cow;
use std::sync::Arc;

use anteroom_authorize::durations::whole_seconds;
use anteroom_authorize::problem::{Code, Problem};
use anteroom_authorize::queue::state::QueueState;
use anteroom_authorize::queue::visitor::{Held, Visitor};
use anteroom_authorize::queue::visits;
use anteroom_config::PageConfig;
use anteroom_core::queue::{GoneReason, PlaceId};
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use http::header::{HOST, HeaderValue, LOCATION, RETRY_AFTER, SET_COOKIE};
use http::{HeaderMap, StatusCode, Uri};

use self::address::{Address, OVER};
use self::assets::Assets;
use self::languages::Language;
use self::render::Page;
use self::views::View;
use super::caller::ByVisitor;
use super::calls::{held, is_strong_key};
use super::views::place::view;
use super::views::queue::StateView;
use crate::app::App;
use crate::http::extract::{At, whole_body};

/// What the page of one queue is made of.
#[derive(Debug)]
pub struct QueuePage {
    assets: Assets,
    /// The languages that it can have; the first is the fallback.
    languages: Vec<&'static Language>,
}

impl QueuePage {
    pub fn new(config: &PageConfig) -> Self {
        let chosen = config.languages.iter().filter_map(|it| Language::named(it.tag()));
        let mut languages: Vec<_> = chosen.collect();
        if languages.is_empty() {
            languages.extend(Language::all());
        }
        Self { assets: Assets::new(config, config.theme), languages }
    }
}

/// Show the waiting page.
#[utoipa::path(
    get, path = "/queues/{queue}", tag = "page",
    params(
        ("return_to" = Option<String>, Query, description = "where the page sends the visitor when it is their turn"),
        ("over" = Option<String>, Query,
            description = "the finish button leads here: a visitor without a place reads that the \
                visit is over"),
        ("lang" = Option<String>, Query, example = "ja"),
    ),
    security((), ("cookie" = [])),
    responses(
        (status = 200, description = "the page", body = String, content_type = "text/html"),
        (status = "default", description = "a problem", body = anteroom_authorize::problem::ProblemBody<'static>,
            content_type = "application/problem+json"),
    ),
)]
pub async fn page(
    State(app): State<Arc<App>>,
    ByVisitor(visitor): ByVisitor,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let address = Address::of(&app, &visitor.queue, &uri);
    let view = match &visitor.held {
        Held::Valid(_) => look(&visitor, &address).await,
        Held::Nothing | Held::Forged if address.is_over => View::finished(),
        Held::Nothing | Held::Forged => without_place(&visitor),
    };
    let mut response = answer(&visitor, &address, &headers, &view);
    if visitor.held == Held::Forged
        && let Some(cookie) = visitor.no_cookie()
    {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

/// Get a file of the waiting page.
///
/// The name of a file has the digest of its content, so it never changes: keep it for ever.
#[utoipa::path(
    get, path = "/queues/{queue}/assets/{file}", tag = "page", operation_id = "asset",
    responses(
        (status = 200, description = "the file", content(
            (String = "text/javascript"), (String = "text/css"), (String = "image/svg+xml"),
            (String = "image/png"),
        )),
        (status = "default", description = "a problem", body = anteroom_authorize::problem::ProblemBody<'static>,
            content_type = "application/problem+json"),
    ),
)]
pub async fn asset(
    State(app): State<Arc<App>>,
    At(queue): At<QueueState>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    // The names of files have nothing that is encoded.
    let file = uri.path().rsplit('/').next().unwrap_or_default();
    app.page(&queue).assets.answer(file, &headers).ok_or_else(|| Problem::new(Code::NOT_FOUND))
}

/// Whether a visitor without a place could join, as far as is known.
fn without_place(visitor: &Visitor) -> View {
    let view = visitor.queue.latest.map(|seen| {
        let reason = seen.snapshot.reason.clone();
        match StateView::from(seen.snapshot.state) {
            StateView::Closed => match seen.until(seen.snapshot.rules.joins_at) {
                Some(joins_in) => View::not_open(joins_in, reason),
                None => View::closed(reason),
            },
            _ => View::no_place(reason),
        }
    });
    view.unwrap_or_else(|| View::no_place(None))
}

async fn look(visitor: &Visitor, address: &Address) -> View {
    let place = async {
        let of = visitor.holder()?.place;
        visits::look(&visitor.queue, of).await
    };
    match place.await {
        Ok(place) => View::place(&view(&visitor.queue, &place), address.return_to.is_some()),
        Err(problem) if problem.code() == Code::PLACE_GONE => {
            View::ended(problem.gone_reason().unwrap_or(GoneReason::Ended))
        }
        Err(problem) => View::kept(problem.retry_delay()),
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
            (anteroom_authorize::problem::ProblemBody<'static> = "application/problem+json"),
        )),
    ),
)]
pub async fn join(
    State(app): State<Arc<App>>,
    ByVisitor(visitor): ByVisitor,
    uri: Uri,
    request: Request,
) -> Result<Response, Problem> {
    visitor.may_change()?;
    let address = Address::of(&app, &visitor.queue, &uri);
    // Takes the dead cookie away; the next press of the button joins.
    if visitor.held == Held::Forged {
        return Ok(back(&visitor, &address, visitor.no_cookie()));
    }
    let (parts, body) = request.into_parts();
    let form = whole_body(&parts.headers, body, &app).await?;
    if let Some(step) = FormStep::of(&form) {
        return visit(&visitor, &address, &parts.headers, step).await;
    }
    let joined = match held(&visitor).await {
        Ok(Some(held)) => Ok(held),
        Ok(None) => visits::join_from(&app.process, &visitor, form_identity(&visitor, &form))
            .await
            .map(|joined| (joined, None)),
        Err(problem) if problem.code() == Code::ASSERTION_MISSING => Err(problem),
        Err(problem) => return Ok(kept(&visitor, &address, &parts.headers, &problem)),
    };
    match joined {
        Ok((joined, visitor_id)) => {
            let token = joined.token(&app.process, &visitor.queue, visitor_id);
            Ok(back(&visitor, &address, Some(visitor.cookie(&token)?)))
        }
        Err(problem) => Ok(match &address.return_to {
            // Where the visitor came from, the backend can sign a new identity.
            Some(to) if problem.code() == Code::ASSERTION_MISSING => see(to, None),
            _ => failed(&visitor, &address, &parts.headers, &problem, &refused(&visitor, &problem)),
        }),
    }
}

/// Why a join did not work.
fn refused(visitor: &Visitor, problem: &Problem) -> View {
    let reason = visitor.queue.latest.map(|seen| seen.snapshot.reason.clone());
    match problem.code() {
        // It may not have opened yet.
        Code::QUEUE_CLOSED => match without_place(visitor) {
            view if view.clock.is_some() => view,
            _ => View::closed(reason.flatten()),
        },
        code => View::refused(code),
    }
}

/// The page that says that the place is kept, whatever else did not work.
fn kept(visitor: &Visitor, address: &Address, headers: &HeaderMap, problem: &Problem) -> Response {
    failed(visitor, address, headers, problem, &View::kept(problem.retry_delay()))
}

/// The page that says what did not work.
fn failed(
    visitor: &Visitor,
    address: &Address,
    headers: &HeaderMap,
    problem: &Problem,
    view: &View,
) -> Response {
    let mut response = answer(visitor, address, headers, view);
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
    Leave,
}

impl FormStep {
    fn of(form: &[u8]) -> Option<Self> {
        let (_, step) = url::form_urlencoded::parse(form).find(|(name, _)| name == "step")?;
        match &*step {
            "claim" => Some(Self::Claim),
            "finish" => Some(Self::Finish),
            "leave" => Some(Self::Leave),
            _ => None,
        }
    }
}

/// Takes the turn or finishes, and goes back to the page, which shows the new state. A visitor
/// whose place has ended does not get a new one by this.
async fn visit(
    visitor: &Visitor,
    address: &Address,
    headers: &HeaderMap,
    step: FormStep,
) -> Result<Response, Problem> {
    let done = match (&visitor.held, step) {
        (Held::Nothing, _) => Ok(()),
        (_, FormStep::Claim) => {
            visits::claim(&visitor.queue, visitor.holder()?.place).await.map(drop)
        }
        (_, FormStep::Finish | FormStep::Leave) => {
            visits::leave(&visitor.queue, visitor.holder()?.place).await
        }
    };
    match (done, step) {
        (Err(problem), _) if !matches!(problem.code(), Code::NOT_READY | Code::PLACE_GONE) => {
            Ok(kept(visitor, address, headers, &problem))
        }
        (_, FormStep::Claim) => Ok(back(visitor, address, None)),
        (_, FormStep::Finish) => {
            let over = format!("{}?{OVER}", visitor.queue.name());
            Ok(see(&over, visitor.no_cookie()))
        }
        // The cookie stays: with it the page shows that the visitor has left.
        (_, FormStep::Leave) => Ok(back(visitor, address, None)),
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

fn answer(visitor: &Visitor, address: &Address, headers: &HeaderMap, view: &View) -> Response {
    let queue = &visitor.queue;
    let languages = address.page.languages.as_slice();
    let preferred = || *Language::preferred(headers, languages);
    let page = Page {
        queue: queue.name(),
        config: &queue.config,
        language: address.language.unwrap_or_else(preferred),
        languages,
        claim_ttl: queue.in_force(|rules| rules.claim_ttl),
        action: &address.here(queue.name()),
        return_to: address.return_to.as_deref(),
        assets: &address.page.assets,
        host: headers.get(HOST).and_then(|host| host.to_str().ok()),
        view,
        is_preview: false,
    };
    let mut response = page.response();
    if let Some(after) = view.look_after {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(whole_seconds(after)));
    }
    response
}

/// Back to the page, by a GET.
fn back(visitor: &Visitor, address: &Address, cookie: Option<HeaderValue>) -> Response {
    see(&address.here(visitor.queue.name()), cookie)
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
