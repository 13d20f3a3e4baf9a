//! The values that stand in a scenario for what was removed from a recording.

use std::collections::{HashMap, HashSet};

use rand::Rng as _;

use crate::scenario::template::literal;

/// How the name of a removed value begins.
pub const REMOVED: &str = "removed_";

/// One mark for each removed value: the same for the same value of the same field.
pub struct Marks {
    /// How a mark begins: drawn, so it stands in no text of a recording.
    mark: String,
    /// The names of the values; a mark ends with an index of it.
    names: Vec<String>,
    taken: HashSet<String>,
    /// How many values of each field there are.
    values: HashMap<String, usize>,
    /// By name of the field and value.
    known: HashMap<(String, String), usize>,
}

impl Default for Marks {
    fn default() -> Self {
        Self {
            // Letters alone, so that it looks like no secret.
            mark: (0..12).map(|_| rand::rng().random_range('a'..='z')).collect(),
            names: Vec::new(),
            taken: HashSet::new(),
            values: HashMap::new(),
            known: HashMap::new(),
        }
    }
}

impl Marks {
    /// The mark of a value of this field.
    pub fn of(&mut self, field: &str, value: &str) -> String {
        let field = identifier(field);
        let key = (field, value.to_owned());
        let index = self.known.get(&key).copied().unwrap_or_else(|| {
            let name = self.unused(&key.0);
            self.names.push(name);
            self.known.insert(key, self.names.len() - 1);
            self.names.len() - 1
        });
        let index = index.to_string();
        let letters = index.bytes().map(|digit| char::from(digit - b'0' + b'a'));
        format!("{}{}z", self.mark, letters.collect::<String>())
    }

    fn unused(&mut self, field: &str) -> String {
        let values = self.values.entry(field.to_owned()).or_default();
        loop {
            *values += 1;
            let name = match *values {
                1 => format!("{REMOVED}{field}"),
                values => format!("{REMOVED}{field}_{values}"),
            };
            // A field may be named like the second value of another.
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }

    /// The text as a scenario has it, where marks are values and all else is itself.
    pub fn written(&self, text: &str) -> String {
        let mut parts = text.split(&self.mark);
        let mut before = parts.next().unwrap_or_default();
        let mut written = String::new();
        for part in parts {
            let (index, mut after) = part.split_once('z').unwrap_or((part, ""));
            let index = index.bytes().fold(0, |sum, digit| sum * 10 + usize::from(digit - b'a'));
            // In braces of its own a value would be text.
            while let (Some(open), Some(close)) =
                (before.strip_suffix('{'), after.strip_prefix('}'))
            {
                (before, after) = (open, close);
            }
            written += &format!("{}{{{}}}", literal(before), self.names[index]);
            before = after;
        }
        written + &literal(before)
    }
}

/// A name that a value may have.
fn identifier(field: &str) -> String {
    let lower = field.to_lowercase();
    let words = lower.split(|char: char| !char.is_ascii_alphanumeric());
    let joined = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_");
    let short: String = joined.chars().take(40).collect();
    if short.is_empty() { "value".to_owned() } else { short }
}
