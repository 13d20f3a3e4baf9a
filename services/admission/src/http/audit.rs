//! The audit log: who changed what, and who tried.
//!
//! Each call of an operator's operation writes one line with the target `audit`, whatever its
//! outcome: the name of the key (never the key), the operation, its subject, the outcome (`done`,
//! or the code of the refusal), and the values before and after. [`Audit`] is a layer around the
//! operators' routes and writes the line; extractors and handlers add to it by the [`AuditEntry`].
//! A call that failed on its way to Redis may have had its effect.
//!
//! Refused calls leave a bounded number of lines; each other call leaves its own.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anteroom_authorize::defences::Gcra;
use anteroom_authorize::problem::{Code, Problem};
use anteroom_config::{Rate, is_name};
use anteroom_core::queue::Ticket;
use anteroom_core::{Kind, kinds};
use anteroom_runtime::AUDIT;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use http::Uri;
use http::request::Parts;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;
use utoipa_axum::router::{UtoipaMethodRouter, UtoipaMethodRouterExt as _};

use crate::app::App;
use crate::entities::{Entity, name_in};

/// Lines that the refused calls of one key leave at most, and those of all callers without a known
/// key together: they could fill the log. The next line says how many were left out.
const REFUSED_CALLS: Rate = Rate { count: 60, window: Duration::from_secs(60) };
/// At most so many keys are counted; a configuration names fewer.
const MOST_KEYS: usize = 65_536;
/// The name of such a caller in a line.
const UNKNOWN_KEY: &str = "(unknown)";

/// Writes the lines.
#[derive(Clone, Debug)]
pub struct Audit {
    /// Lines of refused calls, by the name of the key, if it is known.
    refused: Arc<Gcra>,
    /// Lines that were left out; the next line has the number.
    left_out: Arc<AtomicU64>,
}

/// Is cancelled when the caller hangs up: for work that only this caller needs.
#[derive(Clone, Debug)]
pub struct CallerGone(pub CancellationToken);

/// The entity that a call is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The name of its kind.
    pub kind: &'static str,
    /// Its own name.
    pub name: String,
}

/// What is known of a call so far.
#[derive(Clone, Debug, Default)]
pub struct AuditEntry(Arc<Mutex<Noted>>);

#[derive(Debug, Default)]
struct Noted {
    key: Option<String>,
    ticket: Option<Ticket>,
    before: Value,
    after: Value,
}

impl Default for Audit {
    fn default() -> Self {
        Self { refused: Arc::new(Gcra::new(MOST_KEYS)), left_out: Arc::default() }
    }
}

impl Audit {
    /// A route whose calls are of this operation, about an entity of this kind.
    pub fn around<T: Entity>(
        &self,
        operation: &'static str,
        route: UtoipaMethodRouter<Arc<App>>,
    ) -> UtoipaMethodRouter<Arc<App>> {
        self.about(operation, subject_in_path::<T>, route)
    }

    /// A route whose calls are this operation. They are about no entity.
    pub fn around_any(
        &self,
        operation: &'static str,
        route: UtoipaMethodRouter<Arc<App>>,
    ) -> UtoipaMethodRouter<Arc<App>> {
        self.about(operation, |_| None, route)
    }

    /// A route whose calls are this operation. `subject` finds their entity in the address.
    pub fn about(
        &self,
        operation: &'static str,
        subject: fn(&Uri) -> Option<Subject>,
        route: UtoipaMethodRouter<Arc<App>>,
    ) -> UtoipaMethodRouter<Arc<App>> {
        let audit = self.clone();
        let answer = move |request: Request, next| {
            let subject = subject(request.uri());
            audit.clone().answer(operation, subject, request, next)
        };
        route.layer(from_fn(answer))
    }

    /// The answer to a call. It runs to its end, line included, also when the caller hangs up in
    /// the middle.
    async fn answer(
        self,
        operation: &'static str,
        subject: Option<Subject>,
        mut request: Request,
        next: Next,
    ) -> Response {
        let entry = AuditEntry::default();
        request.extensions_mut().insert(entry.clone());
        let gone = CancellationToken::new();
        request.extensions_mut().insert(CallerGone(gone.clone()));
        let _gone = gone.drop_guard();
        let call = async move {
            let answer = AssertUnwindSafe(next.run(request)).catch_unwind().await;
            let answer = answer.unwrap_or_else(|panic| Problem::panicked(&*panic).into_response());
            self.write(operation, subject.as_ref(), &entry, &answer);
            answer
        };
        let answer = tokio::spawn(call.in_current_span()).await;
        answer.unwrap_or_else(|error| {
            Problem::new(Code::INTERNAL).cause(error.to_string()).into_response()
        })
    }

    fn write(
        &self,
        operation: &'static str,
        subject: Option<&Subject>,
        entry: &AuditEntry,
        answer: &Response,
    ) {
        // The name is in a field of its kind.
        let of_kind = |kind: &str| subject.filter(|subject| subject.kind == kind);
        let name_of = |kind: &str| of_kind(kind).map(|subject| &*subject.name);
        let Noted { key, ticket, before, after } = &*entry.noted();
        let code = answer.extensions().get::<Code>();
        let is_bounded = code.is_some_and(|code| !may_have_changed(*code));
        if is_bounded && self.refused.check(key, REFUSED_CALLS, Instant::now()).is_err() {
            self.left_out.fetch_add(1, Relaxed);
            return;
        }
        let left_out = Some(self.left_out.swap(0, Relaxed)).filter(|lines| *lines > 0);
        let key = key.as_deref().unwrap_or(UNKNOWN_KEY);
        let outcome = code.map_or("done", |code| code.name());
        macro_rules! write_line {
            (; $(($kind:ident $handle:ident $name:ident $section:ident))+) => {
                tracing::info!(
                    target: AUDIT,
                    key, operation,
                    $($kind = name_of(<anteroom_core::$kind::$handle as Kind>::NAME),)+
                    ticket, outcome, %before, %after, left_out,
                    "operator call"
                )
            };
        }
        kinds!(write_line! {});
    }
}

/// The entity of this kind that a path names.
fn subject_in_path<T: Entity>(uri: &Uri) -> Option<Subject> {
    let name = name_in::<T>(uri.path()).filter(|name| is_name(name))?;
    Some(Subject { kind: T::Kind::NAME, name: name.to_owned() })
}

/// Whether a call that ended with this code may have had its effect: its line is never left out.
fn may_have_changed(code: Code) -> bool {
    [Code::EFFECT_UNKNOWN, Code::INTERNAL].contains(&code)
}

impl AuditEntry {
    /// The entry of a request.
    ///
    /// # Errors
    ///
    /// On a route without an audit, which is a bug.
    pub fn of(parts: &Parts) -> Result<Self, Problem> {
        let entry = parts.extensions.get::<Self>().cloned();
        entry.ok_or_else(|| Problem::new(Code::INTERNAL).cause("a route without an audit"))
    }

    /// The name of the caller's key.
    pub fn key(&self, name: &str) {
        self.noted().key = Some(name.to_owned());
    }

    /// The ticket that the call is about.
    pub fn ticket(&self, ticket: Ticket) {
        self.noted().ticket = Some(ticket);
    }

    /// The values before the call.
    pub fn before(&self, before: Value) {
        self.noted().before = before;
    }

    /// The values after it.
    pub fn after(&self, after: Value) {
        self.noted().after = after;
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        // Each part is written whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
