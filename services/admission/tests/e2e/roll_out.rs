//! In the middle of a roll-out, a scheduler with the new file and an admission with the old one,
//! the store loses rules: the newest file and the operator's overrides are in force again,
//! in any order of the services.

use anteroom_testkit::{Deployment, PATIENCE, PATIENT, Redis, Service, until};
use reqwest::Client;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

const OLD: &str = "[queues.concert]\ncapacity = 5\n";

struct RollOut {
    deployment: Deployment,
    scheduler: Service,
    admission: Service,
    /// The file that the admission keeps.
    old: NamedTempFile,
    http: Client,
}

impl RollOut {
    async fn start() -> Self {
        let env = [&[("ANTEROOM_SCHEDULER__SNAPSHOT_TICK", "100ms")][..], &PATIENT].concat();
        let deployment = Deployment::new(Redis::start().await, OLD, &env);
        let old = NamedTempFile::new().expect("a file");
        std::fs::write(old.path(), OLD).expect("written");
        let (scheduler, admission) =
            (deployment.scheduler().await, old_admission(&deployment, &old).await);
        Self { deployment, scheduler, admission, old, http: Client::new() }
    }

    /// The scheduler's file says so from now on.
    fn roll_out(&self, capacity: u64) {
        self.deployment.write(&format!("[queues.concert]\ncapacity = {capacity}\n"));
    }

    fn admin(&self) -> String {
        format!("{}/v1/admin/queues/concert", self.admission.url("service"))
    }

    async fn patch(&self, body: Value) {
        until("the change is taken", PATIENCE, async || {
            let answer = self.http.patch(self.admin()).json(&body).send().await.expect("an answer");
            answer.status() == 200
        })
        .await;
    }

    /// Capacity and state as admission shows them; nothing while it cannot.
    async fn shown(&self) -> Option<(u64, String)> {
        let answer = self.http.get(self.admin()).send().await.expect("an answer");
        let view: Value = answer.json().await.expect("JSON");
        Some((view["rules"]["capacity"].as_u64()?, view["state"].as_str()?.to_owned()))
    }

    async fn until_shown(&self, capacity: u64, state: &str) {
        let what = format!("{capacity} and {state}");
        let rules = Some((capacity, state.to_owned()));
        until(&what, PATIENCE, async || self.shown().await == rules).await;
    }

    /// A new visitor joins, which gives an empty Redis its rules.
    async fn join(&self) {
        let url = format!("{}/v1/queues/concert/tokens", self.admission.url("public"));
        until("a join", PATIENCE, async || {
            let join = self.http.post(&url).json(&json!({}));
            join.send().await.expect("an answer").status() == 201
        })
        .await;
    }

    /// The scheduler looks at the queue so many times from now on.
    async fn scheduler_looks(&self, times: f64) {
        let looks = "anteroom_tick_duration_seconds_count{tick=\"snapshot\"}";
        let enough = self.scheduler.metric(looks).await.unwrap_or(0.0) + times;
        self.scheduler.until_metric(looks, |it| it >= Some(enough)).await;
    }
}

/// An admission that the roll-out has not reached.
async fn old_admission(deployment: &Deployment, file: &NamedTempFile) -> Service {
    let file = file.path().to_string_lossy();
    deployment.admission_with(&[("ANTEROOM_CONFIG", &file)]).await
}

#[tokio::test]
async fn the_newest_rules_come_back_to_a_store_that_lost_them_in_all_of_twelve_runs() {
    let mut run = RollOut::start().await;
    run.until_shown(5, "open").await;
    let mut capacity = 100;
    for first in ["admission", "scheduler", "either"] {
        for (older, restarts) in [(false, false), (false, true), (true, false), (true, true)] {
            capacity += 1;
            run.deployment.redis.copy_keys("anteroom:v1:", "kept:").await;
            run.roll_out(capacity);
            run.until_shown(capacity, "open").await;
            run.patch(json!({ "state": "paused", "reason": "the hall is full" })).await;
            run.scheduler_looks(2.0).await;

            // An older replica takes over, or an empty one; and the admission may restart just
            // then.
            if restarts {
                run.admission.process.kill();
            } else {
                run.admission.process.freeze();
            }
            run.scheduler.process.freeze();
            let from = if older { "kept:" } else { "nothing:" };
            run.deployment.redis.copy_keys(from, "anteroom:v1:").await;
            if first != "admission" {
                run.scheduler.process.thaw();
            }
            if first == "scheduler" {
                run.scheduler_looks(2.0).await;
            }
            if restarts {
                run.admission = old_admission(&run.deployment, &run.old).await;
            } else {
                run.admission.process.thaw();
            }
            run.join().await;
            if first == "admission" {
                run.scheduler.process.thaw();
            }

            run.until_shown(capacity, "paused").await;
            run.scheduler_looks(5.0).await;
            let shown = run.shown().await;
            assert_eq!(shown, Some((capacity, "paused".into())), "{first}, {older}, {restarts}");
            run.patch(json!({ "state": null })).await;
        }
    }
}
