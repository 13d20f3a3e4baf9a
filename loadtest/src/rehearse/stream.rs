//! The event stream of a tab: server-sent events of `GET …/token/events`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anteroom_witness::{Call, Heard, Line, Shown};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::kind::Kind;
use super::tab::{Tab, heard};
use crate::client::{Connection, EventBody};

/// Without an event for this time the connection is lost. The waiting page waits as long.
const SILENCE: Duration = Duration::from_secs(45);
/// When to open the next stream, if the server does not say.
const RETRY: Duration = Duration::from_secs(1);

/// An open stream, on a connection of its own.
pub struct Stream {
    body: EventBody,
    /// What has come and is no whole event.
    pending: Vec<u8>,
    opened_at: u64,
    /// The position before the next event.
    position: Option<u64>,
    retry: Duration,
    _permit: OwnedSemaphorePermit,
}

/// What comes of opening a stream.
pub enum Opened {
    /// It is open.
    Stream(Box<Stream>),
    /// There is none for this visitor, who polls instead.
    PollInstead,
    /// There was no answer: open it again after this time.
    Failed(Duration),
}

/// What comes of an open stream.
pub enum Seen {
    /// The place, or that it has ended.
    Place(Heard),
    /// Nothing of the place, which is kept.
    Nothing,
    /// The visitor polls instead.
    PollInstead,
    /// The stream has ended: open the next after this time.
    Ended(Duration),
}

/// A server-sent event.
#[derive(Debug, Default, PartialEq, Eq)]
struct Event {
    name: String,
    data: String,
    retry_ms: Option<u64>,
}

impl Tab {
    /// Opens the stream of the place.
    pub async fn stream(&mut self) -> Opened {
        let stage = Arc::clone(&self.stage);
        let permit = Arc::clone(&stage.stream_permits).try_acquire_owned();
        let Ok(permit) = permit else { return Opened::PollInstead };
        let _asking = stage.asking.read().await;
        let Line { sent: opened_at, position, .. } = self.line(Call::Place);
        let sent = Instant::now();
        let mut connection = Connection::new(&stage.site.public);
        let opened = connection.open(self.stream_request(), stage.args.patience).await;
        let (answer, body) = match opened {
            Ok((answer, body)) => (Ok(answer), body),
            Err(fault) => (Err(fault), None),
        };
        self.count(Kind::Stream, sent, &answer);
        let mut counts = stage.counts();
        counts.connections.add(false, &answer);
        counts.refused(&heard(Call::Place, &answer));
        drop(counts);
        match (body, answer) {
            (Some(body), _) => Opened::Stream(Box::new(Stream {
                body,
                pending: Vec::new(),
                opened_at,
                position,
                retry: RETRY,
                _permit: permit,
            })),
            (None, Ok(_)) => Opened::PollInstead,
            (None, Err(_)) => Opened::Failed(RETRY),
        }
    }
}

impl Stream {
    /// The next event, of the stream of this tab.
    pub async fn next(&mut self, tab: &mut Tab) -> Seen {
        loop {
            if let Some(event) = take_event(&mut self.pending) {
                return self.sees(event, tab);
            }
            match timeout(SILENCE, self.body.piece()).await {
                Ok(Ok(Some(piece))) => self.pending.extend_from_slice(&piece),
                Ok(Ok(None) | Err(_)) => return Seen::Ended(self.retry),
                Err(_) => return Seen::PollInstead,
            }
        }
    }

    fn sees(&mut self, Event { name, data, retry_ms }: Event, tab: &mut Tab) -> Seen {
        self.retry = retry_ms.map_or(self.retry, Duration::from_millis);
        let status = match name.as_str() {
            "place" => 200,
            "gone" => 410,
            "replaced" => return Seen::PollInstead,
            _ => return Seen::Nothing,
        };
        let stage = Arc::clone(&tab.stage);
        stage.counts().note(Kind::Event);
        let heard = Heard::answer(Call::Place, status, |_| None, data.as_bytes());
        let now = stage.record.now();
        // No request shows when the event was made: after the stream was opened, and no longer ago
        // than a visitor waits for an answer.
        let patience = u64::try_from(stage.args.patience.as_micros()).unwrap_or(u64::MAX);
        let sent = self.opened_at.max(now.saturating_sub(patience));
        let line = Line { sent, position: self.position, ..tab.line(Call::Place) };
        stage.record.write(line.heard(&heard, now));
        tab.learns(Call::Place, &heard);
        if let Shown::Waiting { position: Some(position) } = heard.shown {
            self.position = Some(self.position.map_or(position, |best| best.min(position)));
        }
        Seen::Place(heard)
    }
}

/// Takes the first event, if it is complete.
fn take_event(pending: &mut Vec<u8>) -> Option<Event> {
    let end = pending.windows(2).position(|two| two == b"\n\n")?;
    let event: Vec<u8> = pending.drain(..end + 2).collect();
    let mut taken = Event::default();
    for line in String::from_utf8_lossy(&event).lines() {
        let (field, value) = line.split_once(": ").unwrap_or((line, ""));
        match field {
            "event" => value.clone_into(&mut taken.name),
            "data" => value.clone_into(&mut taken.data),
            "retry" => taken.retry_ms = value.parse().ok(),
            _ => {}
        }
    }
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_pieces() {
        let event = |name: &str, data: &str, retry_ms| Event {
            name: name.to_owned(),
            data: data.to_owned(),
            retry_ms,
        };
        let text = "retry: 2100\nevent: place\ndata: {\"position\":5}\n\nevent: unavailable\n\
            data: {}\n\nretry: 900\n\n";
        let expected = [
            event("place", "{\"position\":5}", Some(2_100)),
            event("unavailable", "{}", None),
            event("", "", Some(900)),
        ];
        for size in [1, 7, text.len()] {
            let (mut pending, mut events) = (Vec::new(), Vec::new());
            for piece in text.as_bytes().chunks(size) {
                pending.extend_from_slice(piece);
                events.extend(std::iter::from_fn(|| take_event(&mut pending)));
            }
            assert_eq!(events, expected, "pieces of {size}");
        }
    }
}
