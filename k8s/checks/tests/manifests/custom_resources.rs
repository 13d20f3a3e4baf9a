//! Objects of other projects' kinds, checked against the definitions that those publish
//! (`k8s/checks/crds`). Unknown fields are refused, as `kubectl apply` with strict validation does.
//! What a definition expresses as a rule in CEL is not checked.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    sync::OnceLock,
};

use anteroom_k8s_checks::{build, objects};
use serde_json::{Map, Value, json};

use crate::rendered::{all, k8s, name_of, of_kind, put};

/// The groups of Kubernetes itself, whose objects `schemas.rs` checks.
const OWN_GROUPS: [&str; 6] = ["", "apps", "autoscaling", "batch", "networking.k8s.io", "policy"];

/// What is applied beside the overlays: the check of Istio, in the namespace of its gateway.
pub const ISTIO_GATEWAY: &str = "components/istio/gateway";

/// A group and a kind.
type Kind = (String, String);

/// The group and the version of an object.
fn group_and_version(object: &Value) -> (&str, &str) {
    let api = object["apiVersion"].as_str().unwrap();
    api.split_once('/').unwrap_or(("", api))
}

fn kind_of(object: &Value) -> Kind {
    let (group, _) = group_and_version(object);
    (group.to_owned(), object["kind"].as_str().unwrap().to_owned())
}

/// The definitions in `k8s/checks/crds`.
fn definitions() -> &'static BTreeMap<Kind, Value> {
    static ALL: OnceLock<BTreeMap<Kind, Value>> = OnceLock::new();
    ALL.get_or_init(|| {
        let files = fs::read_dir(k8s().join("checks/crds")).unwrap().map(|it| it.unwrap().path());
        let files = files.filter(|file| file.extension().is_some_and(|it| it == "yaml"));
        let definitions = files.flat_map(|file| {
            let text = fs::read_to_string(file).unwrap();
            objects(&text).unwrap().into_iter().filter(|it| !it.is_null())
        });
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let with_kind = definitions
            .map(|it| ((text(&it["spec"]["group"]), text(&it["spec"]["names"]["kind"])), it));
        with_kind.collect()
    })
}

/// The kinds that have a definition there.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    definitions().keys().map(|(_, kind)| kind.as_str())
}

/// What the definition says of one version, as a JSON schema.
fn schema(definition: &Value, version: &str) -> Value {
    let versions = definition["spec"]["versions"].as_array().unwrap();
    let version = versions.iter().find(|served| served["name"] == version);
    let mut schema = version.expect("a served version")["schema"]["openAPIV3Schema"].clone();
    close(&mut schema);
    // Kubernetes' own part.
    for (name, own) in [("metadata", "object"), ("apiVersion", "string"), ("kind", "string")] {
        schema["properties"][name] = json!({"type": own});
    }
    schema
}

/// Refuses what is not named, and puts what only Kubernetes knows into words of JSON schema. Fields
/// are named in `properties` only: `allOf`, `anyOf`, `oneOf` and `not` add conditions.
fn close(schema: &mut Value) {
    let Some(words) = schema.as_object_mut() else { return };
    let is_open = words.get("x-kubernetes-preserve-unknown-fields") == Some(&json!(true));
    if words.contains_key("properties") && !is_open {
        words.entry("additionalProperties").or_insert(json!(false));
    }
    if words.get("nullable") == Some(&json!(true)) {
        let own = words.remove("type");
        words.insert("type".to_owned(), json!([own, "null"]));
    }
    // OpenAPI 3.0 excludes a bound with a flag.
    for (flag, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if words.remove(flag) == Some(json!(true)) {
            let bound = words.remove(bound).expect("a bound that is excluded");
            words.insert(flag.to_owned(), bound);
        }
    }
    // The test of these is the server's: durations, dates.
    words.remove("format");
    let fields = words.get_mut("properties").and_then(Value::as_object_mut);
    fields.into_iter().flat_map(Map::values_mut).for_each(close);
    for name in ["items", "additionalProperties"] {
        words.get_mut(name).into_iter().for_each(close);
    }
}

/// What is wrong with an object of another project.
fn errors(object: &Value) -> Vec<String> {
    let Some(definition) = definitions().get(&kind_of(object)) else {
        return vec![format!("no definition of {:?}", kind_of(object))];
    };
    let schema = schema(definition, group_and_version(object).1);
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors = validator.iter_errors(object);
    errors.map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// The objects of other projects, with the folder that applies them.
fn foreign() -> impl Iterator<Item = (&'static str, &'static Value)> {
    static BESIDE: OnceLock<Vec<Value>> = OnceLock::new();
    let beside =
        BESIDE.get_or_init(|| objects(&build(&k8s().join(ISTIO_GATEWAY)).unwrap()).unwrap());
    let beside = beside.iter().map(|object| (ISTIO_GATEWAY, object));
    let overlays = all().iter().flat_map(|it| it.objects.iter().map(|object| (it.folder, object)));
    overlays.chain(beside).filter(|(_, it)| !OWN_GROUPS.contains(&group_and_version(it).0))
}

#[test]
fn objects_of_other_projects_hold_their_definitions() {
    let mut seen = BTreeSet::new();
    for (folder, object) in foreign() {
        // What an overlay has from prod is checked once.
        let is_new = seen.insert(object.to_string());
        let errors = if is_new { errors(object) } else { Vec::new() };
        assert!(errors.is_empty(), "{folder}: {} {}: {errors:#?}", object["kind"], name_of(object));
    }
    let used: BTreeSet<_> = foreign().map(|(_, object)| kind_of(object)).collect();
    let defined: BTreeSet<_> = definitions().keys().cloned().collect();
    assert_eq!(used, defined, "crds/ has the kinds in use, and no others");
}

#[test]
fn what_a_definition_does_not_name_is_refused() {
    for kind in definitions().keys() {
        let object = foreign().find(|(_, object)| kind_of(object) == *kind);
        let mut object = object.unwrap().1.clone();
        object["spec"]["surprise"] = json!(true);
        let errors = errors(&object);
        assert!(errors.iter().any(|error| error.contains("surprise")), "{kind:?}: {errors:?}");
    }
    let unknown = json!({"apiVersion": "example.org/v1", "kind": "Gateway"});
    assert_eq!(errors(&unknown).len(), 1, "a kind without a definition");
}

/// Mistakes in the gateways' resources: the folder's last part, the kind and the name of the
/// object, where the mistake is, and the value there. `null` is a field that is missing.
fn mistakes() -> Vec<(&'static str, (&'static str, &'static str), &'static str, Value)> {
    let check = ("Middleware", "anteroom-check-concert");
    let private = ("Middleware", "anteroom-private");
    let (transport, route) = (("ServersTransport", "anteroom"), ("IngressRoute", "anteroom"));
    let in_traefik = |object, at, value| ("traefik", object, at, value);
    let gateway = ("Gateway", "anteroom");
    let (visitors, protected) =
        (("HTTPRoute", "anteroom-visitors"), ("HTTPRoute", "anteroom-protected"));
    let security = ("SecurityPolicy", "anteroom-protected");
    let client = ("ClientTrafficPolicy", "anteroom");
    let backend = ("BackendTrafficPolicy", "anteroom-visitors");
    let extension = ("EnvoyExtensionPolicy", "anteroom-protected");
    let in_envoy = |object, at, value| ("envoy-gateway", object, at, value);
    let over_grpc = |at, value| ("envoy-gateway-grpc", security, at, value);
    let service = ("VirtualService", "anteroom");
    let in_istio = |object, at, value| ("istio", object, at, value);
    let policy = ("AuthorizationPolicy", "anteroom");
    let in_gateway = |at, value| ("gateway", policy, at, value);
    let (proxy, checks) = (("HTTPProxy", "anteroom"), ("ExtensionService", "anteroom"));
    let in_contour = |object, at, value| ("contour", object, at, value);
    vec![
        in_traefik(check, "/spec/forwardAuth/url", json!("http://a")),
        in_traefik(check, "/spec/forwardAuth/address", json!(8080)),
        in_traefik(check, "/spec/forwardAuth/authResponseHeaders", json!("X-Anteroom-Visitor")),
        in_traefik(check, "/spec/forwardAuth/trustForwardHeader", json!("false")),
        in_traefik(check, "/spec/forwardauth", json!({})),
        in_traefik(check, "/spec", Value::Null),
        in_traefik(private, "/spec/headers/customResponseHeaders/Expires", json!(0)),
        in_traefik(private, "/spec/headers/responseHeaders", json!({})),
        in_traefik(transport, "/spec/forwardingTimeouts/timeout", json!("1s")),
        in_traefik(transport, "/spec/forwardingTimeouts/dialTimeout", json!(true)),
        in_traefik(route, "/spec/routes/0/kind", json!("Path")),
        in_traefik(route, "/spec/routes/0/match", Value::Null),
        in_traefik(route, "/spec/routes/0/service", json!("admission")),
        in_traefik(route, "/spec/routes/1/middlewares/0/name", Value::Null),
        in_traefik(route, "/spec/routes/1/services/0/kind", json!("Pod")),
        in_envoy(gateway, "/spec/listeners/0/protocol", json!("HTTPS?")),
        in_envoy(gateway, "/spec/listeners/0/port", json!(0)),
        in_envoy(gateway, "/spec/gatewayClassName", Value::Null),
        in_envoy(gateway, "/spec/listeners/0/hostname", json!("tickets_example")),
        in_envoy(visitors, "/spec/rules/0/matches/0/path/type", json!("Regex")),
        in_envoy(visitors, "/spec/rules/0/timeouts/request", json!("0")),
        in_envoy(visitors, "/spec/rules/0/backendRefs/0/port", json!("public")),
        in_envoy(protected, "/spec/rules/0/filters/0/type", json!("HeaderModifier")),
        in_envoy(protected, "/spec/rules/0/extAuth", json!({})),
        in_envoy(security, "/spec/extAuth/failopen", json!(false)),
        in_envoy(security, "/spec/extAuth/failOpen", json!("false")),
        in_envoy(security, "/spec/extAuth/statusOnError", json!(599)),
        in_envoy(security, "/spec/extAuth/timeout", json!("3 seconds")),
        in_envoy(security, "/spec/extAuth/http/headersToClient", json!(["set-cookie"])),
        in_envoy(security, "/spec/extAuth/http/backendRefs/0/name", Value::Null),
        in_envoy(security, "/spec/targetRefs/0/kind", Value::Null),
        in_envoy(client, "/spec/path/escapedSlashesAction", json!("Reject")),
        in_envoy(client, "/spec/headers/withUnderscoresAction", json!("Drop")),
        in_envoy(client, "/spec/headers/earlyRequestHeaders/set/0/name", json!("x anteroom")),
        in_envoy(client, "/spec/headers/requestHeaders", json!({})),
        in_envoy(backend, "/spec/circuitBreaker/maxConnections", json!("many")),
        in_envoy(backend, "/spec/circuitBreaker/maxRequests", json!(1)),
        in_envoy(extension, "/spec/lua/0/type", json!("File")),
        in_envoy(extension, "/spec/lua/0/valueRef/name", json!("")),
        over_grpc("/spec/extAuth/grpc/path", json!("/")),
        over_grpc("/spec/extAuth/grpc/backendRefs/0/name", Value::Null),
        over_grpc("/spec/extAuth/contextExtensions/0/type", json!("Text")),
        over_grpc("/spec/extAuth/contextExtensions/0/value", json!(1)),
        in_istio(gateway, "/spec/servers/0/tls/mode", json!("ON")),
        in_istio(gateway, "/spec/servers/0/hosts", Value::Null),
        in_istio(gateway, "/spec/servers/0/port/number", json!("https")),
        in_istio(service, "/spec/http/0/match/0/uri/regexp", json!("a")),
        in_istio(service, "/spec/http/0/match/0/uri/prefix", json!("/")),
        in_istio(service, "/spec/http/0/route/0/destination/host", Value::Null),
        in_istio(service, "/spec/http/2/headers/request/remove", json!("forwarded")),
        in_gateway("/spec/action", json!("EXTERNAL")),
        in_gateway("/spec/provider", json!("anteroom-concert")),
        in_gateway("/spec/rules/0/to/0/operation/notPath", json!(["/"])),
        in_gateway("/spec/rules/0/when", json!([{"values": ["a"]}])),
        in_contour(checks, "/spec/protocol", json!("http2")),
        in_contour(checks, "/spec/services", json!([])),
        in_contour(checks, "/spec/services/0/port", json!("grpc")),
        in_contour(checks, "/spec/timeoutPolicy/response", json!("3 seconds")),
        in_contour(checks, "/spec/circuitBreakerPolicy/maxParallelRequests", json!(1)),
        in_contour(proxy, "/spec/virtualhost/authorization/failopen", json!(false)),
        in_contour(proxy, "/spec/virtualhost/authorization/failOpen", json!("false")),
        in_contour(proxy, "/spec/virtualhost/authorization/responseTimeout", json!("3")),
        in_contour(proxy, "/spec/virtualhost/authorization/authPolicy/context/queue", json!(1)),
        in_contour(proxy, "/spec/virtualhost/authorization/authPolicy/queue", json!("concert")),
        in_contour(proxy, "/spec/virtualhost/tls/secret", json!("gate-tls")),
        in_contour(proxy, "/spec/routes/0/conditions/0/path", json!("/")),
        in_contour(proxy, "/spec/routes/0/directResponsePolicy/statusCode", json!(600)),
        in_contour(proxy, "/spec/routes/1/authPolicy/enabled", json!(false)),
        in_contour(proxy, "/spec/routes/1/services/0/port", json!("public")),
        in_contour(proxy, "/spec/routes/1/services/0/port", json!(65536)),
        in_contour(proxy, "/spec/routes/1/timeoutPolicy/response", json!("never")),
        in_contour(proxy, "/spec/routes/3/responseHeadersPolicy/remove", json!("expires")),
    ]
}

#[test]
fn each_mistake_in_a_gateways_resource_is_refused() {
    let mut kinds = BTreeSet::new();
    for (last, (kind, name), at, value) in mistakes() {
        let is_it = |folder: &str, it: &Value| {
            folder.rsplit('/').next() == Some(last) && it["kind"] == kind && name_of(it) == name
        };
        let (_, object) = foreign().find(|(folder, object)| is_it(folder, object)).unwrap();
        let mut object = object.clone();
        kinds.insert(kind_of(&object));
        if value.is_null() {
            let (parent, field) = at.rsplit_once('/').unwrap();
            let parent = object.pointer_mut(parent).unwrap().as_object_mut().unwrap();
            assert!(parent.remove(field).is_some(), "nothing at {at}");
        } else {
            put(&mut object, at, value.clone());
        }
        assert!(!errors(&object).is_empty(), "{last}: {kind} {name}: {at} = {value}");
    }
    let all_kinds = definitions().keys().filter(|(group, _)| {
        [
            "traefik.io",
            "istio.io",
            "envoyproxy.io",
            "gateway.networking.k8s.io",
            "projectcontour.io",
        ]
        .iter()
        .any(|it| group.ends_with(it))
    });
    assert!(kinds.iter().eq(all_kinds), "no mistake for one of them: {kinds:?}");
}

/// The fields of `EnvoyExternalAuthorizationHttpProvider` in use (`istio.io/api` 1.32.0,
/// `mesh/v1alpha1/config.proto`). The mesh configuration is no object, so it has no definition.
#[test]
fn the_mesh_configuration_has_known_fields_only() {
    let text = fs::read_to_string(k8s().join(ISTIO_GATEWAY).join("mesh-config.yaml")).unwrap();
    let mesh: Value = serde_saphyr::from_str(&text).unwrap();
    let names = json!({"type": "array", "items": {"type": "string"}});
    let schema = json!({
        "additionalProperties": false,
        "properties": {
            "pathNormalization": {
                "additionalProperties": false,
                "properties": {"normalization": {
                    "enum": ["DEFAULT", "NONE", "BASE", "MERGE_SLASHES", "DECODE_AND_MERGE_SLASHES"],
                }},
            },
            "extensionProviders": {"items": {
                "additionalProperties": false,
                "required": ["name", "envoyExtAuthzHttp"],
                "properties": {
                    "name": {"type": "string"},
                    "envoyExtAuthzHttp": {
                        "additionalProperties": false,
                        "required": ["service", "port", "pathPrefix", "timeout"],
                        "properties": {
                            "service": {"type": "string"},
                            "port": {"type": "integer"},
                            "pathPrefix": {"pattern": "^/v1/queues/[a-z0-9-]+/authorize$"},
                            "timeout": {"pattern": "^[0-9]+s$"},
                            "failOpen": {"const": false},
                            "statusOnError": {"type": "string"},
                            "includeRequestHeadersInCheck": names,
                            "includeAdditionalHeadersInCheck": {
                                "additionalProperties": {"type": "string"},
                            },
                            "headersToUpstreamOnAllow": names,
                            "headersToDownstreamOnDeny": names,
                            "headersToDownstreamOnAllow": names,
                        },
                    },
                },
            }},
        },
    });
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<_> = validator.iter_errors(&mesh).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let provider = &mesh["extensionProviders"][0];
    let (_, policy) = foreign().find(|(_, it)| it["kind"] == "AuthorizationPolicy").unwrap();
    assert_eq!(policy["spec"]["provider"]["name"], provider["name"]);
    let check = &provider["envoyExtAuthzHttp"];
    // Each of these is in each answer of the check, so a client's own never arrives.
    let named =
        ["visitor", "visitor-kind", "place", "expires-in"].map(|it| format!("x-anteroom-{it}"));
    assert_eq!(check["headersToUpstreamOnAllow"], json!(named));
    assert_eq!(check["includeAdditionalHeadersInCheck"]["x-anteroom-gate"], "redirect");
}

/// A path that the policy leaves out and that leads to the service would pass without a check.
#[test]
fn what_istio_does_not_check_leads_to_admission() {
    let (_, policy) = foreign().find(|(_, it)| it["kind"] == "AuthorizationPolicy").unwrap();
    let rules = policy["spec"]["rules"].as_array().unwrap();
    let operation = &rules[0]["to"][0]["operation"];
    assert_eq!((rules.len(), operation.as_object().unwrap().len()), (1, 1), "{rules:?}");
    let paths = operation["notPaths"].as_array().unwrap().iter();
    let unchecked: BTreeSet<_> = paths.map(|path| path.as_str().unwrap().to_owned()).collect();

    let routes = all().iter().flat_map(|it| of_kind(&it.objects, "VirtualService"));
    let routes = routes.flat_map(|it| it["spec"]["http"].as_array().unwrap());
    let mut to_admission = BTreeSet::new();
    for route in routes {
        let to = &route["route"][0]["destination"];
        if to["host"] != "admission" {
            assert!(route["match"].is_null(), "the service is behind the last route: {route}");
            continue;
        }
        assert_eq!(to["port"]["number"], 8080, "the public port");
        for uri in route["match"].as_array().unwrap().iter().map(|it| &it["uri"]) {
            let path = match uri["exact"].as_str() {
                Some(path) => path.to_owned(),
                None => format!("{}*", uri["prefix"].as_str().unwrap()),
            };
            assert!(!path.contains("authorize"), "{path}");
            to_admission.insert(path);
        }
    }
    assert_eq!(unchecked, to_admission);
}
