//! The CPU that a thread works on: a busy loop, pinning, preemption; two CPUs at once.

use std::hint::black_box;

use steelyard_engine::pinning::pin;
use steelyard_engine::usage::usage;

/// Keeps the CPU busy without a pause instruction, which would lend it to a sibling.
#[inline]
pub fn busy(iterations: u64) {
    for iteration in 0..iterations {
        black_box(iteration);
    }
}

/// How often the calling thread has lost its CPU.
pub fn preempted() -> u64 {
    let [.., involuntary] = usage();
    involuntary
}

/// The CPUs that this process may use.
pub fn allowed() -> Vec<usize> {
    // SAFETY: all zero is an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is valid for writes of its size.
    unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) };
    // SAFETY: CPU_ISSET reads within the set for numbers below its size.
    (0..libc::CPU_SETSIZE as usize).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect()
}

/// Runs `side` on two CPUs at once; the values of both.
pub fn both<T: Send>(cpus: [usize; 2], side: impl Fn(usize) -> Vec<T> + Sync) -> Vec<T> {
    let started = std::sync::Barrier::new(2);
    let run = |number: usize| {
        // a CPU taken away meanwhile leaves the thread where it is
        let _ = pin(&[cpus[number]]);
        started.wait();
        side(number)
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| run(1));
        let mut values = scope.spawn(|| run(0)).join().unwrap_or_default();
        values.extend(other.join().unwrap_or_default());
        values
    })
}
