//! A deployment whose schedulers sweep and look often, and its queues as admission would hold them.

use anteroom_config::Loader;
use anteroom_core::queue::{Join, Place, PlaceId, PlaceRef, Queue, Snapshot, Visit};
use anteroom_core::store::{Config, Store};
use anteroom_testkit::{Deployment, PATIENCE, Redis, Service, until, until_some};

/// An empty Redis and a file with these queues.
pub async fn deployment(queues: &str) -> Deployment {
    deployment_on(Redis::start().await, queues)
}

/// A file with these queues, and this Redis.
pub fn deployment_on(redis: Redis, queues: &str) -> Deployment {
    // Fast enough that no test waits for them.
    let fast = [
        ("ANTEROOM_SCHEDULER__SWEEP_TICK", "100ms"),
        ("ANTEROOM_SCHEDULER__SNAPSHOT_TICK", "100ms"),
    ];
    Deployment::new(redis, queues, &fast)
}

/// Waits for the first tick, which comes after the rules are written.
pub async fn until_ticking(scheduler: &Service) {
    let ticks = "anteroom_tick_duration_seconds_count{tick=\"promote\"}";
    scheduler.until_metric(ticks, |it| it > Some(0.0)).await;
}

/// The file, and the store that it names.
pub async fn opened(deployment: &Deployment) -> (anteroom_config::Config, Store) {
    let config = Loader::new(Some(&deployment.config_file())).load().expect("a valid file");
    let store = Config {
        // Slow machines must not turn a test into one of time-outs.
        command_timeout: PATIENCE,
        request_timeout: PATIENCE,
        ..Config::new(deployment.redis.socket_url())
    };
    let registry = prometheus::Registry::new();
    let store = Store::open(&store, &anteroom_core::scripts(), &registry).expect("an address");
    assert!(store.wait_up(PATIENCE).await, "the store is up");
    (config, store)
}

/// A queue of the file, as admission would hold it.
pub async fn queue(deployment: &Deployment, name: &str) -> Queue {
    let (config, store) = opened(deployment).await;
    Queue::open(&store, name, config.queues[name].rules.clone(), 10_000)
}

/// The n-th visitor joins and gets a place.
pub async fn join(queue: &Queue, n: u64) -> (PlaceRef, Place) {
    let id = PlaceId::of_visitor(queue.name(), &format!("visitor {n}"));
    match queue.join(id).await.expect("a join") {
        Join::Created(of, place) | Join::Same(of, place) => (of, place),
        other => panic!("no place: {other:?}"),
    }
}

pub async fn look(queue: &Queue, of: PlaceRef) -> Visit {
    queue.place(of).await.expect("a look")
}

/// Waits until the place is there and `is` holds of it.
pub async fn until_place(queue: &Queue, of: PlaceRef, is: impl Fn(&Place) -> bool) -> Place {
    until_some(&format!("ticket {}", of.ticket), PATIENCE, async || match look(queue, of).await {
        Visit::Here(place) if is(&place) => Some(place),
        _ => None,
    })
    .await
}

/// Waits until the queue as a whole is so.
pub async fn until_snapshot(queue: &Queue, is: impl Fn(&Snapshot) -> bool) {
    let what = format!("a snapshot of {}", queue.name());
    until(&what, PATIENCE, async || is(&queue.snapshot().await.expect("a snapshot"))).await;
}
