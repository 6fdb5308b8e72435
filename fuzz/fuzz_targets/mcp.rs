#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| agent_fuzz::mcp::check(bytes));
