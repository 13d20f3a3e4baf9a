//! The systemd units and the compose file: each of their commands is started with its environment,
//! on loopback and below a folder that is their root.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anteroom_testkit::{
    Answer, PATIENCE, PERMISSIONS, Process, Redis, Service, binary, client, docs, free_ports,
    repository, until,
};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::programs::program;
use crate::rendered::items;

/// The page that describes both.
const PAGE: &str = "docs/how-to/deploy-without-kubernetes.md";
const PASSWORD: &str = "pass";

fn deploy() -> PathBuf {
    repository::root().join("deploy")
}

fn read(file: PathBuf) -> String {
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// An API key, and the table of the configuration that accepts it.
fn new_key(arguments: &[&str]) -> (String, String) {
    let mut command = Command::new(binary("anteroom-admission"));
    let output = command.env_clear().arg("new-key").args(arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (key, rest) = text.split_once('\n').unwrap();
    (key.to_owned(), rest[rest.find("[keys.").unwrap()..].to_owned())
}

/// The secrets in the folder, as the page makes them.
fn write_secrets(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    for name in ["token_secrets", "identity_secrets"] {
        let secret = format!("{name}-0123456789-abcdefghijklmnopqrstuvwxyz");
        fs::write(folder.join(name), secret).unwrap();
    }
    fs::write(folder.join("redis_password"), PASSWORD).unwrap();
}

/// The lines `KEY=VALUE` of a text.
fn assignments(text: &str) -> impl Iterator<Item = (String, String)> + '_ {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once('=')).map(|(key, value)| (key.into(), value.into()))
}

/// The values of a directive in a unit.
fn directives<'a>(unit: &'a str, name: &str) -> Vec<&'a str> {
    let start = format!("{name}=");
    unit.lines().filter_map(|line| line.strip_prefix(&start)).collect()
}

/// A duration in whole seconds, such as `20s`.
fn seconds(text: &str) -> u64 {
    text.strip_suffix('s').and_then(|it| it.parse().ok()).unwrap_or_else(|| panic!("{text}"))
}

#[tokio::test]
async fn every_unit_of_systemd_starts_becomes_ready_and_ends() {
    let redis = Redis::start().await;
    redis.user("anteroom", &PERMISSIONS).await;
    let root = tempfile::tempdir().unwrap();
    let etc = root.path().to_str().unwrap();
    write_secrets(&root.path().join("secrets"));
    let mut blocks = docs::read(PAGE).blocks().into_iter();
    let mut config = blocks.find(|it| it.code.contains("[queues.concert]")).unwrap().code;
    for name in ["shop", "operator"] {
        let (_, table) = new_key(&["--name", name]);
        let digest = table.split('"').nth(1).unwrap();
        config = config.replacen("sha256:…", digest, 1);
    }
    fs::write(root.path().join("anteroom.toml"), config).unwrap();

    let here = |text: &str| {
        let text = text.replace("/etc/anteroom", etc);
        let text = text.replace("redis://127.0.0.1:6379", &redis.url());
        // Any free port.
        match text.strip_prefix("127.0.0.1:") {
            Some(_) => "127.0.0.1:0".to_owned(),
            None => text,
        }
    };
    let mut services = Vec::new();
    for (name, ports) in [
        ("admission", &["public", "service", "metrics"][..]),
        ("scheduler", &["metrics"]),
        ("issuer", &["metrics"]),
        ("envoy", &["grpc", "metrics"]),
    ] {
        let unit = read(deploy().join(format!("systemd/anteroom-{name}.service")));
        let mut environment: BTreeMap<_, _> =
            directives(&unit, "Environment").into_iter().flat_map(assignments).collect();
        let drain: u64 = environment.values().map(|value| seconds(value)).sum();
        let stop = seconds(directives(&unit, "TimeoutStopSec")[0]);
        assert!(stop > drain, "{name}: {stop} s are too few for a drain of {drain} s");
        assert_eq!(directives(&unit, "EnvironmentFile"), ["/etc/anteroom/anteroom.env"]);
        environment.extend(assignments(&read(deploy().join("systemd/anteroom.env"))));
        let start: Vec<_> = directives(&unit, "ExecStart")[0].split(' ').collect();
        let file = Path::new(start[0]).file_name().unwrap().to_str().unwrap();
        let mut command = Command::new(binary(file));
        command.env_clear().args(start[1..].iter().map(|word| here(word)));
        command.envs(environment.iter().map(|(key, value)| (key, here(value))));
        let service = Service::start(command, ports).await;
        service.until_ready().await;
        services.push(service);
    }
    services[0].join("concert").await;
    for service in services {
        service.end().await;
    }
}

/// The compose file, with a folder that is the root of each container.
struct Compose {
    file: Value,
    root: tempfile::TempDir,
    /// The port of this machine for a port of a container.
    ports: BTreeMap<(&'static str, u16), u16>,
    key: String,
}

impl Compose {
    /// The ports of the containers, as the file and the mounted configurations name them.
    const PORTS: [(&str, u16); 9] = [
        ("redis", 6379),
        ("admission", 8080),
        ("admission", 8081),
        ("admission", 9090),
        ("scheduler", 9091),
        ("issuer", 9092),
        ("shop", 8090),
        ("nginx", 8080),
        ("nginx", 8081),
    ];

    fn new() -> Self {
        let file = serde_saphyr::from_str(&read(deploy().join("compose/compose.yaml"))).unwrap();
        let root = tempfile::tempdir().unwrap();
        write_secrets(&root.path().join("run/secrets"));
        let (key, table) = new_key(&["--name", "shop", "--scope", "queues:concert"]);
        let ports = Self::PORTS.into_iter().zip(free_ports::<9>()).collect();
        let this = Self { file, root, ports, key };
        let digest: String =
            Sha256::digest(PASSWORD).iter().map(|byte| format!("{byte:02x}")).collect();
        let users = read(repository::root().join("k8s/overlays/dev/secrets/users.acl"));
        let published = users.split('#').nth(1).unwrap()[..64].to_owned();
        this.write("secrets/users.acl", &users.replace(&published, &digest));
        let config = read(deploy().join("compose/config/anteroom.toml"));
        // Here NGINX has the address of this machine.
        let config = config.replace("172.30.80.10", "127.0.0.1");
        this.write("config/anteroom.toml", &format!("{config}\n{table}"));
        this
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.root.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    /// A text of a container, with the addresses and the paths of this machine.
    fn here(&self, service: &str, text: &str) -> String {
        let mut text = text.to_owned();
        for ((name, port), here) in &self.ports {
            text = text.replace(&format!("{name}:{port}"), &format!("127.0.0.1:{here}"));
            if *name == service {
                let listen = format!("listen 127.0.0.1:{here};");
                text = text
                    .replace(&format!("0.0.0.0:{port}"), &format!("127.0.0.1:{here}"))
                    .replace(&format!("listen {port};"), &listen)
                    .replace(&format!("port {port}"), &format!("port {here}"))
                    .replace("bind * -::*", "bind 127.0.0.1");
            }
        }
        // The paths of this machine come last: they may hold one of a container's.
        for folder in ["/etc/", "/data", "/tmp/"] {
            text = text.replace(folder, &format!("ROOT/{service}{folder}"));
        }
        text.replace("/run/secrets", "ROOT/run/secrets")
            .replace("ROOT", self.root.path().to_str().unwrap())
    }

    /// Puts the files of a container to where it finds them.
    fn mount(&self, service: &str) {
        let definition = &self.file["services"][service];
        for path in ["data", "tmp"] {
            fs::create_dir_all(self.root.path().join(service).join(path)).unwrap();
        }
        for volume in items(&definition["volumes"]) {
            let volume = volume.as_str().unwrap();
            let clone = repository::root();
            let volume = volume.replace("${ANTEROOM_CLONE:-../..}", clone.to_str().unwrap());
            let mut parts = volume.split(':');
            let (from, to) = (parts.next().unwrap(), parts.next().unwrap());
            if from == "redis-data" {
                continue;
            }
            let made = self.root.path().join(from);
            let from = if made.exists() { made } else { deploy().join("compose").join(from) };
            let files: Vec<_> = if from.is_dir() {
                fs::read_dir(&from).unwrap().map(|it| it.unwrap().path()).collect()
            } else {
                vec![from.clone()]
            };
            for file in files {
                let below = file.strip_prefix(&from).unwrap();
                let to = Path::new(service).join(to.trim_start_matches('/')).join(below);
                let to = to.to_str().unwrap().trim_end_matches('/').to_owned();
                self.write(&to, &self.here(service, &read(file)));
            }
        }
    }

    /// The command of a container with its environment.
    fn command(&self, service: &str) -> Command {
        self.mount(service);
        let definition = &self.file["services"][service];
        let words: Vec<_> = items(&definition["command"])
            .iter()
            .map(|word| self.here(service, word.as_str().unwrap()))
            .collect();
        let name = Path::new(&words[0]).file_name().unwrap().to_str().unwrap();
        let mut command = match name.starts_with("anteroom-") {
            true => Command::new(binary(name)),
            false => program(name),
        };
        command.args(&words[1..]);
        for (key, value) in definition["environment"].as_object().into_iter().flatten() {
            let value = value.as_str().unwrap();
            let value = if value.starts_with("${ANTEROOM_KEY") { &self.key } else { value };
            command.env(key, self.here(service, value));
        }
        command
    }

    fn url(&self, service: &'static str, port: u16) -> String {
        format!("http://127.0.0.1:{}", self.ports[&(service, port)])
    }
}

#[tokio::test]
async fn every_command_of_the_compose_file_starts_and_together_they_are_a_waiting_room() {
    let compose = Compose::new();
    let services = compose.file["services"].as_object().unwrap();
    let order = ["redis", "admission", "scheduler", "issuer", "shop", "nginx"];
    assert_eq!(services.len(), order.len(), "{:?}", services.keys());
    let mut processes = Vec::new();
    for service in order {
        let mut process = Process::start(compose.command(service));
        match service {
            "redis" => drop(process.line("Ready to accept connections", PATIENCE).await),
            "nginx" => process.port(compose.ports[&("nginx", 8080)], PATIENCE).await,
            _ => drop(process.line("listening", PATIENCE).await),
        }
        processes.push((service, process));
    }
    let get = async |service, port, path: &str| {
        Answer::of(client().get(compose.url(service, port) + path).header("accept", "text/html"))
            .await
    };
    for (service, port) in [("admission", 9090), ("scheduler", 9091), ("issuer", 9092)] {
        until(service, PATIENCE, async || get(service, port, "/readyz").await.status == 200).await;
    }
    // A visitor without a place is led to the waiting room, and that is there.
    let to = get("nginx", 8080, "/").await.is(302).header("location").to_owned();
    let path = to.strip_prefix("http://localhost:8000").unwrap_or_else(|| panic!("{to}"));
    get("nginx", 8080, path).await.is(200);
    for (service, process) in processes.iter_mut().rev() {
        process.term();
        let status = process.exit(PATIENCE).await;
        assert!(status.success(), "{service}: {status}: {}", process.stderr());
    }
}
