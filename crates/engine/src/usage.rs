//! CPU time and switches of a thread.

/// Names of the numbers of [`usage`], in their order.
pub const METRICS: [&str; 4] = ["cpu_user_ns", "cpu_system_ns", "switches_voluntary", "switches_involuntary"];

/// User ns, system ns, voluntary and involuntary switches of the calling thread.
pub fn usage() -> [u64; 4] {
    // SAFETY: all zero is a valid rusage, written by the call that follows.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is valid for writes.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    [ns(usage.ru_utime), ns(usage.ru_stime), usage.ru_nvcsw as u64, usage.ru_nivcsw as u64]
}
