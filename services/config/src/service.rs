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
}

impl Service {
    /// The name in metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Admission => "admission",
            Self::Scheduler => "scheduler",
            Self::Issuer => "issuer",
        }
    }

    /// The name of the program.
    pub const fn program(self) -> &'static str {
        match self {
            Self::Admission => "anteroom-admission",
            Self::Scheduler => "anteroom-scheduler",
            Self::Issuer => "anteroom-issuer",
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
        }
    }
}
