//! What a visitor holds in a queue.

use std::time::Duration;

/// The number of a place: 1, 2, 3 … in the order in which the store saw the joins.
pub type Ticket = u64;

/// 64 random bits of a queue's present life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Epoch(pub [u8; 8]);

/// The identity of a place: 14 bytes of a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlaceId(pub [u8; 14]);

/// What a token or a handle names: one place of one life of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlaceRef {
    /// The life of the queue in which the place was given.
    pub epoch: Epoch,
    /// Whose place it is.
    pub id: PlaceId,
    /// Its number.
    pub ticket: Ticket,
}

/// Where a place stands, for its holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// In line.
    Waiting,
    /// Its turn has come; it must be claimed.
    Ready,
    /// Claimed.
    Active,
}

/// A place as its holder sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where it stands.
    pub status: Status,
    /// Its number.
    pub ticket: Ticket,
    /// 1 = next; 0 unless waiting. Only ever improves.
    pub position: u64,
    /// Expected wait (median); absent when unknown, paused or not waiting.
    pub eta: Option<Duration>,
    /// The wait that nine in ten will not exceed; absent like `eta`.
    pub eta_p90: Option<Duration>,
    /// Time until the claim or the session ends; absent while waiting.
    pub expires_in: Option<Duration>,
}

/// Why a place is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GoneReason {
    /// Its visitor, or the protected service, finished.
    Completed,
    /// It gave up its place in line or its turn.
    Left,
    /// Its turn was not claimed in time.
    Unclaimed,
    /// Its session ended.
    Expired,
    /// It was never polled, or stayed away too long.
    Abandoned,
    /// An operator removed it.
    Evicted,
    /// The store lost it, or the queue began a new life.
    Lost,
    /// It ended too long ago to say why.
    Ended,
}
