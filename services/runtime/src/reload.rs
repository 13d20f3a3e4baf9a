//! Takes a changed file over without a restart.
//!
//! The files are read once a second and compared with what they held, which costs some
//! microseconds. Notifications of the system would come sooner, but they come for a *directory*
//! (Kubernetes changes a mounted ConfigMap by swapping a link beside the file, which a watch on the
//! file sees once and never again), so for whatever else happens in it: a log in the same directory
//! then costs as much as its writer writes. And network file systems have none.
//!
//! Only a change of content counts, and only after it has been quiet for a moment. An invalid
//! configuration is refused as a whole, logged once, and the one in force stays; the service stays
//! ready, for one wrong edit must not take all replicas out at once.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use anteroom_config::{Config, ConfigError, Loader};
use prometheus::{IntCounterVec, IntGauge, Registry};
use tokio::{
    sync::watch,
    time::{MissedTickBehavior, interval},
};
use tokio_util::sync::CancellationToken;

use crate::metrics::{counters, registered};

/// How long the content must stay the same before it is taken: a file that is being written is
/// empty at first, and an empty file is a valid one.
const QUIET: Duration = Duration::from_millis(100);
/// How often that is tried; a file that never rests, or stays empty, is read as it is.
const TRIES: usize = 20;
/// How often to look.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What is seen of reloads from outside.
#[derive(Clone, Debug)]
struct ReloadMetrics {
    reloads: IntCounterVec,
    success: IntGauge,
}

impl ReloadMetrics {
    fn new(registry: &Registry) -> prometheus::Result<Self> {
        let reloads = counters(
            registry,
            "anteroom_config_reloads_total",
            "Changes of the configuration that were found: `accepted`, `refused`.",
            &["outcome"],
        )?;
        let success = IntGauge::new(
            "anteroom_config_reload_success",
            "0 while the configuration in the files is refused and an older one is in force.",
        )?;
        let success = registered(registry, success)?;
        for outcome in ["accepted", "refused"] {
            reloads.with_label_values(&[outcome]);
        }
        success.set(1);
        Ok(Self { reloads, success })
    }
}

/// The configuration in force, again at each change.
pub type Changes = watch::Receiver<Arc<Config>>;

/// Watches the files of `loader` until `shutdown`, and hands out what is in force. The receiver
/// starts with `running`; after `shutdown` no more changes come.
pub fn watch(
    loader: Loader,
    running: Arc<Config>,
    registry: &Registry,
    shutdown: CancellationToken,
) -> prometheus::Result<Changes> {
    let metrics = ReloadMetrics::new(registry)?;
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
    metrics: ReloadMetrics,
    seen: Fingerprint,
    /// Why the last change was refused, while it is.
    refused: Option<ConfigError>,
}

impl Reloader {
    fn new(
        loader: Loader,
        running: Arc<Config>,
        changes: watch::Sender<Arc<Config>>,
        metrics: ReloadMetrics,
    ) -> Self {
        let loader = loader.after_start(&running);
        let seen = Fingerprint::of(&loader.files(&running));
        Self { seen, refused: None, loader, running, changes, metrics }
    }

    async fn run(mut self) {
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            self = match tokio::task::spawn_blocking(move || self.look()).await {
                Ok(reloader) => reloader,
                Err(error) => {
                    tracing::error!(%error, "the configuration is no longer watched for changes: restart the service");
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
        let before = std::mem::replace(&mut self.seen, found);
        let mut loaded = self.loader.load();
        if let Ok(config) = &loaded {
            let named = self.loader.files(config);
            if named != files {
                // Other files of secrets: seen first and then read again, for the same reason.
                self.seen = Fingerprint::of(&named);
                loaded = self.loader.load();
            }
        }
        if self.seen.is_outdated() {
            // It was written to while it was read: what was read may be half of it.
            self.seen = before;
            return self;
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
        if let Some(service) = service {
            let before = self.changes.borrow().warnings(service);
            let warnings = config.warnings(service).into_iter();
            warnings.filter(|it| !before.contains(it)).for_each(|it| tracing::warn!("{it}"));
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
}

/// The files and what is in them; a hash, so that secrets do not stay in memory once more.
#[derive(Debug, PartialEq, Eq)]
struct Fingerprint(Vec<(PathBuf, Option<u64>)>);

impl Fingerprint {
    fn of(files: &[PathBuf]) -> Self {
        let hash = |file: &PathBuf| Some(hash(&anteroom_config::content(file)?));
        Self(files.iter().map(|file| (file.clone(), hash(file))).collect())
    }

    /// Whether one of the files is there and has nothing in it.
    fn has_empty_file(&self) -> bool {
        let empty = Some(hash(&[]));
        self.0.iter().any(|(_, hash)| *hash == empty)
    }

    /// Whether the files have something else in them now.
    fn is_outdated(&self) -> bool {
        let files: Vec<_> = self.0.iter().map(|(file, _)| file.clone()).collect();
        *self != Self::of(&files)
    }

    /// The content once it has stayed the same for a moment. Blocks.
    fn settled(mut self, files: &[PathBuf]) -> Self {
        for _ in 0..TRIES {
            std::thread::sleep(QUIET);
            let again = Self::of(files);
            let rests = again == self && !again.has_empty_file();
            self = again;
            if rests {
                break;
            }
        }
        self
    }
}

fn hash(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use anteroom_config::Service;
    use anteroom_testkit::Log;

    use super::*;

    #[test]
    fn a_reload_warns_of_what_it_brings_and_only_once() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let file = directory.path().join("anteroom.toml");
        let trusting = |networks: &str, batch: u32| {
            let text = format!("[admission]\ntrusted_proxies = [{networks}]\n");
            fs::write(&file, format!("{text}[queues.a]\nbatch = {batch}\n")).expect("written");
        };
        trusting("", 1);
        let loader = Loader::new(Some(&file)).service(Service::Admission);
        let running = Arc::new(loader.load().expect("valid"));
        let (changes, _receiver) = watch::channel(Arc::clone(&running));
        let metrics = ReloadMetrics::new(&Registry::new()).expect("a fresh registry");
        let mut reloader = Reloader::new(loader, running, changes, metrics);
        let (log, _guard) = Log::of_thread();
        let warned = || {
            let text = log.text();
            let trusts = text.matches("admission.trusted_proxies trusts").count();
            (text.matches("is in force").count(), trusts, text.matches("WARN").count())
        };
        let steps = [("\"10.0.0.0/8\"", (1, 1, 1)), ("\"10.0.0.0/8\"", (2, 1, 1)), ("", (3, 1, 1))];
        for (step, (networks, expected)) in steps.into_iter().enumerate() {
            trusting(networks, 2 + u32::try_from(step).expect("few"));
            reloader = reloader.look();
            assert_eq!(warned(), expected, "{networks}");
        }
    }

    #[test]
    fn a_picture_that_became_a_pipe_stops_no_reload() {
        Log::keep_events_on();
        let directory = tempfile::tempdir().expect("a temporary directory");
        let [file, logo] = ["anteroom.toml", "logo.svg"].map(|name| directory.path().join(name));
        let titled = |title: &str| {
            let page = format!("title = \"{title}\"\nlogo_file = \"{}\"", logo.display());
            let text = format!("[queues.a]\nbatch = 1\n[queues.a.page]\n{page}\n");
            fs::write(&file, text).expect("written");
        };
        fs::write(&logo, "<svg/>").expect("written");
        titled("one");
        let loader = Loader::new(Some(&file)).service(Service::Admission);
        let running = Arc::new(loader.load().expect("valid"));
        let (changes, receiver) = watch::channel(Arc::clone(&running));
        let metrics = ReloadMetrics::new(&Registry::new()).expect("a fresh registry");
        let reloader = Reloader::new(loader, running, changes, metrics);
        fs::remove_file(&logo).expect("removed");
        nix::unistd::mkfifo(&logo, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        titled("two");
        let reloader = reloader.look();
        assert_eq!(reloader.metrics.success.get(), 0);
        fs::remove_file(&logo).expect("removed");
        fs::write(&logo, "<svg/>").expect("written");
        let reloader = reloader.look();
        assert_eq!(reloader.metrics.success.get(), 1);
        assert_eq!(receiver.borrow().queues["a"].title(), Some("two"));
    }
}
