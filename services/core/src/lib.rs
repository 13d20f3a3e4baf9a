//! The domain and the store of Anteroom. One operation is one atomic Lua script.
//!
//! - [`queue`]: the waiting room: places, tickets, tokens, promotion.
//! - [`limit`]: how many units a key may take in any window of time.
//! - [`event`]: a limited stock, given out first come, first served.
//! - `entity`: what every entity shares whose rules the store keeps.
//! - [`breaker`]: success-rate windows of what is called downstream.
//! - [`pool`]: budgets that are given out and never overdrawn.
//! - [`Kind`]: what these have in common, and their list.
//! - [`changes`]: what operators changed of an entity.
//! - [`rules`]: the rules of stored entities, each written once.
//! - [`store`]: the way to Redis or Valkey: connection, scripts, batching, errors.

pub mod breaker;
pub mod changes;
mod entity;
pub mod event;
pub mod identifier;
mod kind;
pub mod limit;
mod numbered;
mod operation;
pub mod pool;
pub mod queue;
pub mod rules;
pub mod session;
mod signed;
pub mod store;

pub use kind::Kind;

/// The scripts of every kind, to be given to [`Store::open`](store::Store::open).
pub fn scripts() -> Vec<&'static store::Script> {
    fn add<K: Kind>(scripts: &mut Vec<&'static store::Script>) {
        scripts.extend(K::scripts());
    }
    let mut scripts = Vec::new();
    for_each_kind!(add(&mut scripts));
    scripts
}
