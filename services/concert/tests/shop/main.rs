//! The shop for real: its binary, its file, its gate before a real Anteroom.

mod ask;
mod bounds;
mod capacity;
mod command_line;
mod headers;
mod looks;
mod origins;
mod pages;
mod seats;
mod support;
