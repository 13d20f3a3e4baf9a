//! A Sentinel that watches a primary of the test's own.

use redis::Value;

use crate::{PATIENCE, Redis, until};

/// One Sentinel with a quorum of one.
pub struct Sentinel {
    server: Redis,
    name: String,
}

impl Sentinel {
    /// Watches `primary` under `name`, and waits until it knows `replicas` replicas.
    ///
    /// # Panics
    /// When it does not learn them.
    pub async fn start(name: &str, primary: &Redis, replicas: usize) -> Self {
        let server = Redis::builder().sentinel().start().await;
        let port = primary.port().to_string();
        server.run::<Value>(&["SENTINEL", "MONITOR", name, "127.0.0.1", &port, "1"]).await;
        for (setting, value) in [("down-after-milliseconds", "500"), ("failover-timeout", "3000")] {
            server.run::<Value>(&["SENTINEL", "SET", name, setting, value]).await;
        }
        until("the Sentinel knows the replicas", PATIENCE, || async {
            server.run::<Vec<Value>>(&["SENTINEL", "REPLICAS", name]).await.len() >= replicas
        })
        .await;
        Self { server, name: name.to_owned() }
    }

    /// Its address.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Waits until it says that this is the primary.
    ///
    /// # Panics
    /// When it does not.
    pub async fn names(&self, primary: &Redis) {
        let question = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", &self.name];
        until("the Sentinel names the primary", 2 * PATIENCE, || async {
            let (_, port): (String, u16) = self.server.run(&question).await;
            port == primary.port()
        })
        .await;
    }
}
