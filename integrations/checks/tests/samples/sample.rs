//! A sample as a process.

use std::{os::unix::fs::symlink, process::Command};

use anteroom_testkit::kit::{Kit, sources, write};
use anteroom_testkit::{PATIENCE, Process};
use tempfile::TempDir;

use crate::{
    install::{GO, JVM, NODE, PYTHON, SPRING},
    shop::Shop,
};

/// The address of the shops for visitors.
pub const SHOP_URL: &str = "https://shop.example";
pub const IDENTITY_SECRET: &str = "an-identity-secret-of-the-tests-of-32-bytes";
pub const WEBHOOK_SECRET: &str = "a-webhook-secret-of-the-tests-of-32-bytes";

#[derive(Clone, Copy, Debug)]
pub enum Sample {
    Express,
    Django,
    FastApi,
    Go,
    Spring,
}

impl Sample {
    /// Those that can run here. A test that fails shows which of them was the last.
    pub fn all() -> impl Iterator<Item = Self> {
        let samples = [Self::Express, Self::Django, Self::FastApi, Self::Go, Self::Spring];
        let there = samples.into_iter().filter(|sample| sample.kit().folder().is_some());
        there.inspect(|sample| eprintln!("{sample:?}"))
    }

    fn kit(self) -> &'static Kit {
        match self {
            Self::Express => &NODE,
            Self::Django | Self::FastApi => &PYTHON,
            Self::Go => &GO,
            Self::Spring => &SPRING,
        }
    }

    /// Starts it on a free port, in front of these ports of an Anteroom.
    pub async fn start(self, public: &str, service: &str, key: &str) -> Shop {
        let (mut command, folder) = self.command();
        command.envs([
            ("ANTEROOM_PUBLIC", public),
            ("ANTEROOM_SERVICE", service),
            ("ANTEROOM_KEY", key),
            ("ANTEROOM_IDENTITY_SECRET", IDENTITY_SECRET),
            ("ANTEROOM_WEBHOOK_SECRET", WEBHOOK_SECRET),
            ("SHOP_URL", SHOP_URL),
            ("NO_PROXY", "127.0.0.1"),
        ]);
        let mut process = Process::start(command);
        // All of them show their address.
        let line = process.line("http://127.0.0.1:", PATIENCE).await;
        let (_, port) = line.split_once("http://127.0.0.1:").unwrap();
        let port: String = port.chars().take_while(char::is_ascii_digit).collect();
        Shop::new(process, folder, &port)
    }

    /// Its program, and a folder for it.
    fn command(self) -> (Command, TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let installed = self.kit().folder().unwrap();
        let mut command = match self {
            Self::Express => {
                write(&sources("integrations/node", &[".js", "package.json"]), folder.path());
                symlink(installed.join("node_modules"), folder.path().join("node_modules"))
                    .unwrap();
                let mut node = Command::new("node");
                node.arg("shop.js");
                node
            }
            Self::Django => {
                write(&sources("integrations/python", &[".py"]), folder.path());
                let mut django = Command::new(installed.join("venv/bin/python"));
                django.args(["django_shop.py", "runserver", "--noreload", "127.0.0.1:0"]);
                django
            }
            Self::FastApi => {
                write(&sources("integrations/python", &[".py"]), folder.path());
                let mut uvicorn = Command::new(installed.join("venv/bin/python"));
                uvicorn.args(["-m", "uvicorn", "fastapi_shop:app", "--port", "0"]);
                uvicorn
            }
            Self::Go => Command::new(installed.join("shop")),
            Self::Spring => {
                let mut java = Command::new("java");
                java.args(JVM).args(["-XX:SharedArchiveFile=shop.jsa", "-jar", "shop.jar"]);
                // The archive names the program as it was named when it was made.
                java.current_dir(installed.join("build/shop"));
                java
            }
        };
        if !matches!(self, Self::Spring) {
            command.current_dir(folder.path());
        }
        command.envs([("PORT", "0"), ("PYTHONUNBUFFERED", "1")]);
        (command, folder)
    }
}
