//! The simulation against answers known from theory.

use proptest::prelude::*;
use steelyard_latch::simulate::{SimulationPlan, simulate};

fn plan(workers: usize, extra: &str) -> SimulationPlan {
    let json = format!(
        r#"{{"workers": {workers}, "think": {{"kind": "constant", "ns": 3000}}, "seed": 7, "warm_up_ns": 1e6, "duration_ns": 3e8 {extra}}}"#
    );
    SimulationPlan::parse(&json).unwrap()
}

/// Mean value analysis of one queue and a delay (Reiser and Lavenberg 1980); exact for exponential holds in
/// FIFO order, whatever the distribution of the delay.
fn mva_per_ns(workers: usize, hold_ns: f64, think_ns: f64) -> f64 {
    let (mut rate, mut queue) = (0.0, 0.0);
    for n in 1..=workers {
        let response_ns = hold_ns * (1.0 + queue);
        rate = n as f64 / (think_ns + response_ns);
        queue = rate * response_ns;
    }
    rate
}

#[test]
fn one_worker_takes_hold_and_think_time_and_nothing_else() {
    let extra = r#", "hold": {"kind": "constant", "ns": 500}, "spin_ns": 1e4, "order": "barging""#;
    let forecast = simulate(&plan(1, extra));
    assert!((forecast.lookups_per_s - 1e9 / 4000.0).abs() < 10.0);
    assert_eq!((forecast.misses, forecast.sleeps, forecast.hand_overs), (0, 0, 0));
}

#[test]
fn exponential_holds_in_fifo_order_agree_with_mean_value_analysis() {
    for workers in [2, 4, 8, 16] {
        let extra = r#", "gets_per_lookup": 1, "hold": {"kind": "exponential", "mean_ns": 500},
            "spin_ns": 1e9, "order": "fifo""#;
        let forecast = simulate(&plan(workers, extra));
        let expected = mva_per_ns(workers, 500.0, 3000.0) * 1e9;
        let off = forecast.lookups_per_s / expected - 1.0;
        assert!(off.abs() < 0.01, "{workers} workers: {off}");
    }
}

#[test]
fn a_saturated_latch_gives_one_get_a_hold() {
    for order in ["fifo", "barging"] {
        let extra = format!(
            r#", "hold": {{"kind": "constant", "ns": 500}}, "spin_ns": 1e9, "hand_over_ns": 100, "order": "{order}""#
        );
        let forecast = simulate(&plan(32, &extra));
        let hold_ns = 3e8 / forecast.gets as f64;
        assert!((hold_ns - 600.0).abs() < 2.0, "{order}: {hold_ns}");
        assert!(forecast.misses as f64 > 0.99 * forecast.gets as f64);
    }
}

#[test]
fn shared_gets_of_readers_never_miss() {
    let extra =
        r#", "hold": {"kind": "constant", "ns": 500}, "spin_ns": 0, "order": "barging", "shared_gets": true"#;
    let forecast = simulate(&plan(16, extra));
    assert_eq!(forecast.misses, 0);
    assert!((forecast.lookups_per_s - 16e9 / 4000.0).abs() < 1000.0);
}

/// The constant hold's residual life is uniform: spinning for `spin` of it succeeds in spin / hold of the
/// cases, as long as one waits at a time.
#[test]
fn a_spin_shorter_than_the_hold_succeeds_in_that_share() {
    let extra = r#", "gets_per_lookup": 1, "hold": {"kind": "constant", "ns": 500}, "think": {"kind": "exponential", "mean_ns": 20000},
        "spin_ns": 180, "order": "barging", "wakes": [{"asleep_ns": 0, "wake_ns": 2000}]"#;
    let json = format!(r#"{{"workers": 2, "seed": 3, "duration_ns": 3e10 {extra}}}"#);
    let forecast = simulate(&SimulationPlan::parse(&json).unwrap());
    let share = forecast.spin_gets as f64 / forecast.misses as f64;
    assert!((share - 0.36).abs() < 0.04, "{share}");
}

#[test]
fn children_divide_the_misses() {
    let misses = |children: usize| {
        let extra = format!(
            r#", "hold": {{"kind": "constant", "ns": 500}}, "spin_ns": 1e6, "order": "barging", "children": {children}"#
        );
        let forecast = simulate(&plan(4, &extra));
        forecast.misses as f64 / forecast.gets as f64
    };
    let (one, eight) = (misses(1), misses(8));
    assert!(eight < one / 4.0, "{one} {eight}");
}

#[test]
fn a_preempted_holder_makes_the_others_sleep() {
    let run = |preempted: &str| {
        let extra = format!(
            r#", "hold": {{"kind": "constant", "ns": 300}}, "spin_ns": 20000, "order": "barging", "wakes": [{{"asleep_ns": 0, "wake_ns": 5000}}]
            {preempted}"#
        );
        simulate(&plan(4, &extra))
    };
    let calm = run("");
    let disturbed = run(r#", "preempted": {"probability": 0.0001, "for_ns": 4e6}"#);
    assert_eq!(calm.sleeps, 0);
    assert!(disturbed.sleeps > 0 && disturbed.lookups < calm.lookups);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn counters_keep_their_identities_and_the_seed_its_course(
        workers in 1_usize..20, children in 1_usize..5, spin_ns in 0_u32..3000, fifo: bool, shared: bool,
        read_share in 0.0_f64..1.0, seed: u64,
    ) {
        let order = if fifo { "fifo" } else { "barging" };
        let json = format!(
            r#"{{"workers": {workers}, "children": {children}, "spin_ns": {spin_ns}, "order": "{order}",
            "shared_gets": {shared}, "read_share": {read_share}, "seed": {seed}, "think": {{"kind": "constant", "ns": 1000}},
            "hold": {{"kind": "exponential", "mean_ns": 400}}, "wakes": [{{"asleep_ns": 0, "wake_ns": 3000, "post_ns": 500}}],
            "duration_ns": 3e6}}"#
        );
        let plan = SimulationPlan::parse(&json).unwrap();
        let forecast = simulate(&plan);
        prop_assert_eq!(&forecast, &simulate(&plan));
        prop_assert!(forecast.misses <= forecast.gets);
        prop_assert!(forecast.spin_gets <= forecast.misses);
        // a sleeper may not yet have got the latch when time is up, so as many sleeps as workers may hang
        prop_assert!(forecast.sleeps + forecast.spin_gets >= forecast.misses);
        prop_assert!(forecast.lookups > 0);
        // a grant is counted when given, so a wait may end a wake-up later than the time
        prop_assert!(forecast.wait_ns <= workers as f64 * (3e6 + 3000.0));
    }
}
