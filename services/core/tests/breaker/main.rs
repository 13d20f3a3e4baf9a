//! Targets on a real Redis: random histories against the reference model, and the promises one by
//! one.

mod bounds;
mod calls;
mod different_rules;
mod full_store;
mod histories;
mod promises;
mod reports;
mod servers;
#[path = "../support/mod.rs"]
mod support;
