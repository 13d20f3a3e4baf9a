//! The files of this repository, for the tests that hold them to its rules.

use std::fs;
use std::path::{Path, PathBuf};

/// Not part of the repository, or made by a build.
const LEFT_OUT: [&str; 8] = [
    ".git",
    "target",
    "fuzz/target",
    "fuzz/corpus",
    "fuzz/artifacts",
    "integrations/node/node_modules",
    "integrations/python/.venv",
    "integrations/spring/build",
];

/// The folder of the repository.
///
/// # Panics
///
/// If it is not there.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// Every file of the repository with this ending, and its text.
///
/// # Panics
///
/// If a file cannot be read, or a folder of sources is named `target`: build tools and editors skip
/// those.
pub fn files(ending: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    walk(&root(), &root(), ending, &mut found);
    found.sort();
    found
}

fn walk(root: &Path, folder: &Path, ending: &str, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|it| panic!("{}: {it}", folder.display())) {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        if path.is_dir() {
            let is_left_out = LEFT_OUT.iter().any(|it| path == root.join(it));
            assert!(is_left_out || name != "target", "{}", path.display());
            if !is_left_out {
                walk(root, &path, ending, found);
            }
        } else if name.ends_with(ending) && path.is_file() {
            let text = fs::read_to_string(&path);
            found
                .push((path.clone(), text.unwrap_or_else(|it| panic!("{}: {it}", path.display()))));
        }
    }
}
