//! A task for each queue, as long as the queue is configured and this process serves.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use crate::app::App;

/// How soon a queue that a reload has brought gets its task.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Runs `task` for each queue until the process stops. A task ends by itself when its queue is no
/// longer configured; the queue may come back.
pub async fn keep<F: Future<Output = ()> + Send + 'static>(
    app: Arc<App>,
    task: impl Fn(Arc<App>, String) -> F,
) {
    let mut kept = HashSet::new();
    let mut tasks = tokio::task::JoinSet::new();
    loop {
        for queue in app.queues() {
            let name = queue.name().to_owned();
            if kept.insert(name.clone()) {
                let run = task(app.clone(), name.clone());
                tasks.spawn(async move {
                    run.await;
                    name
                });
            }
        }
        tokio::select! {
            () = app.stopping.cancelled() => return,
            () = tokio::time::sleep(LOOK_EVERY) => {}
            Some(Ok(name)) = tasks.join_next() => { kept.remove(&name); }
        }
    }
}
