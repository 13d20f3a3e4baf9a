//! What the configuration names: queues, limits, targets, events and pools.
//!
//! [`Entity`] is what admission needs to know of a kind, [`Entities`] are those in force, by name.
//! What is done for every kind alike iterates over core's list of them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ahash::RandomState;
use anteroom_authorize::problem::retry::PendingRetries;
use anteroom_authorize::problem::{Code, Problem};
use anteroom_config::{Config, Declared, Section};
use anteroom_core::Kind as _;
use anteroom_core::changes::Changes;
use anteroom_core::store::{Error, Store};
use anteroom_runtime::Families;
use prometheus::Registry;
use utoipa::openapi::schema::ObjectBuilder;
use utoipa_axum::router::OpenApiRouter;

use crate::app::App;
use crate::http::audit::Audit;
use crate::http::fast_path::HotRoute;
use crate::http::route::RouteInfo;
use crate::live::Live;
use crate::tasks::Tasks;

/// A kind, as core and the configuration know it, and what admission keeps of one of its entities.
/// The list of kinds is [`kinds!`](anteroom_core::kinds).
pub trait Served: Declared {
    /// What admission keeps of one.
    type State: Entity<Kind = Self> + Routes + Live + Listed;
}

/// One thing that the configuration names, and what admission does for each kind of it.
pub trait Entity: Sized + Send + Sync + 'static {
    /// Its kind.
    type Kind: Served<State = Self>;
    /// The metrics of all of its kind.
    type Families: Families;

    /// The refusal if the configuration names none.
    const UNKNOWN: Code;

    /// One of a new configuration, which carries over what `before` remembers.
    fn make(
        name: &str,
        config: &<Self::Kind as Section>::Table,
        before: Option<&Self>,
        families: &Self::Families,
        context: &EntityContext<'_>,
    ) -> Self;

    /// Starts what runs beside the requests.
    fn spawn(_tasks: &Tasks<'_>) {}

    /// What operators changed of it, newest first: at most `limit` changes. With `before`: only
    /// changes with smaller ids. No call of an operator changes some kinds.
    fn changes(
        &self,
        _app: &App,
        _before: Option<u64>,
        _limit: u64,
    ) -> impl Future<Output = Result<Changes, Error>> + Send {
        std::future::ready(Ok(Changes::default()))
    }
}

/// The calls of a kind over HTTP.
pub trait Routes: Entity {
    /// The calls that go around the router, on the public and on the service port.
    const HOT: Hot = Hot { public: &[], service: &[] };
    /// The facts of its routes that differ from the default, by template.
    const INFO: &[(&str, RouteInfo)] = &[];
    /// These operations take an empty body for `{}`.
    const MAY_BE_EMPTY: &[&str] = &[];

    /// The calls of visitors and gateways.
    fn public() -> OpenApiRouter<Arc<App>> {
        OpenApiRouter::new()
    }

    /// The calls of backends and operators.
    fn service(audit: &Audit) -> OpenApiRouter<Arc<App>>;

    /// The meaning and the form of the parameter of this name, in each call that has one.
    fn parameter(name: &str) -> Option<(&'static str, ObjectBuilder)>;
}

/// Where those of a kind of the list are.
pub trait Listed: Entity {
    /// Those of this kind in force.
    fn of(in_force: &InForce) -> &Entities<Self>;
}

/// The calls of a kind that go around the router.
pub struct Hot {
    /// Those of visitors and gateways.
    pub public: &'static [HotRoute],
    /// Those of backends.
    pub service: &'static [HotRoute],
}

/// What entities of every kind are made with.
pub struct EntityContext<'a> {
    pub config: &'a Config,
    pub store: &'a Store,
    pub retries: &'a Arc<PendingRetries>,
    /// How many calls may wait in a lane.
    pub lane_bound: usize,
}

macro_rules! define_in_force {
    (; $(($kind:ident $handle:ident $name:ident $section:ident))+) => {
        /// The entities of one configuration, of every kind.
        #[derive(Default)]
        pub struct InForce {
            $($kind: Entities<<anteroom_core::$kind::$handle as Served>::State>,)+
        }

        impl InForce {
            /// Those of a new configuration. What has a memory is carried over from the entity of
            /// the same name in `before`; what is no longer configured shows nothing more.
            pub fn reload(
                before: &Self,
                metrics: &KindMetrics,
                context: &EntityContext<'_>,
            ) -> Self {
                Self { $($kind: before.$kind.reload(&metrics.$kind, context),)+ }
            }
        }

        /// The metrics of every kind.
        #[derive(Debug)]
        pub struct KindMetrics {
            $($kind: <<anteroom_core::$kind::$handle as Served>::State as Entity>::Families,)+
        }

        impl KindMetrics {
            /// Registers everything.
            ///
            /// # Errors
            ///
            /// When a name is taken.
            pub fn register(registry: &Registry) -> prometheus::Result<Self> {
                Ok(Self { $($kind: Families::register(registry)?,)+ })
            }
        }

        $(
            impl Listed for <anteroom_core::$kind::$handle as Served>::State {
                fn of(in_force: &InForce) -> &Entities<Self> {
                    &in_force.$kind
                }
            }
        )+
    };
}

anteroom_core::kinds!(define_in_force! {});

/// The name in a path: the part behind the section, where every template has it; a name needs no
/// escapes. The decoded parameters of the router fail as a whole when another one is no UTF-8, and
/// the visitor's own path behind `…/authorize/` may be in any encoding.
pub fn name_in<T: Entity>(path: &str) -> Option<&str> {
    // Nearly every path: /v1/SECTION/NAME…
    let rest = path.strip_prefix("/v1/").and_then(|rest| rest.strip_prefix(T::Kind::SECTION));
    if let Some(rest) = rest.and_then(|rest| rest.strip_prefix('/')) {
        let end = rest.bytes().position(|byte| byte == b'/').unwrap_or(rest.len());
        return rest.get(..end);
    }
    path.split('/').skip_while(|part| *part != T::Kind::SECTION).nth(1)
}

/// All of one kind that are in force.
pub struct Entities<T>(HashMap<String, Arc<T>, RandomState>);

impl<T> Default for Entities<T> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

impl<T> Entities<T> {
    fn with<C>(
        &self,
        configured: &BTreeMap<String, C>,
        make: impl Fn(&str, &C, Option<&T>) -> T,
    ) -> Self {
        let made = configured.iter().map(|(name, config)| {
            let before = self.0.get(name).map(Arc::as_ref);
            (name.clone(), Arc::new(make(name, config, before)))
        });
        Self(made.collect())
    }

    /// Looks up an entity by its name.
    pub fn get(&self, name: &str) -> Option<Arc<T>> {
        self.0.get(name).cloned()
    }

    /// All, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(name, entity)| (name.as_str(), entity.as_ref()))
    }

    /// All names, in order.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.0.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    /// The names that a newer configuration has left out.
    fn left_out<'a>(&'a self, newer: &'a Self) -> impl Iterator<Item = &'a str> {
        self.0.keys().filter(|name| !newer.0.contains_key(*name)).map(String::as_str)
    }
}

impl<T: Entity> Entities<T> {
    /// Those of a new configuration, each made with the one that had the name before, if any.
    fn reload(&self, families: &T::Families, context: &EntityContext<'_>) -> Self {
        let new = self.with(T::Kind::declared(context.config), |name, config, before| {
            T::make(name, config, before, families, context)
        });
        self.left_out(&new).for_each(|name| families.forget(name));
        new
    }

    /// The one that a path names.
    ///
    /// # Errors
    ///
    /// [`Entity::UNKNOWN`] when there is none.
    pub fn at(&self, path: &str) -> Result<Arc<T>, Problem> {
        let found = name_in::<T>(path).and_then(|name| self.get(name));
        found.ok_or_else(|| Problem::new(T::UNKNOWN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anteroom_authorize::queue::state::QueueState;

    #[test]
    fn the_name_is_the_part_behind_the_section() {
        for (path, name) in [
            ("/v1/queues/a", Some("a")),
            ("/v1/admin/queues/a/places", Some("a")),
            ("/queues/queues/authorize/%ff/queues/b", Some("queues")),
            ("/v1/queues//x", Some("")),
            ("/v1/queues", None),
            ("/v1/pools/a", None),
        ] {
            assert_eq!(name_in::<QueueState>(path), name, "{path}");
        }
    }

    #[test]
    fn an_unknown_name_is_the_refusal_of_its_kind() {
        let none = Entities::<QueueState>::default();
        let refusal = none.at("/v1/queues/a").err().map(|problem| problem.code());
        assert_eq!(refusal, Some(Code::UNKNOWN_QUEUE));
    }

    #[test]
    fn a_reload_carries_over_what_keeps_its_name() {
        let configured = |names: &[&str]| -> BTreeMap<String, u32> {
            names.iter().map(|name| ((*name).to_owned(), 1)).collect()
        };
        let make = |_: &str, add: &u32, before: Option<&u32>| before.unwrap_or(&0) + add;
        let first = Entities::<u32>::default().with(&configured(&["a", "b"]), make);
        let second = first.with(&configured(&["b", "c"]), make);
        let ages = ["a", "b", "c"].map(|name| second.get(name).map(|age| *age));
        assert_eq!(ages, [None, Some(2), Some(1)]);
        assert_eq!(first.left_out(&second).collect::<Vec<_>>(), ["a"]);
    }
}
