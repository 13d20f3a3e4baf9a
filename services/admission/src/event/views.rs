//! Events as visitors, backends and operators see them.

use std::time::Duration;

use anteroom_authorize::durations::{millis, moment};
use anteroom_core::event::{Application, DeadLetter, DeadLetters, Snapshot};
use rand::Rng as _;
use serde::Serialize;
use utoipa::ToSchema;

/// The status of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ApplicationStatus)]
#[serde(rename_all = "snake_case")]
pub enum StatusView {
    /// It waits for its item.
    Pending,
    /// An issuer is handing out its item, or will retry.
    Claimed,
    /// The visitor has the item.
    Issued,
    /// No item was left.
    SoldOut,
    /// The item could not be handed out. Not final: an operator can retry it.
    Failed,
}

/// An application.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Application)]
pub struct ApplicationView {
    /// The status of the application.
    pub status: StatusView,
    /// Its position while it is pending: 1 is next.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub position: Option<u64>,
    /// When the item was handed out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "date-time")]
    pub issued_at: Option<String>,
    /// The code, if the event hands out codes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Poll again after this many milliseconds.
    pub poll_after_ms: u64,
    /// Give it to the visitor: with it, as `x-anteroom-application`, the visitor reads this on the
    /// public port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application_token: Option<String>,
}

impl ApplicationView {
    /// The view of an application; only the backend that applied gets the token.
    pub fn new(application: Application, application_token: Option<String>) -> Self {
        let poll_after_ms = millis(poll_after(&application, rand::rng().random()));
        let mut view = Self {
            status: StatusView::Pending,
            position: None,
            issued_at: None,
            code: None,
            poll_after_ms,
            application_token,
        };
        match application {
            Application::Pending { position } => view.position = Some(position),
            Application::Claimed | Application::ToRetry { .. } => {
                view.status = StatusView::Claimed;
            }
            Application::Issued { issued_at, code } => {
                view.status = StatusView::Issued;
                (view.issued_at, view.code) = (moment(issued_at), code);
            }
            Application::SoldOut => view.status = StatusView::SoldOut,
            Application::Failed => view.status = StatusView::Failed,
        }
        view
    }
}

/// The shortest and the longest time until the next look.
const POLL: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(20));

/// The time until the next poll: longer further back in the line, and longest when nothing more can
/// happen. `random` from 0 to 1 spreads neighbours.
fn poll_after(application: &Application, random: f64) -> Duration {
    let (least, most) = POLL;
    let even = match application {
        Application::Pending { position } => {
            least.saturating_add(Duration::from_millis(*position)).min(most)
        }
        Application::Claimed => least,
        Application::ToRetry { again_in } => (*again_in).clamp(least, most),
        Application::Issued { .. } | Application::SoldOut | Application::Failed => most,
    };
    even.mul_f64(0.8 + 0.4 * random).clamp(least, most)
}

/// An event (limited-stock give-away).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Event)]
pub struct EventView<'a> {
    /// The name of the event.
    event: &'a str,
    /// Items added since the event was created.
    stock: u64,
    /// Items handed out.
    issued: u64,
    /// Applications that wait for their item.
    pending: u64,
    /// Applications whose item an issuer is handing out.
    claimed: u64,
    /// Applications that failed: dead letters, and those that an operator gave up.
    failed: u64,
    /// Failed applications that an operator can retry (dead letters); part of `failed`.
    dead: u64,
    /// Accepted applications that found no item left.
    sold_out: u64,
    /// Codes that are left.
    codes: u64,
    /// The time from which visitors can apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "date-time")]
    opens_at: Option<String>,
    /// The time from which they no longer can.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "date-time")]
    ends_at: Option<String>,
    /// Age of this data in milliseconds: at most 1 000 while Redis is up.
    age_ms: u64,
}

impl<'a> EventView<'a> {
    /// A snapshot of this age.
    pub fn new(event: &'a str, it: &Snapshot, age: Duration) -> Self {
        Self {
            event,
            stock: it.stock,
            issued: it.issued,
            pending: it.pending,
            claimed: it.claimed,
            failed: it.dead + it.failed,
            dead: it.dead,
            sold_out: it.sold_out,
            codes: it.codes,
            opens_at: it.rules.opens_at.and_then(moment),
            ends_at: it.rules.ends_at.and_then(moment),
            age_ms: millis(age),
        }
    }
}

/// The stock of an event.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Stock)]
pub struct StockView {
    /// Items added since the event was created. A retry returns the result of the first call.
    pub stock: u64,
}

/// The result of retrying dead letters.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RetriedDeadLetters)]
pub struct RetriedView {
    /// How many are retried.
    pub retried: u64,
    /// How many dead letters are left.
    pub dead: u64,
}

/// A failed application (dead letter).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeadLetter)]
pub struct DeadLetterView {
    /// The number of the application.
    sequence: u64,
    /// The visitor who applied.
    visitor_id: String,
    /// How many attempts failed.
    attempts: u64,
    /// When the last attempt failed.
    #[schema(format = "date-time", required = true)]
    died_at: Option<String>,
    /// The error of the last attempt.
    error: String,
}

/// A page of dead letters.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeadLetters)]
pub struct DeadLettersView {
    /// Failed applications, in the order in which visitors applied.
    dead: Vec<DeadLetterView>,
    /// Send it as `after` to get the next page; null at the end.
    #[schema(required = true)]
    next: Option<u64>,
}

impl From<DeadLetters> for DeadLettersView {
    fn from(found: DeadLetters) -> Self {
        let view = |it: DeadLetter| DeadLetterView {
            sequence: it.sequence,
            visitor_id: it.visitor_id,
            attempts: it.attempts,
            died_at: moment(it.died_at),
            error: it.error,
        };
        Self { dead: found.letters.into_iter().map(view).collect(), next: found.next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visitor_further_back_polls_less_often() {
        let at = |position, random| poll_after(&Application::Pending { position }, random);
        assert_eq!(at(1, 0.0), POLL.0);
        assert!(at(1, 1.0) > at(1, 0.5) && at(5_000, 0.5) > at(1, 0.5));
        assert_eq!(at(u64::MAX, 1.0), POLL.1);
        assert!(at(u64::MAX, 0.0) < POLL.1, "those at the back are spread too");
        assert_eq!(poll_after(&Application::SoldOut, 1.0), POLL.1);
        let waits = |seconds| Application::ToRetry { again_in: Duration::from_secs(seconds) };
        assert_eq!(poll_after(&waits(5), 0.5), Duration::from_secs(5));
        assert_eq!(poll_after(&waits(3_600), 1.0), POLL.1);
    }
}
