//! The refusals of each call for the API document.

use anteroom_authorize::problem::edge::{BODY, CALLER, REPEATED, VALUE};
use anteroom_authorize::problem::queue::TOKEN;

use crate::http::document::problems;

problems! {
    /// Refusals of an application.
    ApplyProblems of Code::UNKNOWN_EVENT: CALLER, BODY, VALUE,
        &[Code::SOLD_OUT, Code::EVENT_NOT_OPEN];
    /// Refusals to who asks for the application of a visitor.
    StatusProblems of Code::UNKNOWN_EVENT: CALLER, VALUE, &[Code::NOT_FOUND];
    /// Refusals to who asks for their own.
    MineProblems of Code::UNKNOWN_EVENT: TOKEN, &[Code::NOT_FOUND];
    /// Refusals to who reads an event.
    LookProblems of Code::UNKNOWN_EVENT: CALLER;
    /// Refusals of more stock.
    StockProblems of Code::UNKNOWN_EVENT: CALLER, BODY, VALUE, REPEATED;
    /// Refusals to who reads the dead letters.
    DeadProblems of Code::UNKNOWN_EVENT: CALLER, &[Code::BAD_REQUEST];
}
