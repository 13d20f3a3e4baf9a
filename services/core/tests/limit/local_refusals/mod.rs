//! Refusals without a call: random histories of two processes against the reference model, and the
//! cases one by one.

mod cases;
mod history;
mod processes;
mod step;

anteroom_testkit::random_histories! {
    promises_07_12_random_histories_of_two_processes_are_refused_as_the_model_says
        plays 160 of history::LocalHistory<'_>, on processes::Processes,
    from step::rules(), which are [[step::Ruled; 2]; step::LIMITS],
    write "" as ""
}
