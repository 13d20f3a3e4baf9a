//! What the code under test logs in this process, caught.

use std::{
    io,
    sync::{Arc, Mutex, Once, PoisonError},
};

use tracing::{
    Level,
    subscriber::{DefaultGuard, set_default, set_global_default},
};

/// Everything that was logged, at every level.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Catches what this thread logs while the guard lives, as text.
    pub fn of_thread() -> (Self, DefaultGuard) {
        Self::keep_events_on();
        let log = Self::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(Level::TRACE)
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        (log, set_default(subscriber))
    }

    /// Catches what this process logs from now on, as lines of JSON.
    ///
    /// # Panics
    /// When a subscriber is there already.
    pub fn of_process() -> Self {
        let log = Self::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .json()
            .with_max_level(Level::TRACE)
            .with_writer(move || writer.clone())
            .finish();
        set_global_default(subscriber).expect("the first subscriber");
        log
    }

    /// Installs a subscriber for the threads that catch nothing: an event that is first met on a
    /// thread without any would be off for all threads, as long as no more than one catches.
    ///
    /// # Panics
    /// When another subscriber is there already.
    pub fn keep_events_on() {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| {
            let subscriber = tracing_subscriber::fmt()
                .with_max_level(Level::TRACE)
                .with_writer(io::sink)
                .finish();
            set_global_default(subscriber).expect("the first subscriber");
        });
    }

    /// The text so far.
    pub fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
