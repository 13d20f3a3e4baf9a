//! Checks: of one limit, and of several at once.

use std::sync::Arc;

use anteroom_core::limit::{Answer, Call, CallError, Check, Checked, Outcome};
use anteroom_core::store::Error;
use anteroom_runtime::config::LimitWithoutStore;
use axum::extract::State;
use axum::response::Response;

use super::body::{CheckBody, ChecksBody, check_identifiers};
use super::problems::{CheckProblems, SeveralProblems};
use super::view::{CheckView, ChecksView};
use crate::app::App;
use crate::http::caller::{AnyBackend, Backend};
use crate::http::extract::JsonBody;
use crate::limit::LimitState;
use crate::limit::metrics::Counted;
use crate::problem::{Cause, Code, Problem};

/// Takes units of a limit, if there are so many.
///
/// While the store is away it is answered all the same, by `on_store_error` of the limit, and says
/// `degraded`.
#[utoipa::path(
    post, path = "/v1/limits/{limit}/check", tag = "backends", operation_id = "check_limit",
    params(("limit" = String, Path, description = "name of the limit")),
    request_body = CheckBody,
    security((), ("key" = [])),
    responses(
        (status = 200, description = "allowed: the units are taken", body = CheckView, headers(
            ("RateLimit-Policy" = String, description = "units (q) in seconds (w)"),
            ("RateLimit" = String, description = "units left (r), seconds until all are back (t)"),
        )),
        (status = 429, description = "refused: nothing is taken", body = CheckView, headers(
            ("RateLimit-Policy" = String, description = "units (q) in seconds (w)"),
            ("RateLimit" = String, description = "units left (r), seconds until all are back (t)"),
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
    let (group, id) = (group.as_deref(), id.as_deref());
    check_identifiers("", &[("key", Some(&key)), ("group", group), ("id", id)])?;
    let check = Check { limit: &limit.name, rule: limit.rule(), key: &key, group, cost };
    let call = Call::one(&check, id).map_err(|error| refused(error, false))?;
    match app.limits.check(call).await {
        Ok(Answer::Decided { allowed, repeated, checks: told }) => {
            let told = told.first().ok_or_else(|| Problem::new(Code::INTERNAL))?;
            limit.metrics.check(counted(cost, told, allowed, repeated));
            Ok(CheckView::new(limit.config.limit, told).response(&limit))
        }
        Ok(Answer::Mismatch) => Err(Problem::new(Code::OPERATION_MISMATCH)),
        Err(error @ Error::Reply { .. }) => Err(error.into()),
        Err(error) => {
            let view = without_store(&app, &limit);
            Ok(marked(view.response(&limit), view.allowed, &error))
        }
    }
}

/// Takes units of several limits, all or none.
///
/// While the store is away it is answered all the same: refused, if one of the limits is `closed`.
#[utoipa::path(
    post, path = "/v1/limits/check", tag = "backends", operation_id = "check_limits",
    request_body = ChecksBody,
    security((), ("key" = [])),
    responses(
        (status = 200, description = "allowed: all units are taken", body = ChecksView, headers(
            ("RateLimit-Policy" = String, description = "of each limit units (q) in seconds (w)"),
            ("RateLimit" = String, description =
                "of each limit units left (r), seconds until all are back (t)"),
        )),
        (status = 429, description = "refused: nothing is taken", body = ChecksView, headers(
            ("RateLimit-Policy" = String, description = "of each limit units (q) in seconds (w)"),
            ("RateLimit" = String, description =
                "of each limit units left (r), seconds until all are back (t)"),
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
    let id = id.as_deref();
    check_identifiers("", &[("id", id)])?;
    let mut limits = Vec::with_capacity(checks.len());
    for (at, check) in checks.iter().enumerate() {
        let front = format!("checks[{at}].");
        let limit = caller.entity::<LimitState>(&app, &check.limit);
        limits.push(limit.map_err(|problem| {
            let why = problem.code().title();
            problem.detail(format!("{front}limit: {why}"))
        })?);
        check_identifiers(&front, &[("key", Some(&check.key)), ("group", check.group.as_deref())])?;
    }
    let asked: Vec<_> = checks
        .iter()
        .zip(&limits)
        .map(|(check, limit)| Check {
            limit: &limit.name,
            rule: limit.rule(),
            key: &check.key,
            group: check.group.as_deref(),
            cost: check.cost,
        })
        .collect();
    let call = Call::several(&asked, id).map_err(|error| refused(error, true))?;
    let answer = app.limits.check(call).await;
    let limits: Vec<&LimitState> = limits.iter().map(Arc::as_ref).collect();
    match answer {
        Ok(Answer::Decided { allowed, repeated, checks: told }) => {
            for ((limit, told), asked) in limits.iter().zip(&told).zip(&asked) {
                limit.metrics.check(counted(asked.cost, told, allowed, repeated));
            }
            let told = limits.iter().zip(&told);
            let views = told.map(|(limit, told)| CheckView::new(limit.config.limit, told));
            Ok(ChecksView::new(views.collect()).response(&limits))
        }
        Ok(Answer::Mismatch) => Err(Problem::new(Code::OPERATION_MISMATCH)),
        Err(error @ Error::Reply { .. }) => Err(error.into()),
        Err(error) => {
            let views = limits.iter().map(|limit| without_store(&app, limit)).collect();
            let view = ChecksView::new(views);
            Ok(marked(view.response(&limits), view.tightest.allowed, &error))
        }
    }
}

/// What `on_store_error` says, and counts it. A shadow refuses nobody.
fn without_store(app: &App, limit: &LimitState) -> CheckView {
    let open = limit.config.on_store_error == LimitWithoutStore::Open || limit.config.shadow;
    let counted = if open { Counted::DegradedAllowed } else { Counted::DegradedRefused };
    limit.metrics.check(counted);
    let wait = (!open).then(|| app.retries.schedule_anybody());
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

fn counted(cost: u64, told: &Checked, call_allowed: bool, repeated: bool) -> Counted {
    match told.outcome {
        _ if repeated => Counted::Repeated,
        _ if cost == 0 => Counted::Asked,
        Outcome::Refused => Counted::Refused,
        Outcome::ShadowRefused => Counted::ShadowRefused,
        Outcome::Allowed if call_allowed => Counted::Allowed,
        Outcome::Allowed => Counted::Withheld,
    }
}

/// What is wrong with a call, in the words of its body.
fn refused(error: CallError, several: bool) -> Problem {
    let field = |at: usize| if several { format!("checks[{at}].") } else { String::new() };
    let (code, detail) = match error {
        CallError::Count => (Code::INVALID_VALUE, "checks must be 1 to 16".to_owned()),
        CallError::Cost { at, most } => {
            let field = field(at);
            let rule = format!("{field}cost must be at most {most}: the limit, and 100 of a log");
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
