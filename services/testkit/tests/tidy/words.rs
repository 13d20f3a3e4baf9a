//! Names, comments, messages and texts use the words that readers search for. Texts have short
//! sentences.

use anteroom_testkit::docs::{Page, pages};
use anteroom_testkit::repository::files;

/// Words that only we understand, and what a reader would look for instead.
const AVOIDED: [(&str, &str); 27] = [
    ("anew", "again"),
    ("anybody", "any visitor, any client"),
    ("asked", "requested, called; as a name: request"),
    ("born", "created"),
    ("bury", "end a place"),
    ("everybody", "all visitors, all clients"),
    ("guess", "estimate"),
    ("hurry", "deadline"),
    ("lest", "so that … not"),
    ("lull", "gap"),
    ("manieth", "rank"),
    ("marks", "samples"),
    ("nobody", "no visitor, no client"),
    ("reborn", "recreated"),
    ("rollcall", "check-in period"),
    ("said", "returned, reported"),
    ("somebody", "a visitor, a client"),
    ("stands", "is"),
    ("tell", "return, report"),
    ("telling", "returning, reporting"),
    ("tells", "returns, reports"),
    ("told", "returned, reported; as a name: reply, answer"),
    ("unasked", "unrequested"),
    ("vouch", "sign"),
    ("vouched", "signed"),
    ("whoever", "each visitor, callers"),
    ("young", "recent"),
];
/// How often they are in our sources. This number only falls.
const AVOIDED_COUNT: usize = 96;

/// The words of a text in lower case; `until_told` and `UntilTold` are two each.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in text.chars() {
        if !c.is_alphabetic() || (c.is_uppercase() && before.is_lowercase()) {
            words.push(String::new());
        }
        if c.is_alphabetic() {
            words.last_mut().unwrap().extend(c.to_lowercase());
        }
        before = c;
    }
    words
}

/// Comments, names and messages use the words of the field.
#[test]
fn words_that_only_we_understand_become_fewer() {
    let sources = files(".rs").into_iter().chain(files(".lua"));
    let mut places = Vec::new();
    for (path, text) in sources.filter(|(path, _)| !path.ends_with("testkit/tests/tidy/words.rs")) {
        for (number, line) in text.lines().enumerate() {
            for word in words(line) {
                if let Some((_, instead)) = AVOIDED.iter().find(|(avoided, _)| *avoided == word) {
                    let (path, line) = (path.display(), number + 1);
                    places.push(format!("{path}:{line}: {word}; better: {instead}"));
                }
            }
        }
    }
    let (count, places) = (places.len(), places.join("\n"));
    assert!(
        count <= AVOIDED_COUNT,
        "{count} instead of {AVOIDED_COUNT} avoided words; replace the new ones among\n{places}"
    );
    assert_eq!(count, AVOIDED_COUNT, "fewer avoided words: lower AVOIDED_COUNT to the new count");
}

/// Words that are private as names, and plain in a sentence.
const PLAIN_IN_TEXTS: [&str; 5] = ["asked", "guess", "marks", "said", "tell"];

/// The same of several words, which only texts have.
const AVOIDED_PHRASES: [(&str, &str); 9] = [
    ("are told", "get, return"),
    ("goes before", "takes precedence over"),
    ("goes by", "uses"),
    ("is told", "gets, returns"),
    ("let in", "admitted"),
    ("lets in", "admits"),
    ("nothing was done", "nothing was changed"),
    ("passed over", "skipped"),
    ("the store", "Redis"),
];

/// Most words of a sentence.
const LONGEST: usize = 35;

/// The sentences of a paragraph. A full stop within a word, a number or a path ends none.
fn sentences(text: &str) -> Vec<Vec<&str>> {
    let mut found = vec![Vec::new()];
    for word in text.split_whitespace() {
        if word.contains(char::is_alphanumeric) {
            found.last_mut().unwrap().push(word);
        }
        let bare = word.trim_end_matches(['"', ')', '*', '”', '_']);
        if bare.ends_with(['.', '?', '!', ':']) && !["e.g.", "i.e."].contains(&bare) {
            found.push(Vec::new());
        }
    }
    found
}

fn faults(page: &Page) -> Vec<String> {
    let mut faults = Vec::new();
    for prose in page.prose() {
        let at = format!("{}:{}", page.path, prose.line);
        let plain = format!(" {} ", words(&prose.text).join(" "));
        let avoided = AVOIDED.iter().filter(|(word, _)| !PLAIN_IN_TEXTS.contains(word));
        for (avoided, instead) in avoided.chain(&AVOIDED_PHRASES) {
            if plain.contains(&format!(" {avoided} ")) {
                faults.push(format!("{at}: \"{avoided}\"; better: {instead}"));
            }
        }
        for sentence in sentences(&prose.text) {
            if sentence.len() > LONGEST {
                let (count, sentence) = (sentence.len(), sentence.join(" "));
                faults.push(format!("{at}: a sentence of {count} words: {sentence}"));
            }
        }
    }
    faults
}

#[test]
fn texts_are_in_plain_words_and_short_sentences() {
    let faults: Vec<_> = pages().iter().flat_map(faults).collect();
    assert!(faults.is_empty(), "{}\n{} faults", faults.join("\n"), faults.len());
}
