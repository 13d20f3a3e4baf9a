//! Promise 9, from the outside: the answers that applicants to one event got.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::Violation;

/// What was requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// An application.
    Apply,
    /// What has become of it.
    Status,
}

/// What an answer says of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Nothing: no answer, or one that says nothing of it.
    Nothing,
    /// There is none.
    Unknown,
    /// It is accepted and not decided.
    Pending,
    /// A unit is this applicant's.
    Issued {
        /// A fingerprint of the code, where codes are issued.
        code: Option<u64>,
    },
    /// No unit was left.
    SoldOut,
    /// Given up, unless an operator tries again.
    Failed,
}

/// One request and what came of it. Times are microseconds of the record's own clock.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "as those of the queue's lines")]
pub struct Line {
    pub visitor: u32,
    pub call: Call,
    pub sent: u64,
    pub received: u64,
    /// Absent when no whole answer came.
    pub status: Option<u16>,
    /// What the answer says.
    pub outcome: Outcome,
}

impl Outcome {
    /// Reads an answer; `fingerprint` distinguishes codes without showing them.
    pub fn read(call: Call, status: u16, body: &[u8], fingerprint: impl Fn(&str) -> u64) -> Self {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        match (status, body["status"].as_str(), body["code"].as_str()) {
            (200 | 202, Some("pending" | "claimed"), _) => Self::Pending,
            (200 | 202, Some("issued"), code) => Self::Issued { code: code.map(fingerprint) },
            (200 | 202, Some("sold_out"), _) | (409, _, Some("sold_out")) => Self::SoldOut,
            (200 | 202, Some("failed"), _) => Self::Failed,
            (404, ..) if call == Call::Status => Self::Unknown,
            _ => Self::Nothing,
        }
    }

    /// Whether an operator cannot change it either.
    fn is_final(self) -> bool {
        matches!(self, Self::Issued { .. } | Self::SoldOut)
    }
}

/// What was heard of one applicant, in order of reception.
struct Application<'a> {
    lines: Vec<(usize, &'a Line)>,
}

impl<'a> Application<'a> {
    /// The first answer by which the application was there: a refusal is none.
    fn accepted(&self) -> Option<(usize, &'a Line)> {
        let accepts = |line: &Line| matches!(line.status, Some(200 | 202));
        self.first(accepts)
    }

    /// The first answer with a unit.
    fn issued(&self) -> Option<(usize, &'a Line)> {
        self.first(|line| matches!(line.outcome, Outcome::Issued { .. }))
    }

    /// The first answer to an accepted application that no unit was left.
    fn sold_out(&self) -> Option<(usize, &'a Line)> {
        self.first(|line| line.outcome == Outcome::SoldOut && line.status != Some(409))
    }

    fn first(&self, is: impl Fn(&Line) -> bool) -> Option<(usize, &'a Line)> {
        self.lines.iter().copied().find(|(_, line)| is(line))
    }

    fn last(&self) -> Option<(usize, &'a Line)> {
        let says = |(_, line): &(usize, &Line)| line.outcome != Outcome::Nothing;
        self.lines.iter().copied().rfind(says)
    }

    fn visitor(&self) -> u32 {
        self.lines.first().map_or(0, |(_, line)| line.visitor)
    }
}

/// Holds a record of one event of `stock` units to promise 9 while it goes on; empty when it was
/// kept.
pub fn check(record: &[Line], stock: usize) -> Vec<Violation> {
    let applications = applications(record);
    let mut violations = shared_codes(&applications);
    violations.extend(too_many(&applications, stock));
    violations.extend(passed_over(&applications));
    violations.extend(applications.iter().filter_map(changed));
    violations.extend(applications.iter().filter_map(lost));
    violations
}

/// The same of a record that is over, in which each visitor looked at its application at the end:
/// each has ended, and no unit was left while an application went without.
pub fn check_ended(record: &[Line], stock: usize) -> Vec<Violation> {
    let mut violations = check(record, stock);
    let applications = applications(record);
    for application in applications.iter().filter(|it| it.accepted().is_some()) {
        if let Some((at, line)) = application.last()
            && line.outcome == Outcome::Pending
        {
            let what = format!("the application of {} never ended", application.visitor());
            violations.push(Violation::new(9, what, [at]));
        }
    }
    let given = applications.iter().filter(|it| it.issued().is_some()).count();
    let failed = applications
        .iter()
        .filter(|it| it.last().is_some_and(|(_, line)| line.outcome == Outcome::Failed))
        .count();
    let without = applications.iter().find_map(Application::sold_out);
    if let Some((at, _)) = without
        && given + failed < stock
    {
        let what = format!("sold out, with {given} issued and {failed} failed of {stock}");
        violations.push(Violation::new(9, what, [at]));
    }
    violations
}

fn applications(record: &[Line]) -> Vec<Application<'_>> {
    let mut of: BTreeMap<u32, Vec<_>> = BTreeMap::new();
    for (at, line) in record.iter().enumerate() {
        of.entry(line.visitor).or_default().push((at, line));
    }
    of.values_mut().for_each(|lines| lines.sort_by_key(|(_, line)| line.received));
    of.into_values().map(|lines| Application { lines }).collect()
}

fn too_many(applications: &[Application<'_>], stock: usize) -> Option<Violation> {
    let given: Vec<_> = applications.iter().filter_map(Application::issued).collect();
    let what = format!("{} were issued, the stock is {stock}", given.len());
    let lines = given.iter().map(|(at, _)| *at);
    (given.len() > stock).then(|| Violation::new(9, what, lines))
}

/// One code that two applicants got.
fn shared_codes(applications: &[Application<'_>]) -> Vec<Violation> {
    let mut owners = BTreeMap::new();
    let mut violations = Vec::new();
    for application in applications {
        for (at, line) in &application.lines {
            let Outcome::Issued { code: Some(code) } = line.outcome else { continue };
            let (owner, first) = *owners.entry(code).or_insert((line.visitor, *at));
            if owner != line.visitor {
                let what = format!("{owner} and {} got the same code", line.visitor);
                violations.push(Violation::new(9, what, [first, *at]));
            }
        }
    }
    violations
}

/// Who applied certainly before another, and went without while that one got a unit.
fn passed_over(applications: &[Application<'_>]) -> Option<Violation> {
    let without = applications.iter().filter_map(|it| Some((it.accepted()?, it.sold_out()?.0)));
    let first = without.min_by_key(|((_, line), _)| line.received);
    let ((accepted, before), end) = first?;
    // No application was at the store before its first request was sent.
    let later = applications.iter().filter(|it| {
        it.issued().is_some() && it.lines.iter().all(|(_, line)| line.sent > before.received)
    });
    later.into_iter().find_map(|other| {
        let (one, two) = (before.visitor, other.visitor());
        let what = format!("{one} applied before {two} and got nothing");
        Some(Violation::new(9, what, [accepted, end, other.issued()?.0]))
    })
}

/// An end that was shown, and then another.
fn changed(application: &Application<'_>) -> Option<Violation> {
    let ended = |line: &Line| line.outcome.is_final() && line.status != Some(409);
    let (end, first) = application.first(ended)?;
    let (other, line) = application.first(|line| {
        line.sent >= first.received
            && line.outcome != Outcome::Nothing
            && line.outcome != first.outcome
    })?;
    let what = format!("{} got {:?}, then {:?}", first.visitor, first.outcome, line.outcome);
    Some(Violation::new(9, what, [end, other]))
}

/// An accepted application of which nothing is known any more.
fn lost(application: &Application<'_>) -> Option<Violation> {
    let (accepted, line) = application.accepted()?;
    let gone = |it: &Line| it.sent >= line.received && it.outcome == Outcome::Unknown;
    let (at, _) = application.first(gone)?;
    let what = format!("the application of {} is lost", line.visitor);
    Some(Violation::new(9, what, [accepted, at]))
}
