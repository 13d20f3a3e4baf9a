//! Who calls the service port: the keys of backends and operators.

pub mod keys;
pub mod new_key;
