//! Which call a request is.

use http::Method;

use super::problem::{Code, Problem};

/// What can be requested.
#[derive(Debug, PartialEq, Eq)]
pub enum Call {
    Ready,
    Shows,
    Seats { show: i64 },
    Reserve { show: i64, seat: i64 },
    Reservation { id: String },
    Pay { id: String },
    Finish,
}

/// For whom the answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// People: HTML.
    Page,
    /// Programs: JSON.
    Json,
}

impl Call {
    /// From the request's method and path.
    ///
    /// # Errors
    ///
    /// There is no such address, or not with this method.
    pub fn of(method: &Method, path: &str) -> Result<(Self, Form), Problem> {
        let (form, path) = match path.strip_prefix("/api/") {
            Some(rest) => (Form::Json, rest),
            None => (Form::Page, path.strip_prefix('/').unwrap_or(path)),
        };
        let show = |text| number(text, Code::UnknownShow);
        let seat = |text| number(text, Code::UnknownSeat);
        let parts: Vec<&str> = path.split('/').collect();
        let call = match (&parts[..], form) {
            (["readyz"], Form::Page) => Self::Ready,
            ([""], Form::Page) | (["shows"], _) => Self::Shows,
            (["shows", of, "seats"], _) => Self::Seats { show: show(of)? },
            (["shows", of, "seats", id, "reservation"], _) => {
                Self::Reserve { show: show(of)?, seat: seat(id)? }
            }
            (["reservations", id], _) => Self::Reservation { id: (*id).to_owned() },
            (["reservations", id, "payment"], _) => Self::Pay { id: (*id).to_owned() },
            (["finish"], _) => Self::Finish,
            _ => return Err(Problem::new(Code::NotFound)),
        };
        let takes = if call.changes() { Method::POST } else { Method::GET };
        match method {
            method if *method == takes => Ok((call, form)),
            method if *method == Method::HEAD && takes == Method::GET => Ok((call, form)),
            _ if takes == Method::GET => Err(Problem::only("GET, HEAD")),
            _ => Err(Problem::only("POST")),
        }
    }

    /// Whether it changes something.
    pub fn changes(&self) -> bool {
        match self {
            Self::Reserve { .. } | Self::Pay { .. } | Self::Finish => true,
            Self::Ready | Self::Shows | Self::Seats { .. } | Self::Reservation { .. } => false,
        }
    }
}

fn number(text: &str, unknown: Code) -> Result<i64, Problem> {
    text.parse().map_err(|_| Problem::new(unknown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_the_api_have_the_same_calls() {
        for (path, call) in [
            ("shows", Call::Shows),
            ("shows/2/seats", Call::Seats { show: 2 }),
            ("reservations/a", Call::Reservation { id: "a".into() }),
        ] {
            for (prefix, form) in [("/", Form::Page), ("/api/", Form::Json)] {
                let found = Call::of(&Method::GET, &format!("{prefix}{path}")).expect("a call");
                assert_eq!(found.1, form);
                assert_eq!(found.0, call);
            }
        }
        assert_eq!(Call::of(&Method::HEAD, "/").expect("a call"), (Call::Shows, Form::Page));
    }

    #[test]
    fn what_is_none_is_refused() {
        for path in ["", "/api", "/api/", "/api/readyz", "/shows/", "/shows/1", "//", "/finish/x"] {
            assert!(Call::of(&Method::GET, path).is_err() || path.is_empty(), "{path}");
        }
        for path in ["/shows/x/seats", "/shows/1/seats/99999999999999999999/reservation"] {
            assert!(Call::of(&Method::POST, path).is_err(), "{path}");
        }
        assert!(Call::of(&Method::DELETE, "/shows").is_err());
        assert!(Call::of(&Method::GET, "/finish").is_err());
    }
}
