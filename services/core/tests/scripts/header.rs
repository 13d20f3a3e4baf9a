//! The header of a script, read.

use std::collections::BTreeSet;

use anteroom_core::store::Script;

use super::{Subsystem, lua};

/// The header of a script, and what stands behind it.
pub struct Header {
    pub purpose: String,
    pub uses: Vec<String>,
    /// The keys that every call has.
    pub keys: String,
    /// What is repeated behind them, as a batch's items say: `(counter)*`, or nothing.
    pub repeated_keys: String,
    /// The names of the arguments that every call has.
    pub fixed: Vec<String>,
    /// What is repeated behind them: `(rule, value)*`, or nothing.
    pub repeated: String,
    pub reply: String,
    pub codes: BTreeSet<String>,
    pub body: String,
}

impl Header {
    pub fn of(script: &Script) -> Self {
        let (_, operation) = script.name.split_once('.').expect("subsystem.operation");
        let path = lua().join(Subsystem::of(script).folder).join(format!("{operation}.lua"));
        let text = std::fs::read_to_string(path).expect("the script's file");
        let header: Vec<_> = text.lines().take_while(|line| line.starts_with("--")).collect();
        let body: Vec<_> = text.lines().skip(header.len()).collect();
        // A field goes on in the lines that begin further in.
        let field = |start: &str| {
            let mut lines = header.iter().skip_while(|line| !line.starts_with(start));
            let first = lines.next().unwrap_or_else(|| panic!("{}: no {start:?}", script.name));
            let more = lines.take_while(|line| line.starts_with("--  ")).map(|line| &line[2..]);
            let first = first[start.len()..].trim().to_owned();
            (first.clone(), more.fold(first, |all, line| format!("{all} {}", line.trim())))
        };
        // The names stand in the first line, what they mean in the next.
        let (keys, names) = (field("-- KEYS: ").1, field("-- ARGV: ").0);
        let (keys, repeated_keys) = apart(&keys);
        let (fixed, repeated) = apart(&names);
        Self {
            purpose: field(&format!("-- {}: ", script.name)).0,
            uses: field("-- Uses: ").1.split(' ').map(str::to_owned).collect(),
            keys: keys.to_owned(),
            repeated_keys: repeated_keys.to_owned(),
            fixed: fixed.split(", ").map(str::to_owned).collect(),
            repeated: repeated.to_owned(),
            reply: field("-- Reply: ").1,
            codes: field("-- Codes: ").1.split(' ').map(str::to_owned).collect(),
            body: body.join("\n"),
        }
    }

    /// Whether a call with these keys is one that the header describes. Those that the items name
    /// may be of several hash tags: on a single server a lane serves all of them.
    pub fn has_keys(&self, script: &Script, keys: &[String]) -> bool {
        let tag = keys.first().and_then(|key| Some(key.split_once('{')?.1.split_once('}')?.0));
        let named = script.keys_of(tag.unwrap_or_default());
        let named: Vec<_> = named.iter().map(String::from_utf8_lossy).collect();
        let Some((front, rest)) = keys.split_at_checked(named.len()) else { return false };
        let start = format!("anteroom:v1:{}:{{", Subsystem::of(script).name);
        front == named
            && (rest.is_empty() || !self.repeated_keys.is_empty())
            && rest.iter().all(|key| key.starts_with(&start))
    }

    /// Whether a call with these arguments is one that the header describes.
    pub fn describes(&self, of: &Subsystem, args: &[Vec<u8>]) -> bool {
        let Some(rest) = args.get(self.fixed.len()..) else { return false };
        if self.repeated.is_empty() {
            return rest.is_empty();
        }
        let known = of.repeated.iter().find(|(repeated, _)| *repeated == self.repeated);
        let (_, fits) = known.unwrap_or_else(|| panic!("{}: what is it?", self.repeated));
        !rest.is_empty() && fits(rest)
    }
}

/// What every call has, and what is repeated behind it.
fn apart(names: &str) -> (&str, &str) {
    let (fixed, repeated) = names.split_at(names.find('(').unwrap_or(names.len()));
    (fixed.trim_end_matches([',', ' ']), repeated)
}
