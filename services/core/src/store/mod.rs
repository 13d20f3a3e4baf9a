//! The way to Redis or Valkey: one connection, one choke point, batches that share a call.
//!
//! - [`Store`] keeps the connection and sends scripts; every call of the program passes
//!   [`Store::call`]. It knows what a failure means: nothing was executed ([`Error::Unavailable`],
//!   [`Error::Forbidden`], [`Error::Full`]) or the effect is unknown ([`Error::Unknown`]).
//! - [`Lane`] lets requests that arrive while a call is in flight share the next one; [`Sharded`]
//!   is one lane over several hash tags, or on Cluster a lane for each.
//! - [`Subscription`] listens to a channel, on a connection of its own.
//! - [`Script`] is one operation; `build.rs` makes each from the header of its file in `lua/`.

mod address;
mod args;
mod call;
mod client;
mod clock;
mod command;
mod config;
mod constants;
mod error;
mod fault;
mod lane;
mod loss;
mod metrics;
mod pending;
mod permissions;
mod reply;
mod script;
mod server;
mod sharded;
mod subscription;
mod supervisor;

pub use address::{Address, redacted};
pub use args::Args;
pub use call::{Repeat, Store};
pub use clock::Clock;
pub use config::{Config, ConfigError, Mode};
pub use constants::Constants;
pub use error::{Error, Refused};
pub use lane::{Batch, Lane};
pub(crate) use reply::{ItemReply, Numbers, Reply, millis, reply_codes};
pub use script::Script;
pub(crate) use script::scripts;
pub use server::{ServerReport, Warning};
pub use sharded::Sharded;
pub use subscription::{Notice, Subscription};
