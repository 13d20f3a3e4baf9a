//! The answers: a place for its holder, a queue for all clients, queue and line for operators.

pub mod admin;
pub mod board;
pub mod history;
pub mod live;
pub mod place;
pub mod queue;
