//! The real NGINX with the example's own files: only addresses and paths are put in, and sizes made
//! small enough for a test.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anteroom_testkit::{PATIENCE, Process, until_some};
use tempfile::TempDir;

/// The files that a user copies.
const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../nginx");
/// A cache that keeps all it may: only `Cache-Control` stops it.
const CACHING: &str = include_str!("caching.conf");

/// Parts of the site with queues of their own, as a user adds them: by the path, and by the host.
const SHOWS: &str = include_str!("shows.conf");
const SHOW_HOSTS: &str = include_str!("show_hosts.conf");

/// One change of the example: a text that it has exactly once, and what replaces it.
pub type Edit<'a> = (&'a str, String);

/// A running NGINX. It ends with this guard.
pub struct WebServer {
    _process: Process,
    directory: TempDir,
}

impl WebServer {
    /// Copies the example, makes the edits, checks that NGINX has no complaint, and starts it.
    /// `None` when another process has taken a port meanwhile.
    pub async fn start(edits: &[Edit<'_>]) -> Option<Self> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let folder = directory.path();
        // Started as root, NGINX keeps its files as another user.
        fs::set_permissions(folder, Permissions::from_mode(0o755)).expect("permissions");
        write_example(folder, edits);
        let program = program();
        let conf = folder.join("nginx.conf");
        let arguments = |more: &[&str]| {
            let mut command = Command::new(&program);
            command.arg("-p").arg(folder).arg("-c").arg(&conf).args(["-e", "stderr"]).args(more);
            command
        };
        // One process, so that nothing outlives the guard.
        let globals = "daemon off; master_process off;";
        let mut check = Process::start(arguments(&["-g", globals, "-t"]));
        let status = check.exit(PATIENCE).await;
        if check.stderr().contains("Address already in use") {
            return None;
        }
        let clean = status.success() && !check.stderr().contains("[warn]");
        assert!(clean, "the example is not clean:\n{}", check.stderr());

        // It writes this file once it listens itself. A connection would prove less: another
        // process may have the port while NGINX still tries to get it.
        let pid = folder.join("nginx.pid");
        // The check has left one.
        let _ = fs::remove_file(&pid);
        let mut process = Process::start(arguments(&["-g", globals]));
        let listens = until_some("NGINX listens", PATIENCE, || {
            let ended = process.try_exit().map(|status| format!("{status}: {}", process.stderr()));
            let listens = pid.is_file().then_some(Ok(()));
            std::future::ready(ended.map(Err).or(listens))
        })
        .await;
        match listens {
            Ok(()) => Some(Self { _process: process, directory }),
            Err(log) if log.contains("Address already in use") => None,
            Err(log) => panic!("NGINX ended at once: {log}"),
        }
    }

    /// What the example logs of each request.
    pub fn access_log(&self) -> String {
        fs::read_to_string(self.directory.path().join("access.log")).unwrap_or_default()
    }
}

/// The text of one of the example's files.
pub fn example(name: &str) -> String {
    let file = Path::new(EXAMPLE).join(name);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn write_example(folder: &Path, edits: &[Edit<'_>]) {
    let names = [
        "nginx.conf",
        "anteroom-http.conf",
        "anteroom-server.conf",
        "anteroom-protect.conf",
        "anteroom-service.conf",
    ];
    let mut texts = names.map(example);
    for (old, new) in edits {
        let found: usize = texts.iter().map(|text| text.matches(*old).count()).sum();
        assert_eq!(found, 1, "{old:?} must stand in the example exactly once");
        for text in &mut texts {
            *text = text.replace(old, new);
        }
    }
    for (name, text) in names.iter().zip(texts) {
        fs::write(folder.join(name), text).expect("written");
    }
}

/// The edit that puts the caches in: one in front of everything, one between gate and admission.
pub fn caches(front: u16, gate: u16, back: u16, admission: &str) -> Edit<'static> {
    let text = CACHING
        .replace("FRONT", &front.to_string())
        .replace("GATE", &gate.to_string())
        .replace("BACK", &back.to_string())
        .replace("ADMISSION", admission);
    ("    server_tokens off;\n", text)
}

/// The edits that take the name of the queue from the path or from the host.
pub fn several_queues(gate: u16) -> [Edit<'static>; 2] {
    let (location, server) = ("        # … except what", "    server {\n        # CHANGE");
    [
        (location, format!("{SHOWS}\n{location}")),
        (server, format!("{}\n{server}", SHOW_HOSTS.replace("GATE", &gate.to_string()))),
    ]
}

/// What lets a server take HTTP/2 without TLS on this port; newer versions have a directive for it.
pub fn http2_listen(port: u16) -> String {
    let output = Command::new(program()).arg("-v").output().expect("NGINX runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let (_, version) = text.split_once("nginx/").unwrap_or_else(|| panic!("no version: {text}"));
    let numbers = version.split(['.', ' ', '\n']).map_while(|number| number.parse::<u16>().ok());
    if numbers.collect::<Vec<_>>() < vec![1, 25, 1] {
        format!("listen 127.0.0.1:{port} http2;")
    } else {
        format!("listen 127.0.0.1:{port}; http2 on;")
    }
}

/// The program, by `ANTEROOM_NGINX_BIN` or on the PATH, `/usr/sbin` included.
fn program() -> PathBuf {
    if let Some(path) = std::env::var_os("ANTEROOM_NGINX_BIN") {
        return path.into();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/usr/local/sbin".into()])
        .map(|folder| folder.join("nginx"))
        .find(|file| file.is_file())
        .unwrap_or_else(|| {
            panic!(
                "no nginx on the PATH: install it (apt-get install nginx-light) or name it in \
                 ANTEROOM_NGINX_BIN"
            )
        })
}
