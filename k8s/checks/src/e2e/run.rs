//! A run: what its steps share, and their order.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rand::Rng as _;
use sha2::{Digest as _, Sha256};
use tokio::time::sleep;

use crate::{
    configuration::Configuration,
    hex::hex,
    kubectl::Kubectl,
    namespace,
    options::{Options, read},
    overlay::Overlay,
    seen::Seen,
    step::Step,
    steps::IN_FORCE_WITHIN,
    table::{Line, Table},
    visitors::{SETTLED, Visitors},
};

/// What the steps share.
pub struct Run {
    /// The flags.
    pub options: Options,
    /// The cluster.
    pub kubectl: Kubectl,
    /// The operator's key of this run.
    pub key: String,
    /// The services' configuration as it is in the cluster.
    pub configuration: Mutex<Configuration>,
    /// What is applied.
    pub overlay: PathBuf,
    /// The workloads in it, such as `deployment/admission`.
    workloads: BTreeSet<String>,
    /// Who comes through the gate all the time.
    visitors: Mutex<Option<Arc<Visitors>>>,
    table: Mutex<Table>,
}

impl Run {
    /// Makes the namespace and the overlay.
    pub async fn begin(options: Options, kubectl: &Kubectl) -> anyhow::Result<(Self, Overlay)> {
        if Step::of(&options.steps).any(|step| step == Step::Metrics) {
            // An error now, and not at the end.
            read("--metrics", &options.metrics)?;
        }
        let key = format!("ark1.{}", hex(&rand::rng().random::<[u8; 24]>()));
        let digest = hex(&Sha256::digest(key.as_bytes()));
        let overlay = Overlay::write(kubectl, &options, &digest).await?;
        namespace::make(kubectl).await?;
        let (context, previous) = (&kubectl.context, options.image_previous.as_deref());
        let run = Self {
            table: Mutex::new(Table::new(context, &kubectl.namespace, &options.image, previous)),
            configuration: Mutex::new(overlay.configuration.clone()),
            overlay: overlay.folder().to_owned(),
            workloads: overlay.workloads.clone(),
            visitors: Mutex::new(None),
            kubectl: kubectl.clone(),
            options,
            key,
        };
        Ok((run, overlay))
    }

    /// Whether a workload such as `deployment/envoy` is applied. Components add some of them, and
    /// options leave some out.
    pub fn has(&self, workload: &str) -> bool {
        self.workloads.contains(workload)
    }

    /// The visitors who are there.
    pub fn visitors(&self) -> anyhow::Result<Arc<Visitors>> {
        let visitors = self.visitors.lock().unwrap_or_else(PoisonError::into_inner);
        visitors.clone().ok_or_else(|| anyhow::anyhow!("no visitors are there"))
    }

    /// They come, or, without any, they are over.
    pub fn set_visitors(&self, visitors: Option<Visitors>) {
        let mut there = self.visitors.lock().unwrap_or_else(PoisonError::into_inner);
        *there = visitors.map(Arc::new);
    }

    /// Does something while visitors come, and looks at what they saw until all of them know of
    /// turns that they were given meanwhile.
    pub async fn under_load<T>(
        &self,
        what: impl Future<Output = anyhow::Result<T>>,
    ) -> anyhow::Result<(T, Duration, Seen)> {
        let visitors = self.visitors()?;
        let from = visitors.mark().await?;
        let began = Instant::now();
        let done = what.await?;
        let took = began.elapsed();
        sleep(SETTLED).await;
        let to = visitors.mark().await?;
        Ok((done, took, visitors.seen(from, to)))
    }

    /// Does something [under load](Self::under_load). It holds where no visitor noticed.
    pub async fn undisturbed<T>(
        &self,
        step: &str,
        says: impl Into<String>,
        what: impl Future<Output = anyhow::Result<T>>,
    ) -> anyhow::Result<()> {
        let (_, took, seen) = self.under_load(what).await?;
        let held = seen.undisturbed();
        self.add(Line::new(step, says, Some(held)).took(took).under(seen));
        Ok(())
    }

    /// The same of what is in force everywhere after the time that it returns, and must be soon.
    pub async fn in_force(
        &self,
        step: &str,
        says: &str,
        what: impl Future<Output = anyhow::Result<Duration>>,
    ) -> anyhow::Result<()> {
        let (took, _, seen) = self.under_load(what).await?;
        let held = took < IN_FORCE_WITHIN && seen.undisturbed();
        self.add(Line::new(step, says, Some(held)).took(took).under(seen));
        Ok(())
    }

    /// The configuration.
    pub fn configuration(&self) -> MutexGuard<'_, Configuration> {
        self.configuration.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line to the table.
    pub fn add(&self, line: Line) {
        self.table().add(line);
    }

    /// The table.
    pub fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
