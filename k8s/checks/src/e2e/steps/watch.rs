//! Whether a change is in force at each pod.

use std::time::Duration;

use anyhow::Context as _;

use crate::{
    forward::Forward,
    progress::{Look, until},
    run::Run,
    workloads::{Pod, pods},
};

/// The kubelet looks at a pod's files every 60 to 90 s.
pub const IN_FORCE_WITHIN: Duration = Duration::from_secs(100);

/// Ways to a port of each pod of some workloads.
pub struct Pods {
    ways: Vec<(Pod, Forward)>,
}

impl Pods {
    /// To those that are there.
    pub async fn of(run: &Run, workload: &str, port: u16) -> anyhow::Result<Self> {
        Self::of_each(run, &[(workload, port)]).await
    }

    /// To those of several workloads, as far as the overlay has them.
    pub async fn of_each(run: &Run, workloads: &[(&str, u16)]) -> anyhow::Result<Self> {
        let mut ways = Vec::new();
        for (workload, port) in workloads.iter().filter(|(workload, _)| run.has(workload)) {
            for pod in pods(&run.kubectl, workload).await? {
                let way = Forward::open(&run.kubectl, &format!("pod/{}", pod.name), *port).await?;
                ways.push((pod, way));
            }
        }
        Ok(Self { ways })
    }

    /// All of them.
    pub fn ways(&self) -> impl Iterator<Item = &Forward> {
        self.ways.iter().map(|(_, way)| way)
    }

    /// How many changes of the configuration each has accepted; for ways to their metrics.
    pub async fn accepted(&self) -> anyhow::Result<Vec<u64>> {
        const ACCEPTED: &str = "anteroom_config_reloads_total{outcome=\"accepted\"} ";
        let mut accepted = Vec::new();
        for way in self.ways() {
            let metrics = way.get("/metrics").await?;
            let value = metrics.lines().find_map(|line| line.strip_prefix(ACCEPTED));
            accepted.push(value.and_then(|it| it.parse().ok()).context(ACCEPTED)?);
        }
        Ok(accepted)
    }

    /// Waits until each of them says so; returns how long that took.
    pub async fn all(
        &self,
        what: &str,
        says: impl AsyncFn(&Forward) -> anyhow::Result<bool>,
    ) -> anyhow::Result<Duration> {
        let all = until(what, 2 * IN_FORCE_WITHIN, async || {
            let mut yes = 0;
            for way in self.ways() {
                yes += usize::from(says(way).await?);
            }
            let of = self.ways.len();
            Ok(if yes == of { Look::Done(()) } else { Look::NotYet(format!("{yes} of {of} pods")) })
        });
        all.await.map(|((), took)| took)
    }

    /// Waits until each has accepted one more change than `before`.
    pub async fn more_accepted(&self, what: &str, before: &[u64]) -> anyhow::Result<Duration> {
        let more = until(what, 2 * IN_FORCE_WITHIN, async || {
            let now = self.accepted().await?;
            let yes = now.iter().zip(before).filter(|(now, before)| now > before).count();
            let of = before.len();
            Ok(if yes == of { Look::Done(()) } else { Look::NotYet(format!("{yes} of {of} pods")) })
        });
        more.await.map(|((), took)| took)
    }
}
