//! Health, and the end of the process.

use anteroom_testkit::{PATIENCE, until};
use tonic::transport::Channel;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::room::{Check, Room};

const QUEUE: &str = "[queues.shop]\ncapacity = 1\n[envoy]\ndrain_delay = \"1s\"\n";

async fn health(client: &mut HealthClient<Channel>, service: &str) -> Option<ServingStatus> {
    let request = HealthCheckRequest { service: service.to_owned() };
    let answer = client.check(request).await.ok()?;
    Some(answer.into_inner().status())
}

/// Envoy has a few connections; another client of the port may open many.
#[tokio::test]
async fn a_flood_of_connections_does_not_end_the_process() {
    let room = Room::start(QUEUE).await;
    let narrow = room.anteroom.deployment.narrow_envoy(64).await;
    narrow.until_ready().await;
    let client = || {
        let channel = Channel::from_shared(narrow.url("grpc")).unwrap();
        HealthClient::new(channel.connect_lazy())
    };
    let (mut before, after) = (client(), client());
    until("it serves", PATIENCE, async || {
        health(&mut before.clone(), "").await == Some(ServingStatus::Serving)
    })
    .await;
    let mut flood = Vec::new();
    for _ in 0..200 {
        flood.push(tokio::net::TcpStream::connect(narrow.address("grpc")).await.unwrap());
    }
    // Probes and the connections of before are answered.
    narrow.until_ready().await;
    assert_eq!(health(&mut before, "").await, Some(ServingStatus::Serving));
    drop(flood);
    until("it serves", PATIENCE, async || {
        health(&mut after.clone(), "").await == Some(ServingStatus::Serving)
    })
    .await;
}

#[tokio::test]
async fn health_follows_readiness_and_calls_are_answered_until_the_drain() {
    let room = Room::start(QUEUE).await;
    let channel = Channel::from_shared(room.envoy.url("grpc")).unwrap();
    let client = HealthClient::new(channel.connect_lazy());
    let names =
        ["", "envoy.service.auth.v3.Authorization", "envoy.service.ratelimit.v3.RateLimitService"];
    for name in names {
        until("it serves", PATIENCE, async || {
            health(&mut client.clone(), name).await == Some(ServingStatus::Serving)
        })
        .await;
    }
    room.envoy.process.term();
    until("it no longer serves", PATIENCE, async || {
        health(&mut client.clone(), "").await == Some(ServingStatus::NotServing)
    })
    .await;
    assert_eq!(room.check(Check::of("shop")).await.status(), 401, "it still answers");
    let Room { mut envoy, .. } = room;
    assert!(envoy.process.exit(PATIENCE).await.success());
}
