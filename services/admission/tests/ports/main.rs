//! The ports without a running service: what is refused before the store, what the shell does
//! around any handler, and the page's script.

mod page_script;
mod public;
mod shell;
#[path = "../support/mod.rs"]
mod support;
