//! The calls of the shop, for people (pages) and below `/api` for programs (JSON); the README has a
//! table of them.
//!
//! Choosing and reserving pass the gate. A reservation has an end of its own and its id is a
//! secret, so it needs no place in the waiting room any more: the slot goes to the next in line
//! when the seat is reserved, and the holder of a seat can pay for it whatever has become of the
//! visit. No call reads its body. Changing calls of other sites' pages are refused first
//! ([`origin`]).

mod call;
mod origin;
mod problem;
pub mod server;

use std::sync::Arc;
use std::time::Duration;

use http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER, SET_COOKIE,
    WWW_AUTHENTICATE,
};
use http::request::Parts;
use http::{HeaderName, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use serde::Serialize;
use serde_json::json;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use url::Url;

use self::call::{Call, Form};
use self::problem::{Code, Problem};
use crate::gate::{Gate, Verdict, Visit};
use crate::page;
use crate::shop::{Seat, Shop};
use crate::workers::Workers;

const MAX_BODY: usize = 16 << 10;
const BODY_TIMEOUT: Duration = Duration::from_secs(5);
/// What a visitor reads of a refusal of the gate.
const OF_REFUSAL: [HeaderName; 5] = [
    RETRY_AFTER,
    SET_COOKIE,
    WWW_AUTHENTICATE,
    HeaderName::from_static("x-anteroom-room"),
    HeaderName::from_static("x-anteroom-refusal"),
];

/// What all requests share.
pub struct App {
    pub workers: Workers,
    pub gate: Gate,
    /// Where visitors find this shop.
    pub public_url: Url,
    /// It is to end.
    pub ending: CancellationToken,
    /// What is finished whether or not a client waits for the answer.
    pub tasks: TaskTracker,
}

impl App {
    /// Answers a request.
    pub async fn handle(self: Arc<Self>, request: Request<Incoming>) -> Response<Bytes> {
        let (parts, body) = request.into_parts();
        let for_people = wants_page(&parts.headers);
        let answer = match drain(body).await {
            Ok(()) => self.answer(&parts).await,
            Err(problem) => Err(problem),
        };
        let mut answer = answer.unwrap_or_else(|problem| problem.answer(for_people));
        let headers = answer.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
        let nosniff = HeaderName::from_static("x-content-type-options");
        headers.insert(nosniff, HeaderValue::from_static("nosniff"));
        answer
    }

    async fn answer(self: Arc<Self>, parts: &Parts) -> Result<Response<Bytes>, Problem> {
        let (call, form) = Call::of(&parts.method, parts.uri.path())?;
        if call.changes() && !origin::may_change(&parts.headers, &self.public_url) {
            let shop = self.public_url.origin().ascii_serialization();
            return Err(Problem::new(Code::OriginRefused).detail(format!(
                "Start it from a page of the shop, {shop}, or from a program that sends neither \
                 Origin nor Sec-Fetch-Site. If visitors use another address, set --public-url to it"
            )));
        }
        match call {
            Call::Ready => Ok(self.ready()),
            Call::Reservation { id } => {
                let found = self.workers.run(move |shop| shop.reservation(&id)).await??;
                Ok(match form {
                    Form::Page => page::reservation(&found),
                    Form::Json => json_answer(&found),
                })
            }
            Call::Pay { id } => {
                let paid = self.workers.run(move |shop| shop.pay(&id)).await??;
                Ok(match form {
                    Form::Page => see(&format!("/reservations/{}", paid.id)),
                    Form::Json => json_answer(&paid),
                })
            }
            Call::Finish => {
                let finished = match self.gate.ask(&parts.headers).await {
                    Verdict::Passes(visit) => self.gate.finish(visit).await,
                    // There is none to end.
                    Verdict::Refused(..) => true,
                    Verdict::Unknown => false,
                };
                if !finished {
                    return Err(Problem::new(Code::GateUnavailable));
                }
                Ok(match form {
                    Form::Page => page::goodbye(),
                    Form::Json => status(StatusCode::NO_CONTENT),
                })
            }
            Call::Shows | Call::Seats { .. } | Call::Reserve { .. } => {
                match self.gate.ask(&parts.headers).await {
                    Verdict::Passes(mut visit) => {
                        let cookies = std::mem::take(&mut visit.cookies);
                        let mut answer = match self.inside(call, form, parts, visit).await {
                            Ok(answer) => answer,
                            Err(problem) => problem.answer(wants_page(&parts.headers)),
                        };
                        for cookie in cookies {
                            answer.headers_mut().append(SET_COOKIE, cookie);
                        }
                        Ok(answer)
                    }
                    Verdict::Refused(answer, room) => Ok(self.refused(parts, answer, room)),
                    Verdict::Unknown => Err(Problem::new(Code::GateUnavailable)),
                }
            }
        }
    }

    /// A call of a visitor who is in.
    async fn inside(
        self: Arc<Self>,
        call: Call,
        form: Form,
        parts: &Parts,
        visit: Visit,
    ) -> Result<Response<Bytes>, Problem> {
        let left = visit.expires_in;
        match call {
            Call::Seats { show } => {
                let free_only = free_only(parts.uri.query())?;
                let (show, mut seats) = self.workers.run(move |shop| shop.seats(show)).await??;
                if free_only {
                    seats.retain(Seat::is_free);
                }
                Ok(match form {
                    Form::Page => page::seats(&show, &seats, left),
                    Form::Json => json_answer(&json!({ "show": show, "seats": seats })),
                })
            }
            Call::Reserve { show, seat } => {
                // The visit ends with the reservation, also when no client waits for the answer.
                let app = self.clone();
                let reserving = self.tasks.spawn(async move {
                    let place = visit.place.clone();
                    let reserve = move |shop: &mut Shop| shop.reserve(show, seat, place.as_deref());
                    let reserved = app.workers.run(reserve).await?;
                    if reserved.is_ok() {
                        app.gate.finish(visit).await;
                    }
                    reserved.map_err(Problem::from)
                });
                let reserved = reserving.await.map_err(|_| Problem::new(Code::Internal))??;
                Ok(match form {
                    Form::Page => see(&format!("/reservations/{}", reserved.id)),
                    Form::Json => {
                        let mut answer = json_answer(&reserved);
                        *answer.status_mut() = StatusCode::CREATED;
                        locate(&mut answer, &format!("/api/reservations/{}", reserved.id));
                        answer
                    }
                })
            }
            _ => {
                let offers = self.workers.run(|shop| shop.offers()).await??;
                Ok(match form {
                    Form::Page => page::schedule(&offers, left),
                    Form::Json => json_answer(&json!({ "shows": offers })),
                })
            }
        }
    }

    /// Who looks at a page is led to the waiting room, and back here when its turn has come. Who
    /// pressed a button reads that nothing was done. To all else it is Anteroom's own answer.
    fn refused(&self, parts: &Parts, by: Response<Bytes>, room: Option<Url>) -> Response<Bytes> {
        let mut answer = match room.filter(|_| is_navigation(parts)) {
            Some(room) if parts.method == Method::POST => {
                page::not_admitted(self.on_return(room, "/").as_str())
            }
            Some(room) => {
                let mut answer = status(StatusCode::FOUND);
                locate(&mut answer, self.on_return(room, parts.uri.path()).as_str());
                answer
            }
            None => {
                let mut answer = Response::new(by.body().clone());
                let kind = by.headers().get(CONTENT_TYPE).cloned();
                answer.headers_mut().extend(kind.map(|kind| (CONTENT_TYPE, kind)));
                answer
            }
        };
        if answer.status() != StatusCode::FOUND {
            *answer.status_mut() = by.status();
        }
        for name in OF_REFUSAL {
            for value in by.headers().get_all(&name) {
                answer.headers_mut().append(name.clone(), value.clone());
            }
        }
        answer
    }

    /// The waiting page, with where it leads to.
    fn on_return(&self, mut room: Url, path: &str) -> Url {
        let mut back = self.public_url.clone();
        back.set_path(path);
        room.query_pairs_mut().append_pair("return_to", back.as_str());
        room
    }

    fn ready(&self) -> Response<Bytes> {
        let is_ending = self.ending.is_cancelled();
        status(if is_ending { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK })
    }
}

/// No call needs a body; what comes is read, so that the connection can be used again.
async fn drain(body: Incoming) -> Result<(), Problem> {
    match timeout(BODY_TIMEOUT, Limited::new(body, MAX_BODY).collect()).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Problem::new(Code::BodyTooLarge)),
        Ok(Err(_)) => Err(Problem::new(Code::BadRequest).detail("the body is malformed")),
        Err(_) => Err(Problem::new(Code::BodyTimeout)),
    }
}

fn free_only(query: Option<&str>) -> Result<bool, Problem> {
    match query {
        None | Some("") => Ok(false),
        Some("state=free") => Ok(true),
        Some(_) => Err(Problem::new(Code::BadRequest).detail("the query can only be state=free")),
    }
}

/// Whether HTML is wanted.
fn wants_page(headers: &HeaderMap) -> bool {
    let accepts = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepts.into_iter().any(|accepts| accepts.contains("text/html"))
}

/// A person looks at a page or presses its button; a script or an API client does not.
fn is_navigation(parts: &Parts) -> bool {
    match parts.headers.get("sec-fetch-mode") {
        Some(mode) => mode == "navigate",
        None => wants_page(&parts.headers),
    }
}

fn json_answer(body: &impl Serialize) -> Response<Bytes> {
    match serde_json::to_vec(body) {
        Ok(text) => {
            let mut answer = Response::new(Bytes::from(text));
            let json = HeaderValue::from_static("application/json");
            answer.headers_mut().insert(CONTENT_TYPE, json);
            answer
        }
        Err(error) => {
            tracing::error!(%error, "an answer cannot be written");
            status(StatusCode::INTERNAL_SERVER_ERROR)
        }
    }
}

fn status(status: StatusCode) -> Response<Bytes> {
    let mut answer = Response::new(Bytes::new());
    *answer.status_mut() = status;
    answer
}

/// To another page, by a GET.
fn see(to: &str) -> Response<Bytes> {
    let mut answer = status(StatusCode::SEE_OTHER);
    locate(&mut answer, to);
    answer
}

fn locate(answer: &mut Response<Bytes>, to: &str) {
    // A parsed address, or a path with an id of ours: always a header value.
    if let Ok(to) = HeaderValue::try_from(to) {
        answer.headers_mut().insert(LOCATION, to);
    }
}
