//! What every entity shares whose rules the store keeps: its name and clock, the newest rules that
//! this process has seen there, and what to do with a store that holds none.
//!
//! Beside the store, not in it: a subsystem that is ruled by its calls needs none of this.

mod newest;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use newest::Newest;
use rand::Rng as _;

use crate::changes::Changes;
use crate::rules::{self, Rule, Stored, Value};
use crate::store::{Args, Clock, Error, Repeat, Reply, Script, Store};

/// The rules of a kind of entity.
pub(crate) trait Ruled: Stored + Send + Sync + 'static {
    /// In how many parts the store keeps them: the file's, and the overrides where there are
    /// any.
    const PARTS: usize;

    /// The script that gives rules to a store that holds none.
    fn seed_script() -> &'static Script;
}

/// The outcome of a write of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// The store has them already.
    Same,
    /// The store's have changed.
    Changed,
    /// Nothing was written: the store's are not those that the write is for.
    Refused,
    /// Nothing was written: the call came too late.
    Late,
}

/// One entity in the store, such as a queue.
pub(crate) struct Entity<R> {
    name: String,
    store: Store,
    clock: Clock,
    newest: Newest,
    rules: ArcSwap<R>,
}

impl<R: Ruled> Entity<R> {
    /// `rules` are given to a store that holds none, as long as none were seen there.
    pub(crate) fn new(store: &Store, name: &str, clock: Clock, rules: R) -> Self {
        let (name, store) = (name.to_owned(), store.clone());
        let rules = ArcSwap::from_pointee(rules);
        Self { name, store, clock, newest: Newest::of(R::PARTS), rules }
    }

    /// The name in the configuration.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The newest rules that were seen in the store.
    pub(crate) fn newest(&self) -> &Newest {
        &self.newest
    }

    /// The rules of our configuration.
    pub(crate) fn rules(&self) -> Arc<R> {
        self.rules.load_full()
    }

    /// Takes those of a reloaded one.
    pub(crate) fn set_rules(&self, rules: R) {
        self.rules.store(Arc::new(rules));
    }

    /// How many connections to the store there have been.
    pub(crate) fn connections(&self) -> u64 {
        self.store.connections()
    }

    /// What a request may take in all.
    pub(crate) fn request_timeout(&self) -> Duration {
        self.store.request_timeout()
    }

    /// Arguments that begin with the clock, as every script takes them.
    pub(crate) fn args(&self) -> Args {
        let mut args = Args::new();
        self.clock.push_to(&mut args);
        args
    }

    /// One call of a script that is not batched; `None` when the store holds no rules.
    pub(crate) async fn call(
        &self,
        script: &'static Script,
        args: &Args,
        repeat: Repeat,
    ) -> Result<Option<Reply>, Error> {
        self.call_with(script, &script.keys_of(&self.name), args, repeat).await
    }

    /// [`call`](Self::call) with keys that are not the same in every call.
    pub(crate) async fn call_with(
        &self,
        script: &'static Script,
        keys: &Args,
        args: &Args,
        repeat: Repeat,
    ) -> Result<Option<Reply>, Error> {
        let reply = self.store.call(script, keys, args, repeat).await?;
        Reply::ruled(script.name, reply)
    }

    /// [`call`](Self::call); where the store holds no rules, gives it ours first.
    pub(crate) async fn ask(
        &self,
        script: &'static Script,
        args: Args,
        repeat: Repeat,
    ) -> Result<Reply, Error> {
        self.seeded(script, || self.call(script, &args, repeat)).await
    }

    /// Asks; where the store holds no rules for the entity, gives it some and asks again.
    pub(crate) async fn seeded<T, A>(
        &self,
        script: &'static Script,
        ask: impl Fn() -> A,
    ) -> Result<T, Error>
    where
        A: Future<Output = Result<Option<T>, Error>>,
    {
        if let Some(answer) = ask().await? {
            return Ok(answer);
        }
        // On the heap, since it is rare: the future of every call would be as large.
        Box::pin(self.seed_rules()).await?;
        ask().await?.ok_or_else(|| {
            let detail = "the store lost the rules that it was just given".to_owned();
            Error::Reply { operation: script.name, detail }
        })
    }

    /// Writes rules over the newest that were seen; `rules` is what the script takes behind these.
    /// Returns the outcome, the revisions that the store holds now, and the rest of the reply;
    /// `None` when the store holds no rules to override.
    pub(crate) async fn write_rules(
        &self,
        script: &'static Script,
        rules: &Args,
    ) -> Result<Option<(Written, Vec<u64>, Reply)>, Error> {
        self.write_rules_with(script, &script.keys_of(&self.name), rules).await
    }

    /// Like [`write_rules`](Self::write_rules). The caller passes the keys, because one of them is
    /// different in each call.
    pub(crate) async fn write_rules_with(
        &self,
        script: &'static Script,
        keys: &Args,
        rules: &Args,
    ) -> Result<Option<(Written, Vec<u64>, Reply)>, Error> {
        let mut args = self.args();
        args.push(new_epoch().as_slice());
        self.newest.push_parts(&mut args);
        args.append(rules);
        let reply = self.call_with(script, keys, &args, Repeat::IfUnknown).await?;
        let Some(mut reply) = reply else { return Ok(None) };
        let written = match reply.count()? {
            0 => Written::Same,
            1 => Written::Changed,
            2 => Written::Refused,
            _ => Written::Late,
        };
        let (_, revisions) = self.newest.read(&mut reply)?;
        Ok(Some((written, revisions, reply)))
    }

    /// Writes the rules of a file by this script. Returns whether the store's have changed.
    pub(crate) async fn write_file(
        &self,
        script: &'static Script,
        rules: &R,
    ) -> Result<bool, Error> {
        let rules = named(rules::write(rules));
        let written = self.write_rules(script, &rules).await?;
        Ok(written.is_some_and(|(written, ..)| written == Written::Changed))
    }

    /// The entity as a whole, as `look` finds it, which also returns whether the store holds the
    /// newest rules that were seen. One that holds older ones gets these first.
    pub(crate) async fn snapshot<T, A>(&self, look: impl Fn() -> A) -> Result<T, Error>
    where
        A: Future<Output = Result<(T, bool), Error>>,
    {
        let (snapshot, has_all) = look().await?;
        if has_all {
            return Ok(snapshot);
        }
        self.seed_rules().await?;
        Ok(look().await?.0)
    }

    /// Calls a snapshot's script, which returns the rules that were not seen yet.
    pub(crate) async fn ask_for_all(&self, script: &'static Script) -> Result<Reply, Error> {
        let mut args = self.args();
        self.newest.push_revisions(&mut args);
        self.ask(script, args, Repeat::IfUnknown).await
    }

    /// A page of the log of changes; `script` lists it.
    pub(crate) async fn changes(
        &self,
        script: &'static Script,
        before: Option<u64>,
        limit: u64,
    ) -> Result<Changes, Error> {
        let args = Changes::page(self.args(), before, limit);
        let reply = self.ask(script, args, Repeat::IfUnknown).await?;
        Changes::read([reply], limit)
    }

    /// Gives a store that holds no rules for the entity, or older ones than were seen, the newest
    /// that were seen; one that holds none while none were seen, those of our configuration.
    async fn seed_rules(&self) -> Result<(), Error> {
        let script = R::seed_script();
        if self.write_file(script, &self.rules()).await? {
            let (operation, entity) = (script.name, self.name());
            let detail = "Redis had no rules, or older ones: the newest are in force";
            tracing::info!(operation, entity, "{detail}");
        }
        Ok(())
    }
}

/// What the handles of all entities have: `open`, the name, the rules, and their form in logs.
macro_rules! handle {
    ($handle:ident) => {
        impl $handle {
            /// Opens it. `rules` are given to a store that holds none for it, as long as this
            /// handle has seen none there; `lane_bound` is how many calls of each operation may
            /// wait. Must be called inside a Tokio runtime.
            pub fn open(store: &Store, name: &str, rules: Rules, lane_bound: usize) -> Self {
                Self::open_with_clock(store, name, rules, lane_bound, Clock::Store)
            }

            /// The name in the configuration.
            pub fn name(&self) -> &str {
                self.entity().name()
            }

            /// Takes the rules of a reloaded configuration, for a store that holds none while none
            /// were seen.
            pub fn set_rules(&self, rules: Rules) {
                self.entity().set_rules(rules);
            }

            /// Writes the rules of a scheduler's configuration file, where the file's rules in the
            /// store differ. Returns whether it wrote. The first rules create the entity.
            pub async fn apply_rules(&self, rules: &Rules) -> Result<bool, $crate::store::Error> {
                self.entity().write_file(&scripts::APPLY_RULES, rules).await
            }

            /// A handle for calls of the operator whose key has this name. Its calls write the log
            /// of changes. The calls of other handles do not.
            pub fn by(&self, key: &str) -> Self {
                Self(self.0.clone(), $crate::changes::By::operator(key))
            }

            /// What operators changed, newest first: at most `limit` changes, and at most
            /// `MAX_CHANGES`. With `before`: only changes with smaller ids.
            pub async fn changes(
                &self,
                before: Option<u64>,
                limit: u64,
            ) -> Result<$crate::changes::Changes, $crate::store::Error> {
                self.entity().changes(&scripts::CHANGES, before, limit).await
            }

            /// By whom the calls of this handle are.
            fn operator(&self) -> &$crate::changes::By {
                &self.1
            }

            fn entity(&self) -> &Entity<Rules> {
                &self.0.entity
            }
        }

        impl std::fmt::Debug for $handle {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let mut text = f.debug_struct(stringify!($handle));
                text.field("name", &self.name()).finish_non_exhaustive()
            }
        }
    };
}
pub(crate) use handle;

/// A new epoch of an entity.
pub(crate) fn new_epoch() -> [u8; 8] {
    rand::rng().random()
}

/// The rest of a reply: the rules in force, each value behind its name.
pub(crate) fn rules_of_reply(
    reply: &mut Reply,
) -> Result<impl Fn(&'static Rule) -> Result<Option<Value>, Error>, Error> {
    let mut values = BTreeMap::new();
    while !reply.is_empty() {
        values.insert(reply.text()?, reply.text()?);
    }
    Ok(move |rule: &'static Rule| match values.get(rule.name) {
        Some(text) => rules::read(rule, text).map_err(|detail| reply.error(detail)),
        None => Ok(None),
    })
}

/// Rules as the scripts that write them take them: name and value by turns.
pub(crate) fn named(rules: impl IntoIterator<Item = (&'static str, String)>) -> Args {
    let mut args = Args::new();
    for (name, value) in rules {
        args.push(name).push(value);
    }
    args
}
