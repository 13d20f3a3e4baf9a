//! The codes of circuit breakers, and the refusals of each call for the API document. Redis being
//! down is not among them: the answer is then the last known state.

use anteroom_authorize::problem::edge::{BODY, CALLER, REPEATED, VALUE};
use anteroom_authorize::problem::target::TARGET;

use crate::http::document::problems;

problems! {
    /// Refusals of a report.
    RecordProblems: CALLER, TARGET, BODY, VALUE, REPEATED;
    /// Refusals to who asks for a permit.
    PermitProblems: CALLER, TARGET, BODY;
    /// Refusals to who reads a target.
    LookProblems: CALLER, TARGET;
}
