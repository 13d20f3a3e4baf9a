//! The codes of circuit breakers, and the refusals of each call for the API document. Redis being
//! down is not among them: the answer is then the last known state.

use crate::http::document::problems;
use crate::problem::code::codes;
use crate::problem::edge::{BODY, CALLER, REPEATED, VALUE};

codes! {
    /// What the target itself refuses.
    TARGET by Rule;
    /// No target of this name is configured.
    UNKNOWN_TARGET = NOT_FOUND, "unknown_target", "There is no such target",
        No, "Check the name, and `[targets.NAME]` in the configuration.";
}

problems! {
    /// Refusals of a report.
    RecordProblems: CALLER, TARGET, BODY, VALUE, REPEATED;
    /// Refusals to who asks for a permit.
    PermitProblems: CALLER, TARGET, BODY;
    /// Refusals to who reads a target.
    LookProblems: CALLER, TARGET;
}
