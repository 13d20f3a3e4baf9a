use std::collections::BTreeMap;

use anteroom_authorize::problem::Code;
use anteroom_config::{Digest, KeyConfig, Role};
use http::{HeaderMap, Method};

use super::{HERE, caller, headers, keys, of};
use crate::callers::caller::Permission;

#[test]
fn every_key_is_found_by_its_text() {
    for (authorization, name) in [
        ("Bearer ark1.back", "back"),
        ("bearer  ark1.narrow", "narrow"),
        ("BEARER ark1.ops", "ops"),
        ("Bearer ark1.pools ", "ops-pools"),
    ] {
        assert_eq!(caller(authorization).expect(authorization).name(), name);
    }
}

#[test]
fn anything_else_is_refused() {
    for wrong in ["Bearer ark1.bac", "Bearer back", "Bearer art1.x", "Bearer ark1.back, x"] {
        assert_eq!(caller(wrong).err(), Some(Code::KEY_INVALID), "{wrong}");
    }
    for none in ["", "Bearer", "Basic ark1.back", "ark1.back"] {
        assert_eq!(caller(none).err(), Some(Code::KEY_MISSING), "{none}");
    }
    let nothing = of(&keys(), Method::GET, &HeaderMap::new(), HERE);
    assert_eq!(nothing.err(), Some(Code::KEY_MISSING));
}

#[test]
fn of_two_that_differ_neither_counts() {
    let two = |other| headers(&[("authorization", "Bearer ark1.back"), ("authorization", other)]);
    let of = |headers: &HeaderMap| of(&keys(), Method::GET, headers, None);
    assert_eq!(of(&two("Bearer ark1.ops")).err(), Some(Code::KEY_MISSING));
    assert_eq!(of(&two("Bearer ark1.back")).expect("the same").name(), "back");
}

#[test]
fn role_and_scopes_decide() {
    let may = |key: &'static str| {
        let caller = caller(key).expect(key);
        let all = [Permission::State, Permission::Serve, Permission::View, Permission::Operate];
        let allowed = all.map(|permission| caller.may(permission).is_ok());
        (allowed, caller.touches("queues", "shop").is_ok())
    };
    assert_eq!(may("Bearer ark1.back"), ([true, true, false, false], true));
    assert_eq!(may("Bearer ark1.narrow"), ([true, true, false, false], true));
    assert_eq!(may("Bearer ark1.ops"), ([true; 4], true));
    assert_eq!(may("Bearer ark1.pools"), ([true; 4], false));
    assert_eq!(may("Bearer ark1.screen"), ([true, false, true, false], true));
    let narrow = caller("Bearer ark1.narrow").expect("a key");
    assert!(narrow.touches("queues", "shop2").is_err());
    assert!(narrow.touches("pools", "shop").is_err());
}

#[test]
fn a_call_that_lasts_follows_the_keys_in_force() {
    let (mut keys, screen) = (keys(), caller("Bearer ark1.screen").expect("a key"));
    let now = |keys: &_| screen.recheck(keys).map_err(|problem| problem.code());
    assert_eq!(now(&keys).expect("the same").role(), Role::Viewer);
    let mut key = keys.remove("screen").expect("a key");
    assert_eq!(now(&keys).err(), Some(Code::KEY_INVALID));
    assert_eq!(now(&BTreeMap::new()).err(), Some(Code::KEY_INVALID));
    key.role = Role::Backend;
    keys.insert("renamed".into(), key);
    let renamed = now(&keys).expect("found by its digest");
    assert_eq!((renamed.name(), renamed.may(Permission::View).is_ok()), ("renamed", false));
    keys.insert("screen".into(), KeyConfig { digest: Digest([1; 32]), ..keys["ops"].clone() });
    assert_eq!(now(&keys).expect("by its digest alone").name(), "renamed");

    let headers = headers(&[("host", "localhost")]);
    let anyone = of(&BTreeMap::new(), Method::GET, &headers, HERE).expect("no key is needed");
    assert!(anyone.recheck(&BTreeMap::new()).is_ok());
    let problem = anyone.recheck(&keys).map_err(|problem| problem.code());
    assert_eq!(problem.err(), Some(Code::KEY_MISSING));
}
