//! The gate: NGINX with the files that it would be given.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    process::Command,
};

use anteroom_testkit::{PATIENCE, Process, free_port};
use tempfile::TempDir;

use crate::programs::{mounted, program};
use crate::rendered::{Rendered, all, containers, items, pod, rendered};

/// The files, with other addresses: there is no DNS of a cluster here. What `listen` has
/// replaces the ports.
fn files(rendered: &Rendered, listen: impl Fn(&str, u16) -> String) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    for (file, mut text) in mounted(rendered, "Deployment", "gate", "config") {
        text = text.replace("/tmp/", &format!("{path}/"));
        for (name, port) in [("admission", 8080), ("concert", 8090), ("shop", 80)] {
            text = text.replace(&format!("server {name}:{port}"), "server 127.0.0.1:9");
        }
        for port in [8080, 8081] {
            text = text
                .replace(&format!("listen {port};"), &format!("listen {};", listen(path, port)));
        }
        fs::write(folder.path().join(file), text).unwrap();
    }
    folder
}

fn nginx(folder: &TempDir) -> Command {
    let mut nginx = program("nginx");
    nginx.args(["-e", "stderr", "-p"]).arg(folder.path());
    nginx.arg("-c").arg(folder.path().join("nginx.conf"));
    nginx
}

#[test]
fn nginx_takes_the_gate_of_every_overlay() {
    for rendered in all().iter().filter(|it| it.has_nginx_gate()) {
        let folder = files(rendered, |path, port| format!("unix:{path}/{port}"));
        let output = nginx(&folder).arg("-t").output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {stderr}", rendered.folder);
        assert!(!stderr.contains("[warn]"), "{}: {stderr}", rendered.folder);
    }
}

/// All who know a reservation may pay it, and a query holds what is private.
#[tokio::test]
async fn the_gates_log_holds_no_secret() {
    let (port, probes) = (free_port(), free_port());
    let folder = files(rendered("overlays/dev"), |_, of| {
        format!("127.0.0.1:{}", if of == 8080 { port } else { probes })
    });
    let mut gate = nginx(&folder);
    gate.args(["-g", "daemon off;"]);
    let mut gate = Process::start(gate);
    gate.port(port, PATIENCE).await;
    let ask = |head: &str, body: &[u8]| {
        let mut way = TcpStream::connect(("127.0.0.1", port)).unwrap();
        write!(way, "{head} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n").unwrap();
        write!(way, "referer: http://a/?x=SECRET\r\ncontent-length: {}\r\n\r\n", body.len())
            .unwrap();
        // Of a body that is too large the rest need not be taken.
        let _ = way.write_all(body);
        let mut answer = String::new();
        let _ = way.read_to_string(&mut answer);
        assert!(answer.starts_with("HTTP/1.1 "), "{answer}");
        answer[9..12].to_owned()
    };
    let reservation = "POST /api/reservations/SECRET/payment?x=SECRET";
    // The shop is away.
    assert_eq!(ask(reservation, b"{}"), "502");
    assert_eq!(ask(reservation, &[b'x'; 1_100_000]), "413");
    assert_eq!(ask("GET /shows/SECRET?x=SECRET", b""), "503");
    for area in ["\"area\":\"/api\"", "\"area\":\"/shows\""] {
        gate.line(area, PATIENCE).await;
    }
    gate.term();
    gate.exit(PATIENCE).await;
    let (log, errors) = (gate.stdout(), gate.stderr());
    assert!(!log.contains("SECRET"), "{log}");
    assert!(!errors.contains("SECRET"), "{errors}");
}

/// What a visitor can make it keep while half a request is there.
#[test]
fn the_gate_has_memory_for_what_nginx_allows() {
    const MIB: u64 = 1 << 20;
    // Of a head that does not end, as measured, and of a stream with both its connections.
    const HEAD: u64 = 45 << 10;
    const STREAM: u64 = 25 << 10;
    for rendered in all().iter().filter(|it| it.has_nginx_gate()) {
        let files = mounted(rendered, "Deployment", "gate", "config");
        let number = |word: &str| -> u64 {
            let words = files.iter().flat_map(|(_, text)| text.split([' ', ';', '\n']));
            let behind = words.skip_while(|it| *it != word).nth(1);
            behind.and_then(|it| it.parse().ok()).unwrap_or_else(|| panic!("no {word}"))
        };
        let gate = rendered.find("Deployment", "gate").unwrap();
        assert_eq!(containers(gate).next().unwrap()["image"], anteroom_k8s_checks::NGINX);
        let mut volumes = items(&pod(gate)["volumes"]).iter();
        let tmp = &volumes.find(|it| it["name"] == "tmp").unwrap()["emptyDir"];
        // On a disk an unlinked file counts against no limit.
        assert_eq!(tmp["medium"], "Memory");
        let mebibytes = |value: &serde_json::Value| -> u64 {
            let text = value.as_str().unwrap();
            let (number, unit) = text.split_at(text.len() - 2);
            let number: u64 = number.parse().unwrap();
            MIB * if unit == "Gi" { number << 10 } else { number }
        };
        let limit = containers(gate).map(|it| mebibytes(&it["resources"]["limits"]["memory"]));
        let needs = number("worker_connections") * HEAD
            + number("anteroom_streams") * STREAM
            + mebibytes(&tmp["sizeLimit"]);
        assert!(limit.sum::<u64>() >= needs, "{}: {} MiB", rendered.folder, needs / MIB);
    }
}
