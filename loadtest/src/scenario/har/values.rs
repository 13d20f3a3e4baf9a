//! The values that stand in a scenario for recorded ones: captured from an earlier answer that
//! shows the value, or for the user to fill in.

use std::collections::HashMap;
use std::sync::LazyLock;

use rand::Rng as _;
use regex::Regex;

use super::answers::Answer;
use super::rules::Kind;
use crate::scenario::template::{literal, may_be_captured};

/// How the name of a value begins that was removed and that no answer shows.
pub const REMOVED: &str = "fill_in_";

/// How a mark begins: drawn, so it is in no text of a recording. Letters alone look like no
/// secret, and these like no hexadecimal digit after a `%`.
pub static MARK: LazyLock<String> =
    LazyLock::new(|| (0..12).map(|_| rand::rng().random_range('g'..='x')).collect());

/// A number of JSON with a mark in it: until it is written, a string that ends so.
pub static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!("\"([^\"]*){}\"", *MARK)).expect("letters need no escape")
});

#[derive(Default)]
pub struct Values<'r> {
    /// The names of the values; a mark ends with an index of it.
    names: Vec<String>,
    /// How deep within each other the texts are that are looked through now.
    pub depth: u32,
    /// The marks by name of the field, if it counts, and recorded value.
    known: HashMap<(String, String), String>,
    /// The steps so far, as the scenario has them, and their answers.
    pub steps: Vec<(String, Answer<'r>)>,
    /// The values that steps capture, in lines for people.
    pub captured: Vec<String>,
    /// The values to fill in, in lines for people.
    pub to_fill_in: Vec<String>,
}

impl Values<'_> {
    /// A mark for a recorded value, which passes unchanged through every way of writing; nothing
    /// for a number that is replayed. A value has one mark; one that may be another field's by
    /// chance has one for each field.
    pub fn of(&mut self, kind: Kind, field: &str, value: &str, place: &str) -> Option<String> {
        let field = identifier(field);
        let shared = kind == Kind::Random && value.len() >= 5;
        let key = (if shared { String::new() } else { field.clone() }, value.to_owned());
        if let Some(mark) = self.known.get(&key) {
            return Some(mark.clone());
        }
        let after = (kind == Kind::Number).then_some(field.as_str());
        let searched = if shared || after.is_some() { &self.steps[..] } else { &[] };
        let mut steps = searched.iter().enumerate();
        let shown = steps.find_map(|(step, (_, it))| Some((step, it.shows(value, after)?)));
        let mark = match shown {
            Some((step, place)) => self.capture(step, field, &place),
            None if after.is_some() => return None,
            None => {
                let (name, mark) = self.named(format!("{REMOVED}{field}"));
                let step = self.steps.len() + 1;
                self.to_fill_in.push(format!("step {step}: {{{name}}}: {place}"));
                mark
            }
        };
        self.known.insert(key, mark.clone());
        Some(mark)
    }

    /// A mark for this path and query where an earlier answer leads there: a visit follows no
    /// redirect by itself.
    pub fn redirected(&mut self, target: &str) -> Option<String> {
        let mut steps = self.steps.iter_mut().enumerate().rev();
        let (step, place) = steps.find_map(|(step, (_, it))| Some((step, it.leads_to(target)?)))?;
        Some(self.capture(step, "location".to_owned(), &place))
    }

    fn capture(&mut self, step: usize, name: String, place: &str) -> String {
        let (name, mark) = self.named(name);
        self.steps[step].0 += &format!("capture.{name} = {place}\n");
        self.captured.push(format!("{{{name}}} from step {}", step + 1));
        mark
    }

    /// A name that is free, and its mark.
    fn named(&mut self, name: String) -> (String, String) {
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let mut names = std::iter::once(name.clone()).chain(numbered);
        let is_free = |it: &String| may_be_captured(it) && !self.names.contains(it);
        let name = names.find(is_free).unwrap_or_default();
        let index = self.names.len().to_string();
        let letters = index.bytes().map(|digit| char::from(digit - b'0' + b'a'));
        let mark = format!("{}{}z", *MARK, letters.collect::<String>());
        self.names.push(name.clone());
        (name, mark)
    }

    /// The text as a scenario has it, where marks are values and all else is itself.
    pub fn written(&self, text: &str) -> String {
        let mut parts = text.split(MARK.as_str());
        let (mut before, mut written) = (parts.next().unwrap_or_default(), String::new());
        for part in parts {
            let (index, mut after) = part.split_once('z').unwrap_or_default();
            let index = index.bytes().fold(0, |sum, digit| sum * 10 + usize::from(digit - b'a'));
            // In braces of its own a value would be text.
            while let (Some(outer), Some(rest)) =
                (before.strip_suffix('{'), after.strip_prefix('}'))
            {
                (before, after) = (outer, rest);
            }
            written += &format!("{}{{{}}}", literal(before), self.names[index]);
            before = after;
        }
        written + &literal(before)
    }
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
