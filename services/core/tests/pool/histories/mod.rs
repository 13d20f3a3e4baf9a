//! Random histories: funds, holds, draws, settlements, extensions, cancellations and looks, alone
//! and in calls shared by several; ticks, time steps, leaps of the clock, changed rules, emptied
//! stores, forgotten scripts, and repeats, each answer compared with the reference model's.

mod history;
mod random;
mod step;
