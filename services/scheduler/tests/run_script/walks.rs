//! The walk through NGINX is run, and answers what its page says.

use std::fs::{self, Permissions};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Output};

use anteroom_testkit::{PATIENCE, docs, free_port, until};
use tempfile::TempDir;

use crate::run::{ROOT, Run};

/// The shell blocks of a page between a heading and the next of its kind.
fn blocks(page: &docs::Page, heading: &str) -> Vec<String> {
    let (_, rest) = page.text.split_once(&format!("\n{heading}\n")).expect("the heading");
    let section = rest.split("\n## ").next().unwrap_or(rest);
    let section = docs::Page { path: page.path.clone(), text: section.to_owned() };
    let blocks = section.blocks().into_iter().filter(|block| block.info == "sh");
    blocks.map(|block| block.code).collect()
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

/// No answer, and no prompt after it, is behind another on the same line.
fn is_on_lines_of_its_own(answers: &str) {
    for line in answers.lines().filter(|line| line.contains("{\"")) {
        let alone = line.starts_with('{') && line.ends_with('}') && !line.contains("}{");
        assert!(alone, "{line}");
    }
    assert!(answers.ends_with('\n'), "{answers}");
}

fn with_ports(text: &str, ports: &[(&str, String)]) -> String {
    ports.iter().fold(text.to_owned(), |text, (old, new)| text.replace(old, new))
}

/// A clone whose example uses other ports, so that tests do not meet.
fn clone_with(ports: &[(&str, String)]) -> TempDir {
    let clone = tempfile::tempdir().expect("a temporary directory");
    for name in ["Makefile", "scripts", "config"] {
        symlink(Path::new(ROOT).join(name), clone.path().join(name)).expect("a link");
    }
    let example = clone.path().join("gateways/nginx");
    fs::create_dir_all(&example).expect("a folder");
    for file in fs::read_dir(format!("{ROOT}/gateways/nginx")).expect("the example") {
        let file = file.expect("a file");
        let text = with_ports(&fs::read_to_string(file.path()).expect("text"), ports);
        fs::write(example.join(file.file_name()), &text).expect("written");
    }
    clone
}

#[tokio::test]
async fn the_walk_through_nginx_works_from_a_clone() {
    let [gate, shop, admission] = [free_port(), free_port(), free_port()];
    let ports = [
        ("127.0.0.1:8000", format!("127.0.0.1:{gate}")),
        ("127.0.0.1:3000", format!("127.0.0.1:{shop}")),
        ("http.server 3000", format!("http.server {shop}")),
        ("127.0.0.1:8080", format!("127.0.0.1:{admission}")),
    ];
    let clone = clone_with(&ports);
    let mut page = docs::read(docs::PROTECT_YOUR_SERVICE);
    page.text = with_ports(&page.text, &ports);
    let walk = blocks(&page, "## Try it");
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
