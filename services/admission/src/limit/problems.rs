//! The refusals of each call for the API document.

use anteroom_authorize::problem::edge::{BODY, CALLER, REPEATED, VALUE};

use crate::http::document::problems;

problems! {
    /// Refusals of a check. Without the store it is answered all the same.
    CheckProblems: CALLER, BODY, VALUE, REPEATED, &[Code::UNKNOWN_LIMIT];
    /// Refusals of several checks.
    SeveralProblems: CALLER, BODY, VALUE, REPEATED, &[Code::UNKNOWN_LIMIT, Code::GROUPS_DIFFER];
    /// Refusals of an operator's call.
    ForgetProblems of Code::UNKNOWN_LIMIT: CALLER, BODY, VALUE;
}
