//! Objectives: what the answers must meet, such as `p95<200ms` or `errors<1%`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::load::{Tally, share};
use crate::plan::flags;

/// An upper bound of one figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Objective {
    figure: Figure,
    /// Seconds of a latency, a part of 1 of a share.
    limit: f64,
    /// The limit itself is allowed too.
    inclusive: bool,
}

/// What is bounded.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Figure {
    /// A quantile of the latency, from 0 to 1.
    Quantile(f64),
    Average,
    Max,
    /// Requests without the expected answer.
    Errors,
    /// Answers with these statuses.
    Statuses(u16, u16),
}

/// What was measured, beside an objective.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// What was to be met.
    pub objective: Objective,
    /// Whether the objective was met.
    pub held: bool,
    /// The figure, as people read it.
    pub value: String,
    /// The share of requests beyond the limit, and the share that may be; none of an average or a
    /// maximum.
    #[serde(skip)]
    pub beyond: Option<(f64, f64)>,
}

impl Objective {
    /// The bound of a latency; none of a share.
    pub fn latency(&self) -> Option<Duration> {
        (!self.figure.is_share()).then(|| Duration::from_secs_f64(self.limit))
    }

    /// The bound of a share; none of a latency.
    pub fn share(&self) -> Option<f64> {
        self.figure.is_share().then_some(self.limit)
    }

    /// Which quantile of the latency it bounds, from 0 to 1.
    pub fn quantile(&self) -> Option<f64> {
        if let Figure::Quantile(share) = self.figure { Some(share) } else { None }
    }

    /// Whether it is met. Without a measurement it is not.
    pub fn judge(&self, answers: &Tally) -> Judged {
        let latency = &answers.latency;
        let value = match self.figure {
            Figure::Quantile(share) => latency.quantile(share).as_secs_f64(),
            Figure::Average => latency.mean().as_secs_f64(),
            Figure::Max => latency.max().as_secs_f64(),
            Figure::Errors => answers.error_share(),
            Figure::Statuses(from, to) => {
                let answers_of = answers.statuses.range(from..=to).map(|(_, count)| count);
                share(answers_of.sum(), answers.requests)
            }
        };
        let below = value < self.limit || (self.inclusive && value <= self.limit);
        let is_share = self.figure.is_share();
        let measured = if is_share { answers.requests } else { latency.count() };
        let held = below && measured > 0;
        let beyond = match self.figure {
            Figure::Quantile(share) => {
                let beyond = latency.above(Duration::from_secs_f64(self.limit));
                Some((beyond as f64 / measured.max(1) as f64, 1.0 - share))
            }
            Figure::Average | Figure::Max => None,
            Figure::Errors | Figure::Statuses(..) => Some((value, self.limit)),
        };
        let (percent, millis) =
            (format!("{:.2} %", 100.0 * value), format!("{:.1} ms", 1e3 * value));
        let value = if is_share { percent } else { millis };
        Judged { objective: *self, held, value, beyond }
    }
}

impl Figure {
    fn is_share(self) -> bool {
        matches!(self, Self::Errors | Self::Statuses(..))
    }

    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "average" => Self::Average,
            "max" => Self::Max,
            "errors" => Self::Errors,
            _ => {
                if let Some(share) = text.strip_prefix('p') {
                    let share = share.parse::<f64>().ok()?;
                    return (share > 0.0 && share < 100.0).then_some(Self::Quantile(share / 100.0));
                }
                let [from, to] = ["00", "99"].map(|end| text.replacen("xx", end, 1).parse::<u16>());
                let from = from.ok().filter(|status| (100..600).contains(status))?;
                Self::Statuses(from, to.ok()?)
            }
        })
    }
}

impl Serialize for Objective {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl FromStr for Objective {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, limit) = text
            .split_once('<')
            .ok_or("an objective is FIGURE<LIMIT, such as p95<200ms or errors<1%")?;
        let (inclusive, limit) =
            limit.strip_prefix('=').map_or((false, limit), |limit| (true, limit));
        let (name, limit) = (name.trim(), limit.trim());
        let figure = Figure::parse(name).ok_or_else(|| {
            format!("`{name}` is none of p50, p95, p99 (any pNN), average, max, errors, 503, 5xx")
        })?;
        let read = if figure.is_share() {
            let rule = "takes a share from 0% to 100%, such as 1% or 0.01";
            flags::share(limit).map_err(|_| rule.to_owned())
        } else {
            let rule = |error| format!("takes a time, such as 200ms: {error}");
            crate::durations::parse_duration(limit).map(|time| time.as_secs_f64()).map_err(rule)
        };
        let limit = read.map_err(|rule| format!("`{limit}`: {name} {rule}"))?;
        if limit == 0.0 && !inclusive {
            return Err(format!("`{text}`: no value is below 0: use {name}<=0"));
        }
        Ok(Self { figure, limit, inclusive })
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.figure {
            Figure::Quantile(share) => write!(f, "p{}", (share * 1e6).round() / 1e4)?,
            Figure::Average => f.write_str("average")?,
            Figure::Max => f.write_str("max")?,
            Figure::Errors => f.write_str("errors")?,
            Figure::Statuses(from, to) if from == to => write!(f, "{from}")?,
            Figure::Statuses(from, _) => write!(f, "{}xx", from / 100)?,
        }
        f.write_str(if self.inclusive { "<=" } else { "<" })?;
        if self.figure.is_share() {
            write!(f, "{}%", (self.limit * 1e8).round() / 1e6)
        } else {
            let limit = Duration::from_secs_f64(self.limit);
            f.write_str(&crate::durations::format_duration(limit).replace(' ', ""))
        }
    }
}
