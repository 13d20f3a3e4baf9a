//! Loads against small services whose truth is known.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

mod applied;
#[path = "../common/mod.rs"]
mod common;
mod https;
mod interrupt;
mod open;
mod own_limit;
mod ramp;
mod service;
mod share;
