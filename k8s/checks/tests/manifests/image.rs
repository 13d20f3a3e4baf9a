//! The Dockerfile, by hadolint and by what we promise of it.
//!
//! `ANTEROOM_HADOLINT` names the program; `make test` gets one. Without it that part is left out.

use std::{env, fs, process::Command};

use crate::rendered::k8s;

#[test]
fn the_dockerfile_holds_what_it_should() {
    let file = k8s().join("../Dockerfile");
    let text = fs::read_to_string(&file).unwrap();
    let (_, last) = text.rsplit_once("\nFROM ").unwrap();
    assert!(last.starts_with("${BASE} AS anteroom"), "what is built by default comes last");
    for line in ["USER 65532:65532", "STOPSIGNAL SIGTERM"] {
        assert!(last.lines().any(|had| had == line), "{line}");
    }
    for label in ["title", "description", "source", "licenses", "version", "revision"] {
        assert!(last.contains(&format!("org.opencontainers.image.{label}=")), "{label}");
    }
    // Nothing runs in the image itself: it has no shell.
    assert!(!last.contains("\nRUN "));
    let version = format!("org.opencontainers.image.version=\"{}\"", env!("CARGO_PKG_VERSION"));
    assert_eq!(text.matches(&version).count(), 2, "{version}");

    let Some(program) = env::var_os("ANTEROOM_HADOLINT").filter(|path| !path.is_empty()) else {
        eprintln!("left out: ANTEROOM_HADOLINT names no program");
        return;
    };
    let output = Command::new(program).arg(&file).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{stdout}");
}
