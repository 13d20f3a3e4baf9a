//! The sections of the report, one module each.

pub mod batching;
pub mod growth;
pub mod idle;
pub mod limits;
pub mod longest;
pub mod rows;
pub mod scaling;
pub mod streams;
pub mod worst;
