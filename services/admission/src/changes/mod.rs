//! The log of changes over HTTP: what operators changed of an entity of any kind.

pub mod views;

use std::sync::Arc;

use anteroom_authorize::problem::edge::CALLER;
use anteroom_authorize::problem::store::STORE;
use anteroom_authorize::problem::{Code, Problem};
use anteroom_config::Scope;
use anteroom_core::changes::{Changes, MAX_CHANGE_ID, MAX_CHANGES};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::Uri;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::views::ChangesView;
use crate::app::App;
use crate::entities::{Listed, Served};
use crate::http::audit::{Audit, Subject};
use crate::http::caller::AnyViewer;
use crate::http::document::problems;
use crate::http::pagination::{Parameters, ParsedQuery, Query};

/// How many changes a page shows by default.
pub const DEFAULT_CHANGES: u64 = 50;
/// The parameter that names the entity.
const ENTITY: &str = "entity";

problems! {
    /// Refusals of a call that reads the log of changes.
    ChangesProblems: CALLER, &[Code::BAD_REQUEST, Code::UNKNOWN_QUEUE, Code::UNKNOWN_EVENT,
        Code::UNKNOWN_POOL, Code::UNKNOWN_LIMIT, Code::UNKNOWN_TARGET], STORE;
}

/// The calls that are about entities of any kind.
pub fn service(audit: &Audit) -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(audit.about("changes", subject, routes!(changes)))
}

/// The entity and the page of its log to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangesPage {
    entity: Scope,
    before: Option<u64>,
    limit: u64,
}

impl Query for ChangesPage {
    const NAMES: &'static [&'static str] = &[ENTITY, "before", "limit"];

    fn of(parameters: &Parameters<'_>) -> Result<Self, String> {
        let entity = parameters.text(ENTITY).unwrap_or_default().parse::<Scope>();
        let before = parameters.number("before", 1, MAX_CHANGE_ID, 1)?;
        Ok(Self {
            entity: entity.map_err(|rule| format!("{ENTITY} {rule}"))?,
            before: parameters.text("before").map(|_| before),
            limit: parameters.number("limit", 1, MAX_CHANGES, DEFAULT_CHANGES)?,
        })
    }
}

/// List the changes of an entity.
///
/// What operators changed of a queue, limit, event or pool, newest first. Each call that took
/// effect has one entry with the fields that it changed. For the next page, send `next` as
/// `before`, until `next` is null. Redis keeps the newest 1 000 of each queue, event and pool, and
/// of each of the 16 hash tags of a limit. A target has none.
#[utoipa::path(
    get, path = "/v1/admin/changes", tag = "operators", operation_id = "list_changes",
    params(
        ("entity" = String, Query,
            description = "the entity as SECTION:NAME, such as `queues:concert`; the section is \
                           queues, events, pools, limits or targets",
            pattern = "^(queues|events|pools|limits|targets):[a-z0-9-]{1,40}$"),
        ("before" = Option<u64>, Query,
            description = "only changes with smaller ids: `next` of the page before",
            minimum = 1, maximum = 9_007_199_254_740_991_u64),
        ("limit" = Option<u64>, Query,
            description = "the maximum number on the page; 50 if you leave it out",
            minimum = 1, maximum = 200),
    ),
    responses((status = 200, description = "the changes", body = ChangesView), ChangesProblems),
)]
pub async fn changes(
    State(app): State<Arc<App>>,
    viewer: AnyViewer,
    ParsedQuery(page): ParsedQuery<ChangesPage>,
) -> Result<Response, Problem> {
    let found = changes_of_any(&app, &viewer, &page).await?;
    Ok(Json(ChangesView::from(found)).into_response())
}

/// The entity that a query names, for the audit log.
fn subject(uri: &Uri) -> Option<Subject> {
    let query = uri.query().unwrap_or_default().as_bytes();
    let (_, entity) = url::form_urlencoded::parse(query).find(|(name, _)| name == ENTITY)?;
    let Scope { section, name } = entity.parse().ok()?;
    Some(Subject { kind: kind_in(&section)?, name })
}

/// The changes of an entity of this kind, for a caller that may see it.
async fn changes_of<T: Listed>(
    app: &App,
    viewer: &AnyViewer,
    ChangesPage { entity, before, limit }: &ChangesPage,
) -> Result<Changes, Problem> {
    let found = viewer.entity::<T>(app, &entity.name)?;
    Ok(found.changes(app, *before, *limit).await?)
}

macro_rules! define_sections {
    (; $(($module:ident $handle:ident $name:ident $section:ident))+) => {
        /// The name of the kind of a section.
        fn kind_in(section: &str) -> Option<&'static str> {
            match section {
                $(stringify!($section) => Some(stringify!($name)),)+
                _ => None,
            }
        }

        /// [`changes_of`] an entity of the kind of its section.
        async fn changes_of_any(
            app: &App,
            viewer: &AnyViewer,
            page: &ChangesPage,
        ) -> Result<Changes, Problem> {
            match &*page.entity.section {
                $(stringify!($section) => {
                    type State = <anteroom_core::$module::$handle as Served>::State;
                    changes_of::<State>(app, viewer, page).await
                })+
                // Each scope has one of the sections.
                _ => Err(Problem::new(Code::BAD_REQUEST)),
            }
        }
    };
}

anteroom_core::kinds!(define_sections! {});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_names_an_entity_and_a_part_of_its_log() {
        let page = |section: &str, name: &str, before, limit| {
            let entity = Scope { section: section.to_owned(), name: name.to_owned() };
            Ok(ChangesPage { entity, before, limit })
        };
        assert_eq!(ChangesPage::read("entity=queues:shop"), page("queues", "shop", None, 50));
        assert_eq!(
            ChangesPage::read("limit=200&entity=pools%3Areward&before=7"),
            page("pools", "reward", Some(7), 200)
        );
        for (query, rule) in [
            ("", "entity must be SECTION:NAME such as \"pools:reward\""),
            ("entity=shop", "entity must be SECTION:NAME"),
            ("entity=queue:shop", "entity must be SECTION:NAME"),
            ("entity=queues:Shop", "entity must be SECTION:NAME"),
            ("entity=queues:", "entity must be SECTION:NAME"),
            ("entity=queues:a&entity=queues:b", "entity must come once"),
            ("entity=queues:a&before=0", "before must be a whole number from 1"),
            ("entity=queues:a&before=", "before must be a whole number from 1"),
            ("entity=queues:a&limit=0", "limit must be a whole number from 1 to 200"),
            ("entity=queues:a&limit=201", "limit must be a whole number from 1 to 200"),
            ("entity=queues:a&after=1", "unknown parameter `after`"),
        ] {
            let refused = ChangesPage::read(query).expect_err(query);
            assert!(refused.starts_with(rule), "{query}: {refused}");
        }
    }

    #[test]
    fn the_audit_log_learns_the_entity_of_a_query() {
        let of = |query: &str| {
            let uri = format!("/v1/admin/changes?{query}").parse().expect("an address");
            subject(&uri).map(|Subject { kind, name }| (kind, name))
        };
        assert_eq!(of("limit=0&entity=targets:pay"), Some(("target", "pay".to_owned())));
        assert_eq!(of("entity=limits%3Alogin"), Some(("limit", "login".to_owned())));
        assert_eq!(of("entity=Ana-4711"), None);
        assert_eq!(of(""), None);
    }
}
