//! Random histories: checks of every algorithm with costs and names, alone, in calls shared by
//! several and all-or-none, forgotten keys, changed rules, leaps of the clock both ways, forgotten
//! scripts, and repeats, each answer compared with the reference model's.
//!
//! One that `make soak` finds stays as a fixed case in `fixed.rs`.

mod fixed;
mod history;
mod step;

pub use history::{modelled, shown};

anteroom_testkit::random_histories! {
    promises_07_11_12_random_histories_answer_like_the_model
        plays 320 of history::LimitHistory<'_>, on crate::support::TimedStore,
    from step::rules(), which are [Vec<step::Ruled>; 2],
    write "checks: [" as "checks: vec!["
}
