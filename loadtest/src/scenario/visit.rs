//! One visit: which request is next, and what its answer leads to. The driver does the waiting and
//! the sending, so every driver walks the same way.

use std::sync::Arc;
use std::time::Duration;

use hyper::header::{CONTENT_TYPE, COOKIE, HeaderValue, SET_COOKIE};
use hyper::{HeaderMap, Method, StatusCode};
use rand::seq::IndexedRandom as _;

use super::template::{Values, json_escaped, url_escaped};
use super::{Ask, Scenario};
use crate::client::Fault;

/// The media type of a form, in which values are percent-encoded.
const FORM: &[u8] = b"application/x-www-form-urlencoded";

/// A visit under way.
pub struct Visit {
    scenario: Arc<Scenario>,
    /// The steps of this visit, in order.
    way: Vec<usize>,
    /// Index in `way` of the step that is next.
    at: usize,
    /// Index in `way` of the first step that had no request yet.
    furthest: usize,
    /// How often each step of the way was tried again.
    retries: Vec<u32>,
    values: Values,
}

/// What is to be done next.
#[derive(Debug)]
pub struct Turn {
    /// Index of the step in the scenario.
    pub step: usize,
    /// First wait this long.
    pub think: Duration,
    /// Then send this; nothing where the step only thinks.
    pub call: Option<Call>,
    /// Whether this visit has made this step before.
    pub again: bool,
}

/// A request with its values.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its method.
    pub method: Method,
    /// Path and query.
    pub target: String,
    /// Its headers, without `Host`.
    pub headers: HeaderMap,
    /// Empty for none.
    pub body: String,
}

impl Visit {
    /// Begins a visit of the user of this number.
    pub fn new(scenario: &Arc<Scenario>, user: u64) -> Self {
        let draw = |stage: &Vec<(usize, f64)>| {
            // Probabilities are above 0, so there is always one to draw.
            stage.choose_weighted(&mut rand::rng(), |(_, share)| *share).map_or(0, |drawn| drawn.0)
        };
        let way: Vec<_> = scenario.stages.iter().map(draw).collect();
        let (scenario, retries) = (Arc::clone(scenario), vec![0; way.len()]);
        let values = Values { user, ..Values::default() };
        Self { scenario, way, at: 0, furthest: 0, retries, values }
    }

    /// What is next; nothing after the last step.
    ///
    /// # Errors
    ///
    /// [`Fault::Value`].
    pub fn turn(&mut self) -> Result<Option<Turn>, Fault> {
        let Some(step) = self.way.get(self.at).copied() else { return Ok(None) };
        let ask = self.scenario.steps[step].ask.as_ref();
        let call = ask.map(|ask| ask.fill(&self.values)).transpose()?;
        let again = self.at < self.furthest;
        self.furthest = self.furthest.max(self.at + 1);
        let think = self.scenario.steps[step].think.draw();
        if call.is_none() {
            self.at += 1;
        }
        Ok(Some(Turn { step, think, call, again }))
    }

    /// Takes the answer to the call of the last turn.
    pub fn answered(
        &mut self,
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<(), Fault> {
        let set = headers.get_all(SET_COOKIE).iter().filter_map(|value| value.to_str().ok());
        for (name, value) in set.filter_map(|cookie| cookie.split(';').next()?.split_once('=')) {
            self.values.cookies.insert(name.trim().to_owned(), value.trim().to_owned());
        }
        // An empty value is how a service takes a cookie back.
        self.values.cookies.retain(|_, value| !value.is_empty());
        let step = &self.scenario.steps[self.way[self.at]];
        if let Some(retry) = step.retry.as_ref().filter(|retry| retry.on.contains(status)) {
            if self.retries[self.at] == retry.max {
                return Err(Fault::Retries);
            }
            self.retries[self.at] += 1;
            // A step to go back to is on every way.
            self.at = self.way.iter().position(|index| *index == retry.from).unwrap_or(self.at);
            return Ok(());
        }
        if !step.expect.contains(status) {
            return Err(Fault::Status);
        }
        for (name, capture) in &step.capture {
            let value = capture.of(headers, body).ok_or(Fault::Value)?;
            self.values.captured.insert(name.clone(), value);
        }
        self.at += 1;
        Ok(())
    }
}

impl Ask {
    fn fill(&self, values: &Values) -> Result<Call, Fault> {
        // A value that is the whole path, such as a `Location`, is one already.
        let escape = if self.path.is_one_value() { str::to_owned } else { url_escaped };
        let target = self.path.fill(values, escape)?;
        if !target.starts_with('/') {
            return Err(Fault::Value);
        }
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let value = HeaderValue::from_str(&value.fill(values, str::to_owned)?);
            headers.insert(name, value.map_err(|_| Fault::Value)?);
        }
        let cookies = values.cookies.iter().map(|(name, value)| format!("{name}={value}"));
        let cookies = cookies.collect::<Vec<_>>().join("; ");
        // What was a header's value is one again; a step's own header goes before.
        if let Some(value) = HeaderValue::try_from(cookies).ok().filter(|it| !it.is_empty()) {
            headers.entry(COOKIE).or_insert(value);
        }
        let is_json = self.body.source().trim_start().starts_with(['{', '[']);
        if is_json {
            let json = HeaderValue::from_static("application/json");
            headers.entry(CONTENT_TYPE).or_insert(json);
        }
        let kind = headers.get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
        let escape = match kind.to_ascii_lowercase().starts_with(FORM) {
            _ if is_json => json_escaped,
            true => url_escaped,
            false => str::to_owned,
        };
        let body = self.body.fill(values, escape)?;
        Ok(Call { method: self.method.clone(), target, headers, body })
    }
}
