#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| anteroom_checks::session::check(data));
