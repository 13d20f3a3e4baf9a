//! A Redis Cluster of the test's own.

use redis::Value;

use crate::{PATIENCE, Redis, until};

/// The number of hash slots.
const SLOTS: usize = 16_384;

/// Primaries that share the slots evenly, each with as many replicas as asked for.
pub struct Cluster {
    /// The primaries of the start, in the order of their slots.
    pub primaries: Vec<Redis>,
    /// The replicas of the start: the first of the first primary, the first of the second, and so on.
    pub replicas: Vec<Redis>,
}

impl Cluster {
    /// Starts `primaries` servers, each with `replicas_each`, and waits until all agree.
    ///
    /// # Panics
    /// When the cluster does not come together.
    pub async fn start(primaries: usize, replicas_each: usize) -> Self {
        let mut cluster = Self { primaries: Vec::new(), replicas: Vec::new() };
        for index in 0..primaries {
            let node = Redis::builder().cluster().start().await;
            let slots = index * SLOTS / primaries..(index + 1) * SLOTS / primaries;
            // One by one, as Redis 6 wants it.
            let slots: Vec<_> = slots.map(|slot| slot.to_string()).collect();
            let slots = slots.iter().map(String::as_str);
            let words: Vec<_> = ["CLUSTER", "ADDSLOTS"].into_iter().chain(slots).collect();
            node.run::<Value>(&words).await;
            let epoch = (index + 1).to_string();
            node.run::<Value>(&["CLUSTER", "SET-CONFIG-EPOCH", &epoch]).await;
            cluster.primaries.push(node);
        }
        for _ in 0..primaries * replicas_each {
            cluster.replicas.push(Redis::builder().cluster().start().await);
        }
        let first = &cluster.primaries[0];
        let (port, bus) = (first.port().to_string(), first.bus_port().to_string());
        for node in cluster.nodes().skip(1) {
            node.run::<Value>(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus]).await;
        }
        let all = cluster.nodes().count();
        cluster.agree(&format!("cluster_known_nodes:{all}\r")).await;
        for (index, replica) in cluster.replicas.iter().enumerate() {
            let primary: String =
                cluster.primaries[index % primaries].run(&["CLUSTER", "MYID"]).await;
            replica.run::<Value>(&["CLUSTER", "REPLICATE", &primary]).await;
        }
        cluster.agree("cluster_state:ok").await;
        for replica in &cluster.replicas {
            cluster.know_as_replica(replica).await;
        }
        cluster
    }

    /// Changes a setting of all nodes.
    pub async fn set(&self, setting: &str, value: &str) {
        for node in self.nodes() {
            node.run::<Value>(&["CONFIG", "SET", setting, value]).await;
        }
    }

    /// The addresses of the primaries of the start.
    pub fn urls(&self) -> Vec<String> {
        self.primaries.iter().map(Redis::url).collect()
    }

    /// The primary of the start that owns the slot of `key`.
    pub async fn owner(&self, key: &str) -> usize {
        let slot: usize = self.primaries[0].run(&["CLUSTER", "KEYSLOT", key]).await;
        (0..self.primaries.len())
            .find(|index| slot < (index + 1) * SLOTS / self.primaries.len())
            .unwrap_or(0)
    }

    /// Waits until all nodes know that this one is a replica, and well: before, nobody votes for it.
    ///
    /// # Panics
    /// When they do not learn it.
    pub async fn know_as_replica(&self, replica: &Redis) {
        let id: String = replica.run(&["CLUSTER", "MYID"]).await;
        // Id, address, flags: a failing one has a flag more.
        let says_so = |line: &str| {
            line.starts_with(&id) && line.split(' ').nth(2).is_some_and(|it| it.ends_with("slave"))
        };
        for node in self.nodes() {
            until("a node knows the replica", PATIENCE, || async {
                node.run::<String>(&["CLUSTER", "NODES"]).await.lines().any(says_so)
            })
            .await;
        }
    }

    fn nodes(&self) -> impl Iterator<Item = &Redis> {
        self.primaries.iter().chain(&self.replicas)
    }

    async fn agree(&self, line: &str) {
        for node in self.nodes() {
            until(&format!("a node says {line}"), PATIENCE, || async {
                node.run::<String>(&["CLUSTER", "INFO"]).await.contains(line)
            })
            .await;
        }
    }
}
