//! The frames of this process: made once a second while a stream is open, for all streams together.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use prometheus::IntGauge;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::task::AbortOnDropHandle;

use super::frame::Frame;
use crate::app::App;

/// Streams that may be open at the same time.
pub const MOST_STREAMS: usize = 32;
/// Between two frames.
pub const EVERY: Duration = Duration::from_secs(1);

/// The frames, and the streams that may follow them.
#[derive(Debug)]
pub struct Feed {
    slots: Arc<Semaphore>,
    open: IntGauge,
    running: Mutex<Weak<Running>>,
}

/// Frames in the making, while a stream has this.
#[derive(Debug)]
struct Running {
    frames: watch::Receiver<Arc<Frame>>,
    _making: AbortOnDropHandle<()>,
}

/// One stream's part: its slot, and the frames.
#[derive(Debug)]
pub struct Subscription {
    frames: watch::Receiver<Arc<Frame>>,
    open: IntGauge,
    _running: Arc<Running>,
    _slot: OwnedSemaphorePermit,
}

impl Feed {
    /// No stream yet; those that are open show in this gauge.
    pub fn new(open: IntGauge) -> Self {
        Self { slots: Arc::new(Semaphore::new(MOST_STREAMS)), open, running: Mutex::default() }
    }

    /// Takes part, if a slot is left. Must be called inside a Tokio runtime.
    pub fn subscribe(&self, app: &Arc<App>) -> Option<Subscription> {
        let slot = self.slots.clone().try_acquire_owned().ok()?;
        let running = self.running(app);
        self.open.inc();
        let (frames, open) = (running.frames.clone(), self.open.clone());
        Some(Subscription { frames, open, _running: running, _slot: slot })
    }

    fn running(&self, app: &Arc<App>) -> Arc<Running> {
        // It is written whole.
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.upgrade().unwrap_or_else(|| {
            let started = Arc::new(Running::start(app));
            *running = Arc::downgrade(&started);
            started
        })
    }
}

impl Running {
    fn start(app: &Arc<App>) -> Self {
        let (sender, frames) = watch::channel(Arc::new(Frame::take(app, None)));
        let app = app.clone();
        let making = tokio::spawn(async move {
            let mut ticks = interval_at(Instant::now() + EVERY, EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                let before = sender.borrow().clone();
                sender.send_replace(Arc::new(Frame::take(&app, Some(&before))));
            }
        });
        Self { frames, _making: AbortOnDropHandle::new(making) }
    }
}

impl Subscription {
    /// The newest frame.
    pub fn newest(&mut self) -> Arc<Frame> {
        self.frames.borrow_and_update().clone()
    }

    /// Waits for another frame; `None` if there will be none.
    pub async fn next(&mut self) -> Option<Arc<Frame>> {
        self.frames.changed().await.ok()?;
        Some(self.newest())
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.open.dec();
    }
}
