//! The sections of the report, one module each.

pub mod rows;
