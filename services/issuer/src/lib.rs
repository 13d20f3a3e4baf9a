//! The issuer: claims applications to events and issues them.
//!
//! [`role`] keeps one task for each event, [`issuing`]. It claims as many applications as its
//! window has room for; each claim is worked off by a task of its own, which renews it, and tells
//! the store what came of each application. [`load`] is the command that loads codes.

mod backoff;
mod codes;
mod issuing;
pub mod load;
mod metrics;
pub mod role;
mod shared;
pub mod webhook;
