//! What the tests of Anteroom stand on: a private Redis for each test, a breakable proxy, guarded
//! processes, and conditions with a deadline instead of sleeps.
//!
//! Nothing here is shared between tests, and everything started here ends with its guard.

pub mod history;
pub mod model;
pub mod witness;

mod clock;
mod cluster;
mod log;
mod permissions;
mod process;
mod proxy;
mod redis_builder;
mod redis_server;
mod replication;
mod sentinel;
mod services;
mod slot_move;
mod tls;
mod until;

pub use clock::Clock;
pub use cluster::Cluster;
pub use log::Log;
pub use permissions::{PERMISSIONS, PERMISSIONS_OF_CLUSTER};
pub use process::Process;
pub use proxy::{Cut, Fault, Proxy};
pub use redis_builder::{RedisBuilder, free_port};
pub use redis_server::Redis;
pub use sentinel::Sentinel;
pub use services::{Anteroom, Service, Site, binary};
pub use slot_move::SlotMove;
pub use tls::Certificates;
pub use until::{until, until_some};

/// How long anything that must happen may take before a test gives up on it.
pub const PATIENCE: std::time::Duration = std::time::Duration::from_secs(45);
