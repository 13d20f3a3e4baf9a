//! The way to Redis or Valkey.

mod config;
mod error;
mod script;

pub use config::{Config, Mode};
pub use error::Error;
pub use script::Script;
