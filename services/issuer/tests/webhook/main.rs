//! The webhook against a real receiver, a process of its own.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

mod answers;
mod calls;
mod network;
