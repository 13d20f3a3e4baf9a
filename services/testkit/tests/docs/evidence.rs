//! docs/OPERATIONS.md claims nothing without a test: each that it names is there.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The file of a test program's module: `tests/PROGRAM.rs` of a crate, or `…/PROGRAM/MODULES.rs`,
/// or `mod.rs` there.
fn file(workspace: &Path, program: &str, modules: &[&str]) -> Option<PathBuf> {
    let path = if modules.is_empty() {
        program.to_owned()
    } else {
        format!("{program}/{}", modules.join("/"))
    };
    let services = fs::read_dir(workspace.join("services")).unwrap();
    let crates = services.map(|service| service.unwrap().path());
    crates.chain([workspace.join("k8s/checks")]).find_map(|folder| {
        let module = folder.join("tests").join(&path);
        let files = [module.with_extension("rs"), module.join("mod.rs")];
        files.into_iter().find(|file| file.is_file())
    })
}

#[test]
fn every_test_that_operations_names_is_there() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(workspace.join("docs/OPERATIONS.md")).unwrap();
    // Every second part is between back-ticks.
    let named = text.split('`').skip(1).step_by(2).filter(|code| code.contains("::"));
    // Two parts show how a test is named and run.
    let named: Vec<_> = named.filter(|code| !code.contains(['…', ' '])).collect();
    assert!(named.len() > 50, "only {} tests are named", named.len());
    for test in named {
        let mut parts: Vec<_> = test.split("::").collect();
        let name = parts.pop().unwrap();
        let program = parts.remove(0);
        if program == "faults" && name == "store" {
            continue; // all of them
        }
        let file = file(&workspace, program, &parts).unwrap_or_else(|| panic!("{test}: no file"));
        let source = fs::read_to_string(&file).unwrap();
        assert!(source.contains(&format!("fn {name}(")), "{test} is not in {}", file.display());
    }
}
