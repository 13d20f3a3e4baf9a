//! The defaults file as its tests read it: sections, keys, and the comment of each.

use anteroom_config::DEFAULT_TOML;

/// A section, or a key in one.
pub enum Entry {
    Section(Section),
    Key(Key),
}

/// A line `[section]`.
pub struct Section {
    /// Such as `store`, or `queues.*`.
    pub name: String,
    pub comment: Comment,
}

/// A line `key = value`.
pub struct Key {
    pub section: String,
    pub key: String,
    pub value: String,
    /// Whether it is behind a `#`: the key has no default.
    pub is_example: bool,
    pub comment: Comment,
    /// Whether its comment or that of its section says so.
    pub needs_restart: bool,
}

/// The type of a value, by its form.
#[derive(Clone, Copy)]
pub enum Kind {
    Flag,
    Whole,
    Decimal,
    Duration,
    Date,
    Text,
    List,
    Table,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Flag => "true or false",
            Self::Whole => "whole number",
            Self::Decimal => "decimal",
            Self::Duration => "duration",
            Self::Date => "date",
            Self::Text => "text",
            Self::List => "list",
            Self::Table => "table",
        }
    }
}

impl Key {
    pub fn kind(&self) -> Kind {
        let text = self.value.trim_matches('"');
        let is_duration = text.ends_with(['s', 'm', 'h', 'd'])
            && text.starts_with(|it: char| it.is_ascii_digit())
            && !text.contains([':', '/', '.']);
        match self.value.chars().next() {
            Some('[') => Kind::List,
            Some('{') => Kind::Table,
            Some('t' | 'f') => Kind::Flag,
            Some('"') if is_duration => Kind::Duration,
            Some('"') if text.contains('T') && text.contains("+09:00") => Kind::Date,
            Some('"') => Kind::Text,
            _ if self.value.contains('.') => Kind::Decimal,
            _ => Kind::Whole,
        }
    }
}

/// The comment before a section or a key: text, then facts of a line or more each.
#[derive(Default)]
pub struct Comment {
    /// The heading of a group that begins here.
    pub group: Option<String>,
    pub text: String,
    /// `Range: …` or `Values: …`.
    pub range: Option<String>,
    /// What holds while the key is unset.
    pub unset: Option<String>,
    pub needs_restart: bool,
}

impl Comment {
    /// The text comes first, then the facts, a line each.
    fn read(lines: &[&str]) -> Self {
        let mut comment = Self::default();
        for line in lines {
            let is_range = line.starts_with("Range: ") || line.starts_with("Values: ");
            if let Some(group) = line.strip_prefix("== ") {
                comment.group = Some(group.trim_end_matches(" ==").to_owned());
            } else if *line == "Takes effect after a restart." {
                comment.needs_restart = true;
            } else if let Some(unset) = line.strip_prefix("Unset: ") {
                comment.unset = Some(unset.to_owned());
            } else if is_range {
                comment.range = Some((*line).to_owned());
            } else {
                let has_facts =
                    comment.needs_restart || comment.unset.is_some() || comment.range.is_some();
                assert!(!has_facts, "text after facts: {lines:?}");
                comment.text = format!("{} {line}", comment.text).trim().to_owned();
            }
        }
        let facts = [&comment.unset, &comment.range];
        assert!(facts.into_iter().flatten().all(|fact| fact.ends_with('.')), "{lines:?}");
        comment
    }
}

/// All sections and keys, in the order of the file.
pub fn entries() -> Vec<Entry> {
    let (mut section, mut section_needs_restart) = (String::new(), false);
    let mut comment = Vec::new();
    let mut entries = Vec::new();
    for line in DEFAULT_TOML.lines() {
        let (line, is_example) = match line.strip_prefix('#') {
            Some(rest) if rest.starts_with(|it: char| it == '[' || it.is_lowercase()) => {
                (rest, true)
            }
            Some(rest) if rest.trim_start().starts_with("---") => {
                comment.clear();
                continue;
            }
            Some(rest) => {
                comment.push(rest.trim_start());
                continue;
            }
            None => (line, false),
        };
        if line.is_empty() {
            continue;
        }
        let comment = Comment::read(&std::mem::take(&mut comment));
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').replace('"', "");
            section_needs_restart = comment.needs_restart;
            entries.push(Entry::Section(Section { name: section.clone(), comment }));
        } else if let Some((key, value)) = line.split_once(" = ") {
            let (section, key, value) = (section.clone(), key.to_owned(), value.to_owned());
            let needs_restart = comment.needs_restart || section_needs_restart;
            entries.push(Entry::Key(Key {
                section,
                key,
                value,
                is_example,
                comment,
                needs_restart,
            }));
        }
    }
    entries
}

/// All keys.
pub fn keys() -> impl Iterator<Item = Key> {
    entries().into_iter().filter_map(|entry| match entry {
        Entry::Key(key) => Some(key),
        Entry::Section(_) => None,
    })
}
