//! The shop asks a real Anteroom: a visitor whose turn it is comes in, and leaves with a seat.

use anteroom_testkit::{Anteroom, PATIENCE, PATIENT, Proxy, binary, until};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::support::{Answer, Concert, Reserved as _, client};

const ONE: &str = "[queues.concert]\ncapacity = 1\n";
const TOKEN: &str = "x-anteroom-token";
const COOKIE: &str = "__Host-anteroom_concert";

/// An Anteroom with room for one, and the shop behind it.
struct Site {
    anteroom: Anteroom,
    concert: Concert,
    client: Client,
}

impl Site {
    async fn start() -> Self {
        Self::start_with(ONE, &[]).await
    }

    async fn start_with(configuration: &str, env: &[(&str, &str)]) -> Self {
        let anteroom = Anteroom::start(configuration, &PATIENT).await;
        anteroom.admission.until_ready().await;
        let concert = concert(&anteroom.url("public"), &anteroom.url("service"), env).await;
        Self { anteroom, concert, client: client() }
    }

    async fn join(&self) -> String {
        self.anteroom.admission.join("concert").await
    }

    /// A call to Anteroom's public port.
    async fn room(&self, method: Method, path: &str, token: &str) -> Answer {
        let url = format!("{}{path}", self.anteroom.url("public"));
        Answer::of(self.client.request(method, url).header(TOKEN, token)).await
    }

    /// The status of a place, or why it is gone.
    async fn status(&self, token: &str) -> String {
        let place = self.room(Method::GET, "/v1/queues/concert/token", token).await.json();
        let field = |name: &str| place[name].as_str().map(str::to_owned);
        field("reason").or_else(|| field("status")).unwrap_or_else(|| panic!("{place}"))
    }

    async fn call(&self, token: &str, method: Method, path: &str) -> Answer {
        Answer::of(self.concert.call(method, path).header(TOKEN, token)).await
    }

    async fn reserve(&self, token: &str, seat: i64) -> Answer {
        self.call(token, Method::POST, &format!("/api/shows/1/seats/{seat}/reservation")).await
    }

    /// A request as a browser sends it that looks at a page or presses a button.
    fn browser(&self, method: Method, path: &str) -> RequestBuilder {
        let call = self.concert.call(method, path).header("sec-fetch-mode", "navigate");
        call.header("accept", "text/html,application/xhtml+xml,*/*;q=0.8")
    }
}

/// The shop, asking the Anteroom with these ports.
async fn concert(public: &str, service: &str, env: &[(&str, &str)]) -> Concert {
    let ask = ["--gate", "ask", "--anteroom", public, "--anteroom-service", service];
    Concert::start_with(&[&ask[..], &["--think", "0s"]].concat(), env).await
}

#[tokio::test]
async fn a_visitor_with_the_turn_reserves_and_the_next_comes_in() {
    let site = Site::start().await;
    let (first, second) = (site.join().await, site.join().await);
    site.call(&second, Method::GET, "/api/shows").await.refuses(403, "not_admitted");
    let refused = site.reserve(&second, 1).await;
    assert_ne!(refused.refuses(403, "not_admitted").header("retry-after"), "");
    assert_eq!(refused.header("cache-control"), "private, no-store");

    // Asking takes the turn.
    site.call(&first, Method::GET, "/api/shows/1/seats").await.is(200);
    assert_eq!(site.status(&first).await, "active");
    let id = site.reserve(&first, 1).await.is(201).reservation();
    assert_eq!(site.status(&first).await, "completed");
    site.call(&first, Method::GET, "/api/shows").await.refuses(403, "place_gone");
    // The reservation needs no place.
    site.concert.pay(&id).await.is(200);

    until("the next is let in", PATIENCE, async || {
        site.call(&second, Method::GET, "/api/shows").await.status == 200
    })
    .await;
    site.reserve(&second, 1).await.refuses(409, "seat_taken");
    assert_eq!(site.status(&second).await, "active", "the visit goes on");
    site.reserve(&second, 2).await.is(201);
}

#[tokio::test]
async fn who_looks_at_a_page_is_led_to_the_room_and_back() {
    let site = Site::start().await;
    let room = |path: &str| {
        let mut room = "http://127.0.0.1:8080/queues/concert?return_to=".to_owned();
        let back = format!("{}{path}", site.concert.url);
        room.push_str(&back.replace(':', "%3A").replace('/', "%2F"));
        room
    };
    let look = async |path: &str| Answer::of(site.browser(Method::GET, path)).await;
    assert_eq!(look("/").await.is(302).header("location"), room("/"));
    let seats = look("/shows/1/seats").await;
    assert_eq!(seats.is(302).header("location"), room("/shows/1/seats"));
    // A program gets the address of the room.
    let program = site.concert.get("/api/shows").await;
    program.refuses(401, "token_missing");
    assert_eq!(program.header("x-anteroom-room"), "http://127.0.0.1:8080/queues/concert");
    assert_eq!(program.header("x-anteroom-refusal"), "token_missing");
    assert_ne!(program.header("www-authenticate"), "");
    // Who presses a button without a place reads that nothing was done.
    let press = site.browser(Method::POST, "/shows/1/seats/1/reservation");
    let pressed = Answer::of(press).await;
    assert!(pressed.is(401).text.contains("Nothing was changed"), "{pressed:?}");
    assert!(pressed.text.contains(&room("/")), "{pressed:?}");
    assert!(pressed.header("content-type").starts_with("text/html"));

    // An invalid cookie is removed, and does not pass.
    let forged = site.browser(Method::GET, "/").header("cookie", format!("{COOKIE}=art1.x"));
    let forged = Answer::of(forged).await;
    assert_eq!(forged.is(302).header("location"), room("/"));

    let token = site.join().await;
    let inside = site.browser(Method::GET, "/").header("cookie", format!("a=b; {COOKIE}={token}"));
    let inside = Answer::of(inside).await;
    assert!(inside.is(200).text.contains("Your visit ends in <time data-left=\""), "{inside:?}");
}

#[tokio::test]
async fn one_visit_ends_with_one_seat_however_often_it_asks_at_once() {
    let site = std::sync::Arc::new(Site::start().await);
    let token = site.join().await;
    site.call(&token, Method::GET, "/api/shows").await.is(200);
    let mut crowd = JoinSet::new();
    for attempt in 0..40 {
        let (site, token) = (site.clone(), token.clone());
        // Five times each of eight seats.
        crowd.spawn(async move { site.reserve(&token, 1 + attempt % 8).await });
    }
    let answers = crowd.join_all().await;
    let won: Vec<String> =
        answers.iter().filter(|it| it.status == 201).map(Answer::reservation).collect();
    assert!(!won.is_empty() && won.iter().all(|id| *id == won[0]), "{won:?}");
    for answer in answers.iter().filter(|it| it.status != 201) {
        match answer.status.as_u16() {
            409 => answer.refuses(409, "already_reserved"),
            _ => answer.refuses(403, "place_gone"),
        };
    }
    let shows = site.concert.get(&format!("/api/reservations/{}", won[0])).await.is(200).json();
    assert_eq!(shows["state"], "reserved");
    let next = site.join().await;
    until("the next is let in", PATIENCE, async || {
        site.call(&next, Method::GET, "/api/shows").await.status == 200
    })
    .await;
    let left = site.call(&next, Method::GET, "/api/shows").await.is(200).json();
    assert_eq!(left["shows"][0]["free"], 47);
}

#[tokio::test]
async fn who_leaves_without_a_seat_makes_room() {
    let site = Site::start().await;
    let (first, second) = (site.join().await, site.join().await);
    site.call(&first, Method::GET, "/api/shows").await.is(200);
    // Who waits has no visit to end.
    site.call(&second, Method::POST, "/api/finish").await.is(204);
    assert_eq!(site.status(&second).await, "waiting");
    site.call(&first, Method::POST, "/api/finish").await.is(204);
    assert_eq!(site.status(&first).await, "completed");
    // Again is harmless, and the page says so too.
    let again = site.browser(Method::POST, "/finish").header(TOKEN, &first);
    assert!(Answer::of(again).await.is(200).text.contains("Your visit is over"));
}

#[tokio::test]
async fn a_client_s_own_headers_say_nothing() {
    let site = Site::start().await;
    let token = site.join().await;
    let authorize = site.room(Method::GET, "/v1/queues/concert/authorize", &token).await;
    let handle = authorize.is(200).header("x-anteroom-place").to_owned();
    let spoofed = site.concert.call(Method::POST, "/api/finish");
    let spoofed = spoofed.header("x-anteroom-place", &handle);
    Answer::of(spoofed).await.is(204);
    let looks = site.concert.call(Method::GET, "/api/shows").header("x-anteroom-place", &handle);
    Answer::of(looks.header("x-anteroom-visitor", "1")).await.refuses(401, "token_missing");
    assert_eq!(site.status(&token).await, "active");
}

#[tokio::test]
async fn without_an_answer_of_the_gate_no_visitor_passes_and_a_seat_can_still_be_paid() {
    let mut site = Site::start().await;
    let token = site.join().await;
    let id = site.reserve(&token, 1).await.is(201).reservation();
    site.anteroom.admission.process.kill();
    let refused = site.call(&token, Method::GET, "/api/shows").await;
    assert_eq!(refused.refuses(503, "gate_unavailable").header("retry-after"), "5");
    // A visit that could not be ended is not over.
    site.call(&token, Method::POST, "/api/finish").await.refuses(503, "gate_unavailable");
    let page = Answer::of(site.browser(Method::GET, "/")).await;
    assert!(page.is(503).text.contains("The waiting room is not available"), "{page:?}");
    site.concert.pay(&id).await.is(200);
    site.concert.get("/readyz").await.is(200);
    assert!(site.concert.process.stdout().contains("the authorize check does not answer"));
}

#[tokio::test]
async fn a_connection_that_breaks_meanwhile_refuses_no_visitor_and_keeps_no_slot() {
    let mut site = Site::start().await;
    let proxy = async |port: &str| {
        let upstream = site.anteroom.admission.address(port).rsplit(':').next();
        Proxy::start(upstream.and_then(|port| port.parse().ok()).expect("a port")).await
    };
    let (public, service) = (proxy("public").await, proxy("service").await);
    let address = |proxy: &Proxy| format!("http://127.0.0.1:{}", proxy.port());
    site.concert = concert(&address(&public), &address(&service), &[]).await;
    let token = site.join().await;
    public.cut_reply_to(b"/authorize");
    site.call(&token, Method::GET, "/api/shows").await.is(200);
    public.silence_open();
    site.call(&token, Method::GET, "/api/shows").await.is(200);
    service.cut_reply_to(b"DELETE ");
    site.reserve(&token, 1).await.is(201);
    assert_eq!((public.cuts(), service.cuts()), (1, 1));
    assert_eq!(site.status(&token).await, "completed");
    assert!(!site.concert.process.stdout().contains("WARN"));
}

#[tokio::test]
async fn the_service_port_s_key_is_sent_and_a_wrong_one_is_logged() {
    let made = std::process::Command::new(binary("anteroom-admission")).arg("new-key").output();
    let text = String::from_utf8(made.expect("it runs").stdout).expect("text");
    let word = |start: &str| {
        let found = text.split(|c: char| c.is_whitespace() || c == '"');
        found.into_iter().find(|word| word.starts_with(start)).expect("a part").to_owned()
    };
    let (key, digest) = (word("ark1."), word("sha256:"));
    let keys = format!("{ONE}[keys.shop]\ndigest = \"{digest}\"\nrole = \"backend\"\n");
    let site = Site::start_with(&keys, &[("ANTEROOM_KEY", &key)]).await;
    let token = site.join().await;
    site.reserve(&token, 1).await.is(201);
    assert_eq!(site.status(&token).await, "completed");

    let (public, service) = (site.anteroom.url("public"), site.anteroom.url("service"));
    let mut wrong = concert(&public, &service, &[("ANTEROOM_KEY", "ark1.wrong")]).await;
    let token = site.join().await;
    until("the turn comes", PATIENCE, async || site.status(&token).await == "ready").await;
    let reserve = wrong.call(Method::POST, "/api/shows/1/seats/1/reservation");
    Answer::of(reserve.header(TOKEN, &token)).await.is(201);
    assert_eq!(site.status(&token).await, "active");
    let line = wrong.process.line("a visit could not be ended", PATIENCE).await;
    let line: Value = serde_json::from_str(&line).expect("a line");
    assert!(line["reason"].as_str().is_some_and(|it| it.contains("key_invalid")), "{line}");
    assert!(!line.to_string().contains("ark1."), "{line}");
    assert_eq!(line["level"], json!("WARN"));
}
