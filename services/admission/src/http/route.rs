//! What the shell must know of a route before its handler runs.

use std::time::Duration;

/// The facts of a route. Each subsystem lists those of its routes that differ from the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouteInfo {
    /// The form of its refusals.
    pub style: RouteStyle,
    /// How long it may take, instead of `request_timeout`.
    pub timeout: Option<Duration>,
}

/// The form that the callers of a route understand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RouteStyle {
    /// A problem with its own status.
    #[default]
    Api,
    /// For gateways, which know 200, 401 and 403 only.
    Gate,
    /// As `Api`, and the answer is the same for all: each page may read it, and a cache needs no
    /// copy for each.
    Shared,
}

impl RouteInfo {
    /// A route of the gateway check.
    pub const GATE: Self = Self { style: RouteStyle::Gate, timeout: None };

    /// A route whose answer any cache can serve.
    pub const SHARED: Self = Self { style: RouteStyle::Shared, timeout: None };

    /// Whether gateways call it.
    pub fn is_gate(&self) -> bool {
        self.style == RouteStyle::Gate
    }
}
