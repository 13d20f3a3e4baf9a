//! The real binary on a real store, with a real receiver.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

mod chaos;
mod drain;
mod issues;
mod load;
mod permissions;
mod reload;
mod stage;
mod wakes;
mod webhooks;
