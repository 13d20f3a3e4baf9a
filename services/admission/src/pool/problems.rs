//! The refusals of each call for the API document.

use anteroom_authorize::problem::edge::{BODY, CALLER, REPEATED, VALUE};
use anteroom_authorize::problem::{Code, Problem};
use anteroom_core::pool::Refusal;

use crate::http::document::problems;

/// The refusal as a caller gets it.
pub fn problem(refusal: Refusal) -> Problem {
    match refusal {
        Refusal::Mismatch => Problem::new(Code::OPERATION_MISMATCH),
        Refusal::TooLarge => Problem::new(Code::AMOUNT_TOO_LARGE),
        Refusal::Insufficient { balance } => {
            Problem::new(Code::INSUFFICIENT_BALANCE).detail(format!("the balance is {balance}"))
        }
        Refusal::Unconfirmed => Problem::new(Code::POOL_UNCONFIRMED),
        Refusal::Unseen => Problem::new(Code::PRIMARY_UNSEEN),
        Refusal::NoOption => Problem::new(Code::UNKNOWN_OPTION),
        Refusal::NoHold => Problem::new(Code::UNKNOWN_HOLD),
        Refusal::Settled { amount } => {
            Problem::new(Code::HOLD_SETTLED).detail(format!("it was settled for {amount}"))
        }
        Refusal::Cancelled => Problem::new(Code::HOLD_CANCELLED),
        Refusal::Expired => Problem::new(Code::HOLD_EXPIRED),
        Refusal::Exceeds { held } => Problem::new(Code::INVALID_VALUE)
            .detail(format!("amount must be at most {held}, which is held")),
    }
}

/// What a call that moves money may meet.
const MOVES: &[Code] = &[Code::POOL_UNCONFIRMED];
/// What one that needs a balance may.
const PAYS: &[Code] = &[Code::INSUFFICIENT_BALANCE, Code::UNKNOWN_OPTION];

problems! {
    /// Refusals to who looks at a pool, or operates it.
    PoolProblems of Code::UNKNOWN_POOL: CALLER;
    /// Refusals to who reads the ledger.
    LedgerProblems of Code::UNKNOWN_POOL: CALLER, VALUE;
    /// Refusals of a confirmation.
    ConfirmProblems of Code::UNKNOWN_POOL: CALLER, &[Code::PRIMARY_UNSEEN];
    /// Refusals of a hold or a draw.
    ReserveProblems of Code::UNKNOWN_POOL: CALLER, BODY, VALUE, REPEATED, MOVES, PAYS;
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
