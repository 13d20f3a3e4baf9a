//! A pool as backends and operators see it.

use std::time::Duration;

use anteroom_core::pool::{self, HoldState, Snapshot};
use serde::Serialize;
use utoipa::ToSchema;

use crate::durations::{millis, moment};

/// A pool: funded = balance + held + paid.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Pool)]
pub struct PoolView {
    /// Units to be given out.
    balance: u64,
    /// Units that holds have reserved.
    held: u64,
    /// Units ever paid.
    paid: u64,
    /// Units ever put in.
    funded: u64,
    /// Whether no money moves until an operator confirms, after a change of the store's primary.
    unconfirmed: bool,
    /// The options of the pool, by name.
    options: Vec<OptionView>,
    /// How old this is, in milliseconds: at most 1 000 while Redis is up.
    age_ms: u64,
}

/// An option of a pool.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolOption)]
pub struct OptionView {
    /// Its name.
    name: String,
    /// The most that it pays.
    amount: u64,
    /// Whether the balance covers that.
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

/// A hold that was given.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Hold)]
pub struct HoldView {
    /// Its name.
    #[schema(pattern = "^[A-Za-z0-9_-]{22}$")]
    hold_id: String,
    /// What it reserves.
    amount: u64,
    /// How long it still lasts; 0 when it is over, which a repeat is told of an ended hold.
    expires_in_ms: u64,
    /// The balance after it.
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

/// A hold as it is now.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = HoldLook)]
pub struct HoldLookView {
    /// `held`, `settled`, `cancelled` or `expired`.
    #[schema(pattern = "^(held|settled|cancelled|expired)$", example = "held")]
    state: &'static str,
    /// What it reserved.
    amount: u64,
    /// How long it still lasts; 0 when it is over.
    expires_in_ms: u64,
    /// What was paid of it, if it was settled.
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

/// What was paid or put in, and the balance after it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Balance)]
pub struct BalanceView {
    /// What was paid, or put in.
    pub amount: u64,
    /// The balance after it.
    pub balance: u64,
}

/// Where the money is.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolSums)]
pub struct SumsView {
    /// Units to be given out.
    balance: u64,
    /// Units that holds have reserved.
    held: u64,
    /// Units ever paid.
    paid: u64,
    /// Units ever put in.
    funded: u64,
}

impl From<pool::Sums> for SumsView {
    fn from(sums: pool::Sums) -> Self {
        let pool::Sums { balance, held, paid, funded } = sums;
        Self { balance, held, paid, funded }
    }
}

/// A part of a ledger.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Ledger)]
pub struct LedgerView {
    /// The last movement that is summed up, and not shown any more; 0 when there is none.
    opening_seq: u64,
    /// What all up to it come to.
    opening: SumsView,
    /// The last movement of all: `after` somewhat less than it shows the newest.
    last_seq: u64,
    /// Movements, in order.
    movements: Vec<MovementView>,
    /// The number behind which the next page begins; null at the end.
    #[schema(required = true)]
    next: Option<u64>,
}

/// One movement.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Movement)]
pub struct MovementView {
    /// Its number.
    seq: u64,
    /// `funded`, `held`, `settled`, `cancelled`, `expired` or `drawn`.
    kind: &'static str,
    /// What was put in, reserved or paid.
    amount: u64,
    /// What a hold that is over had reserved until then.
    released: u64,
    /// The balance after it.
    balance: u64,
    /// When, by the store's clock; null for a moment that RFC 3339 cannot write.
    #[schema(required = true, format = DateTime)]
    at: Option<String>,
    /// Which hold, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[A-Za-z0-9_-]{22}$")]
    hold_id: Option<String>,
    /// Which draw, or funds, by the name that the caller gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    operation_id: Option<String>,
}

impl From<pool::Ledger> for LedgerView {
    fn from(ledger: pool::Ledger) -> Self {
        let last = ledger.lines.last().map(|line| line.seq);
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
            next: last.filter(|last| *last < ledger.last_seq),
        }
    }
}

/// What a pool has by its ledger, and by itself.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolAudit)]
pub struct AuditView {
    /// Whether both say the same, no movement is missing, and funded = balance + held + paid.
    holds: bool,
    /// By the ledger.
    computed: SumsView,
    /// By the pool itself.
    kept: SumsView,
    /// Movements read.
    movements: u64,
    /// Movements that are missing.
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
