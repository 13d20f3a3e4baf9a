//! Random histories: checks of every algorithm with costs and names, alone, in calls shared by
//! several and all-or-none, forgotten keys, changed rules, leaps of the clock both ways, forgotten
//! scripts, and repeats, each answer compared with the reference model's.
//!
//! One that `make soak` finds stays as a fixed case in `fixed.rs`.

mod fixed;
mod history;
mod random;
mod step;
