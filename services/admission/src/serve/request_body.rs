//! The body of a request on its way: while it does not come, the connection waits for its client,
//! and the request is not in flight. So clients that send theirs by drops can be evicted when
//! others come, and do not use up `max_concurrent_requests`.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::time::Instant;

use super::activity::Activity;
use crate::http::shell::{InFlight, InFlightGuard};

/// A body that has not come whole.
struct RequestBody {
    body: Incoming,
    activity: Activity,
    /// Late drops do not restart the wait for them.
    since: Instant,
    in_flight: InFlight,
    /// While the client is waited for.
    pause: Option<InFlightGuard>,
}

/// A body for a handler; its request is in flight.
pub fn request_body(body: Incoming, activity: &Activity, in_flight: &InFlight) -> Body {
    if body.is_end_stream() {
        return Body::empty();
    }
    let (activity, in_flight) = (activity.clone(), in_flight.clone());
    Body::new(RequestBody { body, activity, since: Instant::now(), in_flight, pause: None })
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if frame.is_pending() && self.pause.is_none() {
            self.pause = Some(self.in_flight.pause());
            self.activity.awaits_body(self.since);
        } else if frame.is_ready() && self.pause.take().is_some() && !self.activity.received() {
            // It was evicted, and its task is about to end.
            return Poll::Pending;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if self.pause.is_some() {
            // The handler answers without the rest.
            self.activity.received();
        }
    }
}
