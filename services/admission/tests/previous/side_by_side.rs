//! An admission of either version, and schedulers of both, on one Redis.

use std::path::PathBuf;

use anteroom_testkit::{
    Answer, Deployment, PATIENCE, PATIENT, Redis, Service, client, until,
    witness::{Doors, Scene},
};
use reqwest::Client;
use serde_json::Value;

/// The doors of a scene.
pub const OLD: u8 = 0;
pub const NEW: u8 = 1;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// The previous release.
    Old,
    /// These sources.
    New,
}

pub struct SideBySide {
    pub site: Deployment,
    pub old: Service,
    pub new: Service,
    queue: &'static str,
    previous: PathBuf,
    http: Client,
}

impl SideBySide {
    /// The previous release with one queue, whose section is `rules`, and then an admission of this
    /// version beside it. Returns the scheduler of the previous release too. `None` without its
    /// programs.
    pub async fn open(queue: &'static str, rules: &str) -> Option<(Self, Service)> {
        let Some(previous) = std::env::var_os("ANTEROOM_PREVIOUS_BIN_DIR") else {
            eprintln!(
                "skipped: the previous release beside this one: no ANTEROOM_PREVIOUS_BIN_DIR"
            );
            return None;
        };
        let previous = PathBuf::from(previous);
        let file = format!("[queues.{queue}]\n{rules}");
        let mut site = Deployment::new(Redis::start().await, &file, &PATIENT);
        // Not in the mode of the tests: each version has its own default of `local_answers`.
        std::fs::write(site.config_file(), &file).expect("a file");
        site.start_programs_of(Some(&previous));
        let (old, scheduler) = tokio::join!(site.admission(), site.scheduler());
        scheduler.until_ready().await;
        site.start_programs_of(None);
        let new = site.admission().await;
        let sides = Self { site, old, new, queue, previous, http: client() };
        sides.until_local_answers(false).await;
        // The previous release has no board.
        for (door, status) in [(OLD, 404), (NEW, 200)] {
            let url = format!("{}/v1/queues/{queue}/board", sides.admission(door).url("public"));
            Answer::of(sides.http.get(url)).await.is(status);
        }
        Some((sides, scheduler))
    }

    pub fn admission(&self, door: u8) -> &Service {
        if door == OLD { &self.old } else { &self.new }
    }

    /// Starts a scheduler, which puts the rules of its version in force.
    pub async fn scheduler(&mut self, version: Version) -> Service {
        let is_old = version == Version::Old;
        self.site.start_programs_of(is_old.then_some(self.previous.as_path()));
        let scheduler = self.site.scheduler().await;
        scheduler.until_ready().await;
        self.until_local_answers(!is_old).await;
        scheduler
    }

    /// Visitors with a record of their own.
    pub fn scene(&self) -> Scene {
        let doors = Doors::new([self.old.url("public"), self.new.url("public")]);
        let patience = 2 * PATIENCE;
        Scene { patience, without_position: Some(OLD), ..Scene::new(doors, self.queue) }
    }

    /// The operator's view of the queue, by this version.
    pub async fn queue(&self) -> Value {
        Answer::of(self.http.get(self.operator(NEW, ""))).await.is(200).json()
    }

    /// An operator evicts a place.
    pub async fn evict(&self, door: u8, ticket: u64) {
        let url = self.operator(door, &format!("/places/{ticket}"));
        Answer::of(self.http.delete(url)).await.is(204);
    }

    fn operator(&self, door: u8, path: &str) -> String {
        format!("{}/v1/admin/queues/{}{path}", self.admission(door).url("service"), self.queue)
    }

    /// Waits until the rule in force is so.
    async fn until_local_answers(&self, is: bool) {
        until("local_answers", PATIENCE, async || {
            let answer = Answer::of(self.http.get(self.operator(NEW, ""))).await;
            answer.status == 200 && answer.json()["rules"]["local_answers"] == is
        })
        .await;
    }

    /// How many polls at this version were answered by Redis.
    pub async fn polls_at_redis(&self) -> u64 {
        let mut polls = 0.0;
        for operation in ["queue.place", "queue.heartbeat"] {
            let labels = format!("operation=\"{operation}\",outcome=\"ok\"");
            let metric = self.new.metric(&format!("anteroom_operations_total{{{labels}}}")).await;
            polls += metric.unwrap_or(0.0);
        }
        polls as u64
    }

    /// How many places were inactive and are in line again.
    pub async fn returned(&self) -> u64 {
        let key = format!("anteroom:v1:queue:{{{}}}:returned", self.queue);
        self.site.redis.run(&["ZCARD", &key]).await
    }

    /// Both admissions end well.
    pub async fn end(self) {
        self.old.end().await;
        self.new.end().await;
    }
}
