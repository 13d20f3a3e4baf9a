//! What a call that asks the store may answer.

use anteroom_core::store::Error;
use rand::Rng as _;

use super::code::codes;
use super::{Code, Problem, retry};

codes! {
    /// What any call that asks the store may answer.
    STORE by Service;
    /// The store is away; nothing was done.
    STORE_UNAVAILABLE = SERVICE_UNAVAILABLE, "store_unavailable", "The store is not available";
    /// The store did not answer; the call may have had its effect. Asking again is harmless.
    EFFECT_UNKNOWN = GATEWAY_TIMEOUT, "effect_unknown", "The effect of the call is not known";
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
