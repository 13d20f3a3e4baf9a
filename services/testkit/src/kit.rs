//! Dependencies and programs that tests install from the registries of other languages.

use std::{
    collections::hash_map::DefaultHasher,
    fs,
    hash::{Hash as _, Hasher as _},
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use crate::repository;

/// What an installer writes if the network or the toolchain is the reason. Any other failure fails
/// the tests.
const REASONS: [&str; 20] = [
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
    "Could not transfer artifact",
    "Could not find artifact",
    // Python without venv, and Java without a compiler or older than 17.
    "ensurepip is not",
    "No compiler is provided",
    "release version 17 not supported",
];

/// What tests need before they run: what a lock file names, or a program built of sources.
pub struct Kit {
    /// What needs it, for the line that says that it is left out.
    pub of: &'static str,
    /// The folder of its files in the repository.
    pub root: &'static str,
    /// The endings of the files that decide what is installed.
    pub files: &'static [&'static str],
    /// Where it is installed, below the folder of the test's package for such files.
    pub cache: &'static str,
    /// Installs it in a folder with these files.
    pub install: fn(&Path) -> Result<(), Missing>,
    /// The folder, once it is known.
    pub folder: OnceLock<Option<PathBuf>>,
}

impl Kit {
    /// A folder with what is installed, if it can be had. Its name has the hash
    /// of the files, and it is moved there when it is whole, so test programs can share it.
    ///
    /// # Panics
    ///
    /// If the installation fails for another reason than the network or the toolchain.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.get_or_init(|| self.installed()).as_deref()
    }

    fn installed(&self) -> Option<PathBuf> {
        let texts = sources(self.root, self.files);
        let mut hasher = DefaultHasher::new();
        texts.hash(&mut hasher);
        let cache = Path::new(self.cache);
        let name = self.root.replace('/', "-");
        let whole = cache.join(format!("{name}-{:016x}", hasher.finish()));
        if whole.is_dir() {
            return Some(whole);
        }
        fs::create_dir_all(cache).expect("a folder");
        let folder = tempfile::tempdir_in(cache).expect("a folder");
        write(&texts, folder.path());
        if let Err(Missing(reason)) = (self.install)(folder.path()) {
            eprintln!("skipped: {}: {reason}", self.of);
            return None;
        }
        // Another test program may have been faster.
        if let Err(error) = fs::rename(folder.path(), &whole) {
            assert!(whole.is_dir(), "{}: {error}", whole.display());
        }
        Some(whole)
    }
}

/// The files of a folder of the repository with these endings, with their paths in it.
pub fn sources(root: &str, endings: &[&str]) -> Vec<(PathBuf, String)> {
    let root = repository::root().join(root);
    let all = endings.iter().flat_map(|ending| repository::files(ending));
    let its = all.filter_map(|(path, text)| {
        let path = path.strip_prefix(&root).ok()?;
        Some((path.to_owned(), text))
    });
    its.collect()
}

/// Writes them below a folder.
///
/// # Panics
///
/// If they cannot be written.
pub fn write(texts: &[(PathBuf, String)], folder: &Path) {
    for (file, text) in texts {
        let file = folder.join(file);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, text).expect("written");
    }
}

/// Why it cannot be had.
#[derive(Debug)]
pub struct Missing(String);

/// Runs a step of an installation.
///
/// # Errors
///
/// If the program or the network is missing.
///
/// # Panics
///
/// If it fails for any other reason.
pub fn run(program: &str, folder: &Path, arguments: &[&str]) -> Result<(), Missing> {
    let mut command = Command::new(program);
    // The toolchain that is here, and no C compiler.
    command
        .current_dir(folder)
        .args(arguments)
        .envs([("GOTOOLCHAIN", "local"), ("CGO_ENABLED", "0")]);
    let output = command.output().map_err(|error| Missing(format!("{program}: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    // Maven writes both if an artifact was changed.
    let mut lines = text.lines().filter(|line| !line.contains("Checksum validation failed"));
    match lines.find(|line| REASONS.iter().any(|reason| line.contains(reason))) {
        Some(line) => Err(Missing(line.trim().to_owned())),
        None => panic!("{command:?}:\n{text}"),
    }
}
