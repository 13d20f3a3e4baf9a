//! Reading a scenario: unknown keys are refused, and an error has its line.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use anyhow::{bail, ensure};
use hyper::Method;
use hyper::header::HeaderName;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use super::har::REMOVED;
use super::template::{BUILT_IN, Template, may_be_captured};
use super::{Ask, Capture, Connections, Retry, Scenario, Statuses, Step, Think};
use crate::exit::Usage;

/// So often a visitor tries again where the file does not say.
const RETRY_MAX: u32 = 3;

/// What to do about a value that was removed from a recording.
const TO_FILL_IN: &str =
    ": it was removed from a recording, capture it or put a value for tests there";

/// The methods that a step may have.
pub const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/// The scenario that measures the sample concert service.
pub const CONCERT: &str = include_str!("../../scenarios/concert.toml");

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    name: Option<String>,
    connections: Connections,
    headers: Headers,
    steps: Vec<Spanned<Written>>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Written {
    name: Option<String>,
    #[serde(deserialize_with = "method")]
    method: Method,
    #[serde(deserialize_with = "path")]
    path: Option<Template>,
    headers: Headers,
    body: Option<Template>,
    think: Think,
    expect: Option<Statuses>,
    capture: BTreeMap<String, Capture>,
    retry_on: Option<Statuses>,
    retry_from: Option<Spanned<String>>,
    retry_max: Option<u32>,
    #[serde(deserialize_with = "weight")]
    weight: Option<f64>,
}

type Headers = BTreeMap<Spanned<String>, Template>;

fn method<'de, D: Deserializer<'de>>(from: D) -> Result<Method, D::Error> {
    let name = String::deserialize(from)?;
    let known = METHODS.contains(&&*name).then(|| name.parse().ok()).flatten();
    let rule = || D::Error::custom(format!("{name:?} is none of {}", METHODS.join(", ")));
    known.ok_or_else(rule)
}

fn path<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Template>, D::Error> {
    let path = Template::deserialize(from)?;
    if path.source().starts_with('/') || path.is_one_value() {
        return Ok(Some(path));
    }
    Err(D::Error::custom(format!("a path begins with '/', {:?} does not", path.source())))
}

fn weight<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    let weight = f64::deserialize(from)?;
    if weight > 0.0 && weight.is_finite() {
        return Ok(Some(weight));
    }
    Err(D::Error::custom(format!("a weight is above 0, {weight} is not")))
}

/// A key that breaks a rule: its place, and the rule.
#[derive(Debug, thiserror::Error)]
#[error("{1}")]
struct Broken(Range<usize>, String);

impl Scenario {
    /// Reads a file; without one, the concert's scenario.
    ///
    /// # Errors
    ///
    /// [`Usage`] with the file, the line and the rule.
    pub fn read(path: Option<&Path>) -> Result<Self, Usage> {
        let Some(path) = path else { return Self::parse(CONCERT, "concert.toml") };
        let text = std::fs::read_to_string(path)
            .map_err(|error| Usage(format!("{}: {error}", path.display())))?;
        Self::parse(&text, &path.display().to_string())
    }

    /// Reads a text; `file` is what errors call it.
    ///
    /// # Errors
    ///
    /// [`Usage`] with the file, the line and the rule.
    pub fn parse(text: &str, file: &str) -> Result<Self, Usage> {
        let usage = |span: Range<usize>, rule: &str| {
            let line = 1 + text[..span.start.min(text.len())].matches('\n').count();
            Usage(format!("{file}, line {line}: {rule}"))
        };
        let written: File = toml::from_str(text)
            .map_err(|error| usage(error.span().unwrap_or_default(), error.message()))?;
        let broken = |whole: Range<usize>, error: &anyhow::Error| {
            let at = error.downcast_ref().map_or(whole, |Broken(at, _)| at.clone());
            usage(at, &error.to_string())
        };
        let common = parsed(written.headers).map_err(|error| broken(0..0, &error))?;
        let mut steps: Vec<Step> = Vec::new();
        for written in written.steps {
            let span = written.span();
            let step = written.into_inner().step(&common, &steps);
            steps.push(step.map_err(|error| broken(span, &error))?);
        }
        if steps.iter().all(|step| step.ask.is_none()) {
            return Err(usage(0..0, "no step has a path"));
        }
        let stem = Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name = written.name.or(stem).unwrap_or_default();
        let (stages, source) = (stages(&steps), (file.to_owned(), text.to_owned()));
        Ok(Self { name, steps, connections: written.connections, source, stages })
    }
}

/// Neighbours with a weight are alternatives, drawn in proportion.
fn stages(steps: &[Step]) -> Vec<Vec<(usize, f64)>> {
    let numbered: Vec<_> = steps.iter().enumerate().collect();
    let stages = numbered.chunk_by(|(_, one), (_, next)| one.weight.and(next.weight).is_some());
    let shares = stages.map(|stage| {
        let weight = |step: &Step| step.weight.unwrap_or(1.0);
        let sum: f64 = stage.iter().map(|(_, step)| weight(step)).sum();
        stage.iter().map(|(index, step)| (*index, weight(step) / sum)).collect()
    });
    shares.collect()
}

fn parsed(headers: Headers) -> anyhow::Result<Vec<(HeaderName, Template)>> {
    let header = |(name, value): (Spanned<String>, _)| match name.get_ref().parse() {
        Ok(parsed) => Ok((parsed, value)),
        Err(_) => bail!(Broken(name.span(), format!("{:?} is no header", name.get_ref()))),
    };
    headers.into_iter().map(header).collect()
}

impl Written {
    /// The step after these, by the rules that concern more than one key.
    fn step(self, common: &[(HeaderName, Template)], before: &[Step]) -> anyhow::Result<Step> {
        let name = self.name.clone().unwrap_or_else(|| match &self.path {
            Some(path) => format!("{} {}", self.method, path.source()),
            None => format!("pause {}", before.len() + 1),
        });
        let is_new = before.iter().all(|step| step.name != name);
        ensure!(is_new, "two steps are named {name:?}: give each a name");
        let retry = self.retry(&name, before)?;
        let only_thinks = self.headers.is_empty()
            && self.body.is_none()
            && self.expect.is_none()
            && self.capture.is_empty()
            && retry.is_none();
        ensure!(self.path.is_some() || only_thinks, "step {name:?} has no path, so it only thinks");
        for value in self.capture.keys() {
            ensure!(may_be_captured(value), "a capture cannot be named {value:?}");
        }
        let (method, body) = (self.method, self.body.unwrap_or_default());
        let headers = [common, &parsed(self.headers)?].concat();
        let ask = self.path.map(|path| Ask { method, path, headers, body });
        let texts = ask.iter().flat_map(|ask| {
            let headers = ask.headers.iter().map(|(_, value)| value);
            [&ask.path].into_iter().chain(headers).chain([&ask.body])
        });
        for value in texts.flat_map(Template::names) {
            let removed = if value.starts_with(REMOVED) { TO_FILL_IN } else { "" };
            let is_known = BUILT_IN.contains(&value)
                || before.iter().any(|step| step.capture.contains_key(value));
            ensure!(
                is_known,
                "{{{value}}} in step {name:?} is captured by no earlier step{removed}"
            );
        }
        let (think, capture, weight) = (self.think, self.capture, self.weight);
        let expect = self.expect.unwrap_or_else(Statuses::success);
        Ok(Step { name, ask, think, expect, capture, retry, weight })
    }

    fn retry(&self, name: &str, before: &[Step]) -> anyhow::Result<Option<Retry>> {
        let Some(on) = self.retry_on.clone() else {
            let says_nothing = self.retry_from.is_none() && self.retry_max.is_none();
            ensure!(
                says_nothing,
                "step {name:?} sets how to retry, but not after what: add retry_on"
            );
            return Ok(None);
        };
        if let Some(status) = self.expect.as_ref().and_then(|expect| on.shared(expect)) {
            bail!("step {name:?} both expects {status} and retries after it");
        }
        let other = self.retry_from.as_ref().filter(|from| from.get_ref() != name);
        let from = other.map_or(Ok(before.len()), |from| {
            let always = |step: &Step| step.name == *from.get_ref() && step.weight.is_none();
            before.iter().position(always).ok_or_else(|| {
                let rule = "retry_from names this step, or an earlier one without a weight";
                Broken(from.span(), format!("{rule}; {:?} is none", from.get_ref()))
            })
        })?;
        Ok(Some(Retry { on, from, max: self.retry_max.unwrap_or(RETRY_MAX) }))
    }
}
