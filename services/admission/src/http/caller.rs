//! The caller of the service port and the entity of the call: both are known, and the call is
//! allowed, before a handler runs.

use std::marker::PhantomData;
use std::sync::Arc;

use anteroom_authorize::problem::{Code, Problem};
use anteroom_config::is_name;
use anteroom_core::Kind as _;
use axum::extract::FromRequestParts;
use http::Uri;
use http::request::Parts;

use super::audit::AuditEntry;
use crate::app::{App, LiveConfig};
use crate::callers::RequestHead;
use crate::callers::caller::{Caller, Permission};
use crate::entities::{Listed, name_in};

/// So many names are shown to a caller that asks for another one.
const MOST_NAMES: usize = 20;

/// A caller that may see the entity of the path.
pub struct Reader<T>(pub Arc<T>);

/// A backend, or an operator, that may touch the entity of the path.
pub struct Backend<T>(pub Arc<T>);

/// A backend, or an operator, whose call names in its body what it is about.
pub struct AnyBackend(Caller);

/// An operator or a viewer of a call whose path names no entity.
pub struct AnyViewer(pub Caller);

/// An operator, or a viewer, that may see the entity of the path.
pub struct Viewer<T> {
    /// What the audit log will say of the call.
    pub entry: AuditEntry,
    pub entity: Arc<T>,
}

/// An operator that may touch the entity of the path.
pub struct Operator<T> {
    /// What the audit log will say of the call.
    pub entry: AuditEntry,
    pub entity: Arc<T>,
    /// The name of the operator's key, for the log of changes.
    pub key: String,
}

/// An operator that may touch the entity of the path, whether or not one is configured.
pub struct OperatorOfAny<T> {
    /// What the audit log will say of the call.
    pub entry: AuditEntry,
    pub name: String,
    kind: PhantomData<T>,
}

impl<T: Listed> Backend<T> {
    /// Who sends the head of a request, and what for.
    pub fn of(app: &App, head: &RequestHead<'_>) -> Result<Self, Problem> {
        permitted(app, head, Permission::Serve).map(Self)
    }
}

impl<T: Listed> FromRequestParts<Arc<App>> for Reader<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        permitted(app, &RequestHead::of(parts), Permission::State).map(Self)
    }
}

impl<T: Listed> FromRequestParts<Arc<App>> for Backend<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        Self::of(app, &RequestHead::of(parts))
    }
}

impl AnyBackend {
    /// The entity of this name, if the caller may touch it.
    pub fn entity<T: Listed>(&self, app: &App, name: &str) -> Result<Arc<T>, Problem> {
        named(&app.live(), &self.0, name)
    }
}

impl AnyViewer {
    /// The entity of this name, if the caller may see it.
    pub fn entity<T: Listed>(&self, app: &App, name: &str) -> Result<Arc<T>, Problem> {
        named(&app.live(), &self.0, name)
    }
}

impl FromRequestParts<Arc<App>> for AnyBackend {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let caller = Caller::of(app.live().access(), &RequestHead::of(parts))?;
        caller.may(Permission::Serve)?;
        Ok(Self(caller))
    }
}

impl FromRequestParts<Arc<App>> for AnyViewer {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        audited(&app.live(), parts, Permission::View).map(|(caller, _)| Self(caller))
    }
}

impl<T: Listed> FromRequestParts<Arc<App>> for Viewer<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let audited = audited_entity(app, parts, Permission::View);
        audited.map(|(_, entry, entity)| Self { entry, entity })
    }
}

impl<T: Listed> FromRequestParts<Arc<App>> for Operator<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let audited = audited_entity(app, parts, Permission::Operate);
        audited.map(|(caller, entry, entity)| Self { entry, entity, key: caller.name().to_owned() })
    }
}

impl<T: Listed> FromRequestParts<Arc<App>> for OperatorOfAny<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let (caller, entry) = audited(&app.live(), parts, Permission::Operate)?;
        let name = name_in::<T>(parts.uri.path()).filter(|name| is_name(name));
        let name = name.ok_or_else(|| {
            let rule = format!("the {} must match [a-z0-9-]{{1,40}}", T::Kind::NAME);
            Problem::new(Code::BAD_REQUEST).detail(rule)
        })?;
        caller.touches(T::Kind::SECTION, name)?;
        Ok(Self { entry, name: name.to_owned(), kind: PhantomData })
    }
}

/// The entity of the path, for a caller that has this permission.
fn permitted<T: Listed>(
    app: &App,
    head: &RequestHead<'_>,
    permission: Permission,
) -> Result<Arc<T>, Problem> {
    let live = app.live();
    let caller = Caller::of(live.access(), head)?;
    caller.may(permission)?;
    entity(&live, &caller, head.uri)
}

/// The caller of an audited call. The entry gets the caller before its permission is checked.
fn audited(
    live: &LiveConfig,
    parts: &Parts,
    permission: Permission,
) -> Result<(Caller, AuditEntry), Problem> {
    let entry = AuditEntry::of(parts)?;
    let caller = Caller::of(live.access(), &RequestHead::of(parts))?;
    entry.key(caller.name());
    caller.may(permission)?;
    Ok((caller, entry))
}

/// The entity of an audited call.
fn audited_entity<T: Listed>(
    app: &App,
    parts: &Parts,
    permission: Permission,
) -> Result<(Caller, AuditEntry, Arc<T>), Problem> {
    let live = app.live();
    let (caller, entry) = audited(&live, parts, permission)?;
    let entity = entity(&live, &caller, &parts.uri)?;
    Ok((caller, entry, entity))
}

/// The entity of this name, for a known caller.
fn named<T: Listed>(live: &LiveConfig, caller: &Caller, name: &str) -> Result<Arc<T>, Problem> {
    let found = T::of(&live.in_force).get(name);
    let entity = found.ok_or_else(|| unknown::<T>(live, caller))?;
    caller.touches(T::Kind::SECTION, name)?;
    Ok(entity)
}

/// Looked up only for a known caller: strangers do not learn what there is.
fn entity<T: Listed>(live: &LiveConfig, caller: &Caller, uri: &Uri) -> Result<Arc<T>, Problem> {
    let found = T::of(&live.in_force).at(uri.path());
    let entity = found.map_err(|problem| match problem.code() {
        code if code == T::UNKNOWN => unknown::<T>(live, caller),
        _ => problem,
    })?;
    // There is one, so the path has its name.
    caller.touches(T::Kind::SECTION, name_in::<T>(uri.path()).unwrap_or_default())?;
    Ok(entity)
}

/// No entity has this name. A known caller is shown the names that it may use.
fn unknown<T: Listed>(live: &LiveConfig, caller: &Caller) -> Problem {
    let names = T::of(&live.in_force).names().into_iter();
    let usable = names.filter(|name| caller.touches(T::Kind::SECTION, name).is_ok());
    let usable: Vec<_> = usable.take(MOST_NAMES).collect();
    let section = T::Kind::SECTION;
    Problem::new(T::UNKNOWN).detail(if usable.is_empty() {
        format!("No [{section}.NAME] is configured that this key can use.")
    } else {
        format!("Configured in [{section}.NAME]: {}.", usable.join(", "))
    })
}
