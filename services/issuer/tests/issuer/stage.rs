//! A deployment with events, the crowd that applies, and what became of it.

use std::{collections::BTreeSet, ops::Range};

use anteroom_config::Loader;
use anteroom_core::event::{Application, Apply, Event, Snapshot};
use anteroom_core::store::{Config, Store};
use anteroom_testkit::{Deployment, PATIENCE, Receiver, Redis, Service, until};

/// A store, a configuration, and an event called `coupon`.
pub struct Stage {
    pub deployment: Deployment,
    pub event: Event,
    pub scheduler: Service,
}

impl Stage {
    /// An event with these rules.
    pub async fn new(rules: &str) -> Self {
        Self::on(Redis::start().await, rules).await
    }

    pub async fn on(redis: Redis, rules: &str) -> Self {
        Self::of(redis, &toml(rules)).await
    }

    /// A whole configuration.
    pub async fn of(redis: Redis, toml: &str) -> Self {
        let deployment = Deployment::new(redis, toml, &[]);
        let scheduler = deployment.scheduler().await;
        let event = event(&deployment, "coupon").await;
        Self { deployment, event, scheduler }
    }

    /// An event whose webhook leads to this path of a receiver.
    pub async fn with_webhook(receiver: &Receiver, path: &str, rules: &str) -> Self {
        Self::on(Redis::start().await, &webhook(receiver, path, rules)).await
    }

    /// These visitors apply, one after the other; all are accepted.
    pub async fn apply(&self, visitors: Range<u64>) {
        for visitor in visitors {
            let applied = self.event.apply(&name(visitor)).await.expect("an answer");
            assert!(matches!(applied, Apply::Accepted(_)), "{visitor}: {applied:?}");
        }
    }

    pub async fn snapshot(&self) -> Snapshot {
        self.event.snapshot().await.expect("a snapshot")
    }

    /// Waits until the event as a whole is so.
    pub async fn until(&self, what: &str, is: impl Fn(&Snapshot) -> bool) {
        until(what, 2 * PATIENCE, async || {
            self.event.snapshot().await.is_ok_and(|snapshot| is(&snapshot))
        })
        .await;
    }

    /// Waits until no application waits or is in hand.
    pub async fn until_all_ended(&self) {
        self.until("all have ended", |it| (it.pending, it.claimed) == (0, 0)).await;
    }

    /// Where the applications of these visitors stand.
    pub async fn applications(&self, visitors: Range<u64>) -> Vec<Application> {
        let mut found = Vec::new();
        for visitor in visitors {
            let application = self.event.status(&name(visitor)).await.expect("an answer");
            found.push(application.expect("it has applied"));
        }
        found
    }

    /// How many of these visitors have a unit, and the codes that they have, each once.
    pub async fn issued(&self, visitors: Range<u64>) -> (u64, BTreeSet<String>) {
        let (mut issued, mut codes) = (0, BTreeSet::new());
        for application in self.applications(visitors).await {
            if let Application::Issued { code, .. } = application {
                issued += 1;
                if let Some(code) = code {
                    assert!(codes.insert(code), "a code was given twice");
                }
            }
        }
        (issued, codes)
    }
}

/// A configuration with one event.
pub fn toml(rules: &str) -> String {
    format!("[events.coupon]\nkick_interval = \"100ms\"\n{rules}")
}

/// These rules, and a webhook that leads to this path of a receiver.
pub fn webhook(receiver: &Receiver, path: &str, rules: &str) -> String {
    format!("{}{rules}", receiver.rules(path))
}

pub fn name(visitor: u64) -> String {
    format!("visitor {visitor}")
}

/// An event of the file, as admission would hold it.
pub async fn event(deployment: &Deployment, name: &str) -> Event {
    let config = Loader::new(Some(&deployment.config_file())).load().expect("a valid file");
    let store = Config {
        // Slow machines must not turn a test into one of time-outs.
        command_timeout: PATIENCE,
        request_timeout: PATIENCE,
        ..Config::new(deployment.redis.socket_url())
    };
    let registry = prometheus::Registry::new();
    let store = Store::open(&store, &anteroom_core::scripts(), &registry).expect("an address");
    assert!(store.wait_up(PATIENCE).await, "the store is up");
    Event::open(&store, name, config.events[name].rules.clone(), 10_000)
}
