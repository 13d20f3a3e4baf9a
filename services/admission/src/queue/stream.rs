//! `GET …/token/events`: the place as Server-Sent Events.
//!
//! Each event is a poll, which is also the heartbeat: after `poll_after_ms`, at least every 15 s,
//! and at once after a call of this process that changed the place. A place has two streams at
//! most; a third ends the oldest with an event `replaced`, so that its page polls instead of
//! reconnecting. Past the most streams of the process, or of one address, the answer is
//! 204: a browser does not reconnect after that either.

use std::sync::Arc;
use std::time::Duration;

use anteroom_authorize::durations::millis;
use anteroom_authorize::problem::Problem;
use anteroom_authorize::problem::retry;
use anteroom_authorize::queue::state::QueueState;
use anteroom_authorize::queue::streams::{StreamHandle, Streams};
use anteroom_authorize::queue::visits;
use anteroom_core::queue::{Place, PlaceRef, Visit};
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use futures_util::{Stream, stream};
use http::StatusCode;
use rand::Rng as _;

use super::caller::ByVisitor;
use super::problems::HolderProblems;
use super::views::place::view;
use crate::app::App;
use crate::http::event_stream;
use crate::queue::stream_slots::StreamSlot;

const AT_LEAST_EVERY: Duration = Duration::from_secs(15);

/// Get your place as a stream of server-sent events.
///
/// A `place` event has the same JSON as `GET …/token`. `gone` has `{"reason": "…"}`: the place has
/// ended and the stream ends. `unavailable`: Redis is down, and the place is kept. `replaced` ends
/// the stream because two newer streams of this place are open. If the process or your address has
/// too many streams, the answer is 204: poll instead.
#[utoipa::path(
    get, path = "/v1/queues/{queue}/token/events", tag = "visitors",
    params(("x-anteroom-position" = Option<u64>, Header)),
    security(("token" = []), ("cookie" = [])),
    responses(
        (status = 200, description = "the stream", body = String,
            content_type = "text/event-stream"),
        (status = 204, description = "too many streams, in all or from this address: poll instead"),
        HolderProblems,
    ),
)]
pub async fn events(
    State(app): State<Arc<App>>,
    ByVisitor(visitor): ByVisitor,
) -> Result<Response, Problem> {
    let of = visitor.holder()?.place;
    let address = visitor.counted_address();
    let queue = visitor.queue;
    let slot = {
        let config = &app.live().config.admission;
        app.stream_slots.take(config.sse_max, config.sse_per_address, address)
    };
    let Some(slot) = slot.filter(|_| !app.stopping.is_cancelled()) else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let place = visits::look(&queue, of).await?;
    let open = OpenStream::new(&app, &queue, of, slot);
    let (last_position, next_step) = (visitor.last_position, Next::Send(place, queue));
    let watch = Watch { app, of, open, next_step, last_position, sent_retry: false };
    Ok(event_stream::response(watch.into_stream()))
}

/// Until the next event: as long as a poll would wait, and never so long that a proxy takes the
/// stream for dead.
fn pause(poll_after: Duration) -> Duration {
    poll_after.min(AT_LEAST_EVERY)
}

/// One stream on its way.
struct Watch {
    app: Arc<App>,
    of: PlaceRef,
    open: OpenStream,
    next_step: Next,
    /// The position of the client's last answer.
    last_position: Option<u64>,
    /// Whether the client knows when to reconnect.
    sent_retry: bool,
}

enum Next {
    Send(Place, Arc<QueueState>),
    Wait(Duration),
    End,
}

impl Watch {
    fn into_stream(self) -> impl Stream<Item = String> {
        stream::unfold(self, async |mut watch| Some((watch.next().await?, watch)))
    }

    /// The next event; `None` after the last.
    async fn next(&mut self) -> Option<String> {
        match std::mem::replace(&mut self.next_step, Next::End) {
            Next::End => None,
            Next::Send(place, queue) => Some(self.place_event(&place, &queue)),
            Next::Wait(pause) => {
                tokio::select! {
                    () = self.open.stream.end.cancelled() => Some(self.final_event()),
                    () = self.open.stream.changed.notified() => self.poll().await,
                    () = tokio::time::sleep(pause) => self.poll().await,
                }
            }
        }
    }

    /// Reads the place, which counts as seen.
    async fn poll(&mut self) -> Option<String> {
        // The queue may be gone from the configuration.
        let queue = self.app.queue(&self.open.queue_name)?;
        Some(match visits::poll(&queue, self.of).await {
            Ok(Visit::Here(place) | Visit::NotReady(place) | Visit::NotActive(place)) => {
                self.place_event(&place, &queue)
            }
            Ok(Visit::Gone(reason)) => {
                queue.has_ended(self.of);
                format!("event: gone\ndata: {{\"reason\":\"{}\"}}\n\n", reason.name())
            }
            Err(_) => {
                self.next_step = Next::Wait(queue.retry());
                // It also keeps the connection, and shows whether the client is still there.
                "event: unavailable\ndata: {}\n\n".to_owned()
            }
        })
    }

    fn place_event(&mut self, place: &Place, queue: &QueueState) -> String {
        let view = view(queue, &place.clone().at_most(self.last_position));
        self.last_position = Some(view.position).filter(|position| *position > 0);
        self.next_step = Next::Wait(pause(view.poll_after()));
        // Strings and numbers only: this cannot fail, and JSON has no line breaks of its own.
        let data = serde_json::to_string(&view).unwrap_or_default();
        // Without a hint all browsers would reconnect after the same few seconds.
        let hint = if std::mem::replace(&mut self.sent_retry, true) {
            String::new()
        } else {
            format!("retry: {}\n", millis(self.reconnect_after()))
        };
        format!("{hint}event: place\ndata: {data}\n\n")
    }

    /// When the page is to open its next stream if this one ends: all streams of this process may
    /// end at once.
    fn reconnect_after(&self) -> Duration {
        let streams = u64::try_from(self.app.metrics.streams.get()).unwrap_or_default();
        let delay = self.app.queue(&self.open.queue_name).map(|queue| queue.max_poll_delay());
        let most = delay.unwrap_or(retry::DEFAULT_MAX_DELAY);
        retry::after(streams, retry::MIN_DELAY, most, rand::rng().random())
    }

    /// On the way out all streams reconnect at once, to other processes: spread them.
    fn final_event(&self) -> String {
        if self.app.stopping.is_cancelled() {
            format!("retry: {}\n\n", millis(self.reconnect_after()))
        } else {
            "event: replaced\ndata: {}\n\n".to_owned()
        }
    }
}

/// Holds a stream's slot and its place in the table, until it is dropped: at its end, or when
/// the client went away.
struct OpenStream {
    stream: StreamHandle,
    of: PlaceRef,
    streams: Arc<Streams>,
    queue_name: String,
    _slot: StreamSlot,
}

impl OpenStream {
    fn new(app: &App, queue: &QueueState, of: PlaceRef, slot: StreamSlot) -> Self {
        let stream = StreamHandle { end: app.stopping.child_token(), ..StreamHandle::default() };
        queue.streams.add(of, stream.clone());
        let queue_name = queue.name().to_owned();
        Self { stream, of, streams: queue.streams.clone(), queue_name, _slot: slot }
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.stream.end.cancel();
        self.streams.remove_ended(self.of);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_back_of_the_line_gets_an_event_every_15_s_too() {
        assert_eq!(pause(Duration::from_secs(1)), Duration::from_secs(1));
        assert_eq!(pause(Duration::from_secs(20)), Duration::from_secs(15));
    }
}
