//! Admission: the HTTP face of Anteroom for visitors, gateways, backends and operators.
//!
//! A request takes one way: [`serve`] accepts the connection, [`http`] routes it through one lean
//! shell to a handler, the handler calls one operation of `anteroom_core` and replies. What the
//! gateway check needs is in `anteroom_authorize`: the visitor, the queue as this process knows it,
//! and the codes of all refusals.

mod app;
mod breaker;
mod callers;
mod changes;
mod console;
mod entities;
mod event;
mod http;
mod limit;
mod live;
mod metrics;
mod pool;
mod ports;
mod queue;
pub mod role;
mod serve;
mod tasks;

// What main.rs, the tests and the fuzz targets need. All else is the crate's own, so that the
// compiler reports what is not used.
pub use crate::breaker::body::OutcomeBody;
pub use crate::event::backend::ApplyBody;
pub use crate::event::operator::AddStockBody;
pub use crate::http::extract::{Peer, parse_json, whole_body};
pub use crate::http::route::RouteInfo;
pub use crate::http::shell::{Handled, Shell};
pub use crate::limit::body::{CheckBody, ChecksBody, ForgetBody};
pub use crate::pool::body::{AmountOrOptionBody, FundsBody, SettleBody};
pub use crate::ports::{PortService, port, public, service};
pub use crate::queue::backend::BackendJoin;
pub use crate::queue::calls::{JoinBody, is_strong_key};
pub use crate::queue::hot;
pub use crate::queue::overrides::Overrides;
pub use crate::queue::waiting_page::form_key;
pub use app::App;
pub use callers::keys::digest;
pub use callers::new_key;
pub use metrics::AdmissionMetrics;
