//! Limits on a real Redis: random histories against the reference model, and the promises one by
//! one.

mod asked;
mod histories;
#[path = "../support/mod.rs"]
mod support;
