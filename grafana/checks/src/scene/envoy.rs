//! An Envoy: it asks about a visitor without a place, and whether a customer is over a limit.

use envoy_types::pb::envoy::{
    extensions::common::ratelimit::v3::{RateLimitDescriptor, rate_limit_descriptor::Entry},
    service::{
        auth::v3::{
            AttributeContext, CheckRequest,
            attribute_context::{HttpRequest, Request},
            authorization_client::AuthorizationClient,
        },
        ratelimit::v3::{RateLimitRequest, rate_limit_service_client::RateLimitServiceClient},
    },
};
use tokio::time::sleep;
use tonic::transport::Channel;

use super::{CALL, Part};

/// Calls a service as Envoy does.
pub async fn call(url: String, whole: Part) {
    let channel = Channel::from_shared(url).expect("a URL").connect_lazy();
    let mut checks = AuthorizationClient::new(channel.clone());
    let mut limits = RateLimitServiceClient::new(channel);
    for number in 0_u64.. {
        if whole.is_over() {
            break;
        }
        // While the store is stopped, a call may fail.
        let _ = checks.check(visitor()).await;
        // Of a key that no limit is for, now and then.
        let key = if number % 4 == 3 { "product" } else { "customer" };
        let _ = limits.should_rate_limit(descriptor(key)).await;
        sleep(CALL).await;
    }
}

fn visitor() -> CheckRequest {
    let http = HttpRequest {
        method: "GET".to_owned(),
        path: "/seats".to_owned(),
        host: "shop.example".to_owned(),
        ..HttpRequest::default()
    };
    let attributes = AttributeContext {
        request: Some(Request { http: Some(http), ..Request::default() }),
        context_extensions: [("queue".to_owned(), "concert".to_owned())].into(),
        ..AttributeContext::default()
    };
    CheckRequest { attributes: Some(attributes) }
}

fn descriptor(key: &str) -> RateLimitRequest {
    let entry = Entry { key: key.to_owned(), value: "1".to_owned() };
    let descriptor = RateLimitDescriptor { entries: vec![entry], ..Default::default() };
    let (domain, descriptors) = ("shop".to_owned(), vec![descriptor]);
    RateLimitRequest { domain, descriptors, hits_addend: 1 }
}
