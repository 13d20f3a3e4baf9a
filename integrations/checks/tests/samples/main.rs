//! The samples of `integrations/` before a real Anteroom. Each test runs each of them.
//!
//! What a sample needs is installed once, into `target/tmp`. A sample that cannot be installed here
//! is left out, and a line says so.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

mod failures;
mod install;
mod passes;
mod places;
mod refusals;
mod sample;
mod scripted;
mod shop;
mod site;
mod webhooks;
