//! A whole site: a gateway with the files of its example, Anteroom behind it, the service that it
//! protects.

use anteroom_testkit::{
    Answer, Anteroom, PATIENT, Process, Service, client, free_port, free_ports,
};
use http::Method;
use reqwest::Client;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::gateway::Gateway;
use crate::program::{Program, Sign};
use crate::shop::Shop;
use crate::tls::Tls;
pub use crate::wiring::Plan;
use crate::wiring::Wiring;

/// A running site. Everything ends with it.
pub struct Site {
    pub anteroom: Anteroom,
    pub shop: Shop,
    pub gateway: Gateway,
    /// The caches, where there are some.
    _caches: Option<Gateway>,
    /// Scheme, host and port of the site for a visitor …
    pub origin: String,
    /// … and where the tests reach it: the same, unless the gateway speaks TLS.
    pub url: String,
    /// Host and port where HTTP/2 does.
    pub fast: String,
    pub client: Client,
    /// The TLS of the clients, if the gateway speaks TLS.
    pub tls: Option<Tls>,
    /// The second admission, where there is one.
    pub second: Option<Service>,
    /// What answers the checks, if the gateway asks over gRPC: as many as there are admissions.
    pub checks: Vec<Service>,
}

impl Site {
    /// A site behind NGINX with one slot: the second visitor waits.
    pub async fn start() -> Self {
        Self::of(Program::Nginx).await
    }

    /// The same behind any gateway.
    pub async fn of(plan: impl Into<Plan<'static>>) -> Self {
        Self::with(Plan { queue: "capacity = 1", ..plan.into() }).await
    }

    pub async fn with(plan: Plan<'_>) -> Self {
        // The public address is in the configuration before NGINX has the port: another process
        // may come first.
        for _ in 0..5 {
            if let Some(site) = Self::attempt(&plan).await {
                return site;
            }
        }
        panic!("no free port for the gateway");
    }

    async fn attempt(plan: &Plan<'_>) -> Option<Self> {
        let [gate, check, front, back] = free_ports();
        // An NGINX before 1.25.1 has one version of HTTP for each port.
        let has_own = plan.program == Program::Nginx && !plan.tls;
        let fast = if has_own { free_port() } else { gate };
        let public = if plan.cached { front } else { gate };
        let tls = if plan.tls { Some(Tls::start(gate).await) } else { None };
        let scheme = if plan.tls { "https" } else { "http" };
        let origin = format!("{scheme}://127.0.0.1:{public}");
        let url = tls.as_ref().map_or(&origin, Tls::url).clone();
        let queues = format!(
            "[queues.concert]\npublic_url = \"{origin}\"\njoins_per_address = \"none\"\n\
                places_per_address = 0\n\
             requests_per_place = 0\n{}\n",
            plan.queue
        );
        let env = [&PATIENT[..], plan.env].concat();
        let anteroom = Anteroom::start(&queues, &env).await;
        let shop = Shop::start().await;
        let second = if plan.twice { Some(anteroom.deployment.admission().await) } else { None };
        let mut checks = Vec::new();
        if plan.program == Program::EnvoyGrpc {
            for _ in 0..=usize::from(plan.twice) {
                checks.push(anteroom.deployment.envoy().await);
            }
        }
        let wiring = Wiring {
            gate,
            fast,
            check,
            front,
            back,
            shop: shop.address(),
            admission: anteroom.admission.address("public"),
            second: second.as_ref().map(|second| second.address("public")),
            checks: checks.iter().map(|check| check.address("grpc")).collect(),
            certificates: tls.as_ref().map(Tls::folder),
        };
        let sign = Sign::OF_EXAMPLE;
        let sign = tls.as_ref().map_or(sign, |tls| sign.at(tls.port()));
        let edits = wiring.edits(plan);
        let gateway = Gateway::of_example(plan.program, gate, &edits, sign).await?;
        let _caches =
            if plan.cached { Some(Gateway::nginx(front, &wiring.caches()).await?) } else { None };
        let fast = format!("127.0.0.1:{fast}");
        let client = client();
        let site = Self {
            anteroom,
            shop,
            gateway,
            _caches,
            origin,
            url,
            fast,
            client,
            tls,
            second,
            checks,
        };
        let services = [&site.anteroom.admission].into_iter().chain(&site.second);
        for service in services.chain(&site.checks) {
            service.until_ready().await;
        }
        Some(site)
    }

    pub fn browser(&self) -> Browser {
        Browser::new(&self.origin, &self.url)
    }

    /// A browser that holds a place.
    pub async fn joined(&self) -> Browser {
        let mut browser = self.browser();
        let place = browser.join().await;
        assert!(place.status.is_success(), "{place:?}");
        browser
    }

    /// A client that is no browser joins, through the gate; returns its place. While Redis is slow,
    /// Anteroom sends the join once more, and the answer is 200.
    pub async fn join(&self) -> Value {
        let url = format!("{}/v1/queues/concert/tokens", self.url);
        let joined = Answer::of(self.client.post(url).json(&json!({}))).await;
        assert!(joined.status.is_success(), "{joined:?}");
        joined.json()
    }

    /// The same; returns the token.
    pub async fn token(&self) -> String {
        self.join().await["token"].as_str().expect("a token").to_owned()
    }

    /// Calls the site with a token in the header, as a client that is no browser does.
    pub async fn call(&self, method: Method, path: &str, token: &str) -> Answer {
        let request = self.client.request(method, format!("{}{path}", self.url));
        let request =
            if token.is_empty() { request } else { request.header("x-anteroom-token", token) };
        Answer::of(request).await
    }

    /// What the gateway needs of Anteroom: admission, and what answers the checks over gRPC.
    pub fn processes(&mut self) -> impl Iterator<Item = &mut Process> {
        let services = [&mut self.anteroom.admission].into_iter().chain(&mut self.checks);
        services.map(|service| &mut service.process)
    }

    /// The protected service finishes a visit, by the handle that came with it.
    pub async fn finish(&self, place: &str) {
        let url = format!("{}/v1/queues/concert/places/{place}", self.anteroom.url("service"));
        let answer = self.client.delete(url).send().await.expect("an answer");
        assert_eq!(answer.status(), 204);
    }
}
