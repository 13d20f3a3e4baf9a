//! A waiting room with an admission, a scheduler and the service for Envoy.

use std::time::Duration;

use anteroom_testkit::{Anteroom, PATIENT, Redis, Service};
use envoy_types::pb::envoy::config::core::v3::address::Address as AddressKind;
use envoy_types::pb::envoy::config::core::v3::{Address, HeaderValueOption, SocketAddress};
use envoy_types::pb::envoy::service::auth::v3::attribute_context::{HttpRequest, Peer, Request};
use envoy_types::pb::envoy::service::auth::v3::authorization_client::AuthorizationClient;
use envoy_types::pb::envoy::service::auth::v3::check_response::HttpResponse;
use envoy_types::pb::envoy::service::auth::v3::{AttributeContext, CheckRequest, CheckResponse};
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_service_client::RateLimitServiceClient;
use tonic::transport::Channel;

/// The deadline of a caller. A tenth of it is the margin: wide enough for a busy machine.
pub const CALLER_WAITS: Duration = Duration::from_secs(10);

pub struct Room {
    pub anteroom: Anteroom,
    pub envoy: Service,
    channel: Channel,
}

impl Room {
    pub async fn start(config: &str) -> Self {
        Self::start_on(Redis::start().await, config).await
    }

    /// Its services wait longer for Redis than its callers wait for an answer.
    pub async fn start_on(redis: Redis, config: &str) -> Self {
        let anteroom = Anteroom::start_on(redis, config, &PATIENT).await;
        let envoy = anteroom.deployment.envoy().await;
        envoy.until_ready().await;
        let channel = Channel::from_shared(envoy.url("grpc")).unwrap().connect_lazy();
        Self { anteroom, envoy, channel }
    }

    pub fn authorization(&self) -> AuthorizationClient<Channel> {
        AuthorizationClient::new(self.channel.clone())
    }

    pub fn rate_limits(&self) -> RateLimitServiceClient<Channel> {
        RateLimitServiceClient::new(self.channel.clone())
    }

    /// The answer to one check.
    pub async fn check(&self, check: Check) -> Answer {
        let caller_waits = check.caller_waits;
        let mut request = tonic::Request::new(check.request());
        if let Some(time) = caller_waits {
            request.set_timeout(time);
        }
        Answer(self.authorization().check(request).await.unwrap().into_inner())
    }

    /// A place in the queue `shop`, and its token.
    pub async fn join(&self) -> String {
        self.anteroom.admission.join("shop").await
    }

    /// A call of admission with a token.
    pub async fn call(
        &self,
        method: reqwest::Method,
        path: &str,
        token: &str,
    ) -> reqwest::Response {
        let url = format!("{}/v1/queues/shop/{path}", self.anteroom.url("public"));
        let request = reqwest::Client::new().request(method, url);
        request.header("x-anteroom-token", token).send().await.unwrap()
    }
}

/// A check as a route of Envoy sends it.
pub struct Check {
    extensions: Vec<(&'static str, &'static str)>,
    headers: Vec<(String, String)>,
    method: &'static str,
    path: &'static str,
    caller_waits: Option<Duration>,
}

impl Check {
    pub fn of(queue: &'static str) -> Self {
        let extensions = vec![("queue", queue)];
        let (method, path) = ("GET", "/seats?row=1");
        Self { extensions, headers: Vec::new(), method, path, caller_waits: None }
    }

    pub fn gate(mut self, words: &'static str) -> Self {
        self.extensions.push(("gate", words));
        self
    }

    pub fn without_extensions(mut self) -> Self {
        self.extensions.clear();
        self
    }

    pub fn method(self, method: &'static str) -> Self {
        Self { method, ..self }
    }

    pub fn caller_waits(self, time: Duration) -> Self {
        Self { caller_waits: Some(time), ..self }
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn token(self, token: &str) -> Self {
        self.header("x-anteroom-token", token)
    }

    fn request(self) -> CheckRequest {
        let socket = SocketAddress { address: "203.0.113.7".to_owned(), ..Default::default() };
        let address = Address { address: Some(AddressKind::SocketAddress(socket)) };
        let http = HttpRequest {
            method: self.method.to_owned(),
            path: self.path.to_owned(),
            headers: self.headers.into_iter().collect(),
            ..Default::default()
        };
        let extensions = self.extensions.into_iter();
        let attributes = AttributeContext {
            source: Some(Peer { address: Some(address), ..Default::default() }),
            request: Some(Request { http: Some(http), ..Default::default() }),
            context_extensions: extensions.map(|(key, value)| (key.into(), value.into())).collect(),
            ..Default::default()
        };
        CheckRequest { attributes: Some(attributes) }
    }
}

pub struct Answer(CheckResponse);

impl Answer {
    /// 200 for OK, else the status of the refusal.
    pub fn status(&self) -> i32 {
        match self.0.http_response.as_ref().unwrap() {
            HttpResponse::OkResponse(_) => {
                assert_eq!(self.0.status.as_ref().unwrap().code, 0);
                200
            }
            HttpResponse::DeniedResponse(denied) => {
                assert_ne!(self.0.status.as_ref().unwrap().code, 0);
                denied.status.as_ref().unwrap().code
            }
            HttpResponse::ErrorResponse(_) => panic!("a decision is OK or denied"),
        }
    }

    fn options(&self) -> &[HeaderValueOption] {
        match self.0.http_response.as_ref().unwrap() {
            HttpResponse::OkResponse(ok) => &ok.headers,
            HttpResponse::DeniedResponse(denied) => &denied.headers,
            HttpResponse::ErrorResponse(error) => &error.headers,
        }
    }

    /// A header of the request to the service, or of the refusal.
    pub fn header(&self, name: &str) -> Option<&str> {
        let headers = self.options().iter().filter_map(|option| option.header.as_ref());
        headers.filter(|header| header.key == name).map(|header| &*header.value).next()
    }

    /// The headers that the service does not get, in order.
    pub fn removed(&self) -> Vec<&str> {
        let HttpResponse::OkResponse(ok) = self.0.http_response.as_ref().unwrap() else {
            panic!("refused")
        };
        let mut removed: Vec<_> = ok.headers_to_remove.iter().map(String::as_str).collect();
        removed.sort_unstable();
        removed
    }

    /// The cookie that the visitor gets.
    pub fn cookie(&self) -> Option<&str> {
        let added = match self.0.http_response.as_ref().unwrap() {
            HttpResponse::OkResponse(ok) => &ok.response_headers_to_add,
            HttpResponse::DeniedResponse(denied) => &denied.headers,
            HttpResponse::ErrorResponse(error) => &error.headers,
        };
        let headers = added.iter().filter_map(|option| option.header.as_ref());
        headers.filter(|header| header.key == "set-cookie").map(|header| &*header.value).next()
    }

    pub fn body(&self) -> serde_json::Value {
        let HttpResponse::DeniedResponse(denied) = self.0.http_response.as_ref().unwrap() else {
            panic!("passed")
        };
        serde_json::from_str(&denied.body).unwrap()
    }

    pub fn metadata(&self, field: &str) -> Option<String> {
        use envoy_types::pb::google::protobuf::value::Kind;
        match self.0.dynamic_metadata.as_ref()?.fields.get(field)?.kind.as_ref()? {
            Kind::StringValue(text) => Some(text.clone()),
            _ => None,
        }
    }
}
