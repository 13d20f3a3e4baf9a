//! The domain and the store of Anteroom. One operation is one atomic Lua script.
//!
//! - [`queue`]: the waiting room: places, tickets, tokens, promotion.
//! - `entity`: what every entity shares whose rules the store keeps.
//! - [`target`]: success-rate windows of what is called downstream.
//! - [`rules`]: the rules of stored entities, each written once.
//! - [`store`]: the way to Redis or Valkey: connection, scripts, batching, errors.

mod entity;
mod operation;
pub mod queue;
pub mod rules;
pub mod store;
pub mod target;

/// The scripts of every subsystem, to be given to [`Store::open`](store::Store::open).
pub fn scripts() -> Vec<&'static store::Script> {
    [queue::SCRIPTS.as_slice(), target::SCRIPTS.as_slice()].concat()
}
