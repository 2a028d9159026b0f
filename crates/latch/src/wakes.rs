//! How soon a sleeper runs again and what that costs its waker, by how long it had slept: who was only about to
//! sleep does not sleep at all, and a CPU goes to rest in steps.

use serde_json::{Value, json};

use crate::costs::{both, median};
use crate::sync::{AtomicU64, Ordering, Parker, now_ns};

/// Time asleep when the post comes.
const ASLEEP_NS: [u64; 7] = [0, 250, 500, 1_000, 3_000, 10_000, 100_000];
const ROUNDS: usize = 300;

enum Seen {
    /// From the post to running.
    Wake(f64),
    /// What the post cost.
    Post(f64),
}

/// Medians between two CPUs.
pub fn wakes(cpus: [usize; 2]) -> Value {
    let row = |asleep_ns: u64| {
        let seen = seen(cpus, asleep_ns);
        let pick = |of: fn(&Seen) -> Option<f64>| median(seen.iter().filter_map(of).collect());
        json!({
            "asleep_ns": asleep_ns,
            "wake_ns": pick(|seen| if let Seen::Wake(ns) = seen { Some(*ns) } else { None }),
            "post_ns": pick(|seen| if let Seen::Post(ns) = seen { Some(*ns) } else { None }),
        })
    };
    ASLEEP_NS.into_iter().map(row).collect()
}

fn seen(cpus: [usize; 2], asleep_ns: u64) -> Vec<Seen> {
    let (parker, begun_ns, posted_ns) = (Parker::default(), AtomicU64::new(0), AtomicU64::new(0));
    both(cpus, |side| {
        let mut last_ns = 0;
        let mut round = || {
            if side == 0 {
                begun_ns.store(now_ns(), Ordering::Release);
                parker.wait();
                return Seen::Wake(now_ns() as f64 - posted_ns.load(Ordering::Acquire) as f64);
            }
            let changed = || Some(begun_ns.load(Ordering::Acquire)).filter(|ns| *ns != last_ns);
            last_ns = until(changed);
            let post_ns = until(|| Some(now_ns()).filter(|ns| *ns >= last_ns + asleep_ns));
            posted_ns.store(post_ns, Ordering::Release);
            parker.post();
            Seen::Post((now_ns() - post_ns) as f64)
        };
        (0..ROUNDS).map(|_| round()).collect()
    })
}

/// Looks until there is something.
fn until(look: impl Fn() -> Option<u64>) -> u64 {
    let mut looks = 0_u32;
    loop {
        if let Some(found) = look() {
            return found;
        }
        looks += 1;
        // whoever has the CPU that the other thread needs gets out of its way
        if looks.is_multiple_of(10_000) { std::thread::yield_now() } else { std::hint::spin_loop() }
    }
}
