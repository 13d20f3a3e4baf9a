//! The role of this binary: the gRPC port, from its start to the end of the drain.

use std::sync::Arc;
use std::time::Duration;

use anteroom_authorize::queue::{refresh, revocations::Revoked};
use anteroom_authorize::snapshots;
use anteroom_config::Config;
use anteroom_core::store::Store;
use anteroom_runtime::{
    Changes, Context, PortName, Readiness, Supervisor, descriptors, listen, watch_store,
    write_listening,
};
use anyhow::Context as _;
use envoy_types::pb::envoy::service::auth::v3::authorization_server::{self, AuthorizationServer};
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_service_server::{
    self, RateLimitServiceServer,
};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use crate::app::App;
use crate::authorization::Authorization;
use crate::connection::{KEEPALIVE_INTERVAL, incoming};
use crate::rate_limit::RateLimitService;

/// The most calls under way on one connection. Envoy opens another one past it.
const MAX_CONCURRENT_STREAMS: u32 = 1_024;
/// So many calls may be cancelled before they are begun, else the connection ends, with the calls
/// of other visitors. Envoy cancels the call of a visitor who goes away.
const MAX_PENDING_RESETS: usize = MAX_CONCURRENT_STREAMS as usize;
/// How soon the health service shows that the process is ready, or no longer.
const SHOW_READINESS_EVERY: Duration = Duration::from_millis(100);

/// Serves the port until the shell asks for an end, and drains.
///
/// # Errors
///
/// When the port cannot be opened, or the store refuses for good at the start.
pub async fn run(context: Context) -> anyhow::Result<()> {
    let Context { config, changes, registry, readiness, shutdown, operations, supervisor } =
        context;
    let store = Store::open(&config.store(), &anteroom_core::scripts(), &registry)?;
    let listen_at = config.envoy.listen;
    let listener = listen(listen_at).with_context(|| format!("envoy.listen = {listen_at}"))?;
    let address = listener.local_addr()?;
    let max_message_bytes = config.envoy.max_message_bytes;
    let share = descriptors::share(1, config.admission.max_connections);
    let nothing_to_run = config.queues.is_empty();
    let app = Arc::new(App::new(config.clone(), store, &registry, operations)?);

    let (applied, in_force) = watch::channel(config);
    tokio::spawn(follow_changes(app.clone(), changes, applied));
    let stopping = CancellationToken::new();
    tokio::spawn(read_queues(app.clone(), supervisor, in_force, stopping.clone()));
    watch_store(&app.process.store, &readiness, nothing_to_run, &registry)?;

    let (health, health_service) = tonic_health::server::health_reporter();
    let authorization = AuthorizationServer::new(Authorization::new(app.clone()));
    let rate_limits = RateLimitServiceServer::new(RateLimitService(app.clone()));
    let router = Server::builder()
        .max_concurrent_streams(MAX_CONCURRENT_STREAMS)
        .http2_max_pending_accept_reset_streams(Some(MAX_PENDING_RESETS))
        .http2_keepalive_interval(Some(KEEPALIVE_INTERVAL))
        .add_service(health_service)
        .add_service(authorization.max_decoding_message_size(max_message_bytes))
        .add_service(rate_limits.max_decoding_message_size(max_message_bytes));
    write_listening(PortName::Grpc, address);

    let incoming = incoming(listener, share.connections);
    let serving = router.serve_with_incoming_shutdown(incoming, stopping.cancelled());
    let drain = async {
        shutdown.cancelled().await;
        // Gateways still call until they have noticed that this process is not ready.
        let drain_delay = app.live().config.envoy.drain_delay;
        tokio::time::sleep(drain_delay).await;
        stopping.cancel();
        let drain_timeout = app.live().config.envoy.drain_timeout;
        tokio::time::sleep(drain_timeout).await;
    };
    tokio::select! {
        served = serving => Ok(served?),
        () = drain => Ok(()),
        () = show_readiness(&readiness, &health) => Ok(()),
        refused = app.process.store.refused_at_start() => Err(refused.into()),
    }
}

/// Lets the health service report whether the process is ready.
async fn show_readiness(readiness: &Readiness, health: &HealthReporter) {
    // The empty name is the whole server.
    let names = ["", authorization_server::SERVICE_NAME, rate_limit_service_server::SERVICE_NAME];
    loop {
        let is_ready = readiness.is_ready();
        let status = if is_ready { ServingStatus::Serving } else { ServingStatus::NotServing };
        for name in names {
            health.set_service_status(name, status).await;
        }
        while readiness.is_ready() == is_ready {
            tokio::time::sleep(SHOW_READINESS_EVERY).await;
        }
    }
}

/// Keeps the newest snapshot and the revocations of each queue.
async fn read_queues(
    app: Arc<App>,
    supervisor: Supervisor,
    in_force: Changes,
    stopping: CancellationToken,
) {
    let names = |config: &Arc<Config>| config.queues.keys().cloned().collect();
    let keep = |task, read: fn(Arc<App>, String) -> BoxFuture<'static, ()>| {
        let app = app.clone();
        let run = move |name, stop: CancellationToken| {
            let reading = read(app.clone(), name);
            async move { stop.run_until_cancelled(reading).await.unwrap_or_default() }
        };
        supervisor.keep(task, in_force.clone(), names, stopping.clone(), run)
    };
    tokio::join!(
        keep("queue_snapshots", |app, name| {
            async move { snapshots::keep(&app.process.store, || app.queue(&name)).await }.boxed()
        }),
        keep("queue_revocations", |app, name| {
            async move { refresh::keep::<Revoked>(|| app.queue(&name)).await }.boxed()
        }),
    );
}

/// Puts each changed configuration in force, and then passes it on.
async fn follow_changes(app: Arc<App>, mut changes: Changes, applied: watch::Sender<Arc<Config>>) {
    while changes.changed().await.is_ok() {
        let config = changes.borrow_and_update().clone();
        app.reload(config.clone());
        applied.send_replace(config);
    }
}
