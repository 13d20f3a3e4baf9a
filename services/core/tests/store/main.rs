//! The store on real servers: calls, lanes, what breaks and comes back, and who may do what.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

mod call;
mod cluster;
mod lane;
mod permissions;
mod recovery;
mod subscription;
mod support;
mod unknown;
