//! What every manifest of ours must hold, by checks that are themselves checked: each finds the
//! violation that is planted for it.

mod gateways;
mod jobs;
mod network;
mod planted;
mod pods;
mod proxies;
mod reach;
mod roll_outs;
mod ways_out;

use std::fmt::Display;

use serde_json::Value;

use crate::rendered::{all, name_of, of_kind};

/// Notes what is wrong with the objects of an overlay.
type Policy = fn(&[Value], &mut Findings);

const POLICIES: [(&str, Policy); 25] = [
    ("one namespace", one_namespace),
    ("restricted", pods::restricted),
    ("read-only root", pods::read_only_root),
    ("no token", pods::no_token),
    ("limits", pods::limits),
    ("probes", pods::probes),
    ("images", pods::images),
    ("denied by default", network::denied_by_default),
    ("protected", network::only_the_gate_reaches_what_is_protected),
    ("public port", network::the_public_port_is_for_the_gateway),
    ("gRPC port", network::the_grpc_port_is_for_gateways),
    ("service port", network::the_service_port_is_for_backends),
    ("metrics port", network::the_metrics_port_is_for_prometheus),
    ("ways out", ways_out::each_names_where_it_leads),
    ("proxies", proxies::none_is_trusted_that_the_user_did_not_name),
    ("ingress", network::an_ingress_leads_to_the_gate),
    ("checked", gateways::each_route_to_a_service_has_the_check),
    ("visitors", gateways::only_calls_of_visitors_lead_to_admission),
    ("headers", gateways::a_clients_own_headers_are_replaced),
    ("fails closed", gateways::without_an_answer_no_visitor_passes),
    ("services", network::services_lead_to_pods),
    ("rolls", roll_outs::rolls_without_a_gap),
    ("ends in time", roll_outs::ends_in_time),
    ("one store", roll_outs::never_two_stores),
    ("shares", jobs::shares_are_whole),
];

#[derive(Default)]
struct Findings(Vec<String>);

impl Findings {
    fn of(policy: Policy, objects: &[Value]) -> Vec<String> {
        let mut findings = Self::default();
        policy(objects, &mut findings);
        findings.0
    }

    /// Notes what is wrong, unless it holds.
    fn unless(&mut self, holds: bool, wrong: impl Display) {
        if !holds {
            self.0.push(wrong.to_string());
        }
    }
}

/// What has no namespace goes to whichever the caller's context names.
fn one_namespace(objects: &[Value], findings: &mut Findings) {
    let namespace = of_kind(objects, "Namespace").next().map(name_of).unwrap_or_default();
    for object in objects.iter().filter(|object| object["kind"] != "Namespace") {
        let of = &object["metadata"]["namespace"];
        findings.unless(of == namespace, format!("{} {}: {of}", object["kind"], name_of(object)));
    }
}

#[test]
fn every_overlay_holds_every_policy() {
    for rendered in all() {
        for (name, policy) in POLICIES {
            let findings = Findings::of(policy, &rendered.objects);
            assert!(findings.is_empty(), "{}: {name}: {findings:#?}", rendered.folder);
        }
    }
}
