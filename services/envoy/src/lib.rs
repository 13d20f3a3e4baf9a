//! Anteroom for Envoy, over gRPC: the gateway check as an external authorization service
//! (ext_authz v3), and rate limits as a rate limit service (RLS v3).
//!
//! [`role`] opens the port. [`authorization`] translates a check of Envoy for
//! `anteroom_authorize::queue::gate`, which decides, and its answer back. [`rate_limit`] finds the
//! limit that each descriptor means, and checks those of a request together. [`import`] is the
//! command that reads the limits of other programs.
//!
//! Neither asks its caller for a key: only gateways may reach the port.

mod app;
mod authorization;
mod connection;
mod deadline;
pub mod import;
mod metrics;
mod rate_limit;
pub mod role;
