//! A sample and the real Anteroom that it asks.

use std::{process::Command, sync::OnceLock};

use anteroom_testkit::{Anteroom, PATIENCE, PATIENT, binary, until};
use reqwest::Method;

use crate::{
    sample::{IDENTITY_SECRET, Sample},
    shop::{Answer, Shop, client},
};

pub const TOKEN: &str = "x-anteroom-token";
pub const COOKIE: &str = "__Host-anteroom_concert";
pub const ROOM: &str = "http://127.0.0.1:8080/queues/concert";

/// An Anteroom with room for one visitor, and a shop that asks it.
pub struct Site {
    pub anteroom: Anteroom,
    pub shop: Shop,
}

impl Site {
    pub async fn start(sample: Sample) -> Self {
        let anteroom = anteroom().await;
        let (public, service) = (anteroom.url("public"), anteroom.url("service"));
        let shop = sample.start(&public, &service, &key().0).await;
        Self { anteroom, shop }
    }

    /// A visitor who waits in line, or is called.
    pub async fn join(&self) -> String {
        self.anteroom.admission.join("concert").await
    }

    /// A visitor who is called.
    pub async fn called(&self) -> String {
        let token = self.join().await;
        self.until_status(&token, "ready").await;
        token
    }

    pub async fn until_status(&self, token: &str, status: &str) {
        until(status, PATIENCE, async || self.status(token).await == status).await;
    }

    /// The status of a place, or why it has ended.
    pub async fn status(&self, token: &str) -> String {
        let place = self.public(Method::GET, "/v1/queues/concert/token", token).await.json();
        let field = |name: &str| place[name].as_str().map(str::to_owned);
        field("reason").or_else(|| field("status")).unwrap_or_else(|| panic!("{place}"))
    }

    async fn public(&self, method: Method, path: &str, token: &str) -> Answer {
        let url = format!("{}{path}", self.anteroom.url("public"));
        Answer::of(client().request(method, url).header(TOKEN, token)).await
    }
}

/// An Anteroom with room for one visitor, whose service port asks for a key.
pub async fn anteroom() -> Anteroom {
    let configuration = format!(
        "[queues.concert]\ncapacity = 1\n[keys.shop]\ndigest = \"{}\"\nrole = \"backend\"\n",
        key().1
    );
    let secrets = ("ANTEROOM_ADMISSION__IDENTITY_SECRETS", IDENTITY_SECRET);
    let env = [&PATIENT[..], &[secrets]].concat();
    let anteroom = Anteroom::start(&configuration, &env).await;
    anteroom.admission.until_ready().await;
    anteroom
}

/// A key of the service port, and its digest.
pub fn key() -> &'static (String, String) {
    static KEY: OnceLock<(String, String)> = OnceLock::new();
    KEY.get_or_init(|| {
        let made = Command::new(binary("anteroom-admission")).arg("new-key").output().unwrap();
        let text = String::from_utf8(made.stdout).unwrap();
        let part = |start: &str| {
            let mut words = text.split(|it: char| it.is_whitespace() || it == '"');
            words.find(|word| word.starts_with(start)).unwrap().to_owned()
        };
        (part("ark1."), part("sha256:"))
    })
}
