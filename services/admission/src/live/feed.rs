//! The frames of this process. While a stream is open, one task makes a frame each second for all
//! streams.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use prometheus::IntGauge;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::task::AbortOnDropHandle;

use super::frame::Frame;
use super::slots::{Slot, Slots};
use crate::app::App;

/// The time between two frames.
pub const EVERY: Duration = Duration::from_secs(1);

/// The source of frames, and the slots of streams.
#[derive(Debug)]
pub struct Feed {
    slots: Arc<Slots>,
    running: Mutex<Weak<Running>>,
}

/// The task that makes frames. It ends when no stream has this.
#[derive(Debug)]
struct Running {
    frames: watch::Receiver<Arc<Frame>>,
    _making: AbortOnDropHandle<()>,
}

/// The subscription of one stream: its slot, and the frames.
#[derive(Debug)]
pub struct Subscription {
    frames: watch::Receiver<Arc<Frame>>,
    _running: Arc<Running>,
    _slot: Slot,
}

impl Feed {
    /// A feed without streams. The gauge shows how many are open.
    pub fn new(open: IntGauge) -> Self {
        Self { slots: Slots::new(open), running: Mutex::default() }
    }

    /// Subscribes with the key of this name, if a slot is free. Call it inside a Tokio runtime.
    ///
    /// # Errors
    ///
    /// The limit that is reached, in words.
    pub fn subscribe(&self, app: &Arc<App>, key: Option<&str>) -> Result<Subscription, String> {
        let slot = self.slots.take(key)?;
        let running = self.running(app);
        Ok(Subscription { frames: running.frames.clone(), _running: running, _slot: slot })
    }

    fn running(&self, app: &Arc<App>) -> Arc<Running> {
        // No code panics while it is half written.
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

    /// Waits for the next frame; `None` if the task has ended.
    pub async fn next(&mut self) -> Option<Arc<Frame>> {
        self.frames.changed().await.ok()?;
        Some(self.newest())
    }
}
