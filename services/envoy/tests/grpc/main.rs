//! The real binary on a real store, called with the clients that the protocol files make.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

mod authorization;
mod drain;
mod import;
mod rate_limits;
mod resets;
mod room;
