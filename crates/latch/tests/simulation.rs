//! The simulation against answers known from theory.

use proptest::prelude::*;
use steelyard_latch::simulate::plan::SimulationPlan;
use steelyard_latch::simulate::simulate;

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

/// In turn every get is handed over; a releaser that comes back at once gets both of its lookup.
#[test]
fn a_saturated_latch_gives_one_get_a_hold() {
    for (order, get_ns, misses) in [("fifo", 600.0, 1.0), ("barging", 550.0, 0.5)] {
        let extra = format!(
            r#", "hold": {{"kind": "constant", "ns": 500}}, "spin_ns": 1e9, "hand_over_ns": 100, "order": "{order}""#
        );
        let forecast = simulate(&plan(32, &extra));
        let found_ns = 3e8 / forecast.gets as f64;
        assert!((found_ns - get_ns).abs() < 2.0, "{order}: {found_ns}");
        assert!((forecast.misses as f64 / forecast.gets as f64 - misses).abs() < 0.01);
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

#[test]
fn a_rare_hold_keeps_its_weight() {
    let extra = r#", "hold": {"kind": "values", "ns": [500, 1e6], "share": [0.9999, 0.0001]}, "spin_ns": 0,
        "order": "barging", "until": {"gets": 0.02, "misses": 1, "gets_max": 10000000}"#;
    let forecast = simulate(&plan(1, extra));
    let mean_ns = forecast.duration_ns / forecast.gets as f64;
    assert!((mean_ns / (500.0 * 0.9999 + 100.0 + 1500.0) - 1.0).abs() < 0.03, "{mean_ns}");
}

#[test]
fn shares_that_do_not_fit_their_values_are_refused() {
    for share in ["[1]", "[0, 0]", "[-1, 2]"] {
        let json = format!(
            r#"{{"workers": 1, "seed": 1, "duration_ns": 1e6, "spin_ns": 0, "order": "barging",
            "think": {{"kind": "constant", "ns": 1}}, "hold": {{"kind": "values", "ns": [1, 2], "share": {share}}}}}"#
        );
        let refused = SimulationPlan::parse(&json).unwrap_err().to_string();
        assert!(refused.starts_with("hold: needs a share"), "{refused}");
    }
}

/// Readers that share never wait, so CPUs are all that limits them.
#[test]
fn workers_beyond_the_cpus_add_nothing_but_switches() {
    let extra = r#", "hold": {"kind": "constant", "ns": 500}, "spin_ns": 0, "order": "barging", "shared_gets": true,
        "cpus": {"count": 2, "slice_ns": 1e6, "switch_ns": 1e5}"#;
    let forecast = simulate(&plan(6, extra));
    assert!((forecast.lookups_per_s / (2e9 / 4000.0) * 1.1 - 1.0).abs() < 0.02, "{}", forecast.lookups_per_s);
    let enough = simulate(&plan(2, extra));
    assert!((enough.lookups_per_s / (2e9 / 4000.0) - 1.0).abs() < 0.001);
}

/// Whenever the next in turn has no CPU everybody stands still.
#[test]
fn a_queue_of_more_spinners_than_cpus_stands_still() {
    let run = |order: &str| {
        let extra = format!(
            r#", "hold": {{"kind": "constant", "ns": 500}}, "spin_ns": 1e9, "order": "{order}",
            "cpus": {{"count": 2, "slice_ns": 1e6, "switch_ns": 1000}}"#
        );
        simulate(&plan(4, &extra)).lookups_per_s
    };
    assert!(run("fifo") < run("barging") / 20.0);
}

#[test]
fn who_was_only_about_to_sleep_has_not_slept() {
    let run = |slept: f64| {
        let extra = format!(
            r#", "hold": {{"kind": "exponential", "mean_ns": 500}}, "spin_ns": 0, "order": "barging",
            "wakes": [{{"asleep_ns": 0, "wake_ns": 600, "slept": {slept}}}]"#
        );
        simulate(&plan(4, &extra))
    };
    let (awake, asleep) = (run(0.0), run(1.0));
    assert_eq!((awake.sleeps, awake.spin_gets), (0, awake.misses));
    assert!(awake.wait_ns.abs() < 1.0 && asleep.sleeps >= asleep.misses);
}

/// Between a release and the get of who spins, the releaser itself has often got the latch again.
#[test]
fn a_hand_over_leaves_time_to_barge() {
    let hand_overs = |between_ns: u32| {
        let extra = format!(
            r#", "hold": {{"kind": "constant", "ns": 500}}, "spin_ns": 1e9, "order": "barging",
            "hand_over_ns": 150, "between_ns": {between_ns}"#
        );
        let forecast = simulate(&plan(8, &extra));
        forecast.hand_overs as f64 / forecast.gets as f64
    };
    assert!((hand_overs(50) - 0.5).abs() < 0.01);
    assert!(hand_overs(200) > 0.9);
}

/// The interval is of 20 batch means: the truth lies beyond half of it in one case of twenty.
#[test]
fn the_interval_holds_the_truth_and_ends_where_it_is_small() {
    let mut missed = 0;
    for seed in 0..40 {
        let json = format!(
            r#"{{"workers": 4, "seed": {seed}, "gets_per_lookup": 1, "think": {{"kind": "exponential", "mean_ns": 3000}},
            "hold": {{"kind": "exponential", "mean_ns": 500}}, "spin_ns": 1e9, "order": "fifo", "warm_up_ns": 1e6,
            "duration_ns": 5e6, "until": {{"gets": 0.01, "misses": 0.01, "gets_max": 10000000}}}}"#
        );
        let forecast = simulate(&SimulationPlan::parse(&json).unwrap());
        assert!(forecast.gets_half <= 0.01 && forecast.misses_half <= 0.01);
        let rate = forecast.gets as f64 / forecast.duration_ns;
        missed += u32::from((rate / mva_per_ns(4, 500.0, 3000.0) - 1.0).abs() > forecast.gets_half);
    }
    assert!(missed <= 8, "{missed} of 40");
}
