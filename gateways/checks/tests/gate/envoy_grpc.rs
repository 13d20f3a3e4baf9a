//! What Envoy does over gRPC only: it asks for a rate limit too, and needs no admission for a
//! check.

use anteroom_testkit::{
    Answer, Deployment, PATIENCE, PATIENT, Redis, client, docs, free_port, until_some,
};
use http::Method;

use crate::browser::AtGate as _;
use crate::gateway::{Gateway, example};
use crate::program::Program;
use crate::shop::Shop;
use crate::site::{Plan, Site};

const LIMITS: &str = r#"capacity = 2
[limits.seats]
limit = 2
window = "1h"
[[envoy.descriptors]]
domain = "shop"
entries = [{ key = "place" }]
limit = "seats"
"#;

/// The commented blocks of an example, and the same in force. A comment's text has one blank after
/// its sign; a commented line has none, or as many as it is indented.
fn options(text: &str) -> Vec<(String, String)> {
    let is_option = |line: &str| {
        let rest = line.trim_start().strip_prefix('#');
        rest.is_some_and(|rest| !rest.starts_with(' ') || rest.starts_with("  "))
    };
    let mut blocks: Vec<Vec<&str>> = Vec::new();
    let mut before = false;
    for line in text.lines() {
        let is = is_option(line);
        match blocks.last_mut() {
            Some(block) if is && before => block.push(line),
            _ if is => blocks.push(vec![line]),
            _ => {}
        }
        before = is;
    }
    let in_force = |block: &Vec<&str>| {
        let lines: Vec<_> = block.iter().map(|line| line.replacen('#', "", 1)).collect();
        (block.join("\n"), lines.join("\n"))
    };
    blocks.iter().map(in_force).collect()
}

/// The example's commented lines are put in force.
#[tokio::test]
async fn envoy_limits_the_requests_of_each_visitor() {
    let program = Program::EnvoyGrpc;
    if !program.is_installed() {
        return;
    }
    let mut options = options(&example(program, "envoy-grpc.yaml"));
    options.retain(|(commented, _)| !commented.contains("#transport_socket"));
    assert_eq!(options.len(), 2, "the filter, and the action: {options:?}");
    let edits: Vec<_> = options.iter().map(|(old, new)| (&**old, &**new)).collect();
    let plan = Plan { program, queue: LIMITS, edits: &edits, ..Plan::default() };
    let site = Site::with(plan).await;
    let (first, second) = (site.token().await, site.token().await);
    for left in [1, 0] {
        let answer = site.call(Method::GET, "/seats", &first).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.header("ratelimit-policy"), "\"seats\";q=2;w=3600");
        let limit = answer.header("ratelimit");
        assert!(limit.starts_with(&format!("\"seats\";r={left};")), "{limit}");
    }
    let refused = site.call(Method::GET, "/seats", &first).await;
    assert_eq!(refused.status, 429, "{refused:?}");
    let seconds: u64 = refused.header("retry-after").parse().expect("seconds");
    assert!((1..=3600).contains(&seconds), "{seconds}");
    assert!(refused.header("ratelimit").starts_with("\"seats\";r=0;"), "{refused:?}");
    // A name that a client writes is no other counter.
    let ask = site.client.get(format!("{}/seats", site.url)).header("x-anteroom-token", &first);
    let renamed = Answer::of(ask.header("x-anteroom-place", "another")).await;
    assert_eq!(renamed.status, 429, "{renamed:?}");
    assert_eq!(site.shop.arrivals().len(), 2);

    // Each visitor has a counter, and what has no visitor has none.
    assert_eq!(site.call(Method::GET, "/seats", &second).await.status, 200);
    for _ in 0..3 {
        assert_eq!(site.call(Method::GET, "/public/logo", &first).await.status, 200);
    }
    site.call(Method::GET, "/seats", "").await.is_problem(401, "token_missing");
}

/// An Envoy made of the pieces of the guide, each under the line that names it.
const GUIDE: &str = r#"
static_resources:
  listeners:
    - address: { socket_address: { address: 127.0.0.1, port_value: PORT } }
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: guide
                use_remote_address
                http_filters:
                  - name: envoy.filters.http.ratelimit
                  - name: envoy.filters.http.router
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
                route_config:
                  virtual_hosts:
                    - name: shop
                      domains: ["*"]
                      routes:
                        - match: { path: "/a;b" }
                          direct_response: { status: 400 }
                        - match: { path: /login }
                        - match: { prefix: / }
                          route: { cluster: shop }
  clusters:
    - name: anteroom_envoy
    - name: shop
      load_assignment:
        cluster_name: shop
        endpoints:
          - lb_endpoints:
              - endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: SHOP } } }
"#;

/// The guide's piece in the place of the line that it begins with.
fn put_in(yaml: &str, piece: &str) -> String {
    let first = piece.lines().next().expect("a piece");
    let first = first.split(": true").next().expect("a key");
    let line = yaml.lines().find(|line| line.trim() == first);
    let line = line.unwrap_or_else(|| panic!("no line for {piece}"));
    let indent = &line[..line.len() - first.len()];
    let piece: Vec<_> = piece.lines().map(|line| format!("{indent}{line}")).collect();
    yaml.replacen(line, &piece.join("\n"), 1)
}

#[tokio::test]
async fn the_guide_of_rate_limits_works_and_no_other_writing_of_the_path_passes() {
    if !Program::Envoy.is_installed() {
        return;
    }
    let guide = docs::read("docs/how-to/envoy-rate-limits.md");
    let of =
        |info: &'static str| guide.blocks().into_iter().filter(move |block| block.info == info);
    let toml = of("toml").next().expect("the limit").code.to_owned();
    let deployment = Deployment::new(Redis::start().await, &toml, &PATIENT);
    let (checks, shop) = (deployment.envoy().await, Shop::start().await);
    checks.until_ready().await;
    let port = |address: &str| address.rsplit(':').next().expect("a port").to_owned();
    let pieces = of("yaml").fold(GUIDE.to_owned(), |yaml, block| put_in(&yaml, &block.code));
    let yaml = pieces.replace("9001", &port(checks.address("grpc")));
    let yaml = yaml.replace("SHOP", &port(shop.address()));
    let (_gateway, at) = until_some("a free port", PATIENCE, async || {
        let port = free_port();
        let gateway = Gateway::envoy(port, &yaml.replace("PORT", &port.to_string())).await?;
        Some((gateway, port))
    })
    .await;
    let call = async |path: &str, forwarded: &str| {
        let call = client().get(format!("http://127.0.0.1:{at}{path}"));
        Answer::of(call.header("x-forwarded-for", forwarded)).await
    };
    for _ in 0..5 {
        assert_eq!(call("/login", "203.0.113.1").await.status, 200);
    }
    for path in ["/login", "/login?x=1", "/login?", "//login", "/%6cogin", "/./login"] {
        let refused = call(path, "203.0.113.2").await;
        assert_eq!(refused.status, 429, "{path}: {refused:?}");
        assert!(refused.text.is_empty() && !refused.header("retry-after").is_empty());
    }
    for path in ["/", "/login/"] {
        assert_eq!(call(path, "203.0.113.1").await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn with_admission_down_a_visitor_inside_still_passes() {
    let program = Program::EnvoyGrpc;
    if !program.is_installed() {
        return;
    }
    let mut site = Site::of(program).await;
    let (known, waits) = (site.token().await, site.token().await);
    assert_eq!(site.call(Method::GET, "/seats", &known).await.status, 200);
    site.anteroom.admission.process.kill();
    assert_eq!(site.call(Method::GET, "/seats", &known).await.status, 200);
    site.call(Method::GET, "/seats", &waits).await.is_problem(403, "not_admitted");
}
