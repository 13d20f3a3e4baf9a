//! What visitors request of the waiting room, by kind: what each way to wait costs admission.

use anteroom_witness::Call;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// A kind of request, or an event of a stream, for which admission polls the place by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    #[value(name = "POST …/tokens: joins")]
    Join,
    #[value(name = "GET …/token: polls")]
    Place,
    #[value(name = "GET …/board: boards")]
    Board,
    #[value(name = "GET …/token/events: streams")]
    Stream,
    #[value(name = "events of the streams")]
    Event,
    #[value(name = "POST …/token/claim")]
    Claim,
    #[value(name = "…/authorize: gateway checks")]
    Authorize,
    #[value(name = "POST …/token/renew")]
    Renew,
    #[value(name = "DELETE …/token")]
    Leave,
}

impl From<Call> for Kind {
    fn from(call: Call) -> Self {
        match call {
            Call::Join => Self::Join,
            Call::Place => Self::Place,
            Call::Claim => Self::Claim,
            Call::Authorize => Self::Authorize,
            Call::Renew => Self::Renew,
            Call::Leave => Self::Leave,
        }
    }
}
