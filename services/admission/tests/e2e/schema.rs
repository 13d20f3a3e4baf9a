//! An OpenAPI document, compared with real answers.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use reqwest::Method;
use serde_json::{Value, json};

use crate::{answer::Answer, room::Room};

/// The methods that a path can document.
pub const METHODS: [&str; 8] =
    ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// The document of one port, and the answers it was held against.
pub struct Book {
    port: &'static str,
    document: Value,
    /// Statuses seen, by operation.
    seen: RefCell<BTreeMap<(String, String), BTreeSet<u16>>>,
}

impl Book {
    /// Reads the document of a port.
    pub async fn of(room: &Room, port: &'static str) -> Self {
        let answer = room.call(port, Method::GET, "/openapi.json").send().await;
        assert_eq!(answer.is(200).header("content-type"), "application/json");
        let document = answer.json();
        assert!(document["openapi"].as_str().is_some_and(|version| version.starts_with("3.1.")));
        for name in ["title", "version"] {
            assert!(document["info"][name].as_str().is_some_and(|text| !text.is_empty()), "{name}");
        }
        let book = Self { port, document, seen: RefCell::default() };
        book.note("GET", "/openapi.json", &answer);
        book
    }

    /// Every documented operation: path, method, itself.
    pub fn operations(&self) -> impl Iterator<Item = (&str, &str, &Value)> {
        let paths = self.document["paths"].as_object().expect("paths");
        paths.iter().flat_map(|(path, item)| {
            METHODS.iter().filter_map(move |method| Some((&**path, *method, item.get(method)?)))
        })
    }

    /// Holds an answer of `method template` against the document.
    #[track_caller]
    pub fn note(&self, method: &str, template: &str, answer: &Answer) {
        let here = format!("{method} {template} gave {} {}", answer.status, answer.code());
        let method = method.to_lowercase();
        let operation = &self.document["paths"][template][&method];
        let responses =
            operation["responses"].as_object().unwrap_or_else(|| panic!("undocumented: {here}"));
        let exact = responses.get(&answer.status.to_string());
        let response = exact.or_else(|| responses.get("default"));
        let response = response.unwrap_or_else(|| panic!("undocumented status: {here}"));
        if method == "head" {
            assert_eq!(answer.text, "", "{here}");
        } else {
            self.content(response, answer, &here);
        }
        if exact.is_some() && !answer.code().is_empty() {
            let codes = response["description"].as_str().unwrap_or_default();
            assert!(codes.split(", ").any(|code| code == answer.code()), "code not named: {here}");
        }
        self.seen
            .borrow_mut()
            .entry((template.to_owned(), method))
            .or_default()
            .insert(answer.status);
    }

    #[track_caller]
    fn content(&self, response: &Value, answer: &Answer, here: &str) {
        let Some(kinds) = response["content"].as_object() else {
            assert!(answer.text.is_empty(), "an undocumented body: {here}");
            return;
        };
        let kind = answer.header("content-type").split(';').next().unwrap_or_default();
        let documented = kinds.get(kind).unwrap_or_else(|| panic!("undocumented type: {here}"));
        if kind.ends_with("json") {
            let errors = self.errors(&documented["schema"], &answer.json());
            assert!(errors.is_empty(), "{errors:?}: {here}");
        }
    }

    /// Holds a body that the call takes against the schema of the operation's request.
    #[track_caller]
    pub fn takes(&self, method: &str, template: &str, body: &Value) {
        let operation = &self.document["paths"][template][method.to_lowercase()];
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{method} {template} documents no body");
        let errors = self.errors(schema, body);
        assert!(errors.is_empty(), "{errors:?}: {body}");
    }

    /// Whether the document allows this body.
    pub fn allows(&self, method: &str, template: &str, body: &Value) -> bool {
        let operation = &self.document["paths"][template][method];
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{method} {template} documents no body");
        self.errors(schema, body).is_empty()
    }

    /// Whether the document allows this value of a parameter.
    pub fn allows_parameter(
        &self,
        method: &str,
        template: &str,
        name: &str,
        value: &Value,
    ) -> bool {
        let parameters = self.document["paths"][template][method]["parameters"].as_array();
        let found = parameters.into_iter().flatten().find(|parameter| parameter["name"] == name);
        let found = found.unwrap_or_else(|| panic!("{method} {template} has no {name}"));
        self.errors(&found["schema"], value).is_empty()
    }

    /// Compares a value with a schema of the document.
    #[track_caller]
    pub fn fits(&self, schema: &str, value: &Value) {
        let schema = json!({ "$ref": format!("#/components/schemas/{schema}") });
        let errors = self.errors(&schema, value);
        assert!(errors.is_empty(), "{errors:?}: {value:#}");
    }

    /// What the schema has against the body; a member that it does not name counts as an error.
    fn errors(&self, schema: &Value, body: &Value) -> Vec<String> {
        let root = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "components": self.document["components"],
            "allOf": [schema],
            "unevaluatedProperties": !schema.is_object() || *schema == json!({ "type": "object" }),
        });
        let validator = jsonschema::validator_for(&root).expect("a schema");
        validator.iter_errors(body).map(|error| error.to_string()).collect()
    }

    /// Every operation was called, and every documented success seen.
    #[track_caller]
    pub fn is_complete(&self) {
        let seen = self.seen.borrow();
        let mut missing = Vec::new();
        for (path, method, operation) in self.operations() {
            let seen = seen.get(&(path.to_owned(), method.to_owned()));
            for status in operation["responses"].as_object().expect("responses").keys() {
                let success = status.starts_with(['2', '3']);
                let found = status
                    .parse()
                    .is_ok_and(|status| seen.is_some_and(|all| all.contains(&status)));
                if seen.is_none() || (success && !found) {
                    missing.push(format!("{} {method} {path} {status}", self.port));
                }
            }
        }
        assert!(missing.is_empty(), "never seen: {missing:#?}");
    }
}
