//! The role of this binary: both ports, from their start to the end of the drain.

use std::sync::Arc;
use std::time::Duration;

use anteroom_config::Config;
use anteroom_core::store::Store;
use anteroom_runtime::{
    Changes, Context, PortName, descriptors, listen, watch_store, write_listening,
};
use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::metrics::AdmissionMetrics;
use crate::serve::Server;
use crate::{http, ports, tasks};

/// Ports that take connections: the public and the service port.
const PORTS: u64 = 2;
/// How long the last report to the store can take.
const LAST_REPORT: Duration = Duration::from_secs(1);

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
    let share = descriptors::share(PORTS, config.admission.max_connections);
    let app = App::new(config, store, metrics, operations, share.connections, stopping.clone());

    let (applied, in_force) = watch::channel(app.live().config.clone());
    tokio::spawn(follow_changes(app.clone(), changes, applied));
    let nothing_to_run = tasks::spawn(&app, &supervisor, &in_force);
    watch_store(&app.process.store, &readiness, nothing_to_run, &registry)?;
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
        _ = served => {
            let _ = tokio::time::timeout(LAST_REPORT, app.report_polls()).await;
            Ok(())
        }
        refused = app.process.store.refused_at_start() => Err(refused.into()),
    }
}

fn bind(key: &str, address: std::net::SocketAddr) -> anyhow::Result<TcpListener> {
    listen(address).with_context(|| format!("{key} = {address}"))
}

/// Puts each changed configuration in force, and then passes it on.
async fn follow_changes(app: Arc<App>, mut changes: Changes, applied: watch::Sender<Arc<Config>>) {
    while changes.changed().await.is_ok() {
        let config = changes.borrow_and_update().clone();
        app.reload(config.clone());
        applied.send_replace(config);
    }
}
