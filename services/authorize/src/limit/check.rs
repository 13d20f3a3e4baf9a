//! A call of checks, with what follows from it for metrics and while Redis is down.

use anteroom_config::LimitWithoutStore;
use anteroom_core::limit::{Answer, Call, Checked, Limits, Outcome};
use anteroom_core::store::Error;

use super::LimitState;
use super::metrics::Counted;

/// The answer to a call, counted for each of its limits.
#[derive(Debug)]
pub enum Verdict {
    /// Redis decided: the outcome of each check. Allowed is all or nothing.
    Decided(Vec<Checked>),
    /// Redis did not answer.
    Degraded {
        /// Whether `on_store_error` of each limit allows its check.
        allowed: Vec<bool>,
        /// Why.
        error: Error,
    },
    /// An earlier call of the same id had another payload.
    Mismatch,
}

/// Makes a call; `of` has the limit and the cost of each of its checks, in their order.
///
/// # Errors
///
/// When the reply of Redis cannot be read.
pub async fn check(
    limits: &Limits,
    call: Call,
    of: &[(&LimitState, u64)],
) -> Result<Verdict, Error> {
    match limits.check(call).await {
        Ok(Answer::Decided { allowed, repeated, checks }) => {
            for ((limit, cost), checked) in of.iter().zip(&checks) {
                limit.metrics.check(counted(*cost, checked, allowed, repeated));
            }
            Ok(Verdict::Decided(checks))
        }
        Ok(Answer::Mismatch) => Ok(Verdict::Mismatch),
        Err(error @ Error::Reply { .. }) => Err(error),
        Err(error) => {
            let allowed = of.iter().map(|(limit, _)| limit.without_store()).collect();
            Ok(Verdict::Degraded { allowed, error })
        }
    }
}

impl LimitState {
    /// Whether `on_store_error` allows a check, which is counted. A limit in shadow refuses no
    /// call.
    pub fn without_store(&self) -> bool {
        let open = self.config.on_store_error == LimitWithoutStore::Open || self.config.shadow;
        self.metrics.check(if open { Counted::DegradedAllowed } else { Counted::DegradedRefused });
        open
    }
}

fn counted(cost: u64, checked: &Checked, call_allowed: bool, repeated: bool) -> Counted {
    match checked.outcome {
        _ if repeated => Counted::Repeated,
        _ if cost == 0 => Counted::CostsNothing,
        Outcome::Refused => Counted::Refused,
        Outcome::ShadowRefused => Counted::ShadowRefused,
        Outcome::Allowed if call_allowed => Counted::Allowed,
        Outcome::Allowed => Counted::Withheld,
    }
}
