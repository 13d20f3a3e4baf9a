//! Webhooks that lead to a receiver.

use std::time::Duration;

use anteroom_config::Endpoint;
use anteroom_issuer::webhook::{Answer, Application, Webhook};

use anteroom_testkit::Receiver;

pub const ANN: Application<'static> =
    Application { event: "coupon", visitor_id: "ann", sequence: 17 };

pub fn webhook(url: &str, timeout: Duration) -> Webhook {
    signed_by(url, timeout, &[Receiver::SECRET])
}

pub fn signed_by(url: &str, timeout: Duration, secrets: &[&str]) -> Webhook {
    let secrets = secrets.iter().map(|secret| (*secret).into()).collect();
    Webhook::new(Endpoint::parse(url, false).unwrap(), timeout, secrets).unwrap()
}

/// The error of a try that is to be repeated.
pub fn failure(answer: Answer) -> String {
    match answer {
        Answer::Failed { error, .. } => error,
        other => panic!("{other:?}"),
    }
}
