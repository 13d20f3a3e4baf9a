//! Objectives: what the answers must meet, such as `p95<200ms` or `errors<1%`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::load::Tally;
use crate::plan::flags::share;

/// An upper bound of one figure.
#[derive(Clone, Debug, PartialEq)]
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

/// A figure beside its limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Whether the objective was met.
    pub held: bool,
    /// The share of requests beyond the limit, and the share that may be; none of an average or a
    /// maximum.
    pub beyond: Option<(f64, f64)>,
    /// The figure, as people read it.
    pub value: String,
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
        let share = |part: u64| part as f64 / answers.requests.max(1) as f64;
        let seconds = |time: Duration| time.as_secs_f64();
        let value = match self.figure {
            Figure::Quantile(share) => seconds(latency.quantile(share)),
            Figure::Average => seconds(latency.mean()),
            Figure::Max => seconds(latency.max()),
            Figure::Errors => answers.error_share(),
            Figure::Statuses(from, to) => {
                share(answers.statuses.range(from..=to).map(|(_, count)| count).sum())
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
        Judged { held, beyond, value: shown(value, is_share) }
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
                if let Some(class) = text.strip_suffix("xx") {
                    let class = class.parse::<u16>().ok().filter(|it| (1..=5).contains(it))?;
                    return Some(Self::Statuses(100 * class, 100 * class + 99));
                }
                if let Some(share) = text.strip_prefix('p') {
                    let share = share.parse::<f64>().ok()?;
                    return (share > 0.0 && share < 100.0).then_some(Self::Quantile(share / 100.0));
                }
                let status = text.parse::<u16>().ok().filter(|it| (100..600).contains(it))?;
                Self::Statuses(status, status)
            }
        })
    }
}

fn shown(value: f64, is_share: bool) -> String {
    if is_share { format!("{:.2} %", 100.0 * value) } else { format!("{:.1} ms", 1e3 * value) }
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
        let limit = if figure.is_share() {
            share(limit).map_err(|_| {
                format!("`{limit}`: {name} takes a share from 0% to 100%, such as 1% or 0.01")
            })?
        } else {
            let time = humantime::parse_duration(limit);
            let time = time.map_err(|error| {
                format!("`{limit}`: {error}; {name} takes a time, such as 200ms")
            })?;
            time.as_secs_f64()
        };
        if limit == 0.0 && !inclusive {
            return Err(format!("`{text}`: nothing is below 0; say {name}<=0"));
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
            f.write_str(&humantime::format_duration(limit).to_string().replace(' ', ""))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Fault;

    #[test]
    fn what_is_read_is_shown_again() {
        for text in [
            "p95<200ms",
            "p99.9<=1s500ms",
            "average<50ms",
            "max<2s",
            "errors<1%",
            "503<0.1%",
            "5xx<=0%",
        ] {
            assert_eq!(text.parse::<Objective>().expect(text).to_string(), text);
        }
        assert_eq!("errors<0.01".parse::<Objective>(), "errors<1%".parse());
    }

    #[test]
    fn a_mistake_names_the_rule() {
        for (text, rule) in [
            ("p95", "an objective is FIGURE<LIMIT"),
            ("p95>200ms", "an objective is FIGURE<LIMIT"),
            ("p100<1s", "is none of"),
            ("median<1s", "is none of"),
            ("6xx<1%", "is none of"),
            ("99<1%", "is none of"),
            ("p95<1%", "takes a time"),
            ("p95<200", "takes a time"),
            ("errors<200ms", "takes a share"),
            ("errors<101%", "takes a share"),
            ("errors<0%", "nothing is below 0"),
        ] {
            let error = text.parse::<Objective>().expect_err(text);
            assert!(error.contains(rule), "{text}: {error}");
        }
    }

    #[test]
    fn figures_are_compared_with_their_limits() {
        let mut answers = Tally { requests: 100, ..Tally::default() };
        for millis in 1..=100 {
            answers.latency.note(Duration::from_millis(millis));
            *answers.statuses.entry(if millis > 98 { 503 } else { 200 }).or_default() += 1;
        }
        answers.faults.insert(Fault::Status, 3);
        for (objective, held) in [
            ("p50<60ms", true),
            ("p50<40ms", false),
            ("p95<94ms", false),
            ("p95<97ms", true),
            ("average<52ms", true),
            ("average<50ms", false),
            ("max<99ms", false),
            ("max<102ms", true),
            ("errors<3%", false),
            ("errors<=3%", true),
            ("503<2%", false),
            ("503<=2%", true),
            ("5xx<=1%", false),
            ("4xx<=0%", true),
            ("404<=0%", true),
        ] {
            let objective = objective.parse::<Objective>().expect(objective);
            let judged = objective.judge(&answers);
            assert_eq!(judged.held, held, "{objective}: {judged:?}");
            assert!(!objective.judge(&Tally::default()).held, "without a measurement");
        }
        let refused = Tally { requests: 1, ..Tally::default() };
        assert!(!"p95<1s".parse::<Objective>().expect("one").judge(&refused).held);
    }
}
