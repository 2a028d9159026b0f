//! What must hold in every simulation, whatever the plan.

mod common;

use common::{exponential, finished, fixed, hog, ready};
use proptest::prelude::*;
use serde_json::{Value, json};
use steelyard_dispatch::machine::queue::IDLE;
use steelyard_dispatch::machine::thread::{NONE, State};
use steelyard_dispatch::sim::Sim;
use steelyard_dispatch::tables::class::Class;

/// Called when everything of one moment has happened.
fn check(sim: &Sim) -> Result<(), String> {
    let mut queued = 0;
    for (number, partition) in sim.topology.partitions.iter().enumerate() {
        let idle = partition.cpus().filter(|cpu| sim.cpus[*cpu as usize].running == NONE).count();
        if idle != sim.partitions[number].idle as usize {
            return Err(format!("{idle} CPUs are idle, {} were counted", sim.partitions[number].idle));
        }
        for cpu in partition.cpus() {
            let on = &sim.cpus[cpu as usize];
            let best = on.queue.highest();
            if idle > 0 && best != IDLE && sim.stealable_at(cpu, best).is_ok() {
                return Err(format!("{} ns: a CPU is idle while CPU {cpu} has work to steal", sim.now_ns));
            }
            let running = if on.running == NONE { IDLE } else { sim.threads[on.running as usize].priority };
            if running < best && !on.surrender {
                return Err(format!("{} ns: CPU {cpu} runs {running} while {best} waits there", sim.now_ns));
            }
            if sim.busy[cpu as usize] != running.max(best) {
                return Err(format!("CPU {cpu}: busy {} but {running}, {best}", sim.busy[cpu as usize]));
            }
            queued += (0..160).map(|priority| on.queue.len_at(priority)).sum::<u32>();
        }
    }
    let runnable = sim.threads.iter().filter(|thread| thread.state == State::Runnable).count();
    if runnable != queued as usize {
        return Err(format!("{runnable} threads are runnable, {queued} are queued"));
    }
    for thread in sim.threads.iter().filter(|thread| thread.state != State::Absent) {
        let range = match thread.standing.class {
            Class::Ts { .. } | Class::Ia { .. } => 0..=59,
            Class::Fx { .. } => 0..=60,
            Class::Rt { .. } => 100..=159,
        };
        if !range.contains(&thread.priority) || thread.priority != thread.standing.priority() {
            return Err(format!("priority {} of {:?}", thread.priority, thread.standing));
        }
    }
    Ok(())
}

fn distribution(zero: bool) -> impl Strategy<Value = Value> {
    prop_oneof![
        (1.0..50_000.0).prop_map(fixed),
        Just(fixed(10_000.0)),
        (1.0..50_000.0).prop_map(exponential),
        (10.0..50_000.0, 0.1..4.0)
            .prop_map(|(mean_us, cv)| json!({"kind": "lognormal", "mean_us": mean_us, "cv": cv})),
        Just(if zero { fixed(0.0) } else { fixed(5e6) }),
    ]
}

fn group() -> impl Strategy<Value = Value> {
    let class = prop_oneof![4 => Just("TS"), 2 => Just("IA"), 1 => Just("FX"), 1 => Just("RT")];
    let sets = prop_oneof![3 => Just(json!(null)), 1 => Just(json!("set"))];
    (
        1..5u32,
        class,
        -20..=19i8,
        distribution(false),
        distribution(true),
        sets,
        0.0..3000.0,
        any::<bool>(),
        0..3,
    )
        .prop_map(|(count, class, nice, cpu, sleep, set, working_set_kib, yes, fork)| {
            json!({
                "count": count, "class": class, "nice": nice, "cpu": cpu, "sleep": sleep, "set": set,
                "working_set_kib": working_set_kib, "foreground": yes,
                "priority": if yes { Some(count * 10) } else { None },
                "fork": if fork == 0 { 0.3 } else { 0.0 },
                "arrive": {"at_s": if yes { 0.0 } else { 0.013 }, "over_s": 0.1},
            })
        })
}

prop_compose! {
    fn any_plan()(
        cpus in 2..7u32, lgroups in 1..3u32, chip in 1..3u32, delay in prop_oneof![Just(0.0), Just(700.0)],
        extended in any::<bool>(), mut groups in prop::collection::vec(group(), 1..5),
        hz in prop_oneof![Just(100), Just(1000)], seed in any::<u64>(),
    ) -> Value {
        for (number, group) in groups.iter_mut().enumerate() {
            group["name"] = json!(format!("g{number}"));
        }
        json!({
            "machine": {
                "cpus": cpus, "lgroups": lgroups, "cpus_per_chip": chip, "clock_ghz": 2.0,
                "memory_latency_ns": 300.0, "remote_latency_ns": 500.0, "cache_kib": 2048.0,
                "ast_delay_us": delay,
            },
            "sets": {"set": [0]},
            "tables": {"ts": if extended { "extended" } else { "standard" }},
            "groups": groups, "hz": hz, "warm_up_s": 0.5, "measure_s": 2.7, "seed": seed,
            "trace": {"to_s": 1.0},
        })
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_cpu_idles_beside_work_that_it_may_steal_and_priorities_stay_in_range(plan in any_plan()) {
        let (_, mut sim) = ready(&plan);
        while sim.step() {
            if sim.agenda.next_ns().is_none_or(|next_ns| next_ns > sim.now_ns) {
                check(&sim).map_err(TestCaseError::fail)?;
            }
        }
    }

    #[test]
    fn time_is_conserved_for_each_thread(plan in any_plan()) {
        let mut arrived = Vec::new();
        for group in plan["groups"].as_array().unwrap() {
            let count = group["count"].as_u64().unwrap();
            let at_s = group["arrive"]["at_s"].as_f64().unwrap();
            arrived.extend((0..count).map(|n| ((at_s + 0.1 * (n as f64 / count as f64)) * 1e9) as u64));
        }
        let sim = finished(&plan);
        for (thread, arrived_ns) in sim.threads.iter().zip(&arrived) {
            let times = thread.times;
            prop_assert_eq!(times.cpu_ns + times.wait_ns + times.sleep_ns, sim.end_ns - arrived_ns);
        }
        let cpu_ns: u64 = sim.groups.iter().map(|group| group.counts.cpu_ns).sum();
        let of_threads: u64 = sim.threads[..arrived.len()].iter().map(|thread| thread.times.cpu_ns).sum();
        prop_assert!(of_threads <= cpu_ns && cpu_ns <= sim.end_ns * sim.cpus.len() as u64);
        for group in &sim.groups {
            let counts = &group.counts;
            let ranked_ns: u64 = counts.priority_ns.iter().sum();
            prop_assert_eq!(ranked_ns, counts.cpu_ns + counts.wait_ns);
        }
    }

    #[test]
    fn the_same_plan_gives_the_same_result(plan in any_plan()) {
        let (first, second) = (finished(&plan), finished(&plan));
        prop_assert_eq!(first.events, second.events);
        prop_assert_eq!(&first.trace.intervals, &second.trace.intervals);
        prop_assert_eq!(&first.trace.changes, &second.trace.changes);
        let times = |sim: &Sim| sim.threads.iter().map(|thread| thread.times).collect::<Vec<_>>();
        prop_assert_eq!(times(&first), times(&second));
    }

    #[test]
    fn the_stints_of_a_cpu_follow_each_other(plan in any_plan()) {
        let sim = finished(&plan);
        let mut last = vec![0; sim.cpus.len()];
        for interval in &sim.trace.intervals {
            prop_assert!(interval.start_ns >= last[interval.cpu as usize] && interval.end_ns > interval.start_ns);
            last[interval.cpu as usize] = interval.end_ns;
        }
    }
}

#[test]
fn a_thread_that_a_higher_one_hid_from_idle_cpus_is_stolen_once_it_shows() {
    // found by the property above
    let idle_since = json!({
        "machine": {
            "cpus": 5, "lgroups": 1, "cpus_per_chip": 1, "clock_ghz": 2.0, "memory_latency_ns": 300.0,
            "remote_latency_ns": 500.0, "cache_kib": 2048.0, "ast_delay_us": 0.0,
        },
        "sets": {"set": [0]},
        "tables": {"ts": "extended"},
        "groups": [
            {
                "name": "g0", "class": "TS", "count": 3, "nice": -9, "set": null, "fork": 0.0,
                "cpu": {"kind": "lognormal", "mean_us": 24722.39937992578, "cv": 0.1},
                "sleep": fixed(28424.359485367015), "working_set_kib": 1234.7110831717744,
                "foreground": false, "priority": null, "arrive": {"at_s": 0.013, "over_s": 0.1},
            },
            {
                "name": "g1", "class": "TS", "count": 4, "nice": 0, "set": null, "fork": 0.0,
                "cpu": fixed(608.3266456055546), "sleep": exponential(676.3949757480336),
                "working_set_kib": 1789.2427789430928, "foreground": true, "priority": 40,
                "arrive": {"at_s": 0.0, "over_s": 0.1},
            },
        ],
        "hz": 100, "warm_up_s": 0.5, "measure_s": 2.7, "seed": 5_668_555_179_748_018_740_u64,
        "trace": {"to_s": 1.0},
    });
    let (_, mut sim) = ready(&idle_since);
    while sim.step() {
        if sim.agenda.next_ns().is_none_or(|next_ns| next_ns > sim.now_ns) {
            check(&sim).unwrap();
        }
    }
}

fn two_hogs(change: impl Fn(&mut Value)) -> [f64; 2] {
    let mut groups = [hog("one", 1), hog("two", 1)];
    change(&mut groups[1]);
    let sim = finished(&common::plan(common::free_machine(1), "standard", json!(groups), 60.0));
    [0, 1].map(|group| sim.groups[group].counts.cpu_ns as f64 / 60e9)
}

#[test]
fn a_nice_thread_gets_less() {
    let even = two_hogs(|_| {});
    // not quite alike: the update finds always the same one on the CPU
    assert!((even[0] - 0.5).abs() < 0.1, "{even:?}");
    let nice = two_hogs(|group| group["nice"] = json!(10));
    assert!(nice[0] > even[0] + 0.03, "{nice:?}");
}

#[test]
fn the_window_with_the_focus_gets_more() {
    let shares = two_hogs(|group| {
        group["class"] = json!("IA");
        group["foreground"] = json!(true);
    });
    assert!(shares[1] > 0.55, "{shares:?}");
}

#[test]
fn a_fixed_thread_above_every_other_keeps_the_cpu() {
    let shares = two_hogs(|group| {
        group["class"] = json!("FX");
        group["priority"] = json!(60);
    });
    assert_eq!(shares, [0.0, 1.0]);
}

#[test]
fn fixed_threads_of_one_priority_take_turns_by_their_quantum() {
    let mut group = hog("fx", 2);
    group["class"] = json!("FX");
    group["priority"] = json!(0);
    let sim = finished(&common::plan(common::free_machine(1), "standard", json!([group]), 2.0));
    let stints: Vec<(u32, u64)> = sim
        .trace
        .intervals
        .iter()
        .map(|stint| (stint.thread, (stint.end_ns - stint.start_ns) / 1_000_000))
        .collect();
    // the last is cut by the end of the simulation, and not reported
    assert_eq!(stints, (0..9).map(|turn| (turn % 2, 200)).collect::<Vec<_>>());
}

#[test]
fn the_parent_drops_behind_its_child_at_a_fork() {
    let group = json!({
        "name": "sh", "count": 1, "cpu": fixed(3000.0), "sleep": fixed(1e6), "fork": 1.0,
    });
    let sim = finished(&common::plan(common::free_machine(1), "standard", json!([group]), 0.5));
    let order: Vec<u32> = sim.trace.intervals.iter().map(|stint| stint.thread).collect();
    assert_eq!(order, [0, 1, 0]);
    assert_eq!(sim.trace.changes.last().map(|change| (change.from, change.to)), Some((29, 19)));
    assert_eq!((sim.record.total, sim.groups[0].counts.forks), (2, 1));
}

#[test]
fn a_processor_set_keeps_its_threads_and_its_cpus() {
    let mut inside = hog("inside", 4);
    inside["set"] = json!("set");
    let mut plan = common::plan(common::free_machine(4), "extended", json!([inside, hog("outside", 1)]), 5.0);
    plan["sets"] = json!({"set": [1, 2]});
    let sim = finished(&plan);
    assert!(sim.trace.intervals.iter().all(|stint| (stint.thread < 4) == [1, 2].contains(&stint.cpu)));
    assert_eq!(sim.groups[0].counts.cpu_ns, 10_000_000_000);
}

/// Two threads in turn on one CPU, each with a working set of `kib`: ns of stall a stint.
fn reload_ns(kib: f64, latency_ns: f64) -> f64 {
    let mut group = hog("hog", 2);
    group["class"] = json!("FX");
    group["working_set_kib"] = json!(kib);
    let machine = json!({
        "cpus": 1, "clock_ghz": 2.0, "memory_latency_ns": latency_ns, "cache_kib": 1024.0, "mlp": 4.0,
        "switch_cycles": 0.0,
    });
    let sim = finished(&common::plan(machine, "standard", json!([group]), 100.0));
    let counts = &sim.groups[0].counts;
    counts.reload_ns / counts.involuntary as f64
}

#[test]
fn working_sets_that_fit_together_are_loaded_once_others_at_each_switch() {
    let fits_ns = reload_ns(500.0, 400.0);
    let seen_ns = reload_ns(1024.0, 400.0);
    assert!(fits_ns < 0.01 * seen_ns, "{fits_ns} {seen_ns}");
    // 16,384 lines, each 100 ns after overlap
    assert!((seen_ns / (16_384.0 * 100.0) - 1.0).abs() < 0.01, "{seen_ns}");
    let twice = reload_ns(1024.0, 800.0) / seen_ns;
    assert!((twice - 2.0).abs() < 0.01, "{twice}");
}
