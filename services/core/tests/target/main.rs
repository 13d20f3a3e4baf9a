//! Targets on a real Redis: the promises one by one, and random histories against the reference
//! model.

mod promises;
mod reports;
#[path = "../support/mod.rs"]
mod support;
