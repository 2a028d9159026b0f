//! The CPU that a thread works on: a busy loop, pinning, preemption; two CPUs at once.

use std::hint::black_box;

/// Keeps the CPU busy without a pause instruction, which would lend it to a sibling.
#[inline]
pub fn busy(iterations: u64) {
    for iteration in 0..iterations {
        black_box(iteration);
    }
}

/// User ns, system ns, voluntary and involuntary switches of the calling thread.
pub fn usage() -> [u64; 4] {
    // SAFETY: all zero is a valid rusage, written by the call that follows.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is valid for writes.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    [ns(usage.ru_utime), ns(usage.ru_stime), usage.ru_nvcsw as u64, usage.ru_nivcsw as u64]
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

/// Binds the calling thread to one CPU.
pub fn pin(cpu: usize) {
    // SAFETY: all zero is an empty set; the plan's check keeps the number below the set's size; a CPU
    // taken away meanwhile leaves the worker where it is.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

/// Runs `side` on two CPUs at once; the values of both.
pub fn both<T: Send>(cpus: [usize; 2], side: impl Fn(usize) -> Vec<T> + Sync) -> Vec<T> {
    let started = std::sync::Barrier::new(2);
    let run = |number: usize| {
        pin(cpus[number]);
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
