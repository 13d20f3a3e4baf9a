//! The issuer: claims applications to events and issues them.

pub mod backoff;
pub mod codes;
pub mod webhook;
