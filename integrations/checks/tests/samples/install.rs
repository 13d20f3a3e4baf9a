//! What the samples need before they run: the pinned dependencies, and the built programs.

use std::{
    collections::hash_map::DefaultHasher,
    fs,
    hash::{Hash as _, Hasher as _},
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use anteroom_testkit::repository;

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

/// What samples need before they run: what their lock files name, or a program built of them.
pub struct Kit {
    /// The samples, for the line that says that they are left out.
    samples: &'static str,
    /// Their folder.
    name: &'static str,
    /// The endings of the files that decide what is installed.
    files: &'static [&'static str],
    /// Installs it in a folder with these files.
    install: fn(&Path) -> Result<(), Missing>,
    folder: OnceLock<Option<PathBuf>>,
}

/// Its folder has `node_modules`.
pub static NODE: Kit = Kit {
    samples: "Express",
    name: "node",
    files: &["package.json", "package-lock.json"],
    install: |folder| run("npm", folder, &["ci", "--ignore-scripts", "--no-audit", "--no-fund"]),
    folder: OnceLock::new(),
};

/// Its folder has a virtual environment, `venv`.
pub static PYTHON: Kit = Kit {
    samples: "Django and FastAPI",
    name: "python",
    files: &["requirements.txt"],
    install: |folder| {
        run("python3", folder, &["-m", "venv", "venv"])?;
        let pip = ["-m", "pip", "install", "--disable-pip-version-check"];
        let pinned = ["--only-binary", ":all:", "--require-hashes", "-r", "requirements.txt"];
        run("venv/bin/python", folder, &[&pip[..], &pinned].concat())
    },
    folder: OnceLock::new(),
};

/// Its folder has the program, `shop`.
pub static GO: Kit = Kit {
    samples: "Go",
    name: "go",
    files: &["go.mod", ".go"],
    install: |folder| run("go", folder, &["build", "-o", "shop", "."]),
    folder: OnceLock::new(),
};

/// Its folder has the program, `build/shop/shop.jar`, and beside it an archive of its loaded
/// classes, with which a start takes half of the time.
pub static SPRING: Kit = Kit {
    samples: "Spring",
    name: "spring",
    files: &["pom.xml", ".java", ".properties"],
    install: |folder| {
        run("mvn", folder, &["--batch-mode", "--quiet", "--strict-checksums", "package"])?;
        let build = folder.join("build");
        run("java", &build, &["-Djarmode=tools", "-jar", "shop.jar", "extract"])?;
        let archive = ["-XX:ArchiveClassesAtExit=shop.jsa", "-Dspring.context.exit=onRefresh"];
        let settings = [
            "-DPORT=0",
            "-DANTEROOM_KEY=none",
            "-DANTEROOM_IDENTITY_SECRET=none",
            "-DANTEROOM_WEBHOOK_SECRET=none",
        ];
        let arguments = [&JVM[..], &archive, &settings, &["-jar", "shop.jar"]].concat();
        run("java", &build.join("shop"), &arguments)
    },
    folder: OnceLock::new(),
};

/// Options for a short start.
pub const JVM: [&str; 2] = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"];

impl Kit {
    /// A folder below `target/tmp` with what is installed, if it can be had. Its name has the hash
    /// of the files, and it is moved there when it is whole, so test programs can share it.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.get_or_init(|| self.installed()).as_deref()
    }

    fn installed(&self) -> Option<PathBuf> {
        let texts = sources(self.name, self.files);
        let mut hasher = DefaultHasher::new();
        texts.hash(&mut hasher);
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let whole = cache.join(format!("{}-{:016x}", self.name, hasher.finish()));
        if whole.is_dir() {
            return Some(whole);
        }
        fs::create_dir_all(cache).unwrap();
        let folder = tempfile::tempdir_in(cache).unwrap();
        write(&texts, folder.path());
        if let Err(Missing(reason)) = (self.install)(folder.path()) {
            eprintln!("skipped: {}: {reason}", self.samples);
            return None;
        }
        // Another test program may have been faster.
        if let Err(error) = fs::rename(folder.path(), &whole) {
            assert!(whole.is_dir(), "{}: {error}", whole.display());
        }
        Some(whole)
    }
}

/// The files of a sample with these endings, with their paths in its folder.
pub fn sources(name: &str, endings: &[&str]) -> Vec<(PathBuf, String)> {
    let root = repository::root().join("integrations").join(name);
    let all = endings.iter().flat_map(|ending| repository::files(ending));
    let its = all.filter_map(|(path, text)| {
        let path = path.strip_prefix(&root).ok()?;
        Some((path.to_owned(), text))
    });
    its.collect()
}

/// Writes them below a folder.
pub fn write(texts: &[(PathBuf, String)], folder: &Path) {
    for (file, text) in texts {
        let file = folder.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
}

/// Why a sample is left out.
struct Missing(String);

fn run(program: &str, folder: &Path, arguments: &[&str]) -> Result<(), Missing> {
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
