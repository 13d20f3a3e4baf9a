//! The real services over HTTP: admission and scheduler as a user starts them. Most tests have
//! entities of their own in services that they share, see [`shared`]; the others start their own.

mod admin;
mod answer;
mod bad_input;
mod board;
mod console;
mod contract;
mod drain;
mod ended_places;
mod events;
mod gate_joins;
mod gone_tokens;
mod handover;
mod health;
mod http;
mod joining;
mod journey;
#[path = "../support/key.rs"]
mod key;
mod limit_checks;
mod limits;
mod local_answers;
mod local_places;
mod looks;
mod metrics;
mod openapi;
mod outage;
mod page;
mod page_preview;
mod permissions;
mod pools;
mod raw;
mod roll_out;
mod room;
mod rotation;
mod schema;
mod secrecy;
mod servers;
mod shared;
mod snapshots;
mod store_dump;
mod streams;
mod target_failover;
mod target_rules;
mod targets;
mod tokens;
