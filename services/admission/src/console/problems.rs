//! The refusals of each call for the API document.

use anteroom_authorize::problem::edge::CALLER;

use crate::http::document::problems;

problems! {
    /// Refusals of a sign-in.
    SignInProblems: CALLER, &[Code::SLOW_DOWN];
    /// Refusals of a sign-out.
    SignOutProblems: CALLER;
}
