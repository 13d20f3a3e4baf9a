//! The commands of the documentation, run against `make run`, and the command line that it shows.

use std::process::Command;

use anteroom_testkit::{Chromium, binary, docs, repository};

use crate::demo::demo;
use crate::run::Run;

/// Runs the `sh` blocks of these pages, each page in one shell that ends at the first failure.
async fn run_pages(is_one: impl Fn(&str) -> bool) {
    let mut run = Run::start(&[]);
    run.until_running().await;
    let addresses = [
        ("127.0.0.1:8080", run.address("waiting page")),
        ("127.0.0.1:8081", run.address("service port")),
        ("127.0.0.1:8090", run.address("the concert")),
        ("127.0.0.1:9090", run.metrics_address("admission")),
        ("127.0.0.1:9091", run.metrics_address("scheduler")),
        ("127.0.0.1:9092", run.metrics_address("issuer")),
    ];
    let mut pages = 0;
    for page in docs::pages().into_iter().filter(|page| is_one(&page.path)) {
        let blocks = page.blocks().into_iter().filter(|block| block.info == "sh");
        let commands: Vec<_> = blocks.map(|block| block.code).collect();
        if commands.is_empty() || page.path == docs::PROTECT_YOUR_SERVICE {
            continue;
        }
        let commands = commands.join("\n");
        let commands =
            addresses.iter().fold(commands, |text, (shown, real)| text.replace(shown, real));
        let folder = tempfile::tempdir().expect("a temporary directory");
        let mut shell = Command::new("bash");
        shell.args(["-euo", "pipefail", "-c", &commands]).current_dir(folder.path());
        shell.env("ANTEROOM_KEY", "none").env("PATH", run.path());
        let output = shell.output().expect("bash");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(
            output.status.success(),
            "{}: {}\n{commands}\n--- it printed\n{}{}",
            page.path,
            output.status,
            text(&output.stdout),
            text(&output.stderr)
        );
        pages += 1;
    }
    assert!(pages > 0, "no page has commands");
}

#[tokio::test]
async fn the_commands_of_the_tutorials_run() {
    run_pages(|path| path.starts_with("docs/tutorials/")).await;
}

#[tokio::test]
async fn the_commands_of_the_integration_guides_run() {
    run_pages(|path| path.starts_with("docs/how-to/integrate/")).await;
}

#[tokio::test]
async fn the_commands_of_the_other_guides_run() {
    run_pages(|path| {
        path.starts_with("docs/how-to/") && !path.starts_with("docs/how-to/integrate/")
    })
    .await;
}

#[tokio::test]
async fn the_commands_for_operators_run() {
    run_pages(|path| path.starts_with("docs/operate/")).await;
}

#[test]
fn the_reference_of_the_command_line_is_generated() {
    let mut page = String::from(
        "# Command line\n\nThe programs of Anteroom and their options, as `--help` prints them. \
         [`anteroom-loadtest`](cli-loadtest.md) has a page of its own.\n\n\
         | exit code | meaning |\n|---:|---|\n| 0 | done |\n| 1 | failed |\n\
         | 2 | wrong arguments |\n| 64 | the configuration is refused |\n\
         | 77 | the Redis user has no permission for what the service does |\n\
         | 130 | ended at once by a second signal |\n",
    );
    for (program, commands) in [
        ("anteroom-admission", &["", "new-key"][..]),
        ("anteroom-scheduler", &[""]),
        ("anteroom-issuer", &["", "codes", "codes load"]),
        ("anteroom-envoy", &["", "import"]),
    ] {
        for command in commands {
            let words = command.split_whitespace();
            let help = Command::new(binary(program)).args(words).arg("--help").output();
            let help = String::from_utf8(help.expect("a program").stdout).expect("text");
            page += &docs::help_section(format!("{program} {command}").trim(), &help);
        }
    }
    docs::is_generated("docs/reference/cli.md", &page);
}

fn curl(arguments: &[&str]) -> String {
    let output = Command::new("curl").args(["-sS", "--fail-with-body"]).args(arguments).output();
    let output = output.expect("curl");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// The pictures of the documentation are of the real pages: the shop, and what it shows a visitor
/// who waits. With `UPDATE_DOCS=1` they are written.
#[tokio::test]
async fn the_pictures_of_the_documentation_are_of_the_pages() {
    let Some(chromium) = Chromium::find() else { return };
    let (run, _, concert) = demo().await;
    let shop = chromium.dom(&["--virtual-time-budget=20000", "--lang=en"], &concert).await;
    let service = run.address("service port");
    let waits = |theme: &str| {
        let query = format!("state=waiting&lang=en&theme={theme}");
        curl(&[&format!("http://{service}/v1/admin/queues/concert/preview?{query}")])
    };
    let (light, dark) = (waits("light"), waits("dark"));
    for (name, size, page) in [
        ("shop", "800,720", &shop),
        ("waiting-page", "412,860", &light),
        ("waiting-page-dark", "412,860", &dark),
        ("waiting-page-wide", "1024,860", &light),
    ] {
        let picture = chromium.picture(size, page).await;
        assert!(picture.starts_with(b"\x89PNG") && picture.len() > 5_000, "{name}");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            let file = repository::root().join(format!("docs/images/{name}.png"));
            std::fs::write(file, picture).expect("written");
        }
    }
}
