//! What arrives behind a gateway of what a client wrote: nothing that names a visitor, an address
//! or a path beside the judged ones, and no visitor's token.

use std::collections::BTreeSet;

use anteroom_testkit::{Answer, client, free_ports};
use http::Method;
use reqwest::Client;

use crate::browser::{AtGate as _, COOKIE_NAME};
use crate::gateway::{Gateway, example};
use crate::program::Program;
use crate::raw;
use crate::shop::{Arrival, Shop};
use crate::site::{Plan, Site};
use crate::wiring::Wiring;

/// What a client writes into each of the headers.
const CLAIM: &str = "claimed";
/// NGINX's own word, known only to it.
const OWN: &str = "own";

/// What the service gets of each header that the example sets; nothing where it says nothing. Here
/// the gate has named no visitor.
const FOR_SERVICE: &[(&str, &str)] = &[
    ("x-anteroom-visitor", ""),
    ("x-anteroom-visitor-kind", ""),
    ("x-anteroom-place", ""),
    ("x-anteroom-expires-in", ""),
    ("x-anteroom-room", ""),
    ("x-anteroom-refusal", ""),
    ("x-anteroom-gate", ""),
    ("x-anteroom-token", ""),
    ("x-anteroom-application", ""),
    ("x-forwarded-host", "127.0.0.1"),
    ("x-forwarded-port", OWN),
    ("x-forwarded-proto", "http"),
    ("x-forwarded-for", "claimed, 127.0.0.1"),
    ("forwarded", ""),
    ("x-original-url", ""),
    ("x-rewrite-url", ""),
    ("x-original-uri", ""),
    ("x-forwarded-uri", ""),
    ("x-forwarded-prefix", ""),
    ("x-forwarded-method", ""),
    ("x-forwarded-path", ""),
    ("x-forwarded-server", ""),
    ("x-envoy-original-path", ""),
    ("x-host", ""),
    ("x-original-host", ""),
    ("x-http-host-override", ""),
    ("x-http-method", ""),
    ("x-http-method-override", ""),
    ("x-method-override", ""),
    ("proxy", ""),
    ("x-real-ip", "127.0.0.1"),
    ("x-request-id", OWN),
    ("host", "127.0.0.1"),
    ("upgrade", ""),
    ("connection", ""),
];
/// Set as well, with a test of their own.
const BESIDES: [&str; 2] = ["authorization", "cookie"];

/// The same for the gate's own call …
const FOR_GATE: &[(&str, &str)] = &[
    ("x-forwarded-method", "GET"),
    ("x-forwarded-uri", "/seats?row=1"),
    ("x-original-method", ""),
    ("x-original-uri", ""),
    ("x-original-url", ""),
    ("x-anteroom-gate", ""),
    ("x-request-id", OWN),
    ("x-forwarded-for", "claimed, 127.0.0.1"),
    ("x-forwarded-proto", "http"),
    ("host", "127.0.0.1"),
    ("connection", ""),
];
/// … and for the page and what it calls.
const FOR_PAGE: &[(&str, &str)] = &[
    ("x-request-id", OWN),
    ("x-forwarded-for", "claimed, 127.0.0.1"),
    ("x-forwarded-proto", "http"),
    ("host", "127.0.0.1"),
    ("connection", ""),
];

/// Asks for a path, with a claim in each of these headers. (Another host would be another
/// server's.)
async fn claim(client: &Client, url: &str, mut headers: BTreeSet<&str>) {
    headers.remove("host");
    let ask = headers.into_iter().fold(client.get(url), |ask, name| ask.header(name, CLAIM));
    assert_eq!(ask.send().await.expect("an answer").status(), 200, "{url}");
}

/// Holds what arrived to the table.
fn arrived(arrival: &Arrival, headers: &[(&str, &str)]) {
    for (name, expected) in headers {
        let values = arrival.header(name);
        let fine = match *expected {
            OWN => values.len() == 1 && values != [CLAIM],
            "" => values.is_empty(),
            value => values == [value],
        };
        assert!(fine, "{name} of {}: {values:?}, not {expected:?}", arrival.path);
    }
}

/// A gateway whose admission is one that lets every request pass, and remembers the checks.
struct Open {
    admission: Shop,
    shop: Shop,
    url: String,
    _gateway: Gateway,
}

impl Open {
    async fn start(program: Program, edits: &[(&str, &str)]) -> Self {
        let (admission, shop) = (Shop::start().await, Shop::start().await);
        for _ in 0..5 {
            let [gate, check] = free_ports();
            let wiring = Wiring {
                gate,
                fast: gate,
                check,
                front: 0,
                back: 0,
                shop: shop.address(),
                admission: admission.address(),
                second: None,
                checks: Vec::new(),
                certificates: None,
            };
            let edits = wiring.edits(&Plan { program, edits, ..Plan::default() });
            if let Some(_gateway) = Gateway::start(program, gate, &edits).await {
                let url = format!("http://127.0.0.1:{gate}");
                return Self { admission, shop, url, _gateway };
            }
        }
        panic!("no free port for {program:?}");
    }
}

fn names(headers: &[(&'static str, &str)]) -> BTreeSet<&'static str> {
    headers.iter().map(|(name, _)| *name).collect()
}

#[tokio::test]
async fn what_a_client_claims_arrives_nowhere() {
    let Open { admission, shop, url, _gateway } = Open::start(Program::Nginx, &[]).await;
    let client = client();
    let all: BTreeSet<_> = &names(FOR_SERVICE) | &names(FOR_GATE);
    claim(&client, &format!("{url}/seats?row=1"), all).await;
    arrived(&admission.last(), FOR_GATE);
    arrived(&shop.last(), FOR_SERVICE);
    claim(&client, &format!("{url}/public/logo"), names(FOR_SERVICE)).await;
    arrived(&shop.last(), FOR_SERVICE);
    for path in ["/queues/concert", "/v1/queues/concert/token", "/v1/queues/concert/token/events"] {
        claim(&client, &format!("{url}{path}"), names(FOR_PAGE)).await;
        assert_eq!(admission.last().path, path);
        arrived(&admission.last(), FOR_PAGE);
    }
}

/// No header of these names has what the client wrote.
fn claimed(arrival: &Arrival, names: &BTreeSet<&str>) {
    let mut found: Vec<_> = names
        .iter()
        .filter(|name| arrival.header(name).iter().any(|value| value.contains(CLAIM)))
        .copied()
        .collect();
    // An id is no claim, and a list of addresses is read from its end.
    found.retain(|name| *name != "x-request-id");
    found.retain(|name| {
        *name != "x-forwarded-for" || arrival.header(name).concat().ends_with(CLAIM)
    });
    assert!(found.is_empty(), "{found:?} of {arrival:?}");
}

/// The same of every gateway, which each write more of their own than NGINX does.
pub async fn no_header_about_the_request_is_a_client_s(program: Program) {
    if program == Program::EnvoyGrpc {
        return no_header_about_the_request_is_a_client_s_over_grpc().await;
    }
    let Open { admission, shop, url, _gateway } = Open::start(program, &[]).await;
    let client = client();
    let (service, gate) = (names(FOR_SERVICE), names(FOR_GATE));
    // A proxy ends a connection by this word; another test claims it.
    let mut all = &service | &gate;
    for of_connection in ["connection", "upgrade"] {
        all.remove(of_connection);
    }
    for path in ["/seats?row=1", "/public/logo"] {
        claim(&client, &format!("{url}{path}"), all.clone()).await;
        assert_eq!(shop.last().path, path);
        claimed(&shop.last(), &service);
    }
    let [check] = &admission.arrivals()[..] else { panic!("one check") };
    claimed(check, &gate);
    claim(&client, &format!("{url}/v1/queues/concert/token"), all).await;
    claimed(&admission.last(), &names(FOR_PAGE));
}

/// Over gRPC the check itself removes them, so it is the real one. Method and path of the request
/// are no headers of the check.
async fn no_header_about_the_request_is_a_client_s_over_grpc() {
    let program = Program::EnvoyGrpc;
    let site = Site::with(Plan { program, queue: "capacity = 1", ..Plan::default() }).await;
    let token = site.token().await;
    let service = names(FOR_SERVICE);
    let mut all = &service | &names(FOR_GATE);
    for other in ["connection", "upgrade", "host", "x-anteroom-token"] {
        all.remove(other);
    }
    let claims = |path: &str| {
        let ask = site.client.get(format!("{}{path}", site.url));
        all.iter().fold(ask, |ask, name| ask.header(*name, CLAIM))
    };
    let refused = Answer::of(claims("/seats?row=1")).await;
    refused.is_problem(401, "token_missing");
    assert!(refused.header("x-anteroom-room").ends_with("?return_to=%2Fseats"), "{refused:?}");
    for path in ["/seats?row=1", "/public/logo"] {
        let answer = Answer::of(claims(path).header("x-anteroom-token", &token)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let arrival = site.shop.last();
        assert_eq!(arrival.path, path);
        claimed(&arrival, &service);
        assert!(arrival.header("x-anteroom-token").is_empty(), "{arrival:?}");
    }
}

/// The example's lines for another proxy in front are put in force. It passes on what a client
/// wrote.
#[tokio::test]
async fn traefik_behind_a_proxy_takes_the_address_from_it_and_nothing_else() {
    if !Program::Traefik.is_installed() {
        return;
    }
    let edits = [
        ("    #forwardedHeaders:\n", "    forwardedHeaders:\n"),
        ("    #  trustedIPs: [10.0.0.0/8]\n", "      trustedIPs: [127.0.0.1/32]\n"),
        ("trustForwardHeader: false", "trustForwardHeader: true"),
    ];
    let Open { admission, shop, url, _gateway } = Open::start(Program::Traefik, &edits).await;
    let ask = client().get(format!("{url}/seats?row=1")).header("x-forwarded-for", "203.0.113.9");
    let ask = ask.header("x-forwarded-method", "OPTIONS").header("x-forwarded-uri", "/public/");
    assert_eq!(ask.send().await.expect("an answer").status(), 200);
    let facts = [
        ("x-forwarded-for", "203.0.113.9, 127.0.0.1"),
        ("x-forwarded-method", "GET"),
        ("x-forwarded-uri", "/seats?row=1"),
    ];
    arrived(&admission.last(), &facts);
    arrived(&shop.last(), &[facts[0], ("x-forwarded-method", ""), ("x-forwarded-uri", "")]);
}

/// Where this server listens is not where the visitor came to.
#[tokio::test]
async fn behind_a_proxy_that_ends_tls_the_service_gets_the_visitors_scheme_and_address() {
    let include = "        include anteroom-server.conf;\n";
    let set = format!("{include}set $anteroom_scheme https; set $anteroom_port 443;\n");
    let edits = &[(include, &*set)];
    let site = Site::with(Plan { queue: "capacity = 1", edits, ..Plan::default() }).await;
    let open = site.client.get(format!("{}/public/logo", site.url)).send().await;
    assert_eq!(open.expect("an answer").status(), 200);
    arrived(&site.shop.last(), &[("x-forwarded-proto", "https"), ("x-forwarded-port", "443")]);
}

/// Services trim more than the blank, so nothing that is not visible ASCII hides a token.
pub async fn promise_6_white_space_before_a_token_hides_it_in_neither_version_of_http(
    program: Program,
) {
    let plan = Plan { program, queue: "capacity = 10", http2: true, ..Plan::default() };
    let site = Site::with(plan).await;
    let token = site.token().await;
    let (address, fast) = (site.url.trim_start_matches("http://"), &*site.fast);
    for path in ["/seats", "/public/logo"] {
        for blank in ["", "\t", " ", "\t \t", "\u{b}", "\u{1f}", "\u{a0}"] {
            for line in [
                ("authorization", format!("{blank}Bearer {token}")),
                ("authorization", format!("{blank}bearer  {token}")),
                ("cookie", format!("{blank}{COOKIE_NAME}={token}")),
                ("cookie", format!("theme=dark;{blank}{COOKIE_NAME}={token}")),
            ] {
                let headers = [(line.0, &*line.1)];
                for version in [1, 2] {
                    let before = site.shop.arrivals().len();
                    match version {
                        1 => raw::http1(address, path, &headers).await,
                        _ => {
                            let own = [
                                (":method", "GET"),
                                (":scheme", "http"),
                                (":authority", fast),
                                (":path", path),
                                headers[0],
                            ];
                            raw::http2(raw::connect(fast).await, &own).await;
                        }
                    }
                    let arrivals = site.shop.arrivals().split_off(before);
                    // What admission reads as the token passes; the open path always does.
                    let known = blank.trim_matches(['\t', ' ']).is_empty();
                    let passes = known || path != "/seats";
                    let case = format!("HTTP/{version} {path} {line:?}");
                    // A gateway may refuse what is no value of a header.
                    let refused = program != Program::Nginx && !known && arrivals.is_empty();
                    assert!(refused || arrivals.len() == usize::from(passes), "{case}");
                    let text = format!("{arrivals:?}");
                    assert!(!text.contains("art1."), "{case}: {text}");
                }
            }
        }
    }
}

#[test]
fn each_header_that_the_example_sets_is_tried() {
    let conf = example(Program::Nginx, "anteroom-service.conf");
    let set = conf.lines().filter_map(|line| line.strip_prefix("proxy_set_header "));
    let set: BTreeSet<_> =
        set.filter_map(|line| line.split(' ').next()).map(str::to_ascii_lowercase).collect();
    let tried = FOR_SERVICE.iter().map(|(name, _)| *name).chain(BESIDES);
    assert_eq!(set, tried.map(str::to_owned).collect());
}

pub async fn promise_6_a_visitor_s_token_never_reaches_the_service(plan: impl Into<Plan<'static>>) {
    let plan = plan.into();
    let program = plan.program;
    let site = Site::with(Plan { queue: "capacity = 10", ..plan }).await;
    let token = site.token().await;
    let ours = format!("{COOKIE_NAME}={token}");
    let send = async |path: &str, headers: &[(&str, &str)]| {
        let ask = site.client.request(Method::GET, format!("{}{path}", site.url));
        let ask = headers.iter().fold(ask, |ask, (name, value)| ask.header(*name, *value));
        assert_eq!(ask.send().await.expect("an answer").status(), 200, "{path} {headers:?}");
        let arrival = site.shop.last();
        let headers = format!("{:?}", arrival.headers);
        assert!(
            !headers.contains(token.as_str()) && !headers.contains("art1."),
            "{path}: {headers}"
        );
        arrival
    };
    // With a check of the token, and without.
    for path in ["/seats", "/public/logo"] {
        let own = [("authorization", "Basic b3duOm93bg=="), ("cookie", "theme=dark")];
        let arrival = send(path, &[own[0], own[1], ("x-anteroom-token", &token)]).await;
        assert_eq!(arrival.header("authorization"), ["Basic b3duOm93bg=="]);
        assert_eq!(arrival.header("cookie"), ["theme=dark"]);
        for scheme in ["Bearer", "bearer", "BEARER ", "\tBearer", "Bearer\t", "Basic x, Bearer"] {
            let own = ("x-anteroom-token", &*token);
            let arrival = send(path, &[("authorization", &format!("{scheme} {token}")), own]).await;
            assert!(arrival.header("authorization").is_empty(), "{arrival:?}");
        }
        let arrival = send(path, &[("authorization", "Bearer their-own"), ("cookie", &ours)]).await;
        assert_eq!(arrival.header("authorization"), ["Bearer their-own"]);

        for (sent, arrives) in [
            ("OURS", ""),
            ("OURS; theme=dark", "theme=dark"),
            ("theme=dark; OURS", "theme=dark"),
            ("\tOURS", ""),
            ("\t \tOURS;\ttheme=dark", "theme=dark"),
            ("theme=dark;\tOURS", "theme=dark"),
            ("a=1;OURS;b=2", "a=1;b=2"),
            (
                "a=1; OURS; b=2; __Secure-anteroom_other=art1.x; anteroom_third=art1.y; c=3",
                "a=1; b=2; c=3",
            ),
            (
                "OURS; a=1; OURS; b=2; OURS; c=3; OURS; d=4; OURS; e=5; OURS; f=6;",
                "a=1; b=2; c=3; d=4; e=5; f=6",
            ),
            (
                "OURS; not__Host-anteroom_concert=1; to=/anteroom_x; e",
                "not__Host-anteroom_concert=1; to=/anteroom_x; e",
            ),
            // What NGINX cannot take apart does not go on.
            ("a=1;; OURS", "a=1"),
            (
                "a=1; OURS; b=2; OURS; c=3; OURS; d=4; OURS; e=5; OURS; f=6; OURS; g=7",
                "a=1; b=2; c=3; d=4; e=5; f=6; g=7",
            ),
        ] {
            let arrival = send(path, &[("cookie", &sent.replace("OURS", &ours))]).await;
            let arrived = arrival.header("cookie").join(";");
            let given_up = sent.contains(";;") || sent.contains("g=7");
            let expected = if given_up && program == Program::Nginx { "" } else { arrives };
            assert_eq!(cookies(&arrived), cookies(expected), "{path}: {sent}");
        }
        // Whatever is not ours is not looked into.
        let odd = "a=1;; b= ;c;";
        let arrival = send(path, &[("cookie", odd), ("x-anteroom-token", &token)]).await;
        assert_eq!(cookies(&arrival.header("cookie").concat()), cookies(odd));
    }
}

/// Some proxies and clients send each cookie in a line of its own.
pub async fn promise_4_a_place_is_found_in_each_cookie_line(plan: impl Into<Plan<'static>>) {
    let site = Site::with(Plan { queue: "capacity = 10", ..plan.into() }).await;
    let ours = format!("{COOKIE_NAME}={}", site.token().await);
    for lines in [["theme=dark", &*ours], [&*ours, "theme=dark"]] {
        let ask = site.client.get(format!("{}/seats", site.url));
        let ask = lines.iter().fold(ask, |ask, line| ask.header("cookie", *line));
        let answer = Answer::of(ask).await;
        assert_eq!(answer.status, 200, "{lines:?}: {answer:?}");
        let arrival = site.shop.last();
        assert!(!format!("{:?}", arrival.headers).contains("art1."), "{arrival:?}");
        assert_eq!(cookies(&arrival.header("cookie").join(";")), ["theme=dark"], "{lines:?}");
    }
    // A sibling host can set any value of any other cookie.
    let ask = site.client.get(format!("{}/seats", site.url));
    let answer = Answer::of(ask.header("cookie", format!("theme=dark,{ours}"))).await;
    assert_eq!(answer.status, 401, "{answer:?}");
}

/// The cookies of a header, however it parts them.
fn cookies(header: &str) -> Vec<&str> {
    header.split(';').map(str::trim).filter(|cookie| !cookie.is_empty()).collect()
}
