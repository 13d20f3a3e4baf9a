//! The receiver of the event's webhook: an NGINX beside each issuer, where `http://` may
//! lead. It takes a second for an application, and for some of them longer than a draining issuer
//! waits.

use rand::Rng as _;
use serde_json::{Value, json};

use crate::hex::hex;

/// Where issuers find it.
pub const URL: &str = "http://127.0.0.1:8099/issue";

/// Its files in the issuer's pod, and the Secret that holds them.
const FOLDER: &str = "/etc/receiver";
const NAME: &str = "receiver";
const SECRET: &str = "secret";

/// 2000 bytes at that rate, of which the first second's worth is sent at once: 1 s, and 42 s for
/// every 32nd key.
const NGINX: &str = r#"pid /tmp/nginx.pid;
error_log stderr error;
worker_processes 1;
events {}
http {
    access_log off;
    client_body_temp_path /tmp/client_body;
    proxy_temp_path /tmp/proxy;
    fastcgi_temp_path /tmp/fastcgi;
    uwsgi_temp_path /tmp/uwsgi;
    scgi_temp_path /tmp/scgi;
    map $http_idempotency_key $rate {
        default 1000;
        "~^[AB]" 46;
    }
    server {
        listen 127.0.0.1:8099;
        location / {
            limit_rate $rate;
            return 200 "BODY";
        }
    }
}
"#;

/// The file that signs the calls.
pub fn secret_file() -> String {
    format!("{FOLDER}/{SECRET}")
}

/// The Secret with its configuration and with what signs the calls.
pub fn files() -> Value {
    let nginx = NGINX.replace("BODY", &"issued, ".repeat(250));
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": NAME },
        "stringData": { "nginx.conf": nginx, SECRET: hex(&rand::rng().random::<[u8; 32]>()) },
    })
}

/// The issuer with the receiver beside it, which ends after it; absent where the overlay has no
/// issuer. `image` is that of NGINX.
pub fn patch(objects: &[Value], image: &str) -> Option<Value> {
    let is_issuer = |it: &&Value| it["kind"] == "Deployment" && it["metadata"]["name"] == "issuer";
    let issuer = objects.iter().find(is_issuer)?;
    let files = json!({ "name": NAME, "mountPath": FOLDER, "readOnly": true });
    let receiver = json!({
        "name": NAME,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["nginx", "-e", "stderr", "-c", format!("{FOLDER}/nginx.conf"),
            "-g", "daemon off;"],
        "restartPolicy": "Always",
        "resources": { "requests": { "cpu": "5m", "memory": "8Mi" } },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": { "drop": ["ALL"] },
        },
        "volumeMounts": [files, { "name": "receiver-tmp", "mountPath": "/tmp" }],
    });
    let own = &issuer["spec"]["template"]["spec"]["containers"][0]["name"];
    let pod = json!({
        "initContainers": [receiver],
        "containers": [{ "name": own, "volumeMounts": [files] }],
        "volumes": [
            { "name": NAME, "secret": { "secretName": NAME } },
            { "name": "receiver-tmp", "emptyDir": {} },
        ],
    });
    Some(json!({
        "apiVersion": issuer["apiVersion"],
        "kind": issuer["kind"],
        "metadata": { "name": issuer["metadata"]["name"] },
        "spec": { "template": { "spec": pod } },
    }))
}
