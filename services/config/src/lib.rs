//! The configuration of all services: typed, strict, and documented by `default.toml`.
//!
//! Every value is checked where it is read. A refused value is reported in one line with the key,
//! the value and the rule ([`ConfigError`]). Secrets come from the environment or from files, and
//! are never printed.

mod adaptive;
mod admission;
mod breaker;
mod cookie_domain;
mod default;
mod document;
mod durations;
mod endpoint;
mod environment;
mod envoy;
mod error;
mod event;
mod issuer;
mod keys;
mod layers;
mod limit;
mod listing;
mod load;
mod log;
mod moment;
mod name;
mod networks;
mod origin;
mod page;
mod parse;
mod pool;
mod published;
mod queue;
mod read;
mod rule;
mod scheduler;
mod secrets;
mod section;
mod sections;
mod service;
mod store;

pub use adaptive::AdaptiveConfig;
pub use admission::AdmissionConfig;
pub use breaker::BreakerConfig;
pub use default::DEFAULT_TOML;
pub use endpoint::{Endpoint, EndpointError, Guard};
pub use envoy::{DescriptorConfig, EntryConfig, EnvoyConfig};
pub use error::ConfigError;
pub use event::EventConfig;
pub use issuer::IssuerConfig;
pub use keys::{Digest, KeyConfig, Role, Scope};
pub use limit::{LimitConfig, LimitWithoutStore};
pub use load::Loader;
pub use log::{Level, LogConfig, LogFormat};
pub use moment::Moment;
pub use name::is_name;
pub use origin::{AllowedOrigin, Origin};
pub use page::{Background, Colour, PAGE_LANGUAGES, PageConfig, PageTheme, Picture};
pub use pool::PoolConfig;
pub use queue::{OnStoreError, PublicUrl, QueueConfig, Rate, WithoutStore};
pub use read::content;
pub use scheduler::SchedulerConfig;
pub use sections::{Config, Declared, Section};
pub use service::Service;
pub use store::{Address, StoreConfig, StoreMode};
