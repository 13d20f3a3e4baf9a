//! The codes of pools, and the refusals of each call for the API document.

use anteroom_core::pool::Refusal;

use crate::http::document::problems;
use crate::problem::code::codes;
use crate::problem::edge::{BODY, CALLER, REPEATED, VALUE};
use crate::problem::{Code, Problem};

codes! {
    /// What the pool itself refuses.
    POOL by Rule;
    /// No pool of this name is configured.
    UNKNOWN_POOL = NOT_FOUND, "unknown_pool", "There is no such pool",
        No, "Check the name, and `[pools.NAME]` in the configuration.";
    /// The hold does not exist, or ended more than a day ago.
    UNKNOWN_HOLD = NOT_FOUND, "unknown_hold", "There is no such hold",
        No, "Check the `hold_id`.";
    /// The pool has no option of this name.
    UNKNOWN_OPTION = UNPROCESSABLE_ENTITY, "unknown_option", "The pool has no such option",
        No, "Use a name of `options` in `GET /v1/pools/{pool}`.";
    /// The balance does not cover the amount.
    INSUFFICIENT_BALANCE = CONFLICT, "insufficient_balance",
        "The balance does not cover the amount",
        No, "Use a smaller amount, or deposit funds. Holds that expire return to the balance.";
    /// The hold has expired, and the balance no longer covers the amount.
    HOLD_EXPIRED = CONFLICT, "hold_expired", "The hold has ended",
        No, "Make a new hold or a draw.";
    /// The hold was settled for another amount.
    HOLD_SETTLED = CONFLICT, "hold_settled", "The hold was settled",
        No, "Read the hold with GET: it shows the amount that was paid.";
    /// The hold was cancelled.
    HOLD_CANCELLED = CONFLICT, "hold_cancelled", "The hold was cancelled",
        No, "Make a new hold.";
    /// With this deposit, the sum of all deposits would exceed 2^53 − 1.
    AMOUNT_TOO_LARGE = UNPROCESSABLE_ENTITY, "amount_too_large", "The sum would be too large",
        No, "Deposit less.";
    /// The Redis primary has changed, and no operator has confirmed the pool.
    POOL_UNCONFIRMED = SERVICE_UNAVAILABLE, "pool_unconfirmed",
        "No money moves until an operator confirms the pool",
        Later, "Operators: list the payments that Redis lost. Confirm the pool with `POST \
            /v1/admin/pools/{pool}/confirm`. Then repeat these payments.";
    /// The Redis user has no permission for `INFO`, so Anteroom cannot see which Redis is primary.
    PRIMARY_UNSEEN = CONFLICT, "primary_unseen", "The Redis user needs the permission +info",
        No, "Give the Redis user `+info`, then confirm the pool.";
}

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
