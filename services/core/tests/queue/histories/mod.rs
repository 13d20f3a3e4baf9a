//! Random histories: joins, polls, drop-outs, no-shows, renewals, alone and in calls shared by
//! several, pauses, overrides and their ends, resets, time steps, leaps of the clock, forgotten
//! scripts, lost writes, emptied stores, services that start anew, and repeats, each answer
//! compared with the reference model's.
//!
//! `cargo test` plays a fixed set of them. `make soak` plays a million that nobody has seen before,
//! and writes down the first that fails, made as short as it goes: it then stays as a fixed case in
//! `fixed.rs`.

mod fixed;
mod history;
mod overrides;
mod random;
mod step;
mod visits;
