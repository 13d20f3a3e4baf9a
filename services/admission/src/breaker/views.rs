//! A target as backends see it.

use std::time::Duration;

use anteroom_authorize::durations::millis;
use anteroom_core::breaker::{Permission, Rules, Snapshot, State, Window};
use serde::Serialize;
use utoipa::ToSchema;

use crate::breaker::state::Degraded;

/// The state of a target (circuit breaker).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = TargetState)]
#[serde(rename_all = "snake_case")]
pub enum StateView {
    /// Healthy.
    Closed,
    /// Unhealthy: use the fallback.
    Open,
    /// A few calls test whether it has recovered. Use the fallback for calls without a permit.
    HalfOpen,
    /// Redis is down, and the last known state is more than 5 s old.
    Unknown,
}

impl From<State> for StateView {
    fn from(state: State) -> Self {
        match state {
            State::Closed => Self::Closed,
            State::Open => Self::Open,
            State::HalfOpen => Self::HalfOpen,
        }
    }
}

/// The window of a target, and its state.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Target)]
pub struct TargetView {
    /// The share of successes among the outcomes in the window, 0 to 1; null without outcomes.
    #[schema(required = true, minimum = 0, maximum = 1)]
    pub success_rate: Option<f64>,
    /// Successes in the window.
    pub successes: u64,
    /// Failures in the window.
    pub failures: u64,
    /// The length of the window in milliseconds: how long an outcome counts.
    pub window_ms: u64,
    /// Whether to use the fallback.
    pub fallback: bool,
    /// The state of the target.
    pub state: StateView,
    /// True if Redis is down: the answer is the last known state, or unknown. Your report may not
    /// have been counted.
    #[serde(skip_serializing_if = "is_false")]
    #[schema(required = false)]
    pub degraded: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl TargetView {
    /// From the window that Redis returned.
    pub fn new(rules: &Rules, window: Window) -> Self {
        Self {
            success_rate: window.success_rate(),
            successes: window.successes,
            failures: window.failures,
            window_ms: millis(rules.window),
            fallback: window.state.is_fallback(),
            state: window.state.into(),
            degraded: false,
        }
    }

    /// While Redis is down.
    pub fn degraded(rules: &Rules, known: Degraded) -> Self {
        match known {
            Degraded::Known(window) => Self { degraded: true, ..Self::new(rules, window) },
            Degraded::Unknown => Self {
                success_rate: None,
                successes: 0,
                failures: 0,
                window_ms: millis(rules.window),
                fallback: false,
                state: StateView::Unknown,
                degraded: true,
            },
        }
    }
}

/// A target, with its latencies and reporters.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TargetLook)]
pub struct LookView {
    #[serde(flatten)]
    target: TargetView,
    /// The median latency in the window in milliseconds, as the upper bound of its histogram
    /// bucket; null without latencies.
    #[schema(required = true, example = 100)]
    latency_p50_ms: Option<u64>,
    /// The 95th percentile of the latency, likewise.
    #[schema(required = true, example = 500)]
    latency_p95_ms: Option<u64>,
    /// How many reporters sent a report within the window; at most 64 are known.
    reporters: u64,
    /// How many permits are in use. Absent unless the target is half open.
    #[serde(skip_serializing_if = "Option::is_none")]
    permits: Option<u64>,
    /// Age of this data in milliseconds: at most 1 000. Absent if `degraded`.
    #[serde(skip_serializing_if = "Option::is_none")]
    age_ms: Option<u64>,
}

impl LookView {
    /// A snapshot of this age.
    pub fn new(rules: &Rules, snapshot: &Snapshot, age: Duration) -> Self {
        Self {
            target: TargetView::new(rules, snapshot.window()),
            latency_p50_ms: snapshot.latency_percentile_ms(50),
            latency_p95_ms: snapshot.latency_percentile_ms(95),
            reporters: snapshot.reporters,
            permits: (snapshot.state == State::HalfOpen).then_some(snapshot.permits),
            age_ms: Some(millis(age)),
        }
    }

    /// While Redis is down.
    pub fn degraded(rules: &Rules, known: Degraded) -> Self {
        Self {
            target: TargetView::degraded(rules, known),
            latency_p50_ms: None,
            latency_p95_ms: None,
            reporters: 0,
            permits: None,
            age_ms: None,
        }
    }
}

/// Whether a call is allowed.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Permit)]
pub struct PermitView {
    /// Whether the call is allowed.
    pub allowed: bool,
    /// The permit, while the target is half open: send it with the outcome of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[A-Za-z0-9_-]{22}$")]
    pub permit: Option<String>,
    /// Ask again after this many milliseconds, if the call is not allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The state of the target.
    pub state: StateView,
    /// True if Redis is down: the answer is the last known state, or unknown.
    #[serde(skip_serializing_if = "is_false")]
    #[schema(required = false)]
    pub degraded: bool,
}

impl PermitView {
    /// From the permission that Redis returned.
    pub fn new(permission: Permission) -> Self {
        let (allowed, permit, retry_after_ms, state) = match permission {
            Permission::Free => (true, None, None, State::Closed),
            Permission::Permit(permit) => (true, Some(permit.text()), None, State::HalfOpen),
            Permission::Refused { state, retry_in } => {
                // Rounded up: a millisecond before its time it would be refused again.
                let retry_in = u64::try_from(retry_in.as_micros().div_ceil(1_000));
                (false, None, Some(retry_in.unwrap_or(u64::MAX)), state)
            }
        };
        Self { allowed, permit, retry_after_ms, state: state.into(), degraded: false }
    }
}
