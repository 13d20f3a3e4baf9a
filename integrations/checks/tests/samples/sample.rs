//! A sample as a process.

use std::{fs, os::unix::fs::symlink, process::Command};

use anteroom_testkit::{PATIENCE, Process};
use tempfile::TempDir;

use crate::{
    install::{integrations, node, python},
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
}

impl Sample {
    /// Those that can run here. A test that fails shows which of them was the last.
    pub fn all() -> impl Iterator<Item = Self> {
        let samples = [Self::Express, Self::Django, Self::FastApi].into_iter();
        let there = samples.filter(|sample| match sample {
            Self::Express => node().is_some(),
            Self::Django | Self::FastApi => python().is_some(),
        });
        there.inspect(|sample| eprintln!("{sample:?}"))
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

    /// Its program, and the folder that it needs.
    fn command(self) -> (Command, TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let source = integrations().join(match self {
            Self::Express => "node",
            Self::Django | Self::FastApi => "python",
        });
        for file in fs::read_dir(&source).unwrap() {
            let file = file.unwrap();
            let is_source = file.path().extension().is_some_and(|it| it == "js" || it == "py");
            if is_source || file.file_name() == "package.json" {
                fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
            }
        }
        let mut command = match self {
            Self::Express => {
                let modules = node().unwrap().join("node_modules");
                symlink(modules, folder.path().join("node_modules")).unwrap();
                let mut node = Command::new("node");
                node.arg("shop.js").env("PORT", "0");
                node
            }
            Self::Django => {
                let mut django = Command::new(python().unwrap());
                django.args(["django_shop.py", "runserver", "--noreload", "127.0.0.1:0"]);
                django
            }
            Self::FastApi => {
                let mut uvicorn = Command::new(python().unwrap());
                uvicorn.args(["-m", "uvicorn", "fastapi_shop:app", "--port", "0"]);
                uvicorn
            }
        };
        command.current_dir(folder.path()).env("PYTHONUNBUFFERED", "1");
        (command, folder)
    }
}
