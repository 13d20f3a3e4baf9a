//! The state of a live stream, for the API document, and the part of it that is about the caller.

use std::borrow::Cow;

use anteroom_config::{Role, Scope};
use anteroom_core::for_each_kind;
use serde::Serialize;
use utoipa::openapi::schema::{AdditionalProperties, AnyOf, Object, ObjectBuilder, Schema, Type};
use utoipa::openapi::{KnownFormat, OpenApi, Ref, RefOr, SchemaFormat};
use utoipa::{PartialSchema, ToSchema};

use super::Live;
use crate::callers::caller::Caller;
use crate::entities::Served;

/// The key that a stream was opened with, as it is configured now.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LiveCaller)]
pub struct CallerView<'a> {
    /// The name of the key; absent if no keys are configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    /// The role of the caller.
    role: RoleView,
    /// The scopes of the key, as `SECTION:NAME`. Empty: the key covers everything.
    #[schema(example = json!(["queues:concert"]))]
    scopes: Vec<String>,
}

/// The role of a caller.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = LiveRole)]
pub enum RoleView {
    /// Can read and change everything that its scopes cover. If no keys are configured, every
    /// caller is an operator.
    Operator,
    /// Can read everything that its scopes cover.
    Viewer,
}

impl<'a> From<&'a Caller> for CallerView<'a> {
    fn from(caller: &'a Caller) -> Self {
        let role = match caller.role() {
            Role::Operator => RoleView::Operator,
            // A backend has no stream.
            Role::Viewer | Role::Backend => RoleView::Viewer,
        };
        let scopes = caller.scopes().iter().map(Scope::to_string).collect();
        Self { key: caller.key_name(), role, scopes }
    }
}

/// The whole state as one type, for the document only. It has a section for each kind.
struct StateView;

impl ToSchema for StateView {
    fn name() -> Cow<'static, str> {
        "LiveState".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        fn add<K: Served>(schemas: &mut Vec<(String, RefOr<Schema>)>) {
            add_schema::<<K::State as Live>::View>(schemas);
        }
        add_schema::<CallerView<'_>>(schemas);
        for_each_kind!(add(schemas));
    }
}

impl PartialSchema for StateView {
    fn schema() -> RefOr<Schema> {
        fn add<K: Served>(state: &mut Object) {
            state.properties.insert(K::SECTION.to_owned(), section::<K>().into());
            state.required.push(K::SECTION.to_owned());
        }
        let at = ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .description(Some("The time of this process."));
        let redis = ObjectBuilder::new().schema_type(Type::Boolean).description(Some(
            "Whether this process reaches Redis. While Redis is down, the last values stay.",
        ));
        let caller = Ref::from_schema_name(CallerView::name());
        let mut state = Object::builder()
            .description(Some(
                "The state of a live stream. It has the entities that the key covers. Members \
                 that would be null are absent.",
            ))
            .property("at", at)
            .property("redis", redis)
            .property("caller", caller)
            .required("at")
            .required("redis")
            .required("caller")
            .build();
        for_each_kind!(add(&mut state));
        state.into()
    }
}

/// The entities of a kind, by name.
fn section<K: Served>() -> Object {
    let view = Ref::from_schema_name(<K::State as Live>::View::name());
    let part = ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some("The same, without members that are null or not read yet."));
    let entity = AnyOf::builder().item(view).item(part).build();
    let entities = AdditionalProperties::RefOr(RefOr::T(Schema::AnyOf(entity)));
    let description = format!("By the name of the {}.", K::NAME);
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some(description))
        .additional_properties(Some(entities))
        .build()
}

fn add_schema<T: ToSchema>(schemas: &mut Vec<(String, RefOr<Schema>)>) {
    schemas.push((T::name().into_owned(), T::schema()));
    T::schemas(schemas);
}

/// Adds the schema of the state to the document.
pub fn add(document: &mut OpenApi) {
    let mut schemas = Vec::new();
    add_schema::<StateView>(&mut schemas);
    document.components.get_or_insert_default().schemas.extend(schemas);
}
