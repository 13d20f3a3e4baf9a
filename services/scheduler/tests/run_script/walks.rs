//! The commands of the READMEs are run, and answer what these say.

use std::fs::{self, Permissions};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Output};

use anteroom_testkit::{PATIENCE, free_port, until};
use tempfile::TempDir;

use crate::run::{ROOT, Run};

/// The shell blocks of a Markdown text between a heading and the next of its kind.
fn blocks(text: &str, heading: &str) -> Vec<String> {
    let (_, rest) = text.split_once(&format!("\n{heading}\n")).expect("the heading");
    let level = heading.split(' ').next().expect("a mark");
    let section = rest.split(&format!("\n{level} ")).next().unwrap_or(rest);
    let blocks = section.split("```sh\n").skip(1);
    blocks.map(|block| block.split("```").next().expect("an end").to_owned()).collect()
}

/// Has a shell run what is pasted, with a curl that also prints the status of each answer.
fn paste(text: &str) -> (Output, Vec<u16>) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let found = Command::new("sh").args(["-c", "command -v curl"]).output().expect("a shell");
    let curl = String::from_utf8(found.stdout).expect("a path");
    let wrapper = folder.path().join("curl");
    let script = format!(
        "#!/bin/sh\n{} -D \"$0.head\" \"$@\"; code=$?\n\
         sed -n '1s|^HTTP/[^ ]* \\([0-9]*\\).*|status \\1|p' \"$0.head\" >&2\nexit $code\n",
        curl.trim()
    );
    fs::write(&wrapper, script).expect("written");
    fs::set_permissions(&wrapper, Permissions::from_mode(0o755)).expect("permissions");
    let path = std::env::var("PATH").expect("a path");
    let output = Command::new("bash")
        .args(["-c", text])
        .env("PATH", format!("{}:{path}", folder.path().display()))
        .output()
        .expect("bash");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let statuses = stderr.lines().filter_map(|line| line.strip_prefix("status "));
    (output, statuses.map(|status| status.parse().expect("a number")).collect())
}

#[tokio::test]
async fn the_readme_s_lines_work_when_pasted_in_their_order() {
    let mut run = Run::start(&[]);
    run.until_running().await;
    let readme = fs::read_to_string(format!("{ROOT}/README.md")).expect("the README");
    let (before, _) = readme.split_once("\n### Who a visitor is\n").expect("a part on visitors");
    let sections = ["## Limits", "## Targets", "## Pools"].map(|title| blocks(&readme, title));
    let lines = [blocks(before, "## The API by example"), sections.concat()].concat().concat();
    let lines = lines
        .replace("127.0.0.1:8080", &run.address("waiting page"))
        .replace("127.0.0.1:8081", &run.address("service port"));
    let (output, statuses) = paste(&lines);
    let answers = String::from_utf8_lossy(&output.stdout);
    let public = [201, 200, 200, 200, 200, 204, 200];
    let service = [201, 204, 200, 200, 200];
    let limits = [200, 200, 200, 200, 204];
    let targets = [200; 4];
    let pools = [200, 201, 200, 201, 200, 200];
    assert_eq!(statuses, [&public[..], &service, &limits, &targets, &pools].concat(), "{answers}");
    for answer in ["{\"amount\":12500000,\"balance\":9987500000}", "{\"holds\":true"] {
        assert!(answers.contains(answer), "{answer}: {answers}");
    }
    assert!(answers.contains("\"successes\":8,\"failures\":3"), "{answers}");
    let left = "\"limit\":5,\"remaining\":1";
    for answer in [left, "x-anteroom-visitor: 1", "\"status\":\"active\"", "\"state\":\"paused\""] {
        assert!(answers.contains(answer), "{answer}: {answers}");
    }
    is_on_lines_of_its_own(&answers);
}

/// An application of the README is requested by its token, and issued by the issuer that runs.
#[tokio::test]
async fn the_readme_s_application_is_issued() {
    let mut run = Run::start(&[]);
    run.until_running().await;
    let readme = fs::read_to_string(format!("{ROOT}/README.md")).expect("the README");
    let event = blocks(&readme, "## Events").swap_remove(0);
    let event = event
        .replace("127.0.0.1:8080", &run.address("waiting page"))
        .replace("127.0.0.1:8081", &run.address("service port"));
    let (output, statuses) = paste(&event);
    assert_eq!(statuses, [202, 200, 200, 200, 200], "{output:?}");
    let answers = String::from_utf8_lossy(&output.stdout);
    assert!(answers.contains("{\"stock\":520}"), "{answers}");
    is_on_lines_of_its_own(&answers);

    let walk = blocks(&readme, "### Issuing").swap_remove(0);
    let walk = walk.replace("127.0.0.1:8081", &run.address("service port"));
    // Applied for once; from then on it is the same application.
    let (output, statuses) = paste(&walk);
    assert_eq!(statuses, [202, 200], "{output:?}");
    until("it is issued", PATIENCE, async || {
        let (output, statuses) = paste(&walk);
        assert_eq!(statuses, [200, 200], "{output:?}");
        String::from_utf8_lossy(&output.stdout).matches("\"status\":\"issued\"").count() == 2
    })
    .await;
}

/// No answer, and no prompt after it, is behind another on the same line.
fn is_on_lines_of_its_own(answers: &str) {
    for line in answers.lines().filter(|line| line.contains("{\"")) {
        let alone = line.starts_with('{') && line.ends_with('}') && !line.contains("}{");
        assert!(alone, "{line}");
    }
    assert!(answers.ends_with('\n'), "{answers}");
}

/// A clone whose example uses other ports, so that tests do not meet.
fn clone_with(ports: &[(&str, String)]) -> (TempDir, String) {
    let clone = tempfile::tempdir().expect("a temporary directory");
    for name in ["Makefile", "scripts", "config"] {
        symlink(Path::new(ROOT).join(name), clone.path().join(name)).expect("a link");
    }
    let example = clone.path().join("gateways/nginx");
    fs::create_dir_all(&example).expect("a folder");
    let with_ports =
        |text: String| ports.iter().fold(text, |text, (old, new)| text.replace(old, new));
    let mut readme = String::new();
    for file in fs::read_dir(format!("{ROOT}/gateways/nginx")).expect("the example") {
        let file = file.expect("a file");
        let text = with_ports(fs::read_to_string(file.path()).expect("text"));
        fs::write(example.join(file.file_name()), &text).expect("written");
        if file.file_name() == "README.md" {
            readme = text;
        }
    }
    (clone, readme)
}

#[tokio::test]
async fn the_walk_through_nginx_works_from_a_clone() {
    let [gate, shop, admission] = [free_port(), free_port(), free_port()];
    let (clone, readme) = clone_with(&[
        ("127.0.0.1:8000", format!("127.0.0.1:{gate}")),
        ("127.0.0.1:3000", format!("127.0.0.1:{shop}")),
        ("http.server 3000", format!("http.server {shop}")),
        ("127.0.0.1:8080", format!("127.0.0.1:{admission}")),
    ]);
    let walk = blocks(&readme, "## Try it");
    let [anteroom, gateway, visits] = &walk[..] else { panic!("three blocks: {walk:?}") };
    let terminal = |block: &str| {
        let mut shell = Command::new("bash");
        shell.args(["-c", block]).current_dir(clone.path());
        shell
    };
    let listen = format!("127.0.0.1:{admission}");
    let mut anteroom = Run::of(terminal(anteroom), &[("ANTEROOM_ADMISSION__LISTEN", &listen)]);
    anteroom.until_running().await;
    let gateway = Run::of(terminal(gateway), &[]);
    for port in [gate, shop] {
        until("the port is open", PATIENCE, async || {
            let open = TcpStream::connect(("127.0.0.1", port)).is_ok();
            assert!(
                open || !gateway.script.stderr().contains("[emerg]"),
                "{}",
                gateway.script.stderr()
            );
            open
        })
        .await;
    }

    let expected: Vec<u16> = visits
        .lines()
        .filter(|line| line.contains("curl"))
        .map(|line| {
            let (_, status) = line.split_once("# ").expect("each line says what is answered");
            status.split(' ').next().expect("a word").parse().expect("a status")
        })
        .collect();
    assert!(expected.len() >= 7, "{expected:?}");
    let (output, statuses) = paste(visits);
    let answers = String::from_utf8_lossy(&output.stdout);
    assert_eq!(statuses, expected, "{answers}");
    let seat = "<p>You have a seat.";
    for answer in
        ["token_missing", "/queues/concert?return_to=", "width=device-width", seat, "\"waiting\""]
    {
        assert!(answers.contains(answer), "{answer}: {answers}");
    }
    is_on_lines_of_its_own(&answers);
    gateway.interrupt();
    until("NGINX has ended", PATIENCE, async || gateway.count("nginx") == 0).await;
    anteroom.interrupt();
    until("Anteroom has ended", PATIENCE, async || anteroom.count("anteroom-") == 0).await;
}

/// Nothing of the example lies where only root may write.
#[test]
fn the_example_keeps_its_files_in_the_folder_that_it_is_given() {
    let conf =
        fs::read_to_string(format!("{ROOT}/gateways/nginx/nginx.conf")).expect("the example");
    let lines = conf.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let absolute: Vec<&str> =
        lines.filter(|line| line.contains(" /") && line.ends_with(';')).collect();
    assert!(absolute.is_empty(), "{absolute:?}");
}
