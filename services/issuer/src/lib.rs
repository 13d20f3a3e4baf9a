//! The issuer: claims applications to events and issues them.
//!
//! [`role`] keeps one task for each event, [`issuing`]. It claims as many applications as its
//! window has room for; each claim is worked off by a task of its own, which renews it, and reports
//! to Redis what came of each application. [`code_files`] is the command that loads codes.

mod backoff;
pub mod code_files;
mod codes;
mod issuing;
mod metrics;
mod retry;
pub mod role;
mod shared;
pub mod webhook;
