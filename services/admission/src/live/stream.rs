//! One live stream: its events, and the check that its caller still has permission.

use std::sync::Arc;

use anteroom_authorize::durations::millis;
use anteroom_authorize::problem::edge::CALLER;
use anteroom_authorize::problem::{Code, Problem, retry};
use axum::extract::State;
use axum::response::Response;
use futures_util::{Stream, stream};
use rand::Rng as _;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::feed::Subscription;
use super::frame::Seen;
use super::slots::MOST_STREAMS;
use crate::app::App;
use crate::callers::caller::Permission;
use crate::http::caller::AnyViewer;
use crate::http::document::problems;
use crate::http::event_stream;

problems! {
    /// Refusals of a stream.
    LiveProblems: CALLER;
}

/// Follow all entities as a stream of server-sent events.
///
/// The stream sends no command to Redis: it shows the newest data that this process has read, with
/// its age. Its events:
///
/// - `state`, the first event: the whole state, with the schema `LiveState`.
/// - `change`, once a second: a JSON merge patch (RFC 7396). Apply it to the last state to get the
///   new one.
/// - `end`: `{"code": "…"}`. The key was removed (`key_invalid`, `key_missing`) or has lost its
///   permission (`key_forbidden`). The stream ends. Do not reconnect with this key.
///
/// If a stream ends without `end`, reconnect after the time in `retry`. A process has at most 32
/// streams, and at most 16 of one key. At the limit, the answer is 503 `overloaded`.
#[utoipa::path(
    get, path = "/v1/admin/live", tag = "operators", operation_id = "live",
    responses(
        (status = 200, description = "the stream", body = String,
            content_type = "text/event-stream"),
        LiveProblems,
    ),
)]
pub async fn live(
    State(app): State<Arc<App>>,
    AnyViewer(caller): AnyViewer,
) -> Result<Response, Problem> {
    let mut frames = app.feed.subscribe(&app, caller.key_name()).map_err(|taken| {
        let problem = Problem::new(Code::OVERLOADED).detail(taken);
        problem.retry_after(app.retries.schedule_default())
    })?;
    let seen = Seen { frame: frames.newest(), caller };
    let stopping = app.stopping.clone();
    let events = Events { app, frames, stopping, seen, next_step: Next::Begin };
    Ok(event_stream::response(events.into_stream()))
}

/// The events of one stream.
struct Events {
    app: Arc<App>,
    frames: Subscription,
    stopping: CancellationToken,
    /// The state that the client has.
    seen: Seen,
    next_step: Next,
}

enum Next {
    Begin,
    Follow,
    End,
}

impl Events {
    fn into_stream(self) -> impl Stream<Item = String> {
        stream::unfold(self, async |mut events| Some((events.next().await?, events)))
    }

    /// The next event; `None` after the last.
    async fn next(&mut self) -> Option<String> {
        match std::mem::replace(&mut self.next_step, Next::Follow) {
            Next::Begin => Some(retry_hint() + &event("state", &self.seen.state())),
            Next::Follow => {
                let frame = tokio::select! {
                    () = self.stopping.cancelled() => None,
                    frame = self.frames.next() => frame,
                };
                // The page can have renewed its session meanwhile. Its next stream has the new one.
                let live = self.app.live();
                let frame = frame.filter(|_| !self.seen.caller.session_has_ended(live.access()));
                let Some(frame) = frame else {
                    self.next_step = Next::End;
                    return Some(retry_hint() + "\n");
                };
                let allowed = self.seen.caller.recheck(&live.config.keys);
                let allowed = allowed.and_then(|it| it.may(Permission::View).map(|()| it));
                match allowed {
                    Ok(caller) => {
                        let before = std::mem::replace(&mut self.seen, Seen { frame, caller });
                        Some(event("change", &self.seen.change_since(&before)))
                    }
                    Err(problem) => {
                        self.next_step = Next::End;
                        Some(event("end", &json!({"code": problem.code().name()})))
                    }
                }
            }
            Next::End => {
                self.next_step = Next::End;
                None
            }
        }
    }
}

/// JSON has no line breaks of its own.
fn event(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

/// The delay before the client reconnects. Without it, all browsers would reconnect at the same
/// time.
fn retry_hint() -> String {
    let most = retry::DEFAULT_MAX_DELAY;
    let after = retry::after(MOST_STREAMS as u64, retry::MIN_DELAY, most, rand::rng().random());
    format!("retry: {}\n", millis(after))
}
