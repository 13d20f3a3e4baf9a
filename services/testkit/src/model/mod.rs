//! Reference models: the rules again in plain Rust, without a store, to hold the scripts against.

pub mod breaker;
pub mod event;
pub mod limit;
pub mod pool;
pub mod queue;
