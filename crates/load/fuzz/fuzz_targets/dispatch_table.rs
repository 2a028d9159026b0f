//! Dispatch tables: what is read can be printed, and what is printed can be read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use steelyard_dispatch::tables::dispadmin::{parse_fx, parse_rt, parse_ts, print_fx, print_rt, print_ts};

fuzz_target!(|input: (u16, &str)| {
    let (hz, text) = (u32::from(input.0).max(1), input.1);
    if let Ok(table) = parse_ts(text) {
        parse_ts(&print_ts(&table, hz)).unwrap();
    }
    if let Ok(table) = parse_rt(text) {
        parse_rt(&print_rt(&table, hz)).unwrap();
    }
    if let Ok(table) = parse_fx(text) {
        parse_fx(&print_fx(&table, hz)).unwrap();
    }
});
