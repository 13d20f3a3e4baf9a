//! The annotations of `k8s/components/ingress-nginx`, as the configuration of NGINX that the
//! controller makes of them. Here is what the controller's template does with these annotations
//! (`nginx.tmpl` and `template.go` of 1.x), without its Lua.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

use std::fs;

use anteroom_testkit::{
    Answer, Anteroom, PATIENCE, PATIENT, client, free_port, repository, until_some,
};
use http::Method;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::gateway::Gateway;
use crate::shop::Shop;

const FOLDER: &str = "k8s/components/ingress-nginx";

fn read(name: &str) -> String {
    fs::read_to_string(repository::root().join(FOLDER).join(name)).unwrap()
}

/// The value behind a word of the file that starts one line of it.
fn value(file: &str, word: &str) -> String {
    let lines = file.lines().map(|line| line.trim().trim_start_matches("- "));
    let mut found = lines.filter_map(|line| line.strip_prefix(word)?.strip_prefix(": "));
    let value = found.next().unwrap_or_else(|| panic!("no {word}"));
    value.trim_matches('"').to_owned()
}

fn annotation(ingress: &str, name: &str) -> String {
    value(ingress, &format!("nginx.ingress.kubernetes.io/{name}"))
}

/// What the controller makes of both Ingresses.
fn configuration(port: u16, admission: &str, shop: &str) -> String {
    let file = read("ingress.yaml");
    let (visitors, protected) = file.split_once("\n---\n").unwrap();
    let path = value(visitors, "path");
    let target = annotation(visitors, "rewrite-target");
    let in_cluster = "http://admission.anteroom.svc.cluster.local:8080";
    let check =
        annotation(protected, "auth-url").replace(in_cluster, &format!("http://{admission}"));
    let host = format!("http://127.0.0.1:{port}");
    let sign_in = annotation(protected, "auth-signin").replace("https://tickets.example", &host);
    let parameter = annotation(protected, "auth-signin-redirect-param");
    let to_service: String = annotation(protected, "auth-response-headers")
        .split(',')
        .enumerate()
        .map(|(i, name)| {
            let variable = name.to_lowercase().replace('-', "_");
            format!(
                "auth_request_set $authHeader{i} $upstream_http_{variable};\n\
                 proxy_set_header '{name}' $authHeader{i};\n"
            )
        })
        .collect();
    assert_eq!(annotation(protected, "auth-proxy-set-headers"), "anteroom/gateway-check-headers");
    let kustomization = read("kustomization.yaml");
    let literals = kustomization.lines().filter_map(|line| line.trim().strip_prefix("- X-"));
    let to_check: String = literals
        .map(|line| {
            let (name, value) = line.split_once('=').unwrap();
            format!("proxy_set_header 'X-{name}' '{value}';\n")
        })
        .collect();
    format!(
        r#"
pid nginx.pid;
error_log stderr crit;
events {{}}
http {{
    access_log off;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    server {{
        listen 127.0.0.1:{port};
        location ~* "^{path}" {{
            client_max_body_size {size};
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_buffering {buffering};
            rewrite "(?i){path}" {target} break;
            proxy_pass http://{admission};
        }}
        location = /_external-auth {{
            internal;
            proxy_pass_request_body off;
            proxy_set_header Content-Length "";
            proxy_set_header X-Forwarded-Proto "";
            proxy_set_header Host {admission};
            proxy_set_header X-Original-URL $scheme://$http_host$request_uri;
            proxy_set_header X-Original-Method $request_method;
            proxy_set_header X-Real-IP $remote_addr;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_set_header X-Auth-Request-Redirect $request_uri;
            {to_check}
            set $target {check};
            proxy_pass $target;
        }}
        location @sign_in {{
            internal;
            add_header Set-Cookie $auth_cookie;
            return 302 {sign_in}?{parameter}=$scheme://$http_host$request_uri;
        }}
        location ~* "^/" {{
            auth_request /_external-auth;
            auth_request_set $auth_cookie $upstream_http_set_cookie;
            add_header Set-Cookie $auth_cookie always;
            {to_service}
            error_page 401 = @sign_in;
            proxy_set_header Host $http_host;
            proxy_set_header X-Real-IP $remote_addr;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_set_header X-Forwarded-Host $http_host;
            proxy_set_header Proxy "";
            proxy_pass http://{shop};
        }}
    }}
}}
"#,
        size = annotation(visitors, "proxy-body-size"),
        buffering = annotation(visitors, "proxy-buffering"),
    )
}

/// A site with one slot behind such an NGINX.
struct Site {
    anteroom: Anteroom,
    shop: Shop,
    _nginx: Gateway,
    address: String,
}

impl Site {
    async fn start() -> Self {
        until_some("a free port", PATIENCE, || Self::start_on(free_port())).await
    }

    /// `None` when another process has taken the port meanwhile.
    async fn start_on(port: u16) -> Option<Self> {
        let queue = format!(
            "[queues.concert]\npublic_url = \"http://127.0.0.1:{port}\"\ncapacity = 1\n\
             joins_per_address = \"none\"\nplaces_per_address = 0\nrequests_per_place = 0\n"
        );
        let (anteroom, shop) = (Anteroom::start(&queue, &PATIENT).await, Shop::start().await);
        let admission = anteroom.admission.address("public");
        let nginx = Gateway::nginx(port, &configuration(port, admission, shop.address())).await?;
        anteroom.admission.until_ready().await;
        Some(Self { anteroom, shop, _nginx: nginx, address: format!("127.0.0.1:{port}") })
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    async fn token(&self) -> String {
        let url = self.url("/v1/queues/concert/tokens");
        let answer = Answer::of(client().post(url).json(&serde_json::json!({}))).await;
        assert!(answer.status.is_success(), "{answer:?}");
        answer.json()["token"].as_str().unwrap().to_owned()
    }

    async fn call(&self, method: Method, path: &str, token: &str) -> Answer {
        let request = client().request(method, self.url(path));
        Answer::of(request.header("x-anteroom-token", token)).await
    }

    /// The answer to a path that a client would change.
    async fn raw(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close", self.address);
        stream.write_all(format!("{head}\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer.to_ascii_lowercase()
    }
}

#[tokio::test]
async fn ingress_nginx_passes_only_admitted_visitors() {
    let mut site = Site::start().await;
    let without_place = Answer::of(client().get(site.url("/seats?row=1"))).await;
    let leads = without_place.is(302).header("location").to_owned();
    let here = site.url("");
    assert_eq!(leads, format!("{here}/queues/concert?return_to={here}/seats?row=1"));
    let page = Answer::of(client().get(leads).header("accept", "text/html")).await;
    page.is(200);

    let first = site.token().await;
    let second = site.token().await;
    for method in [Method::GET, Method::POST, Method::DELETE] {
        site.call(method.clone(), "/seats", &first).await.is(200);
        assert_eq!(site.shop.last().method, method);
    }
    assert_eq!(site.call(Method::GET, "/seats", &second).await.status, 403);
    let arrivals = site.shop.arrivals().len();

    // Without an answer of the check no visitor passes.
    site.anteroom.admission.process.kill();
    assert_eq!(site.call(Method::GET, "/seats", &first).await.status, 500);
    assert_eq!(site.shop.arrivals().len(), arrivals);
}

#[tokio::test]
async fn ingress_nginx_replaces_what_a_client_claims() {
    let site = Site::start().await;
    let token = site.token().await;
    let claims = [
        "x-anteroom-visitor",
        "x-anteroom-visitor-kind",
        "x-anteroom-place",
        "x-anteroom-expires-in",
        "x-anteroom-room",
        "x-anteroom-refusal",
        "x-anteroom-gate",
        "x-anteroom-application",
        "x_anteroom_visitor",
        "x-original-url",
        "x-rewrite-url",
        "x-forwarded-uri",
        "x-forwarded-method",
        "x-forwarded-prefix",
        "x-http-method-override",
        "x-method-override",
        "forwarded",
        "proxy",
    ];
    let mut request = client().get(site.url("/seats")).header("x-anteroom-token", &token);
    for name in claims {
        request = request.header(name, "EVIL");
    }
    Answer::of(request.header("x-forwarded-for", "203.0.113.7")).await.is(200);
    let arrival = site.shop.last();
    let headers = format!("{:?}", arrival.headers);
    assert!(!headers.contains("EVIL") && !headers.contains("203.0.113.7"), "{headers}");
    assert_eq!(arrival.header("x-anteroom-visitor"), ["1"]);
    assert_eq!(arrival.header("x-anteroom-visitor-kind"), ["anonymous"]);
    assert_eq!(arrival.place().len(), 40);
    assert!(arrival.header("x-anteroom-token").is_empty(), "{headers}");

    // A client's own options have no effect: with "redirect" NGINX would answer 500.
    let request = client().get(site.url("/seats")).header("x-anteroom-gate", "redirect, join");
    let request = request.header("sec-fetch-mode", "navigate").header("accept", "text/html");
    let answer = Answer::of(request).await;
    answer.is(302);
    assert_eq!(answer.header("set-cookie"), "");
}

#[tokio::test]
async fn the_check_of_ingress_nginx_is_not_for_visitors() {
    let site = Site::start().await;
    // These are paths of the service, and need a place.
    for path in
        ["/v1/queues/concert/authorize", "/v1/queues/concert/authorize/seats", "/_external-auth"]
    {
        let answer = site.raw(path).await;
        let is_refused = answer.starts_with("http/1.1 302") || answer.starts_with("http/1.1 404");
        assert!(is_refused, "{path}: {answer}");
    }
    // What was matched is what is sent.
    for path in [
        "/v1/queues/concert/authorize/../token",
        "/v1/queues/concert/authorize/%2e%2e/token",
        "/v1/queues/concert/authorize%2f..%2ftoken",
    ] {
        let answer = site.raw(path).await;
        assert!(answer.starts_with("http/1.1 401"), "{path}: {answer}");
        // Each answer of the check has this one.
        assert!(!answer.contains("x-anteroom-refusal"), "{path}: {answer}");
    }
    assert!(site.shop.arrivals().is_empty());
}
