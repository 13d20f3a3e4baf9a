//! What a visitor does, from a TOML file, so that no user writes Rust to size a service.
//!
//! A visit walks the steps in order. Neighbouring steps that give a `weight` are alternatives: one
//! of them is done, drawn in proportion. A step without a `path` asks nothing, it only thinks.

mod capture;
pub mod command;
mod expected;
mod file;
pub mod har;
mod template;
mod visit;

use std::collections::BTreeMap;
use std::time::Duration;

use hyper::Method;
use hyper::header::HeaderName;
use serde::Deserialize;

pub use capture::Capture;
pub use expected::{Statuses, Think};
pub use template::Template;
pub use visit::{Call, Turn, Visit};

/// A visitor's way, checked.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What reports call it.
    pub name: String,
    /// In the order of the file.
    pub steps: Vec<Step>,
    /// The connections of a visitor.
    pub connections: Connections,
    /// The name of its file, and the text.
    pub source: (String, String),
    /// The alternatives, in order, each with its probability.
    pub(crate) stages: Vec<Vec<(usize, f64)>>,
}

/// How long a connection lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Connections {
    /// For all requests of a visitor.
    #[default]
    Kept,
    /// For one request.
    New,
}

/// One step of a visit.
#[derive(Clone, Debug)]
pub struct Step {
    /// Unique in its scenario; reports show it.
    pub name: String,
    /// None: it only thinks.
    pub ask: Option<Ask>,
    /// How long the visitor waits before it.
    pub think: Think,
    /// What counts as an answer, 2xx by default.
    pub expect: Statuses,
    /// What later steps use of the answer.
    pub capture: BTreeMap<String, Capture>,
    /// After which answers the visitor tries again.
    pub retry: Option<Retry>,
    /// Its share among the alternatives beside it.
    pub weight: Option<f64>,
}

/// A request, with places for values.
#[derive(Clone, Debug)]
pub struct Ask {
    /// GET, HEAD, POST, PUT, PATCH or DELETE.
    pub method: Method,
    /// Path and query; begins with `/`, or is one value.
    pub path: Template,
    /// Those of the whole scenario first.
    pub headers: Vec<(HeaderName, Template)>,
    /// Empty for none. Sent as `application/json` where it begins with a bracket and no header says
    /// otherwise.
    pub body: Template,
}

/// When a visitor tries again, and from where.
#[derive(Clone, Debug)]
pub struct Retry {
    /// The answers after which it does.
    pub on: Statuses,
    /// The step that it goes back to.
    pub from: usize,
    /// How often at most, in one visit.
    pub max: u32,
}

impl Scenario {
    /// Of the whole, what one step of each stage brings, by its probability.
    fn expected(&self, of: impl Fn(&Step) -> f64) -> f64 {
        self.stages.iter().flatten().map(|(index, share)| share * of(&self.steps[*index])).sum()
    }

    /// Requests that one visit makes when nothing is tried again (an expectation where there are
    /// alternatives).
    pub fn calls_per_visitor(&self) -> f64 {
        self.expected(|step| f64::from(u8::from(step.ask.is_some())))
    }

    /// How long one visit thinks when nothing is tried again, on average.
    pub fn think_per_visitor(&self) -> Duration {
        Duration::from_secs_f64(self.expected(|step| step.think.mean().as_secs_f64()))
    }

    /// How long a visit may think at most, all its steps together, when nothing is tried again.
    pub fn longest_think(&self) -> Duration {
        let of = |(index, _): &(usize, f64)| self.steps[*index].think.most;
        self.stages.iter().filter_map(|stage| stage.iter().map(of).max()).sum()
    }
}
