//! Random histories: applications alone and in shared calls, claims that are renewed, finished,
//! failed and given back in part, or by an issuer that has died or wakes too late; ticks, stock,
//! codes, dead letters; time steps, leaps of the clock, changed rules, emptied stores, forgotten
//! scripts, a lost meta hash, and repeats, each answer compared with the reference model's.

mod history;
mod step;

anteroom_testkit::random_histories! {
    promises_09_11_12_random_histories_answer_like_the_model
        plays 800 of history::EventHistory<'_>, on crate::support::TimedStore,
    from step::base(), which are step::Base,
    write "(Part" as "(step::Part", write "Change(Base" as "Change(step::Base"
}
