//! A bare job queue on a Redis stream: what handing out work takes at the least. It has no leases
//! and no retries, and a consumer that dies with entries in hand keeps them.

use redis::{Client, Cmd, RedisResult, aio::MultiplexedConnection, cmd, pipe};

use crate::Redis;

/// The group, and its only consumer.
const WHO: [&str; 2] = ["group", "consumer"];
/// Entries that are added by one pipeline.
const TOGETHER: u64 = 1_000;

/// What XREADGROUP answers: for each stream its entries, for each its id and its fields.
type Read = Option<Vec<(String, Vec<(String, Vec<String>)>)>>;

/// A stream, and a connection over TCP of its consumer.
pub struct StreamQueue {
    name: String,
    connection: MultiplexedConnection,
}

impl StreamQueue {
    /// A stream of this name, which is new.
    ///
    /// # Panics
    /// When the server cannot be reached. So do all that follow.
    pub async fn new(redis: &Redis, name: &str) -> Self {
        let client = Client::open(redis.url()).expect("the address is valid");
        let connection = client.get_multiplexed_async_connection().await.expect("a server");
        let mut queue = Self { name: name.to_owned(), connection };
        let mut create = cmd("XGROUP");
        create.arg("CREATE").arg(name).arg(WHO[0]).arg("0").arg("MKSTREAM");
        create.query_async::<()>(&mut queue.connection).await.expect("a new stream");
        queue
    }

    /// Adds so many entries.
    pub async fn fill(&mut self, entries: u64) {
        for from in (0..entries).step_by(TOGETHER as usize) {
            let mut adds = pipe();
            for n in from..entries.min(from + TOGETHER) {
                adds.add_command(self.command("XADD", &["*", "visitor", &format!("{n:036x}")]));
            }
            adds.query_async::<()>(&mut self.connection).await.expect("entries are added");
        }
    }

    /// Reads so many at a time and acknowledges them, each with the next read, until none is left.
    /// How many there were.
    pub async fn drain(&mut self, at_a_time: usize) -> u64 {
        let (mut read, mut all) = (Vec::new(), 0);
        loop {
            read = self.acknowledge_and_read(&read, at_a_time).await.expect("a read");
            if read.is_empty() {
                return all;
            }
            all += read.len() as u64;
        }
    }

    async fn acknowledge_and_read(
        &mut self,
        done: &[String],
        at_most: usize,
    ) -> RedisResult<Vec<String>> {
        let mut step = pipe();
        if !done.is_empty() {
            let mut acknowledge = self.command("XACK", &[WHO[0]]);
            acknowledge.arg(done);
            step.add_command(acknowledge).ignore();
        }
        let mut read = cmd("XREADGROUP");
        read.arg("GROUP").arg(&WHO).arg("COUNT").arg(at_most);
        read.arg("STREAMS").arg(&self.name).arg(">");
        let (read,): (Read,) = step.add_command(read).query_async(&mut self.connection).await?;
        let entries = read.into_iter().flatten().flat_map(|(_, entries)| entries);
        Ok(entries.map(|(id, _)| id).collect())
    }

    fn command(&self, name: &str, words: &[&str]) -> Cmd {
        let mut command = cmd(name);
        command.arg(&self.name).arg(words);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_entry_is_read_and_acknowledged_once() {
        let redis = Redis::start().await;
        let mut queue = StreamQueue::new(&redis, "work").await;
        assert_eq!(queue.drain(64).await, 0);
        queue.fill(2_100).await;
        assert_eq!(queue.drain(64).await, 2_100);
        assert_eq!(queue.drain(64).await, 0);
        let pending = ["XPENDING", "work", "group", "-", "+", "10"];
        assert_eq!(redis.run::<Vec<redis::Value>>(&pending).await, []);
    }
}
