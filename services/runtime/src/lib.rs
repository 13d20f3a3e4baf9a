//! The shell that every Anteroom binary shares: reloads, telemetry, metrics port, shutdown.
//!
//! A binary is a [`Service`](anteroom_config::Service) and a role; [`shell::main`] does everything
//! before the role and after it:
//!
//! ```no_run
//! use anteroom_config::Service;
//! use anteroom_runtime::{Context, shell};
//!
//! async fn role(context: Context) -> anyhow::Result<()> {
//!     context.readiness.started();
//!     context.shutdown.cancelled().await;
//!     Ok(())
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     shell::main(Service::Scheduler, role)
//! }
//! ```

/// A request is a few dozen short-lived allocations: the C library's allocator takes four times as
/// long for them. Without huge pages, which make an idle service 15 MB larger.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

pub mod descriptors;
mod listen;
mod metrics;
mod metrics_port;
mod one_line;
mod operations;
mod process_metrics;
mod readiness;
pub mod reload;
pub mod shell;
mod snapshot_gauges;
mod store_watch;
mod supervisor;
mod telemetry;

pub use listen::listen;
pub use metrics::{Families, counters, registered};
pub use operations::Operations;
pub use readiness::Readiness;
pub use reload::Changes;
pub use shell::Context;
pub use snapshot_gauges::{FRESH_FOR, SnapshotGauges};
pub use store_watch::watch_store;
pub use supervisor::Supervisor;
pub use telemetry::{AUDIT, PortName, write_listening};
