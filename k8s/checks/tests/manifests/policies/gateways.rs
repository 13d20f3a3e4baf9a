//! The gateways that ask Anteroom themselves, in place of the pod "gate": which path leads where,
//! and with which check.

use serde_json::{Value, json};

use super::Findings;
use crate::rendered::{find, items, name_of, of_kind};

/// What visitors call: the waiting page and their API.
const OF_VISITORS: [&str; 9] = [
    "/queues/concert",
    "/queues/concert/assets/page.js",
    "/v1/queues/concert",
    "/v1/queues/concert/board",
    "/v1/queues/concert/tokens",
    "/v1/queues/concert/token",
    "/v1/queues/concert/token/claim",
    "/v1/queues/concert/token/renew",
    "/v1/queues/concert/token/events",
];
/// What never leads to admission from outside. The first two are the gateway check.
const OF_NO_VISITOR: [&str; 10] = [
    "/v1/queues/concert/authorize",
    "/v1/queues/concert/authorize/seats",
    "/v1/queues/concert/places/a",
    "/v1/queues/concert/token/../authorize",
    "/v1/queues/concert/board/a",
    "/v1/queues/concert/tokens/a",
    "/v1/admin/queues/concert",
    "/v1/limits/login/check",
    "/seats",
    "/",
];
/// The headers of the check that reach the service.
const NAMING: [&str; 4] =
    ["x-anteroom-visitor", "x-anteroom-visitor-kind", "x-anteroom-place", "x-anteroom-expires-in"];
/// Some services take the host, the path or the method from these.
const MISLEADING: [&str; 7] = [
    "x-original-url",
    "x-rewrite-url",
    "x-forwarded-uri",
    "x-forwarded-prefix",
    "x-http-method-override",
    "x-method-override",
    "forwarded",
];
/// What a client sends to Anteroom only.
const FOR_ANTEROOM: [&str; 3] = ["x-anteroom-token", "x-anteroom-application", "x-anteroom-gate"];

/// The way of some paths to a service.
struct Route<'a> {
    /// The object that has it.
    of: &'a Value,
    service: &'a Value,
    port: &'a Value,
    /// Regular expressions that match the paths.
    paths: Vec<String>,
    is_checked: bool,
}

fn exactly(path: &str) -> String {
    format!("^{}$", path.replace('.', "\\."))
}

fn below(path: &str) -> String {
    format!("^{}", path.replace('.', "\\."))
}

/// The validator has regular expressions.
fn matches(pattern: &str, path: &str) -> bool {
    let schema = json!({"pattern": pattern});
    jsonschema::validator_for(&schema).unwrap().is_valid(&json!(path))
}

fn annotation<'a>(ingress: &'a Value, name: &str) -> &'a Value {
    &ingress["metadata"]["annotations"][format!("nginx.ingress.kubernetes.io/{name}")]
}

fn of_ingresses(objects: &[Value]) -> impl Iterator<Item = Route<'_>> {
    of_kind(objects, "Ingress").flat_map(|of| {
        let is_checked = annotation(of, "auth-url").as_str().is_some_and(is_check);
        let rules = items(&of["spec"]["rules"]).iter();
        rules.flat_map(|rule| items(&rule["http"]["paths"])).map(move |path| Route {
            of,
            service: &path["backend"]["service"]["name"],
            port: &path["backend"]["service"]["port"]["name"],
            // The controller matches a prefix as one, and adds the start to an expression.
            paths: vec![format!("^{}", path["path"].as_str().unwrap())],
            is_checked,
        })
    })
}

/// Whether an address is that of the check of a queue, without a query or with the redirect only.
fn is_check(address: &str) -> bool {
    let path = address.strip_suffix("?on_refusal=redirect").unwrap_or(address);
    let pattern = r"^(?:http://admission\.[a-z.]+:8080)?/v1/queues/[a-z0-9-]+/authorize$";
    matches(pattern, path)
}

/// The middleware of a name, and those of its chain.
fn middlewares<'a>(objects: &'a [Value], name: &Value) -> Vec<&'a Value> {
    let found = of_kind(objects, "Middleware").find(|it| it["metadata"]["name"] == *name);
    let Some(found) = found else { return Vec::new() };
    let chain = items(&found["spec"]["chain"]["middlewares"]).iter();
    let inner = chain.flat_map(|it| middlewares(objects, &it["name"]));
    std::iter::once(found).chain(inner).collect()
}

fn of_ingress_routes(objects: &[Value]) -> impl Iterator<Item = Route<'_>> {
    of_kind(objects, "IngressRoute").flat_map(|of| items(&of["spec"]["routes"])).flat_map(|of| {
        let named = items(&of["middlewares"]).iter();
        let mut own = named.flat_map(|it| middlewares(objects, &it["name"]));
        let asks = |it: &Value| it["spec"]["forwardAuth"]["address"].as_str().is_some_and(is_check);
        let is_checked = own.any(asks);
        let rule = of["match"].as_str().unwrap();
        let within = |start: &str| {
            let (_, rest) = rule.split_once(start)?;
            Some(rest.split_once("`)")?.0.to_owned())
        };
        let path = within("PathRegexp(`").or_else(|| Some(below(&within("PathPrefix(`")?)));
        items(&of["services"]).iter().map(move |to| Route {
            of,
            service: &to["name"],
            port: &to["port"],
            paths: path.clone().into_iter().collect(),
            is_checked,
        })
    })
}

/// The policy of this kind that holds for a route.
fn policy<'a>(objects: &'a [Value], kind: &str, route: &Value) -> Option<&'a Value> {
    of_kind(objects, kind).find(|policy| {
        let mut targets = items(&policy["spec"]["targetRefs"]).iter();
        targets.any(|it| it["kind"] == route["kind"] && it["name"] == route["metadata"]["name"])
    })
}

fn of_http_routes(objects: &[Value]) -> impl Iterator<Item = Route<'_>> {
    of_kind(objects, "HTTPRoute").flat_map(|of| {
        let check = policy(objects, "SecurityPolicy", of).map(|it| &it["spec"]["extAuth"]);
        let is_checked = check.is_some_and(|it| {
            it["http"]["path"].as_str().is_some_and(is_check) || is_check_over_grpc(it)
        });
        items(&of["spec"]["rules"]).iter().flat_map(move |rule| {
            let paths = items(&rule["matches"]).iter().map(|it| {
                let path = it["path"]["value"].as_str().unwrap();
                match it["path"]["type"].as_str().unwrap() {
                    "RegularExpression" => format!("^(?:{path})$"),
                    "Exact" => exactly(path),
                    _ => below(path),
                }
            });
            let paths: Vec<_> = paths.collect();
            items(&rule["backendRefs"]).iter().map(move |to| Route {
                of,
                service: &to["name"],
                port: &to["port"],
                paths: paths.clone(),
                is_checked,
            })
        })
    })
}

/// Whether Contour asks anteroom-envoy about a route, and for a queue. A route that is also served
/// without TLS is not checked there.
fn is_checked_by_contour(objects: &[Value], host: &Value, route: &Value) -> bool {
    let check = &host["authorization"];
    let service = check["extensionRef"]["name"].as_str();
    let service = service.and_then(|it| find(objects, "ExtensionService", it));
    let asks = service.is_some_and(|it| {
        it["spec"]["services"] == json!([{"name": "envoy", "port": 9001}])
            && it["spec"]["protocol"] == "h2c"
    });
    // A route's own policy is merged into that of the host.
    let of = |pointer: &str| -> Option<&Value> {
        let own = route["authPolicy"].pointer(pointer);
        own.or_else(|| check["authPolicy"].pointer(pointer))
    };
    let queue = of("/context/queue").and_then(Value::as_str);
    asks && queue.is_some_and(|it| !it.is_empty())
        && of("/disabled").is_none_or(|it| *it == false)
        && host["tls"]["secretName"].is_string()
        && route["permitInsecure"].is_null()
}

fn of_http_proxies(objects: &[Value]) -> impl Iterator<Item = Route<'_>> {
    of_kind(objects, "HTTPProxy").flat_map(move |proxy| {
        let host = &proxy["spec"]["virtualhost"];
        items(&proxy["spec"]["routes"]).iter().flat_map(move |of| {
            let is_checked = is_checked_by_contour(objects, host, of);
            let paths: Vec<_> = items(&of["conditions"]).iter().filter_map(path_of).collect();
            items(&of["services"]).iter().map(move |to| Route {
                of,
                service: &to["name"],
                port: &to["port"],
                paths: paths.clone(),
                is_checked,
            })
        })
    })
}

/// The paths of a condition of Contour.
fn path_of(condition: &Value) -> Option<String> {
    let regex = condition["regex"].as_str().map(|it| format!("^(?:{it})$"));
    regex
        .or_else(|| condition["exact"].as_str().map(exactly))
        .or_else(|| condition["prefix"].as_str().map(below))
}

/// The value that a route gives to the check over gRPC.
fn extension<'a>(check: &'a Value, name: &str) -> Option<&'a str> {
    let mut extensions = items(&check["contextExtensions"]).iter();
    extensions.find(|it| it["name"] == name && it["type"] == "Value")?["value"].as_str()
}

/// Without a queue each visitor would be refused.
fn is_check_over_grpc(check: &Value) -> bool {
    let backends = json!([{"name": "envoy", "port": 9001}]);
    let queue = extension(check, "queue");
    check["grpc"]["backendRefs"] == backends && queue.is_some_and(|it| !it.is_empty())
}

/// `custom_resources.rs` compares these with the check, which is in another namespace.
fn of_virtual_services(objects: &[Value]) -> impl Iterator<Item = Route<'_>> {
    let routes = of_kind(objects, "VirtualService").flat_map(|of| items(&of["spec"]["http"]));
    routes.flat_map(|of| {
        let paths = items(&of["match"]).iter().map(|it| match it["uri"]["exact"].as_str() {
            Some(path) => exactly(path),
            None => below(it["uri"]["prefix"].as_str().unwrap()),
        });
        let paths: Vec<_> = paths.collect();
        items(&of["route"]).iter().map(move |to| Route {
            of,
            service: &to["destination"]["host"],
            port: &to["destination"]["port"]["number"],
            paths: paths.clone(),
            is_checked: of["match"].is_null(),
        })
    })
}

/// All routes of an overlay, if it has no pod "gate": that has routes of its own.
fn routes(objects: &[Value]) -> Vec<Route<'_>> {
    if find(objects, "Deployment", "gate").is_some() {
        return Vec::new();
    }
    of_ingresses(objects)
        .chain(of_ingress_routes(objects))
        .chain(of_http_routes(objects))
        .chain(of_virtual_services(objects))
        .chain(of_http_proxies(objects))
        .collect()
}

pub fn each_route_to_a_service_has_the_check(objects: &[Value], findings: &mut Findings) {
    let routes = routes(objects);
    for route in routes.iter().filter(|it| it.service != "admission") {
        findings.unless(route.is_checked, format!("{}: no check", route.of));
    }
    // What another object has could be without the check.
    for proxy in of_kind(objects, "HTTPProxy").map(|it| &it["spec"]) {
        let is_whole = proxy["includes"].is_null() && proxy["tcpproxy"].is_null();
        findings.unless(is_whole, "routes of another HTTPProxy, or TCP");
    }
    let to_services = routes.iter().filter(|it| it.service != "admission").count();
    findings.unless(routes.is_empty() || to_services == 1, format!("{to_services} services"));
}

/// Never to the service port, and never to the check.
pub fn only_calls_of_visitors_lead_to_admission(objects: &[Value], findings: &mut Findings) {
    let routes = routes(objects);
    let mut paths = Vec::new();
    for route in routes.iter().filter(|it| it.service == "admission") {
        let is_public = *route.port == "public" || *route.port == 8080;
        findings.unless(is_public, format!("port {}", route.port));
        findings.unless(!route.paths.is_empty(), format!("{}: any path", route.of));
        findings.unless(!route.is_checked, format!("{}: needs a place", route.of));
        paths.extend(&route.paths);
    }
    let leads = |path: &str| paths.iter().any(|pattern| matches(pattern, path));
    for path in OF_VISITORS {
        findings.unless(routes.is_empty() || leads(path), format!("{path} leads nowhere"));
    }
    for path in OF_NO_VISITOR {
        findings.unless(!leads(path), format!("{path} leads to admission"));
    }
}

/// The names of a list, in lower case.
fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    names.into_iter().map(|it| it.trim().to_ascii_lowercase()).collect()
}

fn listed(list: &Value) -> Vec<String> {
    names(items(list).iter().filter_map(Value::as_str))
}

impl Findings {
    fn unless_all<'a>(
        &mut self,
        wanted: impl IntoIterator<Item = &'a &'a str>,
        names: &[String],
        of: &str,
    ) {
        for name in wanted {
            self.unless(names.iter().any(|it| it == name), format!("{of}: {name}"));
        }
    }
}

/// Only the check names a visitor, and only the gateway sets the options of the check.
pub fn a_clients_own_headers_are_replaced(objects: &[Value], findings: &mut Findings) {
    let replaced = NAMING.iter().chain(&FOR_ANTEROOM).chain(&MISLEADING);
    for ingress in of_kind(objects, "Ingress") {
        if annotation(ingress, "auth-url").is_null() {
            continue;
        }
        let list = annotation(ingress, "auth-response-headers").as_str().unwrap_or_default();
        findings.unless_all(replaced.clone(), &names(list.split(',')), "auth-response-headers");
        let map = annotation(ingress, "auth-proxy-set-headers").as_str().unwrap_or_default();
        let map = find(objects, "ConfigMap", map.rsplit('/').next().unwrap_or_default());
        for name in ["X-Anteroom-Gate", "X-Forwarded-Uri", "X-Forwarded-Method", "X-Original-Uri"] {
            let is_blank = map.is_some_and(|map| map["data"][name] == "");
            findings.unless(is_blank, format!("auth-proxy-set-headers: {name}"));
        }
    }
    for check in of_kind(objects, "Middleware").map(|it| &it["spec"]["forwardAuth"]) {
        if check.is_null() {
            continue;
        }
        findings.unless_all(replaced.clone(), &listed(&check["authResponseHeaders"]), "to service");
        let sent = listed(&check["authRequestHeaders"]);
        findings.unless_all(&["cookie", "x-anteroom-token"], &sent, "to the check");
        findings.unless(!sent.contains(&"x-anteroom-gate".to_owned()), "a client's options");
        findings.unless(check["trustForwardHeader"] == false, "a client's address");
    }
    for route in of_kind(objects, "HTTPRoute") {
        let Some(check) = policy(objects, "SecurityPolicy", route) else { continue };
        let check = &check["spec"]["extAuth"];
        if check["grpc"].is_object() {
            // The check gets all headers, and its answer replaces and removes them.
            findings.unless(check["headersToExtAuth"].is_null(), "to the check");
            findings.unless(extension(check, "gate") == Some("redirect"), "options of the check");
            continue;
        }
        findings.unless_all(&NAMING, &listed(&check["http"]["headersToBackend"]), "to service");
        let sent = listed(&check["headersToExtAuth"]);
        let wanted = ["cookie", "x-anteroom-token", "x-anteroom-gate", "x-forwarded-for"];
        findings.unless_all(&wanted, &sent, "to the check");
        let script = policy(objects, "EnvoyExtensionPolicy", route);
        let script = script.map(|it| &it["spec"]["lua"][0]["valueRef"]["name"]);
        let script = script.and_then(|it| find(objects, "ConfigMap", it.as_str()?));
        let removes = script.is_some_and(|it| it["data"]["lua"].is_string());
        findings.unless(removes, format!("{}: no script", name_of(route)));
    }
    for gateway in of_kind(objects, "Gateway") {
        if !gateway["spec"]["listeners"].is_array() {
            continue;
        }
        let client = policy(objects, "ClientTrafficPolicy", gateway).map(|it| &it["spec"]);
        let early = client.map_or(&Value::Null, |it| &it["headers"]["earlyRequestHeaders"]);
        findings.unless_all(&NAMING, &listed(&early["remove"]), "early");
        let gate = json!({"name": "x-anteroom-gate", "value": "redirect"});
        findings.unless(items(&early["set"]).contains(&gate), "a client's options");
        let slashes = client.map_or(&Value::Null, |it| &it["path"]["escapedSlashesAction"]);
        findings.unless(slashes == "RejectRequest", "encoded slashes");
    }
    for route in of_kind(objects, "VirtualService").flat_map(|of| items(&of["spec"]["http"])) {
        if route["match"].is_null() {
            let removed = listed(&route["headers"]["request"]["remove"]);
            findings.unless_all(FOR_ANTEROOM.iter().chain(&MISLEADING), &removed, "to service");
            // Istio removes them after the check has set them.
            let keeps = NAMING.iter().all(|name| !removed.iter().any(|it| it == name));
            findings.unless(keeps, "the service gets no visitor");
        }
    }
    for proxy in of_kind(objects, "HTTPProxy").map(|it| &it["spec"]) {
        // The check gets all headers, and its answer replaces and removes them.
        let context = &proxy["virtualhost"]["authorization"]["authPolicy"]["context"];
        findings.unless(context["gate"] == "redirect", "options of the check");
        let routes = items(&proxy["routes"]).iter();
        for policy in routes.clone().map(|it| &it["requestHeadersPolicy"]) {
            // Contour applies this after the check.
            findings.unless(policy.is_null(), format!("{policy}: replaces what the check sent"));
        }
        let refused = routes.filter(|it| it["directResponsePolicy"]["statusCode"] == 400);
        let refused = refused.flat_map(|it| items(&it["conditions"])).filter_map(path_of);
        let refused: Vec<_> = refused.collect();
        for path in ["/a%2fb", "/a%2Fb", "/a%5cb", "/a\\b", "/a;b/c", "/..%3B/a"] {
            let is_refused = refused.iter().any(|pattern| matches(pattern, path));
            findings.unless(is_refused, format!("{path} is not refused"));
        }
        for path in OF_VISITORS.iter().chain(&["/", "/seats/a-b_c.d~%20"]) {
            let is_refused = refused.iter().any(|pattern| matches(pattern, path));
            findings.unless(!is_refused, format!("{path} is refused"));
        }
    }
}

/// And none answers from a cache, or runs directives of its own.
pub fn without_an_answer_no_visitor_passes(objects: &[Value], findings: &mut Findings) {
    for ingress in of_kind(objects, "Ingress") {
        let annotations = ingress["metadata"]["annotations"].as_object();
        for name in annotations.into_iter().flat_map(|it| it.keys()) {
            let is_snippet = name.ends_with("-snippet") || name.contains("/auth-cache");
            findings.unless(!is_snippet, name);
        }
    }
    for policy in of_kind(objects, "SecurityPolicy") {
        let check = &policy["spec"]["extAuth"];
        findings.unless(check["failOpen"] == false, "failOpen");
        findings.unless(check["statusOnError"] == 503, "statusOnError");
    }
    for proxy in of_kind(objects, "HTTPProxy") {
        let check = &proxy["spec"]["virtualhost"]["authorization"];
        findings.unless(check["failOpen"] == false, "failOpen");
    }
}
