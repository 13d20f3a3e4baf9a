//! A changed file is taken over without a restart; a bad one is refused.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anteroom_config::{Config, Loader};
use anteroom_runtime::reload;
use anteroom_testkit::{PATIENCE, mount_config_map};
use prometheus::Registry;
use secrecy::ExposeSecret;
use tempfile::TempDir;
use tokio::{sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;

struct Watched {
    directory: TempDir,
    changes: watch::Receiver<Arc<Config>>,
    registry: Registry,
    shutdown: CancellationToken,
}

fn batch(number: u32) -> String {
    format!("[queues.a]\nbatch = {number}\n")
}

fn watched(prepare: impl FnOnce(&Path) -> Loader) -> Watched {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let loader = prepare(directory.path());
    let running = Arc::new(loader.load().expect("valid at the start"));
    let (registry, shutdown) = (Registry::new(), CancellationToken::new());
    let changes =
        reload::watch(loader, running, &registry, shutdown.clone()).expect("fresh registry");
    Watched { directory, changes, registry, shutdown }
}

/// Watches a file with the queue `a` and this batch.
fn watched_file(number: u32) -> Watched {
    watched(|directory| {
        fs::write(directory.join("anteroom.toml"), batch(number)).expect("written");
        Loader::new(Some(&directory.join("anteroom.toml")))
    })
}

impl Watched {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Changes the file, and what is in it.
    fn write(&self, text: &str) {
        fs::write(self.path("anteroom.toml"), text).expect("written");
    }

    async fn next_batch(&mut self) -> Option<u64> {
        self.next().await.queues["a"].rules.batch
    }

    async fn next(&mut self) -> Arc<Config> {
        timeout(PATIENCE, self.changes.changed()).await.expect("in time").expect("not ended");
        Arc::clone(&self.changes.borrow_and_update())
    }

    fn metric(&self, line: &str) -> Option<u64> {
        let text = prometheus::TextEncoder::new()
            .encode_to_string(&self.registry.gather())
            .expect("not empty");
        text.lines().find_map(|it| it.strip_prefix(line)?.trim().parse().ok())
    }

    /// Waits until a metric has this value.
    async fn until(&self, line: &str, value: u64) {
        let seen = async {
            while self.metric(line) != Some(value) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let found = || self.metric(line);
        assert!(timeout(PATIENCE, seen).await.is_ok(), "{line} is {:?}", found());
    }
}

const ACCEPTED: &str = "anteroom_config_reloads_total{outcome=\"accepted\"}";
const REFUSED: &str = "anteroom_config_reloads_total{outcome=\"refused\"}";
const SUCCESS: &str = "anteroom_config_reload_success";

#[tokio::test]
async fn follows_the_swaps_of_a_config_map() {
    let mut watched = watched(|directory| {
        mount_config_map(directory, 1, &batch(1));
        Loader::new(Some(&directory.join("anteroom.toml")))
    });
    assert_eq!((watched.metric(ACCEPTED), watched.metric(SUCCESS)), (Some(0), Some(1)));
    for version in 2..5 {
        mount_config_map(watched.directory.path(), version, &batch(version));
        assert_eq!(watched.next_batch().await, Some(u64::from(version)));
        watched.until(ACCEPTED, u64::from(version) - 1).await;
    }
    assert_eq!(watched.metric(REFUSED), Some(0));
}

#[tokio::test]
async fn a_bad_file_is_refused_and_what_was_in_force_stays() {
    let mut watched = watched_file(1);
    watched.write(&batch(0));
    watched.until(REFUSED, 1).await;
    watched.until(SUCCESS, 0).await;
    assert!(!watched.changes.has_changed().expect("not ended"));
    assert_eq!(watched.changes.borrow().queues["a"].rules.batch, Some(1));

    // Other files of the directory, and the same bad content again, are no news.
    fs::write(watched.path("other.txt"), "x").expect("written");
    watched.write(&batch(0));

    watched.write(&batch(2));
    assert_eq!(watched.next_batch().await, Some(2));
    watched.until(SUCCESS, 1).await;
    assert_eq!((watched.metric(ACCEPTED), watched.metric(REFUSED)), (Some(1), Some(1)));

    // A file that is gone is refused too, and taken when it is back.
    fs::remove_file(watched.path("anteroom.toml")).expect("removed");
    watched.until(REFUSED, 2).await;
    assert_eq!(watched.changes.borrow().queues["a"].rules.batch, Some(2));
    watched.write(&batch(3));
    assert_eq!(watched.next_batch().await, Some(3));
}

#[tokio::test]
async fn rotated_secrets_are_taken_over() {
    let [first, second] = ["1".repeat(32), "2".repeat(32)];
    let mut watched = watched(|directory| {
        let file = directory.join("secrets");
        fs::write(&file, &first).expect("written");
        let file = file.to_str().expect("temporary paths are text").to_owned();
        Loader::new(None).environment([("ANTEROOM_ADMISSION__TOKEN_SECRETS_FILE", file)])
    });
    fs::write(watched.path("secrets"), format!("{first}\n{second}\n")).expect("written");
    let config = watched.next().await;
    let secrets: Vec<&str> =
        config.admission.token_secrets.iter().map(ExposeSecret::expose_secret).collect();
    assert_eq!(secrets, [&first, &second]);
}

/// A new configuration may name a file elsewhere; from then on that one is watched.
#[tokio::test]
async fn newly_named_files_are_watched() {
    let elsewhere = tempfile::tempdir().expect("a temporary directory");
    let secrets = elsewhere.path().join("secrets");
    fs::write(&secrets, "1".repeat(32)).expect("written");
    let mut watched = watched_file(1);
    watched.write(&format!("[admission]\ntoken_secrets_file = \"{}\"\n", secrets.display()));
    assert_eq!(watched.next().await.admission.token_secrets.len(), 1);
    watched.until(ACCEPTED, 1).await;
    fs::write(&secrets, format!("{}\n{}", "1".repeat(32), "2".repeat(32))).expect("written");
    assert_eq!(watched.next().await.admission.token_secrets.len(), 2);
}

/// An empty file is valid, and what a file is while it is being written.
#[tokio::test]
async fn a_file_in_the_making_is_not_taken() {
    let mut watched = watched_file(1);
    let mut making = fs::File::create(watched.path("anteroom.toml")).expect("created");
    for byte in batch(2).bytes() {
        making.write_all(&[byte]).expect("written");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(watched.next_batch().await, Some(2));
    watched.until(ACCEPTED, 1).await;
}

/// A writer that waits for its turn on a busy machine, between opening the file and writing to it.
#[tokio::test]
async fn a_file_that_is_empty_for_a_while_is_not_taken() {
    let mut watched = watched_file(1);
    let mut making = fs::File::create(watched.path("anteroom.toml")).expect("created");
    // Longer than the second between two looks.
    tokio::time::sleep(Duration::from_millis(1_400)).await;
    making.write_all(batch(2).as_bytes()).expect("written");
    assert_eq!(watched.next_batch().await, Some(2));
    watched.until(ACCEPTED, 1).await;
}

/// An empty file is valid all the same: by it, all queues are left out.
#[tokio::test]
async fn a_file_that_stays_empty_is_taken() {
    let mut watched = watched_file(1);
    watched.write("");
    assert!(watched.next().await.queues.is_empty());
}

/// A Secret may arrive after the ConfigMap that names it.
#[tokio::test]
async fn a_file_that_comes_late_is_waited_for() {
    let mut watched = watched_file(1);
    let secrets = watched.path("secrets");
    watched.write(&format!("[admission]\ntoken_secrets_file = \"{}\"\n", secrets.display()));
    watched.until(REFUSED, 1).await;
    fs::write(&secrets, "1".repeat(32)).expect("written");
    assert_eq!(watched.next().await.admission.token_secrets.len(), 1);
    assert_eq!(watched.metric(REFUSED), Some(1), "reported once");
}

#[tokio::test]
async fn ends_with_the_shutdown() {
    let mut watched = watched(|_| Loader::new(None));
    watched.shutdown.cancel();
    let ended = timeout(PATIENCE, watched.changes.changed()).await.expect("in time");
    ended.expect_err("no more changes come");
}

/// The value of `development` in the file decides at the start only.
#[tokio::test]
async fn a_reload_brings_no_placeholder_to_a_service_that_others_can_reach() {
    let toml = |development: bool, digit: &str| {
        let digest = digit.repeat(64 / digit.len());
        format!(
            "[admission]\ndevelopment = {development}\n[keys.shop]\ndigest = \"sha256:{digest}\"\n\
             role = \"backend\"\n"
        )
    };
    let start = |development: bool, digit: &str| {
        let text = toml(development, digit);
        watched(|directory| {
            let file = directory.join("anteroom.toml");
            fs::write(&file, text).expect("written");
            let reachable = ("ANTEROOM_ADMISSION__SERVICE_LISTEN", "0.0.0.0:0");
            Loader::new(Some(&file)).environment([reachable])
        })
    };
    let watched = start(false, "ab");
    watched.write(&toml(true, "0"));
    watched.until(REFUSED, 1).await;
    assert!(!watched.changes.has_changed().expect("not ended"));

    let mut watched = start(true, "0");
    watched.write(&toml(false, "1"));
    assert_eq!(watched.next().await.keys["shop"].digest.0, [0x11; 32]);
}
