//! The workspace's own programs.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, PoisonError},
};

/// What this test program has built so far.
static BUILT: Mutex<Option<HashMap<String, PathBuf>>> = Mutex::new(None);

/// A binary of the workspace: from the folder in `ANTEROOM_BIN_DIR`, which `make test` has just
/// filled, or built from the present sources, once for each test program.
///
/// # Panics
/// When it does not build.
pub fn binary(name: &str) -> PathBuf {
    if let Some(folder) = std::env::var_os("ANTEROOM_BIN_DIR") {
        let file = Path::new(&folder).join(name);
        assert!(file.is_file(), "no {name} in ANTEROOM_BIN_DIR = {}", folder.display());
        return file;
    }
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let built = built.get_or_insert_default();
    built
        .entry(name.to_owned())
        .or_insert_with(|| {
            // This program is target/PROFILE/deps/NAME; the binaries stand two folders up.
            let program = std::env::current_exe().expect("a running program has a file");
            let folder = program.ancestors().nth(2).expect("the folder of the profile");
            let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
            cargo.args(["build", "--quiet", "--locked", "--package", name, "--bin", name]);
            cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
            if folder.ends_with("release") {
                cargo.arg("--release");
            }
            let status = cargo.status().expect("cargo is there, it runs this test");
            assert!(status.success(), "{name} does not build");
            folder.join(name)
        })
        .clone()
}

/// An example of a package, which `cargo test` of that, or of the workspace, builds as well.
///
/// # Panics
/// When it is not there.
pub fn example(package: &str, name: &str) -> PathBuf {
    let program = std::env::current_exe().expect("a running program has a file");
    let folder = program.ancestors().nth(2).expect("the folder of the profile");
    let folder = std::env::var_os("ANTEROOM_BIN_DIR").map_or(folder.to_owned(), PathBuf::from);
    let file = folder.join("examples").join(name);
    assert!(file.is_file(), "cargo build -p {package} --examples: no {}", file.display());
    file
}
