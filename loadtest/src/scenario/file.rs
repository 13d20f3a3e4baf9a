//! Reading a scenario: unknown keys are refused, and whatever is wrong is told with its line.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::path::Path;

use hyper::Method;
use hyper::header::HeaderName;
use serde::Deserialize;
use toml::Spanned;

use super::har::REMOVED;
use super::template::{self, Template};
use super::{Ask, Capture, Connections, Retry, Scenario, Statuses, Step, Think};
use crate::exit::Usage;

/// So often a visitor tries again where the file does not say.
const RETRY_MAX: u32 = 3;

/// The scenario that measures the sample concert service.
pub const CONCERT: &str = include_str!("../../scenarios/concert.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    connections: Connections,
    #[serde(default)]
    headers: BTreeMap<Name, Template>,
    #[serde(default)]
    steps: Vec<Spanned<Written>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: Option<String>,
    #[serde(default)]
    method: Verb,
    path: Option<Target>,
    #[serde(default)]
    headers: BTreeMap<Name, Template>,
    body: Option<Template>,
    #[serde(default)]
    think: Think,
    expect: Option<Statuses>,
    #[serde(default)]
    capture: BTreeMap<String, Capture>,
    retry_on: Option<Statuses>,
    retry_from: Option<Spanned<String>>,
    retry_max: Option<u32>,
    weight: Option<Weight>,
}

#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(try_from = "String")]
struct Name(String);

impl TryFrom<String> for Name {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let header = name.parse::<HeaderName>().map_err(|_| format!("{name:?} is no header"))?;
        Ok(Self(header.as_str().to_owned()))
    }
}

#[derive(Default, Deserialize)]
#[serde(try_from = "String")]
struct Verb(Method);

impl TryFrom<String> for Verb {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        match name.as_str() {
            "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" => {
                Ok(Self(name.parse().map_err(|_| name)?))
            }
            _ => Err(format!("{name:?} is none of GET, HEAD, POST, PUT, PATCH and DELETE")),
        }
    }
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Target(Template);

impl TryFrom<String> for Target {
    type Error = String;

    fn try_from(path: String) -> Result<Self, String> {
        let template = Template::from(path);
        if template.source().starts_with('/') || template.is_one_value() {
            return Ok(Self(template));
        }
        Err(format!("a path begins with '/', {:?} does not", template.source()))
    }
}

#[derive(Deserialize)]
#[serde(try_from = "f64")]
struct Weight(f64);

impl TryFrom<f64> for Weight {
    type Error = String;

    fn try_from(weight: f64) -> Result<Self, String> {
        if weight > 0.0 && weight.is_finite() {
            return Ok(Self(weight));
        }
        Err(format!("a weight is above 0, {weight} is not"))
    }
}

/// A rule that the text breaks at this place.
struct Broken {
    span: Range<usize>,
    rule: String,
}

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
        let told = |span: Range<usize>, rule: &str| {
            let line = 1 + text[..span.start.min(text.len())].matches('\n').count();
            Usage(format!("{file}, line {line}: {rule}"))
        };
        let written: File = toml::from_str(text)
            .map_err(|error| told(error.span().unwrap_or_default(), error.message()))?;
        let mut scenario =
            check(written, file).map_err(|broken| told(broken.span, &broken.rule))?;
        scenario.source = (file.to_owned(), text.to_owned());
        Ok(scenario)
    }
}

/// The rules that concern more than one key.
fn check(file: File, path: &str) -> Result<Scenario, Broken> {
    let connections = file.connections;
    let common = file.headers.into_iter().collect::<Vec<_>>();
    let mut steps: Vec<Step> = Vec::new();
    let mut known: HashSet<String> = template::BUILT_IN.map(str::to_owned).into();
    for written in file.steps {
        let span = written.span();
        let broken = |rule| Broken { span: span.clone(), rule };
        let written = written.into_inner();
        let name = written.name.clone().unwrap_or_else(|| match &written.path {
            Some(Target(path)) => format!("{} {}", written.method.0, path.source()),
            None => format!("pause {}", steps.len() + 1),
        });
        if steps.iter().any(|step| step.name == name) {
            return Err(broken(format!("two steps are named {name:?}: give each a name")));
        }
        let (on, from, max) = (written.retry_on, written.retry_from, written.retry_max);
        if let Some(status) = on.iter().zip(&written.expect).find_map(|(on, it)| on.shared(it)) {
            let rule = format!("step {name:?} both expects {status} and tries again after it");
            return Err(broken(rule));
        }
        let retry = retry(on, from, max, &name, &steps, &span)?;
        let headers = common.iter().map(|(Name(name), value)| (Name(name.clone()), value.clone()));
        let ask = match written.path {
            Some(Target(path)) => Some(Ask {
                method: written.method.0,
                path,
                headers: headers.chain(written.headers).map(header).collect(),
                body: written.body,
            }),
            None => {
                let only_thinks = written.headers.is_empty()
                    && written.body.is_none()
                    && written.expect.is_none()
                    && written.capture.is_empty()
                    && retry.is_none();
                if !only_thinks {
                    return Err(broken(format!("step {name:?} has no path, so it only thinks")));
                }
                None
            }
        };
        if let Some(value) = ask.iter().flat_map(Ask::names).find(|name| !known.contains(*name)) {
            let mut rule = format!("{{{value}}} in step {name:?} is captured by no earlier step");
            if value.starts_with(REMOVED) {
                rule +=
                    ": it was removed from a recording, capture it or put a value for tests there";
            }
            return Err(broken(rule));
        }
        for value in written.capture.keys() {
            if !template::is_name(value) || template::BUILT_IN.contains(&value.as_str()) {
                let rule = format!("a capture cannot be named {value:?}");
                return Err(broken(rule));
            }
        }
        known.extend(written.capture.keys().cloned());
        steps.push(Step {
            name,
            ask,
            think: written.think,
            expect: written.expect.unwrap_or_else(Statuses::success),
            capture: written.capture,
            retry,
            weight: written.weight.map(|Weight(weight)| weight),
        });
    }
    if !steps.iter().any(|step| step.ask.is_some()) {
        return Err(Broken { span: 0..0, rule: "no step has a path".to_owned() });
    }
    let mut stages: Vec<Vec<usize>> = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let beside = index > 0 && step.weight.is_some() && steps[index - 1].weight.is_some();
        match stages.last_mut() {
            Some(stage) if beside => stage.push(index),
            _ => stages.push(vec![index]),
        }
    }
    let stem = Path::new(path).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = file.name.or(stem).unwrap_or_default();
    Ok(Scenario { name, steps, connections, stages, source: Default::default() })
}

fn header((Name(name), value): (Name, Template)) -> (HeaderName, Template) {
    (name.parse().expect("a header's name was checked when it was read"), value)
}

fn retry(
    on: Option<Statuses>,
    from: Option<Spanned<String>>,
    max: Option<u32>,
    name: &str,
    before: &[Step],
    span: &Range<usize>,
) -> Result<Option<Retry>, Broken> {
    let Some(on) = on else {
        if from.is_none() && max.is_none() {
            return Ok(None);
        }
        let rule = format!("step {name:?} says how to retry, but not after what: retry_on");
        return Err(Broken { span: span.clone(), rule });
    };
    let own = before.len();
    let from = match from {
        None => own,
        Some(from) if from.get_ref() == name => own,
        Some(from) => {
            let always = |step: &Step| step.name == *from.get_ref() && step.weight.is_none();
            before.iter().position(always).ok_or_else(|| {
                let rule = "retry_from names this step, or an earlier one without a weight";
                Broken { span: from.span(), rule: format!("{rule}; {:?} is none", from.get_ref()) }
            })?
        }
    };
    Ok(Some(Retry { on, from, max: max.unwrap_or(RETRY_MAX) }))
}

impl Ask {
    /// The names of the values that it needs.
    fn names(&self) -> impl Iterator<Item = &str> {
        let headers = self.headers.iter().map(|(_, value)| value);
        let templates = std::iter::once(&self.path).chain(headers).chain(&self.body);
        templates.flat_map(Template::names)
    }
}
