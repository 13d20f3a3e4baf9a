//! The public port without a store: what is refused before it, and what its absence returns.

use std::io::Read as _;

use anteroom_admission::public;
use anteroom_authorize::queue::gate::refusal;
use anteroom_authorize::{Code, Problem};
use anteroom_core::queue::{Epoch, PlaceId, PlaceRef, Token, TokenKeys};
use axum::body::Body;
use axum::response::Response;
use http::{Request, StatusCode};

use crate::support::{SECRET, app, ask, problem, request};

async fn answer(request: Request<Body>) -> Response {
    ask(&public(&app("")), request).await
}

async fn code(method: &str, path: &str, headers: &[(&str, &str)]) -> (u16, String) {
    reply(answer(request(method, path, headers)).await).await
}

async fn reply(response: Response) -> (u16, String) {
    let status = response.status().as_u16();
    (status, problem(response).await["code"].as_str().expect("a code").to_owned())
}

fn token(queue: &str) -> String {
    let keys = TokenKeys::new(&[SECRET.into()]).expect("a secret");
    let place = PlaceRef { epoch: Epoch([1; 8]), id: PlaceId([2; 14]), ticket: 3 };
    keys.sign(queue, &Token { place, visitor_id: None })
}

#[tokio::test]
async fn a_bad_body_gets_its_named_error() {
    let join = |kind: Option<&str>, body: Vec<u8>| {
        let mut request = Request::post("/v1/queues/shop/tokens").header("host", "shop.example");
        if let Some(kind) = kind {
            request = request.header("content-type", kind);
        }
        answer(request.body(Body::from(body)).expect("a request"))
    };
    let json = Some("application/json");
    for (kind, body, expected) in [
        (None, b"{}".to_vec(), (415, "unsupported_media_type")),
        (Some("text/plain"), b"{}".to_vec(), (415, "unsupported_media_type")),
        (json, vec![b' '; 16 * 1024 + 1], (413, "body_too_large")),
        (json, b"{\"who\":1}".to_vec(), (400, "invalid_body")),
        (json, b"{\"assertion\":\"\xff\"}".to_vec(), (400, "invalid_body")),
        (json, b"[]".to_vec(), (400, "invalid_body")),
        (json, b"{".to_vec(), (400, "invalid_body")),
        (json, b"{}".to_vec(), (503, "store_unavailable")),
    ] {
        let (status, code) = reply(join(kind, body).await).await;
        assert_eq!((status, code.as_str()), expected);
    }
}

#[tokio::test]
async fn a_packed_body_is_refused_and_never_read_as_it_is() {
    let headers = [
        ("content-encoding", "gzip", (415, "unsupported_media_type")),
        ("content-encoding", "identity, gzip", (415, "unsupported_media_type")),
        ("content-encoding", "identity", (503, "store_unavailable")),
        ("transfer-encoding", "gzip, chunked", (400, "bad_request")),
        ("transfer-encoding", "Chunked", (503, "store_unavailable")),
    ];
    for (name, value, expected) in headers {
        for (path, kind) in [
            ("/v1/queues/shop/tokens", "application/json"),
            ("/queues/shop", "application/x-www-form-urlencoded"),
        ] {
            let request = Request::post(path)
                .header("host", "shop.example")
                .header("content-type", kind)
                .header(name, value)
                .body(Body::from("{}"));
            let response = answer(request.expect("a request")).await;
            if expected.0 == 503 {
                assert_eq!(response.status(), 503, "{path} {name}: {value}");
                continue;
            }
            let (status, code) = reply(response).await;
            assert_eq!((status, code.as_str()), expected, "{path} {name}: {value}");
        }
    }
}

#[tokio::test]
async fn a_request_for_no_host_or_for_two_is_refused() {
    let of_hosts = |path: &str, hosts: &[&str]| {
        let request = hosts.iter().fold(Request::get(path), |it, host| it.header("host", *host));
        answer(request.body(Body::empty()).expect("a request"))
    };
    for path in ["/v1/queues/shop/token", "/v1/queues/shop", "/nothing", "/openapi.json"] {
        for hosts in [&[][..], &["shop.example", "other.example"], &["shop.example"; 2]] {
            let refused = reply(of_hosts(path, hosts).await).await;
            assert_eq!(refused, (400, "bad_request".into()), "{path} {hosts:?}");
        }
    }
    for path in ["/v1/queues/shop/authorize", "/v1/queues/shop/authorize/a"] {
        let response = of_hosts(path, &[]).await;
        assert_eq!(response.headers()["x-anteroom-room"], "https://shop.example/queues/shop");
        assert_eq!(reply(response).await, (403, "bad_request".into()), "{path}");
    }
    let old = Request::get("/v1/queues/shop/token").version(http::Version::HTTP_10);
    let response = answer(old.body(Body::empty()).expect("a request")).await;
    assert_eq!(reply(response).await.1, "token_missing", "HTTP/1.0 knows no Host");
}

#[tokio::test]
async fn the_token_is_looked_for_in_the_header_the_cookie_and_our_bearer() {
    let (good, bad) = (token("shop"), token("other"));
    let cookie =
        |token: &str| format!("a=b; __Host-anteroom_shop={token}; __Host-anteroom_x={bad}");
    let bearer = |token: &str| format!("Bearer {token}");
    for (headers, expected) in [
        (vec![("cookie", cookie(&good))], "store_unavailable"),
        (vec![("authorization", bearer(&good))], "store_unavailable"),
        (vec![("authorization", bearer("of-another-service"))], "token_missing"),
        (
            vec![("authorization", bearer("of-another-service")), ("cookie", cookie(&good))],
            "store_unavailable",
        ),
        (vec![("authorization", "Basic art1.x".into())], "token_missing"),
        (vec![("x-anteroom-token", good.clone()), ("cookie", cookie(&bad))], "store_unavailable"),
        (vec![("x-anteroom-token", bad.clone()), ("cookie", cookie(&good))], "token_invalid"),
        (vec![("cookie", cookie(&bad)), ("authorization", bearer(&good))], "token_invalid"),
        (vec![("cookie", format!("{}; {}", cookie(&bad), cookie(&good)))], "store_unavailable"),
    ] {
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let (_, code) = code("GET", "/v1/queues/shop/token", &headers).await;
        assert_eq!(code, expected, "{headers:?}");
    }
}

/// Each look at a cookie costs a digest, and a header has room for hundreds.
#[tokio::test]
async fn only_the_first_four_cookies_of_the_queue_are_looked_at() {
    let named = |token: &str| format!("__Host-anteroom_shop={token}");
    let after = |forged: usize| {
        let others = ["a=b".to_owned(), named(&token("other")), "__Host-anteroom_x=y".to_owned()];
        let mut cookies: Vec<String> = others.iter().cloned().cycle().take(3 * forged).collect();
        cookies.push(named(&token("shop")));
        cookies.join("; ")
    };
    for (forged, expected) in [
        (0, "store_unavailable"),
        (3, "store_unavailable"),
        (4, "token_invalid"),
        (30, "token_invalid"),
    ] {
        let cookies = after(forged);
        let (_, code) = code("GET", "/v1/queues/shop/token", &[("cookie", &cookies)]).await;
        assert_eq!(code, expected, "after {forged}");
    }
}

#[tokio::test]
async fn promise_6_another_site_cannot_act_with_the_cookie() {
    let cookie = format!("__Host-anteroom_shop={}", token("shop"));
    for (method, path) in [
        ("DELETE", "/v1/queues/shop/token"),
        ("POST", "/v1/queues/shop/token/claim"),
        ("POST", "/v1/queues/shop/token/renew"),
        ("POST", "/v1/queues/shop/tokens"),
        ("POST", "/queues/shop"),
    ] {
        let foreign = [
            ("sec-fetch-site", "cross-site"),
            ("origin", "https://evil.example"),
            ("origin", "null"),
        ];
        let mut elsewhere = foreign.map(|it| vec![("cookie", cookie.as_str()), it]).to_vec();
        if path == "/queues/shop" {
            elsewhere.extend(foreign.map(|it| vec![it]));
        }
        for headers in elsewhere {
            let refused = code(method, path, &headers).await;
            assert_eq!(refused, (403, "origin_refused".into()), "{method} {path} {headers:?}");
        }
    }
}

#[tokio::test]
async fn the_gate_never_answers_anything_but_401_and_403() {
    let good = token("shop");
    for (path, headers, expected) in [
        ("/v1/queues/none/authorize", vec![], (403, "unknown_queue")),
        ("/v1/queues/shop/authorize", vec![], (401, "token_missing")),
        ("/v1/queues/shop/authorize/a/b", vec![], (401, "token_missing")),
        (
            "/v1/queues/shop/authorize",
            vec![("x-anteroom-token", good.as_str())],
            (403, "store_unavailable"),
        ),
        ("/v1/queues/shop/authorize?join=1", vec![], (403, "store_unavailable")),
        ("/v1/queues/shop/authorize/a?join=1", vec![], (401, "token_missing")),
    ] {
        for method in ["GET", "POST", "OPTIONS", "DELETE", "PROPFIND"] {
            let response = answer(request(method, path, &headers)).await;
            for own in [
                "x-anteroom-visitor",
                "x-anteroom-visitor-kind",
                "x-anteroom-place",
                "x-anteroom-expires-in",
            ] {
                assert_eq!(response.headers()[own], "", "{method} {path} {own}");
            }
            assert!(response.headers().contains_key("x-anteroom-room"));
            let (status, code) = reply(response).await;
            // Who comes to look at a page asks with GET.
            let joins = path.ends_with("authorize?join=1") && method != "GET";
            let expected = if joins { (401, "token_missing") } else { expected };
            assert_eq!((status, code.as_str()), expected, "{method} {path}");
        }
    }
    let overloaded = Problem::new(Code::OVERLOADED);
    assert_eq!(refusal(overloaded, None).status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn only_navigations_are_redirected_to_the_room() {
    let path = "/v1/queues/shop/authorize?on_refusal=redirect";
    let original = ("x-original-uri", "/seats?row=1");
    let navigations: [&[_]; 3] = [
        &[original, ("sec-fetch-mode", "navigate")],
        &[original, ("accept", "text/html,*/*;q=0.8")],
        &[original, ("sec-fetch-mode", "navigate"), ("x-original-method", "HEAD")],
    ];
    for headers in navigations {
        let response = answer(request("GET", path, headers)).await;
        assert_eq!(response.status(), StatusCode::FOUND, "{headers:?}");
        let room = "https://shop.example/queues/shop?return_to=%2Fseats";
        assert_eq!(response.headers()["location"], room);
        assert_eq!(response.headers()["x-anteroom-room"], room);
    }
    let others: [&[_]; 4] = [
        &[original],
        &[original, ("sec-fetch-mode", "cors"), ("accept", "text/html")],
        &[original, ("accept", "application/json")],
        &[original, ("accept", "text/html"), ("x-original-method", "POST")],
    ];
    for headers in others {
        let response = answer(request("GET", path, headers)).await;
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{headers:?}");
    }
}

#[tokio::test]
async fn the_page_works_without_a_store_and_never_joins_by_a_get() {
    let response = answer(request("GET", "/queues/shop?return_to=//evil.example", &[])).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["content-type"], "text/html; charset=utf-8");
    assert!(!response.headers().contains_key("set-cookie"));
}

/// Of what a page says, what a visitor sees.
fn shown(page: &str) -> &str {
    let (_, shown) = page.split_once("<h1 id=\"heading\"").expect("a heading");
    shown.split("</main>").next().expect("an end")
}

#[tokio::test]
async fn without_a_store_the_page_says_to_a_holder_that_the_place_is_kept() {
    let cookie = format!("__Host-anteroom_shop={}", token("shop"));
    let own = [("cookie", cookie.as_str()), ("sec-fetch-site", "same-origin")];
    for (method, path, step, status) in [
        ("GET", "/queues/shop", "", 200),
        ("POST", "/queues/shop", "", 503),
        ("POST", "/queues/shop?return_to=/a", "", 503),
        ("POST", "/queues/shop", "step=claim", 503),
        ("POST", "/queues/shop", "step=finish", 503),
    ] {
        let request =
            own.iter().fold(Request::builder(), |it, (name, it_is)| it.header(*name, *it_is));
        let request = request.method(method).uri(path).header("host", "shop.example");
        let response = answer(request.body(Body::from(step)).expect("a request")).await;
        assert_eq!(response.status(), status, "{method} {path} {step}");
        assert!(response.headers().contains_key("retry-after"), "{method} {path} {step}");
        assert!(!response.headers().contains_key("set-cookie"), "{method} {path} {step}");
        let page = text(response).await;
        let shown = shown(&page);
        assert!(shown.contains("Your place is kept. You do not have to do anything."), "{shown}");
        // By a GET of this same address.
        assert!(page.contains("<noscript><meta http-equiv=\"refresh\" content=\""), "{page}");
        assert!(!page.contains("url="), "{page}");
        for button in ["join", "try_again", "enter", "finish"] {
            let (_, rest) =
                shown.split_once(&format!("<button id=\"{button}\"")).expect("a button");
            assert!(rest.split('>').next().expect("an end").ends_with(" hidden"), "{shown}");
        }
        // The script looks after the place, and joins no other.
        assert!(page.contains("data-status=\"waiting\""), "{page}");
    }
    let response = answer(request("POST", "/queues/shop", &[])).await;
    assert_eq!(response.status(), 503);
    let page = text(response).await;
    assert!(!shown(&page).contains("kept") && shown(&page).contains("You can try again later."));
}

async fn text(response: Response) -> String {
    let body = http_body_util::BodyExt::collect(response.into_body()).await.expect("a body");
    String::from_utf8(body.to_bytes().to_vec()).expect("UTF-8")
}

#[tokio::test]
async fn the_document_is_compressed_for_clients_that_take_gzip() {
    let ask = async |method: &str, headers: &[(&str, &str)]| {
        let response = answer(request(method, "/openapi.json", headers)).await;
        assert_eq!(response.status(), StatusCode::OK);
        let (head, body) = response.into_parts();
        let vary: Vec<_> = head.headers.get_all("vary").iter().collect();
        assert!(vary.contains(&&"accept-encoding".parse::<http::HeaderValue>().expect("a value")));
        assert_eq!(head.headers["content-type"], "application/json");
        let body = http_body_util::BodyExt::collect(body).await.expect("a body").to_bytes();
        (head.headers, body)
    };
    let (head, plain) = ask("GET", &[]).await;
    assert!(!head.contains_key("content-encoding"));
    serde_json::from_slice::<serde_json::Value>(&plain).expect("JSON");
    let takes = [("accept-encoding", "gzip, deflate, br")];
    let (head, packed) = ask("GET", &takes).await;
    assert_eq!(head["content-encoding"], "gzip");
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut unpacked).expect("gzip");
    assert_eq!(unpacked, plain);
    assert!(packed.len() * 5 < plain.len(), "{} of {} bytes", packed.len(), plain.len());

    let (head, body) = ask("HEAD", &takes).await;
    assert_eq!((&head["content-encoding"], body.len()), (&"gzip".parse().expect("a value"), 0));
    assert_eq!(head["content-length"], packed.len().to_string());
    let (head, _) = ask("HEAD", &[]).await;
    assert_eq!(head["content-length"], plain.len().to_string());
}

/// A proxy in front may have read the one line, and we would read the other.
#[tokio::test]
async fn header_lines_that_differ_are_refused_and_count_as_none_at_the_gate() {
    const KEY: [&str; 2] = ["an-idempotency-key-of-22-chars", "another-idempotency-key-of-22"];
    const ORIGIN: [&str; 2] = ["https://shop.example", "https://other.example"];
    let token = token("shop");
    let tokens = [token.as_str(), "art1.forged"];
    let (join, place) = ("/v1/queues/shop/tokens", "/v1/queues/shop/token");
    for (method, path, name, [one, other]) in [
        ("POST", join, "idempotency-key", KEY),
        ("POST", join, "origin", ORIGIN),
        ("POST", join, "sec-fetch-site", ["same-origin", "cross-site"]),
        ("POST", join, "x-anteroom-token", tokens),
        ("GET", place, "x-anteroom-token", tokens),
        ("DELETE", place, "x-anteroom-token", tokens),
        ("DELETE", place, "origin", ORIGIN),
        ("POST", "/v1/queues/shop/token/claim", "sec-fetch-site", ["none", "same-origin"]),
        ("GET", "/v1/queues/shop/token/events", "x-anteroom-token", tokens),
        ("GET", "/queues/shop", "x-anteroom-token", tokens),
    ] {
        for (first, second) in [(one, other), (other, one)] {
            let response = answer(request(method, path, &[(name, first), (name, second)])).await;
            let status = response.status().as_u16();
            let problem = problem(response).await;
            assert_eq!((status, &problem["code"]), (400, &"bad_request".into()), "{path} {name}");
            let detail = problem["detail"].as_str().expect("a detail");
            assert!(detail.contains(name) && !detail.contains(first), "{detail}");
        }
        let same = answer(request(method, path, &[(name, one), (name, one)])).await;
        assert_ne!(same.status(), 400, "{method} {path}: {name} twice, the same");
    }

    let gate = "/v1/queues/shop/authorize";
    let with = |more: &[(&str, &str)]| {
        let twice = [("x-anteroom-token", tokens[0]), ("x-anteroom-token", tokens[1])];
        request("GET", gate, &[&twice[..], more].concat())
    };
    let missing = (401, "token_missing".to_owned());
    assert_eq!(reply(answer(with(&[])).await).await, missing);
    let cookie = format!("__Host-anteroom_shop={token}");
    let (status, code) = reply(answer(with(&[("cookie", &cookie)])).await).await;
    assert_eq!((status, code.as_str()), (403, "store_unavailable"), "the cookie decides");
    let behind = format!("{gate}/seats");
    let twice = [("x-anteroom-token", tokens[0]), ("x-anteroom-token", tokens[1])];
    assert_eq!(reply(answer(request("GET", &behind, &twice)).await).await, missing);
}

#[tokio::test]
async fn the_document_names_every_route_and_every_status_it_gives() {
    let response = answer(request("GET", "/openapi.json", &[])).await;
    let body = http_body_util::BodyExt::collect(response.into_body()).await.expect("a body");
    let document: serde_json::Value = serde_json::from_slice(&body.to_bytes()).expect("JSON");
    assert_eq!(document["openapi"], "3.1.0");
    for (path, method, statuses) in [
        (
            "/v1/queues/{queue}/tokens",
            "post",
            &[
                "200", "201", "400", "401", "403", "404", "408", "413", "415", "429", "500", "503",
                "504",
            ][..],
        ),
        ("/v1/queues/{queue}/token", "get", &["200", "401", "404", "410", "429"]),
        ("/v1/queues/{queue}/token", "delete", &["204", "401", "403"]),
        ("/v1/queues/{queue}/token/claim", "post", &["200", "409", "410"]),
        ("/v1/queues/{queue}/token/renew", "post", &["200", "409", "410"]),
        ("/v1/queues/{queue}/token/events", "get", &["200", "204"]),
        ("/v1/queues/{queue}/authorize", "get", &["200", "302", "401", "403"]),
        ("/v1/queues/{queue}/authorize/{path}", "post", &["200", "302", "401", "403"]),
        ("/v1/queues/{queue}", "get", &["200", "404", "503"]),
        ("/queues/{queue}", "get", &["200"]),
        ("/queues/{queue}", "post", &["303"]),
    ] {
        for status in statuses {
            let response = &document["paths"][path][method]["responses"][status];
            assert!(response.is_object(), "{method} {path} {status}");
        }
    }
}
