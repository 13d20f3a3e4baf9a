//! A frame: all entities at one moment, and how each differs from the frame before. All live
//! streams of this process share it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anteroom_core::for_each_kind;
use serde_json::{Map, Value};

use super::merge_patch::{diff, without_nulls};
use super::views::CallerView;
use super::{Live as _, present_time};
use crate::app::App;
use crate::callers::caller::Caller;
use crate::entities::{Listed as _, Served};

/// All entities at one moment.
#[derive(Debug, Default)]
pub struct Frame {
    /// The number of frames before it.
    number: u64,
    at: Value,
    redis: bool,
    sections: BTreeMap<&'static str, BTreeMap<String, Shown>>,
}

/// An entity at that moment.
#[derive(Debug)]
struct Shown {
    value: Value,
    /// What has changed since the frame before.
    change: Option<Value>,
}

/// What one caller sees of a frame.
#[derive(Clone, Debug)]
pub struct Seen {
    pub frame: Arc<Frame>,
    pub caller: Caller,
}

impl Frame {
    /// A frame of this moment, from the memory of this process.
    pub fn take(app: &App, before: Option<&Self>) -> Self {
        fn add<K: Served>(app: &App, before: Option<&Frame>, frame: &mut Frame) {
            let live = app.live();
            let before = before.and_then(|before| before.sections.get(K::SECTION));
            let shown = K::State::of(&live.in_force).iter().map(|(name, entity)| {
                let before = before.and_then(|before| before.get(name));
                (name.to_owned(), Shown::new(without_nulls(entity.live_view()), before))
            });
            frame.sections.insert(K::SECTION, shown.collect());
        }
        let mut frame = Self {
            number: before.map_or(0, |before| before.number + 1),
            at: present_time(),
            redis: app.process.store.is_up(),
            sections: BTreeMap::new(),
        };
        for_each_kind!(add(app, before, &mut frame));
        frame
    }
}

impl Shown {
    fn new(value: Value, before: Option<&Self>) -> Self {
        let change = match before {
            Some(before) => diff(&before.value, &value),
            None => Some(value.clone()),
        };
        Self { value, change }
    }
}

impl Seen {
    /// The whole state.
    pub fn state(&self) -> Value {
        let sections = self.frame.sections.iter().map(|(section, entities)| {
            let seen = entities.iter().filter(|(name, _)| self.caller.sees(section, name));
            let seen = seen.map(|(name, shown)| (name.clone(), shown.value.clone()));
            ((*section).to_owned(), Value::from(seen.collect::<Map<_, _>>()))
        });
        let whole = [
            ("at", self.frame.at.clone()),
            ("redis", self.frame.redis.into()),
            ("caller", view_of(&self.caller)),
        ];
        let whole = whole.map(|(name, value)| (name.to_owned(), value)).into_iter();
        whole.chain(sections).collect::<Map<_, _>>().into()
    }

    /// The merge patch that turns the state before into this one.
    pub fn change_since(&self, before: &Self) -> Value {
        let mut patch = Map::new();
        let (old, new) = (&before.frame, &self.frame);
        if old.at != new.at {
            patch.insert("at".to_owned(), new.at.clone());
        }
        if old.redis != new.redis {
            patch.insert("redis".to_owned(), new.redis.into());
        }
        if let Some(change) = diff(&view_of(&before.caller), &view_of(&self.caller)) {
            patch.insert("caller".to_owned(), change);
        }
        for section in new.sections.keys() {
            let change = self.section_since(before, section);
            if !change.is_empty() {
                patch.insert((*section).to_owned(), change.into());
            }
        }
        patch.into()
    }

    fn section_since(&self, before: &Self, section: &str) -> Map<String, Value> {
        let is_next = self.frame.number == before.frame.number + 1;
        let names: BTreeSet<_> = [before, self]
            .into_iter()
            .filter_map(|seen| seen.frame.sections.get(section))
            .flat_map(BTreeMap::keys)
            .collect();
        let changes = names.into_iter().filter_map(|name| {
            let change = match (before.entity(section, name), self.entity(section, name)) {
                (Some(_), Some(now)) if is_next => now.change.clone()?,
                (Some(then), Some(now)) => diff(&then.value, &now.value)?,
                (None, Some(now)) => now.value.clone(),
                (Some(_), None) => Value::Null,
                (None, None) => return None,
            };
            Some((name.clone(), change))
        });
        changes.collect()
    }

    fn entity(&self, section: &str, name: &str) -> Option<&Shown> {
        let shown = self.frame.sections.get(section)?.get(name)?;
        self.caller.sees(section, name).then_some(shown)
    }
}

fn view_of(caller: &Caller) -> Value {
    // Texts only: this cannot fail.
    serde_json::to_value(CallerView::from(caller)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use anteroom_config::{Digest, KeyConfig, Role, Scope};
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::{Strategy, any, proptest};
    use serde_json::json;

    use super::*;
    use crate::live::merge_patch::apply;

    fn caller(role: Role, scopes: &[&str]) -> Caller {
        let scope = |name: &&str| Scope { section: "queues".into(), name: (*name).into() };
        let scopes = scopes.iter().map(scope).collect();
        Caller::with_key("ops", KeyConfig { digest: Digest([0; 32]), role, scopes })
    }

    fn frame(queues: &BTreeMap<String, u8>, before: Option<&Frame>) -> Frame {
        let old = before.and_then(|before| before.sections.get("queues"));
        let shown = queues.iter().map(|(name, depth)| {
            let value = json!({"queue": name, "depth": depth % 3, "rules": {"batch": depth / 3}});
            (name.clone(), Shown::new(value, old.and_then(|old| old.get(name))))
        });
        let number = before.map_or(0, |before| before.number + 1);
        Frame {
            number,
            at: number.into(),
            redis: !number.is_multiple_of(3),
            sections: BTreeMap::from([("queues", shown.collect()), ("pools", BTreeMap::new())]),
        }
    }

    fn histories() -> impl Strategy<Value = Vec<(BTreeMap<String, u8>, u8, bool)>> {
        vec((btree_map("[a-c]", 0..9_u8, 0..4), 0..3_u8, any::<bool>()), 1..8)
    }

    proptest! {
        /// Entities come and go, change, and are shown or not; some frames are missed.
        #[test]
        fn the_patches_lead_to_the_state_of_a_new_stream(history in histories()) {
            let mut last: Option<Arc<Frame>> = None;
            let mut client: Option<(Seen, Value)> = None;
            for (queues, scope, is_missed) in history {
                let next = Arc::new(frame(&queues, last.as_deref()));
                last = Some(next.clone());
                if is_missed {
                    continue;
                }
                let scopes = [&[][..], &["a"], &["a", "b"]][usize::from(scope)];
                let role = if scope == 1 { Role::Viewer } else { Role::Operator };
                let seen = Seen { frame: next, caller: caller(role, scopes) };
                let state = match client {
                    None => seen.state(),
                    Some((before, mut state)) => {
                        apply(&mut state, &seen.change_since(&before));
                        state
                    }
                };
                assert_eq!(state, seen.state());
                client = Some((seen, state));
            }
        }
    }

    #[test]
    fn a_key_with_scopes_sees_what_they_name() {
        let queues = BTreeMap::from([("a".to_owned(), 1), ("b".to_owned(), 2)]);
        let frame = Arc::new(frame(&queues, None));
        let seen = Seen { frame: frame.clone(), caller: caller(Role::Viewer, &["b"]) };
        let state = seen.state();
        let caller = json!({"key": "ops", "role": "viewer", "scopes": ["queues:b"]});
        assert_eq!((&state["caller"], &state["pools"]), (&caller, &json!({})));
        let names: Vec<_> = state["queues"].as_object().expect("an object").keys().collect();
        assert_eq!(names, ["b"]);
    }
}
