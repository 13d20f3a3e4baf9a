//! What the scripts tell of places.

use std::time::Duration;

use super::outlook::Outlook;
use super::place::{GoneReason, Place, Standing, Ticket, Wait};
pub(super) use crate::store::Reply;
use crate::store::{Error, Numbers, codes};

codes! {
    /// What a script answers for one visitor, as `lua/queue/lib/meta.lua` names it.
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

/// The reason behind a number of the scripts.
pub(super) fn reason(number: u64) -> Option<GoneReason> {
    let at = usize::try_from(number).ok()?.checked_sub(1)?;
    GoneReason::ALL.get(at).copied()
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
        reason(self.status).ok_or_else(|| numbers.error(format!("unknown reason {}", self.status)))
    }

    /// The place that it shows; for a waiting one its turn follows.
    pub(super) fn place(
        &self,
        numbers: &mut Numbers,
        outlook: Option<&Outlook>,
        ticket: Ticket,
    ) -> Result<Place, Error> {
        let standing = match self.status {
            1 => {
                let turn = numbers.count()?;
                let unknown = || Wait::Unknown { before: turn.saturating_sub(1) };
                let wait = outlook.map_or_else(unknown, |outlook| outlook.wait(turn));
                Standing::Waiting { position: self.value, wait }
            }
            2 => Standing::Ready { expires_in: self.left() },
            3 => Standing::Active { expires_in: self.left() },
            other => return Err(numbers.error(format!("unknown status {other}"))),
        };
        Ok(Place { ticket, standing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const META: &str = include_str!("../../../../lua/queue/lib/meta.lua");

    #[test]
    fn codes_are_those_of_the_scripts() {
        let line = Code::line();
        assert!(META.contains(&line), "{line}");
    }

    #[test]
    fn reasons_are_those_of_the_scripts() {
        let names: Vec<_> = GoneReason::ALL.iter().map(|it| it.name().to_uppercase()).collect();
        let numbers: Vec<_> = (1..=names.len()).map(|number| number.to_string()).collect();
        let line = format!("local {} = {}\n", names.join(", "), numbers.join(", "));
        assert!(META.contains(&line), "{line}");
    }
}
