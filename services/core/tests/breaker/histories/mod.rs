//! Random histories: outcomes one by one and counted, alone and in calls shared by several, with
//! ids, reporters, latencies and permits; permits; looks; time steps, leaps of the clock, changed
//! rules, emptied stores, forgotten scripts, and repeats, each answer compared with the reference
//! model's.

mod fixed;
mod history;
mod step;

anteroom_testkit::random_histories! {
    promises_08_11_12_random_histories_answer_like_the_model
        plays 800 of history::BreakerHistory<'_>, on crate::support::TimedStore,
    from step::bases(), which are [step::Base; 2],
    write "Together([" as "Together(vec!["
}
