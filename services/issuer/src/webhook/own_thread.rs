//! The thread of one receiver's calls.
//!
//! hyper reads informational answers (1xx) in one go for as long as there are any, so a receiver
//! that sends them without end keeps a thread busy. It is a thread on which nothing else runs.

use std::io;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

/// A runtime of one thread. Its calls are ended when it is dropped.
#[derive(Debug)]
pub struct OwnThread(Option<Runtime>);

impl OwnThread {
    /// Starts it.
    ///
    /// # Errors
    ///
    /// When the system gives no thread.
    pub fn start() -> io::Result<Self> {
        let mut thread = Builder::new_multi_thread();
        let runtime = thread.worker_threads(1).thread_name("webhook").enable_all().build()?;
        Ok(Self(Some(runtime)))
    }

    /// Runs a call there for so long; `None` when it has not ended by then. It ends with the future
    /// that waits for it.
    pub async fn run<T>(
        &self,
        within: Duration,
        call: impl Future<Output = T> + Send + 'static,
    ) -> Option<T>
    where
        T: Send + 'static,
    {
        let call = AbortOnDropHandle::new(self.0.as_ref()?.spawn(call));
        timeout(within, call).await.ok()?.ok()
    }
}

impl Drop for OwnThread {
    fn drop(&mut self) {
        // Not to be waited for: this may be a thread of the other runtime.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
