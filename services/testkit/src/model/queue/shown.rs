//! The line as operators read it.

use super::{Id, Queue, Stand};

/// The status of a place that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of the specification")]
pub enum Shown {
    Waiting,
    Ready { ends: u64 },
    Active { ends: u64 },
    Away,
}

impl Queue {
    /// Who holds a place, in ticket order; what has ended is gone, swept or not.
    pub fn shown(&mut self, wall: u64) -> Vec<(Id, u64, Shown)> {
        self.read_clock(wall);
        let in_line = self.line.iter().filter_map(|(ticket, (id, stand))| {
            let shown = match stand {
                Stand::Waiting | Stand::Returned => Shown::Waiting,
                Stand::Away(since) if since + self.rules.keep_ttl > self.heard => Shown::Away,
                Stand::Away(_) => return None,
            };
            Some((*id, *ticket, shown))
        });
        let alive = self.admitted.iter().filter(|(_, place)| place.ends > self.now);
        let admitted = alive.map(|(ticket, place)| {
            let ends = place.ends;
            let shown = if place.active { Shown::Active { ends } } else { Shown::Ready { ends } };
            (place.id, *ticket, shown)
        });
        let mut all: Vec<_> = in_line.chain(admitted).collect();
        all.sort_by_key(|(_, ticket, _)| *ticket);
        all
    }
}
