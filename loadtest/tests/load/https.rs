//! A service behind TLS, in both models, on the real binary.

use std::path::Path;
use std::process::Output;
use std::sync::Arc;

use anteroom_testkit::Certificates;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use super::common::{program, stderr};
use super::ramp::ONE;
use super::service::Service;

/// Each command that sends requests to a service.
const COMMANDS: [(&str, &str); 4] = [
    ("ramp", "--users 3 --ramp 1s --hold 2s --down 1s"),
    ("ramp", "--rate 20 --hold 2s"),
    ("size", "--from 5 --most 5 --step 1s --slo p95<1s"),
    ("rehearse", "--without-room --visitors 20 --arrive 1s"),
];

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

/// A command at an address, which trusts an authority in a file of the folder.
async fn run(
    url: String,
    (command, args): (&str, &str),
    folder: &Path,
    authority: Option<&str>,
) -> Output {
    std::fs::write(folder.join("test.toml"), ONE).unwrap();
    let mut program = program(&format!("{command} {args} --target {url} --scenario"));
    program.arg(folder.join("test.toml")).arg("--output").arg(folder.join("out"));
    if let Some(authority) = authority {
        program.env("SSL_CERT_FILE", folder.join(authority));
    }
    tokio::task::spawn_blocking(move || program.output()).await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_measures_a_service_behind_tls_where_its_certificate_is_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let answer = |_| async { (200, String::new()) };
    let service = Service::start_with(Some(tls(folder.path())), answer).await;
    let url = service.url().replace("http:", "https:");
    for (command, args) in COMMANDS {
        let before = service.connections();
        let run = |authority| run(url.clone(), (command, args), folder.path(), authority);
        let output = run(Some(Certificates::CA)).await;
        // It could be done, whatever it showed.
        let text = stderr(&output);
        assert!(matches!(output.status.code(), Some(0 | 1 | 75)), "{command}: {text}");
        assert!(service.connections() > before + 3, "{command}: {text}");

        for (authority, code, says) in [
            (None, 70, "set SSL_CERT_FILE to its certificate authority"),
            (Some("none.pem"), 64, "none.pem"),
        ] {
            let output = run(authority).await;
            let text = stderr(&output);
            assert_eq!(output.status.code(), Some(code), "{command}: {text}");
            assert!(text.contains(says), "{command}: {text}");
        }
    }
}
