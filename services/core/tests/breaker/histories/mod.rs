//! Random histories: outcomes one by one and counted, alone and in calls shared by several, with
//! ids, reporters, latencies and permits; permits; looks; time steps, leaps of the clock, changed
//! rules, emptied stores, forgotten scripts, and repeats, each answer compared with the reference
//! model's.

mod fixed;
mod history;
mod random;
mod step;
