//! The header fields `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-11).

use std::fmt::Write as _;
use std::time::Duration;

use http::header::{HeaderName, HeaderValue};

use super::LimitState;

/// The name of the field with the rules.
pub const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
/// The name of the field with what is left.
pub const LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// What a check left of its limit.
#[derive(Clone, Copy, Debug)]
pub struct Left {
    /// Units.
    pub units: u32,
    /// Until all units are available; of a refusal no later than `Retry-After`, which it must not
    /// contradict.
    pub reset: Duration,
}

/// The value of `RateLimit-Policy`, which names each limit once.
pub fn policies<'a>(limits: impl IntoIterator<Item = &'a LimitState>) -> HeaderValue {
    let mut policies: Vec<&HeaderValue> = Vec::new();
    for limit in limits {
        if !policies.contains(&&limit.policy) {
            policies.push(&limit.policy);
        }
    }
    match policies[..] {
        [policy] => policy.clone(),
        _ => {
            let policies: Vec<_> = policies.iter().map(|policy| policy.as_bytes()).collect();
            let joined = HeaderValue::from_bytes(&policies.join(&b", "[..]));
            joined.unwrap_or(HeaderValue::from_static(""))
        }
    }
}

/// The value of `RateLimit`, which names each limit once, with the check that left the fewest
/// units.
pub fn remaining(checks: &[(&LimitState, Left)]) -> HeaderValue {
    let mut items = String::with_capacity(64);
    for (at, (limit, _)) in checks.iter().enumerate() {
        let same = |other: &LimitState| other.name == limit.name;
        if checks[..at].iter().any(|(other, _)| same(other)) {
            continue;
        }
        let of_it = checks.iter().filter(|(other, _)| same(other)).map(|(_, left)| left);
        let Some(least) = of_it.min_by_key(|left| left.units) else { continue };
        if !items.is_empty() {
            items.push_str(", ");
        }
        let (name, units) = (&limit.name, least.units);
        let seconds = least.reset.as_millis().div_ceil(1_000);
        // Writing into a String cannot fail.
        let _ = write!(items, "\"{name}\";r={units};t={seconds}");
    }
    // Names and numbers are always a header's.
    HeaderValue::try_from(items).unwrap_or(HeaderValue::from_static(""))
}
