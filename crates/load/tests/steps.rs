//! Steps of transactions: the way through branches and loops, values, errors by their field.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use proptest::prelude::*;
use serde_json::{Value, json};
use steelyard_load::plan::Plan;
use steelyard_load::protocol::postgres::Postgres;
use steelyard_load::protocol::{Dialogue, Protocol};
use steelyard_load::statements::draw::Draw;
use steelyard_load::statements::walk::{Move, Walk};
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

fn plan(steps: Value) -> Value {
    json!({
        "server": {"host": "/s", "port": 5432, "user": "u", "password": null, "database": "d",
                   "tls": "disable", "ca_file": null},
        "text": "identical", "distinct_texts": 1, "parameters": "client", "handle": "named",
        "statements": [
            {"name": "line", "sql": "insert into line values (:n, :item)"},
            {"name": "count", "sql": "select count(*) as c from line"},
            {"name": "use", "sql": "select :c"},
        ],
        "transactions": [{"name": "t", "weight": 1, "steps": steps}, {"name": "all", "weight": 1, "steps": [
            {"do": "set", "value": "n", "to": 1}, {"do": "set", "value": "item", "to": 1},
            {"do": "set", "value": "c", "to": 1}, {"do": "statement", "name": "line"}]}],
        "arrival": {"kind": "closed", "think_ms": 0, "think": "fixed"},
        "points": [1], "warm_up_s": 0, "measure_s": 1, "cool_down_s": 0,
        "deadline_ms": 100, "threads": 1, "seed": 1,
    })
}

fn work(steps: Value) -> Work {
    Work::new(Plan::parse(&plan(steps).to_string()).unwrap(), Postgres::DIALECT).unwrap()
}

fn refused(plan: &Value) -> String {
    let made = Plan::parse(&plan.to_string()).and_then(|plan| Work::new(plan, Postgres::DIALECT));
    made.err().map(|error| error.to_string()).unwrap_or_default()
}

/// Values of the statement that was drawn.
fn bound(work: &Work, draw: &Draw) -> Vec<String> {
    draw.bound(work)
        .map(|value| {
            let mut out = Vec::new();
            value.write(&mut out);
            String::from_utf8(out).unwrap()
        })
        .collect()
}

/// The way through the first transaction, without rows of a server.
fn way(work: &Work, draw: &mut Draw) -> Result<Vec<String>, String> {
    let mut walk = Walk::default();
    let mut way = Vec::new();
    for _ in 0..10_000 {
        match walk.step(work, &work.transactions[0], draw)? {
            Move::Statement => {
                let name = &work.plan.statements[draw.statement].name;
                way.push(format!("{name} {}", bound(work, draw).join(" ")));
            }
            Move::End => return Ok(way),
            other => way.push(format!("{other:?}")),
        }
    }
    Err("a long way".into())
}

fn walked(steps: Value) -> Result<Vec<String>, String> {
    let work = work(steps);
    let mut draw = Draw::new(&work, 0);
    draw.begin(&work, 0);
    way(&work, &mut draw)
}

fn line() -> Value {
    json!({"do": "statement", "name": "line"})
}

#[test]
fn a_loop_executes_its_steps_for_each_pass_and_a_branch_chooses() {
    let steps = json!([
        {"do": "begin"},
        {"do": "loop", "times": 3, "index": "n", "steps": [
            {"do": "if", "condition": ["eq", "n", 2], "then": [{"do": "set", "value": "item", "to": -1}],
             "else": [{"do": "set", "value": "item", "to": ["mul", "n", 10]}]},
            line(),
        ]},
        {"do": "loop", "times": 0, "steps": [line()]},
        {"do": "wait", "ms": 1.5},
        {"do": "commit"},
    ]);
    assert_eq!(
        walked(steps).unwrap(),
        ["Begin", "line 1 10", "line 2 -1", "line 3 30", "Wait { ns: 1500000 }", "Commit"]
    );
}

#[test]
fn loops_within_loops_keep_their_own_passes() {
    let steps = json!([{"do": "loop", "times": 2, "index": "n", "steps": [
        {"do": "loop", "times": "n", "index": "item", "steps": [line()]}]}]);
    assert_eq!(walked(steps).unwrap(), ["line 1 1", "line 2 1", "line 2 2"]);
    // an index of the same name does not keep the outer loop from its end
    let steps = json!([{"do": "set", "value": "n", "to": 0}, {"do": "loop", "times": 3, "index": "item", "steps": [
        {"do": "loop", "times": 1, "index": "item", "steps": [line()]}]}]);
    assert_eq!(walked(steps).unwrap(), ["line 0 1"; 3]);
}

#[test]
fn a_text_is_picked_by_its_number() {
    let steps = json!([{"do": "set", "value": "n", "to": 2}, {"do": "pick", "value": "item",
        "from": ["BAR", "OUGHT", "ABLE"], "number": ["add", "n", 1]}, line()]);
    assert_eq!(walked(steps).unwrap(), ["line 2 ABLE"]);
}

#[test]
fn steps_that_name_the_same_list_draw_distinct_values() {
    let draw = |value: &str, list: &str| {
        let from = json!({"kind": "uniform", "low": 1, "high": 2});
        json!({"do": "draw", "value": value, "from": from, "distinct": list})
    };
    let shared = json!([draw("n", "both"), draw("item", "both"), line()]);
    let apart = json!([draw("n", "one"), draw("item", "other"), line()]);
    let equal = |steps: Value| {
        let work = work(steps);
        let mut drawn = Draw::new(&work, 0);
        (0..100)
            .filter(|_| {
                drawn.begin(&work, 0);
                let found = way(&work, &mut drawn).unwrap();
                found == ["line 1 1"] || found == ["line 2 2"]
            })
            .count()
    };
    assert_eq!(equal(shared), 0);
    assert!((20..80).contains(&equal(apart)));
}

#[test]
fn a_rollback_ends_the_transaction() {
    let steps = json!([{"do": "begin"}, {"do": "rollback"}, {"do": "set", "value": "n", "to": 1},
                       {"do": "set", "value": "item", "to": 1}, line()]);
    assert_eq!(walked(steps).unwrap(), ["Begin", "Rollback"]);
}

#[test]
fn what_fails_at_a_step_says_why() {
    let none = json!({"do": "statement", "name": "use"});
    let take = json!({"do": "statement", "name": "count", "take": {"c": "c"}});
    let set = |to: Value| json!({"do": "set", "value": "n", "to": to});
    let pick = |number: i64| {
        json!({"do": "loop", "times": 1, "steps": [
        {"do": "pick", "value": "n", "from": ["BAR", "OUGHT", "ABLE"], "number": number}, take]})
    };
    for (steps, cause) in [
        (json!([take, none]), "`:c` has no value here"),
        (json!([take, set(json!("c"))]), "`:c`: no statement has given it a value"),
        (json!([set(json!(["div", 1, 0])), take]), "division by zero"),
        (json!([{"do": "loop", "times": 1_000_000, "steps": [take]}]), "a loop has 1000000 passes"),
        (json!([{"do": "wait", "ms": -1}, take]), "cannot wait -1 ms"),
        (json!([{"do": "fail", "message": "one row"}, take]), "one row"),
        (
            json!([{"do": "loop", "times": 10000, "steps": [
                {"do": "loop", "times": 10000, "steps": [set(json!(1))]}]}, take]),
            "100000 steps without a statement",
        ),
        (
            json!([{"do": "loop", "times": 4, "steps": [{"do": "draw", "value": "n", "distinct": "n",
                "from": {"kind": "uniform", "low": 1, "high": 3}}]}, take]),
            "no further distinct value",
        ),
        (json!([pick(4)]), "there is no text 4 of 3"),
        (json!([pick(0)]), "there is no text 0 of 3"),
    ] {
        let failed = walked(steps.clone()).err().unwrap_or_default();
        assert!(failed.starts_with(cause), "{steps}: {failed}");
    }
}

#[test]
fn the_same_values_come_again_when_a_transaction_is_executed_again() {
    let draw =
        |value: &str, from: Value| json!({"do": "draw", "value": value, "from": from, "distinct": value});
    let work = work(json!([{"do": "loop", "times": 5, "steps": [
        draw("n", json!({"kind": "uniform", "low": 1, "high": 100})),
        draw("item", json!({"kind": "sequence", "start": 1, "step": 1})),
        line(),
    ]}]));
    let (mut one, mut other) = (Draw::new(&work, 0), Draw::new(&work, 1));
    for number in 0..20 {
        one.begin(&work, 0);
        let first = way(&work, &mut one).unwrap();
        // another client takes numbers of the sequence
        other.begin(&work, 0);
        let others = way(&work, &mut other).unwrap();
        one.again(&work, 0);
        assert_eq!(way(&work, &mut one).unwrap(), first, "{number}");
        assert!(first != others);
    }
}

#[test]
fn steps_that_cannot_be_executed_are_refused_by_their_field() {
    let (one, good) = (json!({"kind": "uniform", "low": 1, "high": 9}), json!([line()]));
    let give =
        [json!({"do": "set", "value": "n", "to": 1}), json!({"do": "set", "value": "item", "to": 1}), line()];
    let with = |step: Value| {
        let mut steps = give.to_vec();
        steps.push(step);
        json!(steps)
    };
    assert_eq!(refused(&plan(json!(give))), "");
    for (path, put, cause) in [
        ("/transactions/0/steps", good, "statements.line: `:n` has no entry under parameters"),
        ("/transactions/0/steps", json!([]), "transactions.t: has no statement"),
        ("/transactions/0/steps", json!([{"do": "begin"}]), "transactions.t: has no statement"),
        (
            "/transactions/0/steps",
            with(json!({"do": "if", "condition": 1, "then": [{"do": "statement", "name": "x"}]})),
            "transactions.t.steps.3.then.0: no statement `x`",
        ),
        (
            "/transactions/0/steps",
            with(json!({"do": "loop", "times": ["add", 1, "y"], "steps": []})),
            "transactions.t.steps.3.times: no step gives `:y` a value",
        ),
        (
            "/transactions/0/steps",
            with(json!({"do": "draw", "value": "n", "from": {"kind": "uniform", "low": 2, "high": 1}})),
            "transactions.t.steps.3.from: low 2 is above high 1",
        ),
        ("/transactions/0/steps", with(json!({"do": "jump"})), "plan: unknown variant `jump`"),
        (
            "/transactions/0",
            json!({"name": "t", "weight": 1, "steps": give, "statements": ["count"]}),
            "transactions.t: has statements and steps",
        ),
        (
            "/transactions/0",
            json!({"name": "t", "weight": 1, "steps": give, "values": {"n": one}}),
            "transactions.t.values.n: a step gives it a value as well",
        ),
        (
            "/transactions/0",
            json!({"name": "t", "weight": 1, "statements": ["count"], "keying_ms": -1}),
            "transactions.t.keying_ms: must be 0 to",
        ),
    ] {
        let mut plan = plan(json!(give));
        *plan.pointer_mut(path).unwrap() = put;
        let refused = refused(&plan);
        assert!(refused.starts_with(cause), "{path}: {refused}");
    }
}

#[test]
fn a_deck_needs_whole_weights_and_pauses_a_closed_loop() {
    let count = json!([{"do": "statement", "name": "count"}]);
    for (changes, cause) in [
        (json!({"mix": "deck", "weight": 1.5}), "transactions.t: weight must be a whole number"),
        (json!({"mix": "deck", "weight": 20_000}), "mix: a deck has at most 10000 cards"),
        (
            json!({"think_ms": 1, "arrival": {"kind": "open", "rate_per_s": 1, "spacing": "even"}}),
            "transactions: keying and think times need a closed loop",
        ),
    ] {
        let mut plan = plan(count.clone());
        for (key, value) in changes.as_object().unwrap() {
            let of = if ["weight", "think_ms"].contains(&key.as_str()) {
                &mut plan["transactions"][0]
            } else {
                &mut plan
            };
            of[key] = value.clone();
        }
        let refused = refused(&plan);
        assert!(refused.starts_with(cause), "{refused}");
    }
}

#[test]
fn steps_allocate_nothing_once_buffers_are_large_enough() {
    let work = work(json!([
        {"do": "pick", "value": "c", "from": ["BAR", "OUGHT"], "number": ["random", 1, 2]},
        {"do": "loop", "times": 5, "index": "n", "steps": [
            {"do": "draw", "value": "item", "distinct": "items",
             "from": {"kind": "nurand", "a": 8191, "low": 1, "high": 100000, "constant": 42}},
            {"do": "if", "condition": ["lt", ["mod", "item", 2], 1], "then": [line()],
             "else": [{"do": "statement", "name": "use"}]},
        ]},
    ]));
    let (mut draw, mut dialogue) = (Draw::new(&work, 0), <Postgres as Protocol>::Dialogue::new(&work));
    let mut out = Vec::with_capacity(1 << 16);
    let mut before = 0;
    for number in 0..1100 {
        if number == 100 {
            before = ALLOCATIONS.get();
        }
        draw.begin(&work, 0);
        let mut walk = Walk::default();
        while walk.step(&work, &work.transactions[0], &mut draw).unwrap() == Move::Statement {
            out.clear();
            dialogue.begin(&work, &draw, &mut out);
        }
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
}

fn steps() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"do": "statement", "name": "line"})),
        Just(json!({"do": "statement", "name": "count", "take": {"c": "c"}, "rows": "n"})),
        Just(json!({"do": "statement", "name": "use"})),
        any::<i64>().prop_map(|number| json!({"do": "set", "value": "n", "to": ["add", number, 1]})),
        Just(json!({"do": "set", "value": "item", "to": ["random", 1, "n"]})),
        Just(json!({"do": "rollback"})),
        Just(json!({"do": "wait", "ms": "n"})),
    ];
    let list = leaf.prop_recursive(4, 24, 3, |inner| {
        let block = proptest::collection::vec(inner, 0..3);
        (block.clone(), block, -1i64..5).prop_map(|(one, two, number)| {
            if number % 2 == 0 {
                json!({"do": "loop", "times": number, "index": "item", "steps": one})
            } else {
                json!({"do": "if", "condition": ["gt", "n", number], "then": one, "else": two})
            }
        })
    });
    proptest::collection::vec(list, 1..6).prop_map(Value::Array)
}

proptest! {
    #[test]
    fn any_steps_are_refused_or_come_to_an_end(steps in steps()) {
        let plan = plan(steps);
        if let Ok(work) = Plan::parse(&plan.to_string()).and_then(|plan| Work::new(plan, Postgres::DIALECT)) {
            let mut draw = Draw::new(&work, 0);
            for _ in 0..3 {
                draw.begin(&work, 0);
                let _ = way(&work, &mut draw);
            }
        }
    }
}

fn taking(takes: &Value, clients: usize) -> Value {
    let send = json!([
        {"do": "name", "value": "item", "prefix": "S", "number": 42, "digits": 6},
        {"do": "set", "value": "n", "to": 7},
        {"do": "set", "value": "c", "to": 1},
        line(),
        {"do": "send", "queue": "market", "values": ["n", "item"], "after_ms": 20},
        {"do": "send", "queue": "market", "values": ["n", "item"]},
    ]);
    let mut plan = plan(send);
    plan["points"] = json!([3]);
    plan["transactions"].as_array_mut().unwrap().push(json!({"name": "result", "weight": 0,
        "clients": clients, "takes": takes, "steps": [line()]}));
    plan
}

#[test]
fn a_message_is_taken_when_it_is_due_by_a_client_that_does_nothing_else() {
    let plan = taking(&json!([{"queue": "market", "into": ["n", "item"]}]), 2);
    let work = Work::new(Plan::parse(&plan.to_string()).unwrap(), Postgres::DIALECT).unwrap();
    assert_eq!((work.own(0), work.own(1), work.own(2)), (Some(2), Some(2), None));
    let mut draw = Draw::new(&work, 2);
    assert!((0..100).all(|_| draw.transaction(&work) != 2));
    let takes = &work.transactions[2].takes;
    let now = work.began_ns;
    assert_eq!(work.queues.take(takes, now, draw.values_mut()), Err(now + 1_000_000));
    draw.begin(&work, 0);
    assert_eq!(way(&work, &mut draw).unwrap(), ["line 7 S000042"]);
    let mut market = Draw::new(&work, 0);
    let later = now + 10_000_000_000;
    let first = work.queues.take(takes, later, market.values_mut()).unwrap();
    market.begin(&work, 2);
    let mut walk = Walk::default();
    assert_eq!(walk.step(&work, &work.transactions[2], &mut market), Ok(Move::Statement));
    assert_eq!(bound(&work, &market), ["7", "S000042"]);
    // executed again, it has the same message
    market.again(&work, 2);
    let mut walk = Walk::default();
    assert_eq!(walk.step(&work, &work.transactions[2], &mut market), Ok(Move::Statement));
    assert_eq!(bound(&work, &market), ["7", "S000042"]);
    let second = work.queues.take(takes, later, market.values_mut()).unwrap();
    assert!((19_000_000..30_000_000).contains(&(second - first)), "{}", second - first);
    // not before it is due
    let mut draw = Draw::new(&work, 2);
    draw.begin(&work, 0);
    way(&work, &mut draw).unwrap();
    assert!(work.queues.take(takes, work.began_ns, market.values_mut()).is_err());
}

#[test]
fn several_messages_are_taken_together_and_those_that_lack_are_null() {
    let takes = json!([{"queue": "market", "into": ["a", "b"], "count": 4, "least": 2}]);
    let mut plan = taking(&takes, 1);
    plan["transactions"][2]["steps"] = json!([
        {"do": "set", "value": "n", "to": ["add", "a2", 1]}, {"do": "set", "value": "item", "to": "a1"}, line(),
        {"do": "set", "value": "n", "to": ["case", ["is-null", "a4"], 0, 1]}, line(),
    ]);
    let work = Work::new(Plan::parse(&plan.to_string()).unwrap(), Postgres::DIALECT).unwrap();
    let mut draw = Draw::new(&work, 2);
    draw.begin(&work, 0);
    way(&work, &mut draw).unwrap();
    let mut market = Draw::new(&work, 0);
    work.queues
        .take(&work.transactions[2].takes, work.began_ns + 10_000_000_000, market.values_mut())
        .unwrap();
    market.begin(&work, 2);
    let mut walk = Walk::default();
    for expected in [["8", "7"], ["0", "7"]] {
        assert_eq!(walk.step(&work, &work.transactions[2], &mut market), Ok(Move::Statement));
        assert_eq!(bound(&work, &market), expected);
    }
}

#[test]
fn messages_that_cannot_work_are_refused() {
    let one = json!([{"queue": "market", "into": ["n", "item"]}]);
    for (takes, clients, cause) in [
        (&one, 0, "needs clients of its own"),
        (&one, 3, "needs more than 3"),
        (
            &json!([{"queue": "other", "into": ["n", "item"]}]),
            1,
            "sends to a queue that no transaction takes",
        ),
        (
            &json!([{"queue": "market", "into": ["n", "item"], "least": 0}]),
            1,
            "needs some message to begin with",
        ),
        (&json!([{"queue": "market", "into": [], "count": 2}]), 1, "needs some message to begin with"),
        (&json!([]), 1, "sends to a queue that no transaction takes"),
    ] {
        let refused = refused(&taking(takes, clients));
        assert!(refused.contains(cause), "{refused}");
    }
    let mut plan = taking(&one, 1);
    plan["turns"] = json!(true);
    assert!(refused(&plan).contains("late by the turns of others"));
    let mut plan = taking(&one, 1);
    plan["mix"] = json!("deck");
    assert_eq!(refused(&plan), "");
}
