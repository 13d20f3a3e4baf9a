//! Who calls the service port, and which queue the call is about: known, and allowed, before any
//! handler runs.

use std::sync::Arc;

use anteroom_runtime::config::is_name;
use axum::extract::FromRequestParts;
use http::request::Parts;
use http::uri::Authority;

use super::audit::Entry;
use super::extract::{AtQueue, Peer, queue_name};
use crate::app::{App, QueueState};
use crate::callers::keys::{Caller, elsewhere, is_loopback_name};
use crate::problem::{Code, Problem};

/// A backend, or an operator, that may touch the queue of the path.
pub struct Backend {
    /// The queue.
    pub queue: Arc<QueueState>,
}

/// An operator that may touch the queue of the path.
pub struct Operator {
    /// What the audit log will say of the call.
    pub entry: Entry,
    /// The queue.
    pub queue: Arc<QueueState>,
}

/// An operator that may touch the queue of the path, whether or not one is configured.
pub struct OperatorOfAny {
    /// What the audit log will say of the call.
    pub entry: Entry,
    /// The name of the queue.
    pub name: String,
}

impl FromRequestParts<Arc<App>> for Backend {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let caller = caller(parts, app)?;
        let queue = queue(&caller, parts, app).await?;
        Ok(Self { queue })
    }
}

impl FromRequestParts<Arc<App>> for Operator {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let (caller, entry) = operator(parts, app)?;
        let queue = queue(&caller, parts, app).await?;
        Ok(Self { entry, queue })
    }
}

impl FromRequestParts<Arc<App>> for OperatorOfAny {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let (caller, entry) = operator(parts, app)?;
        let name = queue_name(parts.uri.path()).filter(|name| is_name(name)).ok_or_else(|| {
            Problem::new(Code::BAD_REQUEST).detail("the queue must match [a-z0-9-]{1,40}")
        })?;
        caller.touches("queues", name)?;
        Ok(Self { entry, name: name.to_owned() })
    }
}

fn caller(parts: &Parts, app: &App) -> Result<Caller, Problem> {
    let peer = parts.extensions.get::<Peer>().map(|peer| peer.0.ip());
    let config = &app.live().config;
    // A whole address in the request line goes before `Host`.
    let named = parts.uri.authority().map(Authority::as_str);
    if config.keys.is_empty() && named.is_some_and(|name| !is_loopback_name(name)) {
        return Err(elsewhere());
    }
    Caller::of(&config.keys, &parts.headers, peer)
}

/// An operator; the audit log learns who calls before it is asked what they may.
fn operator(parts: &Parts, app: &App) -> Result<(Caller, Entry), Problem> {
    let entry = Entry::of(parts)?;
    let caller = caller(parts, app)?;
    entry.key(caller.name());
    caller.operates()?;
    Ok((caller, entry))
}

/// Looked up only for a known caller: strangers do not learn which queues there are.
async fn queue(
    caller: &Caller,
    parts: &mut Parts,
    app: &Arc<App>,
) -> Result<Arc<QueueState>, Problem> {
    let AtQueue(queue) = AtQueue::from_request_parts(parts, app).await?;
    caller.touches("queues", queue.name())?;
    Ok(queue)
}
