//! Plans of the load engine and of the simulated dispatcher.
#![no_main]

use libfuzzer_sys::fuzz_target;
use steelyard_load::plan::Plan;
use steelyard_load::work::Work;

fuzz_target!(|text: &str| {
    if let Ok(plan) = Plan::parse(text) {
        let _ = Work::new(plan);
    }
    let _ = steelyard_dispatch::plan::Plan::parse(text);
});
