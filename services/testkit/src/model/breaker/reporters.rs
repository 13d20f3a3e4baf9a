//! Who reports to a target.

use super::Name;

/// So many are known.
const MOST: usize = 64;

/// Those that are known, with the times at which they were heard and failed last (ms), the one
/// heard last at the end.
#[derive(Clone, Debug, Default)]
pub struct Reporters(Vec<(Option<Name>, u64, Option<u64>)>);

impl Reporters {
    /// How many were heard within the window.
    pub fn known(&self, now: u64, window: u64) -> usize {
        self.0.iter().filter(|(_, heard, _)| heard * 1_000 + window > now).count()
    }

    /// Forgets who has not been heard for the longest window.
    pub fn forget_silent(&mut self, now: u64, window: u64) {
        self.0.retain(|(_, heard, _)| heard * 1_000 + window > now);
    }

    /// Forgets all failures.
    pub fn forgive(&mut self) {
        for (_, _, failed) in &mut self.0 {
            *failed = None;
        }
    }

    pub fn hear(&mut self, name: Option<Name>, has_failed: bool, now: u64) {
        let heard = now / 1_000;
        let mut failed = None;
        if let Some(at) = self.0.iter().position(|(other, ..)| *other == name) {
            failed = self.0.remove(at).2;
        } else if self.0.len() == MOST {
            self.0.remove(0);
        }
        self.0.push((name, heard, if has_failed { Some(heard) } else { failed }));
    }

    /// Whether failures within the window come from enough of them.
    pub fn reach(&self, quorum: usize, now: u64, window: u64) -> bool {
        let failed = self.0.iter().filter_map(|(_, _, failed)| *failed);
        let failing = failed.filter(|at| at * 1_000 + window > now).count();
        failing >= quorum.min(self.known(now, window)).max(1)
    }
}
