//! JSON merge patches (RFC 7396): a patch turns one value into another.
//!
//! A merge patch cannot set a member to null, so values have no null members ([`without_nulls`]).

use serde_json::{Map, Value};

/// The patch that turns `before` into `after`; `None` if both are the same. Neither may have a
/// member that is null.
pub fn diff(before: &Value, after: &Value) -> Option<Value> {
    if before == after {
        return None;
    }
    let (Value::Object(before), Value::Object(after)) = (before, after) else {
        return Some(after.clone());
    };
    let removed = before.keys().filter(|name| !after.contains_key(*name));
    let removed = removed.map(|name| (name.clone(), Value::Null));
    let changed = after.iter().filter_map(|(name, after)| {
        let change = match before.get(name) {
            Some(before) => diff(before, after)?,
            None => after.clone(),
        };
        Some((name.clone(), change))
    });
    Some(removed.chain(changed).collect::<Map<_, _>>().into())
}

/// The value without the members that are null. Items of lists stay.
pub fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.into_iter().filter(|(_, member)| !member.is_null());
            let members = members.map(|(name, member)| (name, without_nulls(member)));
            members.collect::<Map<_, _>>().into()
        }
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

/// Applies a patch as clients do: the algorithm in section 2 of RFC 7396.
#[cfg(test)]
pub fn apply(target: &mut Value, patch: &Value) {
    json_patch::merge(target, patch);
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
    use serde_json::json;

    use super::*;

    /// Few names and values, so that two of these have much in common.
    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..3_u8).prop_map(Value::from),
            "[ab]{0,2}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..3).prop_map(Value::from),
                btree_map("[a-d]", inner, 0..5)
                    .prop_map(|members| members.into_iter().collect::<Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_patch_turns_the_one_into_the_other(before in values(), after in values()) {
            let (before, after) = (without_nulls(before), without_nulls(after));
            let mut patched = before.clone();
            match diff(&before, &after) {
                Some(patch) => apply(&mut patched, &patch),
                None => assert_eq!(before, after),
            }
            assert_eq!(patched, after);
        }

        #[test]
        fn what_stays_is_not_in_a_patch(value in values()) {
            let value = without_nulls(value);
            assert_eq!(diff(&value, &value), None);
        }
    }

    #[test]
    fn a_patch_has_what_changed_and_null_for_what_is_gone() {
        let before = json!({"a": {"b": 1, "c": 2}, "d": [1, 2], "e": 1, "f": {"g": {}}});
        let after = json!({"a": {"b": 1, "c": 3}, "d": [2], "f": {"g": {}}, "h": {}});
        let patch = json!({"a": {"c": 3}, "d": [2], "e": null, "h": {}});
        assert_eq!(diff(&before, &after), Some(patch));
        // The draft's own example of a client that takes a document for an object.
        assert_eq!(diff(&json!({"a": 1}), &json!({"a": {"b": 1}})), Some(json!({"a": {"b": 1}})));
        assert_eq!(diff(&json!({"a": {"b": 1}}), &json!({"a": 1})), Some(json!({"a": 1})));
    }
}
