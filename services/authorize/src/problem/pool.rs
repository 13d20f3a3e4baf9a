//! The codes of pools.

use super::code::codes;

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
