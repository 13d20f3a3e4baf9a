//! The role of this binary: the gRPC port, from its start to the end of the drain.

use std::sync::Arc;
use std::time::Duration;

use anteroom_authorize::queue::revocations;
use anteroom_authorize::snapshots;
use anteroom_config::Config;
use anteroom_core::store::Store;
use anteroom_runtime::{
    Changes, Context, PortName, Supervisor, listen, watch_store, write_listening,
};
use anyhow::Context as _;
use envoy_types::pb::envoy::service::auth::v3::authorization_server::{self, AuthorizationServer};
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_service_server::{
    self, RateLimitServiceServer,
};
use futures_util::stream;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;
use tonic_health::ServingStatus;

use crate::app::App;
use crate::authorization::Authorization;
use crate::rate_limit::RateLimitService;

/// The most calls under way on one connection. Envoy opens another one past it.
const MAX_CONCURRENT_STREAMS: u32 = 1_024;
/// How often an idle connection must show that its other end is still there.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);
/// After a failure to accept, such as no descriptor being left.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);
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
    let nothing_to_run = config.queues.is_empty();
    let app = Arc::new(App::new(config.clone(), store, &registry, operations)?);

    let (applied, in_force) = watch::channel(config);
    tokio::spawn(follow_changes(app.clone(), changes, applied));
    let stopping = CancellationToken::new();
    read_queues(&app, &supervisor, &in_force, &stopping);
    watch_store(&app.process.store, &readiness, nothing_to_run, &registry)?;

    let (health, health_service) = tonic_health::server::health_reporter();
    let authorization = AuthorizationServer::new(Authorization::new(app.clone()));
    let rate_limits = RateLimitServiceServer::new(RateLimitService(app.clone()));
    let router = Server::builder()
        .max_concurrent_streams(MAX_CONCURRENT_STREAMS)
        .http2_keepalive_interval(Some(KEEPALIVE_INTERVAL))
        .add_service(health_service)
        .add_service(authorization.max_decoding_message_size(max_message_bytes))
        .add_service(rate_limits.max_decoding_message_size(max_message_bytes));
    write_listening(PortName::Grpc, address);

    let set_health = async |status| {
        // The empty name is the whole server.
        for name in
            ["", authorization_server::SERVICE_NAME, rate_limit_service_server::SERVICE_NAME]
        {
            health.set_service_status(name, status).await;
        }
    };
    let show_readiness = async {
        let mut shown = None;
        loop {
            let is_ready = readiness.is_ready();
            if shown != Some(is_ready) {
                let serving = ServingStatus::Serving;
                set_health(if is_ready { serving } else { ServingStatus::NotServing }).await;
                shown = Some(is_ready);
            }
            tokio::time::sleep(SHOW_READINESS_EVERY).await;
        }
    };
    let stop = async {
        shutdown.cancelled().await;
        // Gateways still call until they have noticed that this process is not ready.
        let drain_delay = app.live().config().envoy.drain_delay;
        tokio::time::sleep(drain_delay).await;
        stopping.cancel();
    };
    let incoming =
        stream::unfold(listener, async |listener| Some((accept(&listener).await, listener)));
    let serving = router.serve_with_incoming_shutdown(incoming, stopping.cancelled());
    let too_late = async {
        stopping.cancelled().await;
        let drain_timeout = app.live().config().envoy.drain_timeout;
        tokio::time::sleep(drain_timeout).await;
    };
    tokio::select! {
        served = async { tokio::join!(serving, stop).0 } => Ok(served?),
        () = too_late => Ok(()),
        () = show_readiness => Ok(()),
        refused = app.process.store.refused_at_start() => Err(refused.into()),
    }
}

/// The next connection. Without a pause after a failure, a full process would only try to accept.
async fn accept(listener: &TcpListener) -> std::io::Result<TcpStream> {
    loop {
        match listener.accept().await {
            Ok((connection, _)) => {
                // Answers are small. A connection that refuses this is about to end.
                let _ = connection.set_nodelay(true);
                return Ok(connection);
            }
            Err(error) => {
                tracing::debug!(%error, "no connection accepted");
                tokio::time::sleep(ACCEPT_AGAIN).await;
            }
        }
    }
}

/// Keeps the newest snapshot and the revocations of each queue.
fn read_queues(
    app: &Arc<App>,
    supervisor: &Supervisor,
    in_force: &Changes,
    stopping: &CancellationToken,
) {
    let names = |config: &Arc<Config>| config.queues.keys().cloned().collect();
    let (of_snapshots, of_revocations) = (app.clone(), app.clone());
    let read_snapshots = move |name: String, stop: CancellationToken| {
        let app = of_snapshots.clone();
        async move {
            let reading = snapshots::keep(&app.process.store, || app.queue(&name));
            stop.run_until_cancelled(reading).await;
        }
    };
    let read_revocations = move |name: String, stop: CancellationToken| {
        let app = of_revocations.clone();
        async move {
            stop.run_until_cancelled(revocations::keep(|| app.queue(&name))).await;
        }
    };
    let (supervisor, in_force, stopping) = (supervisor.clone(), in_force.clone(), stopping.clone());
    tokio::spawn(async move {
        let keep = |task| (task, in_force.clone(), names, stopping.clone());
        let (task, changes, names, stop) = keep("queue_snapshots");
        let snapshots = supervisor.keep(task, changes, names, stop, read_snapshots);
        let (task, changes, names, stop) = keep("queue_revocations");
        let revocations = supervisor.keep(task, changes, names, stop, read_revocations);
        tokio::join!(snapshots, revocations);
    });
}

/// Puts each changed configuration in force, and then passes it on.
async fn follow_changes(app: Arc<App>, mut changes: Changes, applied: watch::Sender<Arc<Config>>) {
    while changes.changed().await.is_ok() {
        let config = changes.borrow_and_update().clone();
        app.reload(config.clone());
        applied.send_replace(config);
    }
}
