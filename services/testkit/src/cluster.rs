//! A Redis Cluster of the test's own.

use std::time::{Duration, Instant};

use redis::Value;
use tokio::time::sleep;

use crate::{PATIENCE, Redis, until};

/// How long nodes have to know each other before they are introduced again.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// The number of hash slots.
const SLOTS: usize = 16_384;

/// Primaries that share the slots evenly, each with so many replicas.
pub struct Cluster {
    /// The primaries of the start, in the order of their slots.
    pub primaries: Vec<Redis>,
    /// The replicas of the start: the first of the first primary, the first of the second, and so
    /// on.
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
        cluster.meet().await;
        for (index, replica) in cluster.replicas.iter().enumerate() {
            let primary: String =
                cluster.primaries[index % primaries].run(&["CLUSTER", "MYID"]).await;
            replica.run::<Value>(&["CLUSTER", "REPLICATE", &primary]).await;
        }
        cluster.agree("cluster_state:ok").await;
        cluster.settles().await;
        cluster
    }

    /// Lets all nodes know each other.
    async fn meet(&self) {
        let first = &self.primaries[0];
        let (port, bus) = (first.port().to_string(), first.bus_port().to_string());
        let known = format!("cluster_known_nodes:{}\r", self.nodes().count());
        until("all nodes know each other", PATIENCE, || async {
            // On a busy machine a handshake can end before it is complete, and is forgotten.
            for node in self.nodes().skip(1) {
                node.run::<Value>(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus]).await;
            }
            let began = Instant::now();
            while began.elapsed() < HANDSHAKE {
                let mut all_know = true;
                for node in self.nodes() {
                    let info: String = node.run(&["CLUSTER", "INFO"]).await;
                    all_know &= info.contains(&known);
                }
                if all_know {
                    return true;
                }
                sleep(Duration::from_millis(20)).await;
            }
            false
        })
        .await;
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

    /// How many keys lie in the slot of `tag`, as long as no slot has moved.
    pub async fn keys(&self, tag: &str) -> usize {
        let owner = &self.primaries[self.owner(tag).await];
        let slot: u16 = owner.run(&["CLUSTER", "KEYSLOT", tag]).await;
        owner.run(&["CLUSTER", "COUNTKEYSINSLOT", &slot.to_string()]).await
    }

    /// The primary of the start that owns the slot of `key`.
    pub async fn owner(&self, key: &str) -> usize {
        let slot: usize = self.primaries[0].run(&["CLUSTER", "KEYSLOT", key]).await;
        (0..self.primaries.len())
            .find(|index| slot < (index + 1) * SLOTS / self.primaries.len())
            .unwrap_or(0)
    }

    /// Waits until all nodes report the same of each other, and no failures, and each replica is
    /// in step with its primary. Before, no node votes for one, or it does not stand for
    /// election.
    ///
    /// # Panics
    /// When they do not agree.
    pub async fn settles(&self) {
        until("all nodes report the same", PATIENCE, || async {
            let mut views = Vec::new();
            for node in self.nodes() {
                views.push(view(&node.run::<String>(&["CLUSTER", "NODES"]).await));
            }
            let whole = views[0].as_ref().is_some_and(|view| view.len() == views.len());
            whole && views.iter().all(|view| *view == views[0])
        })
        .await;
        for node in self.nodes() {
            until("a replica is in step", PATIENCE, || async {
                // A primary says nothing of a link.
                node.replication("master_link_status").await.is_none_or(|link| link == "up")
            })
            .await;
        }
    }

    /// What each node knows of the others, and has logged of failures and votes.
    async fn state(&self) -> String {
        let mut state = String::new();
        for node in self.nodes() {
            let nodes = async {
                let nodes: String = node.try_run(&["CLUSTER", "NODES"]).await?;
                let info: String = node.try_run(&["INFO", "replication"]).await?;
                redis::RedisResult::Ok(nodes + &info)
            };
            let nodes = match tokio::time::timeout(Duration::from_secs(1), nodes).await {
                Ok(Ok(nodes)) => nodes,
                Ok(Err(error)) => error.to_string(),
                Err(_) => "no answer".to_owned(),
            };
            // Who stood for election, who voted, and why not; not each attempt to reach the
            // primary.
            let log = node.log();
            let is_of_cluster =
                |line: &&str| ["fail", "Fail", "elect", "vote"].iter().any(|it| line.contains(it));
            let logged = log.lines().filter(is_of_cluster).collect::<Vec<_>>().join("\n");
            state += &format!("--- {}\n{nodes}\n{logged}\n", node.port());
        }
        state
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

/// What a test that failed leaves to look at.
impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let state = || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.map(|runtime| runtime.block_on(self.state())).unwrap_or_default()
            };
            // On a thread of its own: this one may be a runtime's.
            let state = std::thread::scope(|scope| scope.spawn(state).join());
            eprintln!("the cluster:\n{}", state.unwrap_or_default());
        }
    }
}

/// What a node says of all, itself included, apart from times, addresses and the slots on their
/// way, which only their own nodes report; nothing while it has one for lost, or does not know it
/// well.
fn view(nodes: &str) -> Option<Vec<String>> {
    let lines = nodes.lines().map(|line| {
        let words: Vec<_> = line.split(' ').collect();
        let [id, _, flags, primary, _, _, epoch, "connected", slots @ ..] = &words[..] else {
            return None;
        };
        let role = flags.trim_start_matches("myself,");
        let well = ["master", "slave"].contains(&role);
        let slots: Vec<_> = slots.iter().filter(|slot| !slot.starts_with('[')).collect();
        well.then(|| format!("{id} {role} {primary} {epoch} {slots:?}"))
    });
    let mut lines = lines.collect::<Option<Vec<_>>>()?;
    lines.sort_unstable();
    Some(lines)
}
