//! What is refused, and how: `application/problem+json` (RFC 9457) with a stable
//! `code`; to browsers as a page that says the same.

use std::borrow::Cow;

use http::header::{ALLOW, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};
use hyper::body::Bytes;
use serde_json::json;

use crate::page;
use crate::shop::Refusal;
use crate::workers::NoWorker;

/// The codes: what a caller decides by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    BadRequest,
    OriginRefused,
    NotFound,
    UnknownShow,
    UnknownSeat,
    UnknownReservation,
    MethodNotAllowed,
    BodyTimeout,
    SeatTaken,
    AlreadyReserved,
    ReservationLapsed,
    BodyTooLarge,
    Internal,
    Overloaded,
    DatabaseBusy,
    DiskFull,
    GateUnavailable,
}

impl Code {
    /// Status, name, title and, where it is worth asking again, after how many seconds.
    const fn row(self) -> (u16, &'static str, &'static str, Option<u32>) {
        match self {
            Self::BadRequest => (400, "bad_request", "The request is malformed", None),
            Self::OriginRefused => {
                (403, "origin_refused", "A page of another site started this request", None)
            }
            Self::NotFound => (404, "not_found", "There is nothing at this address", None),
            Self::UnknownShow => (404, "unknown_show", "There is no such show", None),
            Self::UnknownSeat => (404, "unknown_seat", "This show has no such seat", None),
            Self::UnknownReservation => {
                (404, "unknown_reservation", "There is no such reservation", None)
            }
            Self::MethodNotAllowed => {
                (405, "method_not_allowed", "The address is right, the method is not", None)
            }
            Self::BodyTimeout => (408, "body_timeout", "The body did not arrive in time", None),
            Self::SeatTaken => (409, "seat_taken", "Another visitor has taken this seat", None),
            Self::AlreadyReserved => {
                (409, "already_reserved", "This visit has reserved another seat", None)
            }
            Self::ReservationLapsed => {
                (410, "reservation_lapsed", "The time to pay has ended", None)
            }
            Self::BodyTooLarge => (413, "body_too_large", "The body is longer than 16 KiB", None),
            Self::Internal => (500, "internal", "Internal error", None),
            Self::Overloaded => (503, "overloaded", "Too many requests at once", Some(1)),
            Self::DatabaseBusy => (503, "database_busy", "The database is locked", Some(1)),
            Self::DiskFull => (503, "disk_full", "The disk is full", Some(5)),
            Self::GateUnavailable => {
                (503, "gate_unavailable", "The waiting room is not available", Some(5))
            }
        }
    }
}

/// A refusal on its way out.
#[derive(Debug)]
pub struct Problem {
    code: Code,
    detail: Option<Cow<'static, str>>,
    allow: Option<&'static str>,
}

impl Problem {
    pub fn new(code: Code) -> Self {
        Self { code, detail: None, allow: None }
    }

    /// Says what was wrong with this very request.
    pub fn detail(self, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }

    /// Another method would do.
    pub fn only(method: &'static str) -> Self {
        Self { allow: Some(method), ..Self::new(Code::MethodNotAllowed) }
    }

    /// As a page for people, or for programs.
    pub fn answer(self, for_people: bool) -> Response<Bytes> {
        let (status, code, title, retry_after) = self.code.row();
        let detail = self.detail.as_deref();
        let mut answer = if for_people {
            page::problem(title, detail)
        } else {
            let kind = format!("urn:concert:problem:{code}");
            let mut body = json!({ "type": kind, "title": title, "status": status, "code": code });
            if let Some(detail) = detail {
                body["detail"] = detail.into();
            }
            let mut answer = Response::new(Bytes::from(body.to_string()));
            let json = HeaderValue::from_static("application/problem+json");
            answer.headers_mut().insert(CONTENT_TYPE, json);
            answer
        };
        // All of the table are statuses.
        *answer.status_mut() =
            StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = answer.headers_mut();
        if let Some(seconds) = retry_after {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        if let Some(method) = self.allow {
            headers.insert(ALLOW, HeaderValue::from_static(method));
        }
        answer
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self::new(match refusal {
            Refusal::UnknownShow => Code::UnknownShow,
            Refusal::UnknownSeat => Code::UnknownSeat,
            Refusal::SeatTaken => Code::SeatTaken,
            Refusal::AlreadyReserved => Code::AlreadyReserved,
            Refusal::UnknownReservation => Code::UnknownReservation,
            Refusal::Lapsed => Code::ReservationLapsed,
            Refusal::Busy => Code::DatabaseBusy,
            Refusal::DiskFull => {
                tracing::error!("the disk is full");
                Code::DiskFull
            }
            Refusal::Database(error) => {
                tracing::error!(%error, "the database failed");
                Code::Internal
            }
        })
    }
}

impl From<NoWorker> for Problem {
    fn from(reason: NoWorker) -> Self {
        Self::new(match reason {
            NoWorker::Overloaded => Code::Overloaded,
            NoWorker::Failed => Code::Internal,
        })
    }
}
