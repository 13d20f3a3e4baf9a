//! What the samples need before they run: the pinned dependencies, and the built programs.

use std::sync::OnceLock;

use anteroom_testkit::kit::{Kit, run};

/// Its folder has `node_modules`.
pub static NODE: Kit = Kit {
    of: "Express",
    root: "integrations/node",
    files: &["package.json", "package-lock.json"],
    cache: env!("CARGO_TARGET_TMPDIR"),
    install: |folder| run("npm", folder, &["ci", "--ignore-scripts", "--no-audit", "--no-fund"]),
    folder: OnceLock::new(),
};

/// Its folder has a virtual environment, `venv`.
pub static PYTHON: Kit = Kit {
    of: "Django and FastAPI",
    root: "integrations/python",
    files: &["requirements.txt"],
    cache: env!("CARGO_TARGET_TMPDIR"),
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
    of: "Go",
    root: "integrations/go",
    files: &["go.mod", ".go"],
    cache: env!("CARGO_TARGET_TMPDIR"),
    install: |folder| run("go", folder, &["build", "-o", "shop", "."]),
    folder: OnceLock::new(),
};

/// Its folder has the program, `build/shop/shop.jar`, and beside it an archive of its loaded
/// classes, with which a start takes half of the time.
pub static SPRING: Kit = Kit {
    of: "Spring",
    root: "integrations/spring",
    files: &["pom.xml", ".java", ".properties"],
    cache: env!("CARGO_TARGET_TMPDIR"),
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
