//! A permission that is revoked while an issuer runs: it ends as one that starts without it.

use anteroom_testkit::{Deployment, PATIENCE, PERMISSIONS, Redis, Service};

use crate::stage::Stage;

pub const ANN: [(&str, &str); 2] =
    [("ANTEROOM_STORE__USERNAME", "ann"), ("ANTEROOM_STORE__PASSWORD", "pass")];

/// An issuer that is ready, and its deployment.
async fn issuer() -> (Stage, Service) {
    let redis = Redis::start().await;
    redis.user("ann", &PERMISSIONS).await;
    let stage = Stage::on(redis, "stock = 5\n").await;
    let issuer = stage.deployment.issuer_with(&ANN).await;
    issuer.until_ready().await;
    (stage, issuer)
}

pub async fn revoke(deployment: &Deployment, command: &str) {
    deployment.redis.run::<()>(&["ACL", "SETUSER", "ann", &format!("-{command}")]).await;
}

#[tokio::test]
async fn an_issuer_that_loses_a_permission_names_it_and_ends() {
    // A command of the issuer, and one that only scripts run.
    for command in ["evalsha", "zadd"] {
        let (stage, mut issuer) = issuer().await;
        revoke(&stage.deployment, command).await;
        stage.apply(0..1).await;
        let code = issuer.process.exit(PATIENCE).await.code();
        let log = issuer.process.stdout();
        assert_eq!(code, Some(77), "{log}");
        let errors: Vec<_> = log.lines().filter(|line| line.contains("\"ERROR\"")).collect();
        let missing = format!("no permission for +{command}");
        assert!(matches!(errors[..], [line] if line.contains(&missing)), "{log}");
    }
}
