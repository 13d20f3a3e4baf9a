//! The store's Redis with the files that it would be given.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpStream,
    path::PathBuf,
    process::{Command, Output},
};

use anteroom_testkit::{PATIENCE, Process, Service, binary, free_port, until, until_some};
use tempfile::TempDir;

use crate::programs::{mounted, program};
use crate::rendered::rendered;
use crate::secrets::decoded;

/// A real Redis with the mounted files takes the services' user alone, and keeps over a
/// restart what was written. It would not, if the default user were one of few permissions.
#[tokio::test]
async fn redis_takes_its_configuration_and_its_users_and_keeps_what_it_has() {
    let dev = rendered("overlays/dev");
    let auth = dev.find("Secret", "redis-auth").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let port = free_port();
    fs::write(folder.path().join("users.acl"), decoded(auth, "users.acl")).unwrap();
    let files = mounted(dev, "StatefulSet", "redis", "config");
    let (_, conf) = files.iter().find(|(file, _)| file == "redis.conf").unwrap();
    let conf = conf
        .replace("bind * -::*", "bind 127.0.0.1")
        .replace("port 6379", &format!("port {port}"))
        .replace("/etc/redis/users", path)
        .replace("dir /data", &format!("dir {path}"));
    let file = folder.path().join("redis.conf");
    fs::write(&file, &conf).unwrap();
    let server = std::env::var("ANTEROOM_REDIS_BIN").unwrap_or_else(|_| "redis-server".to_owned());
    let mut redis = Process::spawn(&server, [&file], &[]);
    redis.line("Ready to accept connections", PATIENCE).await;

    let redis_at = format!("127.0.0.1:{port}");
    assert!(say(&redis_at, "PING\r\n")[0].starts_with("-NOAUTH"));
    let probe = say(&redis_at, "AUTH probe none\r\nPING\r\nGET x\r\n");
    assert_eq!(probe[..2], ["+OK", "+PONG"]);
    assert!(probe[2].starts_with("-NOPERM"), "{probe:?}");

    let mut admission = Command::new(binary("anteroom-admission"));
    admission.envs([
        ("ANTEROOM_STORE__URL", format!("redis://{redis_at}")),
        ("ANTEROOM_STORE__USERNAME", decoded(auth, "username")),
        ("ANTEROOM_STORE__PASSWORD", decoded(auth, "password")),
        ("ANTEROOM_QUEUES__CONCERT__CAPACITY", "1".to_owned()),
    ]);
    for port in ["", "SERVICE_", "METRICS_"] {
        admission.env(format!("ANTEROOM_ADMISSION__{port}LISTEN"), "127.0.0.1:0");
    }
    let admission = Service::start(admission, &["public", "service", "metrics"]).await;
    admission.until_ready().await;
    let token = admission.join("concert").await;

    redis.term();
    redis.exit(PATIENCE).await;
    let mut redis = Process::spawn(&server, [&file], &[]);
    redis.line("Ready to accept connections", PATIENCE).await;
    let look = format!(
        "GET /v1/queues/concert/token HTTP/1.1\r\nhost: a\r\nx-anteroom-token: {token}\r\n\r\n"
    );
    until("the place is found again", PATIENCE, || {
        let status = say(admission.address("public"), &look).swap_remove(0);
        assert!(!status.contains("410"), "the place is lost: {status}");
        std::future::ready(status.ends_with("200 OK"))
    })
    .await;
}

/// The first lines of the answer, one for each line of the request.
fn say(address: &str, request: &str) -> Vec<String> {
    let mut line = TcpStream::connect(address).unwrap();
    line.write_all(request.as_bytes()).unwrap();
    let answers = BufReader::new(line).lines();
    answers.take(request.lines().count()).map(Result::unwrap).collect()
}

/// A Redis whose files stand in a folder, as its volume.
struct Volume {
    folder: TempDir,
    port: u16,
}

impl Volume {
    fn new() -> Self {
        let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
        let files = mounted(rendered("overlays/dev"), "StatefulSet", "redis", "config");
        let path = folder.path().to_str().unwrap();
        for (file, text) in files {
            let text = text
                .replace("bind * -::*", "bind 127.0.0.1")
                .replace("port 6379", &format!("port {port}"))
                .replace("aclfile /etc/redis/users/users.acl", "")
                .replace("dir /data", &format!("dir {path}"));
            fs::write(folder.path().join(file), text).unwrap();
        }
        Self { folder, port }
    }

    async fn start(&self) -> Process {
        let conf = self.folder.path().join("redis.conf");
        let mut redis = Process::start({
            let mut redis = program("redis-server");
            redis.arg(conf);
            redis
        });
        redis.line("Ready to accept connections", PATIENCE).await;
        redis
    }

    fn says(&self, command: &str) -> String {
        say(&format!("127.0.0.1:{}", self.port), &format!("{command}\r\n")).swap_remove(0)
    }

    fn writes(&self) -> PathBuf {
        self.folder.path().join("appendonlydir/appendonly.aof.1.incr.aof")
    }

    /// Waits until this is in the file: Redis answers before, while an earlier sync takes long.
    async fn written(&self, text: &str) -> Vec<u8> {
        until_some(&format!("{text} in the file"), PATIENCE, async || {
            let writes = fs::read(self.writes()).unwrap();
            writes.windows(text.len()).any(|it| it == text.as_bytes()).then_some(writes)
        })
        .await
    }

    /// What is done before Redis starts.
    fn check(&self) -> Output {
        let mut check = Command::new("sh");
        check.arg(self.folder.path().join("check-aof.sh"));
        check.arg(self.folder.path().join("appendonlydir/appendonly.aof.manifest"));
        check.output().unwrap()
    }
}

const HALVES: &str = "EVAL \"redis.call('DEL','waiting') redis.call('SET','ready',1)\" 0";

/// A stop of the machine may cut the file inside of what one script wrote. Redis starts with that
/// left open, and executes the half of it at the start after that one.
#[tokio::test]
async fn half_a_script_at_the_end_of_the_file_is_never_executed() {
    let volume = Volume::new();
    assert!(volume.check().status.success(), "there is no file yet");
    let mut redis = volume.start().await;
    assert_eq!(volume.says("SET waiting 1"), "+OK");
    assert_eq!(volume.says(HALVES), "$-1");
    let writes = volume.written("EXEC").await;
    redis.kill();
    let at = writes.windows(5).rposition(|it| it == b"ready").unwrap();
    fs::write(volume.writes(), &writes[..at + 2]).unwrap();

    let output = volume.check();
    assert!(output.status.success(), "{output:?}");
    for start in ["after the stop", "and once more"] {
        let mut redis = volume.start().await;
        assert_eq!(volume.says("EXISTS waiting"), ":1", "{start}");
        assert_eq!(volume.says("EXISTS ready"), ":0", "{start}");
        assert_eq!(volume.says("INCR later"), if start == "after the stop" { ":1" } else { ":2" });
        redis.term();
        redis.exit(PATIENCE).await;
        assert!(volume.check().status.success());
    }
}

/// Some file systems leave zeros behind; Redis alone does not start with them.
#[tokio::test]
async fn a_spoilt_block_at_the_end_of_the_file_is_taken_off() {
    let volume = Volume::new();
    let mut redis = volume.start().await;
    assert_eq!(volume.says("SET waiting 1"), "+OK");
    let mut writes = volume.written("waiting").await;
    redis.kill();
    writes.extend([0; 4096]);
    fs::write(volume.writes(), &writes).unwrap();
    assert!(volume.check().status.success());
    let _redis = volume.start().await;
    assert_eq!(volume.says("EXISTS waiting"), ":1");
}

#[tokio::test]
async fn what_no_stop_can_have_spoilt_is_left_as_it_is() {
    let volume = Volume::new();
    let mut redis = volume.start().await;
    assert_eq!(volume.says("SET waiting 1"), "+OK");
    let mut writes = volume.written("waiting").await;
    redis.kill();
    writes.extend(vec![0; 17 << 20]);
    fs::write(volume.writes(), &writes).unwrap();
    let output = volume.check();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("too much for a stop"), "{output:?}");
    assert_eq!(fs::read(volume.writes()).unwrap().len(), writes.len());
}
