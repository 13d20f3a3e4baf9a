//! Texts use the words that readers search for, in short sentences.

use std::collections::BTreeSet;

use anteroom_testkit::docs::{Page, pages};

/// Words that have a plain one, and that one.
const AVOIDED: &[(&str, &str)] = &[
    ("whoever", "each visitor, callers"),
    ("nobody", "no visitor, no client"),
    ("somebody", "a visitor, a client"),
    ("anybody", "a visitor, a client"),
    ("the store", "Redis"),
    ("is told", "gets, returns"),
    ("are told", "get, return"),
    ("anew", "is reset, restarts"),
    ("once more", "retries, restarts"),
    ("born", "created"),
    ("birth", "is created"),
    ("let in", "admitted"),
    ("lets in", "admits"),
    ("passed over", "skipped"),
    ("roll-call", "check-in period"),
    ("lapsed", "missed turn"),
    ("unclaimed", "missed turn"),
    ("vouch", "signed identity"),
    ("vouches", "signed identity"),
    ("vouched", "signed identity"),
    ("put off", "asked to retry later"),
    ("mend", "fix"),
    ("mended", "fixed"),
    ("nothing was done", "nothing was changed"),
    ("goes by", "uses"),
    ("goes before", "takes precedence over"),
    ("go before", "take precedence over"),
];

/// Most words of a sentence.
const LONGEST: usize = 35;

/// What is left of earlier texts: pages and how many faults each has. A count may only fall.
const ALLOWED: &[(&str, usize)] = &[];

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric))
}

/// The sentences of a paragraph. A full stop within a word, a number or a path ends none.
fn sentences(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for word in text.split_whitespace() {
        let last = found.last_mut().unwrap();
        last.push_str(word);
        last.push(' ');
        let bare = word.trim_end_matches(['"', ')', '*', '”', '_']);
        let abbreviated = bare.ends_with("e.g.") || bare.ends_with("i.e.");
        if bare.ends_with(['.', '?', '!', ':']) && !abbreviated {
            found.push(String::new());
        }
    }
    found
}

fn faults(page: &Page) -> Vec<String> {
    let mut faults = Vec::new();
    for prose in page.prose() {
        let at = format!("{}:{}", page.path, prose.line);
        let plain: String = prose
            .text
            .to_lowercase()
            .chars()
            .map(|it| if it.is_alphanumeric() || it == '-' || it == '_' { it } else { ' ' })
            .collect();
        let plain = format!(" {} ", plain.split_whitespace().collect::<Vec<_>>().join(" "));
        for (word, better) in AVOIDED {
            if plain.contains(&format!(" {word} ")) {
                faults.push(format!("{at}: \"{word}\": write {better}"));
            }
        }
        for sentence in sentences(&prose.text) {
            let count = words(&sentence).count();
            if count > LONGEST {
                faults.push(format!("{at}: a sentence of {count} words: {sentence}"));
            }
        }
    }
    faults
}

#[test]
fn texts_are_in_plain_words_and_short_sentences() {
    let mut report = Vec::new();
    for page in pages() {
        let faults = faults(&page);
        let allowed = ALLOWED.iter().find(|(path, _)| *path == page.path).map_or(0, |it| it.1);
        match faults.len() {
            count if count > allowed => report.extend(faults),
            count if count < allowed => report.push(format!(
                "{}: {count} faults are left: write that into ALLOWED of this test",
                page.path
            )),
            _ => {}
        }
    }
    assert!(report.is_empty(), "{}\n{} faults", report.join("\n"), report.len());
    let named: BTreeSet<_> = ALLOWED.iter().map(|it| it.0).collect();
    let there: BTreeSet<_> = pages().into_iter().map(|page| page.path).collect();
    assert!(named.iter().all(|path| there.contains(*path)), "ALLOWED names a page that is gone");
}
