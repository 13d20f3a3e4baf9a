//! The manifests of `k8s/`, checked as far as that needs no cluster.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

mod contents;
mod custom_resources;
mod envoy;
mod gate;
mod image;
mod policies;
mod programs;
mod redis;
mod rendered;
mod schemas;
mod secrets;
mod services;
mod sources;
mod without_kubernetes;
