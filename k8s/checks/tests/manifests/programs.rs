//! The other programs read what they would be given: Redis, Prometheus.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpStream,
    path::Path,
    process::Command,
};

use anteroom_testkit::{PATIENCE, Process, Service, binary, free_port, until};
use serde_json::Value;

use crate::rendered::{Rendered, items, pod, rendered};
use crate::secrets::decoded;

/// What is mounted under this name, all ConfigMaps of the volume together.
pub fn mounted(
    rendered: &Rendered,
    kind: &str,
    workload: &str,
    volume: &str,
) -> Vec<(String, String)> {
    let workload = rendered.find(kind, workload).unwrap();
    let volumes = items(&pod(workload)["volumes"]);
    let volume = volumes.iter().find(|had| had["name"] == volume).unwrap();
    let single = [volume.clone()];
    let sources = volume["projected"]["sources"].as_array().map_or(&single[..], Vec::as_slice);
    let mut files = Vec::new();
    for source in sources {
        let name = source["configMap"]["name"].as_str().unwrap();
        let data = &rendered.find("ConfigMap", name).unwrap()["data"];
        for (file, text) in data.as_object().unwrap() {
            files.push((file.clone(), text.as_str().unwrap().to_owned()));
        }
    }
    files
}

/// The program, also where only root's PATH has it.
pub fn program(name: &str) -> Command {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&folders).chain([Path::new("/usr/sbin").to_owned()]);
    let found = folders.map(|folder| folder.join(name)).find(|file| file.is_file());
    Command::new(found.unwrap_or_else(|| panic!("no {name}: scripts/prerequisites.sh installs it")))
}

/// A real Redis with the mounted files takes the services' user, nobody else, and keeps over a
/// restart what was written. It would not, if the default user were one of few permissions.
#[tokio::test]
async fn redis_takes_its_configuration_and_its_users_and_keeps_what_it_has() {
    let dev = rendered("overlays/dev");
    let auth = dev.find("Secret", "redis-auth").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let port = free_port();
    fs::write(folder.path().join("users.acl"), decoded(auth, "users.acl")).unwrap();
    let (_, conf) = mounted(dev, "StatefulSet", "redis", "config").remove(0);
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

/// The first lines of what is answered, one for each that was asked.
fn say(address: &str, asked: &str) -> Vec<String> {
    let mut line = TcpStream::connect(address).unwrap();
    line.write_all(asked.as_bytes()).unwrap();
    let answers = BufReader::new(line).lines();
    answers.take(asked.lines().count()).map(Result::unwrap).collect()
}

/// Needs no cluster to be parsed: promtool reads the file and the rules beside it.
#[test]
fn prometheus_takes_its_configuration_and_its_rules() {
    let dev = rendered("overlays/dev");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let mut files = mounted(dev, "Deployment", "prometheus", "config");
    files.extend(mounted(dev, "Deployment", "prometheus", "rules"));
    for (file, text) in files {
        let text = text.replace("/etc/prometheus/rules", path).replace("*.yaml", "*.rules.yaml");
        fs::write(folder.path().join(file), text).unwrap();
    }
    let mut check = program("promtool");
    check.args(["check", "config"]).arg(folder.path().join("prometheus.yml"));
    let output = check.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("rules found"), "{said}");
    let names = ["admission-metrics", "scheduler"];
    for name in names {
        let service: &Value = dev.find("Service", name).unwrap();
        assert_eq!(service["spec"]["clusterIP"], "None", "{name}: DNS has to name each pod");
    }
}
