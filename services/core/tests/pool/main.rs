//! Pools on a real Redis: random histories against the reference model, and the promises one by
//! one.

mod cases;
mod conservation;
mod failover;
mod full_store;
mod histories;
mod ledger;
mod money;
mod servers;
#[path = "../support/mod.rs"]
mod support;
