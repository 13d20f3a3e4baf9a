//! What a visitor holds in a queue.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

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

impl PlaceRef {
    const LEN: usize = 8 + 14 + 8;

    /// The opaque handle by which a backend names the place. It is no token: it carries no proof.
    pub fn to_handle(self) -> String {
        URL_SAFE_NO_PAD.encode(self.to_bytes())
    }

    /// Reads a handle; `None` when it is not one.
    pub fn from_handle(handle: &str) -> Option<Self> {
        // 30 bytes are 40 characters; anything else is refused before it is decoded.
        if handle.len() != Self::LEN / 3 * 4 {
            return None;
        }
        Self::from_bytes(&URL_SAFE_NO_PAD.decode(handle).ok()?)
    }

    pub(super) fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..8].copy_from_slice(&self.epoch.0);
        bytes[8..22].copy_from_slice(&self.id.0);
        bytes[22..].copy_from_slice(&self.ticket.to_be_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.len() != Self::LEN {
            return None;
        }
        let ticket = Ticket::from_be_bytes(bytes[22..].try_into().ok()?);
        // The store counts in doubles: a ticket it never gave is no handle and no token.
        if ticket == 0 || ticket > MAX_TICKET {
            return None;
        }
        Some(Self {
            epoch: Epoch(bytes[..8].try_into().ok()?),
            id: PlaceId(bytes[8..22].try_into().ok()?),
            ticket,
        })
    }
}

/// The last ticket a queue gives: beyond it a double could no longer tell two apart.
pub const MAX_TICKET: Ticket = (1 << 53) - 1;

/// A place as its holder sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its number.
    pub ticket: Ticket,
    /// Where it stands.
    pub standing: Standing,
}

/// Where a place stands, for its holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// In line.
    Waiting {
        /// 1 = next. Only ever improves.
        position: u64,
        /// How long until its turn.
        wait: Wait,
    },
    /// Its turn has come, and must be claimed within this time.
    Ready {
        /// What is left of it.
        expires_in: Duration,
    },
    /// Claimed, for this time.
    Active {
        /// What is left of it.
        expires_in: Duration,
    },
}

/// How long a place will wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wait {
    /// By the turns of late.
    Expected {
        /// The median.
        eta: Duration,
        /// What nine in ten will not exceed, where slow times are known.
        eta_p90: Option<Duration>,
    },
    /// Nobody knows: promotion stands, or there was no turn yet.
    Unknown {
        /// How many are promoted before it, the returned too.
        before: u64,
    },
}

impl Place {
    /// Where it stands, in a word.
    pub fn status(&self) -> Status {
        match self.standing {
            Standing::Waiting { .. } => Status::Waiting,
            Standing::Ready { .. } => Status::Ready,
            Standing::Active { .. } => Status::Active,
        }
    }

    /// 1 = next; 0 unless waiting.
    pub fn position(&self) -> u64 {
        if let Standing::Waiting { position, .. } = self.standing { position } else { 0 }
    }

    /// The expected wait and what nine in ten will not exceed, as far as these are known.
    pub fn eta(&self) -> (Option<Duration>, Option<Duration>) {
        match self.standing {
            Standing::Waiting { wait: Wait::Expected { eta, eta_p90 }, .. } => (Some(eta), eta_p90),
            _ => (None, None),
        }
    }

    /// Time until the claim or the session ends; `None` while waiting.
    pub fn expires_in(&self) -> Option<Duration> {
        match self.standing {
            Standing::Ready { expires_in } | Standing::Active { expires_in } => Some(expires_in),
            Standing::Waiting { .. } => None,
        }
    }
}

/// Where a place stands that is there, by the numbers that the scripts use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// In line, and present.
    Waiting = 1,
    /// Its turn has come; it must be claimed.
    Ready = 2,
    /// Claimed.
    Active = 3,
    /// In line, not seen for `idle_ttl`; its holder, by asking, is back.
    Away = 4,
}

impl Status {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Waiting, Self::Ready, Self::Active, Self::Away];

    /// The stable name, as the API shows it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Ready => "ready",
            Self::Active => "active",
            Self::Away => "away",
        }
    }
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

impl GoneReason {
    /// Every reason, in the order of the numbers that the scripts use (1 is the first).
    pub const ALL: [Self; 8] = [
        Self::Completed,
        Self::Left,
        Self::Unclaimed,
        Self::Expired,
        Self::Abandoned,
        Self::Evicted,
        Self::Lost,
        Self::Ended,
    ];

    /// The stable name, as the API and the metrics show it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Left => "left",
            Self::Unclaimed => "unclaimed",
            Self::Expired => "expired",
            Self::Abandoned => "abandoned",
            Self::Evicted => "evicted",
            Self::Lost => "lost",
            Self::Ended => "ended",
        }
    }
}
