//! The queue over HTTP: what visitors, gateways, browsers, backends and operators call.

pub mod authorize;
pub mod backend;
pub mod board;
pub mod caller;
pub mod calls;
pub mod find;
pub mod history;
pub mod hot;
pub mod operator;
pub mod overrides;
pub mod places;
pub mod problems;
mod revision;
mod state;
pub mod stream;
pub mod stream_slots;
pub mod views;
pub mod waiting_page;

use std::sync::Arc;

use anteroom_core::queue::{MAX_PLACES, MAX_TICKET, Status};
use axum::routing::any;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::overrides::field;
use self::places::DEFAULT_PLACES;
use crate::app::App;
use crate::entities::{Hot, Routes};
use crate::http::audit::Audit;
use crate::http::document::{self, name, number, text};
use crate::http::route::RouteInfo;
pub use anteroom_authorize::queue::QueueState;

impl Routes for QueueState {
    const HOT: Hot = Hot { public: hot::PUBLIC, service: hot::SERVICE };
    const INFO: &[(&str, RouteInfo)] = &[
        (authorize::PLAIN, RouteInfo::GATE),
        (authorize::BEHIND, RouteInfo::GATE),
        (authorize::BEHIND_ROOT, RouteInfo::GATE),
        (board::BOARD, RouteInfo::SHARED),
    ];
    const MAY_BE_EMPTY: &[&str] = &["join", "join_by_form", "override_rules"];

    fn public() -> OpenApiRouter<Arc<App>> {
        let mut routes = OpenApiRouter::new()
            .routes(routes!(calls::join))
            .routes(routes!(calls::place, calls::leave))
            .routes(routes!(stream::events))
            .routes(routes!(calls::claim))
            .routes(routes!(calls::renew))
            .routes(routes!(calls::state))
            .routes(routes!(board::board))
            .routes(routes!(waiting_page::page, waiting_page::join))
            .routes(routes!(waiting_page::asset))
            .route(authorize::PLAIN, any(authorize::authorize))
            .route(authorize::BEHIND, any(authorize::authorize_behind))
            .route(authorize::BEHIND_ROOT, any(authorize::authorize_behind));
        let document = routes.get_openapi_mut();
        document::add::<authorize::__path_authorize>(document);
        document::add::<authorize::__path_authorize_behind>(document);
        routes
    }

    fn service(audit: &Audit) -> OpenApiRouter<Arc<App>> {
        OpenApiRouter::new()
            .routes(routes!(backend::join))
            .routes(routes!(backend::renew))
            .routes(routes!(backend::finish))
            .routes(routes!(backend::state))
            .routes(audit.around::<Self>("queue.snapshot", routes!(operator::look)))
            .routes(audit.around::<Self>("queue.preview", routes!(waiting_page::preview::preview)))
            .routes(audit.around::<Self>("queue.override_rules", routes!(operator::change)))
            .routes(audit.around::<Self>("queue.purge", routes!(operator::purge)))
            .routes(audit.around::<Self>("queue.reset", routes!(operator::reset)))
            .routes(audit.around::<Self>("queue.history", routes!(history::history)))
            .routes(audit.around::<Self>("queue.places", routes!(places::places)))
            .routes(audit.around::<Self>("queue.inspect", routes!(operator::inspect)))
            .routes(audit.around::<Self>("queue.find", routes!(find::find)))
            .routes(audit.around::<Self>("queue.evict", routes!(operator::evict)))
    }

    fn parameter(name: &str) -> Option<(&'static str, ObjectBuilder)> {
        let of_line = |limit: ObjectBuilder| limit.default(Some(DEFAULT_PLACES.into()));
        Some(match name {
            "queue" => ("name of the queue", self::name()),
            "place" => (
                "the place handle: the `x-anteroom-place` header of authorize",
                text("^[A-Za-z0-9_-]{40}$"),
            ),
            "lang" => (
                "the language of the page, instead of its own choice; the page ignores other values",
                ObjectBuilder::new().schema_type(Type::String),
            ),
            "theme" => {
                ("the theme, instead of the configured one", one_of(["auto", "light", "dark"]))
            }
            "reason" => (
                "a reason that is not in force yet; without it: the reason in force, or a sample; \
                 empty: no reason",
                field::schema(field::reason_rule(), false)
                    .description(None::<String>)
                    .min_length(None)
                    .pattern(Some(r"^[^\u0000-\u001f\u007f-\u009f]*$")),
            ),
            "file" => (
                "the name of a file, as the page has it",
                text("^[a-z]+(?:-[0-9]+)?-[A-Za-z0-9_-]{12}\\.[a-z]+$"),
            ),
            "Idempotency-Key" => (
                "at least 128 random bits, made before the join; keep it as secret as the token",
                text("^[!-~]{22,128}$"),
            ),
            "If-Match" => (
                "the `ETag` of the rules that this change is for; `*` or absent: of any",
                text("^(\\*|\"[0-9]{1,16}-[0-9]{1,16}-[0-9]{1,2}\")$"),
            ),
            "x-anteroom-position" => (
                "the `position` of your last answer with this ticket: the new one is never above it",
                number(0, MAX_TICKET),
            ),
            "ticket" => ("the ticket number", number(1, MAX_TICKET)),
            "state" => ("only places in this state", one_of(Status::ALL.map(Status::name))),
            "after" => (
                "the page begins after this ticket: `next` of the page before",
                number(0, MAX_TICKET),
            ),
            "limit" => ("the maximum number on the page", of_line(number(1, MAX_PLACES))),
            _ => return None,
        })
    }
}

/// A parameter that is one of these words.
fn one_of<'a>(words: impl IntoIterator<Item = &'a str>) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words))
}
