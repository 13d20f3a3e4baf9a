//! The results as Envoy reads them.

use std::time::Duration;

use anteroom_authorize::durations::whole_seconds;
use anteroom_authorize::limit::{LIMIT, Left, LimitState, POLICY, policies, remaining};
use envoy_types::pb::envoy::config::core::v3::HeaderValue;
use envoy_types::pb::envoy::service::ratelimit::v3::RateLimitResponse;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::rate_limit::Unit;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::{
    Code, DescriptorStatus, RateLimit,
};
use envoy_types::pb::google;
use http::header::RETRY_AFTER;

use super::calls::{CheckResult, Results};

/// The answer to a request.
pub fn of(results: &Results) -> RateLimitResponse {
    RateLimitResponse {
        overall_code: code(results.allowed).into(),
        statuses: results.of_descriptors.iter().map(status).collect(),
        response_headers_to_add: headers(results),
        ..Default::default()
    }
}

fn code(allowed: bool) -> Code {
    if allowed { Code::Ok } else { Code::OverLimit }
}

fn status<L: AsRef<LimitState>>(result: &Option<(L, CheckResult)>) -> DescriptorStatus {
    let Some((limit, result)) = result else {
        return DescriptorStatus { code: Code::Ok.into(), ..Default::default() };
    };
    let limit = limit.as_ref();
    DescriptorStatus {
        code: code(result.allowed).into(),
        current_limit: Some(RateLimit {
            name: limit.name.clone(),
            requests_per_unit: limit.config.limit,
            unit: unit(limit.config.window).into(),
        }),
        limit_remaining: result.remaining.unwrap_or_default(),
        duration_until_reset: Some(duration(result.reset)),
        ..Default::default()
    }
}

/// Envoy knows only some windows.
fn unit(window: Duration) -> Unit {
    match window.as_secs() {
        1 => Unit::Second,
        60 => Unit::Minute,
        3_600 => Unit::Hour,
        86_400 => Unit::Day,
        _ => Unit::Unknown,
    }
}

fn duration(time: Duration) -> google::protobuf::Duration {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    let nanos = i32::try_from(time.subsec_nanos()).unwrap_or_default();
    google::protobuf::Duration { seconds, nanos }
}

/// `RateLimit-Policy`, `RateLimit`, and `Retry-After` of a refusal.
fn headers(results: &Results) -> Vec<HeaderValue> {
    let checked: Vec<_> = results.of_descriptors.iter().flatten().collect();
    let mut headers = Vec::new();
    let mut add = |name: &http::HeaderName, value: String| {
        headers.push(HeaderValue { key: name.to_string(), value, ..Default::default() });
    };
    let text = |value: http::HeaderValue| value.to_str().unwrap_or_default().to_owned();
    if !checked.is_empty() {
        add(&POLICY, text(policies(checked.iter().map(|(limit, _)| &**limit))));
    }
    let left: Option<Vec<_>> = checked
        .iter()
        .map(|(limit, result)| {
            Some((&**limit, Left { units: result.remaining?, reset: result.reset }))
        })
        .collect();
    if let Some(left) = left.filter(|left| !left.is_empty()) {
        add(&LIMIT, text(remaining(&left)));
    }
    let refused = checked.iter().filter(|(_, result)| !result.allowed);
    if let Some(longest) = refused.map(|(_, result)| result.reset).max() {
        add(&RETRY_AFTER, whole_seconds(longest).to_string());
    }
    headers
}
