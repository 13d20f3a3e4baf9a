//! What the tests change of an example: addresses, and what a user may change.

use std::iter;
use std::path::Path;

use crate::gateway::Edit;
use crate::program::Program;
use crate::tls;

/// Caches that keep all they may, as an NGINX of their own: only `Cache-Control` stops them.
const CACHING: &str = include_str!("caching.conf");
/// Parts of the site with queues of their own, as a user adds them: by the path, and by the host.
const SHOWS: &str = include_str!("shows.conf");
const SHOW_HOSTS: &str = include_str!("show_hosts.conf");
const CADDY_HTTP2: &str = "\tadmin off\n\tservers {\n\t\tprotocols h1 h2 h2c\n\t}\n";
const CADDY_SHOWS: &str = include_str!("shows.caddy");
const HAPROXY_SHOWS: &str = include_str!("shows.haproxy");
const ENVOY_SHOW: &str = include_str!("shows.envoy");
const ENVOY_GRPC_SHOW: &str = include_str!("shows.envoy_grpc");
const ENVOY_ADMISSIONS: &str =
    "- endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: 8080 } } }";
const ENVOY_CHECKS: &str =
    "- endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: 9001 } } }";
const TRAEFIK_SHOWS: &str = include_str!("shows.traefik");
const TRAEFIK_VIP: &str = include_str!("vip.traefik");

/// How a site is to be made.
#[derive(Default)]
pub struct Plan<'a> {
    /// The gateway.
    pub program: Program,
    /// More lines of the queue's table; the queue is named `concert`.
    pub queue: &'a str,
    /// Environment of the services.
    pub env: &'a [(&'a str, &'a str)],
    /// Navigations join at the gate: the example's commented line is put in force.
    pub join_at_gate: bool,
    /// The example's opted-out path is put in force.
    pub opt_out: bool,
    /// Caches stand in front of everything, and between the gate and admission.
    pub cached: bool,
    /// The gateway speaks HTTP/2 without TLS too.
    pub http2: bool,
    /// The gateway speaks TLS only: the example's commented lines are put in force.
    pub tls: bool,
    /// More of the site has queues of its own, whose names the gateway takes from the request.
    pub several_queues: bool,
    /// More changes of the example, such as of sizes that are too large to be reached by a test:
    /// what is there, and what replaces it.
    pub edits: &'a [(&'a str, &'a str)],
    /// A second admission runs beside the first.
    pub twice: bool,
    /// NGINX opens a connection to admission for each request.
    pub without_keepalive: bool,
    /// The check waits up to 30 s for an answer, for tests that a busy machine must not disturb.
    pub patient: bool,
}

impl Plan<'_> {
    /// A site that visitors reach as browsers do.
    pub fn over_tls(program: Program) -> Self {
        Self { program, tls: true, ..Self::default() }
    }
}

impl From<Program> for Plan<'_> {
    fn from(program: Program) -> Self {
        Self { program, ..Self::default() }
    }
}

/// What makes a check wait for its answer.
fn patience(program: Program) -> &'static [(&'static str, &'static str)] {
    match program {
        Program::Nginx => &[
            ("proxy_read_timeout 3s", "proxy_read_timeout 30s"),
            ("proxy_next_upstream_timeout 4s", "proxy_next_upstream_timeout 30s"),
        ],
        Program::Caddy => &[
            ("response_header_timeout 3s", "response_header_timeout 30s"),
            ("lb_try_duration 4s", "lb_try_duration 30s"),
        ],
        Program::Haproxy => {
            &[("timeout = 1500", "timeout = 30000"), ("timeout connect 1s", "timeout connect 30s")]
        }
        Program::Envoy => &[("anteroom, timeout: 3s", "anteroom, timeout: 30s")],
        Program::EnvoyGrpc => &[(
            "  timeout: 1.9s\n                        # An",
            "  timeout: 30s\n                        # An",
        )],
        Program::Traefik => &[
            ("responseHeaderTimeout: 3s", "responseHeaderTimeout: 30s"),
            ("        timeout: 3s", "        timeout: 30s"),
        ],
    }
}

/// Who is where.
pub struct Wiring<'a> {
    /// The port of the gateway for visitors.
    pub gate: u16,
    /// Its port for HTTP/2, where that has one of its own.
    pub fast: u16,
    /// Its port for its own calls, where it makes them to itself.
    pub check: u16,
    /// The port of the caches in front of the gateway.
    pub front: u16,
    /// The port of those behind it.
    pub back: u16,
    /// The address of the service.
    pub shop: &'a str,
    /// The public address of admission.
    pub admission: &'a str,
    /// The same of the second one, where there is one.
    pub second: Option<&'a str>,
    /// The gRPC ports of what answers the checks, if the gateway asks over gRPC.
    pub checks: Vec<&'a str>,
    /// The folder of the certificate of the gateway, if it speaks TLS.
    pub certificates: Option<&'a Path>,
}

/// The changes of one program's example.
struct Changes {
    /// Always.
    addresses: Vec<Edit<'static>>,
    /// So that navigations join with the check.
    join: Vec<Edit<'static>>,
    /// So that more of the site has queues of its own.
    shows: Vec<Edit<'static>>,
    /// So that it speaks HTTP/2 without TLS.
    http2: Vec<Edit<'static>>,
}

impl Wiring<'_> {
    /// The changes of the example.
    pub fn edits<'a>(&self, plan: &Plan<'a>) -> Vec<Edit<'a>> {
        let changes = match plan.program {
            Program::Nginx => self.nginx(plan),
            Program::Caddy => self.caddy(plan),
            Program::Haproxy => self.haproxy(plan),
            Program::Envoy => {
                self.envoy(plan, ENVOY_SHOW, ["value: redirect", "value: \"redirect, join\""])
            }
            Program::EnvoyGrpc => self.envoy_grpc(plan),
            Program::Traefik => self.traefik(plan),
        };
        let is_for_nginx = plan.opt_out || plan.without_keepalive;
        assert!(!is_for_nginx || plan.program == Program::Nginx, "only NGINX has it");
        let join = changes.join.into_iter().filter(|_| plan.join_at_gate);
        let shows = changes.shows.into_iter().filter(|_| plan.several_queues);
        let http2 = changes.http2.into_iter().filter(|_| plan.http2);
        let tls = self.certificates.into_iter().flat_map(|folder| tls::edits(plan.program, folder));
        let patience: &[_] = if plan.patient { patience(plan.program) } else { &[] };
        let own = patience.iter().chain(plan.edits);
        let own = own.map(|(old, new)| (*old, (*new).to_owned()));
        // They take the place of what is there, and have its address.
        tls.chain(changes.addresses).chain(join).chain(shows).chain(http2).chain(own).collect()
    }

    /// The configuration of the caches.
    pub fn caches(&self) -> String {
        CACHING
            .replace("FRONT", &self.front.to_string())
            .replace("GATE", &self.gate.to_string())
            .replace("BACK", &self.back.to_string())
            .replace("ADMISSION", self.admission)
    }

    /// Where the gateway finds admission.
    fn upstream(&self, plan: &Plan<'_>) -> String {
        if plan.cached { format!("127.0.0.1:{}", self.back) } else { self.admission.to_owned() }
    }

    fn nginx(&self, plan: &Plan<'_>) -> Changes {
        let Self { gate, fast, shop, .. } = self;
        let mut upstream = self.upstream(plan);
        if let Some(second) = self.second {
            upstream += &format!(" max_fails=0; server {second}");
        }
        let default = if plan.several_queues { " default_server" } else { "" };
        let mut addresses: Vec<Edit> = vec![
            ("listen 127.0.0.1:8000", format!("listen 127.0.0.1:{gate}{default}")),
            ("server 127.0.0.1:3000;", format!("server {shop};")),
            ("server 127.0.0.1:8080 ", format!("server {upstream} ")),
        ];
        let opt_out = "    #~^/assets/  $upstream_http_cache_control;";
        if plan.opt_out {
            addresses.push((opt_out, opt_out.replace('#', "")));
        }
        if plan.without_keepalive {
            let keepalive = "        keepalive 64;\n        keepalive_timeout 60s;\n";
            addresses.push((keepalive, String::new()));
        }
        let join = "    #1      \"?join=1\";";
        let (location, server) = ("        # … except what", "    server {\n        # CHANGE");
        let mut hosts = SHOW_HOSTS.replace("GATE", &gate.to_string());
        if plan.http2 {
            let of_hosts = "        server_name ~";
            let listen = http2_listen(*fast, "");
            hosts = hosts.replace(of_hosts, &format!("        {listen}\n{of_hosts}"));
        }
        if self.certificates.is_some() {
            let plain = format!("listen 127.0.0.1:{gate};");
            hosts = hosts.replace(&plain, &http2_listen(*gate, " ssl"));
        }
        let name = "        server_name _;\n";
        Changes {
            addresses,
            join: vec![(join, join.replace('#', ""))],
            shows: vec![
                (location, format!("{SHOWS}\n{location}")),
                (server, format!("{hosts}\n{server}")),
            ],
            http2: vec![(name, format!("{name}{}\n", http2_listen(*fast, default)))],
        }
    }

    fn caddy(&self, plan: &Plan<'_>) -> Changes {
        let Self { gate, shop, .. } = self;
        let upstream = format!("to {} {}", self.upstream(plan), self.second.unwrap_or_default());
        let (plain, join) = (
            "\t\trewrite /v1/queues/{args[0]}/authorize?on_refusal=redirect\n",
            "\t\t#rewrite /v1/queues/{args[0]}/authorize?on_refusal=redirect&join=1\n",
        );
        let open = "\t\t# CHANGE: what needs no place …";
        Changes {
            addresses: vec![
                (":8000 {", format!(":{gate} {{")),
                ("reverse_proxy 127.0.0.1:3000", format!("reverse_proxy {shop}")),
                ("to 127.0.0.1:8080", upstream.trim_end().to_owned()),
            ],
            join: vec![(plain, String::new()), (join, join.replace('#', ""))],
            shows: vec![(open, format!("{CADDY_SHOWS}\n{open}"))],
            http2: vec![("\tadmin off\n", CADDY_HTTP2.to_owned())],
        }
    }

    fn haproxy(&self, plan: &Plan<'_>) -> Changes {
        let Self { gate, check, shop, .. } = self;
        let mut servers = format!("server admission {}", self.upstream(plan));
        if let Some(second) = self.second {
            servers += &format!("\n    server admission2 {second}");
        }
        let join = "-- options = options";
        let next = "    # The address of the visitor.";
        Changes {
            addresses: vec![
                ("    bind 127.0.0.1:8000", format!("    bind 127.0.0.1:{gate}")),
                ("ANTEROOM_CHECK 127.0.0.1:8079", format!("ANTEROOM_CHECK 127.0.0.1:{check}")),
                ("SHOP 127.0.0.1:3000", format!("SHOP {shop}")),
                ("server admission 127.0.0.1:8080", servers),
            ],
            join: vec![(join, join.replace("-- ", ""))],
            shows: vec![(next, format!("{HAPROXY_SHOWS}{next}"))],
            http2: vec![],
        }
    }

    fn envoy_grpc(&self, plan: &Plan<'_>) -> Changes {
        let mut changes =
            self.envoy(plan, ENVOY_GRPC_SHOW, ["gate: redirect", "gate: \"redirect, join\""]);
        changes.addresses.push((ENVOY_CHECKS, endpoints(&self.checks)));
        changes
    }

    /// `join` is the option of the check without and with it.
    fn envoy(&self, plan: &Plan<'_>, show: &str, join: [&'static str; 2]) -> Changes {
        let Self { gate, shop, .. } = self;
        let upstream = self.upstream(plan);
        let admissions: Vec<_> = iter::once(&*upstream).chain(self.second).collect();
        let open = "                        # CHANGE: what needs no place …";
        let shows = ["concert", "vip"].map(|name| show.replace("NAME", name)).concat();
        let others = "                        - match: { prefix: /shows/ }\n                          \
                      direct_response: { status: 404 }\n                          \
                      typed_per_filter_config: *open\n";
        Changes {
            addresses: vec![
                ("port_value: 8000", format!("port_value: {gate}")),
                ("socket_address: { address: 127.0.0.1, port_value: 3000 }", socket(shop)),
                (ENVOY_ADMISSIONS, endpoints(&admissions)),
                // Else it keeps a connection for a second after it has refused it.
                (
                    "request_headers_timeout: 10s",
                    "request_headers_timeout: 10s\n                delayed_close_timeout: 0.05s"
                        .to_owned(),
                ),
            ],
            join: vec![(join[0], join[1].to_owned())],
            shows: vec![(open, format!("{shows}{others}{open}"))],
            http2: vec![],
        }
    }

    fn traefik(&self, plan: &Plan<'_>) -> Changes {
        let Self { gate, check, shop, .. } = self;
        let mut servers = format!("- url: http://{}", self.upstream(plan));
        if let Some(second) = self.second {
            servers += &format!("\n          - url: http://{second}");
        }
        let plain = "authorize?on_refusal=redirect\n";
        let (open, clean) =
            ("    # CHANGE: what needs no place …", "    # Where each visitor can pass.");
        let vip = TRAEFIK_VIP.replace("CHECK", &check.to_string());
        Changes {
            addresses: vec![
                (" address: 127.0.0.1:8000", format!(" address: 127.0.0.1:{gate}")),
                (" address: 127.0.0.1:8079", format!(" address: 127.0.0.1:{check}")),
                ("http://127.0.0.1:8079/", format!("http://127.0.0.1:{check}/")),
                ("http://127.0.0.1:3000", format!("http://{shop}")),
                ("- url: http://127.0.0.1:8080", servers),
            ],
            join: vec![(plain, plain.replace('\n', "&join=1\n"))],
            shows: vec![(open, format!("{TRAEFIK_SHOWS}{open}")), (clean, format!("{vip}{clean}"))],
            http2: vec![],
        }
    }
}

fn socket(address: &str) -> String {
    let (host, port) = address.split_once(':').expect("host and port");
    format!("socket_address: {{ address: {host}, port_value: {port} }}")
}

/// The endpoints of a cluster of Envoy.
fn endpoints(addresses: &[&str]) -> String {
    let endpoint = |address: &&str| format!("- endpoint: {{ address: {{ {} }} }}", socket(address));
    addresses.iter().map(endpoint).collect::<Vec<_>>().join("\n              ")
}

/// What lets a server of NGINX take HTTP/2 on this port, with these options; newer versions have a
/// directive for it.
pub(crate) fn http2_listen(port: u16, options: &str) -> String {
    if Program::nginx_version() < vec![1, 25, 1] {
        format!("listen 127.0.0.1:{port}{options} http2;")
    } else {
        format!("listen 127.0.0.1:{port}{options}; http2 on;")
    }
}
