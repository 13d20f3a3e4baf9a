//! Envoy as the gate: its configuration is generated, and Envoy accepts it.
//!
//! `ANTEROOM_ENVOY_BIN` names the program; `make test` gets one. Without it that part is left out.

use std::{env, fs, process::Command};

use anteroom_testkit::docs;

use crate::programs::mounted;
use crate::rendered::{Rendered, all, containers, items, k8s};

/// The overlays whose gate is Envoy.
fn overlays() -> impl Iterator<Item = &'static Rendered> {
    all().iter().filter(|it| it.has_envoy_gate())
}

const FILE: &str = "k8s/components/gate-envoy/envoy.yaml";
const HEAD: &str = "\
# Generated from gateways/envoy/envoy-grpc.yaml, gateways/envoy/anteroom.lua and
# k8s/components/concert/site.conf. Their comments explain it. To write it:
# UPDATE_DOCS=1 cargo test -p anteroom-k8s-checks --test manifests envoy
";
/// Of a pod: the admin port for the drain, a bound on connections as in the gate of NGINX.
const FRAME: &str = r#"
admin: { address: { socket_address: { address: 127.0.0.1, port_value: 9901 } } }
overload_manager:
  resource_monitors:
    - name: envoy.resource_monitors.global_downstream_max_connections
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig
        max_active_downstream_connections: 16000
static_resources:
"#;
/// For the probes.
const PROBES: &str = r#"    - name: probes
      address: { socket_address: { address: 0.0.0.0, port_value: 8081 } }
      ignore_global_conn_limit: true
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: probes
                http_filters:
                  - name: envoy.filters.http.router
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
                route_config:
                  virtual_hosts:
                    - name: probes
                      domains: ["*"]
                      routes:
                        - match: { path: /healthz }
                          direct_response: { status: 204 }
  clusters:
"#;
/// The shop closes kept connections without notice when it is rolled out.
const NO_KEPT_CONNECTIONS: &str = r#"    - name: shop
      typed_extension_protocol_options:
        envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
          "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
          common_http_protocol_options: { max_requests_per_connection: 1 }
          explicit_http_config: { http_protocol_options: {} }
"#;

fn read(path: &str) -> String {
    let file = k8s().join("..").join(path);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The paths that need no place, from the sample's configuration of NGINX.
fn open_paths() -> Vec<String> {
    let site = read("k8s/components/concert/site.conf");
    let locations = site.split("location ").skip(1);
    let open = locations.filter(|it| it.contains("include anteroom-service.conf;"));
    open.filter_map(|it| Some(it.split_once(" {")?.0.to_owned())).collect()
}

/// The text with one part replaced, which it has exactly `times` times.
fn replaced(text: &str, times: usize, part: &str, with: &str) -> String {
    assert_eq!(text.matches(part).count(), times, "gateways/envoy/envoy-grpc.yaml: {part}");
    text.replace(part, with)
}

fn configuration() -> String {
    let example = read("gateways/envoy/envoy-grpc.yaml");
    let lines = example.lines().filter(|it| !it.trim_start().starts_with('#'));
    let mut text: String = lines.map(|line| format!("{line}\n")).collect();

    let loopback = |port: u16| format!("address: 127.0.0.1, port_value: {port}");
    let address = |host: &str, port: u16| format!("address: {host}, port_value: {port}");
    text = replaced(&text, 1, &loopback(8000), &address("0.0.0.0", 8080));
    text = replaced(&text, 1, &loopback(8080), &address("admission", 8080));
    text = replaced(&text, 1, &loopback(9001), &address("envoy-pods", 9001));
    text = replaced(&text, 1, &loopback(3000), &address("concert", 8090));

    let route = "                        - match: { prefix: /public/ }\n                          \
                 route: { cluster: shop, timeout: 0s }\n                          \
                 typed_per_filter_config: *open\n";
    let open = open_paths();
    assert!(!open.is_empty(), "site.conf has no open path");
    let routes: String = open.iter().map(|path| route.replace("/public/", path)).collect();
    text = replaced(&text, 1, route, &routes);

    let indent = " ".repeat(28);
    let script = read("gateways/envoy/anteroom.lua");
    let script = script.lines().map(|line| match line {
        "" => "\n".to_owned(),
        line => format!("{indent}{line}\n"),
    });
    let script: String = script.collect();
    let inline = format!(
        "source_codes:\n{}clean:\n{}inline_string: |\n{script}",
        " ".repeat(24),
        " ".repeat(26)
    );
    text = replaced(&text, 1, "source_codes: { clean: { filename: anteroom.lua } }\n", &inline);

    text = replaced(&text, 1, "\nstatic_resources:\n", FRAME);
    text = replaced(&text, 1, "  clusters:\n", PROBES);
    text = replaced(&text, 1, "    - name: shop\n", NO_KEPT_CONNECTIONS);
    format!("{HEAD}{text}")
}

#[test]
fn the_configuration_of_envoy_is_generated_from_the_example() {
    let by = "cargo test -p anteroom-k8s-checks --test manifests envoy";
    docs::is_generated_by(by, FILE, &configuration());
    assert!(!read(FILE).contains("CHANGE"), "nothing is left to change");
}

/// The image of the program that the tests run the example with.
#[test]
fn envoy_accepts_the_gate_of_every_overlay() {
    let mut seen = 0;
    for rendered in overlays() {
        seen += 1;
        let gate = rendered.find("Deployment", "gate").unwrap();
        let container = containers(gate).next().unwrap();
        let mount = &items(&container["volumeMounts"])[0];
        let command = container["command"].to_string();
        let path = mount["mountPath"].as_str().unwrap();
        assert!(command.contains(&format!("\"{path}/envoy.yaml\"")), "{command}");

        let Some(program) = env::var_os("ANTEROOM_ENVOY_BIN").filter(|path| !path.is_empty())
        else {
            eprintln!("left out: ANTEROOM_ENVOY_BIN names no program");
            continue;
        };
        let version = Command::new(&program).arg("--version").output().unwrap().stdout;
        let version = String::from_utf8(version).unwrap();
        let image = container["image"].as_str().unwrap();
        let (_, tag) = image.rsplit_once(":v").unwrap();
        assert!(version.contains(&format!("/{tag}/")), "{image} is not {version}");

        let folder = tempfile::tempdir().unwrap();
        for (file, text) in mounted(rendered, "Deployment", "gate", "envoy") {
            fs::write(folder.path().join(file), text).unwrap();
        }
        let words = items(&container["command"]).iter().skip(1).map(|it| it.as_str().unwrap());
        let words = words.map(|it| it.replace(path, folder.path().to_str().unwrap()));
        let mut check = Command::new(&program);
        check.args(words).args(["--mode", "validate"]);
        let output = check.output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(output.status.success(), "{text}");
        for warning in ["[warning]", "deprecated"] {
            assert!(!text.contains(warning), "{text}");
        }
    }
    assert!(seen > 0, "no overlay has Envoy as its gate");
}
