//! Rules of this repository that no lint knows.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

mod evidence;
mod links;
mod words;

use std::{collections::BTreeSet, fs, path::Path};

use anteroom_testkit::repository::{files, root};

/// The crates that a service is built of, by the names of its manifest; its tests may use more.
fn crates(manifest: &str) -> BTreeSet<&str> {
    let (_, rest) = manifest.split_once("\n[dependencies]\n").unwrap();
    let section = rest.split("\n[").next().unwrap();
    section.lines().filter_map(|line| Some(line.split(['.', ' ', '=']).next()?.trim())).collect()
}

/// The services that name a crate, among what they are built of.
fn who_names(name: &str) -> BTreeSet<String> {
    let manifests = files("Cargo.toml").into_iter();
    let services = manifests.filter(|(path, _)| path.starts_with(root().join("services")));
    let named = services.filter(|(_, manifest)| crates(manifest).contains(name));
    let folder = |path: &Path| path.parent().unwrap().file_name().unwrap().to_owned();
    named.map(|(path, _)| folder(&path).into_string().unwrap()).collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn only_core_names_redis_and_what_tests_stand_on() {
    assert_eq!(who_names("redis"), set(&["core", "testkit"]));
    // So no service can reach Redis past core.
    assert_eq!(who_names("anteroom-testkit"), set(&["bench"]));
}

/// The models and the witness share no code with what they judge, and what is protected none with
/// what protects it.
#[test]
fn what_tests_stand_on_and_what_is_protected_name_no_service() {
    let named = |folder: &str| {
        let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
        let ours = crates(&manifest).into_iter().filter(|name| name.starts_with("anteroom-"));
        ours.map(str::to_owned).collect::<BTreeSet<_>>()
    };
    assert_eq!(named("services/testkit"), set(&["anteroom-witness"]));
    assert_eq!(named("services/witness"), set(&[]));
    assert_eq!(named("services/concert"), set(&[]));
    // A black box over HTTP.
    assert!(named("loadtest").is_subset(&set(&["anteroom-witness"])));
}

#[test]
fn no_service_names_the_load_harness() {
    assert_eq!(who_names("anteroom-loadtest"), set(&[]));
}

#[test]
fn only_admission_and_the_bench_name_axum() {
    assert_eq!(who_names("axum"), set(&["admission", "bench"]));
}

#[test]
fn no_test_is_passed_over() {
    let mark = ["#[", "ignore"].concat();
    for (path, text) in files(".rs") {
        assert!(!text.contains(&mark), "{}", path.display());
    }
}

/// rustfmt leaves comments as they are, and knows no Lua.
#[test]
fn comments_and_scripts_keep_to_100_columns() {
    let rust = files(".rs").into_iter().map(|file| (file, true));
    let scripts = files(".lua").into_iter().map(|file| (file, false));
    let mut long = Vec::new();
    for ((path, text), comments_only) in rust.chain(scripts) {
        for (number, line) in text.lines().enumerate() {
            let counts = !comments_only || line.trim_start().starts_with("//");
            // An address cannot be broken.
            if counts && line.chars().count() > 100 && !line.contains("://") {
                long.push(format!("{}:{}", path.display(), number + 1));
            }
        }
    }
    assert!(long.is_empty(), "{} lines:\n{}", long.len(), long.join("\n"));
}

/// A reader who knows one subsystem of admission finds everything in the next.
#[test]
fn subsystems_of_admission_have_the_same_file_names() {
    const ALL: [&str; 5] = ["mod", "state", "backend", "views", "problems"];
    const OTHER_WORDS: [&str; 8] =
        ["view", "codes", "code", "check", "outcome", "admin", "problem", "snapshot"];
    for subsystem in ["queue", "event", "pool", "limit", "breaker"] {
        let folder = root().join("services/admission/src").join(subsystem);
        let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let names: BTreeSet<_> =
            names.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
        for name in ALL {
            assert!(names.contains(name), "{}: no {name}.rs", folder.display());
        }
        for name in OTHER_WORDS {
            let message = "is another word for one of the files that all subsystems have";
            assert!(!names.contains(name), "{}/{name}.rs {message}", folder.display());
        }
    }
}

/// What an example stands for, what a build makes, and where a machine keeps its own.
const NO_FILE_OF_OURS: [&str; 4] = ["NAME", "SEED", "target/", "/etc/"];

/// A path in back quotes is the end of a path of the repository: `queue/lib/meta.lua`.
#[test]
fn paths_in_markdown_are_there() {
    let endings = [".rs", ".lua", ".toml", ".sh", ".conf", ".md"];
    let ours: Vec<_> =
        endings.iter().flat_map(|ending| files(ending)).map(|(path, _)| path).collect();
    let mut looked_at = 0;
    for (document, text) in files(".md") {
        // Every second part stands between back quotes; a fence is three of them.
        for named in text.split('`').skip(1).step_by(2) {
            let is_path = named.contains('/')
                && endings.iter().any(|ending| named.ends_with(ending))
                && !named.contains(|c: char| c.is_whitespace() || "*:…".contains(c))
                && !NO_FILE_OF_OURS.iter().any(|part| named.contains(part));
            if is_path {
                looked_at += 1;
                let found = ours.iter().any(|path| path.ends_with(named));
                assert!(found, "{}: {named}", document.display());
            }
        }
    }
    assert!(looked_at > 40, "only {looked_at} paths were found");
}
