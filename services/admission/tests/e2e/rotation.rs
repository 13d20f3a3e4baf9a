//! Secrets rotate in two steps, and no visitor is logged out.

use std::path::{Path, PathBuf};

use anteroom_core::queue::TokenKeys;
use anteroom_testkit::{PATIENCE, Service, until};
use reqwest::Method;

use crate::room::{ONE, PATIENT, Room};

const OLD: &str = "the-old-secret-of-at-least-32-bytes";
const NEW: &str = "the-new-secret-of-at-least-32-bytes";
const KEY: &str = "one-key-of-22-characters";

/// Two admissions, each with a file of secrets of its own, as pods have during a roll-out.
struct Rotation {
    room: Room,
    _second: Service,
    urls: [String; 2],
    files: [PathBuf; 2],
    directory: tempfile::TempDir,
}

#[tokio::test]
async fn promise_06_two_admissions_rotate_in_two_steps_and_no_visitor_is_logged_out() {
    let pods = Rotation::start().await;
    let mut given = vec![pods.join(0).await, pods.join(1).await];
    let made_by_new = {
        let token = keys(OLD).verify("concert", &given[0]).expect("signed by the old secret");
        keys(NEW).sign("concert", &token)
    };

    for pod in [0, 1] {
        assert_eq!(pods.asks(pod, &made_by_new).await, 401, "not known yet");
        pods.write(pod, &[OLD, NEW]);
        until("the new secret verifies", PATIENCE, async || {
            pods.asks(pod, &made_by_new).await == 200
        })
        .await;
        given.extend([pods.join(0).await, pods.join(1).await]);
        pods.all_accept(&given).await;
    }
    for pod in [0, 1] {
        pods.write(pod, &[NEW, OLD]);
        until("the new secret signs", PATIENCE, async || {
            keys(NEW).verify("concert", &pods.join(pod).await).is_some()
        })
        .await;
        given.extend([pods.join(0).await, pods.join(1).await]);
        pods.all_accept(&given).await;
    }

    // Later, when every old token has ended, the old secret is taken out.
    let (old, new): (Vec<_>, Vec<_>) =
        given.into_iter().partition(|token| keys(OLD).verify("concert", token).is_some());
    pods.write(0, &[NEW]);
    until("the old secret is retired", PATIENCE, async || pods.asks(0, &old[0]).await == 401).await;
    pods.all_accept(&new).await;
    assert_eq!(pods.asks(1, &old[0]).await, 200, "the other still takes it");
}

#[tokio::test]
async fn a_bad_file_of_secrets_is_refused_and_the_old_ones_stay() {
    let pods = Rotation::start().await;
    let token = pods.join(0).await;
    let (admission, success) = (&pods.room.anteroom.admission, "anteroom_config_reload_success");
    for bad in [&["too short"][..], &[], &["a secret with white space, of 32 bytes or more"]] {
        pods.write(0, bad);
        admission.until_metric(success, |it| it == Some(0.0)).await;
        assert_eq!(pods.asks(0, &token).await, 200);
        pods.write(0, &[OLD]);
        admission.until_metric(success, |it| it == Some(1.0)).await;
    }
    let log = admission.process.stdout();
    assert!(!log.contains("too short\"") && !log.contains("with white space, of 32"), "{log}");
}

impl Rotation {
    async fn start() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let files = ["one", "two"].map(|name| directory.path().join(name));
        files.iter().for_each(|file| std::fs::write(file, OLD).expect("written"));
        let file = files[0].to_string_lossy();
        let env = [&environment(&file)[..], &PATIENT].concat();
        let room = Room::start_with(ONE, &env).await;
        let second = files[1].to_string_lossy();
        let second = room.anteroom.deployment.admission_with(&environment(&second)).await;
        let urls = [room.url("public"), second.url("public")];
        let pods = Self { room, _second: second, urls, files, directory };
        until("both serve", PATIENCE, async || {
            let path = "/v1/queues/concert";
            let state = pods.room.call_at(&pods.urls[1], Method::GET, path).send().await;
            state.status == 200
        })
        .await;
        pods
    }

    /// Puts secrets into a pod's file, whole at once, as Kubernetes does.
    fn write(&self, pod: usize, secrets: &[&str]) {
        let new = self.directory.path().join("new");
        std::fs::write(&new, secrets.join("\n")).expect("written");
        std::fs::rename(new, Path::new(&self.files[pod])).expect("renamed");
    }

    async fn join(&self, pod: usize) -> String {
        let join = self.room.call_at(&self.urls[pod], Method::POST, "/v1/queues/concert/tokens");
        let joined = join.header("idempotency-key", KEY).send().await;
        assert_eq!(joined.json()["ticket"], 1, "{joined:?}");
        joined.token()
    }

    async fn asks(&self, pod: usize, token: &str) -> u16 {
        let path = "/v1/queues/concert/token";
        self.room.call_at(&self.urls[pod], Method::GET, path).token(token).send().await.status
    }

    async fn all_accept(&self, tokens: &[String]) {
        for pod in [0, 1] {
            for token in tokens {
                assert_eq!(self.asks(pod, token).await, 200, "pod {pod} logged a visitor out");
            }
        }
    }
}

fn environment(file: &str) -> [(&str, &str); 3] {
    [
        ("ANTEROOM_ADMISSION__TOKEN_SECRETS", ""),
        ("ANTEROOM_ADMISSION__TOKEN_SECRETS_FILE", file),
        ("ANTEROOM_QUEUES__CONCERT__REQUESTS_PER_PLACE", "0"),
    ]
}

fn keys(secret: &str) -> TokenKeys {
    TokenKeys::new(&[secret.to_owned().into()]).expect("there is a secret")
}
