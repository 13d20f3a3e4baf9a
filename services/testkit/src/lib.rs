//! What the tests of Anteroom stand on, each rung on the one below:
//!
//! 1. [`Redis`] (or a [`Cluster`], behind a [`Sentinel`] or a [`Proxy`], under a [`Clock`]): a
//!    server of the test's own, whose keys it can copy and delete.
//! 2. A store in the test's process whose clock the test moves: `TimedStore` in
//!    `services/core/tests/support`. It is there because nothing here depends on what is tested:
//!    the models and the [`witness`] (a crate of its own) judge it, and share no code with it.
//! 3. [`Deployment`]: a Redis and a configuration; each [`Service`] that is started on it has a
//!    [`Process`], addresses, metrics, a log and an orderly end. [`Anteroom`] is a deployment with
//!    one admission and one scheduler.
//! 4. Who talks to it: `Room` (`admission/tests/e2e`) with a client for every call, `Site`
//!    (`gateways/checks`) with a gateway and a shop, `Stage` (`faults`) with a crowd and its
//!    record, `Siege` (`exhaustion`) with attackers, `Linked` (`links`) behind a link that breaks,
//!    `SideBySide` (`previous`) of two versions, `Limited` (`limits`) with a backend that asks
//!    limits, `Concert` (`concert/tests/shop`), the sample service that asks the gate, and
//!    [`Chromium`]. `Ports` (`service_support`) has admission in the test's process, on rung 1.
//!
//! What one test program alone needs stays with it. Random histories against a model are played by
//! [`history`]; conditions are waited for with [`until()`], what is logged is caught by [`Log`].
//!
//! Nothing here is shared between tests, and everything started here ends with its guard.

pub mod docs;
pub mod history;
pub mod kit;
pub mod model;
pub mod repository;
pub mod witness;

mod answer;
mod binary;
mod chromium;
mod clock;
mod cluster;
mod config_map;
mod deployment;
mod log;
mod permissions;
mod process;
mod proxy;
mod receiver;
mod redis_builder;
mod redis_server;
mod replication;
mod sentinel;
mod service;
mod slot_move;
mod stream_queue;
mod tls;
mod unique;
mod until;
mod wire;

pub use answer::{Answer, client};
pub use binary::binary;
pub use chromium::Chromium;
pub use clock::Clock;
pub use cluster::Cluster;
pub use config_map::mount_config_map;
pub use deployment::{Anteroom, Deployment, local_answers};
pub use log::Log;
pub use permissions::{PERMISSIONS, PERMISSIONS_OF_CLUSTER};
pub use process::Process;
pub use proxy::{Cut, Fault, Proxy};
pub use receiver::Receiver;
pub use redis_builder::{RedisBuilder, free_port, free_ports};
pub use redis_server::Redis;
pub use sentinel::Sentinel;
pub use service::Service;
pub use slot_move::SlotMove;
pub use stream_queue::StreamQueue;
pub use tls::Certificates;
pub use until::{until, until_some};
pub use wire::Wire;

/// How long anything that must happen may take before a test gives up on it.
pub const PATIENCE: std::time::Duration = std::time::Duration::from_secs(45);

/// Settings of services whose requests wait 15 s for a slow or frozen Redis.
pub const PATIENT: [(&str, &str); 3] = [
    ("ANTEROOM_STORE__COMMAND_TIMEOUT", "15s"),
    ("ANTEROOM_STORE__REQUEST_TIMEOUT", "15s"),
    ("ANTEROOM_ADMISSION__REQUEST_TIMEOUT", "15s"),
];
