//! Limits on a real Redis: random histories against the reference model, and the promises one by
//! one.

mod bounds;
mod histories;
mod local_refusals;
mod promises;
mod repeats;
mod requests;
mod servers;
#[path = "../support/mod.rs"]
mod support;
