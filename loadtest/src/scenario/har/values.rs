//! The values that stand in a scenario for recorded ones: captured from an earlier answer that
//! shows the value, or for the user to fill in.

use std::collections::{HashMap, HashSet};

use rand::Rng as _;

use super::answers::Answer;
use super::rules::Kind;
use crate::scenario::template::{BUILT_IN, literal};

/// How the name of a value begins that was removed and that no answer shows.
pub const REMOVED: &str = "fill_in_";

pub struct Values<'r> {
    /// How a mark begins: drawn, so it stands in no text of a recording.
    mark: String,
    /// The names of the values; a mark ends with an index of it.
    names: Vec<String>,
    taken: HashSet<String>,
    /// By name of the field, where it counts, and recorded value.
    known: HashMap<(String, String), usize>,
    /// The steps so far, as the scenario has them, and their answers.
    pub steps: Vec<(String, Answer<'r>)>,
    /// The values that steps capture, in lines for people.
    pub captured: Vec<String>,
    /// The values to fill in, in lines for people.
    pub to_fill_in: Vec<String>,
}

impl Default for Values<'_> {
    fn default() -> Self {
        Self {
            // Letters alone, so that it looks like no secret.
            mark: (0..12).map(|_| rand::rng().random_range('a'..='x')).collect(),
            names: Vec::new(),
            taken: BUILT_IN.map(str::to_owned).into(),
            known: HashMap::new(),
            steps: Vec::new(),
            captured: Vec::new(),
            to_fill_in: Vec::new(),
        }
    }
}

impl Values<'_> {
    /// A mark for a recorded value, which passes unchanged through every way of writing; nothing
    /// for a number that is replayed. A value has one mark; one that may be another field's by
    /// chance has one for each field.
    pub fn of(&mut self, kind: Kind, field: &str, value: &str, place: &str) -> Option<String> {
        let field = identifier(field);
        let shared = kind == Kind::Random && value.len() >= 5;
        let key = (if shared { String::new() } else { field.clone() }, value.to_owned());
        let index = if let Some(index) = self.known.get(&key) {
            *index
        } else {
            let after = (kind == Kind::Number).then_some(field.as_str());
            let steps = self.steps.iter().enumerate();
            let mut steps = steps.filter(|_| shared || after.is_some());
            let shown = steps.find_map(|(step, (_, it))| Some((step, it.shows(value, after)?)));
            let name = match shown {
                Some((step, place)) => self.capture(step, &field, &place),
                None if after.is_some() => return None,
                None => {
                    let name = self.unused(&format!("{REMOVED}{field}"));
                    let step = self.steps.len() + 1;
                    self.to_fill_in.push(format!("step {step}: {{{name}}}: {place}"));
                    name
                }
            };
            self.names.push(name);
            self.known.insert(key, self.names.len() - 1);
            self.names.len() - 1
        };
        let index = index.to_string();
        let letters = index.bytes().map(|digit| char::from(digit - b'0' + b'a'));
        Some(format!("{}{}z", self.mark, letters.collect::<String>()))
    }

    /// The value that is this path and query where an earlier answer leads there: a visit follows
    /// no redirect by itself.
    pub fn redirected(&mut self, target: &str) -> Option<String> {
        let mut steps = self.steps.iter_mut().enumerate().rev();
        let (step, place) = steps.find_map(|(step, (_, it))| Some((step, it.leads_to(target)?)))?;
        Some(format!("{{{}}}", self.capture(step, "location", &place)))
    }

    fn capture(&mut self, step: usize, name: &str, place: &str) -> String {
        let name = self.unused(name);
        self.steps[step].0 += &format!("capture.{name} = {place}\n");
        self.captured.push(format!("{{{name}}} from step {}", step + 1));
        name
    }

    fn unused(&mut self, name: &str) -> String {
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        names.find(|name| self.taken.insert(name.clone())).unwrap_or_default()
    }

    /// The text as a scenario has it, where marks are values and all else is itself.
    pub fn written(&self, text: &str) -> String {
        let mut parts = text.split(&self.mark);
        let mut before = parts.next().unwrap_or_default();
        let mut written = String::new();
        for part in parts {
            let (index, after) = part.split_at(part.find(['y', 'z']).unwrap_or_default());
            let index = index.bytes().fold(0, |sum, digit| sum * 10 + usize::from(digit - b'a'));
            // A number of JSON is no string. In braces of its own a value would be text.
            let quotes = ["\\\"", "\"", "%22"].into_iter().filter(|_| after.starts_with('y'));
            let mut after = after.get(1..).unwrap_or_default();
            for (open, close) in quotes.map(|quote| (quote, quote)).chain([("{", "}")]) {
                while let (Some(outer), Some(rest)) =
                    (before.strip_suffix(open), after.strip_prefix(close))
                {
                    (before, after) = (outer, rest);
                }
            }
            written += &format!("{}{{{}}}", literal(before), self.names[index]);
            before = after;
        }
        written + &literal(before)
    }
}

/// The mark of a number of JSON.
pub fn of_number(mark: &str) -> String {
    format!("{}y", mark.trim_end_matches('z'))
}

/// A name that a value may have: of `orders` that of an order.
fn identifier(field: &str) -> String {
    let lower = field.to_lowercase();
    let words = lower.split(|char: char| !char.is_ascii_alphanumeric());
    let joined = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_");
    let short: String = joined.chars().take(40).collect();
    let one = short.strip_suffix('s').filter(|one| !one.ends_with('s')).unwrap_or(&short);
    match one.bytes().next() {
        None => "value".to_owned(),
        Some(b'0'..=b'9') => format!("value_{one}"),
        Some(_) => one.to_owned(),
    }
}
