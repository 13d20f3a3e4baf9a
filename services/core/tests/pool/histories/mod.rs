//! Random histories: funds, holds, draws, settlements, extensions, cancellations and looks, alone
//! and in calls shared by several; ticks, time steps, leaps of the clock, changed rules, emptied
//! stores, forgotten scripts, and repeats, each answer compared with the reference model's.

mod history;
mod step;

anteroom_testkit::random_histories! {
    promises_10_11_12_random_histories_answer_like_the_model
        plays 800 of history::PoolHistory<'_>, on crate::support::TimedStore,
    from step::base(), which are step::Base,
    write "s([" as "s(vec!["
}
