//! The domain and the store of Anteroom. One operation is one atomic Lua script.
//!
//! - [`queue`]: the waiting room: places, tickets, tokens, promotion.
//! - [`limit`]: how many units a key may take in any window of time.
//! - [`event`]: a limited stock, given out first come, first served.
//! - `entity`: what every entity shares whose rules the store keeps.
//! - [`target`]: success-rate windows of what is called downstream.
//! - [`pool`]: budgets that are given out and never overdrawn.
//! - [`rules`]: the rules of stored entities, each written once.
//! - [`store`]: the way to Redis or Valkey: connection, scripts, batching, errors.

pub mod breaker;
mod entity;
pub mod event;
pub mod identifier;
pub mod limit;
mod operation;
pub mod pool;
pub mod queue;
pub mod rules;
mod signed;
pub mod store;

/// The scripts of every subsystem, to be given to [`Store::open`](store::Store::open).
pub fn scripts() -> Vec<&'static store::Script> {
    [queue::SCRIPTS.as_slice(), &limit::SCRIPTS, &breaker::SCRIPTS, &event::SCRIPTS, &pool::SCRIPTS]
        .concat()
}
