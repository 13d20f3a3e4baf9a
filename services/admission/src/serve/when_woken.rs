//! A future that is polled when it is woken itself, not each time its task is.
//!
//! A connection's task wakes for every packet, and a poll of what ends the connection takes locks
//! that all connections share. `FuturesUnordered` of one future does the same, but each poll
//! touches four times the memory.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;
use pin_project_lite::pin_project;

pin_project! {
    /// See the module.
    pub struct WhenWoken<F> {
        #[pin]
        future: F,
        wake: Arc<WakeFlag>,
    }
}

struct WakeFlag {
    is_woken: AtomicBool,
    task: AtomicWaker,
}

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, Ordering::Release);
        self.task.wake();
    }
}

impl<F> WhenWoken<F> {
    pub fn new(future: F) -> Self {
        let wake = WakeFlag { is_woken: AtomicBool::new(true), task: AtomicWaker::new() };
        Self { future, wake: Arc::new(wake) }
    }
}

impl<F: Future> Future for WhenWoken<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        // Registered before the look: a wake after the look finds the task.
        this.wake.task.register(context.waker());
        if !this.wake.is_woken.swap(false, Ordering::AcqRel) {
            return Poll::Pending;
        }
        let waker = Waker::from(this.wake.clone());
        this.future.poll(&mut Context::from_waker(&waker))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    use futures_util::poll;
    use tokio::sync::oneshot;

    use super::*;

    /// Without a time-out, a lost wake would hang the test.
    async fn in_time<F: Future>(future: F) -> F::Output {
        tokio::time::timeout(Duration::from_secs(60), future).await.expect("no wake is lost")
    }

    #[tokio::test]
    async fn it_is_polled_at_first_and_when_it_is_woken() {
        let polls = AtomicUsize::new(0);
        let (send, mut receive) = oneshot::channel();
        let counted = poll_fn(|context| {
            polls.fetch_add(1, Ordering::Relaxed);
            Pin::new(&mut receive).poll(context)
        });
        let mut ends = pin!(WhenWoken::new(counted));
        for _ in 0..10 {
            assert!(poll!(&mut ends).is_pending());
        }
        assert_eq!(polls.load(Ordering::Relaxed), 1);
        send.send("woken").expect("it is awaited");
        assert_eq!(in_time(ends).await, Ok("woken"));
        assert_eq!(polls.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn each_of_several_wakes_reaches_the_task() {
        let (mut sends, mut receives) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            let (send, receive) = oneshot::channel();
            sends.push(send);
            receives.push(receive);
        }
        let ends = WhenWoken::new(async move {
            for receive in receives {
                receive.await.expect("it is sent");
            }
        });
        let ended = tokio::spawn(ends);
        for send in sends {
            tokio::task::yield_now().await;
            send.send(()).expect("it is awaited");
        }
        in_time(ended).await.expect("no panic");
    }

    #[tokio::test]
    async fn it_wakes_the_task_that_polled_it_last() {
        let (send, receive) = oneshot::channel();
        let mut ends = Box::pin(WhenWoken::new(receive));
        assert!(poll!(&mut ends).is_pending());
        let elsewhere = tokio::spawn(ends);
        tokio::task::yield_now().await;
        send.send("woken").expect("it is awaited");
        assert_eq!(in_time(elsewhere).await.expect("no panic"), Ok("woken"));
    }
}
