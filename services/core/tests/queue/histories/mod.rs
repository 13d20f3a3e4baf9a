//! Random histories: joins, polls, drop-outs, no-shows, renewals, alone and in calls shared by
//! several, pauses, overrides and their ends, resets, time steps, leaps of the clock, forgotten
//! scripts, lost writes, emptied stores, services that restart, a
//! target that falls and recovers, and repeats, each answer
//! compared with the reference model's.
//!
//! They are played as every subsystem's are (`testkit::history`); one that `make soak` finds stays
//! as a fixed case in `fixed.rs`.

mod breaker;
mod fixed;
mod history;
mod overrides;
mod step;
mod visits;

anteroom_testkit::random_histories! {
    promises_01_to_05_11_12_random_histories_answer_like_the_model
        plays 320 of history::QueueHistory<'_>, on crate::support::TimedStore,
    from step::base(), which are step::Base,
    write "op: " as "op: Op::", write "whom: [" as "whom: vec![",
    write "Breaker(" as "Breaker(Breaker::"
}
