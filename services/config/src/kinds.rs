//! The kinds that the configuration declares by name, `[queues.NAME]` and the like, in one list.

/// Expands a macro with the list: a section, which is also a field of the configuration, the handle
/// of the kind in core, and the type of one table. A further kind is one line here.
macro_rules! kinds {
    ($callback:ident) => {
        $callback! {
            /// The waiting rooms, by name.
            queues: anteroom_core::queue::Queue => QueueConfig,
            /// The rate limits, by name.
            limits: anteroom_core::limit::Limits => LimitConfig,
            /// The circuit breakers, by name.
            targets: anteroom_core::breaker::Breaker => BreakerConfig,
            /// The events, by name.
            events: anteroom_core::event::Event => EventConfig,
            /// The pools, by name.
            pools: anteroom_core::pool::Pool => PoolConfig,
        }
    };
}

pub(crate) use kinds;
