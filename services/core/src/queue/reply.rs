//! What the scripts reply about places.

use std::time::Duration;

use super::outlook::Outlook;
use super::place::{GoneReason, Place, Standing, Status, Ticket, Wait};
pub(super) use crate::store::Reply;
use crate::store::{Error, Numbers, reply_codes};

reply_codes! {
    /// What a script answers for one visitor.
    pub(super) enum Code {
        Ok,
        Created = 2 "CREATED",
        NotReady = 3 "NOT_READY",
        NotActive = 4 "NOT_ACTIVE",
        Full = 5 "FULL",
        Closed = 6 "CLOSED",
        IsGone = 7 "IS_GONE",
    }
}

/// One visitor's outcome, as `lua/queue/lib/outcomes.lua` packs it.
pub(super) struct PackedOutcome {
    pub(super) code: Code,
    /// The status, or the reason of a place that is gone.
    pub(super) status: u64,
    /// The position of a waiting place, else a time in milliseconds.
    value: u64,
}

impl PackedOutcome {
    /// Reads the next.
    pub(super) fn read(numbers: &mut Numbers) -> Result<Self, Error> {
        let head = numbers.count()?;
        let code = Code::of(head & 7, numbers)?;
        Ok(Self { code, status: head >> 3 & 15, value: head >> 7 })
    }

    /// How long until the place ends, or until joins are taken.
    pub(super) fn left(&self) -> Duration {
        Duration::from_millis(self.value)
    }

    /// Why the place is gone.
    pub(super) fn reason(&self, numbers: &Numbers) -> Result<GoneReason, Error> {
        GoneReason::numbered(self.status)
            .ok_or_else(|| numbers.error(format!("unknown reason {}", self.status)))
    }

    /// The place that it shows; for a waiting one its turn follows.
    pub(super) fn place(
        &self,
        numbers: &mut Numbers,
        outlook: Option<&Outlook>,
        ticket: Ticket,
    ) -> Result<Place, Error> {
        let standing = match Status::numbered(self.status) {
            Some(Status::Waiting) => {
                let turn = numbers.count()?;
                let unknown = || Wait::Unknown { before: turn.saturating_sub(1) };
                let wait = outlook.map_or_else(unknown, |outlook| outlook.wait(turn));
                Standing::Waiting { position: self.value, wait }
            }
            Some(Status::Ready) => Standing::Ready { expires_in: self.left() },
            Some(Status::Active) => Standing::Active { expires_in: self.left() },
            _ => return Err(numbers.error(format!("unknown status {}", self.status))),
        };
        Ok(Place { ticket, standing })
    }
}
