//! The refusals of the limits' calls, as the API document lists them.

use crate::http::document::problems;
use crate::problem::edge::{BODY, CALLER, VALUE};
use crate::problem::repeated::REPEATED;

problems! {
    /// Refusals of a check. Without the store it is answered all the same.
    CheckProblems: CALLER, BODY, VALUE, REPEATED, &[Code::UNKNOWN_LIMIT];
    /// Refusals of several checks.
    SeveralProblems: CALLER, BODY, VALUE, REPEATED, &[Code::UNKNOWN_LIMIT, Code::GROUPS_DIFFER];
    /// Refusals of an operator's call.
    ForgetProblems of Code::UNKNOWN_LIMIT: CALLER, BODY, VALUE;
}
