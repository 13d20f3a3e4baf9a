//! The API documents of the two ports: made from the groups of codes and the routes' own
//! documentation, so that they agree with what is answered.

use std::collections::BTreeMap;

use anteroom_authorize::problem::code::all_codes;
use anteroom_authorize::problem::{Code, ProblemBody};
use http::StatusCode;
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::path::{Operation, Parameter, PathItem};
use utoipa::openapi::response::{Response, ResponseBuilder};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{HttpMethod, OpenApi, Ref, RefOr, Required, Schema};
use utoipa::{Modify, Path};

use crate::callers::session;
use crate::entities::Routes;

/// How refusals with these codes stand in the document: by status, which `status` says.
pub fn responses(
    codes: &[&[Code]],
    status: impl Fn(Code) -> StatusCode,
) -> BTreeMap<String, RefOr<Response>> {
    let mut names: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    for code in codes.iter().copied().flatten() {
        let names = names.entry(status(*code).as_u16()).or_default();
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

/// Declares the refusals of calls: those of the groups named, and what any call may answer. A call
/// `of` something that the configuration names asks the store about it, so it may answer that there
/// is none, and what any call to the store may answer.
macro_rules! problems {
    ($($(#[$doc:meta])* $name:ident $(of $unknown:path)?: $($codes:expr),*;)*) => {$(
        $(#[$doc])*
        pub struct $name;

        impl utoipa::IntoResponses for $name {
            fn responses() -> std::collections::BTreeMap<
                String,
                utoipa::openapi::RefOr<utoipa::openapi::response::Response>,
            > {
                use anteroom_authorize::problem::{Code, edge::ANY};
                let codes: &[&[Code]] =
                    &[$($codes,)* ANY, $(&[$unknown], anteroom_authorize::problem::store::STORE)?];
                $crate::http::document::responses(codes, Code::status)
            }
        }
    )*};
}
pub(crate) use problems;

problems! {
    /// Refusals of a call that asks no store.
    ShellProblems:;
}

/// The document of the public port.
#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Anteroom: public port",
        description =
            "Join a queue, wait, enter. Refusals are application/problem+json; decide by `code`.",
        license(name = "Apache-2.0"),
    ),
    components(schemas(ProblemBody)),
    modifiers(&Tokens),
    tags(
        (name = "visitors", description = "Calls of a visitor, with its token"),
        (name = "gateways", description = "Calls of a gateway: authorize a request"),
        (name = "page", description = "The waiting page"),
    ),
)]
pub struct PublicDocument;

/// The document of the service port.
#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Anteroom: service port",
        description =
            "For backends and operators. Refusals are application/problem+json; decide by `code`.",
        license(name = "Apache-2.0"),
    ),
    components(schemas(ProblemBody)),
    modifiers(&Keys),
    tags(
        (name = "backends", description = "Calls of your backend and the protected service"),
        (name = "operators", description = "Calls of operators"),
        (name = "console", description = "The sign-in of the operator console"),
    ),
)]
pub struct ServiceDocument;

/// The ways in which a token travels.
struct Tokens;

impl Modify for Tokens {
    fn modify(&self, document: &mut OpenApi) {
        let components = document.components.get_or_insert_default();
        let token = ApiKeyValue::with_description(
            "x-anteroom-token",
            "the token from a join; also as `Authorization: Bearer art1.…`",
        );
        components.add_security_scheme("token", SecurityScheme::ApiKey(ApiKey::Header(token)));
        let cookie = ApiKeyValue::with_description(
            "__Host-anteroom_{queue}",
            "the same token, as browsers send it",
        );
        let application = ApiKeyValue::with_description(
            "x-anteroom-application",
            "the `application_token` of an application to an event",
        );
        let application = SecurityScheme::ApiKey(ApiKey::Header(application));
        components.add_security_scheme("application", application);
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
            .description(Some("an API key, `ark1.…`; make one with `anteroom-admission new-key`"))
            .build();
        components.add_security_scheme("key", SecurityScheme::Http(key));
        let session = ApiKeyValue::with_description(
            session::COOKIE,
            "The session of the console. It counts only for requests of the console's own page: \
             `Sec-Fetch-Site: same-origin`, and an `Origin` that equals `Host` if the call changes \
             something. Except on a loopback host, the name is `__Host-anteroom_console`.",
        );
        components.add_security_scheme("session", SecurityScheme::ApiKey(ApiKey::Cookie(session)));
    }
}

/// Adds what the documentation of the routes of a kind leaves out: the meaning and the form of
/// their parameters, and that some operations, whose body may be `{}`, take none as well.
pub fn complete<T: Routes>(document: &mut OpenApi) {
    for (template, operation) in operations(document) {
        let names = template.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
        for (at, name) in names.enumerate() {
            let parameters = operation.parameters.get_or_insert_default();
            let is_declared = |it: &RefOr<Parameter>| matches!(it, RefOr::T(it) if it.name == name);
            if !parameters.iter().any(is_declared) {
                parameters.insert(at, RefOr::T(Parameter::new(name)));
            }
        }
        for described in operation.parameters.iter_mut().flatten() {
            if let RefOr::T(described) = described
                // Another parameter may have the same name, and its own meaning.
                && described.description.is_none()
                && let Some((meaning, schema)) = T::parameter(&described.name)
            {
                described.description = Some(meaning.to_owned());
                described.schema = Some(schema.into());
            }
        }
        if operation.operation_id.as_deref().is_some_and(|id| T::MAY_BE_EMPTY.contains(&id))
            && let Some(RefOr::T(body)) = &mut operation.request_body
        {
            body.required = Some(Required::False);
        }
    }
}

/// Adds that each call takes a key or the session of the console. If no keys are configured, it
/// needs neither.
pub fn require_key(document: &mut OpenApi) {
    for (_, operation) in operations(document) {
        let either = ["key", "session"].map(|scheme| SecurityRequirement::new(scheme, [""; 0]));
        operation.security = Some([vec![SecurityRequirement::default()], either.into()].concat());
    }
}

/// Each operation, with the template of its path.
fn operations(document: &mut OpenApi) -> impl Iterator<Item = (&str, &mut Operation)> {
    document.paths.paths.iter_mut().flat_map(|(template, path)| {
        let PathItem { get, put, post, delete, options, head, patch, trace, .. } = path;
        let operations = [get, put, post, delete, options, head, patch, trace].into_iter();
        operations.flatten().map(|operation| (template.as_str(), operation))
    })
}

/// A parameter that is a name.
pub fn name() -> ObjectBuilder {
    text("^[a-z0-9-]{1,40}$")
}

/// A parameter that is a text of this form.
pub fn text(pattern: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern))
}

/// A parameter that is a whole number.
pub fn number(least: u64, most: u64) -> ObjectBuilder {
    let number = ObjectBuilder::new().schema_type(Type::Integer);
    number.minimum(Some(least as f64)).maximum(Some(most as f64))
}

/// Names all codes where the document describes the member `code` of a refusal.
pub fn list_codes(document: &mut OpenApi) {
    let schemas = document.components.as_mut().map(|it| &mut it.schemas);
    let Some(RefOr::T(Schema::Object(problem))) = schemas.and_then(|it| it.get_mut("Problem"))
    else {
        return;
    };
    if let Some(RefOr::T(Schema::Object(code))) = problem.properties.get_mut("code") {
        let codes: Vec<_> = all_codes().map(|code| format!("`{}`", code.name())).collect();
        let description = code.description.get_or_insert_default();
        description.push_str(" Later versions can add codes. Now: ");
        description.push_str(&codes.join(", "));
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
            id.push_str(match method {
                HttpMethod::Get => "_get",
                HttpMethod::Post => "_post",
                HttpMethod::Put => "_put",
                HttpMethod::Delete => "_delete",
                HttpMethod::Options => "_options",
                HttpMethod::Head => "_head",
                HttpMethod::Patch => "_patch",
                HttpMethod::Trace => "_trace",
            });
        }
        document.paths.add_path_operation(P::path(), vec![method], operation);
    }
}
