//! The shell from outside: exit codes, signals, the metrics port, the lines of the log.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::PathBuf,
    process::{Child, ChildStdout, Command, Output, Stdio},
    time::{Duration, Instant},
};

/// The example `idle`, which cargo builds beside the tests.
fn idle() -> Command {
    let test = std::env::current_exe().expect("the test is a file");
    let program: PathBuf = test
        .ancestors()
        .map(|folder| folder.join("examples/idle"))
        .find(|program| program.is_file())
        .expect("the example is built: cargo build -p anteroom-runtime --examples");
    let mut command = Command::new(program);
    command.env_clear().env("ANTEROOM_SCHEDULER__METRICS_LISTEN", "127.0.0.1:0");
    command
}

fn output(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (status.code(), text(stdout), text(stderr))
}

/// A process that ends with the test.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A running example.
struct Running {
    child: Killed,
    log: BufReader<ChildStdout>,
    port: String,
}

impl Running {
    /// Starts it and waits until it listens.
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let log = BufReader::new(child.stdout.take().expect("piped"));
        let mut running = Self { child: Killed(child), log, port: String::new() };
        let line = running.line("listening");
        assert_eq!(line["port"], "metrics");
        assert_eq!(line["level"], "INFO");
        running.port = line["address"].as_str().expect("a string").to_owned();
        running
    }

    /// The next line of the log with this message.
    fn line(&mut self, message: &str) -> serde_json::Value {
        loop {
            let mut line = String::new();
            assert_ne!(self.log.read_line(&mut line).expect("text"), 0, "ended before {message}");
            let line: serde_json::Value = serde_json::from_str(&line).expect("JSON");
            if line["message"] == message {
                return line;
            }
        }
    }

    fn signal(&self, name: &str) {
        let id = self.child.0.id().to_string();
        let status = Command::new("kill").args(["-s", name, &id]).status().expect("kill runs");
        assert!(status.success());
    }

    fn exit_code(&mut self) -> Option<i32> {
        self.child.0.wait().expect("it ends").code()
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.port).expect("it listens")
    }

    /// The answer; only a failing test waits long.
    fn get(&self, path: &str) -> String {
        let mut stream = self.connect();
        stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a time");
        write!(stream, "GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
            .expect("written");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap_or_else(|error| panic!("{path}: {error}"));
        answer
    }
}

#[test]
fn a_bad_configuration_ends_with_64_and_one_line() {
    let mut command = idle();
    let bad = command.env("ANTEROOM_SCHEDULER__TICK", "1y");
    let (code, stdout, stderr) = output(bad);
    assert_eq!((code, stdout.as_str(), stderr.lines().count()), (Some(64), "", 1), "{stderr}");
    let line = "anteroom-scheduler: scheduler.tick = \"1y\" (ANTEROOM_SCHEDULER__TICK): must be";
    assert!(stderr.starts_with(line), "{stderr}");
    let (code, ..) = output(bad.arg("--check-config"));
    assert_eq!(code, Some(64));
    for arguments in [&[][..], &["--check-config"]] {
        let (code, _, stderr) = output(idle().env("RUST_LOG", "a=b=c").args(arguments));
        assert_eq!((code, stderr.lines().count()), (Some(64), 1), "{stderr}");
        assert!(stderr.contains("RUST_LOG = \"a=b=c\": must be"), "{stderr}");
    }
    let (code, _, stderr) = output(idle().args(["--config", "/no/such/file"]));
    assert_eq!((code, stderr.lines().count()), (Some(64), 1), "{stderr}");
    let (code, ..) = output(idle().env("ANTEROOM_CONFIG", "/no/such/file"));
    assert_eq!(code, Some(64));
}

#[test]
fn the_command_line_answers_without_a_configuration() {
    let (code, stdout, _) = output(idle().arg("--version"));
    let version = format!("anteroom-scheduler {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!((code, stdout), (Some(0), version));
    let (code, stdout, _) = output(idle().arg("--help"));
    assert_eq!(code, Some(0));
    for part in ["--config <FILE>", "ANTEROOM_CONFIG", "--check-config", "Examples:", "64"] {
        assert!(stdout.contains(part), "{part} is missing in {stdout}");
    }
    let (code, _, stderr) = output(idle().arg("--nonsense"));
    assert_eq!(code, Some(2), "{stderr}");
    let (code, stdout, stderr) = output(idle().arg("--check-config"));
    assert_eq!((code, stdout.as_str()), (Some(0), "the configuration is valid\n"));
    assert!(stderr.contains("warning: no [queues.*] are declared"), "{stderr}");
}

/// Started by another program, which becomes it.
fn idle_under(program: &str, args: &[&str]) -> Command {
    let idle = idle();
    let mut command = Command::new(program);
    command.args(args).arg(idle.get_program());
    for (key, value) in idle.get_envs() {
        value.map(|value| command.env(key, value));
    }
    command
}

#[test]
fn serves_until_a_signal() {
    for name in ["TERM", "INT", "HUP"] {
        // These tests themselves may run under `nohup`.
        let mut running = Running::start(&mut idle_under("env", &["--default-signal=HUP"]));
        assert!(running.get("/livez").starts_with("HTTP/1.1 200 OK"));
        let metrics = running.get("/metrics");
        for part in ["anteroom_build_info{", "anteroom_success_ratio{", "process_open_fds "] {
            assert!(metrics.contains(part), "{part} is missing in {metrics}");
        }
        running.signal(name);
        let line = running.line("shutting down");
        assert_eq!(line["signal"], format!("SIG{name}"));
        running.line("stopped");
        assert_eq!(running.exit_code(), Some(0));
    }
}

#[test]
fn under_nohup_a_hang_up_ends_nothing() {
    let mut running = Running::start(&mut idle_under("sh", &["-c", "trap '' HUP; exec \"$0\""]));
    running.signal("HUP");
    assert!(running.get("/livez").starts_with("HTTP/1.1 200 OK"));
    running.signal("TERM");
    assert_eq!(running.line("shutting down")["signal"], "SIGTERM");
    assert_eq!(running.exit_code(), Some(0));
}

/// A liveness probe waits for a second or two before its pod is restarted.
#[test]
fn slow_clients_shut_no_probe_out() {
    let running = Running::start(&mut idle());
    let mut slow: Vec<_> = (0..300).map(|_| running.connect()).collect();
    for _ in 0..3 {
        // Half of them say nothing, the others a byte at a time.
        for stream in slow.iter_mut().step_by(2) {
            // Some of them have been closed.
            let _ = stream.write_all(b"x");
        }
        for path in ["/livez", "/readyz", "/metrics"] {
            let answer = running.get(path);
            assert!(answer.starts_with("HTTP/1.1 "), "{path}: {answer}");
        }
    }
    let open = std::fs::read_dir(format!("/proc/{}/fd", running.child.0.id())).expect("it runs");
    assert!(open.count() > 150, "the slow ones are held");
}

/// The configuration often lies beside files that change all the time, its own log among them.
#[test]
fn a_busy_neighbour_of_the_configuration_costs_nothing() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| folder.path().join(name);
    let write = |name: &str, text: &str| std::fs::write(path(name), text).expect("written");
    let log = || std::fs::read_to_string(path("service.log")).expect("text");
    write("anteroom.toml", "[scheduler]\ntick = \"100ms\"\n");
    let file = std::fs::File::create(path("service.log")).expect("created");
    let mut command = idle();
    command.arg("--config").arg(path("anteroom.toml")).env("RUST_LOG", "trace").stdout(file);
    let running = Killed(command.spawn().expect("it starts"));
    let id = running.0.id();
    until("it listens", || log().contains("listening"));

    let (before, began) = (reads(id), Instant::now());
    let mut neighbours =
        ["a.log", "b.log"].map(|name| std::fs::File::create(path(name)).expect("created"));
    for line in 0..2_000 {
        writeln!(neighbours[line % 2], "line {line}").expect("written");
        // One at a time, or the system would report many at once.
        std::thread::sleep(Duration::from_millis(1));
    }
    write("anteroom.toml", "[scheduler]\ntick = \"50ms\"\n");
    until("the change is seen", || log().contains("the changed configuration is in force"));
    let (read, seconds) = (reads(id) - before, began.elapsed().as_secs());
    assert!(read <= 100 + 20 * seconds, "read {read} times in {seconds} s");
    let lines = log().lines().count();
    assert!(lines < 100, "{lines} lines of log");
}

/// How often a process has read something: its files, or notifications of the system.
fn reads(process: u32) -> u64 {
    let counts = std::fs::read_to_string(format!("/proc/{process}/io")).expect("it runs");
    let count = counts.lines().find_map(|it| it.strip_prefix("syscr:")).expect("counted");
    count.trim().parse().expect("a number")
}

/// Waits for it; only a failing test waits long.
fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(30), "not in time: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_metrics_port_outlives_the_drain_and_a_second_signal_ends_it() {
    let mut running = Running::start(idle().env("IDLE_UNTIL", "never"));
    running.signal("TERM");
    running.line("shutting down");
    running.line("not ready");
    let answer = running.get("/readyz");
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.ends_with("drain: shutting down\n"), "{answer}");
    assert!(running.get("/livez").starts_with("HTTP/1.1 200 OK"));
    running.signal("TERM");
    assert_eq!(running.exit_code(), Some(130));
}

#[test]
fn failures_end_with_1() {
    let (code, stdout, _) = output(idle().env("IDLE_UNTIL", "error"));
    assert_eq!(code, Some(1));
    assert!(stdout.contains("it is to fail"), "{stdout}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("bound").to_string();
    let (code, stdout, _) = output(idle().env("ANTEROOM_SCHEDULER__METRICS_LISTEN", &address));
    assert_eq!(code, Some(1));
    let named = format!("\"scheduler.metrics_listen = {address}: ");
    assert!(stdout.contains(&named), "{stdout}");
}

#[test]
fn text_is_for_people() {
    let (code, stdout, _) =
        output(idle().envs([("IDLE_UNTIL", "error"), ("ANTEROOM_LOG__FORMAT", "text")]));
    assert_eq!(code, Some(1));
    assert!(stdout.contains(" INFO ") && !stdout.contains('{'), "{stdout}");
    assert!(!stdout.contains('\u{1b}'), "no colours into a file: {stdout}");
    let (_, stdout, _) = output(idle().envs([("IDLE_UNTIL", "error"), ("RUST_LOG", "error")]));
    assert_eq!(stdout.lines().count(), 1, "{stdout}");
}
