//! What a call that asks the store may answer.

use anteroom_core::store::Error;
use rand::Rng as _;

use super::code::codes;
use super::{Code, Problem, retry};

codes! {
    /// What any call that asks the store may answer.
    STORE by Service;
    /// Redis is down, full, or refuses the call. Nothing was changed. A poll also gets this error
    /// if Redis does not answer in time. Redis may have counted that poll.
    STORE_UNAVAILABLE = SERVICE_UNAVAILABLE, "store_unavailable", "Redis is not available",
        Later, "Retry after `Retry-After`. An outage of Redis ends no waiting place.";
    /// Redis did not answer in time. The call can have had its effect.
    EFFECT_UNKNOWN = GATEWAY_TIMEOUT, "effect_unknown",
        "It is not known whether the call had its effect",
        SameId, "Retry with the same token, Idempotency-Key or id. An operator call without \
            an id: first wait for `Retry-After`, and at least for `store.request_timeout` (default \
            1 s). Then read the state of the queue, event or pool.";
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::from(&error)
    }
}

impl From<&Error> for Problem {
    fn from(error: &Error) -> Self {
        let code = match error {
            Error::Unavailable(_) | Error::Forbidden(_) | Error::Full => Code::STORE_UNAVAILABLE,
            Error::Unknown(_) => Code::EFFECT_UNKNOWN,
            Error::Overloaded => Code::OVERLOADED,
            Error::Reply { .. } => Code::INTERNAL,
        };
        let problem = Self::new(code).cause(error.to_string());
        if code == Code::INTERNAL {
            return problem;
        }
        problem.retry_after(retry::after(
            0,
            retry::MIN_DELAY,
            retry::DEFAULT_MAX_DELAY,
            rand::rng().random(),
        ))
    }
}
