//! Who calls: the keys of backends and operators, a client's address behind its proxies, the cookie
//! that carries a token, and the origins from which a browser may call.

pub mod client_address;
pub mod cookies;
pub mod keys;
pub mod new_key;
pub mod origin;
pub mod single;
