//! The dependencies of the samples, as their lock files pin them.

use std::{
    collections::hash_map::DefaultHasher,
    fs,
    hash::{Hash as _, Hasher as _},
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// What an installer writes if the network is the reason. Any other failure fails the tests.
const OFFLINE: [&str; 15] = [
    "EAI_AGAIN",
    "ECONNREFUSED",
    "ECONNRESET",
    "ENETUNREACH",
    "ENOTFOUND",
    "ETIMEDOUT",
    "NewConnectionError",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "ProxyError",
    "name resolution",
    // A registry that does not serve the version, as some mirrors.
    "No matching distribution",
    "npm error code E403",
    "npm error code E404",
    "npm error code ETARGET",
];

/// The folder of the samples.
pub fn integrations() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The folder with `node_modules`, if it can be had.
pub fn node() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        installed("Express", "node", &["package.json", "package-lock.json"], |folder| {
            run(Command::new("npm").current_dir(folder).args([
                "ci",
                "--ignore-scripts",
                "--no-audit",
                "--no-fund",
            ]))
        })
    });
    folder.as_deref()
}

/// The Python of a virtual environment, if it can be had.
pub fn python() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| {
        let files = ["requirements.txt"];
        let folder = installed("Django and FastAPI", "python", &files, |folder| {
            run(Command::new("python3").args(["-m", "venv", "venv"]).current_dir(folder))?;
            run(Command::new("venv/bin/python").current_dir(folder).args([
                "-m",
                "pip",
                "install",
                "--disable-pip-version-check",
                "--only-binary",
                ":all:",
                "--require-hashes",
                "--requirement",
                "requirements.txt",
            ]))
        });
        folder.map(|folder| folder.join("venv/bin/python"))
    });
    program.as_deref()
}

/// A folder below `target/tmp` with these files of a sample and what they ask for. Its name has
/// their hash, and it is moved there when it is whole, so test programs can share it.
fn installed(
    samples: &str,
    name: &str,
    files: &[&str],
    install: impl FnOnce(&Path) -> Result<(), Missing>,
) -> Option<PathBuf> {
    let texts = files.iter().map(|file| {
        let path = integrations().join(name).join(file);
        (file, fs::read_to_string(&path).unwrap_or_else(|it| panic!("{}: {it}", path.display())))
    });
    let texts: Vec<_> = texts.collect();
    let mut hasher = DefaultHasher::new();
    texts.hash(&mut hasher);
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let whole = cache.join(format!("{name}-{:016x}", hasher.finish()));
    if whole.is_dir() {
        return Some(whole);
    }
    fs::create_dir_all(cache).unwrap();
    let folder = tempfile::tempdir_in(cache).unwrap();
    for (file, text) in &texts {
        fs::write(folder.path().join(file), text).unwrap();
    }
    if let Err(Missing(reason)) = install(folder.path()) {
        eprintln!("skipped: {samples}: {reason}");
        return None;
    }
    // Another test program may have been faster.
    if let Err(error) = fs::rename(folder.path(), &whole) {
        assert!(whole.is_dir(), "{}: {error}", whole.display());
    }
    Some(whole)
}

/// Why a sample is left out.
struct Missing(String);

fn run(command: &mut Command) -> Result<(), Missing> {
    let output = command
        .output()
        .map_err(|error| Missing(format!("{}: {error}", command.get_program().display())))?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().find(|line| OFFLINE.iter().any(|reason| line.contains(reason)));
    let line = line.or_else(|| text.lines().find(|line| line.contains("ensurepip is not")));
    match line {
        Some(line) => Err(Missing(line.trim().to_owned())),
        None => panic!("{command:?}:\n{text}"),
    }
}
