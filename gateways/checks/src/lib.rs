//! Only tests: they run the examples of `gateways/`.
