//! What the scripts reply about events.

use crate::store::{Error, Numbers, Reply, reply_codes};

reply_codes! {
    /// What a script replies about one application.
    pub(super) enum Code {
        Ok,
        Created = 2 "CREATED",
        SoldOut = 3 "SOLD_OUT",
        NotOpen = 4 "NOT_OPEN",
        Full = 5 "FULL",
        Unknown = 6 "UNKNOWN",
        Lost = 7 "LOST",
        Lacking = 8 "LACKING",
        IsDead = 9 "IS_DEAD",
    }
}

reply_codes! {
    /// What a call that adds stock is answered, beside [`Code`].
    pub(super) enum AddStockCode {
        Ok,
        Repeated = 10 "REPEATED",
        Mismatch = 11 "MISMATCH",
        TooLarge = 12 "TOO_LARGE",
    }
}

/// The code of a reply about one application.
pub(super) fn code(reply: &mut Reply) -> Result<Code, Error> {
    let number = reply.count()?;
    Code::numbered(number).ok_or_else(|| reply.error(format!("unknown code {number}")))
}

/// Texts that a script returned behind each other, whose lengths are among its numbers.
pub(super) struct Texts {
    bytes: Vec<u8>,
    read: usize,
}

impl Texts {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, read: 0 }
    }

    /// The next one, of this length.
    pub(super) fn next(&mut self, length: u64, numbers: &Numbers) -> Result<String, Error> {
        let rest = self.bytes.get(self.read..).unwrap_or_default();
        let text = usize::try_from(length).ok().and_then(|length| rest.get(..length));
        let text = text.ok_or_else(|| numbers.error("a text is missing"))?;
        self.read += text.len();
        String::from_utf8(text.to_vec()).map_err(|_| numbers.error("a text that is not UTF-8"))
    }
}
