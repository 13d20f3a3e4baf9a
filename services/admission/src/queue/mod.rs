//! The queue over HTTP: what visitors, gateways, browsers, backends and operators call.

pub mod active_cache;
pub mod backend;
pub mod calls;
pub mod fail_open;
pub mod gate;
pub mod hot;
pub mod latest;
pub mod metrics;
pub mod operator;
pub mod overrides;
pub mod places;
pub mod problems;
pub mod return_to;
pub mod state;
pub mod stream;
pub mod streams;
pub mod views;
pub mod visitor;
pub mod visits;
pub mod waiting_page;

use std::sync::Arc;

use anteroom_core::queue::{MAX_PLACES, MAX_TICKET, Status};
use axum::middleware::from_fn;
use axum::routing::any;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouterExt as _};
use utoipa_axum::routes;

use self::places::DEFAULT_PLACES;
use crate::app::App;
use crate::http::audit::Audit;
use crate::http::document;
use crate::queue::state::QueueState;

/// These operations take an empty body for `{}`.
const MAY_BE_EMPTY: &[&str] = &["join", "join_by_form", "override_rules"];

/// What visitors, gateways and browsers call.
pub fn public() -> OpenApiRouter<Arc<App>> {
    let mut routes = OpenApiRouter::new()
        .routes(routes!(calls::join))
        .routes(routes!(calls::place, calls::leave))
        .routes(routes!(stream::events))
        .routes(routes!(calls::claim))
        .routes(routes!(calls::renew))
        .routes(routes!(calls::state))
        .routes(routes!(waiting_page::page, waiting_page::join))
        .route(gate::PLAIN, any(gate::authorize))
        .route(gate::BEHIND, any(gate::authorize_behind))
        .route(gate::BEHIND_ROOT, any(gate::authorize_behind));
    let document = routes.get_openapi_mut();
    document::add::<gate::__path_authorize>(document);
    document::add::<gate::__path_authorize_behind>(document);
    document::complete(document, parameter, MAY_BE_EMPTY);
    routes
}

/// What backends and operators call.
pub fn service(audit: &Audit) -> OpenApiRouter<Arc<App>> {
    let audited = |operation| {
        let audit = audit.clone();
        from_fn(move |request, next| audit.clone().answer::<QueueState>(operation, request, next))
    };
    let mut routes = OpenApiRouter::new()
        .routes(routes!(backend::join))
        .routes(routes!(backend::renew))
        .routes(routes!(backend::finish))
        .routes(routes!(backend::state))
        .routes(routes!(operator::look).layer(audited("queue.snapshot")))
        .routes(routes!(operator::change).layer(audited("queue.override_rules")))
        .routes(routes!(operator::purge).layer(audited("queue.purge")))
        .routes(routes!(operator::reset).layer(audited("queue.reset")))
        .routes(routes!(places::places).layer(audited("queue.places")))
        .routes(routes!(operator::inspect).layer(audited("queue.inspect")))
        .routes(routes!(operator::evict).layer(audited("queue.evict")));
    document::complete(routes.get_openapi_mut(), parameter, MAY_BE_EMPTY);
    routes
}

/// What the parameters of these names look like, in whichever of the queue's calls they stand.
fn parameter(name: &str) -> Option<ObjectBuilder> {
    let text = ObjectBuilder::new().schema_type(Type::String);
    Some(match name {
        "queue" => text.pattern(Some("^[a-z0-9-]{1,40}$")),
        "place" => text.pattern(Some("^[A-Za-z0-9_-]{40}$")),
        "Idempotency-Key" => text.pattern(Some("^[!-~]{22,128}$")),
        "ticket" => ObjectBuilder::new()
            .schema_type(Type::Integer)
            .minimum(Some(1))
            .maximum(Some(MAX_TICKET as f64)),
        "state" => text.enum_values(Some(Status::ALL.map(Status::name))),
        "after" => ObjectBuilder::new()
            .schema_type(Type::Integer)
            .minimum(Some(0))
            .maximum(Some(MAX_TICKET as f64)),
        "limit" => ObjectBuilder::new()
            .schema_type(Type::Integer)
            .minimum(Some(1))
            .maximum(Some(MAX_PLACES as f64))
            .default(Some(DEFAULT_PLACES.into())),
        _ => return None,
    })
}
