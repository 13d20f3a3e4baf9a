//! What visitors do, through their backends: apply, and look at the state of their application.
//! Both are batched.

use std::borrow::Cow;
use std::time::Duration;

use redis::Value;

use super::reply::{Code, Texts};
use super::{Event, scripts, visitor};
use crate::numbered::numbered;
use crate::store::{Args, Batch, Clock, Error, ItemReply, Lane, Numbers, Reply, Script, Store};

/// The state of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Application {
    /// It waits to be issued.
    Pending {
        /// 1 = next.
        position: u64,
    },
    /// An issuer has it.
    Claimed,
    /// An attempt failed, and the next is to be made.
    ToRetry {
        /// After this time.
        again_in: Duration,
    },
    /// It has its unit.
    Issued {
        /// When, in seconds since 1970 by the store's clock.
        issued_at: u64,
        /// Its code, when the event issues codes.
        code: Option<String>,
    },
    /// The last unit was issued to another.
    SoldOut,
    /// It could not be issued. An operator may have it tried again.
    Failed,
}

/// The answer to an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Apply {
    /// It is a new one.
    Accepted(Application),
    /// The visitor applied before, and this has come of it.
    Same(Application),
    /// No unit is left, or as many have applied as there are units for.
    SoldOut,
    /// No applications are taken now.
    NotOpen {
        /// Time until they are; `None` when the event is over.
        opens_in: Option<Duration>,
    },
}

impl Event {
    /// The application of this visitor: the one it made, or a new one at the end of the line.
    pub async fn apply(&self, visitor_id: &str) -> Result<Apply, Error> {
        let lane = &self.0.lanes.apply;
        let ask = || lane.submit(visitor_id.to_owned());
        self.entity().seeded(lane.script(), ask).await
    }

    /// The application of this visitor; `None` when it made none.
    pub async fn status(&self, visitor_id: &str) -> Result<Option<Application>, Error> {
        let lane = &self.0.lanes.status;
        let ask = || lane.submit(self.visitor(visitor_id));
        Ok(match self.entity().seeded(lane.script(), ask).await? {
            Found::Application(application) => Some(application),
            Found::Nothing => None,
        })
    }
}

/// The lanes of one event.
pub(super) struct Lanes {
    apply: Lane<Applies>,
    status: Lane<Looks>,
}

impl Lanes {
    pub(super) fn start(store: &Store, event: &str, clock: &Clock, bound: usize) -> Self {
        let applies = Applies {
            event: event.to_owned(),
            keys: scripts::APPLY.keys_of(event),
            clock: clock.clone(),
        };
        let looks = Looks { keys: scripts::STATUS.keys_of(event), clock: clock.clone() };
        Self { apply: Lane::start(store, applies, bound), status: Lane::start(store, looks, bound) }
    }
}

/// So many keep a call well below a millisecond with a million in line.
const MOST_ITEMS: usize = 64;

/// Applications that share a call. `None`: the store holds no rules for the event.
struct Applies {
    event: String,
    keys: Args,
    clock: Clock,
}

impl Batch for Applies {
    type Item = String;
    type Outcome = Option<Apply>;
    const MAX_ITEMS: usize = MOST_ITEMS;

    fn script(&self) -> &'static Script {
        &scripts::APPLY
    }

    fn keys(&self, _items: &[String]) -> Cow<'_, Args> {
        Cow::Borrowed(&self.keys)
    }

    fn args(&self, items: &[String]) -> Args {
        let mut args = Args::with_capacity(2 + items.len(), 96 + 48 * items.len());
        self.clock.push_to(&mut args);
        args.push(Event::wake_channel(&self.event));
        for visitor_id in items {
            args.push(visitor(&self.event, visitor_id).as_slice());
            args.extend_last(visitor_id.as_bytes());
        }
        args
    }

    fn outcomes(
        &self,
        reply: Value,
        items: &[String],
    ) -> Result<Vec<Result<Self::Outcome, Error>>, Error> {
        outcomes(scripts::APPLY.name, reply, items.len(), |code, packed, numbers| {
            Ok(ItemReply::Outcome(match code {
                Code::Created => Apply::Accepted(packed.application(numbers)?),
                Code::Ok => Apply::Same(packed.application(numbers)?),
                Code::SoldOut => Apply::SoldOut,
                Code::NotOpen => {
                    let opens_in = Duration::from_millis(packed.detail);
                    Apply::NotOpen { opens_in: Some(opens_in).filter(|left| !left.is_zero()) }
                }
                Code::Full => return Ok(ItemReply::Full),
                other => return Err(numbers.error(format!("{other:?} of an application"))),
            }))
        })
    }
}

/// What a visitor has applied for.
enum Found {
    Application(Application),
    Nothing,
}

/// Looks that share a call. `None`: the store holds no rules for the event.
struct Looks {
    keys: Args,
    clock: Clock,
}

impl Batch for Looks {
    type Item = [u8; 14];
    type Outcome = Option<Found>;
    const MAX_ITEMS: usize = MOST_ITEMS;

    fn script(&self) -> &'static Script {
        &scripts::STATUS
    }

    fn keys(&self, _items: &[Self::Item]) -> Cow<'_, Args> {
        Cow::Borrowed(&self.keys)
    }

    fn args(&self, items: &[Self::Item]) -> Args {
        let mut args = Args::with_capacity(1 + items.len(), 16 + 14 * items.len());
        self.clock.push_to(&mut args);
        for visitor in items {
            args.push(visitor.as_slice());
        }
        args
    }

    fn outcomes(
        &self,
        reply: Value,
        items: &[Self::Item],
    ) -> Result<Vec<Result<Self::Outcome, Error>>, Error> {
        outcomes(scripts::STATUS.name, reply, items.len(), |code, packed, numbers| match code {
            Code::Ok => Ok(ItemReply::Outcome(Found::Application(packed.application(numbers)?))),
            Code::Unknown => Ok(ItemReply::Outcome(Found::Nothing)),
            other => Err(numbers.error(format!("{other:?} of a look"))),
        })
    }
}

numbered! {
    /// The state of an application, as the scripts number it.
    pub(super) State {
        /// In line, or given back.
        Pending = "pending",
        /// An issuer has it, or it is to be tried again.
        Claimed = "claimed",
        /// It has got its unit.
        Issued = "issued",
        /// The last unit went to another one.
        SoldOut = "sold_out",
        /// It is a dead letter.
        Failed = "failed",
    }
}

/// An application, as `lua/event/lib/applications.lua` packs it.
struct PackedApplication {
    /// `None` beside a code that refuses.
    state: Option<State>,
    detail: u64,
    code: Option<String>,
}

impl PackedApplication {
    fn application(self, numbers: &Numbers) -> Result<Application, Error> {
        let state = self.state.ok_or_else(|| numbers.error("no known state"))?;
        Ok(match state {
            State::Pending => Application::Pending { position: self.detail },
            State::Claimed if self.detail == 0 => Application::Claimed,
            State::Claimed => Application::ToRetry { again_in: Duration::from_millis(self.detail) },
            State::Issued => Application::Issued { issued_at: self.detail, code: self.code },
            State::SoldOut => Application::SoldOut,
            State::Failed => Application::Failed,
        })
    }
}

/// Reads the outcomes of a call, each by its code.
fn outcomes<T>(
    operation: &'static str,
    reply: Value,
    items: usize,
    read: impl Fn(Code, PackedApplication, &Numbers) -> Result<ItemReply<T>, Error>,
) -> Result<Vec<Result<Option<T>, Error>>, Error> {
    let Some(mut reply) = Reply::ruled(operation, reply)? else {
        return Ok((0..items).map(|_| Ok(None)).collect());
    };
    let mut texts = Texts::new(reply.bytes()?);
    let mut numbers = reply.numbers()?;
    let mut next = || {
        let head = numbers.count()?;
        let (state, detail) = (head >> 4, numbers.count()?);
        let state = State::numbered(state);
        let code = if state == Some(State::Issued) {
            let length = numbers.count()?;
            Some(texts.next(length, &numbers)?).filter(|code| !code.is_empty())
        } else {
            None
        };
        let packed = PackedApplication { state, detail, code };
        let reply = read(Code::of(head & 15, &numbers)?, packed, &numbers)?;
        Ok(reply.into_result().map(Some))
    };
    let outcomes = (0..items).map(|_| next()).collect::<Result<_, _>>()?;
    numbers.end()?;
    Ok(outcomes)
}
