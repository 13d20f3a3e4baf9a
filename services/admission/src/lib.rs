//! Admission: the HTTP face of Anteroom for visitors, gateways, backends and operators.
//!
//! A request takes one way: [`serve`] accepts the connection, [`http`] routes it through one lean
//! shell to a handler, the handler calls one operation of `anteroom_core` and replies. Whatever is
//! refused leaves as a [`problem`] with one of the codes there and in `queue::codes`.

mod app;
mod breaker;
mod callers;
mod defences;
mod durations;
mod entities;
mod event;
mod http;
mod limit;
mod metrics;
mod pool;
mod problem;
mod queue;
pub mod role;
mod serve;
mod tasks;

// What main.rs, the tests and the fuzz targets need. All else is the crate's own, so that the
// compiler tells what nobody uses.
pub use crate::http::breaker::outcome::OutcomeBody;
pub use crate::http::event::calls::ApplyBody;
pub use crate::http::event::operator::AddStockBody;
pub use crate::http::extract::{Peer, parse_json, whole_body};
pub use crate::http::limit::body::{CheckBody, ChecksBody, ForgetBody};
pub use crate::http::pool::body::{AskedBody, FundsBody, SettleBody};
pub use crate::http::queue::backend::BackendJoin;
pub use crate::http::queue::calls::{JoinBody, is_strong_key};
pub use crate::http::queue::gate::original::Original;
pub use crate::http::queue::gate::refusal;
pub use crate::http::queue::hot;
pub use crate::http::queue::overrides::Overrides;
pub use crate::http::queue::page::form_key;
pub use crate::http::shell::{Answer, Shell};
pub use crate::http::{PortService, port, public, service};
pub use app::App;
pub use callers::client_address::client_address;
pub use callers::cookies::Cookies;
pub use callers::keys::digest;
pub use callers::new_key;
pub use metrics::AdmissionMetrics;
pub use problem::{Code, Problem};
pub use queue::return_to::{ReturnTo, room};
