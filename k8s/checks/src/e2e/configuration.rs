//! The services' configuration while it is changed under load.

use anyhow::Context as _;
use serde_json::{Value, json};
use toml::Table;

use crate::receiver;

/// The queue of the sample service.
pub const QUEUE: &str = "concert";

/// Rules under which a small crowd waits in line all the time, and comes through in seconds.
const RULES: &str = r#"
capacity = 60
batch = 10
interval = "1s"
pace = "even"
claim_ttl = "10s"
session_ttl = "30s"
session_max = "5m"
idle_ttl = "60s"
first_poll_ttl = "30s"
keep_ttl = "5m"
# All visitors of a run come from one pod.
joins_per_address = "none"
places_per_address = 0
# So that there is a metric of everything.
health = "reservations"
[adaptive]
min_batch = 5
max_batch = 10
success_target = 0.5
"#;
/// The event of a run; its stock comes by the operator's call.
pub const EVENT: &str = "rush";
/// The pool of the sample configuration.
pub const POOL: &str = "reward";

/// The rules of the event. The lease outlives each change of the issuers, so that what one of them
/// left in hand shows after it; and it ends, for a claim whose reply was lost is left to it.
const ISSUING: &str = r#"
over_apply = 1.1
issue = "webhook"
timeout = "60s"
lease = "2m"
"#;
/// An event that issues by codes, of which there are none: so that there is a metric of everything.
const CODES: &str = "codes";
/// The target that the rules name.
const TARGET: &str = "reservations";

/// `anteroom.toml`, and what a run makes of it.
#[derive(Clone)]
pub struct Configuration(Table);

impl Configuration {
    /// The ConfigMap that holds it.
    pub const MAP: &str = "anteroom-config";
    /// Its name there.
    pub const KEY: &str = "anteroom.toml";

    /// Reads the file.
    pub fn read(text: &str) -> anyhow::Result<Self> {
        text.parse().context(Self::KEY).map(Self)
    }

    /// Gives the queue the rules of a run, adds the events of a run, and gives an operator the key
    /// of this digest.
    pub fn prepare(&mut self, digest: &str) -> anyhow::Result<()> {
        let rules: Table = RULES.parse().context("the rules")?;
        self.queue()?.extend(rules);
        self.table("targets").entry(TARGET).or_insert_with(|| Table::new().into());
        let mut event: Table = ISSUING.parse().context("the rules of the event")?;
        event.insert("url".to_owned(), receiver::URL.into());
        event.insert("secret_file".to_owned(), receiver::secret_file().into());
        self.table("events").insert(EVENT.to_owned(), event.into());
        let codes: Table = "stock = 1\nissue = \"codes\"".parse().context("the other event")?;
        self.table("events").insert(CODES.to_owned(), codes.into());
        let key: Table = format!("digest = \"sha256:{digest}\"\nrole = \"operator\"").parse()?;
        self.table("keys").insert("e2e".to_owned(), key.into());
        Ok(())
    }

    /// Another key with the rights of one that is there.
    pub fn add_key(&mut self, like: &str, name: &str, digest: &str) -> anyhow::Result<()> {
        let keys = self.table("keys");
        let key = keys.get(like).and_then(toml::Value::as_table);
        let mut key = key.cloned().with_context(|| format!("no [keys.{like}]"))?;
        key.insert("digest".to_owned(), digest.into());
        keys.insert(name.to_owned(), key.into());
        Ok(())
    }

    /// Without this key.
    pub fn remove_key(&mut self, name: &str) {
        self.table("keys").remove(name);
    }

    /// Another title and another `keep_ttl` of the queue.
    pub fn change(&mut self, title: &str, keep_ttl: &str) -> anyhow::Result<()> {
        let queue = self.queue()?;
        queue.insert("title".to_owned(), title.into());
        queue.insert("keep_ttl".to_owned(), keep_ttl.into());
        Ok(())
    }

    /// Without these keys, such as `limits` or `queues.concert.health`.
    #[must_use]
    pub fn without(&self, keys: &[String]) -> Self {
        let mut table = self.0.clone();
        for key in keys {
            let mut path: Vec<_> = key.split('.').collect();
            let last = path.pop().unwrap_or_default();
            let holder = path.into_iter().try_fold(&mut table, |table, part| {
                table.get_mut(part).and_then(toml::Value::as_table_mut)
            });
            if let Some(holder) = holder {
                holder.remove(last);
            }
        }
        Self(table)
    }

    /// The names of all of a kind, such as `limits`.
    pub fn names(&self, kind: &str) -> Vec<String> {
        let table = self.0.get(kind).and_then(toml::Value::as_table);
        table.into_iter().flat_map(Table::keys).filter(|name| *name != "*").cloned().collect()
    }

    /// The ConfigMap, or a patch of it.
    pub fn object(&self) -> anyhow::Result<Value> {
        Ok(json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": { "name": Self::MAP },
            "data": { Self::KEY: toml::to_string(&self.0)? },
        }))
    }

    fn queue(&mut self) -> anyhow::Result<&mut Table> {
        let queue = self.table("queues").get_mut(QUEUE).and_then(toml::Value::as_table_mut);
        queue.with_context(|| format!("{}: no [queues.{QUEUE}]", Self::KEY))
    }

    fn table(&mut self, name: &str) -> &mut Table {
        let table = self.0.entry(name).or_insert_with(|| Table::new().into());
        table.as_table_mut().expect("a section of a file that services take is a table")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_prepared_changed_and_made_fit_for_an_older_version() {
        let text = "[queues.concert]\nhealth = \"reservations\"\n[limits.login]\nlimit = 5\n";
        let mut configuration = Configuration::read(text).expect("TOML");
        configuration.prepare("00").expect("a queue");
        configuration.change("Another", "10m").expect("a queue");
        assert_eq!(configuration.names("limits"), ["login"]);
        let old = configuration.without(&["limits".into(), "queues.concert.health".into()]);
        let old = old.object().expect("TOML")["data"][Configuration::KEY].to_string();
        assert!(old.contains("Another") && old.contains("sha256:00") && old.contains("10m"));
        assert!(!old.contains("login") && !old.contains("health"), "{old}");
        configuration.add_key("e2e", "e2e-2", "sha256:01").expect("a key like the operator's");
        configuration.remove_key("e2e");
        let keys = configuration.object().expect("TOML")["data"][Configuration::KEY].to_string();
        assert!(keys.contains("sha256:01") && keys.contains("operator"), "{keys}");
        assert!(!keys.contains("sha256:00"), "{keys}");
    }
}
