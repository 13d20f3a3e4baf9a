//! Takes a changed file over without a restart.
//!
//! The *directories* of the files are watched, for Kubernetes changes a mounted ConfigMap by
//! swapping a link beside the file, which a watch on the file itself sees once and never again. A
//! look every few seconds covers file systems without notifications. Only a change of content
//! counts, and only after it has been quiet for a moment. An invalid configuration is refused as a
//! whole, told once, and the one in force stays; the service stays ready, for one wrong edit must
//! not take all replicas out at once.

use std::{
    collections::BTreeSet,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use notify::{
    Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode},
};
use prometheus::{IntCounterVec, IntGauge, Opts, Registry};
use tokio::{
    sync::{Notify, watch},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{Config, ConfigError, Loader};

/// How long the content must stay the same before it is taken: a file that is being written is
/// empty at first, and an empty file is a valid one.
const QUIET: Duration = Duration::from_millis(100);
/// How often that is tried; a file that never rests is read as it is.
const TRIES: usize = 20;
/// How often to look without being told.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// What is seen of reloads from outside.
#[derive(Clone, Debug)]
struct Metrics {
    reloads: IntCounterVec,
    success: IntGauge,
}

impl Metrics {
    fn new(registry: &Registry) -> prometheus::Result<Self> {
        let reloads = IntCounterVec::new(
            Opts::new(
                "anteroom_config_reloads_total",
                "Changed configurations that were seen, by what became of them",
            ),
            &["outcome"],
        )?;
        let success = IntGauge::new(
            "anteroom_config_reload_success",
            "1 while the configuration in the files is the one in force, 0 while it is refused",
        )?;
        registry.register(Box::new(reloads.clone()))?;
        registry.register(Box::new(success.clone()))?;
        for outcome in ["accepted", "refused"] {
            reloads.with_label_values(&[outcome]);
        }
        success.set(1);
        Ok(Self { reloads, success })
    }
}

/// Watches the files of `loader` until `shutdown`, and hands out what is in force. The receiver
/// starts with `running`; after `shutdown` no more changes come.
pub fn watch(
    loader: Loader,
    running: Arc<Config>,
    registry: &Registry,
    shutdown: CancellationToken,
) -> prometheus::Result<watch::Receiver<Arc<Config>>> {
    let metrics = Metrics::new(registry)?;
    let (changes, receiver) = watch::channel(Arc::clone(&running));
    let reloader = Reloader::new(loader, running, changes, metrics);
    tokio::spawn(async move {
        // Dropping the reloader ends the receivers, which is what they should see at the end only.
        shutdown.run_until_cancelled(reloader.run()).await;
    });
    Ok(receiver)
}

struct Reloader {
    loader: Loader,
    /// What the process started with: what needs a restart is compared with this.
    running: Arc<Config>,
    changes: watch::Sender<Arc<Config>>,
    metrics: Metrics,
    seen: Fingerprint,
    /// Why the last change was refused, while it is.
    refused: Option<ConfigError>,
    woken: Arc<Notify>,
    watcher: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
}

impl Reloader {
    fn new(
        loader: Loader,
        running: Arc<Config>,
        changes: watch::Sender<Arc<Config>>,
        metrics: Metrics,
    ) -> Self {
        let woken = Arc::new(Notify::new());
        let waker = Arc::clone(&woken);
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.is_ok_and(|event| !is_only_reading(event.kind)) {
                waker.notify_one();
            }
        })
        .inspect_err(|error| {
            tracing::warn!(%error, every = ?LOOK_EVERY, "cannot watch files, will look at them");
        })
        .ok();
        let mut reloader = Self {
            seen: Fingerprint::of(&loader.files(&running)),
            refused: None,
            watched: BTreeSet::new(),
            loader,
            running,
            changes,
            metrics,
            woken,
            watcher,
        };
        let files = reloader.loader.files(&reloader.running);
        reloader.watch_directories(&files);
        reloader
    }

    async fn run(mut self) {
        loop {
            // Told or not, it is time to look; one look answers all events of a moment.
            let _ = timeout(LOOK_EVERY, self.woken.notified()).await;
            sleep(QUIET).await;
            self = match tokio::task::spawn_blocking(move || self.look()).await {
                Ok(reloader) => reloader,
                Err(error) => {
                    tracing::error!(%error, "the configuration is no longer watched");
                    return;
                }
            };
        }
    }

    /// Reads the files if they have changed, or while they are refused: it may be for a file that
    /// is not there yet, such as a Secret that comes after the ConfigMap that names it. Blocks.
    fn look(mut self) -> Self {
        let files = self.loader.files(&self.changes.borrow());
        // Always before the load: what changes after it is then seen the next time.
        let mut found = Fingerprint::of(&files);
        let changed = found != self.seen;
        if changed {
            found = found.settled(&files);
        }
        if !changed && self.refused.is_none() {
            return self;
        }
        self.seen = found;
        let mut loaded = self.loader.load();
        if let Ok(config) = &loaded {
            let named = self.loader.files(config);
            if named != files {
                // Other files of secrets: watched first and then read again, for the same reason.
                self.watch_directories(&named);
                self.seen = Fingerprint::of(&named);
                loaded = self.loader.load();
            }
        }
        match loaded {
            Ok(config) => self.accept(config),
            Err(error) if changed || self.refused.as_ref() != Some(&error) => self.refuse(error),
            Err(_) => {}
        }
        self
    }

    fn accept(&mut self, config: Config) {
        let service = self.loader.for_service();
        let restart: Vec<&str> = match service {
            Some(service) => config.needs_restart(&self.running, service),
            None => Vec::new(),
        };
        tracing::info!("the changed configuration is in force");
        if !restart.is_empty() {
            tracing::warn!(keys = restart.join(", "), "changed keys that need a restart");
        }
        self.refused = None;
        self.metrics.reloads.with_label_values(&["accepted"]).inc();
        self.metrics.success.set(1);
        self.changes.send_replace(Arc::new(config));
    }

    fn refuse(&mut self, error: ConfigError) {
        tracing::error!(%error, "the changed configuration is refused, the one in force stays");
        self.metrics.reloads.with_label_values(&["refused"]).inc();
        self.metrics.success.set(0);
        self.refused = Some(error);
    }

    /// Watches the directories of these files, and no others.
    fn watch_directories(&mut self, files: &[PathBuf]) {
        let Some(watcher) = &mut self.watcher else { return };
        let wanted: BTreeSet<PathBuf> = files.iter().map(|file| directory(file)).collect();
        for gone in self.watched.difference(&wanted) {
            // An error means that the directory is gone, and the watch with it.
            let _ = watcher.unwatch(gone);
        }
        let mut watched: BTreeSet<PathBuf> = self.watched.intersection(&wanted).cloned().collect();
        for new in wanted.difference(&self.watched) {
            match watcher.watch(new, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    watched.insert(new.clone());
                }
                Err(error) => {
                    let directory = new.display();
                    tracing::warn!(%directory, %error, every = ?LOOK_EVERY, "cannot watch, will look");
                }
            }
        }
        self.watched = watched;
    }
}

/// Our own reading is an event too, and must not lead to more reading.
fn is_only_reading(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
        EventKind::Access(_) => true,
        EventKind::Any
        | EventKind::Create(_)
        | EventKind::Modify(_)
        | EventKind::Remove(_)
        | EventKind::Other => false,
    }
}

fn directory(file: &Path) -> PathBuf {
    match file.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// The files and what is in them; a hash, so that secrets do not stay in memory once more.
#[derive(Debug, PartialEq, Eq)]
struct Fingerprint(Vec<(PathBuf, Option<u64>)>);

impl Fingerprint {
    fn of(files: &[PathBuf]) -> Self {
        let hash = |file: &PathBuf| {
            let content = std::fs::read(file).ok()?;
            let mut hasher = DefaultHasher::new();
            content.hash(&mut hasher);
            Some(hasher.finish())
        };
        Self(files.iter().map(|file| (file.clone(), hash(file))).collect())
    }

    /// The content once it has stayed the same for a moment. Blocks.
    fn settled(mut self, files: &[PathBuf]) -> Self {
        for _ in 0..TRIES {
            std::thread::sleep(QUIET);
            let again = Self::of(files);
            if again == self {
                break;
            }
            self = again;
        }
        self
    }
}
