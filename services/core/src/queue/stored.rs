//! The rules as the store holds them: named numbers, times in microseconds, 0 for "no such rule".

use std::time::Duration;

use super::reply::Reply;
use super::rules::{Pace, Rules, State};
use crate::store::Error;

/// A rule that an operator can override.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Override {
    /// The state of the queue.
    State(Option<State>),
    /// What visitors and operators read as the reason for the state.
    Reason(Option<String>),
    /// [`Rules::capacity`].
    Capacity(Option<u64>),
    /// [`Rules::batch`].
    Batch(Option<u64>),
    /// [`Rules::interval`].
    Interval(Option<Duration>),
    /// [`Rules::pace`].
    Pace(Option<Pace>),
    /// [`Rules::claim_ttl`].
    ClaimTtl(Option<Duration>),
    /// [`Rules::session_ttl`].
    SessionTtl(Option<Duration>),
    /// [`Rules::session_max`].
    SessionMax(Option<Duration>),
    /// [`Rules::idle_ttl`].
    IdleTtl(Option<Duration>),
    /// [`Rules::keep_ttl`].
    KeepTtl(Option<Duration>),
    /// [`Rules::first_poll_ttl`].
    FirstPollTtl(Option<Duration>),
    /// [`Rules::max_waiting`].
    MaxWaiting(Option<u64>),
    /// [`Rules::joins_at`].
    JoinsAt(Option<u64>),
    /// [`Rules::opens_at`].
    OpensAt(Option<u64>),
    /// [`Rules::closes_at`].
    ClosesAt(Option<u64>),
    /// [`Rules::local_answers`].
    LocalAnswers(Option<bool>),
}

impl Override {
    /// The name of the rule and its stored value; `None` takes the override back.
    pub(super) fn stored(&self) -> (&'static str, Option<String>) {
        match self {
            Self::State(state) => ("state", state.map(|state| state_number(state).to_string())),
            Self::Reason(reason) => ("reason", reason.clone()),
            Self::Capacity(count) => ("capacity", count.map(|count| count.to_string())),
            Self::Batch(count) => ("batch", count.map(|count| count.to_string())),
            Self::Interval(time) => ("interval", time.map(micros)),
            Self::Pace(pace) => ("pace", pace.map(|pace| pace_number(pace).to_string())),
            Self::ClaimTtl(time) => ("claim_ttl", time.map(micros)),
            Self::SessionTtl(time) => ("session_ttl", time.map(micros)),
            Self::SessionMax(time) => ("session_max", time.map(micros)),
            Self::IdleTtl(time) => ("idle_ttl", time.map(micros)),
            Self::KeepTtl(time) => ("keep_ttl", time.map(micros)),
            Self::FirstPollTtl(time) => ("first_poll_ttl", time.map(micros)),
            Self::MaxWaiting(count) => ("max_waiting", count.map(|count| count.to_string())),
            Self::JoinsAt(at) => ("joins_at", at.map(instant)),
            Self::OpensAt(at) => ("opens_at", at.map(instant)),
            Self::ClosesAt(at) => ("closes_at", at.map(instant)),
            Self::LocalAnswers(on) => ("local_answers", on.map(flag)),
        }
    }

    /// The rule of this name and stored value; `None` when there is no such rule, or the value is none of its.
    pub(super) fn read(name: &str, value: &str) -> Option<Self> {
        let number = || value.parse::<u64>().ok();
        let time = || number().map(Duration::from_micros);
        let at = || number().map(|micros| micros / 1_000_000);
        Some(match name {
            "state" => Self::State(Some(state(number()?)?)),
            "reason" => Self::Reason(Some(value.to_owned())),
            "capacity" => Self::Capacity(Some(number()?)),
            "batch" => Self::Batch(Some(number()?)),
            "interval" => Self::Interval(Some(time()?)),
            "pace" => Self::Pace(Some(pace(number()?))),
            "claim_ttl" => Self::ClaimTtl(Some(time()?)),
            "session_ttl" => Self::SessionTtl(Some(time()?)),
            "session_max" => Self::SessionMax(Some(time()?)),
            "idle_ttl" => Self::IdleTtl(Some(time()?)),
            "keep_ttl" => Self::KeepTtl(Some(time()?)),
            "first_poll_ttl" => Self::FirstPollTtl(Some(time()?)),
            "max_waiting" => Self::MaxWaiting(Some(number()?)),
            "joins_at" => Self::JoinsAt(Some(at()?)),
            "opens_at" => Self::OpensAt(Some(at()?)),
            "closes_at" => Self::ClosesAt(Some(at()?)),
            "local_answers" => Self::LocalAnswers(Some(number()? == 1)),
            _ => return None,
        })
    }
}

/// The rules of a file by their stored names.
pub(super) fn write(rules: &Rules) -> [(&'static str, String); 17] {
    let count = |count: Option<u64>| count.unwrap_or(0).to_string();
    let at = |at: Option<u64>| at.map_or_else(|| "0".to_owned(), instant);
    [
        ("state", state_number(State::Open).to_string()),
        ("reason", String::new()),
        ("capacity", count(rules.capacity)),
        ("batch", count(rules.batch)),
        ("interval", micros(rules.interval)),
        ("pace", pace_number(rules.pace).to_string()),
        ("claim_ttl", micros(rules.claim_ttl)),
        ("session_ttl", micros(rules.session_ttl)),
        ("session_max", micros(rules.session_max)),
        ("idle_ttl", micros(rules.idle_ttl)),
        ("keep_ttl", micros(rules.keep_ttl)),
        ("first_poll_ttl", micros(rules.first_poll_ttl)),
        ("max_waiting", rules.max_waiting.to_string()),
        ("joins_at", at(rules.joins_at)),
        ("opens_at", at(rules.opens_at)),
        ("closes_at", at(rules.closes_at)),
        ("local_answers", flag(rules.local_answers)),
    ]
}

/// The rules in force and the reason of the state, in the order of `lua/queue/lib/rules.lua`.
pub(super) fn read(reply: &mut Reply) -> Result<(Rules, Option<String>), Error> {
    reply.text()?; // the stored state; the one in force stands further up in the reply
    let reason = Some(reply.text()?).filter(|reason| !reason.is_empty());
    let mut number = || -> Result<u64, Error> {
        let text = reply.text()?;
        text.parse().map_err(|_| reply.error(format!("rule {text:?} is no number")))
    };
    let rules = Rules {
        capacity: some(number()?),
        batch: some(number()?),
        interval: Duration::from_micros(number()?),
        pace: pace(number()?),
        claim_ttl: Duration::from_micros(number()?),
        session_ttl: Duration::from_micros(number()?),
        session_max: Duration::from_micros(number()?),
        idle_ttl: Duration::from_micros(number()?),
        keep_ttl: Duration::from_micros(number()?),
        first_poll_ttl: Duration::from_micros(number()?),
        max_waiting: number()?,
        joins_at: some(number()? / 1_000_000),
        opens_at: some(number()? / 1_000_000),
        closes_at: some(number()? / 1_000_000),
        local_answers: number()? == 1,
    };
    Ok((rules, reason))
}

/// The state behind a number of the scripts.
pub(super) fn state(number: u64) -> Option<State> {
    [State::Open, State::Paused, State::Closed, State::Bypass]
        .into_iter()
        .find(|state| state_number(*state) == number)
}

fn state_number(state: State) -> u64 {
    match state {
        State::Open => 1,
        State::Paused => 2,
        State::Closed => 3,
        State::Bypass => 4,
    }
}

fn pace_number(pace: Pace) -> u64 {
    match pace {
        Pace::Even => 1,
        Pace::Batch => 2,
    }
}

fn pace(number: u64) -> Pace {
    if number == pace_number(Pace::Batch) { Pace::Batch } else { Pace::Even }
}

fn flag(on: bool) -> String {
    u8::from(on).to_string()
}

fn some(number: u64) -> Option<u64> {
    Some(number).filter(|number| *number > 0)
}

fn micros(time: Duration) -> String {
    time.as_micros().to_string()
}

/// Seconds since 1970 in microseconds; a time beyond what a double holds is as good as never.
fn instant(seconds: u64) -> String {
    seconds.saturating_mul(1_000_000).min(super::MAX_TICKET).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = include_str!("../../../../lua/queue/lib/rules.lua");
    const META: &str = include_str!("../../../../lua/queue/lib/meta.lua");

    /// What stands between these, in one line.
    fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
        let (_, rest) = text.split_once(start).expect("the start");
        rest.split_once(end).expect("the end").0
    }

    fn every_override() -> Vec<Override> {
        let time = Some(Duration::from_millis(1_500));
        vec![
            Override::State(Some(State::Bypass)),
            Override::Reason(Some("7".to_owned())),
            Override::Capacity(Some(1)),
            Override::Batch(Some(2)),
            Override::Interval(time),
            Override::Pace(Some(Pace::Batch)),
            Override::ClaimTtl(time),
            Override::SessionTtl(time),
            Override::SessionMax(time),
            Override::IdleTtl(time),
            Override::KeepTtl(time),
            Override::FirstPollTtl(time),
            Override::MaxWaiting(Some(3)),
            Override::JoinsAt(Some(4)),
            Override::OpensAt(Some(5)),
            Override::ClosesAt(Some(6)),
            Override::LocalAnswers(Some(true)),
        ]
    }

    #[test]
    fn the_scripts_know_the_same_rules_in_the_same_order() {
        let names: Vec<_> = every_override().iter().map(|rule| rule.stored().0).collect();
        let list = between(RULES, "local RULES = {", "}");
        let listed: Vec<_> = list.split('\'').skip(1).step_by(2).collect();
        assert_eq!(listed, names);
        assert!(META.contains(&format!("local KNOWN_RULES = {}\n", names.len())));
        let defaults = between(META, "return {", "}");
        let defaults: Vec<_> =
            defaults.split(',').filter_map(|pair| Some(pair.split_once('=')?.0.trim())).collect();
        assert_eq!(defaults, names);
    }

    #[test]
    fn an_override_is_read_as_it_was_stored() {
        for rule in every_override() {
            let (name, value) = rule.stored();
            assert_eq!(Override::read(name, &value.expect("a value")), Some(rule));
        }
        for (name, value) in [("state", "9"), ("capacity", "many"), ("colour", "1")] {
            assert_eq!(Override::read(name, value), None);
        }
    }
}
