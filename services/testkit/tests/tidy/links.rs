//! Every link within the repository leads to a file, and to a heading if it names one.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use anteroom_testkit::docs::{pages, read};
use anteroom_testkit::repository::root;

/// A link from a page, as a path in the repository.
fn target(page: &str, link: &str) -> PathBuf {
    let folder = Path::new(page).parent().unwrap();
    let mut path = PathBuf::new();
    for part in folder.join(link).components() {
        match part {
            Component::ParentDir => assert!(path.pop(), "{page}: {link} leaves the repository"),
            part => path.push(part),
        }
    }
    path
}

#[test]
fn every_link_leads_somewhere() {
    let mut broken = Vec::new();
    let mut anchors = BTreeMap::new();
    for page in pages() {
        for (line, link) in page.links() {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let path =
                if path.is_empty() { PathBuf::from(&page.path) } else { target(&page.path, path) };
            if !root().join(&path).exists() {
                broken.push(format!("{}:{line}: {link}: no such file", page.path));
                continue;
            }
            if anchor.is_empty() || path.extension().is_none_or(|ending| ending != "md") {
                continue;
            }
            let known = anchors
                .entry(path.clone())
                .or_insert_with(|| read(path.to_str().unwrap()).anchors());
            if !known.iter().any(|it| it == anchor) {
                broken.push(format!("{}:{line}: {link}: no such heading", page.path));
            }
        }
    }
    assert!(broken.is_empty(), "{} broken links:\n{}", broken.len(), broken.join("\n"));
}

#[test]
fn the_summary_lists_every_page_once() {
    let summary = read("docs/SUMMARY.md");
    let mut listed: Vec<_> =
        summary.links().into_iter().map(|(_, link)| target(&summary.path, &link)).collect();
    listed.sort();
    let under_docs = pages().into_iter().map(|page| page.path);
    let mut there: Vec<_> = under_docs
        .filter(|path| path.starts_with("docs/") && *path != summary.path)
        .map(PathBuf::from)
        .collect();
    there.sort();
    assert_eq!(listed, there);
}
