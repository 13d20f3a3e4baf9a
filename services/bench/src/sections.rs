//! What has been measured so far, kept outside of the work, so that it outlives a work that is cut
//! short.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::report::Section;

/// A clone is another handle.
#[derive(Clone, Default)]
pub struct Sections(Arc<Mutex<Measured>>);

/// Sections and what could not be measured.
#[derive(Default)]
pub struct Measured {
    /// The sections, in the order in which they began.
    pub sections: Vec<Section>,
    /// What could not be measured, and why.
    pub notes: Vec<String>,
}

impl Sections {
    /// Adds a section, or puts it in the place of what it was before.
    pub fn put(&self, section: Section) {
        let sections = &mut self.lock().sections;
        match sections.iter_mut().find(|before| before.name == section.name) {
            Some(before) => *before = section,
            None => sections.push(section),
        }
    }

    /// Notes what could not be measured, and why.
    pub fn note(&self, note: impl Into<String>) {
        self.lock().notes.push(note.into());
    }

    /// Everything.
    pub fn take(&self) -> Measured {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Measured> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
