//! One operation has one name: its file, its method, its line in the README.

use std::collections::BTreeSet;
use std::path::Path;

use anteroom_core::{scripts, store::Script};
use anteroom_testkit::docs;

use super::{SUBSYSTEMS, lua};

/// Folders of `lua/` that hold no operations: the shared parts, and what the connection runs.
const OTHERS: [&str; 2] = ["lib", "store"];

/// What a folder holds whose names end so; nothing where there is no such folder.
fn names(folder: &Path, ending: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let names = names.filter_map(|name| name.into_string().ok());
    names.filter_map(|name| name.strip_suffix(ending).map(str::to_owned)).collect()
}

fn lua_files(folder: &str) -> BTreeSet<String> {
    names(&lua().join(folder), ".lua")
}

/// The scripts of a subsystem, each with the rest of its name.
fn operations(subsystem: &str) -> Vec<(&'static str, &'static Script)> {
    let named = scripts().into_iter().map(|script| (script.name.split_once('.'), script));
    let mine = named.filter_map(|(name, script)| {
        name.filter(|(front, _)| *front == subsystem).map(|(_, operation)| (operation, script))
    });
    mine.collect()
}

#[test]
fn every_folder_is_a_subsystem_and_every_script_is_one_of_theirs() {
    let folders: BTreeSet<_> = names(&lua(), "")
        .into_iter()
        .filter(|name| lua().join(name).is_dir() && !OTHERS.contains(&name.as_str()))
        .collect();
    assert_eq!(folders, SUBSYSTEMS.iter().map(|subsystem| subsystem.folder.to_owned()).collect());
    let theirs = SUBSYSTEMS.iter().flat_map(|subsystem| operations(subsystem.name));
    assert_eq!(theirs.count(), scripts().len());
}

/// The build makes an operation of every file, and every part that it uses is a file.
#[test]
fn every_part_is_used() {
    let scripts = scripts();
    for subsystem in SUBSYSTEMS {
        let mine = operations(subsystem.name);
        let parts = mine.iter().flat_map(|(_, script)| script.parts).map(|(name, _)| *name);
        let own: BTreeSet<_> = parts.filter(|name| !name.starts_with("lib/")).collect();
        assert_eq!(
            own,
            lua_files(&format!("{}/lib", subsystem.folder)).iter().map(String::as_str).collect()
        );
    }
    let parts = scripts.iter().flat_map(|script| script.parts).map(|(name, _)| *name);
    let shared: BTreeSet<_> = parts.filter_map(|name| name.strip_prefix("lib/")).collect();
    assert_eq!(shared, lua_files("lib").iter().map(String::as_str).collect());
}

#[test]
fn every_operation_is_a_method_and_is_documented() {
    let page = docs::read(docs::REDIS_KEYS).text;
    let shared = include_str!("../../src/entity/mod.rs");
    for subsystem in SUBSYSTEMS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(subsystem.folder);
        let files = names(&folder, ".rs").into_iter().map(|name| format!("{name}.rs"));
        let source: String = files
            .map(|file| std::fs::read_to_string(folder.join(file)).expect("a source file"))
            .collect();
        for (operation, script) in operations(subsystem.name) {
            let method = format!("async fn {operation}(");
            let is_one = source.contains(&method) || shared.contains(&method);
            assert!(is_one, "{}: no {method}", subsystem.name);
            assert!(page.contains(&format!("| `{}` |", script.name)), "{}", script.name);
        }
    }
}
