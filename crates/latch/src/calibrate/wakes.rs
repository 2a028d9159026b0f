//! The time from a release to the get of a sleeper, and the cost of the release, by the time since the miss: a waiter
//! that is only about to sleep does not sleep at all, and an idle CPU enters deeper states step by step.

use serde_json::{Value, json};
use steelyard_engine::clock::now_ns;

use super::costs::median;
use crate::primitives::cpu::both;
use crate::primitives::slot::{Me, Mode, Slot};
use crate::primitives::sync::{AtomicU64, Ordering};
use crate::protocols::Held;
use crate::protocols::oracle_x::OracleX;

/// From the miss to the release; close together where a sleeper leaves its CPU.
const ASLEEP_NS: [u64; 14] = [0, 50, 100, 150, 200, 250, 300, 400, 500, 700, 1_000, 3_000, 10_000, 100_000];
const ROUNDS: u64 = 300;

enum Seen {
    /// From the release to the get, and 1 where the waiter had gone to sleep by then.
    Wake(f64, f64),
    /// The cost of the release with its post.
    Post(f64),
}

/// Medians between two CPUs.
pub fn wakes(cpus: [usize; 2]) -> Value {
    let row = |asleep_ns: u64| {
        let seen = seen(cpus, asleep_ns);
        let pick = |of: fn(&Seen) -> Option<f64>| seen.iter().filter_map(of).collect::<Vec<_>>();
        let wake = pick(|seen| if let Seen::Wake(ns, _) = seen { Some(*ns) } else { None });
        let slept = pick(|seen| if let Seen::Wake(_, slept) = seen { Some(*slept) } else { None });
        let post = pick(|seen| if let Seen::Post(ns) = seen { Some(*ns) } else { None });
        json!({
            "asleep_ns": asleep_ns,
            "wake_ns": median(wake),
            "post_ns": median(post),
            "slept": slept.iter().sum::<f64>() / slept.len() as f64,
        })
    };
    ASLEEP_NS.into_iter().map(row).collect()
}

fn seen(cpus: [usize; 2], asleep_ns: u64) -> Vec<Seen> {
    let slots = [Slot::default(), Slot::default()];
    let latch = <OracleX as Held>::new(0);
    let [held, missed_ns, released_ns, done] = [const { AtomicU64::new(0) }; 4];
    both(cpus, |side| {
        // a spin of one iteration: after a miss the waiter sleeps at once
        let me = Me { number: side as u32, slots: &slots, spin: 1, groups: 2 };
        let round = |number: u64| {
            if side == 0 {
                until(|| held.load(Ordering::Acquire) == number);
                assert!(!latch.try_get(Mode::Exclusive, &me));
                missed_ns.store(now_ns(), Ordering::Release);
                let slept = latch.wait_get(Mode::Exclusive, &me).sleeps() > 0;
                let wake_ns = now_ns() - released_ns.load(Ordering::Acquire);
                latch.release(Mode::Exclusive, &me);
                done.store(number, Ordering::Release);
                return Seen::Wake(wake_ns as f64, f64::from(slept));
            }
            until(|| latch.try_get(Mode::Exclusive, &me));
            let last_ns = missed_ns.load(Ordering::Acquire);
            held.store(number, Ordering::Release);
            until(|| missed_ns.load(Ordering::Acquire) != last_ns);
            let due_ns = missed_ns.load(Ordering::Acquire) + asleep_ns;
            until(|| now_ns() >= due_ns);
            let begin_ns = now_ns();
            released_ns.store(begin_ns, Ordering::Release);
            latch.release(Mode::Exclusive, &me);
            let post_ns = now_ns() - begin_ns;
            until(|| done.load(Ordering::Acquire) == number);
            Seen::Post(post_ns as f64)
        };
        (1..=ROUNDS).map(round).collect()
    })
}

/// Waits until `look` returns true.
fn until(look: impl Fn() -> bool) {
    let mut looks = 0_u32;
    while !look() {
        looks += 1;
        // the other thread may need this CPU
        if looks.is_multiple_of(10_000) { std::thread::yield_now() } else { std::hint::spin_loop() }
    }
}
