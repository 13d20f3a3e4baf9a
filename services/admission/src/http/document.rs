//! How refusals stand in the API document: made from the one table, so that the two agree.

use std::collections::BTreeMap;

use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::response::{Response, ResponseBuilder};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{HttpMethod, OpenApi, Ref, RefOr, Required};
use utoipa::{IntoResponses, Modify, Path};

use anteroom_core::queue::{MAX_PLACES, MAX_TICKET, Standing};

use super::queue::places::DEFAULT_PLACES;
use crate::problem::{Code, ProblemBody};

/// What any call may answer, whatever it is.
const ALWAYS: &[Code] = &[Code::BadRequest, Code::Internal, Code::Overloaded, Code::RequestTimeout];
/// What any call of a queue that asks the store may answer as well.
const STORE: &[Code] = &[Code::UnknownQueue, Code::StoreUnavailable, Code::EffectUnknown];

/// The responses of these codes, with what any call to the store may answer.
pub fn problems(codes: &[Code]) -> BTreeMap<String, RefOr<Response>> {
    responses([codes, ALWAYS, STORE].concat(), |code| code.status().as_u16())
}

fn responses(codes: Vec<Code>, status: impl Fn(Code) -> u16) -> BTreeMap<String, RefOr<Response>> {
    let mut names: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    for code in codes {
        let names = names.entry(status(code)).or_default();
        if !names.contains(&code.name()) {
            names.push(code.name());
        }
    }
    let response = |names: Vec<&str>| {
        let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
        ResponseBuilder::new()
            .description(names.join(", "))
            .content("application/problem+json", content)
            .build()
            .into()
    };
    names.into_iter().map(|(status, names)| (status.to_string(), response(names))).collect()
}

/// Declares the refusals of a call.
macro_rules! problems {
    ($($(#[$doc:meta])* $name:ident: $($code:ident),*;)*) => {$(
        $(#[$doc])*
        pub struct $name;

        impl IntoResponses for $name {
            fn responses() -> BTreeMap<String, RefOr<Response>> {
                problems(&[$(Code::$code),*])
            }
        }
    )*};
}

problems! {
    /// Refusals of a join.
    JoinProblems: BadRequest, InvalidBody, TokenInvalid, AssertionInvalid, AssertionMissing, OriginRefused,
        BodyTimeout,
        BodyTooLarge, UnsupportedMediaType, JoinLimited, SlowDown, QueueFull, QueueClosed;
    /// Refusals to who reads a place.
    HolderProblems: TokenMissing, TokenInvalid, PlaceGone, SlowDown;
    /// Refusals of a claim.
    ClaimProblems: TokenMissing, TokenInvalid, OriginRefused, PlaceGone, NotReady, SlowDown;
    /// Refusals of a renewal.
    RenewProblems: TokenMissing, TokenInvalid, OriginRefused, PlaceGone, NotActive, SlowDown;
    /// Refusals of a leave.
    LeaveProblems: TokenMissing, TokenInvalid, OriginRefused, SlowDown;
    /// Refusals to who reads a queue.
    QueueProblems:;
    /// Refusals of a join on a visitor's behalf.
    BackendJoinProblems: KeyMissing, KeyInvalid, KeyForbidden, ForwardedRefused, OriginRefused,
        InvalidBody, InvalidValue, BodyTimeout, BodyTooLarge, UnsupportedMediaType, QueueFull,
        QueueClosed;
    /// Refusals of a renewal by the protected service.
    BackendRenewProblems: KeyMissing, KeyInvalid, KeyForbidden, ForwardedRefused, OriginRefused,
        BadRequest, PlaceGone, NotActive;
    /// Refusals of a finish by the protected service.
    BackendFinishProblems: KeyMissing, KeyInvalid, KeyForbidden, ForwardedRefused, OriginRefused,
        BadRequest;
    /// Refusals of calls with a key that take nothing but the name of a queue.
    KeyProblems: KeyMissing, KeyInvalid, KeyForbidden, ForwardedRefused, OriginRefused;
    /// Refusals of overrides.
    OverrideProblems: KeyMissing, KeyInvalid, KeyForbidden, ForwardedRefused, OriginRefused,
        InvalidBody, InvalidValue, BodyTimeout, BodyTooLarge, UnsupportedMediaType;
    /// Refusals of an operator's look at a ticket, or its eviction.
    TicketProblems: KeyMissing, KeyInvalid, KeyForbidden, ForwardedRefused, OriginRefused,
        BadRequest, NotFound;
}

/// Refusals of a purge, which needs no configured queue.
pub struct PurgeProblems;

impl IntoResponses for PurgeProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        use Code::{
            BadRequest, EffectUnknown, ForwardedRefused, KeyForbidden, KeyInvalid, KeyMissing,
            OriginRefused, QueueConfigured, StoreUnavailable,
        };
        let keys = [KeyMissing, KeyInvalid, KeyForbidden, ForwardedRefused, OriginRefused];
        let own = [BadRequest, QueueConfigured, StoreUnavailable, EffectUnknown];
        responses([&keys[..], &own, ALWAYS].concat(), |code| code.status().as_u16())
    }
}

/// Refusals of a call that asks no store.
pub struct ShellProblems;

impl IntoResponses for ShellProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        responses(ALWAYS.to_vec(), |code| code.status().as_u16())
    }
}

/// Refusals at the gate: 401 and 403, whatever the reason.
pub struct GateProblems;

impl IntoResponses for GateProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let own = [Code::TokenMissing, Code::TokenInvalid, Code::NotAdmitted, Code::PlaceGone];
        let joins = [Code::AssertionMissing, Code::JoinLimited, Code::QueueFull, Code::QueueClosed];
        let codes = [&own[..], &[Code::SlowDown], &joins, ALWAYS, STORE].concat();
        responses(codes, |code| code.gate_status().as_u16())
    }
}

/// The document of the public port.
#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Anteroom: public port",
        description = "Join a queue, wait, pass. Refusals are application/problem+json; decide by `code`.",
        license(name = "Apache-2.0"),
    ),
    components(schemas(ProblemBody)),
    modifiers(&Tokens),
    tags(
        (name = "visitors", description = "What a visitor calls with its token"),
        (name = "gateways", description = "What a gateway asks about a visitor"),
        (name = "page", description = "The waiting page"),
    ),
)]
pub struct Public;

/// The document of the service port.
#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Anteroom: service port",
        description = "For backends and operators. Refusals are application/problem+json; decide by `code`.",
        license(name = "Apache-2.0"),
    ),
    components(schemas(ProblemBody)),
    modifiers(&Keys),
    tags(
        (name = "backends", description = "What the protected service calls"),
        (name = "operators", description = "What operators call"),
    ),
)]
pub struct Service;

/// The ways in which a token travels.
struct Tokens;

impl Modify for Tokens {
    fn modify(&self, document: &mut OpenApi) {
        let components = document.components.get_or_insert_default();
        let token = ApiKeyValue::with_description(
            "x-anteroom-token",
            "the token of a join; also as `Authorization: Bearer art1.…`",
        );
        components.add_security_scheme("token", SecurityScheme::ApiKey(ApiKey::Header(token)));
        let cookie = ApiKeyValue::with_description(
            "__Host-anteroom_{queue}",
            "the same token, as browsers carry it",
        );
        components.add_security_scheme("cookie", SecurityScheme::ApiKey(ApiKey::Cookie(cookie)));
    }
}

/// The keys of backends and operators.
struct Keys;

impl Modify for Keys {
    fn modify(&self, document: &mut OpenApi) {
        let components = document.components.get_or_insert_default();
        let key = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("a key, `ark1.…`, as anteroom-admission new-key makes one"))
            .build();
        components.add_security_scheme("key", SecurityScheme::Http(key));
    }
}

/// What the parameters of these names look like, wherever they stand: one rule, written once.
fn rule(name: &str) -> Option<ObjectBuilder> {
    let text = ObjectBuilder::new().schema_type(Type::String);
    Some(match name {
        "queue" => text.pattern(Some("^[a-z0-9-]{1,40}$")),
        "place" => text.pattern(Some("^[A-Za-z0-9_-]{40}$")),
        "Idempotency-Key" => text.pattern(Some("^[!-~]{22,128}$")),
        "ticket" => ObjectBuilder::new()
            .schema_type(Type::Integer)
            .minimum(Some(1))
            .maximum(Some(MAX_TICKET as f64)),
        "state" => text.enum_values(Some(Standing::ALL.map(Standing::name))),
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

/// What the routes' own documentation does not say: the rules of their parameters, and that a call whose
/// body may be `{}` takes none as well.
pub fn complete(document: &mut OpenApi) {
    for path in document.paths.paths.values_mut() {
        let methods = [
            &mut path.get,
            &mut path.put,
            &mut path.post,
            &mut path.delete,
            &mut path.options,
            &mut path.head,
            &mut path.patch,
            &mut path.trace,
        ];
        for operation in methods.into_iter().flatten() {
            for parameter in operation.parameters.iter_mut().flatten() {
                if let RefOr::T(parameter) = parameter
                    && let Some(rule) = rule(&parameter.name)
                {
                    parameter.schema = Some(rule.into());
                }
            }
            let may_be_empty = ["join", "join_by_form", "override_rules"];
            if operation.operation_id.as_deref().is_some_and(|id| may_be_empty.contains(&id))
                && let Some(RefOr::T(body)) = &mut operation.request_body
            {
                body.required = Some(Required::False);
            }
        }
    }
}

/// Adds the documentation of a route that the router does not know by itself.
pub fn add<P: Path>(document: &mut OpenApi) {
    let methods = P::methods();
    let several = methods.len() > 1;
    for method in methods {
        let mut operation = P::operation();
        // One handler for several methods; yet each operation has an id of its own.
        if let Some(id) = operation.operation_id.as_mut().filter(|_| several) {
            id.push_str(suffix(&method));
        }
        document.paths.add_path_operation(P::path(), vec![method], operation);
    }
}

fn suffix(method: &HttpMethod) -> &'static str {
    match method {
        HttpMethod::Get => "_get",
        HttpMethod::Post => "_post",
        HttpMethod::Put => "_put",
        HttpMethod::Delete => "_delete",
        HttpMethod::Options => "_options",
        HttpMethod::Head => "_head",
        HttpMethod::Patch => "_patch",
        HttpMethod::Trace => "_trace",
    }
}
