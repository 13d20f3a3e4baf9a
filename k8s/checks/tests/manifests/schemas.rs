//! Every object by the schemas of Kubernetes itself, unknown fields refused.
//!
//! `ANTEROOM_KUBERNETES_VALIDATE` names the program; `make test` gets one. Without it there is
//! nothing to hold them to.

use std::{collections::BTreeSet, env, fs, path::Path, process::Command, thread};

use crate::{custom_resources, rendered::all};

/// The oldest that we say we run on, and the newest whose schemas there are.
const MINORS: std::ops::RangeInclusive<u32> = 29..=37;

#[test]
fn all_overlays_hold_the_schemas_of_every_version() {
    let Some(program) = env::var_os("ANTEROOM_KUBERNETES_VALIDATE").filter(|path| !path.is_empty())
    else {
        eprintln!("skipped: ANTEROOM_KUBERNETES_VALIDATE names no program");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    // What several overlays have in common is looked at once.
    let documents = all().iter().flat_map(|rendered| rendered.text.split("\n---\n"));
    let documents: BTreeSet<_> = documents.map(str::trim_end).collect();
    let file = folder.path().join("all.yaml");
    fs::write(&file, Vec::from_iter(documents).join("\n---\n")).unwrap();
    let validate = |minor: u32, file: &Path| {
        let mut command = Command::new(&program);
        command.args(["--strict", "--kubernetes-version", &format!("1.{minor}")]).arg(file);
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(text).unwrap())
    };
    let foreign: Vec<_> = custom_resources::kinds().collect();
    thread::scope(|scope| {
        for minor in MINORS {
            let (validate, file, foreign) = (&validate, &file, &foreign);
            scope.spawn(move || {
                let (held, text) = validate(minor, file);
                assert!(held, "1.{minor}:\n{text}");
                // It only warns of what it has no schema for; those have definitions of their own.
                for line in text.lines().filter(|line| line.starts_with("WARN")) {
                    let known = foreign.iter().any(|kind| line.contains(&format!("kind {kind} ")));
                    assert!(known, "1.{minor}: {line}");
                }
            });
        }
    });
    // It does refuse what is not there.
    let wrong = folder.path().join("wrong.yaml");
    let (right, field) = ("automountServiceAccountToken: false", "automountToken: false");
    fs::write(&wrong, all()[0].text.replace(right, field)).unwrap();
    let (held, text) = validate(*MINORS.end(), &wrong);
    assert!(!held && text.contains("automountToken"), "{text}");
}
