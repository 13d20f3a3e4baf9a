//! Random histories: joins, polls, drop-outs, no-shows, renewals, alone and in calls shared by
//! several, pauses, overrides and their ends, resets, time steps, leaps of the clock, forgotten
//! scripts, lost writes, emptied stores, services that start anew, a
//! target that falls and recovers, and repeats, each answer
//! compared with the reference model's.
//!
//! They are played as every subsystem's are (`testkit::history`); one that `make soak` finds stays
//! as a fixed case in `fixed.rs`.

mod breaker;
mod fixed;
mod history;
mod overrides;
mod random;
mod step;
mod visits;
