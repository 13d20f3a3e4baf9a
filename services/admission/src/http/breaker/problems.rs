//! The refusals of the targets' calls, as the API document lists them. That the store is away is
//! none: it is answered from what was known last.

use crate::breaker::codes::TARGET;
use crate::http::document::problems;
use crate::problem::edge::{BODY, CALLER, VALUE};
use crate::problem::repeated::REPEATED;

problems! {
    /// Refusals of a report.
    RecordProblems: CALLER, TARGET, BODY, VALUE, REPEATED;
    /// Refusals to who asks for a permit.
    PermitProblems: CALLER, TARGET, BODY;
    /// Refusals to who reads a target.
    LookProblems: CALLER, TARGET;
}
