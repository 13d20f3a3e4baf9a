//! What visitors saw of a step.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

/// Requests on connections of one kind.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Delivery {
    /// Sent.
    pub requests: u64,
    /// Lost, by what came instead of an answer.
    pub lost: BTreeMap<String, u64>,
    /// Answered that they are to be repeated, as the store is away or slow.
    pub put_off: u64,
}

impl Delivery {
    /// What came after `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        let before = |reason| earlier.lost.get(reason).copied().unwrap_or(0);
        let lost = self.lost.iter().map(|(reason, count)| (reason.clone(), count - before(reason)));
        Self {
            requests: self.requests - earlier.requests,
            lost: lost.filter(|(_, count)| *count > 0).collect(),
            put_off: self.put_off - earlier.put_off,
        }
    }

    /// All that were lost.
    pub fn lost(&self) -> u64 {
        self.lost.values().sum()
    }
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.lost(), self.requests)?;
        let reasons = self.lost.iter().map(|(reason, count)| format!("{count} {reason}"));
        let reasons = reasons.collect::<Vec<_>>().join(", ");
        if reasons.is_empty() { Ok(()) } else { write!(f, " ({reasons})") }
    }
}

/// What visitors saw between two marks.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Seen {
    /// On connections that they keep.
    pub kept: Delivery,
    /// Each on a new one.
    pub new: Delivery,
    /// The longest time in which none of them was promoted; absent where others came, too.
    pub gap_seconds: Option<f64>,
    /// From the first second with a lost request to the last one.
    pub losing_seconds: f64,
}

impl Seen {
    /// All that were lost.
    pub fn lost(&self) -> u64 {
        self.kept.lost() + self.new.lost()
    }

    /// All that were put off.
    pub fn put_off(&self) -> u64 {
        self.kept.put_off + self.new.put_off
    }

    /// Whether no visitor noticed anything.
    pub fn undisturbed(&self) -> bool {
        self.lost() + self.put_off() == 0
    }
}
