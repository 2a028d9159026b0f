//! Which CPU a thread gets, and when: the dispatcher's rules, one by one.

mod common;

use common::{finished, fixed, free_machine, hog, plan, ready};
use serde_json::{Value, json};
use steelyard_dispatch::sim::Sim;
use steelyard_dispatch::tables::class::Reason;

const US: u64 = 1_000;
const MS: u64 = 1_000 * US;

fn fx(name: &str, count: u32, priority: u8) -> Value {
    let mut group = hog(name, count);
    group["class"] = json!("FX");
    group["priority"] = json!(priority);
    group
}

/// When and where the thread of a number had a CPU.
fn stints(sim: &Sim, thread: u32) -> Vec<(u32, u64, u64)> {
    let of = sim.trace.intervals.iter().filter(|stint| stint.thread == thread);
    of.map(|stint| (stint.cpu, stint.start_ns, stint.end_ns)).collect()
}

/// Four CPUs in two latency groups, 0-1 and 2-3; thread 0 is the chosen one, the others run: a fixed
/// thread of each of these priorities on CPU 0, 1, ...
fn machine_running(priorities: [u8; 4]) -> Sim {
    let mut groups = vec![fx("chosen", 1, 20)];
    groups[0]["arrive"] = json!({"at_s": 100.0});
    groups.extend(priorities.iter().enumerate().map(|(cpu, level)| fx(&format!("on{cpu}"), 1, *level)));
    let mut machine = free_machine(4);
    machine["lgroups"] = json!(2);
    let (_, mut sim) = ready(&plan(machine, "standard", json!(groups), 10.0));
    for cpu in 0..4u32 {
        // level 0 stands for an idle CPU here
        if priorities[cpu as usize] > 0 {
            sim.dispatch(cpu, cpu + 1);
        }
    }
    sim.threads[0].home = 0;
    sim.threads[0].cpu = 1;
    sim.now_ns = 1000 * MS;
    sim
}

#[test]
fn a_thread_off_its_cpu_for_three_ticks_or_less_goes_back_there() {
    let mut sim = machine_running([0, 60, 0, 0]);
    sim.threads[0].left_tick = Some(sim.tick() - 3);
    assert_eq!(sim.place(0, false), 1);
    sim.threads[0].left_tick = Some(sim.tick() - 4);
    assert_eq!(sim.place(0, false), 0);
}

#[test]
fn away_from_home_it_goes_home_however_warm() {
    let mut sim = machine_running([30, 0, 0, 0]);
    (sim.threads[0].cpu, sim.threads[0].left_tick) = (2, Some(sim.tick()));
    assert_eq!(sim.place(0, false), 1);
}

#[test]
fn home_comes_first_then_wherever_it_would_run_at_once() {
    assert_eq!(machine_running([19, 30, 0, 0]).place(0, false), 0);
    assert_eq!(machine_running([20, 30, 60, 10]).place(0, false), 3);
    // nowhere: the lowest at home
    assert_eq!(machine_running([30, 40, 25, 25]).place(0, false), 0);
}

#[test]
fn at_the_front_it_stays_unless_its_queue_holds_something_higher() {
    let mut sim = machine_running([10, 30, 30, 30]);
    assert_eq!(sim.place(0, true), 1);
    sim.insert(1, 1, false);
    assert_eq!(sim.place(0, true), 1);
    sim.threads[2].priority = 40;
    sim.insert(2, 1, false);
    assert_eq!(sim.place(0, true), 0);
}

/// Queued at the priority of the chosen thread at CPU 1, where it is warm: the CPU that it gets.
fn with_queued(priority: u8, count: u32) -> u32 {
    let mut chosen = fx("chosen", 1, priority);
    chosen["arrive"] = json!({"at_s": 100.0});
    let (_, mut sim) =
        ready(&plan(free_machine(2), "standard", json!([chosen, fx("others", 5, priority)]), 1.0));
    for other in 1..=count {
        sim.insert(other, 1, false);
    }
    (sim.threads[0].cpu, sim.threads[0].left_tick) = (1, Some(0));
    sim.place(0, false)
}

#[test]
fn a_long_queue_hands_on_to_the_next_cpu() {
    assert_eq!([0, 1].map(|count| with_queued(15, count)), [1, 0]);
    assert_eq!([0, 1, 2, 3].map(|count| with_queued(16, count)), [1, 1, 1, 0]);
}

#[test]
fn an_idle_cpu_waits_100_us_before_it_steals_a_thread_that_has_just_run_there() {
    let mut short = fx("short", 1, 20);
    (short["cpu"], short["sleep"]) = (fixed(120_050.0), fixed(5e6));
    let groups = json!([fx("first", 1, 20), short, fx("second", 1, 20)]);
    let sim = finished(&plan(free_machine(2), "standard", groups, 1.0));
    assert_eq!(stints(&sim, 0)[..1], [(0, 0, 120 * MS)]);
    assert_eq!(stints(&sim, 1)[..1], [(1, 0, 120 * MS + 50 * US)]);
    // queued at 120 ms, the other CPU idle from 120.05 ms; it still runs there at the end
    assert_eq!((sim.threads[0].cpu, sim.groups[0].counts.steals), (1, 1));
    assert_eq!(sim.groups[0].counts.wait_ns, 100 * US);
}

#[test]
fn preemption_waits_for_the_next_entry_into_the_kernel() {
    for delay_us in [0, 500] {
        let mut machine = free_machine(1);
        machine["ast_delay_us"] = json!(delay_us);
        let mut king = hog("king", 1);
        king["class"] = json!("RT");
        king["arrive"] = json!({"at_s": 0.001});
        let sim = finished(&plan(machine, "standard", json!([hog("hog", 1), king]), 0.1));
        assert_eq!(stints(&sim, 0), [(0, 0, MS + delay_us * US)]);
    }
}

#[test]
fn a_quantum_that_ends_before_the_kernel_is_entered_cancels_the_rise() {
    let mut machine = free_machine(1);
    machine["ast_delay_us"] = json!(15_000.0);
    let mut group = hog("hog", 1);
    (group["priority"], group["arrive"]) = (json!(0), json!({"at_s": 0.18}));
    let sim = finished(&plan(machine, "standard", json!([group]), 1.9));
    // the update asks at 1 s, the quantum ends at 1.01 s, the kernel is entered at 1.015 s
    assert!(sim.trace.changes.iter().any(|change| change.t_ns == 1010 * MS));
    assert!(sim.trace.changes.iter().all(|change| change.reason != Reason::Returned));
}

#[test]
fn a_preempted_thread_keeps_what_is_left_of_its_quantum() {
    let mut king = hog("king", 1);
    king["class"] = json!("RT");
    (king["cpu"], king["sleep"]) = (fixed(50_000.0), fixed(5e6));
    king["arrive"] = json!({"at_s": 0.1});
    let mut group = hog("hog", 2);
    group["priority"] = json!(0);
    let sim = finished(&plan(free_machine(1), "standard", json!([group, king]), 0.5));
    assert_eq!(stints(&sim, 0)[..2], [(0, 0, 100 * MS), (0, 150 * MS, 250 * MS)]);
}
