//! The services, and what is different about each.

/// One service of Anteroom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// The HTTP face.
    Admission,
    /// The ticks.
    Scheduler,
    /// The job processor.
    Issuer,
    /// The gRPC service for Envoy.
    Envoy,
}

impl Service {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Admission, Self::Scheduler, Self::Issuer, Self::Envoy];

    /// Whether it makes and verifies tokens, so that it needs their secrets.
    pub(crate) fn signs_tokens(self) -> bool {
        matches!(self, Self::Admission | Self::Envoy)
    }

    /// The name in metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Admission => "admission",
            Self::Scheduler => "scheduler",
            Self::Issuer => "issuer",
            Self::Envoy => "envoy",
        }
    }

    /// The name of the program.
    pub const fn program(self) -> &'static str {
        match self {
            Self::Admission => "anteroom-admission",
            Self::Scheduler => "anteroom-scheduler",
            Self::Issuer => "anteroom-issuer",
            Self::Envoy => "anteroom-envoy",
        }
    }

    /// What the program does, in one sentence.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Admission => {
                "The HTTP server of Anteroom, for visitors, gateways, backends and operators"
            }
            Self::Scheduler => {
                "The scheduler of Anteroom: admits visitors and removes what has expired"
            }
            Self::Issuer => {
                "The worker of Anteroom's give-aways (events): hands out items to applicants"
            }
            Self::Envoy => {
                "The gRPC server of Anteroom for Envoy: the gateway check (ext_authz) and rate \
                 limits (RLS)"
            }
        }
    }
}
