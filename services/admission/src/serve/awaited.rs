//! The body of a request on its way: while it does not come, the connection waits for its client, and
//! the request is not under way. So clients that send theirs by drops can be closed when others come,
//! and do not use up `max_concurrent_requests`.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::time::Instant;

use super::idle::Idle;

/// A body that has not come whole.
struct Awaited {
    body: Incoming,
    idle: Idle,
    /// Drops that come late do not make the wait for them begin anew.
    since: Instant,
    /// The requests under way; its own is one of them, unless it is waiting.
    under_way: Arc<AtomicUsize>,
    is_waiting: bool,
}

/// A body for a handler.
pub fn awaited(body: Incoming, idle: &Idle, under_way: &Arc<AtomicUsize>) -> Body {
    if body.is_end_stream() {
        return Body::empty();
    }
    let (idle, under_way) = (idle.clone(), under_way.clone());
    Body::new(Awaited { body, idle, since: Instant::now(), under_way, is_waiting: false })
}

impl HttpBody for Awaited {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if frame.is_ready() == self.is_waiting {
            self.is_waiting = frame.is_pending();
            if self.is_waiting {
                self.under_way.fetch_sub(1, Relaxed);
                self.idle.begin_body(self.since);
            } else {
                self.under_way.fetch_add(1, Relaxed);
                if !self.idle.over() {
                    // The connection has to go, and its task is about to end.
                    return Poll::Pending;
                }
            }
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

impl Drop for Awaited {
    fn drop(&mut self) {
        if self.is_waiting {
            // The handler has had enough, and whoever counted the request takes it off again.
            self.under_way.fetch_add(1, Relaxed);
            self.idle.over();
        }
    }
}
