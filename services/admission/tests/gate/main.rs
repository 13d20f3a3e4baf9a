//! The gate for real: the NGINX example of the repository, run by the real NGINX in front of a real
//! service, with the real Anteroom behind it; and what happens to connections when admission ends.

mod arrives;
mod attacks;
mod browser;
mod caching;
mod drain;
mod joining;
mod leads;
mod nginx;
mod page;
mod raw;
mod rollout;
mod shop;
mod site;
mod sse;
mod web_server;
mod wire;
