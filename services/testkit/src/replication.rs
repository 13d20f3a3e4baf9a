//! A replica that takes over from its primary, with all that was acknowledged.

use std::time::Duration;

use redis::Value;
use tokio::time::timeout;

use crate::{PATIENCE, Redis, until};

/// After so long Redis gives a hand-over up, and its primary takes writes again.
const HAND_OVER: Duration = Duration::from_secs(5);

impl Redis {
    /// Takes no more writes, for a minute, and waits until `replica` has all that were taken: what
    /// is killed now loses nothing. A client that writes meanwhile gets no answer.
    ///
    /// # Panics
    /// When the replica does not catch up.
    pub async fn hands_over_to(&self, replica: &Redis) {
        self.run::<Value>(&["CLIENT", "PAUSE", "60000", "WRITE"]).await;
        until("the replica has all", PATIENCE, || async {
            let written = self.replication("master_repl_offset").await;
            written.is_some() && written == replica.replication("slave_repl_offset").await
        })
        .await;
    }

    /// Waits until `replica` has all that was written so far, while writing goes on. (`WAIT` shows
    /// of the writes of its own connection only.)
    ///
    /// # Panics
    /// When the replica does not catch up.
    pub async fn is_caught_up_by(&self, replica: &Redis) {
        let offset = |text: Option<String>| text.and_then(|text| text.parse::<u64>().ok());
        let written = offset(self.replication("master_repl_offset").await).expect("an offset");
        until("the replica has what was written", PATIENCE, || async {
            let received = offset(replica.replication("slave_repl_offset").await);
            received.is_some_and(|received| received >= written)
        })
        .await;
    }

    /// Waits until it is a primary.
    ///
    /// # Panics
    /// When nothing makes it one.
    pub async fn takes_over(&self) {
        self.becomes("master").await;
    }

    /// Takes over from its primary in order, as a replica of a Cluster, with all that was written:
    /// asks again when Redis gave up, as it does while the machine is busy.
    ///
    /// # Panics
    /// When it does not come to that.
    pub async fn takes_over_in_order(&self) {
        let asks_until_it_has = async {
            loop {
                // Refused while its link is down, or because it has taken over.
                let _refused = self.try_run::<Value>(&["CLUSTER", "FAILOVER"]).await;
                if timeout(2 * HAND_OVER, self.takes_over()).await.is_ok() {
                    return;
                }
            }
        };
        timeout(2 * PATIENCE, asks_until_it_has).await.expect("a replica that takes over");
    }

    /// Waits until it is a replica.
    ///
    /// # Panics
    /// When nothing makes it one.
    pub async fn follows(&self) {
        self.becomes("slave").await;
        until("it follows", 2 * PATIENCE, || async {
            self.replication("master_link_status").await.is_some_and(|link| link == "up")
        })
        .await;
    }

    async fn becomes(&self, role: &str) {
        until(&format!("the role is {role}"), 2 * PATIENCE, || async {
            self.replication("role").await.is_some_and(|is| is == role)
        })
        .await;
    }

    /// A line of what it says of its replication; nothing while it cuts its connections, as a
    /// Sentinel makes it do when its role changes.
    pub(crate) async fn replication(&self, name: &str) -> Option<String> {
        let info: String = self.try_run(&["INFO", "replication"]).await.ok()?;
        let value = |line: &str| Some(line.strip_prefix(name)?.strip_prefix(':')?.to_owned());
        info.lines().find_map(value)
    }
}
