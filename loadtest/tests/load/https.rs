//! A service behind TLS, in both models, on the real binary.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use anteroom_testkit::Certificates;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use super::service::Service;

const CLOSED: &[&str] = &["--users", "3", "--ramp", "1s", "--hold", "2s", "--down", "1s"];
const OPEN: &[&str] = &["--rate", "20", "--hold", "2s"];

/// TLS with a certificate of the folder.
fn tls(folder: &Path) -> TlsAcceptor {
    Certificates::new().write(folder);
    let certificate = CertificateDer::from_pem_file(folder.join(Certificates::SERVER)).unwrap();
    let key = PrivateKeyDer::from_pem_file(folder.join(Certificates::KEY)).unwrap();
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = builder.with_single_cert(vec![certificate], key).unwrap();
    TlsAcceptor::from(Arc::new(config))
}

/// `ramp` at an address; the authority is trusted or not.
async fn ramp(url: String, model: &[&str], folder: &Path, trusted: bool) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anteroom-loadtest"));
    std::fs::write(folder.join("test.toml"), "[[steps]]\npath = '/'\nthink = '50ms'").unwrap();
    command.args(["ramp", "--target", &url, "--scenario"]).arg(folder.join("test.toml"));
    command.arg("--output").arg(folder.join("out")).args(model);
    if trusted {
        command.env("SSL_CERT_FILE", folder.join(Certificates::CA));
    }
    tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_behind_tls_is_measured_where_its_certificate_is_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let answer = |_| async { (200, String::new()) };
    let service = Service::start_with(Some(tls(folder.path())), answer).await;
    let url = service.url().replace("http:", "https:");
    for model in [CLOSED, OPEN] {
        let output = ramp(url.clone(), model, folder.path(), true).await;
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{model:?}: {told}");
        let report = std::fs::read(folder.path().join("out/ramp.json")).unwrap();
        let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
        let total = &report["total"];
        assert!(total["requests"].as_u64().unwrap() >= 20, "{model:?}: {total}");
        assert_eq!(total["errors"], 0, "{model:?}: {total}");

        let output = ramp(url.clone(), model, folder.path(), false).await;
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(70), "{model:?}: {told}");
        assert!(told.contains("certificate"), "{model:?}: {told}");
    }
}
