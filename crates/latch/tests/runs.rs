//! Whole runs, by threads and by processes, killed and not.

use serde_json::Value;
use steelyard_engine::listener::Listener;
use steelyard_latch::engine::run;
use steelyard_latch::plan::Plan;
use steelyard_latch::registry::PROTOCOLS;

/// Kills workers one after another while the run measures.
struct Killer {
    victims: Vec<usize>,
    pids: Vec<i32>,
    measuring: bool,
    ticks: usize,
}

impl Listener for Killer {
    fn event(&mut self, line: &str) -> bool {
        let event: Value = serde_json::from_str(line).unwrap();
        if event["event"] == "workers" {
            self.pids =
                event["pids"].as_array().unwrap().iter().map(|pid| pid.as_i64().unwrap() as i32).collect();
        }
        self.measuring |= event["phase"] == "measure";
        true
    }

    fn go_on(&mut self) -> bool {
        self.ticks += usize::from(self.measuring);
        if self.ticks % 6 == 5
            && let Some(victim) = self.victims.pop()
        {
            // SAFETY: the pid is a child of this process that nobody has reaped but after its death.
            unsafe { libc::kill(self.pids[victim], libc::SIGKILL) };
        }
        true
    }
}

fn plan(protocol: &str, workers: &str, extra: &str) -> Plan {
    let json = format!(
        r#"{{"protocol": "{protocol}", "workers": "{workers}", "warm_up_s": 0.02, "measure_s": 0.25,
        "cool_down_s": 0, "seed": 1, "keys": 64 {extra}}}"#
    );
    Plan::parse(&json).unwrap()
}

fn result(plan: &Plan, victims: &[usize]) -> Value {
    let mut killer = Killer { victims: victims.to_vec(), pids: Vec::new(), measuring: false, ticks: 0 };
    serde_json::from_str(&run(plan, &mut killer).unwrap()).unwrap()
}

fn sum(column: &Value) -> u64 {
    column.as_array().unwrap().iter().map(|value| value.as_u64().unwrap()).sum()
}

/// Claims that hold of every run in which nobody died.
fn check(result: &Value, name: &str) {
    let errors = result["errors"]["message"].as_array().unwrap();
    assert!(errors.is_empty(), "{name}: {errors:?}");
    let latches = &result["latches"];
    let [gets, misses, spin_gets, sleeps] =
        ["gets", "misses", "spin_gets", "sleeps"].map(|c| sum(&latches[c]));
    assert!(misses <= gets && spin_gets <= misses, "{name}");
    assert!(sleeps + spin_gets >= misses, "{name}: recurrent sleeps are never negative");
    assert_eq!(result["engine"]["guarded"], result["engine"]["exclusive_gets"], "{name}");
    let (by_second, by_client) = (&result["throughput"], sum(&result["clients"]["transactions"]));
    let seconds = by_second["second"].as_array().unwrap().iter().map(|second| second.as_i64().unwrap());
    let measured: u64 = seconds
        .zip(by_second["count"].as_array().unwrap())
        .filter(|(second, _)| *second >= 0)
        .map(|(_, count)| count.as_u64().unwrap())
        .sum();
    assert_eq!(measured, by_client, "{name}");
    assert!(measured > 0, "{name} did nothing");
    // each worker's last batch may have been looked up and not counted
    let workers = result["clients"]["client"].as_array().unwrap().len() as u64;
    assert!(gets >= 2 * measured && gets <= 2 * measured + 2 * 17 * workers, "{name}: {gets} {measured}");
}

#[test]
fn every_protocol_keeps_its_counts_by_threads() {
    for protocol in PROTOCOLS {
        let name = protocol.facts.name;
        check(&result(&plan(name, "threads", r#", "points": [1, 3], "read_share": 0.7"#), &[]), name);
    }
}

#[test]
fn every_protocol_that_says_so_works_between_processes() {
    for protocol in PROTOCOLS.iter().filter(|protocol| protocol.facts.processes) {
        let name = protocol.facts.name;
        check(&result(&plan(name, "processes", r#", "points": [2], "read_share": 0.7"#), &[]), name);
    }
}

#[test]
fn a_protocol_of_threads_is_refused_between_processes_by_name() {
    for protocol in PROTOCOLS.iter().filter(|protocol| !protocol.facts.processes) {
        let name = protocol.facts.name;
        let json = format!(
            r#"{{"protocol": "{name}", "workers": "processes", "points": [2], "warm_up_s": 0, "measure_s": 1,
            "cool_down_s": 0, "seed": 1}}"#
        );
        let refused = Plan::parse(&json).unwrap_err().to_string();
        assert!(refused.starts_with("workers:") && refused.contains(name) && refused.contains("oracle-x"));
    }
}

#[test]
fn child_latches_count_each_for_itself_and_own_keys_never_miss() {
    let extra = r#", "points": [2], "children": 8, "affinity": "own""#;
    let result = result(&plan("oracle-x", "processes", extra), &[]);
    check(&result, "oracle-x");
    assert_eq!(result["latches"]["latch"].as_array().unwrap().len(), 8);
    assert_eq!(result["latches"]["latch"][3], "oracle-x#3");
    assert_eq!(sum(&result["latches"]["misses"]), 0);
}

#[test]
fn counters_that_are_off_stay_zero_while_lookups_are_counted() {
    let result = result(&plan("oracle-x", "threads", r#", "points": [2], "counters": false"#), &[]);
    assert_eq!(sum(&result["latches"]["gets"]), 0);
    assert!(sum(&result["clients"]["transactions"]) > 0);
}

#[test]
fn the_planned_hold_is_the_measured_one() {
    let extra = r#", "points": [1], "hold_ns": 20000, "think_ns": 20000"#;
    let result = result(&plan("oracle-x", "threads", extra), &[]);
    assert!(sum(&result["latch_histograms"]["count"]) > 0);
    let lookups = sum(&result["clients"]["transactions"]);
    // two holds and a think time a lookup: no more than that fit, however busy the machine
    assert!(lookups <= 350_000_000 / 60_000 * 11 / 10, "{lookups}");
}

/// Holds are long and without pauses, so a worker that is killed either holds the latch or waits for it.
fn killed(protocol: &str, read_share: f64) -> Value {
    let json = format!(
        r#"{{"protocol": "{protocol}", "workers": "processes", "points": [4], "hold_ns": 3000000,
        "read_share": {read_share}, "warm_up_s": 0, "measure_s": 0.8, "cool_down_s": 0, "seed": 1, "keys": 64}}"#
    );
    result(&Plan::parse(&json).unwrap(), &[2, 1, 0])
}

#[test]
fn three_killed_of_four_leave_the_last_one_working_where_the_protocol_recovers() {
    for protocol in PROTOCOLS.iter().filter(|protocol| protocol.facts.processes && protocol.facts.mends) {
        for read_share in [0.0, 0.5] {
            let name = protocol.facts.name;
            let result = killed(name, read_share);
            let codes = result["errors"]["code"].as_array().unwrap();
            assert_eq!(codes[0], "worker-died-recovered", "{name}: {}", result["errors"]);
            assert_eq!(result["errors"]["count"][0], 3, "{name}: {}", result["errors"]);
            // glibc wakes one waiter: where that one dies while another has the mutex, the last is never woken
            let stuck = &codes[1..];
            assert!(
                stuck.is_empty() || (name == "robust-mutex" && stuck == ["worker-stuck"]),
                "{name}: {}",
                result["errors"]
            );
        }
    }
}

#[test]
fn a_queue_broken_by_a_death_is_reported_and_does_not_hang() {
    // each waits for the seconds after which a run counts as hung
    std::thread::scope(|scope| {
        for name in ["mcs", "cna", "ticket"] {
            scope.spawn(move || {
                let result = killed(name, 0.0);
                let codes = result["errors"]["code"].as_array().unwrap();
                assert!(codes.iter().any(|code| code == "worker-died"), "{name}: {}", result["errors"]);
            });
        }
    });
}

#[test]
fn an_engine_that_waits_for_its_threads_says_that_it_is_alive() {
    struct Hearer(Vec<String>);
    impl Listener for Hearer {
        fn event(&mut self, line: &str) -> bool {
            let event: Value = serde_json::from_str(line).unwrap();
            self.0.push(event["event"].as_str().unwrap().into());
            true
        }
        fn go_on(&mut self) -> bool {
            true
        }
    }
    let mut hearer = Hearer(Vec::new());
    // two gets of 0.6 s by each of two workers: most of it after the end of the point
    let holds = r#", "points": [2], "hold_ns": 600000000, "read_share": 0"#;
    run(&plan("oracle-x", "threads", holds), &mut hearer).unwrap();
    let last_tick = hearer.0.iter().rposition(|event| event == "tick").unwrap();
    assert!(hearer.0[last_tick..].contains(&"alive".into()), "{:?}", hearer.0);
}

#[test]
fn a_stopped_run_leaves_no_process() {
    struct Stopper(Vec<i32>);
    impl Listener for Stopper {
        fn event(&mut self, line: &str) -> bool {
            let event: Value = serde_json::from_str(line).unwrap();
            if event["event"] == "workers" {
                self.0 =
                    event["pids"].as_array().unwrap().iter().map(|p| p.as_i64().unwrap() as i32).collect();
            }
            event["phase"] != "measure"
        }
        fn go_on(&mut self) -> bool {
            true
        }
    }
    let mut stopper = Stopper(Vec::new());
    assert!(run(&plan("mcs", "processes", r#", "points": [3]"#), &mut stopper).is_err());
    assert_eq!(stopper.0.len(), 3);
    for pid in stopper.0 {
        // SAFETY: signal 0 only asks whether the process exists.
        assert_eq!(unsafe { libc::kill(pid, 0) }, -1);
    }
}
