//! The lives of single threads, worked out by hand from the tables.

mod common;

use common::{finished, fixed, free_machine, hog, plan};
use serde_json::{Value, json};
use steelyard_dispatch::sim::Sim;
use steelyard_dispatch::tables::TsTable;
use steelyard_dispatch::tables::class::Reason;
use steelyard_dispatch::tables::dispadmin::{parse_ts, print_ts};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

/// Level, quantum in ms and time of each change of the first group's thread.
fn life(sim: &Sim) -> Vec<(u8, u64, u64)> {
    let changes = sim.trace.changes.iter().filter(|change| change.thread == 0);
    changes.map(|change| (change.to, change.quantum_ticks as u64 * 10, change.t_ns)).collect()
}

fn cpu_bound(table: &str, from: u8) -> Vec<(u8, u64, u64)> {
    let mut group = hog("hog", 1);
    group["priority"] = json!(from);
    let mut request = plan(free_machine(1), table, json!([group]), 5.0);
    request["update_s"] = json!(0.0);
    let life = life(&finished(&request));
    let shown: Vec<String> = life.iter().map(|(level, ms, _)| format!("{level}:{ms}")).collect();
    println!("{table} from {from}: {}", shown.join(" "));
    life
}

#[track_caller]
fn falls(table: &str, from: u8, expected: &[(u8, u64)], zero_after_ms: u64) {
    let life = cpu_bound(table, from);
    let shown: Vec<(u8, u64)> = life.iter().map(|(level, ms, _)| (*level, *ms)).collect();
    assert_eq!(shown[..expected.len()], *expected);
    let zero = life.iter().find(|(level, ..)| *level == 0).unwrap();
    assert_eq!(zero.2, zero_after_ms * MS);
    assert_eq!(life[expected.len()].0, 0);
}

#[test]
fn a_cpu_bound_thread_falls_through_the_standard_table_in_620_ms() {
    falls("standard", 59, &[(59, 20), (49, 40), (39, 80), (29, 120), (19, 160), (9, 200)], 620);
}

#[test]
fn a_cpu_bound_thread_falls_through_the_extended_table_in_3300_ms() {
    let expected =
        [(59, 340), (49, 340), (39, 360), (29, 360), (19, 380), (9, 380), (4, 380), (2, 380), (1, 380)];
    falls("extended", 59, &expected, 3300);
}

#[test]
fn a_new_thread_falls_from_29() {
    falls("standard", 29, &[(29, 120), (19, 160), (9, 200)], 480);
    falls("extended", 29, &[(29, 360), (19, 380), (9, 380), (4, 380), (2, 380), (1, 380)], 2260);
}

#[test]
fn at_13_it_used_its_slice_next_6_under_extended_3_under_standard() {
    falls("standard", 13, &[(13, 160), (3, 200)], 360);
    falls("extended", 13, &[(13, 380), (6, 380), (3, 380), (1, 380)], 1520);
}

/// Off the CPU at each update, on it at no tick.
fn io_bound(table: &str, seconds: f64) -> Vec<(u8, u64)> {
    let group = json!({"name": "io", "count": 1, "cpu": fixed(10.0), "sleep": fixed(7290.0)});
    let sim = finished(&plan(free_machine(1), table, json!([group]), seconds));
    assert_eq!(sim.groups[0].counts.expiries, 0);
    life(&sim).iter().map(|(level, _, at)| (*level, at / S)).collect()
}

#[test]
fn an_io_bound_thread_rises_at_once_under_standard() {
    assert_eq!(io_bound("standard", 10.0), [(29, 0), (52, 1), (59, 2)]);
}

#[test]
fn an_io_bound_thread_rises_in_a_minute_under_extended() {
    let life = io_bound("extended", 61.0);
    let expected: Vec<(u8, u64)> =
        [(29, 0)].into_iter().chain((1..=20).map(|step| (39 + step as u8, 3 * step))).collect();
    assert_eq!(life, expected);
    println!("extended, I/O-bound: {life:?}");
}

/// The first thread never gets the CPU: a real-time thread has it.
fn starved(table: &str, from: u8) -> (u8, u64) {
    let mut victim = hog("victim", 1);
    victim["priority"] = json!(from);
    victim["arrive"] = json!({"at_s": 0.5});
    let mut king = hog("king", 1);
    king["class"] = json!("RT");
    let sim = finished(&plan(free_machine(1), table, json!([victim, king]), 4.0));
    let raised = sim.trace.changes.iter().find(|change| change.reason == Reason::Waited).unwrap();
    println!("{table}, starved at {from}: {} after {} s", raised.to, raised.t_ns / S);
    (raised.to, raised.t_ns / S)
}

#[test]
fn a_starved_thread_is_raised_at_the_next_update_under_standard() {
    assert_eq!(starved("standard", 0), (50, 1));
}

#[test]
fn a_starved_thread_is_raised_at_the_third_update_under_extended() {
    assert_eq!(starved("extended", 0), (40, 3));
    assert_eq!(starved("extended", 39), (40, 3));
    assert_eq!(starved("extended", 45), (46, 3));
}

fn running_at_0(table: &str) -> Vec<(u8, u64)> {
    let mut group = hog("hog", 1);
    group["priority"] = json!(0);
    let life = life(&finished(&plan(free_machine(1), table, json!([group]), 3.5)));
    life.iter().map(|(level, _, at)| (*level, at / MS)).collect()
}

#[test]
fn a_running_thread_makes_a_sawtooth_of_one_second_under_standard() {
    let life = running_at_0("standard");
    let mut expected = vec![(0, 0)];
    for second in 1..=3u64 {
        let down = [(50, 0), (40, 40), (30, 80), (20, 160), (10, 280), (0, 440)];
        // before the next update it uses two quanta up at 0; the third is cut by the update
        let again = [(0, 640), (0, 840)];
        expected.extend(down.into_iter().chain(again).map(|(level, ms)| (level, second * 1000 + ms)));
    }
    // the first second: five quanta at 0, the last of which ends at the update
    expected.splice(0..1, (0..=5).map(|quantum| (0, 200 * quantum)));
    expected.retain(|(_, ms)| *ms < 3500);
    assert_eq!(life, expected);
}

#[test]
fn a_running_thread_is_never_raised_under_extended() {
    assert!(running_at_0("extended").iter().all(|(level, _)| *level == 0));
}

#[test]
fn with_no_more_runnable_threads_than_cpus_the_table_causes_no_switch() {
    for table in ["standard", "extended"] {
        let sim = finished(&plan(free_machine(8), table, json!([hog("hog", 8)]), 20.0));
        let counts = &sim.groups[0].counts;
        assert!(counts.expiries > 0);
        assert_eq!((counts.involuntary, counts.quantum_switches, counts.migrations), (0, 0, 0));
        let cpu_ns: Vec<u64> = sim.threads.iter().map(|thread| thread.times.cpu_ns).collect();
        assert_eq!(cpu_ns, [20 * S; 8]);
    }
}

#[test]
fn with_more_threads_than_cpus_the_quantum_decides_how_often_they_switch() {
    let switches = ["standard", "extended"].map(|table| {
        let sim = finished(&plan(free_machine(8), table, json!([hog("hog", 16)]), 20.0));
        sim.groups[0].counts.quantum_switches
    });
    assert!(switches[0] > switches[1], "{switches:?}");
}

#[test]
fn the_tables_own_text_gives_the_same_life() {
    let text: Value = json!(print_ts(&TsTable::extended(), 100));
    assert_eq!(parse_ts(text.as_str().unwrap()).unwrap(), TsTable::extended());
    assert_eq!(cpu_bound(text.as_str().unwrap(), 29), cpu_bound("extended", 29));
}
