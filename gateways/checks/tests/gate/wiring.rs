//! What the tests change of an example: addresses, and what a user may change.

use crate::gateway::{Edit, Program};
use crate::site::Plan;

/// A cache that keeps all it may: only `Cache-Control` stops it.
const CACHING: &str = include_str!("caching.conf");
/// Parts of the site with queues of their own, as a user adds them: by the path, and by the host.
const SHOWS: &str = include_str!("shows.conf");
const SHOW_HOSTS: &str = include_str!("show_hosts.conf");
const CADDY_SHOWS: &str = include_str!("shows.caddy");
const HAPROXY_SHOWS: &str = include_str!("shows.haproxy");
const ENVOY_SHOW: &str = include_str!("shows.envoy");

/// Who is where.
pub struct Wiring<'a> {
    /// The port of the gateway, of a cache in front of it, and of one behind it.
    pub gate: u16,
    pub front: u16,
    pub back: u16,
    pub shop: &'a str,
    pub admission: &'a str,
    pub second: Option<&'a str>,
}

impl Wiring<'_> {
    /// The changes of the example.
    pub fn edits<'a>(&self, plan: &Plan<'a>) -> Vec<Edit<'a>> {
        let is_for_nginx = plan.cached || plan.opt_out || plan.without_keepalive;
        assert!(!is_for_nginx || plan.program == Program::Nginx, "only NGINX has it");
        let mut edits = match plan.program {
            Program::Nginx => self.nginx(plan),
            Program::Caddy => self.caddy(plan),
            Program::Haproxy => self.haproxy(plan),
            Program::Envoy => self.envoy(plan),
        };
        edits.extend(plan.edits.iter().map(|(old, new)| (*old, (*new).to_owned())));
        edits
    }

    fn nginx(&self, plan: &Plan<'_>) -> Vec<Edit<'static>> {
        let Self { gate, front, back, shop, admission, .. } = self;
        let mut upstream =
            if plan.cached { format!("127.0.0.1:{back}") } else { (*admission).to_owned() };
        if let Some(second) = self.second {
            upstream += &format!(" max_fails=0; server {second}");
        }
        let default = if plan.several_queues { " default_server" } else { "" };
        let mut edits: Vec<Edit> = vec![
            ("listen 127.0.0.1:8000;", format!("listen 127.0.0.1:{gate}{default};")),
            ("server 127.0.0.1:3000;", format!("server {shop};")),
            ("server 127.0.0.1:8080 ", format!("server {upstream} ")),
        ];
        let join = "    #1      \"?join=1\";";
        if plan.join_at_gate {
            edits.push((join, join.replace('#', "")));
        }
        let opt_out = "    #~^/assets/  $upstream_http_cache_control;";
        if plan.opt_out {
            edits.push((opt_out, opt_out.replace('#', "")));
        }
        if plan.without_keepalive {
            edits.push(("        keepalive 64;\n        keepalive_timeout 60s;\n", String::new()));
        }
        if plan.cached {
            // One in front of everything, one between the gateway and admission.
            let caches = CACHING
                .replace("FRONT", &front.to_string())
                .replace("GATE", &gate.to_string())
                .replace("BACK", &back.to_string())
                .replace("ADMISSION", admission);
            edits.push(("    server_tokens off;\n", caches));
        }
        if plan.several_queues {
            let (location, server) = ("        # … except what", "    server {\n        # CHANGE");
            edits.push((location, format!("{SHOWS}\n{location}")));
            let hosts = SHOW_HOSTS.replace("GATE", &gate.to_string());
            edits.push((server, format!("{hosts}\n{server}")));
        }
        edits
    }

    fn caddy(&self, plan: &Plan<'_>) -> Vec<Edit<'static>> {
        let Self { gate, shop, admission, .. } = self;
        let upstream = format!("to {admission} {}", self.second.unwrap_or_default());
        let mut edits: Vec<Edit> = vec![
            (":8000 {", format!(":{gate} {{")),
            ("reverse_proxy 127.0.0.1:3000", format!("reverse_proxy {shop}")),
            ("to 127.0.0.1:8080", upstream.trim_end().to_owned()),
        ];
        let (plain, join) = (
            "\t\trewrite /v1/queues/{args[0]}/authorize?on_refusal=redirect\n",
            "\t\t#rewrite /v1/queues/{args[0]}/authorize?on_refusal=redirect&join=1\n",
        );
        if plan.join_at_gate {
            edits.push((plain, String::new()));
            edits.push((join, join.replace('#', "")));
        }
        let open = "\t\t# CHANGE: what needs no place …";
        if plan.several_queues {
            edits.push((open, format!("{CADDY_SHOWS}\n{open}")));
        }
        edits
    }

    fn haproxy(&self, plan: &Plan<'_>) -> Vec<Edit<'static>> {
        let Self { gate, back, shop, admission, .. } = self;
        let mut servers = format!("server admission {admission}");
        if let Some(second) = self.second {
            servers += &format!("\n    server admission2 {second}");
        }
        let mut edits: Vec<Edit> = vec![
            ("    bind 127.0.0.1:8000", format!("    bind 127.0.0.1:{gate}")),
            ("ANTEROOM_CHECK 127.0.0.1:8079", format!("ANTEROOM_CHECK 127.0.0.1:{back}")),
            ("SHOP 127.0.0.1:3000", format!("SHOP {shop}")),
            ("server admission 127.0.0.1:8080", servers),
        ];
        let join = "-- options = options";
        if plan.join_at_gate {
            edits.push((join, join.replace("-- ", "")));
        }
        let next = "    # The address of the visitor.";
        if plan.several_queues {
            edits.push((next, format!("{HAPROXY_SHOWS}{next}")));
        }
        edits
    }

    fn envoy(&self, plan: &Plan<'_>) -> Vec<Edit<'static>> {
        let Self { gate, shop, admission, .. } = self;
        let endpoint = |address: &str| {
            let (host, port) = address.split_once(':').expect("host and port");
            format!("socket_address: {{ address: {host}, port_value: {port} }}")
        };
        let line = "- endpoint: { address: { ".to_owned();
        let line = |address: &str| format!("{line}{} }} }}", endpoint(address));
        let mut servers = line(admission);
        if let Some(second) = self.second {
            servers += &format!("\n              {}", line(second));
        }
        let old =
            "- endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: 8080 } } }";
        let mut edits: Vec<Edit> = vec![
            ("port_value: 8000", format!("port_value: {gate}")),
            ("socket_address: { address: 127.0.0.1, port_value: 3000 }", endpoint(shop)),
            (old, servers),
        ];
        if plan.join_at_gate {
            edits.push(("value: redirect }", "value: \"redirect, join\" }".to_owned()));
        }
        let open = "                        # CHANGE: what needs no place …";
        if plan.several_queues {
            let shows = ["concert", "vip"].map(|name| ENVOY_SHOW.replace("NAME", name)).concat();
            let others = "                        - match: { prefix: /shows/ }\n                          \
                          direct_response: { status: 404 }\n                          \
                          typed_per_filter_config: *open\n";
            edits.push((open, format!("{shows}{others}{open}")));
        }
        edits
    }
}

/// What lets a server of NGINX take HTTP/2 without TLS on this port; newer versions have a
/// directive for it.
pub fn http2_listen(port: u16) -> String {
    if Program::nginx_version() < vec![1, 25, 1] {
        format!("listen 127.0.0.1:{port} http2;")
    } else {
        format!("listen 127.0.0.1:{port}; http2 on;")
    }
}
