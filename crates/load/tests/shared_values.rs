//! The values that the statements of a transaction share: equal within it, drawn anew for the next.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use proptest::prelude::*;
use serde_json::{Value, json};
use steelyard_load::plan::Plan;
use steelyard_load::protocol::mysql::Mysql;
use steelyard_load::protocol::postgres::Postgres;
use steelyard_load::protocol::{Dialogue, Protocol};
use steelyard_load::statements::draw::Draw;
use steelyard_load::statements::template::Dialect;
use steelyard_load::statements::work::Work;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// `pay` and `refund` share the statement `book`, each with values of its own.
fn plan() -> Value {
    let id = json!({"kind": "zipf", "low": 1, "high": 1000, "exponent": 0.8});
    json!({
        "server": {"host": "/s", "port": 5432, "user": "u", "password": null, "database": "d",
                   "tls": "disable", "ca_file": null},
        "text": "identical", "distinct_texts": 1, "parameters": "client", "handle": "named",
        "statements": [
            {"name": "take", "sql": "update a set b = b - :amount where id = :id and n < :n", "parameters": {
                "n": {"kind": "uniform", "low": 1, "high": 9}}},
            {"name": "book", "sql": "insert into h values (:id, :why, :amount, :n)", "parameters": {
                "n": {"kind": "text", "length": 3}}},
        ],
        "transactions": [
            {"name": "pay", "weight": 3, "statements": ["take", "book", "take"], "begin": true, "values": {
                "id": id, "amount": {"kind": "choice", "values": [5, "it's", 2.5]},
                "why": {"kind": "text", "length": 8}}},
            {"name": "refund", "weight": 1, "statements": ["book"], "values": {
                "id": {"kind": "sequence", "start": -1, "step": -1}, "amount": {"kind": "unique"},
                "why": {"kind": "choice", "values": ["x", "yy"]}}},
        ],
        "arrival": {"kind": "closed", "think_ms": 0, "think": "fixed"},
        "points": [1], "warm_up_s": 0, "measure_s": 1, "cool_down_s": 0,
        "deadline_ms": 100, "threads": 1, "seed": 1,
    })
}

fn work(plan: &Value, dialect: Dialect) -> Work {
    Work::new(Plan::parse(&plan.to_string()).unwrap(), dialect).unwrap()
}

/// The kind of each of `count` transactions, and the values of its statements as the server reads them.
fn drawn(plan: &Value, dialect: Dialect, count: usize) -> Vec<(usize, Vec<Vec<String>>)> {
    let work = work(plan, dialect);
    let mut draw = Draw::new(&work, 3);
    let transaction = |draw: &mut Draw| {
        let kind = draw.transaction(&work);
        draw.begin(&work, kind);
        let statements = work.transactions[kind].statements.iter().map(|statement| {
            draw.statement(&work, *statement);
            values(draw, &work)
        });
        (kind, statements.collect())
    };
    (0..count).map(|_| transaction(&mut draw)).collect()
}

/// Values of the statement by number, bound or, where every text ends in them, written.
fn values(draw: &Draw, work: &Work) -> Vec<String> {
    let mut out = Vec::new();
    if draw.bound(work).len() == 0 {
        draw.write_text(work, &mut out);
        return vec![String::from_utf8(out).unwrap()];
    }
    let text = |value: &steelyard_load::statements::value::Value| {
        out.clear();
        value.write(&mut out);
        String::from_utf8(out.clone()).unwrap()
    };
    draw.bound(work).map(text).collect()
}

fn refused(path: &str, put: Value) -> String {
    let mut plan = plan();
    *plan.pointer_mut(path).unwrap() = put;
    let made = Plan::parse(&plan.to_string()).and_then(|plan| Work::new(plan, Postgres::DIALECT));
    made.err().map(|error| error.to_string()).unwrap_or_default()
}

proptest! {
    #[test]
    fn statements_of_a_transaction_share_its_values_and_no_others(seed in any::<u32>()) {
        let mut plan = plan();
        plan["seed"] = json!(seed);
        let (mut ids, mut own) = (Vec::new(), Vec::new());
        for (kind, statements) in drawn(&plan, Postgres::DIALECT, 200) {
            if kind == 0 {
                // take: amount, id, n; book: id, why, amount, n
                let [take, book, again] = &statements[..] else { panic!("{statements:?}") };
                prop_assert_eq!((&take[0], &take[1]), (&book[2], &book[0]));
                prop_assert_eq!(&take[..2], &again[..2]);
                ids.push(take[1].clone());
                own.push(take[2] != again[2]);
            } else {
                prop_assert!(statements[0][0].starts_with('-'), "a sequence of its own: {:?}", statements);
            }
        }
        ids.dedup();
        prop_assert!(ids.len() > 50 && own.iter().any(|differ| *differ));
    }

    #[test]
    fn the_work_depends_on_neither_handle_nor_server(seed in any::<u32>()) {
        let mut plan = plan();
        plan["seed"] = json!(seed);
        let expected = drawn(&plan, Postgres::DIALECT, 50);
        for handle in ["unnamed", "named", "per-use", "left"] {
            plan["handle"] = json!(handle);
            prop_assert_eq!(&drawn(&plan, Mysql::DIALECT, 50), &expected);
        }
        // as literals: the values that have no quotes, wherever they are
        plan["parameters"] = json!("none");
        plan["handle"] = json!("left");
        for ((kind, texts), (like, values)) in drawn(&plan, Mysql::DIALECT, 50).iter().zip(&expected) {
            prop_assert_eq!(kind, like);
            for (text, values) in texts.iter().zip(values) {
                for value in values {
                    let value = value.replace('\'', "''");
                    prop_assert!(text[0].contains(&value), "{} in {}", value, text[0]);
                }
            }
        }
    }

    #[test]
    fn a_shared_value_has_the_distribution_of_a_parameter(seed in any::<u32>(), kind in 0usize..4) {
        let generator = [
            json!({"kind": "uniform", "low": -5, "high": 1u64 << 40}),
            json!({"kind": "zipf", "low": 1, "high": 1000, "exponent": 1.1}),
            json!({"kind": "text", "length": 5}),
            json!({"kind": "choice", "values": ["a", 2, true]}),
        ][kind].clone();
        let mut own = plan();
        own["seed"] = json!(seed);
        own["statements"] = json!([{"name": "s", "sql": "select :x", "parameters": {"x": generator}}]);
        own["transactions"] = json!([{"name": "t", "weight": 1, "statements": ["s"]}]);
        let mut shared = own.clone();
        shared["statements"][0]["parameters"] = json!({});
        shared["transactions"][0]["values"] = json!({"x": generator});
        // the very same numbers: nothing else is drawn between
        prop_assert_eq!(drawn(&own, Postgres::DIALECT, 100), drawn(&shared, Postgres::DIALECT, 100));
    }
}

#[test]
fn a_value_that_is_missing_given_twice_or_unused_is_refused_by_its_field() {
    let one = json!({"kind": "uniform", "low": 1, "high": 9});
    for (path, put, cause) in [
        (
            "/transactions/1/values",
            json!({"id": one, "amount": one}),
            "statements.book: `:why` has no entry under parameters, nor under values of the transaction `refund`",
        ),
        (
            "/statements/0/parameters",
            json!({"id": one, "n": one}),
            "transactions.pay.values.id: the statement `take` has its own generator for `:id` under parameters",
        ),
        (
            "/transactions/0/statements",
            json!(["take"]),
            "transactions.pay.values.why: has no effect: no statement of the transaction contains `:why`",
        ),
        (
            "/transactions/0/values/id",
            json!({"kind": "uniform", "low": 2, "high": 1}),
            "transactions.pay.values.id: low 2 is above high 1",
        ),
        ("/parameters", json!("none"), "parameters: handle `named` prepares a text once, with the literals"),
        ("/statements/1/sql", json!("insert :id :why :amount :n :m"), "statements.book: `:m` has no entry"),
    ] {
        let refused = refused(path, put);
        assert!(refused.starts_with(cause), "{path}: {refused}");
    }
}

#[test]
fn drawing_and_writing_allocate_nothing_once_buffers_are_large_enough() {
    for handle in ["named", "per-use"] {
        let mut plan = plan();
        plan["handle"] = json!(handle);
        assert_eq!((allocations::<Postgres>(&plan), allocations::<Mysql>(&plan)), (0, 0), "{handle}");
    }
}

/// Of a thousand transactions, after a hundred.
fn allocations<P: Protocol>(plan: &Value) -> u64 {
    let work = work(plan, P::DIALECT);
    let (mut draw, mut dialogue) = (Draw::new(&work, 0), P::Dialogue::new(&work));
    let mut out = Vec::with_capacity(1 << 16);
    let mut before = 0;
    for number in 0..1100 {
        if number == 100 {
            before = ALLOCATIONS.get();
        }
        let kind = draw.transaction(&work);
        draw.begin(&work, kind);
        for statement in &work.transactions[kind].statements {
            out.clear();
            draw.statement(&work, *statement);
            dialogue.begin(&work, &draw, &mut out);
        }
    }
    ALLOCATIONS.get() - before
}
