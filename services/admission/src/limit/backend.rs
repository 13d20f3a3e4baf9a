//! Checks: of one limit, and of several at once.

use std::sync::Arc;

use anteroom_authorize::limit::{self, LimitState, Verdict};
use anteroom_authorize::problem::{Cause, Code, Problem};
use anteroom_core::limit::{Call, CallError, Check};
use anteroom_core::store::Error;
use axum::extract::State;
use axum::response::Response;

use super::body::{CheckBody, CheckOf, ChecksBody};
use super::problems::{CheckProblems, SeveralProblems};
use super::views::{CheckView, ChecksView};
use crate::app::App;
use crate::http::caller::{AnyBackend, Backend};
use crate::http::extract::JsonBody;

/// Check a rate limit, and take units.
///
/// While Redis is down, `on_store_error` of the limit decides, and the answer has `degraded`.
#[utoipa::path(
    post, path = "/v1/limits/{limit}/check", tag = "backends", operation_id = "check_limit",
    request_body = CheckBody,
    responses(
        (status = 200, description = "allowed: the units are taken", body = CheckView, headers(
            ("RateLimit-Policy" = String, description = "units (q) in seconds (w)"),
            ("RateLimit" = String, description = "units left (r), seconds until all are back, or until a retry is allowed (t)"),
        )),
        (status = 429, description = "refused: nothing is taken", body = CheckView, headers(
            ("RateLimit-Policy" = String, description = "units (q) in seconds (w)"),
            ("RateLimit" = String, description = "units left (r), seconds until all are back, or until a retry is allowed (t)"),
            ("Retry-After" = u64, description = "retry_after_ms, rounded up to seconds"),
        )),
        CheckProblems,
    ),
)]
pub async fn check(
    State(app): State<Arc<App>>,
    Backend(limit): Backend<LimitState>,
    JsonBody(CheckBody { key, cost, group, id }): JsonBody<CheckBody>,
) -> Result<Response, Problem> {
    let key = key.checked("key")?;
    let group = group.map(|group| group.checked("group")).transpose()?;
    let id = id.map(|id| id.checked("id")).transpose()?;
    let (rule, group) = (limit.config.rule(), group.as_deref());
    let check = Check { limit: &limit.name, rule, key: &key, group, cost };
    let call = Call::one(&check, id.as_deref()).map_err(|error| refused(error, false))?;
    match limit::check(&app.limits, call, &[(&limit, cost)]).await? {
        Verdict::Decided(checks) => {
            let checked = checks.first().ok_or_else(|| Problem::new(Code::INTERNAL))?;
            Ok(CheckView::new(limit.config.limit, checked).response(&limit))
        }
        Verdict::Degraded { allowed, error } => {
            let view = without_store(&app, &limit, allowed == [true]);
            Ok(marked(view.response(&limit), view.allowed, &error))
        }
        Verdict::Mismatch => Err(Problem::new(Code::OPERATION_MISMATCH)),
    }
}

/// Check several rate limits, and take units of all or none.
///
/// While Redis is down, the call is refused if one of the limits has `on_store_error = "closed"`.
#[utoipa::path(
    post, path = "/v1/limits/check", tag = "backends", operation_id = "check_limits",
    request_body = ChecksBody,
    responses(
        (status = 200, description = "allowed: all units are taken", body = ChecksView, headers(
            ("RateLimit-Policy" = String, description = "of each limit units (q) in seconds (w)"),
            ("RateLimit" = String, description =
                "of each limit units left (r), seconds until all are back, or until a retry is \
                allowed (t)"),
        )),
        (status = 429, description = "refused: nothing is taken", body = ChecksView, headers(
            ("RateLimit-Policy" = String, description = "of each limit units (q) in seconds (w)"),
            ("RateLimit" = String, description =
                "of each limit units left (r), seconds until all are back, or until a retry is \
                allowed (t)"),
            ("Retry-After" = u64, description = "retry_after_ms, rounded up to seconds"),
        )),
        SeveralProblems,
    ),
)]
pub async fn check_several(
    State(app): State<Arc<App>>,
    caller: AnyBackend,
    JsonBody(ChecksBody { checks, id }): JsonBody<ChecksBody>,
) -> Result<Response, Problem> {
    let id = id.map(|id| id.checked("id")).transpose()?;
    let mut limits = Vec::with_capacity(checks.len());
    let mut texts = Vec::with_capacity(checks.len());
    for (at, CheckOf { limit, key, cost, group }) in checks.into_iter().enumerate() {
        let found = caller.entity::<LimitState>(&app, &limit);
        limits.push(found.map_err(|problem| {
            let why = problem.code().title();
            problem.detail(format!("checks[{at}].limit: {why}"))
        })?);
        let key = key.checked(format_args!("checks[{at}].key"))?;
        let group = group.map(|group| group.checked(format_args!("checks[{at}].group")));
        texts.push((key, group.transpose()?, cost));
    }
    let checks: Vec<_> = limits
        .iter()
        .zip(&texts)
        .map(|(limit, (key, group, cost))| Check {
            limit: &limit.name,
            rule: limit.config.rule(),
            key,
            group: group.as_deref(),
            cost: *cost,
        })
        .collect();
    let call = Call::several(&checks, id.as_deref()).map_err(|error| refused(error, true))?;
    let limits: Vec<&LimitState> = limits.iter().map(Arc::as_ref).collect();
    let costs = checks.iter().map(|check| check.cost);
    let of: Vec<_> = limits.iter().copied().zip(costs).collect();
    match limit::check(&app.limits, call, &of).await? {
        Verdict::Decided(results) => {
            let results = limits.iter().zip(&results);
            let views = results.map(|(limit, checked)| CheckView::new(limit.config.limit, checked));
            Ok(ChecksView::new(views.collect()).response(&limits))
        }
        Verdict::Degraded { allowed, error } => {
            let views = limits.iter().zip(allowed);
            let views = views.map(|(limit, allowed)| without_store(&app, limit, allowed));
            let view = ChecksView::new(views.collect());
            Ok(marked(view.response(&limits), view.tightest.allowed, &error))
        }
        Verdict::Mismatch => Err(Problem::new(Code::OPERATION_MISMATCH)),
    }
}

/// The answer of one check while Redis is down.
fn without_store(app: &App, limit: &LimitState, allowed: bool) -> CheckView {
    let wait = (!allowed).then(|| app.retries.schedule_default());
    CheckView::degraded(limit.config.limit, wait)
}

/// A refusal because of the store counts as our failure, as at the gate.
fn marked(mut response: Response, allowed: bool, error: &Error) -> Response {
    if !allowed {
        response.extensions_mut().insert(Code::STORE_UNAVAILABLE);
        response.extensions_mut().insert(Cause(error.to_string()));
    }
    response
}

/// What is wrong with a call, in the words of its body.
fn refused(error: CallError, several: bool) -> Problem {
    let field = |at: usize| if several { format!("checks[{at}].") } else { String::new() };
    let (code, detail) = match error {
        CallError::Count => (Code::INVALID_VALUE, "checks must be 1 to 16".to_owned()),
        CallError::Cost { at, most } => {
            let field = field(at);
            let rule = format!(
                "{field}cost must be at most {most}: the limit, and 100 of all logs of a call"
            );
            (Code::INVALID_VALUE, rule)
        }
        CallError::GroupsDiffer { at } => {
            let rule = "(the key, where there is none) must be that of checks[0]";
            (Code::GROUPS_DIFFER, format!("{}group {rule}", field(at)))
        }
        CallError::Twice { at, first } => {
            let rule = format!("checks[{at}] must not name the same units as checks[{first}]");
            (Code::INVALID_VALUE, rule)
        }
    };
    Problem::new(code).detail(detail)
}
