//! Calls that share a run of the script.

use std::borrow::Cow;

use redis::{RedisWrite as _, Value};

use super::call::{Call, tag};
use super::reply::Answer;
use super::rule::Algorithm;
use super::scripts;
use crate::store::{Args, Batch, Clock, Error, Repeat, Reply, Script};

/// So much weight keeps a call below a millisecond on a slow machine too.
const MOST_ITEMS: usize = 64;
/// As many units in a log cost the store as much as a check.
const UNITS_OF_A_CHECK: usize = 4;
/// What the key of a name begins with, behind its hash tag.
const NAME: u8 = b'i';
/// The bytes of a key, and those of what is sent of a check.
const KEY: usize = 40;
const CHECK: usize = 14;

/// Calls that share a run: all of them have a name, or none has.
pub(super) struct Checks {
    pub(super) named: bool,
    pub(super) clock: Clock,
}

impl Batch for Checks {
    type Item = Call;
    type Outcome = Answer;
    const MAX_ITEMS: usize = MOST_ITEMS;

    fn script(&self) -> &'static Script {
        &scripts::CHECK
    }

    fn keys(&self, items: &[Call]) -> Cow<'_, Args> {
        let count = items.iter().map(|call| 1 + call.checks.len()).sum();
        let mut keys = Args::with_capacity(count, KEY * count);
        for Call { shard, name, checks } in items {
            let mut push = |kind, id| {
                scripts::CHECK.push_digest_key(&mut keys, tag(*shard), kind, id);
            };
            if let Some(name) = name {
                push(NAME, &name.id);
            }
            for check in checks {
                push(check.rule.algorithm.letter(), &check.id);
            }
        }
        Cow::Owned(keys)
    }

    fn args(&self, items: &[Call]) -> Args {
        let mut args = Args::with_capacity(2 + items.len(), 32 + 2 * CHECK * items.len());
        self.clock.push_to(&mut args);
        args.push(u8::from(self.named));
        for Call { name, checks, .. } in items {
            args.write_arg(name.as_ref().map_or(&[][..], |name| &name.fingerprint));
            for check in checks {
                args.extend_last(&[check.rule.algorithm as u8, check.rule.shadow.into()]);
                for number in [check.rule.limit, check.rule.window_ms(), check.cost] {
                    args.extend_last(&number.to_be_bytes());
                }
            }
        }
        args
    }

    fn outcomes(&self, reply: Value, items: &[Call]) -> Result<Vec<Result<Answer, Error>>, Error> {
        let mut reply = Reply::new(scripts::CHECK.name, reply)?;
        reply.integer()?;
        let mut numbers = reply.numbers()?;
        let answers = items.iter().map(|call| Answer::read(&mut numbers, call.checks.len()));
        let answers = answers.map(|answer| answer.map(Ok)).collect::<Result<_, _>>()?;
        numbers.end()?;
        Ok(answers)
    }

    /// What must be looked at before it is taken is decided twice.
    fn weight(call: &Call) -> usize {
        let looks = if call.name.is_some() || call.checks.len() > 1 { 2 } else { 1 };
        let checks = call.checks.iter().map(|check| match check.rule.algorithm {
            Algorithm::Log => {
                looks + (check.cost as usize).saturating_sub(1).div_ceil(UNITS_OF_A_CHECK)
            }
            Algorithm::Counter | Algorithm::Gcra => looks,
        });
        checks.sum()
    }

    fn repeat(&self, _items: &[Call]) -> Repeat {
        if self.named { Repeat::IfUnknown } else { Repeat::Never }
    }
}
