//! Redis as a service sees it: the service is ready with the first script that Redis ran, a gauge
//! shows whether Redis is up, and once it is up its settings are checked.

use std::time::Duration;

use anteroom_core::store::{Error, Store};
use prometheus::{
    IntGauge, Registry,
    core::{Collector, Desc},
    proto::MetricFamily,
};

use crate::Readiness;

/// The pause until the settings of a server that did not answer are read again.
const CHECK_EVERY: Duration = Duration::from_millis(100);

/// Calls the service started after the first script that Redis ran: from then on the service can
/// answer, also while Redis is down. With `nothing_to_run`, when no configured entity runs a script
/// by itself, a verified connection is enough.
///
/// Registers `anteroom_store_up`. Once Redis is up, warns of each of its settings that endangers a
/// promise. Returns at once; the rest goes on in the background.
///
/// # Errors
///
/// When the name of the metric is taken.
pub fn watch_store(
    store: &Store,
    readiness: &Readiness,
    nothing_to_run: bool,
    registry: &Registry,
) -> prometheus::Result<()> {
    registry.register(Box::new(StoreUp::new(store.clone())?))?;
    let (store, readiness) = (store.clone(), readiness.clone());
    tokio::spawn(async move {
        tokio::select! {
            () = store.until_run() => {}
            () = store.until_up(), if nothing_to_run => {}
        }
        readiness.started();
        while !check_server(&store).await {
            tokio::time::sleep(CHECK_EVERY).await;
        }
    });
    Ok(())
}

/// Warns of the server's settings; false when it did not answer.
async fn check_server(store: &Store) -> bool {
    let report = match store.check_server().await {
        Ok(report) => report,
        Err(Error::Forbidden(reason)) => {
            tracing::warn!(reason, "the settings of Redis cannot be checked");
            return true;
        }
        Err(_) => return false,
    };
    for warning in report.warnings() {
        let (server, version) = (&report.server, &report.version);
        tracing::warn!(name = warning.name(), server, version, "{warning}");
    }
    true
}

/// `anteroom_store_up`, read at each scrape.
struct StoreUp {
    gauge: IntGauge,
    store: Store,
}

impl StoreUp {
    fn new(store: Store) -> prometheus::Result<Self> {
        let help = "1 while this process has a verified connection to Redis.";
        Ok(Self { gauge: IntGauge::new("anteroom_store_up", help)?, store })
    }
}

impl Collector for StoreUp {
    fn desc(&self) -> Vec<&Desc> {
        self.gauge.desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.gauge.set(self.store.is_up().into());
        self.gauge.collect()
    }
}
