//! Each field by itself.

use std::ops::RangeInclusive;
use std::time::Duration;

use anteroom_core::queue::{Override, Pace, State};
use anteroom_runtime::config::Moment;
use serde_json::Number;

use super::{Named, Overrides, Wrong};

const STATES: [State; 4] = [State::Open, State::Paused, State::Closed, State::Bypass];
const PACES: [Pace; 2] = [Pace::Even, Pace::Batch];

impl Overrides {
    /// The named fields, each within its own rule.
    pub(super) fn read(&self) -> Result<Vec<Override>, Wrong> {
        let mut read = Vec::new();
        let mut note = |field: Option<Override>| read.extend(field);
        let states = STATES.map(|state| (state.name(), state));
        note(one_of("state", &self.state, states)?.map(Override::State));
        note(reason(&self.reason)?.map(Override::Reason));
        if self.state.is_some() && self.reason.is_none() {
            note(Some(Override::Reason(None)));
        }
        note(whole("capacity", &self.capacity, 1..=1_000_000_000)?.map(Override::Capacity));
        note(whole("batch", &self.batch, 1..=1_000_000)?.map(Override::Batch));
        note(span("interval_ms", &self.interval_ms, 1_000..=3_600_000)?.map(Override::Interval));
        note(
            one_of("pace", &self.pace, PACES.map(|pace| (pace.name(), pace)))?.map(Override::Pace),
        );
        note(span("claim_ttl_ms", &self.claim_ttl_ms, 5_000..=3_600_000)?.map(Override::ClaimTtl));
        let session_ttl = span("session_ttl_ms", &self.session_ttl_ms, 5_000..=86_400_000)?;
        note(session_ttl.map(Override::SessionTtl));
        let session_max = span("session_max_ms", &self.session_max_ms, 5_000..=604_800_000)?;
        note(session_max.map(Override::SessionMax));
        note(span("idle_ttl_ms", &self.idle_ttl_ms, 60_000..=86_400_000)?.map(Override::IdleTtl));
        note(span("keep_ttl_ms", &self.keep_ttl_ms, 60_000..=604_800_000)?.map(Override::KeepTtl));
        let first_poll = span("first_poll_ttl_ms", &self.first_poll_ttl_ms, 30_000..=86_400_000)?;
        note(first_poll.map(Override::FirstPollTtl));
        note(whole("max_waiting", &self.max_waiting, 1..=10_000_000)?.map(Override::MaxWaiting));
        note(at("joins_at", &self.joins_at)?.map(Override::JoinsAt));
        note(at("opens_at", &self.opens_at)?.map(Override::OpensAt));
        note(at("closes_at", &self.closes_at)?.map(Override::ClosesAt));
        note(self.local_answers.map(Override::LocalAnswers));
        Ok(read)
    }
}

/// Reads a named value; null stays null, and an absent field absent.
fn read<T, U>(
    named: &Named<T>,
    value: impl Fn(&T) -> Option<U>,
    wrong: impl Fn() -> Wrong,
) -> Result<Named<U>, Wrong> {
    match named {
        None => Ok(None),
        Some(None) => Ok(Some(None)),
        Some(Some(given)) => value(given).map(|value| Some(Some(value))).ok_or_else(wrong),
    }
}

fn whole(
    field: &'static str,
    named: &Named<Number>,
    range: RangeInclusive<u64>,
) -> Result<Named<u64>, Wrong> {
    let rule = format!("must be a whole number from {} to {}", range.start(), range.end());
    let value = |number: &Number| integer(number).filter(|number| range.contains(number));
    read(named, value, || Wrong::new(field, rule.as_str()))
}

fn span(
    field: &'static str,
    named: &Named<Number>,
    range: RangeInclusive<u64>,
) -> Result<Named<Duration>, Wrong> {
    Ok(whole(field, named, range)?.map(|millis| millis.map(Duration::from_millis)))
}

/// JSON does not tell 9.0 from 9, and neither do we.
fn integer(number: &Number) -> Option<u64> {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53: from here on a double skips integers
    number.as_u64().or_else(|| {
        let float = number.as_f64()?;
        let whole = (0.0..EXACT).contains(&float) && float.fract() == 0.0;
        // In this range the text of a whole double is its digits.
        whole.then(|| format!("{float:.0}").parse().ok()).flatten()
    })
}

fn one_of<T: Copy, const N: usize>(
    field: &'static str,
    named: &Named<String>,
    known: [(&'static str, T); N],
) -> Result<Named<T>, Wrong> {
    let value =
        |given: &String| known.iter().find(|(name, _)| name == given).map(|&(_, value)| value);
    let names = known.map(|(name, _)| name).join(", ");
    read(named, value, || Wrong::new(field, format!("must be one of {names}")))
}

fn reason(named: &Named<String>) -> Result<Named<String>, Wrong> {
    let value = |text: &String| {
        let length = text.chars().count();
        // A lone hyphen is how the store is told to take an override back.
        let good = (1..=200).contains(&length) && !text.contains(char::is_control) && text != "-";
        good.then(|| text.clone())
    };
    let rule = "must be 1 to 200 characters without control characters, and not a lone hyphen";
    read(named, value, || Wrong::new("reason", rule))
}

fn at(field: &'static str, named: &Named<String>) -> Result<Named<u64>, Wrong> {
    read(named, |text| Moment::parse(text).map(Moment::seconds), || Wrong::new(field, Moment::RULE))
}
