//! A pool as backends and operators see it.

use std::time::Duration;

use anteroom_authorize::durations::{millis, moment};
use anteroom_core::pool::{self, HoldState, Snapshot};
use serde::Serialize;
use utoipa::ToSchema;

/// A pool (budget): funded = balance + held + paid.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Pool)]
pub struct PoolView {
    /// Units that are available.
    balance: u64,
    /// Units that holds reserve.
    held: u64,
    /// Units paid, in all.
    paid: u64,
    /// Units deposited, in all.
    funded: u64,
    /// Whether the pool is blocked after a change of the Redis primary, until an operator confirms
    /// it.
    unconfirmed: bool,
    /// The options of the pool, by name.
    options: Vec<OptionView>,
    /// Age of this data in milliseconds: at most 1 000 while Redis is up.
    age_ms: u64,
}

/// An option of a pool.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolOption)]
pub struct OptionView {
    /// The name.
    name: String,
    /// The maximum that it pays.
    amount: u64,
    /// Whether the balance covers this amount.
    available: bool,
}

impl PoolView {
    /// A snapshot of this age.
    pub fn new(snapshot: &Snapshot, age: Duration) -> Self {
        let sums = snapshot.sums;
        let options = snapshot.options().map(|(name, amount, available)| OptionView {
            name: name.to_owned(),
            amount,
            available,
        });
        Self {
            balance: sums.balance,
            held: sums.held,
            paid: sums.paid,
            funded: sums.funded,
            unconfirmed: snapshot.unconfirmed,
            options: options.collect(),
            age_ms: millis(age),
        }
    }
}

/// A new hold (reservation).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Hold)]
pub struct HoldView {
    /// The name.
    #[schema(pattern = "^[A-Za-z0-9_-]{22}$")]
    hold_id: String,
    /// The amount that it reserves.
    amount: u64,
    /// Milliseconds until the hold ends. A retry for a hold that has ended returns 0.
    expires_in_ms: u64,
    /// The balance afterwards.
    balance: u64,
}

impl From<pool::Hold> for HoldView {
    fn from(hold: pool::Hold) -> Self {
        Self {
            hold_id: hold.id.text(),
            amount: hold.amount,
            expires_in_ms: millis(hold.expires_in),
            balance: hold.balance,
        }
    }
}

/// The present state of a hold.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = HoldLook)]
pub struct HoldLookView {
    /// `held`, `settled`, `cancelled` or `expired`.
    #[schema(pattern = "^(held|settled|cancelled|expired)$", example = "held")]
    state: &'static str,
    /// The amount that it reserved.
    amount: u64,
    /// Milliseconds until the hold ends; 0 if it has ended.
    expires_in_ms: u64,
    /// The amount that was paid, if the hold was settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    settled: Option<u64>,
}

impl From<pool::HoldView> for HoldLookView {
    fn from(hold: pool::HoldView) -> Self {
        let settled = match hold.state {
            HoldState::Settled { amount } => Some(amount),
            HoldState::Held | HoldState::Cancelled | HoldState::Expired => None,
        };
        Self {
            state: hold.state.name(),
            amount: hold.amount,
            expires_in_ms: millis(hold.expires_in),
            settled,
        }
    }
}

/// The amount paid or deposited, and the balance afterwards.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Balance)]
pub struct BalanceView {
    /// The amount paid or deposited.
    pub amount: u64,
    /// The balance afterwards.
    pub balance: u64,
}

/// The sums of a pool.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolSums)]
pub struct SumsView {
    /// Units that are available.
    balance: u64,
    /// Units that holds reserve.
    held: u64,
    /// Units paid, in all.
    paid: u64,
    /// Units deposited, in all.
    funded: u64,
}

impl From<pool::Sums> for SumsView {
    fn from(sums: pool::Sums) -> Self {
        let pool::Sums { balance, held, paid, funded } = sums;
        Self { balance, held, paid, funded }
    }
}

/// A page of a ledger.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Ledger)]
pub struct LedgerView {
    /// The last movement that is summed up in `opening` and no longer listed; 0 if there is none.
    opening_seq: u64,
    /// The sums after that movement.
    opening: SumsView,
    /// The number of the newest movement.
    last_seq: u64,
    /// The movements: oldest first, with `before` newest first.
    movements: Vec<MovementView>,
    /// Send it as `after`, or as `before` if you sent that, to get the next page; null at the end.
    #[schema(required = true)]
    next: Option<u64>,
}

/// A movement of a ledger.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Movement)]
pub struct MovementView {
    /// The number of the movement.
    seq: u64,
    /// `funded`, `held`, `settled`, `cancelled`, `expired` or `drawn`.
    kind: &'static str,
    /// The amount deposited, reserved or paid.
    amount: u64,
    /// The amount that the hold had reserved, if this movement ended a hold.
    released: u64,
    /// The balance afterwards.
    balance: u64,
    /// The time, by the clock of Redis; null if RFC 3339 cannot express it.
    #[schema(required = true, format = DateTime)]
    at: Option<String>,
    /// The hold, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[A-Za-z0-9_-]{22}$")]
    hold_id: Option<String>,
    /// The `operation_id` of the draw or deposit.
    #[serde(skip_serializing_if = "Option::is_none")]
    operation_id: Option<String>,
}

impl From<pool::Ledger> for LedgerView {
    fn from(ledger: pool::Ledger) -> Self {
        let movements = ledger.lines.into_iter().map(|line| MovementView {
            seq: line.seq,
            kind: line.movement.name(),
            amount: line.amount,
            released: line.released,
            balance: line.balance,
            at: moment(line.at_us / 1_000_000),
            hold_id: line.hold.map(|hold| hold.text()),
            operation_id: line.operation_id,
        });
        Self {
            opening_seq: ledger.opening_seq,
            opening: ledger.opening.into(),
            last_seq: ledger.last_seq,
            movements: movements.collect(),
            next: ledger.next,
        }
    }
}

/// The sums of a pool: as recomputed from its ledger, and as stored.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolAudit)]
pub struct AuditView {
    /// Whether both agree, no movement is missing, and funded = balance + held + paid.
    holds: bool,
    /// The sums recomputed from the ledger.
    computed: SumsView,
    /// The sums as stored.
    kept: SumsView,
    /// How many movements were read.
    movements: u64,
    /// How many movements are missing.
    missing: u64,
}

impl From<pool::Audit> for AuditView {
    fn from(audit: pool::Audit) -> Self {
        Self {
            holds: audit.holds(),
            computed: audit.computed.into(),
            kept: audit.kept.into(),
            movements: audit.lines,
            missing: audit.missing,
        }
    }
}
