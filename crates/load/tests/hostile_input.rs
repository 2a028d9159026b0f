//! What comes from outside makes an error, never a panic.

use proptest::prelude::*;
use serde_json::{Value, json};
use steelyard_load::plan::Plan;
use steelyard_load::record::{decode, empty_histogram, encode};
use steelyard_load::work::Work;

fn plan() -> Value {
    json!({
        "server": {"host": "/s", "port": 5432, "user": "u", "password": null, "database": "d",
                   "tls": "disable", "ca_file": null},
        "session": ["set a = 1"],
        "text": "distinct", "distinct_texts": 3, "parameters": "client", "handle": "named",
        "statements": [{"name": "s", "sql": "select :a, ':b' -- :c\n {tag} :b::int", "parameters": {
            "a": {"kind": "zipf", "low": 1, "high": 9, "exponent": 0.5},
            "b": {"kind": "choice", "values": ["x", 1, true]}}}],
        "transactions": [{"name": "t", "weight": 1, "statements": ["s"], "begin": true}],
        "arrival": {"kind": "open", "rate_per_s": 10, "spacing": "poisson"},
        "points": [1, 2], "connect_s": 1, "warm_up_s": 0, "measure_s": 1, "cool_down_s": 0,
        "deadline_ms": 100, "threads": 1, "seed": 1, "inspect": [{"name": "i", "sql": "select 1"}],
    })
}

/// Values that sit on edges, among any others.
fn anything() -> impl Strategy<Value = Value> {
    let edges = [
        json!(null),
        json!(0),
        json!(-1),
        json!(i64::MIN),
        json!(i64::MAX),
        json!(u64::MAX),
        json!(1e300),
        json!(""),
        json!("\0"),
        json!(":"),
        json!("'"),
        json!("/*"),
        json!("{tag}"),
        json!("::x :y"),
        json!([]),
        json!({}),
    ];
    prop_oneof![
        proptest::sample::select(edges.to_vec()),
        any::<f64>().prop_map(|number| json!(number)),
        any::<String>().prop_map(Value::String),
    ]
}

/// Puts `put` at the `at`-th place of the tree, counted in depth.
fn replace(tree: &mut Value, at: &mut usize, put: &Value) {
    if *at == 0 {
        *tree = put.clone();
    }
    *at = at.wrapping_sub(1);
    match tree {
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, at, put)),
        Value::Object(items) => items.values_mut().for_each(|item| replace(item, at, put)),
        _ => {}
    }
}

#[test]
fn the_plan_that_the_others_come_from_is_good() {
    Work::new(Plan::parse(&plan().to_string()).unwrap()).unwrap();
}

proptest! {
    #[test]
    fn no_text_makes_the_plan_panic(text in any::<String>()) {
        prop_assert!(Plan::parse(&text).is_err());
    }

    #[test]
    fn no_value_anywhere_makes_the_plan_panic(places in proptest::collection::vec((0usize..60, anything()), 1..4)) {
        let mut tree = plan();
        for (mut at, put) in places {
            replace(&mut tree, &mut at, &put);
        }
        if let Ok(plan) = Plan::parse(&tree.to_string()) {
            let _ = Work::new(plan);
        }
    }

    #[test]
    fn no_bytes_make_a_histogram_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = decode(&bytes);
    }

}

proptest! {
    // a histogram of full size takes a while to decode
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_damaged_histogram_does_not_panic(values in proptest::collection::vec(1u64..1 << 40, 0..50),
                                          at in any::<usize>(), byte in any::<u8>(), cut in any::<usize>()) {
        let mut histogram = empty_histogram();
        for value in values {
            histogram.saturating_record(value);
        }
        let mut bytes = encode(&histogram);
        let length = bytes.len();
        bytes[at % length] = byte;
        bytes.truncate(length - cut % 4);
        if let Ok(read) = decode(&bytes) {
            let _ = (read.value_at_quantile(0.99), read.max(), read.mean());
        }
    }
}
