//! Plans of the load engine and of the simulated dispatcher.
#![no_main]

use libfuzzer_sys::fuzz_target;
use steelyard_load::drivers::Job;

fuzz_target!(|text: &str| {
    let _ = Job::parse(text);
    let _ = steelyard_dispatch::plan::Plan::parse(text);
});
