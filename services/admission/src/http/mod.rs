//! What every call over HTTP goes through: the shell, extractors, documents, audit.

pub mod audit;
pub mod caller;
pub mod document;
pub mod encoding;
pub mod event_stream;
pub mod extract;
pub mod fast_path;
pub mod file;
pub mod identifier;
pub mod openapi;
pub mod pagination;
pub mod route;
pub mod shell;
pub mod whole;
