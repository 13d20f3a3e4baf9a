//! Admission: the HTTP face of Anteroom for visitors, gateways, backends and operators.
//!
//! A request takes one way: [`serve`] accepts the connection, [`http`] routes it through one lean
//! shell to a handler, the handler calls one operation of `anteroom_core` and replies. Whatever is
//! refused leaves by the one table in [`problem`].

pub mod app;
pub mod callers;
pub mod defences;
pub mod durations;
pub mod entities;
pub mod http;
pub mod metrics;
pub mod problem;
pub mod queue;
pub mod role;
pub mod serve;
pub mod tasks;
