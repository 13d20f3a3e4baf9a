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
        /// What was answered.
        error: String,
    },
    /// Nobody can tell, or not now: 5xx, 408, 429, any other status, a time-out, no connection.
    Failed {
        /// What happened.
        error: String,
        /// How long the receiver asks to wait.
        retry_after: Option<Duration>,
    },
}

impl Answer {
    /// By the status, whatever the body says.
    pub(super) fn of(status: StatusCode, retry_after: Option<Duration>) -> Self {
        let error = format!("the receiver answered {status}");
        match status.as_u16() {
            200..=299 | 409 => Self::Issued,
            // Both say that it may be tried again.
            408 | 429 => Self::Failed { error, retry_after },
            400..=499 => Self::Refused { error },
            300..=399 => Self::Failed {
                error: format!("{error}: redirects are not followed"),
                retry_after: None,
            },
            _ => Self::Failed { error, retry_after },
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
        let asked = Some(Duration::from_secs(7));
        Answer::of(StatusCode::from_u16(status).expect("a status"), asked)
    }

    #[test]
    fn each_status_means_one_thing() {
        for status in [200, 201, 202, 204, 299, 409] {
            assert_eq!(of(status), Answer::Issued, "{status}");
        }
        for status in [400, 401, 403, 404, 410, 422, 451] {
            let error = of(status);
            assert!(
                matches!(&error, Answer::Refused { error } if error.contains(&status.to_string())),
                "{error:?}"
            );
        }
        let seven = Some(Duration::from_secs(7));
        for (status, asked) in [(301, None), (307, None), (408, seven), (429, seven), (503, seven)]
        {
            let failed = of(status);
            assert!(
                matches!(&failed, Answer::Failed { retry_after, .. } if *retry_after == asked),
                "{failed:?}"
            );
        }
    }

    #[test]
    fn both_forms_of_retry_after_are_read() {
        let now: Timestamp = "2027-01-15T20:00:00Z".parse().expect("a moment");
        let seconds = |value| retry_after(value, now).map(|asked| asked.as_secs());
        assert_eq!(seconds("120"), Some(120));
        assert_eq!(seconds("Fri, 15 Jan 2027 20:01:30 GMT"), Some(90));
        assert_eq!(seconds("Fri, 15 Jan 2027 19:00:00 GMT"), Some(0), "it is over");
        for none in ["", "-1", "1.5", "soon"] {
            assert_eq!(seconds(none), None, "{none:?}");
        }
    }
}
