//! The documentation as its tests read it: pages, headings, links, prose, code.
//!
//! Tests that hold a page to the code name it by a constant here, so a page that moves has one
//! place.

use std::fs;
use std::ops::Range;
use std::path::Path;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::repository::{files, root};

/// Every key of the configuration.
pub const CONFIGURATION: &str = "docs/reference/configuration.md";
/// The same as a JSON Schema, for editors.
pub const CONFIGURATION_SCHEMA: &str = "docs/reference/config.schema.json";
/// Every error.
pub const ERRORS: &str = "docs/reference/errors.md";
/// Every metric; the contract of dashboards and alerts.
pub const METRICS: &str = "docs/reference/metrics.md";
/// Redis for Anteroom: its user's permissions are here.
pub const REDIS: &str = "docs/how-to/redis.md";
/// Every key in Redis.
pub const REDIS_KEYS: &str = "docs/reference/redis-keys.md";
/// The runbooks, one for each alert.
pub const RUNBOOKS: &str = "docs/operate/runbooks";
/// The walk through NGINX.
pub const PROTECT_YOUR_SERVICE: &str = "docs/tutorials/protect-your-service.md";

/// A page by its path in the repository.
///
/// # Panics
///
/// If it is not there.
pub fn read(path: &str) -> Page {
    let text = fs::read_to_string(root().join(path)).unwrap_or_else(|it| panic!("{path}: {it}"));
    Page { path: path.to_owned(), text }
}

/// All pages: those of `docs/`, and those beside what they describe.
///
/// # Panics
///
/// If a page cannot be read.
pub fn pages() -> Vec<Page> {
    let root = root();
    let relative = |path: &Path| path.strip_prefix(&root).ok()?.to_str().map(str::to_owned);
    let files = files(".md").into_iter();
    files.filter_map(|(path, text)| Some(Page { path: relative(&path)?, text })).collect()
}

/// A Markdown file.
#[derive(Debug)]
pub struct Page {
    /// Its path in the repository.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// A block of code: what stands behind the fence (`sh norun`), and the code.
#[derive(Debug)]
pub struct Block {
    /// The language and its marks.
    pub info: String,
    /// The code.
    pub code: String,
}

/// A paragraph, heading, list item or cell of a table. A span of code counts as one word.
#[derive(Debug)]
pub struct Prose {
    /// The line on which it begins.
    pub line: usize,
    /// Its words.
    pub text: String,
}

impl Page {
    fn events(&self) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
        let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
        Parser::new_ext(&self.text, options).into_offset_iter()
    }

    fn line(&self, at: usize) -> usize {
        1 + self.text.get(..at).unwrap_or_default().matches('\n').count()
    }

    /// The anchors of its headings, as GitHub and mdBook make them.
    pub fn anchors(&self) -> Vec<String> {
        let mut anchors: Vec<String> = Vec::new();
        let mut heading = None;
        for (event, _) in self.events() {
            match event {
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::Text(text) | Event::Code(text) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&text);
                    }
                }
                Event::End(TagEnd::Heading(_)) => {
                    let anchor = anchor(&heading.take().unwrap_or_default());
                    let again = (1..).map(|number| format!("{anchor}-{number}"));
                    let mut names = std::iter::once(anchor.clone()).chain(again);
                    anchors.extend(names.find(|name| !anchors.contains(name)));
                }
                _ => {}
            }
        }
        anchors
    }

    /// Where its links and pictures lead, each with its line.
    pub fn links(&self) -> Vec<(usize, String)> {
        let mut links = Vec::new();
        for (event, range) in self.events() {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    links.push((self.line(range.start), dest_url.into_string()));
                }
                Event::Html(html) | Event::InlineHtml(html) => {
                    for name in [" href=\"", " src=\"", " srcset=\""] {
                        for rest in html.split(name).skip(1) {
                            let link = rest.split('"').next().unwrap_or_default();
                            links.push((self.line(range.start), link.to_owned()));
                        }
                    }
                }
                _ => {}
            }
        }
        links
    }

    /// Its blocks of code.
    pub fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut open: Option<Block> = None;
        for (event, _) in self.events() {
            match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                    open = Some(Block { info: info.into_string(), code: String::new() });
                }
                Event::Text(text) => {
                    if let Some(block) = &mut open {
                        block.code.push_str(&text);
                    }
                }
                Event::End(TagEnd::CodeBlock) => blocks.extend(open.take()),
                _ => {}
            }
        }
        blocks
    }

    /// The comments that begin with these words, each without them.
    pub fn comments(&self, begin: &str) -> Vec<String> {
        let comments = self.text.split("<!--").skip(1).filter_map(|rest| rest.split("-->").next());
        comments.filter_map(|it| it.trim().strip_prefix(begin)).map(str::to_owned).collect()
    }

    /// What people read, without code.
    pub fn prose(&self) -> Vec<Prose> {
        let mut found: Vec<Prose> = Vec::new();
        let (mut open, mut in_code) = (false, false);
        for (event, range) in self.events() {
            match event {
                Event::Start(Tag::CodeBlock(_)) => in_code = true,
                Event::End(TagEnd::CodeBlock) => in_code = false,
                Event::Start(Tag::Paragraph | Tag::Heading { .. } | Tag::Item | Tag::TableCell)
                | Event::End(
                    TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::Item | TagEnd::TableCell,
                ) => open = false,
                Event::Text(text) if !in_code => {
                    push(&mut found, &mut open, self.line(range.start), &text);
                }
                Event::Code(_) => push(&mut found, &mut open, self.line(range.start), "`code`"),
                Event::SoftBreak | Event::HardBreak => {
                    push(&mut found, &mut open, self.line(range.start), " ");
                }
                _ => {}
            }
        }
        found
    }
}

fn push(found: &mut Vec<Prose>, open: &mut bool, line: usize, text: &str) {
    match found.last_mut() {
        Some(last) if *open => last.text.push_str(text),
        _ => found.push(Prose { line, text: text.to_owned() }),
    }
    *open = true;
}

/// The anchor of a heading.
pub fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|it| it.is_alphanumeric() || " -_".contains(*it));
    kept.flat_map(char::to_lowercase).map(|it| if it == ' ' { '-' } else { it }).collect()
}

/// A section of a page of command lines: a command, and what its `--help` prints.
pub fn help_section(command: &str, help: &str) -> String {
    let help = help.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    format!("\n## `{command}`\n\n```text\n{help}\n```\n")
}

/// Holds a generated page to what it is generated from; with `UPDATE_DOCS=1` writes it.
///
/// # Panics
///
/// If the page differs.
pub fn is_generated(path: &str, text: &str) {
    is_generated_by("make docs", path, text);
}

/// The same for a page whose test is run by another command than `make docs`.
///
/// # Panics
///
/// If the page differs.
pub fn is_generated_by(command: &str, path: &str, text: &str) {
    let file = root().join(path);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&file, text).unwrap_or_else(|it| panic!("{path}: {it}"));
        return;
    }
    let there = fs::read_to_string(&file).unwrap_or_default();
    let differs = there.lines().zip(text.lines()).position(|(old, new)| old != new);
    let line = 1 + differs.unwrap_or_else(|| there.lines().count().min(text.lines().count()));
    assert!(there == text, "{path} differs from line {line} on: run UPDATE_DOCS=1 {command}");
}
