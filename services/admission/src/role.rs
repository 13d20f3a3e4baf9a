//! What this binary does between the shell's start and its end.

use std::sync::Arc;

use anteroom_core::store::Store;
use anteroom_runtime::{
    Changes, Config, Context, PortName, Supervisor, listen, watch_store, write_listening,
};
use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::metrics::AdmissionMetrics;
use crate::serve::{Server, descriptors};
use crate::tasks::{breaker_snapshots, pool_snapshots, revocations, snapshots};
use crate::{http, ports};

/// Serves both ports until the shell asks for an end, and drains.
///
/// # Errors
///
/// When a port cannot be opened, or the store refuses for good at the start.
pub async fn run(context: Context) -> anyhow::Result<()> {
    let Context { config, changes, registry, readiness, shutdown, operations, supervisor } =
        context;
    let store = Store::open(&config.store(), &anteroom_core::scripts(), &registry)?;
    let metrics = AdmissionMetrics::register(&registry)?;
    let public = bind("admission.listen", config.admission.listen)?;
    let service = bind("admission.service_listen", config.admission.service_listen)?;
    let stopping = CancellationToken::new();
    let share = descriptors::share(config.admission.max_connections);
    let app = App::new(config, store, metrics, operations, share.connections, stopping.clone());

    let (tell, in_force) = watch::channel(app.live().config.clone());
    tokio::spawn(follow_changes(app.clone(), changes, tell));
    let config = app.live().config.clone();
    // Limits run a script only when they are asked.
    let nothing_to_run =
        config.queues.is_empty() && config.targets.is_empty() && config.pools.is_empty();
    watch_store(&app.store, &readiness, nothing_to_run, &registry)?;
    spawn_for(QUEUES, &supervisor, "queue_snapshots", &app, &in_force, snapshots::keep);
    spawn_for(QUEUES, &supervisor, "queue_revocations", &app, &in_force, revocations::keep);
    spawn_for(TARGETS, &supervisor, "target_snapshots", &app, &in_force, breaker_snapshots::keep);
    spawn_for(POOLS, &supervisor, "pool_snapshots", &app, &in_force, pool_snapshots::keep);
    write_listening(PortName::Public, public.local_addr()?);
    write_listening(PortName::Service, service.local_addr()?);
    let serve = |listener, port| Server::new(listener, port, app.clone(), share, readiness.clone());
    let (visitors, backends) = (ports::public(&app), ports::service(&app));
    let in_flight = [("public", &visitors), ("service", &backends)];
    let in_flight = in_flight.map(|(port, it)| (port, it.in_flight.clone()));
    http::shell::show_in_flight(&registry, in_flight.into())?;
    let public = serve(public, visitors);
    let service = serve(service, backends);

    let stop = async {
        shutdown.cancelled().await;
        // Balancers still send requests until they have noticed that we are not ready; each answer
        // sends kept connections away meanwhile.
        let drain_delay = app.live().config.admission.drain_delay;
        tokio::time::sleep(drain_delay).await;
        stopping.cancel();
    };
    let served = async { tokio::join!(public.run(), service.run(), stop) };
    tokio::select! {
        _ = served => Ok(()),
        refused = app.store.refused_at_start() => Err(refused.into()),
    }
}

fn bind(key: &str, address: std::net::SocketAddr) -> anyhow::Result<TcpListener> {
    listen(address).with_context(|| format!("{key} = {address}"))
}

/// Puts each changed configuration in force, and tells of it then.
async fn follow_changes(app: Arc<App>, mut changes: Changes, tell: watch::Sender<Arc<Config>>) {
    while changes.changed().await.is_ok() {
        let config = changes.borrow_and_update().clone();
        app.reload(config.clone());
        tell.send_replace(config);
    }
}

/// The names of the entities of a kind.
type Names = fn(&Config) -> Vec<String>;
const QUEUES: Names = |config| config.queues.keys().cloned().collect();
const POOLS: Names = |config| config.pools.keys().cloned().collect();
const TARGETS: Names = |config| config.targets.keys().cloned().collect();

/// Keeps one such task for each of these names in the configuration in force, until the process
/// stops.
fn spawn_for<F: Future<Output = ()> + Send + 'static>(
    names: Names,
    supervisor: &Supervisor,
    task: &'static str,
    app: &Arc<App>,
    in_force: &Changes,
    run: fn(Arc<App>, String, CancellationToken) -> F,
) {
    let (supervisor, app, in_force) = (supervisor.clone(), app.clone(), in_force.clone());
    tokio::spawn(async move {
        let names = |config: &Arc<Config>| names(config);
        let stop = app.stopping.clone();
        let run = move |name, stop| run(app.clone(), name, stop);
        supervisor.keep(task, in_force, names, stop, run).await;
    });
}
