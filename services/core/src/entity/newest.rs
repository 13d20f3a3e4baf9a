//! The newest rules that this process has seen in the store, for a store that loses them.
//!
//! The store keeps the rules in parts, the file's and the overrides where there are any, each under
//! a revision that only grows. A store that was emptied, or an older replica, lacks what came
//! later; a process that has seen that puts it back. Only the scripts know what is packed in a
//! part, so a version keeps the rules that it does not know itself.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::store::{Args, Error, Reply};

/// One part; the default: none seen. A file that only seeded a store has revision 0, and
/// counts as none.
#[derive(Clone, Debug, Default)]
struct Part {
    revision: u64,
    packed: Vec<u8>,
}

/// The newest of each part.
#[derive(Debug)]
pub(crate) struct Newest(Mutex<Vec<Part>>);

impl Newest {
    /// None seen yet of so many.
    pub(crate) fn of(parts: usize) -> Self {
        Self(Mutex::new(vec![Part::default(); parts]))
    }

    fn parts(&self) -> MutexGuard<'_, Vec<Part>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names the revisions, for a script that returns what is newer.
    pub(crate) fn push_revisions(&self, args: &mut Args) {
        for part in self.parts().iter() {
            args.push(part.revision);
        }
    }

    /// Names all of it, for a script that puts it back.
    pub(crate) fn push_parts(&self, args: &mut Args) {
        for part in self.parts().iter() {
            args.push(part.revision).push(part.packed.as_slice());
        }
    }

    /// Reads what a script returns of each part, and keeps what is newer. False when the store
    /// holds an older part than was seen; with the revisions that it holds.
    pub(crate) fn read(&self, reply: &mut Reply) -> Result<(bool, Vec<u64>), Error> {
        let (mut has_all, mut revisions) = (true, Vec::new());
        for seen in self.parts().iter_mut() {
            let found = Part { revision: reply.count()?, packed: reply.bytes()? };
            has_all &= found.revision >= seen.revision;
            revisions.push(found.revision);
            if found.revision > seen.revision {
                *seen = found;
            }
        }
        Ok((has_all, revisions))
    }
}
