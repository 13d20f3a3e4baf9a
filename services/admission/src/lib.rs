//! Admission: the HTTP face of Anteroom for visitors, gateways, backends and operators.
//!
//! A request takes one way: [`serve`] accepts the connection, [`http`] routes it through one lean
//! shell to a handler, the handler calls one operation of `anteroom_core` and replies. Whatever is
//! refused leaves by the one table in [`http::problem`].

pub mod admin_view;
pub mod app;
pub mod client_address;
pub mod cookies;
pub mod defences;
pub mod http;
pub mod keys;
pub mod known;
pub mod latest;
pub mod metrics;
pub mod new_key;
pub mod origin;
pub mod outage;
pub mod place_view;
pub mod queue_view;
pub mod retry;
pub mod return_to;
pub mod revocations;
pub mod role;
pub mod serve;
pub mod snapshots;
pub mod stream_slots;
pub mod streams;
pub mod visits;
