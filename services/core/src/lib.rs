//! The domain and the store of Anteroom. One operation is one atomic Lua script.
//!
//! - [`queue`]: the waiting room: places, tickets, tokens, promotion.
//! - [`store`]: the way to Redis or Valkey: connection, scripts, batching, errors.

pub mod queue;
pub mod store;
