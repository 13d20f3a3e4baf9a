//! The queue over HTTP: what visitors, backends and operators call.

pub mod backend;
pub mod calls;
pub mod operator;
pub mod overrides;
pub mod places;
pub mod stream;
pub mod view;
pub mod visitor;
pub mod visits;
