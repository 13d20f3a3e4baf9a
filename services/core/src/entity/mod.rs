//! What every entity shares whose rules the store keeps: its name and clock, the newest rules that
//! this process has seen there, and what to do with a store that holds none.
//!
//! Beside the store, not in it: a subsystem that is ruled by its calls needs none of this.

mod newest;

use newest::Newest;

use crate::store::{Args, Clock, Error, Repeat, Reply, Script, Store};

/// One entity in the store, such as a queue.
pub(crate) struct Entity {
    name: String,
    store: Store,
    clock: Clock,
    newest: Newest,
}

impl Entity {
    pub(crate) fn new(store: &Store, name: &str, clock: Clock) -> Self {
        let (name, store) = (name.to_owned(), store.clone());
        Self { name, store, clock, newest: Newest::default() }
    }

    /// The name in the configuration.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The newest rules that were seen in the store.
    pub(crate) fn newest(&self) -> &Newest {
        &self.newest
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
        let reply = self.store.call(script, &script.keys_of(&self.name), args, repeat).await?;
        Reply::ruled(script.name, reply)
    }

    /// Writes rules over the newest that were seen; `rules` is what the script takes behind these.
    /// Returns whether the store's have changed; `None` when it holds none to override.
    pub(crate) async fn write_rules(
        &self,
        script: &'static Script,
        epoch: [u8; 8],
        rules: &Args,
    ) -> Result<Option<bool>, Error> {
        let mut args = self.args();
        args.push(epoch.as_slice());
        self.newest.push_parts(&mut args);
        args.append(rules);
        let Some(mut reply) = self.call(script, &args, Repeat::IfUnknown).await? else {
            return Ok(None);
        };
        let changed = reply.count()? == 1;
        self.newest.read(&mut reply)?;
        Ok(Some(changed))
    }
}

/// Asks; where the store holds no rules for the entity, gives it some by `seed` and asks again.
pub(crate) async fn ask_seeded<T, A, S>(
    script: &'static Script,
    ask: impl Fn() -> A,
    seed: impl FnOnce() -> S,
) -> Result<T, Error>
where
    A: Future<Output = Result<Option<T>, Error>>,
    S: Future<Output = Result<(), Error>>,
{
    if let Some(answer) = ask().await? {
        return Ok(answer);
    }
    // On the heap, since it is rare: the future of every call would be as large.
    Box::pin(seed()).await?;
    ask().await?.ok_or_else(|| {
        let detail = "the store lost the rules that it was just given".to_owned();
        Error::Reply { operation: script.name, detail }
    })
}
