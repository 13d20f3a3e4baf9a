//! A run: what its steps share, and their order.

use std::{
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
    table::{Line, Table},
    visitors::{SETTLED, Visitors},
};

/// What the steps share.
pub struct Run {
    /// As it was called.
    pub options: Options,
    /// The cluster.
    pub kubectl: Kubectl,
    /// The operator's key of this run.
    pub key: String,
    /// The services' configuration as it is in the cluster.
    pub configuration: Mutex<Configuration>,
    /// What is applied.
    pub overlay: PathBuf,
    /// Who comes through the gate all the time.
    visitors: Mutex<Option<Arc<Visitors>>>,
    table: Mutex<Table>,
}

impl Run {
    /// Makes the namespace and the overlay.
    ///
    /// # Errors
    ///
    /// When the namespace is not to be had, or the overlay cannot be rendered.
    pub async fn begin(options: Options, kubectl: &Kubectl) -> anyhow::Result<(Self, Overlay)> {
        if Step::of(&options.steps).any(|step| step == Step::Metrics) {
            // Told now, and not at the end.
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
            visitors: Mutex::new(None),
            kubectl: kubectl.clone(),
            options,
            key,
        };
        Ok((run, overlay))
    }

    /// The visitors who are there.
    ///
    /// # Errors
    ///
    /// When there are none.
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
    ///
    /// # Errors
    ///
    /// When it cannot be done, or no visitor is heard.
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
