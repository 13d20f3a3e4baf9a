//! The page as operators see it before visitors do.

#![expect(unused_qualifications, reason = "the macro of the document writes them")]

use std::sync::Arc;

use anteroom_authorize::problem::{Code, Problem};
use anteroom_authorize::queue::state::QueueState;
use anteroom_config::{PAGE_LANGUAGES, PageTheme};
use axum::extract::State;
use axum::response::Response;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use super::assets::Assets;
use super::render::Page;
use super::views::{self, View};
use crate::app::App;
use crate::http::caller::Viewer;
use crate::http::pagination::{Parameters, ParsedQuery, Query};
use crate::queue::one_of;
use crate::queue::overrides::field;
use crate::queue::problems::PreviewProblems;

/// Which page to show.
pub struct Wanted {
    state: String,
    reason: Option<String>,
    lang: Option<String>,
    theme: Option<String>,
}

impl Query for Wanted {
    const NAMES: &'static [&'static str] = &["state", "reason", "lang", "theme"];

    fn of(parameters: &Parameters<'_>) -> Result<Self, String> {
        let text = |name| parameters.text(name).map(str::to_owned);
        Ok(Self {
            state: text("state").unwrap_or_else(|| "waiting".to_owned()),
            reason: text("reason"),
            lang: text("lang"),
            theme: text("theme"),
        })
    }
}

/// The name of a view, for the document.
struct StateName;

impl PartialSchema for StateName {
    fn schema() -> RefOr<Schema> {
        one_of(views::names()).into()
    }
}

impl ToSchema for StateName {}

/// A language that a page can have, for the document.
struct LanguageTag;

impl PartialSchema for LanguageTag {
    fn schema() -> RefOr<Schema> {
        one_of(PAGE_LANGUAGES.iter().copied()).into()
    }
}

impl ToSchema for LanguageTag {}

/// Preview the waiting page.
///
/// Returns the page with sample values and all its files in it, so that you can save and open it.
#[utoipa::path(
    get, path = "/v1/admin/queues/{queue}/preview", tag = "operators", operation_id = "preview",
    params(
        ("state" = inline(Option<StateName>), Query, example = "waiting",
            description = "what the page shows"),
        ("reason" = Option<String>, Query, example = "We are back in a few minutes."),
        ("lang" = inline(Option<LanguageTag>), Query, example = "ja",
            description = "the language; without it the first of the page"),
        ("theme" = Option<String>, Query, example = "dark"),
    ),
    responses(
        (status = 200, description = "the page", body = String, content_type = "text/html"),
        PreviewProblems,
    ),
)]
pub async fn preview(
    State(app): State<Arc<App>>,
    Viewer { entity: queue, .. }: Viewer<QueueState>,
    ParsedQuery(wanted): ParsedQuery<Wanted>,
) -> Result<Response, Problem> {
    if let Some(reason) = wanted.reason.as_deref().filter(|reason| !reason.is_empty()) {
        let rule = field::check_reason(reason);
        rule.map_err(|must| Problem::invalid_value(format!("reason {must}")))?;
    }
    let in_force = queue.latest.map(|seen| seen.snapshot.reason.clone()).flatten();
    let reason = wanted.reason.or(in_force);
    let reason = reason.as_deref().unwrap_or("We continue at 14:30.");
    let view = View::sample(&wanted.state, Some(reason).filter(|it| !it.is_empty()));
    let view = view.ok_or_else(|| unknown("state", views::names()))?;
    let page = app.page(&queue);
    let languages = page.languages.as_slice();
    let language = match &wanted.lang {
        None => languages.first().copied(),
        Some(tag) => languages.iter().find(|language| language.tag == *tag).copied(),
    };
    let tags = languages.iter().map(|language| language.tag);
    let language = language.ok_or_else(|| unknown("lang", tags))?;
    let theme = match wanted.theme.as_deref() {
        None => queue.config.page.theme,
        Some("auto") => PageTheme::Auto,
        Some("light") => PageTheme::Light,
        Some("dark") => PageTheme::Dark,
        Some(_) => return Err(unknown("theme", ["auto", "light", "dark"])),
    };
    let page = Page {
        queue: queue.name(),
        config: &queue.config,
        language,
        languages,
        claim_ttl: queue.in_force(|rules| rules.claim_ttl),
        action: "#",
        return_to: Some("#").filter(|_| view.shows("go_on")),
        assets: &Assets::new(&queue.config.page, theme),
        host: None,
        view: &view,
        is_preview: true,
    };
    Ok(page.response())
}

fn unknown<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Problem {
    let known = known.into_iter().collect::<Vec<_>>().join(", ");
    Problem::new(Code::INVALID_VALUE).detail(format!("{name} must be one of {known}"))
}
