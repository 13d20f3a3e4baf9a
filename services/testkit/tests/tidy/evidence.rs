//! Beside what a page claims a comment names the tests that show it: `<!-- shown by: … -->`.

use std::fs;
use std::path::{Path, PathBuf};

use anteroom_testkit::docs::pages;
use anteroom_testkit::repository::root;

/// The file of a test program's module: `tests/PROGRAM.rs` of a crate, or `…/PROGRAM/MODULES.rs`,
/// or `mod.rs` there.
fn file(program: &str, modules: &[&str]) -> Option<PathBuf> {
    let path = if modules.is_empty() {
        program.to_owned()
    } else {
        format!("{program}/{}", modules.join("/"))
    };
    let services = fs::read_dir(root().join("services")).unwrap();
    let crates = services.map(|service| service.unwrap().path());
    let others =
        ["k8s/checks", "grafana/checks", "loadtest", "integrations/checks", "gateways/checks"]
            .map(|it| root().join(it));
    crates.chain(others).find_map(|folder| {
        let module: &Path = &folder.join("tests").join(&path);
        let files = [module.with_extension("rs"), module.join("mod.rs"), module.join("main.rs")];
        files.into_iter().find(|file| file.is_file())
    })
}

#[test]
fn every_test_that_a_page_names_exists() {
    let mut named = 0;
    for page in pages() {
        for comment in page.comments("shown by:") {
            for test in comment.split(',').map(str::trim) {
                let mut parts: Vec<_> = test.split("::").collect();
                let name = parts.pop().unwrap();
                assert!(!parts.is_empty(), "{}: {test:?} names no program", page.path);
                let program = parts.remove(0);
                let file = file(program, &parts)
                    .unwrap_or_else(|| panic!("{}: {test}: no file", page.path));
                let source = fs::read_to_string(&file).unwrap();
                let exists = source.contains(&format!("fn {name}("));
                assert!(exists, "{}: {test} is not in {}", page.path, file.display());
                named += 1;
            }
        }
    }
    assert!(named > 170, "only {named} tests are named");
}
