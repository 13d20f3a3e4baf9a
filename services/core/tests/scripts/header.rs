//! The header of a script, read.

use std::collections::BTreeSet;

use anteroom_core::store::Script;

use super::{Subsystem, lua};

/// The header of a script, and what stands behind it.
pub struct Header {
    pub purpose: String,
    pub uses: Vec<String>,
    pub keys: String,
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
        let path = lua().join(script.name.replace('.', "/")).with_extension("lua");
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
        let names = field("-- ARGV: ").0;
        let (fixed, repeated) = names.split_once("(").map_or((&names[..], ""), |(fixed, _)| {
            (fixed.trim_end_matches([',', ' ']), &names[fixed.len()..])
        });
        Self {
            purpose: field(&format!("-- {}: ", script.name)).0,
            uses: field("-- Uses: ").1.split(' ').map(str::to_owned).collect(),
            keys: field("-- KEYS: ").1,
            fixed: fixed.split(", ").map(str::to_owned).collect(),
            repeated: repeated.to_owned(),
            reply: field("-- Reply: ").1,
            codes: field("-- Codes: ").1.split(' ').map(str::to_owned).collect(),
            body: body.join("\n"),
        }
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
