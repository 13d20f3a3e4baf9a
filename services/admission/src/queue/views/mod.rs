//! What the answers show: a place to its holder, a queue to anybody, queue and line to operators.

pub mod admin;
pub mod place;
pub mod queue;
