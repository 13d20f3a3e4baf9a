//! The sections of the report, one module each.

pub mod accepting;
pub mod batching;
mod beside;
pub mod gateways;
pub mod growth;
pub mod idle;
pub mod issuance;
pub mod limits;
pub mod longest;
pub mod rate_limit_services;
pub mod recovery;
pub mod rows;
pub mod scaling;
pub mod streams;
pub mod waiting;
pub mod wakes;
pub mod worst;
