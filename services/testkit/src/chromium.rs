//! A real browser, where there is one.

use std::{fs, process::Command};

use serde_json::Value;
use tempfile::TempDir;

use crate::{PATIENCE, Process};

/// The programs that can show a page, where `ANTEROOM_CHROMIUM` names none.
const PROGRAMS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Chromium, with a profile of its own.
pub struct Chromium {
    program: String,
    folder: TempDir,
}

impl Chromium {
    /// `ANTEROOM_CHROMIUM` names the program, else it is looked for. Without one there is nothing
    /// to look with, and a line says so.
    ///
    /// # Panics
    /// When there is no temporary directory.
    pub fn find() -> Option<Self> {
        let named = std::env::var("ANTEROOM_CHROMIUM").ok().filter(|name| !name.is_empty());
        let runs = |program: &str| Command::new(program).arg("--version").output();
        let has = |program: &str| runs(program).is_ok_and(|output| output.status.success());
        let found = PROGRAMS.into_iter().find(|program| has(program)).map(str::to_owned);
        let Some(program) = named.or(found) else {
            eprintln!("skipped: there is no Chromium");
            return None;
        };
        Some(Self { program, folder: tempfile::tempdir().expect("a temporary directory") })
    }

    /// The program.
    pub fn program(&self) -> &str {
        &self.program
    }

    /// What a page has become, by its address, when its scripts have run and it has led on to
    /// wherever it leads.
    ///
    /// # Panics
    /// When it cannot be shown.
    pub async fn dom(&self, arguments: &[&str], address: &str) -> String {
        self.show(arguments, "--dump-dom", address).await
    }

    /// A picture (PNG) of a page, in a window of this width and height. No script of it runs.
    ///
    /// # Panics
    /// When it cannot be shown.
    pub async fn picture(&self, size: &str, html: &str) -> Vec<u8> {
        let page = self.folder.path().join("page.html");
        // Chromium takes the picture with a script, so they cannot be switched off.
        let still = html.replace("<script", "<template").replace("</script", "</template");
        fs::write(&page, still).expect("written");
        let picture = self.folder.path().join("page.png");
        let window = format!("--window-size={size}");
        let arguments = [&*window, "--hide-scrollbars"];
        let how = format!("--screenshot={}", picture.display());
        self.show(&arguments, &how, &page.display().to_string()).await;
        fs::read(&picture).expect("a picture")
    }

    async fn show(&self, arguments: &[&str], how: &str, address: &str) -> String {
        let mut command = Command::new(&self.program);
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]);
        command.arg(format!("--user-data-dir={}", self.folder.path().join("profile").display()));
        command.args(arguments).arg(how).arg(address);
        let mut chromium = Process::start(command);
        let status = chromium.exit(20 * PATIENCE).await;
        let dom = chromium.stdout();
        assert!(status.success(), "{dom}\n{}", chromium.stderr());
        dom
    }

    /// Measures pages (name, HTML) on a phone and on a desk, by day or by night: their number, that
    /// of their texts and buttons, and under `wrong` what runs out of them, cannot be read, or can
    /// be pressed and does not look so. No script of theirs runs.
    ///
    /// # Panics
    /// When they cannot be shown.
    pub async fn looks(&self, pages: &[(String, String)], dark: bool) -> Value {
        let templates = pages.iter().map(|(name, html)| {
            format!("<template title=\"{}\">{}</template>", escaped(name), escaped(html))
        });
        let html = format!(
            "<!doctype html><meta charset=utf-8><meta name=color-scheme content=\"light dark\">\
             <body>{}<script>{}</script>",
            templates.collect::<String>(),
            include_str!("looks.js"),
        );
        let file = self.folder.path().join("pages.html");
        fs::write(&file, html).expect("written");
        let scheme = format!("--blink-settings=preferredColorScheme={}", u8::from(!dark));
        let dom = self.dom(&[&scheme], &file.display().to_string()).await;
        let (_, found) = dom.split_once("<body>").expect("a body");
        let found = found.split("</body>").next().expect("an end");
        serde_json::from_str(found).unwrap_or_else(|error| panic!("{error}: {dom}"))
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}
