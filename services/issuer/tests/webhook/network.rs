//! Where the connection goes: only where it may, by no proxy, under TLS.

use std::{path::Path, process::Command, time::Duration};

use anteroom_config::Endpoint;
use anteroom_issuer::webhook::{Answer, Webhook};
use anteroom_testkit::{Certificates, PATIENCE, Process, Receiver};
use tokio::{net::TcpListener, time::timeout};

use crate::calls::{ANN, failure, webhook};

/// Set in a process of its own, where one of these tests runs: what the environment says there.
const ALONE: &str = "ANTEROOM_TEST_ALONE";

/// Runs a test of this program in a process of its own, with this environment.
async fn alone(test: &str, env: &[(&str, &str)]) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(ALONE, "1").envs(env.iter().copied());
    let mut process = Process::start(command);
    let status = process.exit(2 * PATIENCE).await;
    assert!(status.success(), "{}\n{}", process.stdout(), process.stderr());
    assert!(process.stdout().contains("1 passed"), "{}", process.stdout());
}

fn is_alone() -> bool {
    std::env::var_os(ALONE).is_some()
}

#[tokio::test]
async fn a_receiver_that_is_away_is_a_failure() {
    let port = anteroom_testkit::free_port();
    let error =
        failure(webhook(&format!("http://127.0.0.1:{port}/"), PATIENCE).issue(&ANN, 1).await);
    assert!(error.starts_with("cannot connect: "), "{error}");
}

#[tokio::test]
async fn proxies_of_the_environment_are_not_used() {
    if !is_alone() {
        let proxy = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = format!("http://{}", proxy.local_addr().unwrap());
        let names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"];
        let env = names.map(|name| (name, address.as_str()));
        alone("network::proxies_of_the_environment_are_not_used", &env).await;
        let taken = timeout(Duration::ZERO, proxy.accept()).await;
        return assert!(taken.is_err(), "the proxy was used");
    }
    let receiver = Receiver::start().await;
    assert_eq!(webhook(&receiver.url("/issue"), PATIENCE).issue(&ANN, 1).await, Answer::Issued);
}

/// The authorities are the system's; `SSL_CERT_FILE` names others.
#[tokio::test]
async fn a_receiver_under_tls_is_believed_only_with_a_certificate_that_fits() {
    if !is_alone() {
        let folder = tempfile::tempdir().unwrap();
        Certificates::new().write(folder.path());
        let authority = folder.path().join(Certificates::CA);
        let env = [
            ("SSL_CERT_FILE", authority.to_str().unwrap()),
            ("CERTIFICATES", folder.path().to_str().unwrap()),
        ];
        return alone(
            "network::a_receiver_under_tls_is_believed_only_with_a_certificate_that_fits",
            &env,
        )
        .await;
    }
    let trusted = std::env::var("CERTIFICATES").unwrap();
    let other = tempfile::tempdir().unwrap();
    Certificates::new().write(other.path());
    for (folder, is_trusted) in [(Path::new(&trusted), true), (other.path(), false)] {
        let receiver = Receiver::start_with(&[
            ("RECEIVER_CERTIFICATE", &folder.join(Certificates::SERVER)),
            ("RECEIVER_KEY", &folder.join(Certificates::KEY)),
        ])
        .await;
        let url = format!("https://{}/issue", receiver.address);
        let endpoint = Endpoint::parse(&url, false).unwrap();
        let webhook = Webhook::new(endpoint, PATIENCE, vec![Receiver::SECRET.into()]).unwrap();
        let answer = webhook.issue(&ANN, 1).await;
        if is_trusted {
            assert_eq!(answer, Answer::Issued);
        } else {
            let error = failure(answer);
            assert!(error.starts_with("cannot connect: "), "{error}");
        }
    }
}
