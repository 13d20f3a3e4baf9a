//! Objects of other projects' kinds, by the definitions that those publish (`k8s/checks/crds`),
//! unknown fields refused as `kubectl apply` with strict validation does.

use std::{collections::BTreeSet, fs};

use anteroom_k8s_checks::objects;
use serde_json::{Value, json};

use crate::rendered::{all, k8s};

/// The kinds that are not Kubernetes' own, and the files of their definitions.
pub const KINDS: [(&str, &str); 3] = [
    ("PrometheusRule", "monitoring.coreos.com_prometheusrules.yaml"),
    ("ScaledObject", "keda.sh_scaledobjects.yaml"),
    ("ServiceMonitor", "monitoring.coreos.com_servicemonitors.yaml"),
];

/// What the definition says of one version, as a JSON schema.
fn schema(file: &str, version: &str) -> Value {
    let text = fs::read_to_string(k8s().join("checks/crds").join(file)).unwrap();
    let definition = objects(&text).unwrap().remove(0);
    let versions = definition["spec"]["versions"].as_array().unwrap();
    let version = versions.iter().find(|served| served["name"] == version).unwrap();
    let mut schema = version["schema"]["openAPIV3Schema"].clone();
    close(&mut schema);
    // Kubernetes' own part.
    schema["properties"]["metadata"] = json!({"type": "object"});
    schema
}

/// Refuses what is not named, and puts what only Kubernetes knows into words of JSON schema.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            let is_open = fields.contains_key("x-kubernetes-preserve-unknown-fields");
            if fields.contains_key("properties") && !is_open {
                fields.entry("additionalProperties").or_insert(json!(false));
            }
            if fields.remove("nullable") == Some(json!(true)) {
                let own = fields.remove("type");
                fields.insert("type".to_owned(), json!([own, "null"]));
            }
            // The test of these is the server's: durations, dates.
            fields.remove("format");
            fields.values_mut().for_each(close);
        }
        Value::Array(values) => values.iter_mut().for_each(close),
        _ => {}
    }
}

fn errors(object: &Value, file: &str) -> Vec<String> {
    let version = object["apiVersion"].as_str().unwrap().rsplit('/').next().unwrap();
    let validator = jsonschema::validator_for(&schema(file, version)).unwrap();
    let errors = validator.iter_errors(object);
    errors.map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn objects_of_other_projects_hold_their_definitions() {
    let mut seen = BTreeSet::new();
    for rendered in all() {
        for (kind, file) in KINDS {
            for object in rendered.objects.iter().filter(|object| object["kind"] == kind) {
                let errors = errors(object, file);
                assert!(errors.is_empty(), "{}: {kind}: {errors:#?}", rendered.folder);
                seen.insert(kind);
            }
        }
    }
    assert_eq!(seen.len(), KINDS.len(), "only {seen:?}");
}

#[test]
fn what_a_definition_does_not_name_is_refused() {
    for (kind, file) in KINDS {
        let object = all().iter().flat_map(|rendered| &rendered.objects);
        let mut object = object.into_iter().find(|object| object["kind"] == kind).unwrap().clone();
        object["spec"]["surprise"] = json!(true);
        let errors = errors(&object, file);
        assert!(errors.iter().any(|error| error.contains("surprise")), "{kind}: {errors:?}");
    }
}
