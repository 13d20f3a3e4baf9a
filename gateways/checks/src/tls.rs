//! TLS of the examples: the commented lines that a user puts in force. The address stays that of
//! the example.

use std::path::Path;

use anteroom_testkit::Certificates;

use crate::gateway::Edit;
use crate::program::Program;
use crate::wiring::http2_listen;

/// The certificate and its key in one file, as HAProxy wants them.
pub const BOTH: &str = "both.pem";

const ENVOY: &str = r#"          #transport_socket:
          #  name: envoy.transport_sockets.tls
          #  typed_config:
          #    "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext
          #    common_tls_context:
          #      alpn_protocols: [h2, http/1.1]
          #      tls_certificates:
          #        - certificate_chain: { filename: /etc/envoy/shop.example.pem }
          #          private_key: { filename: /etc/envoy/shop.example.key }
"#;
const TRAEFIK: &str = "#tls:
#  stores:
#    default:
#      defaultCertificate:
#        certFile: /etc/traefik/shop.example.pem
#        keyFile: /etc/traefik/shop.example.key
";

/// The changes of an example with the certificate in this folder.
pub(crate) fn edits(program: Program, folder: &Path) -> Vec<Edit<'static>> {
    // In force, with the files of the test.
    let own = |lines: &'static str, paths: &str| {
        let file = |name: &str| folder.join(name).display().to_string();
        let lines_of_test = lines
            .replace(&format!("{paths}/shop.example.pem"), &file(Certificates::SERVER))
            .replace(&format!("{paths}/shop.example.key"), &file(Certificates::KEY));
        (lines, lines_of_test.replace('#', ""))
    };
    match program {
        Program::Nginx => vec![
            ("        listen 127.0.0.1:8000;\n", String::new()),
            ("#listen 443 ssl http2;", http2_listen(8000, " ssl")),
            own("#ssl_certificate     /etc/nginx/tls/shop.example.pem;", "/etc/nginx/tls"),
            own("#ssl_certificate_key /etc/nginx/tls/shop.example.key;", "/etc/nginx/tls"),
        ],
        Program::Caddy => vec![
            ("\n:8000 {", "\nhttps://:8000 {".to_owned()),
            own("#tls /etc/caddy/shop.example.pem /etc/caddy/shop.example.key", "/etc/caddy"),
        ],
        Program::Haproxy => {
            let bind = "#bind :443 ssl crt /etc/haproxy/shop.example.pem alpn h2,http/1.1";
            let file = folder.join(BOTH).display().to_string();
            let own = bind.replace("#bind :443", "bind 127.0.0.1:8000");
            vec![
                ("    bind 127.0.0.1:8000\n", String::new()),
                (bind, own.replace("/etc/haproxy/shop.example.pem", &file)),
            ]
        }
        Program::Envoy | Program::EnvoyGrpc => vec![own(ENVOY, "/etc/envoy")],
        Program::Traefik => {
            vec![("#tls: {}", "tls: {}".to_owned()), own(TRAEFIK, "/etc/traefik")]
        }
    }
}
