//! A replica that takes over from its primary, with all that was acknowledged.

use redis::Value;

use crate::{PATIENCE, Redis, until};

impl Redis {
    /// Takes no more writes, for a minute, and waits until `replica` has all that were taken: what
    /// is killed now loses nothing. Whoever writes meanwhile has no answer.
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

    /// Waits until `replica` has all that was written so far, while writing goes on. (`WAIT` tells
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
    /// When nobody makes it one.
    pub async fn takes_over(&self) {
        self.becomes("master").await;
    }

    /// Waits until it is a replica.
    ///
    /// # Panics
    /// When nobody makes it one.
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
