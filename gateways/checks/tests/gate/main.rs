//! The gateway check for real: the examples of the repository, run by the real programs in front of
//! a real service, with the real Anteroom behind.

mod arrives;
mod attacks;
mod board;
mod browser;
mod caching;
mod envoy_grpc;
mod guide;
mod ingress_nginx;
mod joining;
mod large;
mod leads;
mod nginx;
mod outage;
mod page;
mod raw;
mod restart;
mod rollout;
mod shop;
mod site;
mod sse;
mod table;
mod tls;
mod websocket;

use anteroom_gateways_checks::{gateway, program, wiring};
