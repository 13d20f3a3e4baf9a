//! Limits: at most so many units in any window, per key.
//!
//! A limit is ruled by the call: the store keeps what was taken, and its [`Rule`] travels with each
//! check. [`Limits`] asks for all limits of a program: its checks share calls whatever limit they
//! are of.
//!
//! What each algorithm promises, of the units that are taken in any span of one window (shorter
//! than the window by any bit), as long as the rule stays and the store's clock does not leap:
//!
//! | [`Algorithm`] | at most | store |
//! |---|---|---|
//! | `log` | `limit` | a member of a sorted set for each unit, at most `limit` |
//! | `counter` | 2 × `limit` − 1; `limit` where they come evenly | one string |
//! | `gcra` | 2 × `limit`: the burst, and what a window lets in evenly | one string |

mod batch;
mod call;
mod refusals;
mod reply;
mod rule;

crate::store::scripts!("limit");

pub use call::{Call, CallError, Check, MAX_CHECKS};
pub use reply::{Answer, Checked, Outcome};
pub use rule::{Algorithm, MAX_LOG_COST, Rule};

use std::time::Instant;

use batch::Checks;
use call::{SHARDS, counter_id, shard_of};
use refusals::Refusals;

use futures_util::future::try_join_all;

use crate::changes::{By, Changes};
use crate::store::{Args, Clock, Constants, Error, Repeat, Reply, Script, Sharded, Store};

/// What tables in Rust give to the scripts.
fn constants() -> Constants {
    let algorithms = Algorithm::ALL.map(|(_, name)| name).join(", ");
    let all = Constants::shared().codes(reply::Code::OWN);
    all.value("ALGORITHMS", format!("{{ {algorithms} }}"))
}

/// The way to all limits.
pub struct Limits {
    store: Store,
    clock: Clock,
    /// Checks whose call has a name: they are sent again when their effect is unknown.
    named: Sharded<Checks>,
    /// Those that would count again.
    nameless: Sharded<Checks>,
    /// What is refused without a call, if anything is.
    refusals: Option<Refusals>,
}

impl Limits {
    /// Opens the way; `lane_bound` is how many checks may wait for each of the 16 shards.
    pub fn open(store: &Store, lane_bound: usize) -> Self {
        Self::open_with_clock(store, lane_bound, Clock::Store).repeating_refusals(Instant::now)
    }

    /// [`open`](Self::open) with a time that a test gives. Every check goes to the store, unless
    /// [`repeating_refusals`](Self::repeating_refusals) is called too.
    pub fn open_with_clock(store: &Store, lane_bound: usize, clock: Clock) -> Self {
        let lanes = |named: bool| {
            let clock = clock.clone();
            let batch = move || Checks { named, clock: clock.clone() };
            Sharded::new(store, SHARDS, batch, lane_bound)
        };
        let (named, nameless) = (lanes(true), lanes(false));
        Self { named, nameless, refusals: None, store: store.clone(), clock }
    }

    /// Repeats refusals without a call, for less than a second; `now` is the time of this process.
    #[must_use]
    pub fn repeating_refusals(self, now: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        Self { refusals: Some(Refusals::new(now)), ..self }
    }

    /// Takes what the checks of a call ask for, if all of them allow it; else nothing.
    ///
    /// While a counter has no unit left, single checks may be refused without a call to the store.
    ///
    /// # Errors
    ///
    /// When the store gives no answer. A call with a name is then sent once more before; without
    /// one, [`Error::Unknown`] may mean that the units are taken.
    pub async fn check(&self, call: Call) -> Result<Answer, Error> {
        let lanes = if call.name.is_some() { &self.named } else { &self.nameless };
        let (Some(refusals), Some(check)) = (&self.refusals, call.only_check()) else {
            return lanes.submit(call.shard.into(), call).await;
        };
        let basis = refusals.basis(self.store.connections());
        // Without a connection the limit's rule for that decides.
        if let Some(checked) = refusals.repeat(&check, basis)
            && self.store.is_up()
        {
            return Ok(Answer::of_one(checked));
        }
        let answer = lanes.submit(call.shard.into(), call).await?;
        if let Answer::Decided { checks, .. } = &answer
            && let [checked] = &checks[..]
        {
            refusals.note(&check, basis, checked);
        }
        Ok(answer)
    }

    /// Forgets what a key has taken of a limit; whether it had taken anything. `group` as in
    /// [`Check`]. The log of changes names neither the key nor the group.
    pub async fn forget(
        &self,
        limit: &str,
        key: &str,
        group: Option<&str>,
        by: &By,
    ) -> Result<bool, Error> {
        let group = group.unwrap_or(key);
        let (shard, id) = (shard_of(group), counter_id(limit, group, key));
        let (mut keys, mut args) = (log_key(&scripts::FORGET, shard, limit), Args::new());
        for (algorithm, _) in Algorithm::ALL {
            let letter = algorithm.letter();
            scripts::FORGET.push_digest_key(&mut keys, call::tag(shard), letter, &id);
        }
        self.clock.push_to(&mut args);
        args.push(shard);
        by.push_to(&mut args);
        let _ending = self.refusals.as_ref().map(Refusals::forgetting);
        let reply = self.store.call(&scripts::FORGET, &keys, &args, Repeat::IfUnknown).await?;
        let mut reply = Reply::new(scripts::FORGET.name, reply)?;
        reply.integer()?;
        Ok(reply.count()? > 0)
    }

    /// What operators changed of a limit, newest first: at most `most` changes, and at most
    /// `MAX_CHANGES`. With `before`: only changes with smaller ids. Each shard has its own log.
    pub async fn changes(
        &self,
        limit: &str,
        before: Option<u64>,
        most: u64,
    ) -> Result<Changes, Error> {
        let script = &scripts::CHANGES;
        let mut args = Args::new();
        self.clock.push_to(&mut args);
        let args = &Changes::page(args, before, most);
        let shards = (0_u8..).take(SHARDS).map(|shard| async move {
            let keys = log_key(script, shard, limit);
            let reply = self.store.call(script, &keys, args, Repeat::IfUnknown).await?;
            Reply::of(script.name, reply)
        });
        Changes::read(try_join_all(shards).await?, most)
    }
}

/// KEYS whose first key is the log of changes of a limit in a shard.
fn log_key(script: &Script, shard: u8, limit: &str) -> Args {
    let mut keys = Args::new();
    script.push_key(&mut keys, call::tag(shard), format!("changes:{limit}").as_bytes());
    keys
}

impl std::fmt::Debug for Limits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Limits").finish_non_exhaustive()
    }
}
