//! What this process has used of the processors.

use nix::sys::resource::{UsageWho, getrusage};

/// Processor time so far, in seconds: of all threads, in user mode and in the kernel.
pub fn seconds() -> f64 {
    // The own process can always be asked.
    getrusage(UsageWho::RUSAGE_SELF).map_or(0.0, |usage| {
        [usage.user_time(), usage.system_time()]
            .map(|time| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6)
            .iter()
            .sum()
    })
}
