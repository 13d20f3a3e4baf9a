//! The refusals of the pools' calls, as the API document lists them.

use crate::http::document::problems;
use crate::problem::Code;
use crate::problem::edge::{BODY, CALLER, VALUE};
use crate::problem::repeated::REPEATED;

/// What a call that moves money may meet.
const MOVES: &[Code] = &[Code::POOL_UNCONFIRMED];
/// What one that needs a balance may.
const PAYS: &[Code] = &[Code::INSUFFICIENT_BALANCE, Code::UNKNOWN_OPTION];

problems! {
    /// Refusals to who looks at a pool, or operates it.
    PoolProblems of Code::UNKNOWN_POOL: CALLER;
    /// Refusals of a confirmation.
    ConfirmProblems of Code::UNKNOWN_POOL: CALLER, &[Code::PRIMARY_UNSEEN];
    /// Refusals of a hold or a draw.
    AskedProblems of Code::UNKNOWN_POOL: CALLER, BODY, VALUE, REPEATED, MOVES, PAYS;
    /// Refusals to who looks at a hold.
    LookProblems of Code::UNKNOWN_POOL: CALLER, &[Code::UNKNOWN_HOLD];
    /// Refusals of an extension.
    ExtendProblems of Code::UNKNOWN_POOL: CALLER,
        &[Code::UNKNOWN_HOLD, Code::HOLD_EXPIRED, Code::HOLD_SETTLED, Code::HOLD_CANCELLED];
    /// Refusals of a settlement.
    SettleProblems of Code::UNKNOWN_POOL: CALLER, BODY, VALUE, MOVES,
        &[Code::UNKNOWN_HOLD, Code::HOLD_EXPIRED, Code::HOLD_SETTLED, Code::HOLD_CANCELLED];
    /// Refusals of a cancellation.
    CancelProblems of Code::UNKNOWN_POOL: CALLER, MOVES, &[Code::UNKNOWN_HOLD, Code::HOLD_SETTLED];
    /// Refusals of funds.
    FundProblems of Code::UNKNOWN_POOL: CALLER, BODY, VALUE, REPEATED, MOVES,
        &[Code::AMOUNT_TOO_LARGE];
}
