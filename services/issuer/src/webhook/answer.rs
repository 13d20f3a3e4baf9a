//! What an answer of a receiver means.

use std::time::Duration;

use http::StatusCode;
use jiff::Timestamp;

/// What became of an application at its receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is issued: 2xx, or 409, the receiver had it already.
    Issued,
    /// It never will be: another 4xx.
    Refused {
        /// Whether that is about this application, and nothing about the next.
        is_its_own: bool,
        /// What was answered.
        error: String,
    },
    /// Unknown, or not now: 5xx, 408, 429, any other status, a time-out, no connection.
    Failed {
        /// Which of these.
        failure: Failure,
        /// What happened.
        error: String,
        /// How long the receiver asks to wait.
        retry_after: Option<Duration>,
    },
}

/// Why it is unknown, or not now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// 408 or 429: the receiver asks to come later.
    Busy,
    /// 5xx, or a status that means nothing here.
    Status,
    /// No answer in time.
    TimedOut,
    /// No connection, or none that may be made.
    Unreachable,
    /// The connection broke before the answer was there.
    BrokeOff,
}

impl Answer {
    /// The label of metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Issued => "issued",
            Self::Refused { .. } => "refused",
            Self::Failed { failure, .. } => match failure {
                Failure::Busy => "busy",
                Failure::Status => "failed",
                Failure::TimedOut => "timed_out",
                Failure::Unreachable => "unreachable",
                Failure::BrokeOff => "broke_off",
            },
        }
    }

    /// By the status, whatever the body says.
    pub(super) fn of(status: StatusCode, retry_after: Option<Duration>) -> Self {
        let error = format!("the receiver answered {status}");
        match status.as_u16() {
            200..=299 | 409 => Self::Issued,
            // Both say that it may be tried again.
            408 | 429 => Self::Failed { failure: Failure::Busy, error, retry_after },
            // The receiver works, and does not want this visitor.
            402 | 410 | 422 | 451 => Self::Refused { is_its_own: true, error },
            // A wrong path, secret or form is wrong for all.
            400..=499 => Self::Refused { is_its_own: false, error },
            300..=399 => Self::Failed {
                failure: Failure::Status,
                error: format!("{error}: redirects are not followed"),
                retry_after: None,
            },
            _ => Self::Failed { failure: Failure::Status, error, retry_after },
        }
    }
}

/// `Retry-After`: seconds, or a moment of the calendar.
pub(super) fn retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    if let Ok(seconds) = value.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let moment = jiff::fmt::rfc2822::parse(value.trim()).ok()?.timestamp();
    Some(Duration::try_from(moment.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16) -> Answer {
        let retry_after = Some(Duration::from_secs(7));
        Answer::of(StatusCode::from_u16(status).expect("a status"), retry_after)
    }

    #[test]
    fn each_status_means_one_thing() {
        for status in [200, 201, 202, 204, 299, 409] {
            assert_eq!(of(status), Answer::Issued, "{status}");
        }
        for (status, is_its_own) in
            [(400, false), (401, false), (403, false), (404, false), (410, true), (422, true)]
        {
            let status = StatusCode::from_u16(status).expect("a status");
            let error = format!("the receiver answered {status}");
            assert_eq!(of(status.as_u16()), Answer::Refused { is_its_own, error });
        }
        let seven = Some(Duration::from_secs(7));
        for (status, after, name) in [
            (301, None, "failed"),
            (307, None, "failed"),
            (408, seven, "busy"),
            (429, seven, "busy"),
            (503, seven, "failed"),
        ] {
            let failed = of(status);
            assert!(
                matches!(&failed, Answer::Failed { retry_after, .. } if *retry_after == after),
                "{failed:?}"
            );
            assert_eq!(failed.name(), name, "{status}");
        }
        assert_eq!((of(409).name(), of(404).name()), ("issued", "refused"));
    }

    #[test]
    fn both_forms_of_retry_after_are_read() {
        let now: Timestamp = "2027-01-15T20:00:00Z".parse().expect("a moment");
        let seconds = |value| retry_after(value, now).map(|after| after.as_secs());
        assert_eq!(seconds("120"), Some(120));
        assert_eq!(seconds("Fri, 15 Jan 2027 20:01:30 GMT"), Some(90));
        assert_eq!(seconds("Fri, 15 Jan 2027 19:00:00 GMT"), Some(0), "it is over");
        for none in ["", "-1", "1.5", "soon"] {
            assert_eq!(seconds(none), None, "{none:?}");
        }
    }
}
